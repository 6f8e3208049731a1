"""What touches the parameters of a neural network and hardly computes: embedding look-up, an optimizer's step."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from microbench.kernels.arrays import clear, constant, extent_of
from microbench.kernels.formula import Formula
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

TOLERANCE = {"fp64": 1e-11, "fp32": 1e-3}
"""Relative. Roundings of a weight add up over 1 / (rate x decay) steps, until the decay forgets them."""

DIMENSIONS = 128
"""Elements of an embedding: 512 bytes in fp32, eight lines that come one after the other."""

RATE, DECAY, BETA1, BETA2, TINY = 0.01, 0.1, 0.9, 0.95, 1e-8
"""Step size, weight decay, forgetting of both moments, and what is added to the root. The moments are those with which
large language models are trained (Brown and others, Language Models are Few-Shot Learners, 2020, appendix B)."""

SETTLED = 1024
"""Passes after which both moments are what they tend to: 0.95**1024 is below a rounding in fp64."""


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


# ----------------------------------------------------------------------------------------------- embedding


def _embedding(problem: Problem) -> Program:
    rows, dimensions, vocabulary = map(problem.size, ("rows", "dimensions", "vocabulary"))
    if min(rows, dimensions, vocabulary) < 1 or vocabulary >= 1 << 31:
        raise Unsuitable(f"{rows} rows of {dimensions} elements out of {vocabulary}: 1 to 2**31 - 1 are possible")
    mine, dtype = extent_of(rows), problem.dtype

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
    mine = extent_of(n)

    def shape(part: Part) -> tuple[int]:
        return (mine(part),)

    def filler(salt: int) -> Callable[[Part, np.ndarray[Any, Any]], None]:
        return lambda part, array: fill_pattern(array, 0, len(array), salt, first=part.share(n)[0])

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        places = sampled(mine(part), 256)
        start, slope = (pattern(places + part.share(n)[0], dtype, salt).astype(np.float64) for salt in (0, 1))
        found = (arrays[name][places] for name in ("weight", "first", "second"))
        named = zip(("weight", "first moment", "second moment"), found, adam_after(passes, start, slope), strict=True)
        texts = [differs(values, expected, TOLERANCE[problem.precision], name) for name, values, expected in named]
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
