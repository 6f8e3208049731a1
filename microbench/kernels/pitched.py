"""Register tiles that read both factors where they lie, and the part of a product that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from microbench.kernels import tile as tiles
from microbench.kernels.kernel import Problem

tile: Any = None
tile_of_one: Any = None
"""In helpers of programs the intrinsics that :func:`makers` names."""


def shape(problem: Problem, rows: int = 0) -> tiles.Tile:
    """Return the tile that the registers hold the sums of, or one of so many rows.

    24 sums of 32 registers, 12 of 16. Each row needs a pointer of its own: hence few rows and many columns.
    """
    most, vectors = (6, 4) if problem.registers >= 32 else (6, 2)
    return tiles.Tile(problem.precision, problem.vector_bits, rows or most, vectors, packed=False)


def multiply(
    a: Any, at: Any, a_pitch: Any, rows: Any, b: Any, bt: Any, b_pitch: Any, c: Any, ct: Any, pitch: Any, steps: Any,
    add: Any, height: Any,
) -> None:  # fmt: skip
    """Multiply `rows` rows of `a` with one stripe of columns of `b`, tile by tile: from and to these elements on."""
    whole = rows - rows % height
    for r in range(0, whole, height):
        tile(a, at + r * a_pitch, a_pitch, b, bt, b_pitch, c, ct + r * pitch, pitch, steps, add)
    for r in range(whole, rows):
        tile_of_one(a, at + r * a_pitch, a_pitch, b, bt, b_pitch, c, ct + r * pitch, pitch, steps, add)


def makers(problem: Problem) -> Mapping[str, Callable[[], Any]]:
    """Return what a program that calls :func:`multiply` names as its makers."""
    return {"tile": partial(tiles.make, shape(problem)), "tile_of_one": partial(tiles.make, shape(problem, 1))}
