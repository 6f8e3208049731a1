"""Operators of neural networks that stream: softmax, layer norm, embedding look-up and an optimizer's step."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

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
    as_many,
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

DIMENSIONS = 128
"""Elements of an embedding: 512 bytes in fp32, eight lines that come one after the other."""

EPSILON = 1e-5
"""Added to a variance before its root, as in PyTorch's LayerNorm."""

RATE, DECAY, BETA1, BETA2, TINY = 0.01, 0.1, 0.9, 0.95, 1e-8
"""Step size, weight decay, forgetting of both moments, and what is added to the root. The moments are those with which
large language models are trained (Brown and others, Language Models are Few-Shot Learners, 2020, appendix B)."""

SETTLED = 1024
"""Passes after which both moments are what they tend to: 0.95**1024 is below a rounding in fp64."""

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


def embedding(table: Any, chosen: Any, result: Any, rows: Any, dimensions: Any) -> None:
    """Copy the chosen rows of a table."""
    for i in range(rows):
        row = chosen[i]
        for j in range(dimensions):
            result[i, j] = table[row, j]


def adam(
    weight: Any, first: Any, second: Any, gradient: Any, n: Any, keep1: Any, new1: Any, keep2: Any, new2: Any,
    shrink: Any, rate: Any, tiny: Any,
) -> None:  # fmt: skip
    """Do one step of AdamW: update both moments of the gradient, and the weight by their quotient and its own decay."""
    for i in range(n):
        slope = gradient[i]
        moment = keep1 * first[i] + new1 * slope
        square = keep2 * second[i] + new2 * (slope * slope)
        first[i] = moment
        second[i] = square
        weight[i] = shrink * weight[i] - rate * (moment / (sqrt(square) + tiny))


# --------------------------------------------------------------------------------------------------- rows


def clear(part: Part, array: np.ndarray[Any, Any]) -> None:
    """Fill an array with zeros: a result that no pass leaves."""
    array[:] = 0


def constant(name: str, value: int) -> Integer:
    """Return a whole number that is the same for every part."""
    return Integer(name, lambda part: value)


def share_of(total: int) -> Callable[[Part], int]:
    """Return how many of `total` things a part has."""

    def extent(part: Part) -> int:
        begin, end = part.share(total)
        return end - begin

    return extent


class _Rows:
    """Rows of x that each become a row of y. Errors of y are relative to numbers of at least `least`."""

    def __init__(self, problem: Problem, least: float = 0.0) -> None:
        self.least = least
        self.problem = problem
        self.rows, self.columns = problem.size("rows"), problem.size("columns")
        if self.rows < problem.threads or self.columns < 1:
            raise Unsuitable(f"{self.rows} rows of {self.columns} columns: each thread needs one of one at least")
        self.mine = share_of(self.rows)

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


# ----------------------------------------------------------------------------------------------- embedding


def _embedding(problem: Problem) -> Program:
    rows, dimensions, vocabulary = map(problem.size, ("rows", "dimensions", "vocabulary"))
    if min(rows, dimensions, vocabulary) < 1 or vocabulary >= 1 << 31:
        raise Unsuitable(f"{rows} rows of {dimensions} elements out of {vocabulary}: 1 to 2**31 - 1 are possible")
    mine, dtype = share_of(rows), problem.dtype

    def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
        begin, end = part.share(vocabulary)
        fill_pattern(array.reshape(-1), begin * dimensions, end * dimensions)

    def choose(part: Part, array: np.ndarray[Any, Any]) -> None:
        array[:] = np.random.default_rng((problem.seed, part.index)).integers(0, vocabulary, len(array))

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        if not passes or not mine(part):
            return ""
        looked = sampled(mine(part), max(2, 65536 // dimensions))
        places = arrays["chosen"][looked].astype(np.int64)[:, None] * dimensions + np.arange(dimensions)
        return differs(arrays["result"][looked], pattern(places, dtype), 0.0)

    return Program(
        embedding,
        (
            Array("table", dtype, lambda part: (vocabulary, dimensions), fill, shared=True),
            Array("chosen", np.int32, lambda part: (mine(part),), choose),
            Array("result", dtype, lambda part: (mine(part), dimensions), clear),
            Integer("rows", mine),
            constant("dimensions", dimensions),
        ),
        check,
    )


def _vocabulary(request: Request) -> dict[str, int | str]:
    """Return a table of half of the bytes, and as many rows looked up as the rest holds."""
    row = DIMENSIONS * request.element_bytes
    return {
        "rows": max(1, request.bytes // 2 // (row + 4)),
        "dimensions": DIMENSIONS,
        "vocabulary": max(1, request.bytes // 2 // row),
    }


# ---------------------------------------------------------------------------------------------------- adam


def adam_after(passes: int, weight: Any, gradient: Any) -> tuple[Any, Any, Any]:
    """Return weight and both moments after so many steps from moments of 0, in fp64.

    Once the moments have settled, a step is the same affine map of the weight, so that any number of them is one.
    """
    first, second = np.zeros_like(gradient), np.zeros_like(gradient)
    for _ in range(min(passes, SETTLED)):
        first = BETA1 * first + (1 - BETA1) * gradient
        second = BETA2 * second + (1 - BETA2) * gradient**2
        weight = (1 - RATE * DECAY) * weight - RATE * first / (np.sqrt(second) + TINY)
    later = passes - min(passes, SETTLED)
    left = (1 - RATE * DECAY) ** later
    limit = -first / (np.sqrt(second) + TINY) / DECAY
    return left * weight + (1 - left) * limit, first, second


def _adam(problem: Problem) -> Program:
    n, dtype = problem.size("n"), problem.dtype
    mine = share_of(n)

    def shape(part: Part) -> tuple[int]:
        return (mine(part),)

    def filler(salt: int) -> Callable[[Part, np.ndarray[Any, Any]], None]:
        return lambda part, array: fill_pattern(array, 0, len(array), salt, first=part.share(n)[0])

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        places = sampled(mine(part), 256)
        start, slope = (pattern(places + part.share(n)[0], dtype, salt).astype(np.float64) for salt in (0, 1))
        found = (arrays[name][places] for name in ("weight", "first", "second"))
        # Roundings add up over 1 / (rate x decay) steps, until the decay forgets them.
        tolerances = (1000 * TOLERANCE[problem.precision] / 100, TOLERANCE[problem.precision] / 5)
        named = zip(("weight", "first moment", "second moment"), found, adam_after(passes, start, slope), strict=True)
        texts = [
            differs(values, expected, tolerances[0] if name == "weight" else tolerances[1], name)
            for name, values, expected in named
        ]
        return next((text for text in texts if text), "")

    numbers = {
        "keep1": BETA1, "new1": 1 - BETA1, "keep2": BETA2, "new2": 1 - BETA2, "shrink": 1 - RATE * DECAY, "rate": RATE,
        "tiny": TINY,
    }  # fmt: skip
    return Program(
        adam,
        (
            Array("weight", dtype, shape, filler(0)),
            Array("first", dtype, shape, clear),
            Array("second", dtype, shape, clear),
            Array("gradient", dtype, shape, filler(1)),
            Integer("n", mine),
            *(Real(name, value) for name, value in numbers.items()),
        ),
        check,
    )


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
    Spec(
        name="embedding",
        family="neural",
        title="Embedding look-up",
        implementation="compiled loops",
        source="Counted from the loop: rows are copied, nothing is computed",
        flop=Formula("0"),
        read=Formula("rows*(4 + s*dimensions)"),
        written=Formula("s*rows*dimensions"),
        allocate=Formula("s*rows*dimensions"),
        compulsory=Formula("rows*(4 + 2*s*dimensions)"),
        working_set=Formula("s*vocabulary*dimensions + rows*(4 + s*dimensions)"),
        sizes=("rows", "dimensions", "vocabulary"),
        fit=_vocabulary,
        quantities=plain,
        task=_embedding,
        mix="copy",
        limit="gather",
        representative=("fp32",),
        notes="Rows by 32-bit numbers at random from a table that all threads share",
    ),
    Spec(
        name="adam",
        family="neural",
        title="Adam optimizer's step with weight decay",
        implementation="compiled loops",
        source="Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019; bias corrections belong to the "
        "step size. Counted from the loop: ten additions and multiplications, a root and a division an element",
        flop=Formula("13*n"),
        read=Formula("4*s*n"),
        written=Formula("3*s*n"),
        compulsory=Formula("7*s*n"),
        working_set=Formula("4*s*n"),
        sizes=("n",),
        fit=as_many(4, 16),
        quantities=plain,
        task=_adam,
        instructions="fma",
        mix="update",
        streaming=True,
        representative=("fp32",),
        notes="A division and a root count 1 each",
    ),
)
