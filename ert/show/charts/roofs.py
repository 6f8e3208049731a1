"""The roofline chart: roofs, ceilings, ridge points and intensity points of one machine, or of several."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ert.errors import InputError
from ert.roofline.comparing.machine import largest_team
from ert.roofline.fitting.fit import PURE
from ert.roofline.model import (
    ComputeRoof,
    IntensityPoint,
    MemoryRoof,
    RidgePoint,
    Roofline,
    Team,
)
from ert.show import units
from ert.show.charts.layout import new_figure, panel_margins, put_footnote, put_title
from ert.show.charts.lines import Bounds, Lines, peaks_of, slopes_of
from ert.show.charts.parts import Mark, cross, distribution, draw, label, with_room
from ert.show.charts.pen import (
    GIGA,
    INK,
    MACHINE_COLOURS,
    SIZE,
    SMALL_POINTS,
    SOFT,
    colours_in_turn,
    darker,
    drawing_style,
    level_colour,
)
from ert.show.words import levels, listed, operation, plural, width_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One a precision, in the order of the roofline."""

HEIGHTS: Mapping[bool, dict[str, Any]] = {False: {}, True: {"height_ratios": (5.0, 1.0)}}
"""Of the chart, and of the distribution of a workload below it."""

WIDE = (13.0, 6.8)
"""Inches of a chart, and of two beside or over each other: both fill a slide."""

DEFAULT_PRECISIONS = ("fp64", "fp32")
"""Drawn of one machine unless others are asked for: four or five precisions at once are more than a slide can carry."""

TELLING = ("mul_add_unfused", "add", "mul")
"""Ceilings that are drawn beside those of multiply-adds when several precisions share the chart."""

CEILING_LIMIT, BESIDE_LIMIT = 60.0, 250.0
"""What the place of a ceiling's label may cost: near the end of its line, or the length of a panel for lines that
should not go without: mixes above the roof, and the ceilings of a single precision."""

MOST_NAMES = 3
"""Ceilings named on one line, if several coincide."""

ABOVE_DASHES = (0, (6, 2, 1.5, 2))

SAME_ROOF = 0.03
"""Roofs nearer than this are one line in the chart, and their ridge points one mark: a second label tells nothing."""

LARGEST_MARK, SMALLEST_MARK = 8.5, 4.5
"""Points: size of the first level and of the last."""

SLOPE_SHOWN, ROOF_SHOWN = 18.0, 25.0
"""How far the chart reaches left of the first ridge point and right of the last, as factors: room for labels."""

INTENSITY = "Arithmetic intensity (FLOP/byte)"

PROMISED_DASHES = (0, (4.5, 2))

MOST_APART = 6.0
"""Panels whose highest roofs are further apart have scales of their own: with one scale, all of the lower one's roofs
would be pressed together."""


def roofline_figure(
    rooflines: Sequence[tuple[str, Roofline]],
    *,
    team: str | None = None,
    precisions: Sequence[str] | None = None,
    title: str = "",
    partial: Collection[str] = (),
    promised: Mapping[str, str] | None = None,
    marks: Sequence[Mark] = (),
    crossings: Sequence[float] = (),
    footnote: str = "",
) -> Figure:
    """Draw the roofline chart of one machine, or of several over each other.

    Parameters
    ----------
    rooflines : sequence of (str, Roofline)
        Name of the machine and what was fitted to it. One machine is drawn with its ceilings, access mixes, ridge
        points and intensity points; of several only the headline roofs and ridge points, one colour a machine.
    team : str, optional
        Name of the threads to draw. Without it, one machine is drawn in two panels if it has both usual teams (one
        thread, all threads); else what is drawn is all threads.
    precisions : sequence of str, optional
        Precisions to draw. Without it, :data:`DEFAULT_PRECISIONS`, or all if there are others alone; of several
        machines the first that they have in common. With one precision, all of its ceilings are drawn, with several
        those that tell most.
    title : str
        Stands above the chart; without it, the machine and its threads, or of several how many they are: the legend
        names each.
    partial : collection of str
        Which of several are of interrupted sweeps; the legend and the footnote say so.
    promised : mapping of str to str
        Machines that were not measured, whose roofs are dashed -> what the legend says of them instead of the threads.
    marks : sequence of Mark
        Parts of a workload, on the machines' roofs.
    crossings : sequence of float
        Intensities at which the order of two machines changes.
    footnote : str
        What else is written below the chart: date, clock.

    Returns
    -------
    matplotlib.figure.Figure
        With an Agg canvas; x is arithmetic intensity in FLOP/byte, y GFLOP/s.

    Raises
    ------
    InputError
        If there is nothing to draw: no roof, no such team, no such precision.
    """
    several = len(rooflines) > 1
    panels = _panels(rooflines, team)
    everything = [part for panel in panels for part in panel]
    chosen = _precisions(everything, precisions, several)
    colours = {name: colour for (name, _), colour in zip(rooflines, colours_in_turn(MACHINE_COLOURS), strict=False)}
    counted = list(dict.fromkeys(operation(name) for name in chosen)) or ["FLOP"]
    teams = {workers.label for _, _, workers in everything}
    if not title:
        name = plural(len(rooflines), "machine") if several else rooflines[0][0]
        title = name if several or len(teams) > 1 else f"{name}, {teams.pop()}"
    with drawing_style():
        figure = new_figure(WIDE if len(everything) > 1 else SIZE)
        put_title(figure, title)
        hidden = [] if several or precisions is not None else _hidden(everything, chosen)
        also = f" Also measured (--precision): {listed(hidden)}." if hidden else ""
        also += f" {_PARTIAL}" if partial else ""
        put_footnote(figure, f"{_COUNTED_ROOFS if several else _COUNTED}{also}\n{footnote}")
        bounds = [with_room(each, marks) for each in _bounds(panels, chosen)]
        alike = len(set(bounds)) == 1
        rows = figure.subplots(2 if marks else 1, len(panels), squeeze=False, sharex="col", **HEIGHTS[bool(marks)])
        figure.subplots_adjust(**panel_margins(figure, len(panels)), wspace=0.05 if alike else 0.13, hspace=0.06)
        for column, (axes, parts) in enumerate(zip(rows[0], panels, strict=True)):
            chart = _Chart(axes, chosen, bounds[column])
            for name, roofline, workers in parts:
                chart.draw(roofline, workers, colours[name] if several else "", dashed=name in (promised or {}))
            draw(axes, chart.pen, marks, colours if several else {})
            if column == len(panels) - 1:
                chart.legend(everything, colours if several else {}, partial, promised or {})
            for name, roofline, workers in parts:
                chart.label(roofline, workers, colours[name] if several else "")
            cross(axes, chart.pen, crossings)
            label(chart.pen, marks)
            if column == 0:
                axes.set_ylabel(f"Performance ({', '.join(f'G{unit}/s' for unit in counted)})")
            elif alike:
                axes.tick_params(labelleft=False)
            if marks:
                axes.set_xlabel("")
                axes.tick_params(labelbottom=False)
                distribution(rows[1][column], marks, colours if several else {})
                rows[1][column].set_xlabel(INTENSITY)
            if len(panels) > 1:
                axes.set_title(parts[0][2].label, loc="left", fontsize=12.0, color=INK)
    return figure


Part = tuple[str, Roofline, Team]
"""A machine's name, its roofline and the team that is drawn of it."""


def _panels(rooflines: Sequence[tuple[str, Roofline]], team: str | None) -> list[list[Part]]:
    """Return the panels, each with the machines and teams that it shows."""
    for name, roofline in rooflines:
        if not roofline.teams:
            raise InputError(f"nothing to draw: the result of {name} holds no roof")
    if team is None and len(rooflines) == 1:
        name, roofline = rooflines[0]
        usual = [found for found in roofline.teams if found.name in ("one", "all")]
        if len(usual) == 2:
            return [[(name, roofline, found)] for found in sorted(usual, key=lambda found: found.threads)]
    return [[(name, roofline, _team(name, roofline, team)) for name, roofline in rooflines]]


def _team(machine: str, roofline: Roofline, name: str | None) -> Team:
    if name is None:
        return largest_team(roofline.teams)
    for team in roofline.teams:
        if team.name == name:
            return team
    known = ", ".join(team.name for team in roofline.teams)
    raise InputError(f"the result of {machine} has no team {name!r}; it has: {known}")


def _precisions(parts: Sequence[Part], wanted: Sequence[str] | None, several: bool) -> list[str]:
    """Return the precisions to draw, in the order of the rooflines."""
    there = [
        dict.fromkeys(roof.precision for roof in roofline.compute if roof.team == team) for _, roofline, team in parts
    ]
    every = list(dict.fromkeys(name for found in there for name in found))
    if wanted is not None:
        for name in wanted:
            if name not in every:
                raise InputError(f"the result has no roof in {name!r}; it has: {', '.join(every) or 'none'}")
        return [name for name in every if name in wanted]
    if not several:
        return [name for name in every if name in DEFAULT_PRECISIONS] or every
    common = [name for name in every if all(name in found for found in there)]
    return (common or every)[:1]


def _hidden(parts: Sequence[Part], chosen: Sequence[str]) -> list[str]:
    """Return the precisions that have a roof and are not drawn."""
    every = dict.fromkeys(
        roof.precision
        for _, roofline, team in parts
        for roof in roofline.compute
        if roof.headline and roof.team == team
    )
    return [name for name in every if name not in chosen]


def _bounds(panels: Sequence[Sequence[Part]], precisions: Sequence[str]) -> list[Bounds]:
    """Return the limits of each panel's axes: room left of the first ridge for the slopes, and above for labels.

    All panels have the same intensities; they have the same rates too, unless one would be squeezed into a corner.
    """
    limits = [_limits(part, precisions) for panel in panels for part in panel]
    left, right = min(limit[0] for limit in limits), max(limit[1] for limit in limits)
    found = []
    for panel in panels:
        parts = [_limits(part, precisions) for part in panel]
        bottom = min(slope * left * 1.6 for _, _, slope, _, _ in parts)
        lowest = min(point / 1.5 for _, _, _, point, _ in parts)
        found.append((left, right, min(bottom, lowest), 2.2 * max(top for _, _, _, _, top in parts)))
    tops = [top for _, _, _, top in found]
    if max(tops) <= MOST_APART * min(tops):
        bottom = min(low for _, _, low, _ in found)
        found = [(left, right, bottom, max(tops)) for _ in found]
    return found


def _limits(part: Part, precisions: Sequence[str]) -> tuple[float, float, float, float, float]:
    """Return of one machine: smallest and largest intensity, slowest slope, lowest point, highest peak."""
    _, roofline, team = part
    peaks = [roof.rate.best for roof in peaks_of(roofline, team, precisions)]
    slopes = [roof.rate.best for roof in slopes_of(roofline, team)]
    # With one kind of roof alone, the other is taken to meet it at 1 FLOP/byte.
    peaks, slopes = peaks or slopes[:1], slopes or peaks[:1]
    if not peaks:
        raise InputError("nothing to draw: the result holds no verified roof of what is asked for")
    points = _points(roofline, team, precisions)
    intensities = [point.intensity for point in points]
    return (
        min([min(peaks) / max(slopes) / SLOPE_SHOWN, *(value / 3 for value in intensities)]),
        max([max(peaks) / min(slopes) * ROOF_SHOWN, *(value * 2 for value in intensities)]),
        min(slopes),
        min((point.flop_rate.best for point in points), default=math.inf),
        max([*peaks, *(roof.rate.best for roof in _above(roofline, team, precisions))]),
    )


def _above(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[ComputeRoof]:
    """Return of each precision the best mix that is faster than its headline roof, if there is one."""
    best: dict[str, ComputeRoof] = {}
    for roof in sorted(roofline.compute, key=lambda roof: roof.rate.best):
        if roof.above and roof.team == team and roof.precision in precisions:
            best[roof.precision] = roof
    return list(best.values())


def _ceilings(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[ComputeRoof]:
    """Return the ceilings to draw, highest first.

    Of one precision all of them; of several narrower vectors, single instructions at their best, and one chain.
    """
    mixes = _above(roofline, team, precisions)
    found = [
        roof
        for roof in roofline.compute
        if roof.team == team and roof.precision in precisions and roof.verified and not roof.headline
        and roof not in mixes
    ]  # fmt: skip
    if len(precisions) > 1:
        found = [
            roof
            for roof in found
            if (roof.instructions in PURE and (not roof.few_chains or roof.accumulators == 1))
            or (roof.instructions in TELLING and not roof.few_chains)
        ]
    return sorted(found, key=lambda roof: -roof.rate.best)


def _others(roofline: Roofline) -> bool:
    """Whether there are ceilings or other access mixes to explain."""
    return not all(roof.headline for roof in roofline.compute) or not all(roof.headline for roof in roofline.memory)


def _points(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[IntensityPoint]:
    return [point for point in roofline.points if point.team == team and point.precision in precisions]


_COUNTED = (
    "A slope is the best access mix of its level whose traffic is known; points are load-only streams. "
    "FMA = 2 FLOP, 1 GB = 1e9 bytes."
)

_COUNTED_ROOFS = "A slope is the best access mix of its level whose traffic is known. FMA = 2 FLOP, 1 GB = 1e9 bytes."

_PARTIAL = "Partial: the sweep was interrupted, roofs may be missing or too low."


class _Chart:
    """One panel of the roofline chart."""

    def __init__(self, axes: Axes, precisions: Sequence[str], bounds: Bounds) -> None:
        self._lines = Lines(axes, bounds)
        axes.set_xlabel(INTENSITY)
        self._axes, self._precisions = axes, precisions
        self.pen = self._lines.pen

    def draw(self, roofline: Roofline, team: Team, colour: str, *, dashed: bool = False) -> None:
        """Draw the lines and marks of one machine; `colour` is the machine's where several are drawn."""
        look: dict[str, Any] = {"linewidth": 2.4, "linestyle": PROMISED_DASHES if dashed else "-"}
        peaks, slopes = peaks_of(roofline, team, self._precisions), slopes_of(roofline, team)
        mixes = [] if colour else _above(roofline, team, self._precisions)
        top = _top(peaks, slopes, mixes)
        steepest = slopes[0].rate.best if slopes else 0.0
        if not colour:
            self._ceilings(roofline, team, steepest)
            self._mixes(roofline, team, slopes, top)
        for mix in mixes:
            self._lines.level(mix, steepest, f"above {mix.name}", color=INK, linewidth=1.2, linestyle=ABOVE_DASHES)
        for slope in slopes:
            self._lines.slope(slope, top, f"roof {slope.name}", color=colour or level_colour(slope.level), **look)
        for peak in peaks:
            self._lines.level(peak, steepest, f"roof {peak.name}", color=colour or INK, **look)
        if not colour:
            self._measured(roofline, team)
        for ridge in self._ridges(roofline, team):
            place = (ridge.intensity, ridge.compute.rate.best / GIGA)
            look = {"color": colour or level_colour(ridge.memory.level), "markerfacecolor": "white", "zorder": 6}
            name = f"mark {ridge.compute.name} {ridge.memory.name}"
            self.pen.mark(place, marker="o", markersize=5.0, name=name, **look)

    def legend(
        self,
        parts: Sequence[Part],
        colours: Mapping[str, str],
        partial: Collection[str],
        promised: Mapping[str, str],
    ) -> None:
        """Explain marks and colours in the corner that a roofline leaves empty."""
        from matplotlib.lines import Line2D

        proxies = [
            Line2D([], [], color=colours[name], linewidth=2.4, linestyle=PROMISED_DASHES if name in promised else "-",
                   label=f"{name}, {promised.get(name, team.label)}{', partial' if name in partial else ''}")
            for name, _, team in parts
            if name in colours
        ]  # fmt: skip
        shown = [point for _, roofline, team in parts for point in _points(roofline, team, self._precisions)]
        if not colours:
            for name in dict.fromkeys(point.precision for point in shown):
                marker = self._marker(name)
                proxies.append(Line2D([], [], linestyle="none", color=SOFT, marker=marker, label=f"measured, {name}"))
            if any(_thin_load(roofline, team, slopes_of(roofline, team)) for _, roofline, team in parts):
                proxies.append(Line2D([], [], color=SOFT, linewidth=1.2, linestyle=(0, (5, 2)), label="load-only roof"))
            if any(_above(roofline, team, self._precisions) for _, roofline, team in parts):
                label = "mix faster than multiply-adds"
                proxies.append(Line2D([], [], color=INK, linewidth=1.2, linestyle=ABOVE_DASHES, label=label))
            if any(_others(roofline) for _, roofline, _ in parts):
                label = "ceilings, other access mixes"
                proxies.append(Line2D([], [], color=SOFT, linewidth=0.8, alpha=0.6, label=label))
        if any(self._ridges(roofline, team) for _, roofline, team in parts):
            proxies.append(
                Line2D([], [], linestyle="none", marker="o", markersize=5.5, markerfacecolor="white", color=INK,
                       label="ridge point, FLOP/byte")
            )  # fmt: skip
        if proxies:
            self.pen.legend(proxies, "lower right")

    def label(self, roofline: Roofline, team: Team, colour: str) -> None:
        """Write the names and values, those with the least choice of places first."""
        peaks, slopes = peaks_of(roofline, team, self._precisions), slopes_of(roofline, team)
        mixes = [] if colour else _above(roofline, team, self._precisions)
        top = _top(peaks, slopes, mixes)
        steepest = slopes[0].rate.best if slopes else 0.0
        for peak in peaks:
            text = f"{peak.name}  {units.rate(peak.rate.best, operation(peak.precision))}"
            start, end = self._lines.level_ends(peak.rate.best, steepest)
            self.pen.along(start, end, text, f"label {peak.name}", color=darker(colour or INK), from_end=True)
        for mix in mixes:
            text = f"{mix.precision} {mix.instructions}  {units.rate(mix.rate.best, operation(mix.precision))}"
            self._beside_its_line(mix, steepest, text, INK, BESIDE_LIMIT)
        self._label_ridges(roofline, team, colour)
        for slope in slopes:
            text = f"{slope.name}  {units.rate(slope.rate.best, 'B')}"
            start, end = self._lines.slope_ends(slope.rate.best, top)
            shade = darker(colour or level_colour(slope.level))
            self.pen.along(start, end, text, f"label {slope.name}", color=shade)
        if not colour:
            self._label_ceilings(roofline, team, steepest, [roof.rate.best for roof in (*peaks, *mixes)])

    def _ridges(self, roofline: Roofline, team: Team) -> list[RidgePoint]:
        """Return the ridge points of the roofs that are drawn."""
        peaks, slopes = peaks_of(roofline, team, self._precisions), slopes_of(roofline, team)
        return [ridge for ridge in roofline.ridges if ridge.compute in peaks and ridge.memory in slopes]

    def _label_ridges(self, roofline: Roofline, team: Team, colour: str) -> None:
        """Write the value of each ridge point, but not twice for two that are one in the chart."""
        labelled: list[RidgePoint] = []
        for ridge in self._ridges(roofline, team):
            if any(ridge.memory == other.memory and _near(ridge.intensity, other.intensity) for other in labelled):
                continue
            # The colour tells whose ridge it is: of the level, or of the machine and then the level needs a word.
            text = (f"{ridge.memory.level} " if colour else "") + units.number(ridge.intensity)
            place = (ridge.intensity, ridge.compute.rate.best / GIGA)
            name = f"ridge {ridge.compute.name} {ridge.memory.name}"
            if self.pen.around(place, text, name, color=darker(colour or level_colour(ridge.memory.level))):
                labelled.append(ridge)

    # ------------------------------------------------------------------------------------------ lines

    def _ceilings(self, roofline: Roofline, team: Team, steepest: float) -> None:
        for roof in _ceilings(roofline, team, self._precisions):
            if roof.rate.best > self._axes.get_ylim()[0] * GIGA:
                self._lines.level(roof, steepest, f"ceiling {roof.name}", color=SOFT, linewidth=0.8, alpha=0.6)

    def _mixes(self, roofline: Roofline, team: Team, slopes: Sequence[MemoryRoof], top: float) -> None:
        """Draw the other access mixes thinly, and the load-only roof that the points belong to where it is one."""
        loads = _thin_load(roofline, team, slopes)
        for roof in roofline.memory:
            if roof.team != team or roof.headline or not roof.verified or roof.bytes_counted != "program":
                continue
            if roof.mix.endswith("_nt") and roof.level.startswith("L"):
                continue  # non-temporal stores pass a cache by: their rate is the memory's
            colour = level_colour(roof.level)
            if roof in loads:
                dashes = (0, (5, 2))
                self._lines.slope(
                    roof, top, f"load {roof.name}", color=colour, linewidth=1.2, linestyle=dashes, zorder=2.5
                )
            else:
                self._lines.slope(roof, top, f"mix {roof.name}", color=colour, linewidth=0.7, alpha=0.28, weight=0.1)

    def _measured(self, roofline: Roofline, team: Team) -> None:
        """Draw the intensity points; hollow ones have unproven code."""
        shown = _points(roofline, team, self._precisions)
        order = levels(point.level for point in shown)
        shrinks = (LARGEST_MARK - SMALLEST_MARK) / max(1, len(order) - 1)
        for point in sorted(shown, key=lambda point: order.index(point.level)):
            colour = level_colour(point.level)
            self.pen.mark(
                (point.intensity, point.flop_rate.best / GIGA),
                marker=self._marker(point.precision),
                # Under the compute roof the levels meet: smaller ones on larger ones leave a ring of each to see.
                markersize=LARGEST_MARK - shrinks * order.index(point.level),
                color=colour,
                markeredgecolor=colour if not point.verified or point.level != order[0] else "white",
                markerfacecolor=colour if point.verified else "white",
                markeredgewidth=0.5,
                zorder=5,
                name=f"point {point.level} {point.precision} {point.multiply_adds}",
            )

    def _marker(self, precision: str) -> str:
        return MARKERS[self._precisions.index(precision) % len(MARKERS)]

    def _label_ceilings(self, roofline: Roofline, team: Team, steepest: float, labelled: list[float]) -> None:
        """Label the ceilings that can be told apart from what is labelled already, where there is room.

        Ceilings that coincide have one label with the names of several, or of the first if that is too long.
        """
        groups: list[list[ComputeRoof]] = []
        for roof in _ceilings(roofline, team, self._precisions):
            if any(_near(roof.rate.best, other) for other in labelled):
                continue
            if groups and _near(roof.rate.best, groups[-1][0].rate.best):
                groups[-1].append(roof)
            else:
                groups.append([roof])
        for group in groups:
            group.sort(key=self._plainest)
            roof = group[0]
            value = units.rate(roof.rate.best, operation(roof.precision))
            names = list(dict.fromkeys(map(_ceiling_words, group)))
            limit = BESIDE_LIMIT if len(self._precisions) == 1 else CEILING_LIMIT
            for most in (MOST_NAMES, 1):
                words = ", ".join(names[:most]) + (", ..." if 1 < most < len(names) else "")
                if self._beside_its_line(roof, steepest, f"{words}  {value}", SOFT, limit):
                    break

    def _plainest(self, roof: ComputeRoof) -> tuple[bool, bool, int]:
        """Sort ceilings that coincide: what more people ask for first."""
        return roof.instructions not in PURE, roof.few_chains, self._precisions.index(roof.precision)

    def _beside_its_line(self, roof: ComputeRoof, steepest: float, text: str, color: str, limit: float) -> bool:
        """Write a small label next to a thin line, where it cannot be taken for another line's; False without room."""
        start, end = self._lines.level_ends(roof.rate.best, steepest)
        return self.pen.along(
            start, end, text, f"label {roof.name}", color=color, size=SMALL_POINTS, gap=3.0, from_end=True, rows=1,
            limit=limit,
        )  # fmt: skip


def _top(peaks: Sequence[ComputeRoof], slopes: Sequence[MemoryRoof], mixes: Sequence[ComputeRoof]) -> float:
    """Return the rate up to which slopes are drawn: the highest roof, conventional or of a mix."""
    highest = max((roof.rate.best for roof in (*peaks, *mixes)), default=0.0)
    return highest or max((roof.rate.best for roof in slopes), default=1.0)


def _ceiling_words(roof: ComputeRoof) -> str:
    """Name a ceiling in few words: ``"fp64 128-bit"``, ``"fp64 scalar"``, ``"fp64 1 chain"``, ``"fp64 add"``."""
    if roof.instructions not in PURE:
        words = f"{roof.precision} {roof.instructions}"
        return f"{words} ({plural(roof.accumulators, 'chain')})" if roof.few_chains else words
    if roof.few_chains:
        return f"{roof.precision} {plural(roof.accumulators, 'chain')}"
    return f"{roof.precision} {width_words(roof)}"


def _thin_load(roofline: Roofline, team: Team, slopes: Sequence[MemoryRoof]) -> list[MemoryRoof]:
    """Return the load-only roofs of the levels whose headline is another mix."""
    other = {slope.level for slope in slopes if slope.mix != "load"}
    return [
        roof
        for roof in roofline.memory
        if roof.team == team and roof.level in other and roof.mix == "load"
        and roof.bytes_counted == "program" and roof.verified and not roof.headline
    ]  # fmt: skip


def _near(first: float, second: float) -> bool:
    """Whether two positive numbers are the same place of the chart."""
    return abs(math.log(first / second)) < SAME_ROOF
