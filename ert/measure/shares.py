"""Shares: threads on cores of several kinds share the work of a case by their speed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import median

from ert.roofline.model import Case

PASSES_SHARED = 16
"""Passes that make one of a team of several kinds of core, if it goes over memory: the threads share whole ones, since
the oracle of an update in place needs such, and a half of a sixteenth is 3 %."""

SPEEDS = 5
"""Runs that a thread's speed is the median of: one that something disturbed must not decide how the next is shared."""

LONG_ENOUGH = 2e-4
"""Seconds of a run that tells a speed; of shorter ones the steps of the clock are a part."""


class Shares:
    """What each thread does of a case.

    Parameters
    ----------
    kinds : mapping of int to str
        Kind of core of each CPU. With equal parts, fast cores would wait for slow ones.
    """

    def __init__(self, kinds: Mapping[int, str]) -> None:
        self._kinds = dict(kinds)
        self._speeds: dict[Case, dict[int, deque[float]]] = {}

    def uneven(self, case: Case) -> bool:
        """Whether threads share a case by their speed; at a barrier each must come as often as the others."""
        return case.probe != "overhead" and len({self._kinds.get(cpu, "") for cpu in case.team.cpus}) > 1

    def of(self, case: Case, each: int) -> dict[int, int]:
        """Return the part of each CPU where `each` is what one does on average: equal until all speeds are known."""
        cpus = case.team.cpus
        speeds = self._speeds.get(case, {})
        if len(speeds) < len(cpus):
            return dict.fromkeys(cpus, each)
        return dict(zip(cpus, split(each * len(cpus), [median(speeds[cpu]) for cpu in cpus]), strict=True))

    def note(self, case: Case, trips: Mapping[int, int], seconds: Sequence[float]) -> None:
        """Take note of the trips that each CPU made, and of the seconds that it took in the order of the team."""
        if not self.uneven(case):
            return
        for cpu, taken in zip(case.team.cpus, seconds, strict=True):
            if taken >= LONG_ENOUGH:
                speeds = self._speeds.setdefault(case, {}).setdefault(cpu, deque(maxlen=SPEEDS))
                speeds.append(trips[cpu] / taken)


def split(total: int, speeds: Sequence[float]) -> list[int]:
    """Split `total` into whole parts as nearly in proportion to `speeds` as can be, each at least 1.

    Parameters
    ----------
    total : int
        At least as many as there are speeds.
    speeds : sequence of float
        Above 0, in any unit.

    Returns
    -------
    list of int
        Their sum is `total`.

    Raises
    ------
    ValueError
        If there are more parts than can be given 1 each, or a speed is not above 0.

    Notes
    -----
    Each part is rounded down and what is left goes to the largest remainders (Hamilton's method).
    """
    if total < len(speeds) or not speeds:
        raise ValueError(f"{total} cannot be split among {len(speeds)} that get at least 1 each")
    if not all(math.isfinite(speed) and speed > 0 for speed in speeds):
        raise ValueError(f"speeds must be above 0: {list(speeds)}")
    spare = total - len(speeds)
    whole = math.fsum(speeds)
    exact = [max(0.0, total * speed / whole - 1) for speed in speeds]
    # Who is to get less than 1 gets it at the cost of the others.
    scale = spare / math.fsum(exact) if spare else 0.0
    parts = [math.floor(part * scale) for part in exact]
    for index in sorted(range(len(parts)), key=lambda i: parts[i] - exact[i] * scale)[: max(0, spare - sum(parts))]:
        parts[index] += 1
    parts[0] += spare - sum(parts)
    return [1 + part for part in parts]
