"""Reads threads and caches from the device tree of a POWER machine, whose older kernels leave them out of sysfs.

Properties are big-endian 32-bit cells, as the Devicetree Specification and the Power Architecture Platform
Requirements define them: ``ibm,ppc-interrupt-server#s`` numbers the threads of a core, ``l2-cache`` or
``next-level-cache`` points to the ``phandle`` of the cache below.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ert.measure.tree import Tree

_FOLDERS = ("proc/device-tree/cpus", "sys/firmware/devicetree/base/cpus")
_HANDLES = ("phandle", "linux,phandle", "ibm,phandle")
_SIZES = ("d-cache-size", "cache-size")
_LINES = ("d-cache-line-size", "d-cache-block-size")
_NEXT = ("l2-cache", "next-level-cache")


@dataclass(frozen=True, slots=True)
class TreeCache:
    """A data or unified cache: level from 1, bytes and bytes of a line (0 if not stated), the CPUs that share it."""

    level: int
    size: int
    line: int
    cpus: frozenset[int]


@dataclass(frozen=True, slots=True)
class DeviceTree:
    """Threads of each core, and the caches; both empty where there is no such tree."""

    cores: tuple[frozenset[int], ...] = ()
    caches: tuple[TreeCache, ...] = ()


def read_device_tree(tree: Tree) -> DeviceTree:
    """Cores and caches of all nodes below ``cpus``."""
    folder = next((name for name in _FOLDERS if tree.is_folder(name)), None)
    if folder is None:
        return DeviceTree()
    nodes = [f"{folder}/{name}" for name in tree.names(folder, r"[^.].*") if tree.is_folder(f"{folder}/{name}")]
    by_handle = {handle: node for node in nodes if (handle := _cell(tree, node, _HANDLES)) is not None}
    cores: list[frozenset[int]] = []
    sharing: dict[tuple[int, str], set[int]] = {}
    for node in nodes:
        if _kind(tree, node) != "cpu":
            continue
        threads = frozenset(_cells(tree, node, "ibm,ppc-interrupt-server#s") or _cells(tree, node, "reg")[:1])
        cores.append(threads)
        level, below, seen = 1, node, set[str]()
        while below not in seen:  # a cache that points to itself ends the walk
            seen.add(below)
            sharing.setdefault((level, below), set()).update(threads)
            handle = _cell(tree, below, _NEXT)
            if handle is None or handle not in by_handle:
                break
            level, below = level + 1, by_handle[handle]
    caches = [
        TreeCache(level, size, line, frozenset(cpus))
        for (level, node), cpus in sorted(sharing.items())
        for size, line in [(_cell(tree, node, _SIZES) or 0, _cell(tree, node, _LINES) or 0)]
        if size or line  # a node with neither describes no data cache
    ]
    return DeviceTree(tuple(cores), tuple(caches))


def _kind(tree: Tree, node: str) -> str:
    return (tree.text(f"{node}/device_type") or "").rstrip("\0")


def _cells(tree: Tree, node: str, name: str) -> tuple[int, ...]:
    raw = tree.raw(f"{node}/{name}") or b""
    return struct.unpack(f">{len(raw) // 4}I", raw[: len(raw) // 4 * 4])


def _cell(tree: Tree, node: str, names: tuple[str, ...]) -> int | None:
    return next((cells[0] for name in names if (cells := _cells(tree, node, name))), None)
