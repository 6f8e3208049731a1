"""Operators of neural networks on rows: softmax and layer norm."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from microbench.kernels.arrays import clear, constant, extent_of
from microbench.kernels.elementary import EXP_FLOP, exp_helpers, exp_makers
from microbench.kernels.formula import Formula
from microbench.kernels.hints import make_larger, make_settled
from microbench.kernels.kernel import (
    Array,
    Arrays,
    Integer,
    Part,
    Problem,
    Program,
    Real,
    Request,
    Spec,
    Unsuitable,
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)

TOLERANCE = {"fp64": 1e-12, "fp32": 1e-4}
"""Relative, after sums of a thousand terms in any order."""

COLUMNS = 384
"""Elements of a row of softmax and layer norm: few enough that the rows at hand stay in L1 while the next comes, and
enough to hide what is done once a row. Rows of 5 KiB cost a quarter of the bandwidth on a core with 32 KiB of L1."""

EPSILON = 1e-5
"""Added to a variance before its root, as in PyTorch's LayerNorm."""

REGROUPED = frozenset({"contract", "reassoc", "nsz", "nnan"})
"""Fast-math flags with which sums and maxima along a row become vectors. No data hold a NaN."""

exp: Any = None
larger: Any = None
settled: Any = None
"""In bodies of programs the functions of :mod:`microbench.kernels.elementary` and :mod:`microbench.kernels.hints`."""


# ------------------------------------------------------------------------------------------------- the code
#
# While one row is finished the next is read already, so that memory is never idle for the arithmetic. The first and the
# last rows stand outside the loop: LLVM compares the arrays for all of its trips at once, and if one of them went a row
# beyond its end they would seem to overlap.


def softmax(x: Any, y: Any, held: Any, rows: Any, columns: Any, zero: Any, one: Any, low: Any) -> None:
    """Set each row of y to e**x over its sum, after subtracting the largest, so that nothing overflows."""
    peak, following, total = low, low, zero
    for j in range(columns):
        peak = larger(x[0, j], peak)
    for j in range(columns):
        power = exp(x[0, j] - peak)
        held[j] = power
        total += power
    scale = settled(one / total)
    if rows > 1:
        for j in range(columns):
            following = larger(x[1, j], following)
        for i in range(1, rows - 1):
            peak, following, total = following, low, zero
            for j in range(columns):
                y[i - 1, j] = held[j] * scale
                power = exp(x[i, j] - peak)
                held[j] = power
                total += power
                following = larger(x[i + 1, j], following)
            scale = settled(one / total)
        total = zero
        for j in range(columns):
            y[rows - 2, j] = held[j] * scale
            power = exp(x[rows - 1, j] - following)
            held[j] = power
            total += power
        scale = settled(one / total)
    for j in range(columns):
        y[rows - 1, j] = held[j] * scale


def layer_norm(
    x: Any, y: Any, gain: Any, shift: Any, rows: Any, columns: Any, zero: Any, one: Any, share: Any, epsilon: Any
) -> None:
    """Set each row of y to that of x with mean 0 and variance 1, times a gain and shifted, both by column."""
    total = zero
    for j in range(columns):
        total += x[0, j]
    for i in range(rows - 1):
        mean, spread = total * share, zero
        for j in range(columns):
            away = x[i, j] - mean
            spread += away * away
        scale = settled(one / sqrt(spread * share + epsilon))
        total = zero
        for j in range(columns):
            y[i, j] = (x[i, j] - mean) * scale * gain[j] + shift[j]
            total += x[i + 1, j]
    mean, spread = total * share, zero
    for j in range(columns):
        away = x[rows - 1, j] - mean
        spread += away * away
    scale = settled(one / sqrt(spread * share + epsilon))
    for j in range(columns):
        y[rows - 1, j] = (x[rows - 1, j] - mean) * scale * gain[j] + shift[j]


# --------------------------------------------------------------------------------------------------- rows


class _Rows:
    """Rows of x that each become a row of y. Errors of y are relative to numbers of at least `least`."""

    def __init__(self, problem: Problem, least: float = 0.0) -> None:
        self.least = least
        self.problem = problem
        self.rows, self.columns = problem.size("rows"), problem.size("columns")
        if self.rows < problem.threads or self.columns < 1:
            raise Unsuitable(f"{self.rows} rows of {self.columns} columns: each thread needs one of one at least")
        self.mine = extent_of(self.rows)

    def arrays(self) -> tuple[Array, Array]:
        def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
            fill_pattern(array.reshape(-1), 0, array.size, first=part.share(self.rows)[0] * self.columns)

        def shape(part: Part) -> tuple[int, int]:
            return (self.mine(part), self.columns)

        return Array("x", self.problem.dtype, shape, fill), Array("y", self.problem.dtype, shape, clear)

    def check(self, expected: Callable[[Any], Any]) -> Callable[[Part, Arrays, int], str]:
        """Return what compares sampled rows with ``expected(rows of x in fp64)``."""

        def check(part: Part, arrays: Arrays, passes: int) -> str:
            if not passes:
                return ""
            rows = sampled(self.mine(part), max(2, 65536 // self.columns))
            places = (rows[:, None] + part.share(self.rows)[0]) * self.columns + np.arange(self.columns)
            values = expected(pattern(places, self.problem.dtype).astype(np.float64))
            # A result near 0 is a difference of numbers of the order of 1, so that the errors are theirs.
            return differs(arrays["y"][rows] + self.least, values + self.least, TOLERANCE[self.problem.precision])

        return check


def _softmax(problem: Problem) -> Program:
    data = _Rows(problem)

    def expected(x: Any) -> Any:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return Program(
        softmax,
        (
            *data.arrays(),
            Array("held", problem.dtype, lambda part: (data.columns,), clear),
            Integer("rows", data.mine),
            constant("columns", data.columns),
            Real("zero", 0.0),
            Real("one", 1.0),
            Real("low", float(np.finfo(problem.dtype).min)),
        ),
        data.check(expected),
        helpers=exp_helpers(problem.precision),
        makers={**exp_makers(problem.precision), "larger": make_larger, "settled": make_settled},
        fastmath=REGROUPED,
    )


def _layer_norm(problem: Problem) -> Program:
    data, dtype = _Rows(problem, 10.0), problem.dtype

    def column(salt: int) -> Callable[[Part, np.ndarray[Any, Any]], None]:
        return lambda part, array: fill_pattern(array, 0, len(array), salt)

    def expected(x: Any) -> Any:
        gain, shift = (pattern(np.arange(data.columns), dtype, salt).astype(np.float64) for salt in (1, 2))
        away = x - x.mean(axis=1, keepdims=True)
        return away / np.sqrt((away**2).mean(axis=1, keepdims=True) + EPSILON) * gain + shift

    return Program(
        layer_norm,
        (
            *data.arrays(),
            Array("gain", dtype, lambda part: (data.columns,), column(1)),
            Array("shift", dtype, lambda part: (data.columns,), column(2)),
            Integer("rows", data.mine),
            constant("columns", data.columns),
            Real("zero", 0.0),
            Real("one", 1.0),
            Real("share", 1.0 / data.columns),
            Real("epsilon", EPSILON),
        ),
        data.check(expected),
        makers={"settled": make_settled},
        fastmath=REGROUPED,
    )


def _rows(request: Request) -> dict[str, int | str]:
    """Return rows that the bytes hold twice, shorter ones where they hold not one for each thread."""
    columns = max(16, min(COLUMNS, request.bytes // (2 * request.element_bytes * request.threads) // 16 * 16))
    rows = request.bytes // (2 * request.element_bytes * columns) // request.threads * request.threads
    return {"rows": max(request.threads, rows), "columns": columns}


def _powers(problem: Problem) -> dict[str, int]:
    return {**plain(problem), "e": EXP_FLOP[problem.precision]}


KERNELS = (
    Spec(
        name="softmax",
        family="neural",
        title="Softmax of rows",
        implementation="compiled loops",
        source="Counted from the loop: a subtraction, an exponential (its additions and multiplications), an addition "
        "and a multiplication an element, a division a row",
        flop=Formula("rows*columns*(e+3) + rows"),
        read=Formula("3*s*rows*columns"),
        written=Formula("2*s*rows*columns"),
        allocate=Formula("s*rows*columns"),
        compulsory=Formula("2*s*rows*columns"),
        working_set=Formula("2*s*rows*columns + s*columns*t"),
        traffic=Formula("3*s*rows*columns"),
        sizes=("rows", "columns"),
        fit=_rows,
        quantities=_powers,
        task=_softmax,
        instructions="fma",
        mix="copy",
        streaming=True,
        representative=("fp32",),
        notes="A division counts 1, a comparison 0. The rows at hand stay in cache",
    ),
    Spec(
        name="layer_norm",
        family="neural",
        title="Layer norm of rows",
        implementation="compiled loops",
        source="Counted from the loop: eight additions and multiplications an element; a root, a division and three "
        "more a row",
        flop=Formula("8*rows*columns + 5*rows"),
        read=Formula("5*s*rows*columns"),
        written=Formula("s*rows*columns"),
        allocate=Formula("s*rows*columns"),
        compulsory=Formula("2*s*(rows*columns + columns)"),
        working_set=Formula("2*s*(rows*columns + columns*t)"),
        traffic=Formula("3*s*rows*columns + 2*s*columns*t"),
        sizes=("rows", "columns"),
        fit=_rows,
        quantities=plain,
        task=_layer_norm,
        instructions="fma",
        mix="copy",
        streaming=True,
        notes="A division and a root count 1 each. The rows at hand stay in cache",
    ),
)
