"""Little things that the programs of several families are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microbench.kernels.kernel import Integer, Part


def clear(part: Part, array: np.ndarray[Any, Any]) -> None:
    """Fill an array with zeros: a result that no pass leaves."""
    array[:] = 0


def constant(name: str, value: int) -> Integer:
    """Return a whole number that is the same for every part."""
    return Integer(name, lambda part: value)


def extent_of(total: int) -> Callable[[Part], int]:
    """Return how many of `total` things a part has."""

    def extent(part: Part) -> int:
        begin, end = part.share(total)
        return end - begin

    return extent
