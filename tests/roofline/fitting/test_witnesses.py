"""Roofs are graded down where another number of the same sweep shows that the machine does more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.roofline.fitting.witnesses import doubt_compute, doubt_memory
from ert.roofline.model import Cache, ComputeRoof, Cpu, Curve, Host, MemoryRoof, Plateau, Team
from tests import factories
from tests.factories import BOTH, KIB, MIB, ONE

HOST = replace(
    factories.zen4_host(),
    cpus=(Cpu(0, 0), Cpu(1, 1)),
    caches=(Cache("L1", 32 * KIB, (0,)), Cache("L1", 32 * KIB, (1,)), Cache("L3", 32 * MIB, (0, 1))),
)


def compute(team: Team, per_cycle: float | None, grade: str = "A", **changes: object) -> ComputeRoof:
    rate = replace(factories.estimate(58e9 * team.cores), per_cycle=per_cycle, grade=grade)
    roof = ComputeRoof("fp64 fma 512-bit", "fp64", "fma", 512, 12, team, rate, verified=True)
    return replace(roof, **changes)


def memory(team: Team, level: str, best: float, per_cycle: float | None = None, mix: str = "load") -> MemoryRoof:
    rate = replace(factories.estimate(best), per_cycle=per_cycle, grade="A")
    return MemoryRoof(f"{level} {mix}", level, mix, 512, team, "program", 16 * KIB, rate, verified=True)


@pytest.mark.parametrize(
    ("there", "grade"), [(15.9, "A"), (15.7, "B"), (15.5, "C"), (8.0, "D"), (None, "A"), (16.5, "A")]
)
def test_less_per_cycle_than_in_another_team_lowers_the_grade(there: float | None, grade: str) -> None:
    one, both = doubt_compute([compute(ONE, 15.9), compute(BOTH, there)], HOST)
    assert both.rate.grade == grade
    assert replace(both, rate=replace(both.rate, grade="A")) == compute(BOTH, there)
    assert one.rate.grade == ("C" if there == 16.5 else "A")


def test_a_grade_is_never_raised_and_unverified_code_shows_nothing() -> None:
    assert [roof.rate.grade for roof in doubt_compute([compute(ONE, 16.0), compute(BOTH, 16.0, "C")], HOST)] == [
        "A",
        "C",
    ]
    unverified = compute(ONE, 32.0, verified=False)
    assert doubt_compute([unverified, compute(BOTH, 16.0)], HOST)[1].rate.grade == "A"


def test_other_code_other_kinds_and_siblings_are_not_compared() -> None:
    other = compute(ONE, 32.0, precision="fp32")
    assert doubt_compute([other, compute(BOTH, 16.0)], HOST)[1].rate.grade == "A"
    kinds = replace(HOST, cpus=(Cpu(0, 0, kind="P"), Cpu(1, 1, kind="E")))
    slow = compute(Team("one E", (1,), 1), 8.0)
    assert [roof.rate.grade for roof in doubt_compute([compute(ONE, 16.0), slow, compute(BOTH, 12.0)], kinds)] == [
        "A"
    ] * 3
    siblings = replace(HOST, cpus=(Cpu(0, 0), Cpu(1, 0, sibling=1)))
    assert doubt_compute([compute(ONE, 16.0), compute(Team("SMT", (0, 1), 1), 15.0)], siblings)[1].rate.grade == "A"


def test_only_caches_that_each_thread_has_to_itself_are_compared_by_the_cycle() -> None:
    def judged(level: str, host: Host = HOST) -> str:
        return doubt_memory([memory(ONE, level, 2e11, 60.0), memory(BOTH, level, 4e11, 50.0)], (), (), host)[
            1
        ].rate.grade

    assert judged("L1") == "D"
    assert judged("L3") == "A"
    assert judged("DRAM") == "A"
    assert judged("L1", replace(HOST, caches=())) == "A"


def test_a_roof_of_loads_below_its_curve_is_doubted() -> None:
    curve = Curve(ONE, (), (Plateau("DRAM", 30e9, 64 * MIB, 128 * MIB),))
    low, fine, stores = doubt_memory(
        [memory(ONE, "DRAM", 28e9), memory(ONE, "DRAM", 31e9), memory(ONE, "DRAM", 20e9, mix="store")],
        [curve],
        (),
        HOST,
    )
    assert [roof.rate.grade for roof in (low, fine, stores)] == ["D", "A", "A"]


def test_a_roof_below_its_verified_intensity_points_is_doubted() -> None:
    machine = factories.machine({"fp64": {512: 58.0}}, {"L1": {"load": 200.0}}, {ONE: {}})
    point = next(p for p in machine.points if p.mix == "load" and p.team == ONE)
    roof = memory(ONE, point.level, point.byte_rate.best / 1.015)
    assert doubt_memory([roof], (), [replace(point, verified=True)], HOST)[0].rate.grade == "B"
    assert doubt_memory([roof], (), [replace(point, verified=False)], HOST)[0].rate.grade == "A"
