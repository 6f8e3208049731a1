"""Stencils: Jacobi steps in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from microbench.kernels.formula import Formula
from microbench.kernels.kernel import (
    Array,
    Arrays,
    Integer,
    Part,
    Problem,
    Program,
    Real,
    Spec,
    as_many,
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)

TOLERANCE = {"fp64": 1e-14, "fp32": 1e-5}


def jacobi_1d(old: Any, new: Any, n: Any, weight: Any) -> None:
    """Set each inner point to the weighted sum of itself and its two neighbours."""
    for i in range(1, n + 1):
        new[i] = weight * (old[i - 1] + old[i] + old[i + 1])


def _jacobi_1d(problem: Problem) -> Program:
    n, dtype = problem.size("n"), problem.dtype
    weight = 1.0 / 3.0

    def extent(part: Part) -> int:
        begin, end = part.share(n)
        return end - begin

    def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
        begin, _ = part.share(n)
        fill_pattern(array, 0, len(array), first=begin)

    def clear(part: Part, array: np.ndarray[Any, Any]) -> None:
        array[:] = 0

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        begin, _ = part.share(n)
        places = sampled(extent(part))
        values = [pattern(places + begin + shift, dtype).astype(np.float64) for shift in (0, 1, 2)]
        return differs(arrays["new"][places + 1], np.sum(values, axis=0) * weight, TOLERANCE[problem.precision])

    return Program(
        jacobi_1d,
        (
            Array("old", dtype, lambda part: (extent(part) + 2,), fill),
            Array("new", dtype, lambda part: (extent(part) + 2,), clear),
            Integer("n", extent),
            Real("weight", weight),
        ),
        check,
    )


KERNELS = (
    Spec(
        name="jacobi_1d",
        family="stencil",
        title="Jacobi 1-D, 3 points",
        implementation="compiled loops",
        source="Counted from the loop: two additions and a multiplication a point",
        flop=Formula("3*n"),
        read=Formula("3*s*n"),
        written=Formula("s*n"),
        allocate=Formula("s*n"),
        compulsory=Formula("2*s*n"),
        working_set=Formula("2*s*(n+2*t)"),
        traffic=Formula("3*s*n"),
        sizes=("n",),
        fit=as_many(2, 16),
        quantities=plain,
        task=_jacobi_1d,
        instructions="add",
        mix="copy",
        streaming=True,
    ),
)
