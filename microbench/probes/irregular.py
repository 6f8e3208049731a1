"""Irregular reads: gathers through an index array, and reads at a stride. Each element is added to a checksum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.assembly import Counts
from microbench.catalog import DATA_PER_INDEX, GATHER_STEP, GATHERS, LINE_BYTES, array_pitch, stride_loads
from microbench.loop import A_SLOT, ARRAYS, FIRST_SLOT, Loop
from microbench.team import Worker
from microbench.vector import Emitter

SUMS = 4
"""Checksums: an addition takes a cycle, and no core loads more than four scalars in one."""

FACTOR = 2654435761
"""Element i is i times this, about 2**32 over the golden ratio: neighbours differ in all bits."""

DTYPES: dict[str, Any] = {"int32": np.uint32, "int64": np.uint64}

_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Gather:
    """Random reads of a data array, through an index array that is read as a stream."""

    loop: Loop
    element: str
    index_bits: int
    arrays: int = 1 + DATA_PER_INDEX

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill `length` bytes of index and `DATA_PER_INDEX` times that of data, and clear the sums."""
        content = ("gather", self.element, self.index_bits, length)
        data_at = array_pitch(length)
        if worker.content != content:
            data = worker.arena.view(data_at, DATA_PER_INDEX * length, DTYPES[self.element])
            _fill_elements(data)
            index = self._index(worker, length)
            index[:] = np.random.default_rng(len(index)).integers(0, len(data), len(index), dtype=index.dtype)
            worker.content = content
        worker.point((0, data_at), length, self.loop.step)
        _begin(worker)

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Compare the checksum with that of the indices."""
        index = self._index(worker, length)
        reads = trips * self.loop.events
        passes, rest = divmod(reads, len(index))
        read = passes * int(index.sum(dtype=np.uint64)) + int(index[:rest].sum(dtype=np.uint64))
        return _compare(worker, self.element, read * FACTOR)

    def _index(self, worker: Worker, length: int) -> Any:
        return worker.arena.view(0, length, np.int32 if self.index_bits == 32 else np.int64)


@dataclass(frozen=True, slots=True)
class Stride:
    """Reads of 8 bytes at a stride. Each lap over the array begins a line further, until all lines were read."""

    loop: Loop
    stride: int
    arrays: int = 1

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill the array and clear the sums; a lap ends a trip before the end, since a trip may step over it."""
        content = ("elements", length)
        if worker.content != content:
            _fill_elements(worker.arena.view(0, length, np.uint64))
            worker.content = content
        worker.point((0,), length)
        worker.arguments[ARRAYS] = self._lap(length)
        _begin(worker)

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Compare the checksum with that of the offsets."""
        lap, step = self._lap(length), self.loop.step
        # Step and lap have nothing in common but the line, so that a round begins a trip once at every line.
        lines = lap // LINE_BYTES
        rounds, rest = divmod(trips, lines)
        whole = LINE_BYTES * lines * (lines - 1) // 2
        part = int((np.arange(rest, dtype=np.int64) * step % lap).sum())
        reads = self.loop.events
        inside = self.stride * reads * (reads - 1) // 2
        read = reads * (rounds * whole + part) // 8 + trips * inside
        return _compare(worker, "int64", read * FACTOR)

    def _lap(self, length: int) -> int:
        step = self.loop.step
        laps = (length - LINE_BYTES) // step - 1
        if laps < 1:
            raise ValueError(f"{length} bytes are too few to read at a stride of {self.stride} elements")
        return laps * step + LINE_BYTES


def build_gather(element: str, index_bits: int) -> Gather:
    """Return the probe of a gather, one of :data:`microbench.catalog.GATHERS`."""
    if (element, index_bits) not in GATHERS:
        raise KeyError(f"no gather of {element} through {index_bits} bits")
    index, size = f"int{index_bits}", int(element.removeprefix("int")) // 8
    reads = GATHER_STEP // (index_bits // 8)

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        indices = Emitter(emitter.builder, index, index_bits, emitter.machine)
        for read in range(reads):
            where = indices.load(arrays[0], read * index_bits // 8)
            value = emitter.element(arrays[1], where)
            values[read % SUMS] = emitter.builder.add(values[read % SUMS], value)
            emitter.part()
        return values

    loop = Loop(
        name=f"gather {element} through {index}",
        precision=element,
        vector_bits=8 * size,
        body=body,
        counts=Counts(other_loads=2 * reads),
        accumulators=SUMS,
        step=GATHER_STEP,
        streams=1,
        drifts=True,
        covers=GATHER_STEP,
        read_bytes=GATHER_STEP + reads * size,
        # Every read may need another line, and the index comes in whole lines.
        line_bytes=GATHER_STEP + reads * LINE_BYTES,
        events=reads,
    )
    return Gather(loop, element, index_bits)


def build_stride(stride: int) -> Stride:
    """Return the probe of reads at a stride of so many elements of 8 bytes."""
    reads = stride_loads(stride)

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for read in range(reads):
            value = emitter.load(arrays[0], read * 8 * stride)
            values[read % SUMS] = emitter.builder.add(values[read % SUMS], value)
            emitter.part()
        return values

    touched = reads * min(LINE_BYTES, 8 * stride)
    loop = Loop(
        name=f"stride {stride}",
        precision="int64",
        vector_bits=64,
        body=body,
        counts=Counts(other_loads=reads),
        accumulators=SUMS,
        step=reads * 8 * stride,
        streams=1,
        drifts=True,
        covers=touched,
        read_bytes=8 * reads,
        line_bytes=touched,
        events=reads,
    )
    return Stride(loop, stride)


def _fill_elements(data: Any) -> None:
    """Write element i, chunk by chunk so that nothing as large is needed beside it."""
    chunk = (np.arange(_CHUNK, dtype=np.uint64) * FACTOR).astype(data.dtype)
    for start in range(0, len(data), _CHUNK):
        part = data[start : start + _CHUNK]
        np.add(chunk[: len(part)], data.dtype.type(start * FACTOR % 2 ** (8 * data.dtype.itemsize)), out=part)


def _begin(worker: Worker) -> None:
    """Set the offset and the sums to 0."""
    worker.slot(A_SLOT, np.int64)[0] = 0
    for index in range(SUMS):
        worker.slot(FIRST_SLOT + index, np.uint64)[:] = 0


def _compare(worker: Worker, element: str, expected: int) -> str:
    dtype = DTYPES[element]
    modulus = 2 ** (8 * np.dtype(dtype).itemsize)
    found = sum(int(worker.accumulator(index, dtype)[0]) for index in range(SUMS)) % modulus
    if found != expected % modulus:
        return f"the checksum is {found} instead of {expected % modulus}"
    return ""
