"""Roofs as lines: the axes of a roofline chart, and the slopes and levels drawn on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ert.roofline.model import ComputeRoof, MemoryRoof, Roofline, Team
from ert.show.charts.boxes import Point
from ert.show.charts.pen import GIGA, Pen, decimal_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bounds = tuple[float, float, float, float]
"""Left, right in FLOP/byte and bottom, top in FLOP/s."""


def peaks_of(roofline: Roofline, team: Team, precisions: Sequence[str]) -> list[ComputeRoof]:
    """Return the headline compute roofs of a team, highest first."""
    found = [roof for roof in roofline.compute if roof.headline and roof.team == team and roof.precision in precisions]
    return sorted(found, key=lambda roof: -roof.rate.best)


def slopes_of(roofline: Roofline, team: Team) -> list[MemoryRoof]:
    """Return the headline memory roofs of a team, fastest first."""
    return sorted((r for r in roofline.memory if r.headline and r.team == team), key=lambda roof: -roof.rate.best)


class Lines:
    """Logarithmic axes of intensity and performance, and the roofs drawn on them.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        An empty panel in its final place.
    bounds : tuple of float
        Its limits, as :data:`Bounds`.
    """

    def __init__(self, axes: Axes, bounds: Bounds) -> None:
        self._left, self._right, self._bottom, top = bounds
        axes.set(
            xscale="log", yscale="log", xlim=(self._left, self._right), ylim=(self._bottom / GIGA, top / GIGA)
        )  # fmt: skip
        decimal_ticks(axes.xaxis, self._left, self._right)
        decimal_ticks(axes.yaxis, self._bottom / GIGA, top / GIGA)
        self.pen = Pen(axes)

    def slope_ends(self, rate: float, top: float) -> tuple[Point, Point]:
        """Return where the line of a bandwidth enters the chart and where it meets the highest roof."""
        start = max(self._left, self._bottom / rate)
        end = min(self._right, top / rate)
        return (start, start * rate / GIGA), (end, end * rate / GIGA)

    def slope(self, roof: MemoryRoof, top: float, name: str, **look: Any) -> None:
        """Draw a memory roof up to a rate."""
        self.pen.line(*self.slope_ends(roof.rate.best, top), name, **look)

    def level_ends(self, rate: float, steepest: float) -> tuple[Point, Point]:
        """Return where the line of a peak leaves the steepest slope, and the right edge."""
        return (rate / steepest if steepest else self._left, rate / GIGA), (self._right, rate / GIGA)

    def level(self, roof: ComputeRoof, steepest: float, name: str, **look: Any) -> None:
        """Draw a compute roof from the slope of the fastest level on."""
        self.pen.line(*self.level_ends(roof.rate.best, steepest), name, **look)
