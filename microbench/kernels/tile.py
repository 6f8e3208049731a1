"""Register tiles: a small block of a matrix product held in vector registers, written out as LLVM IR.

A tile of C has some rows and, in each, a few vectors side by side. A step of the inner dimension loads the vectors of
one row of B and one element of each row of A, which is copied into all lanes, and does one multiply-add for each vector
of the tile.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from microbench import catalog
from microbench.assembly import Counts

UNROLLED = 4
"""Steps of one trip of the inner loop: the loop's own three instructions are then few beside 48 multiply-adds or more,
and its remainder is short."""

PREFETCH_LINE = 64
"""Bytes between two prefetches of what the tile is added to; cores with longer lines do some of them twice."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A block of C in registers.

    Attributes
    ----------
    precision : str
        Of its elements.
    bits : int
        Width of a vector.
    rows, vectors : int
        Rows, and vectors in each.
    chains : int
        Sets of accumulators that take turns from step to step, for tiles with too few of them to hide the latency of a
        multiply-add; :data:`UNROLLED` is a multiple of it.
    packed : bool
        Whether A comes column by column of the tile (element i of step k at k * rows + i) and B row by row of it (at
        k * width), one step after the other. If not, both have pitches of their own.
    ahead : int
        Bytes of B, after what a step loads, that it prefetches; 0 for none.
    """

    precision: str
    bits: int
    rows: int
    vectors: int
    chains: int = 1
    packed: bool = True
    ahead: int = 0

    @property
    def lanes(self) -> int:
        """Elements of a vector; 1 where there are none."""
        return max(1, self.bits // (8 * catalog.precision(self.precision).bytes))

    @property
    def width(self) -> int:
        """Elements of a row."""
        return self.vectors * self.lanes

    def counts(self, fused: bool) -> Counts:
        """Return what a trip of the inner loop contains on x86; `fused`: whether a multiply-add is one instruction."""
        done = UNROLLED * self.rows * self.vectors
        return Counts(
            fma=done if fused else 0,
            add=0 if fused else done,
            mul=0 if fused else done,
            loads=UNROLLED * (self.rows + self.vectors),
            vector_bits=self.bits,
        )


def largest(precision: str, bits: int, registers: int) -> Tile:
    """Return the tile that makes most of the vector registers.

    24 accumulators of 32 registers, 12 of 16, leave room for the vectors of B and copies of elements of A, and hide a
    latency of 4 cycles at up to 6 and 3 multiply-adds a cycle. The nearer to a square of loads a tile is, the fewer
    loads it takes for a multiply-add: 11 for 24, and 8 for 12.
    """
    rows, vectors = (8, 3) if registers >= 32 else (6, 2)
    return Tile(precision, bits, rows, vectors)


def whole(extent: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not below `extent`."""
    return -(-extent // unit) * unit


def make(tile: Tile) -> Any:
    """Return the intrinsic of a packed tile: (a, at, b, bt, c, ct, pitch, steps, add).

    Adds to the tile of `c` that begins at element `ct` and whose rows are `pitch` elements apart, or where `add` is
    false puts there, the product of `steps` columns of A from element `at` of `a` and rows of B from `bt` of `b`.

    That of a tile that is not packed takes the elements between rows of A after `at` and between those of B after `bt`.
    """
    from numba import types
    from numba.extending import intrinsic

    def emitted(context: Any, builder: Any, signature: Any, args: Any, places: dict[str, int]) -> Any:
        def pointer(name: str) -> Any:
            return _pointer(context, builder, signature, args, places[name])

        def number(name: str) -> Any:
            return args[places[name]] if name in places else None

        emit(
            builder, tile, pointer("a"), number("a_pitch"), pointer("b"), number("b_pitch"), pointer("c"),
            number("pitch"), number("steps"), number("add"), platform.machine(),
        )  # fmt: skip
        return context.get_dummy_value()

    if tile.packed:

        @intrinsic  # type: ignore[untyped-decorator]
        def packed(
            typingctx: Any, a: Any, at: Any, b: Any, bt: Any, c: Any, ct: Any, pitch: Any, steps: Any, add: Any
        ) -> Any:
            places = {"a": 0, "b": 2, "c": 4, "pitch": 6, "steps": 7, "add": 8}
            i64 = types.int64
            return types.void(a, i64, b, i64, c, i64, i64, i64, types.boolean), lambda *found: emitted(*found, places)

        return packed

    @intrinsic  # type: ignore[untyped-decorator]
    def pitched(
        typingctx: Any, a: Any, at: Any, a_pitch: Any, b: Any, bt: Any, b_pitch: Any, c: Any, ct: Any, pitch: Any,
        steps: Any, add: Any,
    ) -> Any:  # fmt: skip
        places = {"a": 0, "a_pitch": 2, "b": 3, "b_pitch": 5, "c": 6, "pitch": 8, "steps": 9, "add": 10}
        i64 = types.int64
        signature = types.void(a, i64, i64, b, i64, i64, c, i64, i64, i64, types.boolean)
        return signature, lambda *found: emitted(*found, places)

    return pitched


def emit(
    builder: Any, tile: Tile, a: Any, a_pitch: Any, b: Any, b_pitch: Any, c: Any, c_pitch: Any, steps: Any, add: Any,
    machine: str,
) -> None:  # fmt: skip
    """Emit the whole of a tile at the end of the builder's block; pitches are in elements."""
    from llvmlite import ir

    i64 = ir.IntType(64)
    size = catalog.precision(tile.precision).bytes
    writer = _Writer(builder, tile, machine)

    def bytes_of(elements: Any) -> Any:
        return builder.mul(elements, ir.Constant(i64, size))

    row = bytes_of(c_pitch)
    a_row = ir.Constant(i64, size) if tile.packed else bytes_of(a_pitch)
    a_step = ir.Constant(i64, size * (tile.rows if tile.packed else 1))
    b_step = ir.Constant(i64, size * tile.width) if tile.packed else bytes_of(b_pitch)
    rows = [writer.at(c, builder.mul(row, ir.Constant(i64, index))) for index in range(tile.rows)]
    for begin in rows:
        for offset in range(0, tile.width * size, PREFETCH_LINE):
            writer.prefetch(writer.at(begin, ir.Constant(i64, offset)))

    zero = [writer.zero() for _ in range(tile.rows * tile.vectors)]
    sums = [list(zero) for _ in range(tile.chains)]
    unrolled = ir.Constant(i64, UNROLLED)
    for trips, length in ((builder.sdiv(steps, unrolled), UNROLLED), (builder.srem(steps, unrolled), 1)):
        before = builder.block
        head, after = builder.append_basic_block("steps"), builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed(">", trips, ir.Constant(i64, 0)), head, after)
        builder.position_at_end(head)
        left, a_now, b_now = builder.phi(i64), builder.phi(a.type), builder.phi(b.type)
        held = [[builder.phi(writer.type) for _ in chain] for chain in sums]
        now = [list(chain) for chain in held]
        for step in range(length):
            writer.apart()
            chain = step % tile.chains
            at_a = writer.at(a_now, builder.mul(a_step, ir.Constant(i64, step)))
            at_b = writer.at(b_now, builder.mul(b_step, ir.Constant(i64, step)))
            now[chain] = writer.step(now[chain], at_a, a_row, at_b)
        moves = [builder.mul(by, ir.Constant(i64, length)) for by in (a_step, b_step)]
        a_next, b_next = writer.at(a_now, moves[0]), writer.at(b_now, moves[1])
        rest = builder.sub(left, ir.Constant(i64, 1))
        for phi, start, value in ((left, trips, rest), (a_now, a, a_next), (b_now, b, b_next)):
            phi.add_incoming(start, before)
            phi.add_incoming(value, head)
        for chain, (phis, starts) in enumerate(zip(held, sums, strict=True)):
            for index, phi in enumerate(phis):
                phi.add_incoming(starts[index], before)
                phi.add_incoming(now[chain][index], head)
        builder.cbranch(builder.icmp_signed(">", rest, ir.Constant(i64, 0)), head, after)
        builder.position_at_end(after)

        def merged(kind: Any, start: Any, value: Any, before: Any = before, head: Any = head) -> Any:
            phi = builder.phi(kind)
            phi.add_incoming(start, before)
            phi.add_incoming(value, head)
            return phi

        a, b = merged(a.type, a, a_next), merged(b.type, b, b_next)
        sums = [
            [merged(writer.type, start, value) for start, value in zip(starts, chain, strict=True)]
            for starts, chain in zip(sums, now, strict=True)
        ]

    total = sums[0]
    for chain in sums[1:]:
        total = [builder.fadd(one, other) for one, other in zip(total, chain, strict=True)]
    onto, put, done = (builder.append_basic_block(name) for name in ("onto", "put", "done"))
    builder.cbranch(add, onto, put)
    for block in (onto, put):
        builder.position_at_end(block)
        for index, value in enumerate(total):
            place = writer.past(rows[index // tile.vectors], index % tile.vectors)
            writer.store(builder.fadd(writer.load(place), value) if block is onto else value, place)
        builder.branch(done)
    builder.position_at_end(done)


class _Writer:
    """The instructions that tiles are made of. Vectors need the alignment of an element only."""

    def __init__(self, builder: Any, tile: Tile, machine: str) -> None:
        from llvmlite import ir

        self._builder, self._tile, self._ir = builder, tile, ir
        self._size = catalog.precision(tile.precision).bytes
        self.element = ir.DoubleType() if self._size == 8 else ir.FloatType()
        self.type = ir.VectorType(self.element, tile.lanes) if tile.lanes > 1 else self.element
        # aarch64 multiplies by one lane of a vector, so that the elements of A can be loaded as vectors too.
        self._by_lane = (
            machine.lower() in ("aarch64", "arm64") and tile.packed and tile.lanes > 1 and tile.rows % tile.lanes == 0
        )

    def zero(self) -> Any:
        return self._ir.Constant(self.type, None if self._tile.lanes > 1 else 0.0)

    def at(self, pointer: Any, offset: Any) -> Any:
        return self._builder.gep(pointer, [offset], source_etype=self._ir.IntType(8))

    def load(self, pointer: Any, kind: Any = None) -> Any:
        value = self._builder.load(self._cast(pointer, kind or self.type), typ=kind or self.type)
        value.align = self._size
        return value

    def store(self, value: Any, pointer: Any) -> None:
        self._builder.store(value, self._cast(pointer, value.type)).align = self._size

    def past(self, pointer: Any, vectors: int) -> Any:
        """Return the address so many vectors later."""
        return self.at(pointer, self._ir.Constant(self._ir.IntType(64), vectors * self._tile.bits // 8))

    def step(self, sums: list[Any], a: Any, a_row: Any, b: Any) -> list[Any]:
        """Return the accumulators after one step."""
        ir, tile = self._ir, self._tile
        i64 = ir.IntType(64)
        vectors = [self.load(self.past(b, index)) for index in range(tile.vectors)]
        if tile.ahead:
            for offset in range(0, tile.width * self._size, PREFETCH_LINE):
                self.prefetch(self.at(b, ir.Constant(i64, tile.ahead + offset)), write=False)
        after = []
        loaded = None
        for row in range(tile.rows):
            place = self.at(a, self._builder.mul(a_row, ir.Constant(i64, row)))
            if self._by_lane:
                if row % tile.lanes == 0:
                    loaded = self.load(place)
                copies = self._copied(loaded, row % tile.lanes)
            else:
                copies = self._splat(self.load(place, self.element))
            for index, vector in enumerate(vectors):
                after.append(self._multiply_add(copies, vector, sums[row * tile.vectors + index]))
        return after

    def prefetch(self, pointer: Any, *, write: bool = True) -> None:
        from numba.core import cgutils

        ir = self._ir
        i32, anywhere = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [anywhere, i32, i32, i32])
        function = cgutils.get_or_insert_function(self._builder.module, kind, "llvm.prefetch.p0")
        place = self._builder.bitcast(pointer, anywhere)
        self._builder.call(function, [place, *(ir.Constant(i32, value) for value in (int(write), 3, 1))])

    def apart(self) -> None:
        """Keep trips apart, so that LLVM neither unrolls the loop further nor mixes two of them."""
        kind = self._ir.FunctionType(self._ir.VoidType(), [])
        nothing = self._ir.InlineAsm(kind, "", "~{memory}", side_effect=True)
        self._builder.call(nothing, [], attrs=("convergent",))

    def _cast(self, pointer: Any, kind: Any) -> Any:
        return self._builder.bitcast(pointer, kind.as_pointer())

    def _splat(self, element: Any) -> Any:
        if self._tile.lanes == 1:
            return element
        i32 = self._ir.IntType(32)
        first = self._builder.insert_element(self._ir.Constant(self.type, self._ir.Undefined), element, i32(0))
        return self._copied(first, 0)

    def _copied(self, vector: Any, lane: int) -> Any:
        kind = self._ir.VectorType(self._ir.IntType(32), self._tile.lanes)
        lanes = self._ir.Constant(kind, [lane] * self._tile.lanes)
        return self._builder.shuffle_vector(vector, vector, lanes)

    def _multiply_add(self, x: Any, y: Any, addend: Any) -> Any:
        """Return x * y + addend: fused where the CPU can, two instructions elsewhere."""
        from numba.core import cgutils

        suffix = f"f{8 * self._size}"
        name = f"llvm.fmuladd.v{self._tile.lanes}{suffix}" if self._tile.lanes > 1 else f"llvm.fmuladd.{suffix}"
        kind = self._ir.FunctionType(self.type, [self.type] * 3)
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, kind, name), [x, y, addend])


def expected(tile: Tile) -> Counts | None:
    """Return what the inner loop must be seen to contain on this CPU; None where that depends on the compiler.

    aarch64 multiplies by one lane of a vector, and LLVM decides how many of those it loads at once.
    """
    from microbench import confirm

    found, _ = confirm.host()
    return tile.counts(found.fma) if found.family == "x86" else None


def make_copy(tile: Tile) -> Any:
    """Return the intrinsic (b, bt, panel, place) that copies a row of a tile's width from element `bt` of `b`."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def copied(typingctx: Any, b: Any, bt: Any, panel: Any, place: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            writer = _Writer(builder, tile, platform.machine())
            source, target = (_pointer(context, builder, signature, args, at) for at in (0, 2))
            for index in range(tile.vectors):
                writer.store(writer.load(writer.past(source, index)), writer.past(target, index))
            return context.get_dummy_value()

        return types.void(b, types.int64, panel, types.int64), codegen

    return copied


def make_turn(tile: Tile) -> Any:
    """Return the intrinsic (a, at, pitch, block, place) that copies :data:`UNROLLED` steps of a tile's rows.

    Rows are `pitch` elements apart in `a`; in `block` the elements of a step come beside each other.
    """
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def turned(typingctx: Any, a: Any, at: Any, pitch: Any, block: Any, place: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            writer = _Writer(builder, tile, platform.machine())
            source, target = (_pointer(context, builder, signature, args, at) for at in (0, 3))
            i64, i32 = ir.IntType(64), ir.IntType(32)
            size = catalog.precision(tile.precision).bytes
            row = builder.mul(args[2], ir.Constant(i64, size))
            short = ir.VectorType(writer.element, UNROLLED)
            pieces = [
                writer.load(writer.at(source, builder.mul(row, ir.Constant(i64, index))), short)
                for index in range(tile.rows)
            ]
            for step in range(UNROLLED):
                column = ir.Constant(ir.VectorType(writer.element, tile.rows), ir.Undefined)
                for index, piece in enumerate(pieces):
                    column = builder.insert_element(
                        column, builder.extract_element(piece, ir.Constant(i32, step)), ir.Constant(i32, index)
                    )
                writer.store(column, writer.at(target, ir.Constant(i64, step * tile.rows * size)))
            return context.get_dummy_value()

        return types.void(a, types.int64, types.int64, block, types.int64), codegen

    return turned


def _pointer(context: Any, builder: Any, signature: Any, args: Any, index: int) -> Any:
    """Return the address in the array that is argument number `index`, at the element that the next argument names."""
    kind = signature.args[index]
    data = context.make_array(kind)(context, builder, args[index]).data
    return builder.gep(data, [args[index + 1]], source_etype=context.get_data_type(kind.dtype))
