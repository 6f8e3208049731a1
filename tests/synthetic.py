"""Synthetic machines: planted truths and seeded noise, so that what the fit finds can be compared with the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

KIB, MIB = 1 << 10, 1 << 20

Shape = Literal["smooth", "logistic", "mixed"]
SHAPES: tuple[Shape, ...] = ("smooth", "logistic", "mixed")


def working_sets(smallest: int, largest: int, per_octave: int) -> tuple[int, ...]:
    """Sizes in bytes from `smallest` to at most `largest`, whole cache lines of 64 bytes, ascending."""
    steps = math.floor(per_octave * math.log2(largest / smallest) + 1e-9)
    return tuple(64 * round(smallest * 2.0 ** (i / per_octave) / 64) for i in range(steps + 1))


@dataclass(frozen=True)
class SyntheticCurve:
    """A bandwidth curve over the working set, without noise.

    Attributes
    ----------
    heights : tuple of float
        Byte/s of each level, falling.
    capacities : tuple of float
        Bytes at the middle, on a log scale, of the transition after each level but the last.
    transitions : tuple of float
        Octaves that each of these takes.
    shape : {"smooth", "logistic", "mixed"}
        How a transition falls: ``"smooth"`` and ``"logistic"`` in the logarithm of the rate (a cubic that starts and
        ends within the octaves, and a logistic step that does 96 % of its fall within them); ``"mixed"`` in the time
        per byte, as if a growing share of the accesses went to the next level.
    """

    heights: tuple[float, ...]
    capacities: tuple[float, ...]
    transitions: tuple[float, ...]
    shape: Shape = "smooth"

    def value(self, size: float) -> float:
        """Byte/s at a working set."""
        log_rate = math.log(self.heights[0])
        steps = zip(self.heights, self.heights[1:], self.capacities, self.transitions, strict=False)
        for above, below, capacity, octaves in steps:
            t = math.log2(size / capacity) / max(octaves, 1e-9)
            if self.shape == "logistic":
                share = 1.0 / (1.0 + math.exp(-min(max(8.0 * t, -50.0), 50.0)))
            else:
                t = min(max(t + 0.5, 0.0), 1.0)
                share = t * t * (3.0 - 2.0 * t)
            if self.shape == "mixed":
                log_rate -= math.log(1.0 + share * (above / below - 1.0))
            else:
                log_rate += share * math.log(below / above)
        return math.exp(log_rate)

    def samples(
        self,
        sizes: Sequence[int],
        rng: np.random.Generator,
        *,
        count: int = 6,
        slowed: float = 0.05,
        halved: float = 0.02,
    ) -> list[list[float]]:
        """Draw samples at each size, each slowed by a half-normal of scale `slowed`, a share `halved` at half speed."""
        rates = np.array([self.value(size) for size in sizes])[:, None]
        shape = (len(sizes), count)
        noisy = rates * (1.0 - np.minimum(np.abs(rng.normal(0.0, slowed, shape)), 0.9))
        return [[float(v) for v in row] for row in np.where(rng.random(shape) < halved, 0.5 * noisy, noisy)]


@dataclass(frozen=True)
class PlantedMachine:
    """A curve, the sizes at which it is measured, and what the system declares about it."""

    curve: SyntheticCurve
    sizes: tuple[int, ...]
    declared: tuple[tuple[str, int], ...]
    honest: bool

    @property
    def names(self) -> tuple[str, ...]:
        """True names of the levels."""
        caches = len(self.curve.capacities)
        return (*(f"L{i + 1}" for i in range(caches)), "DRAM") if caches else ("L1",)


def planted_machine(seed: int, *, per_octave: int = 4, shape: Shape = "smooth") -> PlantedMachine:
    """Make a random machine of 1 to 4 levels, measured from 4 KiB on; the declared sizes of every second are false.

    Neighbouring plateaus are 1.15 to 8 times apart, a third of the steps below 1.3; each plateau is at least two
    octaves wide beside the transitions, which take up to one octave.
    """
    rng = np.random.default_rng(seed)
    levels = int(rng.integers(1, 5))
    heights = [float(rng.uniform(50e9, 500e9))]
    capacities: list[float] = []
    transitions: list[float] = []
    edge = 12.0
    for _ in range(levels - 1):
        highest = 1.3 if rng.random() < 1 / 3 else 8.0
        heights.append(heights[-1] / math.exp(rng.uniform(math.log(1.15), math.log(highest))))
        transitions.append(float(rng.uniform(0.0, 1.0)))
        middle = edge + rng.uniform(2.0, 5.0) + transitions[-1] / 2
        capacities.append(2.0**middle)
        edge = middle + transitions[-1] / 2
    # The last plateau must be two octaves wide on the sizes that exist, which end at most one step before this.
    end = edge + rng.uniform(2.0, 4.0) + 1.0 / per_octave
    sizes = working_sets(4 * KIB, round(2.0**end), per_octave)
    honest = bool(rng.random() < 0.5)
    truth = [(f"L{i + 1}", round(c)) for i, c in enumerate(capacities)]
    declared = tuple(truth if honest else _falsified(truth, rng))
    return PlantedMachine(
        SyntheticCurve(tuple(heights), tuple(capacities), tuple(transitions), shape), sizes, declared, honest
    )


def _falsified(truth: list[tuple[str, int]], rng: np.random.Generator) -> list[tuple[str, int]]:
    """Spoil the sizes as broken systems do: none, one missing, 0, 56 bytes, 10x, or one slice of the whole."""
    kind = int(rng.integers(6))
    if kind == 0 or not truth:
        return []
    victim = int(rng.integers(len(truth)))
    if kind == 1:
        return [entry for i, entry in enumerate(truth) if i != victim]
    name, size = truth[victim]
    truth[victim] = (name, {2: 0, 3: 56, 4: 10 * size, 5: max(size // 16, 1)}[kind])
    return truth
