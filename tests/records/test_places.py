"""No sweep takes the name of another, and a folder that cannot be written is found out at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ert.errors import InputError
from ert.records.places import SUFFIXES, ensure_writable, free_path, result_paths

STARTED = "2026-11-29T22:45:00Z"


def test_files_are_named_by_machine_and_time(tmp_path: Path) -> None:
    paths = result_paths(tmp_path, "amd-epyc-9r14-2c", STARTED)
    folder = tmp_path / "amd-epyc-9r14-2c"
    assert paths.json == folder / "20261129T224500Z.json"
    assert paths.roofline_png == folder / "20261129T224500Z.roofline.png"
    assert paths.roofline_svg == folder / "20261129T224500Z.roofline.svg"
    assert paths.levels_png == folder / "20261129T224500Z.levels.png"
    assert paths.levels_svg == folder / "20261129T224500Z.levels.svg"
    assert paths.latency_png == folder / "20261129T224500Z.latency.png"
    assert paths.latency_svg == folder / "20261129T224500Z.latency.svg"
    assert paths.scaling_png == folder / "20261129T224500Z.scaling.png"
    assert paths.scaling_svg == folder / "20261129T224500Z.scaling.svg"
    assert paths.numa_png == folder / "20261129T224500Z.numa.png"
    assert paths.numa_svg == folder / "20261129T224500Z.numa.svg"
    assert paths.journal == folder / "20261129T224500Z.journal.jsonl"
    assert not folder.exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_file_of_an_earlier_sweep_takes_its_name(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / f"20261129T224500Z{suffix}").touch()
    assert result_paths(tmp_path, "m", STARTED).json.name == "20261129T224500Z-2.json"


@pytest.mark.parametrize(
    ("machine", "started"),
    [("", STARTED), ("..", STARTED), ("a/b", STARTED), ("a\\b", STARTED), ("m", "2026-11-29"), ("m", STARTED + "x")],
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, machine: str, started: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        result_paths(tmp_path, machine, started)


def test_free_path_counts_up(tmp_path: Path) -> None:
    found = []
    for _ in range(3):
        found.append(free_path(tmp_path, "a", ".json"))
        found[-1].touch()
    assert [path.name for path in found] == ["a.json", "a-2.json", "a-3.json"]


def test_a_folder_is_created_and_left_empty(tmp_path: Path) -> None:
    ensure_writable(tmp_path / "mit Leerzeichen" / "für uns")
    ensure_writable(tmp_path / "mit Leerzeichen" / "für uns")
    assert os.listdir(tmp_path / "mit Leerzeichen" / "für uns") == []


@pytest.mark.parametrize("below", ["", "results"])
def test_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="a file is in the way of this folder"):
        ensure_writable(tmp_path / "file" / below)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: Any) -> NoReturn:
        raise OSError(30, "Read-only file system", str(options["dir"]))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(InputError, match=r"cannot be written \(Read-only file system\)"):
        ensure_writable(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write: /proc")
def test_a_folder_that_nobody_can_write() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        ensure_writable(Path("/proc/results"))
