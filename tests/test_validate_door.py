"""``python -m ert.validate``: verdicts as text and JSON, sheets alone, exit codes, and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import machines as shipped
from ert.door import BAD_INPUT, CHECK_FAILED, FINE
from ert.errors import InputError
from ert.records import machines
from ert.records.store import load, to_document
from ert.validate import main

MACHINES = Path(shipped.__file__).parent
"""As installed, which is not the checkout when the wheel is tested."""

ROOT = Path(__file__).parents[1]
GUEST = min((ROOT / "results" / "amd-epyc-2c").glob("*.json"))
ARCHIVED = ROOT / "tests" / "data" / "results-v1.json"
GOOD = 'kind = "core"\ntitle = "X"\n[recognition]\nnames = ["X"]\nsource = ["p"]\n'


def test_the_guest_passes_and_its_losses_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(GUEST)]) == FINE
    text = capsys.readouterr().out
    assert "AMD EPYC, against AMD Zen 4 and Zen 4c (sheet zen4)" in text
    assert "shares this cache with neighbours" in text
    assert "No check failed" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_missed_promise_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(GUEST), "--machine", "haswell"]) == CHECK_FAILED
    assert "FAILED" in capsys.readouterr().out
    assert main([str(GUEST), "--tolerance", "0.001"]) == CHECK_FAILED


def test_a_file_can_be_the_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text((MACHINES / "cpus" / "amd-epyc-9654.toml").read_text())
    assert main([str(GUEST), "--machine", str(tmp_path / "mine.toml")]) == FINE
    text = capsys.readouterr().out
    assert f"(sheet {tmp_path / 'mine.toml'})" in " ".join(text.split())
    assert "This process uses 2 of 96 cores" in " ".join(text.split())


def test_a_sheet_of_another_core_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(GUEST), "--machine", "golden-cove"])
    text = capsys.readouterr().out
    assert text.startswith("The result's CPUID is that of AMD Zen 4 and Zen 4c, the sheet's core is Intel")
    assert max(map(len, text.splitlines())) <= 80


def test_no_sheet_is_wider_than_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for name in machines.names():
        assert main(["--sheet", name]) == FINE
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_sheet_that_contradicts_itself_is_not_used(tmp_path: Path) -> None:
    text = (MACHINES / "cpus" / "amd-epyc-7742.toml").read_text()
    (tmp_path / "x.toml").write_text(text.replace("channels = 8", "channels = 6"))
    with pytest.raises(InputError, match=r"x\.toml: its figures contradict each other: memory, computed 154 GB/s"):
        main([str(GUEST), "--machine", str(tmp_path / "x.toml")])


def test_a_terminal_without_utf8_gets_plain_letters() -> None:
    code = "import sys\nfrom ert.door import run\nrun(lambda arguments: print('3 \u00b5s \u2603') or 0)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, env={"PYTHONIOENCODING": "ascii"}, cwd=ROOT
    )
    assert (ended.returncode, ended.stdout) == (0, b"3 us ?\n")


def test_an_interruption_while_it_starts_shows_no_traceback() -> None:
    # As `python -m` does: the package is imported while the program is still called "-m".
    code = (
        "import sys\nsys.argv = ['-m']\nimport ert\nimport signal\nassert signal.getsignal(2) is signal.SIG_DFL\n"
        "from ert.door import run\n"
        "run(lambda arguments: print(signal.getsignal(2) is signal.SIG_DFL) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "False\n", "")


def test_json_is_documented_and_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(GUEST), "--json", "--machine", "amd-epyc-9654"]) == FINE
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["version"], document["sheets"]) == (
        "ert-roofline validation", 1, ["amd-epyc-9654"],
    )  # fmt: skip
    assert document["passed"] is True
    assert sum(n for name, n in document["verdicts"].items() if name != "failed") == len(document["checks"])
    (memory,) = [check for check in document["checks"] if check["section"] == "Memory bandwidth"]
    assert memory["promised"] == 460.8e9
    assert [factor["value"] for factor in memory["products"][0]] == [12, 8, 4.8e9, 1]
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    keys = {*document, *(key for check in document["checks"] for key in check), "value"}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_an_old_result_can_be_validated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ARCHIVED), "--tolerance", "0.1"]) == FINE
    assert "AMD EPYC 9R14" in capsys.readouterr().out


def test_sheets_are_checked_alone_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sheet", "nvidia-grace"]) == FINE
    assert "a valid sheet of the CPU NVIDIA Grace" in capsys.readouterr().out
    assert main(["--sheet", str(MACHINES / "events.toml")]) == FINE
    assert capsys.readouterr().out.endswith("events.toml: valid, 16 entries\n")
    (tmp_path / "x.toml").write_text(GOOD)
    assert main(["--sheet", str(tmp_path / "x.toml")]) == FINE
    assert main(["--list"]) == FINE
    assert "\nzen4 " in capsys.readouterr().out


def test_a_sheet_that_contradicts_what_is_published_ends_with_1(tmp_path: Path) -> None:
    text = (MACHINES / "cpus" / "amd-epyc-7742.toml").read_text()
    (tmp_path / "x.toml").write_text(text.replace("channels = 8", "channels = 6"))
    assert main(["--sheet", str(tmp_path / "x.toml")]) == CHECK_FAILED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.json"], "missing.json: there is no such file"),
        ([str(GUEST), "--machine", "zen44"], "no machine sheet is called 'zen44'; did you mean zen4?"),
        ([str(GUEST), "--machine", "nvidia-b200"], "--machine nvidia-b200: nvidia-b200 is an accelerator"),
        ([str(GUEST), "--machine", "./none.toml"], "none.toml: there is no such file"),
        (["--sheet", "none.toml"], "none.toml: there is no such file"),
    ],
)
def test_bad_input_is_an_error_in_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        main(arguments)
    assert words in str(caught.value)


def test_a_result_without_a_roof_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(to_document(replace(load(GUEST), measurements=()))))
    with pytest.raises(InputError, match=r"empty\.json: no roof in it"):
        main([str(path)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the arguments RESULT --sheet --list is required"),
        (["--list", "--sheet", "x"], "not allowed with"),
        (["--list", "--json"], "--json needs a RESULT"),
        (["--sheet", "x", "--machine", "y"], "--machine needs a RESULT"),
        ([str(GUEST), "--tolerance", "5 %"], "'5 %' is no fraction from 0 to below 1, such as 0.05 for 5 %"),
        ([str(GUEST), "--tolerance", "nan"], "'nan' is no fraction"),
    ],
)
def test_bad_options_end_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == BAD_INPUT
    assert words in capsys.readouterr().err


def test_it_starts_without_any_heavy_package() -> None:
    code = (
        f"import sys\nfrom ert.validate import main\nmain([{str(GUEST)!r}])\n"
        "print(sorted({'numba', 'llvmlite', 'matplotlib', 'scipy', 'microbench'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stderr.strip() == "[]"


def test_listing_needs_no_numpy_either() -> None:
    code = "import sys\nfrom ert.validate import main\nmain(['--list'])\nprint('numpy' in sys.modules, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stderr.strip() == "False"
