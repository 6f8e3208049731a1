"""Labels: finds room for text boxes in a chart, in pixels and without a drawing library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]

PADDING = 2.0
"""Pixels kept free on every side of a label, so that two do not read as one; text saved at another resolution is not
scaled exactly either."""

LINE_COST = 0.5
"""Cost of a pixel of a line under a label. All costs are in pixels of distance from the best place: a label moves by a
few times its height before it covers a line."""

MARK_COST = 20.0
"""Cost of a mark (a measured point) under a label."""

ROWS, ROW_COST = 5, 45.0
"""How far from its line a label may stand in its own heights, and what each costs: it is hard to see what it names."""

SHIFT_COST = 0.3
"""Cost of a pixel along the line: anywhere beside its line a label is as clear as at the beginning, only less tidy."""

RINGS = 3
"""How often a label round a mark steps back by two gaps, about its own height."""

OUTSIDE_COST = 15.0
"""Cost of sticking out over the end of the line."""

FREE_RINGS, FREE_DIRECTIONS = (0.0, 5.0, 12.0, 20.0, 30.0, 42.0, 56.0, 72.0, 90.0, 110.0, 135.0, 165.0, 200.0), 16
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


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of pixels, rotated about its centre.

    Attributes
    ----------
    x, y : float
        Centre.
    width, height : float
        Size before the rotation.
    angle : float
        Degrees, counter-clockwise.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    def corners(self) -> tuple[Point, Point, Point, Point]:
        """Return the corners, counter-clockwise from the lower left of the unrotated box."""
        cos, sin = _turn(self.angle)
        half, tall = self.width / 2, self.height / 2
        around = ((-half, -tall), (half, -tall), (half, tall), (-half, tall))
        a, b, c, d = ((self.x + u * cos - v * sin, self.y + u * sin + v * cos) for u, v in around)
        return a, b, c, d

    def grown(self, margin: float) -> Box:
        """Return the box with `margin` more pixels on every side."""
        return Box(self.x, self.y, self.width + 2 * margin, self.height + 2 * margin, self.angle)

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes share a point, by the separating axes of two convex shapes."""
        dx, dy = abs(self.x - other.x), abs(self.y - other.y)
        if self.angle == other.angle == 0.0:
            return 2 * dx <= self.width + other.width and 2 * dy <= self.height + other.height
        reach = math.hypot(self.width, self.height) + math.hypot(other.width, other.height)
        if 2 * math.hypot(dx, dy) > reach:
            return False
        mine, theirs = self.corners(), other.corners()
        for angle in {self.angle, other.angle}:
            for cos, sin in (_turn(angle), _turn(angle + 90.0)):
                first = [x * cos + y * sin for x, y in mine]
                second = [x * cos + y * sin for x, y in theirs]
                if max(first) < min(second) or max(second) < min(first):
                    return False
        return True

    def covers(self, point: Point) -> bool:
        """Whether a point lies inside."""
        u, v = self._own(point)
        return abs(u) <= self.width / 2 and abs(v) <= self.height / 2

    def crossed(self, start: Point, end: Point) -> float:
        """Return the pixels of a straight line that lie inside (Liang and Barsky's clipping, 1984)."""
        reach = self.width + self.height
        if (
            min(start[0], end[0]) > self.x + reach
            or max(start[0], end[0]) < self.x - reach
            or min(start[1], end[1]) > self.y + reach
            or max(start[1], end[1]) < self.y - reach
        ):
            return 0.0
        (u, v), (u_end, v_end) = self._own(start), self._own(end)
        du, dv = u_end - u, v_end - v
        enter, leave = 0.0, 1.0
        for origin, step, half in ((u, du, self.width / 2), (v, dv, self.height / 2)):
            if step == 0.0:
                if abs(origin) > half:
                    return 0.0
                continue
            near, far = sorted(((-half - origin) / step, (half - origin) / step))
            enter, leave = max(enter, near), min(leave, far)
        return math.hypot(du, dv) * max(0.0, leave - enter)

    def _own(self, point: Point) -> Point:
        """Return a point in the box's own axes."""
        cos, sin = _turn(self.angle)
        dx, dy = point[0] - self.x, point[1] - self.y
        return dx * cos + dy * sin, dy * cos - dx * sin


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
            if anchor:
                end = nearest(box, anchor)
                cost += CROSSING_COST * sum(_cross(anchor, end, *line) for line in self._leaders)
                cost += LEADER_WEIGHT * sum(solid.crossed(anchor, end) for solid in self._solid)
            if cost < limit:
                best, limit = box, cost
        if best is not None:
            self._taken.append(best.grown(PADDING))
        return best

    def round_marks(self, labels: Sequence[tuple[Point, float, float]]) -> list[Box | None]:
        """Take a place for each of many labels round their marks, or for as many of them as there is room.

        Parameters
        ----------
        labels : sequence of ((float, float), float, float)
            The mark, which the leader goes to, and width and height of its label.

        Returns
        -------
        list of Box or None
            In the order of the labels; None for one without room.
        """
        before = len(self._taken), len(self._lines), len(self._leaders)
        crowd = [sum(math.dist(mark, other) < max(width, CROWD) for other, _, _ in labels) for mark, width, _ in labels]
        order = sorted(range(len(labels)), key=lambda i: -crowd[i])
        for _ in range(ATTEMPTS):
            del self._taken[before[0] :], self._lines[before[1] :], self._leaders[before[2] :]
            found: list[Box | None] = [None] * len(labels)
            for i in order:
                mark, width, height = labels[i]
                found[i] = box = self.place(freely(mark, width, height, MARK_GAP), anchor=mark)
                if box is not None:
                    leader = mark, nearest(box, mark)
                    self._leaders.append(leader)
                    self.line(*leader, LEADER_WEIGHT)
            if None not in found:
                break
            order.sort(key=lambda i: found[i] is not None)
        return found

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
    cos, sin = _turn(angle)
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
            cos, sin = _turn(360.0 * i / FREE_DIRECTIONS)
            aside, above = (max(-1.0, min(1.0, FREE_SHARPNESS * part)) for part in (cos, sin))
            box = Box(
                x + (gap + back) * cos + aside * width / 2, y + (gap + back) * sin + above * height / 2, width, height
            )
            places.append((back + 2.0 * (1.0 - cos) + (1.0 if sin > 0 else 0.0), box))
    return places


def nearest(box: Box, point: Point) -> Point:
    """Return the point of an upright box that is nearest to another point."""
    half, tall = box.width / 2, box.height / 2
    return min(max(point[0], box.x - half), box.x + half), min(max(point[1], box.y - tall), box.y + tall)


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two straight lines cross, by the sides on which the ends of each lie of the other."""

    def side(start: Point, end: Point, other: Point) -> float:
        return (end[0] - start[0]) * (other[1] - start[1]) - (end[1] - start[1]) * (other[0] - start[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def _turn(degrees: float) -> tuple[float, float]:
    """Return cosine and sine; most boxes are upright."""
    if degrees == 0.0:
        return 1.0, 0.0
    angle = math.radians(degrees)
    return math.cos(angle), math.sin(angle)
