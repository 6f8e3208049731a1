"""Levels: cuts a bandwidth or latency curve over the working set into plateaus.

How the cut is found
--------------------
Everything happens on the logarithms: octaves of working set against the logarithm of the best sample of each size
(of its reciprocal for latencies, so that the curve always falls). A plateau is a run of sizes, the sizes between two
plateaus are a transition. Of all ways to cut the curve the cheapest is taken, by dynamic programming over the last
plateau (the recursion of Bellman, "On the approximation of curves by line segments using dynamic programming", 1961):
a size on a plateau costs its squared distance from the plateau's median, in units of the noise and limited; a size in
a transition, or outside the first and last plateau, costs a constant; each plateau costs a constant. Which pairs of
neighbours are allowed at all is decided by the constants below: a step must be high enough, each plateau wide enough,
and the curve between them clearly steeper than on them, so that a long slide from one level to the next is one
transition and not a staircase of levels. Declared capacities do not shape the cut, but for one tie: a small step next
to a narrow plateau is believed only where a capacity is declared.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ert.roofline.fitting.naming import PAST_OCTAVES, name_levels
from ert.roofline.model import Plateau

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

POINTS_PER_OCTAVE = 4
"""The cut is made on at most this many points an octave: more would only make the search slow, since no cache is
known so exactly. Heights and capacities come from all sizes."""

MIN_POINTS = 3
"""Sizes on a plateau: with fewer one disturbed size decides."""

MIN_WIDTH = 0.75
"""Octaves. The narrowest thing seen on a machine is the memory plateau of a sweep that ends at 4 times a cache with a
soft edge: about an octave. Four sizes at 4 an octave, three at 2."""

SURE_WIDTH = 1.5
"""Octaves. Spells of a busy neighbour last for several sizes; a plateau at least this wide is not one."""

MIN_RATIO = 1.10
"""Height between neighbours. Levels of one machine were seen as near as 1.2, a shared L3 was seen to wobble by 1.05 to
1.1, and the median over an octave of sizes is good to about 1 %."""

MIN_RATIO_NARROW = 1.25
"""The same where either neighbour is narrower than SURE_WIDTH and no capacity is declared near the step."""

STEEPER = 2.0
"""How many times steeper than either plateau (logarithm of the rate per octave) the step between them must be. A steady
slide gives 1, whatever its slope."""

MAX_SLOPE = 0.12
"""Largest mean slope of a plateau, natural logarithm of the rate per octave. L1 and L3 were seen to vary by 0.03 an
octave, the slide from L3 to DRAM on a shared host falls by 0.3 and more."""


@dataclass(frozen=True, slots=True)
class _Flatness:
    """How flat a plateau is asked to be: its largest mean slope, and the least scale of distances from it."""

    slope: float
    scale: float


MIN_SCALE, MAX_SCALE = 0.025, 0.06
"""Limits of the scale by which distances from a plateau are judged (natural logarithm). Real plateaus are not flat to
better than the lower limit, however quiet the samples; above the upper one a step of MIN_RATIO would be lost."""

BANDWIDTH, LATENCY = _Flatness(MAX_SLOPE, MIN_SCALE), _Flatness(0.2, MAX_SCALE)
"""A latency rises over a plateau where the bandwidth is flat: a larger set lies in more slices of a shared cache and
needs more translations (the L3 of a server core by 0.14 an octave)."""

OFF_PLATEAU = 6.0
"""Cost of a size that lies on no plateau, in squared scales: it belongs to a plateau up to 2.4 scales away."""

DEEP = 2.0
"""A curve that has fallen by this factor has left the level, whatever size is declared for it. Memory was seen to have
a half to a fifth of the last cache (2.4 to 4.8 times less), and a busy neighbour to take a tenth."""

FAR_OFF = 9.0
"""Limit of the cost of a size on a plateau, in squared scales: three scales away it is disturbed, however far."""

PER_PLATEAU = 15.0
"""Cost of a plateau, in squared scales: height, start and end at about ln(70) each (the Bayesian information criterion
of Schwarz, 1978, for some 70 sizes), and a little more since the scale is itself estimated."""

VALUE_QUANTILE = 0.75
"""Where among the best samples of a plateau's sizes its height lies. Disturbances only slow down, so it is above the
median; a quarter of the sizes must reach it, so that no single lucky sample makes it."""

LARGEST_SIZE = 1 << 63
"""Bytes. No address space is larger, and beyond it logarithms of sizes lose their meaning."""

SMALLEST_VALUE, LARGEST_VALUE = 1e-300, 1e300
"""Samples outside, and those that are not numbers, were never measured; reciprocals of all others are finite."""


@dataclass(frozen=True, slots=True)
class _Runs:
    """Every run of points that may be a plateau, ordered by start; arrays of shape (runs,).

    ``head`` and ``tail`` are the medians over its first and last octave, ``head_at`` and ``tail_at`` where these
    octaves have their middle.
    """

    start: Ints
    end: Ints
    width: Floats
    slope: Floats
    cost: Floats
    head: Floats
    head_at: Floats
    tail: Floats
    tail_at: Floats


def find_plateaus(
    sizes: Sequence[int],
    values: Sequence[Sequence[float]],
    *,
    declared: Sequence[tuple[str, int]] = (),
    rising: bool = False,
) -> tuple[tuple[Plateau, ...], tuple[str, ...]]:
    """Cut a curve over the working set into plateaus and name them.

    Parameters
    ----------
    sizes : sequence of int, length n
        Working sets of one thread in bytes, greater than 0. They should ascend; other orders are sorted, and the
        samples of a size that is given twice are put together.
    values : sequence of sequences of float, length n
        Samples at each size: byte/s, or seconds where `rising`. Samples that are not finite or not above 0 are
        dropped, and so are sizes that have no other.
    declared : sequence of (str, int)
        Name of each cache and the bytes of it that one thread can use, small to large, as the system declares them.
        They give the names; a size that is missing (0) or wrong does not change the cut.
    rising : bool
        Whether the curve is a latency: larger is worse, and the best sample is the smallest.

    Returns
    -------
    plateaus : tuple of Plateau
        Small to large; empty only if no usable sample was given. `Plateau.value` is reached at a quarter of the sizes
        of the plateau; `Plateau.capacity` is where the curve crosses the geometric mean of the two heights.
    notes : tuple of str
        What could not be told apart, what contradicts the declared sizes, and what is uncertain, in sentences.

    Raises
    ------
    ValueError
        If `sizes` and `values` differ in length, or a size is not above 0 and below 2**63.

    Notes
    -----
    The last plateau is named ``"DRAM"`` if there are more plateaus than declared caches or if the curve goes on well
    past the last declared capacity, else after the cache that it lies in. With nothing declared the levels are L1,
    L2, ... and the last is DRAM; a curve with one plateau is then called DRAM only if it reaches a working set that no
    cache holds, and otherwise L1, since its smallest sets lie there and nothing shows that the others do not.
    """
    measured, y = _best_of_sizes(sizes, values, rising)
    if not measured:
        return (), ("No usable sample was taken at any working set, so no memory level can be seen.",)
    x = np.array([math.log2(size) for size in measured])
    hints = np.array([math.log2(size) for _, size in declared if size > 0])
    spans, notes = _cut(x, y, hints, LATENCY if rising else BANDWIDTH)
    spans, heights = _falling(y, spans)
    plateaus = tuple(
        Plateau("", math.exp(-height if rising else height), measured[a], measured[b], capacity)
        for (a, b), height, capacity in zip(spans, heights, _capacities(x, y, spans, heights), strict=True)
    )
    plateaus, naming = name_levels(plateaus, declared)
    return plateaus, (*notes, *naming)


# ------------------------------------------------------------------------------------------------ the points


def _best_of_sizes(sizes: Sequence[int], values: Sequence[Sequence[float]], rising: bool) -> tuple[list[int], Floats]:
    """Usable sizes, ascending, and the logarithm of the best sample of each, of the reciprocal where rising."""
    if len(sizes) != len(values):
        raise ValueError(f"each size needs its samples: got {len(sizes)} sizes and {len(values)} lists of samples")
    best: dict[int, float] = {}
    for size, samples in zip(sizes, values, strict=True):
        if not 0 < size < LARGEST_SIZE:
            raise ValueError(f"a working set must be above 0 and below 2**63 bytes: got {size}")
        good = [float(value) for value in samples if SMALLEST_VALUE < value < LARGEST_VALUE]
        if good:
            found = -math.log(min(good)) if rising else math.log(max(good))
            best[int(size)] = max(found, best.get(int(size), -math.inf))
    ordered = sorted(best)
    return ordered, np.array([best[size] for size in ordered])


def _pool(x: Floats, y: Floats) -> tuple[Ints, Floats, Floats]:
    """Thin a dense curve: first member of each pool (and one past the last), and the medians of the pools."""
    slots = np.round(x * POINTS_PER_OCTAVE)
    starts = np.flatnonzero(np.diff(slots, prepend=-1.0))
    bounds = np.append(starts, x.size)
    pools = [slice(a, b) for a, b in pairwise(bounds)]
    return bounds, np.array([np.median(x[p]) for p in pools]), np.array([np.median(y[p]) for p in pools])


def _without_spikes(y: Floats) -> Floats:
    """Take the running median of three, which removes a single disturbed size and leaves every step where it is."""
    if y.size < 3:
        return y.copy()
    middle = np.median(np.stack([y[:-2], y[1:-1], y[2:]]), axis=0)
    return np.concatenate([[np.median(y[:2])], middle, [np.median(y[-2:])]])


def _scale(y: Floats) -> float:
    """Noise of one point, from its distance to the middle of its neighbours (variance 3/2 of one point)."""
    if y.size < 3:
        return MIN_SCALE
    bends = np.abs(y[1:-1] - 0.5 * (y[:-2] + y[2:]))
    # 0.6745 is the median of |N(0, 1)|; the few points at the edges of plateaus do not move a median.
    return float(np.clip(np.median(bends) / 0.6745 / math.sqrt(1.5), MIN_SCALE, MAX_SCALE))


# --------------------------------------------------------------------------------------------------- the cut


def _runs(x: Floats, y: Floats, flatness: _Flatness) -> _Runs:
    """All runs of points that are wide and flat enough to be a plateau."""
    scale, smooth, n = max(_scale(y), flatness.scale), _without_spikes(y), x.size
    start, end, middle = [], [], []
    for first in range(n):
        window: list[float] = []
        for last in range(first, n):
            insort(window, float(y[last]))
            if last - first + 1 >= MIN_POINTS and x[last] - x[first] >= MIN_WIDTH - 0.05:
                start.append(first)
                end.append(last)
                half = len(window) // 2
                middle.append(window[half] if len(window) % 2 else 0.5 * (window[half - 1] + window[half]))
    a, b, median = np.array(start, dtype=np.intp), np.array(end, dtype=np.intp), np.array(middle)

    def total(terms: Floats) -> Floats:
        """Sum of the terms over each run."""
        sums = np.concatenate([[0.0], np.cumsum(terms)])
        return np.asarray(sums[b + 1] - sums[a])

    # Sums of products are taken about the middle of the curve, else the variance drowns in rounding.
    u, v, count = x - x.mean(), smooth - smooth.mean(), b - a + 1.0
    variance = total(u * u) - total(u) ** 2 / count
    slope = (total(u * v) - total(u) * total(v) / count) / np.maximum(variance, 1e-9)
    flat = np.abs(slope) <= flatness.slope
    a, b, median, slope = a[flat], b[flat], median[flat], slope[flat]

    inside = (np.arange(n) >= a[:, None]) & (np.arange(n) <= b[:, None])
    far = np.minimum(((y - median[:, None]) / scale) ** 2, FAR_OFF)
    cost = np.where(inside, far, 0.0).sum(axis=1)
    # Last point of the octave that begins at a point, first point of the octave that ends there.
    onwards = np.searchsorted(x, x + 1.05, side="right") - 1
    back = np.searchsorted(x, x - 1.05, side="left")
    head_end, tail_start = np.minimum(onwards[a], b), np.maximum(back[b], a)
    medians: dict[tuple[int, int], float] = {}

    def over(first: Ints, last: Ints) -> Floats:
        """Median of the smoothed curve over short runs, most of which occur many times."""
        for key in set(zip(first.tolist(), last.tolist(), strict=True)) - medians.keys():
            medians[key] = float(np.median(smooth[key[0] : key[1] + 1]))
        return np.array([medians[key] for key in zip(first.tolist(), last.tolist(), strict=True)])

    return _Runs(
        start=a,
        end=b,
        width=x[b] - x[a],
        slope=np.abs(slope),
        cost=cost,
        head=over(a, head_end),
        head_at=0.5 * (x[a] + x[head_end]),
        tail=over(tail_start, b),
        tail_at=0.5 * (x[tail_start] + x[b]),
    )


def _cheapest(x: Floats, runs: _Runs, hints: Floats) -> list[int]:
    """Return the indices of the runs that make the cheapest cut, small to large; empty if there is no run."""
    n = x.size
    total = runs.cost + PER_PLATEAU + OFF_PLATEAU * runs.start
    before = np.full(runs.start.size, -1)
    for first in range(n):
        right = np.flatnonzero(runs.start == first)
        left = np.flatnonzero(runs.end < first)
        if not right.size or not left.size:
            continue
        drop = runs.tail[left, None] - runs.head[right]
        narrow = np.minimum(runs.width[left, None], runs.width[right]) < SURE_WIDTH - 0.05
        last = runs.end[left]
        hinted = (
            ((hints >= x[last, None] - 0.5) & (hints <= x[first] + 0.5)).any(axis=1)
            if hints.size
            else np.zeros(left.size, dtype=bool)
        )
        needed = np.where(narrow & ~hinted[:, None], math.log(MIN_RATIO_NARROW), math.log(MIN_RATIO))
        steepness = drop / (runs.head_at[right] - runs.tail_at[left, None])
        steady = STEEPER * np.maximum(runs.slope[left, None], runs.slope[right])
        path = (total[left] + OFF_PLATEAU * (first - last - 1))[:, None] + (runs.cost[right] + PER_PLATEAU)
        path = np.where((drop >= needed) & (steepness >= steady), path, np.inf)
        choice = np.argmin(path, axis=0)
        found = path[choice, np.arange(right.size)]
        better = found < total[right]
        total[right[better]] = found[better]
        before[right[better]] = left[choice[better]]
    if not runs.start.size:
        return []
    at = int(np.argmin(total + OFF_PLATEAU * (n - 1 - runs.end)))
    chain = []
    while at >= 0:
        chain.append(at)
        at = int(before[at])
    return chain[::-1]


def _cut(x: Floats, y: Floats, hints: Floats, flatness: _Flatness) -> tuple[list[tuple[int, int]], list[str]]:
    """First and last size of each plateau, as indices, and notes."""
    bounds, px, py = _pool(x, y)
    spans = []
    if px.size >= MIN_POINTS:
        runs = _runs(px, py, flatness)
        spans = [(int(runs.start[i]), int(runs.end[i])) for i in _cheapest(px, runs, hints)]
    notes = []
    if not spans:
        spans = [_flattest(px, _without_spikes(py))]
        notes.append(
            "The curve has no flat stretch of working sets that could be told from noise, so one level is given."
            if px.size >= MIN_POINTS
            else "Too few working sets were measured to tell memory levels apart, so one level is given."
        )
    end = spans[-1][1]
    height = float(np.median(py[spans[-1][0] : end + 1]))
    # A small fall at the end is believed where a declared level is still to come, else it may be a spell.
    needed = MIN_RATIO if len(spans) <= hints.size else MIN_RATIO_NARROW
    fallen = height - _without_spikes(py)[-1]
    if end + 1 < px.size and fallen >= math.log(needed):
        notes.append("The curve still gets worse at the largest working set: the level beyond was not fully reached.")
        past = fallen >= math.log(DEEP) or not hints.size or px[-1] >= hints[-1] + PAST_OCTAVES
        if past and px[-1] - px[end] >= MIN_WIDTH:
            # The lowest that was seen is nearest to the level beyond; half an octave keeps it off a single size.
            spans.append((max(int(np.searchsorted(px, px[-1] - 0.55)), end + 1), px.size - 1))
    return [(int(bounds[a]), int(bounds[b + 1] - 1)) for a, b in spans], notes


def _flattest(x: Floats, y: Floats) -> tuple[int, int]:
    """Find the octave of points over which the curve changes least; all points if there is no more than an octave."""
    found, least = (0, x.size - 1), math.inf
    for first in range(x.size):
        last = int(np.searchsorted(x, x[first] + 1.05, side="right")) - 1
        if last + 1 < x.size and last > first:
            change = float(np.ptp(y[first : last + 1]))
            if change < least:
                found, least = (first, last), change
    return found


# ------------------------------------------------------------------------------------ heights and capacities


def _falling(y: Floats, spans: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[float]]:
    """Heights of the plateaus; neighbours whose heights do not fall after all become one."""
    kept: list[tuple[int, int]] = []
    heights: list[float] = []
    for a, b in spans:
        height = float(np.quantile(y[a : b + 1], VALUE_QUANTILE))
        while kept and heights[-1] <= height:
            heights.pop()
            a = kept.pop()[0]
            height = float(np.quantile(y[a : b + 1], VALUE_QUANTILE))
        kept.append((a, b))
        heights.append(height)
    return kept, heights


def _capacities(x: Floats, y: Floats, spans: list[tuple[int, int]], heights: list[float]) -> list[float | None]:
    """Effective capacity of each plateau: where the curve leaves it half way; None for the last."""
    found: list[float | None] = []
    for (a, _), (_, b), above, below in zip(spans, spans[1:], heights, heights[1:], strict=False):
        found.append(float(2.0 ** _crossing(x[a : b + 1], y[a : b + 1], 0.5 * (above + below))))
    return [*found, None]


def _crossing(x: Floats, y: Floats, middle: float) -> float:
    """Where a noisy falling curve passes a height: the place that leaves the fewest points on the wrong side."""
    low = np.concatenate([[0], np.cumsum(y < middle)])
    wrong = low + (np.sum(y >= middle) - (np.arange(y.size + 1) - low))
    at = int(np.clip(np.argmin(wrong), 1, y.size - 1))
    share = (y[at - 1] - middle) / (y[at - 1] - y[at]) if y[at - 1] >= middle > y[at] else 0.5
    return float(x[at - 1] + share * (x[at] - x[at - 1]))
