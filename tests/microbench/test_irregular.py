"""Chases, gathers, strides and barriers: their data, their results, and that a wrong result is seen."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microbench import catalog
from microbench.clock import now_ns
from microbench.loop import A_SLOT, ARRAYS
from microbench.probes import irregular, latency, overhead
from microbench.probes.probe import Probe
from microbench.team import Team, Worker
from microbench.vector import Machinecode, compile_loop

MIB = 1 << 20
RUNS = (1, 7, 300)
"""Trips of the calls that follow each other, as warm-up and samples do: they go on where the last one ended."""


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(None, 4 * MIB)
    yield worker
    worker.arena.close()


def call(worker: Worker, code: Machinecode, trips: int) -> None:
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)(code.address)
    function(worker.arguments.ctypes.data, trips)


def run(worker: Worker, probe: Probe, code: Machinecode, length: int) -> str:
    probe.prepare(worker, length)
    for trips in RUNS:
        call(worker, code, trips)
    return probe.check(worker, length, sum(RUNS))


# -------------------------------------------------------------------------------------------------- chases


@pytest.mark.parametrize("pattern", catalog.PATTERNS)
@given(lines=st.integers(1, 3000))
def test_a_chase_visits_every_line_once_and_comes_back(pattern: str, lines: int) -> None:
    order, successor = latency.cycle(pattern, lines)
    assert sorted(order.tolist()) == list(range(lines))
    assert successor[order].tolist() == np.roll(order, -1).tolist()


def test_lines_of_a_page_are_visited_together_and_pages_in_order() -> None:
    order, _ = latency.cycle("page", 1000)
    assert (np.diff(order // 64) >= 0).all()
    first, second = order[:64] % 64, order[64:128] % 64
    assert first.tolist() != sorted(first.tolist())
    assert first.tolist() != second.tolist()


def test_a_random_chase_leaves_the_page_at_nearly_every_step() -> None:
    order, _ = latency.cycle("random", 1 << 16)
    steps = np.diff(order.astype(np.int64))
    assert (np.abs(steps) < 64).mean() < 0.01
    assert len(np.unique(steps)) > 20_000


@pytest.mark.parametrize("pattern", catalog.PATTERNS)
@pytest.mark.parametrize("chains", [1, 2, 8, 16])
@pytest.mark.parametrize("length", [1024, 65536, 3 * 65536 + 1024])
def test_every_chain_ends_where_the_cycle_says(
    worker: Worker, compiled: Any, pattern: str, chains: int, length: int
) -> None:
    probe, code = compiled("latency", pattern, chains)
    assert run(worker, probe, code, length) == ""
    assert probe.loop.events == chains * max(4, 64 // chains)
    # The next case goes on from there and is right too.
    assert run(worker, probe, code, length) == ""


def test_a_chain_that_lost_its_way_is_seen(worker: Worker, compiled: Any) -> None:
    probe, code = compiled("latency", "random", 2)
    probe.prepare(worker, 65536)
    call(worker, code, 10)
    assert "chain 0 ended at byte" in probe.check(worker, 65536, 11)
    words = worker.arena.view(0, 65536, np.int64)
    words[:] = worker.arena.address
    probe.prepare(worker, 65536)
    call(worker, code, 10)
    assert "ended at byte" in probe.check(worker, 65536, 10)


def test_chains_begin_evenly_spaced_on_the_cycle(worker: Worker) -> None:
    probe = latency.build("random", 4)
    probe.prepare(worker, 65536)
    order, _ = latency.cycle("random", 1024)
    starts = [int(worker.accumulator(chain, np.int64)[0]) - worker.arena.address for chain in range(4)]
    assert starts == [64 * int(order[position]) for position in (0, 256, 512, 768)]


def test_the_cycle_is_laid_again_after_other_data(worker: Worker, compiled: Any) -> None:
    probe, code = compiled("latency", "page", 1)
    other, _ = compiled("stride", 1)
    probe.prepare(worker, 65536)
    other.prepare(worker, 65536)
    assert run(worker, probe, code, 65536) == ""


def test_an_unknown_pattern_is_refused() -> None:
    with pytest.raises(KeyError, match="known: random, page"):
        latency.build("zigzag", 1)


# -------------------------------------------------------------------------------------- gathers and strides


@pytest.mark.parametrize("gather", catalog.GATHERS)
@pytest.mark.parametrize("length", [128, 128 * 7, 128 * 512])
def test_a_gather_sums_what_its_indices_name(
    worker: Worker, compiled: Any, gather: tuple[str, int], length: int
) -> None:
    probe, code = compiled("gather", *gather)
    probe.prepare(worker, length)
    trips = 3 * length // 128
    call(worker, code, trips)
    assert probe.check(worker, length, trips) == ""
    dtype, index_type = irregular.DTYPES[gather[0]], f"int{gather[1]}"
    index = worker.arena.view(0, length, index_type)
    data = worker.arena.view(catalog.array_pitch(length), 4 * length, dtype)
    with np.errstate(over="ignore"):
        expected = (data[index].sum(dtype=dtype) * dtype(3)).astype(dtype)
        found = sum((worker.accumulator(i, dtype)[0] for i in range(irregular.SUMS)), dtype(0))
    assert found == expected
    assert "the checksum is" in probe.check(worker, length, trips - 1)


def test_indices_are_spread_over_all_the_data(worker: Worker) -> None:
    probe = irregular.build_gather("int32", 32)
    probe.prepare(worker, 128 * 512)
    index = worker.arena.view(0, 128 * 512, np.int32)
    elements = 4 * 128 * 512 // 4
    assert 0 <= index.min() < elements // 100
    assert elements - elements // 100 < index.max() < elements
    lines = np.unique(index // 16)
    assert len(lines) > 0.95 * elements // 16


@pytest.mark.parametrize("stride", catalog.STRIDES)
@pytest.mark.parametrize("length", [8256 + 1024, 65536, 3 * 65536 + 1024])
def test_a_stride_sums_what_it_reads(worker: Worker, compiled: Any, stride: int, length: int) -> None:
    probe, code = compiled("stride", stride)
    assert run(worker, probe, code, length) == ""
    assert "the checksum is" in probe.check(worker, length, sum(RUNS) - 1)


@pytest.mark.parametrize("stride", catalog.STRIDES)
def test_a_stride_reads_every_line_of_its_lap(worker: Worker, compiled: Any, stride: int) -> None:
    length = 20 * 1024
    probe, code = compiled("stride", stride)
    probe.prepare(worker, length)
    lap, step = int(worker.arguments[ARRAYS]), probe.loop.step
    visited, offset = [], 0
    for _ in range(lap // 64):
        visited.append(offset)
        call(worker, code, 1)
        offset = (offset + step) % lap
        assert int(worker.slot(A_SLOT, np.int64)[0]) == offset
    assert sorted(visited) == list(range(0, lap, 64))
    assert lap + step <= length


def test_a_stride_that_does_not_fit_is_refused(worker: Worker) -> None:
    with pytest.raises(ValueError, match="too few to read at a stride of 64"):
        irregular.build_stride(64).prepare(worker, 8192)


def test_an_unknown_gather_is_refused() -> None:
    with pytest.raises(KeyError, match="no gather of int16"):
        irregular.build_gather("int16", 32)


@given(st.integers(0, 1 << 40))
def test_gathers_fill_their_working_set(size: int) -> None:
    rounded = catalog.round_gather(size)
    assert rounded % (5 * 128) == 0
    assert rounded == 640 or size - 640 < rounded <= size
    # Data behind the index fit what is set aside for the widest mix.
    length = rounded // 5
    assert catalog.array_pitch(length) + 4 * length <= catalog.arena_bytes("triad", max(rounded, 3072))


# ------------------------------------------------------------------------------------------------ overhead


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_meet_at_every_barrier(threads: int) -> None:
    cpus = _cpus(threads)
    probe = overhead.build_barrier(threads)
    code = compile_loop(probe.loop)
    with Team(dict.fromkeys(cpus, 4096)) as team:
        team.each(cpus, lambda worker: probe.prepare(worker, 0))
        team.run(cpus, code.address, 3, 50)
        assert set(team.each(cpus, lambda worker: probe.check(worker, 0, 53)).values()) == {""}
        assert all("arrivals" in text for text in team.each(cpus, lambda w: probe.check(w, 0, 54)).values())


def test_a_barrier_alone_gives_up_and_is_seen(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "SPIN_LIMIT", 1000)
    probe = overhead.build_barrier(2)
    code = compile_loop(probe.loop)
    probe.prepare(worker, 0)
    call(worker, code, 5)
    assert "the barrier counted 5 arrivals instead of 10" in probe.check(worker, 0, 5)
    probe.counter[0] = 10
    assert "left a barrier early" in probe.check(worker, 0, 5)


def test_nothing_counts_its_trips(worker: Worker) -> None:
    probe = overhead.build_nothing()
    assert run(worker, probe, compile_loop(probe.loop), 0) == ""
    assert "308 trips were made instead of 309" in probe.check(worker, 0, 309)


def test_a_start_is_told_on_the_clock_of_the_caller() -> None:
    cpus = _cpus(1)
    probe = overhead.build_nothing()
    code = compile_loop(probe.loop)
    with Team(dict.fromkeys(cpus, 4096)) as team:
        team.each(cpus, lambda worker: probe.prepare(worker, 0))
        before = now_ns()
        timing = team.run(cpus, code.address, 0, 1, clock=False)
        assert before <= timing.first_start_ns <= now_ns()


def _cpus(number: int) -> list[int]:
    import os

    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if len(usable) < number:
        pytest.skip(f"needs {number} CPUs")
    return usable[:number]
