"""Where a kernel lies: which roofs apply, shares, bound, lower bound, ranking; and nothing divides by zero."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.records.report import report
from ert.roofline.fitting.fit import fit
from ert.roofline.model import (
    Case,
    Code,
    ComputeRoof,
    Kernel,
    Measurement,
    MemoryRoof,
    Results,
    Roofline,
    Sample,
    Team,
    Work,
)
from ert.roofline.placing.place import Placement, fastest_rungs, place, rank
from ert.show.tables import summary
from tests import factories
from tests.factories import BOTH, MIB, ONE, kernel, kernel_measurement

WHOLE = factories.zen4_whole()
GIB = 1 << 30


def placed(
    entry: Kernel,
    work: Work,
    seconds: float,
    roofline: Roofline = WHOLE,
    *,
    mixes: dict[str, Work] | None = None,
    team: Team = ONE,
    precision: str = "fp64",
    level: str = "DRAM",
    cpu_quota: float | None = None,
) -> Placement:
    measured = kernel_measurement(entry, work, seconds, team=team, precision=precision, level=level)
    others = [
        Measurement(Case("memory", team, mix=mix), moved, Code("verified"), (Sample(0, 1, 1.0),))
        for mix, moved in (mixes or {}).items()
    ]
    results = factories.zen4_results(measurements=(*others, measured), kernels=(entry,))
    results = replace(results, host=replace(results.host, cpu_quota=cpu_quota))
    (placement,) = place(results, roofline)
    return placement


def test_memory_bound_by_the_formulas() -> None:
    # triad_nt of 3 GiB with 1/12 FLOP/byte: 28.2 GB/s is the roof of its mix in DRAM, 58.8 GFLOP/s that of fma.
    work = Work(flop=GIB // 4, read_bytes=2 * GIB, written_bytes=GIB)
    seconds = 3 * GIB / 25e9
    found = placed(kernel(mix="triad_nt"), work, seconds)
    assert found.memory_roof is not None
    assert found.compute_roof is not None
    assert (found.memory_roof.name, found.compute_roof.name) == ("DRAM triad_nt", "fp64 fma 256-bit")
    assert found.intensity == pytest.approx(1 / 12)
    assert found.program_intensity == pytest.approx(1 / 12)
    assert found.attainable == pytest.approx(28.2e9 / 12)
    assert found.memory_share == pytest.approx(25 / 28.2)
    assert found.compute_share == pytest.approx(25 / 12 / 58.8)
    assert found.efficiency == pytest.approx(25 / 28.2)
    assert found.seconds == pytest.approx(seconds)
    assert found.lower_bound == pytest.approx(3 * GIB / 28.2e9)
    assert found.headroom == pytest.approx(seconds - 3 * GIB / 28.2e9)
    assert found.bound == "memory"


def test_compute_bound_by_the_formulas() -> None:
    work = Work(flop=100 * GIB, read_bytes=GIB)
    found = placed(kernel("gemm", "dense"), work, 100 * GIB / 50e9)
    assert found.attainable == pytest.approx(58.8e9)
    assert (found.efficiency, found.compute_share) == (pytest.approx(50 / 58.8), pytest.approx(50 / 58.8))
    assert found.memory_share == pytest.approx(0.5 / 30)
    assert found.lower_bound == pytest.approx(100 * GIB / 58.8e9)
    assert found.bound == "compute"


def test_traffic_counts_write_allocate_and_program_bytes_do_not() -> None:
    work = Work(flop=GIB, read_bytes=GIB, written_bytes=GIB, allocate_bytes=GIB)
    found = placed(kernel(mix="copy"), work, 1.0)
    assert found.memory_roof is not None
    assert found.memory_roof.bytes_counted == "traffic"
    assert (found.intensity, found.program_intensity) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert found.byte_rate is not None
    assert found.byte_rate.best == pytest.approx(3 * GIB)
    in_l1 = placed(kernel(mix="copy"), work, 1.0, level="L1")
    assert (in_l1.intensity, in_l1.memory_roof and in_l1.memory_roof.bytes_counted) == (1 / 2, "program")


def test_traffic_that_is_no_streams_is_what_the_work_says() -> None:
    work = Work(flop=GIB, read_bytes=100 * GIB, level_bytes=(("DRAM", GIB),))
    found = placed(kernel(), work, 1.0)
    assert (found.intensity, found.program_intensity) == (1.0, pytest.approx(0.01))


def test_a_kernel_without_flop_is_placed_by_bandwidth() -> None:
    found = placed(kernel(mix="copy_nt", instructions=""), Work(read_bytes=GIB, written_bytes=GIB), 2 * GIB / 22e9)
    assert (found.flop_rate, found.compute_roof, found.compute_share, found.intensity) == (None, None, None, 0.0)
    assert found.attainable == pytest.approx(27.5e9)
    assert (found.efficiency, found.bound) == (pytest.approx(22 / 27.5), "memory")


def test_a_kernel_without_traffic_at_its_level_is_placed_by_arithmetic() -> None:
    found = placed(kernel(), Work(flop=GIB, read_bytes=GIB, level_bytes=(("DRAM", 0),)), GIB / 50e9)
    assert (found.intensity, found.byte_rate, found.memory_roof, found.memory_share) == (None, None, None, None)
    assert (found.attainable, found.efficiency) == (pytest.approx(58.8e9), pytest.approx(50 / 58.8))
    alone = placed(kernel(), Work(flop=GIB), 1.0)
    assert (alone.program_intensity, alone.intensity) == (None, None)


def test_far_below_both_roofs_neither_bounds() -> None:
    work = Work(flop=GIB, read_bytes=GIB)
    assert placed(kernel(), work, GIB / 14.9e9).bound == "neither"
    assert placed(kernel(), work, GIB / 15.1e9).bound == "memory"


def test_above_its_roof_nothing_is_clipped() -> None:
    found = placed(kernel(), Work(flop=GIB, read_bytes=GIB), GIB / 60e9)
    assert (found.efficiency, found.memory_share) == (pytest.approx(2.0), pytest.approx(2.0))
    assert found.headroom == 0.0


@pytest.mark.parametrize(
    ("instructions", "team", "name"),
    [
        ("fma", ONE, "fp64 fma 256-bit"),
        ("add", ONE, "fp64 add 512-bit"),
        ("fma_add_1_1", BOTH, "fp64 fma_add_1_1 512-bit"),
        # Additions alone were measured with one thread only, and are not scaled.
        ("add", BOTH, "fp64 fma 256-bit"),
        ("exp", ONE, "fp64 fma 256-bit"),
        ("", ONE, "fp64 fma 256-bit"),
    ],
)
def test_the_compute_roof_is_that_of_the_kind_of_arithmetic(instructions: str, team: Team, name: str) -> None:
    found = placed(kernel(instructions=instructions), Work(flop=GIB, read_bytes=GIB), 1.0, team=team)
    assert found.compute_roof is not None
    assert (found.compute_roof.name, found.compute_roof.team) == (name, team)


def test_few_chains_and_unverified_code_are_no_roof_of_a_kernel() -> None:
    def with_add(**changes: object) -> ComputeRoof:
        add = next(roof for roof in WHOLE.compute if roof.instructions == "add" and roof.precision == "fp64")
        return replace(add, **changes)

    rest = tuple(roof for roof in WHOLE.compute if roof.instructions != "add")
    for roof in (with_add(few_chains=True), with_add(verified=False)):
        found = placed(
            kernel(instructions="add"), Work(flop=GIB, read_bytes=GIB), 1.0, replace(WHOLE, compute=(*rest, roof))
        )
        assert found.compute_roof is not None
        assert found.compute_roof.instructions == "fma"


def measured_mixes() -> dict[str, Work]:
    return {
        "load": Work(read_bytes=300),
        "load2_store1": Work(read_bytes=200, written_bytes=100, allocate_bytes=100),
        "copy": Work(read_bytes=100, written_bytes=100, allocate_bytes=100),
        "copy_nt": Work(read_bytes=100, written_bytes=100),
        "update": Work(read_bytes=100, written_bytes=100),
        "store_nt": Work(written_bytes=100),
    }


@pytest.mark.parametrize(
    ("mix", "work", "level", "nearest"),
    [
        ("scan", Work(read_bytes=95, written_bytes=5), "DRAM", "load"),
        ("two", Work(read_bytes=210, written_bytes=90, allocate_bytes=90), "DRAM", "load2_store1"),
        ("one", Work(read_bytes=110, written_bytes=100, allocate_bytes=100), "DRAM", "copy"),
        ("in_place", Work(read_bytes=110, written_bytes=100), "DRAM", "update"),
        ("in_place_nt", Work(read_bytes=110, written_bytes=100), "DRAM", "copy_nt"),
        # An update in place of two loads and a store is none of copy and update; a non-temporal mix is no rival.
        ("update", Work(read_bytes=200, written_bytes=100), "DRAM", "update"),
        ("update", Work(read_bytes=200, written_bytes=100), "L1", "load2_store1"),
        ("copy", Work(read_bytes=190, written_bytes=100, allocate_bytes=90), "L1", "load2_store1"),
        # Of equally near ones the one that the kernel names.
        ("update", Work(read_bytes=100, written_bytes=100), "L1", "update"),
        # Traffic that is modelled apart has other shares than loads and stores.
        ("load", Work(read_bytes=200, written_bytes=100, level_bytes=(("DRAM", 70),)), "DRAM", "load"),
        # In L1 nothing is allocated, and no non-temporal mix is measured.
        ("triad_like_nt", Work(read_bytes=200, written_bytes=100), "L1", "load2_store1"),
    ],
)
def test_the_mix_nearest_in_reads_writes_and_write_allocate(mix: str, work: Work, level: str, nearest: str) -> None:
    found = placed(kernel(mix=mix), work, 1.0, mixes=measured_mixes(), level=level)
    assert found.memory_roof is not None
    assert found.memory_roof.mix == nearest


def test_without_known_shares_the_headline_stands_for_a_mix() -> None:
    found = placed(kernel(mix="scan"), Work(read_bytes=100), 1.0)
    assert found.memory_roof is not None
    assert (found.memory_roof.headline, found.memory_roof.level) == (True, "DRAM")


def test_an_unverified_memory_roof_never_applies() -> None:
    memory = tuple(replace(roof, verified=roof.mix != "copy") for roof in WHOLE.memory)
    found = placed(kernel(mix="copy"), Work(read_bytes=100), 1.0, replace(WHOLE, memory=memory))
    assert found.memory_roof is not None
    assert found.memory_roof.mix != "copy"


@pytest.mark.parametrize(
    ("level", "precision", "team"), [("L4", "fp64", ONE), ("DRAM", "fp16", ONE), ("DRAM", "fp64", Team("x", (0,), 1))]
)
def test_what_was_not_measured_is_unknown(level: str, precision: str, team: Team) -> None:
    found = placed(kernel(), Work(flop=GIB, read_bytes=GIB), 1.0, level=level, precision=precision, team=team)
    assert (found.efficiency, found.attainable, found.lower_bound, found.headroom) == (None, None, None, None)
    assert found.bound == "unknown"
    # What is known is told all the same.
    assert found.intensity == 1.0
    assert (found.compute_share is None) == (precision == "fp16" or team.name == "x")


def test_only_valid_measurements_of_listed_kernels_are_placed() -> None:
    good = kernel()
    work = Work(flop=10, read_bytes=80)
    measurements = (
        kernel_measurement(good, work, 1.0),
        kernel_measurement(good, work, 1.0, error="element 3 is wrong"),
        kernel_measurement(kernel("other"), work, 1.0),
        kernel_measurement(good, Work(), 1.0),
        replace(kernel_measurement(good, work, 1.0), samples=(Sample(0, 1, 0.0),)),
        kernel_measurement(good, work, 2.0),
    )
    found = place(factories.zen4_results(measurements=measurements, kernels=(good,)), WHOLE)
    assert [placement.seconds for placement in found] == [1.0, 2.0]


def test_a_quota_lowers_the_grade_of_teams_that_exceed_it() -> None:
    work = Work(flop=GIB, read_bytes=GIB)

    def grade(team: Team, quota: float | None) -> str:
        found = placed(kernel(), work, 1.0, team=team, cpu_quota=quota)
        assert found.flop_rate is not None
        return found.flop_rate.grade

    assert grade(BOTH, None) != "D"
    assert (grade(BOTH, 1.5), grade(ONE, 1.5)) == ("D", grade(ONE, None))


def test_effort_pays_where_most_seconds_lie_above_the_lower_bound() -> None:
    # The longest is at its roof; a short one is far below it.
    long = factories.placement("long", efficiency=0.99, intensity=300.0)
    middle = factories.placement("middle", efficiency=0.5, intensity=30.0)
    short = factories.placement("short", efficiency=0.01, intensity=0.1)
    unknown = factories.placement("unknown", lower_bound=None)
    by_headroom = sorted((long, middle, short), key=lambda p: -(p.seconds - (p.lower_bound or 0.0)))
    assert list(rank((long, unknown, short, middle))) == by_headroom
    assert by_headroom[0] is short
    assert long.headroom == pytest.approx(long.seconds * (1 - 0.99))


def test_slower_rungs_of_a_ladder_are_left_out() -> None:
    slow, fast = (
        factories.placement(f"gemm_{rung}", "dense", efficiency=0.2 * rung, facts={"ladder": "gemm", "rung": rung})
        for rung in (1, 2)
    )
    single = factories.placement("gemm_1", "dense", precision="fp32", facts={"ladder": "gemm", "rung": 1})
    other = factories.placement()
    assert fastest_rungs((slow, other, fast, single)) == (other, fast, single)


def test_only_rungs_that_solved_the_same_problem_compete() -> None:
    def rung(number: int, *, level: str = "DRAM", **sizes: int) -> Placement:
        return factories.placement(
            f"gemm_{number}", "dense", efficiency=0.15 * number, level=level, parameters=tuple(sizes.items()),
            facts={"ladder": "gemm", "rung": number},
        )  # fmt: skip

    slow, fast = rung(1, n=512), rung(4, n=2048)
    assert fastest_rungs((slow, fast)) == (slow, fast)
    assert fastest_rungs((rung(1, level="L3", n=512), rung(2, n=512)))[0].level == "L3"
    # Blocks are no part of the problem.
    blocked = rung(5, n=2048, mc=64, kc=128)
    assert fastest_rungs((fast, blocked, slow)) == (blocked, slow)
    other_blocks = rung(3, n=2048, kc=64)
    assert fastest_rungs((other_blocks, blocked)) == (blocked,)


def test_sweeps_of_kernels_say_nothing_of_code_that_is_as_it_should_be() -> None:
    results = factories.kernel_results()
    assert fit(results).notes == ()
    compiled = next(m for m in results.measurements if m.code.status == "compiled")
    cases = {
        "wrong result on CPU 0": replace(compiled, error="wrong result on CPU 0", samples=()),
        "mismatch (two loads missing)": replace(compiled, code=Code("mismatch", "two loads missing")),
    }
    for words, measurement in cases.items():
        (note,) = fit(replace(results, measurements=(measurement,))).notes
        assert words in note
        assert "roof" not in note


def test_kernels_make_no_roof() -> None:
    results = factories.kernel_results()
    found = fit(results)
    assert (found.teams, found.points, found.curves) == ((), (), ())


# ------------------------------------------------------------------------------------------ never a crash

COUNTS = st.one_of(st.sampled_from([0, 1, 64, 2**31, 2**62]), st.integers(0, 2**62))
SECONDS = st.floats(1e-12, 1e9)
LEVELS = st.sampled_from(["L1", "L2", "DRAM", ""])
TEAMS = st.sampled_from([ONE, BOTH])
PRECISIONS = st.sampled_from(["fp64", "fp32", "int8", ""])
WORKS = st.builds(
    Work, COUNTS, COUNTS, COUNTS, COUNTS, st.none() | COUNTS,
    st.lists(st.tuples(st.sampled_from(["L1", "L2", "DRAM"]), COUNTS), max_size=2).map(tuple), COUNTS,
)  # fmt: skip
CODES = st.builds(
    Code,
    st.sampled_from(["verified", "mismatch", "unseen", "compiled", "library"]),
    st.just("a reason"),
    st.lists(
        st.tuples(st.sampled_from(["vector_bits", "fma", "add", "mul"]), st.sampled_from([0, 1, -1, 64, 128])),
        max_size=3,
    ).map(tuple),
)
SAMPLES = st.lists(st.builds(Sample, st.integers(0, 2), st.integers(1, 2**40), SECONDS), min_size=1, max_size=3).map(
    tuple
)
KERNELS = st.builds(
    kernel,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["dense", "sparse", "unheard"]),
    instructions=st.sampled_from(["fma", "add", "", "mul_add_unfused"]),
    mix=st.sampled_from(["load", "copy", "triad_nt", ""]),
    limit=st.sampled_from(["", "gather", "chain"]),
    implementation=st.sampled_from(["explicit vectors", "compiled loops", "library"]),
    nominal=st.booleans(),
    ladder=st.sampled_from(["", "gemm"]),
    rung=st.integers(0, 3),
)
CASES = st.builds(
    Case,
    st.sampled_from(["a", "b", "compute", "memory", "gather", "latency", "overhead"]),
    TEAMS,
    PRECISIONS,
    st.sampled_from(["fma", "add", "mul_add_unfused", "fma_add_1_1"]),
    st.sampled_from(["load", "copy", "copy_nt"]),
    st.sampled_from([0, 64, 128, 512]),
    st.sampled_from([1, 8]),
    working_set=st.integers(0, 2**40),
    level=LEVELS,
    parameters=st.sampled_from(
        [
            (),
            (("batch", 4),),
            (("element", "int64"), ("index_bits", 64)),
            (("pattern", "random"),),
            (("until", "barrier"),),
        ]
    ),
)
MEASUREMENTS = st.builds(Measurement, CASES, WORKS, CODES, SAMPLES)


def assert_finite(placement: Placement) -> None:
    numbers = (
        placement.intensity, placement.program_intensity, placement.attainable, placement.compute_share,
        placement.memory_share, placement.efficiency, placement.seconds, placement.lower_bound, placement.headroom,
    )  # fmt: skip
    assert all(number is None or math.isfinite(number) for number in numbers)
    assert 1 <= len(placement.advice) <= 2
    assert placement.rule
    assert not [sentence for sentence in placement.advice if "nan" in sentence.split() or "None" in sentence]


@settings(max_examples=100)
@given(st.lists(MEASUREMENTS, max_size=12), st.lists(KERNELS, min_size=1, max_size=2, unique_by=lambda k: k.name))
def test_no_measurement_makes_it_crash_or_divide_by_zero(measured: list[Measurement], kernels: list[Kernel]) -> None:
    results: Results = factories.zen4_results(measurements=tuple(measured), kernels=tuple(kernels))
    for roofline in (fit(results), WHOLE):
        for placement in place(results, roofline):
            assert_finite(placement)
        json.dumps(report(results, roofline), allow_nan=False)
        summary(results, roofline)


def test_roofs_of_many_kernels_as_planted() -> None:
    results = factories.kernel_results(WHOLE, teams=(ONE, BOTH), precisions=("fp64", "fp32"))
    found = place(results, WHOLE)
    assert len(found) == len(results.measurements)
    assert {placement.kernel.name for placement in found} == {entry.name for entry in results.kernels}
    triad = [placement for placement in found if placement.kernel.name == "stream_triad_nt"]
    assert [placement.efficiency for placement in triad] == [pytest.approx(0.98)] * 4
    assert all(isinstance(placement.memory_roof, MemoryRoof) for placement in found)
    assert found[0].case.working_set == 128 * MIB
