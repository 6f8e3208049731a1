"""Visits: what was measured so far, and one round over some cases. Tells recorder and listener of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ert.measure.sampling import Instrument, Visit, visit
from ert.roofline.model import Case, Measurement, Sample

BESIDE = Visit(2)
"""How a roof is sampled beside a kernel: no more than to know it in this second."""

EXPECTATION = 0.1
"""Part of all visits that the expectation counts for beside the visits that are over."""


class Recorder(Protocol):
    """Keeps what has been measured as it comes: the journal."""

    def measurement(self, measurement: Measurement) -> None:
        """A case was built."""

    def sample(self, case: Case, sample: Sample) -> None:
        """A sample was taken."""

    def error(self, case: Case, text: str) -> None:
        """A case turned out wrong."""


class Listener(Protocol):
    """Hears how far the sweep is; called between samples, never during one."""

    def step(self, done: int, what: str, seconds_left: float) -> None:
        """`done` visits of the announced number are over; the next is `what`."""

    def total(self, steps: int) -> None:
        """The number of visits is now known to be `steps`."""


@dataclass(slots=True)
class Visits:
    """The visits of one run.

    Attributes
    ----------
    instrument : Instrument
        What measures.
    recorder, listener
        Told of everything as it happens.
    elapsed : callable
        Seconds since the start.
    earlier : mapping of Case to Measurement
        What an interrupted run measured already.
    expected_seconds : float
        For the listener, until the number of visits is known.
    began : float
        What `elapsed` said when the visits began.
    measured : dict of Case to Measurement
        In the order of the first visits.
    """

    instrument: Instrument
    recorder: Recorder
    listener: Listener
    elapsed: Callable[[], float]
    earlier: Mapping[Case, Measurement] = field(default_factory=dict)
    expected_seconds: float = 0.0
    began: float = 0.0
    measured: dict[Case, Measurement] = field(default_factory=dict)
    _steps: int = 0
    _done: set[tuple[Case, int]] = field(default_factory=set)

    def announce(self, steps: int) -> None:
        """Say how many visits there will be in all."""
        self._steps = steps
        self.listener.total(steps)

    def choosing(self, what: str) -> None:
        """Say that a choice is being made, which is no visit."""
        self.listener.step(len(self._done), f"choosing: {what}", self._seconds_left())

    def round(self, number: int, cases: Iterable[Case], how: Callable[[Case], Visit]) -> Sequence[Case]:
        """Visit each case once, unless it is wrong already or has its samples of this round; return the cases."""
        cases = tuple(cases)
        for case in cases:
            if self._due(number, case):
                self.listener.step(len(self._done), describe(case), self._seconds_left())
                self._visit(number, case, how(case))
        return cases

    def pairs(self, number: int, pairs: Iterable[tuple[Case, Case | None]], how: Visit, roof_number: int) -> None:
        """Visit each kernel once, as :meth:`round` does, and each time the roof that applies to it just before.

        So both are known as they were in the same second, on a machine that is not the same from second to second.

        Parameters
        ----------
        number : int
            The round of the kernels.
        pairs : iterable of (Case, Case or None)
            Kernels and their roofs.
        how : Visit
            How a kernel is sampled.
        roof_number : int
            The round that the samples of the roofs count for.
        """
        for case, roof in pairs:
            if self._due(number, case):
                self.listener.step(len(self._done), describe(case), self._seconds_left())
                if roof is not None:
                    self._visit(roof_number, roof, BESIDE)
                self._visit(number, case, how)

    def _due(self, number: int, case: Case) -> bool:
        measurement = self.measured.get(case) or self.introduce(case)
        self._done.add((case, number))
        return not measurement.error and all(sample.round != number for sample in measurement.samples)

    def _visit(self, number: int, case: Case, how: Visit) -> None:
        measurement = self.measured.get(case) or self.introduce(case)
        after = visit(self.instrument, measurement, number, how, self.elapsed)
        # First, so that an interruption while it is written down does not lose it here.
        self.measured[case] = after
        for sample in after.samples[len(measurement.samples) :]:
            self.recorder.sample(case, sample)
        if after.error:
            self.recorder.error(case, after.error)

    def introduce(self, case: Case) -> Measurement:
        """Build what runs a case, and write it down."""
        work, code = self.instrument.describe(case)
        if case in self.earlier:
            # The code is made anew, so it is judged anew.
            measurement = replace(self.earlier[case], work=work, code=code)
        else:
            measurement = Measurement(case, work, code)
        self.recorder.measurement(measurement)
        self.measured[case] = measurement
        return measurement

    def _seconds_left(self) -> float:
        """Return the seconds left, at a pace between what was expected beforehand and that so far.

        The first visits say little of the others, so what was expected counts as much as a part of all visits; alone
        while the visits are not counted.
        """
        if not self._steps or not self._done:
            return max(0.0, self.expected_seconds - self.elapsed() + self.began)
        weight = EXPECTATION * self._steps if self.expected_seconds else 0.0
        expected = weight * self.expected_seconds / self._steps
        pace = (self.elapsed() - self.began + expected) / (len(self._done) + weight)
        return pace * (self._steps - len(self._done))


def describe(case: Case) -> str:
    """Return the few words that tell a person which case is being measured."""
    match case.probe:
        case "compute":
            what = f"{case.precision} {case.instructions} {case.vector_bits}-bit"
        case "intensity":
            what = f"{case.level} {case.precision} k={case.multiply_adds}"
        case "latency":
            what = f"{case.level or 'curve'} latency, {dict(case.parameters)['pattern']}"
            what += f" x {case.accumulators}" if case.accumulators > 1 else ""
        case "gather":
            what = f"{case.level} gather {dict(case.parameters)['element']}"
        case "stride":
            what = f"{case.level} stride {dict(case.parameters)['stride']}"
        case "overhead":
            what = f"overhead, {dict(case.parameters)['until']}"
        case "memory" | "scaling" | "numa":
            what = f"{case.level or 'curve'} {case.mix}"
        case kernel:
            sizes = " ".join(f"{name}={value}" for name, value in case.parameters)
            what = f"{kernel} {case.precision} {sizes}"
    return f"{what}, {case.team.label}"
