"""Rules on how a kernel stands to its roofs: unmeasured, above, too short, near, some way below."""

from __future__ import annotations

from ert.roofline.placing.facts import Facts, Sentences
from ert.roofline.placing.ways import (
    climb,
    fewer_bytes,
    fewer_operations,
    more_threads,
    rung_with_fewer_bytes,
    without_allocation,
)
from ert.roofline.quantities import number, operation, percent, rate, seconds, size

NEAR = 0.8
"""Efficiency from which a kernel is near its roof: what remains is no more than good code commonly leaves (a packed
matrix product 0.85 to 0.93, a stencil 0.9), so that other work pays more than better code."""

TOP = 0.95
"""Efficiency from which nothing is left to better code: roofs repeat no better."""

SHORT = 0.1
"""A call or a start that takes this part of a pass holds it up more than roofs are uncertain."""

CALL_SECONDS = {"library": 1e-6}
"""What the call of a library takes without work: a product or a transform of one element takes 0.9 microseconds."""

BRIEF_SECONDS = 1e-6
"""A shorter pass that is far below its roofs is held up by its ends: small products and vectors of a few elements."""

LOOP_SECONDS = 20e-9
"""What entering and leaving the loops of a pass takes: one of a single element takes 3 to 25 nanoseconds."""

CACHED = 4
"""A working set of up to so many capacities of the nearer cache finds a good part of its data there."""


def unmeasured(facts: Facts) -> Sentences:
    """A roof that applies was not measured."""
    placement = facts.placement
    if placement.bound != "unknown":
        return ()
    missing = []
    if placement.compute_roof is None and placement.work.flop:
        missing.append(f"{placement.case.precision} arithmetic")
    if placement.memory_roof is None and placement.byte_rate is not None:
        missing.append(placement.level or "the level that its data live in")
    return (f"No verified roof of {' and '.join(missing)} with {facts.team.label}: what limits it is not known.",)


def above_memory_roof(facts: Facts) -> Sentences:
    """Faster than its memory roof: data in a nearer cache, too much traffic counted, or a roof measured too low."""
    placement, slope = facts.placement, facts.placement.memory_roof
    if not facts.is_above() or slope is None or placement.memory_share != placement.efficiency:
        return ()
    first = f"It moves {percent(placement.memory_share or 0.0)} of what the {slope.name} roof allows"
    other = facts.other_mix
    if other:
        mine, its = other
        return (
            f"{first}: {percent(mine)} of its traffic are reads, {percent(its)} of that roof's, and no nearer mix was "
            "measured there.",
        )
    nearer = facts.nearer()
    if nearer and placement.case.working_set <= CACHED * nearer[1]:
        name, capacity = nearer
        return (
            f"{first}: its {size(placement.case.working_set)} a thread are partly in {name}, which holds "
            f"{size(capacity)}, so that less crosses {placement.level} than is counted.",
            f"Measure a larger size, or place it under the {name} roof.",
        )
    if slope.rate.grade == "D":
        return (
            f"{first}: that roof is uncertain (grade D, spread {percent(slope.rate.spread)}), so that it was probably "
            "measured in a slower spell of the machine.",
            "Repeat the sweep on a quiet machine.",
        )
    if placement.level == "L1":
        return (f"{first}: the code loads or stores less than is counted, or the roof was measured too low.",)
    return (
        f"{first}: its modelled traffic counts bytes at {placement.level} that stay in a nearer cache, or the roof was "
        "measured too low.",
    )


def above_compute_roof(facts: Facts) -> Sentences:
    """Faster than its compute roof: a nominal count, a mix of instructions, or a roof measured too low."""
    placement, peak = facts.placement, facts.placement.compute_roof
    if not facts.is_above() or peak is None or placement.flop_rate is None:
        return ()
    first = f"It makes {percent(placement.compute_share or 0.0)} of the {peak.name} roof"
    if placement.kernel.nominal:
        return (f"{first}: its count, {placement.kernel.flop}, is nominal, more than the code does.",)
    mixed = facts.mixed_roof()
    if mixed and mixed.rate.best > peak.rate.best:
        share = placement.flop_rate.best / mixed.rate.best
        return (
            f"{first}: additions run beside multiply-adds on this core. Of {mixed.name} "
            f"({rate(mixed.rate.best, operation(mixed.precision))}), the best such mix, it makes {percent(share)}.",
        )
    return (
        f"{first}: the code does less than is counted, or the roof was measured too low (grade {peak.rate.grade}).",
    )


def too_short(facts: Facts) -> Sentences:
    """A pass that takes not much longer than its call and loop ends, or a start of threads where a library makes one.

    Passes follow each other without a barrier, so that a barrier is no cause; it is told what one would add.
    """
    placement = facts.placement
    if facts.efficiency >= NEAR:
        return ()
    several = facts.team.threads > 1
    if placement.kernel.implementation == "library":
        start = facts.cost("last end") if several else None
        # A pass that takes less than a start made none.
        if start is not None and SHORT * placement.seconds <= start < placement.seconds:
            return (
                f"It is too short: {seconds(start)} to start {facts.team.label} are "
                f"{percent(start / placement.seconds)} of a pass of {seconds(placement.seconds)}.",
                "Do more at a time, larger or several problems, or use fewer threads.",
            )
    least = CALL_SECONDS.get(placement.kernel.implementation, LOOP_SECONDS)
    brief = placement.bound == "neither" and placement.seconds < BRIEF_SECONDS
    if least < SHORT * placement.seconds and not brief:
        return ()
    what = "calls of the library" if placement.kernel.implementation == "library" else "calls and loop ends"
    barrier = facts.cost("barrier") if several else None
    added = f" A barrier of {facts.team.label} after each pass would add {seconds(barrier)}." if barrier else ""
    return (
        f"It is too short: in a pass of {seconds(placement.seconds)}, {what} take a good part.{added}",
        "Do more at a time, larger or several problems.",
    )


def at_memory_roof(facts: Facts) -> Sentences:
    """Memory-bound and near: fewer bytes help, or a higher roof."""
    placement, slope = facts.placement, facts.placement.memory_roof
    if placement.bound != "memory" or facts.efficiency < NEAR or slope is None:
        return ()
    return (
        f"At {percent(facts.efficiency)} of the {slope.name} roof ({facts.slope_text}) {_left(facts, 'bytes')}.",
        rung_with_fewer_bytes(facts) or fewer_bytes(facts),
    )


def at_compute_roof(facts: Facts) -> Sentences:
    """Compute-bound and near: a faster rung, fewer operations, or a higher roof."""
    placement, peak = facts.placement, facts.placement.compute_roof
    if placement.bound != "compute" or facts.efficiency < NEAR or peak is None:
        return ()
    return (
        f"At {percent(facts.efficiency)} of the {peak.name} roof ({rate(peak.rate.best, operation(peak.precision))}) "
        f"{_left(facts, 'operations')}.",
        climb(facts, fewer_operations(facts)),
    )


def _left(facts: Facts, what: str) -> str:
    """Say what better code could win with the same work, and whether anything but less work can."""
    if facts.efficiency >= TOP:
        return f"only fewer {what} make it faster"
    return f"at most {number(1 / facts.efficiency)} times the speed is left with the same {what}"


def below_memory_roof(facts: Facts) -> Sentences:
    """Memory-bound, some way below the roof."""
    placement, slope = facts.placement, facts.placement.memory_roof
    if placement.bound != "memory" or slope is None:
        return ()
    return (
        f"It moves {percent(facts.efficiency)} of what the {slope.name} roof allows ({facts.slope_text}).",
        rung_with_fewer_bytes(facts)
        or without_allocation(facts)
        or more_threads(facts)
        or "That roof is a stream in order on huge pages: look at the order of its accesses, at work beside them, and "
        "at threads that end late.",
    )
