"""Room for labels: boxes, lines and the choice of a place."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.show.charts.boxes import Box, cross, nearest
from ert.show.charts.labels import PADDING, Room, along, around, freely

BOXES = st.builds(
    Box,
    x=st.floats(-50, 50),
    y=st.floats(-50, 50),
    width=st.floats(1, 60),
    height=st.floats(1, 60),
    angle=st.floats(-180, 180),
)


def inside(box: Box, x: float, y: float) -> bool:
    """Whether a point lies in a box, by the signs of its distances from the four sides."""
    corners = box.corners()
    turns = [
        (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True)
    ]
    return all(turn >= 0 for turn in turns)


def test_a_turned_box_leaves_its_upright_frame() -> None:
    flat = Box(0, 0, 20, 4)
    assert flat.overlaps(Box(0, 6, 20, 10))
    assert not flat.overlaps(Box(0, 8, 20, 10))
    turned = Box(0, 0, 20, 4, 45)
    # Inside the frame round the turned box, but beside the box itself.
    assert not turned.overlaps(Box(6, -6, 4, 4))
    assert turned.overlaps(Box(6, 6, 4, 4))


@given(BOXES, BOXES)
def test_overlap_is_mutual_and_sees_shared_corners(first: Box, second: Box) -> None:
    assert first.overlaps(second) == second.overlaps(first)
    if any(inside(first, *corner) for corner in second.corners()):
        assert first.grown(1e-6).overlaps(second)


@given(BOXES, st.floats(-90, 90), st.floats(-90, 90), st.floats(-90, 90), st.floats(-90, 90))
def test_the_crossed_length_is_that_of_a_fine_walk(box: Box, x: float, y: float, u: float, v: float) -> None:
    steps = 2000
    walked = sum(inside(box, x + (u - x) * i / steps, y + (v - y) * i / steps) for i in range(steps)) / steps
    length = math.hypot(u - x, v - y)
    assert box.crossed((x, y), (u, v)) == pytest.approx(walked * length, abs=2 * length / steps + 1e-6)


def test_the_cheapest_free_place_is_taken_and_then_not_again() -> None:
    room = Room(0, 0, 100, 100)
    places = [(5.0, Box(50, 50, 20, 10)), (1.0, Box(50, 80, 20, 10)), (0.0, Box(95, 95, 20, 10))]
    assert room.place(places) == Box(50, 80, 20, 10)
    assert room.place(places) == Box(50, 50, 20, 10)
    assert room.place(places) is None


def test_neighbours_keep_their_distance() -> None:
    room = Room(0, 0, 100, 100)
    room.place([(0.0, Box(50, 50, 20, 10))])
    assert room.place([(0.0, Box(50, 60 + 1.9 * PADDING, 20, 10))]) is None
    assert room.place([(0.0, Box(50, 60 + 2.1 * PADDING, 20, 10))]) is not None


def test_lines_and_marks_cost_and_what_is_taken_forbids() -> None:
    crossed, marked, free = Box(50, 20, 20, 10), Box(50, 50, 20, 10), Box(50, 80, 20, 10)
    room = Room(0, 0, 100, 100)
    room.line((0, 20), (100, 20))
    room.mark((50, 50))
    places = [(0.0, crossed), (1.0, marked), (5.0, free)]
    assert room.place(places) == free
    assert room.place(places) == crossed
    room.take(marked)
    assert room.place(places) is None


def test_a_place_above_the_limit_is_not_taken() -> None:
    room = Room(0, 0, 100, 100)
    room.mark((50, 50))
    assert room.place([(0.0, Box(50, 50, 20, 10))], limit=10.0) is None
    assert room.place([(30.0, Box(50, 80, 20, 10))], limit=10.0) is None
    assert room.place([(9.0, Box(50, 80, 20, 10))], limit=10.0) is not None


@pytest.mark.parametrize("from_end", [False, True])
@pytest.mark.parametrize("width", [40.0, 400.0])
def test_places_along_a_line_have_its_angle_and_do_not_touch_it(width: float, from_end: bool) -> None:
    start, end = (10.0, 10.0), (210.0, 160.0)
    places = along(start, end, width, 12.0, 4.0, from_end=from_end)
    assert min(cost for cost, _ in places) == 0.0
    for _, box in places:
        assert box.angle == pytest.approx(math.degrees(math.atan2(150, 200)))
        assert box.crossed(start, end) == 0.0
    assert len({(box.x, box.y) for _, box in places}) == len(places)
    best = min(places, key=lambda place: place[0])[1]
    near = end if from_end else start
    assert math.dist((best.x, best.y), near) == pytest.approx(math.hypot(width / 2, 12.0 / 2 + 4.0))


def test_places_round_a_mark_leave_it_free() -> None:
    assert not any(box.covers((5.0, 5.0)) for _, box in around((5.0, 5.0), 30.0, 10.0, 4.0))


def test_anywhere_finds_the_last_gap() -> None:
    room = Room(0, 0, 200, 100)
    room.take(Box(100, 70, 200, 60))
    room.take(Box(40, 20, 80, 40))
    found = room.place(room.anywhere((0, 100), 50, 10))
    assert found is not None
    assert found.x > 100
    assert found.y < 40


def test_labels_round_marks_keep_off_all_marks_and_each_other() -> None:
    room = Room(0, 0, 600, 400)
    marks = [(200.0 + 6.0 * i, 200.0 + 4.0 * (i % 3)) for i in range(20)]
    for mark in marks:
        room.solid(Box(*mark, 8, 8))
    found = room.round_marks([(mark, 14.0, 10.0) for mark in marks])
    boxes = [box for box in found if box is not None]
    assert len(boxes) == len(marks)
    for box in boxes:
        assert not any(box.overlaps(Box(*mark, 8, 8)) for mark in marks)
    for first, other in combinations(boxes, 2):
        assert not first.overlaps(other)
    for mark, box in zip(marks, boxes, strict=True):
        end = nearest(box, mark)
        assert not any(other.crossed(mark, end) for other in boxes if other is not box)


def test_a_label_alone_stands_to_the_right_of_its_mark() -> None:
    (box,) = Room(0, 0, 200, 100).round_marks([((100.0, 50.0), 40.0, 10.0)])
    assert box is not None
    assert (box.x, box.y) == (pytest.approx(128.0), pytest.approx(50.0))
    assert not any(box.covers((100.0, 50.0)) for _, box in freely((100.0, 50.0), 40.0, 10.0, 8.0))


def test_a_label_without_room_nearby_goes_anywhere_if_it_may() -> None:
    def full() -> Room:
        room = Room(0, 0, 1200, 100)
        room.take(Box(450, 50, 900, 100))
        return room

    assert full().round_marks([((100.0, 50.0), 30.0, 10.0)]) == [None]
    (box,) = full().round_marks([((100.0, 50.0), 30.0, 10.0)], anywhere=True)
    assert box is not None
    assert box.x > 900


def test_leaders_do_not_cross_where_there_is_room() -> None:
    room = Room(0, 0, 400, 300)
    marks = [(200.0, 150.0), (204.0, 150.0)]
    (left, right) = room.round_marks([(mark, 60.0, 10.0) for mark in marks])
    assert left is not None
    assert right is not None
    assert not cross(marks[0], nearest(left, marks[0]), marks[1], nearest(right, marks[1]))
    assert cross((0, 0), (2, 2), (0, 2), (2, 0))
    assert not cross((0, 0), (2, 2), (3, 0), (3, 9))
