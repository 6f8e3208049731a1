"""NumPy's BLAS: products by whatever library NumPy was built with, and which that is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microbench.kernels.kernel import Library, Part, Problem
from microbench.kernels.operands import Matrix, Operand, wrong_product


@dataclass(slots=True)
class _Product:
    a: Matrix
    b: Matrix
    c: Matrix


def task(problem: Problem) -> Library:
    """Return the call that multiplies two matrices of n x n."""
    n, whole = problem.size("n"), Part()
    left, right = Operand(problem, n, 0), Operand(problem, n, 1)

    def prepare() -> _Product:
        data = _Product(*(np.empty((n, n), problem.dtype) for _ in range(3)))
        left.filler(n)(whole, data.a)
        right.filler(n)(whole, data.b)
        data.c[:] = 0
        return data

    def call(data: _Product) -> None:
        np.matmul(data.a, data.b, out=data.c)

    def check(data: _Product) -> str:
        return wrong_product(lambda i, j: data.c[np.ix_(i, j)], left, right, range(n), range(n))

    return Library(prepare, call, check, describe)


def describe() -> str:
    """Return library, version, kernel and threads of NumPy's BLAS, as far as threadpoolctl knows it."""
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # Of several, NumPy's own lies beside it; SciPy brings another.
    pools.sort(key=lambda pool: not {"numpy", "numpy.libs"} & set(Path(str(pool.get("filepath", ""))).parts[-3:]))
    return named(pools[0]) if pools else "a BLAS that threadpoolctl does not know"


def named(pool: dict[str, Any]) -> str:
    """Return in words what threadpoolctl tells of one library."""
    words = [{"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS"}.get(pool["internal_api"], pool["internal_api"])]
    words += [str(pool["version"])] if pool.get("version") else []
    details = [f"{pool['architecture']} kernels"] if pool.get("architecture") else []
    details += [f"{pool['num_threads']} thread{'s' if pool['num_threads'] != 1 else ''}"]
    return f"{' '.join(words)}, {', '.join(details)}"
