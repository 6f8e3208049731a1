"""What runs a sparse matrix times a vector: bodies, arrays and oracle of CSR, ELL, SELL-C-sigma and SciPy's CSR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.kernels.gallery import Integers, entries_of
from microbench.kernels.kernel import Array, Arrays, Integer, Library, Part, Problem, Program, pattern, sampled
from microbench.kernels.matrices import is_scattered, matrix_of, rows_of
from microbench.kernels.sellpack import (
    AHEAD,
    Layout,
    ell_layout,
    ell_width,
    pack,
    padded_rows,
    rows_of_part,
    sell_layout,
    sell_places,
)

INDEX = np.dtype(np.uint32)
"""Of column numbers and starts. Without a sign no code is made for indices from the end."""

X = 7
"""Salt of the pattern that x holds."""

row_sum: Any = None
row_sum_ahead: Any = None
rows_sums: Any = None
rows_sums_ahead: Any = None
"""In bodies of programs: the intrinsics of :mod:`microbench.kernels.products`; those named `ahead` fetch x early."""


# --------------------------------------------------------------------------------------------------- bodies


def csr(starts: Any, columns: Any, values: Any, x: Any, y: Any, rows: Any, scattered: Any) -> None:
    """Multiply row by row."""
    begin = starts[0]
    for row in range(rows):
        end = starts[row + 1]
        if scattered:
            y[row] = row_sum_ahead(values, columns, x, begin, end)
        else:
            y[row] = row_sum(values, columns, x, begin, end)
        begin = end


def sell(starts: Any, columns: Any, values: Any, x: Any, y: Any, vectors: Any, lanes: Any, scattered: Any) -> None:
    """Multiply by vectors of rows, each as wide as its longest row."""
    begin = starts[0]
    for vector in range(vectors):
        end = starts[vector + 1]
        if scattered:
            rows_sums_ahead(values, columns, x, y, begin, end, lanes, vector * lanes)
        else:
            rows_sums(values, columns, x, y, begin, end, lanes, vector * lanes)
        begin = end


def ell(columns: Any, values: Any, x: Any, y: Any, rows: Any, stored: Any, lanes: Any, scattered: Any) -> None:
    """Multiply by vectors of rows, all as wide as the longest row."""
    for row in range(0, rows, lanes):
        if scattered:
            rows_sums_ahead(values, columns, x, y, row, row + stored, rows, row)
        else:
            rows_sums(values, columns, x, y, row, row + stored, rows, row)


def _row_makers() -> dict[str, Callable[[], Any]]:
    def make(ahead: bool) -> Any:
        from microbench.kernels import products

        return products.row_sum(ahead)

    return {"row_sum": lambda: make(False), "row_sum_ahead": lambda: make(True)}


def _rows_makers(lanes: int) -> dict[str, Callable[[], Any]]:
    def make(ahead: bool) -> Any:
        from microbench.kernels import products

        return products.rows_sums(lanes, ahead)

    return {"rows_sums": lambda: make(False), "rows_sums_ahead": lambda: make(True)}


def name_of(problem: Problem) -> tuple[str, int]:
    """Return the name of a problem's matrix and its size n."""
    return str(problem.sizes["matrix"]), problem.size("n")


def lanes_of(problem: Problem) -> int:
    """Return the rows that a vector holds."""
    return problem.vector_bits // (8 * problem.element_bytes)


# -------------------------------------------------------------------------------------------------- oracle


def _wrong(problem: Problem, rows: Integers, found: np.ndarray[Any, Any]) -> str:
    """Compare results of some rows with sums in fp64; one sentence if one is off by more than rounding explains.

    The bound is that of a sum of as many products in any order (Higham, Accuracy and Stability of Numerical Algorithms,
    2nd edition, section 3.1), and one rounding more for the values.
    """
    matrix = matrix_of(*name_of(problem))
    positions, lengths = entries_of(matrix, rows)
    terms = matrix.values[positions] * pattern(matrix.columns[positions], np.float64, X)
    owner = np.repeat(np.arange(len(rows)), lengths)
    expected = np.bincount(owner, terms, len(rows))
    allowed = np.bincount(owner, np.abs(terms), len(rows)) * (lengths + 2) * float(np.finfo(problem.dtype).eps)
    # Written so that a NaN counts as wrong.
    wrong = ~(np.abs(found.astype(np.float64) - expected) <= allowed)
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    return f"row {rows[first]} is {found[first]!r} instead of {expected[first]!r}"


# ----------------------------------------------------------------------------------------------------- tasks


def _clear(part: Part, array: np.ndarray[Any, Any]) -> None:
    array[:] = np.nan


def csr_task(problem: Problem) -> Program:
    """Return the task of our CSR."""
    name, n = name_of(problem)
    rows = rows_of(name, n)

    def count(part: Part) -> int:
        begin, end = rows_of_part(name, n, part)
        return end - begin

    def entries(part: Part) -> tuple[int, int]:
        starts, (begin, end) = matrix_of(name, n).starts, rows_of_part(name, n, part)
        return int(starts[begin]), int(starts[end])

    def stored(part: Part) -> int:
        first, last = entries(part)
        return last - first

    def fill_starts(part: Part, array: np.ndarray[Any, Any]) -> None:
        begin, end = rows_of_part(name, n, part)
        starts = matrix_of(name, n).starts[begin : end + 1]
        array[:] = starts - starts[0]

    def fill_columns(part: Part, array: np.ndarray[Any, Any]) -> None:
        first, last = entries(part)
        array[: last - first] = matrix_of(name, n).columns[first:last]
        array[last - first :] = 0

    def fill_values(part: Part, array: np.ndarray[Any, Any]) -> None:
        first, last = entries(part)
        array[:] = matrix_of(name, n).values[first:last]

    def fill_x(part: Part, array: np.ndarray[Any, Any]) -> None:
        begin, end = rows_of_part(name, n, part)
        array[begin:end] = pattern(np.arange(begin, end), array.dtype, X)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        begin, _ = rows_of_part(name, n, part)
        chosen = sampled(count(part))
        return _wrong(problem, begin + chosen, arrays["y"][chosen])

    return Program(
        csr,
        (
            Array("starts", INDEX, lambda part: (count(part) + 1,), fill_starts),
            Array("columns", INDEX, lambda part: (stored(part) + AHEAD,), fill_columns),
            Array("values", problem.dtype, lambda part: (stored(part),), fill_values),
            Array("x", problem.dtype, lambda part: (rows,), fill_x, shared=True),
            Array("y", problem.dtype, lambda part: (count(part),), _clear),
            Integer("rows", count),
            Integer("scattered", lambda part: int(is_scattered(name))),
        ),
        check,
        makers=_row_makers(),
    )


@dataclass(frozen=True, slots=True)
class _Packed:
    """The arrays of a matrix packed for vectors of rows."""

    problem: Problem
    layout_of: Callable[[str, int, int, Part], Layout]
    places: Callable[[str, int, int], Integers | None]
    """(matrix, n, parts) -> the new number of each column; None where they stay."""

    @property
    def name(self) -> str:
        return name_of(self.problem)[0]

    @property
    def n(self) -> int:
        return name_of(self.problem)[1]

    @property
    def lanes(self) -> int:
        return lanes_of(self.problem)

    def layout(self, part: Part) -> Layout:
        return self.layout_of(self.name, self.n, self.lanes, part)

    def slots(self, part: Part) -> int:
        return padded_rows(*rows_of_part(self.name, self.n, part), self.lanes)

    def fill_columns(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        layout, columns = self.layout(part), matrix_of(self.name, self.n).columns
        pack(self.name, self.n, layout, columns, array, self.places(self.name, self.n, part.count))

    def fill_values(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        pack(self.name, self.n, self.layout(part), matrix_of(self.name, self.n).values, array)

    def fill_x(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        begin, end = rows_of_part(self.name, self.n, part)
        array[begin:end] = pattern(self.layout(part).order, array.dtype, X)

    def check(self, part: Part, arrays: Arrays, passes: int) -> str:
        order = self.layout(part).order
        chosen = sampled(len(order))
        return _wrong(self.problem, order[chosen], arrays["y"][chosen])

    def arrays(self) -> tuple[Array, ...]:
        dtype, rows = self.problem.dtype, rows_of(self.name, self.n)
        return (
            Array("columns", INDEX, lambda part: (self.layout(part).stored + AHEAD,), self.fill_columns),
            Array("values", dtype, lambda part: (self.layout(part).stored,), self.fill_values),
            Array("x", dtype, lambda part: (rows,), self.fill_x, shared=True),
            Array("y", dtype, lambda part: (self.slots(part),), _clear),
        )

    def last_integers(self) -> tuple[Integer, ...]:
        return (
            Integer("lanes", lambda part: self.lanes),
            Integer("scattered", lambda part: int(is_scattered(self.name))),
        )


def sell_task(problem: Problem) -> Program:
    """Return the task of SELL-C-sigma."""
    packed = _Packed(problem, sell_layout, sell_places)

    def fill_starts(part: Part, array: np.ndarray[Any, Any]) -> None:
        array[:] = packed.layout(part).starts

    starts = Array("starts", INDEX, lambda part: (len(packed.layout(part).starts),), fill_starts)
    vectors = Integer("vectors", lambda part: len(packed.layout(part).starts) - 1)
    arguments: tuple[Array | Integer, ...] = (starts, *packed.arrays(), vectors, *packed.last_integers())
    return Program(sell, arguments, packed.check, makers=_rows_makers(packed.lanes))


def ell_task(problem: Problem) -> Program:
    """Return the task of ELL; Unsuitable where it would be mostly padding."""
    packed = _Packed(problem, ell_layout, lambda name, n, parts: None)
    ell_width(packed.name, packed.n)
    rows = Integer("rows", packed.slots)
    stored = Integer("stored", lambda part: packed.layout(part).stored)
    arguments: tuple[Array | Integer, ...] = (*packed.arrays(), rows, stored, *packed.last_integers())
    return Program(ell, arguments, packed.check, makers=_rows_makers(packed.lanes))


def scipy_task(problem: Problem) -> Library:
    """Return the task that calls SciPy."""
    name, n = name_of(problem)

    def prepare() -> dict[str, Any]:
        from scipy.sparse import csr_array

        matrix = matrix_of(name, n)
        parts = (matrix.values.astype(problem.dtype), matrix.columns, matrix.starts.astype(np.int32))
        x = pattern(np.arange(matrix.rows), problem.dtype, X)
        return {"a": csr_array(parts, shape=(matrix.rows, matrix.rows)), "x": x, "y": np.zeros(0, problem.dtype)}

    def call(data: dict[str, Any]) -> None:
        data["y"] = data["a"] @ data["x"]

    def check(data: dict[str, Any]) -> str:
        chosen = sampled(data["a"].shape[0])
        return _wrong(problem, chosen, data["y"][chosen])

    def describe() -> str:
        import scipy

        return f"SciPy {scipy.__version__}, csr_array @ x, one thread"

    return Library(prepare, call, check, describe)
