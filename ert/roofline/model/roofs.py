"""What follows for streams and arithmetic: estimates, levels, roofs, ridge points, curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ert.roofline.model.case import Team

Grade = Literal["A", "B", "C", "D"]
"""How well a number is supported by its samples; :func:`ert.roofline.fitting.statistics.grade` defines the steps."""


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
