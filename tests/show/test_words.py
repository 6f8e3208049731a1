"""Names of teams, levels and CPUs."""

from __future__ import annotations

import pytest

from ert.roofline.model import Team
from ert.show import words


@pytest.mark.parametrize(
    ("team", "label"),
    [
        (Team("one", (5,), 1), "1 thread"),
        (Team("all", (0, 1), 2), "2 threads"),
        (Team("8", tuple(range(8)), 8), "8 threads"),
        (Team("all", tuple(range(16)), 8), "16 threads on 8 cores"),
        (Team("E", (8, 9), 2), "2 threads (E)"),
    ],
)
def test_teams(team: Team, label: str) -> None:
    assert team.label == label


def test_levels_go_from_the_core_outwards() -> None:
    assert words.levels(["DRAM", "L3", "L1", "L2", "L3"]) == ["L1", "L2", "L3", "DRAM"]
    assert words.levels(["L4", "HBM", "DRAM", "L1"]) == ["L1", "L4", "HBM", "DRAM"]


def test_cpus_are_written_as_ranges() -> None:
    assert words.ranges([3, 0, 1, 2, 8, 8]) == "0-3,8"
    assert words.ranges([]) == ""


def test_names_are_listed() -> None:
    assert [words.listed(list("ABC"[:n])) for n in (1, 2, 3)] == ["A", "A and B", "A, B and C"]
