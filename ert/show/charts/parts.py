"""Parts of a workload in a chart: marks on the rooflines, and below them the distribution of time over intensity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ert.roofline.quantities import number
from ert.show.charts.lines import Bounds
from ert.show.charts.pen import GIGA, INK, SOFT, Pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST, SMALLEST = 17.0, 5.5
"""Points: size of the mark of a part that takes all the time, and of one that takes hardly any."""

BEYOND = 3.0
"""How far the chart reaches beyond the parts, as a factor."""

MOST_NAMES, MOST_LABELS = 3, 7
"""Parts of one intensity that are named, and intensities with names: those that take longest."""

SAME_PLACE, NESTED = 0.03, 0.6
"""Marks nearer than the first, as a part, cover each other: the later one is drawn at so much of the size below it."""

LOWER = 2.5
"""The distribution takes height from the chart: so much more room below the lines keeps them clear of the legend."""

BAR_POINTS, BAR_STEP = 5.0, 0.012
"""Width of a bar, and how far the bars of two machines stand apart as a part of the axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a workload under the roofs of a machine.

    ``rate`` is attainable FLOP/s at ``intensity`` FLOP/byte, ``share`` its part of the machine's time.
    """

    machine: str
    name: str
    intensity: float
    rate: float
    share: float


def with_room(bounds: Bounds, marks: Sequence[Mark]) -> Bounds:
    """Return limits of a chart that hold the marks too."""
    left, right, bottom, top = bounds
    return (
        min([left, *(mark.intensity / BEYOND for mark in marks)]),
        max([right, *(mark.intensity * BEYOND for mark in marks)]),
        min([bottom, *(mark.rate / BEYOND for mark in marks)]) / (LOWER if marks else 1.0),
        top,
    )


def draw(axes: Axes, pen: Pen, marks: Sequence[Mark], colours: Mapping[str, str]) -> None:
    """Draw the marks, large ones first so that small ones stay to be seen; one on another is smaller than it."""
    for place in dict.fromkeys(mark.intensity for mark in marks):
        axes.axvline(place, color=SOFT, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1.5)
    sizes: list[tuple[tuple[float, float], float]] = []
    for mark in sorted(marks, key=lambda mark: -mark.share):
        size = max(SMALLEST, LARGEST * math.sqrt(mark.share))
        below = [
            other
            for place, other in sizes
            if math.isclose(place[0], mark.intensity, rel_tol=SAME_PLACE)
            and math.isclose(place[1], mark.rate, rel_tol=SAME_PLACE)
        ]
        size = min([size, *(NESTED * other for other in below)])
        sizes.append(((mark.intensity, mark.rate), size))
        pen.mark(
            (mark.intensity, mark.rate / GIGA), marker="o", color=colours.get(mark.machine, INK),
            markersize=size, markeredgecolor="white", zorder=7,
            name=f"part {mark.name} {mark.machine}",
        )  # fmt: skip


def cross(axes: Axes, pen: Pen, crossings: Sequence[float]) -> None:
    """Mark the intensities at which another machine attains more, as far as they are in the chart."""
    left, right = axes.get_xlim()
    for at in crossings:
        if left < at < right:
            axes.axvline(at, color=INK, linewidth=1.0, linestyle="-.", zorder=1.5, gid=f"crossing {number(at)}")
            pen.beside(at, f"crossing {number(at)}", f"label crossing {number(at)}", color=INK)


def unnamed(marks: Sequence[Mark]) -> str:
    """List the parts whose names have no place in the chart, with their intensities; empty if there are none."""
    named = _named(marks)
    shown = {name for found in list(named.values())[:MOST_LABELS] for name in list(found)[:MOST_NAMES]}
    rest = [f"{name} ({number(at)})" for at, found in named.items() for name in found if name not in shown]
    return f"Not named in the chart, with their FLOP/byte: {', '.join(rest)}." if rest else ""


def _named(marks: Sequence[Mark]) -> dict[float, dict[str, None]]:
    """Return the names of the parts by intensity; what takes longest comes first."""
    named: dict[float, dict[str, None]] = {}
    for mark in sorted(marks, key=lambda mark: -mark.share):
        named.setdefault(mark.intensity, {}).setdefault(mark.name)
    return named


def label(pen: Pen, marks: Sequence[Mark]) -> None:
    """Write the names of the parts beside their intensities, where there is room; what takes longest comes first."""
    for intensity, found in list(_named(marks).items())[:MOST_LABELS]:
        names = list(found)
        text = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        pen.beside(intensity, text, f"label {names[0]}", color=SOFT)


def distribution(axes: Axes, marks: Sequence[Mark], colours: Mapping[str, str]) -> None:
    """Draw the share of time over intensity, a bar a machine; parts of one intensity are stacked."""
    machines = list(dict.fromkeys(mark.machine for mark in marks))
    left, right = axes.get_xlim()
    for place, machine in enumerate(machines):
        factor = (right / left) ** (BAR_STEP * (place - (len(machines) - 1) / 2))
        heights: dict[float, float] = {}
        for mark in (mark for mark in marks if mark.machine == machine):
            start = heights.get(mark.intensity, 0.0)
            heights[mark.intensity] = start + mark.share
            axes.vlines(
                mark.intensity * factor, 100 * start, 100 * (start + mark.share), color=colours.get(machine, INK),
                linewidth=BAR_POINTS, gid=f"share {mark.name} {machine}",
            )  # fmt: skip
    axes.set(ylim=(0, 100), ylabel="Time (%)")
    axes.set_yticks([0, 50, 100])
