"""Which cases of latency, concurrency, irregular access, scaling and overhead: pure functions, as in the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ert.measure.plan import arena_sizes, curve_sizes, largest_working_set
from ert.measure.sampling import Visit
from ert.roofline.model import MEMORY, Case, Host, Team
from microbench import catalog

PROBES = ("latency", "gather", "stride", "scaling", "numa", "overhead")
"""Probes that are planned here. They are sampled less than the roofs: none of them is a headline of the chart."""

CHAINS = {16: (1, 2, 4, 8, 16), 32: (1, 2, 4, 8, 16, 24, 32)}
"""Numbers of chains of a random access, by how many vector registers code can name."""

OVERHEADS = ("first start", "last end", "barrier")
"""What is timed of a team: from the call to the first start, to the last end, and one barrier."""

EXPECTED_VISIT = {"fixed": 2e-3, "lay_bytes_per_s": 1.0e9}
"""Rough costs used only to say how long a sweep will take: laying a cycle or an index costs more than a fill."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """How much is measured at one effort.

    Attributes
    ----------
    points_per_octave : (int, int)
        Working sets of the random latency curve and of that inside pages in each doubling.
    every_chain : bool
        Whether all of the :data:`CHAINS` are measured, or those that decide.
    strides : tuple of int
        In elements.
    rounds : int
        Times that every case is visited.
    visit : Visit
        How a case is sampled in each.
    """

    points_per_octave: tuple[int, int]
    every_chain: bool
    strides: tuple[int, ...]
    rounds: int
    visit: Visit


EFFORTS = {
    "quick": Sparse((2, 1), False, (1, 8, 64), rounds=2, visit=Visit(2, 1e-3)),
    "default": Sparse((2, 2), True, catalog.STRIDES, rounds=3, visit=Visit(2, 2e-3)),
    "thorough": Sparse((4, 4), True, catalog.STRIDES, rounds=10, visit=Visit(2, 4e-3)),
}


def leader(team: Team) -> Team:
    """Return the team of the first thread alone."""
    return team if team.threads == 1 else Team("one", team.cpus[:1], 1)


def latency_curve_cases(team: Team, largest: int, sparse: Sparse) -> tuple[tuple[Case, ...], ...]:
    """Return the points of the two latency curves of one thread, one group a pattern."""
    return tuple(
        tuple(_chase(team, pattern, 1, size, "") for size in curve_sizes(largest, an_octave))
        for pattern, an_octave in zip(catalog.PATTERNS, sparse.points_per_octave, strict=True)
    )


def in_page_cases(team: Team, sizes: Mapping[str, int]) -> tuple[Case, ...]:
    """Return the chase inside pages at each level, by the working sets that stand for them."""
    return tuple(_chase(team, "page", 1, size, level) for level, size in sizes.items())


def random_access_cases(team: Team, level: str, working_set: int, registers: int, sparse: Sparse) -> tuple[Case, ...]:
    """Return the chases along more and more chains at one level; in L1 a miss is not to be had."""
    if level == "L1":
        return ()
    numbers = CHAINS[registers]
    if not sparse.every_chain:
        numbers = tuple(dict.fromkeys((numbers[0], *numbers[3::2], numbers[-2], numbers[-1])))
    return tuple(_chase(team, "random", chains, working_set, level) for chains in numbers)


def gather_cases(team: Team, level: str, working_set: int) -> tuple[Case, ...]:
    """Return the gathers at one level."""
    size = catalog.round_gather(working_set)
    return tuple(
        Case(
            "gather", team, working_set=size, level=level, parameters=(("element", element), ("index_bits", bits))
        )
        for element, bits in catalog.GATHERS
    )  # fmt: skip


def stride_cases(team: Team, level: str, working_set: int, sparse: Sparse) -> tuple[Case, ...]:
    """Return the reads at strides at one level, as far as the working set holds two trips of them."""
    size = catalog.round_working_set("load", working_set)
    return tuple(
        Case("stride", team, working_set=size, level=level, parameters=(("stride", stride),))
        for stride in sparse.strides
        if size >= catalog.LINE_BYTES + 2 * 8 * stride * catalog.stride_loads(stride)
    )


def overhead_cases(team: Team) -> tuple[Case, ...]:
    """Return the costs of a team."""
    return tuple(
        Case("overhead", team, parameters=(("threads", team.threads), ("until", until))) for until in OVERHEADS
    )


def scaling_teams(host: Host, cpus: Sequence[int], teams: Sequence[Team]) -> tuple[Team, ...]:
    """Return the teams of 1, 2, 4 ... all cores and of all CPUs that are not among `teams` already.

    Parameters
    ----------
    host : Host
        Tells which CPUs share a core.
    cpus : sequence of int
        CPUs to measure on, physical cores before siblings.
    teams : sequence of Team
        Those whose bandwidth is measured anyhow. With a single one, nothing is scaled.
    """
    if len(teams) < 2:
        return ()
    core_of = {cpu.id: cpu.core for cpu in host.cpus}
    cores = len({core_of[cpu] for cpu in cpus})
    numbers = [2**power for power in range(cores.bit_length()) if 2**power < cores] + [cores, len(cpus)]
    have = {team.cpus for team in teams}
    chosen = [tuple(cpus[:number]) for number in dict.fromkeys(numbers)]
    return tuple(
        Team(f"{len(part)} scaling", part, len({core_of[cpu] for cpu in part})) for part in chosen if part not in have
    )


def affordable(
    host: Host, teams: Iterable[Team], largest: Mapping[Team, int], budget: int, what: str
) -> tuple[dict[Team, int], tuple[str, ...]]:
    """Return the teams that the memory budget allows with their largest working sets, and a note on others.

    Parameters
    ----------
    host : Host
        Its caches say how large a working set must be.
    teams : iterable of Team
        Beside those that are measured anyhow.
    largest : mapping of Team to int
        Of the teams that are measured anyhow, in bytes of one thread.
    budget : int
        Bytes of all threads.
    what : str
        What the teams measure, for the note: ``"bandwidth"``.
    """
    room = max(budget, sum(arena_sizes(largest).values()))
    chosen: dict[Team, int] = {}
    left_out = []
    for team in teams:
        wanted = {**chosen, team: largest_working_set(host, team, budget)}
        if sum(arena_sizes({**largest, **wanted}).values()) <= room:
            chosen = wanted
        else:
            left_out.append(team)
    if not left_out:
        return chosen, ()
    names = ", ".join(team.label.removesuffix(f" ({team.threads} scaling)") for team in left_out)
    return chosen, (f"Not measured, since too little memory may be used: {what} with {names}",)


def scaling_cases(
    team: Team, levels: Mapping[str, int], bits: Mapping[tuple[str, str], int], largest: int
) -> tuple[Case, ...]:
    """Return the load bandwidth of a team in the last cache and in memory.

    Parameters
    ----------
    team : Team
        More or fewer threads than the usual ones.
    levels : mapping of str to int
        Working sets of one thread of the largest usual team at each level: in a cache that the threads share, all then
        have a part that they have together too.
    bits : mapping of (str, str) to int
        Vector width by level and access mix.
    largest : int
        Working set of one thread in memory.
    """
    sizes = {level: size for level, size in levels.items() if level != MEMORY}
    last = list(sizes)[-1:]
    wanted = [(level, sizes[level]) for level in last if level != "L1"]
    wanted += [(MEMORY, largest)] if MEMORY in levels else []
    return tuple(
        Case(
            "scaling",
            team,
            mix="load",
            vector_bits=bits[level, "load"],
            working_set=catalog.round_working_set("load", size),
            level=level,
        )
        for level, size in wanted
        if (level, "load") in bits
    )


def node_case(team: Team, node: int, working_set: int, bits: int) -> Case:
    """Return the load bandwidth of the cores of one NUMA node from the memory that their team names.

    Parameters
    ----------
    team : Team
        With the node of its memory.
    node : int
        That of its cores.
    working_set : int
        Of one thread in bytes, beyond the caches.
    bits : int
        Vector width.
    """
    return Case(
        "numa",
        team,
        mix="load",
        vector_bits=bits,
        working_set=catalog.round_working_set("load", working_set),
        level=MEMORY,
        parameters=(("cpu_node", node),),
    )


def expected(
    teams: Sequence[Team], sizes: Mapping[Team, Mapping[str, int]], effort: str, pairs: Sequence[Team] = ()
) -> tuple[float, int]:
    """Return roughly how many seconds these cases take, and how many visits.

    Parameters
    ----------
    teams : sequence of Team
        The usual ones.
    sizes : mapping
        Of each team, levels and the working set expected to stand for each, memory last.
    effort : str
        Name in :data:`EFFORTS`.
    pairs : sequence of Team
        The cores of each NUMA node with the memory of each.
    """
    sparse = EFFORTS[effort]
    chains = CHAINS[32]
    fills, visits = 0.0, 0
    for team in teams:
        for level, size in sizes[team].items():
            cases = (*random_access_cases(team, level, size, 32, sparse), *gather_cases(team, level, size))
            visits += len(cases) + len(stride_cases(team, level, size, sparse))
            fills += 4.0 * size
    curves = latency_curve_cases(leader(teams[0]), max(sizes[teams[0]].values()), sparse)
    visits += sum(map(len, curves)) + len(pairs)
    fills += sum(case.working_set for cases in curves for case in cases)
    seconds = visits * (EXPECTED_VISIT["fixed"] + sparse.visit.samples * 1.5 * sparse.visit.target)
    seconds += fills / EXPECTED_VISIT["lay_bytes_per_s"]
    return sparse.rounds * seconds + 0.05 * (len(chains) + len(sparse.strides)), sparse.rounds * visits


def _chase(team: Team, pattern: str, chains: int, size: int, level: str) -> Case:
    return Case(
        "latency",
        team,
        accumulators=chains,
        working_set=catalog.round_working_set("load", size),
        level=level,
        parameters=(("pattern", pattern),),
    )
