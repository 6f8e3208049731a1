"""Pinned threads that own their memory, start together and time themselves."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from microbench import timed
from microbench.buffers import Arena
from microbench.clock import CHAIN_LINKS
from microbench.vector import ARGUMENTS, ARRAYS, FIRST_SLOT, SLOT_BYTES

BARRIER_SECONDS = 10.0
"""How long a thread waits for its peers. Warm-ups of different length are the only honest reason to be late."""

LIFE_SIGN_SECONDS = 2.0
"""How long the main thread sleeps before it looks whether all threads still live; longer than any sample."""

CHAIN_TRIPS = 1500
"""Trips of one clock chain: about 25 microseconds at 4 GHz, a thousand times the step of the system clock."""

REGISTER_SLOTS = 40
"""Slots of the register block: multiplier, addend and more chains than any core has registers for."""

_T = TypeVar("_T")


class TeamError(RuntimeError):
    """A thread of the team failed, or did not come to the barrier in time."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed run: seconds from first start to last end, each thread's own, and each core's clock in hertz."""

    seconds: float
    thread_seconds: tuple[float, ...]
    clocks_hz: tuple[float, ...]


class Worker:
    """What one thread owns: its arena, its argument and register blocks. Lives on one CPU."""

    def __init__(self, cpu: int | None, size: int) -> None:
        self.cpu = cpu
        self.pinned = _pin(cpu)
        self.arena = Arena(size)
        self.content: object = None
        """What fills the arena's beginning, as its last writer calls it; None if unknown."""
        self._blocks = np.zeros(ARGUMENTS + timed.RESULTS + 16, np.int64)
        self.arguments = self._blocks[:ARGUMENTS]
        self.results = self._blocks[ARGUMENTS + 8 :][: timed.RESULTS]
        self._slots = np.zeros(REGISTER_SLOTS * SLOT_BYTES + 64, np.uint8)
        start = -self._slots.ctypes.data % 64
        self.registers = self._slots[start : start + REGISTER_SLOTS * SLOT_BYTES]

    def point(self, arrays: Sequence[int], length: int) -> None:
        """Let the argument block point to arrays at these offsets of the arena, each `length` bytes long.

        Raises
        ------
        ValueError
            If they do not lie inside the arena or are not aligned to 64 bytes: aligned vector instructions would kill
            the process.
        """
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
        """Return one slot of the register block as elements of `dtype`."""
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
        self._answers: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
        self._jobs: dict[int, queue.SimpleQueue[Callable[[Worker], Any] | None]] = {}
        self._threads: list[threading.Thread] = []
        self._pending = 0
        self.pinned = True
        for cpu, size in arenas.items():
            self._jobs[cpu] = queue.SimpleQueue()
            thread = threading.Thread(target=self._serve, args=(cpu, size), name=f"cpu{cpu}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._pending = len(arenas)
        try:
            self.pinned = all(self._collect().values())
        except BaseException:
            self.close()
            raise

    def each(self, cpus: Sequence[int], job: Callable[[Worker], _T]) -> dict[int, _T]:
        """Run `job` on the threads of these CPUs and return what each returned.

        Raises
        ------
        TeamError
            If a thread raised or was late; the others are called back first.
        KeyError
            If a CPU has no thread.
        """
        queues = [self._jobs[cpu] for cpu in cpus]
        for jobs in queues:
            jobs.put(job)
        self._pending = len(queues)
        return self._collect()

    def run(self, cpus: Sequence[int], loop: int, warm: int, trips: int, *, clock: bool = True) -> Timing:
        """Run a compiled loop on these CPUs at the same time and return how long it took.

        Every thread's argument block must have been filled (:meth:`Worker.point`).

        Parameters
        ----------
        loop : int
            Address of the compiled loop.
        warm, trips : int
            Untimed and timed trips.
        clock : bool
            Whether to take the core clock after it.
        """
        self._words[:] = 0
        deadline = int(BARRIER_SECONDS * 1e9)
        control = int(self._words.ctypes.data)
        links = CHAIN_TRIPS if clock else 0

        def job(worker: Worker) -> tuple[int, int, int]:
            status = timed.timed(
                loop, worker.arguments.ctypes.data, warm, trips, control, len(cpus), deadline, links,
                worker.results.ctypes.data,
            )  # fmt: skip
            if status != timed.DONE:
                raise TeamError(_REASONS[status])
            return int(worker.results[timed.START]), int(worker.results[timed.END]), int(worker.results[timed.CHAIN])

        answers = self.each(cpus, job)
        starts, ends, chains = zip(*(answers[cpu] for cpu in cpus), strict=True)
        return Timing(
            (max(ends) - min(starts)) * 1e-9,
            tuple((end - start) * 1e-9 for start, end in zip(starts, ends, strict=True)),
            tuple(CHAIN_TRIPS * CHAIN_LINKS / (took * 1e-9) if took else 0.0 for took in chains) if clock else (),
        )

    def close(self) -> None:
        """Call the threads back and give their memory back. Waits for a running loop to end."""
        self._words[timed.ABORT] = 1
        for jobs in self._jobs.values():
            jobs.put(None)
        for thread in self._threads:
            thread.join(timeout=BARRIER_SECONDS)

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _collect(self) -> dict[int, Any]:
        """Wait for every pending answer, even when one thread failed or the user interrupts."""
        results: dict[int, Any] = {}
        failure: BaseException | None = None
        while self._pending:
            try:
                cpu, value, error = self._answers.get(timeout=LIFE_SIGN_SECONDS)
            except queue.Empty:
                if all(thread.is_alive() for thread in self._threads):
                    continue
                self._words[timed.ABORT] = 1
                raise TeamError("a thread of the team died") from None
            except BaseException as interrupt:
                # Threads inside compiled code cannot be interrupted; the abort word brings those at the barrier back.
                self._words[timed.ABORT] = 1
                failure = interrupt
                continue
            self._pending -= 1
            results[cpu] = value
            if error is not None:
                self._words[timed.ABORT] = 1
                if failure is None or (isinstance(failure, TeamError) and not isinstance(error, TeamError)):
                    failure = error
        if failure is None:
            return results
        if isinstance(failure, TeamError | KeyboardInterrupt | MemoryError) or not isinstance(failure, Exception):
            raise failure
        raise TeamError(f"a thread of the team failed: {type(failure).__name__}: {failure}") from failure

    def _serve(self, cpu: int, size: int) -> None:
        try:
            worker = Worker(cpu, size)
        except BaseException as error:
            self._answers.put((cpu, None, error))
            return
        self._answers.put((cpu, worker.pinned, None))
        while (job := self._jobs[cpu].get()) is not None:
            try:
                self._answers.put((cpu, job(worker), None))
            except BaseException as error:
                self._answers.put((cpu, None, error))
        worker.arena.close()


_REASONS = {
    timed.ABORTED: "the team was called back",
    timed.LATE: f"a thread did not come to the barrier within {BARRIER_SECONDS:g} s",
}


def _pin(cpu: int | None) -> bool:
    """Bind the calling thread to a CPU; False where the system cannot."""
    if cpu is None or not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {cpu})
    return True
