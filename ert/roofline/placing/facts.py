"""What advice on an application kernel looks at: its placement, the roofs around it, and the kernels beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ert.roofline.fitting.statistics import ABOVE_ROOF
from ert.roofline.formulas import ELEMENT_BYTES
from ert.roofline.model import ComputeRoof, MemoryRoof, RandomAccess, Roofline, Team, Work
from ert.roofline.placing.applies import is_roof, moves_its_own, shares
from ert.roofline.placing.placement import Placement, same_problem
from ert.roofline.quantities import percent, rate

FASTER = 1.05
"""What promises less than this is not worth advice: roofs measured on a busy machine repeat no better."""

APART = 0.05
"""Shares of reads and writes that differ by this are another mix: a core may move it at another rate."""

Sentences = tuple[str, ...]
"""What a rule says; nothing where it does not apply. Empty sentences are left out."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A placement without advice, the roofline it lies under, all placements of the results, works of the mixes."""

    placement: Placement
    roofline: Roofline
    others: Sequence[Placement] = ()
    mixes: Mapping[str, Work] = field(default_factory=dict)

    @property
    def team(self) -> Team:
        """Who ran it."""
        return self.placement.case.team

    @property
    def efficiency(self) -> float:
        """Its efficiency; 0 where it is unknown."""
        return self.placement.efficiency or 0.0

    @property
    def found(self) -> dict[str, int]:
        """What its innermost loop was seen to contain; empty where the code was not read."""
        return dict(self.placement.code.found)

    @property
    def then(self) -> str:
        """``" at that time"`` behind the rate of a memory roof that counts as it was beside the kernel."""
        return " at that time" if self.placement.beside else ""

    @property
    def slope_text(self) -> str:
        """Rate of the memory roof: ``"35.3 GB/s"``, ``"28.4 GB/s at that time"``; empty without one."""
        slope = self.placement.memory_roof
        return f"{rate(slope.rate.best, 'B')}{self.then}" if slope else ""

    @property
    def best_slope(self) -> MemoryRoof | None:
        """The memory roof at its best, to compare with other roofs, which are at theirs."""
        slope = self.placement.memory_roof
        if slope is None or not self.placement.beside:
            return slope
        return next((roof for roof in self.roofline.memory if is_roof(slope, roof)), slope)

    @property
    def row_bytes(self) -> int:
        """Bytes of each row that a kernel gathers; 0 where it gathers single elements, or nothing."""
        dimensions = dict(self.placement.case.parameters).get("dimensions")
        gathers = self.placement.kernel.limit == "gather" and isinstance(dimensions, int)
        return int(dimensions or 0) * ELEMENT_BYTES.get(self.placement.case.precision, 0) if gathers else 0

    @property
    def other_mix(self) -> tuple[float, float] | None:
        """Parts of the traffic that the kernel and the mix of its memory roof read, where their shares differ."""
        placement, slope = self.placement, self.placement.memory_roof
        if slope is None or slope.mix not in self.mixes or not moves_its_own(placement.work, placement.level):
            return None
        mine, its = shares(placement.work, placement.level), shares(self.mixes[slope.mix], placement.level)
        if mine is None or its is None or max(abs(a - b) for a, b in zip(mine, its, strict=True)) < APART:
            return None
        return mine[0] + mine[2], its[0] + its[2]

    @property
    def ridge(self) -> float | None:
        """Intensity in FLOP/byte at which the two roofs that apply meet; None where one is not known."""
        peak, slope = self.placement.compute_roof, self.placement.memory_roof
        return peak.rate.best / slope.rate.best if peak and slope else None

    def memory(self, level: str, mix: str, team: Team) -> MemoryRoof | None:
        """Return the verified roof of a level, mix and team: counted in traffic bytes where that is another number."""
        found = [r for r in self.roofline.memory if (r.level, r.mix, r.team) == (level, mix, team) and r.verified]
        return max(found, key=lambda roof: (roof.bytes_counted == "traffic", roof.rate.best), default=None)

    def headline(self, precision: str, team: Team) -> ComputeRoof | None:
        """Return the headline compute roof of a precision and team."""
        roofs = self.roofline.compute
        return next((r for r in roofs if r.headline and (r.precision, r.team) == (precision, team)), None)

    def mixed_roof(self) -> ComputeRoof | None:
        """Return the best mix of instructions that is above the headline roof of this precision and team."""
        precision = self.placement.case.precision
        found = [r for r in self.roofline.compute if r.above and (r.precision, r.team) == (precision, self.team)]
        return max(found, key=lambda roof: roof.rate.best, default=None)

    def random_access(self, level: str) -> RandomAccess | None:
        """Return the random-access roof of a level for this team."""
        found = self.roofline.random_access
        return next((r for r in found if r.headline and (r.level, r.team) == (level, self.team)), None)

    def cost(self, kind: str) -> float | None:
        """Return the seconds that a barrier, or the start of this team, takes at least."""
        found = [o for o in self.roofline.overheads if (o.kind, o.team) == (kind, self.team) and o.rate.best > 0]
        return min((overhead.seconds for overhead in found), default=None)

    def nearer(self) -> tuple[str, float] | None:
        """Return the cache before the level of the data, and its effective capacity in bytes of one thread."""
        for curve in self.roofline.curves:
            names = [plateau.name for plateau in curve.plateaus]
            if curve.team == self.team and self.placement.level in names[1:]:
                before = curve.plateaus[names.index(self.placement.level) - 1]
                return (before.name, before.capacity) if before.capacity else None
        return None

    def faster_team(self) -> tuple[Team, float] | None:
        """Return the team whose roof for this level and mix is the highest, and how many times as high; None if own."""
        slope = self.best_slope
        if slope is None:
            return None
        teams = [team for team in self.roofline.usual_teams if team.threads > self.team.threads]
        roofs = [roof for team in teams if (roof := self.memory(slope.level, slope.mix, team))]
        best = max(roofs, key=lambda roof: roof.rate.best, default=None)
        if best is None or best.rate.best < FASTER * slope.rate.best:
            return None
        return best.team, best.rate.best / slope.rate.best

    def next_rung(self) -> tuple[Placement, float] | None:
        """Return the next rung of its ladder that has a higher FLOP rate, and how many times as high.

        One that solves the same problem, if there is any: only then it is as many times as fast. Otherwise one whose
        data live in the same level.
        """
        mine = self.placement
        if not mine.kernel.ladder or mine.flop_rate is None:
            return None
        above = [
            p
            for p in self.others
            if p.kernel.ladder == mine.kernel.ladder
            and (p.case.team, p.case.precision) == (mine.case.team, mine.case.precision)
            and p.level == mine.level
            and p.kernel.rung > mine.kernel.rung
            and p.flop_rate is not None
            and p.flop_rate.best > FASTER * mine.flop_rate.best
        ]
        chosen = min(above, key=lambda p: (not same_problem(p, mine), p.kernel.rung), default=None)
        if chosen is None or chosen.flop_rate is None:
            return None
        return chosen, chosen.flop_rate.best / mine.flop_rate.best

    @property
    def compute_leads(self) -> bool:
        """Whether it is nearer to its compute roof than to its memory roof."""
        share = self.placement.compute_share
        return share is not None and share > (self.placement.memory_share or 0.0)

    @property
    def made(self) -> str:
        """Its share of the compute roof, as text."""
        return percent(self.placement.compute_share or 0.0)

    def is_above(self) -> bool:
        """Whether it is faster than its roof by more than two measurements differ."""
        return self.efficiency > ABOVE_ROOF
