"""Convolutions: 3x3 with many channels, from plain loops to register tiles, and a shallow filter of three taps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microbench.kernels import pitched
from microbench.kernels import tile as tiles
from microbench.kernels.arrays import clear, constant, extent_of
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
    as_many,
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)

TOLERANCE = {"fp64": 1e-13, "fp32": 1e-4}
"""Relative, of sums of some hundred positive products in any order."""

SIDE, CHANNELS = 54, 64
"""Points along an image and its channels: near the 56 and 64 of the first stage of ResNet-50 (He and others, Deep
Residual Learning for Image Recognition, 2016), and a multiple of the rows of every tile."""

IMAGES_CHECKED = 256
"""Elements of the result that the oracle computes anew; each takes 9 times the channels products."""

TAPS = (0.25, 0.5, 0.1875)

multiply: Any = None
"""In bodies of programs the function of :mod:`microbench.kernels.pitched`."""


# ------------------------------------------------------------------------------------------------- the code
#
# Images lie point by point with the channels of each beside each other (NHWC), with a rim of one point around each;
# results likewise without the rim.


def conv_direct(
    image: Any, weights: Any, result: Any, images: Any, n: Any, channels: Any, filters: Any, zero: Any
) -> None:
    """Compute each element as one sum over the 3x3 points and their channels; filters lie one after the other."""
    for i in range(images):
        for y in range(n):
            for x in range(n):
                for f in range(filters):
                    total = zero
                    for dy in range(3):
                        for dx in range(3):
                            for c in range(channels):
                                total += image[i, y + dy, x + dx, c] * weights[f, dy, dx, c]
                    result[i, y, x, f] = total


def conv_blocked(
    image: Any, weights: Any, result: Any, images: Any, n: Any, channels: Any, filters: Any, height: Any, width: Any
) -> None:
    """Compute tiles of `height` points by `width` filters: three products of matrices, one for each row of 3 points.

    Weights lie in stripes of `width` filters. The three points of a row and their channels are neighbours in memory.
    """
    row, depth = (n + 2) * channels, 3 * channels
    for i in range(images):
        for y in range(n):
            for stripe in range(filters // width):
                for dy in range(3):
                    at = (i * (n + 2) + y + dy) * row
                    by = (3 * stripe + dy) * depth * width
                    to = (i * n + y) * n * filters + stripe * width
                    multiply(image, at, channels, n, weights, by, width, result, to, filters, depth, dy > 0, height)


def filter_3tap(x: Any, y: Any, n: Any, before: Any, here: Any, behind: Any) -> None:
    """Set each element to a weighted sum of the element at its place and its two neighbours."""
    for i in range(n):
        y[i] = before * x[i] + here * x[i + 1] + behind * x[i + 2]


# ------------------------------------------------------------------------------------------- many channels


class _Layer:
    """The data of a 3x3 convolution: images, weights and what comes out, and where the oracle looks."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n, self.channels, self.filters, self.images = map(problem.size, ("n", "channels", "filters", "images"))
        if min(self.n, self.channels, self.filters, self.images) < 1:
            raise Unsuitable("a convolution needs at least one point, channel, filter and image")
        self.image = (self.n + 2, self.n + 2, self.channels)
        self.result = (self.n, self.n, self.filters)

    def mine(self, part: Part) -> int:
        """Images of a part."""
        begin, end = part.share(self.images)
        return end - begin

    def fill(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        flat = array.reshape(-1)
        fill_pattern(flat, 0, len(flat), first=part.share(self.images)[0] * int(np.prod(self.image)))

    def weights(self) -> np.ndarray[Any, Any]:
        """Weights of the whole layer, shape (filters, 3, 3, channels)."""
        shape = (self.filters, 3, 3, self.channels)
        return pattern(np.arange(np.prod(shape)), self.problem.dtype, salt=1).reshape(shape)

    def check(self, part: Part, arrays: Arrays, passes: int) -> str:
        """Compute sampled elements in fp64, from what was filled in."""
        shape = (self.mine(part), *self.result)
        if not passes or not shape[0]:
            return ""
        places = sampled(int(np.prod(shape)), IMAGES_CHECKED)
        image, y, x, f = np.unravel_index(places, shape)
        around = np.ravel_multi_index(
            (
                image[:, None, None, None] + part.share(self.images)[0],
                y[:, None, None, None] + np.arange(3)[:, None, None],
                x[:, None, None, None] + np.arange(3)[:, None],
                np.arange(self.channels),
            ),
            (self.images, *self.image),
        )
        values = pattern(around, self.problem.dtype).astype(np.float64)
        expected = np.sum(values * self.weights()[f], axis=(1, 2, 3), dtype=np.float64)
        return differs(arrays["result"].reshape(-1)[places], expected, TOLERANCE[self.problem.precision])


def _direct(problem: Problem) -> Program:
    layer, dtype = _Layer(problem), problem.dtype
    shape = (layer.filters, 3, 3, layer.channels)

    def weights(part: Part, array: np.ndarray[Any, Any]) -> None:
        array[:] = layer.weights()

    return Program(
        conv_direct,
        (
            Array("image", dtype, lambda part: (layer.mine(part), *layer.image), layer.fill),
            Array("weights", dtype, lambda part: shape, weights),
            Array("result", dtype, lambda part: (layer.mine(part), *layer.result), clear),
            Integer("images", layer.mine),
            constant("n", layer.n),
            constant("channels", layer.channels),
            constant("filters", layer.filters),
            Real("zero", 0.0),
        ),
        layer.check,
    )


def _blocked(problem: Problem) -> Program:
    layer, dtype, shape = _Layer(problem), problem.dtype, pitched.shape(problem)
    if layer.filters % shape.width:
        raise Unsuitable(f"filters is {layer.filters}; tiles of this CPU need a multiple of {shape.width}")

    def weights(part: Part, array: np.ndarray[Any, Any]) -> None:
        stripes = layer.weights().reshape(-1, shape.width, 9 * layer.channels)
        array[:] = np.swapaxes(stripes, 1, 2).reshape(-1)

    def extent(part: Part, of: tuple[int, ...]) -> tuple[int, ...]:
        return (layer.mine(part) * int(np.prod(of)),)

    return Program(
        conv_blocked,
        (
            Array("image", dtype, lambda part: extent(part, layer.image), layer.fill),
            Array("weights", dtype, lambda part: (layer.filters * 9 * layer.channels,), weights),
            Array("result", dtype, lambda part: extent(part, layer.result), clear),
            Integer("images", layer.mine),
            constant("n", layer.n),
            constant("channels", layer.channels),
            constant("filters", layer.filters),
            constant("height", shape.rows),
            constant("width", shape.width),
        ),
        layer.check,
        helpers={"multiply": pitched.multiply},
        makers=pitched.makers(problem),
        expects=tiles.expected(shape, problem.fma),
    )


def _tiled(problem: Problem) -> Mapping[str, int]:
    """Return the sizes, points and filters of a tile, and along a row the whole tiles and the points left."""
    shape, n = pitched.shape(problem), problem.size("n")
    return {**plain(problem), "p": shape.rows, "w": shape.width, "whole": n // shape.rows, "rest": n % shape.rows}


def _images(request: Request) -> dict[str, int | str]:
    return {"n": SIDE, "channels": CHANNELS, "filters": CHANNELS, "images": request.threads}


def _conv(name: str, title: str, implementation: str, read: str, **facts: Any) -> Spec:
    return Spec(
        name=name,
        family="convolution",
        title=title,
        implementation=implementation,
        source="Counted from the loop: a multiplication and an addition for each of 3x3 points, channel and filter",
        flop=Formula("18*channels*filters*images*n**2"),
        read=Formula(read),
        compulsory=Formula("s*(channels*images*(n+2)**2 + filters*images*n**2 + 9*channels*filters)"),
        working_set=Formula("s*(channels*images*(n+2)**2 + filters*images*n**2 + 9*channels*filters*t)"),
        traffic=Formula("s*(channels*images*(n+2)**2 + 2*filters*images*n**2 + 9*channels*filters*t)"),
        allocate=Formula("s*filters*images*n**2"),
        sizes=("n", "channels", "filters", "images"),
        fit=_images,
        instructions="fma",
        mix="load",
        ladder="convolution",
        **facts,
    )


# --------------------------------------------------------------------------------------------- three taps


def _filter(problem: Problem) -> Program:
    n, dtype = problem.size("n"), problem.dtype
    extent = extent_of(n)

    def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
        fill_pattern(array, 0, len(array), first=part.share(n)[0])

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        places = sampled(extent(part))
        if not passes or not len(places):
            return ""
        values = pattern(places[:, None] + part.share(n)[0] + np.arange(3), dtype).astype(np.float64)
        return differs(arrays["y"][places], values @ np.array(TAPS), 1e-14 if dtype == np.float64 else 1e-6)

    return Program(
        filter_3tap,
        (
            Array("x", dtype, lambda part: (extent(part) + 2,), fill),
            Array("y", dtype, lambda part: (extent(part),), clear),
            Integer("n", extent),
            *(Real(name, tap) for name, tap in zip(("before", "here", "behind"), TAPS, strict=True)),
        ),
        check,
    )


KERNELS = (
    _conv(
        "conv_direct",
        "Convolution 3x3, plain loops",
        "compiled loops",
        "18*s*channels*filters*images*n**2",
        written=Formula("s*filters*images*n**2"),
        quantities=plain,
        task=_direct,
        rung=1,
        limit="chain",
        notes="Points by channels (NHWC). One sum at a time, in the order of the loops: each multiply-add waits for "
        "the one before",
    ),
    _conv(
        "conv_blocked",
        "Convolution 3x3, register tiles",
        "explicit vectors",
        "s*images*n*(filters//w)*(9*channels*(whole*(p+w) + rest*(1+w)) + 2*n*w)",
        written=Formula("3*s*filters*images*n**2"),
        quantities=_tiled,
        task=_blocked,
        rung=2,
        representative=("fp32",),
        notes="Points by channels (NHWC), weights in stripes of filters. Tiles of points by filters, whose sums are "
        "stored after each row of 3 points and loaded again for the next",
    ),
    Spec(
        name="filter_3tap",
        family="convolution",
        title="Filter of three taps",
        implementation="compiled loops",
        source="Counted from the loop: three multiplications and two additions an element",
        flop=Formula("5*n"),
        read=Formula("3*s*n"),
        written=Formula("s*n"),
        allocate=Formula("s*n"),
        compulsory=Formula("s*(2*n+2)"),
        working_set=Formula("s*(2*n+2*t)"),
        traffic=Formula("s*(3*n+2*t)"),
        sizes=("n",),
        fit=as_many(2, 16),
        quantities=plain,
        task=_filter,
        instructions="fma",
        mix="copy",
        streaming=True,
    ),
)
