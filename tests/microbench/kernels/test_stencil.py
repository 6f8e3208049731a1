"""Stencils: right results, formulas that count what the code does, and an oracle that notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microbench.kernels.registry import kernel
from tests.microbench.kernels.workbench import Workbench, counted, problem

SMALL: dict[str, dict[str, int | str]] = {"jacobi_1d": {"n": 37}}


def spoil(views: Any) -> None:
    views["new"].ravel()[len(views["new"].ravel()) // 2] += 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", SMALL)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    outcome = workbench.run(kernel(name), precision, SMALL[name], threads, spoil=spoil)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_formulas_count_what_the_loop_does(name: str, threads: int) -> None:
    spec = kernel(name)
    counter, verdicts = counted(spec, "fp64", SMALL[name], threads)
    tally = spec.count(problem("fp64", SMALL[name], threads))
    assert verdicts == [""] * threads
    assert (counter.flop, counter.read, counter.written) == (tally.flop, tally.read, tally.written)


def test_a_step_is_what_numpy_computes(workbench: Workbench) -> None:
    spec = kernel("jacobi_1d")
    found: list[np.ndarray[Any, Any]] = []
    workbench.run(
        spec, "fp64", {"n": 101}, spoil=lambda views: found.extend([views["old"].copy(), views["new"].copy()])
    )
    old, new = found
    np.testing.assert_allclose(new[1:-1], (old[:-2] + old[1:-1] + old[2:]) / 3, rtol=1e-14)
