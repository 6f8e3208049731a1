"""Choices before the sweep proper, with one thread of each kind of core: how many chains, and how wide vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ert.measure import plan
from ert.measure.sampling import Instrument, Visit, visit
from ert.measure.teams import kinds_of
from ert.measure.visits import Visits, describe
from ert.roofline.fitting.fit import rates
from ert.roofline.model import Case, Host, Measurement, Team

Widths = Mapping[tuple[str, str], int]
"""Vector width by level and access mix."""

PREPASS = Visit(samples=1, target=2e-3)
"""A choice needs no more than to be seldom wrong by much: short samples, several times in turn."""

CHOICE_BYTES = 16 << 10
"""Working set at which the width of the bandwidth curve is chosen: inside the L1 of every core."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the pre-passes found for one kind of core.

    Attributes
    ----------
    accumulators : mapping of int to int
        Chains by vector width.
    load_bits : int
        Width of the bandwidth curve.
    """

    accumulators: Mapping[int, int]
    load_bits: int


class Choices:
    """Makes the choices of one sweep; nothing of what it measures is stored.

    Parameters
    ----------
    instrument : Instrument
        What measures.
    visits : Visits
        Told of every candidate; what an interrupted sweep measured already stands for the choice that it made.
    host : Host
        Tells the kinds of core.
    effort : Effort
        How much is tried.
    elapsed : callable
        Seconds since the start.
    vector_bits : sequence of int
        Widths of vector of this CPU.
    precisions : mapping of str to sequence of int
        Those with multiply-adds or the like, and the widths that the CPU works on each at.
    registers, fma
        Of the CPU.
    """

    def __init__(
        self,
        instrument: Instrument,
        visits: Visits,
        host: Host,
        effort: plan.Effort,
        elapsed: Callable[[], float],
        *,
        vector_bits: Sequence[int],
        precisions: Mapping[str, Sequence[int]],
        registers: int,
        fma: bool,
    ) -> None:
        self._instrument, self._visits, self._host, self._elapsed = instrument, visits, host, elapsed
        self._effort, self._vector_bits, self._precisions = effort, tuple(vector_bits), dict(precisions)
        self._registers, self._fma = registers, fma
        self._earlier = tuple(visits.earlier.values())
        self._mix_widths: dict[str, dict[tuple[str, str], int]] = {}

    def compute(self, leader: Team) -> Chosen:
        """Choose for the kind of core of a single thread."""
        kind = self._kind(leader)
        earlier = [m for m in self._earlier if kinds_of(self._host, m.case.team) == (kind,)]
        accumulators: dict[int, int] = {}
        for precision, every in self._precisions.items():
            usual = plan.instruction_of(precision, self._fma)
            candidates = plan.chain_candidates(leader, precision, every, self._registers, self._fma)
            for bits, cases in candidates.items():
                # Ceilings of few chains are no choice that was made.
                known = [
                    m.case.accumulators
                    for m in earlier
                    if m.case.probe == "compute" and (m.case.instructions, m.case.vector_bits) == (usual, bits)
                ]
                if bits not in accumulators:
                    accumulators[bits] = max(known) if known else self._best(cases).accumulators
        curve = [m.case for m in earlier if m.case.probe == "memory" and not m.case.level]
        if curve:
            return Chosen(accumulators, curve[0].vector_bits)
        loads = [plan.curve_cases(leader, [CHOICE_BYTES], bits)[0] for bits in self._vector_bits]
        return Chosen(accumulators, self._best(loads).vector_bits)

    def widths(self, team: Team, sizes: Mapping[str, int]) -> Widths:
        """Choose for the kind of core of a team's leader at each level, by the working sets that stand for them."""
        kind = self._kind(team)
        widths = self._mix_widths.setdefault(kind, {})
        known = {
            (m.case.level, m.case.mix): m.case.vector_bits
            for m in self._earlier
            if m.case.level and self._kind(m.case.team) == kind
        }
        leader = Team("one", team.cpus[:1], 1)
        for level, size in sizes.items():
            for mix in plan.mixes_of(level, self._fma):
                if (level, mix) not in widths:
                    choices = self._vector_bits[-self._effort.widest :]
                    cases = [plan.memory_case(leader, level, mix, size, bits) for bits in choices]
                    widths[level, mix] = known.get((level, mix)) or self._best(cases).vector_bits
        return widths

    def _kind(self, team: Team) -> str:
        return kinds_of(self._host, team)[0]

    def _best(self, cases: Sequence[Case]) -> Case:
        """Return the case with the fastest sample; nothing of this is stored."""
        tried = {}
        for case in cases:
            self._visits.choosing(describe(case))
            work, code = self._instrument.describe(case)
            tried[case] = Measurement(case, work, code)
        if len(cases) == 1:
            return cases[0]
        for turn in range(self._effort.turns):
            for case in cases:
                tried[case] = visit(self._instrument, tried[case], turn, PREPASS, self._elapsed)
        fair = [m for m in tried.values() if m.sound] or [m for m in tried.values() if m.valid]
        if not fair:
            return cases[-1]
        return max(fair, key=lambda m: rates(m, m.work.flop or m.work.program_bytes).best).case
