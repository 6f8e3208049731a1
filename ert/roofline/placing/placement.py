"""What is said of one application kernel under the roofs: the type that place makes and everything else reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ert.roofline.model import Case, Code, ComputeRoof, Estimate, Kernel, MemoryRoof, Work

Bound = Literal["memory", "compute", "neither", "unknown"]

BLOCKS = ("kc", "mc", "nc")
"""Parameters of implementations and not of problems: the blocks of a matrix product."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One kernel, in one size, precision and team, under the roofs that apply to it.

    Rates and seconds are those of the best sample, as for the roofs. ``None`` stands wherever no roof that applies was
    measured, or where there is no arithmetic to speak of.

    Attributes
    ----------
    kernel, case, work, code
        What was measured. ``work`` is that of one pass over all threads.
    level : str
        Where the data live: the level whose memory roof applies.
    intensity : float or None
        FLOP per byte of modelled traffic at `level`; None if nothing crosses it.
    program_intensity : float or None
        FLOP per program byte: the intensity at L1; None if the code loads and stores nothing.
    flop_rate : Estimate or None
        FLOP/s; None for kernels without FLOP.
    byte_rate : Estimate or None
        Bytes/s of modelled traffic at `level`; None if nothing crosses it.
    compute_roof : ComputeRoof or None
        The roof of its precision, team and kind of arithmetic.
    memory_roof : MemoryRoof or None
        The roof of `level`, its team and the access mix nearest to its own, counted in traffic bytes.
    beside : bool
        Whether that roof moved during the sweep, so that its rate is the one it had beside the kernel.
    attainable : float or None
        min(compute roof, intensity x memory roof) in FLOP/s; for kernels without FLOP the memory roof in byte/s.
    compute_share, memory_share : float or None
        Its rates as parts of the compute roof and of the memory roof, side by side.
    efficiency : float or None
        Its rate as a part of what is attainable. Above 1 it is flagged, never clipped.
    bound : str
        ``"memory"`` or ``"compute"``: the roof it is under and near; ``"neither"`` if it is far below both;
        ``"unknown"`` where a roof that applies was not measured.
    seconds, lower_bound : float, float or None
        Time of one pass, and max(FLOP / compute roof, traffic / memory roof).
    rule : str
        Name of the rule that gave the advice.
    advice : tuple of str
        One or two sentences.
    """

    kernel: Kernel
    case: Case
    work: Work
    code: Code
    level: str
    intensity: float | None
    program_intensity: float | None
    flop_rate: Estimate | None
    byte_rate: Estimate | None
    compute_roof: ComputeRoof | None
    memory_roof: MemoryRoof | None
    beside: bool
    attainable: float | None
    compute_share: float | None
    memory_share: float | None
    efficiency: float | None
    bound: Bound
    seconds: float
    lower_bound: float | None
    rule: str
    advice: tuple[str, ...]

    @property
    def headroom(self) -> float | None:
        """Seconds of one pass above its lower bound: what work on it could win at most; None where unknown."""
        return None if self.lower_bound is None else max(0.0, self.seconds - self.lower_bound)

    @property
    def size(self) -> str:
        """The problem in a few words: ``"n 2048"``, ``"laplacian_2d n 4194304"``; text is its own name."""
        parts = (str(value) if isinstance(value, str) else f"{name} {value}" for name, value in self.case.parameters)
        return " ".join(parts)

    @property
    def label(self) -> str:
        """Name it among all others of its team: ``"gemv n 4096 fp64 DRAM"``."""
        return " ".join(filter(None, (self.kernel.name, self.size, self.case.precision, self.level)))


def same_problem(one: Placement, other: Placement) -> bool:
    """Whether two implementations of one algorithm solved the same problem, so that their times compare.

    They do if team, precision, level and every size that both have are the same. What only one of them has are its
    blocks (``kc``, ``mc``, ``nc`` of a matrix product), which change how it is solved and not what.
    """
    first, second = dict(one.case.parameters), dict(other.case.parameters)
    alike = (one.case.team, one.case.precision, one.level) == (other.case.team, other.case.precision, other.level)
    return alike and all(
        second[name] == value for name, value in first.items() if name in second and name not in BLOCKS
    )
