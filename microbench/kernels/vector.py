"""Vector operations: addition, axpy, sum, dot product, activations, and two operations apart and fused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from microbench.catalog import STEP_BYTES
from microbench.kernels import gelu, reduction
from microbench.kernels.elementwise import counts, length_of, multiply_add, ramp, spec, stream, words
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Problem, Stream
from microbench.loop import A_SLOT, FIRST_SLOT, SLOT_BYTES, X_SLOT, Loop

if TYPE_CHECKING:
    from microbench.team import Worker
    from microbench.vector import Emitter

FACTOR = 3.0
"""Of axpy; with the ramps' few bits every product and sum is exact."""

SLOPE, SHIFT = 0.5, 1.0
"""Of the multiply-adds of the fusion example, likewise."""

# Slots of the register block that axpy uses beside its accumulator.
_SIGNS, _BASE = FIRST_SLOT + 1, FIRST_SLOT + 3


def _add(problem: Problem) -> Stream:
    def expected(start: list[Any], passes: int) -> Any:
        return start[1] - start[0] if passes % 2 else start[0]

    return stream(problem, (0, 1), lambda emitter, b, x, a: emitter.builder.fsub(b[1], b[0]), {"add": 1}, expected)


def _axpy(problem: Problem) -> Stream:
    """Return y = a x + y with a negated at the beginning of each pass.

    The accumulator holds a. Each trip multiplies it by -1 or 1, from a table in memory: by -1 in the trip whose array
    pointer is the first. Two passes cancel exactly, so that y stays what it is for ever.
    """
    width = problem.vector_bits // 8
    combine, instructions = multiply_add(problem)

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        from llvmlite import ir

        word, builder = ir.IntType(64), emitter.builder
        base = builder.load(
            builder.gep(arrays[2], [ir.Constant(word, (_BASE - _SIGNS) * SLOT_BYTES)], source_etype=ir.IntType(8)),
            typ=word,
        )
        begins = builder.icmp_unsigned("==", builder.ptrtoint(arrays[0], word), base)
        slot = builder.mul(builder.zext(begins, word), ir.Constant(word, SLOT_BYTES))
        sign = emitter.load(builder.gep(arrays[2], [slot], source_etype=ir.IntType(8)))
        factor = builder.fmul(values[0], sign)
        for offset in range(0, STEP_BYTES, width):
            y, term = emitter.load(arrays[0], offset), emitter.load(arrays[1], offset)
            emitter.store(combine(emitter, term, factor, y), arrays[0], offset)
        return [factor]

    loop = Loop(
        name=f"axpy {problem.precision} {problem.vector_bits} bits",
        precision=problem.precision,
        vector_bits=problem.vector_bits,
        body=body,
        counts=counts(
            problem,
            STEP_BYTES // width,
            {"loads": 2, "stores": 1, **instructions},
            {"loads": 1, "mul": 1, "other_loads": 1},
        ),
        accumulators=1,
        step=STEP_BYTES,
        streams=2,
    )

    def prepare(worker: Worker, length: int) -> None:
        from microbench.probes.probe import fill_block

        offsets = worker.arena.offsets(2, length)
        for array, offset in enumerate(offsets):
            fill_block(worker, offset, length, ramp(problem, array))
        worker.point(offsets, length, loop.step)
        worker.slot(FIRST_SLOT, problem.dtype)[:] = -FACTOR
        for index, sign in enumerate((1.0, -1.0)):
            worker.slot(_SIGNS + index, problem.dtype)[:] = sign
        worker.slot(_BASE, np.int64)[0] = worker.arguments[0]
        worker.arguments[2] = worker.registers.ctypes.data + _SIGNS * SLOT_BYTES

    def check(worker: Worker, length: int, trips: int) -> str:
        from microbench.probes.probe import differs

        odd = trips * loop.step // length % 2
        return differs(worker, 0, length, ramp(problem, 0) + (FACTOR * ramp(problem, 1) if odd else 0))

    return Stream(loop, 2, length_of(problem), prepare, check)


def _relu(problem: Problem) -> Stream:
    data = tuple(ramp(problem, array) - problem.dtype.type(1.375) for array in range(2))
    return stream(
        problem,
        (1,),
        lambda emitter, b, x, a: emitter.larger(b[0], a),
        {"other_vector": 1},
        lambda start, passes: np.maximum(start[1], 0),
        data=data,
    )


def _apart(problem: Problem) -> Stream:
    """Return t = a x + b, then z = a t + b, over three arrays that lie end to end.

    So both loops are one: from array to array, over the first two.
    """
    width, length = problem.vector_bits // 8, length_of(problem)
    combine, instructions = multiply_add(problem)

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for offset in range(0, STEP_BYTES, width):
            emitter.store(combine(emitter, emitter.load(arrays[0], offset), x, a), arrays[1], offset)
        return values

    loop = Loop(
        name=f"fusion_apart {problem.precision} {problem.vector_bits} bits",
        precision=problem.precision,
        vector_bits=problem.vector_bits,
        body=body,
        counts=counts(problem, STEP_BYTES // width, {"loads": 1, "stores": 1, **instructions}),
        step=STEP_BYTES,
        streams=2,
    )

    def prepare(worker: Worker, twice: int) -> None:
        from microbench.probes.probe import fill_block

        for array in range(3):
            fill_block(worker, array * length, length, ramp(problem, array))
        worker.slot(X_SLOT, problem.dtype)[:] = SLOPE
        worker.slot(A_SLOT, problem.dtype)[:] = SHIFT
        worker.point((0, length), twice, loop.step)

    def check(worker: Worker, twice: int, trips: int) -> str:
        from microbench.probes.probe import differs

        between = SLOPE * ramp(problem, 0) + SHIFT
        wrong = differs(worker, length, length, between)
        return wrong or differs(worker, twice, length, SLOPE * between + SHIFT)

    return Stream(loop, 2, 2 * length, prepare, check)


def _fused(problem: Problem) -> Stream:
    combine, instructions = multiply_add(problem)

    def operation(emitter: Emitter, b: list[Any], x: Any, a: Any) -> Any:
        return combine(emitter, combine(emitter, b[0], x, a), x, a)

    return stream(
        problem,
        (1,),
        operation,
        {name: 2 * number for name, number in instructions.items()},
        lambda start, passes: SLOPE * (SLOPE * start[1] + SHIFT) + SHIFT,
        x=SLOPE,
        a=SHIFT,
    )


_spec = partial(spec, family="vector")

KERNELS = (
    _spec(
        "vector_add",
        "Addition in place, y = x - y",
        _add,
        flop=Formula("n"),
        reads=2,
        writes=1,
        allocates=0,
        arrays=2,
        compulsory=3,
        mix="update",
        instructions="add",
        notes="A subtraction is an addition in every respect, and done twice it changes nothing. Out of place it is "
        "stream_add.",
    ),
    _spec(
        "axpy",
        "AXPY, y = a x + y",
        _axpy,
        flop=Formula("2*n"),
        reads=2,
        writes=1,
        allocates=0,
        arrays=2,
        compulsory=3,
        mix="update",
        instructions="fma",
        source="Counted from the loop; C. L. Lawson et al., Basic Linear Algebra Subprograms for Fortran Usage (1979)",
        representative=("fp64",),
        notes="a changes its sign from pass to pass, so that y stays bounded.",
    ),
    _spec(
        "vector_sum",
        "Sum reduction",
        reduction.add_up,
        flop=Formula("n"),
        reads=1,
        writes=0,
        allocates=0,
        arrays=1,
        compulsory=1,
        mix="load",
        instructions="add",
        notes=f"{reduction.ACCUMULATORS} vectors of partial sums; adding these up at the end is not counted.",
    ),
    _spec(
        "dot",
        "Dot product",
        reduction.dot,
        flop=Formula("2*n"),
        reads=2,
        writes=0,
        allocates=0,
        arrays=2,
        compulsory=2,
        mix="load",
        instructions="fma",
        notes=f"{reduction.ACCUMULATORS} vectors of partial sums; adding these up at the end is not counted.",
    ),
    _spec(
        "relu",
        "ReLU, y = max(x, 0)",
        _relu,
        flop=Formula("0"),
        reads=1,
        writes=1,
        allocates=1,
        arrays=2,
        compulsory=2,
        mix="copy",
        notes="A comparison is no FLOP.",
    ),
    replace(
        _spec(
            "gelu",
            "GELU, y = x (1 + tanh u) / 2",
            gelu.task,
            flop=Formula("(7+2*degree)*n"),
            reads=1,
            writes=1,
            allocates=1,
            arrays=2,
            compulsory=2,
            mix="copy",
            instructions="fma",
            source="D. Hendrycks, K. Gimpel, Gaussian Error Linear Units (2016), with tanh; counted from the loop",
            quantities=gelu.quantities,
            representative=("fp32",),
            notes="Of an element: five additions and multiplications for the exponent, a polynomial of degree 11 "
            "(fp64) or 6 (fp32), an addition, and a division that counts as one; bounds, rounding and integers are 0. "
            "x is loaded twice, and the constants once for a group of vectors.",
        ),
        read=Formula("(2*group+constants)*s*n//group"),
        traffic=words(3),
    ),
    _spec(
        "fusion_apart",
        "Two multiply-adds, a loop each: t = a x + b, z = a t + b",
        _apart,
        flop=Formula("4*n"),
        reads=2,
        writes=2,
        allocates=2,
        arrays=3,
        compulsory=2,
        mix="copy",
        instructions="fma",
        representative=("fp64",),
        ladder="fusion",
        rung=1,
    ),
    _spec(
        "fusion_fused",
        "Two multiply-adds in one loop: z = a (a x + b) + b",
        _fused,
        flop=Formula("4*n"),
        reads=1,
        writes=1,
        allocates=1,
        arrays=2,
        compulsory=2,
        mix="copy",
        instructions="fma",
        representative=("fp64",),
        ladder="fusion",
        rung=2,
        notes="Half the traffic of fusion_apart for the same arithmetic.",
    ),
)
