"""What a workload can reach on machines: bounds of its parts, totals, who serves it better, and where that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from ert.roofline import formulas
from ert.roofline.comparing.machine import Machine, Peak, Slope, allowance, combined, differs, largest_team
from ert.roofline.model import MEMORY, Roofline
from ert.roofline.placing.applies import compute_roof, memory_roof, works_of_mixes
from ert.roofline.placing.placement import Placement


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a workload.

    Attributes
    ----------
    name : str
        Unique within its workload.
    flop, traffic : float
        FLOP (OP for integers) done once, and bytes across `level`; both above 0.
    precision : str
        Whose compute roof applies.
    weight : float
        How often it is done in one run of the workload.
    level : str
        Whose memory roof applies; empty for main memory.
    unit : str
        ``"vector"`` or ``"matrix"``; empty for the faster one that a machine has.
    kernel : Placement or None
        The measured kernel that it stands for: machines that were measured are then asked for the roofs that apply to
        it, by kind of arithmetic and access mix, and not for their headline roofs.
    """

    name: str
    flop: float
    traffic: float
    precision: str
    weight: float = 1.0
    level: str = ""
    unit: str = ""
    kernel: Placement | None = None

    @property
    def intensity(self) -> float:
        """Arithmetic intensity at its level in FLOP/byte."""
        return formulas.intensity(self.flop, self.traffic)

    @property
    def place(self) -> str:
        """The level by its name."""
        return self.level or MEMORY


@dataclass(frozen=True, slots=True)
class Workload:
    """Parts that are done one after the other, and sentences on what was left out."""

    name: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the roofs of a machine allow a part.

    Attributes
    ----------
    attainable : float
        min(peak, intensity x bandwidth) in FLOP/s.
    ridge : float
        Intensity in FLOP/byte from which the part would be compute-bound.
    bound : str
        The roof that it is under; at the ridge point ``"compute"``.
    seconds : float
        Lower bound of the time of doing it once: max(FLOP / peak, bytes / bandwidth).
    total_seconds : float
        The same times its weight.
    measured : float or None
        Seconds that the kernel behind the part took on this very machine, in the same sweep; None for all others.
    """

    part: Part
    peak: Peak
    slope: Slope
    attainable: float
    ridge: float
    bound: Literal["memory", "compute"]
    seconds: float
    total_seconds: float
    measured: float | None = None

    @property
    def beaten(self) -> bool:
        """Whether the kernel was measured to take less than the lower bound, by more than the spread of its roof."""
        return self.measured is not None and self.measured * (1.0 + self.spread) < self.seconds

    @property
    def spread(self) -> float:
        """Spread of the roof that bounds it; 0 for a promise."""
        return (self.slope if self.bound == "memory" else self.peak).spread or 0.0


@dataclass(frozen=True, slots=True)
class Prospect:
    """All parts on one machine. ``seconds`` is the lower bound of one run of the workload."""

    machine: Machine
    forecasts: tuple[Forecast, ...]
    seconds: float

    @property
    def spread(self) -> float:
        """Spread of the total: that of its parts by their share of the time."""
        return sum(forecast.spread * forecast.total_seconds for forecast in self.forecasts) / self.seconds


@dataclass(frozen=True, slots=True)
class Crossing:
    """Which of two machines attains more, over all intensities, in one precision and at one level.

    The ratio of the first machine's attainable rate to the second's is that of the memory roofs at small intensities,
    that of the compute roofs at large ones, and moves steadily from one to the other between the two ridge points.

    Attributes
    ----------
    first, second : int
        Which machines, by their places in the order asked for.
    at : float or None
        Intensity in FLOP/byte at which both attain the same; None if one of them is ahead or level throughout.
    memory_ratio, compute_ratio : float
        First over second, at small and at large intensities.
    memory_better, compute_better : int or None
        Which machine is ahead there; None where they are equal within their spreads.
    begins, ends : float
        The smaller and the larger ridge point: between them the ratio moves.
    """

    first: int
    second: int
    precision: str
    unit: str
    level: str
    at: float | None
    memory_ratio: float
    compute_ratio: float
    memory_better: int | None
    compute_better: int | None
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A workload on several machines, in the order asked for, and the crossings of each two of them."""

    workload: Workload
    prospects: tuple[Prospect, ...]
    crossings: tuple[Crossing, ...]

    @property
    def ranking(self) -> tuple[int, ...]:
        """The machines by their places in the order asked for, the one with the shortest time first."""
        return tuple(sorted(range(len(self.prospects)), key=lambda place: self.prospects[place].seconds))

    def faster(self, first: int, second: int) -> float:
        """Return how many times as fast the first machine's bound is as the second's."""
        return self.prospects[second].seconds / self.prospects[first].seconds

    def equal(self, first: int, second: int) -> bool:
        """Whether two totals differ by no more than the spreads of the roofs behind them."""
        spread = combined(self.prospects[first].spread, self.prospects[second].spread)
        return not differs(self.faster(first, second), spread)


def forecast(part: Part, machine: Machine) -> Forecast:
    """Return what the roofs of a machine allow a part (roofline model, see :mod:`ert.roofline.formulas`).

    Raises
    ------
    InputError
        If the machine has no roof of the part's precision or level.
    """
    peak, slope = machine.peak(part.precision, part.unit), machine.slope(part.level)
    own = part.kernel is not None and machine.results is not None and part.kernel in machine.kernels
    if part.kernel is not None and machine.roofline is not None:
        peak, slope = _roofs(part.kernel, machine, machine.roofline, own=own) or (peak, slope)
    ridge = formulas.ridge(peak.rate, slope.rate)
    seconds = max(part.flop / peak.rate, part.traffic / slope.rate)
    return Forecast(
        part=part,
        peak=peak,
        slope=slope,
        attainable=formulas.attainable(part.intensity, peak.rate, slope.rate),
        ridge=ridge,
        bound="memory" if part.intensity < ridge else "compute",
        seconds=seconds,
        total_seconds=seconds * part.weight,
        measured=part.kernel.seconds if part.kernel is not None and own else None,
    )


def _roofs(kernel: Placement, machine: Machine, roofline: Roofline, *, own: bool) -> tuple[Peak, Slope] | None:
    """Return the roofs of a measured machine that apply to a kernel; None where one of them was not measured.

    On the machine that ran it they are those that it was placed under, as they were beside it if they moved.
    """
    if own:
        top, foot = kernel.compute_roof, kernel.memory_roof
    else:
        team, mixes = (
            largest_team(roofline.teams),
            works_of_mixes(machine.results.measurements if machine.results else ()),
        )
        top = compute_roof(kernel.kernel, team, kernel.case.precision, roofline.compute)
        foot = memory_roof(kernel.work, kernel.kernel.mix, team, kernel.level, roofline.memory, mixes)
    if top is None or foot is None:
        return None
    return (
        Peak(top.precision, "vector", top.name, top.rate.best, allowance(top.rate)),
        Slope(foot.level, foot.mix, foot.name, foot.rate.best, allowance(foot.rate)),
    )


def predict(workload: Workload, machines: Sequence[Machine]) -> Prediction:
    """Ask every machine about every part of a workload.

    Raises
    ------
    InputError
        If a machine has no roof of a precision or level that a part needs.
    """
    prospects = []
    for machine in machines:
        forecasts = tuple(forecast(part, machine) for part in workload.parts)
        prospects.append(Prospect(machine, forecasts, sum(each.total_seconds for each in forecasts)))
    kinds = dict.fromkeys((part.precision, part.unit, part.place) for part in workload.parts)
    pairs = combinations(range(len(machines)), 2)
    crossings = tuple(crossing(machines, *pair, *kind) for pair in pairs for kind in kinds)
    return Prediction(workload, tuple(prospects), crossings)


def crossing(
    machines: Sequence[Machine], first: int, second: int, precision: str, unit: str = "", level: str = MEMORY
) -> Crossing:
    """Return which of two machines attains more at which intensity.

    Notes
    -----
    If A has the faster memory and B the higher peak, min(P_A, I B_A) = min(P_B, I B_B) has one solution above 0: A is
    at its peak already and B still on its slope, so that I = P_A / B_B.
    """
    one, other = machines[first], machines[second]
    peaks = one.peak(precision, unit), other.peak(precision, unit)
    slopes = one.slope(level), other.slope(level)
    memory, compute = slopes[0].rate / slopes[1].rate, peaks[0].rate / peaks[1].rate
    memory_better = _better(memory, combined(slopes[0].spread, slopes[1].spread), first, second)
    compute_better = _better(compute, combined(peaks[0].spread, peaks[1].spread), first, second)
    at = None
    if memory_better is not None and compute_better is not None and memory_better != compute_better:
        fast, slow = (0, 1) if memory_better == first else (1, 0)
        at = formulas.ridge(peaks[fast].rate, slopes[slow].rate)
    ridges = [formulas.ridge(peak.rate, slope.rate) for peak, slope in zip(peaks, slopes, strict=True)]
    return Crossing(
        first=first,
        second=second,
        precision=precision,
        unit=unit,
        level=level,
        at=at,
        memory_ratio=memory,
        compute_ratio=compute,
        memory_better=memory_better,
        compute_better=compute_better,
        begins=min(ridges),
        ends=max(ridges),
    )


def _better(ratio: float, spread: float, first: int, second: int) -> int | None:
    if not differs(ratio, spread):
        return None
    return first if ratio > 1.0 else second
