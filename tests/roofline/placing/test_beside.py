"""A kernel is held against its memory roof as it was in the same seconds, where that roof moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.records.report import report
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Case, Code, Kernel, Measurement, Results, Sample, Team, Work
from ert.roofline.placing.beside import slope_beside
from ert.roofline.placing.place import place
from tests.machine import TOOLCHAIN, synthetic_host

TEAM = Team("one", (0,), 1)
ROOF = Case("memory", TEAM, mix="load", vector_bits=256, working_set=1 << 20, level="DRAM")
CASE = Case("scan", TEAM, "fp64", mix="load", working_set=1 << 20, level="DRAM")
BYTES = 1 << 20
KERNEL = Kernel("scan", "vector", "scan", "compiled loops", "0", "n", "0", "n", "n", "here")


def measured(case: Case, speeds: dict[float, float], rounds: dict[float, int]) -> Measurement:
    """`speeds` are bytes/s by the second at which they were seen."""
    samples = tuple(Sample(rounds[at], 1, BYTES / speed, at=at) for at, speed in speeds.items())
    return Measurement(case, Work(read_bytes=BYTES), Code("verified"), samples)


def results(roof: dict[float, float], kernel: dict[float, float]) -> Results:
    rounds = {at: int(at // 100) for at in (*roof, *kernel)}
    return Results(
        "2026-11-30T00:00:00Z",
        synthetic_host(),
        TOOLCHAIN,
        (measured(ROOF, roof, rounds), measured(CASE, kernel, rounds)),
        kernels=(KERNEL,),
    )


def efficiency(roof: dict[float, float], kernel: dict[float, float]) -> tuple[float | None, bool]:
    given = results(roof, kernel)
    (placed,) = place(given, fit(given))
    return placed.efficiency, placed.beside


def test_a_steady_roof_applies_at_its_best() -> None:
    roof = {0.0: 50e9, 100.0: 49.5e9, 200.0: 50e9}
    assert efficiency(roof, {1.0: 40e9, 101.0: 40e9, 201.0: 39e9}) == (pytest.approx(0.8), False)


def test_a_roof_that_moved_applies_as_it_was_beside_the_kernel() -> None:
    # The machine was twice as fast once, while no kernel ran.
    roof = {0.0: 50e9, 50.0: 100e9, 100.0: 50e9, 200.0: 50e9}
    assert efficiency(roof, {1.0: 45e9, 101.0: 45e9, 201.0: 44e9}) == (pytest.approx(0.9, rel=0.01), True)


def test_the_kernel_in_the_fast_spell_and_the_roof_too() -> None:
    roof = {0.0: 50e9, 100.0: 100e9, 200.0: 50e9}
    assert efficiency(roof, {1.0: 45e9, 101.0: 90e9, 201.0: 45e9}) == (pytest.approx(0.9), False)


def test_one_round_beside_each_other_is_too_little() -> None:
    roof = {0.0: 50e9, 50.0: 100e9}
    assert efficiency(roof, {1.0: 45e9, 101.0: 45e9, 201.0: 45e9}) == (pytest.approx(0.45), False)


def test_samples_far_apart_in_time_are_not_beside_each_other() -> None:
    roof = {0.0: 50e9, 60.0: 100e9, 100.0: 50e9}
    assert efficiency(roof, {10.0: 45e9, 110.0: 45e9}) == (pytest.approx(0.45), False)


def test_the_roof_itself_is_left_as_it_was() -> None:
    given = results({0.0: 50e9, 50.0: 100e9, 100.0: 50e9}, {1.0: 45e9, 101.0: 45e9})
    roofline = fit(given)
    (roof,) = roofline.memory
    assert roof.rate.best == pytest.approx(100e9)
    moved = slope_beside(given.measurements[1], roof, given)
    assert moved is not None
    assert moved.rate.best == pytest.approx(50e9)
    assert moved.name == roof.name
    assert slope_beside(given.measurements[1], roof, replace(given, measurements=())) is None


def test_what_is_said_and_reported_of_a_roof_that_moved() -> None:
    roof = {0.0: 50e9, 50.0: 100e9, 100.0: 50e9, 200.0: 50e9}
    given = results(roof, {1.0: 35e9, 101.0: 35e9, 201.0: 34e9})
    fitted = fit(given)
    (placed,) = place(given, fitted)
    assert placed.advice[0] == "It moves 70.0 % of what the DRAM load roof allows (50.0 GB/s at that time)."
    # The roof keeps its name in the report; what counts is its rate beside the kernel.
    document = report(given, fitted)
    (entry,) = document["placements"]
    assert entry["memory_roof"] == document["memory_roofs"][0]["name"]
    assert entry["memory_roof_moved"]
    assert entry["memory_roof_per_s"] == pytest.approx(50e9, rel=0.01)
    steady = results({0.0: 50e9, 100.0: 50e9, 200.0: 50e9}, {1.0: 35e9, 101.0: 35e9, 201.0: 34e9})
    (still,) = place(steady, fit(steady))
    assert still.advice[0].endswith("(50.0 GB/s).")
