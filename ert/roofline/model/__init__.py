"""The types of the tool: what was measured, on what, and the roofs that follow from it.

Every quantity is in SI base units (seconds, bytes, FLOP, hertz); prefixes belong to text alone. Measured things
hold raw seconds and exact integer counts only. Rates, levels, roofs and verdicts are derived from them by
:mod:`ert.roofline.fitting.fit`, so that a better fit improves every result already on disk.
"""

from ert.roofline.model.case import (
    INTERRUPTED,
    SMT,
    USUAL_TEAMS,
    Case,
    Code,
    CodeStatus,
    Measurement,
    Sample,
    Team,
    Work,
)
from ert.roofline.model.host import LINUX, MEMORY, Cache, Cpu, Host, Node, Toolchain
from ert.roofline.model.irregular import (
    Concurrency,
    Gather,
    Latency,
    LatencyCurve,
    LatencyPoint,
    NodeBandwidth,
    Overhead,
    RandomAccess,
    Scaling,
    ScalingPoint,
    Strided,
)
from ert.roofline.model.kernel import Implementation, Kernel, Limit
from ert.roofline.model.results import Condition, Results, Seconds
from ert.roofline.model.roofline import Roofline
from ert.roofline.model.roofs import (
    ComputeRoof,
    Curve,
    CurvePoint,
    Estimate,
    Grade,
    InstructionLatency,
    IntensityPoint,
    MemoryRoof,
    Plateau,
    RidgePoint,
)

__all__ = [
    "INTERRUPTED",
    "LINUX",
    "MEMORY",
    "SMT",
    "USUAL_TEAMS",
    "Cache",
    "Case",
    "Code",
    "CodeStatus",
    "ComputeRoof",
    "Concurrency",
    "Condition",
    "Cpu",
    "Curve",
    "CurvePoint",
    "Estimate",
    "Gather",
    "Grade",
    "Host",
    "Implementation",
    "InstructionLatency",
    "IntensityPoint",
    "Kernel",
    "Latency",
    "LatencyCurve",
    "LatencyPoint",
    "Limit",
    "Measurement",
    "MemoryRoof",
    "Node",
    "NodeBandwidth",
    "Overhead",
    "Plateau",
    "RandomAccess",
    "Results",
    "RidgePoint",
    "Roofline",
    "Sample",
    "Scaling",
    "ScalingPoint",
    "Seconds",
    "Strided",
    "Team",
    "Toolchain",
    "Work",
]
