"""Convolutions: right results at sizes that divide no tile, formulas that count, and an oracle that notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microbench.kernels import pitched
from microbench.kernels.kernel import Sizes, Unsuitable
from microbench.kernels.registry import kernel
from tests.microbench.kernels.intrinsics import tile
from tests.microbench.kernels.workbench import Workbench, counted, problem

# 64 filters are a multiple of every tile's columns.
SMALL: dict[str, Sizes] = {
    "conv_direct": {"n": 5, "channels": 3, "filters": 4, "images": 2},
    "conv_blocked": {"n": 7, "channels": 3, "filters": 64, "images": 2},
    "filter_3tap": {"n": 131},
}


def spoil(views: Any) -> None:
    result = views["y" if "y" in views else "result"].reshape(-1)
    result[len(result) // 2] *= 1.001


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", SMALL)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    sizes = {**SMALL[name], "n": 2} if name.startswith("conv") else SMALL[name]
    outcome = workbench.run(kernel(name), precision, sizes, threads, spoil=spoil)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt
    assert workbench.run(kernel(name), precision, SMALL[name], threads).verdict == ""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_formulas_count_what_the_loops_do(name: str, threads: int) -> None:
    spec = kernel(name)
    asked = problem("fp64", SMALL[name], threads)
    substitutes = {"tile": tile(pitched.shape(asked)), "tile_of_one": tile(pitched.shape(asked, 1))}
    counter, verdicts = counted(spec, "fp64", SMALL[name], threads, substitutes=substitutes)
    tally = spec.count(asked)
    assert verdicts == [""] * threads
    assert (counter.flop, counter.read, counter.written) == (tally.flop, tally.read, tally.written)


@pytest.mark.parametrize("name", ["conv_direct", "conv_blocked"])
def test_a_convolution_is_what_numpy_computes(workbench: Workbench, name: str) -> None:
    n, channels, filters = 7, 3, 64
    found: dict[str, np.ndarray[Any, Any]] = {}
    workbench.run(
        kernel(name),
        "fp64",
        {"n": n, "channels": channels, "filters": filters, "images": 1},
        spoil=lambda views: found.update({name: view.copy() for name, view in views.items()}),
    )
    image = found["image"].reshape(n + 2, n + 2, channels)
    if name == "conv_direct":
        weights = found["weights"].transpose(1, 2, 3, 0)
    else:
        width = pitched.shape(problem("fp64", {})).width
        weights = found["weights"].reshape(filters // width, 3, 3, channels, width)
        weights = np.moveaxis(weights, 0, 3).reshape(3, 3, channels, filters)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(0, 1))
    expected = np.einsum("yxcij,ijcf->yxf", windows, weights)
    np.testing.assert_allclose(found["result"].reshape(n, n, filters), expected, rtol=1e-13)


def test_the_tiles_are_what_was_meant(workbench: Workbench) -> None:
    outcome = workbench.run(kernel("conv_blocked"), "fp64", SMALL["conv_blocked"])
    assert outcome.code.status in ("verified", "compiled"), outcome.code.reason


def test_filters_that_tiles_do_not_divide_are_told() -> None:
    with pytest.raises(Unsuitable, match="filters is 7"):
        kernel("conv_blocked").task(problem("fp64", {**SMALL["conv_blocked"], "filters": 7}))
    with pytest.raises(Unsuitable, match="at least one"):
        kernel("conv_direct").task(problem("fp64", {**SMALL["conv_direct"], "n": 0}))
