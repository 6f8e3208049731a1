"""In which order threads take CPUs: one a core first, spread over the machine or close together, SMT siblings last."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import zip_longest

from ert.measure.capacity import physical_order
from ert.roofline.model import Cpu, Host

BOOT_CPU = 0
"""Operating systems boot on this CPU and leave most of their housekeeping, and interrupts that nobody distributes, to
it. Its core is therefore the last of its neighbours to be taken, so that a single thread runs elsewhere if it can."""

_Key = Callable[[Cpu], Hashable]


def spread(host: Host) -> tuple[int, ...]:
    """Order the usable logical CPUs so that the first few share as little as possible.

    In turn from each socket, in it from each NUMA node, in that from each instance of each shared cache, the outermost
    level first, as ``OMP_PROC_BIND=spread`` does over places. See :func:`_ordered` for what else decides.
    """
    return _ordered(host, _in_turn)


def close(host: Host) -> tuple[int, ...]:
    """Order the usable logical CPUs so that the first few are neighbours, as ``OMP_PROC_BIND=close`` has them."""
    return _ordered(host, lambda groups: [cpu for group in groups for cpu in group])


BINDINGS: dict[str, Callable[[Host], tuple[int, ...]]] = {"spread": spread, "close": close}
"""Orders by the name that a user gives them, the default first."""

BY_NUMBER = "number"
"""The order of sweeps from before there was a choice; such a sweep is resumed in it."""


def order(host: Host, binding: str) -> tuple[int, ...]:
    """Return the usable logical CPUs in the order of a binding; KeyError if there is no such."""
    return physical_order(host) if binding == BY_NUMBER else BINDINGS[binding](host)


def _ordered(host: Host, join: Callable[[Sequence[Sequence[Cpu]]], list[Cpu]]) -> tuple[int, ...]:
    """Order the usable logical CPUs: all cores, then their second siblings in the same order, and so on.

    Faster kinds of core come before slower ones, and cores with memory of their own before those whose NUMA node has
    none: what is asked of a few threads is asked of good ones.
    """
    siblings: dict[int, list[Cpu]] = {}
    for cpu in sorted(host.cpus, key=lambda cpu: cpu.id):
        if cpu.usable:
            siblings.setdefault(cpu.core, []).append(cpu)
    boot = next((cpu.core for cpu in host.cpus if cpu.id == BOOT_CPU), -1)
    rank = {kind: number for number, kind in enumerate(host.kinds)}
    near = {node.id for node in host.nodes if node.memory} or {node.id for node in host.nodes}

    def standing(cpu: Cpu) -> tuple[int, bool]:
        return rank.get(cpu.kind, len(rank)), cpu.node not in near

    domains = _domains(host)
    firsts = sorted((group[0] for group in siblings.values()), key=lambda cpu: (cpu.core == boot, cpu.id))
    cores: list[int] = []
    for level in sorted({standing(cpu) for cpu in firsts}):
        tier = [cpu for cpu in firsts if standing(cpu) == level]
        cores += [cpu.core for cpu in _arranged(tier, domains, join)]
    deepest = max(map(len, siblings.values()), default=0)
    return tuple(
        siblings[core][number].id for number in range(deepest) for core in cores if number < len(siblings[core])
    )


def _domains(host: Host) -> list[_Key]:
    """Return what groups cores, the widest first: socket, NUMA node, and each level of cache from the outermost."""
    keys: list[_Key] = [lambda cpu: cpu.package, lambda cpu: cpu.node]
    levels: dict[str, dict[int, int]] = {}
    for number, cache in enumerate(host.caches):
        levels.setdefault(cache.level, {}).update(dict.fromkeys(cache.cpus, number))

    def by_instance(instance: dict[int, int]) -> _Key:
        return lambda cpu: instance.get(cpu.id, -1)

    return [*keys, *(by_instance(levels[level]) for level in sorted(levels, reverse=True))]


def _arranged(
    cpus: Sequence[Cpu], domains: Sequence[_Key], join: Callable[[Sequence[Sequence[Cpu]]], list[Cpu]]
) -> list[Cpu]:
    """Group the cores by the first domain, arrange each group by the others, and join the groups."""
    if not domains or len(cpus) < 2:
        return list(cpus)
    groups: dict[Hashable, list[Cpu]] = {}
    for cpu in cpus:
        groups.setdefault(domains[0](cpu), []).append(cpu)
    return join([_arranged(group, domains[1:], join) for group in groups.values()])


def _in_turn(groups: Sequence[Sequence[Cpu]]) -> list[Cpu]:
    return [cpu for row in zip_longest(*groups) for cpu in row if cpu is not None]
