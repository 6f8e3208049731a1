"""The sweep itself: pre-passes that make the choices, then rounds over all cases. Works on any instrument."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ert.measure import irregular, kernels, plan
from ert.measure.plan import NEAR_PEAK, Settings
from ert.measure.sampling import Instrument, Visit, visit
from ert.measure.visits import Listener, Recorder, Visits, describe
from ert.roofline.caches import cache_capacities
from ert.roofline.fit import curve_measurements, fit, rates
from ert.roofline.levels import find_plateaus
from ert.roofline.model import Case, Condition, Host, Measurement, Plateau, Results, Seconds, Team, Toolchain

PREPASS = Visit(samples=1, target=2e-3)
"""A choice needs no more than to be seldom wrong by much: short samples, several times in turn."""


CHOICE_BYTES = 16 << 10
"""Working set at which the width of the bandwidth curve is chosen: inside the L1 of every core."""

CURVE_ROUNDS = 2
"""Rounds of the bandwidth curve before the levels are looked for in it, so that no single slow spell decides."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the pre-passes found for one sweep.

    Attributes
    ----------
    accumulators : mapping of int to int
        Chains by vector width.
    load_bits : int
        Width of the bandwidth curve.
    """

    accumulators: Mapping[int, int]
    load_bits: int


class Campaign:
    """One sweep.

    Parameters
    ----------
    instrument : Instrument
        What measures.
    host, toolchain
        Stored with the result; the host's caches are the prior of the fit.
    teams : sequence of Team
        Who measures.
    largest : mapping of Team to int
        Largest working set of one thread of each team, in bytes.
    settings : Settings
        What to measure.
    registers, fma
        Vector registers that code can name, and whether a multiply-add is one instruction.
    started : str
        UTC of the start.
    elapsed : callable
        Seconds since the start.
    recorder, listener
        Told of everything as it happens.
    earlier : sequence of Measurement
        What an interrupted sweep measured already.
    notes : sequence of str
        Stored with the result.
    conditions : sequence of Condition
        The machine at the start; stored with the result.
    absent : sequence of (str, str)
        What cannot be measured here, and what it would need; stored with the result.
    widths : mapping of str to sequence of int, optional
        Vector widths at which the CPU works on each precision. Without it, fp64 and fp32 at those of the toolchain.
    expected_seconds : float
        For the listener, until the number of visits is known.
    scaling : mapping of Team to int
        Teams of other sizes whose bandwidth is measured, and the largest working set of one thread of each, in bytes.
    wish : Wish, optional
        Which application kernels; without it, none.
    kernel_memory : int
        Bytes that the data of one kernel may take.
    """

    def __init__(
        self,
        instrument: Instrument,
        host: Host,
        toolchain: Toolchain,
        teams: Sequence[Team],
        largest: Mapping[Team, int],
        settings: Settings,
        *,
        registers: int,
        fma: bool,
        started: str,
        elapsed: Callable[[], float],
        recorder: Recorder,
        listener: Listener,
        earlier: Sequence[Measurement] = (),
        notes: Sequence[str] = (),
        conditions: Sequence[Condition] = (),
        absent: Sequence[tuple[str, str]] = (),
        widths: Mapping[str, Sequence[int]] | None = None,
        expected_seconds: float = 0.0,
        scaling: Mapping[Team, int] | None = None,
        wish: kernels.Wish | None = None,
        kernel_memory: int = 0,
    ) -> None:
        self._instrument, self._elapsed = instrument, elapsed
        self._host, self._toolchain = host, toolchain
        self._teams, self._largest, self._settings = tuple(teams), largest, settings
        self._registers, self._fma = registers, fma
        self._started = started
        self._effort = plan.effort(settings.effort)
        if widths is None:
            widths = {name: toolchain.vector_bits or (plan.scalar_bits(name),) for name in ("fp64", "fp32")}
        self._widths = {name: widths[name] for name in plan.precisions(settings.precisions) if name in widths}
        self._ordinary = [name for name in self._widths if not plan.is_dot(name)]
        self._absent = tuple(absent)
        self._earlier = {measurement.case: measurement for measurement in earlier}
        self._visits = Visits(instrument, recorder, listener, elapsed, self._earlier, expected_seconds)
        self._notes, self._conditions = tuple(notes), tuple(conditions)
        self._scaling = dict(scaling or {})
        self._sparse = irregular.EFFORTS[settings.effort]
        self._wish, self._kernel_memory = wish, kernel_memory
        self._of_kernels = kernels.EFFORTS[settings.effort]
        self._later: Sequence[Case] = ()
        self._beside: kernels.Beside = {}

    # ------------------------------------------------------------------------------------------- the whole

    def run(self) -> None:
        """Measure everything. Whatever ends it early, :meth:`results` has what was measured until then."""
        for case in self._earlier:
            self._visits.introduce(case)
        groups = list(self._first_round())
        steps = sum(self._rounds(case) for group in groups for case in group)
        later = kernels.steps(self._later, self._beside, self._settings.effort)
        self._visits.announce(steps + later)
        order = random.Random(self._settings.seed)
        for number in range(1, self._effort.rounds):
            for group in groups:
                shuffled = list(group)
                order.shuffle(shuffled)
                self._round(number, shuffled)
        kernels.tour(self._visits, self._later, self._settings.effort, self._beside, self._effort.rounds)

    def results(self, *, complete: bool, seconds: Seconds) -> Results:
        """Return what has been measured so far."""
        return Results(
            started=self._started,
            host=self._host,
            toolchain=self._toolchain,
            measurements=tuple(self._visits.measured.values()),
            settings=self._settings.stored(),
            notes=self._notes,
            absent=self._absent,
            seconds=seconds,
            complete=complete,
            kernels=self._wish.kernels if self._wish else (),
            conditions=self._conditions,
        )

    def _first_round(self) -> Iterator[Sequence[Case]]:
        """Make the choices and visit every case once, so that an early stop leaves complete roofs."""
        chosen = self._choose_compute()
        for team in self._teams:
            yield self._round(
                0, plan.compute_cases(team, self._widths, chosen.accumulators, self._registers, self._fma)
            )
        levels: dict[Team, dict[str, int]] = {}
        curves = {
            team: plan.curve_cases(
                team, plan.curve_sizes(self._largest[team], self._effort.points_per_octave), chosen.load_bits
            )
            for team in self._teams
        }
        for number in range(min(CURVE_ROUNDS, self._effort.rounds)):
            for cases in curves.values():
                self._round(number, cases)
        yield from curves.values()
        for team in self._teams:
            levels[team] = plan.level_working_sets(
                self._plateaus(team), cache_capacities(self._host, team.cpus), self._largest[team]
            )
        widths = self._choose_widths(levels)
        for team in self._teams:
            for level, size in levels[team].items():
                mixes = plan.mixes_of(level, self._fma)
                yield self._round(0, [plan.memory_case(team, level, mix, size, widths[level, mix]) for mix in mixes])
        yield from self._ceilings(chosen)
        yield from self._irregular(levels, widths)
        if self._fma:
            yield from self._intensities(chosen, levels, widths)
        yield from self._kernels(levels, widths)

    def _intensities(
        self, chosen: Chosen, levels: Mapping[Team, Mapping[str, int]], widths: Mapping[tuple[str, str], int]
    ) -> Iterator[Sequence[Case]]:
        for team in self._teams:
            for precision in self._ordinary:
                bits = self._intensity_bits(precision, widths)
                for level, size in levels[team].items():
                    yield self._round(
                        0,
                        plan.intensity_cases(
                            team, precision, self._effort.multiply_adds, level, size, bits, chosen.accumulators[bits]
                        ),
                    )

    def _kernels(
        self, levels: Mapping[Team, Mapping[str, int]], widths: Mapping[tuple[str, str], int]
    ) -> Iterator[Sequence[Case]]:
        """Application kernels: an ordinary sweep runs a few of each family with the largest team, in its rounds."""
        if self._wish is None:
            return
        most = max(self._teams, key=lambda team: team.threads)
        grounds = [
            kernels.Ground(
                team,
                levels[team],
                {plateau.name: int(plateau.capacity) for plateau in self._plateaus(team) if plateau.capacity},
                widths,
                {precision: max(self._near_peak(precision)) for precision in self._ordinary},
                self._registers,
            )
            for team in self._teams
            if self._wish.everything or team == most
        ]
        chosen, absent = kernels.cases(self._wish, grounds, self._kernel_memory)
        self._absent = (*self._absent, *absent)
        so_far = self.results(complete=False, seconds=Seconds())
        self._beside = kernels.beside(chosen, so_far, fit(so_far), self._registers)
        if self._wish.everything:
            # So many data cannot be laid anew in each round.
            self._later = chosen
            return
        for group in kernels.in_order(chosen):
            yield self._round(0, group)

    def _irregular(
        self, levels: Mapping[Team, Mapping[str, int]], widths: Mapping[tuple[str, str], int]
    ) -> Iterator[Sequence[Case]]:
        """Latency, concurrency, irregular access, scaling and overhead; in groups that lay their data once."""
        least, most = (choose(self._teams, key=lambda team: team.threads) for choose in (min, max))
        one = irregular.leader(least)
        for cases in irregular.latency_curve_cases(one, self._largest[least], self._sparse):
            yield self._round(0, cases)
        yield self._round(0, irregular.in_page_cases(one, levels[least]))
        for team in self._teams:
            for level, size in levels[team].items():
                yield self._round(0, irregular.random_access_cases(team, level, size, self._registers, self._sparse))
                yield self._round(0, irregular.stride_cases(team, level, size, self._sparse))
                for case in irregular.gather_cases(team, level, size):
                    yield self._round(0, (case,))
            yield self._round(0, irregular.overhead_cases(team))
        for team, size in self._scaling.items():
            yield self._round(0, irregular.scaling_cases(team, levels[most], widths, size))

    def _ceilings(self, chosen: Chosen) -> Iterator[Sequence[Case]]:
        """Visit what lies under the compute roofs and beside them: other instructions, mixes, and few chains.

        Mixes are measured by every team. Most others belong to a core and not to how many there are, so the smallest
        team stands for all.
        """
        least, most = (choose(self._teams, key=lambda team: team.threads) for choose in (min, max))
        for precision in self._widths:
            near = self._near_peak(precision)
            bits = max(near)
            if plan.is_dot(precision):
                chains = plan.DOT_CHAINS[self._registers]
            else:
                chains = chosen.accumulators.get(bits, min(chosen.accumulators.values()))
                singles = plan.instruction_cases(least, precision, bits, chains, self._registers, self._fma)
                yield self._round(0, singles)
                # Additions and multiplications alone are roofs of kernels too, so all threads do them as well.
                yield self._round(0, plan.with_team(singles, most, ("add", "mul")) if most != least else ())
            yield self._round(0, plan.chain_cases(least, precision, bits, chains, self._effort.chains, self._fma))
            if self._fma and not plan.is_dot(precision):
                for width in near if self._effort.every_width else [bits]:
                    number = chosen.accumulators.get(width, chains)
                    for team in self._teams:
                        yield self._round(0, plan.mix_cases(team, precision, width, number, self._registers))

    # ----------------------------------------------------------------------------------------- the choices

    def _choose_compute(self) -> Chosen:
        team = self._teams[0]
        leader = replace(team, name="one", cpus=team.cpus[:1], cores=1)
        accumulators: dict[int, int] = {}
        for precision in self._ordinary:
            usual = plan.instruction_of(precision, self._fma)
            candidates = plan.chain_candidates(leader, precision, self._widths[precision], self._registers, self._fma)
            for bits, cases in candidates.items():
                # Ceilings of few chains are no choice that was made.
                known = [
                    m.case.accumulators
                    for m in self._earlier.values()
                    if m.case.probe == "compute" and (m.case.instructions, m.case.vector_bits) == (usual, bits)
                ]
                if bits not in accumulators:
                    accumulators[bits] = max(known) if known else self._best(cases).accumulators
        widths = self._toolchain.vector_bits or (64,)
        curve = [m.case for m in self._earlier.values() if m.case.probe == "memory" and not m.case.level]
        if curve:
            return Chosen(accumulators, curve[0].vector_bits)
        loads = [plan.curve_cases(leader, [CHOICE_BYTES], bits)[0] for bits in widths]
        return Chosen(accumulators, self._best(loads).vector_bits)

    def _choose_widths(self, levels: Mapping[Team, Mapping[str, int]]) -> dict[tuple[str, str], int]:
        """Return the vector width of each level and mix, found with one thread."""
        widths: dict[tuple[str, str], int] = {}
        known = {(m.case.level, m.case.mix): m.case.vector_bits for m in self._earlier.values() if m.case.level}
        for team, sizes in levels.items():
            leader = replace(team, name="one", cpus=team.cpus[:1], cores=1)
            for level, size in sizes.items():
                for mix in plan.mixes_of(level, self._fma):
                    if (level, mix) in widths:
                        continue
                    choices = (self._toolchain.vector_bits or (64,))[-self._effort.widest :]
                    cases = [plan.memory_case(leader, level, mix, size, bits) for bits in choices]
                    widths[level, mix] = known.get((level, mix)) or self._best(cases).vector_bits
        return widths

    def _near_peak(self, precision: str) -> list[int]:
        """Return the widths that reach the peak of a precision, or about."""
        usual = plan.instruction_of(precision, self._fma)
        peaks: dict[int, float] = {}
        for measurement in self._visits.measured.values():
            case = measurement.case
            if (case.probe, case.precision, case.instructions) == ("compute", precision, usual) and measurement.valid:
                rate = rates(measurement, measurement.work.flop).best / case.team.threads
                peaks[case.vector_bits] = max(rate, peaks.get(case.vector_bits, 0.0))
        best = max(peaks.values(), default=0.0)
        near = sorted(bits for bits, peak in peaks.items() if peak >= NEAR_PEAK * best)
        return near or [max(self._widths[precision])]

    def _intensity_bits(self, precision: str, widths: Mapping[tuple[str, str], int]) -> int:
        """Return the width of the intensity sweep: one that reaches the peak, and among those the best at loading."""
        near = self._near_peak(precision)
        favourite = widths.get(("L1", "load"), 0)
        return favourite if favourite in near else max(near)

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

    def _plateaus(self, team: Team) -> tuple[Plateau, ...]:
        chosen = curve_measurements(team, self._visits.measured.values())
        plateaus, _ = find_plateaus(
            [m.case.working_set for m in chosen],
            [[m.work.program_bytes * s.passes / s.seconds for s in m.samples] for m in chosen],
            declared=cache_capacities(self._host, team.cpus),
        )
        return plateaus

    # ------------------------------------------------------------------------------------------ the visits

    def _round(self, number: int, cases: Iterable[Case]) -> Sequence[Case]:
        cases = tuple(cases)
        due = [case for case in cases if number < self._rounds(case)]
        if due and due[0] in self._beside:
            self._visits.pairs(number, kernels.with_roof(due, self._beside), self._of_kernels.visit, number)
        else:
            self._visits.round(number, due, self._how)
        return cases

    def _rounds(self, case: Case) -> int:
        if case in self._beside:
            return self._of_kernels.rounds
        return self._sparse.rounds if case.probe in irregular.PROBES else self._effort.rounds

    def _how(self, case: Case) -> Visit:
        if case.probe in irregular.PROBES:
            return self._sparse.visit
        return Visit(self._effort.samples, self._effort.target)
