"""Who measures: the teams of threads that follow from the host and from what the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ert.errors import InputError
from ert.measure.order import order
from ert.measure.tree import format_cpu_list
from ert.roofline.model import SMT, Host, Team

KINDS, SIBLINGS, NUMA = "kinds", "smt", "numa"
"""What else ``--threads`` may ask for: each kind of core, SMT siblings too, each NUMA node with the memory of each."""

USUAL = f"1,all,{KINDS},{SIBLINGS},{NUMA}"
"""Of an ordinary sweep; what a host does not have of it costs nothing."""

MOST_PAIRS = 64
"""Pairs of NUMA nodes that an ordinary sweep measures: all of eight nodes, in about 5 s."""


@dataclass(frozen=True, slots=True)
class Teams:
    """Who measures what.

    Attributes
    ----------
    usual : tuple of Team
        One or more, which measure everything.
    extra : tuple of Team
        Which measure roofs alone: kinds of core, SMT siblings.
    pairs : tuple of Team
        The cores of each NUMA node with the memory of each.
    notes : tuple of str
        What was left out to keep the sweep short.
    """

    usual: tuple[Team, ...]
    extra: tuple[Team, ...] = ()
    pairs: tuple[Team, ...] = ()
    notes: tuple[str, ...] = ()


def usable_cpus(host: Host, chosen: Sequence[int], binding: str) -> tuple[int, ...]:
    """Return the CPUs to measure on in the order in which threads take them.

    Parameters
    ----------
    host : Host
        Tells which CPUs this process may use.
    chosen : sequence of int
        Those that the user named; empty for all.
    binding : str
        Name in :data:`ert.measure.order.BINDINGS`, or :data:`ert.measure.order.BY_NUMBER`.

    Raises
    ------
    InputError
        If a chosen CPU is not one that this process may use.
    """
    cpus = order(host, binding)
    if not chosen:
        return cpus
    missing = sorted(set(chosen) - set(cpus))
    if missing:
        raise InputError(
            f"--cpus: CPU {format_cpu_list(missing)} cannot be used by this process; "
            f"usable: {format_cpu_list(sorted(cpus))}"
        )
    return tuple(cpu for cpu in cpus if cpu in set(chosen))


def choose(host: Host, cpus: Sequence[int], threads: str, most_extra: int) -> Teams:
    """Return the teams that ``--threads`` asks for.

    Parameters
    ----------
    host : Host
        Tells which CPUs share a core, the kinds of core, and the NUMA nodes.
    cpus : sequence of int
        CPUs to measure on, as :func:`usable_cpus` orders them.
    threads : str
        Comma-separated numbers, ``all`` (one thread on every physical core), :data:`KINDS`, :data:`SIBLINGS` and
        :data:`NUMA`. Where no number and no ``all`` is among them, the extra teams are the usual ones.
    most_extra : int
        Extra teams of an ordinary sweep; who asks for something else than :data:`USUAL` gets all of it.

    Raises
    ------
    InputError
        If a word is none of these, a number is more than there are CPUs, or nothing is asked for that the host has.
    """
    words = [part.strip() for part in threads.split(",")]
    usual = _numbered(host, cpus, [word for word in words if word not in (KINDS, SIBLINGS, NUMA)])
    extra = [
        *(_of_kinds(host, cpus) if KINDS in words else ()),
        *(_with_siblings(host, cpus) if SIBLINGS in words else ()),
    ]
    taken = {team.cpus for team in usual}
    extra = [team for team in extra if team.cpus not in taken]
    pairs = _of_nodes(host, cpus) if NUMA in words else []
    notes = []
    if threads == USUAL and len(extra) > most_extra:
        left = ", ".join(team.label for team in extra[most_extra:])
        notes.append(
            f"Not measured, to keep the sweep short: the roofs of {left}. "
            f"`--threads {','.join(word for word in (KINDS, SIBLINGS) if word in words)}` measures them."
        )
        extra = extra[:most_extra]
    if threads == USUAL and len(pairs) > MOST_PAIRS:
        first = pairs[0]
        kept = [
            team
            for team in pairs
            if team.memory_node in (node_of(host, team), first.memory_node)
            or node_of(host, team) == node_of(host, first)
        ]
        notes.append(
            f"Of {len(pairs)} pairs of NUMA nodes {len(kept)} were measured, to keep the sweep short: each node with "
            f"its own memory, and all with the first. `--threads {NUMA}` measures the others."
        )
        pairs = kept
    if not usual:
        usual, extra = extra or _numbered(host, cpus, ["all"] if pairs else []), []
    if not usual:
        raise InputError(
            f"--threads: this host has no cores of different kinds, SMT siblings or NUMA nodes that {threads!r} "
            "could mean; give a number of threads or 'all'"
        )
    return Teams(tuple(usual), tuple(extra), tuple(pairs), tuple(notes))


def node_of(host: Host, team: Team) -> int:
    """Return the NUMA node that a team's leader belongs to."""
    return next((cpu.node for cpu in host.cpus if cpu.id == team.cpus[0]), 0)


def kinds_of(host: Host, team: Team) -> tuple[str, ...]:
    """Return the kinds of core that a team runs on, in the order of its threads; one empty name where all are alike."""
    kind = {cpu.id: cpu.kind for cpu in host.cpus}
    return tuple(dict.fromkeys(kind.get(cpu, "") for cpu in team.cpus))


def nodes_with_memory(host: Host) -> tuple[int, ...]:
    """Return the NUMA nodes that memory may come from; all that are listed where the system tells no sizes."""
    return tuple(node.id for node in host.nodes if node.memory) or tuple(node.id for node in host.nodes)


def _numbered(host: Host, cpus: Sequence[int], words: Sequence[str]) -> list[Team]:
    cores = len(_first_of_cores(host, cpus))
    numbers: dict[int, str] = {}
    for word in words:
        if word == "all":
            numbers.setdefault(cores, "one" if cores == 1 else "all")
            continue
        if not word.isdecimal() or int(word) < 1:
            raise InputError(
                f"--threads: {word!r} is neither a number above 0 nor 'all', {KINDS!r}, {SIBLINGS!r} or {NUMA!r}"
            )
        if int(word) > len(cpus):
            raise InputError(f"--threads: {word} threads do not fit the {len(cpus)} CPUs that can be used")
        numbers.setdefault(int(word), "one" if int(word) == 1 else "all" if int(word) == cores else f"{int(word)}")
    return [_team(host, name, cpus[:number]) for number, name in numbers.items()]


def _of_kinds(host: Host, cpus: Sequence[int]) -> list[Team]:
    """Return one thread of each kind of core, then all cores of each; none where all are of one kind."""
    kind = {cpu.id: cpu.kind for cpu in host.cpus}
    groups: dict[str, list[int]] = {}
    for cpu in _first_of_cores(host, cpus):
        groups.setdefault(kind[cpu], []).append(cpu)
    if len(groups) < 2:
        return []
    ones = [_team(host, f"one {name}", group[:1]) for name, group in groups.items()]
    return ones + [_team(host, f"all {name}", group) for name, group in groups.items() if len(group) > 1]


def _with_siblings(host: Host, cpus: Sequence[int]) -> list[Team]:
    """Return all logical CPUs, where that is more than one a core."""
    return [_team(host, SMT, cpus)] if len(cpus) > len(_first_of_cores(host, cpus)) else []


def _of_nodes(host: Host, cpus: Sequence[int]) -> list[Team]:
    """Return one thread on every core of each node with the memory of each node; none with the memory of one alone."""
    memories = nodes_with_memory(host)
    if len(memories) < 2:
        return []
    node = {cpu.id: cpu.node for cpu in host.cpus}
    groups: dict[int, list[int]] = {}
    for cpu in _first_of_cores(host, cpus):
        groups.setdefault(node[cpu], []).append(cpu)
    return [
        _team(host, f"node {near}, memory {far}", group, far)
        for near, group in sorted(groups.items())
        for far in memories
    ]


def _first_of_cores(host: Host, cpus: Sequence[int]) -> list[int]:
    core_of = {cpu.id: cpu.core for cpu in host.cpus}
    firsts: dict[int, int] = {}
    for cpu in cpus:
        firsts.setdefault(core_of[cpu], cpu)
    return list(firsts.values())


def _team(host: Host, name: str, cpus: Sequence[int], memory: int | None = None) -> Team:
    return Team(name, tuple(cpus), len(_first_of_cores(host, cpus)), memory)
