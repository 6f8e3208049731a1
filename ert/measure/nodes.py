"""Reads the NUMA nodes: their CPUs, their memory, and which of it is this machine's main memory.

File meanings are those of the Linux kernel's ``Documentation/ABI/stable/sysfs-devices-node`` and
``Documentation/admin-guide/mm/numaperf.rst``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ert.measure.tree import Tree, parse_integer
from ert.roofline.model import Node

_FOLDER = "sys/devices/system/node"


@dataclass(frozen=True, slots=True)
class Nodes:
    """The NUMA nodes that the system declares.

    Attributes
    ----------
    usable : tuple of Node
        Those whose memory may be used, those without CPUs or without memory included; empty if none is declared.
    of_cpu : mapping of int to int
        Node of every CPU that one lists, whether or not its memory may be used.
    doubtful : tuple of int
        Nodes that list CPUs of another, which no machine has; their CPUs count as that one's.
    cached : mapping of int to int
        Bytes of the largest cache that stands before the memory of a node (``memory_side_cache``).
    """

    usable: tuple[Node, ...]
    of_cpu: dict[int, int]
    doubtful: tuple[int, ...]
    cached: dict[int, int]


def read_nodes(tree: Tree, online: Collection[int], allowed: frozenset[int] | None) -> Nodes:
    """Read the nodes that the system declares.

    Memory of an NVIDIA GPU that the system shows as a node is left out: it is not this machine's main memory.

    Parameters
    ----------
    online : collection of int
        CPUs to look for.
    allowed : frozenset of int or None
        Nodes whose memory may be used; None for all.
    """
    cpus: dict[int, frozenset[int]] = {}
    of_cpu: dict[int, int] = {}
    home: dict[int, int] = {}
    known = frozenset(online)
    for number in tree.numbered(_FOLDER, "node"):
        own = _cpus(tree, number) & known
        home[number] = min((of_cpu[cpu] for cpu in own if cpu in of_cpu), default=number)
        of_cpu = dict.fromkeys(own, home[number]) | of_cpu
    for number in home:
        cpus[number] = frozenset(cpu for cpu, node in of_cpu.items() if node == number)
    listed = _usable(tree, frozenset(home), allowed)
    kept = sorted({home[number] for number in listed})
    memory = {number: _memory(tree, number) for number in listed | set(kept)}
    if len(kept) == 1:  # memory of nodes that cannot be told apart
        memory[kept[0]] = sum(memory[number] for number in listed)
    return Nodes(
        tuple(Node(number, tuple(sorted(cpus[number])), memory[number]) for number in kept),
        of_cpu,
        tuple(number for number in sorted(listed) if home[number] != number),
        {number: size for number in kept if (size := _side_cache(tree, number))},
    )


def _usable(tree: Tree, numbers: frozenset[int], allowed: frozenset[int] | None) -> frozenset[int]:
    """Return the nodes that are online, main memory, and allowed, as far as that leaves any."""
    if (online := tree.listed(f"{_FOLDER}/online")) and online & numbers:
        numbers &= online
    numbers -= _of_gpus(tree)
    return numbers & allowed if allowed is not None and allowed & numbers else numbers


def _cpus(tree: Tree, number: int) -> frozenset[int]:
    folder = f"{_FOLDER}/node{number}"
    for found in (tree.mask(f"{folder}/cpumap"), tree.listed(f"{folder}/cpulist")):
        if found is not None:
            return found
    return frozenset(tree.numbered(folder, "cpu"))


def _memory(tree: Tree, number: int) -> int:
    match = re.search(r"MemTotal:\s*([0-9]+) kB", tree.text(f"{_FOLDER}/node{number}/meminfo") or "")
    return (parse_integer(match[1]) or 0) * 1024 if match else 0


def _side_cache(tree: Tree, number: int) -> int:
    folder = f"{_FOLDER}/node{number}/memory_side_cache"
    sizes = (tree.size(f"{folder}/{index}/size") or 0 for index in tree.names(folder, r"index[0-9]+"))
    return max(sizes, default=0)


def _of_gpus(tree: Tree) -> frozenset[int]:
    folder = "proc/driver/nvidia/gpus"
    stated = (tree.text(f"{folder}/{name}/numa_status") or "" for name in tree.names(folder, r"[^.].*"))
    numbers = (parse_integer(number) for text in stated for number in re.findall(r"(?m)^Node:\s*([0-9]+)", text))
    return frozenset(number for number in numbers if number is not None)
