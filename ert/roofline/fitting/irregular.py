"""From measurements to latency, concurrency, irregular access, thread scaling and the overhead of a team."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from ert.roofline.fitting.caches import cache_capacities
from ert.roofline.fitting.levels import find_plateaus
from ert.roofline.fitting.statistics import rates
from ert.roofline.formulas import in_flight
from ert.roofline.model import (
    MEMORY,
    SMT,
    Concurrency,
    Gather,
    Host,
    Latency,
    LatencyCurve,
    LatencyPoint,
    Measurement,
    MemoryRoof,
    NodeBandwidth,
    Overhead,
    Plateau,
    RandomAccess,
    Roofline,
    Scaling,
    ScalingPoint,
    Strided,
    Team,
)
from ert.roofline.quantities import size

EVENT_PROBES = ("latency", "gather", "stride", "overhead")
"""Probes whose work is counted in events."""

WITNESSES_APART = 0.5
"""Octaves between the effective capacities that the bandwidth and the latency curve show of one cache, from which both
are told. Neither curve is measured more finely than that in a quick sweep."""

CONTRADICTED = 1.5
"""Ratio between the latency of a plateau and that of a chase in the middle of the level of the same name, from which
the name is not believed. A plateau may rise by 1.2 to 1.3 from one end to the other."""

SATURATED = 0.95
"""Share of the best bandwidth at which more threads bring nothing worth having."""

PAGE_WALKS = 3.0
"""Ratio of the latencies over the whole set and inside pages, at memory, from which it is remarked upon. Prefetchers
that fetch the neighbours of a line make it 2 to 2.5 even with huge pages (Zen 4, AVX-512 server guest: 163 and 65 ns);
page walks with small pages add 100 ns and more to the first."""


def with_irregular(roofline: Roofline, measured: Sequence[Measurement], host: Host) -> Roofline:
    """Add to a roofline what the probes of latency, concurrency, irregular access and overhead say.

    Parameters
    ----------
    roofline : Roofline
        With its roofs and bandwidth curves.
    measured : sequence of Measurement
        Valid ones that count something.
    host : Host
        Its declared caches give the names of the plateaus.
    """
    sound = [measurement for measurement in measured if measurement.sound]
    curves = _latency_curves(sound, host)
    chases = [m for m in measured if m.case.probe == "latency" and m.case.level]
    access = _random_access([m for m in chases if _parameter(m, "pattern") == "random"])
    latencies = tuple(latency for curve in curves for latency in _latencies(curve, chases))
    notes = [*roofline.notes, *_witnesses(roofline, latencies), *_page_walks(latencies)]
    return replace(
        roofline,
        notes=tuple(dict.fromkeys(notes)),
        latency_curves=curves,
        latencies=latencies,
        random_access=access,
        concurrency=_concurrency(roofline.memory, access),
        gathers=tuple(_gather(m) for m in measured if m.case.probe == "gather"),
        strides=tuple(_strided(m) for m in measured if m.case.probe == "stride"),
        scaling=_scaling(roofline.memory, measured),
        numa=tuple(_node(m) for m in measured if m.case.probe == "numa" and m.case.team.memory_node is not None),
        overheads=tuple(_overhead(m) for m in measured if m.case.probe == "overhead"),
    )


# ------------------------------------------------------------------------------------------------- latency


def _parameter(measurement: Measurement, name: str) -> str:
    return str(dict(measurement.case.parameters).get(name, ""))


def _whole(measurement: Measurement, name: str) -> int:
    """Return a parameter that must be a whole number; 0 in a foreign file that has none."""
    text = _parameter(measurement, name)
    return int(text) if text.isdecimal() else 0


def _latency_curves(sound: Sequence[Measurement], host: Host) -> tuple[LatencyCurve, ...]:
    """Return the curves of single threads along single chains, where a load waits for nothing but the one before."""
    points = [
        m
        for m in sound
        if m.case.probe == "latency" and not m.case.level and m.case.accumulators == m.case.team.threads == 1
    ]
    keys = dict.fromkeys((m.case.team, _parameter(m, "pattern")) for m in points)
    return tuple(
        _latency_curve(team, pattern, [m for m in points if (m.case.team, _parameter(m, "pattern")) == (team, pattern)],
                       host)
        for team, pattern in keys
    )  # fmt: skip


def _latency_curve(team: Team, pattern: str, points: Sequence[Measurement], host: Host) -> LatencyCurve:
    chosen = sorted(points, key=lambda m: m.case.working_set)
    plateaus, notes = find_plateaus(
        [m.case.working_set for m in chosen],
        [[s.seconds / (m.work.events * s.passes) for s in m.samples if s.seconds > 0] for m in chosen],
        declared=cache_capacities(host, team.cpus),
        rising=True,
    )
    measured = tuple(LatencyPoint(m.case.working_set, rates(m, m.work.events)) for m in chosen)
    return LatencyCurve(team, pattern, measured, plateaus, notes)


def _latencies(curve: LatencyCurve, chases: Sequence[Measurement]) -> list[Latency]:
    """Return the latency of each level of one curve.

    Where the curve has no plateau for a level, or one that a chase in the middle of that level contradicts (a name that
    went to the wrong plateau), the chase is believed: its working set comes from the bandwidth curve. A chase that is
    like another plateau of the curve contradicts nothing: there the two curves disagree on where the level ends.
    """
    found = {plateau.name: _of_plateau(plateau, curve) for plateau in curve.plateaus}
    heights = [latency.seconds for latency in found.values()]
    of_chases: set[str] = set()
    single = [
        m
        for m in chases
        if m.sound
        and (m.case.team, m.case.accumulators) == (curve.team, 1)
        and _parameter(m, "pattern") == curve.pattern
    ]
    for m in single:
        level = m.case.level
        point = LatencyPoint(m.case.working_set, rates(m, m.work.events))
        apart = [abs(math.log(point.seconds / height)) for height in heights]
        if level in found and min(apart) <= math.log(CONTRADICTED):
            continue
        declared = found[level].declared if level in found else None
        found[level] = Latency(
            level, curve.pattern, curve.team, point.seconds, point.cycles, point.rate, declared=declared
        )
        of_chases.add(level)
    order = list(dict.fromkeys([*(name for name in found if name == "L1"), *(m.case.level for m in single), *found]))
    for level, beyond in pairwise(order):
        if beyond in of_chases:
            # What ends there is the plateau and not the level: the curve does not show where the next one begins.
            found[level] = replace(found[level], capacity=None)
    return [found[level] for level in order]


def _of_plateau(plateau: Plateau, curve: LatencyCurve) -> Latency:
    """Return the latency of a plateau, in cycles at the clock that its points were measured at.

    That of memory is the latency of its largest working set: the others still have hits in the last cache.
    """
    on = [point for point in curve.points if plateau.first <= point.working_set <= plateau.last]
    clocks = [point.cycles / point.seconds for point in on if point.cycles]
    near = min(on, key=lambda point: abs(math.log(point.seconds / plateau.value)))
    seconds = plateau.value
    if plateau.name == MEMORY:
        near = on[-1]
        seconds = near.seconds
    return Latency(
        level=plateau.name,
        pattern=curve.pattern,
        team=curve.team,
        seconds=seconds,
        cycles=seconds * median(clocks) if clocks else None,
        rate=near.rate,
        capacity=plateau.capacity,
        declared=plateau.declared,
    )


def _witnesses(roofline: Roofline, latencies: Iterable[Latency]) -> list[str]:
    """Say where bandwidth and latency curve do not agree on the effective capacity of a cache."""
    bandwidth: dict[tuple[Team, str], Plateau] = {
        (curve.team, plateau.name): plateau for curve in roofline.curves for plateau in curve.plateaus
    }
    notes = []
    for latency in latencies:
        plateau = bandwidth.get((latency.team, latency.level))
        if latency.pattern != "random" or plateau is None or not plateau.capacity or not latency.capacity:
            continue
        apart = math.log2(latency.capacity / plateau.capacity)
        if abs(apart) > WITNESSES_APART:
            notes.append(
                f"{latency.level}: the bandwidth curve leaves it at {size(plateau.capacity)}, the latency curve at "
                f"{size(latency.capacity)}. Its effective capacity is uncertain by that much, or another user of the "
                "cache took more of it during one of the two"
            )
    return notes


def _page_walks(latencies: Iterable[Latency]) -> list[str]:
    """Say where most of a random access goes into finding the page."""
    found = {(latency.team, latency.level, latency.pattern): latency.seconds for latency in latencies}
    notes = []
    for (team, level, pattern), seconds in found.items():
        inside = found.get((team, level, "page"))
        if pattern == "random" and level == MEMORY and inside and seconds > PAGE_WALKS * inside:
            notes.append(
                f"{level}: a random access over the whole set takes {seconds / inside:.1f} times as long as one inside "
                "pages visited in order: page walks make up most of it. Huge pages were not granted, or the set is "
                "larger than what the core keeps translations of"
            )
    return notes


# --------------------------------------------------------------------------------------------- concurrency


def _random_access(measured: Sequence[Measurement]) -> tuple[RandomAccess, ...]:
    """Return the chases at the levels, with the lines that each kept in flight and the best of each level and team."""
    alone = {(m.case.team, m.case.level): m for m in measured if m.case.accumulators == 1 and m.sound}
    found = []
    for m in measured:
        case = m.case
        line = _line_bytes(m)
        rate = rates(m, m.work.events * line)
        single = alone.get((case.team, case.level))
        # Little's law, lines/s x latency; the latency of one chain a thread is threads / its rate.
        latency = case.team.threads / rates(single, single.work.events).best if single else None
        found.append(
            RandomAccess(
                level=case.level,
                team=case.team,
                chains=case.accumulators,
                working_set=case.working_set,
                line_bytes=line,
                rate=rate,
                in_flight=rate.best / line * latency if latency else None,
                verified=m.code.verified,
            )
        )
    best: dict[tuple[Team, str], RandomAccess] = {}
    for access in found:
        key = (access.team, access.level)
        if access.verified and (key not in best or access.rate.best > best[key].rate.best):
            best[key] = access
    chosen = {id(access) for access in best.values()}
    return tuple(replace(access, headline=id(access) in chosen) for access in found)


def _line_bytes(measurement: Measurement) -> int:
    """Return the bytes of a line, from the traffic that is stored with the work."""
    traffic = dict(measurement.work.level_bytes).get(measurement.case.level, 0)
    return traffic // measurement.work.events or 1


def _concurrency(memory: Iterable[MemoryRoof], access: Iterable[RandomAccess]) -> tuple[Concurrency, ...]:
    """Return Little's law for each level and team that has a load-only roof and a single chain."""
    access = tuple(access)
    loads = {
        (roof.team, roof.level): roof.rate.best
        for roof in memory
        if roof.mix == "load" and roof.bytes_counted == "program" and roof.verified
    }
    found = []
    for best in access:
        bandwidth = loads.get((best.team, best.level))
        if not best.headline or bandwidth is None or best.in_flight is None:
            continue
        latency = best.in_flight * best.line_bytes / best.rate.best
        found.append(
            Concurrency(
                level=best.level,
                team=best.team,
                bandwidth=bandwidth,
                latency=latency,
                needed=in_flight(bandwidth, latency),
                reached=best.in_flight * best.line_bytes,
                chains=best.chains,
            )
        )
    return tuple(found)


# ----------------------------------------------------------------------------------------- irregular access


def _gather(measurement: Measurement) -> Gather:
    case, work = measurement.case, measurement.work
    bits = _parameter(measurement, "element").removeprefix("int")
    element = max(1, int(bits) // 8) if bits.isdecimal() else 8
    useful = work.events * element
    rate = rates(measurement, useful)
    return Gather(
        level=case.level,
        team=case.team,
        element_bytes=element,
        index_bytes=_whole(measurement, "index_bits") // 8,
        working_set=case.working_set,
        rate=rate,
        index_rate=rate.best * (work.program_bytes - useful) / useful,
        line_rate=_line_rate(measurement, rate.best / useful),
        verified=measurement.code.verified,
    )


def _strided(measurement: Measurement) -> Strided:
    case, work = measurement.case, measurement.work
    rate = rates(measurement, work.program_bytes)
    return Strided(
        level=case.level,
        team=case.team,
        stride=_whole(measurement, "stride"),
        working_set=case.working_set,
        rate=rate,
        line_rate=_line_rate(measurement, rate.best / work.program_bytes),
        verified=measurement.code.verified,
    )


def _line_rate(measurement: Measurement, passes_per_second: float) -> float | None:
    level = measurement.case.level
    if level == "L1":
        return None
    return measurement.work.traffic_bytes(level) * passes_per_second


# ------------------------------------------------------------------------------------- scaling and overhead


def _scaling(memory: Iterable[MemoryRoof], measured: Iterable[Measurement]) -> tuple[Scaling, ...]:
    """Return the load bandwidth against the number of threads for memory and the last cache that both teams have.

    Of teams that take one CPU after the other: those of one kind of core are another series.
    """
    points: dict[str, dict[Team, ScalingPoint]] = {}
    for roof in memory:
        along = roof.team.usual or roof.team.name == SMT
        if along and roof.mix == "load" and roof.bytes_counted == "program":
            points.setdefault(roof.level, {})[roof.team] = ScalingPoint(roof.team, roof.rate, roof.verified)
    for m in measured:
        if m.case.probe == "scaling":
            point = ScalingPoint(m.case.team, rates(m, m.work.program_bytes), m.code.verified)
            points.setdefault(m.case.level, {}).setdefault(m.case.team, point)
    caches = [level for level in points if level != MEMORY]
    found = []
    for level in [*caches[-1:], MEMORY]:
        ordered = sorted(points.get(level, {}).values(), key=lambda point: (point.team.threads, point.team.cores))
        good = [point for point in ordered if point.verified]
        if len(good) < 2:
            continue
        best = max(point.rate.best for point in good)
        enough = next(point for point in good if point.rate.best >= SATURATED * best)
        found.append(Scaling(level, tuple(good), enough.team if enough is not good[-1] else None))
    return tuple(found)


def _node(measurement: Measurement) -> NodeBandwidth:
    case = measurement.case
    assert case.team.memory_node is not None, "only such are asked for"
    return NodeBandwidth(
        cpu_node=_whole(measurement, "cpu_node"),
        memory_node=case.team.memory_node,
        team=case.team,
        working_set=case.working_set,
        rate=rates(measurement, measurement.work.program_bytes),
        verified=measurement.code.verified,
    )


def _overhead(measurement: Measurement) -> Overhead:
    case = measurement.case
    # Every thread counts the events of the team.
    return Overhead(
        _parameter(measurement, "until"), case.team, rates(measurement, measurement.work.events / case.team.threads)
    )
