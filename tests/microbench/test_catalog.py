"""The catalogue: names, working sets and the memory they need."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microbench import catalog
from microbench.buffers import Arena

MIX_NAMES = [mix.name for mix in catalog.MIXES]


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (catalog.precision, "unknown precision 'nonsense'; known: fp64, fp32"),
        (catalog.mix, "unknown access mix 'nonsense'; known: load, load2_store1, copy"),
        (catalog.instruction, "unknown instruction 'nonsense'; known: fma, mul_add_unfused"),
    ],
)
def test_unknown_names_name_the_known(find: object, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        find("nonsense")  # type: ignore[operator]


def test_every_entry_is_found_by_its_name() -> None:
    assert [catalog.mix(mix.name) for mix in catalog.MIXES] == list(catalog.MIXES)
    assert [catalog.precision(entry.name) for entry in catalog.PRECISIONS] == list(catalog.PRECISIONS)
    assert [catalog.instruction(entry.name) for entry in catalog.INSTRUCTIONS] == list(catalog.INSTRUCTIONS)


@pytest.mark.parametrize("mix", [mix for mix in catalog.MIXES if mix.nontemporal], ids=lambda mix: mix.name)
def test_a_nontemporal_mix_differs_from_its_ordinary_one_in_the_stores_alone(mix: catalog.Mix) -> None:
    ordinary = catalog.mix(mix.name.removesuffix("_nt"))
    assert mix.allocates == 0
    assert (mix.reads, mix.writes, mix.arrays, mix.fma) == (
        ordinary.reads,
        ordinary.writes,
        ordinary.arrays,
        ordinary.fma,
    )


@given(st.sampled_from(MIX_NAMES), st.integers(min_value=0, max_value=1 << 40))
def test_working_sets_are_whole_steps_of_every_array(name: str, size: int) -> None:
    rounded = catalog.round_working_set(name, size)
    granule = catalog.mix(name).arrays * catalog.STEP_BYTES
    assert rounded % granule == 0
    assert rounded == granule or size - granule < rounded <= size


@given(st.sampled_from(MIX_NAMES), st.integers(min_value=0, max_value=1 << 40))
def test_an_arena_holds_every_array_of_its_working_set(name: str, size: int) -> None:
    working_set = catalog.round_working_set(name, size)
    arrays = catalog.mix(name).arrays
    length = working_set // arrays
    last = (arrays - 1) * catalog.array_pitch(length) + length
    assert last <= catalog.arena_bytes(name, working_set) < last + catalog.PAGE_BYTES + catalog.GAP_BYTES


@given(st.integers(min_value=1, max_value=1 << 24))
def test_arrays_lie_apart_within_a_page(length: int) -> None:
    starts = [index * catalog.array_pitch(length) for index in range(3)]
    assert all(start % 64 == 0 for start in starts)
    assert all(later - earlier >= length for earlier, later in itertools.pairwise(starts))
    for i, one in enumerate(starts):
        for other in starts[:i]:
            distance = (one - other) % catalog.PAGE_BYTES
            assert min(distance, catalog.PAGE_BYTES - distance) >= 320


def test_an_arena_places_arrays_as_the_catalogue_says() -> None:
    with Arena(1 << 16) as arena:
        assert arena.offsets(3, 5000) == tuple(index * catalog.array_pitch(5000) for index in range(3))


@pytest.mark.parametrize("function", [catalog.round_working_set, catalog.arena_bytes])
def test_sizes_of_unknown_mixes(function: object) -> None:
    with pytest.raises(KeyError, match="unknown access mix 'stream'"):
        function("stream", 4096)  # type: ignore[operator]


def test_the_catalogue_imports_nothing_heavy() -> None:
    code = "import sys, microbench.catalog; print(*{'numba', 'numpy', 'llvmlite'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
