"""Answers what a plan asks of a host: which CPUs first, and how much memory."""

from __future__ import annotations

from ert.roofline.model import Host

MEMORY_FRACTION = 0.5
"""Share of the available memory that the tool takes at most: the rest is for page tables, the file cache and other
processes that grow while a sweep runs."""

RUNTIME_RESERVE = 256 << 20
"""Bytes that NumPy, Numba with LLVM, some 150 compiled loops and matplotlib need beside the arrays: a sweep with 16 MiB
of arrays was 254 MiB resident at most, and 286 with the figures (CPython 3.11, Linux)."""

SMALL_MEMORY_FRACTION = 0.125
"""Share that is taken where the reserve would leave less."""

UNKNOWN_MEMORY = 256 << 20
"""Budget in bytes where the system does not tell its memory: more than nearly every last cache, and no more than what
Numba needs beside it."""


def memory_budget(host: Host, *, limit: int | None = None) -> int:
    """Bound the bytes that the tool may allocate.

    Parameters
    ----------
    limit : int, optional
        What the caller allows, in bytes; no safety fraction is taken off it.

    Returns
    -------
    int
        The smallest of ``limit`` and a safe part of the memory that is available and within the cgroup's limit:
        :data:`MEMORY_FRACTION` of it, less where :data:`RUNTIME_RESERVE` would not be left over, but at least
        :data:`SMALL_MEMORY_FRACTION`. :data:`UNKNOWN_MEMORY` where the system tells nothing.

    Raises
    ------
    ValueError
        If ``limit`` is not positive.
    """
    if limit is not None and limit <= 0:
        raise ValueError(f"memory limit of {limit} bytes: must be positive")
    known = [size for size in (host.memory_total, host.memory_available) if size > 0]
    if host.memory_limit is not None:
        known.append(host.memory_limit)
    if known:
        most = min(known)
        safe = min(int(most * MEMORY_FRACTION), max(int(most * SMALL_MEMORY_FRACTION), most - RUNTIME_RESERVE))
    else:
        safe = UNKNOWN_MEMORY
    return safe if limit is None else min(safe, limit)


def physical_order(host: Host) -> tuple[int, ...]:
    """Order the usable logical CPUs: first one of every core by ascending number, then the second of every core."""
    seen: dict[int, int] = {}
    ranked = []
    for cpu in sorted(host.cpus, key=lambda cpu: cpu.id):
        if cpu.usable:
            rank = seen[cpu.core] = seen.get(cpu.core, -1) + 1
            ranked.append((rank, cpu.id))
    return tuple(cpu for _, cpu in sorted(ranked))


def physical_cores(host: Host) -> tuple[int, ...]:
    """Give the first usable logical CPU of every core that has one, ascending."""
    return physical_order(host)[: len({cpu.core for cpu in host.cpus if cpu.usable})]


def packages(host: Host) -> tuple[int, ...]:
    """Give the packages with a usable CPU, and those whose memory this process may use."""
    near = {cpu for node in host.nodes for cpu in node.cpus}
    return tuple(sorted({cpu.package for cpu in host.cpus if cpu.usable or cpu.id in near}))
