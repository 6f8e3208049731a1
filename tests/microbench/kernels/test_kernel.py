"""What all kernels share: parts, sizes, test data, comparison with an oracle, and the whole catalogue."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microbench import catalog
from microbench.kernels import kernel as module
from microbench.kernels.kernel import PRECISIONS, Part, Problem, Request, Spec, as_many
from microbench.kernels.registry import FAMILIES, KERNELS, is_kernel, kernel

MIB = 1 << 20


@given(st.integers(0, 10_000), st.integers(1, 70), st.integers(1, 64))
def test_parts_cover_everything_once_and_evenly(total: int, count: int, granule: int) -> None:
    ranges = [Part(index, count).share(total, granule) for index in range(count)]
    covered = [place for begin, end in ranges for place in range(begin, end)]
    assert covered == list(range(total))
    sizes = [end - begin for begin, end in ranges]
    assert max(sizes) - min(sizes) <= 2 * granule
    assert all(begin % granule == 0 for begin, end in ranges if begin < end)


@given(st.integers(1, 1 << 34), st.integers(1, 130), st.sampled_from(PRECISIONS))
def test_a_fit_stays_inside_the_bytes_where_one_granule_does(size: int, threads: int, precision: str) -> None:
    request = Request(precision, size, threads)
    n = as_many(3, 16)(request)["n"]
    assert isinstance(n, int)
    assert n % (16 * threads) == 0
    assert n == 16 * threads or 3 * n * request.element_bytes <= size


def test_test_data_are_exact_in_both_precisions_and_can_be_stated_one_by_one() -> None:
    places = np.arange(100_000)
    values = module.pattern(places, np.float64)
    assert np.array_equal(values, module.pattern(places, np.float32).astype(np.float64))
    assert (values[1:] != values[:-1]).all()
    assert values.min() >= 0.5
    assert values.max() < 1.5
    assert module.pattern(places[777:778], np.float64) == values[777]
    assert not np.array_equal(values, module.pattern(places, np.float64, salt=1))
    flat = np.zeros(200_000)
    module.fill_pattern(flat, 10, 150_000, salt=3, first=5)
    assert np.array_equal(flat[10:150_000], module.pattern(np.arange(15, 150_005), np.float64, 3))
    assert not flat[:10].any()
    assert not flat[150_000:].any()


@given(st.integers(1, 10**9), st.integers(2, 5000))
def test_samples_of_a_large_result_include_its_ends(total: int, most: int) -> None:
    places = module.sampled(total, most)
    assert (places[0], places[-1]) == (0, total - 1)
    assert len(places) == len(set(places.tolist())) <= max(most, 1)


@pytest.mark.parametrize(
    ("found", "expected", "wrong"),
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1.0, 2.0 + 1e-9], [1.0, 2.0], ""),
        ([1.0, 2.1], [1.0, 2.0], "element 1 holds"),
        ([1.0, float("nan")], [1.0, 2.0], "element 1 holds"),
        ([0.1], [0.0], "element 0 holds"),
        ([1.0], [1.0, 2.0], "(1,) values instead of (2,)"),
        ([float("inf")], [1.0], "element 0 holds"),
    ],
)
def test_an_oracle_tells_what_differs(found: list[float], expected: list[float], wrong: str) -> None:
    told = module.differs(np.array(found), np.array(expected), 1e-8)
    assert wrong in told if wrong else told == ""


# ------------------------------------------------------------------------------------------- the catalogue


@pytest.mark.parametrize("spec", KERNELS, ids=lambda spec: spec.name)
def test_an_entry_of_the_catalogue_is_complete(spec: Spec) -> None:
    assert spec.name.isidentifier()
    assert spec.title
    assert spec.source
    assert spec.family in FAMILIES
    assert spec.implementation in ("explicit vectors", "compiled loops", "library")
    assert spec.limit in ("", "gather", "chain")
    assert spec.sizes
    assert set(spec.representative) <= set(PRECISIONS)
    assert catalog.mix(spec.mix).name == spec.mix
    if spec.instructions:
        assert catalog.instruction(spec.instructions).name == spec.instructions
    assert bool(spec.ladder) == bool(spec.rung)


@pytest.mark.parametrize("spec", [spec for spec in KERNELS if "matrix" not in spec.sizes], ids=lambda spec: spec.name)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("threads", [1, 5])
def test_sizes_that_are_chosen_can_be_counted(spec: Spec, precision: str, threads: int) -> None:
    capacities = {"L1": 32 << 10, "L2": MIB, "L3": 16 * MIB}
    for size in (16 << 10, 512 << 10, 128 * MIB):
        request = Request(precision, size, threads, capacities, 256, 32)
        for sizes in (spec.fit(request), *spec.series(request)):
            assert set(spec.sizes) <= set(sizes)
            tally = spec.count(Problem(precision, sizes, threads, 256, 32))
            assert tally.working_set > 0
            assert tally.read + tally.written > 0
            assert tally.traffic > 0
            assert tally.compulsory > 0
            assert (tally.flop > 0) == bool(spec.instructions)
            assert tally.compulsory <= tally.read + tally.written or spec.implementation == "library"


def test_names_are_unique_and_an_unknown_one_is_answered_with_the_nearest() -> None:
    assert len({spec.name for spec in KERNELS}) == len(KERNELS)
    name = KERNELS[0].name
    assert kernel(name) is KERNELS[0]
    assert is_kernel(name)
    assert not is_kernel("compute")
    with pytest.raises(KeyError, match=f"did you mean {name}"):
        kernel(name[:-1])
    with pytest.raises(KeyError, match="--list"):
        kernel("qqqqqqqq")


def test_no_probe_has_the_name_of_a_kernel() -> None:
    assert not {spec.name for spec in KERNELS} & {*catalog.PROBES, "scaling"}


def test_the_catalogue_needs_no_compiler() -> None:
    code = (
        "import sys, microbench.kernels.registry\n"
        "loaded = {'numba', 'llvmlite', 'scipy', 'threadpoolctl'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
