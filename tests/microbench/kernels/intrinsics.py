"""What the intrinsics of kernels do, on counting numbers: substitutes for `counted`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microbench.kernels.elementary import LOG2_E
from tests.microbench.kernels.workbench import Number, Watched


def exponential(precision: str) -> Mapping[str, Any]:
    """Substitutes for `microbench.kernels.elementary.exp_makers`."""
    high, low = LOG2_E[precision]
    return {
        "nearest": lambda value: Number(np.rint(value.value), value.counter),
        "scaled": lambda value, power: Number(np.ldexp(value.value, int(power.value)), value.counter),
        "remainder": lambda value, whole: value * low + (value * high - whole),
    }


def tile(rows: int, width: int) -> Any:
    """Substitute for the intrinsic of a tile that is not packed, of `microbench.kernels.tile`."""

    def multiply(
        a: Watched, at: int, a_pitch: int, b: Watched, bt: int, b_pitch: int, c: Watched, ct: int, pitch: int,
        steps: int, add: bool,
    ) -> None:  # fmt: skip
        left, right, result = (Watched(array.array.reshape(-1), array.counter) for array in (a, b, c))
        places = [[ct + r * pitch + j for j in range(width)] for r in range(rows)]
        sums = [[result[place] if add else 0.0 for place in row] for row in places]
        for k in range(steps):
            factors = [right[bt + k * b_pitch + j] for j in range(width)]
            for r in range(rows):
                factor = left[at + r * a_pitch + k]
                sums[r] = [total + factor * other for total, other in zip(sums[r], factors, strict=True)]
        for row, totals in zip(places, sums, strict=True):
            for place, total in zip(row, totals, strict=True):
                result[place] = total

    return multiply


ROW_HINTS: Mapping[str, Any] = {"larger": lambda a, b: a if a > b else b, "settled": lambda a: a}
"""Substitutes for the intrinsics of `microbench.kernels.hints`."""


def root(value: Number) -> Number:
    """Substitute for a square root, which counts with the divisions."""
    value.counter.divisions += 1
    return Number(np.sqrt(value.value), value.counter)
