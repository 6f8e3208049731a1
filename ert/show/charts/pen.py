"""The pen: what all charts share. Colours, style, axes, titles, and lines with their labels in place."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from ert.show import units
from ert.show.charts.boxes import Box, Point, nearest
from ert.show.charts.labels import ROWS, Room, along, around

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

GIGA = 1e9

# Colours that are told apart with any colour vision: M. Okabe and K. Ito, "Color universal design", 2008.
BLUE, GREEN, VERMILLION, PURPLE = "#0072B2", "#009E73", "#D55E00", "#CC79A7"

ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"

INK, SOFT, GRID = "#222222", "#5F5F5F", "#E4E4E4"

LEVEL_COLOURS = {"L1": BLUE, "L2": GREEN, "L3": PURPLE, "DRAM": VERMILLION, "L4": ORANGE, "HBM": SKY}

MACHINE_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)

TEXT_DARKER = 0.78
"""Factor on a line's colour for text, which is thinner than the line and needs more contrast."""

SIZE = (10.0, 6.5)

LABEL_POINTS, SMALL_POINTS, TITLE_POINTS = 10.0, 9.0, 14.0

COVER_POINTS = 1.0
"""How far the white ground of a label reaches beyond it: less than the distance that labels keep from each other."""

LEADER_PIXELS = 18.0
"""A label further from its point than this needs a line to it."""

PIXELS_AN_INCH = 100
"""Resolution at which labels are placed; what is saved keeps the proportions."""

STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same picture
    "font.size": LABEL_POINTS,
    "axes.edgecolor": "#9A9A9A",
    "axes.labelcolor": INK,
    "axes.labelsize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.framealpha": 1.0,
    "legend.edgecolor": "white",
    "legend.fancybox": False,
    "legend.fontsize": SMALL_POINTS,
    "figure.dpi": PIXELS_AN_INCH,
    "svg.hashsalt": "ert",
    "path.simplify": False,
    "text.parse_math": False,  # names come from systems and files: a dollar sign in one is a dollar sign
}

MOST_TICKS = 11
"""Sizes written below the curve: more would touch."""

TICK_DIGITS = ((6.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)), (300.0, (1.0, 2.0, 5.0)))
"""Digits of each decade that get a number on an axis whose ends are less than so many times apart."""

FEWEST_SCALED = 2
"""Numbers of threads that make a sentence and no chart."""


def level_colour(level: str) -> str:
    """Return the colour of a level."""
    return LEVEL_COLOURS.get(level, BLACK)


def darker(colour: str) -> str:
    """Return the shade of a line's colour that its text has."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part * TEXT_DARKER):02X}" for part in parts)


def decimal_ticks(axis: Axis, low: float, high: float) -> None:
    """Put ticks on the decades, and on more digits of each where there are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = next((digits for most, digits in TICK_DIGITS if high < most * low), (1.0,))
    ticks = [digit * 10.0**power for power in decades for digit in digits]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(ticks, [f"{tick:.9g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def size_ticks(axes: Axes, left: float, right: float) -> None:
    """Put ticks on powers of two of bytes, as many as there is room for."""
    first, last = math.ceil(math.log2(left)), math.floor(math.log2(right))
    step = max(1, math.ceil((last - first) / MOST_TICKS))
    ticks = [2.0**power for power in range(first, last + 1) if power % step == 0]
    axes.set_xticks(ticks, [units.size(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


class Pen:
    """Draws on one panel and remembers in pixels what labels have to keep clear of."""

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        frame = axes.get_window_extent()
        self._room = Room(frame.x0 + 3, frame.y0 + 3, frame.x1 - 1, frame.y1 - 1)

    def line(self, start: Point, end: Point, name: str, *, weight: float = 1.0, **look: Any) -> None:
        """Draw a straight line between two places of the chart."""
        look = {"solid_capstyle": "butt", "zorder": 3.0, **look}
        self._axes.plot([start[0], end[0]], [start[1], end[1]], gid=name, **look)
        self.avoid(start, end, weight)

    def avoid(self, start: Point, end: Point, weight: float = 1.0) -> None:
        """Tell labels of a line that is drawn otherwise."""
        self._room.line(self._pixels(start), self._pixels(end), weight)

    def mark(self, place: Point, *, name: str = "", **look: Any) -> None:
        """Draw one marker."""
        self._axes.plot([place[0]], [place[1]], linestyle="none", gid=name or None, **look)
        self._room.mark(self._pixels(place))

    def point(self, place: Point, *, name: str, **look: Any) -> None:
        """Draw one marker that no label may cover."""
        self._axes.plot([place[0]], [place[1]], linestyle="none", gid=name, **look)
        side = look["markersize"] * PIXELS_AN_INCH / 72
        self._room.solid(Box(*self._pixels(place), side, side))

    def name_points(self, labels: Sequence[tuple[Point, str, str, str]], *, anywhere: bool = False) -> bool:
        """Write a small label beside each of many points, with a leader where it stands back; False if not all fit.

        A label is the place of its point, its text, its name and its colour; `anywhere` as for the room.
        """
        sizes = [self._measure(text, SMALL_POINTS) for _, text, _, _ in labels]
        pixels = [self._pixels(place) for place, _, _, _ in labels]
        boxes = self._room.round_marks(
            [(mark, *size) for mark, size in zip(pixels, sizes, strict=True)], anywhere=anywhere
        )
        for (place, text, name, colour), mark, box in zip(labels, pixels, boxes, strict=True):
            if box is None:
                continue
            end = nearest(box, mark)
            if math.dist(mark, end) > LEADER_PIXELS:
                x, y = self._axes.transData.inverted().transform(end)
                look: dict[str, Any] = {"color": colour, "linewidth": 0.6, "alpha": 0.7, "zorder": 4}
                self._axes.plot([place[0], x], [place[1], y], gid=f"leader {name}", **look)
            self._write(text, box, f"label {name}", colour, SMALL_POINTS)
        return None not in boxes

    def legend(self, proxies: Sequence[Line2D], where: Literal["lower left", "lower right"]) -> None:
        """Draw the legend, and keep its place free."""
        legend = self._axes.legend(handles=proxies, loc=where, borderaxespad=0.8, labelcolor=INK, handlelength=1.8)
        box = legend.get_window_extent(_renderer(self._axes))
        self._room.take(Box((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box.width, box.height))

    def along(
        self,
        start: Point,
        end: Point,
        text: str,
        name: str,
        *,
        color: str,
        size: float = LABEL_POINTS,
        gap: float = 5.0,
        below: float = 6.0,
        from_end: bool = False,
        rows: int = ROWS,
        limit: float = math.inf,
    ) -> bool:
        """Write a label along a line, without a limit at worst elsewhere; False if there is no room for it."""
        width, height = self._measure(text, size)
        ends = self._pixels(start), self._pixels(end)
        box = self._room.place(along(*ends, width, height, gap, below=below, from_end=from_end, rows=rows), limit)
        if box is None and limit == math.inf:
            box = self._room.place(self._room.anywhere(ends[from_end], width, height))
        return self._write(text, box, name, color, size)

    def around(self, place: Point, text: str, name: str, *, color: str) -> bool:
        """Write a small label beside a mark; False if there is no room for it."""
        width, height = self._measure(text, SMALL_POINTS)
        places = around(self._pixels(place), width, height, 5.0)
        return self._write(text, self._room.place(places), name, color, SMALL_POINTS)

    def beside(self, x: float, text: str, name: str, *, color: str) -> bool:
        """Write a small label beside a vertical line, as high as there is room."""
        width, height = self._measure(text, SMALL_POINTS)
        lowest, highest = self._axes.get_ylim()
        (pixel, bottom), (_, top) = self._pixels((x, lowest)), self._pixels((x, highest))
        places = []
        row = height + 5.0
        for i in range(int((top - bottom) / row)):
            y = top - 3.0 - height / 2 - i * row
            places += [(row * i + extra, Box(pixel + side * (width / 2 + 4), y, width, height))
                       for extra, side in ((0.0, 1), (3.0, -1))]  # fmt: skip
        return self._write(text, self._room.place(places), name, color, SMALL_POINTS, covering=True)

    def _write(self, text: str, box: Box | None, name: str, color: str, size: float, *, covering: bool = False) -> bool:
        """Write a label into its box; `covering` hides what lies below, where a line cannot always be avoided."""
        if box is None:
            return False
        from matplotlib.patheffects import withStroke

        x, y = self._axes.transData.inverted().transform((box.x, box.y))
        self._axes.text(
            x, y, text, gid=name, color=color, fontsize=size, rotation=box.angle, rotation_mode="anchor",
            ha="center", va="center", zorder=8, path_effects=[withStroke(linewidth=2.5, foreground="white")],
            bbox={"facecolor": "white", "edgecolor": "none", "pad": COVER_POINTS} if covering else None,
        )  # fmt: skip
        return True

    def _measure(self, text: str, size: float) -> tuple[float, float]:
        """Return width and height of a text in pixels."""
        written = self._axes.text(0.5, 0.5, text, fontsize=size, transform=self._axes.transAxes)
        box = written.get_window_extent(_renderer(self._axes))
        written.remove()
        return float(box.width), float(box.height)

    def _pixels(self, place: Point) -> Point:
        x, y = self._axes.transData.transform(place)
        return float(x), float(y)


def colours_in_turn(colours: Sequence[str]) -> Iterator[str]:
    """Yield the colours one after the other, for ever."""
    while True:
        yield from colours


def _renderer(axes: Axes) -> Any:
    canvas: Any = axes.figure.canvas  # matplotlib's hints know only the base class, which cannot draw
    return canvas.get_renderer()


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in the tool's style whatever the user's settings are, and without matplotlib's remarks on its cache."""
    # Where there is no home directory matplotlib warns of its font cache through this logger; it works all the same.
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            settings: dict[Any, Any] = dict(STYLE)  # matplotlib's hints list every key as a literal
            matplotlib.rcParams.update(settings)
            yield
    finally:
        logger.setLevel(level)
