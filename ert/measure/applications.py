"""The bridge's part on application kernels: lays their data, makes their code, runs and checks them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ert.measure.kernels import problem_of, work_of
from ert.measure.noise import disturbances
from ert.measure.sampling import Timing
from ert.measure.signals import signals_held
from ert.roofline.model import Case, Code, CodeStatus, Work
from microbench import assembly
from microbench.buffers import Arena
from microbench.catalog import array_pitch
from microbench.clock import now_ns
from microbench.kernels.kernel import Library, Part, Problem, Program, Spec, Stream, Task
from microbench.kernels.program import bytes_of, compile_program, words
from microbench.kernels.registry import kernel
from microbench.team import Team as Threads
from microbench.team import TeamError, Worker
from microbench.vector import Machinecode, compile_loop

LONG_PASS = 0.03
"""Seconds; of passes longer than this the first is no warm-up: what it finds cold is a small part of it."""

IDLE_SHARE = 0.1
"""Share of a core that a process may use while it counts as idle: a library's waiting threads use a whole one each."""

IDLE_STEP, IDLE_LIMIT = 0.01, 2.0
"""Seconds between two looks whether the threads of a library still spin, and the most to wait for them. OpenBLAS gives
up spinning after 2**26 cycles by default, about 0.03 s (its THREAD_TIMEOUT)."""


WITHOUT_MODEL = {
    "compiled loops": "made by the compiler from ordinary loops, so there is no model to compare it with",
    "explicit vectors": "its vectors are written out, but how many instructions they take differs from CPU to CPU",
}
"""Why code of a kernel is told and not verified."""


@dataclass(frozen=True, slots=True)
class _Made:
    machinecode: Machinecode | None
    code: Code


@dataclass(slots=True)
class _Open:
    """The case whose data are laid, and how often it ran since."""

    case: Case
    task: Task
    made: _Made
    views: dict[int, Mapping[str, np.ndarray[Any, Any]]] = field(default_factory=dict)
    data: Any = None
    runs: int = 0


class Applications:
    """Runs kernels on the threads of a bench.

    Parameters
    ----------
    threads : Team
        Pinned threads; their arenas grow as kernels need it.
    registers : int
        Vector registers that code can name.
    family : str
        Of the CPU, for its assembly.
    fma : bool
        Whether a multiply-add is one instruction.
    """

    def __init__(self, threads: Threads, registers: int, family: str, fma: bool = True) -> None:
        self._threads, self._registers, self._family, self._fma = threads, registers, family, fma
        self._tasks: dict[Case, Task] = {}
        self._made: dict[tuple[str, str, int], _Made] = {}
        self._shared = Arena(0)
        self._state: _Open | None = None
        self._pass_seconds: dict[Case, float] = {}
        self._pools: ThreadpoolController | None = None
        self._spinning = False
        self.compiling = self.measuring = 0.0
        """Seconds spent on making code and in timed runs."""

    def describe(self, case: Case) -> tuple[Work, Code]:
        """Build what runs the case; return its work and the verdict on its code."""
        spec, problem = kernel(case.probe), self._problem(case)
        work = work_of(case, self._registers)
        return work, self._make(case, spec, self._task(case, spec, problem)).code

    def open(self, case: Case) -> None:
        """Lay the data of a case."""
        spec, problem = kernel(case.probe), self._problem(case)
        task = self._task(case, spec, problem)
        state = _Open(case, task, self._make(case, spec, task))
        self._state = None
        match task:
            case Stream():
                self._threads.each(case.team.cpus, lambda worker: self._lay_stream(worker, task))
            case Program():
                self._lay_program(state, task, problem)
            case Library():
                state.data = task.prepare()
        self._state = state

    def run(self, case: Case, passes: int) -> Timing:
        """Run the opened case: a pass that warms up, where it matters, then the timed passes."""
        state = self._opened(case)
        # What runs between two samples may evict a part of the data; a long pass brings it back at its beginning.
        warm = 0 if self._pass_seconds.get(case, 0.0) > LONG_PASS else 1
        began = time.perf_counter()
        if isinstance(state.task, Library):
            timing = self._call(state, state.task, warm, passes)
        else:
            assert state.made.machinecode is not None
            trips = state.task.length // state.task.loop.step if isinstance(state.task, Stream) else 1
            with disturbances(case.team.cpus) as seen:
                taken = self._threads.run(case.team.cpus, state.made.machinecode.address, warm * trips, passes * trips)
            timing = Timing(
                taken.seconds,
                taken.thread_seconds,
                taken.clocks_hz,
                seen.steal_seconds,
                seen.context_switches,
                taken.away_seconds,
            )
        self.measuring += time.perf_counter() - began
        state.runs += warm + passes
        self._pass_seconds[case] = timing.seconds / passes
        return timing

    def check(self, case: Case) -> str:
        """Return one sentence if the results of all runs since :meth:`open` are wrong, else ``""``."""
        state = self._opened(case)
        if not state.runs:
            return ""
        task = state.task
        if isinstance(task, Library):
            return _told("wrong result", task.check(state.data))

        def job(worker: Worker) -> str:
            if isinstance(task, Stream):
                return task.check(worker, task.length, state.runs * (task.length // task.loop.step))
            part = _part(case, worker)
            return task.check(part, state.views[part.index], state.runs)

        verdicts = self._threads.each(case.team.cpus, job)
        return next((_told(f"wrong result on CPU {cpu}", text) for cpu, text in verdicts.items() if text), "")

    def views(self, case: Case) -> Mapping[int, Mapping[str, np.ndarray[Any, Any]]]:
        """Return the arrays of the opened case, those of a program, by the index of the part and by name."""
        return self._opened(case).views

    def settle(self) -> None:
        """Wait until the threads of a library that ran have stopped to wait actively."""
        if not self._spinning:
            return
        limit = time.monotonic() + IDLE_LIMIT
        used = IDLE_STEP
        while used > IDLE_SHARE * IDLE_STEP and time.monotonic() < limit:
            before = time.process_time()
            time.sleep(IDLE_STEP)
            used = time.process_time() - before
        self._spinning = False

    # ------------------------------------------------------------------------------------------------- data

    def _problem(self, case: Case) -> Problem:
        return replace(problem_of(case, self._registers), fma=self._fma)

    def _task(self, case: Case, spec: Spec, problem: Problem) -> Task:
        if case not in self._tasks:
            self._tasks[case] = spec.task(problem)
        return self._tasks[case]

    def _lay_stream(self, worker: Worker, task: Stream) -> None:
        worker.reserve(task.arrays * array_pitch(task.length))
        task.prepare(worker, task.length)

    def _lay_program(self, state: _Open, task: Program, problem: Problem) -> None:
        common = [array for array in task.arrays if array.shared]
        whole = sum(array_pitch(bytes_of(array, Part(0, problem.threads))) for array in common)
        if whole > self._shared.size:
            self._shared.close()
            self._shared = Arena(whole)

        def lay(worker: Worker) -> None:
            part = _part(state.case, worker)
            worker.reserve(sum(array_pitch(bytes_of(array, part)) for array in task.arrays if not array.shared))
            worker.content = None
            views: dict[str, np.ndarray[Any, Any]] = {}
            ends = {True: 0, False: 0}
            for array in task.arrays:
                arena = self._shared if array.shared else worker.arena
                size = bytes_of(array, part)
                flat = arena.view(ends[array.shared], size, array.dtype)
                views[array.name] = flat.reshape(array.shape(part))
                ends[array.shared] += array_pitch(size)
                array.fill(part, views[array.name])
            addresses = [int(view.ctypes.data) for view in views.values()]
            block = words(task, problem, part, addresses)
            worker.arguments[: len(block)] = block
            state.views[part.index] = views

        self._threads.each(state.case.team.cpus, lay)

    # ------------------------------------------------------------------------------------------------- code

    def _make(self, case: Case, spec: Spec, task: Task) -> _Made:
        """Make the code of a case. It depends on the precision and the vectors, never on the size."""
        key = (case.probe, case.precision, case.vector_bits)
        if key not in self._made:
            began = time.perf_counter()
            with signals_held():
                self._made[key] = self._compile(spec, task, self._problem(case))
            self.compiling += time.perf_counter() - began
        made = self._made[key]
        if isinstance(task, Library):
            with self._limit(case.team.threads):
                return _Made(None, Code("library", task.describe()))
        return made

    def _compile(self, spec: Spec, task: Task, problem: Problem) -> _Made:
        if isinstance(task, Library):
            return _Made(None, Code("library"))
        if isinstance(task, Stream):
            machinecode = compile_loop(task.loop)
            found, reason = assembly.verify(machinecode.assembly, task.loop.counts, self._family)
            expected = task.loop.counts
        else:
            machinecode = compile_program(task, problem)
            if task.expects is None:
                found = assembly.survey(machinecode.assembly, self._family)
                return _Made(machinecode, Code("compiled", WITHOUT_MODEL[spec.implementation], _counts(found)))
            found, reason = assembly.contains(machinecode.assembly, task.expects, self._family)
            expected = task.expects
        status: CodeStatus = "verified" if not reason else ("mismatch" if machinecode.assembly else "unseen")
        return _Made(machinecode, Code(status, reason, _counts(found), _counts(expected)))

    # -------------------------------------------------------------------------------------------- libraries

    def _limit(self, threads: int) -> Any:
        if self._pools is None:
            self._pools = ThreadpoolController()
        return self._pools.limit(limits=threads)

    def _call(self, state: _Open, task: Library, warm: int, passes: int) -> Timing:
        """Call a library from a thread of its own, which may run on the CPUs of the team alone.

        Never from the main thread: it must stay unbound, because threads inherit the CPUs of whoever starts them.
        """
        cpus, data = state.case.team.cpus, state.data
        taken: list[float] = []
        errors: list[BaseException] = []

        def job() -> None:
            try:
                if hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(0, cpus)
                for _ in range(warm):
                    task.call(data)
                start = now_ns()
                for _ in range(passes):
                    task.call(data)
                taken.append((now_ns() - start) * 1e-9)
            except BaseException as error:  # told to the caller
                errors.append(error)

        with self._limit(len(cpus)), disturbances(cpus) as seen:
            if not state.runs:
                # Here the library starts its threads, and they shall be free to run anywhere.
                task.call(data)
                state.runs += 1
            thread = threading.Thread(target=job, name="library")
            thread.start()
            thread.join()
        self._spinning = True
        if errors:
            raise TeamError(f"{state.case.probe} failed: {type(errors[0]).__name__}: {errors[0]}") from errors[0]
        return Timing(taken[0], (), (), seen.steal_seconds, seen.context_switches)

    def _opened(self, case: Case) -> _Open:
        if self._state is None or self._state.case != case:
            raise RuntimeError(f"case {case} is not open")
        return self._state


def _part(case: Case, worker: Worker) -> Part:
    assert worker.cpu is not None, "threads of a team have a CPU"
    return Part(case.team.cpus.index(worker.cpu), case.team.threads)


def _told(where: str, text: str) -> str:
    return f"{where}: {text}" if text else ""


def _counts(counts: assembly.Counts) -> tuple[tuple[str, int], ...]:
    return tuple((name, number) for name, number in asdict(counts).items() if number)
