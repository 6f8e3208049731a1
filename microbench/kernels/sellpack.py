"""Packs sparse matrices for vectors of rows: ELL, and SELL-C-sigma, part by part; and what their padding costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from microbench.kernels.gallery import Integers, entries_of
from microbench.kernels.kernel import Part, Unsuitable
from microbench.kernels.matrices import LARGEST_INDEX, cuts_of, lengths_of, matrix_of

AHEAD = 64
"""Entries ahead at which elements of a scattered x are fetched. Column numbers are followed by as many zeros."""

SIGMA = 16384
"""Rows of a window inside which SELL sorts by length. Rows of the power-law matrix then need little padding, and what
neighbouring rows share of x (at most 128 KiB of fp64) still lies in a near cache."""

MOST_PADDING = 4
"""Times the entries of a matrix that ELL may store; more is not what anybody would use it for."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the entries of a part's rows stand: row r (in its order) has number j at ``first[r] + j * stride``.

    Attributes
    ----------
    order : array of int64
        The matrix's row of each row of the part.
    first : array of int64
    stride : int
    stored : int
        Entries with padding.
    starts : array of int64
        Where each vector of rows begins, and the end; empty for ELL, where it follows from the row.
    """

    order: Integers
    first: Integers
    stride: int
    stored: int
    starts: Integers


def sell_order(name: str, n: int, begin: int, end: int) -> Integers:
    """Return the rows from `begin` to `end`, in windows of `SIGMA` sorted by length, the longest first."""
    lengths = lengths_of(name, n)[begin:end]
    window = np.arange(end - begin) // SIGMA
    return begin + np.lexsort((-lengths, window))


@lru_cache(maxsize=4)
def sell_layout(name: str, n: int, lanes: int, part: Part) -> Layout:
    """Return the layout of SELL-C-sigma: vectors of C = `lanes` rows, each as wide as its longest row.

    Kreutzer, Hager, Wellein, Fehske, Bishop, SIAM Journal on Scientific Computing 36, C401, 2014.
    """
    begin, end = rows_of_part(name, n, part)
    order = sell_order(name, n, begin, end)
    vectors = -(-len(order) // lanes)
    padded = np.zeros(vectors * lanes, np.int64)
    padded[: len(order)] = lengths_of(name, n)[order]
    starts = np.zeros(vectors + 1, np.int64)
    np.cumsum(padded.reshape(vectors, lanes).max(axis=1, initial=0) * lanes, out=starts[1:])
    row = np.arange(len(order))
    return Layout(order, starts[row // lanes] + row % lanes, lanes, int(starts[-1]), starts)


def ell_layout(name: str, n: int, lanes: int, part: Part) -> Layout:
    """Return the layout of ELL: all rows as wide as the longest of the matrix, entry after entry of all rows."""
    begin, end = rows_of_part(name, n, part)
    rows = padded_rows(begin, end, lanes)
    width = ell_width(name, n)
    return Layout(np.arange(begin, end), np.arange(end - begin), rows, rows * width, np.zeros(0, np.int64))


def rows_of_part(name: str, n: int, part: Part) -> tuple[int, int]:
    """Return the half-open range of a part's rows."""
    cuts = cuts_of(name, n, part.count)
    return cuts[part.index], cuts[part.index + 1]


def padded_rows(begin: int, end: int, lanes: int) -> int:
    """Return the rows of a part in whole vectors."""
    return -(-(end - begin) // lanes) * lanes


@lru_cache(maxsize=64)
def ell_width(name: str, n: int) -> int:
    """Return the entries of the longest row; Unsuitable if the padding would exceed `MOST_PADDING`."""
    lengths = lengths_of(name, n)
    width, whole = int(lengths.max()), int(lengths.sum())
    if width * len(lengths) > MOST_PADDING * whole:
        raise Unsuitable(
            f"in ELL every row is as long as the longest: {width} entries, where the mean of {name} is "
            f"{whole / len(lengths):.1f}; more than {MOST_PADDING} times its size is not tried"
        )
    return width


@lru_cache(maxsize=64)
def sell_totals(name: str, n: int, lanes: int, parts: int) -> tuple[int, int]:
    """Return the vectors of rows and the stored entries of SELL over all parts.

    Unsuitable if 32-bit indices cannot name the entries.
    """
    layouts = [sell_layout(name, n, lanes, Part(index, parts)) for index in range(parts)]
    most = max(layout.stored for layout in layouts)
    if most > LARGEST_INDEX:
        raise Unsuitable(f"SELL pads {name} to {most} entries of a thread, more than 32-bit indices can name")
    return sum(len(layout.starts) - 1 for layout in layouts), sum(layout.stored for layout in layouts)


@lru_cache(maxsize=64)
def ell_totals(name: str, n: int, lanes: int, parts: int) -> tuple[int, int]:
    """Return the vectors of rows and the stored entries of ELL over all parts."""
    cuts = cuts_of(name, n, parts)
    rows = sum(padded_rows(begin, end, lanes) for begin, end in pairwise(cuts))
    return rows // lanes, rows * ell_width(name, n)


@lru_cache(maxsize=2)
def sell_places(name: str, n: int, parts: int) -> Integers:
    """Return the place of each row in SELL's order of all rows, part after part.

    Columns are renumbered alike, so that x and y stand in the same order and a product can follow on a product.
    """
    order = np.concatenate([sell_order(name, n, *rows_of_part(name, n, Part(index, parts))) for index in range(parts)])
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def pack(
    name: str,
    n: int,
    layout: Layout,
    source: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    renumber: Integers | None = None,
) -> None:
    """Put each entry's datum from `source`, in the order of the CSR matrix, where the layout wants it; 0 elsewhere.

    Of data that are row numbers, `renumber` holds the new ones.
    """
    positions, lengths = entries_of(matrix_of(name, n), layout.order)
    before = np.cumsum(lengths) - lengths
    # Position in the row times stride, plus the place of the row's first entry.
    places = np.arange(len(positions)) * layout.stride + np.repeat(layout.first - before * layout.stride, lengths)
    data = source[positions]
    target[:] = 0
    target[places] = data if renumber is None else renumber[data]
