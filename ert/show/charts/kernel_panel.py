"""The panel of kernels: roofs drawn quietly, kernels as points, series as paths, and what each could attain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ert.roofline.model import Roofline
from ert.roofline.placing.placement import Placement
from ert.show import units
from ert.show.charts.boxes import Point
from ert.show.charts.key import NEARER_SIZE, RING, above, colour_of, look, short_of
from ert.show.charts.lines import Bounds, Lines, peaks_of, slopes_of
from ert.show.charts.pen import GIGA, INK, SMALL_POINTS, SOFT, darker
from ert.show.charts.points import Step
from ert.show.words import operation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BESIDE = 2.5
"""How far the chart reaches beyond points and roofs on the other sides, as a factor: room for labels."""

ROOF_COLOUR, PALE = "#8A8A8A", 0.35

PATHS: Mapping[str, dict[str, Any]] = {
    "ladder": {"linewidth": 1.6, "alpha": 0.75, "linestyle": "solid"},
    "size": {"linewidth": 1.1, "alpha": 0.6, "linestyle": (0, (4, 2))},
    "level": {"linewidth": 0.8, "alpha": PALE, "linestyle": "solid"},
}
"""How the steps of each kind of series are drawn; all but those between levels have an arrowhead."""

PATH_WEIGHT, GAP_WEIGHT = 0.7, 0.3
"""How much labels avoid paths and the lines up to the attainable, compared with roofs."""

HALO = 4.0
"""Points (1/72 inch): width of the white line round a mark, half of which lies outside of it."""

SHRINK = 7.0
"""Points (1/72 inch) that an arrow keeps from the centres of the marks."""


class Panel:
    """The kernels of one team on axes of intensity and performance.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        An empty panel in its final place.
    roofline : Roofline
        Whose roofs are drawn.
    points, nearer : sequence of Placement
        What has a label, at least one, and what is drawn pale; of one team, with arithmetic.
    precisions : sequence of str
        In the order of their fills.
    beyond : float
        How far the axes reach to the right of the last point or ridge, as a factor.
    """

    def __init__(
        self,
        axes: Axes,
        roofline: Roofline,
        points: Sequence[Placement],
        nearer: Sequence[Placement],
        precisions: Sequence[str],
        beyond: float,
    ) -> None:
        self._axes, self._points, self._nearer, self._precisions = axes, points, nearer, precisions
        team = points[0].case.team
        self._peaks = peaks_of(roofline, team, precisions)
        self._slopes = slopes_of(roofline, team)
        # The roofs that kernels are held against, where those are not the headline ones.
        own = [placement.compute_roof for placement in points if placement.compute_roof not in self._peaks]
        self._other_peaks = [roof for roof in dict.fromkeys(own) if roof]
        mixes = [placement.memory_roof for placement in points if placement.memory_roof not in self._slopes]
        self._other_slopes = [roof for roof in dict.fromkeys(mixes) if roof]
        self._lines = Lines(axes, self._bounds(beyond))
        self._pen = self._lines.pen
        axes.set_xlabel("Arithmetic intensity (FLOP per byte of modelled traffic at the level where the data live)")
        counted = dict.fromkeys(operation(name) for name in precisions)
        axes.set_ylabel(f"Performance ({', '.join(f'G{unit}/s' for unit in counted)})")

    def draw(self, steps: Sequence[Step]) -> None:
        """Draw the roofs, the points and the paths between them."""
        for slope in self._other_slopes:
            self._lines.slope(slope, self._top, f"mix {slope.name}", color=ROOF_COLOUR, linewidth=0.7, alpha=PALE,
                              weight=0.1)  # fmt: skip
        for slope in self._slopes:
            self._lines.slope(slope, self._top, f"roof {slope.name}", color=ROOF_COLOUR, linewidth=1.6)
        for peak in self._other_peaks:
            self._lines.level(peak, self._steepest, f"ceiling {peak.name}", color=SOFT, linewidth=0.8, alpha=0.6)
        for peak in self._peaks:
            self._lines.level(peak, self._steepest, f"roof {peak.name}", color=INK, linewidth=1.8)
        for step in steps:
            self._path(step)
        for placement in self._nearer:
            style = look(placement, self._precisions, NEARER_SIZE)
            self._pen.mark(_place(placement), name=f"nearer {_name(placement)}", alpha=PALE, zorder=3.5, **style)
        from matplotlib.patheffects import withStroke

        # So that what leads past a mark does not seem to begin or end there.
        halo = [withStroke(linewidth=HALO, foreground="white")]
        for placement in self._points:
            self._attainable(placement)
            self._pen.point(_place(placement), name=f"point {_name(placement)}", zorder=6.0, path_effects=halo,
                            **look(placement, self._precisions))  # fmt: skip

    def label(self, texts: Mapping[int, str], *, anywhere: bool) -> bool:
        """Write the names of roofs and points; False if the points do not all find room.

        `texts` are the labels of the points by their identity; `anywhere` lets them stand far away.
        """
        for peak in self._peaks:
            text = f"{peak.name}  {units.rate(peak.rate.best, operation(peak.precision))}"
            ends = self._lines.level_ends(peak.rate.best, self._steepest)
            self._pen.along(*ends, text, f"label {peak.name}", color=INK, size=SMALL_POINTS, from_end=True)
        for slope in self._slopes:
            text = f"{slope.name}  {units.rate(slope.rate.best, 'B')}"
            ends = self._lines.slope_ends(slope.rate.best, self._top)
            self._pen.along(*ends, text, f"label {slope.name}", color=SOFT, size=SMALL_POINTS)
        names = [
            (_place(point), texts[id(point)], _name(point), darker(colour_of(point.kernel.family)))
            for point in self._points
        ]
        return self._pen.name_points(names, anywhere=anywhere)

    @property
    def _top(self) -> float:
        """The rate up to which slopes are drawn."""
        return max(
            (roof.rate.best for roof in (*self._peaks, *self._other_peaks)),
            default=max(BESIDE * GIGA * y for _, y in map(_place, self._points)),
        )

    @property
    def _steepest(self) -> float:
        return self._slopes[0].rate.best if self._slopes else 0.0

    def _bounds(self, beyond: float) -> Bounds:
        """Return the limits of the axes: all points, and the ridges of the slowest level, with room for names."""
        places = [_place(placement) for placement in (*self._points, *self._nearer)]
        intensities, rates = [x for x, _ in places], [y * GIGA for _, y in places]
        rates += [point.attainable for point in self._points if point.attainable]
        if self._slopes and self._peaks:
            ridges = [peak.rate.best / self._slopes[-1].rate.best for peak in self._peaks]
            intensities += [min(ridges), max(ridges)]
        return (
            min(intensities) / BESIDE,
            max(intensities) * beyond,
            min(rates) / BESIDE,
            max(self._top, *rates) * BESIDE,
        )

    def _path(self, step: Step) -> None:
        """Draw a step of a series, with an arrowhead unless it is only one from level to level."""
        from matplotlib.patches import FancyArrowPatch

        start, end = _place(step.start), _place(step.end)
        head = "-" if step.kind == "level" else "-|>"
        self._axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle=head, mutation_scale=10, shrinkA=SHRINK, shrinkB=SHRINK,
                color=colour_of(step.start.kernel.family), zorder=3.2, gid=f"{step.kind} {_name(step.start)}",
                **PATHS[step.kind],
            )
        )  # fmt: skip
        self._pen.avoid(start, end, PATH_WEIGHT)

    def _attainable(self, placement: Placement) -> None:
        """Draw a line from a point up to what it could attain, and a ring round one that is above that."""
        if placement.attainable is None or placement.efficiency is None:
            return
        x, y = _place(placement)
        colour = colour_of(placement.kernel.family)
        if above(placement):
            self._axes.plot([x], [y], gid=f"above {_name(placement)}", **RING)
        elif short_of(placement):
            reach = placement.attainable / GIGA
            self._axes.plot([x, x], [y, reach], gid=f"gap {_name(placement)}", color=colour, linewidth=1.0, alpha=0.55,
                            zorder=3)  # fmt: skip
            self._axes.plot([x], [reach], gid=f"attainable {_name(placement)}", color=colour, marker="_", markersize=9,
                            markeredgewidth=1.6, zorder=3.5)  # fmt: skip
            self._pen.avoid((x, y), (x, reach), GAP_WEIGHT)


def _place(placement: Placement) -> Point:
    """Return the place of a placement with arithmetic in the chart."""
    assert placement.intensity is not None
    assert placement.flop_rate is not None
    return placement.intensity, placement.flop_rate.best / GIGA


def _name(placement: Placement) -> str:
    """Return what a drawn thing of a placement is called in the file."""
    return f"{placement.kernel.name} {placement.case.precision} {placement.level} {placement.size}".rstrip()
