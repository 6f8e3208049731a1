"""The intensity sweep: k multiply-adds on every element of a load-only stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microbench import catalog
from microbench.assembly import Counts
from microbench.loop import Loop
from microbench.probes.probe import MULTIPLIER, Chains, fill_constant
from microbench.team import Worker
from microbench.vector import Emitter

TRIP_MULTIPLY_ADDS = 64
"""Multiply-adds that a trip should hold at least, so that what moves the loop on is hidden."""

MOST_LOADS = 16
"""Loads of a trip at most; 16 of 512 bits are one step of the arrays."""


@dataclass(frozen=True, slots=True)
class Intensity:
    """A stream whose loaded vectors are the multipliers of the chains, in turn."""

    loop: Loop
    chains: Chains
    done: int
    arrays: int = 1

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill the array with the multiplier and the registers with the starts of the chains."""
        self.chains.prepare(worker)
        worker.point(worker.arena.offsets(1, length), length, self.loop.step)
        fill_constant(worker, length, self.chains.precision, MULTIPLIER)

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check every accumulator."""
        number = len(self.chains.steps)
        a_trip = [self.done // number + (index < self.done % number) for index in range(number)]
        return self.chains.check(worker, [steps * trips for steps in a_trip])


def build(precision: str, multiply_adds: int, vector_bits: int, accumulators: int) -> Intensity:
    """Return the probe of one intensity: `multiply_adds` per loaded element, over `accumulators` chains."""
    element = catalog.precision(precision).bytes
    width = vector_bits // 8
    lanes = width // element
    loads = min(MOST_LOADS, max(1, TRIP_MULTIPLY_ADDS // multiply_adds))
    done = loads * multiply_adds

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        turn = 0
        for load in range(loads):
            loaded = emitter.load(arrays[0], load * width)
            for _ in range(multiply_adds):
                value = values[turn % accumulators]
                # The chain's own value is added, as by the chains of the compute roofs.
                values[turn % accumulators] = emitter.fma(value, loaded, value)
                turn += 1
        return values

    loop = Loop(
        name=f"{precision} {multiply_adds} multiply-adds per element, {vector_bits} bits",
        precision=precision,
        vector_bits=vector_bits,
        body=body,
        counts=Counts(fma=done, loads=loads, vector_bits=vector_bits),
        accumulators=accumulators,
        step=loads * width,
        flop=2 * done * lanes,
        read_bytes=loads * width,
    )
    return Intensity(loop, Chains(precision, lanes, ("fma",) * accumulators), done)
