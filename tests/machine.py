"""A synthetic machine: planted peaks, bandwidths and capacities make a timing of a case, by the roofline formula."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ert import measuring
from ert.measure.kernels import work_of
from ert.measure.sampling import Timing
from ert.measure.teams import Teams, choose, usable_cpus
from ert.measure.turn import turn
from ert.roofline.model import Cache, Case, Code, Condition, Cpu, Host, Toolchain, Work
from microbench import catalog
from microbench.kernels.registry import is_kernel

CLOCK_HZ = 3.0e9


@dataclass
class SyntheticMachine:
    """An instrument of a machine that does not exist.

    Bandwidths are those of load-only streams of one thread in byte/s; other mixes reach `mix_factor` of it in program
    bytes. Every sample is slowed by a half-normal of `noise`, and `slow(round_elapsed)` may slow it further.

    Where there are `members`, each CPU is as fast as its own, and threads share the work by their speed. SMT siblings
    do `siblings` times what one thread of their core does alone, and another node's memory gives `far` times the own.
    """

    peaks: dict[str, float] = field(default_factory=lambda: {"fp64": 48e9, "fp32": 96e9, "bf16": 192e9, "int8": 384e9})
    instructions: dict[str, float] = field(
        default_factory=lambda: {"add": 0.5, "mul": 0.5, "divide": 0.1, "sqrt": 0.05, "fma_add_1_2": 0.9}
    )
    levels: tuple[tuple[str, float, float], ...] = (
        ("L1", 192e9, 32 << 10),
        ("L2", 96e9, 1 << 20),
        ("L3", 60e9, 8 << 20),
        ("DRAM", 20e9, float("inf")),
    )
    mix_factor: dict[str, float] = field(default_factory=lambda: {"copy": 0.9, "triad_nt": 1.25})
    latencies: dict[str, float] = field(
        default_factory=lambda: {"L1": 4 / CLOCK_HZ, "L2": 14 / CLOCK_HZ, "L3": 50 / CLOCK_HZ, "DRAM": 100e-9}
    )
    in_flight: int = 20
    in_pages: float = 0.5
    latency_capacity: float = 1.0
    gathers_per_s: dict[str, float] = field(default_factory=lambda: {"L1": 3e9, "L2": 1.5e9, "L3": 1e9, "DRAM": 0.1e9})
    overheads: dict[str, float] = field(
        default_factory=lambda: {"first start": 20e-6, "last end": 30e-6, "barrier": 100e-9}
    )
    kernel_share: float = 0.9
    members: Mapping[int, SyntheticMachine] = field(default_factory=dict)
    siblings: float = 1.0
    far: float = 1.0
    saturated_at: float = float("inf")
    chains_needed: int = 8
    best_bits: int = 256
    noise: float = 0.0
    seed: int = 1
    unverified: Callable[[Case], bool] = lambda case: False
    wrong: Callable[[Case], bool] = lambda case: False
    slow: Callable[[float], float] = lambda now: 1.0
    now: float = 0.0
    runs: int = 0
    on_run: Callable[[int], None] = lambda run: None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self.opened: Case | None = None

    def elapsed(self) -> float:
        return self.now

    def bandwidth(self, case: Case) -> float:
        """Bytes/s of one thread."""
        height = next(value for _, value, capacity in self.levels if case.working_set <= capacity)
        narrow = 1.0 if case.vector_bits >= self.best_bits or case.probe == "stride" else 0.5
        if height == self.levels[-1][1]:
            height *= min(1.0, self.saturated_at / case.team.threads)
        return height * self.mix_factor.get(case.mix, 1.0) * narrow

    def peak(self, case: Case) -> float:
        """FLOP/s of one thread."""
        chains = min(1.0, case.accumulators / self.chains_needed)
        share = self.instructions.get(case.instructions, 1.0)
        return self.peaks[case.precision] * share * chains * min(1.0, case.vector_bits / self.best_bits)

    def level(self, case: Case, larger: float = 1.0) -> str:
        """Where the working set lies, with capacities so many times those of the bandwidth."""
        return next(name for name, _, capacity in self.levels if case.working_set <= larger * capacity)

    def irregular_work(self, case: Case) -> Work:
        """Count one pass of what is counted in events."""
        parameters = dict(case.parameters)
        events, useful, line = 64 * case.team.threads, 8, 64
        if case.probe == "latency":
            events *= case.accumulators
        if case.probe == "gather":
            useful = int(str(parameters["element"]).removeprefix("int")) // 8
        if case.probe == "stride":
            line = min(64, 8 * int(parameters["stride"]))
        if case.probe == "overhead":
            return Work(events=case.team.threads)
        index = int(parameters["index_bits"]) // 8 if case.probe == "gather" else 0
        traffic = ((case.level, events * (line + index)),) if case.level else ()
        return Work(read_bytes=events * (useful + index), level_bytes=traffic, events=events)

    def irregular_seconds(self, case: Case, work: Work) -> float:
        """Time of one pass of it."""
        parameters = dict(case.parameters)
        each = work.events / case.team.threads
        match case.probe:
            case "latency":
                name = self.level(case, self.latency_capacity)
                latency = self.latencies[name]
                if parameters["pattern"] == "page" and name != "L1":
                    latency *= self.in_pages
                return each * latency / min(case.accumulators, self.in_flight)
            case "gather":
                return each / self.gathers_per_s[self.level(case)]
            case "stride":
                return each * min(64, 8 * int(parameters["stride"])) / self.bandwidth(case)
        return self.overheads[str(parameters["until"])] * case.team.threads

    def kernel_seconds(self, case: Case, work: Work) -> float:
        """Time of one pass of an application kernel: the roofline's, at `kernel_share` of what is attainable."""
        height = next(value for name, value, _ in self.levels if name == case.level)
        mix = catalog.mix(case.mix)
        height *= self.mix_factor.get(case.mix, 1.0)
        if case.level != "L1":
            height *= (mix.reads + mix.writes + mix.allocates) / (mix.reads + mix.writes)
        least = work.traffic_bytes(case.level) / height
        return max(work.flop / self.peaks[case.precision], least) / case.team.threads / self.kernel_share

    def describe(self, case: Case) -> tuple[Work, Code]:
        if is_kernel(case.probe):
            return work_of(case, 32), Code("compiled", found=(("fma", 4), ("vector_bits", self.best_bits)))
        code = Code("mismatch", "fma 63 instead of 64") if self.unverified(case) else Code("verified")
        threads = case.team.threads
        if case.probe == "compute":
            kind = catalog.instruction(case.instructions)
            lanes = case.vector_bits // (8 * catalog.precision(case.precision).bytes)
            steps = 60 * case.accumulators
            flop = steps * lanes * sum(catalog.STEPS[step].flop for step in kind.steps) // len(kind.steps)
            return Work(flop=flop * threads, events=steps * threads), code
        if case.probe in ("latency", "gather", "stride", "overhead"):
            return self.irregular_work(case), code
        mix = catalog.mix(case.mix)
        array = case.working_set // mix.arrays
        flop = 0
        if case.probe == "intensity":
            flop = 2 * case.multiply_adds * (array // catalog.precision(case.precision).bytes)
        return (
            Work(
                flop=flop * threads,
                read_bytes=mix.reads * array * threads,
                written_bytes=mix.writes * array * threads,
                allocate_bytes=mix.allocates * array * threads,
            ),
            code,
        )

    def open(self, case: Case) -> None:
        self.opened = case

    def run(self, case: Case, passes: int) -> Timing:
        assert self.opened == case
        self.runs += 1
        self.on_run(self.runs)
        work, _ = self.describe(case)
        threads = case.team.threads
        if is_kernel(case.probe):
            return self._took(self.kernel_seconds(case, work) * passes, threads)
        speeds = [1.0 / self.members.get(cpu, self).thread_seconds(case, work) for cpu in case.team.cpus]
        seconds = threads / sum(speeds)
        if case.probe != "overhead":
            seconds *= threads / case.team.cores / (self.siblings if threads > case.team.cores else 1.0)
        if case.probe == "numa" and dict(case.parameters)["cpu_node"] != case.team.memory_node:
            seconds /= self.far
        return self._took(seconds * passes, threads)

    def thread_seconds(self, case: Case, work: Work) -> float:
        """Time of one pass of one thread alone."""
        threads = case.team.threads
        seconds = 0.0
        counted = case.probe in ("latency", "gather", "stride", "overhead")
        if counted:
            seconds = self.irregular_seconds(case, work)
        if work.flop and case.probe != "memory":
            seconds = work.flop / threads / self.peak(case)
        if case.probe != "compute" and not counted:
            seconds = max(seconds, work.program_bytes / threads / self.bandwidth(case))
        return seconds

    def _took(self, seconds: float, threads: int) -> Timing:
        seconds *= (1 + abs(self._random.gauss(0, self.noise))) * self.slow(self.now)
        self.now += 1.25 * seconds
        return Timing(seconds, (seconds,) * threads, (CLOCK_HZ,) * threads)

    def check(self, case: Case) -> str:
        return "element 3 holds 1.0 instead of 2.0" if self.wrong(case) else ""


def synthetic_host(cores: int = 2, *, declared: bool = True, siblings: int = 1) -> Host:
    """Return a host whose declared caches are those of :class:`SyntheticMachine`; the L3 is shared by all."""
    cpus = tuple(
        Cpu(id=rank * cores + core, core=core, sibling=rank) for rank in range(siblings) for core in range(cores)
    )
    caches: list[Cache] = []
    if declared:
        for core in range(cores):
            own = tuple(cpu.id for cpu in cpus if cpu.core == core)
            caches += [Cache("L1", 32 << 10, own), Cache("L2", 1 << 20, own)]
        caches.append(Cache("L3", 8 * cores << 20, tuple(cpu.id for cpu in cpus)))
    return Host(
        system="Linux",
        machine="x86_64",
        cpu_model="Synthetic CPU",
        cpus=cpus,
        caches=tuple(caches),
        memory_total=16 << 30,
        memory_available=12 << 30,
    )


def teams_of(
    host: Host, threads: str = "1,all", cpus: Sequence[int] = (), *, binding: str = "number", most: int = 9
) -> Teams:
    """Return who measures on a host; by the number of the CPU unless told otherwise."""
    return choose(host, usable_cpus(host, cpus, binding), threads, most)


TOOLCHAIN = Toolchain(versions=(("numba", "0"),), target="synthetic", features=("fma",), vector_bits=(128, 256, 512))


def quiet(monkeypatch: pytest.MonkeyPatch, folder: Path, **seen: Any) -> None:
    """Let commands see a machine on which nothing happens, and lock a file of the test alone."""

    def observe(host: Host, *, alone: bool | None) -> Condition:
        return Condition("2026-11-29T22:45:00Z", alone=alone, **seen)

    monkeypatch.setattr(measuring, "observe", observe)
    monkeypatch.setattr(measuring, "turn", functools.partial(turn, folders=[folder]))
