"""Memory roofs that move: what a roof gave in the same seconds as a kernel.

On a shared machine the bandwidth of memory may change by a factor of two from one second to the next. A roof is its
best sample, and a kernel that was never sampled in the best second looks half as good as its code is. So the roof that
applies is sampled just before every visit of a kernel, and where it stayed below its best there, the kernel is held
against what it was there.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from ert.roofline.model import Measurement, MemoryRoof, Results, Sample

BESIDE_SECONDS = 2.0
"""A sample of the roof so many seconds from one of the kernel is beside it: spells last longer, and laying the data of
a kernel takes less."""

STEADY = 0.95
"""Share of its best that a roof keeps beside a kernel while it counts as steady: then the best is what applies."""

FEWEST_ROUNDS = 2
"""Rounds with both that must be known: one alone could be the moment of change."""


def slope_beside(kernel: Measurement, roof: MemoryRoof, results: Results) -> MemoryRoof | None:
    """Return a roof with the rate that it had beside a kernel, if it was not steady; None if it was or is not known.

    Parameters
    ----------
    kernel : Measurement
        Of the kernel.
    roof : MemoryRoof
        The one that applies to it.
    results : Results
        With the samples of the roof.

    Returns
    -------
    MemoryRoof or None
        With the best rate R x the ratio r: in each round r is the kernel's best rate over the best of the roof beside
        it, and their median says which part of the roof it reaches. The kernel's own best rate over that part is the
        roof's rate here.
    """
    samples = [sample for m in results.measurements if _is(m, roof) for sample in m.samples if _counts(sample)]
    passes = {sample.passes / sample.seconds for sample in samples}
    if not passes:
        return None
    best = max(passes)
    own = [sample for sample in kernel.samples if _counts(sample)]
    parts = []
    for number in {sample.round for sample in own}:
        mine = [sample for sample in own if sample.round == number]
        near = [
            sample.passes / sample.seconds
            for sample in samples
            if any(abs(sample.at - other.at) <= BESIDE_SECONDS for other in mine)
        ]
        if near:
            parts.append((max(sample.passes / sample.seconds for sample in mine), max(near) / best))
    if len(parts) < FEWEST_ROUNDS:
        return None
    fastest = max(rate for rate, _ in parts)
    # What the roof would have been when the kernel was fastest.
    share = fastest / median(rate / part for rate, part in parts)
    if share >= STEADY:
        return None
    return replace(
        roof, rate=replace(roof.rate, best=roof.rate.best * share, median=roof.rate.median * min(1.0, share))
    )


def _is(measurement: Measurement, roof: MemoryRoof) -> bool:
    case = measurement.case
    return measurement.valid and (case.probe, case.team, case.level, case.mix, case.vector_bits, case.working_set) == (
        "memory", roof.team, roof.level, roof.mix, roof.vector_bits, roof.working_set,
    )  # fmt: skip


def _counts(sample: Sample) -> bool:
    return sample.seconds > 0 and sample.passes > 0
