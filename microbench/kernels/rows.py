"""Rows of a grid in explicit vectors: each point becomes the weighted sum of itself and its neighbours."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from microbench.assembly import Counts
from microbench.kernels.kernel import Problem
from microbench.kernels.writer import Writer, pointer_to

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
        """Elements of a vector; 1 where there are none."""
        return max(1, self.problem.vector_bits // 8 // self.problem.element_bytes)

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
        past = self.nontemporal and self.lanes > 1
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
            stores=0 if past else points,
            nontemporal_stores=points if past else 0,
            vector_bits=self.problem.vector_bits,
        )

    def make(self) -> Any:
        """Return the intrinsic ``sum_rows(new, to, old, at, count, weight, *pitches)``.

        For each i below `count`: ``new[to + i] = weight * (sum of old[at + i] and of its neighbours)``, which lie 1 and
        each of the pitches before and behind, one pitch for each dimension beyond the first; and the same in the
        following layers, which are the last pitch apart. Arrays are flat. `new` may be `old` if `to` is below `at`.
        """
        from numba import types
        from numba.extending import intrinsic

        whole = types.int64

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            new, old = (pointer_to(context, builder, signature, args, index) for index in (0, 2))
            self.emit(builder, new, old, args[4], args[5], args[6:], platform.machine())
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

        writer = Writer(builder, self.problem.precision, self.problem.vector_bits, machine)
        emitter = Emitter(builder, self.problem.precision, self.problem.vector_bits, machine)

        def located(pointer: Any, place: Any) -> Any:
            return writer.at(pointer, writer.times(place, writer.size))

        def trip(first: Any, kind: Any, factor: Any, width: int) -> None:
            loaded: dict[Offset, Any] = {}
            places = self._places(builder, first, pitches)

            def value(offset: Offset) -> Any:
                if offset not in loaded:
                    place = places[offset[-1] if self.dimensions > 1 else 0]
                    if self.dimensions == 3 and offset[1]:
                        place = builder.add(place, writer.times(pitches[0], offset[1]))
                    loaded[offset] = writer.load(writer.at(located(old, place), offset[0] * writer.size), kind)
                return loaded[offset]

            for layer in range(self.layers):
                row = located(new, places[layer])
                past = builder.inttoptr(builder.ptrtoint(row, ir.IntType(64)), ir.PointerType())
                for along in range(0, width, self.lanes):
                    total = None
                    for offset in self._star(along, layer):
                        total = value(offset) if total is None else builder.fadd(total, value(offset))
                    total = builder.fmul(total, factor)
                    if self.nontemporal and kind is not writer.element:
                        emitter.store(total, past, along * writer.size, nontemporal=True)
                    else:
                        writer.store(total, writer.at(row, along * writer.size))
            emitter.flush()

        place, weights = writer.integer(0), writer.splat(weight)
        # Single vectors are not worth code of their own where several rows are done at once.
        single = [self.lanes] if self.layers == 1 and self.lanes > 1 else []
        for width in (self.lanes * self.unroll, *single, 1):
            step = writer.integer(width)
            kind, factor = (writer.element, weight) if width < self.lanes else (writer.type, weights)

            def body(
                values: list[Any], kind: Any = kind, factor: Any = factor, width: int = width, step: Any = step
            ) -> list[Any]:
                writer.apart()
                trip(values[0], kind, factor, width)
                return [builder.add(values[0], step)]

            (place,) = writer.loop(builder.sdiv(builder.sub(count, place), step), [place], body)

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
