"""Matrix product C = A B as a ladder: plain loops, reordered, in register tiles, blocked, packed, and NumPy's BLAS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from microbench.kernels import blas, packed
from microbench.kernels import tile as tiles
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import (
    Array,
    Arrays,
    Integer,
    Part,
    Problem,
    Program,
    Real,
    Request,
    Spec,
    Unsuitable,
    fixed,
    plain,
)
from microbench.kernels.operands import Matrix, Operand, clear, row_pitch, wrong_product

tile: Any = None
"""In the body that names it, the intrinsic that :func:`microbench.kernels.tile.make` makes."""

SMALL, USUAL = 512, 2048
"""n of the rungs that take seconds for more, and of the others."""

BLOCK_STEPS = 128
"""Rows of a block of B: for each tile of C that is loaded and stored, as many multiply-adds a vector."""

LARGER = ((8, 4096), (64, 8192))
"""Threads from which n is larger, so that each still has a part worth packing: 17 GFLOP or more."""

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


def _plain(body: Callable[..., None], problem: Problem) -> Program:
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


def tile_of(problem: Problem) -> tiles.Tile:
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


def _vectorised(problem: Problem) -> Program:
    n = problem.size("n")
    return _tiled(problem, n, n)


def _blocked(problem: Problem) -> Program:
    kc, nc = problem.size("kc"), problem.size("nc")
    width = tile_of(problem).width
    if kc < 1 or nc < width or nc % width:
        raise Unsuitable(f"kc and nc are {kc} and {nc}; nc must be a multiple of {width}, the columns of a tile")
    return _tiled(problem, kc, nc)


# ------------------------------------------------------------------------------------------------------- sizes


def _usual(request: Request) -> int:
    """Return the n of a request: what is usual, and more for many threads where their memory holds it."""
    n = USUAL
    for threads, larger in LARGER:
        if request.threads >= threads and 3 * larger**2 * request.element_bytes <= request.bytes:
            n = larger
    return n


def _fit_blocked(request: Request) -> dict[str, int | str]:
    """Return n and the blocks of B: half of L2 holds one."""
    width = tiles.Tile(request.precision, request.vector_bits, TILE_ROWS, TILE_VECTORS).width
    half = request.capacities.get("L2", packed.L2) // 2
    nc = max(1, half // (BLOCK_STEPS * request.element_bytes) // width) * width
    return {"n": _usual(request), "kc": BLOCK_STEPS, "nc": nc}


def _tile_quantities(problem: Problem) -> dict[str, int]:
    """Return what the formulas of the rungs with tiles depend on, named as those of the packed one."""
    shape, n = tile_of(problem), problem.size("n")
    kc, nc = (int(problem.sizes.get(name, n)) for name in ("kc", "nc"))
    pitch = row_pitch(n, shape.width, problem.element_bytes)
    strips = sum(-(-len(_rows(part, n, shape)) // shape.rows) for part in problem.parts())
    return {
        "n": n, "mr": shape.rows, "nr": shape.width, "strips": strips, "tiles": strips * -(-n // shape.width),
        "blocks": -(-n // kc), "passes": -(-n // nc), "held": strips * shape.rows * (n + pitch) + n * pitch,
    }  # fmt: skip


# ----------------------------------------------------------------------------------------------------- catalogue


def _rung(rung: int, name: str, title: str, implementation: str, **facts: Any) -> Spec:
    return Spec(
        name=name,
        family="dense",
        title=title,
        implementation=implementation,
        source="Counted from the loops: n³ multiplications and as many additions",
        flop=Formula("2*n**3"),
        compulsory=Formula("3*s*n**2"),
        instructions="fma",
        mix="load",
        ladder="gemm",
        rung=rung,
        representative=("fp64",),
        **facts,
    )


_IN_TILES: dict[str, Any] = {
    "implementation": "explicit vectors",
    "read": Formula("s*tiles*(n*(mr+nr)+(blocks-1)*mr*nr)"),
    "written": Formula("s*tiles*blocks*mr*nr"),
    "allocate": Formula("s*tiles*mr*nr"),
    "working_set": Formula("s*held"),
    "quantities": _tile_quantities,
}
_SLOW = f"Runs at n = {SMALL} unless told otherwise, because larger ones take seconds"
_TILES = (
    "Tiles of mr x nr elements of C are held in registers; rows and columns of the last ones are filled up with zeros, "
    "whose operations are not counted"
)
SERIES = (32, 64, 128, 256, 512, 1024)
"""n of the series of sizes: small ones are bound by the packing and the memory, large ones by the arithmetic."""


def _packed(request: Request, n: int | None = None) -> dict[str, int | str]:
    return packed.fit(_usual(request) if n is None else n, request)


KERNELS = (
    _rung(
        1,
        "gemm_naive",
        "GEMM, three plain loops",
        "compiled loops",
        read=Formula("2*s*n**3"),
        written=Formula("s*n**2"),
        allocate=Formula("s*n**2"),
        traffic=Formula("s*(n**3+3*n**2)"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        quantities=plain,
        task=partial(_plain, gemm_naive),
        limit="chain",
        notes=f"{_SLOW}. Traffic: B once for each row of A",
    ),
    _rung(
        2,
        "gemm_reordered",
        "GEMM, loops reordered",
        "compiled loops",
        read=Formula("s*(2*n**3+n**2)"),
        written=Formula("s*(n**3+n**2)"),
        allocate=Formula("s*n**2"),
        traffic=Formula("s*(n**3+3*n**2)"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        quantities=plain,
        task=partial(_plain, gemm_reordered),
        notes=f"{_SLOW}. Traffic: B once for each row of A",
    ),
    _rung(
        3,
        "gemm_vectorised",
        "GEMM, vectors in register tiles",
        traffic=Formula("s*(strips*n**2+3*n**2)"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        task=_vectorised,
        notes=f"{_SLOW}. {_TILES}. Traffic: B once for each of the strips, the rows of tiles",
        **_IN_TILES,
    ),
    _rung(
        4,
        "gemm_blocked",
        "GEMM, blocked for the caches",
        traffic=Formula("s*(passes*n**2+t*n**2+2*blocks*n**2)"),
        sizes=("n", "kc", "nc"),
        fit=_fit_blocked,
        task=_blocked,
        notes=f"{_TILES}. Blocks of kc x nc elements of B stay in L2. Traffic: A once for each of the passes over it, "
        "B once for each thread, C read and written for each block of the inner dimension",
        **_IN_TILES,
    ),
    _rung(
        5,
        "gemm_packed",
        "GEMM, packed panels",
        "explicit vectors",
        read=Formula("s*(copied+tiles*(n*(mr+nr)+(blocks-1)*mr*nr))"),
        written=Formula("s*(packed+tiles*blocks*mr*nr)"),
        allocate=Formula("s*tiles*mr*nr"),
        traffic=Formula("s*(copied+2*blocks*tiles*mr*nr)"),
        working_set=Formula("s*(2*n**2+held)"),
        sizes=("n", "mc", "kc", "nc"),
        fit=_packed,
        quantities=packed.quantities,
        task=packed.task,
        series=lambda request: tuple(_packed(request, n) for n in SERIES),
        notes=f"{_TILES}. Copies of mc x kc elements of A stay in L2, of kc x nc elements of B in L3. Traffic: A and B "
        "as they are copied, C read and written for each block of the inner dimension",
    ),
    _rung(
        6,
        "gemm_blas",
        "GEMM, NumPy's BLAS",
        "library",
        read=Formula("2*s*n**2"),
        written=Formula("s*n**2"),
        allocate=Formula("s*n**2"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=lambda request: {"n": _usual(request)},
        quantities=plain,
        task=blas.task,
        series=lambda request: tuple({"n": n} for n in SERIES),
        notes="What the library loads and stores is not known: bytes are those of A, B and C, each once",
    ),
)
