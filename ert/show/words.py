"""Words: how teams, levels, CPUs and counted things are called wherever a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ert.roofline.model import ComputeRoof, Roofline, Team
from ert.roofline.quantities import operation as operation
from ert.roofline.quantities import width


def plural(count: int, noun: str) -> str:
    """Write a count and its noun: ``"1 core"``, ``"2 cores"``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Write names one after the other: ``"A, B and C"``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def width_words(roof: ComputeRoof) -> str:
    """Say how wide the vectors of a compute roof are: ``"512-bit"``, ``"scalar"``."""
    return width(roof.vector_bits, roof.precision)


def levels(names: Iterable[str]) -> list[str]:
    """Return levels without repetition, nearest to the core first: L1, L2, ..., then memories as they came."""
    found = list(dict.fromkeys(names))
    return sorted(found, key=lambda name: (_depth(name), found.index(name)))


def largest_team(teams: Sequence[Team]) -> Team:
    """Return the team that says most about the whole machine: ``"all"``, else the one with the most threads."""
    return next((team for team in teams if team.name == "all"), max(teams, key=lambda team: team.threads))


def ranges(numbers: Iterable[int]) -> str:
    """Write CPU numbers the way the kernel does: ``"0-3,8"``."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def clock_hz(roofline: Roofline, team: Team) -> float | None:
    """Return the core clock in hertz that the rates of a team were made at; None where it was not measured.

    The rate of a compute roof per second over its rate per cycle and core; a headline roof speaks first.
    """
    for roof in sorted(roofline.compute, key=lambda roof: not roof.headline):
        if roof.team == team and roof.rate.per_cycle:
            return roof.rate.best / (roof.rate.per_cycle * team.cores)
    return None


def _depth(name: str) -> int:
    match = re.fullmatch(r"L(\d{1,2})", name)
    return int(match[1]) if match else 100
