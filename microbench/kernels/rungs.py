"""Rungs of the GEMM ladder that do not pack: plain loops, reordered, in register tiles, and those in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from microbench.kernels import tile as tiles
from microbench.kernels.kernel import Array, Arrays, Integer, Part, Problem, Program, Real, Request, Unsuitable
from microbench.kernels.operands import Matrix, Operand, clear, row_pitch, wrong_product

tile: Any = None
"""In the body that names it, the intrinsic that :func:`microbench.kernels.tile.make` makes."""

# ------------------------------------------------------------------------------------------------- plain loops


def gemm_naive(a: Any, b: Any, c: Any, rows: Any, n: Any, zero: Any) -> None:
    """Sum up each element of C in turn: one chain of additions, and B read column by column."""
    for i in range(rows):
        for j in range(n):
            total = zero
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def gemm_reordered(a: Any, b: Any, c: Any, rows: Any, n: Any, zero: Any) -> None:
    """Add multiples of whole rows of B to each row of C: neighbours in memory follow each other."""
    for i in range(rows):
        for j in range(n):
            c[i, j] = zero
        for k in range(n):
            factor = a[i, k]
            for j in range(n):
                c[i, j] += factor * b[k, j]


def plain_loops(body: Callable[..., None], problem: Problem) -> Program:
    """Return the program of one of the bodies above, for a problem of size n."""
    n, dtype = problem.size("n"), problem.dtype
    left, right = Operand(problem, n, 0), Operand(problem, n, 1)

    def rows(part: Part) -> range:
        return range(*part.share(n))

    def fill_a(part: Part, array: Matrix) -> None:
        left.fill(array, 0, len(rows(part)), rows(part).start)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        return wrong_product(
            lambda i, j: arrays["c"][np.ix_(i - rows(part).start, j)], left, right, rows(part), range(n)
        )

    return Program(
        body,
        (
            Array("a", dtype, lambda part: (len(rows(part)), n), fill_a),
            Array("b", dtype, lambda part: (n, n), right.filler(n), shared=True),
            Array("c", dtype, lambda part: (len(rows(part)), n), clear),
            Integer("rows", lambda part: len(rows(part))),
            Integer("n", lambda part: n),
            Real("zero", 0.0),
        ),
        check,
    )


# ----------------------------------------------------------------------------------------- tiles in registers


def gemm_tiles(
    a: Any, b: Any, c: Any, rows: Any, n: Any, pitch: Any, kc: Any, nc: Any, height: Any, width: Any
) -> None:
    """Compute C by tiles that are held in registers, block by block of B."""
    for jc in range(0, n, nc):
        for pc in range(0, n, kc):
            for i in range(0, rows, height):
                for j in range(jc, min(jc + nc, n), width):
                    steps = min(kc, n - pc)
                    tile(a, i * n + pc, n, b, pc * pitch + j, pitch, c, i * pitch + j, pitch, steps, pc > 0)


TILE_ROWS, TILE_VECTORS = 4, 2
"""The tile of the rungs that do not pack: 8 accumulators hide a latency of 4 cycles at 2 multiply-adds a cycle, and
4 rows of A that begin anywhere need no more address registers than there are."""


def tile_of(problem: Problem | Request) -> tiles.Tile:
    """Return the tile of the rungs that do not pack."""
    return tiles.Tile(problem.precision, problem.vector_bits, TILE_ROWS, TILE_VECTORS, packed=False)


def _rows(part: Part, n: int, shape: tiles.Tile) -> range:
    return range(*part.share(n, shape.rows))


def _tiled(problem: Problem, kc: int, nc: int) -> Program:
    shape = tile_of(problem)
    n, dtype = problem.size("n"), problem.dtype
    pitch = row_pitch(n, shape.width, problem.element_bytes)
    left, right = Operand(problem, n, 0), Operand(problem, n, 1)

    def rows(part: Part) -> range:
        return _rows(part, n, shape)

    def high(part: Part) -> int:
        return tiles.whole(len(rows(part)), shape.rows)

    def fill_a(part: Part, array: Matrix) -> None:
        array[:] = 0
        left.fill(array.reshape(high(part), n), 0, len(rows(part)), rows(part).start)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        product = arrays["c"].reshape(high(part), pitch)
        return wrong_product(lambda i, j: product[np.ix_(i - rows(part).start, j)], left, right, rows(part), range(n))

    return Program(
        gemm_tiles,
        (
            Array("a", dtype, lambda part: (high(part) * n,), fill_a),
            Array("b", dtype, lambda part: (n * pitch,), right.filler(n), shared=True),
            Array("c", dtype, lambda part: (high(part) * pitch,), clear),
            Integer("rows", lambda part: len(rows(part))),
            Integer("n", lambda part: n),
            Integer("pitch", lambda part: pitch),
            Integer("kc", lambda part: kc),
            Integer("nc", lambda part: nc),
            Integer("height", lambda part: shape.rows),
            Integer("width", lambda part: shape.width),
        ),
        check,
        makers={"tile": partial(tiles.make, shape)},
        expects=tiles.expected(shape, problem.fma),
    )


def vectorised(problem: Problem) -> Program:
    """Return the program in tiles alone, for a problem of size n."""
    n = problem.size("n")
    return _tiled(problem, n, n)


def blocked(problem: Problem) -> Program:
    """Return the program in tiles and blocks, for a problem of sizes n, kc and nc."""
    kc, nc = problem.size("kc"), problem.size("nc")
    width = tile_of(problem).width
    if kc < 1 or nc < width or nc % width:
        raise Unsuitable(f"kc and nc are {kc} and {nc}; nc must be a multiple of {width}, the columns of a tile")
    return _tiled(problem, kc, nc)


def quantities(problem: Problem) -> dict[str, int]:
    """Return what the formulas of the rungs with tiles depend on, named as those of the packed one."""
    shape, n = tile_of(problem), problem.size("n")
    kc, nc = (int(problem.sizes.get(name, n)) for name in ("kc", "nc"))
    pitch = row_pitch(n, shape.width, problem.element_bytes)
    strips = sum(-(-len(_rows(part, n, shape)) // shape.rows) for part in problem.parts())
    return {
        "n": n, "mr": shape.rows, "nr": shape.width, "strips": strips, "tiles": strips * -(-n // shape.width),
        "blocks": -(-n // kc), "passes": -(-n // nc), "held": strips * shape.rows * (n + pitch) + n * pitch,
    }  # fmt: skip
