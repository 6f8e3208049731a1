"""Compute roofs: chains of arithmetic on registers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microbench import catalog
from microbench.assembly import Counts
from microbench.probes.probe import Chains
from microbench.team import Worker
from microbench.vector import Emitter, Loop

TRIP_INSTRUCTIONS = 72
"""About as many arithmetic instructions a trip: the two of the loop then cost no issue slot that matters."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A loop of `number` independent chains that each do `steps` steps a trip."""

    loop: Loop
    chains: Chains
    steps: int
    arrays: int = 0

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill the registers."""
        self.chains.prepare(worker)
        worker.point((), 0)

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check every accumulator."""
        return self.chains.check(worker, [self.steps * trips] * self.chains.number)


def build(precision: str, instructions: str, vector_bits: int, accumulators: int) -> Compute:
    """Return the probe of a kind of arithmetic.

    Parameters
    ----------
    precision, instructions : str
        Names in :mod:`microbench.catalog`.
    vector_bits : int
        Width of the vectors; that of the element for scalar code.
    accumulators : int
        Independent chains.
    """
    flop = catalog.instruction(instructions).flop
    lanes = vector_bits // (8 * catalog.precision(precision).bytes)
    # Odd, so that an odd number of trips leaves another result than it found.
    steps = max(1, TRIP_INSTRUCTIONS // accumulators) | 1
    done = steps * accumulators

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        step = getattr(emitter, instructions)
        for _ in range(steps):
            values = [step(value, x, a) for value in values]
        return values

    counts = {
        "fma": Counts(fma=done, vector_bits=vector_bits),
        "mul_add_unfused": Counts(mul=done, add=done, vector_bits=vector_bits),
    }[instructions]
    loop = Loop(
        name=f"{precision} {instructions} {vector_bits} bits, {accumulators} chains",
        precision=precision,
        vector_bits=vector_bits,
        body=body,
        counts=counts,
        accumulators=accumulators,
        flop=done * lanes * flop,
    )
    return Compute(loop, Chains(precision, lanes, accumulators), steps)
