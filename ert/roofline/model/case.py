"""What is measured: teams, cases, the work of a pass, samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

USUAL_TEAMS = ("one", "all")
"""Teams that need no name beside their number of threads."""

SMT = "SMT"
"""Name of the team with a thread on every logical CPU, SMT siblings too."""


@dataclass(frozen=True, slots=True)
class Team:
    """The logical CPUs that work together, one pinned thread on each.

    Attributes
    ----------
    name : str
        ``"one"`` and ``"all"`` for the usual two, and a bare number for others of the kind; what else there is carries
        a name of its own: ``"one E"`` and ``"all E"`` for a kind of core, ``"SMT"``, ``"node 0, memory 1"``.
    cpus : tuple of int
        One thread a CPU, in this order. The first is the leader.
    cores : int
        Physical cores they belong to: fewer than CPUs when SMT siblings work together.
    memory_node : int or None
        NUMA node that every thread's memory lies on; None for each thread's own.
    """

    name: str
    cpus: tuple[int, ...]
    cores: int
    memory_node: int | None = None

    @property
    def threads(self) -> int:
        """Number of threads."""
        return len(self.cpus)

    @property
    def usual(self) -> bool:
        """Whether it is told by its number of threads alone: one thread after the other on the CPUs in their order."""
        return self.name in USUAL_TEAMS or self.name.isdigit()

    @property
    def label(self) -> str:
        """What a person calls it: ``"1 thread"``, ``"16 threads on 8 cores"``, ``"4 threads (P)"``."""
        label = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        if self.cores != self.threads:
            label += " on 1 core" if self.cores == 1 else f" on {self.cores} cores"
        if self.usual:
            return label
        first, _, kind = self.name.partition(" ")
        return f"{label} ({kind if first in USUAL_TEAMS else self.name})"


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured; hashable, and all that an instrument needs to build the code.

    Fields that a probe does not use keep their defaults.

    Attributes
    ----------
    probe : str
        Name in the catalogue of probes and kernels: ``"compute"``, ``"memory"``, ``"intensity"``, ...
    team : Team
        Who runs it.
    precision : str
        ``"fp64"``, ``"fp32"``, ...; empty for probes that move bytes and do not depend on the element.
    instructions : str
        Arithmetic: ``"fma"``, ``"add"``, ...
    mix : str
        Access mix: ``"load"``, ``"copy"``, ``"triad_nt"``, ...
    vector_bits : int
        Width of every vector instruction.
    accumulators : int
        Independent chains of arithmetic.
    multiply_adds : int
        k of the intensity sweep: multiply-adds per loaded element.
    working_set : int
        Bytes of all arrays of one thread.
    level : str
        Memory level that the working set was chosen for when the sweep was planned; empty for a point of the
        working-set curve. The final fit says whether it still lies there.
    parameters : tuple of (str, int or str)
        Whatever else a probe needs, sorted by name.
    """

    probe: str
    team: Team
    precision: str = ""
    instructions: str = ""
    mix: str = ""
    vector_bits: int = 0
    accumulators: int = 0
    multiply_adds: int = 0
    working_set: int = 0
    level: str = ""
    parameters: tuple[tuple[str, int | str], ...] = ()

    @property
    def total_working_set(self) -> int:
        """Bytes over all threads of the team."""
        return self.working_set * self.team.threads


@dataclass(frozen=True, slots=True)
class Work:
    """Exact counts of one pass, summed over the threads of the team.

    Attributes
    ----------
    flop : int
        Additions and multiplications, a fused multiply-add counting 2 (operations for integer precisions).
    read_bytes, written_bytes : int
        Program bytes: what the code loads and stores.
    allocate_bytes : int
        Bytes of the lines that ordinary stores write without having read them: below the level that holds the line
        each is read once more (write-allocate). 0 for non-temporal stores and updates in place.
    compulsory_bytes : int or None
        Each datum counted once; None where a probe has no such notion.
    level_bytes : tuple of (str, int)
        Modelled traffic of a level, where it is not simply that of a stream.
    events : int
        Things counted one by one: steps of arithmetic chains, dependent loads, gathered elements, barriers.
    """

    flop: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    allocate_bytes: int = 0
    compulsory_bytes: int | None = None
    level_bytes: tuple[tuple[str, int], ...] = ()
    events: int = 0

    @property
    def program_bytes(self) -> int:
        """Bytes loaded plus bytes stored."""
        return self.read_bytes + self.written_bytes

    def traffic_bytes(self, level: str) -> int:
        """Bytes of a stream across the named level: program bytes, and the write-allocate read below L1.

        L1 holds the lines that are stored to, so nothing is allocated above it. Where the traffic is no stream's, it is
        what `level_bytes` says.
        """
        counted = dict(self.level_bytes).get(level)
        if counted is not None and level != "L1":
            return counted
        return self.program_bytes + (0 if level == "L1" else self.allocate_bytes)


CodeStatus = Literal["verified", "mismatch", "unseen", "compiled", "library"]


@dataclass(frozen=True, slots=True)
class Code:
    """What the generated code of a case was seen to contain, and whether that is what the case means.

    Attributes
    ----------
    status : str
        ``"verified"``: the innermost loop equals the model. ``"mismatch"``: it does not. ``"unseen"``: it cannot be
        read. ``"compiled"``: made by the compiler from an ordinary loop; what it contains is told, not prescribed.
        ``"library"``: code of another library, which has no model.
    reason : str
        One sentence where the status is not ``"verified"``.
    found, expected : tuple of (str, int)
        Instructions of one trip through the innermost loop, by the names of :class:`microbench.assembly.Counts`.
    """

    status: CodeStatus
    reason: str = ""
    found: tuple[tuple[str, int], ...] = ()
    expected: tuple[tuple[str, int], ...] = ()

    @property
    def verified(self) -> bool:
        """Whether the code is proven to be what the case means."""
        return self.status == "verified"


INTERRUPTED = 0.005
"""Part of a sample that a thread may be away from its CPU: the least spread that a grade knows (half of what grade A
promises). Timer ticks and interrupts take less, and count as the thread's own time on most systems."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed run of a case.

    Attributes
    ----------
    round : int
        Which round of the sweep it belongs to, from 0.
    passes : int
        How many times :class:`Work` was done.
    seconds : float
        Last end minus first start over the team.
    thread_seconds : tuple of float
        Each thread's own end minus its own start.
    clocks_hz : tuple of float
        Each thread's core clock, from the chain of dependent additions that the timed call ends with; empty if it was
        not taken.
    at : float
        Seconds since the sweep began.
    steal_seconds : float or None
        Time that the hypervisor gave to others on the team's CPUs during the sample; None where it is not known.
    context_switches : int or None
        Involuntary switches of this process during the sample.
    away_seconds : float or None
        The longest that a thread of the team was on no CPU during the sample; None where it is not known.
    """

    round: int
    passes: int
    seconds: float
    thread_seconds: tuple[float, ...] = ()
    clocks_hz: tuple[float, ...] = ()
    at: float = 0.0
    steal_seconds: float | None = None
    context_switches: int | None = None
    away_seconds: float | None = None

    @property
    def interrupted(self) -> bool:
        """Whether it is known that something else ran on a CPU of the team for longer than can be overlooked."""
        return self.away_seconds is not None and self.away_seconds > INTERRUPTED * self.seconds


@dataclass(frozen=True, slots=True)
class Measurement:
    """A case with all its samples.

    Attributes
    ----------
    error : str
        Empty, or one sentence: the result of the timed code was not what the oracle expects, or it could not be run.
    revision : int
        Version of the probe's code; figures of different revisions are not comparable.
    """

    case: Case
    work: Work
    code: Code
    samples: tuple[Sample, ...] = ()
    error: str = ""
    revision: int = 1

    @property
    def valid(self) -> bool:
        """Whether its numbers mean anything: it ran and its results were right."""
        return not self.error and bool(self.samples)

    @property
    def sound(self) -> bool:
        """Whether it may become a roof: valid, and its code is verified."""
        return self.valid and self.code.verified
