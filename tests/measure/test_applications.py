"""Libraries bring threads of their own: who they may run with, and that they are at rest before the team measures."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from ert.measure import applications as module
from ert.measure import bench
from ert.measure.applications import IDLE_LIMIT, IDLE_STEP, Applications
from ert.measure.bench import Bench, TeamError
from ert.roofline.model import Case, Team, Work
from microbench.kernels.kernel import Library, Problem
from microbench.kernels.registry import KERNELS
from microbench.team import Team as Threads

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2] if hasattr(os, "sched_getaffinity") else (0,)
TEAM = Team("one", CPUS[:1], 1)
CASE = Case("product", TEAM, "fp64", level="L1")


@dataclass
class Product:
    """A matrix product of NumPy's library that notes on which CPUs and with how many threads it is called."""

    calls: list[tuple[Any, set[int]]] = field(default_factory=list)
    fails: bool = False

    def task(self, problem: Problem) -> Library:
        return Library(self.prepare, self.call, lambda data: "", lambda: "a library")

    def prepare(self) -> Any:
        return np.ones((64, 64))

    def call(self, data: Any) -> None:
        if self.fails and self.calls:
            raise FloatingPointError("it broke")
        data @ data
        threads = {pool["num_threads"] for pool in ThreadpoolController().info() if pool["user_api"] == "blas"}
        cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        self.calls.append((threading.current_thread() is threading.main_thread() or cpus, threads))


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch) -> Product:
    product = Product()
    spec = replace(KERNELS[0], name="product", implementation="library", task=product.task)
    monkeypatch.setattr(module, "kernel", lambda name: spec)
    monkeypatch.setattr(module, "work_of", lambda case, registers: Work(flop=2 * 64**3))
    monkeypatch.setattr(module, "problem_of", lambda case, registers: Problem("fp64", {}, 1, 128, registers))
    return product


@pytest.fixture
def applications() -> Iterator[Applications]:
    with Threads(dict.fromkeys(CPUS, 1 << 16)) as threads:
        yield Applications(threads, 16, "x86")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no CPU affinity")
def test_a_library_runs_on_the_cpus_of_the_team_with_as_many_threads_and_the_main_thread_stays_free(
    product: Product, applications: Applications
) -> None:
    before = os.sched_getaffinity(0)
    applications.open(CASE)
    assert applications.run(CASE, 2).seconds > 0
    started, *timed = product.calls
    assert started[0] is True, "its threads are started where nothing is bound"
    assert [where for where, _ in timed] == [{CPUS[0]}] * 3
    assert all(threads <= {1} for _, threads in timed)
    assert os.sched_getaffinity(0) == before


def test_a_library_that_fails_is_an_error_in_a_sentence(product: Product, applications: Applications) -> None:
    product.fails = True
    applications.open(CASE)
    with pytest.raises(TeamError, match="product failed: FloatingPointError: it broke"):
        applications.run(CASE, 1)


class Spinning:
    """A clock under which the process uses a whole CPU until some moment."""

    def __init__(self, until: float) -> None:
        self.now, self.used, self.until, self.sleeps = 0.0, 0.0, until, 0

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.used

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.used += seconds if self.now < self.until else 0.0
        self.now += seconds


@pytest.mark.parametrize(("until", "sleeps"), [(0.0, 1), (0.035, 5), (1e9, IDLE_LIMIT / IDLE_STEP)])
def test_the_team_waits_until_the_threads_of_a_library_have_stopped_to_spin_but_not_for_ever(
    product: Product, applications: Applications, monkeypatch: pytest.MonkeyPatch, until: float, sleeps: float
) -> None:
    clock = Spinning(until)
    applications.open(CASE)
    applications.run(CASE, 1)
    monkeypatch.setattr(module, "time", clock)
    applications.settle()
    assert clock.sleeps == pytest.approx(sleeps, abs=1)
    applications.settle()
    assert clock.sleeps == pytest.approx(sleeps, abs=1), "once is enough"


def test_a_bench_settles_before_it_lays_the_data_of_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(Applications, "settle", lambda self: order.append("settle"))
    monkeypatch.setattr(bench.memory.Memory, "prepare", lambda self, worker, length: order.append("prepare"))
    with Bench({CPUS[0]: 1 << 16}) as measuring:
        measuring.open(Case("memory", TEAM, mix="load", vector_bits=128, working_set=1 << 14))
    assert order == ["settle", "prepare"]
