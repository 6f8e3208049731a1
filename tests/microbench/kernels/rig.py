"""Stream kernels in tests, on memory of this thread: what is laid, run and read without a team."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.assembly import Counts
from microbench.kernels.kernel import Problem, Spec, Stream
from microbench.kernels.registry import KERNELS, kernel
from microbench.team import Worker
from microbench.vector import Machinecode, compile_loop
from tests.emission import WITH_FMA, Target
from tests.microbench.kernels.workbench import problem

STREAMS = tuple(spec.name for spec in KERNELS if spec.family in ("stream", "vector"))

SMALL = 3 * 1024
"""Elements: 12 trips in fp32 and 24 in fp64, and no whole number of the blocks of test data in either."""


def of_family(family: str) -> list[str]:
    return [name for name in STREAMS if kernel(name).family == family]


@functools.cache
def machinecode(name: str, precision: str) -> Machinecode:
    return compile_loop(task(name, precision).loop)


def task(name: str, precision: str, n: int = SMALL) -> Stream:
    made = kernel(name).task(problem(precision, {"n": n}))
    assert isinstance(made, Stream)
    return made


@dataclass
class Rig:
    """One kernel on one worker."""

    name: str
    precision: str
    worker: Worker
    n: int = SMALL

    def __post_init__(self) -> None:
        self.task = task(self.name, self.precision, self.n)
        self.worker.reserve(4 * self.task.arrays * (self.task.length + 8192))
        self.task.prepare(self.worker, self.task.length)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64 if self.precision == "fp64" else np.float32)

    def array(self, index: int) -> np.ndarray[Any, Any]:
        """One of the arrays, where streams lay them; not of a kernel that lays its own."""
        offset = self.worker.arena.offsets(self.task.arrays, self.task.length)[index]
        return self.worker.arena.view(offset, self.task.length, self.dtype)

    def accumulators(self, number: int) -> np.ndarray[Any, Any]:
        lanes = self.task.loop.vector_bits // 8 // self.dtype.itemsize
        return np.concatenate([self.worker.accumulator(index, self.dtype)[:lanes] for index in range(number)])

    def run(self, passes: int) -> None:
        code = machinecode(self.name, self.precision)
        function = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)(code.address)
        function(self.worker.arguments.ctypes.data, passes * self.trips)

    def check(self, passes: int) -> str:
        return self.task.check(self.worker, self.task.length, passes * self.trips)

    @property
    def trips(self) -> int:
        return self.task.length // self.task.loop.step


def counted_by_instructions(spec: Spec, precision: str, bookkeeping: Mapping[str, int]) -> tuple[int, int, int]:
    """FLOP, bytes loaded and bytes stored of a pass, from the instructions that its loop is verified to contain.

    `bookkeeping` are instructions of a trip that belong to no element.
    """
    loop, length = task(spec.name, precision).loop, task(spec.name, precision).length
    counts: Counts = loop.counts
    lanes = loop.vector_bits // (64 if precision == "fp64" else 32)
    trips = length // loop.step

    def number(name: str) -> int:
        return int(getattr(counts, name)) - bookkeeping.get(name, 0)

    flop = 2 * number("fma") + number("add") + number("mul") + number("divide")
    stores = number("stores") + number("nontemporal_stores")
    width = loop.vector_bits // 8
    return flop * lanes * trips, number("loads") * width * trips, stores * width * trips


def elsewhere() -> list[tuple[Target, int]]:
    """Other CPUs with fused multiply-adds, and the vector widths they have."""
    return [(target, bits) for target in WITH_FMA for bits in target.vector_bits]


def problem_for(target: Target, bits: int, precision: str, fma: bool = True) -> Problem:
    return Problem(precision, {"n": SMALL}, 1, bits, target.isa.registers, fma=fma)
