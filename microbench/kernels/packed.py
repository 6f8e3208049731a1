"""Matrix product from packed panels: the register tiles read copies of A and B in the order in which they need them.

The loops are those of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34 (2008): a
panel of B (kc x nc) stays in the last cache, a block of A (mc x kc) in L2, and the tiles' share of it in L1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from microbench.kernels import tile as tiles
from microbench.kernels.kernel import Array, Arrays, Integer, Part, Problem, Program, Real, Request, Unsuitable
from microbench.kernels.operands import Matrix, Operand, clear, row_pitch, wrong_product
from microbench.kernels.tile import UNROLLED

tile: Any = None
turn: Any = None
copy: Any = None
"""In bodies of programs these are the intrinsics that the functions of :mod:`microbench.kernels.tile` make."""

TOGETHER = 8
"""Rows of B that are copied side by side: whole rows are read as streams, 8 at a time, and written by whole lines."""


def pack_rows(a: Any, row: Any, rows: Any, column: Any, steps: Any, n: Any, height: Any, zero: Any, block: Any) -> None:
    """Lay rows of A so that a tile finds the elements of each step beside each other; zeros fill the last tile."""
    for first in range(0, rows, height):
        present = min(height, rows - first)
        begin, place, k = (row + first) * n + column, first * steps, 0
        if present == height:
            while k + UNROLLED <= steps:
                turn(a, begin + k, n, block, place + k * height)
                k += UNROLLED
        while k < steps:
            for i in range(present):
                block[place + k * height + i] = a[begin + i * n + k]
            for i in range(present, height):
                block[place + k * height + i] = zero
            k += 1


def pack_columns(
    b: Any, row: Any, steps: Any, column: Any, columns: Any, n: Any, width: Any, zero: Any, panel: Any
) -> None:
    """Lay columns of B so that a tile finds the rows of its steps one after the other; zeros fill the last tile."""
    for begin in range(0, steps, TOGETHER):
        for first in range(0, columns, width):
            present = min(width, columns - first)
            for k in range(begin, min(begin + TOGETHER, steps)):
                source, place = (row + k) * n + column + first, first * steps + k * width
                if present == width:
                    copy(b, source, panel, place)
                else:
                    for j in range(present):
                        panel[place + j] = b[source + j]
                    for j in range(present, width):
                        panel[place + j] = zero


def gemm_packed(
    a: Any, b: Any, c: Any, block: Any, panel: Any, row: Any, rows: Any, column: Any, columns: Any, n: Any, pitch: Any,
    mc: Any, kc: Any, nc: Any, height: Any, width: Any, zero: Any,
) -> None:  # fmt: skip
    """Compute C by tiles from copies of A and B in the order in which the tiles read them."""
    for jc in range(0, columns, nc):
        wide = min(nc, columns - jc)
        for pc in range(0, n, kc):
            steps = min(kc, n - pc)
            pack_columns(b, pc, steps, column + jc, wide, n, width, zero, panel)
            for ic in range(0, rows, mc):
                high = min(mc, rows - ic)
                pack_rows(a, row + ic, high, pc, steps, n, height, zero, block)
                for j in range(0, wide, width):
                    for i in range(0, high, height):
                        tile(block, i * steps, panel, j * steps, c, (ic + i) * pitch + jc + j, pitch, steps, pc > 0)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a problem is cut: C into a grid of parts as near to squares as the threads allow, and each into tiles."""

    problem: Problem

    @property
    def n(self) -> int:
        return self.problem.size("n")

    @property
    def tile(self) -> tiles.Tile:
        return tiles.largest(self.problem.precision, self.problem.vector_bits, self.problem.registers)

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Return mc, kc and nc; Unsuitable if tiles do not divide them."""
        mc, kc, nc = (self.problem.size(name) for name in ("mc", "kc", "nc"))
        for name, size, unit in (("mc", mc, self.tile.rows), ("kc", kc, 1), ("nc", nc, self.tile.width)):
            if size < unit or size % unit:
                raise Unsuitable(f"{name} is {size}; it must be a multiple of {unit}, the extent of a tile")
        return mc, kc, nc

    def rows(self, part: Part) -> range:
        return range(*Part(part.index // self._across, self._down).share(self.n, self.tile.rows))

    def columns(self, part: Part) -> range:
        return range(*Part(part.index % self._across, self._across).share(self.n, self.tile.width))

    def high(self, part: Part) -> int:
        """Rows of a part in whole tiles."""
        return tiles.whole(len(self.rows(part)), self.tile.rows)

    def wide(self, part: Part) -> int:
        """Columns of a part in whole tiles."""
        return tiles.whole(len(self.columns(part)), self.tile.width)

    def pitch(self, part: Part) -> int:
        return row_pitch(len(self.columns(part)), self.tile.width, self.problem.element_bytes)

    def block(self, part: Part) -> int:
        """Elements of the copy of A."""
        return min(self.blocks[0], self.high(part)) * min(self.blocks[1], self.n)

    def panel(self, part: Part) -> int:
        """Elements of the copy of B."""
        return min(self.blocks[2], self.wide(part)) * min(self.blocks[1], self.n)

    @property
    def _across(self) -> int:
        threads = self.problem.threads
        return max(divisor for divisor in range(1, math.isqrt(threads) + 1) if threads % divisor == 0)

    @property
    def _down(self) -> int:
        return self.problem.threads // self._across


def task(problem: Problem) -> Program:
    """Return the program of a problem of sizes n, mc, kc and nc."""
    plan = _Plan(problem)
    n, dtype, shape = plan.n, problem.dtype, plan.tile
    mc, kc, nc = plan.blocks
    left, right = Operand(problem, n, 0), Operand(problem, n, 1)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        rows, columns = plan.rows(part), plan.columns(part)
        product = arrays["c"].reshape(plan.high(part), plan.pitch(part))

        def found(i: Any, j: Any) -> Matrix:
            return product[np.ix_(i - rows.start, j - columns.start)]

        return wrong_product(found, left, right, rows, columns)

    return Program(
        gemm_packed,
        (
            Array("a", dtype, lambda part: (n * n,), left.filler(n), shared=True),
            Array("b", dtype, lambda part: (n * n,), right.filler(n), shared=True),
            Array("c", dtype, lambda part: (plan.high(part) * plan.pitch(part),), clear),
            Array("block", dtype, lambda part: (plan.block(part),), clear),
            Array("panel", dtype, lambda part: (plan.panel(part),), clear),
            Integer("row", lambda part: plan.rows(part).start),
            Integer("rows", lambda part: len(plan.rows(part))),
            Integer("column", lambda part: plan.columns(part).start),
            Integer("columns", lambda part: len(plan.columns(part))),
            Integer("n", lambda part: n),
            Integer("pitch", plan.pitch),
            Integer("mc", lambda part: mc),
            Integer("kc", lambda part: kc),
            Integer("nc", lambda part: nc),
            Integer("height", lambda part: shape.rows),
            Integer("width", lambda part: shape.width),
            Real("zero", 0.0),
        ),
        check,
        helpers={"pack_rows": pack_rows, "pack_columns": pack_columns},
        makers={
            "tile": partial(tiles.make, shape),
            "turn": partial(tiles.make_turn, shape),
            "copy": partial(tiles.make_copy, shape),
        },
        expects=tiles.expected(shape, problem.fma),
    )


def quantities(problem: Problem) -> Mapping[str, int]:
    """Return what the formulas depend on.

    ``mr`` and ``nr`` are rows and columns of a tile, ``tiles`` their number, ``blocks`` that of blocks of the inner
    dimension, ``copied`` and ``packed`` the elements read and written to pack A and B, ``held`` those of C and copies.
    """
    plan = _Plan(problem)
    n, shape, (_, kc, nc) = plan.n, plan.tile, plan.blocks
    totals = dict.fromkeys(("tiles", "copied", "packed", "held"), 0)
    for part in problem.parts():
        high, wide = plan.high(part), plan.wide(part)
        strips = -(-len(plan.columns(part)) // nc)
        totals["tiles"] += high // shape.rows * (wide // shape.width)
        totals["copied"] += n * (strips * len(plan.rows(part)) + len(plan.columns(part)))
        totals["packed"] += n * (strips * high + wide)
        totals["held"] += high * plan.pitch(part) + plan.block(part) + plan.panel(part)
    return {"n": n, "mr": shape.rows, "nr": shape.width, "blocks": -(-n // kc), **totals}


L1, L2 = 1 << 15, 1 << 19
"""Capacities taken where none is known: those of most cores, or less."""

WIDEST = 4096
"""Most columns of a panel of B where no third cache bounds it: A is packed once more for each further panel."""

SHARE = 2
"""Of each cache a half is filled: the rest is for what streams past."""


def fit(n: int, request: Request) -> dict[str, int | str]:
    """Return the sizes of a product of n x n, its blocks by the capacities of the caches.

    Half of L1 holds the rows of A of a tile, half of L2 the block of A, half of L3 the panel of B.
    """
    shape = tiles.largest(request.precision, request.vector_bits, request.registers)
    size = request.element_bytes
    capacities = request.capacities

    def units(capacity: int, bytes_each: int, unit: int) -> int:
        return max(1, capacity // SHARE // bytes_each // unit) * unit

    kc = units(capacities.get("L1", L1), shape.rows * size, UNROLLED)
    mc = units(capacities.get("L2", L2), kc * size, shape.rows)
    nc = units(SHARE * WIDEST, 1, shape.width)
    if "L3" in capacities:
        nc = min(nc, units(capacities["L3"], kc * size, shape.width))
    return {"n": n, "mc": mc, "kc": kc, "nc": nc}
