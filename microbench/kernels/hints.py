"""Two things that LLVM must be told about numbers, so that it makes good vectors of a row. Imports no compiler."""

from __future__ import annotations

from typing import Any

_NO_NAN = ("nnan", "nsz")
"""Without these flags on both instructions LLVM goes through a row one by one; Numba sets none on a choice."""


def make_larger() -> Any:
    """Return the intrinsic ``larger(a, b)``; neither may be NaN."""
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def larger(typingctx: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            above = builder.fcmp_ordered(">", args[0], args[1], flags=_NO_NAN)
            return builder.select(above, args[0], args[1], flags=_NO_NAN)

        return a(a, b), emit

    return larger


def make_settled() -> Any:
    """Return the intrinsic ``settled(a)``: a, of which LLVM knows no more how it came about.

    Where sums may be regrouped it would divide each element of a row instead of multiplying by one quotient.
    """
    from llvmlite import ir
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def settled(typingctx: Any, a: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            bits = ir.IntType(a.bitwidth)
            unseen = builder.asm(
                ir.FunctionType(bits, [bits]), "", "=r,0", [builder.bitcast(args[0], bits)], side_effect=False
            )
            return builder.bitcast(unseen, args[0].type)

        return a(a), emit

    return settled
