"""Shares of threads of different speed: whole, exact in sum, and as near to proportion as can be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.measure.shares import split


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
