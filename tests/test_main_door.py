"""``python -m ert``: lists the commands and runs the one that is named."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import ert.door
from ert.__main__ import COMMANDS, main, version

ARCHIVED = Path(__file__).parent / "data" / "results-v1.json"
SHARED = {"door", "errors", "measuring", "__init__", "__main__"}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"ert.{name}")


def test_each_door_is_listed() -> None:
    modules = {path.stem for path in Path(ert.door.__file__).parent.glob("*.py")}
    assert modules - SHARED == set(COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_commands_are_listed_one_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as end:
        code = end.code
    text = capsys.readouterr().out
    assert code == 0
    for name, description in COMMANDS.items():
        (line,) = [line for line in text.splitlines() if f"python -m ert.{name} " in line]
        assert line.endswith(description)
        assert len(line) <= 100
    assert version() in text


def test_a_named_command_is_run_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(ARCHIVED), "--csv"]) == 0
    assert capsys.readouterr().out.startswith("kind,name,")


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("reprot", "unknown command 'reprot'; did you mean report?"),
        ("zzz", "unknown command 'zzz'; the commands are sweep, "),
        ("--fast", "unknown option --fast; `python -m ert` lists the commands"),
    ],
)
def test_what_is_unknown_ends_with_2_and_a_hint(argument: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([argument])
    assert caught.value.code == 2
    assert hint in capsys.readouterr().err


def test_the_version_is_that_of_the_distribution(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"ert-roofline": "3.2.1"}[name])
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == "ert-roofline 3.2.1\n"


def test_a_checkout_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert version() == "unknown"


def test_it_runs_as_a_module() -> None:
    ended = subprocess.run([sys.executable, "-m", "ert"], capture_output=True, text=True, check=True, timeout=60)
    assert "python -m ert.report" in ended.stdout
