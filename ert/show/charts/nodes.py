"""The chart of the bandwidth between NUMA nodes: a matrix with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ert.errors import InputError
from ert.roofline.model import Host, Roofline
from ert.show import units
from ert.show.charts.layout import new_figure, panel_margins, put_footnote, put_title
from ert.show.charts.pen import GIGA, INK, SMALL_POINTS, drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL_INCHES, LEAST_INCHES = 0.75, 5.5
"""Inches of one pair of nodes, and of a figure that still has room for its title."""

DARK = 0.6
"""Share of the highest rate from which the ground of a number is so dark that the number is white."""

_COUNTED = (
    "Load only, beyond all caches, one thread on every core of the node, GB/s of all of them together. "
    "1 GB = 1e9 bytes."
)


def numa_figure(roofline: Roofline, host: Host, footnote: str = "") -> Figure:
    """Draw what the cores of each NUMA node get from the memory of each.

    Parameters
    ----------
    roofline : Roofline
        Its pairs of nodes; what is not verified or was not measured stays empty.
    host : Host
        Names the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        Memory is across, cores are down, in the order of the nodes' numbers.

    Raises
    ------
    InputError
        If the result holds no bandwidth between NUMA nodes.
    """
    found = {(entry.cpu_node, entry.memory_node): entry.rate.best for entry in roofline.numa if entry.verified}
    if not found:
        raise InputError("nothing to draw: the result holds no bandwidth between NUMA nodes")
    rows, columns = sorted({near for near, _ in found}), sorted({far for _, far in found})
    rates = [[found.get((near, far), float("nan")) / GIGA for far in columns] for near in rows]
    highest = max(found.values()) / GIGA
    width = max(LEAST_INCHES, 1.5 + CELL_INCHES * len(columns))
    with drawing_style():
        figure = new_figure((width, max(LEAST_INCHES, 2.6 + CELL_INCHES * len(rows))))
        put_title(figure, f"{host.name}: bandwidth between NUMA nodes")
        put_footnote(figure, f"{_COUNTED}\n{footnote}")
        axes = figure.subplots()
        figure.subplots_adjust(**panel_margins(figure))
        axes.imshow(rates, cmap="Blues", vmin=0.0, vmax=1.15 * highest, aspect="auto", gid="rates")
        axes.grid(visible=False)
        axes.set_xlabel("Node of the memory")
        axes.set_ylabel("Node of the cores")
        axes.set_xticks(range(len(columns)), list(map(str, columns)))
        axes.set_yticks(range(len(rows)), list(map(str, rows)))
        for y, row in enumerate(rates):
            for x, rate in enumerate(row):
                if rate == rate:  # not a number where the pair was not measured
                    axes.text(
                        x, y, units.number(rate), ha="center", va="center", fontsize=SMALL_POINTS,
                        color="white" if rate > DARK * highest else INK, gid=f"rate {rows[y]} {columns[x]}",
                    )  # fmt: skip
    return figure
