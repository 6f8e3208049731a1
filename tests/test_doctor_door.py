"""The doctor command: exit codes, text and JSON, and that it starts at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ert import doctor, door
from ert.measure.condition import Consumer
from ert.roofline.model import Condition, Host
from tests.roofline.test_fitness import HOST, QUIET

Put = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Put a machine and what it is doing in the place of the real one."""

    def install(host: Host = HOST, free: bool | None = True, **seen: Any) -> None:
        def look(watched: Host, seconds: float, *, alone: bool | None) -> tuple[Condition, tuple[Consumer, ...]]:
            assert watched == host
            return replace(QUIET, alone=alone, **seen), (Consumer(4711, "cc1plus", 1.5),)

        monkeypatch.setattr(doctor, "read_host", lambda: host)
        monkeypatch.setattr(doctor, "is_free", lambda: (free, None if free else 815))
        monkeypatch.setattr(doctor, "look", look)

    return install


def test_a_fit_machine_ends_with_0(machine: Put, capsys: pytest.CaptureFixture[str]) -> None:
    machine()
    assert doctor.main([]) == door.FINE
    assert capsys.readouterr().out.endswith("\nFit to be measured.\n")


def test_warnings_end_with_0_too(machine: Put) -> None:
    machine(replace(HOST, hypervisor="KVM", thp="never"))
    assert doctor.main([]) == door.FINE


def test_an_unfit_machine_ends_with_1_and_names_who_disturbs(machine: Put, capsys: pytest.CaptureFixture[str]) -> None:
    machine(free=False, others=2.0)
    assert doctor.main([]) == door.CHECK_FAILED
    said = capsys.readouterr().out
    assert "cc1plus" in said
    assert "process 815" in said
    assert "Not fit" in said


def test_json_has_what_was_seen_and_every_check(machine: Put, capsys: pytest.CaptureFixture[str]) -> None:
    machine(others=2.0)
    assert doctor.main(["--json"]) == door.CHECK_FAILED
    document = json.loads(capsys.readouterr().out)
    checks = document.pop("checks")
    assert document == {
        "format": "ert-roofline diagnosis",
        "version": 1,
        "machine": "Synthetic CPU",
        "fit": False,
        "at": "2026-11-30T08:00:00Z",
        "seconds": 1.0,
        "load": 0.05,
        "others_cpus": 2.0,
        "stolen_cpus": 0.0,
        "stolen_since_boot": 0.0,
        "alone": True,
        "budget_bytes": 6 << 30,
        "clock_source": "tsc",
        "clock_step_seconds": 40e-9,
        "clock_backwards": 0,
        "frequency_driver": "acpi-cpufreq",
    }
    assert len(checks) == 12
    assert checks[0] == {
        "name": "others",
        "verdict": "bad",
        "found": "other processes use 2.00 of 4 CPUs",
        "advice": "end or pause them (top shows which they are), or measure later",
    }


def test_every_key_and_every_check_is_documented(machine: Put, capsys: pytest.CaptureFixture[str]) -> None:
    machine()
    doctor.main(["--json"])
    document = json.loads(capsys.readouterr().out)
    text = (Path(__file__).parents[1] / "docs" / "doctor.md").read_text(encoding="utf-8")
    names = {*document, *document["checks"][0], *(check["name"] for check in document["checks"])}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_the_real_command_looks_at_this_machine_without_numba() -> None:
    script = (
        "import sys; from ert import doctor; code = doctor.main(['--json'])\n"
        "assert not {'numba', 'llvmlite', 'matplotlib', 'numpy'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (door.FINE, door.CHECK_FAILED), done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["fit"] == (done.returncode == door.FINE)
