"""Advice on an application kernel: ordered rules; the first that applies says what limits it and what to do."""

from __future__ import annotations

from collections.abc import Callable

from ert.roofline.applies import memory_roof
from ert.roofline.ceilings import Ceiling, Kind, ceilings, lowest_above, shown_by_code
from ert.roofline.facts import Facts
from ert.roofline.formulas import ELEMENT_BYTES
from ert.roofline.quantities import operation, percent, rate, seconds, short, size
from ert.roofline.ways import (
    climb,
    fewer_bytes,
    fewer_operations,
    more_threads,
    next_ceiling,
    without_allocation,
)

NEAR = 0.8
"""Efficiency from which a kernel is near its roof: what remains is no more than good code commonly leaves (a packed
matrix product 0.85 to 0.93, a stencil 0.9), so that other work pays more than better code."""

SHORT = 0.1
"""A barrier or a start that takes this part of a pass holds it up more than roofs are uncertain."""

EXPLAINS = 0.7
"""A kernel that reaches this share of a ceiling beside the roofs is held by it, as far as one can tell from rates."""

CACHED = 4
"""A working set of up to so many capacities of the nearer cache finds a good part of its data there."""

RANDOM = 1.25
"""A kernel that moves between EXPLAINS and this times what independent random reads reach gets no help from
prefetchers."""

Sentences = tuple[str, ...]
Rule = Callable[[Facts], Sentences]


def advise(facts: Facts) -> tuple[str, Sentences]:
    """Return the name of the first rule that applies to a kernel, and its one or two sentences."""
    for rule in RULES:
        sentences = tuple(sentence for sentence in rule(facts) if sentence)
        if sentences:
            return rule.__name__, sentences
    return "", ()


# ------------------------------------------------------------------------------------- is it under the roofs


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
            f"{first}: that roof was measured in slower spells of the machine (grade D, {percent(slope.rate.spread)} "
            "spread).",
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
    """A pass that a barrier, or for another library a start of threads, takes a good part of."""
    placement = facts.placement
    if facts.efficiency >= NEAR:
        return ()
    library = placement.kernel.implementation == "library"
    cost = facts.cost("last end" if library else "barrier")
    if cost is None or facts.team.threads == 1 or cost < SHORT * placement.seconds:
        return ()
    what = f"starting {facts.team.label} costs" if library else f"one barrier of {facts.team.label} takes"
    return (
        f"It is too short: {what} {seconds(cost)}, {percent(cost / placement.seconds)} of a pass of "
        f"{seconds(placement.seconds)}.",
        "Do more between two barriers: larger or several problems at a time, or fewer threads.",
    )


# -------------------------------------------------------------------------------------------------- near


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


# ------------------------------------------------------------------------------------- what its code shows


def one_chain(facts: Facts) -> Sentences:
    """Each step needs the one before: the ceiling of few chains."""
    placement = facts.placement
    known = [ceiling for ceiling in ceilings(facts) if ceiling.kind == "chains"]
    if placement.kernel.limit != "chain" or not known:
        return ()
    lowest = lowest_above(facts, known, ("chains",)) or known[-1]
    if not _held_by(facts, lowest):
        return ()
    chains = "one chain" if lowest.roof.accumulators == 1 else f"{lowest.roof.accumulators} chains"
    return (
        f"Each step waits for the one before: {chains} of {lowest.roof.instructions} reach"
        f"{'es' if lowest.roof.accumulators == 1 else ''} {lowest.text}, it makes {_mine(facts)}.",
        climb(facts, "Keep more sums or columns going side by side."),
    )


def narrow_code(facts: Facts) -> Sentences:
    """Scalar code, or vectors narrower than the roof's."""
    known = ceilings(facts)
    ceiling = shown_by_code(facts, known)
    if ceiling is None or ceiling.kind not in ("scalar", "narrow") or not _held_by(facts, ceiling):
        return ()
    what = "one element an instruction" if ceiling.kind == "scalar" else f"in {ceiling.width} vectors"
    return (
        f"Its code computes {what}: {ceiling.width} {ceiling.roof.instructions} reaches {ceiling.text}, it makes "
        f"{_mine(facts)}.",
        climb(facts, next_ceiling(facts, ceiling, known)),
    )


def unfused_code(facts: Facts) -> Sentences:
    """Multiplications and additions that are not fused."""
    ceiling = shown_by_code(facts, ceilings(facts))
    if ceiling is None or ceiling.kind != "unfused" or not _held_by(facts, ceiling):
        return ()
    return (
        f"Its code multiplies and adds apart: without fusing, {ceiling.text} is the ceiling, it makes {_mine(facts)}.",
        climb(facts, "Let the compiler contract a * b + c to one instruction, or write it so."),
    )


def own_arithmetic(facts: Facts) -> Sentences:
    """Its own kind of arithmetic was measured with another team only, and is slower than the roof."""
    own = next((ceiling for ceiling in ceilings(facts) if ceiling.kind == "own"), None)
    share = facts.placement.compute_share
    if own is None or share is None or not EXPLAINS * own.share <= share:
        return ()
    return (
        f"Its arithmetic is {own.roof.instructions}, which reaches {own.text}: it makes {_mine(facts)}, near what it "
        "can.",
        "Only multiply-adds in place of it, fewer operations or more threads would help.",
    )


# ----------------------------------------------------------------------------------------- what holds it


def gather_ceiling(facts: Facts) -> Sentences:
    """Single elements through an index, at about the rate of the measured gather."""
    placement, count = facts.placement, facts.placement.work.events
    element = ELEMENT_BYTES.get(placement.case.precision, 0)
    gathers = [
        gather
        for gather in facts.roofline.gathers
        if (gather.level, gather.team) == (placement.level, facts.team) and gather.verified and gather.element_bytes
    ]
    if placement.kernel.limit != "gather" or not count or not gathers:
        return ()
    gather = min(gathers, key=lambda entry: abs(entry.element_bytes - element))
    most = gather.rate.best / gather.element_bytes
    each = count / placement.seconds
    if each < EXPLAINS * most:
        return ()
    return (
        f"It reads {short(each).strip()} elements/s through an index, {percent(each / most)} of what random gathers "
        f"from {placement.level} reach ({short(most).strip()}).",
        _renumber(facts),
    )


def not_prefetched(facts: Facts) -> Sentences:
    """No faster than independent random reads: the latency of memory, with too little in flight to hide it."""
    placement = facts.placement
    access = facts.random_access(placement.level)
    if placement.byte_rate is None or access is None:
        return ()
    if not EXPLAINS <= placement.byte_rate.best / access.rate.best <= RANDOM:
        return ()
    law = next(
        (law for law in facts.roofline.concurrency if (law.level, law.team) == (placement.level, facts.team)), None
    )
    if law is None or law.reached >= law.needed or _compute_leads(facts):
        return ()
    return (
        f"It moves {rate(placement.byte_rate.best, 'B')}, about what independent random reads of {placement.level} "
        f"reach ({rate(access.rate.best, 'B')}): {size(law.needed)} must be in flight for the roof, such reads keep "
        f"{size(law.reached)}.",
        _renumber(facts) if placement.kernel.limit == "gather" else "Read in order, so that prefetchers can run ahead.",
    )


def inner_level(facts: Facts) -> Sentences:
    """The loads and stores of a nearer level fill that level's roof."""
    placement, work = facts.placement, facts.placement.work
    levels = ["L1", *(name for name, _ in work.level_bytes if name not in ("L1", placement.level))]
    best: tuple[float, str, float, str] | None = None
    for level in levels:
        count = work.traffic_bytes(level)
        roof = memory_roof(work, placement.kernel.mix, facts.team, level, facts.roofline.memory, {})
        if roof is None or not count or level == placement.level:
            continue
        share = count / placement.seconds / roof.rate.best
        if share >= max(EXPLAINS, facts.efficiency) and (best is None or share > best[0]):
            best = share, level, roof.rate.best, roof.name
    if best is None:
        return ()
    share, level, height, name = best
    way = (
        "Keep values in registers for several uses (register blocks)."
        if level == "L1"
        else f"Smaller blocks, that stay in front of {level}, use each byte more often there."
    )
    return (
        f"Its traffic at {level}, {rate(share * height, 'B')} (modelled), is {percent(share)} of the {name} roof.",
        climb(facts, way),
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


def lower_ceiling(facts: Facts) -> Sentences:
    """Nearer to the compute roof than to memory: the lowest measured ceiling that it is not above."""
    if not _compute_leads(facts):
        return ()
    known = ceilings(facts)
    lowest = lowest_above(facts, known, _possible(facts))
    if lowest is None:
        peak = facts.placement.compute_roof
        return (
            f"It makes {_mine(facts)} of the {peak.name if peak else ''} roof, more than the ceilings below it allow.",
            climb(facts, "What is left are gaps between blocks, edges, and loads beside the arithmetic."),
        )
    kind = {
        "scalar": "scalar code",
        "narrow": f"{lowest.width} vectors",
        "unfused": "no fused multiply-adds",
        "chains": "1 chain" if lowest.roof.accumulators == 1 else f"{lowest.roof.accumulators} chains",
        "own": f"{lowest.roof.instructions} alone",
    }[lowest.kind]
    return (
        f"It makes {_mine(facts)} of the roof; the lowest measured ceiling above that is {kind}, "
        f"{lowest.text}{_unread(facts)}.",
        climb(facts, _CEILING_WAYS[lowest.kind]),
    )


_CEILING_WAYS: dict[Kind, str] = {
    "scalar": "See whether the compiler vectorised its inner loop.",
    "narrow": "See which vectors its inner loop uses.",
    "unfused": "See whether its inner loop has fused multiply-adds.",
    "chains": "Give it more independent sums, and fewer loads for each operation.",
    "own": "See whether multiply-adds can take the place of its arithmetic.",
}


def far_below(facts: Facts) -> Sentences:
    """Far below both roofs, and no measured ceiling explains it."""
    placement = facts.placement
    shares = [
        f"{percent(share)} of the {what} roof"
        for what, share in (("compute", placement.compute_share), ("memory", placement.memory_share))
        if share is not None
    ]
    if placement.kernel.limit == "gather":
        return (
            f"It makes {' and '.join(shares)}: it reads single elements through an index, each of which may bring a "
            "whole line, more than is counted, and wait for it.",
            _renumber(facts),
        )
    return (
        f"It makes {' and '.join(shares)}, and no measured ceiling explains that{_unread(facts)}.",
        climb(facts, "Look for steps that wait for each other, calls in the inner loop, page walks and idle threads."),
    )


RULES: tuple[Rule, ...] = (
    unmeasured,
    above_memory_roof,
    above_compute_roof,
    too_short,
    at_memory_roof,
    at_compute_roof,
    gather_ceiling,
    not_prefetched,
    one_chain,
    narrow_code,
    unfused_code,
    own_arithmetic,
    inner_level,
    below_memory_roof,
    lower_ceiling,
    far_below,
)
"""First what makes a placement doubtful, then what is near a roof, then what is known of the kernel and its code, and
last what its rates suggest."""


# ------------------------------------------------------------------------------------------------ shared


def _mine(facts: Facts) -> str:
    return percent(facts.placement.compute_share or 0.0)


def _compute_leads(facts: Facts) -> bool:
    """Whether a kernel is nearer to its compute roof than to its memory roof."""
    placement = facts.placement
    return placement.compute_share is not None and placement.compute_share > (placement.memory_share or 0.0)


def _possible(facts: Facts) -> tuple[Kind, ...]:
    """Return the kinds of ceiling that the code does not rule out: what was read is as wide and fused as the roof."""
    read = facts.found.get("vector_bits", 0) > 0 or facts.placement.code.status == "verified"
    return ("chains", "own") if read else ("scalar", "narrow", "unfused", "chains", "own")


def _held_by(facts: Facts, ceiling: Ceiling) -> bool:
    """Whether a ceiling that a kernel is known to be under can be what holds it.

    It does if the kernel is near it. A kernel that is near nothing at least does not get past it, unless single
    elements through an index are the more likely cause.
    """
    placement = facts.placement
    near = (placement.compute_share or 0.0) >= EXPLAINS * ceiling.share
    return near or (placement.bound == "neither" and placement.kernel.limit != "gather")


def _unread(facts: Facts) -> str:
    return "; its code is another library's and was not read" if facts.placement.code.status == "library" else ""


def _renumber(facts: Facts) -> str:
    nearer = facts.nearer()
    room = f", or block it so that what is gathered stays in {nearer[0]} ({size(nearer[1])})" if nearer else ""
    return f"Renumber or sort it so that neighbours share lines{room}."
