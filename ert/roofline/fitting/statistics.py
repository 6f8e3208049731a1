"""Statistics: the samples of one number -> the best, how well it repeats, and a grade that says so in one letter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median, median_low

from ert.roofline.model import Estimate, Grade, Measurement

GRADES: tuple[Grade, ...] = ("A", "B", "C", "D")

REPEATS_WITHIN: dict[Grade, float] = {"A": 0.01, "B": 0.02, "C": 0.05}
"""What a grade promises: the relative difference within which the best of a repeated sweep should lie."""

SPREAD_LIMITS: dict[Grade, float] = {letter: within / 2 for letter, within in REPEATS_WITHIN.items()}
"""Largest spread of each grade, half of what it promises: the best of a few rounds scatters about as much as it stands
above their median, and in a comparison both sides scatter. With three rounds of noise that is half-normal, normal, or
comes in spells, some nine pairs of sweeps in ten then keep the promise."""

SLOW_ROUND = 0.02
"""How far the best of a round stays under the best of all to call that round slow. Noise on shared machines comes in
spells; one that covered a round could have covered all, and this much is what B promises not to be wrong by."""

MIN_SAMPLES = 3
"""With fewer samples, or with a single round, the spread says nothing: no grade better than C."""

NEAR_BEST = 0.02
"""Samples at most this far under the best ran as undisturbed as the best, and their clocks count."""

MIN_CLOCKS = 3
"""This many of the fastest samples give the rate per cycle if not more are near the best: the fewest of which one bad
clock reading does not decide the median."""

STILL_NEAR = 0.25
"""How far those may be from the best. A sample further away was stopped in the middle, so that its rate and the clock
after it tell of different times."""

ABOVE_ROOF = 1.03
"""A point this far above its roof is remarked upon; less is within what two measurements differ by."""


def estimate(
    rates: Sequence[float],
    rounds: Sequence[int],
    clock_hz: Sequence[float] | None = None,
    *,
    cores: int = 1,
) -> Estimate:
    """Best, median, rate per cycle, spread and grade of the samples of one case.

    Parameters
    ----------
    rates : sequence of float, length n
        Units per second of each sample (FLOP/s, byte/s), summed over the cores. Samples that are not finite or not
        above 0 are dropped.
    rounds : sequence of int, length n
        The round of the sweep that each sample belongs to.
    clock_hz : sequence of float, length n, optional
        Core clock of each sample in hertz, 0 where it was not taken.
    cores : int
        Physical cores that made the rate together. SMT siblings count once, since the cycles they share are the same
        ones.

    Returns
    -------
    Estimate
        `spread` is 1 - median of the rounds' bests / best. `per_cycle` is in units per cycle of one core, None where
        no clock is known; `clock_hz` is the clock of one of the samples that it comes from.

    Raises
    ------
    ValueError
        If the sequences differ in length, `cores` is below 1, or no sample can be used.

    Notes
    -----
    The rate per cycle is the median over the samples near the best of each sample's own rate / clock, not the best
    rate / its clock: the clock is read right after a sample and not during it, so that one reading can be wrong (an
    interruption makes it too low, the ratio too high, and a roof above what the core can do). Within a sample rate and
    clock rise and fall together, so that the ratios of undisturbed samples agree even while the clock wanders. For an
    even count the lower of the two middle ratios is taken, since a bad clock reading errs upwards.
    """
    clocks = [0.0] * len(rates) if clock_hz is None else clock_hz
    if not len(rates) == len(rounds) == len(clocks):
        raise ValueError(
            "each sample needs a rate, a round and a clock: "
            f"got {len(rates)} rates, {len(rounds)} rounds and {len(clocks)} clocks"
        )
    if cores < 1:
        raise ValueError(f"cores must be at least 1: got {cores}")
    usable = [
        (float(rate), number, float(clock))
        for rate, number, clock in zip(rates, rounds, clocks, strict=True)
        if math.isfinite(rate) and rate > 0.0
    ]
    if not usable:
        raise ValueError(f"no usable sample: none of {len(rates)} rates is finite and above 0")
    best = max(rate for rate, _, _ in usable)
    by_round: dict[int, float] = {}
    for rate, number, _ in usable:
        by_round[number] = max(rate, by_round.get(number, 0.0))
    # Relative to the best first: sums of very large rates must not overflow.
    bests = [rate / best for rate in by_round.values()]
    near = _near_best([(rate, clock) for rate, _, clock in usable])
    return Estimate(
        best=best,
        median=median(rate / best for rate, _, _ in usable) * best,
        per_cycle=_per_cycle(near, cores),
        spread=1.0 - median(bests),
        grade=grade(bests, len(usable)),
        samples=len(usable),
        clock_hz=median_low(clock for _, clock in near) if near else None,
    )


def rates(measurement: Measurement, count: float) -> Estimate:
    """Return the rate of `count` things a pass: units per second over the samples of a measurement.

    Interrupted samples count only where there are no others: what slowed them is known, and is not the machine. A rate
    of interrupted samples alone is graded D, however well they agree: a core that two processes share evenly gives half
    of its rate again and again. Where the hypervisor took time during every sample, none shows what the machine does
    undisturbed, and all may be slow alike: that lowers the grade by one step.
    """
    alone = [sample for sample in measurement.samples if not sample.interrupted and sample.seconds > 0]
    samples = alone or measurement.samples
    found = estimate(
        [count * sample.passes / sample.seconds if sample.seconds > 0 else 0.0 for sample in samples],
        [sample.round for sample in samples],
        [sum(sample.clocks_hz) / len(sample.clocks_hz) if sample.clocks_hz else 0.0 for sample in samples],
        cores=measurement.case.team.cores,
    )
    if not alone:
        return replace(found, grade="D")
    if all((sample.steal_seconds or 0.0) > 0.0 for sample in samples):
        return replace(found, grade=GRADES[min(GRADES.index(found.grade) + 1, GRADES.index("D"))])
    return found


def grade(round_bests: Sequence[float], samples: int) -> Grade:
    """Grade a number by how well its rounds agree.

    Parameters
    ----------
    round_bests : sequence of float
        Best rate of each round, above 0, in any unit.
    samples : int
        Samples over all rounds.

    Returns
    -------
    {"A", "B", "C", "D"}
        A repeat of the sweep should agree within about 1 % (A), 2 % (B), 5 % (C), or not even that (D). The spread
        decides; a slow round lowers the grade by one step; a single round or fewer than three samples give C at best.

    Raises
    ------
    ValueError
        If there is no round.
    """
    if not round_bests:
        raise ValueError("a grade needs the best of at least one round: got none")
    best = max(round_bests)
    spread = 1.0 - median(rate / best for rate in round_bests)
    step = next((i for i, limit in enumerate(SPREAD_LIMITS.values()) if spread <= limit), GRADES.index("D"))
    if min(round_bests) < (1.0 - SLOW_ROUND) * best:
        step += 1
    if len(round_bests) < 2 or samples < MIN_SAMPLES:
        step = max(step, GRADES.index("C"))
    return GRADES[min(step, GRADES.index("D"))]


def _near_best(timed: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the pairs of rate and clock of undisturbed samples; none where no clock is known."""
    known = sorted(((rate, clock) for rate, clock in timed if math.isfinite(clock) and clock > 0.0), reverse=True)
    if not known:
        return []
    best = known[0][0]
    return [
        (rate, clock)
        for i, (rate, clock) in enumerate(known)
        if rate >= (1.0 - NEAR_BEST) * best or (i < MIN_CLOCKS and rate >= (1.0 - STILL_NEAR) * best)
    ]


def _per_cycle(near: Sequence[tuple[float, float]], cores: int) -> float | None:
    """Units per cycle of one core from pairs of rate and clock; None where there are none."""
    if not near:
        return None
    ratio = median_low(rate / clock for rate, clock in near) / cores
    return ratio if math.isfinite(ratio) else None
