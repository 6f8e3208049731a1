"""How long kernels will take: from their counts and the roofs, and what is refused because it would take too long."""

from __future__ import annotations

import pytest

from ert.measure import forecast
from ert.roofline.model import Case, Code, Measurement, Results, Sample, Team, Toolchain, Work
from tests.machine import synthetic_host

ONE = Team("one", (0,), 1)
PEAK = Case("compute", ONE, "fp64", "fma", vector_bits=512, accumulators=16)
SLOPE = Case("memory", ONE, mix="load", vector_bits=512, working_set=1 << 26, level="DRAM")
ROOFS = Results(
    "2026-11-29T22:45:00Z",
    synthetic_host(),
    Toolchain((), "", ()),
    (
        Measurement(PEAK, Work(flop=50), Code("verified"), (Sample(0, 10**9, 1.0), Sample(0, 10**9, 2.0))),
        Measurement(SLOPE, Work(read_bytes=10), Code("verified"), (Sample(0, 10**9, 1.0),)),
    ),
)
"""50 GFLOP/s and 10 GB/s."""


def naive(n: int) -> Case:
    return Case("gemm_naive", ONE, "fp64", level="DRAM", parameters=(("n", n),))


def test_a_pass_takes_as_long_as_slow_kernels_of_its_kind_do() -> None:
    seconds = forecast.pass_seconds(naive(1000), (PEAK,), ROOFS, 32)
    assert seconds == pytest.approx(2e9 / 50e9 / forecast.COMPUTE_SHARE["compiled loops"])
    copied = Case("stream_copy", ONE, "fp64", vector_bits=512, level="DRAM", parameters=(("n", 1 << 20),))
    seconds = forecast.pass_seconds(copied, (SLOPE,), ROOFS, 32)
    assert seconds == pytest.approx(3 * 8 * (1 << 20) / 10e9 / forecast.MEMORY_SHARE)
    assert forecast.pass_seconds(copied, (), ROOFS, 32) == 0.0


def test_a_pass_that_would_not_end_soon_is_refused_with_a_size_that_would_do() -> None:
    case = naive(8000)
    sentence = forecast.too_long(case, {case: (PEAK,)}, ROOFS, 32)
    assert "about 1 h 8 min" in sentence
    assert "the most is 60 s" in sentence
    smaller = naive(int(sentence.partition("--size n=")[2].split()[0]))
    assert forecast.too_long(smaller, {smaller: (PEAK,)}, ROOFS, 32) == ""
    assert dict(smaller.parameters)["n"] == 1000


def test_what_is_expected_grows_with_cases_visits_and_long_passes() -> None:
    short = forecast.expected_seconds([1e-3] * 71, 213, "default")
    # What 71 cases in 213 visits took on a machine of 2026.
    assert 10 < short < 20
    assert forecast.expected_seconds([1e-3] * 71, 220, "default") > short
    assert forecast.expected_seconds([*[1e-3] * 70, 5.0], 213, "default") == pytest.approx(short + 4 * 5.0)


def test_nothing_is_expected_of_nothing() -> None:
    assert forecast.expected_seconds([], 0, "default") == 0.0
