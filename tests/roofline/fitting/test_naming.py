from __future__ import annotations

from ert.roofline.fitting.naming import name_levels
from ert.roofline.model import Plateau

KIB, MIB = 1 << 10, 1 << 20
DECLARED = (("L1", 32 * KIB), ("L2", MIB), ("L3", 32 * MIB))


def plateau(value: float, first: int, last: int, capacity: float | None = None) -> Plateau:
    return Plateau("", value, first, last, capacity)


def test_a_slide_cut_in_two_beyond_the_last_cache_is_one_memory() -> None:
    cut = (
        plateau(230e9, 4 * KIB, 32 * KIB, 36 * KIB),
        plateau(117e9, 40 * KIB, 700 * KIB, 800 * KIB),
        plateau(98e9, MIB, 12 * MIB, 20 * MIB),
        plateau(40e9, 33 * MIB, 60 * MIB, 64 * MIB),
        plateau(31e9, 77 * MIB, 128 * MIB),
    )
    named, notes = name_levels(cut, DECLARED)
    assert [level.name for level in named] == ["L1", "L2", "L3", "DRAM"]
    assert named[-1].value == 31e9
    assert notes == ()


def test_an_undeclared_cache_inside_the_declared_ones_stays() -> None:
    cut = (
        plateau(230e9, 4 * KIB, 32 * KIB, 36 * KIB),
        plateau(117e9, 40 * KIB, 700 * KIB, 800 * KIB),
        plateau(98e9, MIB, 3 * MIB, 4 * MIB),
        plateau(60e9, 5 * MIB, 24 * MIB, 30 * MIB),
        plateau(31e9, 77 * MIB, 128 * MIB),
    )
    named, notes = name_levels(cut, DECLARED)
    assert len(named) == 5
    assert "3" in notes[0]
