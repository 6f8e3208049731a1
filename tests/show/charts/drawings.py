"""Reads drawn figures: lines and labels by name, and whether each label can be read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def drawn(axes: Axes, kind: str) -> dict[str, Any]:
    """Return the lines of a kind by name."""
    found = {str(line.get_gid()): line for line in axes.lines if str(line.get_gid()).startswith(f"{kind} ")}
    assert len(found) == sum(str(line.get_gid()).startswith(f"{kind} ") for line in axes.lines)
    return {name.removeprefix(f"{kind} "): line for name, line in found.items()}


def texts(axes: Axes, kind: str = "label") -> dict[str, str]:
    """Return the labels of a kind by name."""
    return {
        str(text.get_gid()).removeprefix(f"{kind} "): text.get_text()
        for text in axes.texts
        if str(text.get_gid()).startswith(f"{kind} ")
    }


Corners = npt.NDArray[np.float64]


def outlines(figure: Figure, axes: Axes) -> Iterator[tuple[str, Corners]]:
    """Return the four corners of each label in pixels, measured without help of what placed them."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for text in axes.texts:
        degrees = text.get_rotation()
        text.set_rotation(0)
        box = text.get_window_extent(renderer)
        text.set_rotation(degrees)
        if degrees == 0:
            yield text.get_text(), box.corners()[[0, 2, 3, 1]]
            continue
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        turn = np.array([[cos, sin], [-sin, cos]])
        sides = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (box.width / 2, box.height / 2)
        yield text.get_text(), axes.transData.transform(text.get_position()) + sides @ turn
    legend = axes.get_legend()
    if legend is not None:
        yield "the legend", legend.get_window_extent(renderer).corners()[[0, 2, 3, 1]]


def apart(first: Corners, second: Corners) -> bool:
    """Whether a straight line along one of the sides has all of one shape on one side and all of the other beyond."""
    for shape in (first, second):
        for start, end in zip(shape, np.roll(shape, -1, axis=0), strict=True):
            normal = np.array([end[1] - start[1], start[0] - end[0]])
            mine, theirs = first @ normal, second @ normal
            if mine.max() <= theirs.min() or theirs.max() <= mine.min():
                return True
    return False


def assert_readable(figure: Figure) -> None:
    """No label on another or on the legend, all inside the axes; titles and notes inside the figure."""
    for axes in figure.axes:
        frame = axes.get_window_extent()
        found = list(outlines(figure, axes))
        for (name, first), (other, second) in combinations(found, 2):
            assert apart(first, second), f"{name!r} stands on {other!r}"
        for name, corners in found:
            assert (corners >= (frame.x0, frame.y0)).all(), f"{name!r} leaves the chart"
            assert (corners <= (frame.x1, frame.y1)).all(), f"{name!r} leaves the chart"
        assert all(float(text.get_fontsize()) >= 9 for text in axes.texts)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        for axes in figure.axes:
            whole = axes.get_tightbbox(renderer)
            assert whole is not None
            assert not box.overlaps(whole), text.get_text()
