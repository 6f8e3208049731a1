"""What disturbed a sweep: counted, named, and said where it matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ert.records.disturbance import disturbances as told
from ert.roofline.fitting.clocks import drift
from ert.roofline.fitting.disturbance import disturbances
from ert.roofline.fitting.fit import fit
from ert.roofline.fitting.statistics import rates
from ert.roofline.model import Case, Code, Host, Measurement, Results, Sample, Team, Toolchain, Work

ONE, BOTH = Team("one", (0,), 1), Team("all", (0, 1), 2)
HOST = Host("Linux", "x86_64")


def sample(number: int, seconds: float = 4e-3, **more: Any) -> Sample:
    return Sample(number, 1000, seconds, at=more.pop("at", float(number)), **more)


def compute(team: Team, *samples: Sample, bits: int = 512) -> Measurement:
    case = Case("compute", team, "fp64", "fma", vector_bits=bits, accumulators=8)
    return Measurement(case, Work(flop=1000, events=10), Code("verified"), samples)


def memory(team: Team, *samples: Sample) -> Measurement:
    case = Case("memory", team, mix="load", vector_bits=512, working_set=1 << 20, level="L2")
    return Measurement(case, Work(read_bytes=1 << 20), Code("verified"), samples)


def results(*measurements: Measurement) -> Results:
    return Results("2026-11-30T08:00:00Z", HOST, Toolchain(), measurements)


def calm(count: int) -> list[Sample]:
    return [sample(number, steal_seconds=0.0, context_switches=0) for number in range(count)]


def test_a_calm_sweep_has_nothing_to_say() -> None:
    found = results(compute(ONE, *calm(6)), memory(BOTH, *calm(6)))
    assert fit(found).notes == ()
    assert [(each.team, each.samples, each.disturbed) for each in disturbances(found, (), ())] == [
        (ONE, 6, 0),
        (BOTH, 6, 0),
    ]


def test_samples_without_counters_are_not_called_disturbed() -> None:
    assert fit(results(compute(ONE, *(sample(n, 4e-3 + n * 1e-3) for n in range(6))))).notes == ()


def test_a_switch_counts_where_it_cost_time() -> None:
    cheap = [sample(n, 4.0e-3 + 5e-5 * (n > 0), context_switches=3) for n in range(3)]
    (found,) = disturbances(results(compute(ONE, *cheap)), (), ())
    assert found.switched == 0
    dear = [sample(n, 4.0e-3 + 2e-4 * (n > 0), context_switches=3) for n in range(3)]
    (found,) = disturbances(results(compute(ONE, *dear)), (), ())
    assert (found.samples, found.switched, found.stolen) == (3, 2, 0)


def test_the_time_away_decides_where_it_is_known() -> None:
    slow = [sample(n, 4e-3 + 1e-3 * n, context_switches=3, away_seconds=1e-6) for n in range(3)]
    (found,) = disturbances(results(compute(ONE, *slow)), (), ())
    assert found.switched == 0
    away = [sample(n, 4e-3, context_switches=0, away_seconds=1e-3 * (n > 0)) for n in range(3)]
    (found,) = disturbances(results(compute(ONE, *away)), (), ())
    assert (found.samples, found.switched) == (3, 2)


def test_what_was_stolen_and_switched_counts_once() -> None:
    samples = [sample(0), sample(1, 5e-3, steal_seconds=0.01, context_switches=2), sample(2, 5e-3, context_switches=1)]
    (found,) = disturbances(results(compute(ONE, *samples)), (), ())
    assert (found.stolen, found.switched, found.disturbed) == (1, 1, 2)


def test_the_roofs_that_suffered_are_named() -> None:
    stolen = [sample(number, steal_seconds=0.01 * (number % 2)) for number in range(6)]
    found = results(compute(BOTH, *stolen), memory(BOTH, *calm(6)))
    roofline = fit(found)
    (note,) = roofline.notes
    assert note == (
        "2 threads: 3 of 12 samples were disturbed (the hypervisor took time during 3), at least half of those of "
        "fp64 fma 512-bit. `python -m ert.doctor` says what runs beside."
    )
    assert told(found, roofline)["disturbed_samples"] == [
        {"team": "all", "threads": 2, "samples": 12, "stolen": 3, "switched": 0, "roofs": ["fp64 fma 512-bit"]}
    ]


def test_a_roof_is_not_named_for_the_points_under_it() -> None:
    stolen = [sample(number, steal_seconds=0.01) for number in range(6)]
    point = memory(BOTH, *stolen)
    point = replace(point, case=replace(point.case, probe="intensity", precision="fp64", multiply_adds=1))
    (note,) = fit(results(memory(BOTH, *calm(60)), replace(point, work=replace(point.work, flop=8)))).notes
    assert "6 of 66 samples" in note
    assert "at least" not in note


def test_few_disturbed_samples_of_a_ceiling_are_no_note() -> None:
    slow = [*calm(2), sample(2, 8e-3, context_switches=9), sample(3, 8e-3, context_switches=9)]
    found = results(compute(ONE, *calm(60)), compute(ONE, *slow, bits=128))
    assert fit(found).notes == ()
    found = results(compute(ONE, *calm(20)), compute(ONE, *slow, bits=128))
    (note,) = fit(found).notes
    assert "2 of 24 samples were disturbed (2 were interrupted by other processes)" in note


def test_a_number_of_which_every_sample_was_stolen_from_is_graded_down() -> None:
    assert rates(compute(ONE, *calm(6)), 1.0).grade == "A"
    some = [*calm(5), sample(5, steal_seconds=0.01)]
    assert rates(compute(ONE, *some), 1.0).grade == "A"
    every = [sample(number, steal_seconds=0.01) for number in range(6)]
    assert rates(compute(ONE, *every), 1.0).grade == "B"
    single = [sample(0, steal_seconds=0.01)]
    assert rates(compute(ONE, *single), 1.0).grade == "D"


# ---------------------------------------------------------------------------------------------------- the clock


def clocked(team: Team, *clocks: float, bits: int = 512, after: float = 0.0) -> Measurement:
    samples = (sample(n, clocks_hz=(hz,) * team.threads, at=n + after) for n, hz in enumerate(clocks))
    return compute(team, *samples, bits=bits)


def test_a_steady_clock_is_not_mentioned() -> None:
    found = results(clocked(ONE, *[3.0e9, 3.02e9, 2.99e9] * 3))
    assert fit(found).notes == ()
    assert drift(found, BOTH) is None


@pytest.mark.parametrize(("last", "word"), [(2.7e9, "fell by 10.0 %"), (3.3e9, "rose by 10.0 %")])
def test_a_clock_that_drifts_is_told(last: float, word: str) -> None:
    found = results(clocked(ONE, *[3.0e9] * 5, *[last] * 5))
    (note,) = fit(found).notes
    assert note.startswith(f"1 thread: the core clock {word}, from 3.00 GHz in the first third of the sweep to ")
    (course,) = told(found, fit(found))["clock_drift"]
    assert course == {"team": "one", "threads": 1, "first_hz": 3.0e9, "last_hz": pytest.approx(last)}


def test_cases_at_other_clocks_are_no_drift() -> None:
    # Wide vectors first, scalar code last, each at its own steady clock; both have a sample at the other end.
    wide = compute(ONE, *(sample(n, clocks_hz=(2.0e9,), at=float(at)) for n, at in enumerate((0, 1, 2, 3, 20))))
    narrow = compute(
        ONE, *(sample(n, clocks_hz=(3.0e9,), at=float(at)) for n, at in enumerate((4, 17, 18, 19, 0.5))), bits=64
    )
    course = drift(results(wide, narrow), ONE)
    assert course is not None
    assert course.last == course.first


def test_a_case_measured_at_one_end_alone_tells_no_drift() -> None:
    assert drift(results(clocked(ONE, *[2e9] * 5), clocked(ONE, *[3e9] * 5, bits=64, after=9.0)), ONE) is None


def test_too_few_samples_have_no_course() -> None:
    assert drift(results(clocked(ONE, *[3e9] * 8)), ONE) is None
