"""Ceilings below the compute roof: scalar, narrower vectors, no fused multiply-adds, few chains, its own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ert.roofline.formulas import ELEMENT_BYTES
from ert.roofline.model import ComputeRoof, Team
from ert.roofline.placing.facts import Facts
from ert.roofline.quantities import operation, percent, rate, width

Kind = Literal["scalar", "narrow", "unfused", "chains", "own"]

SAME = 0.97
"""A ceiling with this share of the roof limits nothing: two measurements differ by as much."""

UNFUSED = "mul_add_unfused"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One ceiling, and its share of the roof as its own team reaches it.

    Most ceilings are measured with the smallest team only. They are not scaled to others: what is compared is the share
    of the roof, and the text says with which team it was found.
    """

    kind: Kind
    roof: ComputeRoof
    share: float
    elsewhere: bool

    @property
    def text(self) -> str:
        """Share and rate: ``"25.1 % of the roof (14.7 GFLOP/s with 1 thread)"``."""
        with_team = f" with {self.roof.team.label}" if self.elsewhere else ""
        height = rate(self.roof.rate.best, operation(self.roof.precision))
        return f"{percent(self.share)} of the roof ({height}{with_team})"

    @property
    def width(self) -> str:
        """``"scalar"``, ``"256-bit"``."""
        return width(self.roof.vector_bits, self.roof.precision)


def ceilings(facts: Facts) -> tuple[Ceiling, ...]:
    """Return the ceilings of a kernel's compute roof, low to high; each kind of its own arithmetic where measured.

    Of a ceiling that was measured with several teams the kernel's own counts, else that of the smallest.
    """
    reference = facts.placement.compute_roof
    if reference is None:
        return ()
    precision = reference.precision
    usual = facts.headline(precision, reference.team)
    pure = usual.instructions if usual else reference.instructions
    found: dict[tuple[object, ...], Ceiling] = {}
    teams = sorted({roof.team for roof in facts.roofline.compute}, key=lambda t: (t != facts.team, t.threads, t.name))
    for team in teams:
        peak = _best(facts.roofline.compute, team, precision, reference.instructions)
        if peak is None:
            continue
        for roof in facts.roofline.compute:
            if (roof.team, roof.precision) != (team, precision) or not roof.verified:
                continue
            kind = _kind(roof, reference, pure, facts.placement.kernel.instructions)
            share = roof.rate.best / peak.rate.best
            if kind and share < SAME:
                key = (kind, roof.instructions, roof.vector_bits, roof.accumulators if roof.few_chains else 0)
                found.setdefault(key, Ceiling(kind, roof, share, team != facts.team))
    # Where the kernel's own kind of arithmetic was measured in this way, multiply-adds say nothing better.
    own = {ceiling.kind for ceiling in found.values() if ceiling.roof.instructions == reference.instructions}
    kept = [
        ceiling
        for ceiling in found.values()
        if ceiling.kind not in own or ceiling.roof.instructions == reference.instructions
    ]
    return tuple(sorted(kept, key=lambda ceiling: ceiling.share))


def _best(roofs: Sequence[ComputeRoof], team: Team, precision: str, instructions: str) -> ComputeRoof | None:
    mine = [r for r in roofs if (r.team, r.precision, r.instructions) == (team, precision, instructions)]
    return max((r for r in mine if r.verified and not r.few_chains), key=lambda roof: roof.rate.best, default=None)


def _kind(roof: ComputeRoof, reference: ComputeRoof, pure: str, own: str) -> Kind | None:
    if roof.instructions in (reference.instructions, pure):
        if roof.few_chains:
            return "chains"
        if roof.vector_bits == 8 * ELEMENT_BYTES.get(roof.precision, 0):
            return "scalar"
        return "narrow" if roof.vector_bits < reference.vector_bits else None
    if roof.few_chains:
        return None
    if roof.instructions == own:
        return "own"
    return "unfused" if roof.instructions == UNFUSED else None


def shown_by_code(facts: Facts, known: Sequence[Ceiling]) -> Ceiling | None:
    """Return the ceiling that the code of a kernel proves it to be under; None without one, or if it was not read.

    The width of its vectors first, then whether it has multiply-adds that are not fused.
    """
    found = facts.found
    bits = found.get("vector_bits", 0)
    for ceiling in known:
        if ceiling.kind in ("scalar", "narrow") and ceiling.roof.vector_bits == bits:
            return ceiling
    separate = found.get("mul", 0) > 0 and found.get("add", 0) > 0 and not found.get("fma", 0)
    return next((c for c in known if c.kind == "unfused"), None) if separate else None


def lowest_above(facts: Facts, known: Sequence[Ceiling], kinds: Sequence[Kind]) -> Ceiling | None:
    """Return the lowest ceiling of some kinds that a kernel is not above."""
    mine = facts.placement.compute_share
    if mine is None:
        return None
    return next((c for c in known if c.kind in kinds and c.share * (2 - SAME) >= mine), None)
