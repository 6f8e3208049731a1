"""Register tiles: a small block of a matrix product held in vector registers, written out as LLVM IR.

A tile of C has some rows and, in each, a few vectors side by side. A step of the inner dimension loads the vectors of
one row of B and one element of each row of A, which is copied into all lanes, and does one multiply-add for each vector
of the tile.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from microbench import catalog
from microbench.assembly import Counts
from microbench.kernels.writer import Writer, by_lane, pointer_to

UNROLLED = 4
"""Steps of one trip of the inner loop: the loop's own three instructions are then few beside 48 multiply-adds or more,
and its remainder is short."""


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

    def whole_columns(self, by_lane: bool) -> bool:
        """Whether the elements of A of a step are loaded as vectors."""
        return by_lane and self.packed and self.lanes > 1 and self.rows % self.lanes == 0

    def counts(self, fused: bool, by_lane: bool) -> Counts:
        """Return what a trip of the inner loop contains.

        Parameters
        ----------
        fused : bool
            Whether a multiply-add is one instruction.
        by_lane : bool
            Whether it takes one lane of a vector for all; single elements are then loaded as scalars, beside vectors.
        """
        done = UNROLLED * self.rows * self.vectors
        separate = 0 if fused else done
        columns = self.rows // self.lanes if self.whole_columns(by_lane) else self.rows
        return Counts(
            fma=done - separate,
            add=separate,
            mul=separate,
            loads=UNROLLED * (columns + self.vectors),
            vector_bits=-1 if by_lane and not self.whole_columns(by_lane) else self.bits,
        )


def largest(precision: str, bits: int, registers: int) -> Tile:
    """Return the tile that makes most of the vector registers.

    24 accumulators of 32 registers, 12 of 16, leave room for the vectors of B and copies of elements of A, and hide a
    latency of 4 cycles at up to 6 and 3 multiply-adds a cycle. The nearer to a square of loads a tile is, the fewer
    loads it takes for a multiply-add: 11 for 24, and 8 for 12.
    """
    rows, vectors = (8, 3) if registers >= 32 else (6, 2)
    return Tile(precision, bits, rows, vectors)


def expected(tile: Tile, fused: bool) -> Counts:
    """Return what the inner loop must be seen to contain on this machine; see :meth:`Tile.counts`."""
    return tile.counts(fused, by_lane(platform.machine()))


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

    if tile.packed:

        @intrinsic  # type: ignore[untyped-decorator]
        def packed(
            typingctx: Any, a: Any, at: Any, b: Any, bt: Any, c: Any, ct: Any, pitch: Any, steps: Any, add: Any
        ) -> Any:
            places = {"a": 0, "b": 2, "c": 4, "pitch": 6, "steps": 7, "add": 8}
            i64 = types.int64
            return types.void(a, i64, b, i64, c, i64, i64, i64, types.boolean), partial(_emitted, tile, places)

        return packed

    @intrinsic  # type: ignore[untyped-decorator]
    def pitched(
        typingctx: Any, a: Any, at: Any, a_pitch: Any, b: Any, bt: Any, b_pitch: Any, c: Any, ct: Any, pitch: Any,
        steps: Any, add: Any,
    ) -> Any:  # fmt: skip
        places = {"a": 0, "a_pitch": 2, "b": 3, "b_pitch": 5, "c": 6, "pitch": 8, "steps": 9, "add": 10}
        i64 = types.int64
        signature = types.void(a, i64, i64, b, i64, i64, c, i64, i64, i64, types.boolean)
        return signature, partial(_emitted, tile, places)

    return pitched


def _emitted(tile: Tile, places: Mapping[str, int], context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit a tile for the arguments of an intrinsic, which are found by their places."""

    def pointer(name: str) -> Any:
        return pointer_to(context, builder, signature, args, places[name])

    def number(name: str) -> Any:
        return args[places[name]] if name in places else None

    emit(
        builder, tile, pointer("a"), number("a_pitch"), pointer("b"), number("b_pitch"), pointer("c"),
        number("pitch"), number("steps"), number("add"), platform.machine(),
    )  # fmt: skip
    return context.get_dummy_value()


def emit(
    builder: Any, tile: Tile, a: Any, a_pitch: Any, b: Any, b_pitch: Any, c: Any, c_pitch: Any, steps: Any, add: Any,
    machine: str,
) -> None:  # fmt: skip
    """Emit the whole of a tile at the end of the builder's block; pitches are in elements."""
    writer = Writer(builder, tile.precision, tile.bits, machine)
    size, number = writer.size, tile.rows * tile.vectors
    row = writer.times(c_pitch, size)
    a_row = writer.integer(size) if tile.packed else writer.times(a_pitch, size)
    a_step = writer.integer(size * (tile.rows if tile.packed else 1))
    b_step = writer.integer(size * tile.width) if tile.packed else writer.times(b_pitch, size)
    rows = [writer.at(c, writer.times(row, index)) for index in range(tile.rows)]
    for begin in rows:
        writer.prefetch(begin, tile.width * size, write=True)

    def steps_of(length: int) -> Callable[[list[Any]], list[Any]]:
        def trip(values: list[Any]) -> list[Any]:
            a_now, b_now, *sums = values
            for step in range(length):
                writer.apart()
                first = step % tile.chains * number
                turn = slice(first, first + number)
                sums[turn] = _step(
                    writer, tile, sums[turn], after(a_now, a_step, step), a_row, after(b_now, b_step, step)
                )
            return [after(a_now, a_step, length), after(b_now, b_step, length), *sums]

        return trip

    def after(pointer: Any, step: Any, number: int) -> Any:
        return writer.at(pointer, writer.times(step, number))

    values = [a, b, *[writer.zero()] * (number * tile.chains)]
    unrolled = writer.integer(UNROLLED)
    values = writer.loop(builder.sdiv(steps, unrolled), values, steps_of(UNROLLED))
    values = writer.loop(builder.srem(steps, unrolled), values, steps_of(1))
    totals = [writer.add_up(values[2 + index :: number]) for index in range(number)]
    onto, put, done = (builder.append_basic_block(name) for name in ("onto", "put", "done"))
    builder.cbranch(add, onto, put)
    for block in (onto, put):
        builder.position_at_end(block)
        for index, value in enumerate(totals):
            place = writer.past(rows[index // tile.vectors], index % tile.vectors)
            writer.store(builder.fadd(writer.load(place), value) if block is onto else value, place)
        builder.branch(done)
    builder.position_at_end(done)


def _step(writer: Writer, tile: Tile, sums: list[Any], a: Any, a_row: Any, b: Any) -> list[Any]:
    """Return the accumulators after one step."""
    vectors = [writer.load(writer.past(b, index)) for index in range(tile.vectors)]
    if tile.ahead:
        writer.prefetch(writer.at(b, tile.ahead), tile.width * writer.size, nearest=2)
    after = []
    loaded = None
    for row in range(tile.rows):
        place = writer.at(a, writer.times(a_row, row))
        if tile.whole_columns(writer.by_lane):
            loaded = loaded if row % tile.lanes else writer.load(place)
            copies = writer.copied(loaded, row % tile.lanes)
        else:
            copies = writer.splat(writer.load(place, writer.element))
        for index, vector in enumerate(vectors):
            after.append(writer.multiply_add(copies, vector, sums[row * tile.vectors + index]))
    return after


def make_copy(tile: Tile) -> Any:
    """Return the intrinsic (b, bt, panel, place) that copies a row of a tile's width from element `bt` of `b`."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def copied(typingctx: Any, b: Any, bt: Any, panel: Any, place: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            writer = Writer(builder, tile.precision, tile.bits, platform.machine())
            source, target = (pointer_to(context, builder, signature, args, at) for at in (0, 2))
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
            writer = Writer(builder, tile.precision, tile.bits, platform.machine())
            source, target = (pointer_to(context, builder, signature, args, at) for at in (0, 3))
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
