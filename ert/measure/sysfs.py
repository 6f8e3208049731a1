"""Reads which CPUs are online, and the cores, packages, caches and NUMA nodes they form, from /sys and /proc/cpuinfo.

File meanings are those of the Linux kernel's ``Documentation/ABI/stable/sysfs-devices-system-cpu`` and ``-node``. Where
a mask and a list say the same, the mask is read: some kernels of 2012 wrote lists that leave out sharing CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

from ert.measure.cpuinfo import CpuInfo
from ert.measure.devicetree import DeviceTree
from ert.measure.tree import Tree
from ert.roofline.model import Cache, Node

CPU_FOLDER = "sys/devices/system/cpu"
NODE_FOLDER = "sys/devices/system/node"

# Mask and list of the same CPUs; the first pair is the name since Linux 5.2, the second the one before.
_CORE_FILES = (("core_cpus", "core_cpus_list"), ("thread_siblings", "thread_siblings_list"))
_PACKAGE_FILES = (("package_cpus", "package_cpus_list"), ("core_siblings", "core_siblings_list"))
_CACHE_FILES = (("shared_cpu_map", "shared_cpu_list"),)


@dataclass(frozen=True, slots=True)
class Online:
    """The logical CPUs that are online, and those that are present but offline; both ascending."""

    cpus: tuple[int, ...]
    offline: tuple[int, ...]


def read_online(tree: Tree, info: CpuInfo) -> Online:
    """Which CPUs run, from sysfs, else from cpuinfo, else from /proc/stat."""
    folders = tree.numbered(CPU_FOLDER, "cpu")
    listed = tree.listed(f"{CPU_FOLDER}/online")
    if listed:
        candidates = set(listed)
    elif folders:
        # Kernels without the list also leave out the topology of a CPU that is offline.
        described = {cpu for cpu in folders if tree.exists(f"{CPU_FOLDER}/cpu{cpu}/topology")}
        candidates = described or set(folders)
    elif info.blocks:
        candidates = set(info.blocks)
    else:
        candidates = {int(number) for number in re.findall(r"(?m)^cpu([0-9]+)", tree.text("proc/stat") or "")}
    online = {cpu for cpu in candidates if tree.integer(f"{CPU_FOLDER}/cpu{cpu}/online") != 0}
    present = (tree.listed(f"{CPU_FOLDER}/present") or set()) | set(folders)
    return Online(tuple(sorted(online)), tuple(sorted(present - online)))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Core and package number of every online CPU, and whether the system tells of cores at all."""

    core: Mapping[int, int]
    package: Mapping[int, int]
    declared: bool


def read_grouping(tree: Tree, info: CpuInfo, devices: DeviceTree, online: Collection[int]) -> Grouping:
    """Which CPUs share a core, and which a package.

    CPUs that the kernel calls siblings but gives different core ids are cores of their own: that is how the modules of
    AMD's family 15h, two integer cores behind one front end, are declared.
    """
    core_keys: dict[int, Hashable] = {}
    package_keys: dict[int, Hashable] = {}
    declared = True
    for cpu in online:
        folder = f"{CPU_FOLDER}/cpu{cpu}/topology"
        package = _package_key(tree, info, folder, cpu, online)
        package_keys[cpu] = package
        core_id = tree.integer(f"{folder}/core_id")
        siblings = _shared(tree, folder, _CORE_FILES)
        threads = next((core for core in devices.cores if cpu in core), None)
        if siblings is not None:
            core_keys[cpu] = ("siblings", min((siblings & set(online)) | {cpu}), core_id)
        elif core_id is not None and core_id >= 0:
            core_keys[cpu] = ("id", package, core_id)
        elif info.integer(cpu, "core id") is not None:
            core_keys[cpu] = ("cpuinfo", package, info.integer(cpu, "core id"))
        elif threads is not None:
            core_keys[cpu] = ("device tree", threads)
        else:
            core_keys[cpu] = ("alone", cpu)
            declared = False
    return Grouping(_numbered(core_keys), _package_numbers(package_keys), declared)


def _package_key(tree: Tree, info: CpuInfo, folder: str, cpu: int, online: Collection[int]) -> Hashable:
    package_id = tree.integer(f"{folder}/physical_package_id")
    if package_id is None:
        package_id = info.integer(cpu, "physical id")
    if package_id is not None and package_id >= 0:
        # On s390 a package number counts within its book, and a book's within its drawer.
        outer = tuple(tree.integer(f"{folder}/{name}") for name in ("drawer_id", "book_id"))
        return package_id if outer == (None, None) else (*outer, package_id)
    together = _shared(tree, folder, _PACKAGE_FILES)
    return "one" if together is None else tuple(sorted((together & set(online)) | {cpu}))


def _package_numbers(keys: Mapping[int, Hashable]) -> dict[int, int]:
    """Keep the system's own numbers where all packages have one, else count from 0."""
    plain = {cpu: key for cpu, key in keys.items() if isinstance(key, int)}
    return plain if len(plain) == len(keys) else _numbered(keys)


def _numbered(keys: Mapping[int, Hashable]) -> dict[int, int]:
    """Count the distinct keys from 0, in the order in which the CPUs first show them."""
    numbers: dict[Hashable, int] = {}
    return {cpu: numbers.setdefault(keys[cpu], len(numbers)) for cpu in sorted(keys)}


def _shared(tree: Tree, folder: str, files: Collection[tuple[str, str]]) -> frozenset[int] | None:
    """CPUs of the first mask that can be read, else of the list that goes with it."""
    for mask, listed in files:
        found = tree.mask(f"{folder}/{mask}")
        if found is None:
            found = tree.listed(f"{folder}/{listed}")
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One ``cache/indexN`` folder; ``sharing`` is None where it does not say which CPUs share the cache."""

    cpu: int
    level: int
    size: int
    line: int
    sharing: frozenset[int] | None
    number: int | None


def read_caches(tree: Tree, devices: DeviceTree, grouping: Grouping, online: Collection[int]) -> tuple[Cache, ...]:
    """List data and unified caches, one entry an instance, small levels and small CPU numbers first.

    Sizes are as declared, 0 where a cache is listed without one. A cache that is listed twice counts once, with the
    larger size.
    """
    known = frozenset(online)
    entries = [entry for cpu in online for entry in _cache_entries(tree, cpu)]
    found: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
    for entry in entries:
        sharing = entry.sharing
        if sharing is None and entry.number is not None:
            key = (entry.level, entry.number)
            sharing = frozenset(other.cpu for other in entries if (other.level, other.number) == key)
        elif sharing is None:  # nothing tells; the threads of a core share all its caches
            sharing = frozenset(other for other in online if grouping.core[other] == grouping.core[entry.cpu])
        where = (entry.level, tuple(sorted((sharing & known) | {entry.cpu})))
        size, line = found.get(where, (0, 0))
        found[where] = max(size, entry.size), max(line, entry.line)
    if not entries:
        for cache in devices.caches:
            if cpus := tuple(sorted(cache.cpus & known)):
                found[cache.level, cpus] = cache.size, cache.line
    return tuple(Cache(f"L{level}", size, cpus, line or None) for (level, cpus), (size, line) in sorted(found.items()))


def _cache_entries(tree: Tree, cpu: int) -> list[_Entry]:
    folder = f"{CPU_FOLDER}/cpu{cpu}/cache"
    entries = []
    for index in tree.names(folder, r"index[0-9]+"):
        name = f"{folder}/{index}"
        level = tree.integer(f"{name}/level")
        if level is None or level < 1 or (tree.text(f"{name}/type") or "Unified") not in ("Data", "Unified"):
            continue
        entries.append(
            _Entry(
                cpu,
                level,
                size=tree.size(f"{name}/size") or 0,
                line=tree.integer(f"{name}/coherency_line_size") or 0,
                sharing=_shared(tree, name, _CACHE_FILES),
                number=tree.integer(f"{name}/id"),
            )
        )
    return entries


def read_nodes(tree: Tree, online: Collection[int], allowed: frozenset[int] | None) -> tuple[Node, ...]:
    """NUMA nodes whose memory may be used, those without CPUs or without memory included; empty if none is declared.

    Memory of an NVIDIA GPU that the system shows as a node is left out: it is not this machine's main memory.
    """
    numbers = set(tree.numbered(NODE_FOLDER, "node"))
    if (listed := tree.listed(f"{NODE_FOLDER}/online")) and listed & numbers:
        numbers &= listed
    numbers -= _gpu_nodes(tree)
    if allowed is not None and allowed & numbers:
        numbers &= allowed
    known = frozenset(online)
    return tuple(
        Node(number, tuple(sorted(_node_cpus(tree, number) & known)), _node_memory(tree, number))
        for number in sorted(numbers)
    )


def node_of_cpus(tree: Tree, online: Collection[int]) -> dict[int, int]:
    """NUMA node of every CPU that one lists, whether or not its memory may be used."""
    found: dict[int, int] = {}
    for number in tree.numbered(NODE_FOLDER, "node"):
        for cpu in _node_cpus(tree, number) & set(online):
            found.setdefault(cpu, number)
    return found


def _node_cpus(tree: Tree, number: int) -> frozenset[int]:
    folder = f"{NODE_FOLDER}/node{number}"
    for found in (tree.mask(f"{folder}/cpumap"), tree.listed(f"{folder}/cpulist")):
        if found is not None:
            return found
    return frozenset(tree.numbered(folder, "cpu"))


def _node_memory(tree: Tree, number: int) -> int:
    match = re.search(r"MemTotal:\s*([0-9]+) kB", tree.text(f"{NODE_FOLDER}/node{number}/meminfo") or "")
    return int(match[1]) * 1024 if match else 0


def _gpu_nodes(tree: Tree) -> set[int]:
    folder = "proc/driver/nvidia/gpus"
    stated = (tree.text(f"{folder}/{name}/numa_status") or "" for name in tree.names(folder, r"[^.].*"))
    return {int(number) for text in stated for number in re.findall(r"(?m)^Node:\s*([0-9]+)", text)}
