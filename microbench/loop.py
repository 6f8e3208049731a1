"""What a measured loop is: the instructions of a trip, what they count, and where its data lie. Needs no compiler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from microbench.assembly import Counts

if TYPE_CHECKING:
    from microbench.vector import Emitter

ARRAYS = 3
"""Array pointers in the argument block; the length in bytes of each array and the register block's address follow."""

ARGUMENTS = ARRAYS + 2

SLOT_BYTES = 64
"""Bytes of one slot of the register block: room for one 512-bit vector."""

X_SLOT, A_SLOT, FIRST_SLOT = 0, 1, 2
"""Slots of the register block: multiplier, addend, first accumulator. The loop leaves its accumulators there."""

Body = Callable[["Emitter", list[Any], list[Any], Any, Any], list[Any]]
"""Emits one trip: (emitter, array pointers at this trip, accumulators, x, a) -> accumulators after it."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What to emit.

    Attributes
    ----------
    name : str
        For messages.
    precision : str
        Element of the vectors.
    vector_bits : int
        Width of every vector.
    body : callable
        Emits one trip, see :data:`Body`.
    counts : Counts
        What one trip must be seen to contain.
    accumulators : int
        Chains carried from trip to trip.
    step : int
        Bytes that each array advances in a trip; 0 where no array is used.
    streams : int
        How many arrays advance, from the first; the others stay where they are.
    drifts : bool
        Whether a pass goes on where the last one stepped over the end, and a call where the last call ended: the slot
        of the addend holds the offset.
    covers : int
        Bytes of `length` that one trip leaves warm, of a loop that goes on from call to call; 0 for loops that begin at
        the start of their arrays with every call.
    flop, read_bytes, written_bytes, allocate_bytes, line_bytes, events : int
        Work of one trip of one thread; `line_bytes` are the whole lines that cross every level beyond L1, 0 for
        streams.
    """

    name: str
    precision: str
    vector_bits: int
    body: Body = field(repr=False)
    counts: Counts
    accumulators: int = 0
    step: int = 0
    streams: int = ARRAYS
    drifts: bool = False
    covers: int = 0
    flop: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    allocate_bytes: int = 0
    line_bytes: int = 0
    events: int = 0
