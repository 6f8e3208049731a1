"""The cut of curves into levels: planted machines must come back, real shapes and any input must not break it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.records.store import load
from ert.roofline.fitting.fit import fit
from ert.roofline.fitting.levels import find_plateaus
from ert.roofline.model import Plateau
from tests.planted import BAR, Verdict, judge, shares
from tests.synthetic import (
    KIB,
    MIB,
    SHAPES,
    PlantedMachine,
    Shape,
    SyntheticCurve,
    planted_machine,
    working_sets,
)

DECLARED = (("L1", 32 * KIB), ("L2", MIB), ("L3", 32 * MIB))


def _names(plateaus: Sequence[Plateau]) -> tuple[str, ...]:
    return tuple(plateau.name for plateau in plateaus)


def _bar(machines: Sequence[Verdict]) -> None:
    for share in shares(machines).values():
        assert share >= BAR


# The seeds of these tests were not looked at while the constants of the fit were chosen (those were 0 to 199).


def test_a_thousand_planted_machines_come_back() -> None:
    _bar([judge(planted_machine(seed), seed) for seed in range(10_000, 11_000)])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_of_the_transition_does_not_matter(shape: Shape) -> None:
    _bar([judge(planted_machine(seed, shape=shape), seed) for seed in range(20_000, 20_100)])


@pytest.mark.parametrize(("per_octave", "count"), [(2, 3), (3, 3), (8, 6)])
def test_other_numbers_of_sizes_and_samples(per_octave: int, count: int) -> None:
    seeds = range(30_000, 30_100)
    _bar([judge(planted_machine(seed, per_octave=per_octave), seed, count=count) for seed in seeds])


def test_latency_curves_rise() -> None:
    _bar([judge(planted_machine(seed), seed, rising=True) for seed in range(40_000, 40_100)])


@pytest.mark.parametrize("shape", SHAPES)
def test_four_levels_at_the_smallest_steps_and_widths(shape: Shape) -> None:
    heights = tuple(100e9 / 1.15**i for i in range(4))
    capacities = (2.0**14.5, 2.0**17.5, 2.0**20.5)
    curve = SyntheticCurve(heights, capacities, (1.0, 1.0, 1.0), shape)
    machine = PlantedMachine(curve, working_sets(4 * KIB, round(2.0**23.25), 4), (), honest=False)
    _bar([judge(machine, seed) for seed in range(50)])


def _guest(edge: float, memory: float) -> Callable[[float], float]:
    """GB/s as seen on a 2-core Zen 4 guest: an L3 that others use too, and a long slide to memory."""
    points: list[tuple[float, float]] = [(4, 217), (6, 222), (8, 226), (32, 226), (64, 117), (1024, 117), (1536, 97)]
    points += [(edge * 1024, 96), (memory * 1024, 29), (1 << 20, 28)]
    x, y = np.log2([k for k, _ in points]), np.log([v for _, v in points])
    return lambda size: float(np.exp(np.interp(math.log2(size / KIB), x, y)))


def _measured(
    curve: Callable[[float], float], largest: int, *, seed: int, per_octave: int = 4, wobble: float = 0.0
) -> tuple[tuple[int, ...], list[list[float]]]:
    """Four samples a size; past L2, spells of slower sizes of scale `wobble` that last for a few of them."""
    rng = np.random.default_rng(seed)
    sizes = working_sets(4 * KIB, largest, per_octave)
    spell, samples = 0.0, []
    for size in sizes:
        spell = 0.6 * spell + rng.normal(0.0, wobble) if size > MIB else 0.0
        rate = 1e9 * curve(size) * (1.0 - min(abs(spell), 0.5))
        samples.append([rate * (1.0 - abs(rng.normal(0.0, 0.02))) for _ in range(4)])
    return sizes, samples


@pytest.mark.parametrize("wobble", [0.0, 0.03])
@pytest.mark.parametrize("memory", [16, 32, 64])
@pytest.mark.parametrize("per_octave", [2, 4, 8])
def test_a_shared_last_cache_with_a_long_slide_is_four_levels(per_octave: int, memory: int, wobble: float) -> None:
    for seed in range(10):
        sizes, samples = _measured(_guest(7, memory), 128 * MIB, seed=seed, per_octave=per_octave, wobble=wobble)
        plateaus, notes = find_plateaus(sizes, samples, declared=DECLARED)
        assert _names(plateaus) == ("L1", "L2", "L3", "DRAM")
        assert [p.value / 1e9 for p in plateaus] == pytest.approx([225, 117, 96, 29], rel=0.12 if wobble else 0.05)
        assert [p.declared for p in plateaus] == [32 * KIB, MIB, 32 * MIB, None]
        assert plateaus[0].first == 4 * KIB
        assert plateaus[2].last <= 12 * MIB
        assert plateaus[-1].capacity is None
        assert wobble or notes == ()


def test_a_memory_plateau_that_is_not_reached_is_still_given_and_said_to_be_too_high() -> None:
    # An L3 of 32 MiB with random replacement: even at 4 times its size a quarter of the accesses hit it.
    def curve(size: float) -> float:
        hits = min(1.0, 32 * MIB / size)
        return 226.0 if size < 34 * KIB else 117.0 if size < 1.1 * MIB else 1.0 / (hits / 97 + (1 - hits) / 28)

    plateaus, notes = find_plateaus(*_measured(curve, 128 * MIB, seed=1), declared=DECLARED)
    assert _names(plateaus) == ("L1", "L2", "L3", "DRAM")
    assert plateaus[-1].value == pytest.approx(curve(128 * MIB) * 1e9, rel=0.1)
    assert plateaus[-1].last == 128 * MIB
    assert any("still gets worse" in note for note in notes)


def test_a_curve_that_ends_within_the_last_cache_has_no_memory_level() -> None:
    plateaus, notes = find_plateaus(*_measured(_guest(64, 512), 16 * MIB, seed=1), declared=DECLARED)
    assert _names(plateaus) == ("L1", "L2", "L3")
    assert plateaus[-1].capacity is None
    assert plateaus[-1].declared == 32 * MIB
    assert notes == ("DRAM has no plateau of its own: it was not reached or cannot be told apart from L3.",)


def test_a_steady_slide_is_not_a_staircase() -> None:
    for slope in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0):

        def curve(size: float, slope: float = slope) -> float:
            return 200.0 * float(np.exp(-slope * max(0.0, math.log2(size / (64 * KIB)))))

        plateaus, _ = find_plateaus(*_measured(curve, 64 * MIB, seed=3))
        assert len(plateaus) <= 2


def test_a_curve_that_only_slides_is_said_to_have_no_flat_stretch() -> None:
    plateaus, notes = find_plateaus(*_measured(lambda size: 200.0 * (size / KIB) ** -0.3, 4 * MIB, seed=3))
    assert plateaus[0].last <= 16 * KIB
    assert "no flat stretch" in notes[0]
    assert "still gets worse" in notes[1]


def test_a_small_fall_at_the_end_is_memory_where_it_is_still_to_come() -> None:
    def curve(size: float) -> float:
        misses = max(0.0, 1.0 - 32 * MIB / size)
        return 226.0 if size < 34 * KIB else 117.0 if size < 1.1 * MIB else 97.0 / (1.0 + misses * 0.3)

    sizes, samples = _measured(curve, 128 * MIB, seed=4, per_octave=2)
    expected, _ = find_plateaus(sizes, samples, declared=DECLARED)
    surplus, _ = find_plateaus(sizes, samples, declared=DECLARED[:2])
    assert (_names(expected), _names(surplus)) == (("L1", "L2", "L3", "DRAM"), ("L1", "L2", "DRAM"))


def test_a_hump_and_slow_small_sets_make_no_level() -> None:
    def curve(size: float) -> float:
        if size < 40 * KIB:
            return 150.0 if size < 6 * KIB else 220.0
        return 117.0 * (1.12 if 200 * KIB < size < 400 * KIB else 1.0)

    plateaus, _ = find_plateaus(*_measured(curve, MIB, seed=2))
    assert [p.value / 1e9 for p in plateaus] == pytest.approx([218, 117], rel=0.05)


def test_one_lucky_and_one_disturbed_size_do_not_move_a_height() -> None:
    sizes = working_sets(4 * KIB, MIB, 4)
    samples = [[100.0, 99.0, 100.0] for _ in sizes]
    samples[5], samples[11] = [170.0, 99.0, 98.0], [30.0, 29.0, 31.0]
    plateaus, _ = find_plateaus(sizes, samples)
    assert [(p.first, p.last) for p in plateaus] == [(sizes[0], sizes[-1])]
    assert plateaus[0].value == pytest.approx(100.0)


# ------------------------------------------------------------------------------------------------- the names


def _stairs(*steps: tuple[float, float], last: float, largest: int) -> tuple[tuple[int, ...], list[list[float]]]:
    """Measure sharp steps without noise: (height, capacity) of each level but the last, height of the last."""
    curve = SyntheticCurve((*(h for h, _ in steps), last), tuple(c for _, c in steps), (0.25,) * len(steps))
    sizes = working_sets(4 * KIB, largest, 4)
    return sizes, [[curve.value(size)] for size in sizes]


THREE_CACHES = _stairs((200, 32 * KIB), (100, MIB), (80, 16 * MIB), last=20, largest=128 * MIB)


def test_nothing_declared_counts_the_levels() -> None:
    plateaus, notes = find_plateaus(*THREE_CACHES)
    assert _names(plateaus) == ("L1", "L2", "L3", "DRAM")
    assert [p.declared for p in plateaus] == [None] * 4
    assert notes == ()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "The size of L3 is not declared"),
        (56, "56 bytes of L3 are declared, but the curve leaves its plateau at 16 MiB"),
        (160 * MIB, "160 MiB of L3 are declared, but"),
        (MIB, "1 MiB of L3 are declared, but"),
    ],
)
def test_a_wrong_size_is_reported_and_loses(size: int, words: str) -> None:
    plateaus, notes = find_plateaus(*THREE_CACHES, declared=(*DECLARED[:2], ("L3", size)))
    assert _names(plateaus) == ("L1", "L2", "L3", "DRAM")
    assert plateaus[2].capacity == pytest.approx(16 * MIB, rel=0.1)
    assert plateaus[2].declared == (size or None)
    assert len(notes) == 1
    assert words in notes[0]


@pytest.mark.parametrize("missing", range(3))
def test_a_cache_that_is_not_declared_gets_its_number(missing: int) -> None:
    declared = [entry for i, entry in enumerate(DECLARED) if i != missing]
    plateaus, notes = find_plateaus(*THREE_CACHES, declared=declared)
    assert _names(plateaus) == ("L1", "L2", "L3", "DRAM")
    assert plateaus[missing].declared is None
    assert notes == ("The curve shows 3 caches where the system declares 2; the others are numbered in order.",)


def test_levels_of_equal_speed_are_named_by_their_end_and_reported() -> None:
    sizes, samples = _stairs((200, 32 * KIB), (100, 16 * MIB), last=20, largest=128 * MIB)
    plateaus, notes = find_plateaus(sizes, samples, declared=DECLARED)
    assert _names(plateaus) == ("L1", "L3", "DRAM")
    assert notes == ("L2 is declared but could not be told apart from L3.",)


def test_a_last_cache_as_slow_as_memory_is_reported() -> None:
    sizes, samples = _stairs((200, 32 * KIB), (100, MIB), last=20, largest=128 * MIB)
    plateaus, notes = find_plateaus(sizes, samples, declared=DECLARED)
    assert _names(plateaus) == ("L1", "L2", "DRAM")
    assert notes == ("L3 is declared but could not be told apart from DRAM.",)


def test_more_plateaus_than_names_are_numbered() -> None:
    sizes, samples = _stairs((200, 32 * KIB), (150, 256 * KIB), (100, MIB), (70, 16 * MIB), last=20, largest=128 * MIB)
    plateaus, notes = find_plateaus(sizes, samples, declared=DECLARED)
    assert _names(plateaus) == ("L1", "L2", "L3", "L4", "DRAM")
    assert "shows 4 caches where the system declares 3" in notes[0]


def test_other_names_are_kept() -> None:
    declared = (("L1", 32 * KIB), ("L2", MIB), ("SLC", 16 * MIB))
    assert _names(find_plateaus(*THREE_CACHES, declared=declared)[0]) == ("L1", "L2", "SLC", "DRAM")


@pytest.mark.parametrize(("largest", "name", "notes"), [(32 * KIB, "L1", 0), (64 * MIB, "L1", 1), (1 << 30, "DRAM", 1)])
def test_one_plateau_with_nothing_declared(largest: int, name: str, notes: int) -> None:
    sizes = working_sets(4 * KIB, largest, 4)
    plateaus, found = find_plateaus(sizes, [[10.0]] * len(sizes))
    assert _names(plateaus) == (name,)
    assert len(found) == notes


def test_one_plateau_past_the_declared_caches_is_memory() -> None:
    sizes = working_sets(4 * KIB, 128 * MIB, 4)
    plateaus, notes = find_plateaus(sizes, [[10.0]] * len(sizes), declared=DECLARED)
    assert _names(plateaus) == ("DRAM",)
    assert len(notes) == 3


def test_a_small_step_next_to_a_narrow_plateau_is_believed_where_a_capacity_is_declared() -> None:
    sizes, samples = _stairs((200, 32 * KIB), (100, 88 * KIB), last=85, largest=4 * MIB)
    alone, _ = find_plateaus(sizes, samples)
    told, _ = find_plateaus(sizes, samples, declared=(("L1", 32 * KIB), ("L2", 96 * KIB)))
    assert (len(alone), len(told)) == (2, 3)


# --------------------------------------------------------------------------------------------------- any input


def test_nothing_measured_is_no_level() -> None:
    for sizes, values in (([], []), ([4096, 8192], [[], [0.0, math.nan, math.inf, -1.0]])):
        plateaus, notes = find_plateaus(sizes, values)
        assert plateaus == ()
        assert "No usable sample" in notes[0]


def test_few_sizes_are_one_level_with_a_note() -> None:
    plateaus, notes = find_plateaus([4096], [[5.0]])
    assert plateaus == (Plateau("L1", plateaus[0].value, 4096, 4096),)
    assert plateaus[0].value == pytest.approx(5.0)
    assert "Too few working sets" in notes[0]


def test_order_repetition_and_unusable_samples_do_not_matter() -> None:
    sizes, samples = THREE_CACHES
    backwards = find_plateaus(sizes[::-1], samples[::-1])
    worse = [[0.5 * row[0], math.nan, 0.0] for row in samples]
    halves = find_plateaus([*sizes, *sizes], [*samples, *worse])
    assert backwards == halves == find_plateaus(sizes, samples)


@pytest.mark.parametrize(
    ("sizes", "values", "message"),
    [
        ([1, 2], [[1.0]], "got 2 sizes and 1 lists"),
        ([0], [[1.0]], "above 0 and below 2\\*\\*63 bytes: got 0"),
        ([-64], [[1.0]], "got -64"),
        ([1 << 63], [[1.0]], "got 9223372036854775808"),
    ],
)
def test_bad_input_is_refused(sizes: list[int], values: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_plateaus(sizes, values)


points = st.one_of(
    st.lists(st.tuples(st.integers(1, 1 << 40), st.lists(st.floats(), max_size=4)), max_size=40),
    st.lists(
        st.tuples(st.integers(12, 30).map(lambda e: 1 << e), st.lists(st.floats(1.0, 4.0), min_size=1)), max_size=40
    ),
    st.lists(st.sampled_from([1.0, 1.1, 1.3, 2.0, 8.0]), min_size=1, max_size=60).map(
        lambda heights: [(round(2.0 ** (12 + i / 4)), [h]) for i, h in enumerate(heights)]
    ),
)
caches = st.lists(
    st.tuples(st.sampled_from(["L1", "L2", "L3", "L4", "DRAM", "SLC", ""]), st.integers(-5, 1 << 45)), max_size=5
)


@settings(max_examples=300)
@given(points, caches, st.booleans())
def test_no_input_breaks_the_cut(
    curve: list[tuple[int, list[float]]], declared: list[tuple[str, int]], rising: bool
) -> None:
    sizes, values = [size for size, _ in curve], [samples for _, samples in curve]
    plateaus, notes = find_plateaus(sizes, values, declared=declared, rising=rising)
    assert all(note.endswith(".") for note in notes)
    usable = [v for row in values for v in row if 1e-300 < v < 1e300]
    assert bool(plateaus) == bool(usable)
    for plateau in plateaus:
        assert plateau.name or any(not name for name, _ in declared)
        assert min(usable) * 0.999 <= plateau.value <= max(usable) * 1.001
        assert plateau.first in sizes
        assert plateau.last in sizes
        assert plateau.first <= plateau.last
    for left, right in pairwise(plateaus):
        assert left.last < right.first
        assert (left.value < right.value) if rising else (left.value > right.value)
        assert left.capacity is not None
        assert left.first <= left.capacity <= right.last
    if plateaus:
        assert plateaus[-1].capacity is None


@pytest.mark.parametrize("factor", [1, 0.1, 10, 100])
def test_sizes_declared_wrong_neither_hide_nor_rename_a_level_of_a_measured_machine(factor: float) -> None:
    results = load(min((Path(__file__).parents[3] / "results" / "amd-epyc-2c").glob("*.json")))
    caches = tuple(replace(cache, size=int(cache.size * factor)) for cache in results.host.caches)
    found = fit(replace(results, host=replace(results.host, caches=caches)))
    for curve, true in zip(found.curves, fit(results).curves, strict=True):
        assert [plateau.name for plateau in curve.plateaus] == ["L1", "L2", "L3", "DRAM"]
        assert [plateau.value for plateau in curve.plateaus] == [plateau.value for plateau in true.plateaus]
        contradicted = [note for note in curve.notes if "are declared, but the curve leaves its plateau" in note]
        assert len(contradicted) == (0 if factor == 1 else 3)
