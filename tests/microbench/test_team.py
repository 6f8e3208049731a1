"""Teams of threads: what they return, and that no failure of a thread, a user or a system makes them wait for ever."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from microbench import team as teams
from microbench import timed
from microbench.assembly import Counts
from microbench.buffers import Arena
from microbench.clock import TELLS_RUNNING
from microbench.loop import Loop
from microbench.team import Team, TeamError, Worker, _Answer
from microbench.vector import Machinecode, compile_loop

LONG = 60.0
"""Seconds after which a wait of a test is a failure; nothing here takes nearly as long."""

COUNTED = Loop(
    "adds 1 to a register in every trip",
    "fp64",
    64,
    lambda emitter, arrays, values, x, a: [emitter.mul_add_unfused(values[0], x, a)],
    Counts(mul=1, add=1, vector_bits=64),
    accumulators=1,
)

USABLE = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
two_cpus = pytest.mark.skipif(len(USABLE) < 2, reason="needs two usable CPUs")
affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no thread to a CPU")


@pytest.fixture(scope="module")
def counted() -> Machinecode:
    return compile_loop(COUNTED)


@pytest.fixture
def loose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """Give a team of two threads that are not bound to CPUs, so that one CPU is enough for both."""
    monkeypatch.setattr(teams, "_pin", lambda cpu: False)
    monkeypatch.setattr(teams, "LIFE_SIGN_SECONDS", 0.05)
    with Team({0: 4096, 1: 4096}) as team:
        yield team


def count_from_zero(worker: Worker) -> None:
    """Let the next run count its trips."""
    worker.slot(0, np.float64)[0] = worker.slot(1, np.float64)[0] = 1
    worker.accumulator(0, np.float64)[0] = 0
    worker.point((), 0)


def trips_made(worker: Worker) -> float:
    return float(worker.accumulator(0, np.float64)[0])


def works(team: Team, cpus: tuple[int, ...], code: Machinecode) -> bool:
    """Whether two runs, one after the other, do what they should."""
    for trips in (5, 9):
        team.each(cpus, count_from_zero)
        timing = team.run(cpus, code.address, 2, trips)
        if len(timing.thread_seconds) != len(cpus) or team.each(cpus, trips_made) != dict.fromkeys(cpus, trips + 2.0):
            return False
    return True


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition; False if it does not come true."""
    limit = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.001)
    return True


def aborted(team: Team) -> bool:
    return bool(team._words[timed.ABORT])


# ---------------------------------------------------------------------------------------------------- what they return


def test_each_returns_what_every_thread_did(loose: Team) -> None:
    main = threading.get_ident()
    idents = loose.each((0, 1), lambda worker: threading.get_ident())
    assert len({main, *idents.values()}) == 3
    assert loose.each((0, 1), lambda worker: threading.get_ident()) == idents
    assert loose.each((1,), lambda worker: worker.arena.size) == {1: 4096}
    assert loose.each((), lambda worker: 1) == {}


def test_a_run_times_every_thread(loose: Team, counted: Machinecode) -> None:
    loose.each((0, 1), count_from_zero)
    timing = loose.run((0, 1), counted.address, 10, 1000)
    assert len(timing.thread_seconds) == len(timing.clocks_hz) == 2
    assert timing.seconds >= max(timing.thread_seconds) * (1 - 1e-9)
    assert all(seconds >= 0 for seconds in timing.thread_seconds)
    assert all(hertz > 0 for hertz in timing.clocks_hz)
    assert (timing.away_seconds is not None) == TELLS_RUNNING
    assert 0 <= (timing.away_seconds or 0.0) <= max(timing.thread_seconds)
    assert loose.each((0, 1), trips_made) == {0: 1010, 1: 1010}
    assert loose.run((0, 1), counted.address, 0, 1, clock=False).away_seconds is None


def test_a_run_makes_exactly_the_trips_asked_for(loose: Team, counted: Machinecode) -> None:
    for warm, trips in ((0, 1), (0, 7), (3, 1), (100, 12_345)):
        loose.each((0,), count_from_zero)
        timing = loose.run((0,), counted.address, warm, trips, clock=False)
        assert loose.each((0,), trips_made) == {0: warm + trips}
        assert timing.clocks_hz == ()


def test_threads_may_make_different_numbers_of_trips(loose: Team, counted: Machinecode) -> None:
    loose.each((0, 1), count_from_zero)
    timing = loose.run((0, 1), counted.address, 2, {0: 5, 1: 9})
    assert len(timing.thread_seconds) == 2
    assert loose.each((0, 1), trips_made) == {0: 7, 1: 11}
    with pytest.raises(ValueError, match="0 untimed and 0 timed trips"):
        loose.run((0, 1), counted.address, 0, {0: 5, 1: 0})
    with pytest.raises(KeyError):
        loose.run((0, 1), counted.address, 0, {0: 5})


def test_what_is_borrowed_is_given_back(loose: Team) -> None:
    own = loose.each((0, 1), lambda worker: worker.arena.address)
    with Arena(8192) as lent:
        places = {0: 0, 1: 4096}
        loose.each((0, 1), lambda worker: worker.borrow(lent.part(places[worker.cpu or 0], 4096)))
        borrowed = loose.each((0, 1), lambda worker: (worker.arena.address, worker.content))
        assert borrowed == {cpu: (lent.address + place, None) for cpu, place in places.items()}
        # Whoever borrows from one and then from another has given back to neither.
        loose.each((0,), lambda worker: worker.borrow(lent.part(4096, 4096)))
        for _ in range(2):
            loose.each((0, 1), lambda worker: worker.give_back())
        assert loose.each((0, 1), lambda worker: worker.arena.address) == own
        loose.each((0,), lambda worker: worker.reserve(65536))
        loose.each((0,), lambda worker: worker.borrow(lent.part(0, 4096)))
        loose.each((0,), lambda worker: worker.give_back())
        assert loose.each((0,), lambda worker: worker.arena.size) == {0: 65536}


def test_threads_own_their_memory(loose: Team) -> None:
    places = loose.each((0, 1), lambda worker: {worker.arena.address, worker.registers.ctypes.data})
    assert len(set.union(*places.values())) == 4
    assert all(place % 64 == 0 for owned in places.values() for place in owned)


@affinity
def test_threads_are_bound_and_the_main_thread_is_not(counted: Machinecode) -> None:
    with Team(dict.fromkeys(USABLE, 4096)) as team:
        assert team.pinned
        assert team.each(USABLE, lambda worker: os.sched_getaffinity(0)) == {cpu: {cpu} for cpu in USABLE}
        assert sorted(os.sched_getaffinity(0)) == USABLE
        assert works(team, tuple(USABLE[:1]), counted)


@affinity
@two_cpus
def test_bound_threads_run_together(counted: Machinecode) -> None:
    with Team(dict.fromkeys(USABLE[:2], 4096)) as team:
        assert works(team, tuple(USABLE[:2]), counted)


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("warm", "trips"), [(0, 0), (0, -1), (-1, 5)])
def test_runs_without_a_trip_are_refused(loose: Team, counted: Machinecode, warm: int, trips: int) -> None:
    """The loop tests its count at the end: none would be as many as a word can count."""
    with pytest.raises(ValueError, match=f"{warm} untimed and {trips} timed trips"):
        loose.run((0,), counted.address, warm, trips)


def test_impossible_cpus_are_refused(loose: Team, counted: Machinecode) -> None:
    with pytest.raises(KeyError):
        loose.run((0, 7), counted.address, 0, 1)
    with pytest.raises(ValueError, match="named twice"):
        loose.run((0, 0), counted.address, 0, 1)
    with pytest.raises(ValueError, match="no CPU"):
        loose.run((), counted.address, 0, 1)
    assert works(loose, (0, 1), counted)


@affinity
@pytest.mark.parametrize("cpu", [1 << 14, -1])
def test_a_cpu_that_does_not_exist_is_a_clear_failure(cpu: int) -> None:
    alive = threading.active_count()
    with pytest.raises(TeamError, match=f"cannot bind a thread to CPU {cpu}"):
        Team({USABLE[0]: 4096, cpu: 4096})
    assert threading.active_count() == alive


def test_memory_that_is_not_there_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "_pin", lambda cpu: False)
    alive = threading.active_count()
    with pytest.raises(MemoryError, match="cannot reserve"):
        Team({0: 4096, 1: 1 << 60})
    assert threading.active_count() == alive


# ----------------------------------------------------------------------------------------------------- what fails


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("planted"), "a thread of the team failed: ValueError: planted"),
        (SystemExit(3), "a thread of the team failed: SystemExit: 3"),
        (KeyboardInterrupt("planted"), "a thread of the team failed: KeyboardInterrupt: planted"),
        (TeamError("planted"), "^planted$"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("failing", [0, 1])
def test_a_job_that_raises(loose: Team, counted: Machinecode, error: BaseException, message: str, failing: int) -> None:
    def job(worker: Worker) -> None:
        if worker.cpu == failing:
            raise error

    with pytest.raises(TeamError, match=message):
        loose.each((0, 1), job)
    assert aborted(loose)
    assert works(loose, (0, 1), counted)


def test_a_job_that_raises_calls_back_who_waits_at_the_barrier(loose: Team, counted: Machinecode) -> None:
    statuses = []

    def job(worker: Worker) -> None:
        if worker.cpu == 1:
            raise ValueError("planted")
        statuses.append(at_barrier(loose, worker, counted, arrivals=2, deadline=LONG))

    loose._words[:] = 0
    with pytest.raises(TeamError, match="ValueError: planted"):
        loose.each((0, 1), job)
    assert statuses == [timed.ABORTED]
    assert works(loose, (0, 1), counted)


def test_a_job_without_memory(loose: Team, counted: Machinecode) -> None:
    def job(worker: Worker) -> None:
        raise MemoryError("planted")

    with pytest.raises(MemoryError, match="planted"):
        loose.each((0, 1), job)
    assert works(loose, (0, 1), counted)


def test_a_thread_that_never_comes_to_the_barrier(
    loose: Team, counted: Machinecode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teams, "BARRIER_SECONDS", 0.05)
    came = []
    # Thread 1 is busy with something else until thread 0 has given up.
    loose._jobs[1].put((-1, lambda worker: came.append(wait_until(lambda: aborted(loose)))))
    loose.each((0,), count_from_zero)
    with pytest.raises(TeamError, match=r"a thread did not come to the barrier within 0\.05 s"):
        loose.run((0, 1), counted.address, 0, 10)
    assert came == [True]
    assert loose.each((0,), trips_made) == {0: 0}
    monkeypatch.setattr(teams, "BARRIER_SECONDS", LONG)
    assert works(loose, (0, 1), counted)


@pytest.fixture
def mortal(loose: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """Give a team whose thread 1 dies where it should answer, without a word."""
    answer = loose._answer

    def answer_or_die(cpu: int, what: Any) -> None:
        if cpu == 1:
            raise SystemExit("planted death of a thread")
        answer(cpu, what)

    monkeypatch.setattr(loose, "_answer", answer_or_die)
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    return loose


def test_a_thread_that_dies(mortal: Team, counted: Machinecode) -> None:
    with pytest.raises(TeamError, match="the thread of CPU 1 died"):
        mortal.each((0, 1), count_from_zero)
    assert not mortal._threads[1].is_alive()
    assert works(mortal, (0,), counted)
    with pytest.raises(TeamError, match="the thread of CPU 1 died"):
        mortal.run((0, 1), counted.address, 0, 1)
    assert works(mortal, (0,), counted)


def test_the_death_of_a_thread_calls_back_who_waits_at_the_barrier(mortal: Team, counted: Machinecode) -> None:
    statuses = []

    def job(worker: Worker) -> None:
        if worker.cpu == 0:
            statuses.append(at_barrier(mortal, worker, counted, arrivals=2, deadline=LONG))

    mortal._words[:] = 0
    with pytest.raises(TeamError, match="the thread of CPU 1 died"):
        mortal.each((0, 1), job)
    assert statuses == [timed.ABORTED]
    assert works(mortal, (0,), counted)


def test_all_threads_dead(loose: Team) -> None:
    loose.close()
    with pytest.raises(TeamError, match="the thread of CPU 0 died"):
        loose.each((0, 1), lambda worker: 1)


def at_barrier(team: Team, worker: Worker, code: Machinecode, arrivals: int, deadline: float) -> int:
    return int(
        timed.timed(
            code.address, worker.arguments.ctypes.data, 0, 1, team._words.ctypes.data, arrivals, int(deadline * 1e9), 0,
            worker.results.ctypes.data,
        )
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------- interruptions

interruptible = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="this system cannot send a signal to a thread"
)


def interrupt_main_thread() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class Wake:
    """Stands between a team and what wakes it: says when it waits, and can interrupt it when it has been woken."""

    def __init__(self, team: Team) -> None:
        self.waiting = threading.Event()
        self.interrupt_when_woken = False
        self._wake = team._wake
        team._wake = self  # type: ignore[assignment]

    def put(self, token: None) -> None:
        self._wake.put(token)

    def get(self, timeout: float) -> None:
        self.waiting.set()
        self._wake.get(timeout=timeout)
        if self.interrupt_when_woken:
            self.interrupt_when_woken = False
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    """Let SIGINT interrupt, which it does not in what a shell started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@interruptible
def test_an_interruption_while_waiting(loose: Team, counted: Machinecode) -> None:
    wake, seen = Wake(loose), []

    def job(worker: Worker) -> None:
        if worker.cpu == 0:
            assert wake.waiting.wait(LONG)
            interrupt_main_thread()
            seen.append(wait_until(lambda: aborted(loose)))

    loose._words[:] = 0
    with pytest.raises(KeyboardInterrupt):
        loose.each((0, 1), job)
    assert seen == [True]
    assert works(loose, (0, 1), counted)


@interruptible
def test_an_interruption_calls_back_who_waits_at_the_barrier(loose: Team, counted: Machinecode) -> None:
    wake, statuses = Wake(loose), []

    def job(worker: Worker) -> None:
        if worker.cpu == 0:
            statuses.append(at_barrier(loose, worker, counted, arrivals=2, deadline=LONG))
        else:
            assert wake.waiting.wait(LONG)
            interrupt_main_thread()

    loose._words[:] = 0
    with pytest.raises(KeyboardInterrupt):
        loose.each((0, 1), job)
    assert statuses == [timed.ABORTED]
    assert works(loose, (0, 1), counted)


@interruptible
def test_an_interruption_counts_more_than_the_failure_of_a_thread(loose: Team) -> None:
    wake = Wake(loose)

    def job(worker: Worker) -> None:
        if worker.cpu == 0:
            assert wake.waiting.wait(LONG)
            interrupt_main_thread()
            assert wait_until(lambda: aborted(loose))
            raise ValueError("planted")

    loose._words[:] = 0
    with pytest.raises(KeyboardInterrupt):
        loose.each((0, 1), job)


def test_an_interruption_that_swallows_the_last_wake_up(loose: Team, counted: Machinecode) -> None:
    """A signal can be handled after something was taken from a queue and before it was kept."""
    wake = Wake(loose)
    wake.interrupt_when_woken = True

    def job(worker: Worker) -> None:
        assert wake.waiting.wait(LONG)

    with pytest.raises(KeyboardInterrupt):
        loose.each((0,), job)
    assert works(loose, (0, 1), counted)


def test_late_answers_of_a_call_given_up_are_not_those_of_the_next(loose: Team, counted: Machinecode) -> None:
    late = [_Answer(loose._call, "late", None), _Answer(loose._call, None, ValueError("late"))]
    for cpu, answer in enumerate(late):
        loose._answer(cpu, answer)
    assert loose.each((0, 1), lambda worker: worker.cpu) == {0: 0, 1: 1}
    assert works(loose, (0, 1), counted)


def test_a_call_that_cannot_be_given_to_all_calls_the_others_back(loose: Team, counted: Machinecode) -> None:
    class Full(queue.SimpleQueue[Any]):
        def put(self, *_: Any) -> None:
            raise KeyboardInterrupt

    good, loose._jobs[1] = loose._jobs[1], Full()
    statuses: queue.SimpleQueue[int] = queue.SimpleQueue()
    loose._words[:] = 0
    with pytest.raises(KeyboardInterrupt):
        loose.each((0, 1), lambda worker: statuses.put(at_barrier(loose, worker, counted, 2, LONG)))
    assert statuses.get(timeout=LONG) == timed.ABORTED
    loose._jobs[1] = good
    assert works(loose, (0, 1), counted)


# ----------------------------------------------------------------------------------------------------------- the end


def test_closing_an_idle_team_ends_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "_pin", lambda cpu: False)
    alive = threading.active_count()
    team = Team({0: 4096, 1: 4096})
    assert threading.active_count() == alive + 2
    assert not team.pinned
    team.close()
    assert threading.active_count() == alive
    team.close()


def test_a_team_is_closed_when_its_block_is_left_by_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "_pin", lambda cpu: False)
    alive = threading.active_count()
    with pytest.raises(ValueError, match="planted"), Team({0: 4096}):
        raise ValueError("planted")
    assert threading.active_count() == alive


def test_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "_pin", lambda cpu: False)
    alive = threading.active_count()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "cpu1":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Team({0: 4096, 1: 4096})
    assert threading.active_count() == alive
