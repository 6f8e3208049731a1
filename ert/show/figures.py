"""Figures: the roofline chart and the bandwidth curve. The only place of matplotlib, which is imported when drawing."""

from __future__ import annotations

import logging
import math
import os
import secrets
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ert.errors import InputError
from ert.roofline.fit import PURE
from ert.roofline.irregular import CONTRADICTED
from ert.roofline.model import (
    ComputeRoof,
    Curve,
    Host,
    IntensityPoint,
    Latency,
    LatencyCurve,
    LatencyPoint,
    MemoryRoof,
    Results,
    RidgePoint,
    Roofline,
    Scaling,
    Team,
)
from ert.show import units
from ert.show.labels import ROWS, Box, Point, Room, along, around
from ert.show.words import clock_hz, largest_team, levels, listed, operation, plural, width_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

GIGA = 1e9

# Colours that are told apart with any colour vision: M. Okabe and K. Ito, "Color universal design", 2008.
BLUE, GREEN, VERMILLION, PURPLE = "#0072B2", "#009E73", "#D55E00", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
INK, SOFT, GRID = "#222222", "#5F5F5F", "#E4E4E4"

LEVEL_COLOURS = {"L1": BLUE, "L2": GREEN, "L3": PURPLE, "DRAM": VERMILLION, "L4": ORANGE, "HBM": SKY}
MACHINE_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One a precision, in the order of the roofline."""

TEXT_DARKER = 0.78
"""Factor on a line's colour for text, which is thinner than the line and needs more contrast."""

SIZE = (10.0, 6.5)
WIDE = (13.0, 6.8)
"""Inches of a chart, and of two beside or over each other: both fill a slide."""

LABEL_POINTS, SMALL_POINTS, TITLE_POINTS = 10.0, 9.0, 14.0
COVER_POINTS = 1.0
"""How far the white ground of a label reaches beyond it: less than the distance that labels keep from each other."""

PNG_DPI = 160
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

SAME_CAPACITY = 1.06
"""Capacities of two teams nearer than this are one mark: a third of the distance between two measured sizes."""

MOST_TICKS = 11
"""Sizes written below the curve: more would touch."""

TICK_DIGITS = ((6.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)), (300.0, (1.0, 2.0, 5.0)))
"""Digits of each decade that get a number on an axis whose ends are less than so many times apart."""

FEWEST_SCALED = 2
"""Numbers of threads that make a sentence and no chart."""

SAME_LATENCY = 1.1
"""A latency inside pages that is nearer to the random one than this factor needs no label of its own."""

PATTERN_COLOURS = {"random": VERMILLION, "page": BLUE}
PATTERN_LABELS = {"random": "random, over the whole set", "page": "random inside pages visited in order"}

NANO = 1e-9

SLOPE_SHOWN, ROOF_SHOWN = 18.0, 25.0
"""How far the chart reaches left of the first ridge point and right of the last, as factors: room for labels."""

MOST_APART = 6.0
"""Panels whose highest roofs are further apart have scales of their own: with one scale, all of the lower one's roofs
would be pressed together."""

EDGE, LEFT_INCHES, BELOW_INCHES, PANEL_TITLE_INCHES, GAP_INCHES = 0.2, 0.75, 0.6, 0.4, 0.1
"""Inches: free border, axes with numbers and names, title of a panel, space below the main title without one."""

LINE_HEIGHT = 1.25
TITLE_CHARACTERS_AN_INCH, NOTE_CHARACTERS_AN_INCH = 8.0, 14.3
"""How many fit beside each other, rather fewer: fonts are proportional."""

DRAWN: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Formats, and the metadata that would make two drawings of one result differ."""


def roofline_figure(
    rooflines: Sequence[tuple[str, Roofline]],
    *,
    team: str | None = None,
    precisions: Sequence[str] | None = None,
    title: str = "",
    partial: Collection[str] = (),
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
    colours = {name: colour for (name, _), colour in zip(rooflines, _cycle(MACHINE_COLOURS), strict=False)}
    counted = list(dict.fromkeys(operation(name) for name in chosen)) or ["FLOP"]
    teams = {workers.label for _, _, workers in everything}
    if not title:
        name = plural(len(rooflines), "machine") if several else rooflines[0][0]
        title = name if several or len(teams) > 1 else f"{name}, {teams.pop()}"
    with _style():
        figure = _figure(WIDE if len(everything) > 1 else SIZE)
        _title(figure, title)
        hidden = [] if several or precisions is not None else _hidden(everything, chosen)
        also = f" Also measured (--precision): {listed(hidden)}." if hidden else ""
        also += f" {_PARTIAL}" if partial else ""
        _footnote(figure, f"{_COUNTED_ROOFS if several else _COUNTED}{also}\n{footnote}")
        bounds = _bounds(panels, chosen)
        alike = len(set(bounds)) == 1
        rows = figure.subplots(1, len(panels), squeeze=False)
        figure.subplots_adjust(**_margins(figure, len(panels)), wspace=0.05 if alike else 0.13)
        for column, (axes, parts) in enumerate(zip(rows[0], panels, strict=True)):
            chart = _Chart(axes, chosen, bounds[column])
            for name, roofline, workers in parts:
                chart.draw(roofline, workers, colours[name] if several else "")
            if column == len(panels) - 1:
                chart.legend(everything, colours if several else {}, partial)
            for name, roofline, workers in parts:
                chart.label(roofline, workers, colours[name] if several else "")
            if column == 0:
                axes.set_ylabel(f"Performance ({', '.join(f'G{unit}/s' for unit in counted)})")
            elif alike:
                axes.tick_params(labelleft=False)
            if len(panels) > 1:
                axes.set_title(parts[0][2].label, loc="left", fontsize=12.0, color=INK)
    return figure


def levels_figure(roofline: Roofline, host: Host, footnote: str = "") -> Figure:
    """Draw bandwidth against the working set of one thread, with plateaus and capacities.

    Parameters
    ----------
    roofline : Roofline
        One curve a team is drawn: the band reaches from the median to the best sample.
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
    with _style():
        figure = _figure(SIZE)
        _title(figure, f"{host.name}: bandwidth of the memory levels")
        _footnote(figure, f"{_COUNTED_CURVE}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**_margins(figure))
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
    with _style():
        figure = _figure(SIZE)
        _title(figure, f"{host.name}: load-to-use latency, {curves[0].team.label}")
        _footnote(figure, f"{_COUNTED_LATENCY}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**_margins(figure))
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
    with _style():
        figure = _figure(SIZE)
        _title(figure, f"{host.name}: bandwidth by number of threads")
        _footnote(figure, f"{_COUNTED_SCALING}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**_margins(figure))
        _draw_scaling(axes, shown)
    return figure


def write(
    results: Results,
    roofline: Roofline,
    stem: Path,
    *,
    team: str | None = None,
    precisions: Sequence[str] | None = None,
) -> list[Path]:
    """Draw the figures of one result as ``<stem>.<kind>.{png,svg}``.

    The kinds are ``roofline``, ``levels``, ``latency`` and ``scaling`` (with more than two numbers of threads).

    Parameters
    ----------
    results, roofline
        A sweep and what was fitted to it.
    stem : Path
        Folder and beginning of the names.
    team, precisions
        As for :func:`roofline_figure`.

    Returns
    -------
    list of Path
        The files written. What a partial result has no data for is left out.

    Raises
    ------
    InputError
        If there is nothing to draw at all, no such team or no such precision.
    OSError
        If a file cannot be written.
    """
    note = described(results, roofline)
    figures: dict[str, Figure] = {}
    if roofline.compute or roofline.memory or team or precisions:
        pairs = [(results.host.name, roofline)]
        figures["roofline"] = roofline_figure(pairs, team=team, precisions=precisions, footnote=note)
    if any(curve.points for curve in roofline.curves):
        figures["levels"] = levels_figure(roofline, results.host, note)
    if any(curve.points for curve in roofline.latency_curves):
        figures["latency"] = latency_figure(roofline, results.host, note)
    if any(len(scaling.points) > FEWEST_SCALED for scaling in roofline.scaling):
        figures["scaling"] = scaling_figure(roofline, results.host, note)
    if not figures:
        raise InputError("nothing to draw: the result holds no roof and no bandwidth curve")
    paths = []
    for kind, figure in figures.items():
        both = [stem.with_name(f"{stem.name}.{kind}{suffix}") for suffix in (".png", ".svg")]
        save(figure, *both)
        paths += both
    return paths


def described(results: Results, roofline: Roofline) -> str:
    """Return the footnote of one result: when it was measured and at which clock."""
    clocks = [clock for team in roofline.teams if (clock := clock_hz(roofline, team))]
    text = f"Measured {results.started[:16].replace('T', ' ')} UTC" if results.started else "Measured"
    texts = dict.fromkeys(units.hertz(clock) for clock in clocks)
    text += f" at {' and '.join(texts)}." if texts else "."
    return text if results.complete else f"{text} Partial: the sweep was interrupted."


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure; each suffix says a format: ``.png``, ``.svg`` or ``.pdf``.

    Two drawings of one result are the same to the byte with one version of matplotlib. A file appears whole or not at
    all: an older one of its name stays as it is until then.

    Raises
    ------
    InputError
        If the suffix is another one.
    OSError
        If a file cannot be written; its `filename` is the path that was asked for.
    """
    for path in paths:
        suffix = path.suffix.lower()
        if suffix not in DRAWN:
            raise InputError(f"{path}: cannot draw {suffix or 'a file without a suffix'}; use {', '.join(DRAWN)}")
        buffer = BytesIO()
        with _style():
            figure.savefig(buffer, format=suffix[1:], dpi=PNG_DPI, metadata=DRAWN[suffix])
        _replace(path, buffer.getvalue())


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file under another name in the same folder, then give it the name."""
    # A link to a file stays one.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                # Some file systems say only now that there is no room.
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # Of a full disk the error names no file, and else the temporary one, which means nothing to anybody.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


# ------------------------------------------------------------------------------------- what is drawn of what

Part = tuple[str, Roofline, Team]
"""A machine's name, its roofline and the team that is drawn of it."""

Bounds = tuple[float, float, float, float]
"""Left, right in FLOP/byte and bottom, top in FLOP/s."""


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
    peaks = [roof.rate.best for roof in _peaks(roofline, team, precisions)]
    slopes = [roof.rate.best for roof in _slopes(roofline, team)]
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


def _peaks(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[ComputeRoof]:
    """Return the headline compute roofs, highest first."""
    found = [roof for roof in roofline.compute if roof.headline and roof.team == team and roof.precision in precisions]
    return sorted(found, key=lambda roof: -roof.rate.best)


def _slopes(roofline: Roofline, team: Team) -> list[MemoryRoof]:
    """Return the headline memory roofs, fastest first."""
    return sorted((r for r in roofline.memory if r.headline and r.team == team), key=lambda roof: -roof.rate.best)


def _others(roofline: Roofline) -> bool:
    """Whether there are ceilings or other access mixes to explain."""
    return not all(roof.headline for roof in roofline.compute) or not all(roof.headline for roof in roofline.memory)


def _points(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[IntensityPoint]:
    return [point for point in roofline.points if point.team == team and point.precision in precisions]


# --------------------------------------------------------------------------------------- the roofline chart

_COUNTED = (
    "A slope is the best access mix of its level whose traffic is known; points are load-only streams. "
    "FMA = 2 FLOP, 1 GB = 1e9 bytes."
)
_COUNTED_ROOFS = "A slope is the best access mix of its level whose traffic is known. FMA = 2 FLOP, 1 GB = 1e9 bytes."
_PARTIAL = "Partial: the sweep was interrupted, roofs may be missing or too low."
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


class _Chart:
    """One panel of the roofline chart."""

    def __init__(self, axes: Axes, precisions: Sequence[str], bounds: Bounds) -> None:
        left, right, bottom, top = bounds
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom / GIGA, top / GIGA))
        axes.set_xlabel("Arithmetic intensity (FLOP/byte)")
        _decimal_ticks(axes.xaxis, left, right)
        _decimal_ticks(axes.yaxis, bottom / GIGA, top / GIGA)
        self._axes, self._precisions = axes, precisions
        self._left, self._right = left, right
        self._pen = _Pen(axes)

    def draw(self, roofline: Roofline, team: Team, colour: str) -> None:
        """Draw the lines and marks of one machine; `colour` is the machine's where several are drawn."""
        peaks, slopes = _peaks(roofline, team, self._precisions), _slopes(roofline, team)
        mixes = [] if colour else _above(roofline, team, self._precisions)
        top = _top(peaks, slopes, mixes)
        steepest = slopes[0].rate.best if slopes else 0.0
        if not colour:
            self._ceilings(roofline, team, steepest)
            self._mixes(roofline, team, slopes, top)
        for mix in mixes:
            self._level(mix, steepest, f"above {mix.name}", color=INK, linewidth=1.2, linestyle=ABOVE_DASHES)
        for slope in slopes:
            self._slope(slope, top, f"roof {slope.name}", color=colour or level_colour(slope.level), linewidth=2.4)
        for peak in peaks:
            self._level(peak, steepest, f"roof {peak.name}", color=colour or INK, linewidth=2.4)
        if not colour:
            self._measured(roofline, team)
        for ridge in self._ridges(roofline, team):
            place = (ridge.intensity, ridge.compute.rate.best / GIGA)
            look = {"color": colour or level_colour(ridge.memory.level), "markerfacecolor": "white", "zorder": 6}
            name = f"mark {ridge.compute.name} {ridge.memory.name}"
            self._pen.mark(place, marker="o", markersize=5.0, name=name, **look)

    def legend(self, parts: Sequence[Part], colours: Mapping[str, str], partial: Collection[str]) -> None:
        """Explain marks and colours in the corner that a roofline leaves empty."""
        from matplotlib.lines import Line2D

        proxies = [
            Line2D([], [], color=colours[name], linewidth=2.4,
                   label=f"{name}, {team.label}{', partial' if name in partial else ''}")
            for name, _, team in parts
            if name in colours
        ]  # fmt: skip
        shown = [point for _, roofline, team in parts for point in _points(roofline, team, self._precisions)]
        if not colours:
            for name in dict.fromkeys(point.precision for point in shown):
                marker = self._marker(name)
                proxies.append(Line2D([], [], linestyle="none", color=SOFT, marker=marker, label=f"measured, {name}"))
            if any(_thin_load(roofline, team, _slopes(roofline, team)) for _, roofline, team in parts):
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
            self._pen.legend(proxies, "lower right")

    def label(self, roofline: Roofline, team: Team, colour: str) -> None:
        """Write the names and values, those with the least choice of places first."""
        peaks, slopes = _peaks(roofline, team, self._precisions), _slopes(roofline, team)
        mixes = [] if colour else _above(roofline, team, self._precisions)
        top = _top(peaks, slopes, mixes)
        steepest = slopes[0].rate.best if slopes else 0.0
        for peak in peaks:
            text = f"{peak.name}  {units.rate(peak.rate.best, operation(peak.precision))}"
            start, end = self._level_ends(peak.rate.best, steepest)
            self._pen.along(start, end, text, f"label {peak.name}", color=darker(colour or INK), from_end=True)
        for mix in mixes:
            text = f"{mix.precision} {mix.instructions}  {units.rate(mix.rate.best, operation(mix.precision))}"
            self._beside_its_line(mix, steepest, text, INK, BESIDE_LIMIT)
        self._label_ridges(roofline, team, colour)
        for slope in slopes:
            text = f"{slope.name}  {units.rate(slope.rate.best, 'B')}"
            start, end = self._slope_ends(slope.rate.best, top)
            shade = darker(colour or level_colour(slope.level))
            self._pen.along(start, end, text, f"label {slope.name}", color=shade)
        if not colour:
            self._label_ceilings(roofline, team, steepest, [roof.rate.best for roof in (*peaks, *mixes)])

    def _ridges(self, roofline: Roofline, team: Team) -> list[RidgePoint]:
        """Return the ridge points of the roofs that are drawn."""
        peaks, slopes = _peaks(roofline, team, self._precisions), _slopes(roofline, team)
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
            if self._pen.around(place, text, name, color=darker(colour or level_colour(ridge.memory.level))):
                labelled.append(ridge)

    # ------------------------------------------------------------------------------------------ lines

    def _slope_ends(self, rate: float, top: float) -> tuple[Point, Point]:
        """Return where the line of a bandwidth enters the chart and where it meets the highest roof."""
        start = max(self._left, self._axes.get_ylim()[0] * GIGA / rate)
        end = min(self._right, top / rate)
        return (start, start * rate / GIGA), (end, end * rate / GIGA)

    def _slope(self, roof: MemoryRoof, top: float, name: str, **look: Any) -> None:
        self._pen.line(*self._slope_ends(roof.rate.best, top), name, **look)

    def _level_ends(self, rate: float, steepest: float) -> tuple[Point, Point]:
        """Return where the line of a peak leaves the steepest slope, and the right edge."""
        return (rate / steepest if steepest else self._left, rate / GIGA), (self._right, rate / GIGA)

    def _level(self, roof: ComputeRoof, steepest: float, name: str, **look: Any) -> None:
        self._pen.line(*self._level_ends(roof.rate.best, steepest), name, **look)

    def _ceilings(self, roofline: Roofline, team: Team, steepest: float) -> None:
        for roof in _ceilings(roofline, team, self._precisions):
            if roof.rate.best > self._axes.get_ylim()[0] * GIGA:
                self._level(roof, steepest, f"ceiling {roof.name}", color=SOFT, linewidth=0.8, alpha=0.6)

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
                self._slope(roof, top, f"load {roof.name}", color=colour, linewidth=1.2, linestyle=dashes, zorder=2.5)
            else:
                self._slope(roof, top, f"mix {roof.name}", color=colour, linewidth=0.7, alpha=0.28, weight=0.1)

    def _measured(self, roofline: Roofline, team: Team) -> None:
        """Draw the intensity points; hollow ones have unproven code."""
        shown = _points(roofline, team, self._precisions)
        order = levels(point.level for point in shown)
        shrinks = (LARGEST_MARK - SMALLEST_MARK) / max(1, len(order) - 1)
        for point in sorted(shown, key=lambda point: order.index(point.level)):
            colour = level_colour(point.level)
            self._pen.mark(
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
        start, end = self._level_ends(roof.rate.best, steepest)
        return self._pen.along(
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


def level_colour(level: str) -> str:
    """Return the colour of a level."""
    return LEVEL_COLOURS.get(level, BLACK)


def darker(colour: str) -> str:
    """Return the shade of a line's colour that its text has."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part * TEXT_DARKER):02X}" for part in parts)


# --------------------------------------------------------------------------------------- the bandwidth curve


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
        _size_ticks(axes, left, right)
        _decimal_ticks(axes.yaxis, bottom, top)
        self._axes, self._curves = axes, curves
        self._pen = _Pen(axes)

    def draw(self) -> None:
        """Draw everything: lines first, so that the labels know what to keep clear of."""
        marks = _capacities(self._curves)
        for mark in marks:
            style = "-" if mark.kind == "effective" else (0, (5, 3))
            self._vertical(mark, linestyle=style, linewidth=1.0, color=mark.colour or SOFT)
        for curve, colour in zip(self._curves, _cycle(MACHINE_COLOURS), strict=False):
            self._curve(curve, colour)
        self._legend({mark.kind for mark in marks})
        for curve, colour in zip(self._curves, _cycle(MACHINE_COLOURS), strict=False):
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
            for curve, colour in zip(self._curves, _cycle(MACHINE_COLOURS), strict=False)
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
        _size_ticks(axes, left, right)
        _decimal_ticks(axes.yaxis, bottom, top)
        self._axes, self._curves, self._latencies = axes, list(curves), latencies
        self._pen = _Pen(axes)

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
    _decimal_ticks(axes.yaxis, bottom, top)
    pen = _Pen(axes)
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
                for curve, colour in zip(curves, _cycle(MACHINE_COLOURS), strict=False)
                for plateau in curve.plateaus
                if plateau.name == level and (size := plateau.declared if kind == "declared" else plateau.capacity)
            ]
            if sizes and max(sizes)[0] <= SAME_CAPACITY * min(sizes)[0]:
                sizes = [(sizes[0][0], "" if len(curves) > 1 else SOFT)]
            found += [_Capacity(level, kind, size, colour) for size, colour in sizes]
    return found


def _decimal_ticks(axis: Axis, low: float, high: float) -> None:
    """Put ticks on the decades, and on more digits of each where there are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = next((digits for most, digits in TICK_DIGITS if high < most * low), (1.0,))
    ticks = [digit * 10.0**power for power in decades for digit in digits]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(ticks, [f"{tick:.9g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def _size_ticks(axes: Axes, left: float, right: float) -> None:
    """Put ticks on powers of two of bytes, as many as there is room for."""
    first, last = math.ceil(math.log2(left)), math.floor(math.log2(right))
    step = max(1, math.ceil((last - first) / MOST_TICKS))
    ticks = [2.0**power for power in range(first, last + 1) if power % step == 0]
    axes.set_xticks(ticks, [units.size(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


# ----------------------------------------------------------------------------------------------- the drawing


class _Pen:
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


def _cycle(colours: Sequence[str]) -> Iterator[str]:
    while True:
        yield from colours


def _renderer(axes: Axes) -> Any:
    canvas: Any = axes.figure.canvas  # matplotlib's hints know only the base class, which cannot draw
    return canvas.get_renderer()


def _figure(size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure


def _title(figure: Figure, text: str) -> None:
    width = figure.get_figwidth()
    lines = textwrap.wrap(text, int(width * TITLE_CHARACTERS_AN_INCH))
    figure.text(
        EDGE / width, 1 - EDGE / figure.get_figheight(), "\n".join(lines), fontsize=TITLE_POINTS, fontweight="bold",
        color=INK, ha="left", va="top", gid="title",
    )  # fmt: skip


def _footnote(figure: Figure, text: str) -> None:
    width = figure.get_figwidth()
    room = int((width - 2 * EDGE) * NOTE_CHARACTERS_AN_INCH)
    lines = [line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, room, break_on_hyphens=False)]
    figure.text(
        EDGE / width, EDGE / figure.get_figheight(), "\n".join(lines), fontsize=SMALL_POINTS, color=SOFT,
        ha="left", va="bottom", gid="footnote",
    )  # fmt: skip


def _margins(figure: Figure, panels: int = 1) -> dict[str, float]:
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


@contextmanager
def _style() -> Iterator[None]:
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
