"""``python -m ert.compare``: text, Markdown, JSON, the check, and its errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ert.compare import main
from ert.errors import InputError

ARCHIVED = Path(__file__).parent / "data" / "results-v1.json"
DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    """Return the archived result with another kernel of the system and memory at half its speed."""
    document = json.loads(ARCHIVED.read_text())
    document["host"]["kernel"] = "6.99.0"
    document["started"] = "2026-11-30T22:45:00Z"
    for measurement in document["measurements"]:
        if measurement["case"]["probe"] == "memory" and measurement["case"].get("level") == "DRAM":
            measurement["samples"]["seconds"] = [2 * value for value in measurement["samples"]["seconds"]]
    path = tmp_path / "slower.json"
    path.write_text(json.dumps(document))
    return path


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main([*arguments, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_text_begins_with_what_differs(slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), str(slower)]) == 0
    text = capsys.readouterr().out
    parts = ("Comparison", "What differs", "kernel: A 6.8.0-45-generic; B 6.99.0", "Result", "1 thread\n=",
             "compute roof", "memory roof", "2 threads\n=")  # fmt: skip
    order = [text.index(part) for part in parts]
    assert order == sorted(order)
    (line,) = [
        line for line in text[order[-1] :].splitlines() if line.startswith("  DRAM triad_nt") and "slower" in line
    ]
    assert line.split()[6:] == ["0.500", "1.0", "%", "slower"]
    assert "A: AMD EPYC 9R14, 2026-11-29 22:45 (measured 2026-11-29 22:45 UTC, 2 threads;" in " ".join(text.split())


def test_markdown_has_the_same_tables(slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), str(slower), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert "## What differs between the sweeps\n\n- host, kernel: A 6.8.0-45-generic; B 6.99.0" in text
    assert "| memory roof | A | B | B/A | spread | verdict |\n| --- | ---: |" in text


def test_json_has_numbers_and_verdicts(slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = compared(capsys, str(ARCHIVED), str(slower))
    rows = {(row["kind"], row["name"], row["team"]): row for row in document["rows"]}
    row = rows["memory roof", "DRAM", "all"]
    assert row["ratios"] == [pytest.approx(0.5)]
    assert row["verdicts"] == ["lower"]
    assert row["unit"] == "byte/s"
    assert rows["ridge point", "fp64 DRAM", "all"]["ratios"] == [pytest.approx(2.0)]
    assert rows["compute roof", "fp64", "one"]["verdicts"] == ["equal"]
    assert [fact["name"] for fact in document["differences"]] == ["kernel"]
    assert (document["fail_below"], document["fallen"]) == (None, [])
    assert len(rows) == len(document["rows"])


def test_the_check_fails_with_1_and_says_what_fell(slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), str(slower), "--fail-below", "0.95"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "CHECK FAILED: below 0.95 of A beyond the spread:" in text
    assert "- memory roof DRAM triad_nt, 2 threads: B 25.9 GB/s against A 51.8 GB/s, ratio 0.500" in text
    assert main([str(slower), str(ARCHIVED), "--fail-below", "0.95"]) == 0
    assert "Check passed: no roof or kernel is below 0.95 of A" in capsys.readouterr().out
    fallen = compared(capsys, str(ARCHIVED), str(slower), "--fail-below", "0.95")["fallen"]
    assert {"kind": "memory roof", "name": "DRAM", "team": "all", "machine": 1} in fallen
    assert {entry["kind"] for entry in fallen} == {"memory roof", "access mix"}
    # Half is not below 0.4.
    assert main([str(ARCHIVED), str(slower), "--fail-below", "0.4"]) == 0


def test_sheets_and_results_mix_and_what_one_has_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), "nvidia-h100-sxm", "amd-epyc-9354"]) == 0
    text = capsys.readouterr().out
    joined = " ".join(text.split())
    assert "Only A was measured: there are no two hosts" in joined
    assert "B: NVIDIA H100 SXM5 (promised, one device; sheet nvidia-h100-sxm)" in joined
    assert "A: 2 threads, B: one device, C: 32 cores at their all-core clock" in joined
    assert "Only in A" in text
    assert "Only in B" in text
    assert "- compute roof, one device: tf32 matrix 495 TFLOP/s" in joined
    # No line ends between a number and its unit.
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("GB/s", "GFLOP/s"))]
    assert max(map(len, text.splitlines())) <= 80


def test_all_machines_fit_into_one_table_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    main([str(ARCHIVED), "nvidia-h100-sxm", "amd-epyc-9354"])
    header = next(line for line in capsys.readouterr().out.splitlines() if "compute roof" in line and "C/A" in line)
    others = ("B", "B/A", "spread", "verdict", "C", "C/A", "spread", "verdict")
    assert header.split() == ["compute", "roof", "A", *others]


def test_two_sheets_alone(capsys: pytest.CaptureFixture[str]) -> None:
    document = compared(capsys, "nvidia-h100-sxm", "nvidia-h200-sxm")
    rows = {(row["kind"], row["name"]): row for row in document["rows"]}
    assert rows["memory roof", "DRAM"]["ratios"] == [pytest.approx(4800 / 3350)]
    assert rows["compute roof", "bf16"]["verdicts"] == ["equal"]
    assert rows["ceiling", "fp64 vector"]["verdicts"] == ["equal"]
    main(["nvidia-h100-sxm", "nvidia-h200-sxm"])
    assert "None of them was measured" in " ".join(capsys.readouterr().out.split())


def test_the_figure_is_drawn(slower: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "overlay.svg"
    assert main([str(ARCHIVED), str(slower), "nvidia-h100-sxm", "-o", str(file)]) == 0
    assert 'id="roof fp64 matrix"' in file.read_text()


def test_every_key_is_documented(slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "compare-json.md").read_text(encoding="utf-8")
    document = compared(capsys, str(ARCHIVED), str(slower), "--fail-below", "0.95")

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    found = keys(document)
    assert {"combined_spreads", "labels", "machine"} <= found
    assert [key for key in sorted(found) if f"`{key}`" not in text] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([str(ARCHIVED)], "needs two machines, found .* alone"),
        ([str(ARCHIVED), str(ARCHIVED)], "are the same machine from the same file; name it once"),
        (["nvidia-h100-sxm", "h100"], "the same machine"),
        ([str(ARCHIVED), "zen4"], "a core has neither clock nor memory of its own"),
        ([str(ARCHIVED), "zen44"], "zen44: no such file, and no machine sheet is called 'zen44'; did you mean"),
        ([str(ARCHIVED), "none.json"], r"none\.json: there is no such file"),
        ([str(ARCHIVED), "nvidia-h100-sxm", "--fail-below", "0"], "--fail-below: expected a ratio above 0"),
        ([str(ARCHIVED), "nvidia-h100-sxm", "--fail-below", "nan"], "--fail-below: expected a ratio above 0"),
        ([str(ARCHIVED), "nvidia-h100-sxm", "-o", "chart.gif"], r"cannot draw \.gif"),
        (["x"] * 27, "27 machines are too many"),
    ],
)
def test_what_cannot_be_compared_is_an_error_in_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        main(arguments)
    assert "\n" not in str(caught.value)


def test_a_link_to_the_same_file_and_a_copy_of_it_are_the_same(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(ARCHIVED)
    with pytest.raises(InputError, match="the same machine"):
        main([str(ARCHIVED), str(link)])
    copy = tmp_path / "copy.json"
    shutil.copy(ARCHIVED, copy)
    with pytest.raises(InputError, match=r"copy\.json is a copy of .*: the same sweep; name it once"):
        main([str(ARCHIVED), "nvidia-h100-sxm", str(copy)])


def test_faster_and_slower_are_counted_apart_from_ridge_points(
    slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(ARCHIVED), str(slower)])
    text = " ".join(capsys.readouterr().out.split())
    counted = re.search(r"Of (\d+) rates and latencies .*? B has (\d+) equal and (\d+) slower\.", text)
    assert counted is not None
    assert int(counted[1]) == int(counted[2]) + int(counted[3])
    assert re.search(r"Of \d+ ridge points, B has \d+ equal and \d+ higher\.", text)
    assert "the larger number is at most (1 + combined spread) times the smaller" in text
    assert "Mind" not in text


def test_what_promises_leave_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(ARCHIVED), "intel-xeon-max-9480", "apple-m1-max"])
    printed = capsys.readouterr().out
    text = " ".join(printed.split())
    assert "Intel Xeon Max 9480: its DRAM roof is that of DDR5 alone; the bandwidth of its HBM2e is not" in text
    assert "Apple M1 Max: its peaks are of 8 of its 10 cores" in text
    assert "Intel Xeon Max 9480 base, Apple M1 Max boost" in text
    assert "streams reach 0.7 to 0.95 of it" in text
    assert max(map(len, printed.splitlines())) <= 80


def test_a_heading_of_five_machines_is_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(ARCHIVED), "nvidia-h100-sxm", "amd-epyc-9354", "apple-m1-max", "intel-xeon-max-9480"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_no_heavy_package_is_imported(slower: Path) -> None:
    code = (
        "import sys\nfrom ert.compare import main\nmain(sys.argv[1:])\n"
        "print(sorted({'numba', 'llvmlite', 'matplotlib', 'scipy', 'microbench'} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(ARCHIVED), str(slower), "nvidia-h100-sxm"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stderr.strip() == "[]"


def test_the_process_says_in_its_exit_code_that_the_check_failed(slower: Path) -> None:
    command = [sys.executable, "-m", "ert.compare", str(ARCHIVED), str(slower), "--fail-below", "0.95"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, "")
