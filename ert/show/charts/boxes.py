"""Boxes: rectangles of pixels, upright or turned, and the lines between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]


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
        cos, sin = turn(self.angle)
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
            for cos, sin in (turn(angle), turn(angle + 90.0)):
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
        cos, sin = turn(self.angle)
        dx, dy = point[0] - self.x, point[1] - self.y
        return dx * cos + dy * sin, dy * cos - dx * sin


def nearest(box: Box, point: Point) -> Point:
    """Return the point of an upright box that is nearest to another point."""
    half, tall = box.width / 2, box.height / 2
    return min(max(point[0], box.x - half), box.x + half), min(max(point[1], box.y - tall), box.y + tall)


def cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two straight lines cross, by the sides on which the ends of each lie of the other."""

    def side(start: Point, end: Point, other: Point) -> float:
        return (end[0] - start[0]) * (other[1] - start[1]) - (end[1] - start[1]) * (other[0] - start[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def turn(degrees: float) -> tuple[float, float]:
    """Return cosine and sine of an angle; most boxes are upright."""
    if degrees == 0.0:
        return 1.0, 0.0
    angle = math.radians(degrees)
    return math.cos(angle), math.sin(angle)
