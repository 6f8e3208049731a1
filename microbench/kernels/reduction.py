"""Reductions by explicit vectors: a sum and a dot product whose result is exact after any number of passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from microbench.catalog import STEP_BYTES
from microbench.kernels.elementwise import BLOCK_BYTES, Block, counts, length_of, multiply_add
from microbench.kernels.kernel import Problem, Stream
from microbench.loop import FIRST_SLOT, Loop

if TYPE_CHECKING:
    from microbench.team import Worker
    from microbench.vector import Emitter

ACCUMULATORS = 8
"""Independent sums: a core adds two vectors a cycle, and an addition takes up to four."""

ABSORBING = {"fp64": 2.0**80, "fp32": 2.0**40}
"""A number so large that whatever the sums of the test data come to vanishes when it is added.

Each chain of additions meets it once at the beginning of the data, and then its negative. What a chain held before is
gone then, exactly, so that any number of passes leaves the sum of one: nothing grows, and no instruction is spent on
beginning anew.
"""

UNTOUCHED = 5.0
"""What the chains hold before the first pass: no sum of the test data."""


def add_up(problem: Problem) -> Stream:
    """Return the task that sums array 0."""
    return _reduction(
        problem, 1, lambda emitter, total, values: emitter.builder.fadd(total, values[0]), {"loads": 1, "add": 1}
    )


def dot(problem: Problem) -> Stream:
    """Return the task that multiplies arrays 0 and 1 element by element and sums the products."""
    combine, instructions = multiply_add(problem)
    return _reduction(
        problem,
        2,
        lambda emitter, total, values: combine(emitter, values[0], values[1], total),
        {"loads": 2, **instructions},
    )


def _data(problem: Problem, array: int) -> Block:
    """Return 4 KiB of an array: array 0 has the signs, so that products and sums over whole blocks cancel exactly.

    Few bits, so that products of two and sums over half a block are exact in fp32 too.
    """
    places = np.arange(BLOCK_BYTES // 2 // problem.element_bytes)
    half = 1 + places % 61 / 64 if array == 0 else 1 + places % 31 / 32
    return np.concatenate([half, -half if array == 0 else half]).astype(problem.dtype)


def _head(problem: Problem, array: int) -> Block:
    """Return what the first elements are instead: two vectors of each chain."""
    places = ACCUMULATORS * problem.vector_bits // 8 // problem.element_bytes
    if array:
        return np.ones(2 * places, problem.dtype)
    large = ABSORBING[problem.precision]
    return np.repeat([large, -large], places).astype(problem.dtype)


def _reduction(problem: Problem, arrays: int, combine: Any, a_vector: dict[str, int]) -> Stream:
    width = problem.vector_bits // 8
    chain_lanes = ACCUMULATORS * width // problem.element_bytes

    def body(emitter: Emitter, pointers: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        totals = list(values)
        for index, offset in enumerate(range(0, STEP_BYTES, width)):
            loaded = [emitter.load(pointers[array], offset) for array in range(arrays)]
            chain = index % ACCUMULATORS
            totals[chain] = combine(emitter, totals[chain], loaded)
        return totals

    loop = Loop(
        name=f"{problem.precision} {problem.vector_bits} bits",
        precision=problem.precision,
        vector_bits=problem.vector_bits,
        body=body,
        counts=counts(problem, STEP_BYTES // width, a_vector),
        accumulators=ACCUMULATORS,
        step=STEP_BYTES,
        streams=arrays,
    )

    def prepare(worker: Worker, length: int) -> None:
        from microbench.probes.probe import fill_block

        offsets = worker.arena.offsets(arrays, length)
        for array, offset in enumerate(offsets):
            fill_block(worker, offset, length, _data(problem, array))
            head = _head(problem, array)
            worker.arena.view(offset, head.nbytes, problem.dtype)[:] = head
        for chain in range(ACCUMULATORS):
            worker.slot(FIRST_SLOT + chain, problem.dtype)[:] = UNTOUCHED
        worker.point(offsets, length, loop.step)

    def check(worker: Worker, length: int, trips: int) -> str:
        lanes = chain_lanes // ACCUMULATORS
        expected = _sums(problem, arrays, length, chain_lanes)
        for chain in range(ACCUMULATORS):
            found = worker.accumulator(chain, problem.dtype)[:lanes]
            wanted = expected[chain * lanes : (chain + 1) * lanes]
            if not np.array_equal(found, wanted):
                return f"partial sum {chain} holds {found[0]!r} instead of {wanted[0]!r}"
        return ""

    return Stream(loop, arrays, length_of(problem), prepare, check)


def _sums(problem: Problem, arrays: int, length: int, chain_lanes: int) -> Block:
    """Return what each lane of each chain must come to, from the data's rule: whole blocks and the head are 0."""
    terms = np.prod([_data(problem, array).astype(np.float64) for array in range(arrays)], axis=0)
    rest = length % BLOCK_BYTES // problem.element_bytes
    replaced = terms[: 2 * chain_lanes].reshape(-1, chain_lanes).sum(axis=0)
    tail = terms[:rest].reshape(-1, chain_lanes).sum(axis=0)
    return np.asarray(tail - replaced)
