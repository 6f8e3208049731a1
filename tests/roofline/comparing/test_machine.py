"""Machines with roofs, measured or promised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.errors import InputError
from ert.roofline.comparing.machine import (
    allowance,
    combined,
    differs,
    given_machine,
    largest_team,
    measured_machine,
    promised_machine,
)
from ert.roofline.fitting.clocks import clock_hz
from ert.roofline.model import Roofline, Team
from ert.roofline.sheets.sheet import (
    AcceleratorSheet,
    CacheSheet,
    CoreGroup,
    CoreSheet,
    CpuSheet,
    MemorySheet,
    PerCycle,
    PublishedBandwidth,
    PublishedPeak,
)
from tests import factories

CORE = CoreSheet(
    "core", "Core", per_cycle=(PerCycle("fp64", "vector", 16), PerCycle("bf16", "matrix", 1024)),
    caches=(CacheSheet("L1", load_bytes=64), CacheSheet("L2", size=1 << 20)),
)  # fmt: skip
CPU = CpuSheet(
    "cpu", "CPU 4", groups=(CoreGroup(4, CORE, base=2e9, all_core=3e9, boost=4e9),),
    memory=MemorySheet("DDR5", channels=2, transfers=5e9),
)  # fmt: skip


def test_the_clock_follows_from_rate_and_rate_per_cycle() -> None:
    roofline = factories.zen4()
    for team in roofline.teams:
        assert clock_hz(roofline, team) == pytest.approx(factories.CLOCK)
    assert clock_hz(roofline, Team("other", (0,), 1)) is None


def test_the_largest_team_is_all_or_has_most_threads() -> None:
    small, large = Team("one", (0,), 1), Team("P", (0, 1, 2), 3)
    assert largest_team([small, large]) == large
    assert largest_team([small, large, factories.BOTH]) == factories.BOTH


def test_a_measured_machine_has_the_headline_roofs_of_all_threads() -> None:
    machine = measured_machine("EPYC", "a.json", factories.zen4_results(), factories.zen4())
    assert machine.extent == "2 threads"
    assert machine.precisions == ("fp64", "fp32")
    assert machine.peak("fp64").rate == pytest.approx(2 * 58.8e9)
    assert machine.peak("fp64").name == "fp64 fma 256-bit"
    assert [slope.level for slope in machine.slopes] == ["L1", "L2", "L3", "DRAM"]
    assert machine.slope().rate == pytest.approx(50e9)
    assert machine.slope("L2").rate == pytest.approx(2 * 117e9)


def test_a_cpu_promises_at_its_all_core_clock() -> None:
    machine = promised_machine("sheet cpu", CPU)
    assert machine.extent == "4 cores at their all-core clock"
    assert machine.peak("fp64").rate == 4 * 16 * 3e9
    assert machine.peak("bf16").unit == "matrix"
    assert machine.peak("fp64").spread is None
    assert [(slope.name, slope.rate) for slope in machine.slopes] == [
        ("L1 load", 4 * 64 * 3e9), ("DRAM (DDR5)", 2 * 8 * 5e9)
    ]  # fmt: skip
    base = replace(CPU, groups=(replace(CPU.groups[0], all_core=None),))
    assert promised_machine("sheet cpu", base).peak("fp64").rate == 4 * 16 * 2e9


def test_only_the_cores_that_a_peak_counts_are_named() -> None:
    mixed = replace(CPU, groups=(*CPU.groups, CoreGroup(2, None, "E", all_core=2e9)), notes=("E cores are slow.",))
    machine = promised_machine("sheet cpu", mixed)
    assert machine.extent == "4 of 6 cores at their all-core clock"
    assert machine.cautions == (
        "its peaks are of 4 of its 6 cores: no rates or no clock of the others are known.",
        "note of the sheet: E cores are slow.",
    )
    assert promised_machine("sheet cpu", replace(CPU, notes=("x",))).cautions == ()


def test_memory_in_the_package_without_a_bandwidth_is_told() -> None:
    stacked = replace(CPU, package_memory=MemorySheet("HBM2e", capacity=1 << 36))
    (sentence,) = promised_machine("sheet cpu", stacked).cautions
    assert sentence == "its DRAM roof is that of DDR5 alone; the bandwidth of its HBM2e is not stated."


@pytest.mark.parametrize(("base", "boost", "word"), [(2e9, None, "base"), (None, 4e9, "boost")])
def test_peaks_at_another_clock_than_that_of_all_cores_say_so(
    base: float | None, boost: float | None, word: str
) -> None:
    group = replace(CPU.groups[0], base=base, all_core=None, boost=boost)
    machine = promised_machine("sheet cpu", replace(CPU, groups=(group,)))
    assert machine.clock == word
    assert f"its peaks are at the {word} clock" in machine.cautions[0]


def test_an_accelerator_has_a_peak_a_unit_and_the_faster_one_is_its_roof() -> None:
    sheet = AcceleratorSheet(
        "gpu", "GPU", peaks=(PublishedPeak("fp64", 10e12), PublishedPeak("fp64", 20e12, "matrix")),
        bandwidths=(PublishedBandwidth(2e12),),
    )  # fmt: skip
    machine = promised_machine("sheet gpu", sheet)
    assert machine.peak("fp64").rate == 20e12
    assert machine.peak("fp64", "vector").rate == 10e12
    assert machine.slope().rate == 2e12


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda machine: machine.peak("fp8"), r"CPU 4 \(sheet cpu\): no compute roof of fp8; it has: fp64, bf16"),
        (lambda machine: machine.peak("bf16", "vector"), r"bf16 of its vector unit; it has: .*bf16 \(matrix\)"),
        (lambda machine: machine.slope("L3"), "no memory roof of L3; it has: L1, DRAM"),
    ],
)
def test_what_it_has_not_is_an_error_that_says_what_it_has(ask, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        ask(promised_machine("sheet cpu", CPU))


def test_machines_without_any_roof_are_refused() -> None:
    with pytest.raises(InputError, match=r"a\.json: the result holds no roof"):
        measured_machine("EPYC", "a.json", factories.zen4_results(), Roofline((), (), (), (), ()))
    with pytest.raises(InputError, match="neither a peak nor a bandwidth"):
        promised_machine("sheet none", AcceleratorSheet("none", "None"))


def test_two_numbers_are_a_machine_in_any_precision() -> None:
    machine = given_machine("A", 60e12, 1.5e12)
    assert machine.peak("fp64") == machine.peak("bf16")
    assert machine.peak("fp8").rate == 60e12
    assert machine.slope("DRAM").rate == 1.5e12


@pytest.mark.parametrize(
    ("spread", "grade", "allowed"),
    [(0.0, "A", 0.005), (0.004, "A", 0.005), (0.009, "B", 0.01), (0.0, "C", 0.025), (0.08, "D", 0.08),
     (0.001, "D", 0.025)],
)  # fmt: skip
def test_a_rate_may_be_off_by_its_spread_and_by_what_its_grade_stands_for(
    spread: float, grade: factories.Grade, allowed: float
) -> None:
    assert allowance(factories.estimate(1e9, spread=spread, grade=grade)) == allowed


def test_a_difference_is_outside_the_spread_upwards_and_downwards_alike() -> None:
    assert combined(0.01, 0.02) == 0.03
    assert combined(None, 0.02) == 0.02
    assert combined(None, None) == 0.0
    assert not differs(1.03, 0.03)
    assert differs(1.031, 0.03)
    assert not differs(1 / 1.03, 0.03)
    assert differs(1 / 1.031, 0.03)
    assert not differs(1 + 1e-12, 0.0)
