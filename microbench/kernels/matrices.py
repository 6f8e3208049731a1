"""Sparse matrices by name, made or read from a file: their entries, their counts, and the rows of each part."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from microbench.kernels.gallery import FAMILIES, Integers, Matrix
from microbench.kernels.kernel import Unsuitable

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
    """Return the lines of x (8-byte elements) that sampled blocks of neighbouring rows bring, per nonzero."""
    lines = nonzeros = 0
    last = max(0, matrix.rows - NEAR_ROWS)
    for begin in np.unique(np.linspace(0, last, NEAR_BLOCKS).astype(np.int64)):
        end = min(int(begin) + NEAR_ROWS, matrix.rows)
        touched = matrix.columns[matrix.starts[begin] : matrix.starts[end]]
        lines += len(np.unique(touched // (LINE_BYTES // 8)))
        nonzeros += len(touched)
    return lines / max(nonzeros, 1)
