"""Which cases: pure functions from the host, the settings and what was already found to the cases still to measure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ert.errors import InputError
from ert.measure.capacity import MEMORY_FRACTION
from ert.measure.order import BINDINGS, BY_NUMBER
from ert.measure.sampling import TARGET_SECONDS
from ert.measure.teams import USUAL, nodes_with_memory
from ert.roofline.fitting.caches import BEYOND_CACHE, cache_capacities, cache_share
from ert.roofline.model import MEMORY, Case, Host, Plateau, Team
from microbench import catalog
from microbench.catalog import MIXES, MULTIPLY_ADDS, PRECISIONS

SMALLEST = 4096
"""Bytes at which the bandwidth curve begins."""

THIRD = "L3"
"""Most machines have so many levels. Where the system declares fewer, or this one without a size, it may hide one."""

UNKNOWN_CACHE = 64 << 20
"""Bytes assumed for the last cache of one thread where it is not declared; larger than most and affordable."""

UNKNOWN_CACHES = 256 << 20
"""Bytes assumed for all such of a machine: four times those of the largest such that is known
(64 cores of RISC-V with 64 MiB), and the gigabyte that a curve then ends at is affordable."""

UNKNOWN_OWN = 4 << 20
"""Bytes assumed then for the caches of one thread at least; the largest second levels hold 3 MiB."""

BUDGET_STEPS = 1024
"""How finely a memory budget is divided among teams."""

DEFAULT_MEMORY = 2 << 30
"""Bytes of memory a sweep uses at most unless told otherwise, raised to what the caches of the machine demand."""

ACCUMULATORS = {16: (8, 10, 12, 14), 32: (8, 12, 16, 24)}
"""Numbers of chains tried, by how many vector registers code can name; two hold the multiplier and the addend. A core
needs latency x pipes of them: 8 (4 x 2) to 18 (9 x 2, A64FX); more help where the scheduler is not perfect."""

DOT_CHAINS = {16: 12, 32: 20}
"""Chains of dot products, by vector registers: latency x pipes is 12 on Zen 4 (6 x 2), up to 20 on Neoverse V (5 x 4);
unlike multiply-adds on some CPUs they never need a register besides."""

UNCHAINED = 8
"""Registers that take the results of operations which do not wait for each other: any number would do."""

SINGLE_CHAINS = {16: 8, 32: 24}
"""Most chains of an addition or multiplication alone, by vector registers. No core with 16 of them needs more than 8
(4 x 2); without three-operand instructions each step takes a copy besides."""

SPARE_REGISTERS = {16: 4, 32: 8}
"""Registers that the chains of a mix leave to operands and copies."""

NEAR_PEAK = 0.985
"""Widths this near the best multiply-add rate count as equal to it when ceilings, the intensity sweep and kernels
choose."""

ALL = "all"
"""For ``--precisions``: whatever the CPU has."""

OUTSIDE = 2
"""A working set this many times a cache is well outside of it, and a half of it well inside."""

ENOUGH = 1 << 60
"""Bytes of a memory budget that limits nothing."""

COMPUTE_VISITS = 10
"""Compute roofs and ceilings of one precision and team, on average; used with the following."""

ROOF_VISITS = 4
"""Of these, those of an extra team."""

EXPECTED_VISIT = {"fixed": 1.5e-3, "fill_bytes_per_s": 6e9, "stream_bytes_per_s": 15e9}
"""Rough costs used only to say how long a sweep will take before it has begun."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    name : str
        ``"quick"``, ``"default"``, ``"thorough"``.
    points_per_octave : int
        Working sets of the curve in each doubling.
    multiply_adds : tuple of int
        The k of the intensity sweep.
    rounds : int
        Times that every case is visited.
    samples : int
        Samples a visit.
    chains : tuple of int
        Numbers of dependent chains whose ceilings are measured.
    every_width : bool
        Whether mixes are measured at each vector width that reaches the peak, or at the widest such alone.
    turns : int
        Turns of a pre-pass over the candidates of a choice; in turn, so that a slow spell meets all of them.
    widest : int
        How many vector widths, from the widest down, an access mix chooses among.
    target : float
        Seconds of a sample. Two of half the length take as long as one, and beside another process far fewer of them
        are interrupted, since a scheduler lets a thread go on for about 3 ms (docs/accuracy.md).
    most_extra : int
        Teams beside the usual ones whose roofs an ordinary sweep measures.
    """

    name: str
    points_per_octave: int
    multiply_adds: tuple[int, ...]
    rounds: int
    samples: int
    chains: tuple[int, ...] = (1, 2, 4, 8, 16)
    every_width: bool = True
    turns: int = 3
    widest: int = 3
    target: float = TARGET_SECONDS
    most_extra: int = 4


EXTRA_POINTS = 2
"""Working sets of the curve of an extra team in each doubling: its levels are near those of a usual one."""

EFFORTS = (
    Effort(
        "quick", 2, (1, 8, 64), rounds=3, samples=2, chains=(1, 4, 8), every_width=False, turns=2, widest=2, target=2e-3
    ),
    Effort("default", 4, MULTIPLY_ADDS, rounds=5, samples=2),
    Effort("thorough", 8, MULTIPLY_ADDS, rounds=20, samples=3, most_extra=1 << 10),
)


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory of a NUMA node that threads borrow.

    Attributes
    ----------
    keeper : int
        The CPU whose thread writes it first.
    size : int
        Bytes.
    near : bool
        Whether that CPU is one of the node, so that first writing places the memory there.
    """

    keeper: int
    size: int
    near: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for, as far as it changes the numbers; stored with the result and taken up by a resume.

    Attributes
    ----------
    effort : str
        Name in :data:`EFFORTS`.
    threads : str
        As :func:`ert.measure.teams.choose` reads it.
    cpus : str
        List of logical CPUs the sweep may use; empty for all that the process may use.
    precisions : str
        Comma-separated names, or ``all``.
    seed : int
        Order of the cases within a round.
    max_memory : int
        Bytes; 0 for the default.
    kernels : str
        Which application kernels: ``"representative"``, ``"none"`` or ``"all"``.
    binding : str
        In which order threads take CPUs: a name in :data:`ert.measure.order.BINDINGS`, or the order of older sweeps.
    """

    effort: str = "default"
    threads: str = USUAL
    cpus: str = ""
    precisions: str = ALL
    seed: int = 1
    max_memory: int = 0
    kernels: str = "representative"
    binding: str = next(iter(BINDINGS))

    def stored(self) -> tuple[tuple[str, int | float | str], ...]:
        """Return the settings as they are stored with a result."""
        return tuple(asdict(self).items())

    @staticmethod
    def restored(stored: Iterable[tuple[str, int | float | str]]) -> Settings:
        """Return the settings of a stored result; InputError if one is missing."""
        have = dict(stored)
        try:
            return Settings(
                effort=str(have["effort"]),
                threads=str(have["threads"]),
                cpus=str(have["cpus"]),
                precisions=str(have["precisions"]),
                seed=int(have["seed"]),
                max_memory=int(have["max_memory"]),
                # Sweeps from before there were kernels.
                kernels=str(have.get("kernels", "none")),
                # And from before there was a choice.
                binding=str(have.get("binding", BY_NUMBER)),
            )
        except (KeyError, ValueError) as error:
            raise InputError(f"the result does not say with which settings it was made: {error}") from None


# ------------------------------------------------------------------------------------------------- choices


def effort(name: str) -> Effort:
    """Return the effort of that name; InputError names the known ones."""
    for known in EFFORTS:
        if known.name == name:
            return known
    raise InputError(f"unknown effort {name!r}; known: {', '.join(known.name for known in EFFORTS)}")


def precisions(text: str) -> tuple[str, ...]:
    """Parse ``"fp64,fp32"``, or ``"all"`` for each that is known; InputError names the known precisions."""
    known = [precision.name for precision in PRECISIONS]
    if text.strip() == ALL:
        return tuple(known)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise InputError(f"--precisions names none; known: {', '.join(known)}")
    for name in names:
        if name not in known:
            raise InputError(f"--precisions: unknown precision {name!r}; known: {', '.join(known)}")
    return names


# ------------------------------------------------------------------------------------------- working sets


def largest_working_set(host: Host, team: Team, budget: int) -> int:
    """Return where a team's curve ends, in bytes of one thread: where it should, as far as the memory goes."""
    return catalog.round_working_set("load", min(wanted_working_set(host, team), room_for(host, team, budget)))


def wanted_working_set(host: Host, team: Team) -> int:
    """Return where a team's curve should end, in bytes of one thread, whether or not there is so much memory.

    Four times the largest part of any cache that one of the threads has, so that each instance that is touched is
    exceeded by the threads that touch it.
    """
    shares = cache_share(host, team.cpus)
    largest = max((share.largest for share in shares), default=0)
    if not any(share.level >= THIRD for share in shares):
        largest = max(largest, UNKNOWN_OWN, min(UNKNOWN_CACHE, UNKNOWN_CACHES // team.threads))
    return catalog.round_working_set("load", max(BEYOND_CACHE * largest, 16 * SMALLEST))


def room_for(host: Host, team: Team, budget: int) -> int:
    """Return the largest working set of one thread that memory allows, in bytes.

    A tenth of the budget is left to alignment and gaps, and of a NUMA node the threads that live there take
    :data:`ert.measure.capacity.MEMORY_FRACTION`.
    """
    return int(min(0.9 * budget / team.threads, _room_on_nodes(host, team)))


def _room_on_nodes(host: Host, team: Team) -> float:
    """Return what each thread may take of the memory of its NUMA node, in the most crowded case."""
    node_of = {cpu.id: cpu.node for cpu in host.cpus}
    used = [node_of.get(cpu) if team.memory_node is None else team.memory_node for cpu in team.cpus]
    return min(
        (MEMORY_FRACTION * node.memory / used.count(node.id) for node in host.nodes if node.memory and node.id in used),
        default=math.inf,
    )


def largest_working_sets(host: Host, teams: Sequence[Team], budget: int) -> dict[Team, int]:
    """Return where the curve of each team ends, so that all their memory together stays within the budget.

    A CPU keeps the largest arena that any of its teams needs. Where that is more than the budget for all CPUs together,
    each team gets the same smaller part of it.
    """

    def within(part: int) -> dict[Team, int]:
        return {team: largest_working_set(host, team, part) for team in teams}

    enough, too_much = 0, budget + 1
    while too_much - enough > max(1, budget // BUDGET_STEPS):
        part = (enough + too_much) // 2
        if sum(arena_sizes(within(part)).values()) <= budget:
            enough = part
        else:
            too_much = part
    return within(budget if sum(arena_sizes(within(budget)).values()) <= budget else enough)


def default_budget(host: Host, teams: Iterable[Team], limit: int) -> int:
    """Return the bytes a sweep may use: what the caches demand or :data:`DEFAULT_MEMORY`, never above `limit`."""
    unlimited = {team: largest_working_set(host, team, ENOUGH) for team in teams}
    demand = int(sum(arena_sizes(unlimited).values()) / 0.9) + 1
    return min(limit, max(DEFAULT_MEMORY, demand)) if unlimited else limit


def pools(
    host: Host, pairs: Sequence[Team], cpus: Collection[int], room: int
) -> tuple[dict[Team, int], dict[int, Pool]]:
    """Return the working set of one thread of each pair of NUMA nodes in bytes, and the memory that each node lends.

    Parameters
    ----------
    host : Host
        Its caches say how much goes beyond them.
    pairs : sequence of Team
        With the node of their memory.
    cpus : collection of int
        CPUs that have a thread; one of the node, if there is such, writes its memory first.
    room : int
        Bytes that the nodes may lend together. Pairs whose caches hold more than a half of what is left to them are
        left out.
    """
    each = max(0, room) // max(1, len(nodes_with_memory(host)))
    largest = {}
    for team in pairs:
        whole = each // team.threads // catalog.HUGE_PAGE * catalog.HUGE_PAGE  # parts begin at a huge page
        size = largest_working_set(host, team, whole * team.threads)
        if OUTSIDE * size >= wanted_working_set(host, team):
            largest[team] = size
    sizes: dict[int, int] = {}
    for team, size in largest.items():
        assert team.memory_node is not None, "pairs name the node of their memory"
        part = -(-catalog.arena_bytes("load", size) // catalog.HUGE_PAGE) * catalog.HUGE_PAGE
        sizes[team.memory_node] = max(sizes.get(team.memory_node, 0), part * team.threads)
    home = {cpu.id: cpu.node for cpu in host.cpus if cpu.id in cpus}
    keepers = {node: next((cpu for cpu in home if home[cpu] == node), None) for node in sizes}
    anyone = min(home, default=0)
    return largest, {
        node: Pool(anyone if keeper is None else keeper, sizes[node], keeper is not None)
        for node, keeper in keepers.items()
    }


def curve_sizes(largest: int, points_per_octave: int) -> tuple[int, ...]:
    """Return the working sets of the bandwidth curve in bytes, evenly spaced on a log scale."""
    step = catalog.STEP_BYTES
    count = math.floor(points_per_octave * math.log2(max(1.0, largest / SMALLEST))) + 1
    exact = [SMALLEST * 2 ** (index / points_per_octave) for index in range(count)]
    return tuple(sorted({max(step, round(size / step) * step) for size in exact} | {largest // step * step}))


def level_working_sets(
    plateaus: Sequence[Plateau],
    declared: Sequence[tuple[str, int]],
    largest: int,
    uneven: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the working set in bytes of one thread that stands for each level, nearest level first.

    The middle of its plateau on a log scale, well outside of the level before; the end of the curve for memory. A level
    that is declared but has no plateau is measured in the middle of what is declared, if the curve goes that far: two
    levels of equal speed are still two levels, and a spell of noise may have hidden the step.

    Parameters
    ----------
    plateaus : sequence of Plateau
        As far as the curve is known.
    declared : sequence of (str, int)
        Declared levels and the bytes that one thread can use, from L1 outwards.
    largest : int
        End of the curve.
    uneven : mapping of str to int, optional
        Of levels of which the threads have more or less, the bytes of who has most: the next level begins beyond that.
        If it then ends before it begins, there is no working set in it for all threads, and it is left out.
    """
    most = uneven or {}
    seen = {plateau.name: plateau for plateau in plateaus}
    sizes: dict[str, int] = {}
    inner: float = SMALLEST / OUTSIDE
    for name in dict.fromkeys([*(name for name, _ in declared), *seen]):
        if name == MEMORY:
            continue
        plateau = seen.get(name)
        capacity = dict(declared).get(name, 0)
        if plateau is not None:
            first, last = max(plateau.first, OUTSIDE * inner), float(plateau.last)
            inner = max(min(plateau.capacity or plateau.last, plateau.last * OUTSIDE), most.get(name, 0))
        else:
            first, last = OUTSIDE * inner, min(capacity / OUTSIDE, largest)
            inner = max(inner, capacity, most.get(name, 0))
        if first <= last:
            sizes[name] = round(math.sqrt(first * last))
        elif plateau is not None and not most:
            sizes[name] = plateau.last
    if MEMORY in seen:
        sizes[MEMORY] = largest
    return sizes


# --------------------------------------------------------------------------------------------------- cases


def scalar_bits(precision: str) -> int:
    """Return the width of one element: that of scalar code."""
    return 8 * catalog.precision(precision).bytes


def is_dot(precision: str) -> bool:
    """Whether a precision's arithmetic is dot products alone."""
    return bool(catalog.precision(precision).accumulated)


def instruction_of(precision: str, fma: bool) -> str:
    """Return the conventional arithmetic of a precision's roof.

    Dot products, or multiply-adds, in two instructions where the CPU has no one for them.
    """
    if is_dot(precision):
        return "dot"
    return "fma" if fma else "mul_add_unfused"


def chain_candidates(
    team: Team, precision: str, widths: Sequence[int], registers: int, fma: bool
) -> dict[int, tuple[Case, ...]]:
    """Return for each vector width the cases of the pre-pass that finds the number of accumulators."""
    numbers = ACCUMULATORS[registers]
    return {
        bits: tuple(
            Case("compute", team, precision, instruction_of(precision, fma), vector_bits=bits, accumulators=number)
            for number in numbers
        )
        for bits in widths
    }


def compute_cases(
    team: Team,
    widths: Mapping[str, Sequence[int]],
    accumulators: Mapping[int, int],
    registers: int,
    fma: bool,
) -> tuple[Case, ...]:
    """Return the compute roofs: each precision at each of its widths and, but for dot products, in scalar code.

    Parameters
    ----------
    team : Team
        Who runs them.
    widths : mapping of str to sequence of int
        Vector widths of each precision.
    accumulators : mapping of int to int
        Chains by vector width; scalar code takes those of the narrowest vectors, since it needs as many.
    registers, fma
        Of the CPU.
    """
    cases = []
    for name, every in widths.items():
        if is_dot(name):
            chains = dict.fromkeys(every, DOT_CHAINS[registers])
        else:
            chains = {scalar_bits(name): accumulators[min(every)]} | {bits: accumulators[bits] for bits in every}
        instructions = instruction_of(name, fma)
        cases += [
            Case("compute", team, name, instructions, vector_bits=bits, accumulators=number)
            for bits, number in chains.items()
        ]
    return tuple(cases)


def mix_cases(team: Team, precision: str, bits: int, chains: int, registers: int) -> tuple[Case, ...]:
    """Return the mixes of multiply-adds with independent additions at one width.

    Parameters
    ----------
    team, precision
        As of the case.
    bits : int
        Vector width.
    chains : int
        Chains that multiply-adds alone need; the mixes get as many of these, as far as the registers go.
    registers : int
        Vector registers that code can name.
    """
    cases = []
    for kind in catalog.INSTRUCTIONS:
        shares = len(kind.steps)
        if len(set(kind.steps)) < 2:
            continue
        wanted = math.ceil(chains / kind.steps.count("fma")) * shares
        most = (registers - SPARE_REGISTERS[registers]) // shares * shares
        cases.append(
            Case("compute", team, precision, kind.name, vector_bits=bits, accumulators=max(shares, min(wanted, most)))
        )
    return tuple(cases)


def instruction_cases(
    team: Team, precision: str, bits: int, chains: int, registers: int, fma: bool
) -> tuple[Case, ...]:
    """Return the ceilings of single instructions at one width, and one chain of each whose steps form chains.

    Parameters
    ----------
    team, precision
        As of the case.
    bits : int
        Vector width.
    chains : int
        Chains that multiply-adds need.
    registers, fma
        Of the CPU.
    """
    most = min(chains, SINGLE_CHAINS[registers])
    cases = []
    for kind in catalog.instructions_of(precision):
        if len(set(kind.steps)) > 1 or kind.name == instruction_of(precision, fma) or kind.name in ("fma", "dot"):
            continue
        numbers = (chains,) if kind.name == "mul_add_unfused" else (most, 1) if kind.chained else (UNCHAINED,)
        cases += [
            Case("compute", team, precision, kind.name, vector_bits=bits, accumulators=number) for number in numbers
        ]
    return tuple(cases)


def with_team(cases: Iterable[Case], team: Team, instructions: Sequence[str]) -> tuple[Case, ...]:
    """Return those of the cases that do one of these instructions in many chains, with another team."""
    return tuple(
        replace(case, team=team) for case in cases if case.instructions in instructions and case.accumulators > 1
    )


def chain_cases(
    team: Team, precision: str, bits: int, chains: int, numbers: Sequence[int], fma: bool
) -> tuple[Case, ...]:
    """Return the conventional arithmetic of a precision with fewer chains than its roof has."""
    return tuple(
        Case("compute", team, precision, instruction_of(precision, fma), vector_bits=bits, accumulators=number)
        for number in numbers
        if number < chains
    )


def curve_cases(team: Team, sizes: Sequence[int], vector_bits: int) -> tuple[Case, ...]:
    """Return the points of the bandwidth curve."""
    return tuple(Case("memory", team, mix="load", vector_bits=vector_bits, working_set=size) for size in sizes)


def mixes_of(level: str, fma: bool) -> tuple[str, ...]:
    """Return the access mixes measured at a level: non-temporal stores only where they can mean something."""
    beyond = level not in ("L1", "L2")
    return tuple(mix.name for mix in MIXES if (beyond or not mix.nontemporal) and (fma or not mix.fma))


def memory_case(team: Team, level: str, mix: str, working_set: int, vector_bits: int) -> Case:
    """Return one access mix at one level."""
    return Case(
        "memory",
        team,
        mix=mix,
        vector_bits=vector_bits,
        working_set=catalog.round_working_set(mix, working_set),
        level=level,
    )


def intensity_cases(
    team: Team,
    precision: str,
    multiply_adds: Sequence[int],
    level: str,
    working_set: int,
    vector_bits: int,
    accumulators: int,
) -> tuple[Case, ...]:
    """Return the intensity sweep of one precision at one level."""
    return tuple(
        Case(
            "intensity",
            team,
            precision,
            "fma",
            mix="load",
            vector_bits=vector_bits,
            accumulators=accumulators,
            multiply_adds=k,
            working_set=catalog.round_working_set("load", working_set),
            level=level,
        )
        for k in multiply_adds
    )


def arena_sizes(largest: Mapping[Team, int]) -> dict[int, int]:
    """Return the memory of each CPU's thread in bytes, from the largest working set of one thread of each team."""
    sizes: dict[int, int] = {}
    for team, size in largest.items():
        wanted = max(catalog.arena_bytes(mix.name, size) for mix in MIXES)
        for cpu in team.cpus:
            sizes[cpu] = max(sizes.get(cpu, 0), wanted)
    return sizes


def expected_levels(host: Host, team: Team, largest: int) -> dict[str, int]:
    """Return the working sets that will roughly stand for each level, from the declared caches; memory last."""
    sizes = {level: capacity // OUTSIDE for level, capacity in cache_capacities(host, team.cpus)}
    return {level: size for level, size in sizes.items() if size <= largest} | {MEMORY: largest}


def expected(
    host: Host, teams: Sequence[Team], settings: Settings, largest: Mapping[Team, int], extra: Sequence[Team] = ()
) -> tuple[float, int]:
    """Return roughly how many seconds a sweep will take, and how many visits, from the declared caches."""
    how = effort(settings.effort)
    names = precisions(settings.precisions)
    # Making the code and the pre-passes do not depend on the effort.
    seconds, visits = 6.0, 0
    for team in (*teams, *extra):
        whole = team not in extra
        levels = {level: capacity / OUTSIDE for level, capacity in cache_capacities(host, team.cpus)}
        levels[MEMORY] = float(largest[team])
        sizes = [0.0] * (COMPUTE_VISITS if whole else ROOF_VISITS) * len(names)
        sizes += list(curve_sizes(largest[team], how.points_per_octave if whole else EXTRA_POINTS))
        for level, size in levels.items():
            sizes += [2.0 * size] * len(mixes_of(level, True))
            sizes += [size] * len(how.multiply_adds) * len(names) * whole
        seconds += how.rounds * sum(
            EXPECTED_VISIT["fixed"]
            + size / EXPECTED_VISIT["fill_bytes_per_s"]
            + how.samples * (how.target + size / EXPECTED_VISIT["stream_bytes_per_s"])
            for size in sizes
        )
        visits += how.rounds * len(sizes)
    return seconds, visits
