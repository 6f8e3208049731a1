"""The clock of a team, from its roofs."""

from __future__ import annotations

import pytest

from ert.roofline.clocks import clock_hz
from ert.roofline.model import Team
from tests import factories


def test_the_clock_follows_from_rate_and_rate_per_cycle() -> None:
    roofline = factories.zen4()
    for team in roofline.teams:
        assert clock_hz(roofline, team) == pytest.approx(factories.CLOCK)
    assert clock_hz(roofline, Team("other", (0,), 1)) is None
