"""Sparse matrices that are made: Laplacians in their own, a random and a Cuthill-McKee order, and random ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[Any]]

SEED = 1
"""Of permutations and of random matrices."""

RANDOM_ROW = 16
"""Nonzeros in each row of the random matrix."""

POWER = 1.5
"""Exponent of the tail: the share of rows longer than L falls as L to the power of -1.5, about as in graphs of links
(Clauset, Shalizi, Newman, Power-law distributions in empirical data, SIAM Review 51, 2009: exponents of the density
between 2 and 3)."""

POWER_SCALE = 4
"""Scale of its rows: 28 % of them are empty, and the mean is about 7.5."""

LONG_ROW, CAPPED_ROW = 16, 64
"""The one very long row of the power-law matrix holds a 16th of the columns, all others a 64th of them at most."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A square matrix in CSR order: columns ascend inside each row.

    Attributes
    ----------
    starts : array of int64, shape (rows + 1,)
        Where each row begins.
    columns : array of int32, shape (nonzeros,)
    values : array of float64, shape (nonzeros,)
    """

    starts: Integers
    columns: Integers
    values: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def rows(self) -> int:
        """Its rows, and columns."""
        return len(self.starts) - 1

    @property
    def nonzeros(self) -> int:
        """Entries that it stores."""
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class Family:
    """How a kind of matrix is made.

    Attributes
    ----------
    bytes_a_row : int
        Of CSR with 8-byte values and both vectors, about.
    lengths : callable
        rows -> entries of each row.
    make : callable
        rows -> the matrix.
    dimensions : int
        Of the grid whose points its rows are; 1 for any number of rows.
    scattered : bool
        Whether neighbouring rows touch columns far apart.
    """

    bytes_a_row: int
    lengths: Callable[[int], Integers]
    make: Callable[[int], Matrix]
    dimensions: int = 1
    scattered: bool = False

    def rows(self, n: int) -> int:
        """Return the rows of the largest matrix with at most `n`."""
        edge = math.isqrt(n) if self.dimensions == 2 else round(n ** (1 / self.dimensions))
        while edge**self.dimensions > n:
            edge -= 1
        while (edge + 1) ** self.dimensions <= n:
            edge += 1
        return int(edge**self.dimensions)


# ------------------------------------------------------------------------------------------------- Laplacians


def _star(dimensions: int) -> list[tuple[int, ...]]:
    """Return the offsets of the 2-D 5-point or the 3-D 27-point stencil, in the order of their columns."""
    steps = np.indices((3,) * dimensions).reshape(dimensions, -1).T - 1
    chosen = [tuple(int(step) for step in offset) for offset in steps]
    return [offset for offset in chosen if dimensions == 3 or sum(map(abs, offset)) < 2]


def _inside(edge: int, dimensions: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return of each point and offset whether the neighbour lies on the grid; shape (points, offsets)."""
    offsets = _star(dimensions)
    keep = np.ones((edge,) * dimensions + (len(offsets),), np.bool_)
    for number, offset in enumerate(offsets):
        for axis, step in enumerate(offset):
            if step:
                border: list[slice | int] = [slice(None)] * dimensions
                border[axis] = 0 if step < 0 else edge - 1
                keep[(*border, number)] = False
    return keep.reshape(edge**dimensions, -1)


def _edge(rows: int, dimensions: int) -> int:
    edge: int = round(rows ** (1 / dimensions))
    return edge


def _laplacian_lengths(rows: int, dimensions: int) -> Integers:
    edge = _edge(rows, dimensions)
    axis = np.full(edge, 3, np.int64)
    axis[0] -= 1
    axis[-1] -= 1
    if dimensions == 2:
        return (axis[:, None] + axis[None, :] - 1).ravel()
    return (axis[:, None, None] * axis[None, :, None] * axis[None, None, :]).ravel()


def _laplacian(rows: int, dimensions: int) -> Matrix:
    edge, offsets = _edge(rows, dimensions), _star(dimensions)
    strides = [edge**power for power in reversed(range(dimensions))]
    steps = np.array([sum(map(int.__mul__, offset, strides)) for offset in offsets], np.int32)
    keep = _inside(edge, dimensions)
    points = np.arange(rows, dtype=np.int32)
    columns = (points[:, None] + steps)[keep]
    stencil = np.where(steps == 0, len(offsets) - 1.0, -1.0)
    values = np.broadcast_to(stencil, keep.shape)[keep]
    return Matrix(_starts(keep.sum(axis=1)), columns, values)


def _starts(lengths: Integers) -> Integers:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


# ------------------------------------------------------------------------------------------------ reordering


def _order(rows: int) -> Integers:
    return np.random.default_rng(SEED).permutation(rows)


def entries_of(matrix: Matrix, rows: Integers) -> tuple[Integers, Integers]:
    """Return the positions of all entries of these rows, row after row, and how many each row has."""
    lengths = np.diff(matrix.starts)[rows]
    first = np.zeros(len(rows), np.int64)
    np.cumsum(lengths[:-1], out=first[1:])
    return np.repeat(matrix.starts[rows] - first, lengths) + np.arange(int(lengths.sum())), lengths


def _reordered(matrix: Matrix, order: Integers) -> Matrix:
    """Return the matrix with rows and columns in another order: P A P^T."""
    from scipy.sparse import csr_array

    positions, lengths = entries_of(matrix, order)
    rank = np.empty(matrix.rows, np.int32)
    rank[order] = np.arange(matrix.rows, dtype=np.int32)
    starts = _starts(lengths)
    parts = (matrix.values[positions], rank[matrix.columns[positions]], starts.astype(np.int32))
    shuffled = csr_array(parts, shape=(matrix.rows, matrix.rows))
    shuffled.sort_indices()
    return Matrix(starts, shuffled.indices, shuffled.data)


def _permuted(rows: int, dimensions: int) -> Matrix:
    return _reordered(_laplacian(rows, dimensions), _order(rows))


@lru_cache(maxsize=4)
def _cuthill_mckee(rows: int, dimensions: int) -> Integers:
    """Return the reverse Cuthill-McKee order of the permuted Laplacian. It takes seconds for millions of rows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = _permuted(rows, dimensions)
    parts = (matrix.values, matrix.columns, matrix.starts.astype(np.int32))
    order = reverse_cuthill_mckee(csr_array(parts, shape=(rows, rows)), symmetric_mode=True)
    # In the numbering of the Laplacian itself, so that it is permuted once and not twice.
    return np.asarray(_order(rows)[order])


# ---------------------------------------------------------------------------------------------------- random


def _spread(lengths: Integers, salt: int) -> Matrix:
    """Return a matrix with rows of these lengths: each row's columns are drawn, one from each of as many equal strata.

    So they ascend, none stands twice, and no sorting is needed.
    """
    rows = len(lengths)
    starts = _starts(lengths)
    generator = np.random.default_rng((SEED, salt))
    number = np.arange(int(starts[-1])) - np.repeat(starts[:-1], lengths)
    width = np.repeat(rows // np.maximum(lengths, 1), lengths)
    drawn = (generator.random(len(number), np.float32) * width).astype(np.int64)
    columns = number * width + np.minimum(drawn, width - 1)
    return Matrix(starts, columns.astype(np.int32), generator.integers(128, 384, len(number)) / 256.0)


def _random_lengths(rows: int) -> Integers:
    return np.full(rows, min(RANDOM_ROW, rows), np.int64)


def _power_law_lengths(rows: int) -> Integers:
    drawn = np.random.default_rng((SEED, 2)).pareto(POWER, rows) * POWER_SCALE
    lengths = np.minimum(drawn, max(1, rows // CAPPED_ROW)).astype(np.int64)
    lengths[rows // 3] = max(1, rows // LONG_ROW)
    return lengths


# ------------------------------------------------------------------------------------------------- by name


def _grids(dimensions: int, bytes_a_row: int) -> dict[str, Family]:
    def natural(rows: int) -> Integers:
        return _laplacian_lengths(rows, dimensions)

    name = f"laplacian_{dimensions}d"
    return {
        name: Family(bytes_a_row, natural, lambda rows: _laplacian(rows, dimensions), dimensions),
        f"{name}_permuted": Family(
            bytes_a_row,
            lambda rows: natural(rows)[_order(rows)],
            lambda rows: _permuted(rows, dimensions),
            dimensions,
            scattered=True,
        ),
        f"{name}_rcm": Family(
            bytes_a_row,
            lambda rows: natural(rows)[_cuthill_mckee(rows, dimensions)],
            lambda rows: _reordered(_laplacian(rows, dimensions), _cuthill_mckee(rows, dimensions)),
            dimensions,
        ),
    }


FAMILIES: dict[str, Family] = {
    **_grids(2, 5 * 12 + 20),
    **_grids(3, 27 * 12 + 20),
    "random": Family(
        RANDOM_ROW * 12 + 20, _random_lengths, lambda rows: _spread(_random_lengths(rows), 1), scattered=True
    ),
    "power_law": Family(
        8 * 12 + 20, _power_law_lengths, lambda rows: _spread(_power_law_lengths(rows), 2), scattered=True
    ),
}
"""What can be made, by name."""
