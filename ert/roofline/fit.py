"""From measurements to roofs: everything that is said about a machine is derived here, and nothing is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

from ert.roofline.caches import cache_capacities
from ert.roofline.formulas import attainable, ridge
from ert.roofline.irregular import EVENT_PROBES, with_irregular
from ert.roofline.levels import find_plateaus
from ert.roofline.model import (
    MEMORY,
    ComputeRoof,
    Curve,
    CurvePoint,
    Host,
    IntensityPoint,
    Measurement,
    MemoryRoof,
    Plateau,
    Results,
    RidgePoint,
    Roofline,
    Team,
)
from ert.roofline.statistics import rates

__all__ = ["MEMORY", "curve_measurements", "describe", "fit", "rates", "traffic_is_known"]

ABOVE_ROOF = 1.03
"""A point this far above its roof is remarked upon; less is within what two measurements differ by."""

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
    measured = [measurement for measurement in results.measurements if measurement.valid and _countable(measurement)]
    teams = tuple(dict.fromkeys(measurement.case.team for measurement in measured))
    curves = tuple(curve for team in teams if (curve := _curve(team, measured, results.host)))
    compute = _mark_compute([_compute_roof(m) for m in measured if m.case.probe == "compute"])
    memory = _mark_memory(
        [roof for m in measured if m.case.probe == "memory" and m.case.level for roof in _memory_roofs(m, curves)]
    )
    points = tuple(_point(m) for m in measured if m.case.probe == "intensity")
    ridges = tuple(
        RidgePoint(peak, slope, ridge(peak.rate.best, slope.rate.best))
        for peak, slope in product(compute, memory)
        if peak.headline and slope.headline and peak.team == slope.team
    )
    notes = [*_failures(results.measurements), *_high_points(points, compute, memory), *_moved(memory, curves)]
    roofline = Roofline(compute, memory, points, ridges, curves, tuple(dict.fromkeys(notes)))
    return with_irregular(roofline, measured, results.host)


def traffic_is_known(level: str, mix: str) -> bool:
    """Whether the bytes that a mix moves across a level follow from the program alone.

    In L1 they are the program's. Below it, a load moves what it reads; whether an ordinary store first reads the line
    it overwrites depends on the core (write-allocate, and its evasion when whole lines are written). Non-temporal
    stores go to memory past the caches, so that they tell nothing of a cache.
    """
    return level == "L1" or mix == "load" or (level == MEMORY and mix.endswith("_nt"))


# ------------------------------------------------------------------------------------------------ compute


def _compute_roof(measurement: Measurement) -> ComputeRoof:
    case = measurement.case
    return ComputeRoof(
        name=f"{case.precision} {case.instructions} {case.vector_bits}-bit",
        precision=case.precision,
        instructions=case.instructions,
        vector_bits=case.vector_bits,
        accumulators=case.accumulators,
        team=case.team,
        rate=rates(measurement, measurement.work.flop),
        verified=measurement.code.verified,
    )


def _mark_compute(roofs: Sequence[ComputeRoof]) -> tuple[ComputeRoof, ...]:
    """Mark the best verified roof of each team and precision."""
    best: dict[tuple[Team, str], ComputeRoof] = {}
    for roof in roofs:
        key = (roof.team, roof.precision)
        if roof.verified and (key not in best or roof.rate.best > best[key].rate.best):
            best[key] = roof
    chosen = {id(roof) for roof in best.values()}
    return tuple(replace(roof, headline=id(roof) in chosen) for roof in roofs)


# ------------------------------------------------------------------------------------------------- memory


def _memory_roofs(measurement: Measurement, curves: Iterable[Curve]) -> list[MemoryRoof]:
    """Return the roofs of one access mix at one level: counted in program bytes and, where it differs, in traffic."""
    case, work = measurement.case, measurement.work
    counts: list[tuple[BytesCounted, int]] = [("program", work.program_bytes)]
    if work.traffic_bytes(case.level) != work.program_bytes:
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
    chosen = [m for m in measured if m.sound and m.case.team == team and m.case.probe == "memory" and not m.case.level]
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
    who = "1 thread" if team.threads == 1 else f"{team.threads} threads"
    return Curve(team, points, plateaus, tuple(f"{who}: {note}" for note in notes))


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
    return counted > 0 and any(sample.seconds > 0 for sample in measurement.samples)


def _failures(measurements: Iterable[Measurement]) -> list[str]:
    """Say which cases gave no number, and why."""
    notes = []
    for measurement in measurements:
        if measurement.error:
            notes.append(f"{describe(measurement)}: left out, {measurement.error}")
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
    parts.append("1 thread" if case.team.threads == 1 else f"{case.team.threads} threads")
    return " ".join(part for part in parts if part)


def _high_points(
    points: Iterable[IntensityPoint], compute: Iterable[ComputeRoof], memory: Iterable[MemoryRoof]
) -> list[str]:
    """Flag points above the roof that applies to them: their own mix at their own level, their precision."""
    peaks = {(roof.team, roof.precision): roof.rate.best for roof in compute if roof.headline}
    slopes = {(r.team, r.level, r.mix): r.rate.best for r in memory if r.verified and r.bytes_counted == "program"}
    notes = []
    for point in points:
        peak = peaks.get((point.team, point.precision))
        slope = slopes.get((point.team, point.level, point.mix))
        if peak is None or slope is None:
            continue
        roof = attainable(point.intensity, peak, slope)
        if point.flop_rate.best > ABOVE_ROOF * roof:
            notes.append(
                f"{point.level} {point.precision} point at {point.intensity:g} FLOP/byte lies "
                f"{100 * (point.flop_rate.best / roof - 1):.0f} % above its roof: the roof was measured in a slower "
                "spell of the machine, or the data lay in a nearer level"
            )
    return notes


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
