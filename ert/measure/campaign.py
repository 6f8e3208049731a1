"""The sweep itself: the choices, then rounds over all cases. Works on any instrument."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ert.measure import irregular, kernels, plan, tour
from ert.measure.choices import Choices, Chosen, Widths
from ert.measure.plan import NEAR_PEAK, Settings
from ert.measure.sampling import Instrument, Visit
from ert.measure.teams import Teams, kinds_of, node_of
from ert.measure.visits import Listener, Recorder, Visits
from ert.roofline import quantities
from ert.roofline.fitting.caches import BEYOND_CACHE, cache_capacities, cache_share
from ert.roofline.fitting.fit import curve_measurements, fit, rates
from ert.roofline.fitting.levels import find_plateaus
from ert.roofline.model import MEMORY, Case, Condition, Host, Measurement, Plateau, Results, Seconds, Team, Toolchain

STILL_CACHED = 1.25
"""Rate of a thread among others on what should be memory, over that of a single thread on it, from which it is not
memory: alone, a thread has all of its bandwidth to itself."""

CURVE_ROUNDS = 2
"""Rounds of the bandwidth curve before the levels are looked for in it, so that no single slow spell decides."""


class Campaign:
    """One sweep.

    Parameters
    ----------
    instrument : Instrument
        What measures.
    host, toolchain
        Stored with the result; the host's caches are the prior of the fit.
    teams : Teams
        Who measures what.
    largest : mapping of Team to int
        Largest working set of one thread of each team, in bytes; of a pair of NUMA nodes, the one in memory.
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
    room : mapping of Team to int, optional
        Working set of one thread that memory allows, in bytes, where a curve turns out to end inside the caches.
    """

    def __init__(
        self,
        instrument: Instrument,
        host: Host,
        toolchain: Toolchain,
        teams: Teams,
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
        room: Mapping[Team, int] | None = None,
    ) -> None:
        self._instrument, self._elapsed = instrument, elapsed
        self._host, self._toolchain = host, toolchain
        self._teams, self._extra, self._pairs = teams.usual, teams.extra, teams.pairs
        self._largest, self._settings = dict(largest), settings
        self._room = dict(room or {})
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
        self._choices = Choices(
            instrument, self._visits, host, self._effort, elapsed, vector_bits=toolchain.vector_bits or (64,),
            precisions={name: self._widths[name] for name in self._ordinary}, registers=registers, fma=fma,
        )  # fmt: skip
        self._later: Sequence[Case] = ()
        self._beside: tour.Beside = {}

    # ------------------------------------------------------------------------------------------- the whole

    def run(self) -> None:
        """Measure everything. Whatever ends it early, :meth:`results` has what was measured until then."""
        for case in self._earlier:
            self._visits.introduce(case)
        groups = list(self._first_round())
        steps = sum(self._rounds(case) for group in groups for case in group)
        later = tour.steps(self._later, self._beside, self._settings.effort)
        self._visits.announce(steps + later)
        order = random.Random(self._settings.seed)
        for number in range(1, self._effort.rounds):
            for group in groups:
                shuffled = list(group)
                order.shuffle(shuffled)
                self._round(number, shuffled)
        tour.run(self._visits, self._later, self._settings.effort, self._beside, self._effort.rounds)

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
        by_kind = {kind: self._choices.compute(leader) for kind, leader in self._leaders().items()}
        # Where kinds of core work together, the code of the fast one is that of all.
        chosen = by_kind[self._kind(self._teams[0])]
        levels: dict[Team, dict[str, int]] = {}
        yield from self._roofs(self._teams, by_kind, levels)
        widths = self._choices.widths(self._teams[0], levels[self._teams[0]])
        yield from self._ceilings(chosen)
        yield from self._roofs(self._extra, by_kind, levels)
        yield from self._irregular(levels, widths)
        yield from self._nodes(by_kind)
        if self._fma:
            yield from self._intensities(chosen, levels, widths)
        yield from self._kernels(levels, widths)

    def _roofs(
        self, teams: Sequence[Team], by_kind: Mapping[str, Chosen], levels: dict[Team, dict[str, int]]
    ) -> Iterator[Sequence[Case]]:
        """Visit what makes the roofs of some teams: arithmetic, bandwidth curves, mixes; fill in their levels."""
        for team in teams:
            chains = by_kind[self._kind(team)].accumulators
            for kind in kinds_of(self._host, team):
                chains = {bits: max(number, by_kind[kind].accumulators[bits]) for bits, number in chains.items()}
            yield self._round(0, plan.compute_cases(team, self._widths, chains, self._registers, self._fma))
        curves = {}
        for team in teams:
            points = plan.EXTRA_POINTS if team in self._extra else self._effort.points_per_octave
            sizes = plan.curve_sizes(self._largest[team], points)
            curves[team] = plan.curve_cases(team, sizes, by_kind[self._kind(team)].load_bits)
        for number in range(min(CURVE_ROUNDS, self._effort.rounds)):
            for cases in curves.values():
                self._round(number, cases)
        yield from curves.values()
        for team in teams:
            yield from self._beyond(team, by_kind[self._kind(team)].load_bits)
            levels[team] = self._level_working_sets(team)
        for team in teams:
            self._choices.widths(team, levels[team])
        for team in teams:
            widths = self._choices.widths(team, levels[team])
            for level, size in levels[team].items():
                mixes = plan.mixes_of(level, self._fma)
                yield self._round(0, [plan.memory_case(team, level, mix, size, widths[level, mix]) for mix in mixes])

    def _beyond(self, team: Team, bits: int) -> Iterator[Sequence[Case]]:
        """Go on with the curve of a team where it cannot have reached memory: the declared caches are too small."""
        while self._in_cache(team):
            largest = min(BEYOND_CACHE * self._largest[team], self._room.get(team, 0))
            sizes = plan.curve_sizes(largest, plan.EXTRA_POINTS)
            cases = plan.curve_cases(team, [size for size in sizes if size > self._largest[team]], bits)
            if not cases:
                return
            self._largest[team] = cases[-1].working_set
            for number in range(min(CURVE_ROUNDS, self._effort.rounds)):
                self._round(number, cases)
            yield cases

    def _in_cache(self, team: Team) -> bool:
        """Whether the curve of a team ends inside a cache.

        Two things must come together, since a slow spell can do each: it shows fewer levels than that of a single
        thread of this kind, and on what it shows as memory each thread is faster than that one on its own.
        """
        single = next((one for one in self._teams if one.threads == 1 and self._kind(one) == self._kind(team)), team)
        alone, together = self._plateaus(single), self._plateaus(team)
        if not together or len(together) >= len(alone) or {alone[-1].name, together[-1].name} != {MEMORY}:
            return False
        return together[-1].value / team.threads > STILL_CACHED * alone[-1].value

    def _level_working_sets(self, team: Team) -> dict[str, int]:
        """Return the working sets that stand for the levels of a team, and note what no working set stands for."""
        shares = cache_share(self._host, team.cpus)
        uneven = {share.level: share.largest for share in shares if share.largest > share.per_thread}
        plateaus = self._plateaus(team)
        found = plan.level_working_sets(
            plateaus, [(share.level, share.per_thread) for share in shares], self._largest[team], uneven
        )
        lost = [plateau.name for plateau in plateaus if plateau.name not in found]
        if MEMORY in found and self._in_cache(team):
            del found[MEMORY]
            self._note(
                f"{team.label}: at {quantities.size(self._largest[team])} a thread, the most that may be used, each is "
                "faster than a single thread on memory. The caches are larger than declared: memory was not reached."
            )
        if uneven and lost:
            self._note(
                f"{team.label}: threads have unequal parts of the caches, and no working set lies in "
                f"{', '.join(lost)} for all of them; that has no roof of these threads together."
            )
        return found

    def _note(self, text: str) -> None:
        self._notes = tuple(dict.fromkeys((*self._notes, text)))

    def _nodes(self, by_kind: Mapping[str, Chosen]) -> Iterator[Sequence[Case]]:
        """Visit the pairs of NUMA nodes: what the cores of each get from the memory of each."""
        for team in self._pairs:
            usual = self._choices.widths(team, {})
            bits = usual.get((MEMORY, "load"), by_kind[self._kind(team)].load_bits)
            yield self._round(0, [irregular.node_case(team, node_of(self._host, team), self._largest[team], bits)])

    def _kind(self, team: Team) -> str:
        """Return the kind of core of a team's leader."""
        return kinds_of(self._host, team)[0]

    def _leaders(self) -> dict[str, Team]:
        """Return a single thread of each kind of core that measures."""
        teams = (*self._teams, *self._extra, *self._pairs)
        kind = {cpu.id: cpu.kind for cpu in self._host.cpus}
        found: dict[str, Team] = {}
        for team in teams:
            for cpu in team.cpus:
                found.setdefault(kind.get(cpu, ""), Team("one", (cpu,), 1))
        return found

    def _intensities(
        self, chosen: Chosen, levels: Mapping[Team, Mapping[str, int]], widths: Widths
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

    def _kernels(self, levels: Mapping[Team, Mapping[str, int]], widths: Widths) -> Iterator[Sequence[Case]]:
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
        self._beside = tour.beside(chosen, so_far, fit(so_far), self._registers)
        if self._wish.everything:
            # So many data cannot be laid anew in each round.
            self._later = chosen
            return
        for group in tour.in_order(chosen):
            yield self._round(0, group)

    def _irregular(self, levels: Mapping[Team, Mapping[str, int]], widths: Widths) -> Iterator[Sequence[Case]]:
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

    # ------------------------------------------------------------------------------------------------ helpers

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

    def _intensity_bits(self, precision: str, widths: Widths) -> int:
        """Return the width of the intensity sweep: one that reaches the peak, and among those the best at loading."""
        near = self._near_peak(precision)
        favourite = widths.get(("L1", "load"), 0)
        return favourite if favourite in near else max(near)

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
            self._visits.pairs(number, tour.with_roof(due, self._beside), self._of_kernels.visit, number)
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
