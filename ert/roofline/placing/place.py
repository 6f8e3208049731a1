"""Where application kernels lie under the roofs: attainable performance, bound, efficiency, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ert.roofline.fitting.statistics import rates
from ert.roofline.model import Estimate, Kernel, Measurement, Results, Roofline, Work
from ert.roofline.placing.advice import advise
from ert.roofline.placing.applies import compute_roof, memory_roof, works_of_mixes
from ert.roofline.placing.beside import slope_beside
from ert.roofline.placing.facts import Facts
from ert.roofline.placing.placement import Bound, Placement, same_problem

__all__ = ["HALF", "Bound", "Placement", "fastest_rungs", "place", "rank"]

HALF = 0.5
"""Efficiency below which a kernel is bound by neither roof: the nearer one then explains less than half of its time, so
that something else explains more."""


def place(results: Results, roofline: Roofline) -> tuple[Placement, ...]:
    """Place every valid measurement of an application kernel under the roofs that apply to it.

    Parameters
    ----------
    results : Results
        With its kernels; a measurement belongs to the kernel whose name is its case's probe.
    roofline : Roofline
        What was fitted to it, or to another sweep of the same machine.

    Returns
    -------
    tuple of Placement
        In the order of the measurements. With F FLOP and Q bytes of modelled traffic a pass, a compute roof P and a
        memory roof B: intensity I = F / Q, attainable = min(P, I x B), lower bound of the time = max(F / P, Q / B), and
        efficiency = lower bound / time, which is the larger of both shares (Williams, Waterman, Patterson 2009, see
        :mod:`ert.roofline.formulas`). A memory roof that moved counts as it was beside the kernel, see
        :mod:`ert.roofline.placing.beside`. A kernel without FLOP is placed by its bandwidth, one without traffic at its
        level by its FLOP rate.
    """
    kernels = {kernel.name: kernel for kernel in results.kernels}
    mixes = works_of_mixes(results.measurements)
    placed = [
        _placement(kernels[m.case.probe], m, roofline, mixes, results)
        for m in results.measurements
        if m.case.probe in kernels and m.valid and _countable(m)
    ]
    return tuple(_advised(placement, Facts(placement, roofline, placed, mixes)) for placement in placed)


def _advised(placement: Placement, facts: Facts) -> Placement:
    rule, sentences = advise(facts)
    return replace(placement, rule=rule, advice=sentences)


def _countable(measurement: Measurement) -> bool:
    """Whether there is something to divide, no matter what a foreign file holds."""
    work = measurement.work
    counted = work.flop or work.program_bytes or work.traffic_bytes(measurement.case.level)
    return counted > 0 and any(sample.seconds > 0 and sample.passes > 0 for sample in measurement.samples)


def _placement(
    kernel: Kernel, measurement: Measurement, roofline: Roofline, mixes: Mapping[str, Work], results: Results
) -> Placement:
    case, work = measurement.case, measurement.work
    traffic = work.traffic_bytes(case.level)
    peak = compute_roof(kernel, case.team, case.precision, roofline.compute) if work.flop else None
    slope = memory_roof(work, kernel.mix, case.team, case.level, roofline.memory, mixes) if traffic else None
    beside = slope_beside(measurement, slope, results) if slope else None
    slope = beside or slope
    quota = results.host.cpu_quota
    flop_rate, byte_rate = _rate(measurement, work.flop, quota), _rate(measurement, traffic, quota)
    compute_share = flop_rate.best / peak.rate.best if flop_rate and peak else None
    memory_share = byte_rate.best / slope.rate.best if byte_rate and slope else None
    seconds = min(s.seconds / s.passes for s in measurement.samples if s.seconds > 0 and s.passes > 0)
    whole = (peak is not None or not work.flop) and (slope is not None or not traffic)
    efficiency = max(compute_share or 0.0, memory_share or 0.0) if whole else None
    intensity = work.flop / traffic if traffic else None
    return Placement(
        kernel=kernel,
        case=case,
        work=work,
        code=measurement.code,
        level=case.level,
        intensity=intensity,
        program_intensity=work.flop / work.program_bytes if work.program_bytes else None,
        flop_rate=flop_rate,
        byte_rate=byte_rate,
        compute_roof=peak,
        memory_roof=slope,
        beside=beside is not None,
        attainable=_attainable(peak.rate.best if peak else None, slope.rate.best if slope else None, intensity)
        if whole
        else None,
        compute_share=compute_share,
        memory_share=memory_share,
        efficiency=efficiency,
        bound=_bound(compute_share, memory_share, efficiency),
        seconds=seconds,
        lower_bound=None if efficiency is None else efficiency * seconds,
        rule="",
        advice=(),
    )


def _rate(measurement: Measurement, count: int, quota: float | None) -> Estimate | None:
    """Return the rate of so many things a pass; graded down where a control group stops the team in the middle."""
    if not count:
        return None
    rate = rates(measurement, count)
    return replace(rate, grade="D") if quota is not None and measurement.case.team.threads > quota else rate


def _bound(compute: float | None, memory: float | None, efficiency: float | None) -> Bound:
    """Return the roof that the larger share belongs to."""
    if efficiency is None:
        return "unknown"
    if efficiency < HALF:
        return "neither"
    return "compute" if compute is not None and compute > (memory or 0.0) else "memory"


def _attainable(peak: float | None, slope: float | None, intensity: float | None) -> float | None:
    """Return min(peak, intensity x slope) as far as there are both; the slope alone where no FLOP is counted."""
    if peak is None or slope is None or intensity is None:
        return slope if peak is None else peak
    return min(peak, intensity * slope)


def rank(placements: Iterable[Placement]) -> tuple[Placement, ...]:
    """Order kernels by where effort pays: the seconds of a pass above their lower bound, the most first.

    That is time x headroom: T - max(F / P, Q / B) = T x (1 - efficiency). A long kernel that is near its roof and a
    short one that is far from it both have little to win. Kernels whose roofs were not measured are left out.
    """
    known = [placement for placement in placements if placement.headroom is not None]
    return tuple(sorted(known, key=lambda placement: -(placement.headroom or 0.0)))


def fastest_rungs(placements: Iterable[Placement]) -> tuple[Placement, ...]:
    """Leave out the slower rungs of each ladder: what they could win, a faster rung has won already.

    A rung is left out if another one of its ladder solves the same problem, see
    :func:`ert.roofline.placing.placement.same_problem`, at a higher FLOP rate. Other sizes and levels are other
    problems, and other kernels stay.
    """
    placements = tuple(placements)
    return tuple(p for p in placements if not any(_beats(other, p) for other in placements))


def _beats(other: Placement, one: Placement) -> bool:
    """Whether another rung of the same ladder is faster on the same problem."""
    ladder = one.kernel.ladder
    return bool(ladder) and other.kernel.ladder == ladder and _speed(other) > _speed(one) and same_problem(other, one)


def _speed(placement: Placement) -> float:
    return placement.flop_rate.best if placement.flop_rate else 0.0
