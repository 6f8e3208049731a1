"""From measurements to roofs: everything that is said about a machine is derived here, and nothing is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import product
from typing import Any, Literal

from ert.roofline.fitting import disturbance
from ert.roofline.fitting.caches import cache_capacities
from ert.roofline.fitting.irregular import EVENT_PROBES, with_irregular
from ert.roofline.fitting.levels import find_plateaus
from ert.roofline.fitting.statistics import ABOVE_ROOF, rates
from ert.roofline.fitting.witnesses import doubt_compute, doubt_memory
from ert.roofline.formulas import attainable, ridge
from ert.roofline.model import (
    MEMORY,
    ComputeRoof,
    Curve,
    CurvePoint,
    Estimate,
    Host,
    InstructionLatency,
    IntensityPoint,
    Measurement,
    MemoryRoof,
    Plateau,
    Results,
    RidgePoint,
    Roofline,
    Team,
)

__all__ = ["MEMORY", "curve_measurements", "describe", "fit", "rates", "traffic_is_known"]

PURE = ("fma", "dot")
"""Arithmetic that the roof of a precision is known by; where there is none of these, a multiplication and an addition.
Mixes can be faster, but a kernel needs just their shares to get near, so ridge points stay with these."""

SATURATED = 0.97
"""A number of chains that gives this much of the best rate keeps the pipes busy; the rest is noise."""

BytesCounted = Literal["program", "traffic"]


def fit(results: Results) -> Roofline:
    """Derive every roof, ceiling, ridge point, intensity point and curve from a sweep.

    Parameters
    ----------
    results : Results
        Complete or partial; what has no valid sample is left out, what is not verified never becomes a headline.

    Returns
    -------
    Roofline
    """
    kernels = {kernel.name for kernel in results.kernels}
    measured = [m for m in results.measurements if m.valid and m.case.probe not in kernels and _countable(m)]
    teams = tuple(dict.fromkeys(measurement.case.team for measurement in measured))
    curves = tuple(curve for team in teams if (curve := _curve(team, measured, results.host)))
    chains = _chain_groups(m for m in measured if m.case.probe == "compute")
    compute = _mark_compute([roof for group in chains for roof in _compute_roofs(group)])
    memory = _mark_memory(
        [roof for m in measured if m.case.probe == "memory" and m.case.level for roof in _memory_roofs(m, curves)]
    )
    points = tuple(_point(m) for m in measured if m.case.probe == "intensity")
    compute = doubt_compute(compute, results.host)
    memory = doubt_memory(memory, curves, points, results.host)
    ridges = tuple(
        RidgePoint(peak, slope, ridge(peak.rate.best, slope.rate.best))
        for peak, slope in product(compute, memory)
        if peak.headline and slope.headline and peak.team == slope.team
    )
    notes = [
        *_failures(results),
        *_high_points(points, compute, memory),
        *_moved(memory, curves),
        *_high_mixes(compute),
        *disturbance.notes(results, compute, memory),
    ]
    roofline = Roofline(
        compute,
        memory,
        points,
        ridges,
        curves,
        tuple(dict.fromkeys(notes)),
        instruction_latencies=tuple(found for group in chains if (found := _instruction_latency(group))),
    )
    return _doubted(with_irregular(roofline, measured, results.host), results.host.cpu_quota)


def _doubted(roofline: Roofline, quota: float | None) -> Roofline:
    """Grade down what a control group stops in the middle: all samples can be slow alike, and agree none the less."""
    if quota is None:
        return roofline

    def lowered(value: Any) -> Any:
        if isinstance(value, Estimate):
            return replace(value, grade="D")
        if isinstance(value, tuple):
            return tuple(map(lowered, value))
        if is_dataclass(value) and not isinstance(value, type | Team):
            changes = {field.name: lowered(getattr(value, field.name)) for field in fields(value)}
            return replace(value, **changes)
        return value

    def judged(item: Any) -> Any:
        team = getattr(item, "team", None) or getattr(getattr(item, "compute", None), "team", None)
        return lowered(item) if isinstance(team, Team) and team.threads > quota else item

    kept = {field.name: getattr(roofline, field.name) for field in fields(roofline)}
    return Roofline(
        **{name: tuple(map(judged, value)) if isinstance(value, tuple) else value for name, value in kept.items()}
    )


def traffic_is_known(level: str, mix: str) -> bool:
    """Whether the bytes that a mix moves across a level follow from the program alone.

    In L1 they are the program's. Below it, a load moves what it reads; whether an ordinary store first reads the line
    it overwrites depends on the core (write-allocate, and its evasion when whole lines are written). Non-temporal
    stores go to memory past the caches, so that they tell nothing of a cache.
    """
    return level == "L1" or mix == "load" or (level == MEMORY and mix.endswith("_nt"))


# ------------------------------------------------------------------------------------------------ compute


def _chain_groups(measured: Iterable[Measurement]) -> list[list[Measurement]]:
    """Put together what differs in the number of chains alone, the best first, then from few chains to many."""
    groups: dict[tuple[Team, str, str, int], list[Measurement]] = {}
    for measurement in measured:
        case = measurement.case
        groups.setdefault((case.team, case.precision, case.instructions, case.vector_bits), []).append(measurement)
    ordered = []
    for group in groups.values():
        best = max(group, key=lambda m: (m.code.verified, rates(m, m.work.flop).best))
        others = sorted((m for m in group if m is not best), key=lambda m: m.case.accumulators)
        ordered.append([best, *others])
    return ordered


def _compute_roofs(group: Sequence[Measurement]) -> list[ComputeRoof]:
    """Return the roof of one kind of arithmetic, and a ceiling for each number of chains that is slower."""
    roofs = []
    for measurement in group:
        case, few = measurement.case, measurement is not group[0]
        name = _compute_name(measurement)
        if few:
            name += ", 1 chain" if case.accumulators == 1 else f", {case.accumulators} chains"
        roofs.append(
            ComputeRoof(
                name=name,
                precision=case.precision,
                instructions=case.instructions,
                vector_bits=case.vector_bits,
                accumulators=case.accumulators,
                team=case.team,
                rate=rates(measurement, measurement.work.flop),
                verified=measurement.code.verified,
                few_chains=few,
            )
        )
    return roofs


def _compute_name(measurement: Measurement) -> str:
    case = measurement.case
    return f"{case.precision} {case.instructions} {case.vector_bits}-bit"


def _mark_compute(roofs: Sequence[ComputeRoof]) -> tuple[ComputeRoof, ...]:
    """Mark the conventional roof of each team and precision, and the mixes that are above it."""
    pure = {(roof.team, roof.precision) for roof in roofs if roof.verified and roof.instructions in PURE}
    best: dict[tuple[Team, str], ComputeRoof] = {}
    for roof in roofs:
        key = (roof.team, roof.precision)
        usual = roof.instructions in PURE if key in pure else roof.instructions == "mul_add_unfused"
        if usual and roof.verified and (key not in best or roof.rate.best > best[key].rate.best):
            best[key] = roof
    chosen = {id(roof) for roof in best.values()}
    marked = []
    for roof in roofs:
        peak = best.get((roof.team, roof.precision))
        above = roof.verified and peak is not None and roof.rate.best > ABOVE_ROOF * peak.rate.best
        marked.append(replace(roof, headline=id(roof) in chosen, above=above))
    return tuple(marked)


def _instruction_latency(group: Sequence[Measurement]) -> InstructionLatency | None:
    """Return the latency of a kind of arithmetic whose single chain was measured; None without it or without clock."""
    single = next((m for m in group if m.case.accumulators == 1), None)
    if single is None or not single.work.events:
        return None
    steps = rates(single, single.work.events)
    if not steps.per_cycle:
        return None
    best = rates(group[0], group[0].work.flop).best
    enough = [m.case.accumulators for m in group if rates(m, m.work.flop).best >= SATURATED * best]
    case = single.case
    return InstructionLatency(
        name=_compute_name(single),
        precision=case.precision,
        instructions=case.instructions,
        vector_bits=case.vector_bits,
        team=case.team,
        cycles=1 / steps.per_cycle,
        rate=steps,
        saturating_chains=min(enough) if len(group) > 2 else None,
        verified=single.code.verified,
    )


# ------------------------------------------------------------------------------------------------- memory


def _memory_roofs(measurement: Measurement, curves: Iterable[Curve]) -> list[MemoryRoof]:
    """Return the roofs of one access mix at one level: counted in program bytes and, where it differs, in traffic."""
    case, work = measurement.case, measurement.work
    counts: list[tuple[BytesCounted, int]] = [("program", work.program_bytes)]
    # A foreign file may count none, of which there is no rate.
    if work.traffic_bytes(case.level) not in (0, work.program_bytes):
        counts.append(("traffic", work.traffic_bytes(case.level)))
    plateau = _plateau(case.team, case.level, curves)
    return [
        MemoryRoof(
            name=f"{case.level} {case.mix}" + ("" if counted == "program" else " (traffic)"),
            level=case.level,
            mix=case.mix,
            vector_bits=case.vector_bits,
            team=case.team,
            bytes_counted=counted,
            working_set=case.working_set,
            rate=rates(measurement, count),
            verified=measurement.code.verified,
            declared=plateau.declared if plateau else None,
            capacity=plateau.capacity if plateau else None,
        )
        for counted, count in counts
    ]


def _mark_memory(roofs: Sequence[MemoryRoof]) -> tuple[MemoryRoof, ...]:
    """Mark for each team and level the best verified roof whose traffic needs no model."""
    best: dict[tuple[Team, str], MemoryRoof] = {}
    for roof in roofs:
        key = (roof.team, roof.level)
        known = roof.bytes_counted == "program" and traffic_is_known(roof.level, roof.mix)
        if known and roof.verified and (key not in best or roof.rate.best > best[key].rate.best):
            best[key] = roof
    chosen = {id(roof) for roof in best.values()}
    return tuple(replace(roof, headline=id(roof) in chosen) for roof in roofs)


# ------------------------------------------------------------------------------------------------- points


def _point(measurement: Measurement) -> IntensityPoint:
    case, work = measurement.case, measurement.work
    return IntensityPoint(
        level=case.level,
        mix=case.mix,
        precision=case.precision,
        team=case.team,
        multiply_adds=case.multiply_adds,
        intensity=work.flop / work.program_bytes,
        flop_rate=rates(measurement, work.flop),
        byte_rate=rates(measurement, work.program_bytes),
        verified=measurement.code.verified,
    )


# ------------------------------------------------------------------------------------------------- curves


def curve_measurements(team: Team, measured: Iterable[Measurement]) -> list[Measurement]:
    """Return the measurements that make up a team's bandwidth curve, small working sets first."""
    chosen = [
        m
        for m in measured
        # Without bytes only in foreign files.
        if m.sound and m.case.team == team and m.case.probe == "memory" and not m.case.level and m.case.working_set > 0
    ]
    return sorted(chosen, key=lambda m: m.case.working_set)


def _curve(team: Team, measured: Iterable[Measurement], host: Host) -> Curve | None:
    chosen = curve_measurements(team, measured)
    if not chosen:
        return None
    plateaus, notes = find_plateaus(
        [m.case.working_set for m in chosen],
        [[m.work.program_bytes * s.passes / s.seconds for s in m.samples if s.seconds > 0] for m in chosen],
        declared=cache_capacities(host, team.cpus),
    )
    points = tuple(CurvePoint(m.case.working_set, rates(m, m.work.program_bytes)) for m in chosen)
    return Curve(team, points, plateaus, tuple(f"{team.label}: {note}" for note in notes))


def _plateau(team: Team, level: str, curves: Iterable[Curve]) -> Plateau | None:
    for curve in curves:
        if curve.team == team:
            return next((plateau for plateau in curve.plateaus if plateau.name == level), None)
    return None


# -------------------------------------------------------------------------------------------------- notes


def _countable(measurement: Measurement) -> bool:
    """Whether there is something to divide: damaged or foreign files may hold counts that no probe makes."""
    work, case = measurement.work, measurement.case
    counted = {"compute": work.flop, "overhead": work.events}.get(case.probe, work.program_bytes)
    if case.probe in EVENT_PROBES:
        counted = min(counted, work.events)
    if case.probe == "intensity":
        counted = min(counted, work.flop)
    if case.probe in ("memory", "latency"):
        counted = min(counted, case.working_set)
    return counted > 0 and any(sample.seconds > 0 for sample in measurement.samples)


def _failures(results: Results) -> list[str]:
    """Say which cases gave no number, and why.

    An application kernel is no roof, and its code may be any: of such only what went wrong is told.
    """
    kernels = {kernel.name for kernel in results.kernels}
    notes = []
    for measurement in results.measurements:
        if measurement.error:
            notes.append(f"{describe(measurement)}: left out, {measurement.error}")
        elif measurement.case.probe in kernels:
            if measurement.code.status in ("mismatch", "unseen"):
                notes.append(f"{describe(measurement)}: {measurement.code.status} ({measurement.code.reason})")
        elif not measurement.code.verified:
            notes.append(f"{describe(measurement)}: {measurement.code.status}, no roof ({measurement.code.reason})")
    return notes


def describe(measurement: Measurement) -> str:
    """Return the few words that name a measurement's case for a person."""
    case = measurement.case
    parts = [case.probe, case.precision, case.instructions, case.level, case.mix]
    if case.multiply_adds:
        parts.append(f"k = {case.multiply_adds}")
    parts += [f"{name.replace('_', ' ')} {value}" for name, value in case.parameters]
    if case.vector_bits:
        parts.append(f"{case.vector_bits}-bit")
    if case.probe == "latency":
        parts.append(f"{case.accumulators} chains")
    if case.working_set:
        parts.append(f"{case.working_set} bytes a thread")
    parts.append(case.team.label)
    return " ".join(part for part in parts if part)


def _high_points(
    points: Iterable[IntensityPoint], compute: Iterable[ComputeRoof], memory: Iterable[MemoryRoof]
) -> list[str]:
    """Flag points above the roof that applies to them: their own mix at their own level, their precision."""
    peaks = {(roof.team, roof.precision): roof.rate.best for roof in compute if roof.headline}
    slopes = {(r.team, r.level, r.mix): r.rate.best for r in memory if r.verified and r.bytes_counted == "program"}
    above: dict[tuple[Team, str], list[float]] = {}
    for point in points:
        peak = peaks.get((point.team, point.precision))
        slope = slopes.get((point.team, point.level, point.mix))
        if peak is not None and slope is not None:
            ratio = point.flop_rate.best / attainable(point.intensity, peak, slope)
            if ratio > ABOVE_ROOF:
                above.setdefault((point.team, point.level), []).append(ratio)
    return [
        f"{level}, {team.label}: {len(ratios)} intensity point{'s lie' if len(ratios) > 1 else ' lies'} up to "
        f"{100 * (max(ratios) - 1):.0f} % above the roof. The load roof of {level} was measured in slower spells of "
        "the machine than they were, or their data lay in a nearer level."
        for (team, level), ratios in above.items()
    ]


def _high_mixes(compute: Iterable[ComputeRoof]) -> list[str]:
    """Say which mixes are above the conventional roofs: the best one of each precision, each team in a sentence."""
    peaks = {(roof.team, roof.precision): roof for roof in compute if roof.headline}
    best: dict[Team, dict[str, ComputeRoof]] = {}
    for roof in compute:
        of_team = best.setdefault(roof.team, {})
        if roof.above and (roof.precision not in of_team or roof.rate.best > of_team[roof.precision].rate.best):
            of_team[roof.precision] = roof
    teams = []
    for team, found in best.items():
        parts = []
        for precision, roof in found.items():
            peak = peaks[team, precision]
            parts.append(f"{roof.name} by {100 * (roof.rate.best / peak.rate.best - 1):.0f} %")
        if parts:
            teams.append(f"{team.label}: {', '.join(parts)}")
    if not teams:
        return []
    return [
        f"Mixes above the roof of multiply-adds alone, {'; '.join(teams)}. This core has pipes that multiply-adds "
        "leave idle. Headline roofs and ridge points stay with the multiply-adds."
    ]


def _moved(memory: Iterable[MemoryRoof], curves: Iterable[Curve]) -> list[str]:
    """Say where the final curve puts a roof's working set on another level than the plan did."""
    notes = []
    for curve in curves:
        for roof in memory:
            if roof.team != curve.team or roof.mix != "load":
                continue
            on = next((p.name for p in curve.plateaus if p.first <= roof.working_set <= p.last), "")
            if on and on != roof.level:
                notes.append(
                    f"{roof.level} was measured at {roof.working_set} bytes a thread, which the finished curve "
                    f"counts as {on}"
                )
    return notes
