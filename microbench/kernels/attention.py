"""Attention: many queries at once (prefill), limited by arithmetic, and one over a long memory (decode)."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from microbench.kernels import pitched
from microbench.kernels import tile as tiles
from microbench.kernels.arrays import clear, constant
from microbench.kernels.elementary import EXP_FLOP, exp_helpers, exp_makers
from microbench.kernels.formula import Formula
from microbench.kernels.hints import make_larger, make_settled
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
    differs,
    fill_pattern,
    plain,
    sampled,
)

TOLERANCE = {"fp64": 1e-11, "fp32": 2e-4}
"""Relative, after sums of some thousand terms in any order."""

DEPTH = 128
"""Elements of a head: those of most large language models."""

HEADS = 8
"""Heads of the decoder, or as many as there are threads: the key-value heads of models with grouped queries."""

LENGTH = 2048
"""Tokens of the prefill."""

QUERIES, KEYS = 48, 256
"""Queries and keys of a block of the prefill: their scores stay in L2, and the tiles of all CPUs divide both."""

REGROUPED = frozenset({"contract", "reassoc", "nsz", "nnan"})
"""Fast-math flags with which sums and maxima along a row become vectors. No data hold a NaN."""

exp: Any = None
larger: Any = None
settled: Any = None
multiply: Any = None
"""In bodies of programs functions of :mod:`microbench.kernels.elementary`, :mod:`microbench.kernels.hints` and
:mod:`microbench.kernels.pitched`."""


# ------------------------------------------------------------------------------------------------- the code


def attention_decode(
    query: Any, key: Any, value: Any, score: Any, result: Any, heads: Any, length: Any, depth: Any, root: Any,
    zero: Any, one: Any, low: Any,
) -> None:  # fmt: skip
    """For each head weigh the values by the softmax of the products of one query with all keys."""
    for h in range(heads):
        peak, total = low, zero
        for t in range(length):
            product = zero
            for d in range(depth):
                product += query[h, d] * key[h, t, d]
            product = product * root
            score[t] = product
            peak = larger(product, peak)
        for t in range(length):
            power = exp(score[t] - peak)
            score[t] = power
            total += power
        for d in range(depth):
            result[h, d] = zero
        for t in range(length):
            weight = score[t]
            for d in range(depth):
                result[h, d] = result[h, d] + weight * value[h, t, d]
        scale = settled(one / total)
        for d in range(depth):
            result[h, d] = result[h, d] * scale


def pack_keys(key: Any, first: Any, length: Any, depth: Any, width: Any, packed: Any) -> None:
    """Lay the keys of a head so that for each element of theirs those of `width` keys stand side by side."""
    for stripe in range(length // width):
        for t in range(width):
            for d in range(depth):
                packed[stripe, d, t] = key[first + stripe * width + t, d]


def attention_prefill(
    query: Any, key: Any, value: Any, packed: Any, score: Any, peak: Any, total: Any, result: Any, heads: Any,
    length: Any, depth: Any, queries: Any, keys: Any, height: Any, width: Any, root: Any, zero: Any, one: Any, low: Any,
) -> None:  # fmt: skip
    """Do the same for all queries, block by block: weights and results so far are scaled when a larger score comes."""
    for h in range(heads):
        first = h * length
        pack_keys(key, first, length, depth, width, packed)
        for begin in range(0, length, queries):
            rows, place = min(queries, length - begin), first + begin
            for r in range(rows):
                peak[r] = low
            for near in range(0, length, keys):
                for stripe in range(keys // width):
                    multiply(
                        query, place * depth, depth, rows, packed, (near + stripe * width) * depth, width, score,
                        stripe * width, keys, depth, False, height,
                    )  # fmt: skip
                for r in range(rows):
                    high, sum_ = peak[r], zero
                    for t in range(keys):
                        high = larger(score[r, t], high)
                    for t in range(keys):
                        power = exp((score[r, t] - high) * root)
                        score[r, t] = power
                        sum_ += power
                    if near > 0:
                        factor = exp((peak[r] - high) * root)
                        sum_ = total[r] * factor + sum_
                        for d in range(depth):
                            result[place + r, d] = result[place + r, d] * factor
                    total[r] = sum_
                    peak[r] = high
                for stripe in range(depth // width):
                    multiply(
                        score, 0, keys, rows, value, (first + near) * depth + stripe * width, depth, result,
                        place * depth + stripe * width, depth, keys, near > 0, height,
                    )  # fmt: skip
            for r in range(rows):
                scale = settled(one / total[r])
                for d in range(depth):
                    result[place + r, d] = result[place + r, d] * scale


# ------------------------------------------------------------------------------------------------- the data


class _Attention:
    """Queries, keys and values of some heads, and where the oracle looks. Each part has heads of its own."""

    def __init__(self, problem: Problem, queries: int) -> None:
        self.problem, self.queries = problem, queries
        self.heads, self.length, self.depth = map(problem.size, ("heads", "length", "depth"))
        if min(self.heads, self.length, self.depth) < 1:
            raise Unsuitable("attention needs at least one head, one token and one element")

    def mine(self, part: Part) -> int:
        """Heads of a part."""
        begin, end = part.share(self.heads)
        return end - begin

    def array(self, name: str, rows: int, *, flat: bool, result: bool = False) -> Array:
        """Return an array of `rows` rows a head, in two dimensions if it is flat."""

        def shape(part: Part) -> tuple[int, ...]:
            heads = self.mine(part)
            return (heads * rows, self.depth) if flat else (heads, rows, self.depth)

        def fill(part: Part, array: np.ndarray[Any, Any]) -> None:
            if result:
                array[:] = 0
                return
            first = part.share(self.heads)[0] * rows * self.depth
            fill_pattern(array.reshape(-1), 0, array.size, ord(name[0]), first)
            if name == "key":
                # Scores then differ by a few units, so that the weights differ and none vanishes.
                array[:] = (array - 1) * 4

        return Array(name, self.problem.dtype, shape, fill)

    def numbers(self) -> tuple[Real, ...]:
        values = {
            "root": 1.0 / sqrt(self.depth), "zero": 0.0, "one": 1.0, "low": float(np.finfo(self.problem.dtype).min) / 4,
        }  # fmt: skip
        return tuple(Real(name, value) for name, value in values.items())

    def check(self, part: Part, arrays: Arrays, passes: int) -> str:
        """Compute some queries of some heads in fp64 from the data."""
        heads = self.mine(part)
        if not passes or not heads:
            return ""

        def rows(name: str, head: int, count: int) -> Any:
            return arrays[name].reshape(heads, count, self.depth)[head].astype(np.float64)

        for head in sampled(heads, 2):
            chosen = sampled(self.queries, 16)
            scores = rows("query", head, self.queries)[chosen] @ rows("key", head, self.length).T / sqrt(self.depth)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            expected = weights @ rows("value", head, self.length)
            found = arrays["result"].reshape(heads, self.queries, self.depth)[head, chosen]
            if text := differs(found, expected, TOLERANCE[self.problem.precision]):
                return f"head {head}: {text}"
        return ""


def _decode(problem: Problem) -> Program:
    data = _Attention(problem, 1)
    return Program(
        attention_decode,
        (
            Array(
                "query",
                problem.dtype,
                lambda part: (data.mine(part), data.depth),
                data.array("query", 1, flat=True).fill,
            ),
            data.array("key", data.length, flat=False),
            data.array("value", data.length, flat=False),
            Array("score", problem.dtype, lambda part: (data.length,), clear),
            data.array("result", 1, flat=True, result=True),
            Integer("heads", data.mine),
            constant("length", data.length),
            constant("depth", data.depth),
            *data.numbers(),
        ),
        data.check,
        helpers=exp_helpers(problem.precision),
        makers={**exp_makers(problem.precision), "larger": make_larger, "settled": make_settled},
        fastmath=REGROUPED,
    )


def _prefill(problem: Problem) -> Program:
    shape = pitched.shape(problem)
    data = _Attention(problem, problem.size("length"))
    for name, size, unit in (("length", data.length, KEYS), ("depth", data.depth, shape.width)):
        if size % unit:
            raise Unsuitable(f"{name} is {size}; blocks and tiles need a multiple of {unit}")

    def shared(name: str, *extents: int) -> Array:
        return Array(name, problem.dtype, lambda part: extents, clear)

    return Program(
        attention_prefill,
        (
            data.array("query", data.length, flat=True),
            data.array("key", data.length, flat=True),
            data.array("value", data.length, flat=True),
            shared("packed", data.length // shape.width, data.depth, shape.width),
            shared("score", QUERIES, KEYS),
            shared("peak", QUERIES),
            shared("total", QUERIES),
            data.array("result", data.length, flat=True, result=True),
            Integer("heads", data.mine),
            constant("length", data.length),
            constant("depth", data.depth),
            constant("queries", QUERIES),
            constant("keys", KEYS),
            constant("height", shape.rows),
            constant("width", shape.width),
            *data.numbers(),
        ),
        data.check,
        helpers={**exp_helpers(problem.precision), "multiply": pitched.multiply, "pack_keys": pack_keys},
        makers={
            **exp_makers(problem.precision),
            **pitched.makers(problem),
            "larger": make_larger,
            "settled": make_settled,
        },
        fastmath=REGROUPED,
        expects=tiles.expected(shape, problem.fma),
    )


def _long(request: Request) -> dict[str, int | str]:
    """Return as many tokens as the bytes hold the keys and values of, for as many heads as threads at least."""
    heads = -(-HEADS // request.threads) * request.threads
    return {
        "length": max(1, request.bytes // (2 * request.element_bytes * heads * DEPTH)),
        "heads": heads,
        "depth": DEPTH,
    }


def _many(request: Request) -> dict[str, int | str]:
    return {"length": LENGTH, "heads": request.threads, "depth": DEPTH}


def _powers(problem: Problem) -> dict[str, int]:
    return {**plain(problem), "e": EXP_FLOP[problem.precision]}


def _blocks(problem: Problem) -> Mapping[str, int]:
    """Return the sizes, rows and columns of a tile, and for a head: tiles of queries, those left, blocks of keys."""
    shape, length = pitched.shape(problem), problem.size("length")
    full, last = divmod(length, QUERIES)
    whole = full * (QUERIES // shape.rows) + last // shape.rows
    rest = full * (QUERIES % shape.rows) + last % shape.rows
    return {
        **_powers(problem), "p": shape.rows, "w": shape.width, "whole": whole, "rest": rest, "blocks": length // KEYS,
        "scratch": QUERIES * (KEYS + 2),
    }  # fmt: skip


KERNELS = (
    Spec(
        name="attention_prefill",
        family="neural",
        title="Attention of all tokens to all",
        implementation="explicit vectors",
        source="Dao and others, FlashAttention, 2022, algorithm 1, without a mask. Counted from the loops: two "
        "products of matrices, and for each score a subtraction, a multiplication, an exponential and an addition",
        flop=Formula("heads*length*(length*(4*depth + e + 3) + (blocks-1)*(depth + e + 4) + depth + 1)"),
        read=Formula(
            "s*heads*(2*length*(depth//w)*(whole*(p+w) + rest*(1+w)) + 2*length**2 + length*(2*blocks*depth + 3*blocks"
            " - 1))"
        ),
        written=Formula("s*heads*length*(2*length + 2*blocks*depth + 2*blocks + depth + 1)"),
        allocate=Formula("s*heads*length*depth"),
        compulsory=Formula("4*s*heads*length*depth"),
        working_set=Formula("4*s*heads*length*depth + t*s*(length*depth + scratch)"),
        traffic=Formula("5*s*heads*length*depth"),
        sizes=("length", "heads", "depth"),
        fit=_many,
        quantities=_blocks,
        task=_prefill,
        instructions="fma",
        mix="load",
        notes="A division counts 1, a comparison 0. Traffic as if keys and values of a head stayed in a cache",
    ),
    Spec(
        name="attention_decode",
        family="neural",
        title="Attention of one token to a long memory",
        implementation="compiled loops",
        source="Counted from the loops: a multiplication and an addition for each element of keys and values; for each "
        "token a scaling, a subtraction, an exponential and an addition",
        flop=Formula("heads*(length*(4*depth + e + 3) + depth + 1)"),
        read=Formula("s*heads*(4*length*depth + 2*length + depth)"),
        written=Formula("s*heads*(length*depth + 2*length + 2*depth)"),
        compulsory=Formula("s*heads*(2*length*depth + 2*depth)"),
        working_set=Formula("s*heads*(2*length*depth + 2*depth) + s*t*length"),
        traffic=Formula("s*heads*(2*length*depth + 2*depth)"),
        sizes=("length", "heads", "depth"),
        fit=_long,
        quantities=_powers,
        task=_decode,
        instructions="fma",
        mix="load",
        representative=("fp32",),
        notes="A division counts 1, a comparison 0. Keys and values come once; scores and results stay in a cache",
    ),
)
