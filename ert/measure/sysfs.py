"""Reads which CPUs are online, and the cores, packages and caches they form, from /sys and /proc/cpuinfo.

File meanings are those of the Linux kernel's ``Documentation/ABI/stable/sysfs-devices-system-cpu``. Where a mask and a
list say the same, the mask is read: some kernels of 2012 wrote lists that leave out sharing CPUs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

from ert.measure.cpuinfo import CpuInfo
from ert.measure.devicetree import DeviceTree
from ert.measure.tree import Tree
from ert.roofline.model import Cache

CPU_FOLDER = "sys/devices/system/cpu"

# Mask and list of the same CPUs; the first pair is the name since Linux 5.2, the second the one before.
_CORE_FILES = (("core_cpus", "core_cpus_list"), ("thread_siblings", "thread_siblings_list"))
_PACKAGE_FILES = (("package_cpus", "package_cpus_list"), ("core_siblings", "core_siblings_list"))
_CACHE_FILES = (("shared_cpu_map", "shared_cpu_list"),)

_LEVELS = range(1, 10)
"""Levels of cache that are believed: their names sort as text, and no machine has more than five."""

_MODULES_FAMILY = 0x15
"""AMD's processor family (``cpu family``) whose integer cores share a front end in pairs."""


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
        candidates = set(listed & set(folders) or listed)  # a number without a folder is a mistake
    elif folders:
        # Kernels without the list also leave out the topology of a CPU that is offline.
        described = {cpu for cpu in folders if tree.exists(f"{CPU_FOLDER}/cpu{cpu}/topology")}
        candidates = described or set(folders)
    elif info.blocks:
        candidates = set(info.blocks)
    else:
        candidates = {int(number) for number in re.findall(r"(?m)^cpu([0-9]{1,5})\b", tree.text("proc/stat") or "")}
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

    What the kernel says of who is together counts more than numbers: two packages may have the same number, and threads
    of a core may have different ones in a virtual machine.
    """
    folders = {cpu: f"{CPU_FOLDER}/cpu{cpu}/topology" for cpu in online}
    packages = _agreed(tree, folders, _PACKAGE_FILES)
    cores = _agreed(tree, folders, _CORE_FILES)
    package_keys: dict[int, Hashable] = {}
    core_keys: dict[int, Hashable] = {}
    declared = True
    for cpu, folder in folders.items():
        package = packages[cpu] if cpu in packages else _package_key(tree, info, folder, cpu)
        package_keys[cpu] = package
        core_id = tree.integer(f"{folder}/core_id")
        threads = next((core for core in devices.cores if cpu in core), None)
        if cpu in cores:
            core_keys[cpu] = ("siblings", cores[cpu], core_id if _has_modules(info, cpu) else None)
        elif core_id is not None and core_id >= 0:
            core_keys[cpu] = ("id", package, core_id)
        elif info.integer(cpu, "core id") is not None:
            core_keys[cpu] = ("cpuinfo", package, info.integer(cpu, "core id"))
        elif threads is not None:
            core_keys[cpu] = ("device tree", threads)
        else:
            core_keys[cpu] = ("alone", cpu)
            declared = False
    ids = {cpu: _package_id(tree, info, folder, cpu) for cpu, folder in folders.items()}
    return Grouping(_numbered(core_keys), _package_numbers(package_keys, ids), declared)


def _has_modules(info: CpuInfo, cpu: int) -> bool:
    """Whether the kernel calls two integer cores behind one front end siblings: AMD's modules of family 15h.

    Such siblings have core ids of their own, and are cores of their own.
    """
    return info.get(cpu, "vendor_id") == "AuthenticAMD" and info.integer(cpu, "cpu family") == _MODULES_FAMILY


def _package_id(tree: Tree, info: CpuInfo, folder: str, cpu: int) -> int | None:
    """Return the system's own number of a CPU's package, None where it has none."""
    stated = tree.integer(f"{folder}/physical_package_id")
    number = info.integer(cpu, "physical id") if stated is None else stated
    return None if number is None or number < 0 else number


def _package_key(tree: Tree, info: CpuInfo, folder: str, cpu: int) -> Hashable:
    # On s390 a package number counts within its book, and a book's within its drawer.
    outer = tuple(tree.integer(f"{folder}/{name}") for name in ("drawer_id", "book_id"))
    return (*outer, _package_id(tree, info, folder, cpu))


def _package_numbers(keys: Mapping[int, Hashable], ids: Mapping[int, int | None]) -> dict[int, int]:
    """Keep the system's own numbers where they tell all packages apart, else count from 0."""
    own = {keys[cpu]: ids[cpu] for cpu in sorted(keys, reverse=True)}
    plain = [number for number in own.values() if number is not None]
    if len(set(plain)) < len(own):
        return _numbered(keys)
    return {cpu: number for cpu, key in keys.items() if (number := own[key]) is not None}


def _numbered(keys: Mapping[int, Hashable]) -> dict[int, int]:
    """Count the distinct keys from 0, in the order in which the CPUs first show them."""
    numbers: dict[Hashable, int] = {}
    return {cpu: numbers.setdefault(keys[cpu], len(numbers)) for cpu in sorted(keys)}


def _agreed(tree: Tree, folders: Mapping[int, str], files: Collection[tuple[str, str]]) -> dict[int, frozenset[int]]:
    """Return who is together with each CPU; those of whom nothing is told are left out."""
    told = {cpu: found for cpu, folder in folders.items() if (found := _shared(tree, folder, files)) is not None}
    return settled({cpu: found & frozenset(folders) for cpu, found in told.items()})


def settled(claims: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Return disjoint groups of CPUs out of what each CPU says of its own.

    Parameters
    ----------
    claims : mapping of int to frozenset of int
        The CPUs that each says it is together with. One that leaves out itself says nothing.

    Returns
    -------
    dict of int to frozenset of int
        The group of each CPU that is in any. Where two overlap, the one that more of its CPUs agree on stands, and the
        other keeps whom that leaves.
    """
    voices = Counter(group for cpu, group in claims.items() if cpu in group)
    found: dict[int, frozenset[int]] = {}
    for group in sorted(voices, key=lambda group: (-voices[group], len(group), min(group))):
        rest = group.difference(found)
        found |= dict.fromkeys(rest, rest)
    return found


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
    """One ``cache/indexN`` folder.

    ``turn`` counts how many of the level the CPU listed before; ``sharing`` is None where it does not say which CPUs
    share the cache.
    """

    cpu: int
    level: int
    turn: int
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
    claims: dict[tuple[int, int], dict[int, frozenset[int]]] = {}
    for entry in entries:
        claims.setdefault((entry.level, entry.turn), {})[entry.cpu] = _claim(entry, entries, grouping) & known
    groups = {key: settled(claim) for key, claim in claims.items()}
    found: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
    for entry in entries:
        where = entry.level, tuple(sorted(groups[entry.level, entry.turn][entry.cpu]))
        size, line = found.get(where, (0, 0))
        found[where] = max(size, entry.size), max(line, entry.line)
    if not entries:
        for cache in devices.caches:
            if cpus := tuple(sorted(cache.cpus & known)):
                found[cache.level, cpus] = cache.size, cache.line
    return tuple(Cache(f"L{level}", size, cpus, line or None) for (level, cpus), (size, line) in sorted(found.items()))


def _claim(entry: _Entry, entries: Collection[_Entry], grouping: Grouping) -> frozenset[int]:
    """Return the CPUs that an entry says share it; where it does not, those of the same number, or of the same core."""
    if entry.sharing is not None and entry.cpu in entry.sharing:  # some kernels of ia64 write an empty mask
        return entry.sharing
    if entry.number is not None:
        key = entry.level, entry.number
        return frozenset(other.cpu for other in entries if (other.level, other.number) == key)
    core = grouping.core[entry.cpu]
    return frozenset(cpu for cpu, other in grouping.core.items() if other == core)


def _cache_entries(tree: Tree, cpu: int) -> list[_Entry]:
    folder = f"{CPU_FOLDER}/cpu{cpu}/cache"
    entries: list[_Entry] = []
    for index in tree.names(folder, r"index[0-9]+"):
        name = f"{folder}/{index}"
        level = tree.integer(f"{name}/level")
        if level is None or level not in _LEVELS or (tree.text(f"{name}/type") or "Unified") not in ("Data", "Unified"):
            continue
        entries.append(
            _Entry(
                cpu,
                level,
                turn=sum(entry.level == level for entry in entries),
                size=tree.size(f"{name}/size") or 0,
                line=tree.integer(f"{name}/coherency_line_size") or 0,
                sharing=_shared(tree, name, _CACHE_FILES),
                number=tree.integer(f"{name}/id"),
            )
        )
    return entries
