"""Machines side by side: rows, verdicts, differences, and what fell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.roofline.comparing.compare import Comparison, Row, compare
from ert.roofline.comparing.machine import Machine, measured_machine, promised_machine
from ert.roofline.model import Case, Code, Measurement, Results, Roofline, Sample, Work
from ert.roofline.placing.place import place
from tests import factories
from tests.roofline.comparing.test_machine import CPU


def machine(roofline: Roofline, results: Results | None = None, name: str = "EPYC") -> Machine:
    return measured_machine(name, f"{name}.json", results or factories.zen4_results(), roofline)


def slower(roofline: Roofline, factor: float, level: str = "", spread: float = 0.003) -> Roofline:
    """Return the roofline with the memory roofs of a level (all for none) at so much of their rates."""
    return replace(
        roofline,
        memory=tuple(
            replace(roof, rate=factories.estimate(roof.rate.best * factor, spread=spread))
            if roof.level == level or not level
            else roof
            for roof in roofline.memory
        ),
    )


def rows(comparison: Comparison, kind: str, team: str = "all") -> dict[str, Row]:
    return {row.key.name: row for row in comparison.rows if (row.key.kind, row.key.team) == (kind, team)}


def both(first: Roofline, second: Roofline) -> Comparison:
    return compare([machine(first), machine(second, name="other")], [(), ()])


def test_a_machine_is_equal_to_itself_in_everything() -> None:
    found = both(factories.zen4(), factories.zen4())
    assert {row.key.kind for row in found.rows} == {
        "compute roof", "memory roof", "ridge point", "ceiling", "access mix"
    }  # fmt: skip
    assert {row.judgements[0].verdict for row in found.rows} == {"equal"}
    assert {row.judgements[0].ratio for row in found.rows} == {1.0}
    assert found.differences == ()
    assert found.fallen(1.0) == ()


def test_ratio_and_combined_spread_decide() -> None:
    base = factories.zen4()
    for factor, verdict in ((0.995, "equal"), (0.98, "lower"), (1.02, "higher")):
        row = rows(both(base, slower(base, factor)), "memory roof")["DRAM"]
        assert row.judgements[0].ratio == pytest.approx(factor)
        assert row.judgements[0].spread == pytest.approx(0.01)
        assert row.judgements[0].verdict == verdict
    # What scatters more has to differ by more.
    noisy = rows(both(base, slower(base, 0.95, spread=0.06)), "memory roof")["DRAM"].judgements[0]
    assert (noisy.spread, noisy.verdict) == (pytest.approx(0.065), "equal")


def test_equal_means_the_same_whichever_machine_is_the_reference() -> None:
    base = factories.zen4()
    # The larger over the smaller decides: 1 / 0.9902 is inside a combined spread of 1 %, 1 / 0.9899 is not.
    for factor, verdict in ((0.9902, "equal"), (0.9899, "lower")):
        found = both(base, slower(base, factor))
        row = rows(found, "memory roof")["DRAM"]
        assert row.judgements[0].verdict == verdict
        assert (row in [fallen for fallen, _ in found.fallen(1.0)]) == (verdict == "lower")
        back = rows(both(slower(base, factor), base), "memory roof")["DRAM"].judgements[0].verdict
        assert back == {"equal": "equal", "lower": "higher"}[verdict]


def test_ridge_points_follow_their_roofs() -> None:
    base = factories.zen4()
    row = rows(both(base, slower(base, 0.5, "DRAM")), "ridge point")["fp64 DRAM"]
    assert row.judgements[0].ratio == pytest.approx(2.0)
    assert row.judgements[0].spread == pytest.approx(0.02)
    assert row.quantities[0] is not None
    assert row.quantities[0].value == pytest.approx(2 * 58.8 / 50)


def test_what_only_one_side_has_stays() -> None:
    found = both(factories.zen4(), factories.multi_precision())
    row = rows(found, "compute roof")["int8"]
    assert row.quantities[0] is None
    assert (row.judgements[0].verdict, row.judgements[0].ratio) == ("one side", None)
    assert row.key.unit == "OP/s"
    back = rows(both(factories.multi_precision(), factories.zen4()), "compute roof")["int8"]
    assert back.quantities[1] is None


def test_a_headline_is_not_said_again_as_a_ceiling() -> None:
    found = both(factories.zen4(), factories.zen4())
    assert "fp64 fma 256-bit" not in rows(found, "ceiling")
    assert "fp64 fma 128-bit" in rows(found, "ceiling")
    # Unless it is a ceiling for one of them.
    narrower = replace(
        factories.zen4(),
        compute=tuple(
            replace(roof, headline=roof.vector_bits == 512) if roof.precision == "fp64" else roof
            for roof in factories.zen4().compute
        ),
    )
    assert "fp64 fma 256-bit" in rows(both(factories.zen4(), narrower), "ceiling")


def test_bytes_counted_in_another_way_are_no_row_of_their_own() -> None:
    assert not [row for row in both(factories.zen4(), factories.zen4()).rows if "traffic" in row.key.name]


def test_random_access_and_latency_are_rows() -> None:
    worse = {pattern: {level: 2 * value for level, value in values.items()}
             for pattern, values in factories.ZEN4_LATENCIES.items()}  # fmt: skip
    found = both(factories.irregular(), factories.irregular(worse))
    assert rows(found, "random access")["DRAM"].judgements[0].verdict == "equal"
    latency = rows(found, "latency", "one")["DRAM random"]
    assert latency.key.unit == "s"
    assert latency.judgements[0].ratio == pytest.approx(2.0)
    assert latency.judgements[0].verdict == "higher"
    assert found.fallen(0.95) == ()


def test_kernels_are_compared_by_name_size_precision_team_and_level() -> None:
    base, slow = factories.zen4(), slower(factories.zen4(), 0.5, "DRAM")
    results = [factories.kernel_results(base), factories.kernel_results(slow, most=4)]
    machines = [machine(base, results[0]), machine(slow, results[1], "other")]
    found = compare(machines, [place(results[0], base), place(results[1], slow)])
    kernels = rows(found, "kernel")
    assert kernels["dot n 16777216 fp64 DRAM"].judgements[0].ratio == pytest.approx(0.5)
    assert kernels["dot n 16777216 fp64 DRAM"].key.unit == "FLOP/s"
    assert kernels["stream_copy n 16777216 fp64 DRAM"].key.unit == "byte/s"
    assert kernels["adam n 16777216 fp64 DRAM"].judgements[0].verdict == "one side"
    fallen = {row.key.name for row, _ in found.fallen(0.95)}
    assert {"DRAM", "dot n 16777216 fp64 DRAM"} <= fallen


@pytest.mark.parametrize(
    ("factor", "spread", "ratio", "falls"),
    [(0.96, 0.003, 0.95, False), (0.94, 0.003, 0.95, True), (0.945, 0.003, 0.95, False), (0.9, 0.06, 0.95, False),
     (0.88, 0.06, 0.95, True), (1.2, 0.003, 0.95, False), (1.02, 0.003, 1.05, True)],
)  # fmt: skip
def test_a_roof_falls_below_a_ratio_only_beyond_the_spread(
    factor: float, spread: float, ratio: float, falls: bool
) -> None:
    base = factories.zen4()
    found = both(base, slower(base, factor, "DRAM", spread)).fallen(ratio)
    assert bool([row for row, _ in found if row.key.kind == "memory roof" and row.key.level == "DRAM"]) == falls


def test_fallen_names_the_machine() -> None:
    base = factories.zen4()
    machines = [machine(base), machine(base, name="same"), machine(slower(base, 0.5, "L2"), name="slow")]
    found = compare(machines, [(), (), ()])
    assert {place for _, place in found.fallen(0.95)} == {2}
    row = rows(found, "memory roof")["L2"]
    assert [judgement.verdict for judgement in row.judgements] == ["equal", "lower"]


def test_a_promise_stands_beside_all_threads_and_the_mix_that_it_is_made_for() -> None:
    found = compare([promised_machine("sheet cpu", CPU), machine(factories.zen4())], [(), ()])
    first = rows(found, "memory roof")["L1"]
    assert [quantity and quantity.name for quantity in first.quantities] == ["L1 load", "L1 load"]
    assert first.judgements[0].ratio == pytest.approx(2 * 233e9 / (4 * 64 * 3e9))
    assert first.judgements[0].spread == pytest.approx(0.005)
    assert rows(found, "compute roof")["fp64"].judgements[0].ratio == pytest.approx(2 * 58.8e9 / (4 * 16 * 3e9))
    assert rows(found, "compute roof")["bf16"].judgements[0].verdict == "one side"
    assert found.teams == (("all", ("4 cores at their all-core clock", "2 threads")), ("one", (None, "1 thread")))
    assert found.differences == ()


def test_two_promises_have_no_spread() -> None:
    twice = replace(CPU, groups=(replace(CPU.groups[0], count=8),))
    found = compare([promised_machine("a", CPU), promised_machine("b", twice)], [(), ()])
    judged = rows(found, "compute roof")["fp64"].judgements[0]
    assert (judged.ratio, judged.spread, judged.verdict) == (2.0, 0.0, "higher")
    assert rows(found, "memory roof")["DRAM"].judgements[0].verdict == "equal"


def test_different_versions_of_an_instrument_are_not_comparable() -> None:
    def measured(revision: int) -> Results:
        case = Case("memory", factories.BOTH, mix="load", level="DRAM")
        one = Measurement(case, Work(read_bytes=8), Code("verified"), (Sample(0, 1, 1.0),), revision=revision)
        return factories.zen4_results(measurements=(one,))

    base = factories.zen4()
    found = compare([machine(base, measured(1)), machine(slower(base, 0.5), measured(2), "other")], [(), ()])
    for kind, name in (("memory roof", "DRAM"), ("ridge point", "fp64 DRAM"), ("access mix", "L2 copy")):
        judged = rows(found, kind)[name].judgements[0]
        assert (judged.verdict, judged.ratio) == ("not comparable", None)
    assert rows(found, "compute roof")["fp64"].judgements[0].verdict == "equal"
    assert found.fallen(0.95) == ()
    assert [(fact.name, fact.values) for fact in found.differences] == [("revision of memory", ("1", "2"))]


def test_roofs_without_proof_are_no_rows_but_told() -> None:
    base = factories.zen4()
    doubtful = replace(
        base,
        memory=tuple(replace(roof, verified=roof.name != "L2 copy") for roof in base.memory),
    )
    found = both(base, doubtful)
    assert rows(found, "access mix")["L2 copy"].quantities[1] is None
    (fact,) = found.differences
    assert fact.name == "unproven_roofs"
    assert fact.values[0] is None
    assert "L2 copy (2 threads)" in str(fact.values[1])


def test_hosts_toolchains_and_settings_that_differ_are_listed_in_that_order() -> None:
    first, second = factories.zen4_results(settings=(("seed", 0),)), factories.zen4_results(
        settings=(("seed", 1),),
        host=replace(factories.zen4_host(), kernel="6.8.0", memory_limit=1 << 30),
        toolchain=replace(factories.zen4_toolchain(), target="znver5"),
        complete=False,
    )  # fmt: skip
    roofline = factories.zen4()
    found = compare(
        [promised_machine("p", CPU), machine(roofline, first), machine(roofline, second, "other")], [(), (), ()]
    )
    assert [(fact.group, fact.name, fact.values) for fact in found.differences] == [
        ("host", "kernel", (None, "6.1.0", "6.8.0")),
        ("host", "memory_limit_bytes", (None, None, 1 << 30)),
        ("toolchain", "target", (None, "znver4", "znver5")),
        ("settings", "seed", (None, 0, 1)),
        ("sweep", "complete", (None, True, False)),
    ]


@pytest.mark.parametrize(("factor", "told"), [(1.005, False), (0.9, True)])
def test_the_core_clock_is_told_if_it_moved(factor: float, told: bool) -> None:
    base = factories.zen4()
    moved = replace(
        base,
        compute=tuple(
            replace(roof, rate=replace(roof.rate, clock_hz=(roof.rate.clock_hz or 0.0) * factor))
            for roof in base.compute
        ),
    )
    names = [fact.name for fact in both(base, moved).differences]
    assert names == (["core_clock_hz, 1 thread", "core_clock_hz, 2 threads"] if told else [])
