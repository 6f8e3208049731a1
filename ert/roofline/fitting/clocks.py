"""The core clock of a sweep: what rates were made at, and how it drifted while the sweep ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median, median_low

from ert.roofline.model import Results, Roofline, Team

DRIFT_PARTS = 3
"""The beginning and the end of a sweep are so many parts of its samples."""

MIN_SAMPLES = 3 * DRIFT_PARTS
"""With fewer samples of a team its clock has no course."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The core clock of a team in hertz at the beginning and at the end of a sweep."""

    team: Team
    first: float
    last: float


def clock_hz(roofline: Roofline, team: Team) -> float | None:
    """Return the core clock in hertz that the roofs of a team were reached at; None where it was not measured.

    The middle one of the clocks that samples of its headline compute roofs ran at, of any of its compute roofs where no
    headline has one: always a clock that was read, not the quotient of figures of different samples.
    """
    found = [(roof.headline, roof.rate.clock_hz) for roof in roofline.compute if roof.team == team]
    known = [(headline, clock) for headline, clock in found if clock]
    headlines = [clock for headline, clock in known if headline]
    clocks = headlines or [clock for _, clock in known]
    return median_low(clocks) if clocks else None


def drift(results: Results, team: Team) -> Drift | None:
    """Return how the clock of a team changed over the sweep, by the samples' own clocks; None with too few.

    Only cases with samples at both ends count, each compared with itself: wide vectors may run at another clock than
    scalar code.
    """
    course = sorted(
        (sample.at, index, median(sample.clocks_hz))
        for index, m in enumerate(results.measurements)
        if m.valid and m.case.team == team
        for sample in m.samples
        if sample.clocks_hz
    )
    if len(course) < MIN_SAMPLES:
        return None
    part = len(course) // DRIFT_PARTS
    first, last = _by_case(course[:part]), _by_case(course[-part:])
    both = [index for index in first if index in last and first[index] > 0]
    if not both:
        return None
    begin = median(first[index] for index in both)
    return Drift(team, begin, begin * median(last[index] / first[index] for index in both))


def _by_case(course: Iterable[tuple[float, int, float]]) -> dict[int, float]:
    clocks: dict[int, list[float]] = {}
    for _, index, clock in course:
        clocks.setdefault(index, []).append(clock)
    return {index: median(found) for index, found in clocks.items()}
