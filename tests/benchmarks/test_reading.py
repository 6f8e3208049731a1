"""How long it takes to load, fit, report and draw a result; run with --benchmark-only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ert.measure import plan
from ert.measure.campaign import Campaign
from ert.measure.plan import Settings
from ert.records.report import report
from ert.records.store import load, save
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Results, Seconds
from ert.show import tables
from ert.show.charts import figures
from tests.machine import TOOLCHAIN, SyntheticMachine, synthetic_host, teams_of

Benchmark = Callable[..., Any]


class Silent:
    def measurement(self, *_: object) -> None: ...
    def sample(self, *_: object) -> None: ...
    def error(self, *_: object) -> None: ...
    def step(self, *_: object) -> None: ...
    def total(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def results() -> Results:
    machine, host = SyntheticMachine(noise=0.03), synthetic_host()
    settings = Settings(effort="default")
    teams = teams_of(host, settings.threads)
    largest = {team: plan.largest_working_set(host, team, 1 << 30) for team in teams.usual}
    silent = Silent()
    sweep = Campaign(
        machine,
        host,
        TOOLCHAIN,
        teams,
        largest,
        settings,
        registers=32,
        fma=True,
        started="2026-11-29T00:00:00Z",
        elapsed=machine.elapsed,
        recorder=silent,
        listener=silent,
    )
    sweep.run()
    return sweep.results(complete=True, seconds=Seconds())


def test_saving_and_loading(benchmark: Benchmark, results: Results, tmp_path: Path) -> None:
    save(results, tmp_path / "result.json")
    assert benchmark(load, tmp_path / "result.json") == results


def test_fitting(benchmark: Benchmark, results: Results) -> None:
    assert benchmark(fit, results).ridges


def test_reporting(benchmark: Benchmark, results: Results) -> None:
    roofline = fit(results)
    assert benchmark(report, results, roofline)["memory_roofs"]


def test_the_summary(benchmark: Benchmark, results: Results) -> None:
    roofline = fit(results)
    assert "fp64" in benchmark(tables.summary, results, roofline)


def test_drawing_both_charts(benchmark: Benchmark, results: Results, tmp_path: Path) -> None:
    roofline = fit(results)
    assert len(benchmark.pedantic(figures.write, (results, roofline, tmp_path / "result"), rounds=3)) == 4
