"""The part of the public report on what disturbed a sweep."""

from __future__ import annotations

from typing import Any

from ert.roofline.fitting.clocks import drift
from ert.roofline.fitting.disturbance import disturbances as found
from ert.roofline.model import Results, Roofline


def disturbances(results: Results, roofline: Roofline) -> dict[str, Any]:
    """Return ``disturbed_samples`` and ``clock_drift`` of each team, as docs/report-json.md describes them."""
    teams = dict.fromkeys(measurement.case.team for measurement in results.measurements)
    courses = [course for team in teams if (course := drift(results, team)) is not None]
    return {
        "disturbed_samples": [
            {
                "team": each.team.name,
                "threads": each.team.threads,
                "samples": each.samples,
                "stolen": each.stolen,
                "switched": each.switched,
                "roofs": list(each.roofs),
            }
            for each in found(results, roofline.compute, roofline.memory)
        ],
        "clock_drift": [
            {
                "team": course.team.name,
                "threads": course.team.threads,
                "first_hz": course.first,
                "last_hz": course.last,
            }
            for course in courses
        ],
    }
