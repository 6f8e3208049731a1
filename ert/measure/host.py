"""Who and where we are: reads the host from /proc and /sys, and answers what a plan asks of it.

:func:`read_host` reads the running machine or a recorded tree; the other functions are pure. Nothing read here
identifies the owner or the network: no host name, user, path, address or serial number.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ert.measure import kinds, limits, surroundings, sysfs
from ert.measure.capacity import memory_budget, packages, physical_cores, physical_order
from ert.measure.cpuinfo import cpu_model, machine_of, read_cpuinfo, vendor_and_identity
from ert.measure.devicetree import read_device_tree
from ert.measure.elsewhere import read_elsewhere
from ert.measure.nodes import Nodes, read_nodes
from ert.measure.slug import machine_slug
from ert.measure.tree import Tree, format_cpu_list, parse_cpu_list, parse_integer
from ert.roofline import quantities
from ert.roofline.fitting.caches import SMALLEST_CACHE, CacheShare, cache_share
from ert.roofline.model import LINUX, Cpu, Host, Node

__all__ = [
    "CacheShare",
    "cache_share",
    "format_cpu_list",
    "machine_slug",
    "memory_budget",
    "packages",
    "parse_cpu_list",
    "physical_cores",
    "physical_order",
    "read_host",
]


def read_host(root: Path = Path("/"), *, affinity: Iterable[int] | None = None) -> Host:
    """Describe the running machine, or the one that a tree was recorded on.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``. Anything but ``/`` is a recorded Linux tree: then only its own files
        are read, and no call asks the running system.
    affinity : iterable of int, optional
        CPUs that this process may run on. By default, on the running machine, what ``os.sched_getaffinity`` says; in a
        recorded tree, what its /proc/self/status says, if it is there.

    Returns
    -------
    Host
        Only the nodes whose memory the cpuset allows are listed, so a CPU may name a node that is not.
        ``memory_available`` is what is left to this process: MemAvailable, or what its cgroup leaves if that is less.

    Raises
    ------
    ValueError
        If ``affinity`` names no CPU that is online.
    """
    live = root == Path("/")
    if live and platform.system() != LINUX:
        return read_elsewhere(affinity)
    tree = Tree(root)
    info = read_cpuinfo(tree)
    notes: list[str] = []
    own = set(affinity) if affinity is not None else None
    if own is None and live and hasattr(os, "sched_getaffinity"):
        own = set(os.sched_getaffinity(0))
    online = sysfs.read_online(tree, info)
    everyone = online.cpus
    if affinity is None and own and own - set(everyone):
        # The scheduler knows best, for instance where a sandbox hides /sys.
        notes.append(f"Usable, but not described by the system: CPUs {format_cpu_list(own - set(everyone))}.")
        everyone = tuple(sorted(own | set(everyone)))
    if affinity is not None and not set(everyone) & set(own or ()):
        raise ValueError(
            f"none of the CPUs {format_cpu_list(own or ()) or '(none given)'} is online; "
            f"online are {format_cpu_list(everyone) or 'none'}"
        )
    allowed = limits.read_allowed(tree, with_status=not live and affinity is None)
    usable = _usable(everyone, own, allowed.cpus, notes)
    devices = read_device_tree(tree)
    grouping = sysfs.read_grouping(tree, info, devices, everyone)
    caches = sysfs.read_caches(tree, devices, grouping, everyone)
    numa = read_nodes(tree, everyone, allowed.nodes)
    kind = kinds.read_kinds(tree, info, caches, everyone)
    memory = _meminfo(tree)
    total = memory.get("MemTotal", 0) or sum(node.memory for node in numa.usable)
    nodes = numa.usable or (Node(0, everyone, total),)
    if len(nodes) == 1 and not nodes[0].memory:
        nodes = (replace(nodes[0], memory=total),)
    memory_limit = limits.read_memory_limit(tree)
    first = min(usable, default=0)
    vendor, identity = vendor_and_identity(tree, info, first)
    node = dict.fromkeys(everyone, nodes[0].id) | numa.of_cpu
    cpus = _cpus(everyone, usable, grouping, kind, node)
    host = Host(
        system=LINUX,
        machine=platform.machine() if live else machine_of(info),
        kernel=platform.release() if live else _kernel(tree),
        cpu_model=cpu_model(tree, info, sorted(usable)),
        vendor=vendor,
        identity=identity,
        cpus=cpus,
        caches=caches,
        nodes=nodes,
        memory_total=total,
        memory_available=_available(memory, memory_limit.left),
        memory_limit=memory_limit.limit,
        cpu_quota=limits.read_cpu_quota(tree),
        hypervisor=surroundings.read_hypervisor(tree, info),
        container=surroundings.read_container(tree),
        thp=surroundings.read_thp(tree),
        governor=surroundings.read_governor(tree, sorted(usable)),
        turbo=surroundings.read_turbo(tree, sorted(usable)),
        page_size=os.sysconf("SC_PAGE_SIZE") if live else 4096,
        kinds=kinds.rank_kinds(tree, kind, caches),
    )
    if online.offline:
        notes.append(f"Present but offline: CPUs {format_cpu_list(online.offline)}.")
    return replace(host, notes=(*notes, *_missing(host, numa, grouping.declared)))


def _usable(
    everyone: Sequence[int], own: Collection[int] | None, cpuset: Collection[int] | None, notes: list[str]
) -> frozenset[int]:
    """Online CPUs that affinity and cpuset both allow; a cpuset that leaves nothing was misread and is ignored."""
    usable = frozenset(everyone) & frozenset(everyone if own is None else own)
    if cpuset is None:
        return usable
    if usable and not usable & frozenset(cpuset):
        notes.append(f"The cpuset allows CPUs {format_cpu_list(cpuset)}, none of which may be used; it is ignored.")
        return usable
    return usable & frozenset(cpuset)


def _cpus(
    everyone: Sequence[int],
    usable: Collection[int],
    grouping: sysfs.Grouping,
    kind: Mapping[int, str],
    node: Mapping[int, int],
) -> tuple[Cpu, ...]:
    seen: dict[int, int] = {}
    found = []
    for cpu in everyone:
        core = grouping.core[cpu]
        rank = seen[core] = seen.get(core, -1) + 1
        found.append(Cpu(cpu, core, grouping.package[cpu], node[cpu], rank, kind[cpu], cpu in usable))
    return tuple(found)


def _meminfo(tree: Tree) -> dict[str, int]:
    """Bytes of every line of /proc/meminfo that is in kB."""
    text = tree.text("proc/meminfo") or ""
    read = {name: parse_integer(kib) for name, kib in re.findall(r"(?m)^(\S+):\s+([0-9]+) kB", text)}
    return {name: kib * 1024 for name, kib in read.items() if kib is not None}


def _available(memory: dict[str, int], left: int | None) -> int:
    """MemAvailable, estimated from free memory and caches before Linux 3.14, or what the cgroup leaves."""
    if (available := memory.get("MemAvailable")) is None:
        available = sum(memory.get(name, 0) for name in ("MemFree", "Buffers", "Cached"))
    if left is None:
        return available
    return min(available, left) if available else left


def _kernel(tree: Tree) -> str:
    """Release from /proc; the rest of /proc/version names the builder, so it is left out."""
    match = re.match(r"Linux version (\S+)", tree.text("proc/version") or "")
    return tree.text("proc/sys/kernel/osrelease") or (match[1] if match else "")


def _missing(host: Host, numa: Nodes, declared: bool) -> list[str]:
    """One sentence for everything that the system does not tell, or tells in a way that cannot be."""
    notes = []
    if not host.cpus:
        notes.append("The system lists no CPU.")
    elif not declared:
        notes.append("The system does not tell which CPUs share a core; each counts as a core of its own.")
    if not any(cpu.usable for cpu in host.cpus) and host.cpus:
        notes.append("No online CPU may be used.")
    if not host.cpu_model:
        notes.append("The CPU model is hidden.")
    unsized = sorted({cache.level for cache in host.caches if not cache.size})
    if not host.caches:
        notes.append("The system declares no cache.")
    elif unsized:
        notes.append(f"The system lists {', '.join(unsized)} without a size.")
    notes.extend(
        f"A declared {level} of {size} bytes cannot be right; it is taken as not declared."
        for level, size in sorted({(cache.level, cache.size) for cache in host.caches})
        if 0 < size < SMALLEST_CACHE
    )
    listed = {node.id for node in host.nodes}
    if not numa.usable:
        notes.append("The system declares no NUMA node; one is assumed.")
    elif barred := sorted({cpu.node for cpu in host.cpus if cpu.usable} - listed):
        notes.append(f"CPUs of these NUMA nodes may be used, but not their memory: {format_cpu_list(barred)}.")
    if numa.doubtful:
        notes.append(
            f"NUMA nodes {format_cpu_list(numa.doubtful)} list CPUs that others list too; they count as part of those."
        )
    notes.extend(
        f"The memory of NUMA node {node} lies behind a memory-side cache of {quantities.size(held)}; working sets that "
        "fit it are not measured in main memory."
        for node, held in sorted(numa.cached.items())
    )
    if not host.memory_total:
        notes.append("The system does not tell how much memory it has.")
    return notes
