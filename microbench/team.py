"""Pinned threads that own their memory, start together and time themselves."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from microbench import timed
from microbench.buffers import Arena
from microbench.clock import CHAIN_LINKS, TELLS_RUNNING
from microbench.loop import ARRAYS, FIRST_SLOT, SLOT_BYTES

BARRIER_SECONDS = 10.0
"""How long a thread waits for its peers. Warm-ups of different length are the only honest reason to be late."""

LIFE_SIGN_SECONDS = 2.0
"""How long the main thread sleeps before it looks whether all threads still live; longer than any sample."""

CHAIN_TRIPS = 1500
"""Trips of one clock chain: about 25 microseconds at 4 GHz, a thousand times the step of the system clock."""

REGISTER_SLOTS = 40
"""Slots of the register block: multiplier, addend and more chains than any core has registers for."""

ARGUMENT_WORDS = 64
"""Words of the argument block: a loop reads the first few, a program as many as it has arguments and extents."""

_T = TypeVar("_T")


class TeamError(RuntimeError):
    """A thread of the team failed, or did not come to the barrier in time."""


class _CalledBack(TeamError):
    """A thread left the barrier because another failed; the other's failure is the one to tell."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed run: seconds from first start to last end, each thread's own, and each core's clock in hertz.

    ``first_start_ns`` is when it began, on the clock of :func:`microbench.clock.now_ns`. ``away_seconds`` is how long a
    thread was on no CPU meanwhile, that of the longest; None where it is not known.
    """

    seconds: float
    thread_seconds: tuple[float, ...]
    clocks_hz: tuple[float, ...]
    first_start_ns: int = 0
    away_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one thread answered the call with this number: a value or an error."""

    call: int
    value: Any
    error: BaseException | None


class Worker:
    """What one thread owns: its arena, its argument and register blocks. Lives on one CPU."""

    def __init__(self, cpu: int | None, size: int) -> None:
        self.cpu = cpu
        self.pinned = _pin(cpu)
        self.arena = Arena(size)
        self.content: object = None
        """What fills the arena's beginning, as its last writer calls it; None if unknown."""
        self._own = self.arena
        self._blocks = np.zeros(ARGUMENT_WORDS + timed.RESULTS + 16, np.int64)
        self.arguments = self._blocks[:ARGUMENT_WORDS]
        self.results = self._blocks[ARGUMENT_WORDS + 8 :][: timed.RESULTS]
        self._slots = np.zeros(REGISTER_SLOTS * SLOT_BYTES + 64, np.uint8)
        start = -self._slots.ctypes.data % 64
        self.registers = self._slots[start : start + REGISTER_SLOTS * SLOT_BYTES]
        self.point((), 0)

    def reserve(self, size: int) -> None:
        """Let the arena hold at least `size` bytes; what lay in it is gone if it had to grow."""
        if size > self.arena.size:
            self.arena.close()
            self.arena = self._own = Arena(size)
            self.content = None

    def borrow(self, arena: Arena) -> None:
        """Work on memory that another thread owns, until :meth:`give_back`."""
        self.arena, self.content = arena, None

    def give_back(self) -> None:
        """Work on the own arena again; what lay in it is not known any more."""
        if self.arena is not self._own:
            self.arena.close()
            self.arena, self.content = self._own, None

    def point(self, arrays: Sequence[int], length: int, step: int = 1) -> None:
        """Let the argument block point to arrays at these offsets of the arena, each `length` bytes long.

        Raises
        ------
        ValueError
            If they do not lie inside the arena, are not aligned to 64 bytes (aligned vector instructions would kill the
            process) or are not whole steps of the `step` bytes that a trip moves on (the loop would never wrap round).
        """
        if arrays and (length < step or length % step):
            raise ValueError(f"arrays of {length} bytes are not whole steps of {step}")
        for offset in arrays:
            if offset < 0 or offset + length > self.arena.size:
                raise ValueError(f"array at {offset} of {length} bytes does not fit {self.arena.size} bytes of arena")
            if offset % 64 or self.arena.address % 64:
                raise ValueError(f"array at {offset} is not aligned to 64 bytes")
        if len(arrays) > ARRAYS:
            raise ValueError(f"{len(arrays)} arrays; a loop has at most {ARRAYS}")
        self.arguments[:ARRAYS] = [self.arena.address + offset for offset in arrays] + [0] * (ARRAYS - len(arrays))
        self.arguments[ARRAYS] = length
        self.arguments[ARRAYS + 1] = self.registers.ctypes.data

    def slot(self, index: int, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return one slot of the register block as elements of `dtype`; IndexError if there is no such slot.

        A loop with more chains than slots would write over foreign memory.
        """
        if not 0 <= index < REGISTER_SLOTS:
            raise IndexError(f"no slot {index} in a register block of {REGISTER_SLOTS}")
        return self.registers[index * SLOT_BYTES : (index + 1) * SLOT_BYTES].view(dtype)

    def accumulator(self, index: int, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the slot of one accumulator as elements of `dtype`."""
        return self.slot(FIRST_SLOT + index, dtype)


class Team:
    """One pinned thread a CPU, asleep between calls.

    Parameters
    ----------
    arenas : mapping of int to int
        CPU and the bytes of its thread's arena. The main thread is never pinned.
    """

    def __init__(self, arenas: Mapping[int, int]) -> None:
        self._control = np.zeros(timed.CONTROL_WORDS + 8, np.int64)
        start = (-self._control.ctypes.data % 64) // 8
        self._words = self._control[start : start + timed.CONTROL_WORDS]
        self._answers: dict[int, _Answer] = {}
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._jobs: dict[int, queue.SimpleQueue[tuple[int, Callable[[Worker], Any]] | None]] = {}
        self._threads: dict[int, threading.Thread] = {}
        # Every call has a number and every answer that of its call: what a call that was given up still brings does not
        # answer the next.
        self._call = 0
        self.pinned = True
        try:
            for cpu, size in arenas.items():
                self._jobs[cpu] = queue.SimpleQueue()
                thread = threading.Thread(target=self._serve, args=(cpu, size), name=f"cpu{cpu}", daemon=True)
                thread.start()
                self._threads[cpu] = thread
            self.pinned = all(self._collect(arenas).values())
        except BaseException:
            self.close()
            raise

    def each(self, cpus: Sequence[int], job: Callable[[Worker], _T]) -> dict[int, _T]:
        """Run `job` on the threads of these CPUs and return what each returned.

        Raises
        ------
        TeamError
            If a thread raised, was late or is dead; the others are called back first.
        MemoryError
            If a thread raised it.
        KeyError
            If a CPU has no thread.
        ValueError
            If a CPU is named twice.
        """
        queues = [self._jobs[cpu] for cpu in cpus]
        if len(set(cpus)) != len(cpus):
            raise ValueError(f"a CPU is named twice in {list(cpus)}")
        self._call += 1
        try:
            for jobs in queues:
                jobs.put((self._call, job))
        except BaseException:
            self._words[timed.ABORT] = 1
            raise
        return self._collect(cpus)

    def run(
        self, cpus: Sequence[int], loop: int, warm: int, trips: int | Mapping[int, int], *, clock: bool = True
    ) -> Timing:
        """Run a compiled loop on these CPUs at the same time and return how long it took.

        Every thread's argument block must have been filled (:meth:`Worker.point`).

        Parameters
        ----------
        loop : int
            Address of the compiled loop.
        warm : int
            Untimed trips.
        trips : int or mapping of int to int
            Timed trips, of every thread or by CPU.
        clock : bool
            Whether to take the core clock after it.

        Raises
        ------
        TeamError
            If a thread did not come to the barrier in time or is dead.
        ValueError
            If no CPU is named, or one twice, or no timed trip is asked for.
        """
        if not cpus:
            raise ValueError("no CPU to run on")
        timed_trips = trips if isinstance(trips, Mapping) else dict.fromkeys(cpus, trips)
        fewest = min(timed_trips[cpu] for cpu in cpus)
        if fewest < 1 or warm < 0:
            raise ValueError(f"{warm} untimed and {fewest} timed trips; at least 0 and 1 are needed")
        self._words[:] = 0
        deadline = int(BARRIER_SECONDS * 1e9)
        control = int(self._words.ctypes.data)
        links = CHAIN_TRIPS if clock else 0

        def job(worker: Worker) -> tuple[int, int, int, int]:
            assert worker.cpu is not None, "threads of a team have a CPU"
            status = timed.timed(
                loop, worker.arguments.ctypes.data, warm, timed_trips[worker.cpu], control, len(cpus), deadline, links,
                worker.results.ctypes.data,
            )  # fmt: skip
            if status == timed.LATE:
                raise TeamError(f"a thread did not come to the barrier within {deadline * 1e-9:g} s")
            if status == timed.ABORTED:
                raise _CalledBack("the team was called back")
            start, end, chain, ran = (
                int(worker.results[word]) for word in (timed.START, timed.END, timed.CHAIN, timed.RAN)
            )
            return start, end, chain, ran

        answers = self.each(cpus, job)
        starts, ends, chains, runs = zip(*(answers[cpu] for cpu in cpus), strict=True)
        # Asking takes a moment itself, so that a thread can seem to have run for longer than the time there was.
        away = max(0, *(end - start - ran for start, end, ran in zip(starts, ends, runs, strict=True)))
        return Timing(
            (max(ends) - min(starts)) * 1e-9,
            tuple((end - start) * 1e-9 for start, end in zip(starts, ends, strict=True)),
            tuple(CHAIN_TRIPS * CHAIN_LINKS / (took * 1e-9) if took else 0.0 for took in chains) if clock else (),
            min(starts),
            away * 1e-9 if clock and TELLS_RUNNING else None,
        )

    def close(self) -> None:
        """Call the threads back and give their memory back. Waits for a running loop to end."""
        self._words[timed.ABORT] = 1
        for jobs in self._jobs.values():
            jobs.put(None)
        for thread in self._threads.values():
            thread.join(timeout=BARRIER_SECONDS)

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _collect(self, cpus: Iterable[int]) -> dict[int, Any]:
        """Wait for the answers of this call, all of them, even when one thread failed or the user interrupts."""
        interrupt: BaseException | None = None
        while True:
            try:
                answers = self._wait(cpus)
                break
            except BaseException as caught:
                # Threads inside compiled code cannot be interrupted; the abort word brings those at the barrier back.
                self._words[timed.ABORT] = 1
                interrupt = caught
        if interrupt is not None:
            raise interrupt
        errors = [answer.error for answer in answers.values() if answer.error is not None]
        if not errors:
            return {cpu: answer.value for cpu, answer in answers.items()}
        failure = next((error for error in errors if not isinstance(error, _CalledBack)), errors[0])
        if isinstance(failure, TeamError | MemoryError):
            raise failure
        raise TeamError(f"a thread of the team failed: {type(failure).__name__}: {failure}") from failure

    def _wait(self, cpus: Iterable[int]) -> dict[int, _Answer]:
        """Wait until each thread has answered this call or is dead. Can be interrupted anywhere and begun again.

        Answers stay where the threads leave them; what the queue brings only says that it is time to look. If a signal
        is handled just after something was taken from it, that costs a moment, and no answer.
        """
        found: dict[int, _Answer] = {}
        while True:
            dead = {cpu for cpu in cpus if not self._threads[cpu].is_alive()}
            # Looked for after that: whoever died has left its answer before, or will leave none.
            for cpu in cpus:
                answer = self._answers.get(cpu)
                if answer is None or answer.call != self._call:
                    if cpu not in dead:
                        continue
                    answer = _Answer(self._call, None, TeamError(f"the thread of CPU {cpu} died"))
                found[cpu] = answer
                if answer.error is not None:
                    self._words[timed.ABORT] = 1
            if all(cpu in found for cpu in cpus):
                return found
            with contextlib.suppress(queue.Empty):
                self._wake.get(timeout=LIFE_SIGN_SECONDS)

    def _answer(self, cpu: int, answer: _Answer) -> None:
        self._answers[cpu] = answer
        self._wake.put(None)

    def _serve(self, cpu: int, size: int) -> None:
        try:
            worker = Worker(cpu, size)
        except BaseException as error:
            self._answer(cpu, _Answer(0, None, error))
            return
        self._answer(cpu, _Answer(0, worker.pinned, None))
        while (order := self._jobs[cpu].get()) is not None:
            call, job = order
            try:
                answer = _Answer(call, job(worker), None)
            except BaseException as error:
                answer = _Answer(call, None, error)
            self._answer(cpu, answer)
        worker.give_back()
        worker.arena.close()


def _pin(cpu: int | None) -> bool:
    """Bind the calling thread to a CPU; False where the system knows no such thing, TeamError if it refuses."""
    if cpu is None or not hasattr(os, "sched_setaffinity"):
        return False
    try:
        os.sched_setaffinity(0, {cpu})
    except (OSError, ValueError, OverflowError) as error:
        raise TeamError(f"cannot bind a thread to CPU {cpu}: {error}") from None
    return True
