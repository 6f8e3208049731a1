"""Charts over the working set and over the threads: bandwidth, latency, scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ert.errors import InputError
from ert.roofline.fitting.irregular import CONTRADICTED
from ert.roofline.model import (
    Curve,
    Host,
    Latency,
    LatencyCurve,
    LatencyPoint,
    Roofline,
    Scaling,
)
from ert.show import units
from ert.show.charts.layout import (
    new_figure,
    panel_margins,
    put_footnote,
    put_title,
)
from ert.show.charts.pen import (
    BLUE,
    FEWEST_SCALED,
    GIGA,
    INK,
    MACHINE_COLOURS,
    SIZE,
    SOFT,
    VERMILLION,
    Pen,
    colours_in_turn,
    darker,
    decimal_ticks,
    drawing_style,
    level_colour,
    size_ticks,
)
from ert.show.words import levels, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME_CAPACITY = 1.06
"""Capacities of two teams nearer than this are one mark: a third of the distance between two measured sizes."""

SAME_LATENCY = 1.1
"""A latency inside pages that is nearer to the random one than this factor needs no label of its own."""

PATTERN_COLOURS = {"random": VERMILLION, "page": BLUE}

PATTERN_LABELS = {"random": "random, over the whole set", "page": "random inside pages visited in order"}

NANO = 1e-9


def levels_figure(roofline: Roofline, host: Host, footnote: str = "") -> Figure:
    """Draw bandwidth against the working set of one thread, with plateaus and capacities.

    Parameters
    ----------
    roofline : Roofline
        One curve a team is drawn, of extra teams those of a single thread; the band reaches from the median to the
        best sample.
    host : Host
        Names the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        x is bytes of one thread, y GB/s of all threads together, as the roofs of the team are.

    Raises
    ------
    InputError
        If the result holds no bandwidth curve.
    """
    curves = [curve for curve in roofline.curves if curve.points]
    if not curves:
        raise InputError("nothing to draw: the result holds no bandwidth curve")
    curves = [curve for curve in curves if curve.team.usual or curve.team.threads == 1] or curves
    with drawing_style():
        figure = new_figure(SIZE)
        put_title(figure, f"{host.name}: bandwidth of the memory levels")
        put_footnote(figure, f"{_COUNTED_CURVE}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**panel_margins(figure))
        _Levels(axes, curves).draw()
    return figure


def latency_figure(roofline: Roofline, host: Host, footnote: str = "") -> Figure:
    """Draw load-to-use latency against the working set of one thread, with the levels and the capacities it shows.

    Parameters
    ----------
    roofline : Roofline
        One curve a pattern of the first team that has any is drawn: the band reaches from the best to the median.
    host : Host
        Names the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        x is bytes, y nanoseconds.

    Raises
    ------
    InputError
        If the result holds no latency curve.
    """
    curves = [curve for curve in roofline.latency_curves if curve.points]
    if not curves:
        raise InputError("nothing to draw: the result holds no latency curve")
    curves = [curve for curve in curves if curve.team == curves[0].team]
    with drawing_style():
        figure = new_figure(SIZE)
        put_title(figure, f"{host.name}: load-to-use latency, {curves[0].team.label}")
        put_footnote(figure, f"{_COUNTED_LATENCY}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**panel_margins(figure))
        _Latencies(axes, curves, [entry for entry in roofline.latencies if entry.team == curves[0].team]).draw()
    return figure


def scaling_figure(roofline: Roofline, host: Host, footnote: str = "") -> Figure:
    """Draw the load bandwidth of memory and of the last cache against the number of threads.

    Parameters
    ----------
    roofline : Roofline
        Levels measured with more than two numbers of threads are drawn.
    host : Host
        Names the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        x is threads, y GB/s of all together.

    Raises
    ------
    InputError
        If no level was measured with more than two numbers of threads.
    """
    shown = [scaling for scaling in roofline.scaling if len(scaling.points) > FEWEST_SCALED]
    if not shown:
        raise InputError("nothing to draw: no bandwidth was measured with more than two numbers of threads")
    with drawing_style():
        figure = new_figure(SIZE)
        put_title(figure, f"{host.name}: bandwidth by number of threads")
        put_footnote(figure, f"{_COUNTED_SCALING}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**panel_margins(figure))
        _draw_scaling(axes, shown)
    return figure


_COUNTED_CURVE = (
    "Load only. Line: best sample; band: down to the median. Effective capacity: where the curve leaves a plateau "
    "half way. 1 GB = 1e9 bytes."
)

_COUNTED_LATENCY = (
    "One load a step, each waiting for the one before. In pages: prefetchers of neighbouring lines shorten it. Line: "
    "best sample; band: up to the median. Effective capacity: where the random curve leaves a level half way. DRAM: at "
    "the largest working set."
)

_COUNTED_SCALING = (
    "Load only, one working set a thread, physical cores before SMT siblings. Ring: fewest threads within 5 % of the "
    "best. 1 GB = 1e9 bytes."
)


class _Levels:
    """The chart of bandwidth against working set."""

    def __init__(self, axes: Axes, curves: Sequence[Curve]) -> None:
        sizes = [point.working_set for curve in curves for point in curve.points]
        rates = [point.rate.best for curve in curves for point in curve.points]
        low = min(point.rate.median or point.rate.best for curve in curves for point in curve.points)
        declared = [plateau.declared for curve in curves for plateau in curve.plateaus if plateau.declared]
        left, right = min(sizes) / 1.15, max([*sizes, *declared]) * 1.15
        # The upper part stays free for the capacities.
        bottom, top = low / 1.8 / GIGA, max(rates) / GIGA * (max(rates) / low) ** 0.3 * 1.8
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
        axes.set_xlabel("Working set of one thread")
        axes.set_ylabel("Bandwidth of all threads together (GB/s)")
        size_ticks(axes, left, right)
        decimal_ticks(axes.yaxis, bottom, top)
        self._axes, self._curves = axes, curves
        self._pen = Pen(axes)

    def draw(self) -> None:
        """Draw everything: lines first, so that the labels know what to keep clear of."""
        marks = _capacities(self._curves)
        for mark in marks:
            style = "-" if mark.kind == "effective" else (0, (5, 3))
            self._vertical(mark, linestyle=style, linewidth=1.0, color=mark.colour or SOFT)
        for curve, colour in zip(self._curves, colours_in_turn(MACHINE_COLOURS), strict=False):
            self._curve(curve, colour)
        self._legend({mark.kind for mark in marks})
        for curve, colour in zip(self._curves, colours_in_turn(MACHINE_COLOURS), strict=False):
            for plateau in curve.plateaus:
                start, end = (float(plateau.first), plateau.value / GIGA), (float(plateau.last), plateau.value / GIGA)
                text = f"{plateau.name}  {units.rate(plateau.value, 'B')}"
                name = f"label {curve.team.name} {plateau.name}"
                self._pen.along(start, end, text, name, color=darker(colour), gap=7.0, below=35.0)
        for mark in marks:
            text = f"{mark.level} {mark.kind} {units.size(mark.size)}"
            self._pen.beside(mark.size, text, f"label {mark.name}", color=darker(mark.colour) if mark.colour else SOFT)

    def _curve(self, curve: Curve, colour: str) -> None:
        sizes = [point.working_set for point in curve.points]
        best = [point.rate.best / GIGA for point in curve.points]
        median = [point.rate.median / GIGA for point in curve.points]
        name = curve.team.name
        self._axes.fill_between(sizes, median, best, color=colour, alpha=0.2, linewidth=0, gid=f"band {name}")
        self._axes.plot(sizes, best, color=colour, linewidth=1.4, marker="o", markersize=2.6, gid=f"curve {name}")
        for start, end in pairwise(zip(sizes, best, strict=True)):
            self._pen.avoid(start, end, 3.0)
        for plateau in curve.plateaus:
            height = plateau.value / GIGA
            look: dict[str, Any] = {"color": colour, "linewidth": 3.4, "alpha": 0.55}
            self._pen.line((plateau.first, height), (plateau.last, height), f"plateau {name} {plateau.name}", **look)

    def _vertical(self, mark: _Capacity, **look: Any) -> None:
        bottom, top = self._axes.get_ylim()
        self._pen.line((mark.size, bottom), (mark.size, top), mark.name, zorder=1.5, weight=3.0, **look)

    def _legend(self, kinds: set[str]) -> None:
        from matplotlib.lines import Line2D

        proxies = [
            Line2D([], [], color=colour, linewidth=2.4, label=curve.team.label)
            for curve, colour in zip(self._curves, colours_in_turn(MACHINE_COLOURS), strict=False)
        ]
        if "effective" in kinds:
            proxies.append(Line2D([], [], color=SOFT, linewidth=1.0, label="effective capacity"))
        if "declared" in kinds:
            proxies.append(Line2D([], [], color=SOFT, linewidth=1.0, linestyle=(0, (5, 3)), label="declared capacity"))
        self._pen.legend(proxies, "lower left")


@dataclass(frozen=True, slots=True)
class _Capacity:
    """A vertical mark: a capacity of one level, of one team (its colour) or of all (no colour)."""

    level: str
    kind: str
    size: float
    colour: str

    @property
    def name(self) -> str:
        return f"{self.kind} {self.level} {self.size:.0f}"


class _Latencies:
    """The chart of latency against working set."""

    def __init__(self, axes: Axes, curves: Sequence[LatencyCurve], latencies: Sequence[Latency]) -> None:
        sizes = [point.working_set for curve in curves for point in curve.points]
        best = [point.seconds for curve in curves for point in curve.points]
        worst = max(_median_seconds(point) for curve in curves for point in curve.points)
        declared = [plateau.declared for curve in curves for plateau in curve.plateaus if plateau.declared]
        left, right = min(sizes) / 1.15, max([*sizes, *declared]) * 1.15
        # Room for the labels of the capacities above, and for those of the lowest plateau below.
        bottom, top = min(best) / 1.9 / NANO, worst * 3.2 / NANO
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
        axes.set_xlabel("Working set of one thread")
        axes.set_ylabel("Load-to-use latency (ns)")
        size_ticks(axes, left, right)
        decimal_ticks(axes.yaxis, bottom, top)
        self._axes, self._curves, self._latencies = axes, list(curves), latencies
        self._pen = Pen(axes)

    def draw(self) -> None:
        """Draw everything: lines first, so that the labels know what to keep clear of."""
        marks = _capacities(self._witnesses())
        bottom, top = self._axes.get_ylim()
        for mark in marks:
            style: Any = "-" if mark.kind == "effective" else (0, (5, 3))
            look: dict[str, Any] = {"linestyle": style, "linewidth": 1.0, "color": SOFT}
            self._pen.line((mark.size, bottom), (mark.size, top), mark.name, zorder=1.5, weight=3.0, **look)
        for curve in self._curves:
            self._curve(curve)
        self._legend({mark.kind for mark in marks})
        random = {entry.level: entry.seconds for entry in self._latencies if entry.pattern == "random"}
        for curve in sorted(self._curves, key=lambda curve: curve.pattern != "random"):
            for entry in self._latencies:
                if entry.pattern == curve.pattern:
                    self._label(curve, entry, random.get(entry.level))
        for mark in marks:
            text = f"{mark.level} {mark.kind} {units.size(mark.size)}"
            self._pen.beside(mark.size, text, f"label {mark.name}", color=SOFT)

    def _curve(self, curve: LatencyCurve) -> None:
        colour = PATTERN_COLOURS.get(curve.pattern, INK)
        sizes = [point.working_set for point in curve.points]
        best = [point.seconds / NANO for point in curve.points]
        median = [_median_seconds(point) / NANO for point in curve.points]
        name = curve.pattern
        self._axes.fill_between(sizes, best, median, color=colour, alpha=0.2, linewidth=0, gid=f"band {name}")
        self._axes.plot(sizes, best, color=colour, linewidth=1.4, marker="o", markersize=2.6, gid=f"curve {name}")
        for start, end in pairwise(zip(sizes, best, strict=True)):
            self._pen.avoid(start, end, 3.0)
        for plateau in curve.plateaus:
            height = plateau.value / NANO
            look: dict[str, Any] = {"color": colour, "linewidth": 3.4, "alpha": 0.55}
            self._pen.line((plateau.first, height), (plateau.last, height), f"plateau {name} {plateau.name}", **look)

    def _label(self, curve: LatencyCurve, entry: Latency, random: float | None) -> None:
        """Write the latency of a level beside its plateau; not of a level that the curve does not show."""
        plateau = next((plateau for plateau in curve.plateaus if plateau.name == entry.level), None)
        if plateau is None or not 1 / CONTRADICTED < entry.seconds / plateau.value < CONTRADICTED:
            return
        same = random is not None and max(entry.seconds / random, random / entry.seconds) < SAME_LATENCY
        if curve.pattern != "random" and same:
            return
        text = f"{entry.level}  {units.seconds(entry.seconds)}"
        text += f", {units.number(entry.cycles)} cycles" if entry.cycles else ""
        height = plateau.value / NANO
        start, end = (float(plateau.first), height), (float(plateau.last), height)
        colour = darker(PATTERN_COLOURS.get(curve.pattern, INK))
        # The random curve is the upper one.
        below = 35.0 if curve.pattern == "random" else -35.0
        self._pen.along(start, end, text, f"label {curve.pattern} {entry.level}", color=colour, gap=7.0, below=below)

    def _witnesses(self) -> list[LatencyCurve]:
        """Return the random curve with the capacities that the fit believes."""
        curves = [curve for curve in self._curves if curve.pattern == "random"] or self._curves
        believed = {(entry.pattern, entry.level): entry.capacity for entry in self._latencies}
        return [
            replace(
                curve,
                plateaus=tuple(
                    replace(plateau, capacity=believed.get((curve.pattern, plateau.name))) for plateau in curve.plateaus
                ),
            )
            for curve in curves
        ]

    def _legend(self, kinds: set[str]) -> None:
        from matplotlib.lines import Line2D

        proxies = [
            Line2D([], [], color=PATTERN_COLOURS.get(curve.pattern, INK), linewidth=2.4,
                   label=PATTERN_LABELS.get(curve.pattern, curve.pattern))
            for curve in self._curves
        ]  # fmt: skip
        if "effective" in kinds:
            proxies.append(Line2D([], [], color=SOFT, linewidth=1.0, label="effective capacity"))
        if "declared" in kinds:
            proxies.append(Line2D([], [], color=SOFT, linewidth=1.0, linestyle=(0, (5, 3)), label="declared capacity"))
        self._pen.legend(proxies, "lower right")


def _median_seconds(point: LatencyPoint) -> float:
    return 1.0 / (point.rate.median or point.rate.best)


def _draw_scaling(axes: Axes, shown: Sequence[Scaling]) -> None:
    """Draw the chart of bandwidth against number of threads."""
    counts = sorted({point.team.threads for scaling in shown for point in scaling.points})
    rates = [point.rate.best / GIGA for scaling in shown for point in scaling.points]
    left, right = counts[0] / 1.2, counts[-1] * 1.2
    bottom, top = min(rates) / 1.8, max(rates) * 1.8
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
    axes.set_xlabel("Threads")
    axes.set_ylabel("Bandwidth of all threads together (GB/s)")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_xticks([], minor=True)
    decimal_ticks(axes.yaxis, bottom, top)
    pen = Pen(axes)
    lines = {}
    for scaling in shown:
        colour = level_colour(scaling.level)
        places = [(float(point.team.threads), point.rate.best / GIGA) for point in scaling.points]
        axes.plot(*zip(*places, strict=True), color=colour, linewidth=2.0, marker="o", markersize=5.0,
                  gid=f"scaling {scaling.level}")  # fmt: skip
        for start, end in pairwise(places):
            pen.avoid(start, end)
        lines[scaling.level] = places
        if scaling.saturated_by:
            place = next(place for place in places if place[0] == scaling.saturated_by.threads)
            look: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.6, "color": colour, "zorder": 6}
            pen.mark(place, marker="o", markersize=12.0, name=f"saturated {scaling.level}", **look)
    for scaling in shown:
        places, colour = lines[scaling.level], darker(level_colour(scaling.level))
        text = f"{scaling.level}  {units.rate(max(rate for _, rate in places) * GIGA, 'B')}"
        if scaling.saturated_by:
            text += f", saturated by {plural(scaling.saturated_by.threads, 'thread')}"
        pen.along(places[-2], places[-1], text, f"label {scaling.level}", color=colour, gap=9.0, from_end=True)


def _capacities(curves: Sequence[Curve | LatencyCurve]) -> list[_Capacity]:
    """Return effective and declared capacities; one mark where the teams agree."""
    found = []
    for level in levels(plateau.name for curve in curves for plateau in curve.plateaus):
        for kind in ("declared", "effective"):
            sizes = [
                (float(size), colour)
                for curve, colour in zip(curves, colours_in_turn(MACHINE_COLOURS), strict=False)
                for plateau in curve.plateaus
                if plateau.name == level and (size := plateau.declared if kind == "declared" else plateau.capacity)
            ]
            if sizes and max(sizes)[0] <= SAME_CAPACITY * min(sizes)[0]:
                sizes = [(sizes[0][0], "" if len(curves) > 1 else SOFT)]
            found += [_Capacity(level, kind, size, colour) for size, colour in sizes]
    return found
