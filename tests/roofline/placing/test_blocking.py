"""Blocks of a matrix product and batches of a matrix times vectors that pass a ridge point."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ert.roofline.model import Team
from ert.roofline.placing.blocking import block_sizes, crossing_batch
from tests import factories
from tests.factories import BOTH, KIB, MIB, ONE

ROOFLINE = factories.zen4()


@pytest.mark.parametrize(("precision", "peak", "size"), [("fp64", 58.8e9, 8), ("fp32", 117.2e9, 4)])
def test_the_block_is_the_smallest_whose_intensity_meets_the_ridge(precision: str, peak: float, size: int) -> None:
    blocks = block_sizes(ROOFLINE, ONE, precision)
    assert [block.memory.name for block in blocks] == ["L1 load", "L2 load", "L3 load", "DRAM load"]
    for block, bandwidth in zip(blocks, (233e9, 117e9, 98e9, 30e9), strict=True):
        ridge = peak / bandwidth
        assert block.ridge == pytest.approx(ridge)
        # A step of b x b blocks does 2 b^3 FLOP on two blocks of b^2 elements.
        steps = [2 * b**3 / (2 * b**2 * size) for b in (block.side - 1, block.side)]
        assert steps[0] < ridge <= steps[1]
        assert block.held_bytes == 3 * block.side**2 * size


def test_blocks_stay_in_the_nearer_level() -> None:
    blocks = block_sizes(ROOFLINE, BOTH, "fp64")
    assert [(block.holder, block.capacity) for block in blocks] == [
        ("registers", None), ("L1", 32 * KIB), ("L2", 1.02 * MIB), ("L3", 7.2 * MIB),
    ]  # fmt: skip
    assert [block.fits for block in blocks] == [None, True, True, True]
    curves = tuple(
        replace(curve, plateaus=tuple(replace(p, capacity=4 * KIB) for p in curve.plateaus))
        for curve in ROOFLINE.curves
    )
    small = block_sizes(replace(ROOFLINE, curves=curves), BOTH, "fp64")
    # 19 x 19 is needed from DRAM: 8.5 KiB for three.
    assert [block.fits for block in small] == [None, True, True, False]


def test_the_batch_that_meets_the_ridge() -> None:
    # 58.8 GFLOP/s on 30 GB/s; 2 FLOP for each vector on each element.
    assert crossing_batch(ROOFLINE, ONE, "fp64", "DRAM") == pytest.approx(58.8 / 30 * 8 / 2)
    assert crossing_batch(ROOFLINE, ONE, "fp32", "DRAM") == pytest.approx(117.2 / 30 * 4 / 2)
    batch = math.ceil(crossing_batch(ROOFLINE, BOTH, "fp64", "DRAM") or 0)
    assert 2 * (batch - 1) / 8 < 117.6 / 50 <= 2 * batch / 8


def test_without_a_load_only_roof_the_headline_stands_for_it() -> None:
    memory = tuple(roof for roof in ROOFLINE.memory if (roof.level, roof.mix) != ("DRAM", "load"))
    # The mark of the headline moves when the roofs are fitted again.
    memory = tuple(replace(r, headline=r.headline or r.name == "DRAM triad_nt") for r in memory)
    assert crossing_batch(replace(ROOFLINE, memory=memory), ONE, "fp64", "DRAM") == pytest.approx(58.8 / 28.2 * 4)


def test_what_was_not_measured_has_no_block() -> None:
    assert block_sizes(ROOFLINE, Team("three", (0, 1, 2), 3), "fp64") == ()
    assert block_sizes(ROOFLINE, ONE, "fp16") == ()
    assert crossing_batch(ROOFLINE, ONE, "fp64", "L4") is None
    doubtful = replace(ROOFLINE, memory=tuple(replace(roof, verified=False) for roof in ROOFLINE.memory))
    assert block_sizes(doubtful, ONE, "fp64") == ()
