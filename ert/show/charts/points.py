"""What the charts of kernels show: which placements are points, how they are called, and what belongs together.

No drawing here. A *point* is a placement with a name of its own in the chart; others are *nearer*: the same kernel with
its data closer to the core, drawn pale and without a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from ert.roofline.placing.placement import Placement
from ert.show.words import levels

FAMILIES = ("stream", "vector", "dense", "sparse", "stencil", "convolution", "spectral", "neural")
"""In the order of charts and keys; unknown ones follow."""

UNEVEN = 2.0
"""Rungs of a ladder whose sizes are this many times apart say so; less comes of how many arrays share the memory."""

NO_BREAK = "\u00a0"
"""Keeps a size and its number on one line."""

MOVED = 1.6
"""A size whose intensity differs by more than this factor from those in farther levels is a point of its own. The same
stream moves by at most 1.5 from level to level: by the write-allocate read of one line that is written for one read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel in one size, as a row of a key: a name and the placements that go by it, one a precision."""

    name: str
    family: str
    placements: tuple[Placement, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Two points of one series, from the first to the second.

    `kind` is ``"ladder"`` (two implementations of one algorithm), ``"size"`` (two sizes of one kernel) or ``"level"``
    (one kernel, its data one level nearer to the core or farther from it).
    """

    kind: str
    start: Placement
    end: Placement


def arithmetic(placement: Placement) -> bool:
    """Whether a placement has a place on logarithmic axes of intensity and performance."""
    return bool(placement.flop_rate and placement.flop_rate.best > 0 and placement.intensity)


def split(placements: Sequence[Placement]) -> tuple[list[Placement], list[Placement]]:
    """Return the points and the nearer ones of one team.

    Of each kernel, precision and input the sizes in the outermost level are points, and of the other sizes those that
    lie elsewhere on the axis of intensity, since there it is the size that moves them and not the level.
    """
    points: list[Placement] = []
    nearer: list[Placement] = []
    for series in _series(placements):
        depth = levels(placement.level for placement in series)
        shown: list[Placement] = []
        for placement in sorted(series, key=lambda placement: -depth.index(placement.level)):
            outermost = placement.level == depth[-1]
            if outermost or all(_apart(placement, other) for other in shown):
                shown.append(placement)
        nearer += [placement for placement in series if placement not in shown]
        points += [placement for placement in series if placement in shown]
    return points, nearer


def entries(points: Sequence[Placement]) -> list[Entry]:
    """Return the points under their names, by family; the precisions of one kernel and size share an entry."""
    found: list[Entry] = []
    kernels: dict[str, list[Placement]] = {}
    for point in points:
        kernels.setdefault(point.kernel.name, []).append(point)
    uneven = _uneven(points)
    called = _called(same[0].kernel.title for same in kernels.values())
    for same in kernels.values():
        inputs = {_inputs(point) for point in same}
        for chosen in dict.fromkeys(map(_inputs, same)):
            mine = [point for point in same if _inputs(point) == chosen]
            words = [called[same[0].kernel.title], *(chosen if len(inputs) > 1 else ())]
            found += _sizes(", ".join(words), mine, uneven.get(same[0].kernel.ladder, ()))
    return sorted((_with_level(entry, points) for entry in found), key=lambda entry: _rank(entry.family))


def _with_level(entry: Entry, points: Sequence[Placement]) -> Entry:
    """Return an entry with the level in its name, where its data live nearer to the core than those of others."""
    depth = levels(point.level for point in points)
    mine = {point.level for point in entry.placements}
    if len(mine) > 1 or mine <= set(depth[-1:]) or mine == {""}:
        return entry
    return replace(entry, name=f"{entry.name}, in{NO_BREAK}{mine.pop()}")


def families(points: Iterable[Placement]) -> list[str]:
    """Return the families in the order of charts and keys."""
    return sorted(dict.fromkeys(point.kernel.family for point in points), key=_rank)


def steps(points: Sequence[Placement], nearer: Sequence[Placement]) -> list[Step]:
    """Return what moves in the chart: up a ladder of implementations, along sizes, out of the caches."""
    everything = [placement for placement in (*points, *nearer) if arithmetic(placement)]
    found: list[Step] = []
    for series in _series(everything):
        depth = levels(placement.level for placement in series)
        ordered = sorted(series, key=lambda placement: (depth.index(placement.level), _numbers(placement)))
        for start, end in pairwise(ordered):
            found.append(Step("size" if start in points and end in points else "level", start, end))
    rungs: dict[tuple[str, str], dict[int, Placement]] = {}
    for point in points:
        if point.kernel.ladder and arithmetic(point):
            # Of the sizes of one rung the last: the largest is the least disturbed by starting and ending.
            ladder = rungs.setdefault((point.kernel.ladder, point.case.precision), {})
            best = ladder.get(point.kernel.rung)
            if best is None or best.seconds <= point.seconds:
                ladder[point.kernel.rung] = point
    for ladder in rungs.values():
        ordered = [ladder[rung] for rung in sorted(ladder)]
        found += [Step("ladder", start, end) for start, end in pairwise(ordered)]
    return found


def _called(titles: Iterable[str]) -> dict[str, str]:
    """Return titles without their formulas, which lists have room for, where they can be told apart without."""
    titles = list(dict.fromkeys(titles))
    plain = {title: ", ".join(part for part in title.split(":")[0].split(", ") if "=" not in part) for title in titles}
    many = Counter(plain.values())
    return {title: plain[title] if plain[title] and many[plain[title]] == 1 else title for title in titles}


def _series(placements: Sequence[Placement]) -> list[list[Placement]]:
    """Return the placements of each kernel, precision and input together."""
    found: dict[object, list[Placement]] = {}
    for placement in placements:
        key = placement.kernel.name, placement.case.precision, _inputs(placement)
        found.setdefault(key, []).append(placement)
    return list(found.values())


def _sizes(name: str, points: Sequence[Placement], uneven: Sequence[str]) -> list[Entry]:
    """Return the entries of one kernel and input: one, or one a size where a precision has several.

    `uneven` are the sizes that differ along its ladder, so that they belong to its name.
    """
    family = points[0].kernel.family
    precisions = [point.case.precision for point in points]
    if not uneven and len(set(precisions)) == len(precisions):
        return [Entry(name, family, tuple(points))]
    differing = _differing(points) or tuple(uneven)
    found = []
    ordered = sorted(points, key=_numbers)
    for same, members in groupby(ordered, key=_numbers):
        words = [f"{key}{NO_BREAK}{value}" for key, value in same if key in differing]
        found += _one_a_precision(", ".join([name, *words]), family, list(members))
    return found


def _differing(points: Sequence[Placement]) -> tuple[str, ...]:
    """Return the names of the sizes that are not the same in all."""
    numbers = [dict(_numbers(point)) for point in points]
    return tuple(key for key in numbers[0] if len({each.get(key) for each in numbers}) > 1)


def _uneven(points: Sequence[Placement]) -> dict[str, tuple[str, ...]]:
    """Return of each ladder the sizes that its rungs do not share, and that it would be unfair not to name."""
    ladders: dict[str, list[Placement]] = {}
    for point in points:
        if point.kernel.ladder:
            ladders.setdefault(point.kernel.ladder, []).append(point)
    return {name: tuple(key for key in _differing(rungs) if _ratio(rungs, key) >= UNEVEN)
            for name, rungs in ladders.items()}  # fmt: skip


def _ratio(points: Sequence[Placement], key: str) -> float:
    """Return how many times the largest size of a name is the smallest."""
    sizes = [size for size in (dict(_numbers(point)).get(key) for point in points) if size]
    return max(sizes) / min(sizes) if sizes else 1.0


def _one_a_precision(name: str, family: str, points: Sequence[Placement]) -> list[Entry]:
    """Return one entry; where a precision comes twice in one size, as many as it takes."""
    found: list[dict[str, Placement]] = []
    for point in points:
        place = next((entry for entry in found if point.case.precision not in entry), None)
        if place is None:
            found.append(place := {})
        place[point.case.precision] = point
    return [Entry(name, family, tuple(entry.values())) for entry in found]


def _inputs(placement: Placement) -> tuple[str, ...]:
    """Return what names the input of a kernel beside its size: the matrix."""
    return tuple(value for _, value in placement.case.parameters if isinstance(value, str))


def _numbers(placement: Placement) -> tuple[tuple[str, int], ...]:
    return tuple((key, value) for key, value in placement.case.parameters if not isinstance(value, str))


def _apart(placement: Placement, other: Placement) -> bool:
    """Whether two placements of one kernel stand at different intensities."""
    mine, theirs = placement.intensity, other.intensity
    return bool(mine and theirs and max(mine, theirs) > MOVED * min(mine, theirs))


def _rank(family: str) -> int:
    return _RANKS.get(family, len(FAMILIES))


_RANKS: Mapping[str, int] = {family: rank for rank, family in enumerate(FAMILIES)}
