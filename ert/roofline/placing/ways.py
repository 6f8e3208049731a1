"""What to do about it: the sentence of advice that follows the one on what limits an application kernel."""

from __future__ import annotations

import math

from ert.roofline.formulas import ELEMENT_BYTES
from ert.roofline.model import MEMORY
from ert.roofline.placing.ceilings import Ceiling
from ert.roofline.placing.facts import FASTER, Facts
from ert.roofline.placing.placement import Placement, same_problem
from ert.roofline.quantities import article, number, operation, percent, rate, seconds, size

EXCESS = 1.1
"""Traffic from which on it is more than compulsory: less is edges and alignment."""

FEWER_BYTES = {
    "stream": "fuse it with the loop before or after",
    "vector": "fuse it with the operation before or after",
    "dense": "use each byte more often, with larger blocks or more vectors at a time",
    "sparse": "use a format with fewer bytes for each non-zero: shorter indices, blocks, shorter values",
    "stencil": "block over time steps, so that a loaded point serves several",
    "convolution": "use each loaded point for more output channels",
    "spectral": "do more of the passes while the data are in cache, or fuse what comes before and after",
    "neural": "fuse it with the operators around it, or do more of a batch at a time",
}
"""How kernels of a family do the same work on fewer bytes."""

FEWER_BYTES_ELSE = "fuse it with its neighbours or block it"

LOWER = {"fp64": ("fp32",), "fp32": ("bf16", "fp16"), "fp16": ("int8",), "bf16": ("int8",)}
"""Shorter elements that the same work may be done in, if its accuracy allows."""


def fewer_bytes(facts: Facts) -> str:
    """Say how a kernel at its memory roof can do with fewer bytes, or reach a higher roof; the surest way first."""
    return without_allocation(facts) or to_compulsory(facts) or larger_batch(facts) or more_threads(facts) or (
        other_work(facts)
    )  # fmt: skip


def without_allocation(facts: Facts) -> str:
    """Non-temporal stores, where their measured roof promises more than ordinary ones."""
    placement = facts.placement
    work, slope = placement.work, facts.best_slope
    if slope is None or placement.level != MEMORY or not work.allocate_bytes:
        return ""
    other = facts.memory(placement.level, f"{slope.mix}_nt", facts.team)
    if other is None:
        return ""
    gain = (work.traffic_bytes(placement.level) / slope.rate.best) / (work.program_bytes / other.rate.best)
    if gain < FASTER:
        return ""
    part = work.allocate_bytes / work.traffic_bytes(placement.level)
    return (
        f"Non-temporal stores spare the write-allocate read, {percent(part)} of its modelled traffic: by the "
        f"{other.name} roof ({rate(other.rate.best, 'B')}) they allow {number(gain)} times the speed."
    )


def to_compulsory(facts: Facts) -> str:
    """Blocking, where much more is moved than each datum once."""
    work = facts.placement.work
    traffic, least = work.traffic_bytes(facts.placement.level), work.compulsory_bytes
    # What write-allocate adds is not won by blocking.
    excess = (traffic - work.allocate_bytes) / least if least else 0.0
    if excess < EXCESS:
        return ""
    return (
        f"It moves each datum {number(excess)} times (modelled): block or reorder it so that data are used again "
        "before they leave the cache."
    )


def larger_batch(facts: Facts) -> str:
    """The batch that meets the ridge, where the work on each byte grows with a batch."""
    placement, ridge = facts.placement, facts.ridge
    batch = dict(placement.case.parameters).get("batch")
    if not isinstance(batch, int) or ridge is None or not placement.intensity or ridge <= placement.intensity:
        return ""
    times = ridge / placement.intensity
    return (
        f"Its intensity of {number(placement.intensity)} FLOP/byte grows with the batch of {batch} and meets the ridge "
        f"point ({number(ridge)} FLOP/byte{facts.then}) at a batch of about {math.ceil(batch * times)}."
    )


def more_threads(facts: Facts) -> str:
    """A larger team, where its roof is higher."""
    found = facts.faster_team()
    if found is None:
        return ""
    team, times = found
    level = facts.placement.level
    return f"{team.label} have {article(level)} {level} roof {number(times)} times as high."


def other_work(facts: Facts) -> str:
    """What kernels of its family do, and how far it is from the ridge point."""
    placement, ridge = facts.placement, facts.ridge
    way = FEWER_BYTES.get(placement.kernel.family, FEWER_BYTES_ELSE)
    shorter = _shorter(facts)
    if shorter and placement.intensity:
        way += f", or store {shorter} in place of {placement.case.precision}"
    if ridge is not None and placement.intensity:
        times = number(ridge / placement.intensity)
        return (
            f"The ridge point ({number(ridge)} FLOP/byte{facts.then}) is at {times} times its intensity "
            f"({number(placement.intensity)} FLOP/byte): {way}."
        )
    return f"{way[0].upper()}{way[1:]}."


def fewer_operations(facts: Facts) -> str:
    """Shorter elements or more threads, where their compute roof is higher."""
    placement, peak = facts.placement, facts.placement.compute_roof
    shorter = _shorter(facts)
    other = facts.headline(shorter, facts.team) if shorter else None
    if peak is None:
        return ""
    if other and other.rate.best > FASTER * peak.rate.best:
        times = number(other.rate.best / peak.rate.best)
        return f"{shorter} has a roof {times} times as high ({rate(other.rate.best, operation(other.precision))})."
    same = (r for r in facts.roofline.compute if r.headline and r.precision == placement.case.precision)
    best = max(same, key=lambda roof: roof.rate.best, default=peak)
    if best.rate.best > FASTER * peak.rate.best:
        return f"{best.team.label} have a roof {number(best.rate.best / peak.rate.best)} times as high."
    return "An algorithm with fewer operations is what is left."


def _shorter(facts: Facts) -> str:
    """Return the next shorter precision whose compute roof was measured for this team; empty if there is none."""
    return next((p for p in LOWER.get(facts.placement.case.precision, ()) if facts.headline(p, facts.team)), "")


def climb(facts: Facts, otherwise: str) -> str:
    """Say what the next faster rung of the ladder does; `otherwise` where there is none."""
    found = facts.next_rung()
    if found is None:
        return otherwise
    return _told(facts, *found)


def rung_with_fewer_bytes(facts: Facts) -> str:
    """Say what the next faster rung of the ladder does where it moves fewer bytes for the same work; else nothing."""
    found = facts.next_rung()
    mine = facts.placement.intensity
    if found is None or not mine or not found[0].intensity or found[0].intensity < EXCESS * mine:
        return ""
    return _told(facts, *found, f" with {number(mine / found[0].intensity)} times the bytes for each operation")


def _told(facts: Facts, rung: Placement, times: float, how: str = "") -> str:
    name, taken = f"The next faster rung of the ladder, {rung.kernel.title},", seconds(rung.seconds)
    if same_problem(rung, facts.placement):
        return f"{name} takes {taken}{how}: {number(times)} times as fast."
    at = ", ".join(filter(None, (rung.size, rung.level)))
    return f"{name} makes {number(times)} times the {operation(rung.case.precision)}/s{how}, at {at} ({taken})."


def next_ceiling(facts: Facts, below: Ceiling, known: tuple[Ceiling, ...]) -> str:
    """Say what wider vectors reach, or that the width is no accident."""
    slope = facts.placement.memory_roof
    if facts.placement.kernel.implementation == "explicit vectors":
        same = slope is not None and slope.vector_bits == below.roof.vector_bits
        return f"That width was chosen: it is the one of the {slope.name} roof." if slope and same else (
            "That width was chosen, not left to a compiler."
        )  # fmt: skip
    wider = [
        c for c in known if c.kind == "narrow" and c.roof.vector_bits > below.roof.vector_bits and c.share > below.share
    ]
    if wider:
        return f"Vectorise it: {wider[0].width} vectors reach {wider[0].text}."
    peak = facts.placement.compute_roof
    bits = peak.vector_bits if peak else 8 * ELEMENT_BYTES.get(below.roof.precision, 0)
    return f"Vectorise it: {bits}-bit vectors reach the roof."


def renumber(facts: Facts) -> str:
    """Say how to bring together what is read through an index."""
    nearer = facts.nearer()
    room = f", or block it so that what is gathered stays in {nearer[0]} ({size(nearer[1])})" if nearer else ""
    if facts.row_bytes:
        return f"Sort the indices, so that a row that is needed again is still in cache{room}, or shorten the rows."
    return f"Renumber or sort it so that neighbours share lines{room}."
