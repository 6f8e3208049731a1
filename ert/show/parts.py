"""Parts of a workload in a chart: marks on the rooflines, and below them the distribution of time over intensity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ert.show.lines import Bounds
from ert.show.pen import GIGA, INK, SOFT, Pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST, SMALLEST = 17.0, 5.5
"""Points: size of the mark of a part that takes all the time, and of one that takes hardly any."""

BEYOND = 3.0
"""How far the chart reaches beyond the parts, as a factor."""

MOST_NAMES, MOST_LABELS = 3, 7
"""Parts of one intensity that are named, and intensities with names: those that take longest."""

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
    """Draw the marks, large ones first so that small ones stay to be seen."""
    for place in dict.fromkeys(mark.intensity for mark in marks):
        axes.axvline(place, color=SOFT, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1.5)
    for mark in sorted(marks, key=lambda mark: -mark.share):
        pen.mark(
            (mark.intensity, mark.rate / GIGA), marker="o", color=colours.get(mark.machine, INK),
            markersize=max(SMALLEST, LARGEST * math.sqrt(mark.share)), markeredgecolor="white", zorder=7,
            name=f"part {mark.name} {mark.machine}",
        )  # fmt: skip


def label(pen: Pen, marks: Sequence[Mark]) -> None:
    """Write the names of the parts beside their intensities, where there is room; what takes longest comes first."""
    named: dict[float, dict[str, None]] = {}
    for mark in sorted(marks, key=lambda mark: -mark.share):
        named.setdefault(mark.intensity, {}).setdefault(mark.name)
    for intensity, found in list(named.items())[:MOST_LABELS]:
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
