"""A sweep as it is stored: the host, the settings, every measurement."""

from __future__ import annotations

from dataclasses import dataclass

from ert.roofline.model.case import Measurement
from ert.roofline.model.host import Host, Toolchain
from ert.roofline.model.kernel import Kernel


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
