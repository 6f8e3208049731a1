"""Products of several rows of a matrix with one vector, written out as LLVM IR."""

from __future__ import annotations

import platform
from typing import Any

from microbench.assembly import Counts
from microbench.kernels.writer import Writer, pointer_to

ROWS = 8
"""Rows at the same time, one accumulator each: what is loaded of x is then an eighth of the matrix, so that x, which
rarely stays in L1 beside such a stream, takes few of the lines in flight; and 8 chains hide a latency of 4 cycles."""


def counts(bits: int, fused: bool) -> Counts:
    """Return what a trip of the inner loop contains; `fused`: whether a multiply-add is one instruction."""
    separate = 0 if fused else ROWS
    return Counts(fma=ROWS - separate, add=separate, mul=separate, loads=ROWS + 1, vector_bits=bits)


def make(precision: str, bits: int) -> Any:
    """Return the intrinsic (a, at, pitch, x, xt, n, y, yt).

    Sets :data:`ROWS` elements of `y` from element `yt` on to the products of `n` elements of `x` from `xt` on with rows
    of `a`, the first from element `at` on, `pitch` elements apart.
    """
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def dots(typingctx: Any, a: Any, at: Any, pitch: Any, x: Any, xt: Any, n: Any, y: Any, yt: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            matrix, vector, result = (pointer_to(context, builder, signature, args, index) for index in (0, 3, 6))
            writer = Writer(builder, precision, bits, platform.machine())
            emit(builder, writer, matrix, args[2], vector, args[5], result)
            return context.get_dummy_value()

        i64 = types.int64
        return types.void(a, i64, i64, x, i64, i64, y, i64), codegen

    return dots


def emit(builder: Any, writer: Writer, a: Any, pitch: Any, x: Any, n: Any, y: Any) -> None:
    """Emit it at the end of the builder's block; `pitch` and `n` are in elements."""
    row = writer.times(pitch, writer.size)

    def trip(kind: Any) -> Any:
        size = writer.bytes if kind is writer.type else writer.size

        def emitted(values: list[Any]) -> list[Any]:
            a_now, x_now, *sums = values
            writer.apart()
            factor = writer.load(x_now, kind)
            rows = [writer.load(writer.at(a_now, writer.times(row, index)), kind) for index in range(ROWS)]
            after = [writer.multiply_add(loaded, factor, total) for loaded, total in zip(rows, sums, strict=True)]
            return [writer.at(a_now, size), writer.at(x_now, size), *after]

        return emitted

    lanes = writer.integer(writer.lanes)
    a, x, *sums = writer.loop(builder.sdiv(n, lanes), [a, x, *[writer.zero()] * ROWS], trip(writer.type))
    totals = [writer.add_up(writer.lanes_of(total)) for total in sums]
    _, _, *totals = writer.loop(builder.srem(n, lanes), [a, x, *totals], trip(writer.element))
    for index, total in enumerate(totals):
        writer.store(total, writer.at(y, index * writer.size))
