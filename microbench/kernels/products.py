"""Inner loops of sparse products, written out in LLVM IR: the sum of one row, and the sums of a vector of rows.

Both fetch the matrix ahead of its use, since the lines in flight that a core keeps for a stream do not hide the memory
behind loops of so many instructions a line. Where x is scattered its elements are fetched ahead as well, through
indices that are read early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from microbench.kernels.sellpack import AHEAD

_I64, _I32, _I8 = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_CONTRACT = ("contract",)

STREAM_BYTES = 4096
"""Bytes ahead of the loop at which values and indices are fetched. Tried on Zen 4, one thread, 5-point Laplacian in
DRAM: 16 GB/s without, 20, 22, 24 and 25 GB/s at 512, 1024, 2048 and 4096 bytes, 24 at 8192."""

INTO_L1, INTO_L2 = 3, 2
"""Localities of LLVM's prefetch. What is streamed goes to L1. Elements of x go to L2 only: tried on Zen 4 with a
randomly permuted Laplacian, fetching them into L1 won 7 %, into L2 65 %, for more of them can be under way."""

UNROLLED = 8
"""Entries of a row that are added as a tree before they join its sum: of one chain, each addition would wait."""


@dataclass(frozen=True, slots=True)
class Operands:
    """Where the matrix and x lie: pointers to values, 32-bit column numbers, and x; and the type of an element."""

    values: Any
    columns: Any
    x: Any
    element: Any

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return 8 if isinstance(self.element, ir.DoubleType) else 4


class Writer:
    """Writes the instructions. `ahead` says whether elements of x are fetched ahead."""

    def __init__(self, builder: ir.IRBuilder, operands: Operands, ahead: bool) -> None:
        self.builder, self.operands, self.ahead = builder, operands, ahead

    def value(self, at: Any, shift: int, lanes: int = 1) -> Any:
        """Load one value, or a vector of neighbours."""
        element = self.operands.element
        kind = ir.VectorType(element, lanes) if lanes > 1 else element
        return self._load(self.operands.values, at, shift, element, kind)

    def x(self, at: Any, shift: int) -> Any:
        """Load the element of x that an entry is multiplied by, and fetch the one of a later entry."""
        if self.ahead:
            self._fetch(self._place_of_x(at, shift + AHEAD), INTO_L2)
        return self._load_at(self._place_of_x(at, shift), self.operands.element)

    def stream_ahead(self, at: Any, entries: int) -> None:
        """Fetch the lines of matrix that come `STREAM_BYTES` after the next few entries."""
        for base, size in ((self.operands.values, self.operands.bytes), (self.operands.columns, 4)):
            place = self.builder.gep(base, [self.builder.mul(at, ir.Constant(_I64, size))], source_etype=_I8)
            for offset in range(0, entries * size, 64):
                shifted = self.builder.gep(place, [ir.Constant(_I64, STREAM_BYTES + offset)], source_etype=_I8)
                self._fetch(shifted, INTO_L1)

    def multiply_add(self, value: Any, x: Any, total: Any) -> Any:
        """Return value * x + total, in one instruction where the CPU has it."""
        return self.builder.fadd(self.builder.fmul(value, x, flags=_CONTRACT), total, flags=_CONTRACT)

    def _place_of_x(self, at: Any, shift: int) -> Any:
        column = self._load(self.operands.columns, at, shift, _I32, _I32)
        return self.builder.gep(self.operands.x, [self.builder.zext(column, _I64)], source_etype=self.operands.element)

    def _load(self, base: Any, at: Any, shift: int, element: Any, kind: Any) -> Any:
        place = self.builder.gep(base, [at], source_etype=element)
        return self._load_at(self.builder.gep(place, [ir.Constant(_I64, shift)], source_etype=element), kind)

    def _load_at(self, place: Any, kind: Any) -> Any:
        value = self.builder.load(place, typ=kind)
        value.align = 4 if kind == _I32 else self.operands.bytes
        return value

    def _fetch(self, place: Any, locality: int) -> None:
        pointer = ir.PointerType()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        read, data = ir.Constant(_I32, 0), ir.Constant(_I32, 1)
        self.builder.call(function, [place, read, ir.Constant(_I32, locality), data])


def emit_row(builder: ir.IRBuilder, operands: Operands, begin: Any, end: Any, ahead: bool) -> Any:
    """Emit the sum over the entries from `begin` to `end`, scalar by scalar; return it.

    Eight at a time, then one jump to as many single steps as are left: short rows, of which most matrices have only a
    few lengths, cost one well predicted jump instead of a loop.
    """
    writer = Writer(builder, operands, ahead)
    zero = ir.Constant(operands.element, 0.0)
    head, many, few, done = builder.block, *(builder.append_basic_block(name) for name in ("many", "few", "done"))
    rim = builder.sub(end, ir.Constant(_I64, UNROLLED))
    builder.cbranch(builder.icmp_signed("<=", begin, rim), many, few)

    builder.position_at_end(many)
    at, sum_so_far = builder.phi(_I64), builder.phi(operands.element)
    at.add_incoming(begin, head)
    sum_so_far.add_incoming(zero, head)
    writer.stream_ahead(at, UNROLLED)
    terms: list[Any] = []
    for shift in range(0, UNROLLED, 2):
        product = builder.fmul(writer.value(at, shift), writer.x(at, shift), flags=_CONTRACT)
        terms.append(writer.multiply_add(writer.value(at, shift + 1), writer.x(at, shift + 1), product))
    while len(terms) > 1:
        terms = [builder.fadd(left, right) for left, right in zip(terms[::2], terms[1::2], strict=True)]
    longer = builder.fadd(sum_so_far, terms[0])
    following = builder.add(at, ir.Constant(_I64, UNROLLED))
    at.add_incoming(following, many)
    sum_so_far.add_incoming(longer, many)
    builder.cbranch(builder.icmp_signed("<=", following, rim), many, few)

    builder.position_at_end(few)
    rest_at, start = builder.phi(_I64), builder.phi(operands.element)
    for where, value, block in ((begin, zero, head), (following, longer, many)):
        rest_at.add_incoming(where, block)
        start.add_incoming(value, block)
    writer.stream_ahead(rest_at, 1)
    steps = [builder.append_basic_block(f"left_{left}") for left in range(UNROLLED - 1, 0, -1)]
    # Without a default that can be reached, no code is made for one.
    never = builder.append_basic_block("never")
    jump = builder.switch(builder.sub(end, rest_at), never)
    jump.add_case(ir.Constant(_I64, 0), done)
    builder.position_at_end(never)
    builder.unreachable()
    before: tuple[Any, Any] | None = None
    for left, block, after in zip(range(UNROLLED - 1, 0, -1), steps, [*steps[1:], done], strict=True):
        jump.add_case(ir.Constant(_I64, left), block)
        builder.position_at_end(block)
        total = builder.phi(operands.element)
        total.add_incoming(start, few)
        if before is not None:
            total.add_incoming(*before)
        result = writer.multiply_add(writer.value(rest_at, left - 1), writer.x(rest_at, left - 1), total)
        before = (result, block)
        builder.branch(after)

    builder.position_at_end(done)
    assert before is not None
    whole = builder.phi(operands.element)
    whole.add_incoming(start, few)
    whole.add_incoming(*before)
    return whole


def emit_rows(
    builder: ir.IRBuilder, operands: Operands, lanes: int, begin: Any, end: Any, stride: Any, y: Any, ahead: bool
) -> None:
    """Emit the sums of `lanes` rows whose entries stand side by side, and store them at `y`.

    The vector of each row's next entry comes `stride` entries after the one before, from `begin` until `end`. Elements
    of x are loaded one by one: tried on Zen 4, hardware gathers took 1.4 times as long from L1.
    """
    writer = Writer(builder, operands, ahead)
    vector = ir.VectorType(operands.element, lanes)
    zero = ir.Constant(vector, [0.0] * lanes)
    head, step, done = builder.block, builder.append_basic_block("step"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("<", begin, end), step, done)

    builder.position_at_end(step)
    at, total = builder.phi(_I64), builder.phi(vector)
    at.add_incoming(begin, head)
    total.add_incoming(zero, head)
    writer.stream_ahead(at, lanes)
    x = ir.Constant(vector, ir.Undefined)
    for lane in range(lanes):
        x = builder.insert_element(x, writer.x(at, lane), ir.Constant(_I32, lane))
    longer = writer.multiply_add(writer.value(at, 0, lanes), x, total)
    following = builder.add(at, stride)
    at.add_incoming(following, step)
    total.add_incoming(longer, step)
    builder.cbranch(builder.icmp_signed("<", following, end), step, done)

    builder.position_at_end(done)
    whole = builder.phi(vector)
    whole.add_incoming(zero, head)
    whole.add_incoming(longer, step)
    builder.store(whole, y).align = operands.bytes


def row_sum(ahead: bool) -> Any:
    """Return an intrinsic: (values, columns, x, begin, end) -> the sum of one row."""

    @intrinsic  # type: ignore[untyped-decorator]
    def total(typingctx: Any, values: Any, columns: Any, x: Any, begin: Any, end: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            operands = _operands(context, builder, signature.args, args)
            return emit_row(builder, operands, args[3], args[4], ahead)

        return values.dtype(values, columns, x, types.int64, types.int64), codegen

    return total


def rows_sums(lanes: int, ahead: bool) -> Any:
    """Return an intrinsic: (values, columns, x, y, begin, end, stride, row) -> None; stores the sums from y[row] on."""

    @intrinsic  # type: ignore[untyped-decorator]
    def sums(
        typingctx: Any, values: Any, columns: Any, x: Any, y: Any, begin: Any, end: Any, stride: Any, row: Any
    ) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            operands = _operands(context, builder, signature.args, args)
            results = _pointer(context, builder, signature.args[3], args[3])
            place = builder.gep(results, [args[7]], source_etype=operands.element)
            emit_rows(builder, operands, lanes, args[4], args[5], args[6], place, ahead)
            return context.get_dummy_value()

        return types.void(values, columns, x, y, *(types.int64,) * 4), codegen

    return sums


def _operands(context: Any, builder: ir.IRBuilder, kinds: Sequence[Any], args: Sequence[Any]) -> Operands:
    values, columns, x = (_pointer(context, builder, kinds[index], args[index]) for index in range(3))
    return Operands(values, columns, x, context.get_data_type(kinds[0].dtype))


def _pointer(context: Any, builder: ir.IRBuilder, kind: Any, array: Any) -> Any:
    """Return the address of an array's data as a pointer of no type, which can be stored through as any."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.inttoptr(builder.ptrtoint(data, _I64), ir.PointerType())
