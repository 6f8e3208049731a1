"""Grids of points for stencils: how they are cut and laid, what runs over them, and what a step must give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.catalog import LINE_BYTES
from microbench.kernels.arrays import clear, constant
from microbench.kernels.kernel import (
    Array,
    Arrays,
    Integer,
    Part,
    Problem,
    Program,
    Real,
    Request,
    Unsuitable,
    differs,
    fill_pattern,
    pattern,
    sampled,
)
from microbench.kernels.rows import Rows, make_drain

TOLERANCE = {"fp64": 1e-14, "fp32": 1e-5}

TOGETHER = {2: 8, 3: 4}
"""Rows, or planes, that the blocked kernels do at a time. Of 8 rows, 10 are loaded and not 24, which leaves the lines
between L1 and L2 to what comes from memory; more planes would be more streams than cores prefetch."""

GRANULES = 4
"""A side is made a multiple of something where that takes less than a quarter of it away."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of n points in each of `dimensions`, with one layer of points around it.

    Each part has a slab of whole layers (points, rows, planes) of its own, with a layer of its neighbours' on both
    sides. Rows are padded so that the inner points of each begin at a cache line.
    """

    problem: Problem
    dimensions: int

    @property
    def n(self) -> int:
        """Points along each axis."""
        return self.problem.size("n")

    @property
    def weight(self) -> float:
        """Of each point of a sum, so that it is their mean."""
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
        """Layers of a part."""
        begin, end = part.share(self.n)
        return end - begin

    def length(self, part: Part) -> int:
        """Points of a slab with all that surrounds it."""
        if self.dimensions == 1:
            return self.line + self.layers(part) + 1
        return (self.layers(part) + 2) * self.pitches[0]

    def arrays(self) -> tuple[Array, Array]:
        """Return the slabs before and after a step."""

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
        """Return the program of a body: one layer at a time, or :data:`TOGETHER` with non-temporal stores."""
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
                numbers["block"] = at_least(1, "block", self.problem)
        integers = [constant(name, value) for name, value in numbers.items()]
        arguments: tuple[Array | Integer | Real, ...] = (
            *self.arrays(),
            Integer("layers", self.layers),
            *integers,
            Real("weight", self.weight),
        )
        return Program(body, arguments, self.check, makers=makers, expects=rows.counts)


def at_least(least: int, name: str, problem: Problem) -> int:
    """Return a size; Unsuitable if it is less."""
    size = problem.size(name)
    if size < least:
        raise Unsuitable(f"{name} is {size}; at least {least} is needed")
    return size


def side(dimensions: int, request: Request) -> int:
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
