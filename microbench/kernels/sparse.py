"""Sparse matrix times vector: CSR (ours and SciPy's), ELL and SELL-C-sigma, on many matrices."""

from __future__ import annotations

from collections.abc import Callable

from microbench.kernels.formula import Formula
from microbench.kernels.gallery import FAMILIES
from microbench.kernels.kernel import Problem, Request, Spec, Task
from microbench.kernels.matrices import is_scattered, nonzeros_of, rows_of
from microbench.kernels.sellpack import AHEAD, SIGMA, ell_totals, sell_totals
from microbench.kernels.spmv import csr_task, ell_task, lanes_of, name_of, scipy_task, sell_task

MATRIX = "laplacian_2d"
"""The matrix of an ordinary sweep."""


def _fit(request: Request, matrix: str = MATRIX) -> dict[str, int | str]:
    family = FAMILIES[matrix]
    return {"matrix": matrix, "n": family.rows(max(1, request.bytes // family.bytes_a_row))}


def _series(request: Request) -> tuple[dict[str, int | str], ...]:
    return tuple(_fit(request, matrix) for matrix in FAMILIES if matrix != MATRIX)


def _csr_numbers(problem: Problem) -> dict[str, int]:
    name, n = name_of(problem)
    nonzeros = nonzeros_of(name, n)
    return {"rows": rows_of(name, n), "nnz": nonzeros, "early": nonzeros * is_scattered(name)}


def _vector_numbers(problem: Problem, totals: Callable[[str, int, int, int], tuple[int, int]]) -> dict[str, int]:
    name, n = name_of(problem)
    vectors, stored = totals(name, n, lanes_of(problem), problem.threads)
    return {
        "rows": rows_of(name, n),
        "nnz": nonzeros_of(name, n),
        "vectors": vectors,
        "slots": vectors * lanes_of(problem),
        "stored": stored,
        "early": stored * is_scattered(name),
    }


def _sell_numbers(problem: Problem) -> dict[str, int]:
    return _vector_numbers(problem, sell_totals)


def _ell_numbers(problem: Problem) -> dict[str, int]:
    return _vector_numbers(problem, ell_totals)


# ----------------------------------------------------------------------------------------------------- specs

_COMMON = (
    "Traffic: the matrix once, x once (optimistic: as if a cache held it meanwhile), y once and its lines before "
    "they are written. The matrix has the most rows not above n that its grid allows; rows and nnz are its own. "
)
_EARLY = (
    f"Where neighbouring rows touch columns far apart, the columns of entries {AHEAD} further on are read once more, "
    "to fetch their elements of x early: that many are early, elsewhere 0. "
)
_PADDED = (
    "Stored are the entries with padding, which counts as bytes and not as FLOP; slots are the rows in whole vectors. "
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
        gathered=Formula("nnz"),
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
        scipy_task,
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
        csr_task,
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
        _COMMON + _EARLY + _PADDED,
        ell_task,
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
        + _PADDED
        + f"C is the lanes of a vector, sigma {SIGMA} rows; rows and columns are renumbered alike, so that x and y "
        "stand in the same order.",
        sell_task,
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
