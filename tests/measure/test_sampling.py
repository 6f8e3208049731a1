from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from ert.measure.sampling import RETAKES, TARGET_SECONDS, ClockError, Timing, Visit, calibrate, visit
from ert.roofline.model import Case, Code, Measurement, Sample, Team, Work
from tests.machine import SyntheticMachine

TEAM = Team("one", (0,), 1)
CASE = Case("memory", TEAM, mix="load", vector_bits=256, working_set=16 << 10)


def linear(seconds_a_pass: float, fixed: float = 0.0):
    return lambda passes: Timing(fixed + passes * seconds_a_pass)


class Scripted:
    """An instrument whose timings are given, and how long a thread was on no CPU during each."""

    def __init__(self, seconds: Iterator[float], away: Iterator[float] | None = None) -> None:
        self.seconds, self.away = seconds, away
        self.checked = False

    def describe(self, case: Case) -> tuple[Work, Code]:
        return Work(), Code("verified")

    def open(self, case: Case) -> None:
        pass

    def run(self, case: Case, passes: int) -> Timing:
        return Timing(next(self.seconds), away_seconds=next(self.away) if self.away else None)

    def check(self, case: Case) -> str:
        self.checked = True
        return ""


def measurement(*samples: Sample) -> Measurement:
    return Measurement(CASE, Work(read_bytes=16 << 10), Code("verified"), samples)


@pytest.mark.parametrize("seconds", [1e-9, 3.3e-7, 1e-5, 1e-3, 3.9e-3, 4e-3, 0.5])
def test_calibration_meets_the_target(seconds: float) -> None:
    passes = calibrate(linear(seconds))
    assert passes == 1 or passes * seconds == pytest.approx(TARGET_SECONDS, rel=0.3)
    assert passes * seconds >= 0.7 * TARGET_SECONDS


def test_calibration_is_not_misled_by_a_fixed_cost() -> None:
    passes = calibrate(linear(1e-7, fixed=2e-4))
    assert passes * 1e-7 == pytest.approx(TARGET_SECONDS, rel=0.35)


def test_a_coarse_clock_still_calibrates() -> None:
    def run(passes: int) -> Timing:
        return Timing(int(passes * 1e-6 / 1e-3) * 1e-3)

    assert 1e-6 * calibrate(run) >= 0.7 * TARGET_SECONDS


def test_a_clock_that_stands_still_is_an_error() -> None:
    with pytest.raises(ClockError, match="does not advance"):
        calibrate(lambda passes: Timing(0.0))


def test_a_visit_takes_its_samples_and_checks_the_result() -> None:
    machine = SyntheticMachine()
    after = visit(machine, measurement(), 3, Visit(4), machine.elapsed)
    assert [sample.round for sample in after.samples] == [3, 3, 3, 3]
    assert all(sample.seconds == pytest.approx(TARGET_SECONDS, rel=0.3) for sample in after.samples)
    assert all(sample.clocks_hz for sample in after.samples)
    assert after.error == ""


def test_samples_of_earlier_rounds_stay_and_give_the_passes() -> None:
    machine = SyntheticMachine()
    first = visit(machine, measurement(), 0, Visit(2), machine.elapsed)
    runs = machine.runs
    second = visit(machine, first, 1, Visit(2), machine.elapsed)
    assert second.samples[:2] == first.samples
    assert machine.runs == runs + 2, "no calibration in the second round"


def test_a_wrong_result_makes_an_error() -> None:
    machine = SyntheticMachine(wrong=lambda case: True)
    assert "instead of" in visit(machine, measurement(), 0, Visit(1), machine.elapsed).error


def test_samples_during_which_the_clock_stepped_back_are_dropped() -> None:
    script = Scripted(iter([4e-3, -1.0, 4e-3, float("nan"), 4.1e-3]))
    after = visit(script, measurement(), 0, Visit(2), lambda: 0.0)
    assert [sample.seconds for sample in after.samples] == [4e-3, 4.1e-3]
    assert script.checked


def test_a_clock_that_steps_back_for_ever_ends_in_an_error() -> None:
    def back() -> Iterator[float]:
        yield 4e-3
        while True:
            yield -1.0

    after = visit(Scripted(back()), measurement(), 0, Visit(2), lambda: 0.0)
    assert "stepped back" in after.error
    assert not after.valid


def test_a_slow_sample_stays_a_sample() -> None:
    script = Scripted(iter([4e-3, 4e-3, 40e-3]))
    after = visit(script, measurement(), 0, Visit(2), lambda: 0.0)
    assert [sample.seconds for sample in after.samples] == [4e-3, 40e-3]


def test_an_interrupted_sample_is_kept_and_another_is_taken() -> None:
    script = Scripted(iter([4e-3, 4e-3, 8e-3, 4.01e-3]), iter([0.0, 0.0, 4e-3, 1e-5]))
    after = visit(script, measurement(), 0, Visit(2), lambda: 0.0)
    assert [sample.seconds for sample in after.samples] == [4e-3, 8e-3, 4.01e-3]
    assert [sample.interrupted for sample in after.samples] == [False, True, False]


def test_a_core_that_is_shared_all_the_time_ends_the_visit() -> None:
    script = Scripted(itertools.repeat(8e-3), itertools.repeat(4e-3))
    after = visit(script, measurement(Sample(0, 10, 8e-3)), 1, Visit(2), lambda: 0.0)
    assert len(after.samples) == 1 + 2 + RETAKES
    assert all(sample.interrupted for sample in after.samples[1:])


def test_passes_chosen_in_a_slow_spell_are_chosen_again() -> None:
    earlier = Sample(round=0, passes=10, seconds=4e-3)
    script = Scripted(iter([1e-3, 1e-3, 4e-3, 4e-3]))
    after = visit(script, measurement(earlier), 1, Visit(1), lambda: 0.0)
    assert after.samples[-1].passes == 40
    assert after.samples[-1].seconds == 4e-3
