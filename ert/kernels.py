"""``python -m ert.kernels``: run application kernels under the roofs of a sweep that was taken before."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ert import door
from ert.errors import InputError
from ert.measure import forecast, kernels, plan, tour
from ert.measure.capacity import memory_budget
from ert.measure.host import machine_slug, physical_order, read_host
from ert.measure.identity import require_same_cpus, require_same_machine
from ert.measure.signals import signals_held
from ert.measure.turn import Turn
from ert.measure.visits import Visits
from ert.measuring import NO_WAIT, in_turn, look
from ert.records.journal import begin, recover
from ert.records.places import Paths, ensure_writable, results_in
from ert.records.store import is_journal, load, read_text, save
from ert.roofline.fitting.fit import describe, fit
from ert.roofline.model import Case, Results, Roofline, Seconds, Team, Toolchain
from ert.show.units import parse_size, whole_seconds
from ert.show.words import listed, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from ert.measure.bench import Bench

DESCRIPTION = """\
Run application kernels (STREAM, vectors, dense and sparse algebra, stencils, convolution, FFT,
neural networks) and place them under the roofs that a sweep of this machine measured. The
result holds both and is drawn anew; the sweep's own file stays as it is."""

EPILOG = """\
NAMES are kernels, families or ladders (--list shows them); without any, every kernel runs in
every size: some minutes. exit codes: 0 fine, 1 the measurement failed, 2 bad input, 130 or 143
interrupted: then the kernels measured until then are kept. An interruption waits for the pass
that runs; a second one ends the command at once."""

LISTED_BYTES = 128 << 20
"""Data of the kernels in ``--list`` whose size follows the machine: four times an L3 of 32 MiB."""

EFFORT = "default"
"""How the kernels are sampled."""

NOTABLE_PASS = 2.0
"""Seconds: of a longer pass it is said before that an interruption waits for it."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args(arguments)
    specs = kernels.named(options.names or [kernels.EVERY])
    sizes = kernels.sizes(options.size) if options.size is not None else {}
    precisions = kernels.precisions(options.precisions) if options.precisions is not None else ()
    if options.matrix is not None:
        specs, sizes = _with_matrix(options, specs, sizes)
    if options.list:
        _refuse_with_list(options)
        return _list(specs, precisions, sizes)
    wish = kernels.Wish(specs, precisions, sizes, everything=not sizes)
    return in_turn(lambda: Run(options, wish), wait=not options.no_wait)


def _parser() -> door.Parser:
    parser = door.Parser("kernels", DESCRIPTION, EPILOG)
    parser.add_argument("names", metavar="NAMES", nargs="*", help="kernels, families or ladders (default: all)")
    parser.add_argument(
        "--list", action="store_true", help="show each kernel's counts, as formulas and as numbers; run nothing"
    )
    parser.add_argument(
        "--against",
        metavar="RESULT",
        type=Path,
        help="the sweep whose roofs apply, of this machine, or the journal of a run of kernels that was killed "
        "(default: the newest in OUT/<machine>/)",
    )
    parser.add_argument(
        "--size",
        metavar="SIZE",
        help="size of the problem: a number for the first size of each kernel, or NAME=NUMBER, comma-separated "
        "(default: from the measured levels)",
    )
    parser.add_argument(
        "--threads", metavar="LIST", help="numbers of threads, comma-separated, that the sweep measured (default: all)"
    )
    parser.add_argument("--precisions", metavar="LIST", help="fp64, fp32 or both (default: both)")
    parser.add_argument("--matrix", metavar="FILE", type=Path, help="Matrix Market file for the sparse kernels")
    parser.add_argument(
        "--max-memory", metavar="SIZE", help="most memory for the data of a kernel (default: half of what is free)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the results (default: that of the sweep)")
    parser.add_argument("--no-plot", action="store_true", help="draw no figures")
    parser.add_argument("--no-wait", action="store_true", help=NO_WAIT)
    return parser


def _with_matrix(
    options: Namespace, specs: Sequence[kernels.Spec], sizes: dict[str, int | str]
) -> tuple[tuple[kernels.Spec, ...], dict[str, int | str]]:
    """Let the sparse kernels work on the matrix of a file."""
    if sizes:
        raise InputError("--matrix brings its size with it; leave out --size")
    sparse = tuple(spec for spec in specs if "matrix" in spec.sizes)
    if options.names and len(sparse) < len(specs):
        other = next(spec.name for spec in specs if "matrix" not in spec.sizes)
        raise InputError(f"--matrix is for the sparse kernels; {other} takes no matrix")
    return sparse, kernels.matrix_of(options.matrix)


def _refuse_with_list(options: Namespace) -> None:
    """Raise InputError for options that a listing, which is of no machine, could only ignore."""
    for name in ("against", "threads", "max_memory", "out"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--list shows the counts on one thread of no particular machine; leave out --list or "
                f"--{name.replace('_', '-')}"
            )


def _list(specs: Sequence[kernels.Spec], precisions: Sequence[str], sizes: dict[str, int | str]) -> int:
    from ert.show.catalogue import listing

    rows = kernels.listed(specs, precisions[0] if precisions else "fp64", sizes, LISTED_BYTES)
    door.say(listing(rows, shutil.get_terminal_size((80, 24)).columns))
    return door.FINE


class Run:
    """One run of the command, from the look at the sweep to the printed placements."""

    def __init__(self, options: Namespace, wish: kernels.Wish) -> None:
        self._wish, self._draw = wish, not options.no_plot
        self._host = read_host()
        root = Path("results") if options.out is None else options.out
        against = options.against or _newest(root / machine_slug(self._host))
        self._sweep = _begun(against)
        require_same_machine(self._sweep.host, self._host, "--against")
        self._roofline = fit(self._sweep)
        if not self._roofline.memory or not self._roofline.compute:
            raise InputError(f"{against}: the sweep has no roofs to place kernels under")
        self._teams = _teams(self._roofline, options.threads, against)
        require_same_cpus(self._teams, physical_order(self._host), "--against")
        limit = None if options.max_memory is None else _memory(options.max_memory)
        self._memory = memory_budget(self._host, limit=limit)
        # Results lie in OUT/<machine>/, and the new one belongs beside the sweep it builds on.
        self._out = options.out or against.resolve().parent.parent
        ensure_writable(self._out)
        # From here on Numba is needed; all other bad input did not have to wait for it. The import makes code already.
        with signals_held():
            from ert.measure.bench import registers
        self._registers = registers()
        self._cases, self._beside, absent = self._chosen()
        self._absent = dict(absent)
        if not self._cases:
            raise InputError(_why_none(absent, self._teams))

    def _chosen(self) -> tuple[tuple[Case, ...], tour.Beside, tuple[tuple[str, str], ...]]:
        """Return the cases that can be measured with the roofs that apply to them, and the others with the reason."""
        grounds = [kernels.ground_of(self._roofline, team, self._registers) for team in self._teams]
        cases, absent = kernels.cases(self._wish, grounds, self._memory)
        beside = tour.beside(cases, self._sweep, self._roofline, self._registers)
        endless = {case: forecast.too_long(case, beside, self._sweep, self._registers) for case in cases}
        refused = {case.probe + _sizes_of(case): reason for case, reason in reversed(endless.items()) if reason}
        return tuple(case for case in cases if not endless[case]), beside, (*absent, *refused.items())

    def run(self, mine: Turn) -> int:
        """Measure, save, draw, print; return the exit code."""
        with signals_held():
            from ert.measure.bench import Bench, TeamError, toolchain
        from ert.show.progress import progress

        tools, began = toolchain(), time.monotonic()
        cases, beside = self._cases, self._beside
        steps = tour.steps(cases, beside, EFFORT)
        passes = [forecast.pass_seconds(case, beside[case], self._sweep, self._registers) for case in cases]
        seconds = forecast.expected_seconds(passes, steps, EFFORT)
        door.say(
            f"{plural(len(self._wish.specs), 'kernel')} in {plural(len(cases), 'case')} under the roofs of the sweep "
            f"of {self._sweep.roofs_started or self._sweep.started}, about {whole_seconds(seconds)}."
        )
        if max(passes) > NOTABLE_PASS:
            door.say(
                f"A single pass may take {whole_seconds(max(passes))}, and an interruption waits for its end; a second "
                "one does not."
            )
        roofs = {roof for case in cases for roof in beside[case]}
        earlier = {m.case: m for m in self._sweep.measurements if m.case in roofs}
        header = self._header(tools, {*cases, *earlier}, tuple(self._absent.items()))
        header = replace(
            header,
            notes=(*header.notes, *mine.notes),
            conditions=(*header.conditions, look(self._host, mine)),
        )
        show = progress()
        kinds = {cpu.id: cpu.kind for cpu in self._host.cpus}
        with Bench(_arenas(self._teams, roofs), kinds=kinds) as bench:
            paths, journal = begin(self._out, machine_slug(self._host), header)
            # Samples of the roofs go on where the sweep's ended.
            before = self._sweep.seconds.total
            visits = Visits(
                bench, journal, show, lambda: before + time.monotonic() - began, earlier, seconds, began=before
            )

            def results() -> Results:
                taken = {**earlier, **visits.measured}
                return replace(
                    header,
                    measurements=(*header.measurements, *(m for m in taken.values() if m.samples or m.error)),
                    seconds=_added(self._sweep.seconds, bench, time.monotonic() - began),
                )

            try:
                with journal, show:
                    show.start(seconds, steps)
                    visits.announce(steps)
                    tour.run(visits, cases, EFFORT, beside, _rounds(self._sweep))
            except (KeyboardInterrupt, TeamError, MemoryError, OSError) as problem:
                with signals_held():
                    self._keep(results(), paths, any(m.samples for c, m in visits.measured.items() if c not in earlier))
                if isinstance(problem, TeamError):
                    door.complain(f"error: {problem}")
                    return door.CHECK_FAILED
                raise
            done = results()
        with signals_held():
            self._save(done, paths)
        self._finish(done, set(cases), paths)
        return door.FINE

    def _header(self, tools: Toolchain, again: Collection[Case], absent: Sequence[tuple[str, str]]) -> Results:
        """Return the sweep without what is measured again, as the beginning of the new result."""
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        known = {kernel.name: kernel for kernel in (*self._sweep.kernels, *self._wish.kernels)}
        roofs = self._sweep.roofs_started or self._sweep.started
        note = f"Kernels measured at {started} under the roofs of the sweep of {roofs}."
        return replace(
            self._sweep,
            started=started,
            roofs_started=roofs,
            toolchain=tools,
            measurements=tuple(m for m in self._sweep.measurements if m.case not in again),
            kernels=tuple(known.values()),
            notes=(*self._sweep.notes, note),
            absent=tuple(dict.fromkeys((*self._sweep.absent, *absent))),
        )

    def _keep(self, partial: Results, paths: Paths, worth: bool) -> None:
        """Keep the kernels measured until an interruption; the sweep itself is untouched."""
        if not worth:
            paths.journal.unlink(missing_ok=True)
            return
        note = "The run of the kernels was interrupted: some are missing."
        try:
            save(replace(partial, notes=(*partial.notes, note)), paths.json)
        except (OSError, InputError) as error:
            door.complain(f"what was measured is in {paths.journal} ({error})")
            return
        paths.journal.unlink(missing_ok=True)
        door.complain(f"what was measured until now is in {paths.json}")

    def _save(self, results: Results, paths: Paths) -> None:
        try:
            save(results, paths.json)
        except OSError as error:
            raise InputError(f"{paths.json}: {error.strerror or error}; every sample is in {paths.journal}") from None
        paths.journal.unlink()

    def _finish(self, results: Results, run: Collection[Case], paths: Paths) -> None:
        from ert.roofline.placing.place import place
        from ert.show.kernels import sections

        roofline = fit(results)
        placed = [placement for placement in place(results, roofline) if placement.case in run]
        lines = sections(placed, roofline, shutil.get_terminal_size((80, 24)).columns, whole=True)
        wrong = [f"{describe(m)}: left out, {m.error}" for m in results.measurements if m.error and m.case in run]
        absent = [f"not measured: {name}: {why}" for name, why in results.absent if name in self._absent]
        door.say("\n".join([*lines, *wrong, *absent, "", f"{'result':8} {paths.json}"]))
        if self._draw:
            from ert.show.charts import figures

            drawn = figures.write(results, roofline, paths.json.with_suffix(""))
            door.say("\n".join(f"{'figures' if path is drawn[0] else '':8} {path}" for path in drawn))


def _newest(folder: Path) -> Path:
    """Return the newest complete result in a machine's folder; InputError if there is none."""
    for path in results_in(folder):
        try:
            if load(path).complete:
                return path
        except InputError:
            continue  # something else than a result, or a damaged one
    raise InputError(
        f"no complete sweep of this machine in {folder}: take one with `python -m ert.sweep`, or name one "
        "with --against"
    )


def _begun(path: Path) -> Results:
    """Return the sweep that kernels build on; a journal of kernels holds one, with those measured until its end."""
    if not is_journal(read_text(path)):
        return load(path)
    results = recover(path)
    if not results.roofs_started:
        return load(path)  # which says what can be done with the journal of a sweep
    note = f"The run of the kernels at {results.started} ended early; what it had measured is kept."
    return replace(results, complete=True, notes=(*results.notes, note))


def _why_none(absent: Sequence[tuple[str, str]], teams: Sequence[Team]) -> str:
    """Say in one sentence why no kernel can be measured."""
    if not absent:
        return f"none of these kernels runs with {listed([team.label for team in teams])}"
    (name, why), *others = absent
    more = f" (and {len(others)} more, likewise)" if others else ""
    return f"{name}: {why}{more}"


def _sizes_of(case: Case) -> str:
    return "".join(f" {name}={value}" for name, value in case.parameters)


def _memory(text: str) -> int:
    try:
        return parse_size(text)
    except InputError as error:
        raise InputError(f"--max-memory: {error}") from None


def _teams(roofline: Roofline, threads: str | None, against: Path) -> tuple[Team, ...]:
    """Return the teams of the sweep with the numbers of threads that were asked for; InputError for others."""
    known = {team.threads: team for team in reversed(roofline.usual_teams)}
    if threads is None:
        return tuple(sorted(known.values(), key=lambda team: team.threads))
    chosen = []
    for part in (part.strip() for part in threads.split(",")):
        number = max(known) if part == "all" else int(part) if part.isdecimal() else 0
        if number not in known:
            measured = listed([str(number) for number in sorted(known)])
            raise InputError(
                f"--threads: {part!r} is no number of threads that the sweep measured ({against.name} has {measured}); "
                "measure it with `python -m ert.sweep --threads`"
            )
        chosen.append(known[number])
    return tuple(dict.fromkeys(chosen))


def _arenas(teams: Iterable[Team], roofs: Iterable[Case]) -> dict[int, int]:
    """Return the memory of each CPU's thread in bytes: what the roofs need that are measured beside the kernels."""
    largest: dict[Team, int] = {}
    for case in roofs:
        largest[case.team] = max(largest.get(case.team, 0), case.working_set)
    return {**dict.fromkeys((cpu for team in teams for cpu in team.cpus), 0), **plan.arena_sizes(largest)}


def _rounds(results: Results) -> int:
    """Return the number of the first round that a sweep has not had."""
    return 1 + max((sample.round for m in results.measurements for sample in m.samples), default=-1)


def _added(before: Seconds, bench: Bench, elapsed: float) -> Seconds:
    return Seconds(before.total + elapsed, before.compiling + bench.compiling, before.measuring + bench.measuring)


if __name__ == "__main__":
    door.run(main)
