"""Overhead of working together: barriers, and a loop that does nothing to start a team for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from microbench.assembly import Counts
from microbench.loop import A_SLOT, FIRST_SLOT, X_SLOT, Loop
from microbench.team import Worker
from microbench.vector import Emitter

SPIN_LIMIT = 1 << 33
"""Turns of a barrier, of about a nanosecond, after which it gives up. A peer that takes longer is dead; what is counted
then tells that barriers are missing."""

_I64 = ir.IntType(64)


@dataclass(frozen=True, slots=True)
class Barrier:
    """One barrier a trip, among `threads` threads, on a counter that all of them share."""

    loop: Loop
    threads: int
    counter: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    arrays: int = 0

    def prepare(self, worker: Worker, length: int) -> None:
        """Clear the counter and tell the thread where it lies."""
        self.counter[:] = 0
        worker.point((), 0)
        worker.slot(X_SLOT, np.int64)[0] = self.counter.ctypes.data
        worker.slot(A_SLOT, np.int64)[0] = self.threads
        worker.slot(FIRST_SLOT, np.int64)[0] = self.threads

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check that all came to every barrier."""
        expected = self.threads * trips
        if int(self.counter[0]) != expected:
            return f"the barrier counted {int(self.counter[0])} arrivals instead of {expected}"
        target = int(worker.accumulator(0, np.int64)[0])
        return "" if target == expected + self.threads else f"a thread left a barrier early, at {target} arrivals"


@dataclass(frozen=True, slots=True)
class Nothing:
    """A loop without content: what remains is the cost of starting a team for it."""

    loop: Loop
    arrays: int = 0

    def prepare(self, worker: Worker, length: int) -> None:
        """Clear the one register."""
        worker.point((), 0)
        worker.slot(FIRST_SLOT, np.int64)[0] = 0

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check that every trip was made."""
        found = int(worker.accumulator(0, np.int64)[0])
        return "" if found == trips else f"{found} trips were made instead of {trips}"


def build_barrier(threads: int) -> Barrier:
    """Return the probe of a barrier among `threads` threads."""

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        builder = emitter.builder
        counter = builder.inttoptr(x, ir.PointerType())
        builder.atomic_rmw("add", counter, ir.Constant(_I64, 1), "seq_cst")
        before = builder.block
        spin, met = builder.append_basic_block("spin"), builder.append_basic_block("met")
        builder.branch(spin)
        builder.position_at_end(spin)
        turns = builder.phi(_I64)
        turns.add_incoming(ir.Constant(_I64, SPIN_LIMIT), before)
        arrived = builder.load_atomic(counter, "acquire", 8, typ=_I64)
        left = builder.sub(turns, ir.Constant(_I64, 1))
        turns.add_incoming(left, spin)
        # One condition, on the signs of both, since a loop that branches inside cannot be verified.
        wait = builder.and_(builder.sub(arrived, values[0]), builder.neg(left))
        builder.cbranch(builder.icmp_signed("<", wait, ir.Constant(_I64, 0)), spin, met)
        builder.position_at_end(met)
        missing = builder.icmp_signed("<", arrived, values[0])
        return [builder.select(missing, ir.Constant(_I64, -1), builder.add(values[0], a))]

    loop = Loop(
        name=f"barrier of {threads}",
        precision="int64",
        vector_bits=64,
        body=body,
        counts=Counts(other_loads=1),
        accumulators=1,
        events=1,
    )
    # A line of its own, and the one beside it, which some cores fetch along.
    block = np.zeros(48, np.int64)
    start = (-block.ctypes.data % 128) // 8
    return Barrier(loop, threads, block[start : start + 16])


def build_nothing() -> Nothing:
    """Return the probe that does nothing but count its trips."""

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        return [emitter.builder.add(values[0], ir.Constant(_I64, 1))]

    loop = Loop(name="nothing", precision="int64", vector_bits=64, body=body, counts=Counts(), accumulators=1, events=1)
    return Nothing(loop)
