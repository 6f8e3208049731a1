"""Names the kinds of core on hosts that have several: performance and efficiency cores, big and little ones."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from ert.measure.cpuinfo import CpuInfo, arm_name, arm_part
from ert.measure.sysfs import CPU_FOLDER
from ert.measure.tree import Tree
from ert.roofline.model import Cache

_PMU_KINDS = (("cpu_core", "P"), ("cpu_atom", "E"), ("cpu_lowpower", "LP-E"))
"""Performance-monitoring units of Intel hybrid processors, one a kind of core, and the vendor's names of the kinds."""

_FASTER = ("LP-E", "E", "M", "P")
"""Names of kinds that say which is faster than which."""

SAME_CAPACITY = 0.1
"""Capacities (``cpu_capacity``, 1024 for the fastest) that differ by less than this fraction are one kind: cores of one
kind differ by a few percent where the maker lets the best of them clock higher (718 and 731, 997 and 1024 on one)."""


def read_kinds(tree: Tree, info: CpuInfo, caches: Collection[Cache], online: Collection[int]) -> dict[int, str]:
    """Kind of every CPU; empty names where all are alike.

    The witnesses, best first: Intel's monitoring units, Arm part numbers, x86 family and model, the sizes of the
    private caches, the scheduler's capacities. The first that tells kinds apart names them.
    """
    for names in (
        _by_monitoring_unit(tree, online),
        _by_arm_part(tree, info, online),
        _by_x86_model(info, online),
        _by_first_cache(caches, online),
        _by_capacity(tree, online),
    ):
        if len(names) == len(online) and len(set(names.values())) > 1:
            return _apart_from_last_cache(names, caches)
    return dict.fromkeys(online, "")


def rank_kinds(tree: Tree, names: Mapping[int, str], caches: Collection[Cache]) -> tuple[str, ...]:
    """Kinds of core, the fastest first; empty where all are alike.

    The scheduler's capacities decide, which follow a benchmark; then the vendor's names, the highest clock, the first
    two levels of cache.
    """
    kinds = sorted(set(names.values()))
    if len(kinds) < 2:
        return ()
    folder = f"{CPU_FOLDER}/cpu"
    witnesses: tuple[Mapping[int, int], ...] = (
        {cpu: tree.integer(f"{folder}{cpu}/cpu_capacity") or 0 for cpu in names},
        {cpu: _FASTER.index(name) + 1 if name in _FASTER else 0 for cpu, name in names.items()},
        {cpu: tree.integer(f"{folder}{cpu}/cpufreq/cpuinfo_max_freq") or 0 for cpu in names},
        {cpu: sum(c.size // len(c.cpus) for c in caches if cpu in c.cpus and c.level in ("L1", "L2")) for cpu in names},
    )
    best = [
        {kind: max(found[cpu] for cpu, name in names.items() if name == kind) for kind in kinds} for found in witnesses
    ]
    # A witness that is silent on one kind cannot compare it with the others.
    best = [found for found in best if all(found.values())]
    return tuple(sorted(kinds, key=lambda kind: [-found[kind] for found in best]))


def _by_monitoring_unit(tree: Tree, online: Collection[int]) -> dict[int, str]:
    names: dict[int, str] = {}
    for unit, name in _PMU_KINDS:
        for cpu in tree.listed(f"sys/devices/{unit}/cpus") or ():
            if cpu in online:
                names[cpu] = name
    return names


def _by_arm_part(tree: Tree, info: CpuInfo, online: Collection[int]) -> dict[int, str]:
    parts = {cpu: part for cpu in online if (part := arm_part(tree, info, cpu))}
    return {cpu: arm_name(*part[:2]) for cpu, part in parts.items()}


def _by_x86_model(info: CpuInfo, online: Collection[int]) -> dict[int, str]:
    numbers = {cpu: (info.integer(cpu, "cpu family"), info.integer(cpu, "model")) for cpu in online}
    return {cpu: f"family {pair[0]} model {pair[1]}" for cpu, pair in numbers.items() if None not in pair}


def _by_first_cache(caches: Collection[Cache], online: Collection[int]) -> dict[int, str]:
    """Hybrid processors seen without their monitoring units: the kinds differ in the first-level data cache."""
    sizes = {cpu: cache.size for cache in caches if cache.level == "L1" and cache.size for cpu in cache.cpus}
    return _ranked({cpu: size for cpu, size in sizes.items() if cpu in online})


def _by_capacity(tree: Tree, online: Collection[int]) -> dict[int, str]:
    read = {cpu: tree.integer(f"{CPU_FOLDER}/cpu{cpu}/cpu_capacity") or 0 for cpu in online}
    steps: dict[int, int] = {}
    top = 0
    for capacity in sorted(set(read.values()), reverse=True):
        if capacity < top * (1 - SAME_CAPACITY) or not top:
            top = capacity
        steps[capacity] = top
    return _ranked({cpu: steps[capacity] for cpu, capacity in read.items() if capacity})


def _ranked(values: Mapping[int, int]) -> dict[int, str]:
    """P for the largest value, E for the smallest, M, M2, ... for those between."""
    order = sorted(set(values.values()), reverse=True)
    names = {value: "M" if rank == 1 else f"M{rank}" for rank, value in enumerate(order)}
    if order:
        names |= {order[-1]: "E", order[0]: "P"}
    return {cpu: names[value] for cpu, value in values.items()}


def _apart_from_last_cache(names: Mapping[int, str], caches: Collection[Cache]) -> dict[int, str]:
    """Call E cores that the last cache does not serve LP-E: they have one memory level less, so their roofs differ."""
    levels: dict[int, set[Hashable]] = {cpu: {cache.level for cache in caches if cpu in cache.cpus} for cpu in names}
    fullest = max((len(found) for cpu, found in levels.items() if names[cpu] == "E"), default=0)
    return {cpu: "LP-E" if name == "E" and 0 < len(levels[cpu]) < fullest else name for cpu, name in names.items()}
