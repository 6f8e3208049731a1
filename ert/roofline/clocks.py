"""The core clock of a sweep: what rates were made at, and how it drifted while the sweep ran."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ert.roofline.model import Results, Roofline, Team

DRIFT_PARTS = 3
"""The beginning and the end of a sweep are so many parts of its samples: each part of a sweep of several rounds holds
cases of every kind, so that their medians are comparable."""

MIN_SAMPLES = 3 * DRIFT_PARTS
"""With fewer samples of a team its clock has no course."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The core clock of a team in hertz at the beginning and at the end of a sweep."""

    team: Team
    first: float
    last: float


def clock_hz(roofline: Roofline, team: Team) -> float | None:
    """Return the core clock in hertz that the rates of a team were made at; None where it was not measured.

    The rate of a compute roof per second over its rate per cycle and core; a headline roof speaks first.
    """
    for roof in sorted(roofline.compute, key=lambda roof: not roof.headline):
        if roof.team == team and roof.rate.per_cycle:
            return roof.rate.best / (roof.rate.per_cycle * team.cores)
    return None


def drift(results: Results, team: Team) -> Drift | None:
    """Return how the clock of a team changed over the sweep, by the samples' own clocks; None with too few."""
    samples = [sample for m in results.measurements if m.valid and m.case.team == team for sample in m.samples]
    course = sorted((sample.at, median(sample.clocks_hz)) for sample in samples if sample.clocks_hz)
    if len(course) < MIN_SAMPLES:
        return None
    part = len(course) // DRIFT_PARTS
    first, last = course[:part], course[-part:]
    return Drift(team, median(clock for _, clock in first), median(clock for _, clock in last))
