"""Dense: the ladder of matrix products, a matrix times one vector, and weights times a batch of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from microbench.kernels import dots as inner
from microbench.kernels import gemm
from microbench.kernels import tile as tiles
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Array, Arrays, Integer, Part, Problem, Program, Request, Spec
from microbench.kernels.operands import Matrix, Operand, clear, row_pitch, wrong_product

dots: Any = None
tall: Any = None
four: Any = None
single: Any = None
"""In the bodies that name them, the intrinsics of :mod:`microbench.kernels.dots` and, for tiles of so many rows, of
:mod:`microbench.kernels.tile`."""

# ----------------------------------------------------------------------------------------- matrix times vector


def gemv(a: Any, x: Any, y: Any, rows: Any, n: Any, pitch: Any, height: Any) -> None:
    """Set y to A x: products of rows with x, several rows at a time."""
    for i in range(0, rows, height):
        dots(a, i * pitch, pitch, x, 0, n, y, i)


def _gemv(problem: Problem) -> Program:
    n, dtype = problem.size("n"), problem.dtype
    pitch = _pitch(problem, n)
    matrix, vector = Operand(problem, n, 0), Operand(problem, 1, 1)

    def rows(part: Part) -> range:
        return range(*part.share(n, inner.ROWS))

    def high(part: Part) -> int:
        return tiles.whole(len(rows(part)), inner.ROWS)

    def fill_a(part: Part, array: Matrix) -> None:
        mine = array.reshape(high(part), pitch)
        mine[len(rows(part)) :] = 0
        matrix.fill(mine, 0, len(rows(part)), rows(part).start)

    def fill_x(part: Part, array: Matrix) -> None:
        vector.fill(array[:, None], 0, n)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        return wrong_product(
            lambda i, j: arrays["y"][i - rows(part).start][:, None], matrix, vector, rows(part), range(1)
        )

    return Program(
        gemv,
        (
            Array("a", dtype, lambda part: (high(part) * pitch,), fill_a),
            Array("x", dtype, lambda part: (n,), fill_x),
            Array("y", dtype, lambda part: (high(part),), clear),
            Integer("rows", lambda part: len(rows(part))),
            Integer("n", lambda part: n),
            Integer("pitch", lambda part: pitch),
            Integer("height", lambda part: inner.ROWS),
        ),
        check,
        makers={"dots": partial(inner.make, problem.precision, problem.vector_bits)},
        expects=inner.counts(problem.vector_bits, problem.fma),
    )


def _pitch(problem: Problem, n: int) -> int:
    """Return the elements from one row to the next: whole vectors, and no whole pages."""
    return row_pitch(n, max(1, problem.vector_bits // (8 * problem.element_bytes)), problem.element_bytes)


def _gemv_quantities(problem: Problem) -> dict[str, int]:
    """Return what the formulas depend on: ``sweeps`` over x, each of ``rows`` rows, ``pitch`` elements apart."""
    n = problem.size("n")
    shares = [part.share(n, inner.ROWS) for part in problem.parts()]
    sweeps = sum(-(-(end - begin) // inner.ROWS) for begin, end in shares)
    return {"n": n, "sweeps": sweeps, "rows": inner.ROWS, "pitch": _pitch(problem, n)}


# ------------------------------------------------------------------------------------- weights times a batch

FOUR = 4
"""Rows of the tile between the largest and the single one, for the batch of 4 and for what larger ones leave over."""

CHAINS = 4
"""Sets of accumulators of a single row, which has 2 or 3 vectors only."""

CHUNK_BYTES = 1 << 16
"""Bytes of weights that several tiles read one after the other, while they prefetch the next as many into L2: the two
fit any. One tile alone needs no chunks, and where memory is all that counts prefetching only costs."""

FEATURES = 4096
"""k, the inputs of a layer: the hidden size of language models of some 7 thousand million weights."""

BATCHES = (1, 4, 16, 64)


def decode(
    x: Any, w: Any, y: Any, batch: Any, panels: Any, k: Any, x_pitch: Any, pitch: Any, kc: Any, width: Any, height: Any
) -> None:
    """Multiply every vector of a batch by the weights, panel by panel, which are so read from memory once."""
    for panel in range(panels):
        for begin in range(0, k, kc):
            steps, weights, out = min(kc, k - begin), (panel * k + begin) * width, panel * width
            i = 0
            while i + height <= batch:
                tall(x, i * x_pitch + begin, x_pitch, w, weights, width, y, i * pitch + out, pitch, steps, begin > 0)
                i += height
            while i + FOUR <= batch:
                four(x, i * x_pitch + begin, x_pitch, w, weights, width, y, i * pitch + out, pitch, steps, begin > 0)
                i += FOUR
            while i < batch:
                single(x, i * x_pitch + begin, x_pitch, w, weights, width, y, i * pitch + out, pitch, steps, begin > 0)
                i += 1


@dataclass(frozen=True, slots=True)
class _Layer:
    """How a problem of sizes batch, m and k is cut: the weights into panels as wide as a tile, the batch into tiles."""

    problem: Problem

    @property
    def tile(self) -> tiles.Tile:
        return tiles.largest(self.problem.precision, self.problem.vector_bits, self.problem.registers)

    @property
    def groups(self) -> int:
        """Tiles over the batch: each reads the weights, the first from memory."""
        batch = self.problem.size("batch")
        rest = batch % self.tile.rows
        return batch // self.tile.rows + rest // FOUR + rest % FOUR

    @property
    def kc(self) -> int:
        """Steps of a chunk of weights."""
        k = self.problem.size("k")
        return k if self.groups == 1 else min(k, CHUNK_BYTES // (self.tile.width * self.problem.element_bytes))

    @property
    def x_pitch(self) -> int:
        return row_pitch(self.problem.size("k"), self.tile.width, self.problem.element_bytes)

    def outputs(self, part: Part) -> range:
        return range(*part.share(self.problem.size("m"), self.tile.width))

    def panels(self, part: Part) -> int:
        return -(-len(self.outputs(part)) // self.tile.width)

    def pitch(self, part: Part) -> int:
        return row_pitch(len(self.outputs(part)), self.tile.width, self.problem.element_bytes)

    def pitched(self, rows: int, chains: int = 1) -> tiles.Tile:
        ahead = CHUNK_BYTES if rows == self.tile.rows else 0
        return replace(self.tile, rows=rows, chains=chains, packed=False, ahead=ahead)


def _decode(problem: Problem) -> Program:
    batch, m, k = (problem.size(name) for name in ("batch", "m", "k"))
    layer, dtype = _Layer(problem), problem.dtype
    width = layer.tile.width
    vectors, weights = Operand(problem, k, 0), Operand(problem, m, 1)

    def fill_w(part: Part, array: Matrix) -> None:
        mine, panels = layer.outputs(part), array.reshape(layer.panels(part), k, width)
        row = np.zeros(layer.panels(part) * width, dtype)
        for step in range(k):
            row[: len(mine)] = weights.row(step)[mine.start : mine.stop]
            panels[:, step, :] = row.reshape(-1, width)

    def check(part: Part, arrays: Arrays, passes: int) -> str:
        mine, found = layer.outputs(part), arrays["y"].reshape(batch, layer.pitch(part))
        return wrong_product(lambda i, j: found[np.ix_(i, j - mine.start)], vectors, weights, range(batch), mine)

    return Program(
        decode,
        (
            Array("x", dtype, lambda part: (batch * layer.x_pitch,), vectors.filler(batch), shared=True),
            Array("w", dtype, lambda part: (layer.panels(part) * k * width,), fill_w),
            Array("y", dtype, lambda part: (batch * layer.pitch(part),), clear),
            Integer("batch", lambda part: batch),
            Integer("panels", layer.panels),
            Integer("k", lambda part: k),
            Integer("x_pitch", lambda part: layer.x_pitch),
            Integer("pitch", layer.pitch),
            Integer("kc", lambda part: layer.kc),
            Integer("width", lambda part: width),
            Integer("height", lambda part: layer.tile.rows),
        ),
        check,
        makers={
            "tall": partial(tiles.make, layer.pitched(layer.tile.rows)),
            "four": partial(tiles.make, layer.pitched(FOUR)),
            "single": partial(tiles.make, layer.pitched(1, CHAINS)),
        },
        expects=tiles.expected(layer.pitched(layer.tile.rows), problem.fma),
    )


def _decode_quantities(problem: Problem) -> dict[str, int]:
    """Return what the formulas depend on.

    ``nr`` are the outputs of a panel, ``groups`` the tiles over the batch, ``blocks`` the chunks of a panel, ``held``
    the elements of x and y.
    """
    batch, m, k = (problem.size(name) for name in ("batch", "m", "k"))
    layer = _Layer(problem)
    parts = problem.parts()
    return {
        "batch": batch,
        "m": m,
        "k": k,
        "nr": layer.tile.width,
        "groups": layer.groups,
        "panels": sum(layer.panels(part) for part in parts),
        "blocks": -(-k // layer.kc),
        "held": batch * (layer.x_pitch + sum(layer.pitch(part) for part in parts)),
    }


def _fit_decode(request: Request, batch: int = BATCHES[0]) -> dict[str, int | str]:
    """Return the sizes of a batch: as many outputs as the bytes hold weights of, in whole panels for each thread."""
    width = tiles.largest(request.precision, request.vector_bits, request.registers).width * request.threads
    m = max(1, request.bytes // (FEATURES * request.element_bytes * width)) * width
    return {"batch": batch, "m": m, "k": FEATURES}


def _further(*batches: int) -> Callable[[Request], tuple[dict[str, int | str], ...]]:
    return lambda request: tuple(_fit_decode(request, batch) for batch in batches)


# ----------------------------------------------------------------------------------------------------- catalogue


def _fit_gemv(request: Request) -> dict[str, int | str]:
    return {"n": max(1, math.isqrt(request.bytes // request.element_bytes))}


KERNELS = (
    Spec(
        name="gemv",
        family="dense",
        title="GEMV, square matrix",
        implementation="explicit vectors",
        source="Counted from the loops: n² multiplications and as many additions",
        flop=Formula("2*n**2"),
        read=Formula("s*sweeps*n*(rows+1)"),
        written=Formula("s*sweeps*rows"),
        allocate=Formula("s*sweeps*rows"),
        compulsory=Formula("s*(n**2+2*n)"),
        working_set=Formula("s*(sweeps*rows*(pitch+1)+t*n)"),
        traffic=Formula("s*(n**2+(t+2)*n)"),
        sizes=("n",),
        fit=_fit_gemv,
        quantities=_gemv_quantities,
        task=_gemv,
        instructions="fma",
        mix="load",
        representative=("fp64",),
        notes="x is loaded once for each of the sweeps over it, which serve so many rows; the last are filled up with "
        "zeros. Adding up the lanes of a vector is not counted. Traffic: x stays in cache",
    ),
    *gemm.KERNELS,
    Spec(
        name="decode",
        family="dense",
        title="decode, weights times a batch of vectors",
        implementation="explicit vectors",
        source="Counted from the loops: a multiplication and an addition for each weight and vector",
        flop=Formula("2*batch*m*k"),
        read=Formula("s*panels*(k*(batch+groups*nr)+(blocks-1)*batch*nr)"),
        written=Formula("s*panels*blocks*batch*nr"),
        allocate=Formula("s*panels*batch*nr"),
        compulsory=Formula("s*(m*k+batch*(m+k))"),
        working_set=Formula("s*(panels*k*nr+held)"),
        traffic=Formula("s*(panels*k*nr+batch*(k+2*panels*nr))"),
        sizes=("batch", "m", "k"),
        fit=_fit_decode,
        quantities=_decode_quantities,
        task=_decode,
        instructions="fma",
        mix="load",
        representative=("fp32",),
        series=_further(*BATCHES[1:]),
        usual_series=_further(16),
        notes="Weights of k inputs and m outputs lie in panels of nr outputs, and vectors of the batch are taken by "
        "groups. Traffic: the weights once, since further groups find them in cache",
    ),
)
