"""The best, the spread and the grade of planted samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.roofline.fitting.statistics import GRADES, REPEATS_WITHIN, estimate, grade, rates
from ert.roofline.model import Case, Code, Estimate, Measurement, Sample, Team, Work


def test_best_median_and_spread_of_known_samples() -> None:
    found = estimate([90.0, 100.0, 99.0, 80.0, 98.0, 70.0], [0, 0, 1, 1, 2, 2])
    assert found.best == 100.0
    assert found.median == pytest.approx(94.0)
    # The rounds' bests are 100, 99 and 98.
    assert found.spread == pytest.approx(0.01)
    assert found.samples == 6
    assert found.per_cycle is None


def test_slow_samples_inside_a_round_do_not_make_a_spread() -> None:
    found = estimate([100.0, 50.0, 100.0, 60.0, 100.0, 70.0], [0, 0, 1, 1, 2, 2])
    assert found.spread == 0.0
    assert found.grade == "A"


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([100.0, 100.0, 100.0], "A"),
        ([100.0, 99.6, 99.5], "A"),
        ([100.0, 99.2, 99.1], "B"),
        ([100.0, 98.5, 98.3], "C"),
        ([100.0, 95.0, 94.0], "D"),
        ([100.0, 60.0, 30.0], "D"),
    ],
)
def test_the_spread_of_the_rounds_makes_the_grade(rounds: list[float], expected: str) -> None:
    assert grade(rounds, samples=6) == expected


@pytest.mark.parametrize(
    ("rounds", "lowered"),
    [
        # One round in a slow spell leaves the median of the rounds as it is, and lowers the grade by one step.
        (([100.0, 100.0, 100.0], [100.0, 100.0, 80.0]), ("A", "B")),
        (([100.0, 99.2, 99.2], [100.0, 99.2, 80.0]), ("B", "C")),
        (([100.0, 98.5, 98.5], [100.0, 98.5, 80.0]), ("C", "D")),
    ],
)
def test_a_slow_round_lowers_the_grade(rounds: tuple[list[float], list[float]], lowered: tuple[str, str]) -> None:
    quiet, disturbed = rounds
    assert (grade(quiet, samples=6), grade(disturbed, samples=6)) == lowered


def test_a_slow_round_lowers_the_grade_of_an_estimate() -> None:
    rates = [100.0, 99.8, 99.9, 100.0, 99.9, 99.7]
    numbers = [0, 0, 1, 1, 2, 2]
    slow = [*rates[:4], 66.0, 65.0]
    assert estimate(rates, numbers).grade == "A"
    assert estimate(slow, numbers).grade == "B"
    assert estimate(slow, numbers).best == estimate(rates, numbers).best


def test_one_lucky_sample_shows_as_spread() -> None:
    found = estimate([100.0, 101.0, 100.0, 120.0, 101.0, 100.0], [0, 0, 1, 1, 2, 2])
    assert found.best == 120.0
    assert found.spread == pytest.approx(1 - 101 / 120)
    assert found.grade == "D"


def test_a_single_round_is_no_better_than_c() -> None:
    assert estimate([100.0] * 6, [0] * 6).grade == "C"
    assert estimate([100.0] * 6, [0, 0, 0, 1, 1, 1]).grade == "A"


def test_two_samples_are_no_better_than_c() -> None:
    assert estimate([100.0, 100.0], [0, 1]).grade == "C"
    assert estimate([100.0, 100.0, 100.0], [0, 1, 1]).grade == "A"


def test_unusable_rates_are_dropped_with_their_round() -> None:
    found = estimate([math.nan, 100.0, -5.0, 0.0, math.inf, 100.0, 100.0], [0, 1, 1, 2, 2, 2, 1])
    assert (found.best, found.samples, found.grade) == (100.0, 3, "A")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], None, 1), "no usable sample: none of 0 rates"),
        (([0.0, math.nan], [0, 1], None, 1), "no usable sample: none of 2 rates"),
        (([1.0, 2.0], [0], None, 1), "got 2 rates, 1 rounds and 2 clocks"),
        (([1.0, 2.0], [0, 1], [3e9], 1), "2 rounds and 1 clocks"),
        (([1.0], [0], None, 0), "cores must be at least 1: got 0"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[list[float], list[int], list[float] | None, int], message: str) -> None:
    rates, rounds, clocks, threads = arguments
    with pytest.raises(ValueError, match=message):
        estimate(rates, rounds, clocks, cores=threads)


def test_a_grade_needs_a_round() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        grade([], samples=0)


def test_per_cycle_is_per_thread() -> None:
    assert estimate([96e9] * 3, [0, 1, 2], [3e9] * 3, cores=2).per_cycle == pytest.approx(16.0)


def test_per_cycle_does_not_depend_on_a_wandering_clock() -> None:
    clocks = [3.0e9, 3.3e9, 3.6e9, 3.7e9]
    assert estimate([16 * c for c in clocks], [0, 1, 2, 3], clocks).per_cycle == pytest.approx(16.0)


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("reading", [1.1e9, 9e9, 0.0, math.nan])
def test_one_bad_clock_reading_does_not_move_per_cycle(bad: int, reading: float) -> None:
    rates = [59.2e9, 58.9e9, 48.0e9]
    clocks = [3.7e9, 58.9 / 59.2 * 3.7e9, 3.0e9]
    clocks[bad] = reading
    assert estimate(rates, [0, 1, 2], clocks).per_cycle == pytest.approx(16.0, rel=1e-3)


def test_disturbed_samples_do_not_lower_per_cycle() -> None:
    rates = [16.0, 16.0, 15.9, *[8.0] * 20]
    assert estimate(rates, list(range(23)), [1.0] * 23).per_cycle == pytest.approx(16.0)


def _sweep(rng: np.random.Generator, noise: float, kind: str) -> Estimate:
    """Three rounds of two samples with noise that is independent, or common to the samples of a round."""
    disturbed = np.abs(rng.normal(0.0, noise, (3, 2)))
    if kind == "spells":
        disturbed += np.where(rng.random((3, 1)) < 0.3, rng.uniform(0.0, 0.3, (3, 1)), 0.0)
    elif kind == "rounds":
        disturbed += np.abs(rng.normal(0.0, noise, (3, 1)))
    rates = 1.0 - np.minimum(disturbed, 0.9)
    return estimate(rates.ravel().tolist(), [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("kind", ["samples", "rounds", "spells"])
def test_grades_keep_their_promise(kind: str) -> None:
    rng = np.random.default_rng(20)
    kept: dict[str, list[bool]] = {letter: [] for letter in REPEATS_WITHIN}
    for _ in range(3000):
        noise = 10.0 ** rng.uniform(-3.0, -1.0)
        first, second = _sweep(rng, noise, kind), _sweep(rng, noise, kind)
        if first.grade != "D":
            kept[first.grade].append(abs(second.best / first.best - 1.0) <= REPEATS_WITHIN[first.grade])
    assert all(len(pairs) > 100 for pairs in kept.values())
    assert {letter for letter, pairs in kept.items() if np.mean(pairs) < 0.85} == set()


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, st.integers(0, 5), anything), max_size=20), st.integers(1, 256))
def test_no_input_gives_a_nan(samples: list[tuple[float, int, float]], threads: int) -> None:
    rates, rounds, clocks = [s[0] for s in samples], [s[1] for s in samples], [s[2] for s in samples]
    usable = [rate for rate in rates if math.isfinite(rate) and rate > 0.0]
    if not usable:
        with pytest.raises(ValueError, match="no usable sample"):
            estimate(rates, rounds, clocks, cores=threads)
        return
    found = estimate(rates, rounds, clocks, cores=threads)
    assert found.best == max(usable)
    assert 0.0 <= found.median <= found.best
    assert 0.0 <= found.spread <= 1.0
    if found.per_cycle is not None:
        assert found.per_cycle >= 0.0
        assert math.isfinite(found.per_cycle)
    assert found.grade in GRADES


@given(st.lists(st.floats(0.5, 1.0), min_size=1, max_size=8), st.floats(1e-3, 1e15))
def test_the_grade_does_not_depend_on_the_unit(bests: list[float], unit: float) -> None:
    letter = grade(bests, samples=9)
    # The limits themselves may fall on either side by rounding.
    scaled = grade([unit * best for best in bests], samples=9)
    near_limit = any(
        abs((1 - value / max(bests)) - limit) < 1e-9
        for value in [*bests, float(np.median(bests))]
        for limit in (0.005, 0.01, 0.02, 0.025)
    )
    assert letter == scaled or near_limit


def timed(*samples: tuple[int, float, float]) -> Measurement:
    """A measurement whose samples are given by round, milliseconds, and milliseconds that a thread was on no CPU."""
    kept = tuple(Sample(number, 1, 1e-3 * took, away_seconds=1e-3 * away) for number, took, away in samples)
    return Measurement(Case("compute", Team("one", (0,), 1)), Work(flop=1), Code("verified"), kept)


def test_interrupted_samples_do_not_count_beside_others() -> None:
    quiet = timed((0, 4.0, 0.0), (1, 4.01, 0.0), (2, 4.0, 0.0))
    noisy = timed((0, 8.0, 4.0), (0, 4.0, 0.0), (1, 7.9, 3.9), (1, 4.01, 0.01), (2, 4.0, 0.0), (3, 8.0, 4.0))
    assert rates(noisy, 1) == rates(quiet, 1)
    assert rates(quiet, 1).grade == "A"


def test_a_core_that_two_processes_share_evenly_is_graded_d_however_well_its_samples_agree() -> None:
    found = rates(timed((0, 8.0, 4.0), (1, 8.0, 4.0), (2, 8.01, 4.01), (2, 8.0, 4.0)), 1)
    assert found.best == pytest.approx(125.0)
    assert found.spread < 0.001
    assert found.grade == "D"


def test_one_sample_alone_among_interrupted_ones_says_little() -> None:
    assert rates(timed((0, 8.0, 4.0), (1, 4.0, 0.0), (2, 8.0, 4.0)), 1).grade == "C"
