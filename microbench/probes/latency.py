"""Latency and concurrency: pointer chases, one load a step, along one or several chains."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from microbench.assembly import Counts
from microbench.catalog import GENERAL_CHAINS, LINE_BYTES, PAGE_BYTES, PATTERNS
from microbench.loop import FIRST_SLOT, Loop
from microbench.team import Worker
from microbench.vector import Emitter

TRIP_LOADS = 64
"""Loads of a trip, along all chains together: the loop around them is then hidden."""

FEWEST_STEPS = 4
"""Steps of each chain in a trip at least."""

PAGE_ORDERS = 512
"""Different orders of the lines of a page, used in turn: no page is like its neighbours."""

Lines = np.ndarray[Any, np.dtype[np.uint32]]

_LOCK = threading.Lock()


@dataclass(slots=True)
class Chained:
    """What a chase leaves in its arena: which one, and where along the cycle the next may begin."""

    pattern: str
    length: int
    position: int = 0


@dataclass(frozen=True, slots=True)
class Chase:
    """Chains that follow one cycle through all lines of the working set, each from another place of it."""

    loop: Loop
    pattern: str
    chains: int
    steps: int
    arrays: int = 1

    def prepare(self, worker: Worker, length: int) -> None:
        """Lay the cycle, unless it lies there already, and place the chains on it, evenly spaced.

        The first begins where the last one of the case before ended, since what that visited is still in cache.
        """
        order, successor = cycle(self.pattern, length // LINE_BYTES)
        match worker.content:
            case Chained(pattern, have) if (pattern, have) == (self.pattern, length):
                pass
            case _:
                words = worker.arena.view(0, length, np.int64)
                np.multiply(successor, LINE_BYTES, out=words[:: LINE_BYTES // 8], dtype=np.int64)
                words[:: LINE_BYTES // 8] += worker.arena.address
                worker.content = Chained(self.pattern, length)
        worker.point((), 0)
        for chain, position in enumerate(self._starts(worker, len(order))):
            address = worker.arena.address + int(order[position]) * LINE_BYTES
            worker.slot(FIRST_SLOT + chain, np.int64)[0] = address

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check that every chain ended where the cycle says."""
        order, _ = cycle(self.pattern, length // LINE_BYTES)
        starts = self._starts(worker, len(order))
        content = worker.content
        assert isinstance(content, Chained)
        for chain, position in enumerate(starts):
            end = (position + trips * self.steps) % len(order)
            found = int(worker.accumulator(chain, np.int64)[0]) - worker.arena.address
            expected = int(order[end]) * LINE_BYTES
            if found != expected:
                return f"chain {chain} ended at byte {found} instead of {expected}"
        content.position = (content.position + trips * self.steps) % len(order)
        return ""

    def _starts(self, worker: Worker, lines: int) -> list[int]:
        content = worker.content
        first = content.position if isinstance(content, Chained) else 0
        return [(first + chain * lines // self.chains) % lines for chain in range(self.chains)]


def build(pattern: str, chains: int) -> Chase:
    """Return the probe of a chase (a name of :data:`microbench.catalog.PATTERNS`) along a number of chains."""
    if pattern not in PATTERNS:
        raise KeyError(f"unknown pattern {pattern!r}; known: {', '.join(PATTERNS)}")
    steps = max(FEWEST_STEPS, TRIP_LOADS // chains)
    loads = steps * chains
    general = chains <= GENERAL_CHAINS

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for _ in range(steps):
            values = [emitter.follow(value) for value in values]
        return values

    loop = Loop(
        name=f"chase {pattern}, {chains} chains",
        precision="int64" if general else "fp64",
        vector_bits=64,
        body=body,
        counts=Counts(other_loads=loads) if general else Counts(loads=loads, vector_bits=64),
        accumulators=chains,
        covers=loads * LINE_BYTES,
        read_bytes=8 * loads,
        line_bytes=LINE_BYTES * loads,
        events=loads,
    )
    return Chase(loop, pattern, chains, steps)


def cycle(pattern: str, lines: int) -> tuple[Lines, Lines]:
    """Return the order in which a cycle visits `lines` lines, and the line that follows each; the same every time.

    Parameters
    ----------
    pattern : {"random", "page"}
        A cycle through all lines with equal chances for each, or one that visits the lines of each page in a random
        order and the pages one after the other.
    lines : int
        At least 1.

    Returns
    -------
    order, successor : ndarray of uint32, shape (lines,)
        ``successor[order[k]] == order[k + 1]``.
    """
    with _LOCK:  # all threads of a team want the same one at the same time
        return _cycle(pattern, lines)


@cache
def _shuffled(power: int) -> Lines:
    """Return all numbers below 2**power in a random order; kept, since shuffling takes longer than laying the cycle."""
    order = np.arange(1 << power, dtype=np.uint32)
    np.random.default_rng(power).shuffle(order)
    return order


@lru_cache(maxsize=2)
def _cycle(pattern: str, lines: int) -> tuple[Lines, Lines]:
    if pattern == "random":
        order = _shuffled(max(0, (lines - 1).bit_length()))
        # What is left of a random order without the larger numbers is one of the others.
        order = order[order < lines]
    else:
        random = np.random.default_rng(lines)
        of_page = PAGE_BYTES // LINE_BYTES
        table = random.permuted(np.tile(np.arange(of_page, dtype=np.uint32), (PAGE_ORDERS, 1)), axis=1)
        pages = np.arange(-(-lines // of_page), dtype=np.uint32)
        order = (table[pages % PAGE_ORDERS] + of_page * pages[:, None]).ravel()
        order = order[order < lines] if lines % of_page else order
    successor = np.empty_like(order)
    successor[order] = np.roll(order, -1)
    order.flags.writeable = successor.flags.writeable = False
    return order, successor
