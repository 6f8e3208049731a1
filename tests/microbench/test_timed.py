"""The timed call, on the thread of the test: its barrier, its abort word, its deadline and its clock."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

from microbench import timed
from microbench.assembly import Counts
from microbench.clock import TELLS_RUNNING
from microbench.loop import ARGUMENTS, ARRAYS, FIRST_SLOT, SLOT_BYTES, Loop
from microbench.vector import Machinecode, compile_loop

LONG_NS = 60_000_000_000

COUNTED = Loop(
    "adds 1 to a register in every trip",
    "fp64",
    64,
    lambda emitter, arrays, values, x, a: [emitter.mul_add_unfused(values[0], x, a)],
    Counts(mul=1, add=1, vector_bits=64),
    accumulators=1,
)


running = pytest.mark.skipif(not TELLS_RUNNING, reason="this system does not tell how long a thread was on a CPU")


@pytest.fixture(scope="module")
def counted() -> Machinecode:
    return compile_loop(COUNTED)


class Call:
    """The memory that one thread's timed calls work on."""

    def __init__(self, code: Machinecode, control: Any = None) -> None:
        self.code = code
        self.control = np.zeros(timed.CONTROL_WORDS, np.int64) if control is None else control
        self.results = np.zeros(timed.RESULTS, np.int64)
        self.registers = np.zeros((FIRST_SLOT + 1) * SLOT_BYTES // 8)
        self.registers[0] = self.registers[SLOT_BYTES // 8] = 1
        self.arguments = np.zeros(ARGUMENTS, np.int64)
        self.arguments[ARRAYS + 1] = self.registers.ctypes.data

    @property
    def trips_made(self) -> float:
        return float(self.registers[FIRST_SLOT * SLOT_BYTES // 8])

    def __call__(self, warm: int, trips: int, arrivals: int = 1, deadline: int = LONG_NS, links: int = 0) -> int:
        return int(
            timed.timed(
                self.code.address, self.arguments.ctypes.data, warm, trips, self.control.ctypes.data, arrivals,
                deadline, links, self.results.ctypes.data,
            )
        )  # fmt: skip


@pytest.mark.parametrize(("warm", "trips"), [(0, 1), (0, 1000), (17, 4)])
def test_the_loop_runs_as_often_as_asked(counted: Machinecode, warm: int, trips: int) -> None:
    call = Call(counted)
    before = time.monotonic_ns()
    assert call(warm, trips) == timed.DONE
    after = time.monotonic_ns()
    assert call.trips_made == warm + trips
    assert before <= call.results[timed.START] <= call.results[timed.END] <= after
    assert call.control[timed.ARRIVED] == 1
    assert call.control[timed.ABORT] == 0


def test_the_core_clock_is_taken_if_asked_for(counted: Machinecode) -> None:
    call = Call(counted)
    assert call(0, 1) == timed.DONE
    assert call.results[timed.CHAIN] == 0
    assert call.results[timed.RAN] == 0
    call.control[:] = 0
    assert call(0, 1, links=1000) == timed.DONE
    assert call.results[timed.CHAIN] > 0


@running
def test_the_time_on_a_cpu_is_that_of_the_loop(counted: Machinecode) -> None:
    call = Call(counted)
    before = time.thread_time_ns()
    assert call(1_000_000, 1, links=1000) == timed.DONE
    whole = time.thread_time_ns() - before
    assert 0 < call.results[timed.RAN] < whole


@pytest.mark.parametrize("arrivals", [1, 2])
def test_a_set_abort_word_stops_before_the_first_trip(counted: Machinecode, arrivals: int) -> None:
    call = Call(counted)
    call.control[timed.ABORT] = 1
    assert call(3, 5, arrivals=arrivals) == timed.ABORTED
    assert call.trips_made == 0
    assert not call.results.any()


def test_a_peer_that_does_not_come_ends_the_wait(counted: Machinecode) -> None:
    call = Call(counted)
    assert call(3, 5, arrivals=2, deadline=0) == timed.LATE
    assert call.trips_made == 3
    assert call.control[timed.ABORT] == 1
    assert not call.results.any()


def test_whoever_comes_after_a_late_one_is_called_back(counted: Machinecode) -> None:
    call = Call(counted)
    assert call(0, 5, arrivals=3, deadline=0) == timed.LATE
    assert Call(counted, call.control)(0, 5, arrivals=3) == timed.ABORTED


def test_threads_wait_for_each_other(counted: Machinecode) -> None:
    first = Call(counted)
    second = Call(counted, first.control)
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(first(0, 5, arrivals=2)), daemon=True)
    thread.start()
    while not first.control[timed.ARRIVED]:
        time.sleep(0.001)
    assert first.trips_made == 0
    came = time.monotonic_ns()
    assert second(0, 5, arrivals=2) == timed.DONE
    thread.join(LONG_NS * 1e-9)
    assert statuses == [timed.DONE]
    assert first.trips_made == second.trips_made == 5
    # Nobody started before the last had come.
    assert min(first.results[timed.START], second.results[timed.START]) >= came


def test_the_abort_word_calls_back_a_thread_at_the_barrier(counted: Machinecode) -> None:
    call = Call(counted)
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(call(0, 5, arrivals=2)), daemon=True)
    thread.start()
    while not call.control[timed.ARRIVED]:
        time.sleep(0.001)
    call.control[timed.ABORT] = 1
    thread.join(LONG_NS * 1e-9)
    assert statuses == [timed.ABORTED]
    assert call.trips_made == 0


def test_waiting_takes_no_stack() -> None:
    """Memory that a loop takes from the stack comes back only at the return: a long wait would run out of it."""
    listing = timed.timed.inspect_llvm(timed.timed.signatures[0])
    functions = re.findall(r"^define .*?\{\n(.*?)^\}", listing, re.DOTALL | re.MULTILINE)
    assert "alloca" in functions[0]
    for function in functions:
        # The first block has a label of its own.
        _, *others = re.split(r"^[\w.$]+:.*$", function, flags=re.MULTILINE)[1:]
        assert not any("alloca" in block for block in others)
