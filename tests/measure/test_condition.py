"""Looking at a machine: recorded trees and clocks that are given, never the real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ert.measure.condition import CLOCK_READINGS, Clocks, look, observe
from ert.roofline.model import Condition
from tests.machine import synthetic_host

HOST = synthetic_host(2)
STAT = "{pid} ({name}) R 1 {pid} {pid} 0 -1 4194304 0 0 0 0 {user} {system} 0 0 20 0 1 0 100 0 0"


class Tree:
    """A recorded /proc that changes while the look lasts."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def stat(self, *cpus: tuple[int, ...]) -> None:
        lines = [f"cpu{number} {' '.join(map(str, fields))}" for number, fields in enumerate(cpus)]
        self.write("proc/stat", "\n".join(["cpu  1 2 3 4 5 6 7 8 0 0", *lines, "intr 1 2 3"]))

    def process(self, pid: int, name: str, user: int, system: int = 0) -> None:
        self.write(f"proc/{pid}/stat", STAT.format(pid=pid, name=name, user=user, system=system))


def clocks(meanwhile: Callable[[], None], own: float = 1.0, readings: list[int] | None = None) -> Clocks:
    """Two seconds pass, of which this process uses some."""
    time = {"now": 100.0, "own": 7.0}

    def go_by(seconds: float) -> None:
        meanwhile()
        time["now"] += 2.0
        time["own"] += own

    return Clocks(lambda: time["now"], lambda: time["own"], go_by, lambda: readings or [0, 40, 80])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


IDLE = (1000, 0, 1000, 50000, 10, 0, 0, 40, 0, 0)


def after(user: int = 0, idle: int = 200, steal: int = 0, soft: int = 0) -> tuple[int, ...]:
    return (IDLE[0] + user, 0, IDLE[2], IDLE[3] + idle, 10, 0, soft, IDLE[7] + steal, 0, 0)


def seen(tree: Tree, *cpus: tuple[int, ...], own: float = 1.0) -> Condition:
    tree.stat(IDLE, IDLE, IDLE)
    return observe(HOST, 2.0, root=tree.root, clocks=clocks(lambda: tree.stat(*cpus), own))


def test_what_others_use_is_all_but_our_own(tree: Tree) -> None:
    # 1.5 s and 1 s of the two CPUs were busy, of which 1 s was this process.
    condition = seen(tree, after(user=150, idle=50), after(user=60, soft=40, idle=100), IDLE)
    assert condition.others == pytest.approx(0.75)
    assert condition.stolen == 0.0
    assert condition.seconds == 2.0


def test_cpus_that_are_not_usable_do_not_count(tree: Tree) -> None:
    assert seen(tree, after(user=100), after(), after(user=200)).others == 0.0


def test_steal_is_told_for_now_and_since_boot(tree: Tree) -> None:
    condition = seen(tree, after(user=96, idle=100, steal=4), after(), IDLE)
    assert condition.stolen == pytest.approx(0.02)
    assert condition.stolen_since_boot == pytest.approx(84 / (4000 + 96 + 84))


@pytest.mark.parametrize("text", ["", "cpu 1 2 3 4", "cpu0 1 2 3", "nonsense"])
def test_a_system_that_does_not_tell(tree: Tree, text: str) -> None:
    condition = observe(HOST, 2.0, root=tree.root, clocks=clocks(lambda: tree.write("proc/stat", text)))
    assert (condition.others, condition.stolen, condition.stolen_since_boot, condition.load) == (None,) * 4


def test_counters_that_stand_still_are_not_told(tree: Tree) -> None:
    condition = seen(tree, IDLE, IDLE, IDLE)
    assert (condition.others, condition.stolen) == (None, None)


def test_more_of_our_own_than_was_counted_is_nobody_else(tree: Tree) -> None:
    assert seen(tree, after(user=90, idle=110), after(), IDLE, own=1.02).others == 0.0


def test_load_clock_and_driver(tree: Tree) -> None:
    tree.write("proc/loadavg", "1.25 0.50 0.10 2/300 4711\n")
    tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    for cpu in range(3):
        driver = "acpi-cpufreq" if cpu < 2 else "other"
        tree.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_driver", f"{driver}\n")
    condition = observe(HOST, 1.0, root=tree.root, alone=True, clocks=clocks(lambda: None))
    assert condition.load == 1.25
    assert condition.clock_source == "tsc"
    assert condition.frequency_driver == "acpi-cpufreq"
    assert condition.alone is True
    assert condition.budget == 6 << 30
    assert len(condition.at) == len("2026-11-30T08:00:00Z")


@pytest.mark.parametrize(
    ("readings", "step", "backwards"),
    [
        ([0, 0, 30, 60, 200], 30e-9, 0),
        ([0, 4_000_000, 4_000_000], 4e-3, 0),
        ([100, 90, 130], 40e-9, 1),
        ([5, 5, 5], None, 0),
        ([9, 8], None, 1),
    ],
)
def test_steps_of_the_clock(tree: Tree, readings: list[int], step: float | None, backwards: int) -> None:
    condition = observe(HOST, 1.0, root=tree.root, clocks=clocks(lambda: None, readings=readings))
    assert condition.clock_step == (None if step is None else pytest.approx(step))
    assert condition.clock_backwards == backwards


def test_the_processes_behind_it_without_our_own(tree: Tree) -> None:
    def meanwhile() -> None:
        tree.process(10, "a (b) c", 250, 50)
        tree.process(11, "idle", 5)
        tree.process(12, "self", 300)
        tree.process(13, "new", 90)
        for pid in range(20, 24):
            tree.process(pid, f"worker{pid}", pid)

    tree.stat(IDLE, IDLE)
    tree.write("proc/self/stat", STAT.format(pid=12, name="self", user=0, system=0))
    tree.process(10, "a (b) c", 150, 50)
    tree.process(11, "idle", 0)
    tree.process(12, "self", 100)
    for pid in range(20, 24):
        tree.process(pid, f"worker{pid}", 0)
    tree.write("proc/99/stat", "torn")
    _, consumers = look(HOST, 2.0, root=tree.root, clocks=clocks(meanwhile))
    assert [(each.pid, each.name, each.cpus) for each in consumers] == [
        (10, "a (b) c", 0.5),
        (23, "worker23", 0.115),
        (22, "worker22", 0.11),
    ]


def test_this_machine_is_looked_at_without_waiting_long() -> None:
    condition = observe(HOST, 0.01)
    assert condition.seconds >= 0.01
    assert condition.clock_step is None or condition.clock_step > 0
    assert CLOCK_READINGS > 1
