"""Which application kernels, in which sizes: pure functions from the catalogue and what a sweep found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ert.errors import InputError
from ert.measure.plan import NEAR_PEAK
from ert.measure.sampling import Visit
from ert.measure.visits import Visits
from ert.roofline.applies import compute_roof, memory_roof, works_of_mixes
from ert.roofline.model import MEMORY, Case, ComputeRoof, Implementation, Kernel, Limit, Results, Roofline, Team, Work
from ert.roofline.quantities import size
from microbench.kernels import matrices, registry
from microbench.kernels.kernel import NOTHING, PRECISIONS, Problem, Request, Unsuitable
from microbench.kernels.kernel import Spec as Spec

NONE, SOME, EVERY = "none", "representative", "all"
"""For the settings: which kernels a sweep runs."""

CHOICES = (NONE, SOME, EVERY)

LARGEST_SIZE = 1 << 40
"""A size above this is refused before anything is computed from it."""


MATRIX = "matrix"
"""The one size that is a name."""

LARGEST_COUNT = 10**16
"""FLOP or bytes of a pass above this are refused: on one core it would take days."""


LISTED_BITS, LISTED_REGISTERS = 256, 16
"""The CPU that a listing without a machine is for, where padding or blocks depend on it: one with AVX2."""

EXPECTED_VISIT = 0.08
"""Seconds for a visit and its share of making the code, only to say how long a sweep will take."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How kernels are sampled: rounds, and the samples of a visit."""

    rounds: int
    visit: Visit


EFFORTS = {
    "quick": Effort(2, Visit(1)),
    "default": Effort(3, Visit(2)),
    "thorough": Effort(5, Visit(3)),
}


@dataclass(frozen=True, slots=True)
class Ground:
    """What a sweep found of one team, as far as the sizes of kernels depend on it.

    Attributes
    ----------
    team : Team
        Who runs the kernels.
    working_sets : mapping of str to int
        Bytes of one thread that stand for each level, nearest level first; the last is memory.
    capacities : mapping of str to int
        Effective capacity of each cache for one thread in bytes, nearest first.
    stream_bits : mapping of (str, str) to int
        Best vector width of each level and access mix.
    compute_bits : mapping of str to int
        Best vector width of the multiply-adds of each precision.
    registers : int
        Vector registers that code can name.
    """

    team: Team
    working_sets: Mapping[str, int]
    capacities: Mapping[str, int]
    stream_bits: Mapping[tuple[str, str], int]
    compute_bits: Mapping[str, int]
    registers: int = 16

    def level_of(self, working_set: float) -> str:
        """Return the level that holds so many bytes of one thread."""
        inside = (level for level, capacity in self.capacities.items() if working_set <= capacity)
        return next(inside, self.outermost)

    @property
    def outermost(self) -> str:
        """The last level that was measured: memory, if the sweep reached it."""
        return list(self.working_sets)[-1] if self.working_sets else MEMORY

    def bits(self, spec: Spec, precision: str, level: str) -> int:
        """Return the vector width of a kernel's code; 0 where the compiler or a library chooses.

        A stream takes the best width of its access mix at the level: it is not always the widest, in memory neither
        (on Zen 4 a copy of 512-bit vectors reached 0.8 of one of 256). Where there is more arithmetic than a few
        operations an element, the widest that reaches the peak computes best.
        """
        if spec.implementation != "explicit vectors":
            return 0
        best = self.compute_bits.get(precision, max(self.compute_bits.values(), default=128))
        return self.stream_bits.get((level, spec.mix), best) if spec.streaming and spec.thin else best


def ground_of(roofline: Roofline, team: Team, registers: int) -> Ground:
    """Return the ground of a team from a sweep that was taken before."""
    curve = next((curve for curve in roofline.curves if curve.team == team), None)
    plateaus = curve.plateaus if curve else ()
    roofs = [roof for roof in roofline.memory if roof.team == team]
    peaks = {roof.precision: roof for roof in roofline.compute if roof.team == team and roof.headline}
    widest = {
        name: max(
            roof.vector_bits
            for roof in roofline.compute
            if (roof.team, roof.precision, roof.instructions) == (team, name, peak.instructions)
            and roof.rate.best >= NEAR_PEAK * peak.rate.best
        )
        for name, peak in peaks.items()
    }
    return Ground(
        team,
        {roof.level: roof.working_set for roof in sorted(roofs, key=lambda roof: roof.working_set)},
        {plateau.name: int(plateau.capacity) for plateau in plateaus if plateau.capacity},
        {(roof.level, roof.mix): roof.vector_bits for roof in roofs},
        widest,
        registers,
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """Which kernels, and what about them is not left to the tool.

    Attributes
    ----------
    specs : tuple of Spec
        In the order of the catalogue.
    precisions : tuple of str
        Empty for all that a kernel has.
    sizes : mapping of str to int or str
        Sizes that the user set.
    everything : bool
        Whether streaming kernels run at each level and series of sizes are run whole, or each kernel once.
    representative : bool
        Whether each runs only in the precisions in which it belongs to an ordinary sweep.
    """

    specs: tuple[Spec, ...]
    precisions: tuple[str, ...] = ()
    sizes: Mapping[str, int | str] = field(default_factory=dict)
    everything: bool = False
    representative: bool = False

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels as they are stored with a result."""
        return tuple(stored(spec) for spec in self.specs)


def wish(choice: str, among: Sequence[str]) -> Wish | None:
    """Return what a choice of the settings stands for, in the precisions of the sweep; None for no kernels.

    An ordinary sweep runs one or a few of each family, and whole ladders.

    Raises
    ------
    InputError
        If the choice is unknown.
    """
    if choice not in CHOICES:
        raise InputError(f"unknown choice of kernels {choice!r}; known: {', '.join(CHOICES)}")
    usual = tuple(name for name in PRECISIONS if name in among)
    if choice == NONE or not usual:
        return None
    if choice == EVERY:
        return Wish(registry.KERNELS, usual, everything=True)
    specs = tuple(spec for spec in registry.KERNELS if set(spec.representative) & set(usual))
    return Wish(specs, usual, representative=True)


def named(names: Iterable[str]) -> tuple[Spec, ...]:
    """Return the kernels and whole families of these names, each once, in the order of the catalogue.

    Raises
    ------
    InputError
        If there is no such kernel, family or ladder, or a name is empty; the message suggests the nearest names.
    """
    chosen: set[str] = set()
    for name in names:
        if not name.strip():
            raise InputError("a name of a kernel is empty; leave the names out to run every kernel")
        if name == EVERY:
            chosen.update(spec.name for spec in registry.KERNELS)
            continue
        members = [spec.name for spec in registry.KERNELS if name in (spec.family, spec.ladder)]
        if members:
            chosen.update(members)
            continue
        try:
            chosen.add(registry.kernel(name).name)
        except KeyError as error:
            raise InputError(str(error.args[0])) from None
    return tuple(spec for spec in registry.KERNELS if spec.name in chosen)


def precisions(text: str) -> tuple[str, ...]:
    """Parse ``"fp64,fp32"``; InputError names those that kernels have."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in PRECISIONS:
            raise InputError(f"--precisions: no kernel works in {name!r}; they have {' and '.join(PRECISIONS)}")
    if not names:
        raise InputError(f"--precisions names none; kernels have {' and '.join(PRECISIONS)}")
    return names


def sizes(text: str) -> dict[str, int | str]:
    """Parse ``"2048"`` or ``"n=2048,batch=4"``; a number without a name is stored under ``""``.

    Raises
    ------
    InputError
        If a number is none, not above 0, or absurdly large; or a name stands twice.
    """
    found: dict[str, int | str] = {}
    for part in (part.strip() for part in text.split(",")):
        name, _, value = part.rpartition("=")
        name = name.strip()
        value = value.strip()
        if name in found:
            raise InputError(f"--size names {name or 'a number without a name'} twice")
        if not value.isdecimal():
            if name == MATRIX and value:
                found[name] = value
                continue
            raise InputError(f"--size: expected a whole number or NAME=NUMBER, found {part!r}")
        if not 0 < int(value) <= LARGEST_SIZE:
            raise InputError(f"--size: expected a number from 1 to {LARGEST_SIZE}, found {value}")
        found[name] = int(value)
    return found


def cases(
    wish: Wish, grounds: Sequence[Ground], most_bytes: int
) -> tuple[tuple[Case, ...], tuple[tuple[str, str], ...]]:
    """Return the cases of a wish, those of one kernel and size together, and what cannot be measured and why.

    Parameters
    ----------
    wish : Wish
        Which kernels.
    grounds : sequence of Ground
        One for each team.
    most_bytes : int
        Memory that the data of one case may take.

    Raises
    ------
    InputError
        If a kernel does not know a size that the user set.
    """
    found: dict[Case, None] = {}
    absent: dict[str, str] = {}
    for spec in wish.specs:
        for precision in _precisions(wish, spec):
            for ground in grounds:
                if ground.team.threads > spec.most_threads:
                    continue
                for level, problem in _problems(wish, spec, precision, ground):
                    try:
                        found.setdefault(_case(spec, problem, ground, level, most_bytes))
                    except Unsuitable as error:
                        absent[_label(spec, problem.sizes)] = str(error)
    return tuple(found), tuple(absent.items())


Beside = Mapping[Case, tuple[Case, ...]]
"""For each kernel the measurements of the roofs that apply to it."""


def tour(visits: Visits, chosen: Sequence[Case], effort: str, beside: Beside, first: int) -> None:
    """Visit many kernels: in groups that share their data, all rounds of a group before the next, libraries last.

    Parameters
    ----------
    visits : Visits
        What measures and writes down.
    chosen : sequence of Case
        The kernels.
    effort : str
        Name in :data:`EFFORTS`.
    beside : mapping of Case to tuple of Case
        For each kernel the measurements of the roofs that apply to it. They are sampled again beside the kernel: a
        machine may be faster now than when the sweep was taken, and a roof is its best sample.
    first : int
        Number of the first round that these roofs have not been visited in.
    """
    how = EFFORTS[effort]
    for group in groups(chosen):
        peaks = dict.fromkeys(roof for case in group for roof in beside[case] if roof.probe == "compute")
        for number in range(how.rounds):
            visits.round(first + number, peaks, lambda case: how.visit)
            visits.pairs(number, with_roof(group, beside), how.visit, first + number)


def with_roof(chosen: Iterable[Case], beside: Beside) -> tuple[tuple[Case, Case | None], ...]:
    """Return each kernel with the memory roof that applies to it, which moves more than a compute roof does."""
    return tuple((case, next((roof for roof in beside[case] if roof.probe == "memory"), None)) for case in chosen)


def beside(chosen: Iterable[Case], results: Results, roofline: Roofline, registers: int) -> Beside:
    """Return for each kernel case those of the compute and the memory roof that apply to it, as far as measured."""
    works = works_of_mixes(results.measurements)
    of_memory = {
        (m.case.team, m.case.level, m.case.mix): m.case for m in results.measurements if m.case.probe == "memory"
    }
    of_compute = {_arithmetic(m.case): m.case for m in results.measurements if m.case.probe == "compute"}
    found = {}
    for case in chosen:
        work = work_of(case, registers)
        facts = stored(registry.kernel(case.probe))
        slope = memory_roof(work, case.mix, case.team, case.level, roofline.memory, works)
        peak = compute_roof(facts, case.team, case.precision, roofline.compute) if work.flop else None
        roofs = [of_memory[slope.team, slope.level, slope.mix]] if slope else []
        found[case] = (*roofs, *([of_compute[_arithmetic(peak)]] if peak else []))
    return found


def _arithmetic(what: Case | ComputeRoof) -> tuple[object, ...]:
    return what.team, what.precision, what.instructions, what.vector_bits, what.accumulators


def steps(chosen: Sequence[Case], beside: Beside, effort: str) -> int:
    """Return how many visits a tour has: a compute roof that applies to several groups has its rounds once."""
    peaks = {roof for case in chosen for roof in beside[case] if roof.probe == "compute"}
    return EFFORTS[effort].rounds * (len(chosen) + len(peaks))


def groups(chosen: Sequence[Case]) -> tuple[tuple[Case, ...], ...]:
    """Return cases in groups that share what is dear to make: a matrix, or the code; libraries in groups of their own.

    Groups come in the order of their first cases.
    """
    found: dict[tuple[object, ...], list[Case]] = {}
    for part in in_order(chosen):
        for case in part:
            matrix = dict(case.parameters).get(MATRIX, "")
            foreign = registry.kernel(case.probe).implementation == "library"
            key = (foreign, matrix, case.parameters if matrix else case.probe, case.precision)
            found.setdefault(key, []).append(case)
    return tuple(tuple(group) for _, group in sorted(found.items(), key=lambda item: bool(item[0][0])))


def expected(wanted: Wish | None, teams: int, effort: str) -> tuple[float, int]:
    """Return roughly how many seconds the kernels of a sweep take, and how many visits."""
    if wanted is None:
        return 0.0, 0
    if wanted.representative:
        number = sum(len(_precisions(wanted, spec)) for spec in wanted.specs)
    else:
        number = len(wanted.specs) * len(PRECISIONS) * teams * 2
    visits = number * EFFORTS[effort].rounds
    return visits * EXPECTED_VISIT, visits


def in_order(chosen: Iterable[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Return the cases of our own code and those of libraries, whose waiting threads must disturb nothing."""
    chosen = tuple(chosen)
    foreign = [case for case in chosen if registry.kernel(case.probe).implementation == "library"]
    return tuple(case for case in chosen if case not in foreign), tuple(foreign)


def problem_of(case: Case, registers: int) -> Problem:
    """Return the problem that a case stands for."""
    return Problem(
        case.precision, dict(case.parameters), case.team.threads, vector_bits=case.vector_bits, registers=registers
    )


def work_of(case: Case, registers: int) -> Work:
    """Return the exact counts of one pass of a case, from the formulas of its kernel."""
    tally = registry.kernel(case.probe).count(problem_of(case, registers))
    return Work(
        flop=tally.flop,
        read_bytes=tally.read,
        written_bytes=tally.written,
        allocate_bytes=tally.allocate,
        compulsory_bytes=tally.compulsory,
        level_bytes=((case.level, tally.traffic),) if case.level else (),
        events=tally.gathered,
    )


def stored(spec: Spec) -> Kernel:
    """Return a kernel as it is stored with results."""
    streamed = " + ".join(str(part) for part in (spec.read, spec.written, spec.allocate) if part != NOTHING)
    return Kernel(
        name=spec.name,
        family=spec.family,
        title=spec.title,
        implementation=cast(Implementation, spec.implementation),
        flop=str(spec.flop),
        read=str(spec.read),
        written=str(spec.written),
        compulsory=str(spec.compulsory),
        traffic=str(spec.traffic) if spec.traffic is not None else streamed,
        source=spec.source,
        instructions=spec.instructions,
        mix=spec.mix,
        limit=cast(Limit, spec.limit),
        nominal=spec.nominal,
        ladder=spec.ladder,
        rung=spec.rung,
        notes=spec.notes,
    )


def matrix_of(path: Path) -> dict[str, int | str]:
    """Return the sizes that stand for the matrix in a Matrix Market file; InputError if it cannot be used."""
    from microbench.kernels.marketfile import MatrixError

    try:
        name = matrices.use_file(path)
    except MatrixError as error:
        raise InputError(str(error)) from None
    return {MATRIX: name, "n": matrices.rows_of_file(name)}


def listed(
    specs: Iterable[Spec], precision: str, given: Mapping[str, int | str], total_bytes: int
) -> tuple[tuple[Kernel, Case, Work, Mapping[str, int]], ...]:
    """Return kernels with a case each, what it counts, on one thread, and what follows from its sizes.

    The last are the values of those names in the formulas that are no sizes: padded lengths, numbers of blocks.

    Parameters
    ----------
    specs : iterable of Spec
        Kernels.
    precision : str
        Of their elements.
    given : mapping of str to int or str
        Sizes that the user set.
    total_bytes : int
        What the data of those kernels take whose size follows that.
    """
    rows = []
    for spec in specs:
        request = Request(precision, total_bytes, vector_bits=LISTED_BITS, registers=LISTED_REGISTERS)
        values = {**spec.fit(request), **_chosen_sizes(spec, given)}
        case = Case(
            spec.name,
            Team("one", (0,), 1),
            precision,
            vector_bits=LISTED_BITS,
            level=MEMORY,
            parameters=tuple(sorted(values.items())),
        )
        try:
            work = work_of(case, LISTED_REGISTERS)
            numbers = spec.numbers(problem_of(case, LISTED_REGISTERS))
        except Unsuitable as error:
            raise InputError(f"--size: {spec.name} cannot have it: {error}") from None
        if max(work.flop, work.read_bytes, work.traffic_bytes(MEMORY)) > LARGEST_COUNT:
            raise InputError(f"--size: {spec.name} cannot have it: a pass would not end in a lifetime")
        counts = (spec.flop, spec.read, spec.written, spec.allocate, spec.compulsory, spec.traffic or NOTHING)
        named = set().union(*(formula.names for formula in counts)) - {"s", "t", *spec.sizes}
        rows.append((stored(spec), case, work, {name: numbers[name] for name in numbers if name in named}))
    return tuple(rows)


def _precisions(wish: Wish, spec: Spec) -> tuple[str, ...]:
    has = spec.representative if wish.representative else PRECISIONS
    return tuple(name for name in has if not wish.precisions or name in wish.precisions)


def _problems(wish: Wish, spec: Spec, precision: str, ground: Ground) -> Iterator[tuple[str, Problem]]:
    """Yield the problems of one kernel, precision and team, each with the level it was made for (empty: any)."""
    levels = dict(ground.working_sets) or {MEMORY: 1 << 26}
    outermost = list(levels)[-1]
    chosen = _chosen_sizes(spec, wish.sizes)
    wanted = levels if spec.streaming and wish.everything and not chosen else {outermost: levels[outermost]}
    for level, held in wanted.items():
        bits = ground.bits(spec, precision, level)
        request = Request(
            precision, held * ground.team.threads, ground.team.threads, ground.capacities, bits, ground.registers
        )
        every = [{**spec.fit(request), **chosen}]
        if not chosen:
            series = spec.series if wish.everything else spec.usual_series
            every += [dict(more) for more in series(request)]
        for one in every:
            problem = Problem(precision, one, ground.team.threads, bits, ground.registers)
            yield (level if spec.streaming and not chosen else ""), problem


def _chosen_sizes(spec: Spec, given: Mapping[str, int | str]) -> dict[str, int | str]:
    chosen: dict[str, int | str] = {}
    for name, value in given.items():
        known = name or spec.sizes[0]
        if known not in spec.sizes:
            raise InputError(f"--size: {spec.name} has no size {name}; it has {', '.join(spec.sizes)}")
        chosen[known] = value
    return chosen


def _case(spec: Spec, problem: Problem, ground: Ground, level: str, most_bytes: int) -> Case:
    tally = spec.count(problem)
    if tally.working_set > most_bytes:
        raise Unsuitable(f"its data take {size(tally.working_set)} of memory, of which {size(most_bytes)} may be used")
    if max(tally.flop, tally.read, tally.traffic) > LARGEST_COUNT:
        raise Unsuitable(f"a pass of {tally.flop} FLOP and {tally.read} bytes would not end in a lifetime")
    working_set = -(-tally.working_set // problem.threads)
    return Case(
        spec.name,
        ground.team,
        problem.precision,
        spec.instructions,
        spec.mix,
        vector_bits=problem.vector_bits,
        working_set=working_set,
        level=level or ground.level_of(working_set),
        parameters=tuple(sorted(problem.sizes.items())),
    )


def _label(spec: Spec, values: Mapping[str, int | str]) -> str:
    return " ".join((spec.name, *(f"{name}={value}" for name, value in values.items())))
