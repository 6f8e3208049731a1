"""``python -m ert.report``: text, JSON and CSV of a stored sweep, and its errors."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ert.errors import InputError
from ert.records.journal import Journal
from ert.records.report import COLUMNS, report
from ert.records.store import load, to_document
from ert.report import main
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Condition

ARCHIVED = Path(__file__).parent / "data" / "results-v1.json"
SURE = "median spread grade verified"
KEYS = {
    "compute_roofs": f"name precision instructions vector_bits threads flop_per_s flop_per_cycle_per_core {SURE}",
    "memory_roofs": f"level mix vector_bits threads bytes_counted byte_per_s byte_per_cycle_per_core {SURE} headline "
    "declared_capacity_bytes effective_capacity_bytes",
    "intensity_points": f"level mix precision threads k flop_per_byte flop_per_s byte_per_s {SURE}",
    "ridge_points": "compute_roof memory_roof flop_per_byte",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ert.report", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_text_names_the_machine_and_its_roofs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED)]) == 0
    text = capsys.readouterr().out
    assert "AMD EPYC 9R14" in text
    assert "GFLOP/s" in text
    assert "DRAM" in text


def test_text_fits_80_columns_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    main([str(ARCHIVED)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_json_is_the_public_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    results = load(ARCHIVED)
    assert document == report(results, fit(results))
    for name, keys in KEYS.items():
        assert document[name]
        for entry in document[name]:
            assert set(keys.split()) <= set(entry)
    assert {roof["name"] for roof in document["compute_roofs"]} >= {p["compute_roof"] for p in document["ridge_points"]}
    assert {roof["name"] for roof in document["memory_roofs"]} >= {p["memory_roof"] for p in document["ridge_points"]}


def test_csv_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), "--csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert tuple(table[0]) == COLUMNS
    document = report(load(ARCHIVED), fit(load(ARCHIVED)))
    roofs = [row for row in table if row["kind"] == "memory_roof"]
    assert [float(row["byte_per_s"]) for row in roofs] == [roof["byte_per_s"] for roof in document["memory_roofs"]]
    assert [row["verified"] for row in roofs] == [str(roof["verified"]).lower() for roof in document["memory_roofs"]]
    assert roofs[0]["flop_per_s"] == ""


def test_every_key_of_the_report_is_documented() -> None:
    docs = Path(__file__).parents[1] / "docs"
    text = "".join((docs / name).read_text(encoding="utf-8") for name in ("report-json.md", "doctor.md"))
    # The archived result is older than some of what a report tells.
    results = replace(load(ARCHIVED), conditions=(Condition("2026-11-29T22:45:00Z"),))
    document = report(results, fit(results))
    free = {"identity", "versions", "settings"}

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*(keys(part) for name, part in value.items() if name not in free))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    found = keys(document)
    assert {"flop_per_s", "plateaus", "memory_limit_bytes"} <= found
    assert [key for key in sorted(found) if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", ["missing.json", "", "text.json", "cut.json", "newer.json", "journal.jsonl"])
def test_a_bad_result_is_an_error_in_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.json").write_text("hello\n")
    (tmp_path / "cut.json").write_bytes(ARCHIVED.read_bytes()[:5000])
    (tmp_path / "newer.json").write_text(json.dumps(to_document(load(ARCHIVED)) | {"schema": 99}))
    Journal(tmp_path / "journal.jsonl", load(ARCHIVED)).close()
    with pytest.raises(InputError) as caught:
        main([str(tmp_path / name)])
    assert str(caught.value).startswith(f"{tmp_path / name}: ")


def test_the_process_ends_with_2_and_no_traceback(tmp_path: Path) -> None:
    ended = run(str(tmp_path / "missing.json"))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.count("\n") == 1
    assert "there is no such file" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "RESULT"), (["a", "b"], "unrecognized arguments: b"), (["a", "--json", "--csv"], "not allowed with"),
     (["a", "--jso"], "unrecognized arguments: --jso")],
)  # fmt: skip
def test_bad_options_end_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "ert.report", str(ARCHIVED), "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("form", ["--text", "--json", "--csv"])
def test_no_heavy_package_is_imported(form: str) -> None:
    arguments = [str(ARCHIVED), *([form] if form != "--text" else [])]
    code = (
        f"import sys\nfrom ert.report import main\nmain({arguments!r})\n"
        "print(sorted({'numba', 'llvmlite', 'matplotlib', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stderr.strip() == "[]"


def test_help_and_records_import_no_numpy_either() -> None:
    code = (
        "import sys, ert.report, ert.__main__, ert.records.store, ert.records.journal, ert.records.places, "
        "ert.records.report\nprint('numpy' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "False"
