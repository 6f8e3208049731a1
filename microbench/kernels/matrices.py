"""Sparse matrices by name: made from a formula or a seed, or read from a file. Rows, counts, parts, and the entries."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from microbench.kernels.kernel import Unsuitable

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

LARGEST_INDEX = 2**31 - 1
"""Most rows and entries that 32-bit indices can name; SciPy's are signed."""

MEMORY_SHARE = 0.5
"""Share of the free memory that a matrix and what is needed to make it may take."""

BYTES_AN_ENTRY, BYTES_A_ROW = 64, 32
"""Memory that making a matrix takes at most: coordinates, values, masks and positions for the permutation."""

NEAR_ROWS, NEAR_BLOCKS = 1024, 32
"""Blocks of neighbouring rows whose columns are looked at to tell whether a matrix is scattered, and how many blocks.
What 1024 rows of a few entries touch fits an L1 or L2."""

SCATTERED = 0.25
"""Lines of x that such a block brings per nonzero above which a matrix counts as scattered. Laplacians in their natural
or a reordered order bring below 0.1, and randomly permuted ones close to 1."""

LINE_BYTES = 64


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
                border = [slice(None)] * dimensions
                border[axis] = slice(0, 1) if step < 0 else slice(edge - 1, edge)
                keep[(*border, number)] = False
    return keep.reshape(edge**dimensions, -1)


def _edge(rows: int, dimensions: int) -> int:
    return round(rows ** (1 / dimensions))


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


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    matrix: Matrix
    scattered: bool


_FILES: dict[str, _File] = {}
_MAKING = threading.Lock()


def use_file(path: Path) -> str:
    """Read a Matrix Market file and return the name by which its matrix can then be had: the file's own, no folder.

    Raises
    ------
    MatrixError
        If it cannot be used; one sentence says why. Also if another file of that name is in use.
    """
    from microbench.kernels.marketfile import MatrixError, read

    name = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in ".+-_") else "_" for letter in path.name
    )
    have = _FILES.get(name)
    if have is not None and have.path != path.resolve():
        raise MatrixError(f"{path}: another file called {name} is in use; rename one of the two")
    if have is None:
        matrix = read(path)
        _FILES[name] = _File(path.resolve(), matrix, lines_per_nonzero(matrix) > SCATTERED)
    return name


def rows_of_file(name: str) -> int:
    """Return the rows of the matrix that :func:`use_file` read under this name."""
    return _FILES[name].matrix.rows


def rows_of(name: str, n: int) -> int:
    """Return the rows of the matrix called `name` for a size of `n`, and refuse what cannot be.

    Raises
    ------
    Unsuitable
        If there is no such matrix, a file has another number of rows, or it needs more than 32-bit indices or memory.
    """
    if name in _FILES:
        rows = _FILES[name].matrix.rows
        if n != rows:
            raise Unsuitable(f"the matrix of {name} has {rows} rows, not {n}")
        return rows
    if name not in FAMILIES:
        raise Unsuitable(f"there is no matrix {name!r}; there are {', '.join([*FAMILIES, *_FILES])}")
    family = FAMILIES[name]
    entries = n * family.bytes_a_row // 12
    if entries > LARGEST_INDEX:
        raise Unsuitable(f"{name} of {n} rows has more entries than 32-bit indices can name")
    spare = free_memory() * MEMORY_SHARE
    if entries * BYTES_AN_ENTRY + n * BYTES_A_ROW > spare:
        raise Unsuitable(f"making {name} of {n} rows takes more than the {spare / 2**20:.0f} MiB that may be used")
    return family.rows(n)


def free_memory() -> int:
    """Return the bytes of memory that can be had without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


def is_scattered(name: str) -> bool:
    """Whether neighbouring rows of the matrix touch columns far apart, so that reads of x miss the near caches."""
    return _FILES[name].scattered if name in _FILES else FAMILIES[name].scattered


@lru_cache(maxsize=2)
def _made(name: str, rows: int) -> Matrix:
    return FAMILIES[name].make(rows)


def matrix_of(name: str, n: int) -> Matrix:
    """Return the matrix called `name` for a size of `n`, made once; the last two are kept. Threads may call it."""
    if name in _FILES:
        return _FILES[name].matrix
    with _MAKING:
        return _made(name, rows_of(name, n))


@lru_cache(maxsize=4)
def _lengths(name: str, rows: int) -> Integers:
    return FAMILIES[name].lengths(rows)


def lengths_of(name: str, n: int) -> Integers:
    """Return the entries of each row, without making the matrix where that can be avoided. Threads may call it."""
    rows = rows_of(name, n)
    if name in _FILES:
        return np.diff(_FILES[name].matrix.starts)
    with _MAKING:
        return _lengths(name, rows)


@lru_cache(maxsize=64)
def nonzeros_of(name: str, n: int) -> int:
    """Return the entries of the matrix; Unsuitable if 32-bit indices cannot name them."""
    found = int(lengths_of(name, n).sum())
    if found > LARGEST_INDEX:
        raise Unsuitable(f"{name} of {n} rows has more entries than 32-bit indices can name")
    return found


@lru_cache(maxsize=64)
def cuts_of(name: str, n: int, parts: int) -> tuple[int, ...]:
    """Return where the rows of each part begin, and the end: as near to equal shares of rows and entries as rows go.

    An entry and a row cost about the same: a multiply-add and its operands, a result and its loop.
    """
    lengths = lengths_of(name, n)
    cost = np.cumsum(lengths + 1)
    aims = np.arange(1, parts) * int(cost[-1]) // parts
    return (0, *(int(cut) for cut in np.searchsorted(cost, aims, side="left")), len(lengths))


def lines_per_nonzero(matrix: Matrix) -> float:
    """Return the lines of x (8-byte elements) that blocks of neighbouring rows bring, per nonzero, of sampled blocks."""
    lines = nonzeros = 0
    last = max(0, matrix.rows - NEAR_ROWS)
    for begin in np.unique(np.linspace(0, last, NEAR_BLOCKS).astype(np.int64)):
        end = min(int(begin) + NEAR_ROWS, matrix.rows)
        touched = matrix.columns[matrix.starts[begin] : matrix.starts[end]]
        lines += len(np.unique(touched // (LINE_BYTES // 8)))
        nonzeros += len(touched)
    return lines / max(nonzeros, 1)
