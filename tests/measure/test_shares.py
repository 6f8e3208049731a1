"""Shares of threads of different speed: whole, exact in sum, and as near to proportion as can be."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.measure.shares import Shares, split
from ert.roofline.model import Case, Team


def test_equal_speeds_get_equal_parts() -> None:
    assert split(64, [3.0] * 4) == [16, 16, 16, 16]
    assert sorted(split(10, [1.0] * 4)) == [2, 2, 3, 3]


def test_parts_follow_speeds() -> None:
    assert split(16 * 14, [2.0] * 6 + [1.0] * 8) == [23, 23, 23, 23, 22, 22] + [11] * 8
    assert split(20, [1e-9, 1.0, 1.0]) == [1, 10, 9]


@given(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=40), st.integers(0, 10_000))
def test_the_sum_is_exact_and_nobody_goes_without(speeds: list[float], spare: int) -> None:
    total = len(speeds) + spare
    parts = split(total, speeds)
    assert sum(parts) == total
    assert min(parts) >= 1
    for part, speed in zip(parts, speeds, strict=True):
        assert part <= math.ceil(total * speed / math.fsum(speeds)) + 1


@pytest.mark.parametrize(("total", "speeds"), [(1, [1.0, 1.0]), (0, []), (5, []), (5, [1.0, 0.0]), (5, [math.nan])])
def test_what_cannot_be_split_is_refused(total: int, speeds: list[float]) -> None:
    with pytest.raises(ValueError, match=r"split|above 0"):
        split(total, speeds)


MIXED = Case("compute", Team("all", (4, 5), 2), "fp64", "fma", vector_bits=256, accumulators=8)


def test_parts_follow_the_median_speed_of_the_last_runs() -> None:
    shares = Shares({4: "P", 5: "E"})
    assert shares.of(MIXED, 100) == {4: 100, 5: 100}
    shares.note(MIXED, {4: 100, 5: 100}, (0.01, 0.03))
    assert shares.of(MIXED, 100) == {4: 150, 5: 50}
    # One disturbed run changes nothing, a lasting change does.
    shares.note(MIXED, {4: 150, 5: 50}, (0.015, 0.015))
    shares.note(MIXED, {4: 150, 5: 50}, (0.060, 0.015))
    assert shares.of(MIXED, 100) == {4: 150, 5: 50}
    for _ in range(3):
        shares.note(MIXED, {4: 150, 5: 50}, (0.045, 0.015))
    assert shares.of(MIXED, 100) == {4: 100, 5: 100}


def test_short_runs_and_threads_that_are_alike_are_not_judged() -> None:
    shares = Shares({4: "P", 5: "E", 6: "E"})
    shares.note(MIXED, {4: 1, 5: 1}, (1e-8, 3e-8))
    assert shares.of(MIXED, 10) == {4: 10, 5: 10}
    alike = replace(MIXED, team=Team("all E", (5, 6), 2))
    assert not shares.uneven(alike)
    shares.note(alike, {5: 1, 6: 1}, (0.01, 0.03))
    assert shares.of(alike, 10) == {5: 10, 6: 10}
    assert not shares.uneven(replace(MIXED, probe="overhead"))
