"""What explains the points of kernels: looks, legends, the numbered key; and the kernels without arithmetic."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ert.roofline.fitting.statistics import ABOVE_ROOF
from ert.roofline.placing.placement import Placement
from ert.show import units
from ert.show.charts.layout import (
    EDGE,
    text_width,
    wrapped,
)
from ert.show.charts.pen import (
    BLACK,
    BLUE,
    GIGA,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    SMALL_POINTS,
    SOFT,
    VERMILLION,
)
from ert.show.charts.points import NO_BREAK, Entry, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

WINE = "#882255"
"""An eighth colour, dark and warm, that Okabe and Ito's seven lack: P. Tol, "Colour schemes", 2021."""

LOOKS = {
    "stream": ("o", BLUE, 1.0),
    "vector": ("s", SKY, 0.95),
    "dense": ("D", VERMILLION, 0.9),
    "sparse": ("^", GREEN, 1.1),
    "stencil": ("v", PURPLE, 1.1),
    "convolution": ("P", ORANGE, 1.15),
    "spectral": ("X", BLACK, 1.1),
    "neural": ("*", WINE, 1.5),
}
"""Marker, colour and relative size of each family."""

OTHER_LOOK = ("d", SOFT, 1.0)
"""Of a family that is not known."""

FILLS = ("full", "none", "left", "bottom")
"""Of the precisions, in their order: filled, hollow, half filled."""

REACHED = 0.97
"""From this efficiency on a point lies on its roof, and no line leads up to what is attainable."""

POINT_SIZE, NEARER_SIZE = 8.0, 4.0
"""Points (1/72 inch): a kernel's mark, and the pale mark of the same kernel nearer to the core."""

KEY_WIDTH, KEY_ROW = 3.5, 0.172
"""Inches of a column of the key and of its lines."""

KEY_NUMBER, KEY_NAME, KEY_VALUE, KEY_GAP = 0.25, 0.35, 0.48, 0.08
"""Inches in a column: where numbers end and names begin, the width of a value, and what is free beside a name."""

RING: Mapping[str, Any] = {
    "marker": "o", "markersize": 15.0, "markerfacecolor": "none", "color": VERMILLION, "markeredgewidth": 1.3,
    "zorder": 5,
}  # fmt: skip
"""The ring round a kernel that is above its roof."""

BARE_ROW, BARE_CHARACTERS = 0.25, 40
"""Inches of a line of the kernels without arithmetic, and characters that their names may have."""

BARE_SIZE, BARE_TICK = 6.5, 14.0
"""Points (1/72 inch): a mark there, and the height of the tick of a roof, shared by the precisions of a kernel."""

BARE_APART = 0.32
"""How far the precisions of one kernel stand apart in its line, in lines."""

VALUE_SHARE = 0.3
"""Part of the panel of bandwidths that the written values take at its right."""


def look(placement: Placement, precisions: Sequence[str], size: float = POINT_SIZE) -> dict[str, Any]:
    """Return how matplotlib draws the mark of a placement."""
    marker, colour, scale = LOOKS.get(placement.kernel.family, OTHER_LOOK)
    return {
        "marker": marker,
        "markersize": size * scale,
        "color": colour,
        **_fill(placement.case.precision, precisions),
    }


def colour_of(family: str) -> str:
    """Return the colour of a family."""
    return LOOKS.get(family, OTHER_LOOK)[1]


def _fill(precision: str, precisions: Sequence[str]) -> dict[str, Any]:
    fill = FILLS[precisions.index(precision) % len(FILLS)]
    if fill == "none":
        # White and not empty, so that lines do not run through it.
        return {"markerfacecolor": "white", "markeredgewidth": 1.4}
    return {"fillstyle": fill, "markerfacecoloralt": "white", "markeredgewidth": 0.8}


def family_handles(families: Sequence[str]) -> list[Line2D]:
    """Return the lines of a legend that says which mark is which family."""
    return [_family_handle(name) for name in families]


def _family_handle(name: str, **changes: Any) -> Line2D:
    from matplotlib.lines import Line2D

    marker, colour, scale = LOOKS.get(name, OTHER_LOOK)
    return Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=POINT_SIZE * scale, label=name,
                  **changes)  # fmt: skip


def precision_handles(precisions: Sequence[str]) -> list[Line2D]:
    """Return the lines of a legend that says which fill is which precision."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", marker="o", color=SOFT, markersize=POINT_SIZE, label=name,
               **_fill(name, precisions))
        for name in precisions
    ]  # fmt: skip


def above(placement: Placement) -> bool:
    """Whether a kernel is above its roof by more than measurements differ."""
    return placement.efficiency is not None and placement.efficiency > ABOVE_ROOF


def short_of(placement: Placement) -> bool:
    """Whether a kernel falls visibly short of what it could attain."""
    return placement.efficiency is not None and placement.efficiency < REACHED


def mark_handles(
    points: Sequence[Placement], nearer: Sequence[Placement], steps: Sequence[Step], bare: Sequence[Placement]
) -> list[Line2D]:
    """Return the lines of a legend that explains what is drawn beside the points, and beside the `bare` kernels."""
    from matplotlib.lines import Line2D

    kinds = {step.kind for step in steps}
    found = []
    if any(map(short_of, points)):
        found.append(Line2D([], [], color=SOFT, linewidth=1.0, marker="_", markersize=9, label="up to the attainable"))
    if "ladder" in kinds:
        found.append(Line2D([], [], color=SOFT, linewidth=1.6, label="better implementations"))
    if "size" in kinds:
        found.append(Line2D([], [], color=SOFT, linewidth=1.1, linestyle=(0, (4, 2)), label="larger sizes, batches"))
    if nearer:
        found.append(Line2D([], [], color=SOFT, alpha=0.5, linewidth=0.8, marker="o", markersize=NEARER_SIZE,
                            label="data nearer to the core"))  # fmt: skip
    if any(map(above, (*points, *bare))):
        found.append(Line2D([], [], linestyle="none", label="above its roof", **{**RING, "markersize": 11}))
    if any(placement.memory_roof and not placement.memory_roof.headline for placement in points):
        found.append(Line2D([], [], color=SOFT, linewidth=0.7, alpha=0.5, label="roofs of their access mixes"))
    if any(placement.memory_roof for placement in bare):
        found.append(Line2D([], [], linestyle="none", marker="|", markersize=11, markeredgewidth=2.0, color=INK,
                            label="memory roof"))  # fmt: skip
    return found


# ------------------------------------------------------------------------------------------ the numbered key


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the key: a family, or an entry, or without it a continuation of the entry of that number."""

    text: str
    family: str = ""
    number: int = 0
    entry: Entry | None = None


def key_lines(numbered: Sequence[tuple[int, Entry]], precisions: Sequence[str]) -> list[Line]:
    """Return the lines of the key: families, and under each its entries, long names on several lines."""
    width = KEY_WIDTH - EDGE - KEY_NAME - KEY_GAP - KEY_VALUE * len(precisions)
    found: list[Line] = []
    family = None
    for number, entry in numbered:
        if entry.family != family:
            family = entry.family
            found.append(Line(family, family))
        first, *more = wrapped(entry.name, width)
        found.append(Line(first, number=number, entry=entry))
        found += [Line(text, number=number) for text in more]
    return found


def key_columns(lines: Sequence[Line], most: int) -> list[list[Line]]:
    """Return the lines of the key in columns of at most `most` lines, as even as can be.

    An entry is not broken, and no family stands without its first entry at the foot of a column.
    """
    blocks: list[list[Line]] = []
    for line in lines:
        if blocks and ((not line.family and line.entry is None) or blocks[-1][-1].family):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    fewest = len(_filled(blocks, max([most, *map(len, blocks)])))
    rows = -(-len(lines) // max(1, fewest))
    while len(columns := _filled(blocks, rows)) > fewest:
        rows += 1
    return columns


def _filled(blocks: Sequence[list[Line]], rows: int) -> list[list[Line]]:
    """Return the blocks in columns of so many lines; a block that is longer has a column of its own."""
    columns: list[list[Line]] = []
    for block in blocks:
        if not columns or len(columns[-1]) + len(block) > rows:
            columns.append([])
        columns[-1] += block
    return columns


def draw_key(axes: Axes, lines: Sequence[Line], rows: int, precisions: Sequence[str]) -> None:
    """Write a column of the key into an empty panel that is as high as so many rows and a heading."""
    width = KEY_WIDTH - EDGE
    axes.set(xlim=(0, width), ylim=(rows + 1, 0))
    axes.axis("off")

    def write(x: float, row: int, text: str, name: str, **style: Any) -> None:
        style = {"color": INK, "ha": "left", **style}
        axes.text(x, row + 0.5, text, gid=name, fontsize=SMALL_POINTS, va="center", **style)

    write(KEY_NAME, 0, "efficiency of each kernel", "heading", color=SOFT)
    columns = [width - KEY_VALUE * i for i in reversed(range(len(precisions)))]
    for x, name in zip(columns, precisions, strict=True):
        write(x, 0, name, f"heading {name}", ha="right", color=SOFT)
    for row, line in enumerate(lines, start=1):
        if line.family:
            marker, colour, scale = LOOKS.get(line.family, OTHER_LOOK)
            axes.plot([0.12], [row + 0.5], marker=marker, color=colour, markersize=POINT_SIZE * scale, clip_on=False)
            write(KEY_NAME, row, line.text, f"family {line.family}", fontweight="bold")
            continue
        if line.entry is None:
            write(KEY_NAME, row, line.text, f"more {line.number} {row}")
            continue
        write(KEY_NUMBER, row, str(line.number), f"number {line.number}", ha="right", color=SOFT)
        write(KEY_NAME, row, line.text, f"name {line.number}")
        for placement in line.entry.placements:
            text, colour = efficiency_words(placement)
            x = columns[precisions.index(placement.case.precision)]
            write(x, row, text, f"efficiency {line.number} {placement.case.precision}", ha="right", color=colour)


def efficiency_words(placement: Placement) -> tuple[str, str]:
    """Write how much of what is attainable a kernel reaches, and in which colour."""
    if placement.efficiency is None:
        return "–", SOFT
    return f"{100 * placement.efficiency:.0f}{NO_BREAK}%", VERMILLION if above(placement) else INK


# --------------------------------------------------------------------------------- kernels without arithmetic


def bare_names_width(bare: Sequence[Entry], numbered: bool) -> float:
    """Return the inches that the names of kernels without arithmetic take beside their panel."""
    return max(text_width(_bare_name(99 * numbered, entry)) for entry in bare) + 2 * KEY_GAP


def _bare_name(number: int, entry: Entry) -> str:
    name = textwrap.shorten(entry.name, BARE_CHARACTERS, placeholder=" ...")
    return f"{name}   {number}" if number else name


def draw_bandwidths(axes: Axes, bare: Sequence[tuple[int, Entry]], precisions: Sequence[str]) -> None:
    """Draw the kernels that have no arithmetic: GB/s of modelled traffic, and the memory roof of each as a tick.

    A number stands before the name where the points have numbers (it is 0 where they have not).
    """
    placements = [placement for _, entry in bare for placement in entry.placements]
    rates = [placement.byte_rate.best / GIGA for placement in placements if placement.byte_rate]
    roofs = [placement.memory_roof.rate.best / GIGA for placement in placements if placement.memory_roof]
    most = max([*rates, *roofs], default=1.0)
    axes.set(xlim=(0, most / (1 - VALUE_SHARE)), ylim=(len(bare) - 0.4, -0.6))
    axes.set_xlabel("Bandwidth of kernels without arithmetic (GB/s of modelled traffic)")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    labels = []
    for row, (number, entry) in enumerate(bare):
        labels.append(_bare_name(number, entry))
        words = []
        for i, placement in enumerate(entry.placements):
            if placement.byte_rate is None:
                words.append(f"no traffic at {placement.level}")
                continue
            y = row + BARE_APART * (i - (len(entry.placements) - 1) / 2)
            rate = placement.byte_rate.best / GIGA
            name = f"{placement.kernel.name} {placement.case.precision} {row}"
            axes.plot([0, rate], [y, y], color=colour_of(entry.family), linewidth=1.0, alpha=0.35, zorder=2)
            axes.plot([rate], [y], gid=f"bandwidth {name}", zorder=5, **look(placement, precisions, BARE_SIZE))
            if placement.memory_roof:
                roof = placement.memory_roof.rate.best / GIGA
                size = BARE_TICK / len(entry.placements)
                axes.plot([roof], [y], gid=f"tick {name}", marker="|", markersize=size, markeredgewidth=2.0, color=INK,
                          zorder=4)  # fmt: skip
            if above(placement):
                axes.plot([rate], [y], gid=f"above {name}", **RING)
            share, _ = efficiency_words(placement)
            words.append(f"{units.rate(placement.byte_rate.best, 'B')}, {share}")
        # Precisions that move the same bytes as fast say it once.
        axes.text(
            most * 1.03, row, "; ".join(dict.fromkeys(words)), gid=f"value {row}", fontsize=SMALL_POINTS, color=INK,
            va="center",
        )  # fmt: skip
    axes.set_yticks(range(len(bare)), labels, fontsize=SMALL_POINTS, color=INK)
