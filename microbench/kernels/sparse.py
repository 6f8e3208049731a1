"""Sparse matrix times vector: CSR (ours and SciPy's), ELL and SELL-C-sigma, on many matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.kernels.formula import Formula
from microbench.kernels.kernel import (
    Array,
    Arrays,
    Integer,
    Library,
    Part,
    Problem,
    Program,
    Request,
    Spec,
    Task,
    pattern,
    sampled,
)
from microbench.kernels.matrices import (
    FAMILIES,
    Integers,
    entries_of,
    is_scattered,
    matrix_of,
    nonzeros_of,
    rows_of,
)
from microbench.kernels.sellpack import (
    AHEAD,
    SIGMA,
    Layout,
    ell_layout,
    ell_totals,
    ell_width,
    pack,
    padded_rows,
    rows_of_part,
    sell_layout,
    sell_places,
    sell_totals,
)

MATRIX = "laplacian_2d"
"""The matrix of an ordinary sweep."""

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


# -------------------------------------------------------------------------------------------------- problems


def _named(problem: Problem) -> tuple[str, int]:
    return str(problem.sizes["matrix"]), problem.size("n")


def _lanes(problem: Problem) -> int:
    return problem.vector_bits // (8 * problem.element_bytes)


def _fit(request: Request, matrix: str = MATRIX) -> dict[str, int | str]:
    family = FAMILIES[matrix]
    return {"matrix": matrix, "n": family.rows(max(1, request.bytes // family.bytes_a_row))}


def _series(request: Request) -> tuple[dict[str, int | str], ...]:
    return tuple(_fit(request, matrix) for matrix in FAMILIES if matrix != MATRIX)


def _csr_numbers(problem: Problem) -> dict[str, int]:
    name, n = _named(problem)
    nonzeros = nonzeros_of(name, n)
    return {"rows": rows_of(name, n), "nnz": nonzeros, "early": nonzeros * is_scattered(name)}


def _vector_numbers(problem: Problem, totals: Callable[[str, int, int, int], tuple[int, int]]) -> dict[str, int]:
    name, n = _named(problem)
    vectors, stored = totals(name, n, _lanes(problem), problem.threads)
    return {
        "rows": rows_of(name, n),
        "nnz": nonzeros_of(name, n),
        "vectors": vectors,
        "slots": vectors * _lanes(problem),
        "stored": stored,
        "early": stored * is_scattered(name),
    }


def _sell_numbers(problem: Problem) -> dict[str, int]:
    return _vector_numbers(problem, sell_totals)


def _ell_numbers(problem: Problem) -> dict[str, int]:
    return _vector_numbers(problem, ell_totals)


# -------------------------------------------------------------------------------------------------- oracle


def _wrong(problem: Problem, rows: Integers, found: np.ndarray[Any, Any]) -> str:
    """Compare results of some rows with sums in fp64; one sentence if one is off by more than rounding explains.

    The bound is that of a sum of as many products in any order (Higham, Accuracy and Stability of Numerical Algorithms,
    2nd edition, section 3.1), and one rounding more for the values.
    """
    matrix = matrix_of(*_named(problem))
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


def _csr_task(problem: Problem) -> Program:
    name, n = _named(problem)
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
        return _named(self.problem)[0]

    @property
    def n(self) -> int:
        return _named(self.problem)[1]

    @property
    def lanes(self) -> int:
        return _lanes(self.problem)

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


def _sell_task(problem: Problem) -> Program:
    packed = _Packed(problem, sell_layout, sell_places)

    def fill_starts(part: Part, array: np.ndarray[Any, Any]) -> None:
        array[:] = packed.layout(part).starts

    starts = Array("starts", INDEX, lambda part: (len(packed.layout(part).starts),), fill_starts)
    vectors = Integer("vectors", lambda part: len(packed.layout(part).starts) - 1)
    arguments = (starts, *packed.arrays(), vectors, *packed.last_integers())
    return Program(sell, arguments, packed.check, makers=_rows_makers(packed.lanes))


def _ell_task(problem: Problem) -> Program:
    packed = _Packed(problem, ell_layout, lambda name, n, parts: None)
    ell_width(packed.name, packed.n)
    rows = Integer("rows", packed.slots)
    stored = Integer("stored", lambda part: packed.layout(part).stored)
    arguments = (*packed.arrays(), rows, stored, *packed.last_integers())
    return Program(ell, arguments, packed.check, makers=_rows_makers(packed.lanes))


def _scipy_task(problem: Problem) -> Library:
    name, n = _named(problem)

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


# ----------------------------------------------------------------------------------------------------- specs

_COMMON = (
    "Traffic: the matrix once, x once as if no element came back to a cache that had dropped it, y once and the lines "
    "of y before they are written. The matrix has the most rows not above n that its grid allows. "
)
_EARLY = (
    f"Where neighbouring rows touch columns far apart, the columns of entries {AHEAD} further on are read once more, "
    "to fetch their elements of x early. "
)
_SOURCE = "Counted from the loop: a multiplication and an addition for each nonzero"


def _spec(
    name: str,
    title: str,
    implementation: str,
    notes: str,
    task: Callable[[Problem], Task],
    quantities: Callable[[Problem], dict[str, int]],
    read: str,
    traffic: str,
    working_set: str,
    written: str,
    compulsory: str,
    representative: tuple[str, ...] = (),
    allocate: str = "s*rows",
    most_threads: int = 1 << 30,
) -> Spec:
    return Spec(
        name=name,
        family="sparse",
        title=title,
        implementation=implementation,
        source=_SOURCE,
        flop=Formula("2*nnz"),
        read=Formula(read),
        written=Formula(written),
        allocate=Formula(allocate),
        compulsory=Formula(compulsory),
        working_set=Formula(working_set),
        traffic=Formula(traffic),
        sizes=("n", "matrix"),
        fit=_fit,
        series=_series,
        quantities=quantities,
        task=task,
        instructions="fma",
        mix="load",
        limit="gather",
        notes=notes.strip(),
        representative=representative,
        most_threads=most_threads,
    )


KERNELS = (
    _spec(
        "spmv_csr_scipy",
        "SpMV, CSR of SciPy",
        "library",
        _COMMON + "SciPy makes a new y for each product, clears it, and adds to it. One thread.",
        _scipy_task,
        _csr_numbers,
        read="(2*s+4)*nnz + 4*(rows+1) + s*rows",
        traffic="(s+4)*nnz + 4*(rows+1) + 5*s*rows",
        working_set="(s+4)*nnz + 4*(rows+1) + 2*s*rows",
        written="2*s*rows",
        compulsory="(s+4)*nnz + 4*(rows+1) + 2*s*rows",
        representative=("fp64",),
        most_threads=1,
    ),
    _spec(
        "spmv_csr",
        "SpMV, CSR",
        "compiled loops",
        _COMMON + _EARLY,
        _csr_task,
        _csr_numbers,
        read="(2*s+4)*nnz + 4*early + 4*(rows+t)",
        traffic="(s+4)*nnz + 4*(rows+t) + 3*s*rows",
        working_set=f"(s+4)*nnz + 4*(rows+t) + 2*s*rows + {4 * AHEAD}*t",
        written="s*rows",
        compulsory="(s+4)*nnz + 4*(rows+t) + 2*s*rows",
        representative=("fp64", "fp32"),
    ),
    _spec(
        "spmv_ell",
        "SpMV, ELL",
        "explicit vectors",
        _COMMON + _EARLY + "Padding to the longest row counts as bytes and not as FLOP.",
        _ell_task,
        _ell_numbers,
        read="(2*s+4)*stored + 4*early",
        traffic="(s+4)*stored + s*rows + 2*s*slots",
        working_set=f"(s+4)*stored + s*rows + s*slots + {4 * AHEAD}*t",
        written="s*slots",
        allocate="s*slots",
        compulsory="(s+4)*nnz + 2*s*rows",
    ),
    _spec(
        "spmv_sell",
        "SpMV, SELL-C-sigma",
        "explicit vectors",
        _COMMON
        + _EARLY
        + f"C is the lanes of a vector, sigma {SIGMA} rows; rows and columns are renumbered alike, so that x and y stand in "
        "the same order. Padding to the longest row of a vector counts as bytes and not as FLOP.",
        _sell_task,
        _sell_numbers,
        read="(2*s+4)*stored + 4*early + 4*(vectors+t)",
        traffic="(s+4)*stored + 4*(vectors+t) + s*rows + 2*s*slots",
        working_set=f"(s+4)*stored + 4*(vectors+t) + s*rows + s*slots + {4 * AHEAD}*t",
        written="s*slots",
        allocate="s*slots",
        compulsory="(s+4)*nnz + 4*(vectors+t) + 2*s*rows",
        representative=("fp64",),
    ),
)
