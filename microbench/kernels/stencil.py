"""Stencils: Jacobi steps in one, two and three dimensions, plain and blocked for the caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microbench.kernels.arrays import clear, constant
from microbench.kernels.formula import Formula
from microbench.kernels.grid import TOGETHER, TOLERANCE, Grid, at_least, side
from microbench.kernels.kernel import (
    NOTHING,
    Array,
    Arrays,
    Integer,
    Part,
    Problem,
    Program,
    Real,
    Request,
    Spec,
    as_many,
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)
from microbench.kernels.rows import Rows

CACHES = {"L1": 32 << 10, "L2": 512 << 10}
"""Bytes of a thread's caches to block for where none was measured: what small cores have."""

STEPS = 8
"""Time steps that `jacobi_1d_blocked` does while a tile is in the cache: enough for its intensity in fp64 to reach the
ridge point of a core that gets about 30 GB/s from memory."""

NUMBERS = {1: "two", 2: "four", 3: "six"}


# ------------------------------------------------------------------------------------------------- the code
#
# Arrays are flat, inner points begin at `start`. Layers are points, rows or planes. The functions that are called are
# those of :mod:`microbench.kernels.rows`, put in their place when a program is compiled.

sum_rows: Any = None
sum_several: Any = None
drain: Any = None


def jacobi_1d(old: Any, new: Any, layers: Any, start: Any, weight: Any) -> None:
    """Set each inner point to the weighted sum of itself and its two neighbours."""
    sum_rows(new, start, old, start, layers, weight)


def jacobi_1d_blocked(old: Any, new: Any, tile: Any, n: Any, block: Any, steps: Any, weight: Any) -> None:
    """Do `steps` steps tile by tile: each needs one point less on both sides of a tile than the step before."""
    for begin in range(0, n, block):
        inner = min(block, n - begin)
        sum_rows(tile, 0, old, begin + 1, inner + 2 * (steps - 1), weight)
        for step in range(2, steps):
            # In place, every point one to the left of where it was: nothing is overwritten that is still needed.
            sum_rows(tile, 0, tile, 1, inner + 2 * (steps - step), weight)
        sum_rows(new, begin, tile, 1, inner, weight)


def jacobi_2d(old: Any, new: Any, layers: Any, n: Any, start: Any, pitch: Any, weight: Any) -> None:
    """Set each inner point to the weighted sum of itself and its four neighbours."""
    for y in range(layers):
        place = start + y * pitch
        sum_rows(new, place, old, place, n, weight, pitch)


def jacobi_2d_blocked(
    old: Any, new: Any, layers: Any, n: Any, start: Any, pitch: Any, several: Any, weight: Any
) -> None:
    """Do the same for `several` rows at a time: what one loads as its own is the others' neighbour."""
    whole = layers - layers % several
    for y in range(0, whole, several):
        place = start + y * pitch
        sum_several(new, place, old, place, n, weight, pitch)
    for y in range(whole, layers):
        place = start + y * pitch
        sum_rows(new, place, old, place, n, weight, pitch)
    drain()


def jacobi_3d(old: Any, new: Any, layers: Any, n: Any, start: Any, pitch: Any, plane: Any, weight: Any) -> None:
    """Set each inner point to the weighted sum of itself and its six neighbours."""
    for z in range(layers):
        for y in range(n):
            place = start + z * plane + y * pitch
            sum_rows(new, place, old, place, n, weight, pitch, plane)


def jacobi_3d_blocked(
    old: Any, new: Any, layers: Any, n: Any, start: Any, pitch: Any, plane: Any, several: Any, block: Any, weight: Any
) -> None:
    """Do the same for `several` planes at a time, in blocks of `block` rows that a near cache holds."""
    whole = layers - layers % several
    for begin in range(0, n, block):
        end = min(begin + block, n)
        for z in range(0, whole, several):
            for y in range(begin, end):
                place = start + z * plane + y * pitch
                sum_several(new, place, old, place, n, weight, pitch, plane)
        for z in range(whole, layers):
            for y in range(begin, end):
                place = start + z * plane + y * pitch
                sum_rows(new, place, old, place, n, weight, pitch, plane)
    drain()


# ------------------------------------------------------------------------------------------------- the sizes


def _square(request: Request) -> dict[str, int | str]:
    return {"n": side(2, request)}


def _cube(request: Request) -> dict[str, int | str]:
    return {"n": side(3, request)}


def _blocks(request: Request) -> dict[str, int | str]:
    """Return rows of a block: what its planes that are done together need fills half of L2."""
    n = side(3, request)
    planes = TOGETHER[3] + 2
    rows = request.capacities.get("L2", CACHES["L2"]) // (2 * planes * request.element_bytes * (n + 2))
    return {"n": n, "block": max(4, rows)}


def _tiles(request: Request) -> dict[str, int | str]:
    """Return points of a tile: it and its part of the old and new points fill half of L1."""
    points = request.capacities.get("L1", CACHES["L1"]) // (2 * 3 * request.element_bytes)
    return {**as_many(2, 16)(request), "block": max(64, points // 64 * 64), "steps": STEPS}


# ------------------------------------------------------------------------------------------------ the tasks


def _jacobi_1d_blocked(problem: Problem) -> Program:
    n, dtype = problem.size("n"), problem.dtype
    steps, block = at_least(2, "steps", problem), at_least(1, "block", problem)
    grid, rows = Grid(problem, 1), Rows(problem, 1)

    def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
        fill_pattern(array, 0, len(array), first=part.share(n)[0])

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        places = sampled(grid.layers(part))
        if not passes or not len(places):
            return ""
        around = places[:, None] + part.share(n)[0] + np.arange(2 * steps + 1)
        values = pattern(around, dtype).astype(np.float64)
        for _ in range(steps):
            values = (values[:, :-2] + values[:, 1:-1] + values[:, 2:]) / 3
        # Each step rounds anew.
        return differs(arrays["new"][places], values[:, 0], steps * TOLERANCE[problem.precision], "point")

    return Program(
        jacobi_1d_blocked,
        (
            Array("old", dtype, lambda part: (grid.layers(part) + 2 * steps,), fill),
            Array("new", dtype, lambda part: (grid.layers(part),), clear),
            Array("tile", dtype, lambda part: (block + 2 * steps,), clear),
            Integer("n", grid.layers),
            constant("block", block),
            constant("steps", steps),
            Real("weight", grid.weight),
        ),
        check,
        makers={"sum_rows": rows.make},
        expects=rows.counts,
    )


def _tiled(problem: Problem) -> dict[str, int]:
    """Return the sizes, and how many tiles there are over all parts."""
    grid, block = Grid(problem, 1), at_least(1, "block", problem)
    return {**plain(problem), "tiles": sum(-(-grid.layers(part) // block) for part in problem.parts())}


def _layered(dimensions: int) -> Callable[[Problem], dict[str, int]]:
    """Return quantities: the points of a padded row; layers done together over all parts, and those left."""

    def quantities(problem: Problem) -> dict[str, int]:
        grid = Grid(problem, dimensions)
        several = TOGETHER.get(dimensions, 1)
        counts = [grid.layers(part) for part in problem.parts()]
        groups = sum(count // several for count in counts)
        padded = {"pitch": grid.pitches[-2]} if dimensions > 1 else {"line": grid.line}
        return {**plain(problem), **padded, "groups": groups, "rest": sum(counts) - several * groups}

    return quantities


def _jacobi(dimensions: int, body: Callable[..., None], *, blocked: str = "", **facts: Any) -> Spec:
    """Return what the kernels that do one step have in common."""
    layer = f"*n**{dimensions - 1}" if dimensions > 2 else "*n" * (dimensions - 1)
    points = f"n**{dimensions}" if dimensions > 1 else "n"
    neighbours = 2 * dimensions + 1
    read = f"{neighbours}*s*{points}"
    if blocked:
        several = Rows(Problem("fp64", {}), dimensions, TOGETHER[dimensions]).loads
        read = f"s{layer}*({several}*groups+{neighbours}*rest)"
    padded = {1: "n+t*(line+1)", 2: "(n+2*t)*pitch", 3: "(n+2*t)*(n+2)*pitch"}[dimensions]
    return Spec(
        name=f"jacobi_{dimensions}d" + ("_blocked" if blocked else ""),
        family="stencil",
        title=f"Jacobi {dimensions}-D, {neighbours} points" + (f", {blocked}" if blocked else ""),
        implementation="explicit vectors",
        source=f"Counted from the loop: {NUMBERS[dimensions]} additions and a multiplication a point",
        flop=Formula(f"{neighbours}*{points}"),
        read=Formula(read),
        written=Formula(f"s*{points}"),
        allocate=NOTHING if blocked else Formula(f"s*{points}"),
        compulsory=Formula(f"s*(2*{points} + {2 * dimensions}{layer})"),
        working_set=Formula(f"2*s*({padded})"),
        traffic=Formula(
            f"s*({2 if blocked else 3}*{points} + {'2*t' if dimensions == 1 else f'2*(t+{dimensions - 1})'}{layer})"
        ),
        sizes=("n", "block") if dimensions == 3 and blocked else ("n",),
        task=lambda problem: Grid(problem, dimensions).program(body, blocked=bool(blocked)),
        quantities=_layered(dimensions),
        instructions="mul_add_unfused",
        mix="copy_nt" if blocked else "copy",
        **facts,
    )


KERNELS = (
    _jacobi(1, jacobi_1d, fit=as_many(2, 16), streaming=True),
    Spec(
        name="jacobi_1d_blocked",
        family="stencil",
        title="Jacobi 1-D, 3 points, several steps in cache",
        implementation="explicit vectors",
        source="Counted from the loop: two additions and a multiplication a point and step, with the points around "
        "each tile that its neighbours compute too",
        flop=Formula("3*(steps*n + steps*(steps-1)*tiles)"),
        read=Formula("3*s*(steps*n + steps*(steps-1)*tiles)"),
        written=Formula("s*(steps*n + steps*(steps-1)*tiles)"),
        allocate=Formula("s*n"),
        compulsory=Formula("s*(2*n+2*steps)"),
        working_set=Formula("s*(2*n + 2*steps*t + (block+2*steps)*t)"),
        traffic=Formula("s*(3*n+2*steps*t)"),
        sizes=("n", "block", "steps"),
        fit=_tiles,
        quantities=_tiled,
        task=_jacobi_1d_blocked,
        instructions="mul_add_unfused",
        mix="copy",
        notes="A pass is several time steps, which share one trip through memory",
    ),
    _jacobi(
        2,
        jacobi_2d,
        fit=_square,
        streaming=True,
        representative=("fp64",),
        notes="Traffic as if three rows of a thread stayed in a cache",
    ),
    _jacobi(
        2,
        jacobi_2d_blocked,
        blocked="eight rows at a time, non-temporal stores",
        fit=_square,
        notes="Traffic as if two rows of a thread stayed in a cache",
    ),
    _jacobi(3, jacobi_3d, fit=_cube, notes="Traffic as if three planes of a thread stayed in a cache"),
    _jacobi(
        3,
        jacobi_3d_blocked,
        blocked="four planes at a time in blocks of rows, non-temporal stores",
        fit=_blocks,
        notes="Traffic as if each old point came once: blocks overlap by two rows, and groups of planes by two planes",
    ),
)
