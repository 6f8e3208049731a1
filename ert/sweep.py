"""`python -m ert.sweep`: measure the roofs of this machine, store them, draw them, and print the summary."""

from __future__ import annotations

import os
import shlex
import shutil
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ert import door
from ert.errors import InputError
from ert.measure import irregular, kernels, plan, teams
from ert.measure.host import machine_slug, memory_budget, parse_cpu_list, read_host
from ert.measure.identity import require_same_cpus, require_same_machine
from ert.measure.order import BINDINGS
from ert.measure.plan import Settings
from ert.measure.signals import signals_held
from ert.measure.turn import Turn
from ert.measuring import NO_WAIT, in_turn, look
from ert.records.journal import Journal, begin, resume
from ert.records.places import Paths, ensure_writable
from ert.records.store import save
from ert.roofline.fitness import LEAST_MEMORY
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Results, Seconds
from ert.roofline.quantities import cpu_time
from ert.show.units import parse_size, size
from ert.show.words import listed

if TYPE_CHECKING:
    from argparse import Namespace

    from ert.measure.campaign import Campaign

DESCRIPTION = """\
Measure what this machine can really do: the compute roofs of its cores, the bandwidth
of each level of its memory, and the empirical roofline between them. Nothing needs to be
configured; results and figures go to OUT/<machine>/."""

EPILOG = """\
exit codes: 0 fine, 1 the measurement failed, 2 bad input, 130 or 143 interrupted
(Ctrl-C, SIGTERM): then what was measured is kept as a partial result that --resume
can finish."""


SMALLEST_MEMORY = 8 << 20
"""Bytes; with less, no curve leaves the private caches of current cores."""

LARGEST_NUMBER = 1 << 63
"""Numbers in a result are below this, so that every reader of JSON can hold them."""

_T = TypeVar("_T")


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args(arguments)
    settings, earlier = _settings(options)
    if options.out is not None:
        out = Path(options.out)
    elif options.resume:
        # Results lie in OUT/<machine>/, and the finished one belongs beside the one that was begun.
        out = Path(options.resume).resolve().parent.parent
    else:
        out = Path("results")
    ensure_writable(out)
    return in_turn(lambda: Sweep(settings, earlier, out, draw=not options.no_plot), wait=not options.no_wait)


def _parser() -> door.Parser:
    parser = door.Parser("sweep", DESCRIPTION, EPILOG)
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="fewer points and samples, all roofs: about 40 s")
    effort.add_argument("--thorough", action="store_true", help="more points and rounds: several minutes")
    parser.add_argument(
        "--threads",
        metavar="LIST",
        help="numbers of threads to measure with, comma-separated; 'all' is one on every usable physical core, 'kinds' "
        "each kind of core, 'smt' SMT siblings too, 'numa' each NUMA node with the memory of each (default: "
        f"{teams.USUAL}, of which the last three cost nothing on hosts without)",
    )
    parser.add_argument(
        "--bind",
        choices=list(BINDINGS),
        help="which cores few threads take: spread over sockets, NUMA nodes and shared caches, or close to each other, "
        "as OMP_PROC_BIND has it (default: spread)",
    )
    parser.add_argument(
        "--precisions",
        metavar="LIST",
        help="element types, comma-separated, of fp64, fp32, fp16, bf16 and int8 (default: all that the CPU has "
        "instructions for)",
    )
    parser.add_argument(
        "--cpus", metavar="LIST", help="logical CPUs to use, such as 0-3,8 (default: all this process may use)"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of the results, created if need be (default: ./results; with --resume that of the file)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-kernels", action="store_true", help="measure the roofs alone")
    which.add_argument(
        "--all-kernels",
        action="store_true",
        help="run every application kernel, at each level and in all sizes: several minutes more (default: some of "
        "each family)",
    )
    parser.add_argument("--no-plot", action="store_true", help="draw no figures")
    parser.add_argument("--no-wait", action="store_true", help=NO_WAIT)
    parser.add_argument(
        "--seed", type=int, metavar="N", help="order of the cases within a round, a whole number (default: 1)"
    )
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="most memory for the arrays that are measured, in all, such as 512MiB or 4GiB (default: four times the "
        "last cache, at most half of what is free); Python and the compiler take about 300 MiB beside it",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="finish an interrupted sweep, from its partial result or its journal, with the settings it was begun with",
    )
    return parser


def _settings(options: Namespace) -> tuple[Settings, Results | None]:
    """Return the settings and, when resuming, what is already measured; InputError for options that do not fit."""
    given = vars(options)
    chosen = {name: given[name] for name in ("threads", "bind", "precisions", "cpus", "seed", "max_memory")}
    if given["resume"]:
        refused = [f"--{name.replace('_', '-')}" for name, value in chosen.items() if value is not None]
        switches = ("quick", "thorough", "no_kernels", "all_kernels")
        refused += [f"--{name.replace('_', '-')}" for name in switches if given[name]]
        if refused:
            raise InputError(f"--resume goes on with the settings the sweep was begun with; leave out {refused[0]}")
        earlier = resume(Path(given["resume"]))
        if earlier.complete:
            raise InputError(f"{given['resume']}: this sweep is complete; there is nothing to resume")
        if earlier.roofs_started:
            raise InputError(
                f"{given['resume']}: this is a run of kernels under the sweep of {earlier.roofs_started}. "
                f"Go on with `python -m ert.kernels --against {given['resume']}`, which keeps what it holds."
            )
        return Settings.restored(earlier.settings), earlier
    memory = 0 if given["max_memory"] is None else _parsed("--max-memory", parse_size, given["max_memory"])
    if given["max_memory"] is not None and memory < SMALLEST_MEMORY:
        raise InputError(
            f"--max-memory: {size(memory)} is too little to measure with; at least {size(SMALLEST_MEMORY)}"
        )
    if memory >= LARGEST_NUMBER:
        raise InputError(f"--max-memory: {given['max_memory']} is more than any machine has")
    if given["seed"] is not None and not 0 <= given["seed"] < LARGEST_NUMBER:
        raise InputError(f"--seed: expected a whole number from 0 to {LARGEST_NUMBER - 1}, found {given['seed']}")
    if given["cpus"] is not None and not _parsed("--cpus", parse_cpu_list, given["cpus"]):
        raise InputError("--cpus names no CPU; expected a list such as 0-3,8")
    defaults = Settings()
    effort = "quick" if given["quick"] else "thorough" if given["thorough"] else defaults.effort
    settings = Settings(
        effort=effort,
        threads=defaults.threads if given["threads"] is None else given["threads"],
        cpus=given["cpus"] or "",
        precisions=defaults.precisions if given["precisions"] is None else given["precisions"],
        seed=defaults.seed if given["seed"] is None else given["seed"],
        max_memory=memory,
        binding=given["bind"] or defaults.binding,
        kernels=kernels.NONE if given["no_kernels"] else kernels.EVERY if given["all_kernels"] else defaults.kernels,
    )
    plan.precisions(settings.precisions)
    return settings, None


def _parsed(option: str, parse: Callable[[str], _T], text: str) -> _T:
    try:
        return parse(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


class Sweep:
    """One run of the command, from the look at the machine to the printed summary."""

    def __init__(self, settings: Settings, earlier: Results | None, out: Path, *, draw: bool) -> None:
        self._settings, self._earlier, self._out, self._draw = settings, earlier, out, draw
        self._host = read_host()
        if self._host.memory_limit is not None and self._host.memory_limit < LEAST_MEMORY:
            raise InputError(
                f"a control group limits this process to {size(self._host.memory_limit)} of memory; "
                f"measuring needs at least {size(LEAST_MEMORY)}"
            )
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            raise InputError("NUMBA_DISABLE_JIT is set: nothing can be measured without compiled code; unset it")
        chosen = parse_cpu_list(settings.cpus) if settings.cpus else ()
        cpus = teams.usable_cpus(self._host, chosen, settings.binding)
        who = teams.choose(self._host, cpus, settings.threads, plan.effort(settings.effort).most_extra)
        limit = memory_budget(self._host, limit=settings.max_memory or None)
        self._budget = plan.default_budget(self._host, who.usual, limit)
        largest = plan.largest_working_sets(self._host, who.usual, self._budget)
        extra, notes = irregular.affordable(self._host, who.extra, largest, self._budget, "roofs")
        largest |= extra
        scaling = irregular.scaling_teams(self._host, cpus, tuple(largest))
        self._scaling, more = irregular.affordable(self._host, scaling, largest, self._budget, "bandwidth")
        self._arenas = plan.arena_sizes({**largest, **self._scaling})
        room = limit - sum(self._arenas.values())
        pairs, self._pools = plan.pools(self._host, who.pairs, self._arenas, room)
        if len(pairs) < len(who.pairs):
            more = (*more, "Not measured, since too little memory may be used: bandwidth between NUMA nodes")
        self._teams = replace(who, extra=tuple(extra), pairs=tuple(pairs))
        self._largest = largest | pairs
        self._team_notes = (*who.notes, *notes, *more)
        self._wish = kernels.wish(settings.kernels, plan.precisions(settings.precisions))
        if earlier is not None:
            require_same_machine(earlier.host, self._host, "--resume")
            measured = {measurement.case.team for measurement in earlier.measurements}
            measured -= {*self._largest, *self._scaling}
            require_same_cpus(measured, (), "--resume")

    def _expectation(self) -> tuple[float, int]:
        """Return roughly how many seconds the sweep will take, and how many visits."""
        usual = self._teams.usual
        seconds, visits = plan.expected(self._host, usual, self._settings, self._largest, self._teams.extra)
        sizes = {team: plan.expected_levels(self._host, team, self._largest[team]) for team in usual}
        more, others = irregular.expected(usual, sizes, self._settings.effort, self._teams.pairs)
        kernel_seconds, kernel_visits = kernels.expected(self._wish, len(usual), self._settings.effort)
        return seconds + more + kernel_seconds, visits + others + kernel_visits

    def run(self, mine: Turn) -> int:
        """Measure, save, draw, print; return the exit code."""
        before = self._earlier.seconds if self._earlier else Seconds()
        began = time.monotonic() - before.total
        # From here on Numba is needed; --help and bad input did not have to wait for it. The import makes code already.
        with signals_held():
            from ert.measure.bench import Bench, TeamError, doubts, missing, toolchain, widths
        from ert.measure.campaign import Campaign
        from ert.show import tables
        from ert.show.progress import progress

        # Tried in a child process, so before the threads that measure.
        tools, available = toolchain(), widths()
        absent = missing(plan.precisions(self._settings.precisions))
        self._settings = _explicit(self._settings, available, absent)
        expected = self._expectation()
        who = (*self._teams.usual, *self._teams.extra)
        door.say(f"{tables.found(self._host, tools, who)}\n\n{self._announcement(*expected)}")
        conditions = (*(self._earlier.conditions if self._earlier else ()), look(self._host, mine))
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        notes = (*self._notes(), *doubts(), *mine.notes)
        if self._earlier is not None:
            notes = (*notes, f"Begun at {self._earlier.started}, interrupted, and finished at {started}.")
        header = Results(
            started,
            self._host,
            tools,
            (),
            self._settings.stored(),
            notes=notes,
            absent=absent,
            kernels=self._wish.kernels if self._wish else (),
            conditions=conditions,
        )
        show = progress()
        kinds = {cpu.id: cpu.kind for cpu in self._host.cpus}
        with Bench(self._arenas, self._pools, kinds) as bench:
            if not bench.pinned:
                header = replace(header, notes=(*header.notes, "threads could not be bound to CPUs on this system"))
            paths, journal = begin(self._out, machine_slug(self._host), header)
            campaign = Campaign(
                bench,
                self._host,
                tools,
                self._teams,
                self._largest,
                self._settings,
                registers=bench.registers,
                fma=bench.fma,
                started=started,
                elapsed=lambda: time.monotonic() - began,
                recorder=journal,
                listener=show,
                earlier=self._earlier.measurements if self._earlier else (),
                notes=header.notes,
                conditions=conditions,
                absent=absent,
                widths=available,
                expected_seconds=expected[0],
                scaling=self._scaling,
                wish=self._wish,
                kernel_memory=self._budget,
                room={team: plan.room_for(self._host, team, self._budget) for team in self._largest},
            )

            def seconds() -> Seconds:
                return Seconds(
                    time.monotonic() - began, before.compiling + bench.compiling, before.measuring + bench.measuring
                )

            try:
                with journal, show:
                    show.start(*expected)
                    campaign.run()
            except (KeyboardInterrupt, TeamError, MemoryError, OSError) as problem:
                with signals_held():
                    self._keep_partial(campaign, journal, paths, seconds())
                if isinstance(problem, TeamError):
                    door.complain(f"error: {problem}")
                    return door.CHECK_FAILED
                raise
            results = campaign.results(complete=True, seconds=seconds())
            results = replace(results, notes=(*results.notes, *bench.notes()))
        with signals_held():
            try:
                save(results, paths.json)
            except OSError as error:
                raise InputError(
                    f"{paths.json}: {error.strerror or error}; every sample is in {journal.path}, "
                    f"which --resume can turn into a result"
                ) from None
            journal.path.unlink()
        try:
            self._finish(results, paths)
        except KeyboardInterrupt:
            door.complain(f"the measurement is complete: {paths.json}")
            raise
        return door.FINE

    def _finish(self, results: Results, paths: Paths) -> None:
        from ert.show import tables

        roofline = fit(results)
        text = tables.summary(results, roofline, shutil.get_terminal_size((80, 24)).columns)
        door.say(f"{text}\n\n{'result':8} {paths.json}")
        if self._draw:
            from ert.show.charts import figures

            drawn = figures.write(results, roofline, paths.json.with_suffix(""))
            door.say("\n".join(f"{'figures' if path is drawn[0] else '':8} {path}" for path in drawn))

    def _keep_partial(self, campaign: Campaign, journal: Journal, paths: Paths, seconds: Seconds) -> None:
        """Turn what was measured into a partial result; if even that cannot be written, the journal has it."""
        partial = campaign.results(complete=False, seconds=seconds)
        if not any(measurement.samples for measurement in partial.measurements):
            journal.path.unlink(missing_ok=True)
            return
        try:
            save(partial, paths.json)
        except (OSError, InputError) as error:
            door.complain(f"what was measured is in {paths.journal} ({error})")
            return
        journal.path.unlink(missing_ok=True)
        door.complain(f"what was measured until now is in {paths.json}")
        door.complain(f"finish it with: python -m ert.sweep --resume {shlex.quote(str(paths.json))}")

    def _announcement(self, seconds: float, _visits: int) -> str:
        """Say what will be measured and how long it will take."""
        how = plan.effort(self._settings.effort)
        names = listed(plan.precisions(self._settings.precisions))
        who = listed([team.label for team in self._teams.usual])
        largest = max(self._largest.values())
        total = sum(self._arenas.values()) + sum(pool.size for pool in self._pools.values())
        return textwrap.fill(
            f"Measuring with {who}: peaks and ceilings in {names}, bandwidth from {size(plan.SMALLEST)} to "
            f"{size(largest)} a thread, the access mixes of each level, and {len(how.multiply_adds)} arithmetic "
            f"intensities, in {how.rounds} rounds ({how.name}){self._beside()}. About {seconds:.0f} s and "
            f"{size(total)} of memory.",
            80,
        )

    def _beside(self) -> str:
        """Say what is measured beside the usual teams, if anything."""
        parts = [f"the roofs of {listed([team.label for team in self._teams.extra])}"] if self._teams.extra else []
        if self._teams.pairs:
            parts.append("what the cores of each NUMA node get from the memory of each")
        return f"; then {listed(parts)}" if parts else ""

    def _notes(self) -> tuple[str, ...]:
        """Return what the user should know of the circumstances."""
        notes = [*self._host.notes, *self._team_notes]
        quota = self._host.cpu_quota
        most = max(team.threads for team in self._largest)
        if quota is not None and quota < most:
            notes.append(
                f"A control group allows {cpu_time(quota)} and up to {most} threads run: they are stopped "
                "for a part of each period, so that samples come in two speeds, and no grade is better than D."
            )
        if self._wish and len(teams.kinds_of(self._host, max(self._teams.usual, key=lambda team: team.threads))) > 1:
            notes.append(
                "Application kernels give every thread an equal part, so that fast cores wait for slow ones; the roofs "
                "of cores of several kinds together are those of parts that follow their speed."
            )
        for team in (*self._teams.usual, *self._teams.extra):
            full = plan.wanted_working_set(self._host, team)
            if self._largest[team] < full:
                crowded = self._largest[team] >= plan.largest_working_set(self._host, team, plan.ENOUGH)
                why = "a NUMA node has no more" if crowded else f"{size(self._budget)} of memory may be used"
                notes.append(
                    f"With {team.label} the curve ends at {size(self._largest[team])} a thread instead of "
                    f"{size(full)}, because {why}: the last level may contain hits in the one before."
                )
        if self._host.thp == "never":
            notes.append("Transparent huge pages are off: large working sets also measure page walks")
        return tuple(dict.fromkeys(notes))


def _explicit(
    settings: Settings, available: Mapping[str, Sequence[int]], absent: Sequence[tuple[str, str]]
) -> Settings:
    """Return the settings with the precisions by name that can be measured; InputError if that is none of them."""
    wanted = plan.precisions(settings.precisions)
    names = [name for name in wanted if name in available]
    if not names:
        needs = "; ".join(f"{name} needs {what}" for name, what in absent if name in wanted)
        raise InputError(f"--precisions: this CPU has none of {', '.join(wanted)}: {needs}")
    return replace(settings, precisions=",".join(names))


if __name__ == "__main__":
    door.run(main)
