"""How much reuse passes a ridge point: blocks of a matrix product by level, the batch of a matrix times vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ert.roofline.formulas import ELEMENT_BYTES, ridge
from ert.roofline.model import ComputeRoof, MemoryRoof, Roofline, Team

BLOCKS_HELD = 3
"""One block each of A, B and C."""


@dataclass(frozen=True, slots=True)
class Block:
    """The smallest square block of a matrix product that passes the ridge point of one level.

    Attributes
    ----------
    compute, memory : ComputeRoof, MemoryRoof
        The roofs that meet: the headline of the precision, and load-only at the level that the blocks come from.
    ridge : float
        FLOP/byte.
    side : int
        Elements.
    held_bytes : int
        Of the three blocks together, which must stay in front of the level.
    holder : str
        What stays in front of it: the nearer cache, or ``"registers"`` for L1.
    capacity : float or None
        Effective capacity of the holder in bytes of one thread; None for registers, and where it is not known.
    """

    compute: ComputeRoof
    memory: MemoryRoof
    ridge: float
    side: int
    held_bytes: int
    holder: str
    capacity: float | None

    @property
    def fits(self) -> bool | None:
        """Whether the blocks fit the holder; None where its capacity is not known."""
        return None if self.capacity is None else self.held_bytes <= self.capacity


def block_sizes(roofline: Roofline, team: Team, precision: str) -> tuple[Block, ...]:
    """Return for each level the smallest block that lets a matrix product of large matrices pass its ridge point.

    Parameters
    ----------
    roofline : Roofline
    team : Team
        Each thread works on blocks of its own.
    precision : str

    Returns
    -------
    tuple of Block
        From L1 outwards; empty without a compute roof of the precision.

    Notes
    -----
    C += A B in blocks of b x b elements of s bytes: a step loads one block of A and one of B, 2 b^2 s bytes, and does
    2 b^3 FLOP on them while the block of C stays. Its intensity at the level that A and B come from is I = b / s
    FLOP/byte, so that b = I* s meets the ridge point I* = P / B. That reuse grows with the root of what is held, and no
    order of the operations does better by more than a constant factor: Hong and Kung, STOC 1981,
    doi:10.1145/800076.802486. The layered blocks are those of Goto and van de Geijn, ACM TOMS 34(3), 2008,
    doi:10.1145/1356052.1356053.
    """
    peak = _peak(roofline, team, precision)
    element = ELEMENT_BYTES.get(precision)
    if peak is None or element is None:
        return ()
    capacities = {
        plateau.name: plateau.capacity for curve in roofline.curves if curve.team == team for plateau in curve.plateaus
    }
    found: list[Block] = []
    holder = "registers"
    for level in dict.fromkeys(roof.level for roof in roofline.memory if roof.team == team):
        slope = _loads(roofline, team, level)
        if slope is not None:
            at = ridge(peak.rate.best, slope.rate.best)
            side = max(1, math.ceil(at * element))
            found.append(
                Block(peak, slope, at, side, BLOCKS_HELD * side * side * element, holder, capacities.get(holder))
            )
        holder = level
    return tuple(found)


def crossing_batch(roofline: Roofline, team: Team, precision: str, level: str) -> float | None:
    """Return the number of vectors at which a matrix times them meets the ridge point of a level.

    Parameters
    ----------
    roofline, team, precision
        As of :func:`block_sizes`.
    level : str
        Where the matrix lies.

    Returns
    -------
    float or None
        Each element of s bytes is loaded once and takes part in 2 FLOP for each of b vectors, so I = 2 b / s, and the
        batch is b = I* s / 2; the vectors themselves are small beside the matrix and not counted. None where a roof was
        not measured. Below it a larger batch costs no time.
    """
    peak, slope = _peak(roofline, team, precision), _loads(roofline, team, level)
    element = ELEMENT_BYTES.get(precision)
    if peak is None or slope is None or element is None:
        return None
    return ridge(peak.rate.best, slope.rate.best) * element / 2


def _peak(roofline: Roofline, team: Team, precision: str) -> ComputeRoof | None:
    return next((r for r in roofline.compute if r.headline and (r.team, r.precision) == (team, precision)), None)


def _loads(roofline: Roofline, team: Team, level: str) -> MemoryRoof | None:
    """Return the load-only roof of a level, since that is what a product does to it; else the headline."""
    mine = [r for r in roofline.memory if (r.team, r.level) == (team, level) and r.verified and r.rate.best > 0]
    loads = [roof for roof in mine if roof.mix == "load" and roof.bytes_counted == "program"]
    return max(loads or [r for r in mine if r.headline], key=lambda roof: roof.rate.best, default=None)
