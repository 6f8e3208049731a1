"""Who measures: teams of recorded hosts and of made ones, and how much memory each must go over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from ert.errors import InputError
from ert.measure import plan, teams
from ert.measure.teams import USUAL, Teams, choose, kinds_of, node_of, usable_cpus
from ert.roofline.fitting.caches import BEYOND_CACHE, SMALLEST_CACHE, cache_share
from ert.roofline.model import Host, Node, Team
from tests.machine import synthetic_host, teams_of
from tests.measure.test_order import sockets
from tests.recordings import NAMES

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HYBRID, OPTERON, EPYC = "20em64t-hybrid-1p6c2t+2ca4co1t", "64amd64-4s2n4ca2co", "x86_64-epyc_7451"

Recorded = Callable[[str], Host]


def who(host: Host, threads: str = USUAL, most: int = 4, binding: str = "spread") -> Teams:
    return choose(host, usable_cpus(host, (), binding), threads, most)


def every(found: Teams) -> Iterator[Team]:
    return iter((*found.usual, *found.extra, *found.pairs))


def names(found: tuple[Team, ...]) -> list[str]:
    return [team.name for team in found]


# ---------------------------------------------------------------------------------------------- who measures


@pytest.mark.parametrize(
    ("name", "usual", "extra", "pairs"),
    [
        ("16amd64-8n2c-cpusets", {"one": 1, "all": 10}, [], 6 * 4),
        ("16em64t-4s2c2t-offlines", {"one": 1, "all": 7}, ["SMT"], 0),
        (HYBRID, {"one": 1, "all": 14}, ["one E", "all P", "all E", "SMT"], 0),
        (OPTERON, {"one": 1, "all": 64}, [], 64),
        (
            "arm-A510-A710-A715-X3", {"one": 1, "all": 8},
            ["one Cortex-A710", "one Cortex-A715", "one Cortex-A510", "all Cortex-A710"], 0,
        ),
        ("nvidia-dgx-gb10", {"one": 1, "all": 20}, ["one Cortex-A725", "all Cortex-X925", "all Cortex-A725"], 0),
        ("rv64-milkvpioneer", {"one": 1, "all": 64}, [], 16),
        (EPYC, {"one": 1, "all": 48}, ["SMT"], 64),
    ],
)  # fmt: skip
def test_the_teams_of_recorded_hosts(
    recorded: Recorded, name: str, usual: dict[str, int], extra: list[str], pairs: int
) -> None:
    found = who(recorded(name))
    assert {team.name: team.threads for team in found.usual} == usual
    assert names(found.extra) == extra
    assert len(found.pairs) == pairs
    assert len({team.name for team in every(found)}) == len(list(every(found)))
    assert len({team.label for team in (*found.usual, *found.extra)}) == len(usual) + len(extra)


def test_each_kind_has_a_thread_of_its_own_and_all_of_its_cores(recorded: Recorded) -> None:
    host = recorded(HYBRID)
    found = {team.name: team for team in every(who(host))}
    assert kinds_of(host, found["one"]) == ("P",)
    assert kinds_of(host, found["all"]) == ("P", "E")
    assert (found["one E"].threads, kinds_of(host, found["one E"])) == (1, ("E",))
    assert (found["all P"].threads, found["all P"].cores, kinds_of(host, found["all P"])) == (6, 6, ("P",))
    assert (found["all E"].threads, kinds_of(host, found["all E"])) == (8, ("E",))
    assert (found["SMT"].threads, found["SMT"].cores) == (20, 14)
    labels = [found[name].label for name in ("one E", "all P", "SMT")]
    assert labels == ["1 thread (E)", "6 threads (P)", "20 threads on 14 cores (SMT)"]


def test_what_keeps_an_ordinary_sweep_short_is_said(recorded: Recorded) -> None:
    host = recorded("arm-A510-A710-A715-X3")
    (note,) = who(host).notes
    assert "2 threads (Cortex-A715), 3 threads (Cortex-A510)" in note
    assert "--threads kinds" in note
    asked = who(host, "1,all,kinds")
    assert asked.notes == ()
    assert names(asked.extra)[-2:] == ["all Cortex-A715", "all Cortex-A510"]
    assert who(host, most=99).notes == ()


def test_extra_teams_alone_are_the_usual_ones(recorded: Recorded) -> None:
    host = recorded(HYBRID)
    found = who(host, "kinds")
    assert names(found.usual) == ["one P", "one E", "all P", "all E"]
    assert found.extra == ()
    assert names(who(recorded(EPYC), "numa").usual) == ["all"]
    with pytest.raises(InputError, match="no cores of different kinds"):
        who(synthetic_host(4), "kinds,smt,numa")


def test_what_a_host_has_not_costs_nothing() -> None:
    host = synthetic_host(4)
    assert who(host) == who(host, "1,all")
    assert names(who(host).usual) == ["one", "all"]


def test_siblings_that_were_asked_for_by_their_number_are_no_second_team() -> None:
    host = synthetic_host(4, siblings=2)
    assert names(who(host).extra) == ["SMT"]
    assert names(who(host, "1,all,8,smt").usual) == ["one", "all", "8"]
    assert who(host, "1,all,8,smt").extra == ()


def test_some_threads_are_spread_over_the_machine(recorded: Recorded) -> None:
    host = recorded(EPYC)
    of = {cpu.id: cpu for cpu in host.cpus}
    (eight,) = who(host, "8").usual
    assert len({of[cpu].node for cpu in eight.cpus}) == 8
    (near,) = who(host, "6", binding="close").usual
    assert len({of[cpu].node for cpu in near.cpus}) == 1


@pytest.mark.parametrize("word", ["kind", "SMT", "-2", "all P"])
def test_unknown_words_are_refused_with_the_known_ones(word: str) -> None:
    with pytest.raises(InputError, match="neither a number above 0 nor 'all', 'kinds', 'smt' or 'numa'"):
        who(synthetic_host(2), word)


# -------------------------------------------------------------------------------------------------- NUMA nodes


def test_the_cores_of_each_node_meet_the_memory_of_each(recorded: Recorded) -> None:
    host = recorded(OPTERON)
    pairs = who(host).pairs
    assert {(node_of(host, team), team.memory_node) for team in pairs} == {(i, j) for i in range(8) for j in range(8)}
    for team in pairs:
        (node,) = (node for node in host.nodes if node.id == node_of(host, team))
        assert set(team.cpus) == set(node.cpus)
        assert team.name == f"node {node.id}, memory {team.memory_node}"


def test_cores_of_a_node_without_allowed_memory_still_meet_the_others(recorded: Recorded) -> None:
    host = recorded("16amd64-8n2c-cpusets")
    pairs = who(host).pairs
    assert {team.memory_node for team in pairs} == {1, 2, 3, 4}
    assert {node_of(host, team) for team in pairs} == {0, 1, 2, 3, 6, 7}


def test_nodes_without_cores_or_without_memory() -> None:
    host = sockets(packages=1, nodes=2, slices=1, siblings=1)
    memory_only = replace(host, nodes=(*host.nodes, Node(2, (), 64 * GIB)))
    pairs = {(node_of(host, team), team.memory_node) for team in who(memory_only).pairs}
    assert pairs == {(i, j) for i in (0, 1) for j in (0, 1, 2)}
    largest, pools = plan.pools(memory_only, who(memory_only).pairs, [cpu.id for cpu in host.cpus], 8 * GIB)
    assert len(largest) == 6
    assert {node: pool.near for node, pool in pools.items()} == {0: True, 1: True, 2: False}
    bare = replace(host, nodes=(host.nodes[0], replace(host.nodes[1], memory=0)))
    assert who(bare).pairs == ()
    bare = replace(memory_only, nodes=(host.nodes[0], replace(host.nodes[1], memory=0), memory_only.nodes[2]))
    assert {team.memory_node for team in who(bare).pairs} == {0, 2}
    assert who(bare).usual[0].cpus == (1,), "a single thread has memory of its own node"


def test_many_nodes_are_measured_in_part_and_that_is_said() -> None:
    host = sockets(packages=4, nodes=4, slices=1, siblings=1)
    found = who(host)
    kept = {(node_of(host, team), team.memory_node) for team in found.pairs}
    assert kept == {(i, i) for i in range(16)} | {(0, i) for i in range(16)} | {(i, 0) for i in range(16)}
    assert any("Of 256 pairs of NUMA nodes 46 were measured" in note for note in found.notes)
    assert len(who(host, "1,numa").pairs) == 256


def test_the_pools_hold_every_team_that_borrows_from_them(recorded: Recorded) -> None:
    for name in (OPTERON, EPYC, "rv64-milkvpioneer", "16amd64-8n2c-cpusets"):
        host = recorded(name)
        pairs = who(host).pairs
        usable = [cpu.id for cpu in host.cpus if cpu.usable]
        largest, pools = plan.pools(host, pairs, usable, 1 << 50)
        home = {cpu.id: cpu.node for cpu in host.cpus}
        assert set(largest) == set(pairs)
        for team, size in largest.items():
            assert team.memory_node is not None
            pool = pools[team.memory_node]
            assert pool.size >= team.threads * size
            assert pool.near == (team.memory_node in {home[cpu] for cpu in usable})
            assert (home[pool.keeper] == team.memory_node) == pool.near
            caches = sum(share.total for share in cache_share(host, team.cpus)[-1:])
            assert team.threads * size >= BEYOND_CACHE * caches - team.threads * KIB


def test_too_little_memory_leaves_out_pairs_instead_of_measuring_caches() -> None:
    host = sockets(siblings=1)
    pairs = who(host).pairs
    whole, pools = plan.pools(host, pairs, range(16), 1 << 50)
    assert len(whole) == len(pairs)
    enough = sum(pool.size for pool in pools.values())
    some, smaller = plan.pools(host, pairs, range(16), enough)
    assert set(some) == set(pairs)
    assert sum(pool.size for pool in smaller.values()) <= enough
    assert plan.pools(host, pairs, range(16), enough // 4) == ({}, {})
    assert plan.pools(host, pairs, range(16), -1) == ({}, {})
    assert plan.pools(host, (), range(16), GIB) == ({}, {})


# ------------------------------------------------------------------------------------------------ working sets


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_leaves_every_cache_that_its_threads_touch(recorded: Recorded, name: str) -> None:
    """Every single instance: the threads on it go over four times its size, however many others there are."""
    host = recorded(name)
    for team in every(who(host, most=99)):
        size = plan.largest_working_set(host, replace(team, memory_node=None), plan.ENOUGH)
        for cache in host.caches:
            threads = len(set(team.cpus) & set(cache.cpus))
            if threads and cache.size >= SMALLEST_CACHE:
                assert size * threads >= BEYOND_CACHE * cache.size - threads * KIB
        for share in cache_share(host, team.cpus):
            assert size * team.threads >= BEYOND_CACHE * share.total - team.threads * KIB


def test_twelve_slices_of_32_mib_are_exceeded_by_all_threads_together() -> None:
    host = sockets(packages=2, nodes=1, slices=6, cores=8)
    (all_cores,) = teams_of(host, "all").usual
    size = plan.largest_working_set(host, all_cores, plan.ENOUGH)
    assert cache_share(host, all_cores.cpus)[-1].total == 12 * 32 * MIB
    assert size * all_cores.threads == 4 * 12 * 32 * MIB
    # A single thread leaves the one slice that it touches.
    (one,) = teams_of(host, "1").usual
    assert plan.largest_working_set(host, one, plan.ENOUGH) == 4 * 32 * MIB


def test_slices_of_unequal_size_are_all_exceeded(recorded: Recorded) -> None:
    host = recorded("nvidia-dgx-gb10")
    (all_cores,) = teams_of(host, "all").usual
    size = plan.largest_working_set(host, all_cores, plan.ENOUGH)
    assert size * 10 >= 4 * 16 * MIB - 10 * KIB


def test_private_and_shared_levels_are_shared_by_the_chosen_threads(recorded: Recorded) -> None:
    hybrid = recorded(HYBRID)
    found = {team.name: team for team in every(who(hybrid))}
    shares = {
        name: {share.level: share.per_thread for share in cache_share(hybrid, team.cpus)}
        for name, team in found.items()
    }
    assert shares["one"] == {"L1": 48 * KIB, "L2": 1280 * KIB, "L3": 24 * MIB}
    assert shares["one E"] == {"L1": 32 * KIB, "L2": 2 * MIB, "L3": 24 * MIB}
    assert shares["all P"] == {"L1": 48 * KIB, "L2": 1280 * KIB, "L3": 4 * MIB}
    assert shares["all E"] == {"L1": 32 * KIB, "L2": 512 * KIB, "L3": 3 * MIB}
    assert shares["SMT"]["L1"] == 24 * KIB
    opteron = recorded(OPTERON)
    two = Team("2", (0, 1), 2)
    assert {share.level: share.per_thread for share in cache_share(opteron, two.cpus)} == {
        "L1": 16 * KIB, "L2": MIB, "L3": 3 * MIB,
    }  # fmt: skip


def test_no_declared_cache_costs_no_more_memory_than_a_machine_has(recorded: Recorded) -> None:
    host = recorded("rv64-milkvpioneer")
    one, all_cores = teams_of(host).usual
    assert plan.largest_working_set(host, one, plan.ENOUGH) == 4 * plan.UNKNOWN_CACHE
    assert 64 * plan.largest_working_set(host, all_cores, plan.ENOUGH) == 4 * plan.UNKNOWN_CACHES


def test_a_small_node_bounds_the_threads_that_live_on_it() -> None:
    host = sockets(packages=1, nodes=2, slices=1, siblings=1)
    host = replace(host, nodes=(host.nodes[0], replace(host.nodes[1], memory=64 * MIB)))
    one, all_cores = teams_of(host).usual
    assert plan.largest_working_set(host, one, plan.ENOUGH) == 128 * MIB
    assert plan.largest_working_set(host, all_cores, plan.ENOUGH) == 16 * MIB
    lent = replace(one, memory_node=1)
    assert plan.largest_working_set(host, lent, plan.ENOUGH) == 32 * MIB


def test_the_memory_of_each_thread_is_the_most_that_one_of_its_teams_needs(recorded: Recorded) -> None:
    host = recorded(HYBRID)
    largest = {team: plan.largest_working_set(host, team, plan.ENOUGH) for team in every(who(host))}
    arenas = plan.arena_sizes(largest)
    for team, size in largest.items():
        assert all(arenas[cpu] >= size for cpu in team.cpus)
    assert set(arenas) == {cpu.id for cpu in host.cpus}


def test_teams_of_few_words_need_no_host_to_be_read(recorded: Recorded) -> None:
    assert teams.nodes_with_memory(recorded("rv64-milkvpioneer")) == (0, 1, 2, 3)
    assert teams.nodes_with_memory(synthetic_host()) == ()
    assert node_of(synthetic_host(), Team("one", (7,), 1)) == 0
