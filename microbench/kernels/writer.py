"""The vector instructions of kernels that are written out as LLVM IR, inside intrinsics of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from microbench import catalog


class Writer:
    """Writes instructions at the end of a builder's block. Vectors need the alignment of an element only.

    Attributes
    ----------
    type, element : llvmlite types
        Of a vector, and of an element of it; the same where vectors have one lane.
    lanes, bytes, size : int
        Elements of a vector, its bytes, and those of an element.
    by_lane : bool
        See :func:`by_lane`.
    """

    def __init__(self, builder: Any, precision: str, bits: int, machine: str) -> None:
        from llvmlite import ir

        self._builder, self._ir = builder, ir
        self._i64 = ir.IntType(64)
        self.size = catalog.precision(precision).bytes
        self.lanes = max(1, bits // (8 * self.size))
        self.bytes = self.lanes * self.size
        self.element = ir.DoubleType() if self.size == 8 else ir.FloatType()
        self.type = ir.VectorType(self.element, self.lanes) if self.lanes > 1 else self.element
        self.by_lane = by_lane(machine)

    # ----------------------------------------------------------------------------------------------- addresses

    def integer(self, value: int) -> Any:
        """Return a 64-bit constant."""
        return self._ir.Constant(self._i64, value)

    def times(self, value: Any, factor: int) -> Any:
        """Return a 64-bit integer times a constant."""
        return self._builder.mul(value, self.integer(factor))

    def at(self, pointer: Any, offset: Any) -> Any:
        """Return the address `offset` bytes later, a constant or a value of the code."""
        offset = self.integer(offset) if isinstance(offset, int) else offset
        return self._builder.gep(pointer, [offset], source_etype=self._ir.IntType(8))

    def past(self, pointer: Any, vectors: int) -> Any:
        """Return the address so many vectors later."""
        return self.at(pointer, vectors * self.bytes)

    # -------------------------------------------------------------------------------------------------- memory

    def load(self, pointer: Any, kind: Any = None) -> Any:
        """Load a vector, or a value of another type."""
        kind = kind or self.type
        value = self._builder.load(self._builder.bitcast(pointer, kind.as_pointer()), typ=kind)
        value.align = self.size
        return value

    def store(self, value: Any, pointer: Any) -> None:
        """Store a value of any type."""
        self._builder.store(value, self._builder.bitcast(pointer, value.type.as_pointer())).align = self.size

    def prefetch(self, pointer: Any, length: int, *, write: bool = False, nearest: int = 3) -> None:
        """Bring the lines of `length` bytes near: into L1 (nearest 3) or L2 (2)."""
        i32, anywhere = self._ir.IntType(32), self._ir.IntType(8).as_pointer()
        hints = [self._ir.Constant(i32, value) for value in (int(write), nearest, 1)]
        for offset in range(0, length, catalog.LINE_BYTES):
            place = self._builder.bitcast(self.at(pointer, offset), anywhere)
            self._call("llvm.prefetch.p0", self._ir.VoidType(), [place, *hints])

    # ---------------------------------------------------------------------------------------------- arithmetic

    def zero(self, kind: Any = None) -> Any:
        """Return zeros in all lanes."""
        kind = kind or self.type
        return self._ir.Constant(kind, None if isinstance(kind, self._ir.VectorType) else 0.0)

    def splat(self, element: Any) -> Any:
        """Return a vector with an element in all lanes."""
        if self.lanes == 1:
            return element
        first = self._ir.Constant(self.type, self._ir.Undefined)
        return self.copied(self._builder.insert_element(first, element, self._ir.Constant(self._ir.IntType(32), 0)), 0)

    def copied(self, vector: Any, lane: int) -> Any:
        """Return a vector with one lane of another in all lanes."""
        kind = self._ir.VectorType(self._ir.IntType(32), self.lanes)
        return self._builder.shuffle_vector(vector, vector, self._ir.Constant(kind, [lane] * self.lanes))

    def multiply_add(self, x: Any, y: Any, addend: Any) -> Any:
        """Return x * y + addend, of vectors or elements: fused where the CPU can, two instructions elsewhere."""
        vector = f"v{self.lanes}" if isinstance(x.type, self._ir.VectorType) else ""
        return self._call(f"llvm.fmuladd.{vector}f{8 * self.size}", x.type, [x, y, addend])

    def add_up(self, values: Sequence[Any]) -> Any:
        """Return the sum of vectors or elements, by halves."""
        while len(values) > 1:
            half = len(values) // 2
            sums = [self._builder.fadd(one, other) for one, other in zip(values[:half], values[half:], strict=False)]
            values = [*sums, *values[2 * half :]]
        return values[0]

    def lanes_of(self, vector: Any) -> list[Any]:
        """Return the elements of a vector."""
        if self.lanes == 1:
            return [vector]
        i32 = self._ir.IntType(32)
        return [self._builder.extract_element(vector, self._ir.Constant(i32, lane)) for lane in range(self.lanes)]

    # ------------------------------------------------------------------------------------------------- control

    def apart(self) -> None:
        """Keep what follows apart from what came before: LLVM unrolls no loop with it and moves no load across it."""
        kind = self._ir.FunctionType(self._ir.VoidType(), [])
        nothing = self._ir.InlineAsm(kind, "", "~{memory}", side_effect=True)
        self._builder.call(nothing, [], attrs=("convergent",))

    def loop(self, trips: Any, start: Sequence[Any], body: Callable[[list[Any]], Sequence[Any]]) -> list[Any]:
        """Emit a loop of `trips` trips, maybe none, that carries values on; return what they are after it.

        `body` emits one trip without a branch: (values before it) -> values after it.
        """
        builder, zero = self._builder, self.integer(0)
        before = builder.block
        head, after = builder.append_basic_block("trip"), builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed(">", trips, zero), head, after)
        builder.position_at_end(head)
        left = builder.phi(self._i64)
        carried = [builder.phi(value.type) for value in start]
        ends = list(body(list(carried)))
        rest = builder.sub(left, self.integer(1))
        for phi, first, last in zip([left, *carried], [trips, *start], [rest, *ends], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(last, head)
        builder.cbranch(builder.icmp_signed(">", rest, zero), head, after)
        builder.position_at_end(after)
        found = []
        for first, last in zip(start, ends, strict=True):
            phi = builder.phi(first.type)
            phi.add_incoming(first, before)
            phi.add_incoming(last, head)
            found.append(phi)
        return found

    def _call(self, name: str, kind: Any, arguments: list[Any]) -> Any:
        from numba.core import cgutils

        function = self._ir.FunctionType(kind, [argument.type for argument in arguments])
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, function, name), arguments)


def by_lane(machine: str) -> bool:
    """Return whether a multiply-add takes one lane of a vector for all, so that scalars can be loaded as vectors."""
    return machine.lower() in ("aarch64", "arm64")


def pointer_to(context: Any, builder: Any, signature: Any, args: Any, index: int) -> Any:
    """Return the address in the array that is argument number `index`, at the element that the next argument names."""
    kind = signature.args[index]
    data = context.make_array(kind)(context, builder, args[index]).data
    return builder.gep(data, [args[index + 1]], source_etype=context.get_data_type(kind.dtype))
