"""The only bridge to the instruments: builds, verifies and runs the code of a case."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from types import TracebackType
from typing import Any

import numba
from llvmlite import binding

from ert.measure.applications import Applications
from ert.measure.lending import Lender
from ert.measure.noise import disturbances
from ert.measure.plan import Pool
from ert.measure.sampling import Timing
from ert.measure.shares import PASSES_SHARED, Shares
from ert.measure.signals import signals_held
from ert.roofline.model import Case, Code, CodeStatus, Toolchain, Work
from microbench import assembly, catalog, confirm, isa
from microbench.clock import now_ns
from microbench.kernels.registry import is_kernel
from microbench.probes import compute, intensity, irregular, latency, memory, overhead
from microbench.probes.probe import Probe
from microbench.team import Team as Threads
from microbench.team import TeamError, Worker
from microbench.vector import Machinecode, compile_loop

__all__ = ["Bench", "TeamError", "doubts", "missing", "registers", "toolchain", "widths"]

WARM_SHARE = 16
"""A loop on registers runs 1/16 of its sample untimed first, so that the core has left its idle state."""


WARM_BYTES = 4 << 20
"""Working sets of one thread up to this are passed over once before every sample, since what runs between two samples
may have evicted a part of them; larger ones only before the first, which leaves the caches as later ones do."""


GRANTED = 0.9
"""Share of huge pages from which page walks are rare; the ends of arenas and small arrays never have them."""


@dataclass(frozen=True, slots=True)
class _Built:
    probe: Probe
    machinecode: Machinecode
    code: Code


@dataclass(slots=True)
class _Open:
    """The case whose data lie in memory, and the trips that each thread made since."""

    case: Case
    built: _Built
    length: int
    trips_a_pass: int
    trips: dict[int, int]


class Bench:
    """The instrument of this machine.

    Parameters
    ----------
    arenas : mapping of int to int
        Every logical CPU that any case will use, and the bytes of memory of its thread.
    pools : mapping of int to Pool, optional
        Memory on each NUMA node that a team may name, beside that.
    kinds : mapping of int to str, optional
        Kind of core of each CPU. Threads of a team of several kinds share its work by their speed: with equal parts the
        fast ones would wait for the slow.
    """

    def __init__(
        self, arenas: Mapping[int, int], pools: Mapping[int, Pool] | None = None, kinds: Mapping[int, str] | None = None
    ) -> None:
        found, _ = confirm.host()
        self._family = found.family
        self.registers, self.fma = found.registers, found.fma
        """Vector registers that code can name, and whether a multiply-add is one instruction."""
        self._built: dict[tuple[Any, ...], _Built] = {}
        self._open: _Open | None = None
        self._arenas = dict(arenas)
        self._threads = Threads(arenas)
        self._shares = Shares(kinds or {})
        self._lender = Lender(self._threads, pools or {})
        self._applications = Applications(self._threads, self.registers, self._family, self.fma)
        self._compiling = self._measuring = 0.0
        self.pinned = self._threads.pinned
        """Whether every thread could be bound to its CPU."""

    @property
    def compiling(self) -> float:
        """Seconds spent on making code so far."""
        return self._compiling + self._applications.compiling

    @property
    def measuring(self) -> float:
        """Seconds spent in timed and warm-up runs so far."""
        return self._measuring + self._applications.measuring

    def describe(self, case: Case) -> tuple[Work, Code]:
        """See :class:`ert.measure.sampling.Instrument`."""
        if is_kernel(case.probe):
            return self._applications.describe(case)
        built = self._build(case)
        loop = built.probe.loop
        times = self._trips_a_pass(case, built.probe) * self._passes(case, built.probe) * case.team.threads
        work = Work(
            flop=loop.flop * times,
            read_bytes=loop.read_bytes * times,
            written_bytes=loop.written_bytes * times,
            allocate_bytes=loop.allocate_bytes * times,
            compulsory_bytes=case.total_working_set or None,
            level_bytes=((case.level, loop.line_bytes * times),) if loop.line_bytes and case.level else (),
            events=loop.events * times,
        )
        return work, built.code

    def open(self, case: Case) -> None:
        """See :class:`ert.measure.sampling.Instrument`."""
        self._applications.settle()
        self._lender.settle()
        if is_kernel(case.probe):
            self._open = None
            self._applications.open(case)
            return
        built = self._build(case)
        length = case.working_set // built.probe.arrays if built.probe.arrays else 0
        if case.team.memory_node is None and case.mix and built.probe.arrays:
            # Curves go further than was planned where they turn out to end in a cache.
            wanted = catalog.arena_bytes(case.mix, case.working_set)
            if any(self._arenas[cpu] < wanted for cpu in case.team.cpus):
                self._threads.each(case.team.cpus, lambda worker: worker.reserve(wanted))
                self._arenas.update({cpu: max(self._arenas[cpu], wanted) for cpu in case.team.cpus})
        trips = dict.fromkeys(case.team.cpus, 0)
        self._open = _Open(case, built, length, self._trips_a_pass(case, built.probe), trips)
        if case.team.memory_node is not None:
            self._lender.lend(case.team, catalog.arena_bytes(case.mix, case.working_set))
        self._threads.each(case.team.cpus, lambda worker: built.probe.prepare(worker, length))

    def run(self, case: Case, passes: int) -> Timing:
        """See :class:`ert.measure.sampling.Instrument`."""
        if is_kernel(case.probe):
            return self._applications.run(case, passes)
        state = self._state(case)
        if case.probe == "overhead" and (until := dict(case.parameters)["until"]) != "barrier":
            return self._start(state, passes, str(until))
        trips = self._trips(state, passes)
        warm = self._warm(state, min(trips.values()))
        began = time.perf_counter()
        with disturbances(case.team.cpus) as seen:
            timing = self._threads.run(case.team.cpus, state.built.machinecode.address, warm, trips)
        self._measuring += time.perf_counter() - began
        for cpu in case.team.cpus:
            state.trips[cpu] += warm + trips[cpu]
        self._shares.note(case, trips, timing.thread_seconds)
        return Timing(
            timing.seconds,
            timing.thread_seconds,
            timing.clocks_hz,
            seen.steal_seconds,
            seen.context_switches,
            timing.away_seconds,
        )

    def _start(self, state: _Open, passes: int, until: str) -> Timing:
        """Start the team `passes` times for a loop that does nothing, and time each from the call on."""
        cpus, address = state.case.team.cpus, state.built.machinecode.address
        taken = 0.0
        with disturbances(cpus) as seen:
            for _ in range(passes):
                called = now_ns()
                timing = self._threads.run(cpus, address, 0, 1, clock=False)
                taken += (timing.first_start_ns - called) * 1e-9 + (timing.seconds if until == "last end" else 0.0)
        self._measuring += taken
        for cpu in cpus:
            state.trips[cpu] += passes
        return Timing(taken, steal_seconds=seen.steal_seconds, context_switches=seen.context_switches)

    def check(self, case: Case) -> str:
        """See :class:`ert.measure.sampling.Instrument`."""
        if is_kernel(case.probe):
            return self._applications.check(case)
        state = self._state(case)
        if not any(state.trips.values()):
            return ""

        def job(worker: Worker) -> str:
            assert worker.cpu is not None, "threads of a team have a CPU"
            return state.built.probe.check(worker, state.length, state.trips[worker.cpu])

        verdicts = self._threads.each(case.team.cpus, job)
        wrong = next((f"wrong result on CPU {cpu}: {text}" for cpu, text in verdicts.items() if text), "")
        return wrong or (self._lender.misplaced(case.team) if case.team.memory_node is not None else "")

    def notes(self) -> tuple[str, ...]:
        """Return what the memory that was measured on turned out to be, as far as it matters."""
        cpus = list(self._arenas)
        self._lender.settle()
        known = [part for part in self._threads.each(cpus, lambda worker: worker.arena.backing()).values() if part]
        pages = huge_page_note(sum(resident for resident, _ in known), sum(huge for _, huge in known))
        return (*pages, *self._lender.notes())

    def close(self) -> None:
        """Call the threads back and give their memory back."""
        self._threads.close()
        self._lender.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _state(self, case: Case) -> _Open:
        if self._open is None or self._open.case != case:
            raise RuntimeError(f"case {case} is not open")
        return self._open

    @staticmethod
    def _warm(state: _Open, trips: int) -> int:
        """Return how many trips go untimed before a sample."""
        if not state.built.probe.arrays:
            return max(1, trips // WARM_SHARE)
        covers = state.built.probe.loop.covers
        if state.case.working_set <= WARM_BYTES:
            return -(-state.length // covers) if covers else state.trips_a_pass
        if any(state.trips.values()):
            return 0
        # Going over all lines of a large set at random takes long, and laying the data has left the caches as they
        # should be.
        return 1 if covers else state.trips_a_pass

    def _passes(self, case: Case, probe: Probe) -> int:
        """Return how many passes of each thread, on average, make one of the case."""
        return PASSES_SHARED if self._shares.uneven(case) and probe.arrays and not probe.loop.covers else 1

    def _trips(self, state: _Open, passes: int) -> dict[int, int]:
        """Return the trips of each thread."""
        each = passes * self._passes(state.case, state.built.probe)
        return {cpu: part * state.trips_a_pass for cpu, part in self._shares.of(state.case, each).items()}

    def _trips_a_pass(self, case: Case, probe: Probe) -> int:
        # A loop that says what a trip covers goes on from call to call, so that a pass need not be the whole set.
        return case.working_set // probe.arrays // probe.loop.step if probe.arrays and not probe.loop.covers else 1

    def _build(self, case: Case) -> _Built:
        key = (
            case.probe, case.precision, case.instructions, case.mix, case.vector_bits, case.accumulators,
            case.multiply_adds, case.parameters,
        )  # fmt: skip
        if key not in self._built:
            began = time.perf_counter()
            probe = _probe(case)
            with signals_held():
                machinecode = compile_loop(probe.loop)
            found, reason = assembly.verify(machinecode.assembly, probe.loop.counts, self._family)
            status: CodeStatus = "verified" if not reason else ("mismatch" if machinecode.assembly else "unseen")
            code = Code(status, reason, _counts(found), _counts(probe.loop.counts))
            self._built[key] = _Built(probe, machinecode, code)
            self._compiling += time.perf_counter() - began
        return self._built[key]


def _probe(case: Case) -> Probe:
    parameters = dict(case.parameters)
    match case.probe:
        case "compute":
            return compute.build(case.precision, case.instructions, case.vector_bits, case.accumulators)
        case "memory" | "scaling" | "numa":
            return memory.build(case.mix, case.vector_bits)
        case "intensity":
            return intensity.build(case.precision, case.multiply_adds, case.vector_bits, case.accumulators)
        case "latency":
            return latency.build(str(parameters["pattern"]), case.accumulators)
        case "gather":
            return irregular.build_gather(str(parameters["element"]), int(parameters["index_bits"]))
        case "stride":
            return irregular.build_stride(int(parameters["stride"]))
        case "overhead":
            if parameters["until"] == "barrier":
                return overhead.build_barrier(int(parameters["threads"]))
            return overhead.build_nothing()
    raise KeyError(f"no probe called {case.probe!r}")


def huge_page_note(resident: int, huge: int) -> tuple[str, ...]:
    """Say if a part of `resident` bytes that matters is not among the `huge` bytes of huge pages."""
    if resident <= 0 or huge >= GRANTED * resident:
        return ()
    return (
        f"Only {100 * huge / resident:.0f} % of the memory measured on came in huge pages: latencies and rates of "
        "large working sets, random ones above all, contain page walks",
    )


def _counts(counts: assembly.Counts) -> tuple[tuple[str, int], ...]:
    return tuple((name, number) for name, number in asdict(counts).items() if number)


def toolchain() -> Toolchain:
    """Return what makes the code on this machine and which instruction sets it uses."""
    found, _ = confirm.host()
    try:
        own = metadata.version("ert-roofline")
    except metadata.PackageNotFoundError:
        own = "not installed"
    versions = (
        ("ert-roofline", own),
        ("python", platform.python_version()),
        ("numba", numba.__version__),
        ("llvmlite", metadata.version("llvmlite")),
        ("llvm", ".".join(str(part) for part in binding.llvm_version_info)),
        ("numpy", metadata.version("numpy")),
        ("scipy", metadata.version("scipy")),
    )
    return Toolchain(versions, found.target, found.features, found.vector_bits)


def registers() -> int:
    """Return how many vector registers code for this CPU can name."""
    return confirm.host()[0].registers


def widths() -> dict[str, tuple[int, ...]]:
    """Return the vector widths at which this CPU works on each precision; precisions that it has not are left out."""
    found, _ = confirm.host()
    every = {precision.name: isa.widths(found, precision.name) for precision in catalog.PRECISIONS}
    return {name: bits for name, bits in every.items() if bits}


def missing(precisions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return which of these precisions this CPU cannot work on and what it would need; and what has no probe yet."""
    found, _ = confirm.host()
    absent = [(name, isa.needs(found, name)) for name in precisions if not isa.widths(found, name)]
    absent += [
        (f"{name} tiles", f"a probe of their own: this CPU has them ({features}), this release cannot measure them")
        for name, features in isa.tiles(found)
    ]
    return tuple(absent)


def doubts() -> tuple[str, ...]:
    """Return in sentences what LLVM says that this CPU can do and what then failed."""
    return confirm.host()[1]
