"""Attention: many queries at once (prefill), limited by arithmetic, and one over a long memory (decode), by bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from microbench.kernels import tile as tiles
from microbench.kernels.elementary import EXP_FLOP, exp_helpers, exp_makers
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
    differs,
    fill_pattern,
    pattern,
    plain,
    sampled,
)
from microbench.kernels.larger import make_larger

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
tile: Any = None
tile_of_one: Any = None
"""In bodies of programs functions of :mod:`microbench.kernels.elementary`, :mod:`microbench.kernels.larger` and
:mod:`microbench.kernels.tile`."""


# ------------------------------------------------------------------------------------------------- the code


def attention_decode(
    query: Any, key: Any, value: Any, score: Any, result: Any, heads: Any, length: Any, depth: Any, root: Any, zero: Any,
    one: Any, low: Any,
) -> None:  # fmt: skip
    """For each head weigh the values by the softmax of the products of one query with all keys."""
    for h in range(heads):
        peak, total = low, zero
        for t in range(length):
            product = zero
            for d in range(depth):
                product += query[h, d] * key[h, t, d]
            score[t] = product * root
            peak = larger(product * root, peak)
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
        scale = one / total
        for d in range(depth):
            result[h, d] = result[h, d] * scale


def pack_keys(key: Any, first: Any, length: Any, depth: Any, width: Any, packed: Any) -> None:
    """Lay the keys of a head so that for each element of theirs those of `width` keys stand side by side."""
    for stripe in range(length // width):
        for t in range(width):
            for d in range(depth):
                packed[(stripe * depth + d) * width + t] = key[(first + stripe * width + t) * depth + d]


def multiply(
    a: Any, at: Any, a_pitch: Any, rows: Any, b: Any, bt: Any, b_pitch: Any, c: Any, ct: Any, pitch: Any, steps: Any,
    add: Any, height: Any,
) -> None:  # fmt: skip
    """Multiply some rows with one stripe of columns, tile by tile."""
    for r in range(0, rows, height):
        if r + height <= rows:
            tile(a, at + r * a_pitch, a_pitch, b, bt, b_pitch, c, ct + r * pitch, pitch, steps, add)
        else:
            for rest in range(r, rows):
                tile_of_one(a, at + rest * a_pitch, a_pitch, b, bt, b_pitch, c, ct + rest * pitch, pitch, steps, add)


def attention_prefill(
    query: Any, key: Any, value: Any, packed: Any, score: Any, peak: Any, total: Any, result: Any, heads: Any, length: Any,
    depth: Any, queries: Any, keys: Any, height: Any, width: Any, root: Any, zero: Any, one: Any, low: Any,
) -> None:  # fmt: skip
    """Do the same for all queries, block by block: weights and results so far are scaled when a larger score comes."""
    for h in range(heads):
        first = h * length
        pack_keys(key, first, length, depth, width, packed)
        for begin in range(0, length, queries):
            rows = min(queries, length - begin)
            place = (first + begin) * depth
            for r in range(rows):
                peak[r] = low
                total[r] = zero
            for near in range(0, length, keys):
                for stripe in range(keys // width):
                    multiply(
                        query, place, depth, rows, packed, (near + stripe * width) * depth, width, score, stripe * width,
                        keys, depth, False, height,
                    )  # fmt: skip
                for r in range(rows):
                    high, sum_ = peak[r], zero
                    for t in range(keys):
                        high = larger(score[r * keys + t], high)
                    for t in range(keys):
                        power = exp((score[r * keys + t] - high) * root)
                        score[r * keys + t] = power
                        sum_ += power
                    factor = exp((peak[r] - high) * root)
                    total[r] = total[r] * factor + sum_
                    peak[r] = high
                    if near > 0:
                        for d in range(depth):
                            result[place + r * depth + d] = result[place + r * depth + d] * factor
                for stripe in range(depth // width):
                    multiply(
                        score, 0, keys, rows, value, (first + near) * depth + stripe * width, depth, result,
                        place + stripe * width, depth, keys, near > 0, height,
                    )  # fmt: skip
            for r in range(rows):
                scale = one / total[r]
                for d in range(depth):
                    result[place + r * depth + d] = result[place + r * depth + d] * scale
