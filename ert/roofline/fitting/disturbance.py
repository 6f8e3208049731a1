"""What disturbed a sweep: samples that the hypervisor or other processes took time from, and a clock that drifted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ert.roofline.fitting.clocks import drift
from ert.roofline.fitting.statistics import NEAR_BEST
from ert.roofline.model import ComputeRoof, Measurement, MemoryRoof, Results, Sample, Team
from ert.roofline.quantities import hertz, percent

NOTED = 0.05
"""Part of a team's samples that must be disturbed to be remarked upon: the rounds are made for a few."""

MOST = 0.5
"""A roof is named when this part of its samples was disturbed: then its median is one of them."""

DRIFT_NOTED = 0.02
"""A clock that moves by more than this between first and last third changes rates by more than grade B promises."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """How many samples of a team were disturbed.

    Attributes
    ----------
    team : Team
        Whose samples.
    samples : int
        All of them.
    stolen : int
        During which the hypervisor gave CPUs of the team to others.
    switched : int
        Interrupted: a thread of the team was away from its CPU for too long, see
        :data:`ert.roofline.model.INTERRUPTED`. Where the system does not tell for how long, those during which another
        process took a CPU and which were over 2 % slower than the best of their case.
    roofs : tuple of str
        Headline roofs of which at least half of the samples were disturbed.
    """

    team: Team
    samples: int
    stolen: int
    switched: int
    roofs: tuple[str, ...] = ()

    @property
    def disturbed(self) -> int:
        """Samples that were stolen from or interrupted; what was both counts as stolen."""
        return self.stolen + self.switched


def disturbances(
    results: Results, compute: Iterable[ComputeRoof], memory: Iterable[MemoryRoof]
) -> tuple[Disturbance, ...]:
    """Count the disturbed samples of each team, in the order in which the teams measured."""
    roofs: list[ComputeRoof | MemoryRoof] = [*compute, *memory]
    named = {_key(roof): roof.name for roof in roofs if roof.headline}
    found: dict[Team, Disturbance] = {}
    for measurement in results.measurements:
        if not measurement.valid:
            continue
        team, total = measurement.case.team, len(measurement.samples)
        stolen = sum(was_stolen(sample) for sample in measurement.samples)
        switched = sum(_was_switched(sample, measurement) for sample in measurement.samples)
        before = found.get(team, Disturbance(team, 0, 0, 0))
        roof = named.get(_case_key(measurement))
        suffers = roof is not None and stolen + switched >= MOST * total
        found[team] = Disturbance(
            team,
            before.samples + total,
            before.stolen + stolen,
            before.switched + switched,
            (*before.roofs, roof) if roof is not None and suffers else before.roofs,
        )
    return tuple(found.values())


def notes(results: Results, compute: Iterable[ComputeRoof], memory: Iterable[MemoryRoof]) -> list[str]:
    """Say in sentences what disturbed the sweep, where it was more than the rounds make up for."""
    said = [
        _sentence(each)
        for each in disturbances(results, compute, memory)
        if each.roofs or each.disturbed > NOTED * each.samples
    ]
    for team in dict.fromkeys(measurement.case.team for measurement in results.measurements):
        course = drift(results, team)
        if course is None or abs(course.last / course.first - 1) <= DRIFT_NOTED:
            continue
        change = course.last / course.first - 1
        said.append(
            f"{team.label}: the core clock {'rose' if change > 0 else 'fell'} by {percent(abs(change))}, from "
            f"{hertz(course.first)} in the first third of the sweep to {hertz(course.last)} in the last. Rates per "
            "second are those of the best samples; rates per cycle do not depend on it."
        )
    return said


def was_stolen(sample: Sample) -> bool:
    """Whether the hypervisor gave CPUs of the team to others during a sample."""
    return (sample.steal_seconds or 0.0) > 0.0


def _was_switched(sample: Sample, measurement: Measurement) -> bool:
    if was_stolen(sample):
        return False
    if sample.away_seconds is not None:
        return sample.interrupted
    if (sample.context_switches or 0) < 1:
        return False
    least = min(each.seconds / each.passes for each in measurement.samples)
    return (1.0 - NEAR_BEST) * sample.seconds / sample.passes > least


def _sentence(each: Disturbance) -> str:
    parts = []
    if each.stolen:
        parts.append(f"the hypervisor took time during {each.stolen}")
    if each.switched:
        parts.append(f"{each.switched} were interrupted by other processes")
    text = f"{each.team.label}: {each.disturbed} of {each.samples} samples were disturbed ({', '.join(parts)})"
    if each.roofs:
        text += f", at least half of those of {', '.join(each.roofs)}"
    return f"{text}. `python -m ert.doctor` says what runs beside."


def _key(roof: ComputeRoof | MemoryRoof) -> tuple[object, ...]:
    if isinstance(roof, ComputeRoof):
        return "compute", roof.team, roof.precision, roof.instructions, roof.vector_bits, roof.accumulators
    return "memory", roof.team, roof.level, roof.mix, roof.vector_bits, roof.working_set


def _case_key(measurement: Measurement) -> tuple[object, ...]:
    case = measurement.case
    if case.probe == "compute":
        return case.probe, case.team, case.precision, case.instructions, case.vector_bits, case.accumulators
    return case.probe, case.team, case.level, case.mix, case.vector_bits, case.working_set
