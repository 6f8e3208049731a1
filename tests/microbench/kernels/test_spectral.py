"""Fourier transforms: right after any number of passes, nominal counts, and an oracle that notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microbench.kernels.kernel import Library, Request, Unsuitable
from microbench.kernels.registry import kernel
from microbench.kernels.spectral import after
from tests.microbench.kernels.workbench import Workbench, problem


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_results_are_right(workbench: Workbench, precision: str, threads: int) -> None:
    outcome = workbench.run(kernel("fft"), precision, {"n": 60, "batch": 5}, threads)
    assert outcome.verdict == ""
    assert outcome.code.status == "library"
    assert "SciPy" in outcome.code.reason


def library(precision: str, **sizes: int) -> tuple[Library, Any]:
    task = kernel("fft").task(problem(precision, sizes))
    assert isinstance(task, Library)
    return task, task.prepare()


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_every_number_of_passes_is_checked_and_wrong_values_are_noticed(precision: str) -> None:
    task, data = library(precision, n=64, batch=3)
    for _ in range(9):
        assert task.check(data) == ""
        task.call(data)
    data.passes += 1
    assert "part" in task.check(data)
    data.passes -= 1
    assert task.check(data) == ""
    data.values[1, 7] += 0.1j
    assert "imaginary part" in task.check(data)


def test_transforms_are_in_place() -> None:
    task, data = library("fp64", n=64, batch=3)
    before = data.values
    task.call(data)
    assert np.shares_memory(before, data.values)


def test_amplitudes_stay_after_many_passes() -> None:
    task, data = library("fp32", n=256, batch=2)
    for _ in range(4001):
        task.call(data)
    assert task.check(data) == ""


def test_four_transforms_are_the_identity() -> None:
    values = np.random.default_rng(1).normal(size=(2, 12)) + 1j
    once = np.fft.fft(values, norm="ortho")
    twice = np.fft.fft(once, norm="ortho")
    np.testing.assert_allclose(after(2, values), twice, atol=1e-12)
    np.testing.assert_allclose(after(3, values), np.fft.fft(twice, norm="ortho"), atol=1e-12)
    np.testing.assert_allclose(after(4, values), values)


def test_counts_are_nominal() -> None:
    spec = kernel("fft")
    tally = spec.count(problem("fp32", {"n": 1024, "batch": 3}))
    assert spec.nominal
    assert tally.flop == 3 * 5 * 1024 * 10
    assert tally.traffic == 2 * tally.working_set == 2 * 3 * 1024 * 8


@pytest.mark.parametrize("threads", [1, 3])
def test_series_hold_as_much_for_every_length(threads: int) -> None:
    spec = kernel("fft")
    request = Request("fp64", 1 << 27, threads)
    for sizes in (spec.fit(request), *spec.series(request)):
        assert int(sizes["batch"]) % threads == 0
        assert spec.count(problem("fp64", sizes, threads)).working_set == pytest.approx(64 << 20, rel=0.2)


def test_sizes_that_cannot_be_are_told() -> None:
    with pytest.raises(Unsuitable, match="at least one of two"):
        kernel("fft").task(problem("fp64", {"n": 1, "batch": 1}))
