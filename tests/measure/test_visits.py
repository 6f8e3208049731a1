"""How the time that is left is told while visits go on."""

from __future__ import annotations

import pytest

from ert.measure.sampling import Visit
from ert.measure.visits import Visits
from ert.roofline.model import Case, Measurement, Sample, Team
from tests.machine import SyntheticMachine


class Heard:
    """Writes nothing down and remembers the seconds left."""

    def __init__(self) -> None:
        self.left: list[float] = []

    def measurement(self, measurement: Measurement) -> None:
        """Pass over it."""

    def sample(self, case: Case, sample: Sample) -> None:
        """Pass over it."""

    def error(self, case: Case, text: str) -> None:
        """Pass over it."""

    def step(self, done: int, what: str, seconds_left: float) -> None:
        """Remember the seconds."""
        self.left.append(seconds_left)

    def total(self, steps: int) -> None:
        """Pass over it."""


def test_a_slow_first_visit_does_not_make_the_time_left_jump() -> None:
    heard, clock = Heard(), [0.0]
    visits = Visits(SyntheticMachine(), heard, heard, lambda: clock[0], expected_seconds=100.0)
    visits.announce(100)
    case = Case("memory", Team("one", (0,), 1), mix="load", vector_bits=512, working_set=1 << 14)
    # The first visit, of a hundred, takes ten times what was expected of it; then all go as expected.
    for number in range(100):
        visits.round(number, [case], lambda case: Visit(1))
        clock[0] += 10.0 if number == 0 else 1.0
    assert heard.left[0] == pytest.approx(99.0 * 10 / 11)
    assert all(after < 2.0 * before for before, after in zip(heard.left[1:-1], heard.left[2:], strict=True))
    assert heard.left[1] < 200.0
    assert heard.left[-1] == pytest.approx(0.0)
