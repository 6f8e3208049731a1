"""Reads a square real matrix from a Matrix Market file, or says in a sentence why not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, Any

import numpy as np

from microbench.kernels.gallery import Matrix
from microbench.kernels.matrices import BYTES_A_ROW, BYTES_AN_ENTRY, LARGEST_INDEX, MEMORY_SHARE, free_memory


class MatrixError(ValueError):
    """A file that holds no matrix that can be used; the sentence names it and says why."""


FIELDS = ("real", "double", "integer", "pattern")
SYMMETRIES = {"general": 1, "symmetric": 2, "skew-symmetric": 2}
"""Kinds of symmetry, and how many entries of the whole matrix one of the file can stand for."""


def read(path: Path) -> Matrix:
    """Return the matrix of a Matrix Market file in coordinate format, plain or compressed by gzip.

    Only one half of a symmetric or skew-symmetric matrix stands in its file: the other is added. Of a matrix that
    is a pattern only, every value is 1. Entries that stand twice are added up, stored zeros stay.

    Format: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    MatrixError
        If there is no such file, it is malformed, complex, dense, not square, empty, holds a value that is not finite,
        or its matrix does not fit 32-bit indices or the memory. Sizes are checked before anything is read.
    """
    try:
        with _opened(path) as file:
            _check_header(path, file)
    except OSError as error:
        raise MatrixError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, UnicodeDecodeError):
        raise MatrixError(f"{path}: is no Matrix Market file: its beginning is not text") from None
    return _whole(path)


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _check_header(path: Path, file: IO[str]) -> None:
    words = file.readline(1024).lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise MatrixError(
            f"{path}: is no Matrix Market file: its first line is not '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'"
        )
    layout, field, symmetry = words[2:]
    if layout != "coordinate":
        raise MatrixError(f"{path}: its format is {layout!r}; only sparse ones, 'coordinate', can be used")
    if field not in FIELDS:
        raise MatrixError(f"{path}: its values are {field!r}; only {', '.join(FIELDS)} can be used")
    if symmetry not in SYMMETRIES:
        raise MatrixError(f"{path}: its symmetry is {symmetry!r}; only {', '.join(SYMMETRIES)} can be used")
    line = "%"
    while line.startswith("%") or (line and not line.strip()):
        line = file.readline()
    try:
        rows, columns, entries = (int(word) for word in line.split())
    except ValueError:
        raise MatrixError(
            f"{path}: expected a line with rows, columns and entries, found {line.strip()[:60]!r}"
        ) from None
    if min(rows, columns, entries) < 0:
        raise MatrixError(f"{path}: negative sizes: {rows} rows, {columns} columns, {entries} entries")
    if rows != columns:
        raise MatrixError(f"{path}: is not square: {rows} rows and {columns} columns")
    if not rows or not entries:
        raise MatrixError(f"{path}: is empty: {rows} rows and {entries} entries")
    most = entries * SYMMETRIES[symmetry]
    if max(rows, most) > LARGEST_INDEX:
        raise MatrixError(f"{path}: {rows} rows and {entries} entries are more than 32-bit indices can name")
    spare = free_memory() * MEMORY_SHARE
    needs = most * BYTES_AN_ENTRY + rows * BYTES_A_ROW
    if needs > spare:
        raise MatrixError(
            f"{path}: {rows} rows and {entries} entries need {needs / 2**20:.0f} MiB of memory, of which "
            f"{spare / 2**20:.0f} may be used"
        )


def _whole(path: Path) -> Matrix:
    from scipy.io import mmread

    try:
        found: Any = mmread(path)
    except (ValueError, OverflowError, EOFError, OSError) as error:
        raise MatrixError(f"{path}: is malformed: {error}") from None
    entries = found.tocsr().astype(np.float64)
    entries.sum_duplicates()
    if not np.isfinite(entries.data).all():
        raise MatrixError(f"{path}: holds a value that is not finite")
    return Matrix(entries.indptr.astype(np.int64), entries.indices.astype(np.int32), entries.data)
