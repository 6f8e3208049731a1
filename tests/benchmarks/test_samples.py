"""What one sample of each family of probes costs, and what it takes to make its code.

Left out of a normal run: ``pytest tests/benchmarks --benchmark-only``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from microbench import assembly, catalog, isa
from microbench.probes import compute, intensity, irregular, latency, memory, overhead
from microbench.probes.probe import Probe
from microbench.team import Team
from microbench.vector import compile_loop

HOST = isa.host()
CPU = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
BITS = HOST.vector_bits[-1] if HOST.vector_bits else 64
INSTRUCTIONS = "fma" if HOST.fma else "mul_add_unfused"

WORKING_SET = 16 * catalog.STEP_BYTES
"""Bytes of the arrays; they lie in L1 everywhere."""

TRIPS = 32_768
"""A sample then takes about half a millisecond."""

PROBES: dict[str, Probe] = {
    "compute": compute.build("fp64", INSTRUCTIONS, BITS, 8),
    "memory": memory.build("load", BITS),
    "intensity": intensity.build("fp64", 8, BITS, 8),
    "latency": latency.build("random", 1),
    "gather": irregular.build_gather("int64", 64),
    "stride": irregular.build_stride(1),
    "overhead": overhead.build_barrier(1),
}


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    # Arrays of a gather lie apart.
    with Team({CPU: 2 * WORKING_SET}) as team:
        yield team


def test_every_family_is_timed() -> None:
    assert tuple(PROBES) == catalog.PROBES


@pytest.mark.parametrize("family", PROBES)
def test_sample(benchmark: Any, team: Team, family: str) -> None:
    probe = PROBES[family]
    if family == "intensity" and not HOST.fma:
        pytest.skip("this CPU has no fused multiply-add")
    code = compile_loop(probe.loop)
    whole = catalog.round_gather(WORKING_SET) if family == "gather" else WORKING_SET
    length = whole // probe.arrays if probe.arrays else 0
    team.each((CPU,), lambda worker: probe.prepare(worker, length))
    made = 0

    def sample() -> None:
        nonlocal made
        team.run((CPU,), code.address, 0, TRIPS)
        made += TRIPS

    benchmark(sample)
    assert team.each((CPU,), lambda worker: probe.check(worker, length, made)) == {CPU: ""}


@pytest.mark.parametrize("family", PROBES)
def test_compile_and_verify(benchmark: Any, family: str) -> None:
    loop = PROBES[family].loop

    def build() -> str:
        return assembly.verify(compile_loop(loop).assembly, loop.counts, HOST.family)[1]

    assert benchmark.pedantic(build, rounds=5) == ""
