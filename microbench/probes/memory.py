"""Memory roofs: streams of vector loads and stores in a given access mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench import catalog
from microbench.assembly import Counts
from microbench.catalog import STEP_BYTES, Mix
from microbench.loop import Loop
from microbench.probes.probe import ADDEND, MULTIPLIER, Chains, differs, fill_block, fill_constant, ramp
from microbench.team import Worker
from microbench.vector import Emitter

_NONE = Chains("fp64", 0)


@dataclass(frozen=True, slots=True)
class Memory:
    """A stream. Array 0 is the one that is stored to, the others are read."""

    loop: Loop
    mix: Mix

    @property
    def arrays(self) -> int:
        """Arrays of the working set."""
        return self.mix.arrays

    def prepare(self, worker: Worker, length: int) -> None:
        """Fill every array, so that all pages are the thread's own, and point to them."""
        _NONE.prepare(worker)
        offsets = worker.arena.offsets(self.mix.arrays, length)
        worker.point(offsets, length, self.loop.step)
        if not self.mix.writes:
            fill_constant(worker, length, "fp64", MULTIPLIER)
            return
        for array, offset in enumerate(offsets):
            fill_block(worker, offset, length, ramp(array))

    def check(self, worker: Worker, length: int, trips: int) -> str:
        """Check the array that was stored to; of a load-only stream, that it was left alone."""
        offsets = worker.arena.offsets(self.mix.arrays, length)
        if not self.mix.writes:
            return differs(worker, 0, length, np.full_like(ramp(0), MULTIPLIER))
        if trips * STEP_BYTES < length:
            return f"only {trips} trips were made of the {length // STEP_BYTES} that one pass takes"
        passes = trips * STEP_BYTES // length
        name = self.mix.name.removesuffix("_nt")
        expected = {
            "load2_store1": ramp(1),
            "copy": ramp(1),
            "triad": ramp(2) * MULTIPLIER + ramp(1),
            "update": ramp(0) if passes % 2 == 0 else -ramp(0),
            "store": np.full_like(ramp(0), ADDEND),
        }[name]
        return differs(worker, offsets[0], length, expected)


def build(mix_name: str, vector_bits: int) -> Memory:
    """Return the probe of an access mix at a vector width (names in :mod:`microbench.catalog`)."""
    mix = catalog.mix(mix_name)
    width = vector_bits // 8
    vectors = STEP_BYTES // width
    kind = mix.name.removesuffix("_nt")

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for offset in range(0, STEP_BYTES, width):
            match kind:
                case "load":
                    emitter.sink(emitter.load(arrays[0], offset))
                    continue
                case "load2_store1":
                    result = emitter.load(arrays[1], offset)
                    emitter.sink(emitter.load(arrays[2], offset))
                case "copy":
                    result = emitter.load(arrays[1], offset)
                case "triad":
                    addend = emitter.load(arrays[1], offset)
                    result = emitter.fma(emitter.load(arrays[2], offset), x, addend)
                case "update":
                    old = emitter.load(arrays[0], offset)
                    result = emitter.fma(old, x, old)
                case "store":
                    result = a
                case _:
                    raise KeyError(f"no loop for access mix {kind!r}")
            emitter.store(result, arrays[0], offset, mix.nontemporal)
        return values

    stored = vectors * mix.writes
    loop = Loop(
        name=f"{mix.name} {vector_bits} bits",
        precision="fp64",
        vector_bits=vector_bits,
        body=body,
        counts=Counts(
            fma=vectors * mix.fma,
            loads=vectors * mix.reads,
            stores=0 if mix.nontemporal else stored,
            nontemporal_stores=stored if mix.nontemporal else 0,
            vector_bits=vector_bits,
        ),
        step=STEP_BYTES,
        flop=2 * mix.fma * vectors * vector_bits // 64,
        read_bytes=mix.reads * STEP_BYTES,
        written_bytes=mix.writes * STEP_BYTES,
        allocate_bytes=mix.allocates * STEP_BYTES,
    )
    return Memory(loop, mix)
