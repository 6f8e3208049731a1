"""Matrices for products: what they are filled with, and what a product of them must be.

Elements are eighths from 0.5 to 1.375, so that products are whole 64ths below 2 and sums of 100 000 of them are exact
in every precision, in whatever order they are added. Row i of a matrix is a window of one table of random elements, so
that a matrix is laid as fast as memory is written and any part of it can be stated without the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from microbench import catalog
from microbench.kernels.kernel import Part, Problem, differs, sampled

SHIFT, SHIFTS = 37, 1021
"""Window of row i begins at element 37 i mod 1021: as both are prime, 1021 rows in a row are all different."""

CHECKED_ROWS, CHECKED_COLUMNS = 32, 32
"""Rows and columns of a large product at whose crossings its oracle looks: 1024 elements take 0.01 s at n = 2048."""

Matrix = np.ndarray[Any, Any]


@lru_cache(maxsize=4)
def _table(length: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return 0.5 + np.random.default_rng(seed).integers(0, 8, length) / 8.0


class Operand:
    """A matrix of one problem.

    Parameters
    ----------
    problem : Problem
        Gives seed and precision.
    columns : int
        Of the matrix.
    salt : int
        Another one for each matrix of a problem.
    """

    def __init__(self, problem: Problem, columns: int, salt: int) -> None:
        self.columns = columns
        self._table = _table(columns + SHIFTS, problem.seed * 16 + salt)
        self._values = self._table.astype(problem.dtype)

    def rows(self, rows: Any) -> Matrix:
        """Return whole rows in fp64, shape (rows, columns)."""
        return self.at(np.asarray(rows)[:, None], np.arange(self.columns)[None, :])

    def at(self, rows: Any, columns: Any) -> Matrix:
        """Return the elements at these rows and columns, broadcast against each other, in fp64."""
        found: Matrix = self._table[SHIFT * rows % SHIFTS + columns]
        return found

    def row(self, row: int) -> Matrix:
        """Return one row in the problem's precision."""
        start = SHIFT * row % SHIFTS
        return self._values[start : start + self.columns]

    def fill(self, array: Matrix, begin: int, end: int, first: int = 0) -> None:
        """Fill the rows from `begin` to `end` of an array; its row 0 is the row `first` of the matrix."""
        for row in range(begin, end):
            array[row, : self.columns] = self.row(first + row)
        array[begin:end, self.columns :] = 0

    def filler(self, total: int) -> Callable[[Part, Matrix], None]:
        """Return what fills a part's share of the `total` rows of a shared array, which may be flat."""
        return lambda part, array: self.fill(array.reshape(total, -1), *part.share(total))


def clear(part: Part, array: Matrix) -> None:
    """Fill an array with zeros."""
    array[:] = 0


def row_pitch(columns: int, width: int, element_bytes: int) -> int:
    """Return the elements from one row to the next: whole tiles, and no whole pages, whose rows would alias."""
    pitch = -(-columns // width) * width
    return pitch + width if pitch * element_bytes % catalog.PAGE_BYTES == 0 else pitch


def wrong_product(
    found: Callable[[Any, Any], Matrix], left: Operand, right: Operand, rows: range, columns: range
) -> str:
    """Compare left x right with what was found, at crossings of rows and columns; one sentence if they differ.

    Parameters
    ----------
    found : callable
        (rows, columns), both arrays of indices -> the elements at their crossings.
    left, right : Operand
        The factors; `right` has as many rows as `left` columns.
    rows, columns : range
        Of the product, that are looked at.
    """
    if not rows or not columns:
        return ""
    i, j = (sampled(len(all_), most) + all_.start for all_, most in ((rows, CHECKED_ROWS), (columns, CHECKED_COLUMNS)))
    # Not by a BLAS, whose threads would wait actively beside what is timed next.
    inner = np.arange(left.columns)
    expected = np.einsum("ik,jk->ij", left.rows(i), right.at(inner[None, :], j[:, None]))
    return differs(found(i, j), expected, 0.0, "element of the product")
