"""Only results of this machine and of CPUs that may be used can be added to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.errors import InputError
from ert.measure.identity import require_same_cpus, require_same_machine
from ert.roofline.model import Team
from tests.machine import synthetic_host


def test_the_same_machine_on_another_day_is_the_same() -> None:
    host = synthetic_host()
    require_same_machine(host, replace(host, kernel="7.1", memory_available=1, notes=("warm",)), "--against")


@pytest.mark.parametrize(
    "other", [{"cpu_model": "Other"}, {"vendor": "AuthenticAMD"}, {"caches": ()}, {"machine": "aarch64"}]
)
def test_another_machine_is_refused_with_what_differs(other: dict[str, object]) -> None:
    host = synthetic_host()
    (name,) = other
    with pytest.raises(InputError, match=rf"^--against: .*another machine \({name.replace('_', ' ')}"):
        require_same_machine(replace(host, **other), host, "--against")  # type: ignore[arg-type]


def test_cpus_that_may_not_be_used_are_named() -> None:
    teams = [Team("one", (0,), 1), Team("all", (0, 1, 7), 3)]
    require_same_cpus(teams, (7, 1, 0), "--against")
    with pytest.raises(InputError, match=r"--against: .*\[1, 7\]"):
        require_same_cpus(teams, (0,), "--against")
