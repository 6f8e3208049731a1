"""The part of the summary on latency, concurrency, irregular access, scaling and overhead."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from ert.roofline.model import MEMORY, Latency, Overhead, Roofline, Team
from ert.show import units
from ert.show.words import levels, operation, plural

FIRST, CELL, WIDE_CELL = 24, 8, 13
"""Widths: names, a number, and a number with another in brackets."""

GIGA = 1e9


def sections(roofline: Roofline, width: int) -> list[str]:
    """Return the lines on everything beside the roofs; none where nothing of it was measured."""
    parts = [
        _latencies(roofline),
        _random_access(roofline),
        _said(_littles_law(roofline), width),
        *(_irregular(roofline, team, width) for team in _teams(roofline)),
        _said(_scaling(roofline), width),
        _said(_overheads(roofline), width),
    ]
    parts = [part for part in parts if part]
    if not parts:
        return []
    title = "Latency, concurrency, irregular access"
    lines = ["", title, "=" * len(title), *parts[0]]
    for part in parts[1:]:
        lines += ["", *part]
    return lines


def _teams(roofline: Roofline) -> list[Team]:
    return list(
        dict.fromkeys([*(entry.team for entry in roofline.gathers), *(entry.team for entry in roofline.strides)])
    )


def _said(sentences: Sequence[str], width: int) -> list[str]:
    lines: list[str] = []
    for sentence in sentences:
        lines += textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return lines


def _row(title: str, cells: Sequence[str], width: int = CELL) -> str:
    return f"{title:<{FIRST}}" + "".join(f"{cell:>{width}}" for cell in cells)


# ------------------------------------------------------------------------------------------------- latency


def _latencies(roofline: Roofline) -> list[str]:
    """Return load-to-use latency by level, and the capacities that both curves show."""
    lines: list[str] = []
    for team in dict.fromkeys(latency.team for latency in roofline.latencies):
        found = {(entry.level, entry.pattern): entry for entry in roofline.latencies if entry.team == team}
        capacity = {
            plateau.name: plateau.capacity
            for curve in roofline.curves
            if curve.team == team
            for plateau in curve.plateaus
        }
        lines += ["", *_latency_table(team, found, capacity)] if lines else _latency_table(team, found, capacity)
    return lines


def _latency_table(
    team: Team, found: Mapping[tuple[str, str], Latency], capacity: Mapping[str, float | None]
) -> list[str]:
    name, cell = 7, 10
    lines = [
        f"  load to use, {team.label}",
        f"{'':<{name}}{'random':>{2 * cell}}{'in pages':>{2 * cell}}{'effective capacity by':>28}",
        f"{'':<{name}}" + "".join(f"{text:>{cell}}" for text in ("time", "cycles") * 2)
        + f"{'bandwidth':>16}{'latency':>12}",
    ]  # fmt: skip
    for level in levels(level for level, _ in found):
        cells = []
        for pattern in ("random", "page"):
            entry = found.get((level, pattern))
            cells += [_duration(entry.seconds), _cycles(entry.cycles)] if entry else ["-", "-"]
        random = found.get((level, "random"))
        seen = [capacity.get(level), random.capacity if random else None]
        sizes = [units.size(size) if size else "-" for size in seen]
        lines.append(
            f"{'  ' + level:<{name}}" + "".join(f"{text:>{cell}}" for text in cells) + f"{sizes[0]:>16}{sizes[1]:>12}"
        )
    return lines


def _cycles(cycles: float | None) -> str:
    return "-" if cycles is None else units.number(cycles)


def _duration(seconds: float) -> str:
    """Write a duration in ASCII, as the rest of the summary is."""
    return units.seconds(seconds).replace("µ", "u")


# --------------------------------------------------------------------------------------------- concurrency


def _random_access(roofline: Roofline) -> list[str]:
    """Return the rate of independent random reads by number of chains, in whole lines."""
    found = {(entry.team, entry.level, entry.chains): entry for entry in roofline.random_access}
    chains = sorted({number for _, _, number in found})
    if not found:
        return []
    lines = ["  random reads, GB/s of", _row("  lines, chains a thread", list(map(str, chains)))]
    for team in dict.fromkeys(team for team, _, _ in found):
        for level in levels(level for other, level, _ in found if other == team):
            entries = [found.get((team, level, number)) for number in chains]
            cells = [units.number(entry.rate.best / GIGA) if entry else "-" for entry in entries]
            lines.append(_row(f"  {level}, {team.label}", cells))
    return lines


def _littles_law(roofline: Roofline) -> list[str]:
    """Say what must be in flight for the bandwidth of memory, and what independent reads reached."""
    sentences = []
    for law in roofline.concurrency:
        if law.level != MEMORY:
            continue
        line = next((entry.line_bytes for entry in roofline.random_access if entry.level == law.level), 64)
        who = law.team.label
        sentences.append(
            f"{law.level}, {who}: {units.rate(law.bandwidth, 'B')} x {_duration(law.latency)} = "
            f"{units.size(law.needed)} in flight (Little's law), {law.needed / line:.0f} lines. Random reads along "
            f"{law.chains} chains a thread kept {law.reached / line:.0f} lines in flight, "
            + _share(law.reached, law.needed)
        )
    return sentences


def _share(reached: float, needed: float) -> str:
    if reached >= 0.95 * needed:
        return "as many: random lines come as fast as a stream."
    return f"{100 * reached / needed:.0f} % of that: the rest of a stream's bandwidth is the work of prefetchers."


# ----------------------------------------------------------------------------------------- irregular access


def _irregular(roofline: Roofline, team: Team, width: int) -> list[str]:
    """Return gathers and strided reads by level: bytes used, and whole lines in brackets."""
    rows: dict[str, dict[str, str]] = {}
    for gather in roofline.gathers:
        if gather.team == team:
            name = f"  gather {gather.element_bytes} B by {8 * gather.index_bytes}-bit"
            # In a cache many of these lines are hits in a nearer one; at memory nearly all have to come.
            lines_read = gather.line_rate if gather.level == MEMORY else None
            rows.setdefault(name, {})[gather.level] = _both(gather.rate.best, lines_read)
    for strided in sorted(roofline.strides, key=lambda entry: entry.stride):
        if strided.team == team:
            name = f"  8 B, stride {strided.stride}"
            rows.setdefault(name, {})[strided.level] = _both(strided.rate.best, strided.line_rate)
    order = levels(level for row in rows.values() for level in row)
    room = max(1, (width - FIRST) // WIDE_CELL)
    lines = [f"  {team.label}: GB/s of the bytes used (in brackets: of their lines, modelled)"]
    for start in range(0, len(order), room):
        block = order[start : start + room]
        lines += [""] if start else []
        lines.append(_row("", block, WIDE_CELL))
        lines += [_row(name, [row.get(level, "-") for level in block], WIDE_CELL) for name, row in rows.items()]
    return lines


def _both(used: float, lines: float | None) -> str:
    text = units.number(used / GIGA)
    return text if lines is None else f"{text} ({lines / GIGA:.0f})" if lines >= 10 * GIGA else (
        f"{text} ({units.number(lines / GIGA)})"
    )  # fmt: skip


# ------------------------------------------------------------------------------------- scaling and overhead


def _scaling(roofline: Roofline) -> list[str]:
    sentences = []
    for scaling in roofline.scaling:
        points = ", ".join(f"{point.team.threads}: {units.rate(point.rate.best, 'B')}" for point in scaling.points)
        sentences.append(
            f"{scaling.level} bandwidth by threads: {points}. "
            + (
                f"{plural(scaling.saturated_by.threads, 'thread')} saturate it (within 5 % of the best)."
                if scaling.saturated_by and scaling.saturated_by.threads > 1
                else "One thread saturates it (within 5 % of the best)."
                if scaling.saturated_by
                else "Every step brought more: it takes all of them."
            )
        )
    return sentences


def _overheads(roofline: Roofline) -> list[str]:
    """Say what a team costs, and below which work that is most of a kernel's time."""
    costs = {(entry.team, entry.kind): entry for entry in roofline.overheads}
    sentences = []
    for team in dict.fromkeys(team for team, _ in costs):
        start, end, barrier = (costs.get((team, kind)) for kind in ("first start", "last end", "barrier"))
        parts = []
        if end:
            # Measured apart: on a disturbed machine the shorter way can come out longer.
            first = f" ({_duration(start.seconds)} to the first start)" if start and start.seconds < end.seconds else ""
            parts.append(f"from a call to the last end {_duration(end.seconds)}{first}")
        if barrier:
            parts.append(f"one barrier {_duration(barrier.seconds)}")
        text = f"Overhead, {team.label}: {', '.join(parts)}."
        sentences.append(text + (_least_work(roofline, team, end) if end else ""))
    return sentences


def _least_work(roofline: Roofline, team: Team, cost: Overhead) -> str:
    """Say which work takes as long as the start: a kernel of less spends most of its time on starting."""
    peak = next((roof for roof in roofline.compute if roof.headline and roof.team == team), None)
    slope = next(
        (roof for roof in roofline.memory if roof.headline and roof.team == team and roof.level == MEMORY), None
    )
    parts = []
    if peak:
        count = operation(peak.precision)
        parts.append(f"{_prefixed(peak.rate.best * cost.seconds, count)} ({peak.precision})")
    if slope:
        parts.append(f"{_prefixed(slope.rate.best * cost.seconds, 'B')} of {slope.level}")
    if not parts:
        return ""
    return (
        f" A kernel of less than {' or '.join(parts)} that starts its threads anew cannot reach half of its roof; for "
        "nine tenths it must do nine times as much."
    )


def _prefixed(value: float, unit: str) -> str:
    return units.rate(value, unit).removesuffix("/s")
