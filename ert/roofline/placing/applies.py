"""Which of the measured roofs apply to an application kernel: by team, precision, kind of arithmetic, level and mix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ert.roofline.model import ComputeRoof, Kernel, Measurement, MemoryRoof, Team, Work

Shares = tuple[float, float, float]
"""Parts of the traffic at a level that are read, written, and read because lines are about to be written."""


def compute_roof(kernel: Kernel, team: Team, precision: str, roofs: Iterable[ComputeRoof]) -> ComputeRoof | None:
    """Return the compute roof of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Its `instructions` decide.
    team, precision
        Those of its measurement; roofs of others never apply, nor do they when scaled.
    roofs : iterable of ComputeRoof

    Returns
    -------
    ComputeRoof or None
        The best verified roof of its own kind of arithmetic. Where that was not measured for this team (a sweep takes
        most kinds with its smallest team only), the headline roof: multiply-adds count two operations an instruction,
        so that what adds or multiplies alone stays below. None if there is neither.
    """
    mine = [r for r in roofs if (r.team, r.precision) == (team, precision) and r.verified and not r.few_chains]
    own = [roof for roof in mine if roof.instructions == kernel.instructions]
    return max(own or [roof for roof in mine if roof.headline], key=lambda roof: roof.rate.best, default=None)


def memory_roof(
    work: Work, mix: str, team: Team, level: str, roofs: Iterable[MemoryRoof], mixes: Mapping[str, Work]
) -> MemoryRoof | None:
    """Return the memory roof of a kernel, counted in traffic bytes.

    Parameters
    ----------
    work : Work
        Of the kernel.
    mix : str
        The access mix that the kernel names as nearest to its own.
    team, level
        Roofs of other teams and levels never apply.
    roofs : iterable of MemoryRoof
    mixes : mapping of str to Work
        What one pass of each measured mix does, see :func:`works_of_mixes`.

    Returns
    -------
    MemoryRoof or None
        Where what crosses the level is what the kernel loads and stores itself (streams, and every kernel in L1), the
        verified roof of the mix whose shares of reads, writes and write-allocate reads are nearest: least Euclidean
        distance among those that are non-temporal as `mix` is, if there are any; of equally near ones `mix`, then the
        slower. So an update in place, 2 loads and 1 store, has the roof of that mix in L1, where nothing is allocated.
        Where the traffic is modelled apart, its shares are not known: the roof of `mix`, or of the mix nearest to the
        loads and stores where `mix` was not measured. The headline roof where no shares are known. None without roofs.
    """
    by_mix: dict[str, MemoryRoof] = {}
    for roof in roofs:
        if (roof.team, roof.level) == (team, level) and roof.verified:
            known = by_mix.get(roof.mix)
            if known is None or _order(roof) > _order(known):
                by_mix[roof.mix] = roof
    mine = shares(work, level)
    known_shares = {name: found for name in by_mix if name in mixes and (found := shares(mixes[name], level))}
    if mix in by_mix and (mine is None or mix not in known_shares or not moves_its_own(work, level)):
        return by_mix[mix]
    if mine is None or not known_shares:
        return next((roof for roof in by_mix.values() if roof.headline), None)
    alike = [name for name in known_shares if name.endswith("_nt") == mix.endswith("_nt")]

    def distance(name: str) -> tuple[float, bool, float]:
        return round(math.dist(mine, known_shares[name]), 6), name != mix, by_mix[name].rate.best

    return by_mix[min(alike or known_shares, key=distance)]


def moves_its_own(work: Work, level: str) -> bool:
    """Whether what crosses a level is what the code loads and stores itself, so that the shares of both are the same.

    It is in L1. Blocked code reaches further levels with less, and gathers with whole lines.
    """
    allocated = 0 if level == "L1" else work.allocate_bytes
    return work.traffic_bytes(level) == work.program_bytes + allocated


def is_roof(counting: MemoryRoof, measured: MemoryRoof) -> bool:
    """Whether the roof that counts for a kernel is this measured one, at its own rate or that beside the kernel."""
    return replace(counting, rate=measured.rate) == measured


def _order(roof: MemoryRoof) -> tuple[bool, float]:
    return roof.bytes_counted == "traffic", roof.rate.best


def works_of_mixes(measurements: Iterable[Measurement]) -> dict[str, Work]:
    """Return the work of one measurement of each access mix: the shares of reads and writes are alike in all."""
    return {m.case.mix: m.work for m in measurements if m.case.probe == "memory"}


def shares(work: Work, level: str) -> Shares | None:
    """Return the shares of reads, writes and write-allocate reads in a stream's traffic at a level; None without any.

    In L1 nothing is allocated.
    """
    allocated = 0 if level == "L1" else work.allocate_bytes
    total = work.program_bytes + allocated
    return (work.read_bytes / total, work.written_bytes / total, allocated / total) if total else None
