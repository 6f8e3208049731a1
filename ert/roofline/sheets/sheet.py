"""Machine sheets: what vendors and others state of cores, CPUs and accelerators, and the peaks that follow from it.

A sheet holds stated facts only; whatever its sources do not say is None or missing from a tuple. Peaks and bandwidths
are computed here, so that a sheet cannot contradict itself; a vendor's own published figure stands beside them.
All quantities are in SI base units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CHANNEL_BYTES = 8
"""Bytes a memory channel moves per transfer, as vendors count channels: 64 bits (in DDR5 two halves of 32)."""

Unit = Literal["vector", "matrix"]
"""Who does the arithmetic: the vector pipes, or a matrix unit beside them (AMX, tensor cores)."""

Clock = Literal["base", "all-core", "boost"]
"""Which of the stated clocks a peak is meant at."""

Metric = Literal["fma", "load", "triad", "hpl", "matrix", "other"]
"""What was measured: multiply-adds in registers, a stream of loads, STREAM triad, Linpack (HPL), a matrix unit."""


@dataclass(frozen=True, slots=True)
class PerCycle:
    """Operations (FLOP, or OP for integers) that one core, or one unit of an accelerator, does per clock cycle."""

    precision: str
    unit: Unit
    operations: float


@dataclass(frozen=True, slots=True)
class CacheSheet:
    """One level of cache.

    Attributes
    ----------
    level : str
        ``"L1"``, ``"L2"``, ``"L3"``.
    size : int or None
        Bytes of one instance; None where only the total is stated.
    total : int or None
        Bytes of all instances of one CPU; None where it is not stated.
    cores : int or None
        Cores that share an instance; 1 for a private cache.
    load_bytes, store_bytes : float or None
        Bytes per cycle that one core loads from it and stores to it.
    line : int or None
        Bytes of a line.
    """

    level: str
    size: int | None = None
    total: int | None = None
    cores: int | None = None
    load_bytes: float | None = None
    store_bytes: float | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Recognition:
    """How a core is told from others; an empty tuple or string asks nothing.

    Attributes
    ----------
    vendor : str
        CPUID vendor (``"AuthenticAMD"``) or Arm implementer (``"0x41"``).
    family : int or None
        CPUID family as the kernel prints it, extended family included.
    models, parts : tuple of int
        CPUID models, or Arm part numbers.
    kinds : tuple of str
        On hosts with several kinds of core, which of them it is: ``"P"``, ``"E"``, or the name of an Arm part.
    names : tuple of str
        Where the numbers do not tell: model names that the sheet is for, without vendor and clock.
    """

    vendor: str = ""
    family: int | None = None
    models: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoreSheet:
    """A microarchitecture: what one core does per cycle.

    Attributes
    ----------
    name, title : str
        The file's stem (``"amd-zen4"``), and what a person calls it.
    aliases : tuple of str
        Other names it is found by.
    recognition : Recognition
        How a host is seen to have it.
    isa : str
        Vector instruction sets, in words.
    vector_bits : int or None
        Widest data path of the vector pipes (instructions may be wider).
    per_cycle : tuple of PerCycle
        Peak arithmetic by precision and unit.
    fma_pipes : int or None
        Vector multiply-adds that can start each cycle.
    fma_latency, accumulate_latency : float or None
        Cycles from any operand of a multiply-add to its result; from the addend alone, where that is shorter.
    loads, stores : float or None
        Vector loads and stores per cycle.
    caches : tuple of CacheSheet
        Nearest first.
    notes, sources : tuple of str
        What else is to be known, and where all of it comes from.
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    recognition: Recognition = Recognition()
    isa: str = ""
    vector_bits: int | None = None
    per_cycle: tuple[PerCycle, ...] = ()
    fma_pipes: int | None = None
    fma_latency: float | None = None
    accumulate_latency: float | None = None
    loads: float | None = None
    stores: float | None = None
    caches: tuple[CacheSheet, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions with a stated rate, in the order of the sheet."""
        return tuple(dict.fromkeys(rate.precision for rate in self.per_cycle))

    @property
    def fma_chains(self) -> float | None:
        """Independent multiply-adds in flight that fill the pipes: pipes x latency."""
        return self.fma_pipes * self.fma_latency if self.fma_pipes and self.fma_latency else None

    def operations(self, precision: str, unit: Unit | None = None) -> float | None:
        """Return the operations per cycle of one core; of the faster unit where none is named; None if not stated."""
        return _best(self.per_cycle, precision, unit)

    def cache(self, level: str) -> CacheSheet | None:
        """Return a level of cache; None if the sheet does not know it."""
        return next((cache for cache in self.caches if cache.level == level), None)


@dataclass(frozen=True, slots=True)
class CoreGroup:
    """The cores of one kind in a CPU, and their clocks in hertz.

    ``core`` is None where no sheet describes them. ``kind`` is empty where the CPU has one kind only. ``highest`` is
    what single cores of them reach beyond the boost clock (favoured cores, or while it is cool), where it is stated.
    """

    count: int
    core: CoreSheet | None = None
    kind: str = ""
    base: float | None = None
    all_core: float | None = None
    boost: float | None = None
    highest: float | None = None

    def clock(self, clock: Clock) -> float | None:
        """Return one of the stated clocks in hertz."""
        return {"base": self.base, "all-core": self.all_core, "boost": self.boost}[clock]


@dataclass(frozen=True, slots=True)
class MemorySheet:
    """The memory of one CPU or accelerator.

    Attributes
    ----------
    type : str
        ``"DDR5"``, ``"HBM3"``; empty if unknown.
    channels, bus_bits : int or None
        Channels of 8 bytes, or the width of the whole bus: whichever the vendor states.
    transfers : float or None
        Transfers per second on every pin: 4.8e9 for DDR5-4800.
    capacity : int or None
        Bytes, where it is part of the device.
    """

    type: str = ""
    channels: int | None = None
    bus_bits: int | None = None
    transfers: float | None = None
    capacity: int | None = None

    @property
    def bandwidth(self) -> float | None:
        """Peak bandwidth in byte/s: channels x 8 bytes, or the bus width, x transfers; None if either is unknown."""
        width = self.channels * CHANNEL_BYTES if self.channels else (self.bus_bits / 8 if self.bus_bits else None)
        return width * self.transfers if width and self.transfers else None


@dataclass(frozen=True, slots=True)
class PublishedPeak:
    """A peak as someone published it: FLOP/s (OP/s) of dense arithmetic.

    ``clock`` names what it is meant at (None: not stated), ``sockets`` how many CPUs it counts. ``why`` says in a
    sentence why it differs from the computed one, where it does.
    """

    precision: str
    value: float
    unit: Unit = "vector"
    clock: Clock | None = None
    sockets: int = 1
    why: str = ""


@dataclass(frozen=True, slots=True)
class PublishedBandwidth:
    """A peak memory bandwidth as someone published it, in byte/s, for so many sockets; ``why`` as for peaks."""

    value: float
    sockets: int = 1
    why: str = ""


@dataclass(frozen=True, slots=True)
class PublishedMeasurement:
    """A figure that others measured.

    Attributes
    ----------
    system : str
        What it was measured on, in words.
    metric : str
        What was measured; see :data:`Metric`.
    value : float
        FLOP/s, OP/s or byte/s; the low end where a range was published.
    high : float or None
        The high end of a range.
    precision : str
        Empty for bandwidths.
    cores, sockets : int or None
        How much of the machine it took.
    description : str
        How it was measured.
    models : tuple of str
        CPU model names it is true of; empty inside the sheet of that very CPU.
    relative : bool
        Whether it was measured on a relative of the machine that the sheet is about.
    source : tuple of str
        Where it was published.
    """

    system: str
    metric: Metric
    value: float
    high: float | None = None
    precision: str = ""
    cores: int | None = None
    sockets: int | None = None
    description: str = ""
    models: tuple[str, ...] = ()
    relative: bool = False
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CounterEvents:
    """Performance-counter events that together count one thing on some cores.

    Attributes
    ----------
    vendor, title, counts : str
        Who makes the cores, which cores and counters, and what is counted.
    names : tuple of (str, str)
        Name of an event, and its code or what is to be known of it.
    formula : str
        How the thing follows from the counts; empty where it cannot.
    notes, sources : tuple of str
        What else is to be known, and where it comes from.
    """

    vendor: str
    title: str
    counts: str
    names: tuple[tuple[str, str], ...]
    formula: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CpuSheet:
    """A CPU model: one socket of it, unless a figure says otherwise.

    Attributes
    ----------
    name, title, aliases
        As of a :class:`CoreSheet`; the title is the model name as the operating system shows it, near enough.
    groups : tuple of CoreGroup
        Its kinds of core, the fastest first.
    threads : int or None
        Hardware threads of all its cores.
    caches : tuple of CacheSheet
        As stated of this CPU, nearest first; what it leaves open the core's sheet may say.
    memory, package_memory : MemorySheet or None
        What its channels lead to, and memory inside the package beside that.
    max_sockets : int or None
        CPUs that work together at most.
    power : float or None
        Thermal design power in watts.
    peaks, bandwidths, measurements : tuple
        As published.
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    groups: tuple[CoreGroup, ...] = ()
    threads: int | None = None
    caches: tuple[CacheSheet, ...] = ()
    memory: MemorySheet | None = None
    package_memory: MemorySheet | None = None
    max_sockets: int | None = None
    power: float | None = None
    peaks: tuple[PublishedPeak, ...] = ()
    bandwidths: tuple[PublishedBandwidth, ...] = ()
    measurements: tuple[PublishedMeasurement, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def cores(self) -> int:
        """Cores of all kinds."""
        return sum(group.count for group in self.groups)

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions that a peak can be told of."""
        cores = (group.core for group in self.groups if group.core)
        return tuple(dict.fromkeys(precision for core in cores for precision in core.precisions))

    def peak(self, precision: str, clock: Clock = "base", *, unit: Unit | None = None) -> float | None:
        """Return the peak in FLOP/s (OP/s) of one socket: cores x operations per cycle x clock, over its kinds of core.

        Parameters
        ----------
        precision : str
            ``"fp64"``, ``"bf16"``, ...
        clock : str
            Which stated clock; a boost clock of one core makes an upper bound that all cores together may not reach.
        unit : str or None
            ``"vector"``, ``"matrix"``, or the faster of them.

        Returns
        -------
        float or None
            None where a clock or a rate of the first kind of core is not stated. Further kinds without a stated rate
            add nothing, so that the peak is then that of the known cores.
        """
        total = 0.0
        for index, group in enumerate(self.groups):
            operations = group.core.operations(precision, unit) if group.core else None
            hertz = group.clock(clock)
            if operations is not None and hertz is not None:
                total += group.count * operations * hertz
            elif index == 0:
                return None
        return total or None

    def bandwidth(self) -> float | None:
        """Return the peak memory bandwidth in byte/s of one socket: computed, else as published, else None."""
        computed = self.memory.bandwidth if self.memory else None
        return computed or next((stated.value / stated.sockets for stated in self.bandwidths), None)

    def cache(self, level: str) -> CacheSheet | None:
        """Return what the CPU's sheet states of a level, filled up from the sheet of its first kind of core."""
        own = next((cache for cache in self.caches if cache.level == level), None)
        general = self.groups[0].core.cache(level) if self.groups and self.groups[0].core else None
        if own is None or general is None:
            return own or general
        return CacheSheet(
            level,
            size=own.size or general.size,
            total=own.total,
            cores=own.cores or general.cores,
            load_bytes=own.load_bytes or general.load_bytes,
            store_bytes=own.store_bytes or general.store_bytes,
            line=own.line or general.line,
        )

    def cache_bandwidth(self, level: str, clock: Clock = "base") -> float | None:
        """Return the peak load bandwidth in byte/s of a cache level over the cores of the first kind, or None."""
        cache = self.cache(level)
        if not self.groups or cache is None or cache.load_bytes is None:
            return None
        hertz = self.groups[0].clock(clock)
        return None if hertz is None else self.groups[0].count * cache.load_bytes * hertz


@dataclass(frozen=True, slots=True)
class AcceleratorSheet:
    """An accelerator, for comparison: one device.

    Attributes
    ----------
    name, title, aliases
        As of a :class:`CoreSheet`.
    units : int or None
        Compute units that ``per_cycle`` counts.
    clock : float or None
        Peak engine clock in hertz.
    per_cycle : tuple of PerCycle
        Dense arithmetic of one unit, where it is stated.
    caches : tuple of CacheSheet
        The last level.
    memory : MemorySheet or None
        Its own memory.
    peaks, bandwidths, measurements : tuple
        As published; dense, without structured sparsity.
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    units: int | None = None
    clock: float | None = None
    per_cycle: tuple[PerCycle, ...] = ()
    caches: tuple[CacheSheet, ...] = ()
    memory: MemorySheet | None = None
    peaks: tuple[PublishedPeak, ...] = ()
    bandwidths: tuple[PublishedBandwidth, ...] = ()
    measurements: tuple[PublishedMeasurement, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions that a peak can be told of."""
        published = [peak.precision for peak in self.peaks]
        return tuple(dict.fromkeys([*published, *(rate.precision for rate in self.per_cycle)]))

    def peak(self, precision: str, *, unit: Unit | None = None) -> float | None:
        """Return the dense peak in FLOP/s (OP/s): units x operations per cycle x clock, else as published, else None.

        Without a `unit` it is that of the faster one: where matrix units do a precision, their peak.
        """
        found = [self._peak(precision, each) for each in _UNITS if unit in (None, each)]
        return max((peak for peak in found if peak is not None), default=None)

    def computed_peak(self, precision: str, unit: Unit) -> float | None:
        """Return units x operations per cycle x clock; None where one of them is not stated."""
        operations = _best(self.per_cycle, precision, unit)
        if operations is None or self.units is None or self.clock is None:
            return None
        return operations * self.units * self.clock

    def bandwidth(self) -> float | None:
        """Return the peak memory bandwidth in byte/s: computed, else as published, else None."""
        computed = self.memory.bandwidth if self.memory else None
        return computed or next((stated.value for stated in self.bandwidths), None)

    def _peak(self, precision: str, unit: Unit) -> float | None:
        computed = self.computed_peak(precision, unit)
        published = (peak.value for peak in self.peaks if (peak.precision, peak.unit) == (precision, unit))
        return computed if computed is not None else next(published, None)


Sheet = CoreSheet | CpuSheet | AcceleratorSheet

_UNITS: tuple[Unit, ...] = ("vector", "matrix")


def _best(rates: tuple[PerCycle, ...], precision: str, unit: Unit | None) -> float | None:
    found = [rate.operations for rate in rates if rate.precision == precision and unit in (None, rate.unit)]
    return max(found, default=None)
