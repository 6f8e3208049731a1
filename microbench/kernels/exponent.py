"""What an exponential needs beyond sums and products, as LLVM IR: of vectors, and of scalars that LLVM vectorises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from microbench.kernels.elementary import SHIFTER


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an element holds its exponent: bits of the element and of its fraction; our name of the type, and LLVM's."""

    bits: int
    fraction: int
    precision: str
    name: str


_LAYOUTS = {ir.DoubleType(): _Layout(64, 52, "fp64", "f64"), ir.FloatType(): _Layout(32, 23, "fp32", "f32")}

_APART = ("nsz",)
"""A flag that permits nothing here, on instructions that must not be regrouped: Numba adds the flags of a function to
those that have none, and regrouped, the steps below would cancel."""

_FUSED = ("contract",)
"""... that may only become multiply-adds."""


def nearest(builder: ir.IRBuilder, value: Any) -> Any:
    """Return the whole number nearest to each element, ties to even, in one instruction."""
    element, lanes = _shape(value)
    suffix = _LAYOUTS[element].name if lanes is None else f"v{lanes}{_LAYOUTS[element].name}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(value.type, [value.type]), f"llvm.rint.{suffix}"
    )
    return builder.call(function, [value])


def scaled(builder: ir.IRBuilder, value: Any, power: Any, shifting: Any = None) -> Any:
    """Return value x 2**power by adding whole numbers `power` to the exponents; nothing may leave the normal range.

    `shifting` holds :data:`~microbench.kernels.elementary.SHIFTER` where that shall not be a constant of the code.
    """
    element, lanes = _shape(value)
    layout = _LAYOUTS[element]
    integers = ir.IntType(layout.bits) if lanes is None else ir.VectorType(ir.IntType(layout.bits), lanes)
    added = constant(value.type, SHIFTER[layout.precision]) if shifting is None else shifting
    moved = builder.bitcast(builder.fadd(power, added, flags=_APART), integers)
    shifted = builder.shl(moved, constant(integers, layout.fraction))
    return builder.bitcast(builder.add(builder.bitcast(value, integers), shifted), value.type)


def remainder(builder: ir.IRBuilder, value: Any, factor: tuple[float, float], whole: Any) -> Any:
    """Return value x (sum of the two numbers of `factor`) - whole in two multiply-adds."""
    high, low = (constant(value.type, number) for number in factor)
    rest = builder.fsub(builder.fmul(value, high, flags=_FUSED), whole, flags=_FUSED)
    return builder.fadd(builder.fmul(value, low, flags=_FUSED), rest, flags=_FUSED)


def constant(kind: ir.Type, number: float) -> Any:
    """Return a constant, the same in every element."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def nearest_intrinsic() -> Any:
    """Return `nearest` of scalars for code that Numba compiles."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx: Any, value: Any) -> Any:
        return value(value), lambda context, builder, signature, args: nearest(builder, args[0])

    return call


def scaled_intrinsic() -> Any:
    """Return `scaled` of scalars for code that Numba compiles."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx: Any, value: Any, power: Any) -> Any:
        return value(value, power), lambda context, builder, signature, args: scaled(builder, args[0], args[1])

    return call


def remainder_intrinsic(factor: tuple[float, float]) -> Any:
    """Return `remainder` of scalars, for one factor, for code that Numba compiles."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx: Any, value: Any, whole: Any) -> Any:
        return value(value, whole), lambda context, builder, signature, args: remainder(
            builder, args[0], factor, args[1]
        )

    return call


def _shape(value: Any) -> tuple[ir.Type, int | None]:
    kind = value.type
    return (kind.element, kind.count) if isinstance(kind, ir.VectorType) else (kind, None)
