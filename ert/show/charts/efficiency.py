"""The chart of efficiencies: of each kernel its shares of both roofs side by side, those first where effort pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ert.errors import InputError
from ert.roofline.model import Team
from ert.roofline.placing.place import fastest_rungs, rank
from ert.roofline.placing.placement import Placement
from ert.show import units
from ert.show.charts.layout import (
    BELOW_INCHES,
    EDGE,
    LEGEND_ROW,
    PANEL_TITLE_INCHES,
    footnote_height,
    new_figure,
    put_footnote,
    put_legend,
    put_title,
    text_width,
    title_height,
)
from ert.show.charts.pen import (
    BLUE,
    INK,
    ORANGE,
    SMALL_POINTS,
    SOFT,
    drawing_style,
)
from ert.show.charts.points import entries, split
from ert.show.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

WIDTH = 13.0

MOST_BARS = 28
"""Kernels of one chart: more lines than this cannot be read from a slide."""

ROW = 0.25
"""Inches of a line."""

LONGEST_NAME = 4.3
"""Inches that a name may take before it is shortened."""

TIMES = 2.5
"""Inches of the column of times."""

BETWEEN = 0.35
"""Inches between the columns."""

BEYOND = 1.3
"""How far the axes reach beyond the longest bar, as a factor: room for its value."""

BOUND_COLOURS = {"memory": BLUE, "compute": ORANGE, "neither": "#9A9A9A", "unknown": "#C8C8C8"}

BOUND_WORDS = {
    "memory": "bound by memory",
    "compute": "bound by compute",
    "neither": "far below both roofs",
    "unknown": "bound not known: a roof was not measured",
}

UNDER_ROOF = 0.87
"""The value of a bar that ends between here and the roof stands beyond the roof's line: it has no room before it."""

OTHER = 0.35
"""Opacity of the bar of the roof that does not bind."""

NOTE = (
    "A share is the measured rate over the roof of the kernel's precision, access mix, level and team; bytes are "
    "modelled traffic. First come the kernels that lose most time: seconds of a pass above the lower bound."
)


def efficiency_figure(placements: Sequence[Placement], team: Team, machine: str, footnote: str = "") -> Figure:
    """Draw for the kernels of one team the shares of the memory roof and of the compute roof.

    Parameters
    ----------
    placements : sequence of Placement
        Those of other teams are left out. Drawn are the outermost level of each kernel, and of a ladder of
        implementations the fastest; at most :data:`MOST_BARS`, and the footnote counts the others.
    team : Team
        Whose kernels.
    machine : str
        Name of the machine.
    footnote : str
        What else is written below the chart.

    Returns
    -------
    matplotlib.figure.Figure
        x is a percentage of a roof; the colour says what binds.

    Raises
    ------
    InputError
        If the team has no kernel with a roof that applies.
    """
    points, _ = split([placement for placement in placements if placement.case.team == team])
    fastest = fastest_rungs(points)
    ranked = rank(fastest)
    if not ranked:
        raise InputError(f"nothing to draw: the result holds no kernel of {team.label} with a roof that applies")
    shown = ranked[:MOST_BARS]
    left_out = [
        (len(points) - len(fastest), "slower implementation", "of what a faster one does"),
        (len(ranked) - len(shown), "kernel", "with less to gain"),
        (len(fastest) - len(ranked), "kernel", "without a roof that applies"),
    ]
    counted = [f"{plural(count, noun)} {why}" for count, noun, why in left_out if count]
    also = f" Not shown: {', '.join(counted)}." if counted else ""
    note = f"{NOTE}{also}\n{footnote}"
    names = _names(points, shown)
    with drawing_style():
        room = min(LONGEST_NAME, max(map(text_width, names)))
        names, column = [_shortened(name, room) for name in names], room + 0.2
        below = footnote_height(note, WIDTH) + BELOW_INCHES
        title = f"{machine}, {team.label}: where effort pays"
        legend = title_height(title, WIDTH)
        above = legend + LEGEND_ROW + PANEL_TITLE_INCHES
        height = below + ROW * len(shown) + above
        figure = new_figure((WIDTH, height))
        put_title(figure, title)
        put_footnote(figure, note)
        panels = (WIDTH - 2 * EDGE - column - TIMES - 2 * BETWEEN) / 2
        lefts = EDGE + column, EDGE + column + panels + BETWEEN, EDGE + column + 2 * (panels + BETWEEN)
        memory, compute, times = (
            figure.add_axes((left / WIDTH, below / height, width / WIDTH, ROW * len(shown) / height))
            for left, width in zip(lefts, (panels, panels, TIMES), strict=True)
        )
        _bars(memory, shown, "memory", lambda placement: placement.memory_share)
        _bars(compute, shown, "compute", lambda placement: placement.compute_share)
        _times(times, shown)
        memory.set_yticks(range(len(shown)), names, fontsize=SMALL_POINTS, color=INK)
        compute.tick_params(labelleft=False)
        put_legend(figure, [_bounds(shown)], legend)
    return figure


def _names(points: Sequence[Placement], shown: Sequence[Placement]) -> list[str]:
    """Return what the rows are called; with the precision where there are several."""
    several = len({point.case.precision for point in points}) > 1
    called = {id(point): entry.name for entry in entries(points) for point in entry.placements}
    return [f"{called[id(point)]}  {point.case.precision}" if several else called[id(point)] for point in shown]


def _shortened(name: str, width: float) -> str:
    """Return a name that fits its column."""
    if text_width(name) <= width:
        return name
    kept = next(n for n in range(len(name), 0, -1) if n == 1 or text_width(f"{name[:n]} ...") <= width)
    return f"{name[:kept].rstrip()} ..."


def _bars(axes: Axes, shown: Sequence[Placement], roof: str, share: Callable[[Placement], float | None]) -> None:
    """Draw the shares of one roof."""
    values = [share(placement) or 0.0 for placement in shown]
    axes.set(xlim=(0, 100 * BEYOND * max(1.0, *values)), ylim=(len(shown) - 0.4, -0.6))
    axes.set_title(f"Share of the {roof} roof", loc="left", fontsize=12.0, color=INK)
    axes.set_xlabel("%")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.axvline(100, color=INK, linewidth=1.2, zorder=1.5)
    for row, placement in enumerate(shown):
        value = share(placement)
        name = f"{roof} {row}"
        if value is None:
            bare = roof == "compute" and placement.flop_rate is None
            words = "no arithmetic" if bare else "no roof measured" if placement.byte_rate else "no traffic"
            axes.text(1.0, row, words, gid=f"none {name}", fontsize=SMALL_POINTS, color=SOFT, va="center")
            continue
        binds = placement.bound in (roof, "neither", "unknown")
        axes.barh(row, 100 * value, height=0.66, color=BOUND_COLOURS[placement.bound], alpha=1.0 if binds else OTHER,
                  gid=f"bar {name}", zorder=2)  # fmt: skip
        # Not on the line of the roof.
        beside = 100.0 if UNDER_ROOF < value < 1 else 100 * value
        axes.text(beside + 1.5, row, f"{100 * value:.0f}", gid=f"value {name}", fontsize=SMALL_POINTS, color=INK,
                  va="center", zorder=4)  # fmt: skip


def _times(axes: Axes, shown: Sequence[Placement]) -> None:
    """Write the times of a pass and what of it is above the lower bound."""
    axes.set(xlim=(0, 1), ylim=(len(shown) - 0.4, -0.6))
    axes.axis("off")
    axes.set_title("Time to gain per pass", loc="left", fontsize=12.0, color=INK)
    for row, placement in enumerate(shown):
        text = f"{units.seconds(placement.headroom or 0.0)} of {units.seconds(placement.seconds)}"
        axes.text(0.0, row, text, gid=f"gain {row}", fontsize=SMALL_POINTS, color=INK, va="center")


def _bounds(shown: Sequence[Placement]) -> list[Patch]:
    """Return the entries of a legend that explains the colours that are drawn."""
    from matplotlib.patches import Patch

    there = {placement.bound for placement in shown}
    return [Patch(color=BOUND_COLOURS[name], label=words) for name, words in BOUND_WORDS.items() if name in there]
