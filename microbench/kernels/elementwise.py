"""Loops of explicit vectors over arrays of equal length: what element-wise kernels and reductions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from microbench.assembly import Counts
from microbench.catalog import STEP_BYTES
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Problem, Request, Spec, Stream, Unsuitable, as_many, plain
from microbench.loop import A_SLOT, X_SLOT, Loop

if TYPE_CHECKING:
    from microbench.team import Worker
    from microbench.vector import Emitter

BLOCK_BYTES = 4096
"""Bytes of test data that an array repeats."""

Block = np.ndarray[Any, np.dtype[Any]]

Operation = Callable[["Emitter", list[Any], Any, Any], Any]
"""Emits what is stored: (emitter, one vector of each array that is read, x, a) -> vector."""

Expected = Callable[[list[Block], int], Block]
"""What the array stored to must hold: (the arrays' blocks at the start, passes) -> its block."""


def vectors(arrays: int) -> Callable[[Request], dict[str, int | str]]:
    """Return a fit for kernels over `arrays` vectors of n elements, of which each thread has whole steps."""
    return lambda request: as_many(arrays, STEP_BYTES // request.element_bytes)(request)


def whole_steps(problem: Problem) -> dict[str, int]:
    """Return the sizes of a problem; Unsuitable if n is not made of whole steps of every thread."""
    n, unit = problem.size("n"), problem.threads * STEP_BYTES // problem.element_bytes
    if n % unit:
        raise Unsuitable(
            f"n is {n}; each thread works on whole steps of {unit // problem.threads} elements of {problem.precision}, "
            f"so n must be a multiple of {unit}, and the next is {-(-n // unit) * unit}"
        )
    return plain(problem)


def length_of(problem: Problem) -> int:
    """Return the bytes of each array of one thread."""
    return whole_steps(problem)["n"] // problem.threads * problem.element_bytes


def ramp(problem: Problem, array: int) -> Block:
    """Return the data that array number `array` repeats: no two neighbours and no two arrays alike.

    Values lie between 1 and 2 with 11 bits behind the point, so that sums and products with small numbers are exact.
    """
    places = np.arange(BLOCK_BYTES // problem.element_bytes)
    return (1 + array / 8 + (1 + places) / 2048).astype(problem.dtype)


def multiply_add(problem: Problem) -> tuple[Callable[[Emitter, Any, Any, Any], Any], dict[str, int]]:
    """Return how p * q + r is emitted on the CPU of a problem, and the instructions it takes."""
    if problem.fma:
        return (lambda emitter, p, q, r: emitter.fma(p, q, r)), {"fma": 1}
    return (lambda emitter, p, q, r: emitter.mul_add_unfused(p, q, r)), {"mul": 1, "add": 1}


def counts(problem: Problem, number: int, a_vector: Mapping[str, int], more: Mapping[str, int] | None = None) -> Counts:
    """Return the instructions of a trip of `number` vectors: those of each vector, and `more`."""
    total = dict(more or {})
    for name, times in a_vector.items():
        total[name] = total.get(name, 0) + number * times
    return Counts(**total, vector_bits=problem.vector_bits)


def stream(
    problem: Problem,
    sources: tuple[int, ...],
    operation: Operation,
    arithmetic: Mapping[str, int],
    expected: Expected,
    *,
    data: tuple[Block, ...] | None = None,
    nontemporal: bool = False,
    x: float = 0.0,
    a: float = 0.0,
) -> Stream:
    """Return the task that computes array 0 element by element from `sources`.

    Parameters
    ----------
    problem : Problem
        Its size is n.
    sources : tuple of int
        Arrays that are read: 1 and 2, and 0 for what is done in place.
    operation, expected : callable
        What is done, and independently what must have come about.
    arithmetic : mapping of str to int
        Instructions of one vector beside its loads and its store, by the names of :class:`microbench.assembly.Counts`.
    data : tuple of ndarray, optional
        4 KiB that each array repeats at first, array 0 included; ramps without it.
    nontemporal : bool
        Whether the store passes the caches.
    x, a : float
        Values that the operation finds in registers.
    """
    width = problem.vector_bits // 8
    blocks = data or tuple(ramp(problem, array) for array in range(max(sources, default=0) + 1))

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for offset in range(0, STEP_BYTES, width):
            loaded = [emitter.load(arrays[source], offset) for source in sources]
            emitter.store(operation(emitter, loaded, x, a), arrays[0], offset, nontemporal)
        return values

    moves = {"loads": len(sources), "nontemporal_stores" if nontemporal else "stores": 1}
    loop = Loop(
        name=f"{problem.precision} {problem.vector_bits} bits",
        precision=problem.precision,
        vector_bits=problem.vector_bits,
        body=body,
        counts=counts(problem, STEP_BYTES // width, {**moves, **arithmetic}),
        step=STEP_BYTES,
        streams=len(blocks),
    )

    def prepare(worker: Worker, length: int) -> None:
        from microbench.probes.probe import fill_block

        offsets = worker.arena.offsets(len(blocks), length)
        for offset, block in zip(offsets, blocks, strict=True):
            fill_block(worker, offset, length, block)
        worker.slot(X_SLOT, problem.dtype)[:] = x
        worker.slot(A_SLOT, problem.dtype)[:] = a
        worker.point(offsets, length, loop.step)

    def check(worker: Worker, length: int, trips: int) -> str:
        from microbench.probes.probe import differs

        return differs(worker, 0, length, expected(list(blocks), trips * loop.step // length))

    return Stream(loop, len(blocks), length_of(problem), prepare, check)


def words(number: int) -> Formula:
    """Return the bytes of so many elements for each of n."""
    return Formula({0: "0", 1: "s*n"}.get(number, f"{number}*s*n"))


def spec(
    name: str,
    title: str,
    task: Callable[[Problem], Stream],
    *,
    family: str,
    flop: Formula,
    reads: int,
    writes: int,
    allocates: int,
    arrays: int,
    compulsory: int,
    mix: str,
    instructions: str = "",
    source: str = "Counted from the loop",
    quantities: Callable[[Problem], Mapping[str, int]] = whole_steps,
    streaming: bool = True,
    representative: tuple[str, ...] = (),
    ladder: str = "",
    rung: int = 0,
    notes: str = "",
) -> Spec:
    """Return a kernel over vectors of n elements.

    Parameters
    ----------
    name, title, task, family, flop, mix, instructions, source, quantities, streaming, representative
        As of :class:`Spec`.
    ladder, rung, notes
        Likewise.
    reads, writes, allocates, compulsory : int
        Elements for each of n: loaded; stored; of lines that are stored to without having been read; counted once.
    arrays : int
        Vectors of n elements that make up the data.
    """
    return Spec(
        name=name,
        family=family,
        title=title,
        implementation="explicit vectors",
        source=source,
        flop=flop,
        read=words(reads),
        written=words(writes),
        allocate=words(allocates),
        compulsory=words(compulsory),
        working_set=words(arrays),
        traffic=words(reads + writes + allocates),
        sizes=("n",),
        fit=vectors(arrays),
        quantities=quantities,
        task=task,
        instructions=instructions,
        mix=mix,
        streaming=streaming,
        representative=representative,
        ladder=ladder,
        rung=rung,
        notes=notes,
    )
