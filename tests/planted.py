"""Whether the cut of a curve into levels finds what was planted in a synthetic machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ert.roofline.fitting.levels import find_plateaus
from tests.synthetic import PlantedMachine

BAR = 0.98
"""Share of the machines that must come back right in each respect."""

BANDWIDTH_WITHIN = 0.03
CAPACITY_WITHIN = 0.5
"""In octaves."""


@dataclass(frozen=True)
class Verdict:
    """What came back right: the number of levels, every bandwidth, every effective capacity, and the levels' names.

    Names count only where the declared sizes are honest; all are wrong where the number of levels is.
    """

    levels: bool
    bandwidths: bool
    capacities: bool
    names: bool


def judge(machine: PlantedMachine, seed: int, *, count: int = 6, rising: bool = False) -> Verdict:
    """Sample a machine `count` times a size with noise of that seed, cut the curve, and compare with the truth."""
    samples = machine.curve.samples(machine.sizes, np.random.default_rng([seed, 1]), count=count)
    if rising:
        samples = [[1.0 / value for value in row] for row in samples]
    plateaus, _ = find_plateaus(machine.sizes, samples, declared=machine.declared, rising=rising)
    if len(plateaus) != len(machine.curve.heights):
        return Verdict(False, False, False, False)
    values = [1.0 / plateau.value if rising else plateau.value for plateau in plateaus]
    heights = zip(values, machine.curve.heights, strict=True)
    found = zip((plateau.capacity for plateau in plateaus[:-1]), machine.curve.capacities, strict=True)
    return Verdict(
        True,
        all(abs(value / true - 1.0) <= BANDWIDTH_WITHIN for value, true in heights),
        all(capacity is not None and abs(math.log2(capacity / true)) <= CAPACITY_WITHIN for capacity, true in found),
        not machine.honest or tuple(plateau.name for plateau in plateaus) == machine.names,
    )


def shares(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return the share of machines that are right in each respect."""
    rows = [asdict(verdict) for verdict in verdicts]
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
