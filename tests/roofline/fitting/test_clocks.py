"""The clock of a team, from its roofs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.roofline.fitting.clocks import clock_hz
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Case, Code, Measurement, Sample, Team, Work
from tests import factories


def test_the_clock_is_that_of_the_roofs() -> None:
    roofline = factories.zen4()
    for team in roofline.teams:
        assert clock_hz(roofline, team) == pytest.approx(factories.CLOCK)
    assert clock_hz(roofline, Team("other", (0,), 1)) is None
    blind = replace(roofline, compute=tuple(replace(r, rate=replace(r.rate, clock_hz=None)) for r in roofline.compute))
    assert clock_hz(blind, roofline.teams[0]) is None


def test_the_clock_is_one_that_a_sample_had() -> None:
    # The best sample made more per cycle than the middle one: best / per cycle would be 3.74 GHz, which none had.
    clocks, per_cycle = (3.70e9, 3.69e9, 3.68e9, 3.695e9), (16.0, 15.8, 15.85, 15.83)
    samples = tuple(
        Sample(i, round(clock * each), 1.0, (1.0,), (clock,), at=float(i))
        for i, (clock, each) in enumerate(zip(clocks, per_cycle, strict=True))
    )
    case = Case("compute", factories.ONE, "fp64", "fma", vector_bits=512, accumulators=8)
    measured = Measurement(case, Work(flop=1), Code("verified"), samples)
    assert clock_hz(fit(factories.zen4_results(measurements=(measured,))), factories.ONE) in clocks


def test_headline_roofs_speak_first_and_the_middle_one_of_them() -> None:
    roofline = factories.zen4()
    one = [roof for roof in roofline.compute if roof.team == factories.ONE and roof.headline]
    clocks = [3.0e9 + i * 1e8 for i in range(len(one))]
    roofs = tuple(
        replace(roof, rate=replace(roof.rate, clock_hz=clock)) for roof, clock in zip(one, clocks, strict=True)
    )
    slow = replace(one[0], headline=False, rate=replace(one[0].rate, clock_hz=1e9))
    assert clock_hz(replace(roofline, compute=(slow, *roofs)), factories.ONE) == clocks[(len(clocks) - 1) // 2]
