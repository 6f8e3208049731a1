"""Stencils: Jacobi steps in one, two and three dimensions, plain and blocked for the caches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.catalog import LINE_BYTES
from microbench.kernels.formula import Formula
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
    Unsuitable,
    as_many,
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)
from microbench.kernels.rows import Rows, make_drain

TOLERANCE = {"fp64": 1e-14, "fp32": 1e-5}

CACHES = {"L1": 32 << 10, "L2": 512 << 10}
"""Bytes of a thread's caches to block for where none was measured: what small cores have."""

STEPS = 8
"""Time steps that `jacobi_1d_blocked` does while a tile is in the cache: enough for its intensity in fp64 to reach the
ridge point of a core that gets about 30 GB/s from memory."""

TOGETHER = {2: 8, 3: 4}
"""Rows, or planes, that the blocked kernels do at a time. Of 8 rows, 10 are loaded and not 24, which leaves the lines
between L1 and L2 to what comes from memory; more planes would be more streams than cores prefetch."""

GRANULES = 4
"""A side is made a multiple of something where that takes less than a quarter of it away."""

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


# -------------------------------------------------------------------------------------------- grids and sizes


@dataclass(frozen=True, slots=True)
class _Grid:
    """A grid of n points in each of `dimensions`, with one layer of points around it.

    Each part has a slab of whole layers (points, rows, planes) of its own, with a layer of its neighbours' on both
    sides. Rows are padded so that the inner points of each begin at a cache line.
    """

    problem: Problem
    dimensions: int

    @property
    def n(self) -> int:
        return self.problem.size("n")

    @property
    def weight(self) -> float:
        return 1.0 / (2 * self.dimensions + 1)

    @property
    def line(self) -> int:
        """Points of a cache line."""
        return LINE_BYTES // self.problem.element_bytes

    @property
    def pitches(self) -> tuple[int, ...]:
        """Points from one point to the next along each axis, the first axis that of the layers."""
        row = self.line + -(-(self.n + 1) // self.line) * self.line
        return tuple(row * (self.n + 2) ** (axis - 1) if axis else 1 for axis in reversed(range(self.dimensions)))

    @property
    def start(self) -> int:
        """Where the first inner point lies: at a line, one row and one plane in."""
        return self.line + sum(pitch for pitch in self.pitches if pitch > 1)

    def layers(self, part: Part) -> int:
        begin, end = part.share(self.n)
        return end - begin

    def length(self, part: Part) -> int:
        """Points of a slab with all that surrounds it."""
        if self.dimensions == 1:
            return self.line + self.layers(part) + 1
        return (self.layers(part) + 2) * self.pitches[0]

    def arrays(self) -> tuple[Array, Array]:
        def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
            fill_pattern(array, 0, len(array), first=part.share(self.n)[0] * self.pitches[0])

        def shape(part: Part) -> tuple[int, ...]:
            return (self.length(part),)

        return Array("old", self.problem.dtype, shape, fill), Array("new", self.problem.dtype, shape, clear)

    def check(self, part: Part, arrays: Arrays, passes: int) -> str:
        """Compare sampled inner points with sums over what was filled in."""
        inner = (self.layers(part), *((self.n,) * (self.dimensions - 1)))
        if not passes or not all(inner):
            return ""
        indices = np.unravel_index(sampled(int(np.prod(inner))), inner)
        places = np.full(indices[0].shape, self.start)
        for index, pitch in zip(indices, self.pitches, strict=True):
            places = places + index * pitch
        first = part.share(self.n)[0] * self.pitches[0]
        distances = [0] + [sign * pitch for pitch in self.pitches for sign in (-1, 1)]
        values = [pattern(places + first + away, self.problem.dtype).astype(np.float64) for away in distances]
        expected = np.sum(values, axis=0) * self.weight
        return differs(arrays["new"][places], expected, TOLERANCE[self.problem.precision], "point")

    @property
    def together(self) -> int:
        """Layers done at a time by the blocked kernels."""
        return TOGETHER[self.dimensions]

    def program(self, body: Callable[..., None], *, blocked: bool = False) -> Program:
        rows = Rows(self.problem, self.dimensions, nontemporal=blocked)
        makers = {"sum_rows": rows.make}
        # From the row outwards, as the bodies take them.
        numbers = {"start": self.start, **dict(zip(("pitch", "plane"), self.pitches[-2::-1], strict=False))}
        if self.dimensions > 1:
            numbers = {"n": self.n, **numbers}
        if blocked:
            rows = Rows(self.problem, self.dimensions, self.together, nontemporal=True)
            makers |= {"sum_several": rows.make, "drain": make_drain}
            numbers["several"] = self.together
            if "block" in self.problem.sizes:
                numbers["block"] = _at_least(1, "block", self.problem)
        integers = [constant(name, value) for name, value in numbers.items()]
        arguments: tuple[Array | Integer | Real, ...] = (
            *self.arrays(),
            Integer("layers", self.layers),
            *integers,
            Real("weight", self.weight),
        )
        return Program(body, arguments, self.check, makers=makers, expects=rows.counts)


def clear(part: Part, array: np.ndarray[Any, Any]) -> None:
    """Fill an array with zeros: a result that no step leaves."""
    array[:] = 0


def _at_least(least: int, name: str, problem: Problem) -> int:
    size = problem.size(name)
    if size < least:
        raise Unsuitable(f"{name} is {size}; at least {least} is needed")
    return size


def constant(name: str, value: int) -> Integer:
    """Return a whole number that is the same for every part."""
    return Integer(name, lambda part: value)


def _side(dimensions: int, request: Request) -> int:
    """Return the largest side of a grid that the bytes hold twice, in whole lines and the same for every thread."""
    line = LINE_BYTES // request.element_bytes

    def needed(n: int) -> int:
        pitch = (n + line + 1 + line) // line * line
        return int(2 * request.element_bytes * (n + 2 * request.threads) * (n + 2) ** (dimensions - 2) * pitch)

    n: int = max(1, round((request.bytes / (2 * request.element_bytes)) ** (1 / dimensions)))
    while n > 1 and needed(n) > request.bytes:
        n -= 1
    # Vectors of the blocked kernels come in pairs.
    for granule in (math.lcm(2 * line, request.threads), 2 * line, request.threads):
        if n >= GRANULES * granule:
            return int(n // granule * granule)
    return n


def _square(request: Request) -> dict[str, int | str]:
    return {"n": _side(2, request)}


def _cube(request: Request) -> dict[str, int | str]:
    return {"n": _side(3, request)}


def _blocks(request: Request) -> dict[str, int | str]:
    """Return rows of a block: what its planes that are done together need fills half of L2."""
    n = _side(3, request)
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
    steps, block = _at_least(2, "steps", problem), _at_least(1, "block", problem)
    grid, rows = _Grid(problem, 1), Rows(problem, 1)

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
    grid, block = _Grid(problem, 1), _at_least(1, "block", problem)
    return {**plain(problem), "tiles": sum(-(-grid.layers(part) // block) for part in problem.parts())}


def _layered(dimensions: int) -> Callable[[Problem], dict[str, int]]:
    """Return quantities: the points of a padded row; layers done together over all parts, and those left."""

    def quantities(problem: Problem) -> dict[str, int]:
        grid = _Grid(problem, dimensions)
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
    around = {1: "", 2: "*(n+2)", 3: "*(n+2)**2"}[dimensions]
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
        compulsory=Formula(f"s*(n+2)**{dimensions} + s*{points}"),
        working_set=Formula(f"2*s*({padded})"),
        traffic=Formula(f"s*(n+2*t){around} + {'s' if blocked else '2*s'}*{points}"),
        sizes=("n", "block") if dimensions == 3 and blocked else ("n",),
        task=lambda problem: _Grid(problem, dimensions).program(body, blocked=bool(blocked)),
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
