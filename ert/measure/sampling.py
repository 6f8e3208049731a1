"""How often: passes that make a sample long enough for the clock, and samples spread over rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ert.roofline.model import Case, Code, Measurement, Sample, Work

TARGET_SECONDS = 4e-3
"""Length of a sample that calibration aims at: ten thousand steps of a system clock, and short enough that most samples
see no timer interrupt longer than a few microseconds."""

SHORTEST_SECONDS = 3e-3
"""A sample under this is calibrated again before it counts."""

MOST_PASSES = 1 << 40
"""More passes than any sample needs: reached only if the clock stands still."""

LONG_SECONDS = 0.1
"""A sample so long is alone in its visit: what disturbs it is short beside it, or lasts for all of the visit."""

TRIES = 8
"""Runs that calibration may take; each multiplies the passes by up to `GROWTH`."""

GROWTH = 256
RETAKES = 4
"""Samples of one visit that are taken beside those asked for, in place of interrupted ones. Something that runs half of
the time beside a sample leaves one in three or more alone; what runs for longer than a visit is left to the rounds."""

DROPPED_LIMIT = 16
"""Samples of one visit that may be dropped because the clock stepped back, before the case is given up."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What an instrument reads of one run: seconds in all, of each thread, and each core's clock in hertz.

    ``steal_seconds``, ``context_switches`` and ``away_seconds`` are None where the system does not tell.
    """

    seconds: float
    thread_seconds: tuple[float, ...] = ()
    clocks_hz: tuple[float, ...] = ()
    steal_seconds: float | None = None
    context_switches: int | None = None
    away_seconds: float | None = None


class Instrument(Protocol):
    """What measures. The product's is :class:`ert.measure.bench.Bench`; tests pass a synthetic machine."""

    def describe(self, case: Case) -> tuple[Work, Code]:
        """Build what runs the case; return the work of one pass and the verdict on the code."""

    def open(self, case: Case) -> None:
        """Fill the memory of the case; the following runs belong to it."""

    def run(self, case: Case, passes: int) -> Timing:
        """Run the opened case once: what warms the caches untimed, then `passes` timed passes."""

    def check(self, case: Case) -> str:
        """Return one sentence if the results of all runs since :meth:`open` are wrong, else ``""``."""


class ClockError(RuntimeError):
    """The clock does not advance, or steps back again and again."""


def calibrate(run: Callable[[int], Timing], passes: int = 1, target: float = TARGET_SECONDS) -> int:
    """Return how many passes make a sample of about `target` seconds.

    Parameters
    ----------
    run : callable
        Runs that many passes and returns the timing.
    passes : int
        Where to begin.
    target : float
        Seconds.

    Raises
    ------
    ClockError
        If the clock stands still or keeps stepping back.
    """
    for _ in range(TRIES):
        seconds = run(passes).seconds
        if not math.isfinite(seconds) or seconds <= 0:
            passes = min(passes * GROWTH, MOST_PASSES)
            continue
        shortest = passes * target * (SHORTEST_SECONDS / TARGET_SECONDS) / seconds
        wanted = max(round(passes * target / seconds), math.ceil(shortest))
        if wanted <= passes * 4:
            return wanted
        # A short run is mostly start-up, so its rate is too low and `wanted` too small a guess to trust far.
        passes = min(wanted, passes * GROWTH, MOST_PASSES)
    if passes >= MOST_PASSES:
        raise ClockError("the system clock does not advance while code runs")
    return passes


@dataclass(frozen=True, slots=True)
class Visit:
    """How one case is sampled in one round: how many samples of how many seconds."""

    samples: int
    target: float = TARGET_SECONDS


def visit(
    instrument: Instrument,
    measurement: Measurement,
    number: int,
    how: Visit,
    elapsed: Callable[[], float],
) -> Measurement:
    """Take the samples of one case in one round.

    Parameters
    ----------
    instrument : Instrument
        What measures.
    measurement : Measurement
        The case with the samples that earlier rounds took.
    number : int
        The round.
    how : Visit
        Samples and their length.
    elapsed : callable
        Returns the seconds since the sweep began.

    Returns
    -------
    Measurement
        With the samples added, or with `error` set if the results were wrong or the clock was.
    """
    case = measurement.case
    instrument.open(case)
    last = measurement.samples[-1].passes if measurement.samples else 0
    samples: list[Sample] = []
    try:
        passes = last or calibrate(lambda passes: instrument.run(case, passes), target=how.target)
        dropped = 0
        while sum(not sample.interrupted for sample in samples) < how.samples and len(samples) < how.samples + RETAKES:
            at = elapsed()
            timing = instrument.run(case, passes)
            if not math.isfinite(timing.seconds) or timing.seconds <= 0:
                dropped += 1
                if dropped > DROPPED_LIMIT:
                    raise ClockError("the system clock stepped back again and again")
                continue
            if timing.seconds < SHORTEST_SECONDS / TARGET_SECONDS * how.target and not samples and last:
                # The machine got faster since the passes were chosen (a slow spell ended).
                passes, last = calibrate(lambda passes: instrument.run(case, passes), passes, how.target), 0
                continue
            samples.append(
                Sample(
                    round=number,
                    passes=passes,
                    seconds=timing.seconds,
                    thread_seconds=timing.thread_seconds,
                    clocks_hz=timing.clocks_hz,
                    at=round(at, 6),
                    steal_seconds=timing.steal_seconds,
                    context_switches=timing.context_switches,
                    away_seconds=timing.away_seconds,
                )
            )
            if timing.seconds > LONG_SECONDS:
                break
    except ClockError as error:
        return replace(measurement, error=str(error))
    wrong = instrument.check(case)
    return replace(measurement, samples=(*measurement.samples, *samples), error=wrong or measurement.error)
