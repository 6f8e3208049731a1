"""What follows beside the roofs: latencies, gathers, strides, scaling, nodes, overheads."""

from __future__ import annotations

from dataclasses import dataclass

from ert.roofline.model.case import Team
from ert.roofline.model.roofs import Estimate, Plateau


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
