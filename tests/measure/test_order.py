"""The order in which threads take CPUs: on recorded hosts and on small ones that are made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.measure.host import physical_cores, read_host
from ert.measure.order import BINDINGS, BY_NUMBER, order
from ert.roofline.model import Cache, Cpu, Host, Node
from tests.machine import synthetic_host
from tests.recordings import NAMES

Recorded = Callable[[str], Host]


def sockets(packages: int = 2, nodes: int = 2, slices: int = 2, cores: int = 2, siblings: int = 2) -> Host:
    """Return a host of sockets with nodes with slices of L3 with cores, numbered as Linux does: siblings last."""
    cpus, caches, members = [], [], {}
    total = packages * nodes * slices * cores
    for core in range(total):
        node = core // (slices * cores)
        own = tuple(rank * total + core for rank in range(siblings))
        members.setdefault(node, []).extend(own)
        cpus += [Cpu(cpu, core, node // nodes, node, rank) for rank, cpu in enumerate(own)]
        caches.append(Cache("L1", 32 << 10, own))
    for first in range(0, total, cores):
        cpus_of = tuple(rank * total + core for rank in range(siblings) for core in range(first, first + cores))
        caches.append(Cache("L3", 32 << 20, cpus_of))
    listed = tuple(Node(node, tuple(sorted(cpus)), 16 << 30) for node, cpus in members.items())
    return Host("Linux", "x86_64", cpus=tuple(sorted(cpus, key=lambda c: c.id)), caches=tuple(caches), nodes=listed)


@pytest.mark.parametrize("binding", [*BINDINGS, BY_NUMBER])
@pytest.mark.parametrize("name", NAMES)
def test_every_usable_cpu_once_and_cores_before_siblings(recorded: Recorded, name: str, binding: str) -> None:
    host = recorded(name)
    found = order(host, binding)
    assert sorted(found) == [cpu.id for cpu in host.cpus if cpu.usable]
    cores = len(physical_cores(host))
    core_of = {cpu.id: cpu.core for cpu in host.cpus}
    assert len({core_of[cpu] for cpu in found[:cores]}) == cores


@pytest.mark.parametrize("name", NAMES)
def test_few_spread_threads_share_as_little_as_possible(recorded: Recorded, name: str) -> None:
    """However many threads: the fullest socket has at most one more than the emptiest that still has a free core."""
    host = recorded(name)
    fastest = host.kinds[0] if host.kinds else ""
    # The same for each kind of core, and for cores with memory of their own before the others.
    near = {node.id for node in host.nodes if node.memory} or {node.id for node in host.nodes}
    cores = [cpu for cpu in host.cpus if cpu.id in physical_cores(host) and cpu.kind == fastest and cpu.node in near]
    of = {cpu.id: cpu for cpu in host.cpus}
    for number in range(1, len(cores) + 1):
        chosen = [of[cpu] for cpu in order(host, "spread")[:number]]
        assert {cpu.kind for cpu in chosen} == {fastest}
        taken = Counter(cpu.package for cpu in chosen)
        room = Counter(cpu.package for cpu in cores)
        free = [taken[package] for package in room if taken[package] < room[package]]
        assert max(taken.values()) <= min(free, default=number) + 1


def test_two_sockets_sixteen_slices(recorded: Recorded) -> None:
    host = recorded("x86_64-epyc_7451")
    of = {cpu.id: cpu for cpu in host.cpus}
    slices = {cpu: number for number, c in enumerate(host.caches) if c.level == "L3" for cpu in c.cpus}
    spread = order(host, "spread")
    assert len({of[cpu].package for cpu in spread[:2]}) == 2
    assert len({of[cpu].node for cpu in spread[:8]}) == 8
    assert len({slices[cpu] for cpu in spread[:16]}) == 16
    assert Counter(slices[cpu] for cpu in spread[:48]) == dict.fromkeys(slices.values(), 3)
    close = order(host, "close")
    assert len({slices[cpu] for cpu in close[:3]}) == 1
    assert len({of[cpu].node for cpu in close[:6]}) == 1
    assert len({of[cpu].package for cpu in close[:24]}) == 1
    # Siblings follow in the order of their cores.
    assert [of[cpu].core for cpu in spread[:48]] == [of[cpu].core for cpu in spread[48:]]


def test_shared_second_level_caches_are_spread_over_too(recorded: Recorded) -> None:
    host = recorded("64amd64-4s2n4ca2co")
    modules = {cpu: number for number, c in enumerate(host.caches) if c.level == "L2" for cpu in c.cpus}
    assert len({modules[cpu] for cpu in order(host, "spread")[:32]}) == 32


def test_the_fastest_kind_of_core_comes_first(recorded: Recorded) -> None:
    for name, kinds in (
        ("20em64t-hybrid-1p6c2t+2ca4co1t", ("P", "E")),
        ("nvidia-dgx-gb10", ("Cortex-X925", "Cortex-A725")),
        ("arm-A510-A710-A715-X3", ("Cortex-X3", "Cortex-A710", "Cortex-A715", "Cortex-A510")),
    ):
        host = recorded(name)
        assert host.kinds == kinds
        kind = {cpu.id: cpu.kind for cpu in host.cpus}
        firsts = [kind[cpu] for cpu in order(host, "spread")[: len(physical_cores(host))]]
        assert firsts == sorted(firsts, key=kinds.index)


def test_nodes_whose_memory_is_barred_come_last(recorded: Recorded) -> None:
    host = recorded("16amd64-8n2c-cpusets")
    barred = {cpu.id for cpu in host.cpus if cpu.node not in {node.id for node in host.nodes}}
    found = order(host, "spread")
    assert set(found[-len(barred & set(found)) :]) == barred & set(found)


def test_the_core_that_the_system_boots_on_is_taken_last_among_its_neighbours() -> None:
    host = synthetic_host(4, siblings=2)
    assert order(host, "spread") == (1, 2, 3, 0, 5, 6, 7, 4)
    assert order(synthetic_host(1), "spread") == (0,)
    assert order(sockets(), "spread")[:2] == (1, 8)


def test_close_threads_fill_one_slice_after_the_other() -> None:
    assert order(sockets(), "close")[:8] == (1, 0, 2, 3, 4, 5, 6, 7)


def test_spread_threads_take_turns() -> None:
    """From each socket, node, slice in turn: of 16 cores on 8 slices, one a slice before any second one."""
    assert order(sockets(), "spread")[:16] == (1, 8, 4, 12, 2, 10, 6, 14, 0, 9, 5, 13, 3, 11, 7, 15)


def test_without_any_knowledge_the_numbers_decide() -> None:
    host = Host("Darwin", "arm64", cpus=tuple(Cpu(cpu, cpu) for cpu in range(4)))
    assert order(host, "spread") == order(host, "close") == (1, 2, 3, 0)
    assert order(host, BY_NUMBER) == (0, 1, 2, 3)
    assert order(replace(host, cpus=()), "spread") == ()


@given(
    st.lists(
        st.builds(
            Cpu, st.integers(0, 40), st.integers(0, 9), st.integers(0, 2), st.integers(0, 3),
            kind=st.sampled_from(["", "P", "E"]), usable=st.booleans(),
        ),
        max_size=20, unique_by=lambda cpu: cpu.id,
    ),
    st.lists(st.builds(Cache, st.sampled_from(["L1", "L2", "L3"]), st.just(1 << 20), st.just((1, 2, 3)))),
    st.sampled_from(sorted(BINDINGS)),
)  # fmt: skip
def test_no_host_is_too_strange(cpus: list[Cpu], caches: list[Cache], binding: str) -> None:
    host = Host("Linux", "x86_64", cpus=tuple(cpus), caches=tuple(caches), kinds=("P", "E"))
    found = order(host, binding)
    assert sorted(found) == sorted(cpu.id for cpu in cpus if cpu.usable)
    cores = {cpu.id: cpu.core for cpu in cpus}
    firsts = len({cpu.core for cpu in cpus if cpu.usable})
    assert len({cores[cpu] for cpu in found[:firsts]}) == firsts


def test_this_machine_has_an_order() -> None:
    host = read_host()
    assert set(order(host, "spread")) == {cpu.id for cpu in host.cpus if cpu.usable}
