"""Words: how teams, levels, CPUs and counted things are called wherever a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ert.roofline.model import ComputeRoof
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


def minute(started: str) -> str:
    """Write a time of a sweep to the minute: ``"2026-11-29 22:45"``; what is no time stays as it is."""
    return started[: len("2026-11-29T22:45")].replace("T", " ") if started.endswith("Z") else started


def told_apart(names: Sequence[str], *details: Sequence[object]) -> list[str] | None:
    """Return names that differ: those that are alike get the first detail that tells all apart; None if none does."""
    if len(set(names)) == len(names):
        return list(names)
    for detail in details:
        pairs = zip(names, detail, strict=True)
        found = [f"{name}, {more}" if names.count(name) > 1 else name for name, more in pairs]
        if len(set(found)) == len(found):
            return found
    return None


def levels(names: Iterable[str]) -> list[str]:
    """Return levels without repetition, nearest to the core first: L1, L2, ..., then memories as they came."""
    found = list(dict.fromkeys(names))
    return sorted(found, key=lambda name: (_depth(name), found.index(name)))


def ranges(numbers: Iterable[int]) -> str:
    """Write CPU numbers the way the kernel does: ``"0-3,8"``."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _depth(name: str) -> int:
    match = re.fullmatch(r"L(\d{1,2})", name)
    return int(match[1]) if match else 100
