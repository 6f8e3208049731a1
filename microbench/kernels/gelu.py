"""GELU by explicit vectors: an activation whose exponential needs neither table nor call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from microbench.kernels.elementary import EXP2, SHIFTER
from microbench.kernels.elementwise import BLOCK_BYTES, Block, counts, length_of, multiply_add, whole_steps
from microbench.kernels.kernel import Problem, Stream, differs, sampled
from microbench.loop import FIRST_SLOT, SLOT_BYTES, Loop

if TYPE_CHECKING:
    from microbench.team import Worker
    from microbench.vector import Emitter

CUBIC = 0.044715
"""Of the argument of tanh: sqrt(2/pi) (x + 0.044715 x**3). D. Hendrycks, K. Gimpel, Gaussian Error Linear Units
(arXiv:1606.08415)."""

LINEAR = -2 * math.sqrt(2 / math.pi) / math.log(2)
"""From that argument to the exponent: (1 + tanh u)/2 = 1/(1 + e**-2u) = 1/(1 + 2**s) with s = -2 u log2(e)."""

BOUNDS = {"fp64": 1000.0, "fp32": 120.0}
"""Exponents beyond are held there: then the result is x, or 0 within the smallest normal numbers."""

GROUP = {32: 8, 16: 4}
"""Vectors worked on side by side, by the registers that code can name: each takes three, and each step one for all.

One vector alone is a chain of some 90 cycles. With groups half as large a core (tried on Zen 4) does not look far
enough ahead to work on the next one meanwhile, and is a fifth slower.
"""

STEP_VECTORS = 8
"""Vectors of a trip: with 27 instructions each, enough to hide the loop and few enough for a micro-op cache."""

TOLERANCE = {"fp64": 1e-12, "fp32": 1e-5}
"""Relative, over the data here; the oracle's 1 + tanh cancels three digits."""


def task(problem: Problem) -> Stream:
    """Return the task that computes GELU of array 1 into array 0: x / (1 + 2**s), s proportional to x + 0.044715 x**3.

    Every constant is loaded from memory once for a group of vectors: registers for all of them are only there on some
    CPUs, and where the compiler chooses, nobody knows how often it loads them.

    Results are right to 3 units in the last place from -1 upwards. Below, the error of the rounded exponent s, which no
    more exact exponential would undo, grows with it: 41 units at -5.
    """
    width = problem.vector_bits // 8
    group = GROUP[problem.registers]
    step = STEP_VECTORS * width
    combine, instructions = multiply_add(problem)
    constants = _constants(problem)
    multiply_adds = len(EXP2[problem.precision])  # one a coefficient but the first, and one of the exponent

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for first in range(0, step, group * width):
            _group(emitter, combine, arrays, range(first, first + group * width, width), len(constants))
            emitter.part()
        return values

    loop = Loop(
        name=f"gelu {problem.precision} {problem.vector_bits} bits",
        precision=problem.precision,
        vector_bits=problem.vector_bits,
        body=body,
        counts=counts(
            problem,
            STEP_VECTORS,
            # The argument is loaded once more for the quotient. The third addition moves a whole number to where its
            # bits can be shifted; other: two bounds, rounding, shift, integer addition.
            {"loads": 2, "stores": 1, "mul": 2, "add": 3, "divide": 1, "other_vector": 5},
            {"loads": STEP_VECTORS // group * len(constants)}
            | {name: times * STEP_VECTORS * multiply_adds for name, times in instructions.items()},
        ),
        step=step,
        streams=2,
    )

    def prepare(worker: Worker, length: int) -> None:
        from microbench.probes.probe import fill_block

        offsets = worker.arena.offsets(2, length)
        for offset, block in zip(offsets, (np.full_like(data(problem), -1.0), data(problem)), strict=True):
            fill_block(worker, offset, length, block)
        worker.point(offsets, length, step)
        for index, value in enumerate(constants):
            worker.slot(FIRST_SLOT + index, problem.dtype)[:] = value
        worker.arguments[2] = worker.registers.ctypes.data + FIRST_SLOT * SLOT_BYTES

    def check(worker: Worker, length: int, trips: int) -> str:
        found = worker.arena.view(0, length, problem.dtype)
        places = sampled(len(found))
        x = data(problem).astype(np.float64)
        expected = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + CUBIC * x**3)))
        return differs(found[places], expected[places % len(x)], TOLERANCE[problem.precision])

    return Stream(loop, 2, length_of(problem), prepare, check)


def quantities(problem: Problem) -> dict[str, int]:
    """Return n, the degree of the polynomial, and how many vectors share how many constants."""
    return {
        **whole_steps(problem),
        "degree": len(EXP2[problem.precision]) - 1,
        "group": GROUP[problem.registers],
        "constants": len(_constants(problem)),
    }


def data(problem: Problem) -> Block:
    """Return the 4 KiB that the argument repeats: between -3 and 3, where the function bends; never 0."""
    places = np.arange(BLOCK_BYTES // problem.element_bytes)
    return ((places * 37 % len(places) + 0.5) * 6 / len(places) - 3).astype(problem.dtype)


def _constants(problem: Problem) -> list[Any]:
    """Return the constants by the numbers with which :func:`_group` loads them."""
    bound = BOUNDS[problem.precision]
    return [CUBIC * LINEAR, LINEAR, bound, -bound, SHIFTER[problem.precision], *EXP2[problem.precision]]


def _group(emitter: Emitter, combine: Any, arrays: list[Any], offsets: range, number: int) -> None:
    """Emit the function for some vectors side by side: each step for all of them, then the next."""
    from microbench.kernels.exponent import nearest, scaled

    builder = emitter.builder

    def constant(index: int) -> Any:
        return emitter.load(arrays[2], index * SLOT_BYTES)

    arguments = [emitter.load(arrays[1], offset) for offset in offsets]
    cubic, linear = constant(0), constant(1)
    exponents = [builder.fmul(x, combine(emitter, builder.fmul(x, x), cubic, linear)) for x in arguments]
    high, low = constant(2), constant(3)
    exponents = [emitter.larger(emitter.smaller(s, high), low) for s in exponents]
    wholes = [nearest(builder, s) for s in exponents]
    rests = [builder.fsub(s, whole) for s, whole in zip(exponents, wholes, strict=True)]
    power = constant(5)
    sums = [power] * len(rests)
    for index in range(6, number):
        power = constant(index)
        sums = [combine(emitter, total, rest, power) for total, rest in zip(sums, rests, strict=True)]
    shifting, one = constant(4), power
    exponentials = [scaled(builder, total, whole, shifting) for total, whole in zip(sums, wholes, strict=True)]
    emitter.part()
    for exponential, offset in zip(exponentials, offsets, strict=True):
        x = emitter.load(arrays[1], offset)
        emitter.store(builder.fdiv(x, builder.fadd(exponential, one)), arrays[0], offset)
