"""Rules on how a kernel stands to its roofs: unmeasured, above, too short, near, some way below."""

from __future__ import annotations

from ert.roofline.facts import Facts, Sentences
from ert.roofline.quantities import operation, percent, rate, seconds, size
from ert.roofline.ways import fewer_bytes, fewer_operations, more_threads, without_allocation

NEAR = 0.8
"""Efficiency from which a kernel is near its roof: what remains is no more than good code commonly leaves (a packed
matrix product 0.85 to 0.93, a stencil 0.9), so that other work pays more than better code."""

SHORT = 0.1
"""A barrier or a start that takes this part of a pass holds it up more than roofs are uncertain."""

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
    """A pass that takes not much longer than a barrier, or than a start of threads where a library makes one."""
    placement = facts.placement
    if facts.efficiency >= NEAR:
        return ()
    library = placement.kernel.implementation == "library"
    cost = facts.cost("last end" if library else "barrier")
    if cost is None or facts.team.threads == 1 or cost < SHORT * placement.seconds:
        return ()
    what = "to start" if library else "for a barrier of"
    return (
        f"It is too short: {seconds(cost)} {what} {facts.team.label} are {percent(cost / placement.seconds)} of a pass "
        f"of {seconds(placement.seconds)}, and calls and loop ends count.",
        "Do more at a time, larger or several problems, or use fewer threads.",
    )


def at_memory_roof(facts: Facts) -> Sentences:
    """Memory-bound and near: only fewer bytes help, or a higher roof."""
    placement, slope = facts.placement, facts.placement.memory_roof
    if placement.bound != "memory" or facts.efficiency < NEAR or slope is None:
        return ()
    return (
        f"At {percent(facts.efficiency)} of the {slope.name} roof ({rate(slope.rate.best, 'B')}) only fewer bytes make "
        "it faster.",
        fewer_bytes(facts),
    )


def at_compute_roof(facts: Facts) -> Sentences:
    """Compute-bound and near: only fewer operations help, or a higher roof."""
    placement, peak = facts.placement, facts.placement.compute_roof
    if placement.bound != "compute" or facts.efficiency < NEAR or peak is None:
        return ()
    return (
        f"At {percent(facts.efficiency)} of the {peak.name} roof ({rate(peak.rate.best, operation(peak.precision))}) "
        "only fewer operations make it faster.",
        fewer_operations(facts),
    )


def below_memory_roof(facts: Facts) -> Sentences:
    """Memory-bound, some way below the roof."""
    placement, slope = facts.placement, facts.placement.memory_roof
    if placement.bound != "memory" or slope is None:
        return ()
    return (
        f"It moves {percent(facts.efficiency)} of what the {slope.name} roof allows ({rate(slope.rate.best, 'B')}).",
        without_allocation(facts)
        or more_threads(facts)
        or "That roof is a stream in order on huge pages: look at the order of its accesses, at work beside them, and "
        "at threads that end late.",
    )
