"""Rows of a grid in explicit vectors: each point becomes the weighted sum of itself and its neighbours."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from microbench.assembly import Counts
from microbench.kernels.kernel import Problem

UNROLL = 4
"""Vectors of one trip along a row alone: enough to hide the counter and the branch."""

UNROLL_SEVERAL = 2
"""Vectors of a trip along each of several rows: non-temporal stores of aarch64 move pairs."""

Offset = tuple[int, ...]
"""From the first point of a trip, in steps along each axis; the axis along the row comes first, layers last."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in `layers` neighbouring layers, done at once so that what they have in common is loaded once.

    Attributes
    ----------
    problem : Problem
        For its precision and vectors.
    dimensions : int
        1, 2 or 3; each point has two neighbours along each.
    layers : int
        In one dimension 1.
    nontemporal : bool
        Whether vectors are stored past the caches; then the place of the first must be a multiple of a cache line.
    """

    problem: Problem
    dimensions: int
    layers: int = 1
    nontemporal: bool = False

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.problem.vector_bits // 8 // self.problem.element_bytes

    @property
    def unroll(self) -> int:
        """Vectors of one trip along each row."""
        return UNROLL if self.layers == 1 else UNROLL_SEVERAL

    @property
    def loads(self) -> int:
        """Loads for one point of each layer."""
        return (2 * self.dimensions - 1) * self.layers + 2

    @property
    def counts(self) -> Counts:
        """What the innermost loop contains."""
        points = self.unroll * self.layers
        # Of vectors of two elements, one's right neighbours are the next one's left.
        loaded = {
            offset
            for layer in range(self.layers)
            for vector in range(self.unroll)
            for offset in self._star(vector * self.lanes, layer)
        }
        return Counts(
            add=2 * self.dimensions * points,
            mul=points,
            loads=len(loaded),
            stores=0 if self.nontemporal else points,
            nontemporal_stores=points if self.nontemporal else 0,
            vector_bits=self.problem.vector_bits,
        )

    def make(self) -> Any:
        """Return the intrinsic ``sum_rows(new, to, old, at, count, weight, *pitches)``.

        For each i below `count`: ``new[to + i] = weight * (sum of old[at + i] and of its neighbours)``, which lie 1 and
        each of the pitches before and behind, one pitch for each dimension beyond the first; and the same in the
        following layers, which are the last pitch apart. Arrays are flat. `new` may be `old` if `to` is below `at`.
        """
        from llvmlite import ir
        from numba import types
        from numba.extending import intrinsic

        whole = types.int64

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def begins(array: int) -> Any:
                kind = signature.args[array]
                address = builder.ptrtoint(context.make_array(kind)(context, builder, args[array]).data, ir.IntType(64))
                first = builder.inttoptr(address, ir.PointerType())
                return builder.gep(first, [args[array + 1]], source_etype=context.get_data_type(kind.dtype))

            self.emit(builder, begins(0), begins(2), args[4], args[5], args[6:], platform.machine())
            return context.get_dummy_value()

        @intrinsic  # type: ignore[untyped-decorator]
        def sum_1d(typingctx: Any, new: Any, to: Any, old: Any, at: Any, count: Any, weight: Any) -> Any:
            return types.void(new, whole, old, whole, whole, weight), emit

        @intrinsic  # type: ignore[untyped-decorator]
        def sum_2d(typingctx: Any, new: Any, to: Any, old: Any, at: Any, count: Any, weight: Any, row: Any) -> Any:
            return types.void(new, whole, old, whole, whole, weight, whole), emit

        @intrinsic  # type: ignore[untyped-decorator]
        def sum_3d(
            typingctx: Any, new: Any, to: Any, old: Any, at: Any, count: Any, weight: Any, row: Any, plane: Any
        ) -> Any:
            return types.void(new, whole, old, whole, whole, weight, whole, whole), emit

        return (sum_1d, sum_2d, sum_3d)[self.dimensions - 1]

    def emit(self, builder: Any, new: Any, old: Any, count: Any, weight: Any, pitches: Any, machine: str) -> None:
        """Emit the whole at the end of the builder's block, from pointers to the first points on."""
        from llvmlite import ir

        from microbench.vector import Emitter

        emitter = Emitter(builder, self.problem.precision, self.problem.vector_bits, machine)
        word, element, size = ir.IntType(64), emitter.type.element, self.problem.element_bytes

        lone = builder.insert_element(ir.Constant(emitter.type, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        weights = builder.shuffle_vector(lone, ir.Constant(emitter.type, ir.Undefined), zeros)

        def trip(first: Any, kind: Any, factor: Any, width: int) -> None:
            loaded: dict[Offset, Any] = {}
            places = self._places(builder, first, pitches)

            def value(offset: Offset) -> Any:
                if offset not in loaded:
                    place = places[offset[-1] if self.dimensions > 1 else 0]
                    if self.dimensions == 3 and offset[1]:
                        place = builder.add(place, builder.mul(pitches[0], ir.Constant(word, offset[1])))
                    where = builder.gep(old, [builder.add(place, ir.Constant(word, offset[0]))], source_etype=element)
                    loaded[offset] = builder.load(where, typ=kind)
                    loaded[offset].align = size
                return loaded[offset]

            for layer in range(self.layers):
                row = builder.gep(new, [places[layer]], source_etype=element)
                for along in range(0, width, self.lanes):
                    total = None
                    for offset in self._star(along, layer):
                        total = value(offset) if total is None else builder.fadd(total, value(offset))
                    total = builder.fmul(total, factor)
                    if self.nontemporal and kind is not element:
                        emitter.store(total, row, along * size, nontemporal=True)
                    else:
                        where = builder.gep(row, [ir.Constant(word, along)], source_etype=element)
                        builder.store(total, where).align = size
            emitter.flush()

        begin: Any = ir.Constant(word, 0)
        steps = [self.lanes * self.unroll, 1] if self.nontemporal else [self.lanes * self.unroll, self.lanes, 1]
        for width in steps:
            place, close = loop(builder, begin, count, width)
            if width == 1:
                trip(place, element, weight, 1)
            else:
                trip(place, emitter.type, weights, width)
            close()
            begin = place

    def _places(self, builder: Any, first: Any, pitches: Any) -> dict[int, Any]:
        """Return where each layer lies, by its number from -1 on.

        Each comes from the one before, unseen by LLVM, which would keep a pointer to each and has too few registers.
        """
        from microbench.clock import opaque

        if not pitches:
            return {0: first}
        places = {-1: builder.sub(first, pitches[-1])}
        for layer in range(self.layers + 1):
            places[layer] = opaque(builder, builder.add(places[layer - 1], pitches[-1]))
        return places

    def _point(self, along: int, layer: int) -> Offset:
        between = (0,) * max(0, self.dimensions - 2)
        return (along, *between, layer) if self.dimensions > 1 else (along,)

    def _star(self, along: int, layer: int) -> Iterator[Offset]:
        """Offsets of a point and its neighbours."""
        centre = self._point(along, layer)
        yield centre
        for axis in range(self.dimensions):
            for sign in (-1, 1):
                yield (*centre[:axis], centre[axis] + sign, *centre[axis + 1 :])


def loop(builder: Any, begin: Any, end: Any, width: int) -> tuple[Any, Callable[[], None]]:
    """Begin to emit a loop from `begin` by `width`, as long as whole steps fit below `end`.

    Returns where a trip is (after the loop: where it stopped) and what ends its body. LLVM will not unroll it further,
    nor make vectors of single elements.
    """
    from llvmlite import ir

    word = ir.IntType(64)
    step = ir.Constant(word, width)
    last = builder.sub(end, step)
    before = builder.block
    test, trip, done = (builder.append_basic_block(name) for name in ("test", "trip", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    place = builder.phi(word)
    place.add_incoming(begin, before)
    builder.cbranch(builder.icmp_signed("<=", place, last), trip, done)
    builder.position_at_end(trip)
    barrier = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True)
    builder.call(barrier, [], attrs=("convergent",))

    def close() -> None:
        place.add_incoming(builder.add(place, step), builder.block)
        builder.branch(test)
        builder.position_at_end(done)

    return place, close


def make_drain() -> Any:
    """Return the intrinsic ``drain()``, which waits for non-temporal stores: they are not done when they retire."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def drain(typingctx: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), emit

    return drain
