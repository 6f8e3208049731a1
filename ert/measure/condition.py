"""Looks at what a machine is doing now: load, other processes, steal, and the clock that will time it.

What is found is judged by :mod:`ert.roofline.fitness`. Meanings of the files: proc(5), proc_stat(5), proc_loadavg(5).
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ert.measure.capacity import memory_budget
from ert.measure.sysfs import CPU_FOLDER
from ert.measure.tree import Tree, parse_integer
from ert.roofline.model import Condition, Host

QUICK_SECONDS = 0.25
"""Before a sweep: one busy process shows as 25 ticks of the system's counters."""

CAREFUL_SECONDS = 1.0
"""For the doctor: steal shows from 1 % on."""

CLOCK_READINGS = 2000
"""Readings of the clock whose smallest step counts: about a millisecond of them."""

CLOCK_PATIENCE = 0.05
"""Seconds to wait for a clock that only ticks: the slowest does so 100 times a second."""

MOST_CONSUMERS = 3
LEAST_CONSUMED = 0.05
"""Processes told to a person: at most so many, each with at least this many CPUs' worth."""

_BUSY = ("user", "nice", "system", "irq", "softirq")
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of a ``cpu`` line of /proc/stat. ``guest``, which follows, is contained in ``user``."""

_CLOCK_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"

_PROCESS = re.compile(r"\d+ \((?P<name>.*)\) (?P<rest>.*)", re.DOTALL)
_USER, _SYSTEM = 11, 12
"""Fields utime and stime of /proc/PID/stat, counted from the one behind the name."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A process that uses CPU time: its number, its program, and how many CPUs' worth."""

    pid: int
    name: str
    cpus: float


@dataclass(frozen=True, slots=True)
class Clocks:
    """What a look reads the time from, in seconds; tests pass others.

    Attributes
    ----------
    now : callable
        Monotonic time.
    own : callable
        CPU time that this process has used.
    pass_time : callable
        Lets so many seconds go by while it uses one CPU.
    readings : callable
        Reads the monotonic clock some times in a row; returns the nanoseconds.
    tick_hz : float
        Ticks in a second of the system's counters of CPU time.
    """

    now: Callable[[], float]
    own: Callable[[], float]
    pass_time: Callable[[float], None]
    readings: Callable[[], list[int]]
    tick_hz: float = 100.0


def observe(
    host: Host,
    seconds: float = QUICK_SECONDS,
    *,
    alone: bool | None = None,
    root: Path = Path("/"),
    clocks: Clocks | None = None,
) -> Condition:
    """Look at the machine for some time; returns the condition without the processes behind it.

    Parameters
    ----------
    host : Host
        Its usable CPUs are watched.
    seconds : float
        How long. One CPU is kept busy meanwhile.
    alone : bool, optional
        Whether no other run of this tool is measuring, if that is known.
    root : Path
        Folder that holds ``proc`` and ``sys``.
    clocks : Clocks, optional
        Instead of the system's.
    """
    return look(host, seconds, alone=alone, root=root, clocks=clocks)[0]


def look(
    host: Host,
    seconds: float,
    *,
    alone: bool | None = None,
    root: Path = Path("/"),
    clocks: Clocks | None = None,
) -> tuple[Condition, tuple[Consumer, ...]]:
    """Look as :func:`observe` does; returns also the processes that used most CPU time, for a person to read.

    They are not stored: a result names nothing but the CPU.
    """
    tree, clocks = Tree(root), clocks or SYSTEM
    cpus = {cpu.id for cpu in host.cpus if cpu.usable}
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    processes, own, began = _processes(tree), clocks.own(), clocks.now()
    before = _ticks(tree, cpus)
    clocks.pass_time(seconds)
    after = _ticks(tree, cpus)
    took, own = clocks.now() - began, clocks.own() - own
    consumers = _consumers(processes, _processes(tree), took * clocks.tick_hz, _own_pid(tree))
    others = stolen = since_boot = None
    passed = {name: (after[name] - before[name]) / clocks.tick_hz for name in after if name in before}
    # Sandboxes show counters that stand still.
    if took > 0 and sum(passed.values()) > 0:
        others = max(0.0, sum(passed[name] for name in _BUSY) - own) / took
        stolen = max(0.0, passed["steal"]) / took
        wanted = sum(after[name] for name in (*_BUSY, "steal"))
        since_boot = after["steal"] / wanted if wanted else 0.0
    step, backwards = _steps(clocks.readings())
    return (
        Condition(
            at=at,
            seconds=max(0.0, took),
            load=_load(tree),
            others=others,
            stolen=stolen,
            stolen_since_boot=since_boot,
            alone=alone,
            budget=memory_budget(host),
            clock_source=tree.text(_CLOCK_SOURCE) or "",
            clock_step=step,
            clock_backwards=backwards,
            frequency_driver=_driver(tree, cpus),
        ),
        consumers,
    )


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _read_clock() -> list[int]:
    """Read the clock some times; where it only ticks, until it did."""
    readings = [time.monotonic_ns() for _ in range(CLOCK_READINGS)]
    end = time.perf_counter() + CLOCK_PATIENCE
    while readings[-1] == readings[0] and time.perf_counter() < end:
        readings.append(time.monotonic_ns())
    return readings


SYSTEM = Clocks(
    time.monotonic,
    time.process_time,
    _spin,
    _read_clock,
    os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100.0,
)


def _steps(readings: list[int]) -> tuple[float | None, int]:
    """Return the smallest step forward in seconds (None without any), and the number of steps back."""
    steps = [after - before for before, after in itertools.pairwise(readings)]
    forward = [step for step in steps if step > 0]
    return (min(forward) * 1e-9 if forward else None), sum(step < 0 for step in steps)


def _ticks(tree: Tree, cpus: Collection[int]) -> dict[str, int]:
    """Sum of each column of /proc/stat over some CPUs; empty if it does not tell."""
    sums: dict[str, int] = {}
    for line in (tree.text("proc/stat") or "").splitlines():
        name, *fields = line.split() or [""]
        values = [value for field in fields[: len(_FIELDS)] if (value := parse_integer(field)) is not None]
        if not re.fullmatch(r"cpu[0-9]{1,5}", name) or int(name[3:]) not in cpus or len(values) < len(_FIELDS):
            continue
        for column, value in zip(_FIELDS, values, strict=True):
            sums[column] = sums.get(column, 0) + value
    return sums


def _load(tree: Tree) -> float | None:
    first = (tree.text("proc/loadavg") or "").partition(" ")[0]
    return float(first) if re.fullmatch(r"[0-9]+\.[0-9]+", first) else None


def _driver(tree: Tree, cpus: Collection[int]) -> str:
    drivers = {tree.text(f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_driver") or "" for cpu in cpus} - {""}
    return ",".join(sorted(drivers))


def _own_pid(tree: Tree) -> int:
    # As this tree numbers it: in a container that sees the host's processes that is not what os.getpid() says.
    first = (tree.text("proc/self/stat") or "").partition(" ")[0]
    return parse_integer(first) or 0


def _processes(tree: Tree) -> dict[int, tuple[str, int]]:
    """Program and ticks used of every process that can be seen."""
    found = {}
    for pid in tree.numbered("proc", ""):
        match = _PROCESS.fullmatch(tree.text(f"proc/{pid}/stat") or "")
        fields = match["rest"].split() if match else []
        if match and len(fields) > _SYSTEM:
            found[pid] = match["name"], sum(parse_integer(fields[field]) or 0 for field in (_USER, _SYSTEM))
    return found


def _consumers(
    before: Mapping[int, tuple[str, int]], after: Mapping[int, tuple[str, int]], ticks: float, own: int
) -> tuple[Consumer, ...]:
    used = [
        Consumer(pid, name, (count - before[pid][1]) / ticks)
        for pid, (name, count) in after.items()
        if pid in before and pid != own and ticks > 0 and count - before[pid][1] >= LEAST_CONSUMED * ticks
    ]
    return tuple(sorted(used, key=lambda consumer: -consumer.cpus)[:MOST_CONSUMERS])
