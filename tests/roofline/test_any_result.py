"""Whatever a stored result may hold, what follows from it is finite, and no part of the tool stumbles over it."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.errors import InputError
from ert.records import machines
from ert.records.comparison import comparison_document
from ert.records.prediction import prediction_document
from ert.records.report import report, rows
from ert.records.store import from_document, to_document, to_text
from ert.records.validation import validation
from ert.roofline.comparing.compare import compare
from ert.roofline.comparing.machine import measured_machine
from ert.roofline.comparing.predict import predict
from ert.roofline.comparing.workload import workload_of
from ert.roofline.fitting.fit import fit
from ert.roofline.formulas import attainable, in_flight, intensity, ridge
from ert.roofline.model import Cache, Case, Code, Kernel, Measurement, Results, Roofline, Sample, Team, Work
from ert.roofline.placing.place import Placement, place, rank
from ert.roofline.sheets.recognise import recognise
from ert.roofline.sheets.validate import validate
from ert.show.tables import summary
from tests import factories

COUNT = st.integers(0, 2**62) | st.sampled_from([0, 1, 8, 2**62])
READING = st.floats(-1e18, 1e18) | st.sampled_from([0.0, 1e-18, 3e9])
TEAMS = st.sampled_from([Team("one", (0,), 1), Team("all", (0, 1), 2), Team("all", (0, 1), 1), Team("3", (0, 1, 4), 3)])
LEVELS = st.sampled_from(["", "L1", "L2", "DRAM", "SLC"])

SAMPLES = st.lists(
    st.builds(
        Sample,
        round=st.integers(0, 3) | COUNT,
        passes=st.integers(1, 2**40) | st.just(1),
        seconds=st.floats(1e-12, 1e18) | st.sampled_from([1e-12, 4e-3, 1e18]),
        clocks_hz=st.lists(READING, max_size=2).map(tuple),
        away_seconds=st.none() | st.floats(0, 1e18),
    ),
    max_size=4,
).map(tuple)
PROBES = ("compute", "memory", "intensity", "latency", "gather", "stride", "overhead", "scaling", "a", "b", "unheard")
PARAMETERS = st.lists(
    st.sampled_from(
        [("element", "int64"), ("element", "int0"), ("element", "\u00b2"), ("index_bits", 64), ("pattern", "random"),
         ("pattern", "page"), ("until", "barrier"), ("stride", 8), ("n", -3), ("batch", 4)]
    ),
    max_size=3,
    unique_by=lambda pair: pair[0],
).map(tuple)  # fmt: skip
CASES = st.builds(
    Case,
    st.sampled_from(PROBES),
    TEAMS,
    st.sampled_from(["", "fp64", "fp32", "bf16", "int8", "fp8"]),
    st.sampled_from(["", "fma", "add", "mul", "dot", "divide", "fma_add_1_1", "mul_add_unfused"]),
    st.sampled_from(["", "load", "copy", "copy_nt", "triad"]),
    vector_bits=st.sampled_from([0, 64, 256, 512]),
    accumulators=st.integers(0, 3),
    multiply_adds=st.sampled_from([0, 1, 64]),
    working_set=st.sampled_from([0, 1, 4096, 32768, 2**40, 2**62]) | COUNT,
    level=LEVELS,
    parameters=PARAMETERS,
)
WORKS = st.builds(
    Work,
    flop=COUNT,
    read_bytes=COUNT,
    written_bytes=COUNT,
    allocate_bytes=COUNT,
    compulsory_bytes=st.none() | COUNT,
    level_bytes=st.lists(st.tuples(LEVELS, COUNT), max_size=2).map(tuple),
    events=COUNT,
)
CODES = st.builds(Code, st.sampled_from(["verified", "verified", "mismatch", "unseen", "compiled", "library"]))
MEASUREMENTS = st.builds(Measurement, CASES, WORKS, CODES, SAMPLES, error=st.sampled_from(["", "", "", "wrong"]))


def curve(probe: str, mix: str, parameters: tuple[tuple[str, int | str], ...]) -> st.SearchStrategy[list[Measurement]]:
    """A curve over the working set, of any samples: the levels are looked for in it."""
    team = Team("one", (0,), 1)

    def made(rows: list[tuple[tuple[Sample, ...], Work]]) -> list[Measurement]:
        return [
            Measurement(
                Case(probe, team, mix=mix, accumulators=1, working_set=4096 << index, parameters=parameters),
                work,
                Code("verified"),
                samples,
            )
            for index, (samples, work) in enumerate(rows)
        ]

    return st.lists(st.tuples(SAMPLES, WORKS), max_size=9).map(made)


CURVES = curve("memory", "load", ()) | curve("latency", "", (("pattern", "random"),))
KERNELS = st.lists(
    st.builds(
        Kernel,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["dense", "sparse", "unheard"]),
        *(st.just("x"),),
        st.sampled_from(["explicit vectors", "compiled loops", "library"]),
        *[st.just("n")] * 5,
        st.just("a source"),
        instructions=st.sampled_from(["fma", "add", ""]),
        mix=st.sampled_from(["load", "copy", "triad_nt", ""]),
        limit=st.sampled_from(["", "gather", "chain"]),
        nominal=st.booleans(),
        ladder=st.sampled_from(["", "gemm"]),
        rung=st.integers(0, 3),
    ),
    max_size=2,
    unique_by=lambda kernel: kernel.name,
)
CACHES = st.lists(st.builds(Cache, LEVELS, COUNT, st.just((0, 1))), max_size=3).map(tuple)


@st.composite
def any_results(draw: st.DrawFn) -> Results:
    measured = draw(st.lists(MEASUREMENTS, max_size=12)) + draw(CURVES)
    host = factories.zen4_results().host
    host = replace(host, caches=draw(CACHES), cpu_quota=draw(st.none() | st.floats(0, 4)))
    return factories.zen4_results(measurements=tuple(measured), kernels=tuple(draw(KERNELS)), host=host)


def unusable(value: Any, where: str = "") -> list[str]:
    """Return where a value, or what it is made of, is a number that is not finite."""
    if isinstance(value, float):
        return [] if math.isfinite(value) else [f"{where} = {value}"]
    if isinstance(value, tuple | list):
        return [bad for index, item in enumerate(value) for bad in unusable(item, f"{where}[{index}]")]
    if is_dataclass(value):
        return [bad for each in fields(value) for bad in unusable(getattr(value, each.name), f"{where}.{each.name}")]
    return []


def hold_against_others(results: Results, roofline: Roofline, placed: tuple[Placement, ...]) -> None:
    """Compare, validate and predict."""
    recognised = recognise(results.host, machines.cores(), machines.cpus())
    checks = validate(results, roofline, recognised, machines.measurements())
    json.dumps(validation("x", recognised, checks, 0.05), allow_nan=False)
    if not roofline.teams:
        with pytest.raises(InputError, match="holds no roof"):
            measured_machine("x", "x.json", results, roofline)
        return
    machine = measured_machine("x", "x.json", results, roofline)
    other = measured_machine("y", "y.json", factories.zen4_results(), factories.zen4())
    for pair, places in (((machine, other), (placed, ())), ((other, machine), ((), placed))):
        json.dumps(comparison_document(compare(pair, places), ("one", "other"), None), allow_nan=False)
    with contextlib.suppress(InputError):  # no kernel that counts, or no roof of its precision or level
        prediction = predict(workload_of("x.json", placed), (machine, other))
        json.dumps(prediction_document(prediction, ("one", "other"), 1e-7), allow_nan=False)


@settings(max_examples=150)
@given(any_results())
def test_what_follows_from_any_result_is_finite(results: Results) -> None:
    roofline = fit(results)
    assert unusable(roofline, "roofline") == []
    placed = place(results, roofline)
    assert unusable(placed, "placements") == []
    assert len(rank(placed)) <= len(placed)
    document = report(results, roofline)
    json.dumps(document, allow_nan=False)
    json.dumps(rows(document), allow_nan=False)
    for width in (40, 100):
        shown = summary(results, roofline, width).split()
        assert not {"nan", "inf", "None"} & set(shown)
    hold_against_others(results, roofline, placed)
    again = from_document(json.loads(to_text(to_document(results))), "x.json")
    assert fit(again) == roofline


POSITIVE = st.floats(1e-12, 1e24)


@given(POSITIVE, POSITIVE, POSITIVE)
def test_the_formulas_agree_with_each_other(at: float, peak: float, bandwidth: float) -> None:
    ridge_point = ridge(peak, bandwidth)
    assert attainable(ridge_point, peak, bandwidth) == pytest.approx(peak)
    found = attainable(at, peak, bandwidth)
    assert 0 < found <= peak
    assert (found == peak) == (at * bandwidth >= peak)
    assert found <= attainable(2 * at, peak, bandwidth) <= 2 * found
    assert in_flight(bandwidth, at) == bandwidth * at


@given(COUNT, COUNT)
def test_an_intensity_is_a_number_or_infinite(flop: int, traffic: int) -> None:
    found = intensity(flop, traffic)
    assert found >= 0
    assert math.isinf(found) == (flop > 0 and traffic == 0)
