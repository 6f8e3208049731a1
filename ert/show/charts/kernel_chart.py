"""The kernels on the roofline chart: points of families and precisions, ladders, what each could attain."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ert.errors import InputError
from ert.roofline.model import Roofline, Team
from ert.roofline.placing.placement import Placement
from ert.show.charts import key
from ert.show.charts.kernel_panel import Panel
from ert.show.charts.layout import (
    BELOW_INCHES,
    EDGE,
    GAP_INCHES,
    LEFT_INCHES,
    LEGEND_ROW,
    footnote_height,
    legend_rows,
    new_figure,
    put_footnote,
    put_legend,
    put_title,
    title_height,
)
from ert.show.charts.pen import (
    drawing_style,
)
from ert.show.charts.points import arithmetic, entries, families, split, steps
from ert.show.words import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_NAMED = 24
"""Points that have their names beside them, if there is room; with more, numbers lead to a key."""

WIDTH, CHART_WIDTH, CHART_HEIGHT = 13.0, 8.9, 4.9
"""Inches: a figure with names in the chart, the chart's part of one with a key, and the least height of a chart."""

MOST_ROWS = 40
"""Lines of a column of the key: more would make the picture too high for a slide."""

NUMBER_ROOM, NAME_ROOM = 2.5, 7.0
"""How far the chart reaches to the right of the last point or ridge, as a factor: room for numbers, or for names."""

NAME_CHARACTERS = 31
"""Characters of a line of a name in the chart."""

BARE_GAP = 0.15
"""Inches above the panel of kernels without arithmetic."""

GROWTHS = (1.0, 1.3, 1.7)
"""How much larger a chart is drawn when its points are too crowded for their numbers."""

CROWD = 60
"""Points that a chart of the usual size may have room for: with more, it is not worth the trial."""


def kernel_figure(
    placements: Sequence[Placement], roofline: Roofline, team: Team, machine: str, footnote: str = ""
) -> Figure:
    """Draw the kernels of one team under its roofs.

    Parameters
    ----------
    placements : sequence of Placement
        Those of other teams are left out.
    roofline : Roofline
        Gives the roofs, drawn quietly.
    team : Team
        Whose kernels and roofs.
    machine : str
        Name of the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        x is FLOP per byte of modelled traffic at the level that a kernel's data live in, y GFLOP/s. Kernels without
        arithmetic stand below in GB/s. Of each kernel the outermost level has a name; with few kernels the names stand
        in the chart, with many there are numbers and a key.

    Raises
    ------
    InputError
        If the team has no kernel.
    """
    mine = [placement for placement in placements if placement.case.team == team]
    if not mine:
        raise InputError(f"nothing to draw: the result holds no kernel of {team.label}")
    picture = _Picture(mine, roofline, f"{machine}, {team.label}: kernels under the roofs", footnote)
    with drawing_style():
        if len(picture.points) <= MOST_NAMED:
            figure, complete = picture.draw(numbered=False)
            if complete:
                return figure
        for growth in [growth for growth in GROWTHS[:-1] if len(picture.points) <= CROWD * growth**2] + [GROWTHS[-1]]:
            figure, complete = picture.draw(numbered=True, growth=growth)
            if complete:
                break
        return figure


class _Picture:
    """What one figure of kernels holds, and its layout in inches."""

    def __init__(self, placements: Sequence[Placement], roofline: Roofline, title: str, footnote: str) -> None:
        self._roofline, self._title = roofline, title
        everything, nearer = split(placements)
        self.points = [placement for placement in everything if arithmetic(placement)]
        self._nearer = [placement for placement in nearer if arithmetic(placement)]
        self._steps = steps(everything, nearer)
        self._numbered = list(enumerate(entries(everything), start=1))
        self._bare = [item for item in self._numbered if not any(map(arithmetic, item[1].placements))]
        known = list(dict.fromkeys(roof.precision for roof in roofline.compute))
        there = dict.fromkeys(placement.case.precision for placement in placements)
        self._precisions = sorted(there, key=lambda name: known.index(name) if name in known else len(known))
        nominal = list(dict.fromkeys(point.kernel.title for point in self.points if point.kernel.nominal))
        remarks = ["FMA = 2 FLOP, 1 GB = 1e9 bytes; traffic is modelled, not measured; efficiency is a part of what "
                   "is attainable under the roofs of its precision, access mix and team."]  # fmt: skip
        if nominal:
            remarks.append(f"FLOP by convention: {listed(nominal)}.")
        self._note = f"{' '.join(remarks)}\n{footnote}"

    def draw(self, *, numbered: bool, growth: float = 1.0) -> tuple[Figure, bool]:
        """Draw the figure; the second is whether all points have their labels."""
        lines = key.key_lines(self._numbered, self._precisions) if numbered else []
        columns = key.key_columns(lines, MOST_ROWS)
        rows = max(map(len, columns), default=0)
        chart_width = CHART_WIDTH * growth if numbered else WIDTH
        width = chart_width + key.KEY_WIDTH * len(columns)
        below, title = footnote_height(self._note, width), title_height(self._title, width)
        legends = self._legends(numbered, chart_width - 2 * EDGE)
        above = title + LEGEND_ROW * len(legends) + GAP_INCHES
        strip = BELOW_INCHES + BARE_GAP + key.BARE_ROW * len(self._bare) if self._bare else 0.0
        chart = max(CHART_HEIGHT * growth, rows * key.KEY_ROW - strip) + BELOW_INCHES if self.points else 0.0
        height = max(below + strip + chart + above, below + title + (rows + 1) * key.KEY_ROW)
        figure = new_figure((width, height))
        put_title(figure, self._title)
        put_footnote(figure, self._note)
        put_legend(figure, legends, title)

        def panel(left: float, bottom: float, right: float, top: float) -> Axes:
            return figure.add_axes((left / width, bottom / height, (right - left) / width, (top - bottom) / height))

        for column, shown in enumerate(columns):
            left, top = chart_width + key.KEY_WIDTH * column, height - title
            beside = panel(left, top - (rows + 1) * key.KEY_ROW, left + key.KEY_WIDTH - EDGE, top)
            key.draw_key(beside, shown, rows, self._precisions)
        right = chart_width - EDGE
        if self._bare:
            bottom = below + BELOW_INCHES
            names = EDGE + max(LEFT_INCHES, key.bare_names_width([entry for _, entry in self._bare], numbered))
            axes = panel(names, bottom, right, bottom + key.BARE_ROW * len(self._bare))
            key.draw_bandwidths(axes, [(number * numbered, entry) for number, entry in self._bare], self._precisions)
        if not self.points:
            return figure, True
        axes = panel(EDGE + LEFT_INCHES, below + strip + BELOW_INCHES, right, height - above)
        beyond = NUMBER_ROOM if numbered else NAME_ROOM
        chart_panel = Panel(axes, self._roofline, self.points, self._nearer, self._precisions, beyond)
        chart_panel.draw(self._steps)
        return figure, chart_panel.label(self._texts(numbered), anywhere=growth == GROWTHS[-1])

    def _texts(self, numbered: bool) -> dict[int, str]:
        """Return the label of each point, by its identity: two of equal measurements are still two."""
        found = {}
        for number, entry in self._numbered:
            for point in entry.placements:
                if numbered:
                    found[id(point)] = str(number)
                else:
                    share, _ = key.efficiency_words(point)
                    text = entry.name if point.efficiency is None else f"{entry.name}  {share}"
                    found[id(point)] = "\n".join(textwrap.wrap(text, NAME_CHARACTERS))
        return found

    def _legends(self, numbered: bool, width: float) -> list[list[Line2D]]:
        """Return the lines of the legend: families, unless the key has them, and what else is drawn."""
        marks = key.precision_handles(self._precisions)
        bare = [placement for _, entry in self._bare for placement in entry.placements]
        marks += key.mark_handles(self.points, self._nearer, self._steps, bare)
        shown = [placement for _, entry in self._numbered for placement in entry.placements]
        first = [] if numbered else legend_rows(key.family_handles(families(shown)), width)
        return first + legend_rows(marks, width)
