"""What other numbers of a sweep say of a roof: it is graded down where one of them shows that the machine does more.

Samples that were all slowed alike agree with each other, so that their spread does not show it. Others do: what belongs
to one core gives as much per cycle in every team, and a roof is no lower than what came through it, on the bandwidth
curve or at some intensity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ert.roofline.fitting.caches import cache_share
from ert.roofline.fitting.statistics import GRADES, REPEATS_WITHIN
from ert.roofline.model import ComputeRoof, Curve, Estimate, Grade, Host, IntensityPoint, MemoryRoof, Team

Roof = TypeVar("Roof", ComputeRoof, MemoryRoof)


def doubt_compute(roofs: Sequence[ComputeRoof], host: Host) -> tuple[ComputeRoof, ...]:
    """Grade down compute roofs that give less per cycle than the same code does in another team.

    Parameters
    ----------
    roofs : sequence of ComputeRoof
        Of all teams.
    host : Host
        Tells the kinds of core. Compared are teams on cores of one kind, with one thread a core.

    Returns
    -------
    tuple of ComputeRoof
        The same roofs in the same order.
    """

    def key(roof: ComputeRoof) -> Hashable:
        kind = _kind(roof.team, host)
        code = roof.precision, roof.instructions, roof.vector_bits, roof.accumulators
        return None if kind is None else (kind, *code)

    return _by_cycle(roofs, [key(roof) for roof in roofs])


def doubt_memory(
    roofs: Sequence[MemoryRoof], curves: Iterable[Curve], points: Iterable[IntensityPoint], host: Host
) -> tuple[MemoryRoof, ...]:
    """Grade down roofs of private caches by the same rule, and any that its curve or its intensity points exceed.

    Parameters
    ----------
    roofs : sequence of MemoryRoof
        Of all teams.
    curves : iterable of Curve
        Bandwidth curves, in byte/s of loads; the height of a plateau counts, since its ends lie between two levels.
    points : iterable of IntensityPoint
        Those that are verified count.
    host : Host
        Tells the kinds of core, and which caches each thread of a team has to itself. Caches that are not declared are
        not compared.

    Returns
    -------
    tuple of MemoryRoof
        The same roofs in the same order.
    """

    def key(roof: MemoryRoof) -> Hashable:
        kind = _kind(roof.team, host)
        own = any(s.level == roof.level and s.largest == s.instance for s in cache_share(host, roof.team.cpus))
        return (kind, roof.level, roof.mix, roof.vector_bits, roof.bytes_counted) if own and kind is not None else None

    seen: dict[tuple[Team, str, str], float] = {}
    for curve in curves:
        seen |= {(curve.team, plateau.name, "load"): plateau.value for plateau in curve.plateaus}
    for point in points:
        if point.verified:
            place = point.team, point.level, point.mix
            seen[place] = max(seen.get(place, 0.0), point.byte_rate.best)
    judged = []
    for roof in _by_cycle(roofs, [key(roof) for roof in roofs]):
        passed = seen.get((roof.team, roof.level, roof.mix), 0.0) if roof.bytes_counted == "program" else 0.0
        judged.append(replace(roof, rate=_lowered(roof.rate, roof.rate.best, passed)))
    return tuple(judged)


def _by_cycle(roofs: Sequence[Roof], keys: Sequence[Hashable]) -> tuple[Roof, ...]:
    """Hold each roof with a key against the most per cycle of those with the same key."""
    most: dict[Hashable, float] = {}
    for roof, key in zip(roofs, keys, strict=True):
        if key is not None and roof.verified:
            most[key] = max(most.get(key, 0.0), roof.rate.per_cycle or 0.0)
    return tuple(
        replace(roof, rate=_lowered(roof.rate, roof.rate.per_cycle or 0.0, most.get(key, 0.0)))
        for roof, key in zip(roofs, keys, strict=True)
    )


def _lowered(rate: Estimate, value: float, shown: float) -> Estimate:
    """Return the estimate with the grade that its distance from what was shown allows, if that is worse."""
    if value <= 0.0 or shown <= value:
        return rate
    missing = 1.0 - value / shown
    allowed: Grade = next((grade for grade, within in REPEATS_WITHIN.items() if missing <= within), "D")
    return replace(rate, grade=max(rate.grade, allowed, key=GRADES.index))


def _kind(team: Team, host: Host) -> str | None:
    """Return the kind of core of a team's threads; None where there are several, or where siblings share a core."""
    kinds = {cpu.kind for cpu in host.cpus if cpu.id in team.cpus}
    return kinds.pop() if len(kinds) == 1 and team.cores == team.threads else None
