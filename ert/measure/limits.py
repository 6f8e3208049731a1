"""Reads what this process may use: CPUs and NUMA nodes of its cpuset, and the memory and CPU time of its cgroups.

Version 1 and 2 hierarchies, both at once, and the cpuset file system that came before them. Meanings of the files:
the Linux kernel's ``Documentation/admin-guide/cgroup-v2.rst`` and ``cgroup-v1/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ert.measure.tree import Tree, parse_cpu_list, parse_cpu_mask, parse_integer

NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as the largest number of pages it can count, about 2**63 bytes; no machine has 2**60."""

_Kind = Literal["v2", "v1", "cpuset"]


@dataclass(frozen=True, slots=True)
class Group:
    """Folders of this process's group for one controller, innermost first, up to the mount point."""

    kind: _Kind
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Allowed:
    """CPUs and NUMA nodes that the cpuset allows; None where nothing restricts them."""

    cpus: frozenset[int] | None
    nodes: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Smallest memory limit in force, and how much the groups that have one leave; None where there is no limit.

    ``left`` counts file pages of the group as free, since the kernel drops them when memory is asked for.
    """

    limit: int | None
    left: int | None


def read_groups(tree: Tree, controller: str) -> tuple[Group, ...]:
    """Find the groups of this process that may hold files of a controller (``cpuset``, ``memory``, ``cpu``)."""
    paths = _group_paths(tree)
    found = []
    for point, kind, options in _mounts(tree):
        if kind == "cgroup2":
            # Where only /proc/self/cpuset tells the group, it is that of this one controller.
            alone = paths.get("cpuset file", "") if controller == "cpuset" else ""
            found.append(Group("v2", _folders(tree, point, paths.get("", alone))))
        elif kind == "cgroup" and controller in options:
            plain = controller == "cpuset" and "noprefix" in options
            path = paths.get(controller, paths.get("cpuset file", "") if controller == "cpuset" else "")
            found.append(Group("cpuset" if plain else "v1", _folders(tree, point, path)))
        elif kind == "cpuset" and controller == "cpuset":
            found.append(Group("cpuset", _folders(tree, point, paths.get("cpuset", paths.get("cpuset file", "")))))
    return tuple(found)


def read_allowed(tree: Tree, *, with_status: bool) -> Allowed:
    """Read what the cpusets of this process allow.

    Parameters
    ----------
    with_status : bool
        Whether ``Cpus_allowed`` of /proc/self/status counts too; it is the affinity of the thread that reads it, which
        a caller may know better. ``Mems_allowed`` always counts.
    """
    cpus = _status(tree, "Cpus_allowed") if with_status else None
    nodes = _status(tree, "Mems_allowed")
    for group in read_groups(tree, "cpuset"):
        cpus = _both(cpus, _of_group(tree, group, "cpus"))
        nodes = _both(nodes, _of_group(tree, group, "mems"))
    return Allowed(cpus, nodes)


def read_memory_limit(tree: Tree) -> MemoryLimit:
    """Find the smallest limit on the way from the group to the mount point, version 2's throttling limit included."""
    limits: list[int] = []
    left: list[int] = []
    for group in read_groups(tree, "memory"):
        names = ("memory.max", "memory.high") if group.kind == "v2" else ("memory.limit_in_bytes",)
        usage_name = "memory.current" if group.kind == "v2" else "memory.usage_in_bytes"
        for folder in group.folders:
            values = (tree.integer(f"{folder}/{name}") for name in names)
            here = [value for value in values if value is not None and 0 <= value < NO_LIMIT]
            if not here:
                continue
            limits.append(min(here))
            if (usage := tree.integer(f"{folder}/{usage_name}")) is not None:
                left.append(max(1, min(here) - max(0, usage - _file_pages(tree, folder))))  # 0 would read as unknown
    return MemoryLimit(min(limits, default=None), min(left, default=None))


def read_cpu_quota(tree: Tree) -> float | None:
    """Read the CPUs' worth of time, the smallest on the way from the group to the mount point; None without a quota."""
    quotas: list[float] = []
    for group in read_groups(tree, "cpu"):
        for folder in group.folders:
            if group.kind == "v2":
                quota, _, period = (tree.text(f"{folder}/cpu.max") or "max").partition(" ")
            else:
                quota = tree.text(f"{folder}/cpu.cfs_quota_us") or "-1"
                period = tree.text(f"{folder}/cpu.cfs_period_us") or ""
            most, of = parse_integer(quota), parse_integer(period)
            if most is not None and of is not None and most > 0 and of > 0:
                quotas.append(most / of)
    return min(quotas, default=None)


def _mounts(tree: Tree) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Mount point, type and options of every cgroup or cpuset mount; the usual places where /proc/mounts is missing."""
    table = tree.text("proc/mounts") or tree.text("proc/self/mounts")
    if table is None:
        if tree.exists("sys/fs/cgroup/cgroup.controllers"):
            yield "sys/fs/cgroup", "cgroup2", frozenset()
        else:
            for name in tree.names("sys/fs/cgroup", r"[^.].*"):
                yield f"sys/fs/cgroup/{name}", "cgroup", frozenset(name.split(","))
        return
    for line in table.splitlines():
        fields = line.split()
        if len(fields) >= 4 and fields[2] in ("cgroup", "cgroup2", "cpuset"):
            point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1])  # "\040" is a space
            yield point.strip("/"), fields[2], frozenset(fields[3].split(","))


def _group_paths(tree: Tree) -> dict[str, str]:
    """Path of this process's group by version 1 controller, under "" the one of version 2."""
    paths = {}
    for line in (tree.text("proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            paths[controller] = path
    if (alone := tree.text("proc/self/cpuset")) is not None:
        paths["cpuset file"] = alone
    return paths


def _folders(tree: Tree, point: str, path: str) -> tuple[str, ...]:
    """List the group's folder and those above it, up to the mount point.

    In a container the path is often the host's while only the container's own part is mounted. So the longest end of
    the path that exists below the mount point is taken, in the last resort the mount point itself.
    """
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..", ".")]
    while parts and not tree.is_folder("/".join([point, *parts])):
        parts = parts[1:]
    return tuple("/".join([point, *parts[:depth]]) for depth in range(len(parts), -1, -1))


def _of_group(tree: Tree, group: Group, what: Literal["cpus", "mems"]) -> frozenset[int] | None:
    """CPUs or nodes of the innermost folder that states any; an empty file leaves it to the folder above.

    Of version 1 what was set comes first: what is in force the running kernel tells by itself, and a recording may have
    been made while CPUs of it were offline.
    """
    names = {
        "v2": (f"cpuset.{what}.effective", f"cpuset.{what}"),
        "v1": (f"cpuset.{what}", f"cpuset.effective_{what}"),
        "cpuset": (what, f"effective_{what}"),
    }[group.kind]
    found = (tree.listed(f"{folder}/{name}") for folder in group.folders for name in names)
    return next((listed for listed in found if listed), None)


def _status(tree: Tree, key: str) -> frozenset[int] | None:
    """CPUs or nodes of ``KEY_list``, else of the mask ``KEY``, in /proc/self/status."""
    fields = dict(line.split(":", 1) for line in (tree.text("proc/self/status") or "").splitlines() if ":" in line)
    try:
        return frozenset(parse_cpu_list(fields[f"{key}_list"].strip()))
    except (KeyError, ValueError):
        return parse_cpu_mask(fields[key]) if key in fields else None


def _both(one: frozenset[int] | None, other: frozenset[int] | None) -> frozenset[int] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _file_pages(tree: Tree, folder: str) -> int:
    """Bytes of page cache charged to a group and to those below it."""
    text = tree.text(f"{folder}/memory.stat") or ""
    stated = dict(re.findall(r"(?m)^(\w+) ([0-9]+)$", text))
    prefix = "total_" if "total_inactive_file" in stated else ""  # version 1 counts the groups below under this prefix
    return sum(parse_integer(stated.get(f"{prefix}{name}", "0")) or 0 for name in ("inactive_file", "active_file"))
