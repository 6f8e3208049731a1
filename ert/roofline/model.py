"""The types of the tool: what was measured, on what, and the roofs that follow from it.

Every quantity is in SI base units (seconds, bytes, FLOP, hertz); prefixes belong to text alone. Measured things
hold raw seconds and exact integer counts only. Rates, levels, roofs and verdicts are derived from them by
:mod:`ert.roofline.fit`, so that a better fit improves every result already on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MEMORY = "DRAM"
"""Name of the level that is not a cache."""

Grade = Literal["A", "B", "C", "D"]
"""How well a number is supported by its samples; :func:`ert.roofline.statistics.grade` defines the steps."""


# ---------------------------------------------------------------------------------------------- the machine


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU that is online.

    Attributes
    ----------
    id : int
        The operating system's number.
    core : int
        Index of its physical core, counted over the whole host from 0. SMT siblings share it.
    package, node : int
        Socket and NUMA node; 0 where the host names none.
    sibling : int
        Rank among the logical CPUs of its core: 0 for the first, 1 for its SMT sibling.
    kind : str
        Kind of core on hosts that have several (``"P"``, ``"E"``, or a part name); empty where all are alike.
    usable : bool
        Whether this process may run on it (affinity and cgroup cpuset).
    """

    id: int
    core: int
    package: int = 0
    node: int = 0
    sibling: int = 0
    kind: str = ""
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Cache:
    """One instance of a data or unified cache as the system declares it.

    Attributes
    ----------
    level : str
        ``"L1"``, ``"L2"``, ``"L3"``, ...
    size : int
        Declared bytes; 0 where the system lists the cache but not its size.
    cpus : tuple of int
        The online logical CPUs that share this instance.
    line : int or None
        Bytes of a line; None if not declared.
    """

    level: str
    size: int
    cpus: tuple[int, ...]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One NUMA node: its online CPUs (may be none) and its memory in bytes (may be 0)."""

    id: int
    cpus: tuple[int, ...]
    memory: int


@dataclass(frozen=True, slots=True)
class Host:
    """Who and where we are, as far as the operating system tells; no field identifies the owner or the network.

    Attributes
    ----------
    system, machine : str
        As ``platform.system()`` and ``platform.machine()`` spell them: ``"Linux"``, ``"x86_64"``.
    kernel : str
        Release of the operating system kernel.
    cpu_model : str
        Marketing name; empty where it is hidden.
    vendor : str
        ``"AuthenticAMD"``, ``"GenuineIntel"``, or the Arm implementer as ``"0x41"``; empty if unknown.
    identity : tuple of (str, int)
        What recognises the core: ``family``, ``model``, ``stepping`` on x86, ``implementer``, ``part``, ``variant``,
        ``revision`` on Arm. On hosts with several kinds of core, of the first.
    cpus, caches, nodes : tuple
        Online logical CPUs, data caches (one entry an instance), and the NUMA nodes whose memory may be used.
    memory_total, memory_available : int
        Bytes; 0 if unknown. What a control group leaves of the available memory counts where that is less.
    memory_limit : int or None
        Smallest cgroup memory limit in force in bytes; None without one.
    kinds : tuple of str
        Kinds of core, the fastest first; empty where all are alike.
    cpu_quota : float or None
        CPUs' worth of time a cgroup lets this process use (``cpu.max``); None without a quota.
    hypervisor, container : str
        Name of the hypervisor or container runtime; empty on bare metal.
    thp : str
        Transparent huge pages: ``"always"``, ``"madvise"``, ``"never"``; empty if unknown.
    governor, turbo : str
        Frequency governor, and ``"on"`` or ``"off"``; empty where the system does not tell.
    page_size : int
        Bytes of a base page.
    notes : tuple of str
        What was found inconsistent or missing, in sentences.
    """

    system: str
    machine: str
    kernel: str = ""
    cpu_model: str = ""
    vendor: str = ""
    identity: tuple[tuple[str, int], ...] = ()
    cpus: tuple[Cpu, ...] = ()
    caches: tuple[Cache, ...] = ()
    nodes: tuple[Node, ...] = ()
    memory_total: int = 0
    memory_available: int = 0
    memory_limit: int | None = None
    cpu_quota: float | None = None
    hypervisor: str = ""
    container: str = ""
    thp: str = ""
    governor: str = ""
    turbo: str = ""
    page_size: int = 4096
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The CPU's marketing name, or what else tells the machine where that is hidden."""
        known = (self.vendor, *(f"{key} {value}" for key, value in self.identity if key in ("family", "model")))
        return self.cpu_model or " ".join(known).strip() or f"{self.machine} CPU"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What produced and ran the code: versions, the target CPU as LLVM names it, and the vector widths it offers.

    Attributes
    ----------
    versions : tuple of (str, str)
        Package and its version: ``ert-roofline``, ``python``, ``numba``, ``llvmlite``, ``llvm``, ``numpy``.
    target : str
        LLVM's name of the CPU the code was made for.
    features : tuple of str
        LLVM's names of the instruction sets present that the probes can use.
    vector_bits : tuple of int
        Vector widths the CPU can execute, ascending.
    """

    versions: tuple[tuple[str, str], ...] = ()
    target: str = ""
    features: tuple[str, ...] = ()
    vector_bits: tuple[int, ...] = ()


# ----------------------------------------------------------------------------------------- what is measured


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


Implementation = Literal["explicit vectors", "compiled loops", "library"]

Limit = Literal["", "gather", "chain"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """An application kernel as its catalogue describes it; stored with results, so that they need no catalogue.

    A measurement belongs to the kernel whose name is its case's probe. Its numbers stand in the measurement's
    :class:`Work`; the formulas here say how they come about.

    Attributes
    ----------
    name, family : str
        ``"stream_triad_nt"``, ``"stream"``. A name is unique; families: ``"stream"``, ``"vector"``, ``"dense"``,
        ``"sparse"``, ``"stencil"``, ``"convolution"``, ``"spectral"``, ``"neural"``.
    title : str
        The few words a person reads: ``"triad, non-temporal stores"``.
    implementation : str
        Who made the code: vector instructions written out, the compiler from ordinary loops, or another library.
    flop, read, written, compulsory, traffic : str
        FLOP, bytes loaded and stored (program bytes), each datum once, and modelled traffic of the level that the data
        live in, as formulas in the problem size; ``s`` is the bytes of an element.
    source : str
        Where the formulas come from.
    instructions : str
        The kind of arithmetic whose roof applies (``"fma"``, ``"add"``, ``"mul"``, ...); empty without arithmetic.
    mix : str
        The access mix nearest to its own, whose memory roof applies.
    limit : str
        What it may hit before a roof: ``"gather"`` (single elements through an index), ``"chain"`` (each step needs
        the one before); empty for streams and blocked code.
    nominal : bool
        Whether its FLOP count is a convention and not what the code does (FFT: 5 N log2 N).
    ladder : str
        Name of the series of implementations of one algorithm that it is a rung of; empty for none.
    rung : int
        Its place on the ladder, from 1, slow to fast.
    notes : str
        What else a reader of its numbers should know: what is counted for a division or an exponential, and so on.
    """

    name: str
    family: str
    title: str
    implementation: Implementation
    flop: str
    read: str
    written: str
    compulsory: str
    traffic: str
    source: str
    instructions: str = ""
    mix: str = "load"
    limit: Limit = ""
    nominal: bool = False
    ladder: str = ""
    rung: int = 0
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Seconds:
    """Wall time of a sweep: in all, compiling, and inside timed samples with their warm-up."""

    total: float = 0.0
    compiling: float = 0.0
    measuring: float = 0.0


@dataclass(frozen=True, slots=True)
class Condition:
    """What a machine was doing when a run began, as its system told; None is not known.

    :func:`ert.roofline.fitness.fitness` judges it.

    Attributes
    ----------
    at : str
        UTC of the look, ISO 8601 with seconds and ``Z``.
    seconds : float
        How long the look took. The tool kept one CPU busy meanwhile: time is stolen only from who wants it.
    load : float or None
        Load average of the last minute.
    others : float or None
        CPUs' worth of time that other processes used on the CPUs usable here.
    stolen : float or None
        CPUs' worth of time that the hypervisor gave to others meanwhile.
    stolen_since_boot : float or None
        Part of the time wanted on these CPUs that was stolen since the system started.
    alone : bool or None
        Whether no other run of this tool was measuring; None where runs cannot see each other.
    budget : int
        Bytes that the tool may take for arrays; 0 if unknown.
    clock_source : str
        What the kernel reads the time from; empty if unknown.
    clock_step : float or None
        Smallest step of the monotonic clock in seconds, reading it included.
    clock_backwards : int
        How often a reading was earlier than the one before.
    frequency_driver : str
        What sets the clock of the cores; empty if unknown.
    """

    at: str
    seconds: float = 0.0
    load: float | None = None
    others: float | None = None
    stolen: float | None = None
    stolen_since_boot: float | None = None
    alone: bool | None = None
    budget: int = 0
    clock_source: str = ""
    clock_step: float | None = None
    clock_backwards: int = 0
    frequency_driver: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """One sweep as it is stored.

    Attributes
    ----------
    started : str
        UTC, ISO 8601 with seconds and ``Z``.
    settings : tuple of (str, int or float or str)
        What the user asked for, as far as it changes the numbers.
    absent : tuple of (str, str)
        What was asked for and cannot be measured here, and what it would need.
    complete : bool
        False for the partial result of an interrupted sweep.
    kernels : tuple of Kernel
        The application kernels among the measurements.
    conditions : tuple of Condition
        The machine at the start of each run behind the measurements: one of a plain sweep, more of one that was
        resumed or to which kernels were added, none of sweeps from before they were recorded.
    roofs_started : str
        Where kernels were added to a sweep, when that sweep began; `started` is then when the kernels began. Empty
        where both were measured in one run.
    """

    started: str
    host: Host
    toolchain: Toolchain
    measurements: tuple[Measurement, ...]
    settings: tuple[tuple[str, int | float | str], ...] = ()
    notes: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    seconds: Seconds = Seconds()
    complete: bool = True
    kernels: tuple[Kernel, ...] = ()
    conditions: tuple[Condition, ...] = ()
    roofs_started: str = ""

    def same_sweep(self, other: Results) -> bool:
        """Whether the other began at the same time and holds the same measurements: a copy under another name."""
        return self.started == other.started and self.measurements == other.measurements


# --------------------------------------------------------------------------------------------- what follows


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate derived from samples: the best one is the roof, the others say how sure it is.

    Attributes
    ----------
    best, median : float
        Units per second.
    per_cycle : float or None
        Units per clock cycle of one core; None where the clock is not known.
    spread : float
        1 - median of the rounds' bests / best: 0 for perfectly repeatable.
    grade : str
        ``"A"`` to ``"D"``.
    samples : int
        How many stand behind it.
    clock_hz : float or None
        Core clock that a sample near the best ran at: the middle one of those; None where the clock is not known.
    """

    best: float
    median: float
    per_cycle: float | None
    spread: float
    grade: Grade
    samples: int
    clock_hz: float | None = None


@dataclass(frozen=True, slots=True)
class Plateau:
    """One level as the bandwidth curve shows it.

    Attributes
    ----------
    name : str
        ``"L1"``, ``"L2"``, ``"L3"``, ``"DRAM"``.
    value : float
        Height of the plateau (byte/s for a bandwidth curve).
    first, last : int
        Smallest and largest measured working set on it, bytes of one thread.
    capacity : float or None
        Effective capacity: working set of one thread at which the curve leaves the plateau half way (on log scales);
        None for the last.
    declared : int or None
        Declared capacity of the level that one thread can use; None if not declared or memory.
    """

    name: str
    value: float
    first: int
    last: int
    capacity: float | None = None
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class ComputeRoof:
    """A measured peak of arithmetic. ``rate`` is in FLOP/s (OP/s for integers).

    ``headline`` marks the conventional roof of the precision: the best width of pure multiply-adds or dot products.
    ``above`` marks what is faster than that by more than measurements differ: mixes, on cores with pipes that a
    multiply-add leaves idle. ``few_chains`` marks a ceiling that runs with fewer independent chains than the best.
    """

    name: str
    precision: str
    instructions: str
    vector_bits: int
    accumulators: int
    team: Team
    rate: Estimate
    verified: bool
    headline: bool = False
    above: bool = False
    few_chains: bool = False


@dataclass(frozen=True, slots=True)
class InstructionLatency:
    """How long a step of arithmetic takes from its operand to its result, from one dependent chain.

    Attributes
    ----------
    name, precision, instructions, vector_bits, team
        As of a :class:`ComputeRoof`.
    cycles : float
        Core clock cycles of one step.
    rate : Estimate
        Steps per second, one after the other.
    saturating_chains : int or None
        Fewest of the measured numbers of independent chains that reach the roof; None where only the one chain and
        the roof were measured.
    """

    name: str
    precision: str
    instructions: str
    vector_bits: int
    team: Team
    cycles: float
    rate: Estimate
    saturating_chains: int | None
    verified: bool


@dataclass(frozen=True, slots=True)
class MemoryRoof:
    """A measured bandwidth of a level for one access mix and one way of counting.

    ``rate`` is in byte/s of ``bytes_counted``: ``"program"`` or ``"traffic"``. ``headline`` marks the one roof of the
    level that the chart draws; it comes from mixes whose traffic needs no model only.
    """

    name: str
    level: str
    mix: str
    vector_bits: int
    team: Team
    bytes_counted: Literal["program", "traffic"]
    working_set: int
    rate: Estimate
    verified: bool
    headline: bool = False
    declared: int | None = None
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class IntensityPoint:
    """One point of the empirical roofline. ``intensity`` is FLOP per program byte of a load-only stream.

    ``flop_rate`` and ``byte_rate`` are two views of the same samples.
    """

    level: str
    mix: str
    precision: str
    team: Team
    multiply_adds: int
    intensity: float
    flop_rate: Estimate
    byte_rate: Estimate
    verified: bool


@dataclass(frozen=True, slots=True)
class RidgePoint:
    """Where a compute roof and a memory roof of one team meet, in FLOP/byte."""

    compute: ComputeRoof
    memory: MemoryRoof
    intensity: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One working set of the bandwidth curve: byte/s."""

    working_set: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Curve:
    """The bandwidth curve of a team over the working set of one thread, and its plateaus, small to large."""

    team: Team
    points: tuple[CurvePoint, ...]
    plateaus: tuple[Plateau, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LatencyPoint:
    """One working set of a latency curve. ``rate`` is in dependent loads per second."""

    working_set: int
    rate: Estimate

    @property
    def seconds(self) -> float:
        """Load-to-use latency: from one dependent load to the next."""
        return 1.0 / self.rate.best

    @property
    def cycles(self) -> float | None:
        """The same in cycles of the core; None where the clock is not known."""
        return 1.0 / self.rate.per_cycle if self.rate.per_cycle else None


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """The latency of a pointer chase over the working set of one thread, and its plateaus (values in seconds).

    ``pattern`` is ``"random"`` (over the whole set) or ``"page"`` (inside pages that are visited in order).
    """

    team: Team
    pattern: str
    points: tuple[LatencyPoint, ...]
    plateaus: tuple[Plateau, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Latency:
    """Load-to-use latency of a level, from a plateau of a latency curve.

    ``rate`` is that of the measured working set nearest to it (dependent loads per second) and says how sure it is.
    ``capacity`` is where the curve leaves the level, in bytes of one thread; None for the last.
    """

    level: str
    pattern: str
    team: Team
    seconds: float
    cycles: float | None
    rate: Estimate
    capacity: float | None = None
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class RandomAccess:
    """Independent pointer chases side by side. ``rate`` is in byte/s of whole lines, over all threads and chains.

    Attributes
    ----------
    in_flight : float or None
        Lines in flight over all threads, by Little's law: lines per second x the latency of a single chain of the same
        team at the same level; None where that was not measured.
    headline : bool
        Whether it is the random-access roof of its level and team: the best number of chains.
    """

    level: str
    team: Team
    chains: int
    working_set: int
    line_bytes: int
    rate: Estimate
    in_flight: float | None
    verified: bool
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Little's law of a level: what must be in flight to reach its bandwidth, and what independent reads keep.

    ``bandwidth`` in byte/s is the load-only roof, ``latency`` in seconds that of one chain over the whole set; both of
    the same team. ``needed`` and ``reached`` are bytes over all threads.
    """

    level: str
    team: Team
    bandwidth: float
    latency: float
    needed: float
    reached: float
    chains: int


@dataclass(frozen=True, slots=True)
class Gather:
    """Random reads through an index array. ``rate`` counts the bytes of the gathered elements only, over all threads.

    ``index_rate`` are the bytes/s of index read besides; ``line_rate`` what crosses the level if every element comes
    with a line of its own, None in L1. ``working_set`` is data and index of one thread.
    """

    level: str
    team: Team
    element_bytes: int
    index_bytes: int
    working_set: int
    rate: Estimate
    index_rate: float
    line_rate: float | None
    verified: bool


@dataclass(frozen=True, slots=True)
class Strided:
    """Reads of 8 bytes at a stride in elements. ``rate`` counts the bytes used, over all threads.

    ``line_rate`` counts the whole lines they lie in, which is what crosses a level beyond L1; None in L1.
    """

    level: str
    team: Team
    stride: int
    working_set: int
    rate: Estimate
    line_rate: float | None
    verified: bool


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """Load bandwidth of one number of threads, in byte/s of all together."""

    team: Team
    rate: Estimate
    verified: bool


@dataclass(frozen=True, slots=True)
class Scaling:
    """Load bandwidth of a level against the number of threads, few to many.

    ``saturated_by`` is the smallest team within 5 % of the best; None while every step still brought more than that,
    so that the last team is needed.
    """

    level: str
    points: tuple[ScalingPoint, ...]
    saturated_by: Team | None


@dataclass(frozen=True, slots=True)
class NodeBandwidth:
    """Load bandwidth of the cores of one NUMA node from the memory of one, in byte/s of all its threads together."""

    cpu_node: int
    memory_node: int
    team: Team
    working_set: int
    rate: Estimate
    verified: bool

    @property
    def local(self) -> bool:
        """Whether the memory is the node's own."""
        return self.cpu_node == self.memory_node


@dataclass(frozen=True, slots=True)
class Overhead:
    """The cost of working together. ``rate`` is in events per second, so that the best one is the cheapest.

    ``kind`` is ``"first start"`` and ``"last end"`` (from the call that starts a team to the first start and to the
    last end of a loop that does nothing) or ``"barrier"`` (one barrier in compiled code).
    """

    kind: str
    team: Team
    rate: Estimate

    @property
    def seconds(self) -> float:
        """The least that one costs."""
        return 1.0 / self.rate.best


@dataclass(frozen=True, slots=True)
class Roofline:
    """All that a sweep says about one machine, derived from its :class:`Results`."""

    compute: tuple[ComputeRoof, ...]
    memory: tuple[MemoryRoof, ...]
    points: tuple[IntensityPoint, ...]
    ridges: tuple[RidgePoint, ...]
    curves: tuple[Curve, ...]
    notes: tuple[str, ...] = field(default=())
    instruction_latencies: tuple[InstructionLatency, ...] = ()
    latency_curves: tuple[LatencyCurve, ...] = ()
    latencies: tuple[Latency, ...] = ()
    random_access: tuple[RandomAccess, ...] = ()
    concurrency: tuple[Concurrency, ...] = ()
    gathers: tuple[Gather, ...] = ()
    strides: tuple[Strided, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    overheads: tuple[Overhead, ...] = ()
    numa: tuple[NodeBandwidth, ...] = ()

    @property
    def usual_teams(self) -> tuple[Team, ...]:
        """Teams that are told by their number of threads; all of them where there is no such."""
        return tuple(team for team in self.teams if team.usual) or self.teams

    @property
    def teams(self) -> tuple[Team, ...]:
        """Teams in the order in which they were measured, without repetition."""
        found: dict[Team, None] = {}
        for peak in self.compute:
            found.setdefault(peak.team)
        for slope in self.memory:
            found.setdefault(slope.team)
        return tuple(found)
