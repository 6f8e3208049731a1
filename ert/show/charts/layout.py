"""Layout: an empty figure, its title, footnote and margins, and how much room a text takes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from ert.show.charts.pen import INK, SMALL_POINTS, SOFT, TITLE_POINTS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

LegendHandle = TypeVar("LegendHandle", bound="Artist")

EDGE, LEFT_INCHES, BELOW_INCHES, PANEL_TITLE_INCHES, GAP_INCHES = 0.2, 0.75, 0.6, 0.4, 0.1
"""Inches: free border, axes with numbers and names, title of a panel, space below the main title without one."""

LINE_HEIGHT = 1.25

TITLE_CHARACTERS_AN_INCH, NOTE_CHARACTERS_AN_INCH = 8.0, 14.3
"""How many fit beside each other, rather fewer: fonts are proportional."""

LEGEND_ROW, LEGEND_HANDLE = 0.27, 0.5
"""Inches: a line of a legend, and what an entry takes beside its text."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure of that many inches, on a canvas that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure


def title_lines(text: str, width: float) -> list[str]:
    """Wrap a title to a figure of so many inches."""
    return textwrap.wrap(text, int(width * TITLE_CHARACTERS_AN_INCH))


def title_height(text: str, width: float) -> float:
    """Return the inches that a title takes with the space round it."""
    return EDGE + len(title_lines(text, width)) * TITLE_POINTS * LINE_HEIGHT / 72 + GAP_INCHES


def footnote_height(text: str, width: float) -> float:
    """Return the inches that a footnote takes with the border below it."""
    return EDGE + len(footnote_lines(text, width)) * SMALL_POINTS * LINE_HEIGHT / 72


def legend_rows(handles: Sequence[LegendHandle], width: float) -> list[list[LegendHandle]]:
    """Break the entries of a legend into lines of so many inches."""
    rows: list[list[LegendHandle]] = []
    used = math.inf
    for handle in handles:
        needed = text_width(str(handle.get_label())) + LEGEND_HANDLE
        if used + needed > width:
            rows.append([])
            used = 0.0
        rows[-1].append(handle)
        used += needed
    return rows


def put_legend(figure: Figure, rows: Sequence[Sequence[LegendHandle]], below_top: float) -> None:
    """Draw the lines of a legend at the left, so many inches below the top of the figure."""
    width, height = figure.get_size_inches()
    for i, handles in enumerate(rows):
        figure.legend(
            handles=list(handles), loc="upper left", ncols=len(handles), frameon=False, labelcolor=INK,
            bbox_to_anchor=(EDGE / width, 1 - (below_top + LEGEND_ROW * i) / height),
            borderpad=0.0, borderaxespad=0.0, handletextpad=0.5, columnspacing=1.4, handlelength=1.8,
        )  # fmt: skip


def put_title(figure: Figure, text: str) -> None:
    """Write the title at the top left, on as many lines as it takes."""
    width = figure.get_figwidth()
    lines = "\n".join(title_lines(text, width))
    figure.text(
        EDGE / width, 1 - EDGE / figure.get_figheight(), lines, fontsize=TITLE_POINTS, fontweight="bold",
        color=INK, ha="left", va="top", gid="title",
    )  # fmt: skip


@cache
def text_width(text: str, size: float = SMALL_POINTS) -> float:
    """Return the inches that a line of text takes."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    # Measured without outlines, which would take a hundred times as long.
    font = get_font(findfont(FontProperties()))
    font.set_size(size, 72)
    font.set_text(text, 0.0)
    subpixels, _ = font.get_width_height()
    return float(subpixels) / 64 / 72


def wrapped(text: str, width: float, size: float = SMALL_POINTS) -> list[str]:
    """Break a text into lines of so many inches, between words where that is possible."""
    lines = [""]
    for word in text.split(" "):
        if not lines[-1] or text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] = f"{lines[-1]} {word}".strip()
        else:
            lines.append(word)
        while text_width(lines[-1], size) > width and len(lines[-1]) > 1:
            word = lines[-1]
            fits = next((n for n in range(len(word) - 1, 1, -1) if text_width(word[:n], size) <= width), 1)
            lines[-1:] = [word[:fits], word[fits:]]
    return lines


def footnote_lines(text: str, width: float) -> list[str]:
    """Wrap a footnote to a figure of so many inches."""
    room = int((width - 2 * EDGE) * NOTE_CHARACTERS_AN_INCH)
    return [line for part in text.splitlines() for line in textwrap.wrap(part, room, break_on_hyphens=False)]


def put_footnote(figure: Figure, text: str) -> None:
    """Write what a reader must know of the picture at its foot, wrapped to its width."""
    width = figure.get_figwidth()
    lines = "\n".join(footnote_lines(text, width))
    figure.text(
        EDGE / width, EDGE / figure.get_figheight(), lines, fontsize=SMALL_POINTS, color=SOFT,
        ha="left", va="bottom", gid="footnote",
    )  # fmt: skip


def panel_margins(figure: Figure, panels: int = 1) -> dict[str, float]:
    """Return the place of the axes, between what the title and the footnote need."""
    width, height = figure.get_size_inches()
    lines = {text.get_gid(): text.get_text().count("\n") + 1 for text in figure.texts}
    below = EDGE + lines["footnote"] * SMALL_POINTS * LINE_HEIGHT / 72 + BELOW_INCHES
    above = EDGE + lines["title"] * TITLE_POINTS * LINE_HEIGHT / 72 + (PANEL_TITLE_INCHES if panels > 1 else GAP_INCHES)
    return {
        "left": (EDGE + LEFT_INCHES) / width,
        "right": 1 - EDGE / width,
        "bottom": below / height,
        "top": 1 - above / height,
    }
