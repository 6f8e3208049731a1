"""Latency, concurrency, irregular access, scaling, overhead: planned, measured on a synthetic machine, and found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.measure import irregular, plan
from ert.measure.bench import huge_page_note
from ert.measure.campaign import Campaign
from ert.measure.plan import Settings
from ert.measure.teams import usable_cpus
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Cache, Host, Results, Roofline, Seconds, Team
from tests.machine import CLOCK_HZ, TOOLCHAIN, SyntheticMachine, synthetic_host, teams_of
from tests.measure.test_campaign import Notebook

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DEFAULT = Settings(effort="default")


def sweep(
    machine: SyntheticMachine, host: Host | None = None, settings: Settings = DEFAULT, registers: int = 32
) -> tuple[Results, Roofline]:
    host = host or synthetic_host()
    cpus = usable_cpus(host, (), "number")
    teams = teams_of(host, settings.threads)
    largest = {team: plan.largest_working_set(host, team, GIB) for team in teams.usual}
    scaling, _ = irregular.affordable(host, irregular.scaling_teams(host, cpus, teams.usual), largest, GIB, "bandwidth")
    notebook = Notebook()
    campaign = Campaign(
        machine, host, TOOLCHAIN, teams, largest, settings, registers=registers, fma=True,
        started="2026-11-29T00:00:00Z", elapsed=machine.elapsed, recorder=notebook, listener=notebook, scaling=scaling,
    )  # fmt: skip
    campaign.run()
    results = campaign.results(complete=True, seconds=Seconds())
    return results, fit(results)


# ------------------------------------------------------------------------------------------ what was planted


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_the_latency_of_every_level_comes_back(effort: str) -> None:
    machine = SyntheticMachine(noise=0.01)
    _, roofline = sweep(machine, settings=Settings(effort=effort))
    assert roofline.notes == ()
    found = {(entry.pattern, entry.level): entry for entry in roofline.latencies}
    assert list(found) == [(pattern, level) for pattern in ("random", "page") for level in ("L1", "L2", "L3", "DRAM")]
    for (pattern, level), entry in found.items():
        planted = machine.latencies[level] * (1.0 if pattern == "random" or level == "L1" else machine.in_pages)
        assert entry.seconds == pytest.approx(planted, rel=0.03)
        assert entry.cycles == pytest.approx(planted * CLOCK_HZ, rel=0.03)
        assert entry.team.threads == 1
    assert [curve.pattern for curve in roofline.latency_curves] == ["random", "page"]


def test_both_witnesses_see_the_planted_capacities() -> None:
    _, roofline = sweep(SyntheticMachine(noise=0.01))
    latency = {entry.level: entry.capacity for entry in roofline.latencies if entry.pattern == "random"}
    bandwidth = {plateau.name: plateau.capacity for plateau in roofline.curves[0].plateaus}
    for level, planted in (("L1", 32 * KIB), ("L2", MIB), ("L3", 8 * MIB)):
        assert latency[level] == pytest.approx(planted, rel=0.5)
        assert bandwidth[level] == pytest.approx(planted, rel=0.5)
    assert latency["DRAM"] is None


def test_witnesses_that_disagree_are_told() -> None:
    _, roofline = sweep(SyntheticMachine(latency_capacity=0.4))
    told = [note.split(":")[0] for note in roofline.notes if "the latency curve at" in note]
    assert told == ["L1", "L2", "L3"]
    assert "leaves it at" in roofline.notes[0]


def test_a_level_that_the_curve_hides_has_the_latency_of_its_chase() -> None:
    latencies = {"L1": 1e-9, "L2": 4e-9, "L3": 4.2e-9, "DRAM": 100e-9}
    _, roofline = sweep(SyntheticMachine(latencies=latencies))
    found = {entry.level: entry for entry in roofline.latencies if entry.pattern == "random"}
    assert list(found) == ["L1", "L2", "L3", "DRAM"]
    for level, planted in latencies.items():
        assert found[level].seconds == pytest.approx(planted, rel=0.06)
    # Where L2 ends, the curve does not tell: it leaves what is called L3 instead.
    assert found["L2"].capacity is None or found["L3"].capacity is None
    assert not any("the latency curve at" in note for note in roofline.notes)


@pytest.mark.parametrize(("registers", "most"), [(16, 16), (32, 32)])
def test_random_access_saturates_at_the_planted_lines_in_flight(registers: int, most: int) -> None:
    machine = SyntheticMachine(in_flight=12)
    _, roofline = sweep(machine, registers=registers)
    for team, threads in ((roofline.teams[0], 1), (roofline.teams[1], 2)):
        for level in ("L2", "L3", "DRAM"):
            found = {e.chains: e for e in roofline.random_access if (e.team, e.level) == (team, level)}
            assert max(found) == most
            assert found[1].in_flight == pytest.approx(threads)
            assert found[8].in_flight == pytest.approx(8 * threads)
            assert found[8].rate.best == pytest.approx(threads * 8 * 64 / machine.latencies[level])
            (best,) = (entry for entry in found.values() if entry.headline)
            assert best.in_flight == pytest.approx(12 * threads)
            assert best.chains == 16
    assert not any(entry.level == "L1" for entry in roofline.random_access)


def test_littles_law_multiplies_the_load_roof_with_the_latency() -> None:
    _, roofline = sweep(SyntheticMachine(in_flight=10))
    laws = {(law.team.threads, law.level): law for law in roofline.concurrency}
    assert set(laws) == {(threads, level) for threads in (1, 2) for level in ("L2", "L3", "DRAM")}
    for threads in (1, 2):
        law = laws[threads, "DRAM"]
        assert law.bandwidth == pytest.approx(threads * 20e9)
        assert law.latency == pytest.approx(100e-9)
        assert law.needed == pytest.approx(threads * 2000)
        assert law.reached == pytest.approx(threads * 640)


def test_gathers_and_strides_come_back_in_bytes_used_and_in_lines() -> None:
    machine = SyntheticMachine()
    _, roofline = sweep(machine)
    heights = {name: value for name, value, _ in machine.levels}
    assert len(roofline.gathers) == 2 * 4 * 2
    for gather in roofline.gathers:
        elements = gather.team.threads * machine.gathers_per_s[gather.level]
        assert gather.rate.best == pytest.approx(elements * gather.element_bytes)
        assert gather.index_rate == pytest.approx(elements * gather.index_bytes)
        lines = None if gather.level == "L1" else pytest.approx(elements * (64 + gather.index_bytes))
        assert gather.line_rate == lines
    assert {(gather.element_bytes, gather.index_bytes) for gather in roofline.gathers} == {(4, 4), (8, 8)}
    assert {entry.stride for entry in roofline.strides} == {1, 2, 4, 8, 16, 32, 64}
    for entry in roofline.strides:
        whole = entry.team.threads * heights[entry.level]
        assert entry.rate.best == pytest.approx(whole * 8 / min(64, 8 * entry.stride))
        assert entry.line_rate == (None if entry.level == "L1" else pytest.approx(whole))


def test_overheads_come_back() -> None:
    machine = SyntheticMachine()
    _, roofline = sweep(machine)
    found = {(entry.kind, entry.team.threads): entry.seconds for entry in roofline.overheads}
    assert found == {
        (kind, threads): pytest.approx(seconds * threads)
        for kind, seconds in machine.overheads.items()
        for threads in (1, 2)
    }


def test_the_threads_that_saturate_memory_are_found() -> None:
    host = synthetic_host(8)
    _, roofline = sweep(SyntheticMachine(saturated_at=4), host)
    scaling = {entry.level: entry for entry in roofline.scaling}
    assert set(scaling) == {"L3", "DRAM"}
    assert [point.team.threads for point in scaling["DRAM"].points] == [1, 2, 4, 8]
    assert [point.rate.best for point in scaling["DRAM"].points] == pytest.approx([20e9, 40e9, 80e9, 80e9])
    saturated = scaling["DRAM"].saturated_by
    assert saturated is not None
    assert saturated.threads == 4
    assert scaling["L3"].saturated_by is None
    # Only the usual teams have roofs.
    assert [team.name for team in roofline.teams] == ["one", "all"]


def test_wrong_results_of_irregular_probes_give_a_note_and_no_number() -> None:
    machine = SyntheticMachine(wrong=lambda case: case.probe in ("latency", "gather"))
    _, roofline = sweep(machine, settings=Settings(effort="quick"))
    assert roofline.latencies == roofline.random_access == roofline.gathers == ()
    assert any("latency DRAM pattern random" in note and "left out" in note for note in roofline.notes)
    assert any("gather L2 element int32 index bits 32" in note for note in roofline.notes)


def test_unverified_code_makes_no_latency_and_no_headline() -> None:
    _, roofline = sweep(SyntheticMachine(unverified=lambda case: case.probe == "latency"))
    assert roofline.latencies == roofline.latency_curves == roofline.concurrency == ()
    assert roofline.random_access
    assert not any(entry.headline or entry.verified for entry in roofline.random_access)


def test_page_walks_are_told() -> None:
    _, calm = sweep(SyntheticMachine(in_pages=0.4))
    assert not any("page walks" in note for note in calm.notes)
    _, slow = sweep(SyntheticMachine(in_pages=0.25))
    assert any("4.0 times as long" in note and "page walks" in note for note in slow.notes)


def test_a_sweep_without_a_single_thread_still_has_latencies() -> None:
    _, roofline = sweep(SyntheticMachine(), settings=Settings(effort="quick", threads="2"))
    assert {entry.team.threads for entry in roofline.latencies} == {1}
    assert {entry.team.threads for entry in roofline.random_access} == {2}
    assert roofline.scaling == ()


# ------------------------------------------------------------------------------------------------- the plan


def test_scaling_doubles_up_to_all_cores_and_then_takes_the_siblings() -> None:
    host = synthetic_host(6, siblings=2)
    cpus = usable_cpus(host, (), "number")
    teams = teams_of(host).usual
    found = irregular.scaling_teams(host, cpus, teams)
    assert [(team.threads, team.cores) for team in found] == [(2, 2), (4, 4), (12, 6)]
    assert len({team.name for team in (*teams, *found)}) == 5
    assert irregular.scaling_teams(host, cpus, teams[:1]) == ()
    two = synthetic_host(2)
    assert irregular.scaling_teams(two, (0, 1), teams_of(two, "1,all").usual) == ()


def test_scaling_stays_within_the_memory_budget() -> None:
    host = synthetic_host(16)
    cpus = usable_cpus(host, (), "number")
    teams = teams_of(host).usual
    largest = {team: plan.largest_working_set(host, team, GIB) for team in teams}
    scaling = irregular.scaling_teams(host, cpus, teams)
    whole, notes = irregular.affordable(host, scaling, largest, 8 * GIB, "bandwidth")
    assert list(whole) == list(scaling)
    assert notes == ()
    room = sum(plan.arena_sizes(largest).values())
    part, notes = irregular.affordable(host, scaling, largest, room, "bandwidth")
    assert set(part) < set(scaling)
    assert sum(plan.arena_sizes({**largest, **part}).values()) <= room
    assert notes == (
        "Not measured, since too little memory may be used: bandwidth with "
        + ", ".join(f"{team.threads} threads" for team in scaling if team not in part),
    )


def test_a_stride_too_long_for_a_small_cache_is_left_out() -> None:
    team, sparse = Team("one", (0,), 1), irregular.EFFORTS["default"]
    assert len(irregular.stride_cases(team, "L1", 12 * KIB, sparse)) == 7
    cases = irregular.stride_cases(team, "L1", 5 * KIB, sparse)
    assert [dict(case.parameters)["stride"] for case in cases] == [1, 2, 4, 8, 16]


def test_quick_measures_fewer_points_of_the_same_things() -> None:
    quick, _ = sweep(SyntheticMachine(), settings=Settings(effort="quick"))
    whole, _ = sweep(SyntheticMachine())
    kinds = [{(m.case.probe, m.case.level, m.case.team) for m in r.measurements} for r in (quick, whole)]
    assert kinds[0] == kinds[1]
    assert len(quick.measurements) < len(whole.measurements)


def test_the_expected_visits_are_those_of_the_cases() -> None:
    host = synthetic_host()
    results, _ = sweep(SyntheticMachine(), host)
    made = sum(m.case.probe in irregular.PROBES for m in results.measurements) * irregular.EFFORTS["default"].rounds
    teams = teams_of(host, "1,all").usual
    sizes = {team: plan.expected_levels(host, team, plan.largest_working_set(host, team, GIB)) for team in teams}
    seconds, visits = irregular.expected(teams, sizes, "default")
    assert 0.8 * made < visits < 1.2 * made
    assert 1 < seconds < 60


def test_a_host_without_declared_caches_is_measured_all_the_same() -> None:
    host = replace(synthetic_host(declared=False), caches=())
    _, roofline = sweep(SyntheticMachine(), host)
    assert [entry.level for entry in roofline.latencies if entry.pattern == "random"] == ["L1", "L2", "L3", "DRAM"]


def test_one_cache_level_alone() -> None:
    host = replace(synthetic_host(1), caches=(Cache("L1", 32 * KIB, (0,)),))
    machine = SyntheticMachine(
        levels=(("L1", 192e9, 32 * KIB), ("DRAM", 20e9, float("inf"))),
        latencies={"L1": 1e-9, "DRAM": 90e-9},
        gathers_per_s={"L1": 1e9, "DRAM": 1e8},
    )
    _, roofline = sweep(machine, host)
    assert {entry.level for entry in roofline.random_access} == {"DRAM"}
    assert roofline.scaling == ()


def test_missing_huge_pages_are_told() -> None:
    assert huge_page_note(100 * MIB, 95 * MIB) == huge_page_note(0, 0) == ()
    assert "Only 20 % of the memory" in huge_page_note(100 * MIB, 20 * MIB)[0]
