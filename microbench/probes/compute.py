"""Compute roofs and their ceilings: chains of arithmetic on registers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from microbench import catalog, confirm, isa
from microbench.assembly import Counts
from microbench.catalog import STEPS, Extension
from microbench.loop import A_SLOT, FIRST_SLOT, X_SLOT, Loop
from microbench.probes.probe import DTYPES, Chains
from microbench.team import Worker
from microbench.vector import Emitter

TRIP_INSTRUCTIONS = 72
"""About as many arithmetic instructions a trip: the two of the loop then cost no issue slot that matters."""

_DIVIDEND = 5.0

BFLOAT_X, BFLOAT_A = (-3.0, 1.0), (1.0, 1.0)
"""Pairs of bf16: a . a = 2 and x . a = -2, so that steps with the one and the other in turn go up and down by 2."""

BFLOAT_RANGE = 1 << 24
"""Whole numbers up to this are exact in fp32, in which bf16 dot products are summed up."""


class Registers(Protocol):
    """What the registers begin with, and what they must hold in the end."""

    def prepare(self, worker: Worker) -> None:
        """Fill the register block."""

    def check(self, worker: Worker, trips: int) -> str:
        """Return one sentence if the accumulators are wrong after `trips` trips since, else ``""``."""


@dataclass(frozen=True, slots=True)
class Compute:
    """A loop of independent chains that each do `steps` steps a trip."""

    loop: Loop
    registers: Registers
    steps: int
    arrays: int = 0

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill the registers."""
        self.registers.prepare(worker)
        worker.point((), 0)

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check every accumulator."""
        return self.registers.check(worker, trips)


def build(
    precision: str, instructions: str, vector_bits: int, accumulators: int, extension: Extension | None = None
) -> Compute:
    """Return the probe of a kind of arithmetic.

    Parameters
    ----------
    precision, instructions : str
        Names in :mod:`microbench.catalog`.
    vector_bits : int
        Width of the vectors; that of the element for scalar code.
    accumulators : int
        Independent chains; of arithmetic whose steps need nothing of each other, registers that take results.
    extension : Extension, optional
        Which instruction makes dot products; without it, the one that this CPU has.

    Raises
    ------
    KeyError
        If the precision has no such arithmetic, or neither it nor this CPU has an instruction for its dot products.
    """
    kind = catalog.instruction(instructions)
    if kind not in catalog.instructions_of(precision):
        raise KeyError(f"{precision} has no {instructions}")
    # Odd, so that an odd number of trips leaves another result than it found.
    steps = max(1, TRIP_INSTRUCTIONS // accumulators) | 1
    names = [kind.steps[index % len(kind.steps)] for index in range(accumulators)]
    lanes = vector_bits // (8 * catalog.precision(precision).bytes)
    counts: dict[str, int] = {}
    for name in names:
        for instruction, number in STEPS[name].counts:
            counts[instruction] = counts.get(instruction, 0) + number * steps
    body: Callable[[Emitter, list[Any], list[Any], Any, Any], list[Any]]
    registers: Registers
    if instructions == "dot":
        extension = extension or isa.extension(confirm.host()[0], precision, vector_bits)
        if extension is None:
            raise KeyError(f"this CPU has no {vector_bits}-bit dot products of {precision}")
        body = _dots(extension, steps, alternating=not catalog.precision(precision).integer)
        sums = _Integers if catalog.precision(precision).integer else _Bfloats
        registers = sums(vector_bits // 32, accumulators, steps)
    elif not kind.chained:
        body = _unchained(names, steps)
        registers = _Results(precision, instructions, lanes, accumulators)
    else:
        body = _chained(names, steps)
        registers = _Steps(Chains(precision, lanes, tuple(names)), steps)
    loop = Loop(
        name=f"{precision} {instructions} {vector_bits} bits, {accumulators} chains",
        precision=precision,
        vector_bits=vector_bits,
        body=body,
        counts=Counts(**counts, vector_bits=vector_bits),
        accumulators=accumulators + (not kind.chained),
        flop=sum(STEPS[name].flop for name in names) * steps * lanes,
        events=steps * accumulators,
    )
    return Compute(loop, registers, steps)


# --------------------------------------------------------------------------------------------------- bodies


def _chained(names: list[str], steps: int) -> Callable[..., list[Any]]:
    """Every step of a chain needs the one before; neighbouring chains may do different things.

    A chain adds its own value to the product, not a constant: where a multiply-add overwrites its addend (aarch64), a
    constant would have to be copied before each, on the same pipes.
    """

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for _ in range(steps):
            values = [
                getattr(emitter, name)(value, x, value if name == "fma" else a)
                for name, value in zip(names, values, strict=True)
            ]
        return values

    return body


def _unchained(names: list[str], steps: int) -> Callable[..., list[Any]]:
    """All steps work on the last register, which LLVM is made to believe changes each time."""

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        *results, operand = values
        for _ in range(steps):
            for index, name in enumerate(names):
                operand = emitter.opaque(operand)
                results[index] = getattr(emitter, name)(operand, x, a)
                emitter.sink(results[index])
        return [*results, operand]

    return body


def _dots(extension: Extension, steps: int, *, alternating: bool) -> Callable[..., list[Any]]:
    """Chains of dot products: of x and a, or in turn of a with itself and of x and a."""

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for step in range(steps):
            first = a if alternating and step % 2 == 0 else x
            values = [emitter.dot(extension, value, first, a) for value in values]
        return values

    return body


# -------------------------------------------------------------------------------------------------- oracles


@dataclass(frozen=True, slots=True)
class _Steps:
    """Chains that come back to their start after two steps."""

    chains: Chains
    steps: int

    def prepare(self, worker: Worker) -> None:
        self.chains.prepare(worker)

    def check(self, worker: Worker, trips: int) -> str:
        return self.chains.check(worker, [self.steps * trips] * len(self.chains.steps))


@dataclass(frozen=True, slots=True)
class _Results:
    """Results of one operand, which IEEE 754 defines to the last bit.

    A chain of square roots ends at 1 and one of divisions, to be exact, needs quotients of few bits, at which some
    dividers stop early. The operands here are no squares and have quotients without end.
    """

    precision: str
    instructions: str
    lanes: int
    number: int

    def prepare(self, worker: Worker) -> None:
        dtype = DTYPES[self.precision]
        worker.slot(X_SLOT, dtype)[:] = 1
        worker.slot(A_SLOT, dtype)[:] = _DIVIDEND
        for index in range(self.number):
            worker.slot(FIRST_SLOT + index, dtype)[:] = 0
        worker.slot(FIRST_SLOT + self.number, dtype)[: self.lanes] = self._operand()

    def check(self, worker: Worker, trips: int) -> str:
        dtype = DTYPES[self.precision]
        operand = self._operand()
        expected = np.sqrt(operand) if self.instructions == "sqrt" else dtype(_DIVIDEND) / operand
        for index in range(self.number):
            found = worker.accumulator(index, dtype)[: self.lanes]
            if not np.array_equal(found, expected):
                return f"result {index} holds {found[0]!r} instead of {expected[0]!r}"
        return ""

    def _operand(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return sevenths, another one in every lane."""
        dtype = DTYPES[self.precision]
        sevenths: np.ndarray[Any, np.dtype[Any]] = (11 + 2 * np.arange(self.lanes)).astype(dtype) / dtype(7)
        return sevenths


@dataclass(frozen=True, slots=True)
class _Bfloats:
    """Sums of dot products of bf16 in fp32. Each trip has one step up more than it has steps down."""

    lanes: int
    number: int
    steps: int

    def prepare(self, worker: Worker) -> None:
        for slot, pair in ((X_SLOT, BFLOAT_X), (A_SLOT, BFLOAT_A)):
            # The upper half of an fp32 is its bf16.
            words = np.array(pair, np.float32).view(np.uint32) >> 16
            worker.slot(slot, np.uint32)[: self.lanes] = words[0] | words[1] << 16
        for index in range(self.number):
            worker.slot(FIRST_SLOT + index, np.float32)[: self.lanes] = self._start(index)

    def check(self, worker: Worker, trips: int) -> str:
        for index in range(self.number):
            found = worker.accumulator(index, np.float32)[: self.lanes]
            expected = self._start(index) + 2 * trips
            if expected.max() > BFLOAT_RANGE:
                return f"{trips} trips are more than can be counted exactly in fp32"
            if not np.array_equal(found, expected.astype(np.float32)):
                return f"accumulator {index} holds {found[0]!r} instead of {expected[0]!r}"
        return ""

    def _start(self, index: int) -> np.ndarray[Any, np.dtype[Any]]:
        """Return whole numbers near the lower end of what is exact, another one in every lane of every chain."""
        return 8 - BFLOAT_RANGE + index * self.lanes + np.arange(self.lanes)


@dataclass(frozen=True, slots=True)
class _Integers:
    """Sums of dot products of bytes in 32-bit integers, which wrap round. The sum tells how many steps were done."""

    lanes: int
    number: int
    steps: int

    def prepare(self, worker: Worker) -> None:
        x, a = self._factors()
        worker.slot(X_SLOT, np.int8)[: 4 * self.lanes] = x.ravel()
        worker.slot(A_SLOT, np.int8)[: 4 * self.lanes] = a.ravel()
        for index in range(self.number):
            worker.slot(FIRST_SLOT + index, np.int32)[: self.lanes] = self._start(index)

    def check(self, worker: Worker, trips: int) -> str:
        x, a = (factor.astype(np.int64) for factor in self._factors())
        step = (x * a).sum(axis=1)
        for index in range(self.number):
            found = worker.accumulator(index, np.int32)[: self.lanes]
            exact = [int(start) + self.steps * trips * int(one) for start, one in zip(self._start(index), step,
                     strict=True)]  # fmt: skip
            expected = np.array([value % (1 << 32) for value in exact], np.uint32).view(np.int32)
            if not np.array_equal(found, expected):
                return f"accumulator {index} holds {found[0]!r} instead of {expected[0]!r}"
        return ""

    def _factors(self) -> tuple[np.ndarray[Any, np.dtype[np.int8]], np.ndarray[Any, np.dtype[np.int8]]]:
        """Return x, from 0 to 127 since some instructions take it without a sign, and a, of both signs."""
        place = np.arange(4 * self.lanes).reshape(self.lanes, 4)
        return (37 * place % 127 + 1).astype(np.int8), (53 * place % 251 - 125).astype(np.int8)

    def _start(self, index: int) -> np.ndarray[Any, np.dtype[Any]]:
        return 1 + index * self.lanes + np.arange(self.lanes)
