"""Labels: finds room for text boxes in a chart, in pixels and without a drawing library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ert.show.charts.boxes import Box, Point, cross, nearest, turn

PADDING = 2.0
"""Pixels kept free on every side of a label, so that two do not read as one; text saved at another resolution is not
scaled exactly either."""

LINE_COST = 0.5
"""Cost of a pixel of a line under a label. All costs are in pixels of distance from the best place: a label moves by a
few times its height before it covers a line."""

MARK_COST = 20.0
"""Cost of a mark (a measured point) under a label, or of another's mark under a leader."""

ROWS, ROW_COST = 5, 45.0
"""How far from its line a label may stand in its own heights, and what each costs: it is hard to see what it names."""

SHIFT_COST = 0.3
"""Cost of a pixel along the line: anywhere beside its line a label is as clear as at the beginning, only less tidy."""

RINGS = 3
"""How often a label round a mark steps back by two gaps, about its own height."""

OUTSIDE_COST = 15.0
"""Cost of sticking out over the end of the line."""

FREE_RINGS, FREE_DIRECTIONS = (0.0, 5.0, 12.0, 20.0, 30.0, 42.0, 56.0, 72.0, 90.0, 110.0, 135.0, 165.0, 200.0), 24
"""Pixels by which a label that has a leader may step back from its mark, and to how many sides."""

FREE_SHARPNESS = 1.4
"""How soon a label beside its mark stands wholly to one side of it as the direction turns away from the vertical."""

LEADER_WEIGHT = 4.0
"""How much worse than another line a leader is under a label or another leader: it would seem to lead there."""

CROSSING_COST = 40.0
"""Cost of two leaders that cross."""

CROWD = 40.0
"""Marks nearer than this, in pixels, or than the width of the label contend for room: the most crowded come first."""

MARK_GAP = 8.0
"""Pixels from the centre of a mark to a label beside it."""

ATTEMPTS = 5
"""How often the labels of all marks are placed anew, first the one that found no room before."""


class Room:
    """The space of one chart, and what stands in it.

    Parameters
    ----------
    left, bottom, right, top : float
        Pixels that labels must stay within.
    """

    def __init__(self, left: float, bottom: float, right: float, top: float) -> None:
        self._frame = (left, bottom, right, top)
        self._taken: list[Box] = []
        self._lines: list[tuple[Point, Point, float]] = []
        self._marks: list[Point] = []
        self._solid: list[Box] = []
        self._leaders: list[tuple[Point, Point]] = []

    def take(self, box: Box) -> None:
        """Keep a box free of labels."""
        self._taken.append(box)

    def line(self, start: Point, end: Point, weight: float = 1.0) -> None:
        """Add a line that labels had better not cover; `weight` says how much better."""
        self._lines.append((start, end, weight))

    def solid(self, box: Box) -> None:
        """Add a mark that labels must not cover, but leaders may."""
        self._solid.append(box)

    def mark(self, point: Point) -> None:
        """Add a mark that labels had better not cover."""
        self._marks.append(point)

    def place(
        self, candidates: Iterable[tuple[float, Box]], limit: float = math.inf, anchor: Point | None = None
    ) -> Box | None:
        """Take the cheapest place for a label.

        Parameters
        ----------
        candidates : iterable of (float, Box)
            Places and what each costs in itself: pixels of distance from where the label would best be.
        limit : float
            Places that cost more are not taken.
        anchor : (float, float), optional
            The mark that a leader goes to from the label: nothing that is taken may lie between.

        Returns
        -------
        Box or None
            The chosen candidate, now taken; None if each overlaps something or leaves the chart.
        """
        best: Box | None = None
        for own, box in sorted(candidates, key=lambda candidate: candidate[0]):
            if own >= limit:
                break
            padded = box.grown(PADDING)
            if not self._inside(padded) or any(map(padded.overlaps, self._taken)):
                continue
            if any(map(padded.overlaps, self._solid)):
                continue
            if anchor and not self._free(anchor, nearest(box, anchor)):
                continue
            cost = own + MARK_COST * sum(padded.covers(mark) for mark in self._marks)
            cost += LINE_COST * sum(padded.crossed(start, end) * weight for start, end, weight in self._lines)
            cost += LINE_COST * LEADER_WEIGHT * sum(padded.crossed(start, end) for start, end in self._leaders)
            if anchor:
                end = nearest(box, anchor)
                cost += CROSSING_COST * sum(cross(anchor, end, *line) for line in self._leaders)
                cost += MARK_COST * sum(
                    solid.crossed(anchor, end) > 0 and not solid.covers(anchor) for solid in self._solid
                )
            if cost < limit:
                best, limit = box, cost
        if best is not None:
            self._taken.append(best.grown(PADDING))
        return best

    def round_marks(self, labels: Sequence[tuple[Point, float, float]], *, anywhere: bool = False) -> list[Box | None]:
        """Take a place for each of many labels round their marks, or for as many of them as there is room.

        Parameters
        ----------
        labels : sequence of ((float, float), float, float)
            The mark, which the leader goes to, and width and height of its label.
        anywhere : bool
            Whether labels without room near their marks take any, though their leaders then cross what stands between.

        Returns
        -------
        list of Box or None
            In the order of the labels; None for one without room.
        """
        crowd = [sum(math.dist(mark, other) < max(width, CROWD) for other, _, _ in labels) for mark, width, _ in labels]
        order = sorted(range(len(labels)), key=lambda i: -crowd[i])
        found: list[Box | None] = [None] * len(labels)
        for _ in range(ATTEMPTS):
            for i in order:
                self._leave(labels[i][0], found[i])
                found[i] = None
            for i in order:
                found[i] = self._lead(*labels[i])
            if None not in found:
                break
            order.sort(key=lambda i: found[i] is not None)
        for i in order:
            # The first ones did not know where the last would stand.
            self._leave(labels[i][0], found[i])
            found[i] = self._lead(*labels[i])
        if anywhere:
            for i, (mark, width, height) in enumerate(labels):
                found[i] = found[i] or self.place(self.anywhere(mark, width, height))
        return found

    def _lead(self, mark: Point, width: float, height: float) -> Box | None:
        """Take the cheapest place for a label that has a leader to its mark."""
        box = self.place(freely(mark, width, height, MARK_GAP), anchor=mark)
        if box is not None:
            self._leaders.append((mark, nearest(box, mark)))
        return box

    def _leave(self, mark: Point, box: Box | None) -> None:
        """Give up the place of a label that has a leader."""
        if box is not None:
            self._taken.remove(box.grown(PADDING))
            self._leaders.remove((mark, nearest(box, mark)))

    def anywhere(self, near: Point, width: float, height: float) -> list[tuple[float, Box]]:
        """Return upright places all over the chart, cheaper the nearer they are to a point."""
        left, bottom, right, top = self._frame
        places = []
        for row in range(int((top - bottom) / height) - 1):
            y = bottom + (row + 1) * height
            for column in range(int(2 * (right - left) / width) - 1):
                x = left + (column + 1.1) * width / 2
                places.append((math.dist(near, (x, y)), Box(x, y, width, height)))
        return places

    def _free(self, anchor: Point, end: Point) -> bool:
        """Whether a leader crosses nothing that is taken."""
        return not any(box.crossed(anchor, end) > 0 for box in self._taken)

    def _inside(self, box: Box) -> bool:
        left, bottom, right, top = self._frame
        return all(left <= x <= right and bottom <= y <= top for x, y in box.corners())


def along(
    start: Point,
    end: Point,
    width: float,
    height: float,
    gap: float,
    *,
    below: float = 6.0,
    step: float = 9.0,
    from_end: bool = False,
    rows: int = ROWS,
) -> list[tuple[float, Box]]:
    """Return places for a label along a straight line: beside it, above before below, near its start first.

    Parameters
    ----------
    start, end : (float, float)
        The line in pixels, from left to right.
    width, height : float
        Of the label.
    gap : float
        Pixels between line and label.
    below : float
        What a place below the line costs more than one above, in pixels of distance.
    step : float
        Pixels between neighbouring places.
    from_end : bool
        Whether the label would best be near the end instead.
    rows : int
        How far from the line it may stand, in its own heights.
    """
    length = math.dist(start, end)
    angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    cos, sin = turn(angle)
    places = []
    spare = length - width
    # A label may stick out at the far end by half of itself, and one that is longer than its line also at the near end.
    shifts = [i * step for i in range(math.ceil((max(spare, 0.0) + width / 2) / step) + 1)]
    if spare < 0:
        shifts += [spare / 2, spare]
    for shift in shifts:
        position = length - width / 2 - shift if from_end else width / 2 + shift
        for row in range(rows):
            for side, extra in ((1, 0.0), (-1, below)):
                offset = side * (gap + (row + 0.5) * height)
                x, y = start[0] + position * cos - offset * sin, start[1] + position * sin + offset * cos
                cost = (
                    extra
                    + ROW_COST * row
                    + SHIFT_COST * abs(shift)
                    + (OUTSIDE_COST if shift > max(spare, 0.0) else 0.0)
                )
                places.append((cost, Box(x, y, width, height, angle)))
    return places


def around(point: Point, width: float, height: float, gap: float) -> list[tuple[float, Box]]:
    """Return places for a label round a mark: above to the left first, then the other sides, then further away."""
    x, y = point
    places = []
    for ring in range(RINGS):
        aside, above = width / 2 + gap * (1 + 2 * ring), height / 2 + gap * (1 + 2 * ring)
        sides = ((-aside, above), (0.0, above), (aside, -above), (0.0, -above), (aside, 0.0), (-aside, 0.0),
                 (aside, above), (-aside, -above))  # fmt: skip
        places += [(3.0 * i + 30.0 * ring, Box(x + dx, y + dy, width, height)) for i, (dx, dy) in enumerate(sides)]
    return places


def freely(point: Point, width: float, height: float, gap: float) -> list[tuple[float, Box]]:
    """Return places for a label round a mark at growing distances on all sides, to the right first."""
    x, y = point
    places = []
    for back in FREE_RINGS:
        for i in range(FREE_DIRECTIONS):
            cos, sin = turn(360.0 * i / FREE_DIRECTIONS)
            aside, above = (max(-1.0, min(1.0, FREE_SHARPNESS * part)) for part in (cos, sin))
            box = Box(
                x + (gap + back) * cos + aside * width / 2, y + (gap + back) * sin + above * height / 2, width, height
            )
            places.append((back + 2.0 * (1.0 - cos) + (1.0 if sin > 0 else 0.0), box))
    return places
