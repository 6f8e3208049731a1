"""Whole sweeps of synthetic machines on strange hosts: two kinds of core, siblings, NUMA, no or wrong cache sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.measure import plan
from ert.measure.campaign import Campaign
from ert.measure.plan import Settings
from ert.measure.teams import choose, kinds_of, usable_cpus
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Cache, Cpu, Host, Measurement, Results, Roofline, Seconds, Team
from tests.machine import TOOLCHAIN, SyntheticMachine, synthetic_host
from tests.measure.test_campaign import Notebook
from tests.measure.test_order import sockets
from tests.recordings import recorded_host

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
INF = float("inf")


def campaign(
    machine: SyntheticMachine,
    host: Host,
    settings: Settings | None = None,
    budget: int = 64 * GIB,
    earlier: tuple[Measurement, ...] = (),
) -> Campaign:
    settings = settings or Settings(effort="quick", precisions="fp64")
    how = plan.effort(settings.effort)
    who = choose(host, usable_cpus(host, (), settings.binding), settings.threads, how.most_extra)
    largest = {team: plan.largest_working_set(host, team, budget) for team in (*who.usual, *who.extra)}
    pairs, _ = plan.pools(host, who.pairs, [cpu.id for cpu in host.cpus], budget)
    notebook = Notebook()
    return Campaign(
        machine, host, TOOLCHAIN, replace(who, pairs=tuple(pairs)), largest | pairs, settings, registers=32, fma=True,
        started="2026-11-29T00:00:00Z", elapsed=machine.elapsed, recorder=notebook, listener=notebook, notes=who.notes,
        room={team: plan.room_for(host, team, budget) for team in largest}, earlier=earlier,
    )  # fmt: skip


def sweep(
    machine: SyntheticMachine, host: Host, settings: Settings | None = None, budget: int = 64 * GIB
) -> tuple[Results, Roofline]:
    one = campaign(machine, host, settings, budget)
    one.run()
    results = one.results(complete=True, seconds=Seconds())
    return results, fit(results)


def headline(roofline: Roofline, name: str) -> dict[str, float]:
    found = {roof.level: roof.rate.best for roof in roofline.memory if roof.headline and roof.team.name == name}
    return found | {r.precision: r.rate.best for r in roofline.compute if r.headline and r.team.name == name}


# ---------------------------------------------------------------------------------------------- kinds of core

P = SyntheticMachine(
    peaks={"fp64": 48e9, "fp32": 96e9},
    levels=(("L1", 200e9, 48 * KIB), ("L2", 100e9, 1280 * KIB), ("L3", 60e9, 8 * MIB), ("DRAM", 20e9, INF)),
)
E = SyntheticMachine(
    peaks={"fp64": 20e9, "fp32": 40e9}, best_bits=128, chains_needed=12,
    levels=(("L1", 80e9, 32 * KIB), ("L2", 40e9, 512 * KIB), ("L3", 30e9, 6 * MIB), ("DRAM", 12e9, INF)),
)  # fmt: skip


def hybrid_host(third: int = 24 * MIB) -> Host:
    """Two P cores with siblings and four E cores that share their L2."""
    cpus = [Cpu(cpu, cpu // 2, sibling=cpu % 2, kind="P") for cpu in range(4)]
    cpus += [Cpu(cpu, cpu - 2, kind="E") for cpu in range(4, 8)]
    caches = [Cache("L1", 48 * KIB, (0, 1)), Cache("L1", 48 * KIB, (2, 3))]
    caches += [Cache("L1", 32 * KIB, (cpu,)) for cpu in range(4, 8)]
    caches += [Cache("L2", 1280 * KIB, (0, 1)), Cache("L2", 1280 * KIB, (2, 3)), Cache("L2", 2 * MIB, (4, 5, 6, 7))]
    caches += [Cache("L3", third, tuple(range(8)))]
    return Host("Linux", "x86_64", cpus=tuple(cpus), caches=tuple(caches), kinds=("P", "E"), memory_total=64 * GIB)


def hybrid(**planted: object) -> SyntheticMachine:
    p, e = replace(P), replace(E)
    return SyntheticMachine(members=dict.fromkeys(range(4), p) | dict.fromkeys(range(4, 8), e), **planted)  # type: ignore[arg-type]


def test_each_kind_and_all_together_have_their_roofs() -> None:
    results, roofline = sweep(hybrid(noise=0.01), hybrid_host())
    assert [team.name for team in roofline.teams] == ["one", "all", "one E", "all P", "all E", "SMT"]
    planted = {
        "one": (1, 0), "all": (2, 4), "one E": (0, 1), "all P": (2, 0), "all E": (0, 4), "SMT": (2, 4),
    }  # fmt: skip
    rates = {"fp64": (48e9, 20e9), "L1": (200e9, 80e9), "L2": (100e9, 40e9), "DRAM": (25e9, 15e9)}
    for name, (p, e) in planted.items():
        found = headline(roofline, name)
        for roof, (fast, slow) in rates.items():
            if name == "SMT":
                continue
            assert found[roof] == pytest.approx(p * fast + e * slow, rel=0.03), (name, roof)
        if name != "SMT":
            assert found["L3"] == pytest.approx(p * 60e9 + e * 30e9, rel=0.03), name
    capacity = {curve.team.name: {p.name: p.capacity for p in curve.plateaus} for curve in roofline.curves}
    assert capacity["all P"]["L2"] == pytest.approx(1280 * KIB, rel=0.4)
    assert capacity["all E"]["L2"] == pytest.approx(512 * KIB, rel=0.4)
    assert results.notes == ()


def test_every_kind_has_the_code_that_suits_it() -> None:
    host = hybrid_host()
    results, roofline = sweep(hybrid(), host)
    chains, widths = {}, {}
    for measurement in results.measurements:
        case = measurement.case
        if case.probe == "compute" and case.vector_bits == 256 and case.instructions == "fma":
            chains.setdefault(case.team.name, set()).add(case.accumulators)
        if case.probe == "memory" and case.level == "L1" and case.mix == "load":
            widths[case.team.name] = case.vector_bits
    assert max(chains["all E"]) >= 12
    # Of all together, the larger number of both.
    assert max(chains["all"]) >= 12
    assert widths["one"] == widths["all P"] == widths["all"] != 128
    assert {kinds_of(host, team)[0] for team in roofline.teams} == {"P", "E"}
    bits = {team: max(r.vector_bits for r in roofline.compute if r.headline and r.team.name == team)
            for team in ("one", "one E")}  # fmt: skip
    assert bits["one"] >= 256


def test_extra_teams_measure_roofs_and_nothing_else() -> None:
    results, roofline = sweep(hybrid(), hybrid_host(), Settings(effort="default", precisions="fp64"))
    probes: dict[str, set[str]] = {}
    points: dict[str, int] = {}
    for measurement in results.measurements:
        case = measurement.case
        probes.setdefault(case.team.name, set()).add(case.probe)
        points[case.team.name] = points.get(case.team.name, 0) + (case.probe == "memory" and not case.level)
    for name in ("one E", "all P", "all E", "SMT"):
        assert probes[name] == {"compute", "memory"}
        assert points[name] < 0.7 * points["one"]
    assert {"latency", "intensity", "gather", "overhead"} < probes["all"] | probes["one"]
    # Bandwidth by number of threads takes one core after the other.
    (dram,) = (scaling for scaling in roofline.scaling if scaling.level == "DRAM")
    assert [point.team.name for point in dram.points] == ["one", "all", "SMT"]


def test_a_level_that_no_equal_part_lies_in_has_no_roof_of_all_kinds_together() -> None:
    """The P cores' second level is larger than what each thread has of the third."""
    small = [("L3", 60e9, 1536 * KIB), ("L3", 30e9, 1536 * KIB)]
    machine = hybrid()
    for member, third in ((machine.members[0], small[0]), (machine.members[4], small[1])):
        member.levels = tuple(third if level[0] == "L3" else level for level in member.levels)
    results, roofline = sweep(machine, hybrid_host(third=9 * MIB))
    assert "L3" not in headline(roofline, "all")
    assert "DRAM" in headline(roofline, "all")
    assert "L3" in headline(roofline, "all E")
    assert any("6 threads: threads have unequal parts" in note and "L3" in note for note in results.notes)


@pytest.mark.parametrize("stop", [400, 1500])
def test_a_sweep_of_two_kinds_can_be_resumed(stop: int) -> None:
    def interrupt(run: int) -> None:
        if run == stop:
            raise KeyboardInterrupt

    expected = {m.case: len(m.samples) for m in sweep(hybrid(), hybrid_host())[0].measurements}
    one = campaign(hybrid(on_run=interrupt), hybrid_host())
    with pytest.raises(KeyboardInterrupt):
        one.run()
    partial = one.results(complete=False, seconds=Seconds()).measurements
    assert 0 < sum(len(m.samples) for m in partial) < sum(expected.values())
    other = campaign(hybrid(), hybrid_host(), earlier=partial)
    other.run()
    finished = other.results(complete=True, seconds=Seconds()).measurements
    assert {m.case: len(m.samples) for m in finished} == expected


# -------------------------------------------------------------------------------------------- SMT and NUMA


def test_siblings_stand_beside_one_thread_a_core() -> None:
    _, roofline = sweep(SyntheticMachine(siblings=1.2), synthetic_host(4, siblings=2))
    one_a_core, both = headline(roofline, "all"), headline(roofline, "SMT")
    assert set(one_a_core) == set(both) == {"fp64", "L1", "L2", "L3", "DRAM"}
    for name in one_a_core:
        assert both[name] == pytest.approx(1.2 * one_a_core[name], rel=0.01), name
    (dram,) = (scaling for scaling in roofline.scaling if scaling.level == "DRAM")
    assert [point.team.threads for point in dram.points] == [1, 4, 8]


def test_the_matrix_of_nodes_comes_back() -> None:
    host = sockets(packages=2, nodes=2, slices=1, cores=4, siblings=1)
    _, roofline = sweep(SyntheticMachine(far=0.6), host)
    assert len(roofline.numa) == 16
    for entry in roofline.numa:
        expected = 4 * 20e9 * (1.0 if entry.local else 0.6)
        assert entry.rate.best == pytest.approx(expected, rel=0.01)
        assert entry.team.threads == 4
        assert entry.working_set * 4 >= 4 * 32 * MIB - 4 * KIB
    # They are no roofs.
    assert [team.name for team in roofline.teams] == ["one", "all"]


def test_one_node_has_no_matrix() -> None:
    assert sweep(SyntheticMachine(), synthetic_host(2))[1].numa == ()


# ------------------------------------------------------------------------------------ missing and wrong sizes

LEVELS = (("L1", 192e9, 32 << 10), ("L2", 96e9, 1 << 20), ("L3", 60e9, 8 << 20), ("DRAM", 20e9, INF))
TRUTH = {name: capacity for name, _, capacity in LEVELS[:-1]}


def assert_planted(roofline: Roofline, teams: tuple[tuple[str, int], ...] = (("one", 1), ("all", 8))) -> None:
    """The roofs and the capacities are those planted, whatever was declared."""
    for name, threads in teams:
        found = headline(roofline, name)
        assert set(found) == {"fp64", "L1", "L2", "L3", "DRAM"}, name
        for level, rate, _ in LEVELS:
            best = 1.25 * rate if level == "DRAM" else rate
            assert found[level] == pytest.approx(threads * best, rel=0.03), (name, level)
    for curve in roofline.curves:
        for plateau in curve.plateaus[:-1]:
            assert plateau.capacity == pytest.approx(TRUTH[plateau.name], rel=0.5)


def declared(**sizes: int) -> Host:
    """Return eight cores whose third level is shared by all, with other declared sizes than the true ones."""
    host = synthetic_host(8)
    caches = tuple(replace(cache, size=sizes.get(cache.level, cache.size)) for cache in host.caches)
    return replace(host, caches=caches)


@pytest.mark.parametrize("name", ["rv64-milkvpioneer", "arm-A510-A710-A715-X3"])
def test_without_cache_sizes_the_fit_alone_names_the_levels(name: str) -> None:
    host = recorded_host(name)
    machine = SyntheticMachine(noise=0.01, members={}, levels=LEVELS)
    results, roofline = sweep(machine, host, Settings(effort="default", precisions="fp64", threads="1,all"))
    assert_planted(roofline, (("one", 1), ("all", len(host.cpus))))
    assert all(plateau.declared is None for curve in roofline.curves for plateau in curve.plateaus)
    assert not any("declared" in note and "believed" in note for note in roofline.notes)
    assert results.complete


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"L3": 0}, "The curve shows 3 caches where the system declares 2"),
        ({"L2": 0}, "The curve shows 3 caches where the system declares 2"),
        ({"L1": 56}, "The curve shows 3 caches where the system declares 2"),
        ({"L2": 10 * MIB}, "10 MiB of L2 are declared, but the curve leaves its plateau at"),
        ({"L3": 640 * MIB}, "of L3 are declared, but the curve leaves its plateau at"),
        ({"L1": 4 * KIB}, "4 KiB of L1 are declared, but the curve leaves its plateau at"),
    ],
)
def test_declared_sizes_that_contradict_the_curve_are_reported_and_lose(sizes: dict[str, int], words: str) -> None:
    _, roofline = sweep(
        SyntheticMachine(noise=0.01), declared(**sizes), Settings(effort="default", precisions="fp64", threads="1,all")
    )
    assert_planted(roofline)
    said = [note for curve in roofline.curves for note in curve.notes]
    assert any(words in note for note in said), said


def test_one_slice_declared_for_the_whole_is_found_out() -> None:
    """Eight cores with 8 MiB each: the system says that all share one of 8 MiB, so the curve of all ends too early."""
    host = declared(L3=8 * MIB)
    all_cores = Team("all", tuple(range(8)), 8)
    assert plan.largest_working_set(host, all_cores, 64 * GIB) < TRUTH["L3"]
    _, roofline = sweep(
        SyntheticMachine(noise=0.01), host, Settings(effort="default", precisions="fp64", threads="1,all")
    )
    assert_planted(roofline)
    said = [note for curve in roofline.curves for note in curve.notes]
    assert any("1 MiB of L3 are declared, but the curve leaves its plateau at" in note for note in said), said


def test_memory_that_cannot_be_reached_has_no_roof() -> None:
    """The same where memory allows no longer curve: no rate of a cache is called one of memory."""
    host = declared(L3=8 * MIB)
    results, roofline = sweep(
        SyntheticMachine(noise=0.01), host, Settings(effort="default", precisions="fp64", threads="1,all"),
        budget=150 * MIB // 4,
    )  # fmt: skip
    assert "DRAM" in headline(roofline, "one")
    assert "DRAM" not in headline(roofline, "all")
    assert any("8 threads: at " in note and "memory was not reached" in note for note in results.notes)
