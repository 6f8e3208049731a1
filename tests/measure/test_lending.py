"""Memory lent between nodes, and work shared by speed, on the threads of this machine.

There may be one node here only: both "nodes" are then the same memory, which changes what a bandwidth means and
nothing of what is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ert.measure import lending, shares
from ert.measure.bench import Bench
from ert.measure.irregular import node_case
from ert.measure.plan import Pool
from ert.roofline.model import Case, Team
from microbench import nodes
from microbench.buffers import Arena
from microbench.team import Team as Threads

MIB = 1 << 20
USABLE = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
two_cpus = pytest.mark.skipif(len(USABLE) < 2, reason="needs two usable CPUs")
FIRST = USABLE[0]
SIZE = 4 * MIB


def pair(memory: int, cpus: tuple[int, ...] = (FIRST,)) -> Team:
    return Team(f"node 0, memory {memory}", cpus, len(cpus), memory)


@pytest.fixture
def bench() -> Iterator[Bench]:
    cpus = USABLE[:2]
    pools = {node: Pool(cpus[-1], len(cpus) * 6 * MIB) for node in (0, 1)}
    with Bench(dict.fromkeys(cpus, 8 * MIB), pools) as made:
        yield made


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Say where memory lies: the test fills in what the system would answer, and finds what it was asked to bind."""
    answer: dict[str, Any] = {"where": None, "bind": True, "bound": []}

    def bind(address: int, size: int, node: int) -> bool:
        answer["bound"].append(node)
        return bool(answer["bind"])

    monkeypatch.setattr(lending.nodes, "bind", bind)
    monkeypatch.setattr(lending.nodes, "where", lambda address, size: answer["where"])
    return answer


def measure(bench: Bench, case: Case, passes: int = 3) -> tuple[float, str]:
    work, code = bench.describe(case)
    assert code.verified
    assert work.program_bytes == case.total_working_set
    bench.open(case)
    timing = bench.run(case, passes)
    return timing.seconds, bench.check(case)


def test_threads_of_one_node_read_the_memory_of_another(bench: Bench, told: dict[str, Any]) -> None:
    for memory in (0, 1):
        told["where"] = {memory: 256}
        seconds, trouble = measure(bench, node_case(pair(memory), 0, SIZE, 128))
        assert seconds > 0
        assert trouble == ""
    assert told["bound"] == [0, 1], "each pool is made once, when it is first needed"
    assert bench.notes() == bench.notes()
    assert not any("NUMA node" in note for note in bench.notes())


@two_cpus
def test_all_threads_of_a_node_borrow_parts_of_one_pool(bench: Bench, told: dict[str, Any]) -> None:
    case = node_case(pair(1, tuple(USABLE[:2])), 0, SIZE, 128)
    assert measure(bench, case)[1] == ""
    addresses = bench._threads.each(USABLE[:2], lambda worker: (worker.arena.address, worker.arena.size))
    (first, size), (second, _) = sorted(addresses.values())
    assert first + size <= second
    # Ordinary cases work on each thread's own memory again.
    plain = Case("memory", Team("all", tuple(USABLE[:2]), 2), mix="load", vector_bits=128, working_set=SIZE)
    assert measure(bench, plain)[1] == ""
    own = bench._threads.each(USABLE[:2], lambda worker: worker.arena.address)
    assert not set(own.values()) & {first, second}
    assert measure(bench, case)[1] == ""


@pytest.mark.parametrize(
    ("where", "bind", "words"),
    [
        ({0: 200, 1: 56}, True, "22 % of the memory lies on node 1"),
        ({0: 256}, False, "0 % of the memory lies on node 1, and the system does not let this process bind it there"),
        ({0: 10, 1: 246}, True, ""),
        ({1: 256}, False, ""),
    ],
)
def test_memory_that_lies_elsewhere_makes_no_number(
    bench: Bench, told: dict[str, Any], where: dict[int, int], bind: bool, words: str
) -> None:
    told.update(where=where, bind=bind)
    assert measure(bench, node_case(pair(1), 0, SIZE, 128))[1] == words


def test_what_is_not_known_of_the_place_is_noted(bench: Bench, told: dict[str, Any]) -> None:
    told.update(where=None, bind=False)
    assert measure(bench, node_case(pair(0), 0, SIZE, 128))[1] == ""
    assert any("does not tell this process on which NUMA node" in note for note in bench.notes())


def test_a_node_without_cpus_needs_memory_that_can_be_bound(told: dict[str, Any]) -> None:
    told.update(where=None, bind=False)
    with Bench({FIRST: 8 * MIB}, {2: Pool(FIRST, 8 * MIB, near=False)}) as made:
        assert "node 2, which has no CPU" in measure(made, node_case(pair(2), 0, SIZE, 128))[1]
    told.update(bind=True)
    with Bench({FIRST: 8 * MIB}, {2: Pool(FIRST, 8 * MIB, near=False)}) as made:
        assert measure(made, node_case(pair(2), 0, SIZE, 128))[1] == ""


def test_a_pool_too_small_is_an_error_and_not_foreign_memory(bench: Bench, told: dict[str, Any]) -> None:
    with pytest.raises(MemoryError, match="do not fit the pool"):
        bench.open(node_case(pair(1), 0, 64 * MIB, 128))


def test_the_owner_of_a_pool_writes_it_first(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    touched = []
    plain = Arena.touch
    monkeypatch.setattr(Arena, "touch", lambda arena: (touched.append(os.sched_getaffinity(0)), plain(arena)))
    keeper = USABLE[-1]
    with Threads(dict.fromkeys({FIRST, keeper}, 4096)) as threads:
        lender = lending.Lender(threads, {1: Pool(keeper, 2 * MIB)})
        lender.lend(pair(1), MIB)
        lender.settle()
        lender.close()
    assert touched == [{keeper}]


@pytest.mark.skipif(nodes.where(Arena(4096).address, 4096) is None, reason="this system tells no node of a page")
def test_this_system_is_asked_where_pages_lie() -> None:
    arena = Arena(4 * MIB)
    assert nodes.where(arena.address, arena.size) == {}, "nothing stands behind memory that nobody wrote"
    arena.touch()
    found = nodes.where(arena.address, arena.size)
    assert found is not None
    assert sum(found.values()) == nodes.ASKED
    part = arena.part(MIB, 4096)
    assert sum((nodes.where(part.address, part.size) or {}).values()) == 1


def test_a_node_that_does_not_exist_cannot_be_bound_to() -> None:
    arena = Arena(4096)
    assert not nodes.bind(arena.address, arena.size, 1000)


@pytest.mark.parametrize(("system", "machine"), [("darwin", "x86_64"), ("win32", "AMD64"), ("linux", "sparc64")])
def test_other_systems_tell_nothing_of_nodes(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    arena = Arena(4096)
    arena.touch()
    assert nodes.where(arena.address, arena.size) is None
    assert not nodes.bind(arena.address, arena.size, 0)


# ------------------------------------------------------------------------------------------ work shared by speed

KINDS = dict(zip(USABLE, ("P", "E"), strict=False))

MIXED = Team("all", tuple(USABLE[:2]), 2)

CASES = (
    Case("compute", MIXED, "fp64", "fma", vector_bits=128, accumulators=8),
    Case("memory", MIXED, mix="update", vector_bits=128, working_set=64 << 10),
    Case("memory", MIXED, mix="triad", vector_bits=128, working_set=96 << 10),
    Case("intensity", MIXED, "fp64", "fma", "load", 128, 8, 2, 64 << 10, "L2"),
    Case("gather", MIXED, working_set=80 << 10, level="L2", parameters=(("element", "int64"), ("index_bits", 64))),
    Case("latency", MIXED, accumulators=2, working_set=64 << 10, level="L2", parameters=(("pattern", "random"),)),
)


@two_cpus
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.probe} {case.mix}")
def test_threads_of_two_kinds_share_the_work_and_the_oracle_holds(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def uneven(total: int, speeds: list[float]) -> list[int]:
        asked.append(list(speeds))
        return [total // 8, total - total // 8]

    with Bench(dict.fromkeys(MIXED.cpus, MIB), kinds=KINDS) as mixed, Bench(dict.fromkeys(MIXED.cpus, MIB)) as plain:
        whole, single = mixed.describe(case)[0], plain.describe(case)[0]
        over_memory = case.probe in ("memory", "intensity")
        times = shares.PASSES_SHARED if over_memory else 1
        assert (whole.flop, whole.program_bytes, whole.events) == tuple(
            times * count for count in (single.flop, single.program_bytes, single.events)
        )
        monkeypatch.setattr(shares, "split", uneven)
        monkeypatch.setattr(shares, "LONG_ENOUGH", 0.0)
        mixed.open(case)
        for _ in range(3):
            mixed.run(case, 8)
        assert mixed.check(case) == ""
        monkeypatch.setattr(shares, "LONG_ENOUGH", 60.0)
        mixed.run(case, 8)
        mixed.run(case, 8)
    # The first run has equal parts. Then what each did a second counts, but not of runs that are too short to tell.
    assert len(asked) == 4
    assert all(speed > 0 for speeds in asked for speed in speeds)
    assert asked[2] == asked[3] != asked[0]


@two_cpus
def test_at_a_barrier_nobody_comes_more_often_than_the_others() -> None:
    case = Case("overhead", MIXED, parameters=(("threads", 2), ("until", "barrier")))
    with Bench(dict.fromkeys(MIXED.cpus, MIB), kinds=KINDS) as made:
        made.open(case)
        for _ in range(3):
            assert made.run(case, 100).seconds > 0
        assert made.check(case) == ""


@two_cpus
def test_threads_of_one_kind_do_the_same_each(bench: Bench) -> None:
    with Bench(dict.fromkeys(MIXED.cpus, MIB), kinds=dict.fromkeys(MIXED.cpus, "P")) as made:
        case = replace(CASES[1], team=MIXED)
        assert made.describe(case)[0] == bench.describe(case)[0]
