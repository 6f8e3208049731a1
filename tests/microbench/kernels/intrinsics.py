"""What the intrinsics of kernels do, on counting numbers: substitutes for `counted`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from microbench.kernels.dots import ROWS
from microbench.kernels.elementary import LOG2_E
from microbench.kernels.tile import UNROLLED, Tile
from tests.microbench.kernels.workbench import Number, Watched


def exponential(precision: str) -> Mapping[str, Any]:
    """Substitutes for `microbench.kernels.elementary.exp_makers`."""
    high, low = LOG2_E[precision]
    return {
        "nearest": lambda value: Number(np.rint(value.value), value.counter),
        "scaled": lambda value, power: Number(np.ldexp(value.value, int(power.value)), value.counter),
        "remainder": lambda value, whole: value * low + (value * high - whole),
    }


def tile(shape: Tile) -> Any:
    """Substitute for the intrinsic of a tile in registers."""

    def packed(a: Any, at: int, b: Any, bt: int, c: Any, ct: int, pitch: int, steps: int, add: bool) -> None:
        pitched(a, at, 1, b, bt, shape.width, c, ct, pitch, steps, add, shape.rows)

    def pitched(
        a: Any, at: int, a_pitch: int, b: Any, bt: int, b_pitch: int, c: Any, ct: int, pitch: int, steps: int,
        add: bool, a_step: int = 1,
    ) -> None:  # fmt: skip
        places = [[ct + i * pitch + j for j in range(shape.width)] for i in range(shape.rows)]
        sums: list[list[Any]] = [[c[place] if add else 0.0 for place in row] for row in places]
        for k in range(steps):
            row = [b[bt + k * b_pitch + j] for j in range(shape.width)]
            for i in range(shape.rows):
                factor = a[at + i * a_pitch + k * a_step]
                sums[i] = [total + factor * value for total, value in zip(sums[i], row, strict=True)]
        for line, totals in zip(places, sums, strict=True):
            for place, total in zip(line, totals, strict=True):
                c[place] = total

    return packed if shape.packed else pitched


def turn(shape: Tile) -> Any:
    """Substitute for the intrinsic that lays some steps of a tile's rows of A."""

    def turned(a: Any, at: int, pitch: int, block: Any, place: int) -> None:
        for k in range(UNROLLED):
            for i in range(shape.rows):
                block[place + k * shape.rows + i] = a[at + i * pitch + k]

    return turned


def copy(shape: Tile) -> Any:
    """Substitute for the intrinsic that copies a row of a tile's width."""

    def copied(b: Any, bt: int, panel: Any, place: int) -> None:
        for j in range(shape.width):
            panel[place + j] = b[bt + j]

    return copied


def dots(a: Any, at: int, pitch: int, x: Any, xt: int, n: int, y: Any, yt: int) -> None:
    """Substitute for the intrinsic that multiplies several rows by a vector."""
    totals: list[Any] = [0.0] * ROWS
    for k in range(n):
        factor = x[xt + k]
        totals = [total + a[at + i * pitch + k] * factor for i, total in enumerate(totals)]
    for i, total in enumerate(totals):
        y[yt + i] = total


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """Return a substitute for an intrinsic that takes arrays of any dimensions as they lie in memory."""

    def call(*arguments: Any) -> None:
        function(
            *(
                Watched(argument.array.reshape(-1), argument.counter) if isinstance(argument, Watched) else argument
                for argument in arguments
            )
        )

    return call


ROW_HINTS: Mapping[str, Any] = {"larger": lambda a, b: a if a > b else b, "settled": lambda a: a}
"""Substitutes for the intrinsics of `microbench.kernels.hints`."""


def root(value: Number) -> Number:
    """Substitute for a square root, which counts with the divisions."""
    value.counter.divisions += 1
    return Number(np.sqrt(value.value), value.counter)
