"""What every probe is: a loop, how its memory is filled, and the oracle of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from microbench.loop import A_SLOT, FIRST_SLOT, X_SLOT, Loop
from microbench.team import Worker

DTYPES: dict[str, Any] = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16}

START_STEPS = 1000
"""Chains start at 1 + n/1024 with n from 1 to this: exact in every precision that has 11 bits of mantissa or more, and
never 1, which the steps would leave as it is."""

MULTIPLIER, ADDEND = -2.0, 2.0
"""y * -2 + y maps y to -y and back, exactly, and 2 - y maps 1 + d to 1 - d and back for every d with few bits: a chain
of any length never reaches infinity, NaN or a denormal, and its end tells whether an odd or an even number of steps was
done."""

SIGN = -1.0
"""The multiplier of chains that multiply without adding in the same instruction."""

CHECK_WHOLE_BYTES = 1 << 20
"""Arrays up to this size are checked whole, larger ones at `CHECK_BLOCKS` blocks."""

CHECK_BLOCKS = 64
_BLOCK = 4096


class Probe(Protocol):
    """A loop with its data. `length` is the bytes of each array."""

    @property
    def loop(self) -> Loop:
        """What runs."""

    @property
    def arrays(self) -> int:
        """Arrays that make up the working set; 0 for probes that use registers only."""

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill registers and memory and point the argument block to them; runs on the thread that owns them."""

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Return one sentence if the results after `trips` trips since :meth:`prepare` are wrong, else ``""``."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Start values of the accumulators, and what they must be after some number of steps.

    Attributes
    ----------
    precision : str
        Element.
    lanes : int
        Elements of a vector.
    steps : tuple of str
        What each chain does in a step, by the names of the catalogue.
    """

    precision: str
    lanes: int
    steps: tuple[str, ...] = ()

    def start(self, index: int) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the start of one accumulator: 1 + d with another d in every lane of every chain."""
        place = index * self.lanes + np.arange(self.lanes)
        return (1 + (1 + place % START_STEPS) / 1024).astype(DTYPES[self.precision])

    def prepare(self, worker: Worker) -> None:
        """Fill the register block: multiplier, addend, starts."""
        dtype = DTYPES[self.precision]
        worker.slot(X_SLOT, dtype)[:] = SIGN if {"mul", "mul_add_unfused"} & set(self.steps) else MULTIPLIER
        worker.slot(A_SLOT, dtype)[:] = ADDEND
        for index in range(len(self.steps)):
            worker.slot(FIRST_SLOT + index, dtype)[: self.lanes] = self.start(index)

    def check(self, worker: Worker, done: list[int]) -> str:
        """Compare each accumulator with what its start becomes by `done[index]` steps."""
        for index, name in enumerate(self.steps):
            found = worker.accumulator(index, DTYPES[self.precision])[: self.lanes]
            start = self.start(index)
            other = -start if name in ("fma", "mul") else DTYPES[self.precision](ADDEND) - start
            expected = start if done[index] % 2 == 0 else other
            if not np.array_equal(found, expected):
                return f"accumulator {index} holds {found[0]!r} instead of {expected[0]!r}"
        return ""


def fill_constant(worker: Worker, length: int, precision: str, value: float) -> None:
    """Fill the arena's first `length` bytes with one value, unless they hold it already."""
    match worker.content:
        case (str(have), float(number), int(size)) if (have, number) == (precision, value) and size >= length:
            return
    worker.arena.view(0, length, DTYPES[precision])[:] = value
    worker.content = (precision, value, length)


def ramp(array: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the 4 KiB of fp64 that array number `array` repeats: no two neighbours and no two arrays alike.

    No element is 1, which an update would leave as it is.
    """
    return 1 + array / 4 + (1 + np.arange(_BLOCK // 8)) / 4096


def fill_block(worker: Worker, offset: int, length: int, block: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Fill one array with a block again and again."""
    view = worker.arena.view(offset, length, block.dtype)
    whole = len(view) // len(block) * len(block)
    view[:whole].reshape(-1, len(block))[:] = block
    view[whole:] = block[: len(view) - whole]
    worker.content = None


def differs(worker: Worker, offset: int, length: int, expected: np.ndarray[Any, np.dtype[Any]]) -> str:
    """Compare an array with the repeated 4 KiB `expected`; one sentence if it differs, else ``""``."""
    assert expected.nbytes == _BLOCK
    blocks = -(-length // _BLOCK)
    if length <= CHECK_WHOLE_BYTES:
        chosen = list(range(blocks))
    else:
        chosen = sorted({round(index * (blocks - 1) / (CHECK_BLOCKS - 1)) for index in range(CHECK_BLOCKS)})
    for block in chosen:
        size = min(_BLOCK, length - block * _BLOCK)
        found = worker.arena.view(offset + block * _BLOCK, size, expected.dtype)
        if not np.array_equal(found, expected[: len(found)]):
            where = int(np.argmax(found != expected[: len(found)]))
            return f"element {block * len(expected) + where} holds {found[where]!r} instead of {expected[where]!r}"
    return ""
