"""Rules on what holds a kernel that is not near its roofs: gathers, its code, its arithmetic, levels, ceilings."""

from __future__ import annotations

from ert.roofline.formulas import ELEMENT_BYTES
from ert.roofline.placing.applies import memory_roof
from ert.roofline.placing.ceilings import Ceiling, Kind, ceilings, lowest_above, shown_by_code
from ert.roofline.placing.facts import Facts, Sentences
from ert.roofline.placing.ways import climb, next_ceiling, renumber
from ert.roofline.quantities import percent, rate, short, size

EXPLAINS = 0.7
"""A kernel that reaches this share of a ceiling beside the roofs is held by it, as far as one can tell from rates."""

RANDOM = 1.25
"""A kernel that moves between EXPLAINS and this times what independent random reads reach gets no help from
prefetchers."""

FEW_IN_FLIGHT = 0.5
"""Part of the bytes that a level needs in flight; where random reads keep more (caches), they are nearly a stream."""

_CEILING_WAYS: dict[Kind, str] = {
    "scalar": "See whether the compiler vectorised its inner loop.",
    "narrow": "See which vectors its inner loop uses.",
    "unfused": "See whether its inner loop has fused multiply-adds.",
    "chains": "Give it more independent sums, and fewer loads for each operation.",
    "own": "See whether multiply-adds can take the place of its arithmetic.",
}

BLOCK_ENDS = "What is left are gaps between blocks, edges, and loads beside the arithmetic."

LOADS_BESIDE = "What is left are loads and stores beside the arithmetic, and the ends of loops."

OTHER = ("add", "mul", "divide", "sqrt", "other_vector")
"""Vector instructions beside multiply-adds that take their places in the pipes, by their names in what was found."""

PLAIN = ("add", "mul", "divide", "sqrt")
"""Those that count one operation an element; the rest (conversions, shuffles, comparisons) counts none."""

PURE = 0.95
"""Share of the roof from which a mix of instructions is as good as multiply-adds alone."""

WORDS = {
    "fma": "multiply-adds",
    "add": "additions",
    "mul": "multiplications",
    "divide": "divisions",
    "sqrt": "roots",
    "other_vector": "others",
}

OTHER_LIBRARY = "Try another library, or another build of it."


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
    # Much faster than random ones: neighbours share lines, and the gather is not what holds it.
    if not EXPLAINS * most <= each <= RANDOM * most:
        return ()
    return (
        f"It reads {short(each).strip()} elements/s through an index, {percent(each / most)} of what random gathers "
        f"from {placement.level} reach ({short(most).strip()}).",
        renumber(facts),
    )


def not_prefetched(facts: Facts) -> Sentences:
    """Gathers no faster than independent random reads: the latency of memory, with too little in flight to hide it.

    What reads in order may have the same rate by chance, so that only gathers are compared.
    """
    placement = facts.placement
    access = facts.random_access(placement.level)
    if placement.kernel.limit != "gather" or placement.byte_rate is None or access is None:
        return ()
    if not EXPLAINS <= placement.byte_rate.best / access.rate.best <= RANDOM:
        return ()
    law = next(
        (law for law in facts.roofline.concurrency if (law.level, law.team) == (placement.level, facts.team)), None
    )
    if law is None or law.reached > FEW_IN_FLIGHT * law.needed or facts.compute_leads:
        return ()
    made, reached = rate(placement.byte_rate.best, "B"), rate(access.rate.best, "B")
    rows = f" in random rows of {size(facts.row_bytes)}" if facts.row_bytes else ""
    return (
        f"It moves {made}{rows}, about what independent random reads of {placement.level} reach ({reached}): "
        f"{size(law.needed)} must be in flight for the roof, such reads keep {size(law.reached)}.",
        renumber(facts),
    )


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
        f"{'es' if lowest.roof.accumulators == 1 else ''} {lowest.text}, it makes {facts.made}.",
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
        f"{facts.made}.",
        climb(facts, next_ceiling(facts, ceiling, known)),
    )


def unfused_code(facts: Facts) -> Sentences:
    """Multiplications and additions that are not fused."""
    ceiling = shown_by_code(facts, ceilings(facts))
    if ceiling is None or ceiling.kind != "unfused" or not _held_by(facts, ceiling):
        return ()
    return (
        f"Its code multiplies and adds apart: without fusing, {ceiling.text} is the ceiling, it makes {facts.made}.",
        climb(facts, "Let the compiler contract a * b + c to one instruction, or write it so."),
    )


def own_arithmetic(facts: Facts) -> Sentences:
    """Its own kind of arithmetic was measured with another team only, and is slower than the roof."""
    own = next((ceiling for ceiling in ceilings(facts) if ceiling.kind == "own"), None)
    share = facts.placement.compute_share
    if own is None or share is None or not EXPLAINS * own.share <= share:
        return ()
    return (
        f"Its arithmetic is {own.roof.instructions}, which reaches {own.text}: it makes {facts.made}, near what it "
        "can.",
        "Only multiply-adds in place of it, fewer operations or more threads would help.",
    )


def inner_level(facts: Facts) -> Sentences:
    """The loads and stores of a nearer level fill that level's roof."""
    placement, work = facts.placement, facts.placement.work
    levels = ["L1", *(name for name, _ in work.level_bytes if name not in ("L1", placement.level))]
    best: tuple[float, str, float, str] | None = None
    for level in levels:
        count = work.traffic_bytes(level)
        roof = memory_roof(work, placement.kernel.mix, facts.team, level, facts.roofline.memory, facts.mixes)
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


def mixed_instructions(facts: Facts) -> Sentences:
    """Arithmetic that is not all multiply-adds: no such mix reaches their roof.

    If each vector instruction takes a multiply-add's place, f multiply-adds, p additions and the like, and o others
    reach (2 f + p) / 2 (f + p + o) of the roof. What runs beside multiply-adds, as additions do on some cores, gets
    above that; divisions take longer.
    """
    peak, found, share = facts.placement.compute_roof, facts.found, facts.placement.compute_share
    fused, others = found.get("fma", 0), sum(found.get(name, 0) for name in OTHER)
    if peak is None or share is None or not peak.headline or not facts.compute_leads or others <= 0 or fused < 0:
        return ()
    reached = (2 * fused + sum(found.get(name, 0) for name in PLAIN)) / (2 * (fused + others))
    if reached >= PURE or share < EXPLAINS * reached:
        return ()
    counts = ", ".join(f"{found[name]} {WORDS[name]}" for name in ("fma", *OTHER) if found.get(name))
    return (
        f"It makes {facts.made} of the {peak.name} roof, which its mix of instructions cannot reach: the inner loop "
        f"has {counts}.",
        climb(facts, "Fewer divisions and roots, a shorter polynomial or a table would make it faster."),
    )


def lower_ceiling(facts: Facts) -> Sentences:
    """Nearer to the compute roof than to memory: the lowest measured ceiling that it is not above."""
    if not facts.compute_leads:
        return ()
    known = ceilings(facts)
    lowest = lowest_above(facts, known, _possible(facts))
    if lowest is None:
        return (
            f"It makes {facts.made} of the compute roof, more than each lower ceiling allows{_unread(facts)}.",
            climb(facts, BLOCK_ENDS if facts.placement.kernel.family == "dense" else LOADS_BESIDE),
        )
    if (facts.placement.compute_share or 0.0) < EXPLAINS * lowest.share:
        return ()
    kind = {
        "scalar": "scalar code",
        "narrow": f"{lowest.width} vectors",
        "unfused": "no fused multiply-adds",
        "chains": "1 chain" if lowest.roof.accumulators == 1 else f"{lowest.roof.accumulators} chains",
        "own": f"{lowest.roof.instructions} alone",
    }[lowest.kind]
    return (
        f"It makes {facts.made} of the roof; the lowest measured ceiling above that is {kind}, "
        f"{lowest.text}{_unread(facts)}.",
        climb(facts, OTHER_LIBRARY if facts.placement.code.status == "library" else _CEILING_WAYS[lowest.kind]),
    )


def far_below(facts: Facts) -> Sentences:
    """Far below both roofs, and no measured ceiling explains it."""
    placement = facts.placement
    shares = [
        f"{percent(share)} of the {what} roof"
        for what, share in (("compute", placement.compute_share), ("memory", placement.memory_share))
        if share is not None
    ]
    if facts.row_bytes:
        return (
            f"It makes {' and '.join(shares)}: it reads random rows of {size(facts.row_bytes)} each, and no measured "
            "ceiling explains its rate.",
            renumber(facts),
        )
    if placement.kernel.limit == "gather":
        return (
            f"It makes {' and '.join(shares)}: it reads single elements through an index, each of which may bring a "
            "whole line, more than is counted, and wait for it.",
            renumber(facts),
        )
    return (
        f"It makes {' and '.join(shares)}, and no measured ceiling explains that{_unread(facts)}.",
        climb(facts, "Look for steps that wait for each other, calls in the inner loop, page walks and idle threads."),
    )


def _held_by(facts: Facts, ceiling: Ceiling) -> bool:
    """Whether a ceiling that a kernel is known to be under can be what holds it: it is near it.

    One far above what the kernel makes is no cause, for a higher one would leave it where it is.
    """
    return (facts.placement.compute_share or 0.0) >= EXPLAINS * ceiling.share


def _possible(facts: Facts) -> tuple[Kind, ...]:
    """Return the kinds of ceiling that the code does not rule out: what was read is as wide and fused as the roof."""
    read = facts.found.get("vector_bits", 0) > 0 or facts.placement.code.status == "verified"
    return ("chains", "own") if read else ("scalar", "narrow", "unfused", "chains", "own")


def _unread(facts: Facts) -> str:
    return "; its code is another library's and was not read" if facts.placement.code.status == "library" else ""
