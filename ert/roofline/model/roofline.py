"""All that a sweep says about one machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from ert.roofline.model.case import Team
from ert.roofline.model.irregular import (
    Concurrency,
    Gather,
    Latency,
    LatencyCurve,
    NodeBandwidth,
    Overhead,
    RandomAccess,
    Scaling,
    Strided,
)
from ert.roofline.model.roofs import ComputeRoof, Curve, InstructionLatency, IntensityPoint, MemoryRoof, RidgePoint


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
