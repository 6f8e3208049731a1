"""``python -m ert.plot``: figures of stored sweeps, and its errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ert.errors import InputError
from ert.plot import main
from ert.records.store import load, save
from ert.roofline.model import Team
from ert.show.charts import figures
from tests import factories

ARCHIVED = Path(__file__).parent / "data" / "results-v1.json"


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "a sweep é.json"
    shutil.copy(ARCHIVED, path)
    return path


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, object], list[set[str]]]]:
    """Record what is drawn: machines, options, and the teams of each."""
    calls: list[tuple[list[str], dict[str, object], list[set[str]]]] = []
    original = figures.roofline_figure

    def recording(rooflines, **options):  # type: ignore[no-untyped-def]
        teams = [{team.name for team in roofline.teams} for _, roofline in rooflines]
        calls.append(([name for name, _ in rooflines], options, teams))
        return original(rooflines, **options)

    monkeypatch.setattr(figures, "roofline_figure", recording)
    return calls


def test_both_figures_lie_beside_the_result(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(result)]) == 0
    stem = str(result).removesuffix(".json")
    written = [f"{stem}.{kind}.{form}" for kind in ("roofline", "levels") for form in ("png", "svg")]
    assert capsys.readouterr().out.splitlines() == [f"wrote {name}" for name in written]
    assert sorted(path.name for path in result.parent.iterdir()) == sorted(
        [result.name, *(Path(w).name for w in written)]
    )
    assert result.read_bytes() == ARCHIVED.read_bytes()


def test_kernels_are_drawn_of_the_team_and_the_precisions_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The roofs are those of the archived sweep, the kernels are planted under them."""
    swept = load(ARCHIVED)
    team = swept.measurements[0].case.team
    planted = factories.kernel_results(most=20)
    kernels = [
        replace(measurement, case=replace(measurement.case, team=each))
        for measurement in planted.measurements
        for each in (team, Team("other", (7,), 1))
    ]
    path = tmp_path / "a.json"
    save(replace(swept, measurements=(*swept.measurements, *kernels), kernels=planted.kernels), path)

    def written(*options: str) -> list[str]:
        assert main([str(path), *options]) == 0
        return [line.split(".")[-2] for line in capsys.readouterr().out.splitlines() if line.endswith(".svg")]

    assert written()[2:] == ["kernels", "efficiency", "kernels-other"]
    assert written("--team", team.name)[2:] == ["kernels", "efficiency"]
    assert written("--precision", "fp32") == ["roofline", "levels"]
    assert main([str(path), "--precision", "fp32"]) == 0
    assert "no chart of kernels: none ran in fp32; they ran in fp64" in capsys.readouterr().out


def test_a_team_by_itself_keeps_its_name_in_the_names_of_the_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept = load(ARCHIVED)
    team = swept.measurements[0].case.team
    planted = factories.kernel_results(most=4)
    larger = Team("all", (*team.cpus, 97), team.threads + 1)
    kernels = [
        replace(measurement, case=replace(measurement.case, team=each))
        for measurement in planted.measurements
        for each in (team, larger)
    ]
    path = tmp_path / "a.json"
    save(replace(swept, measurements=(*swept.measurements, *kernels), kernels=planted.kernels), path)
    assert main([str(path), "--threads", str(team.threads)]) == 0
    said = capsys.readouterr().out
    assert f"a.kernels-{team.name}.svg" in said
    assert "a.kernels.svg" not in said


def test_one_file_can_be_asked_for(result: Path, tmp_path: Path) -> None:
    file = tmp_path / "chart.pdf"
    assert main([str(result), "-o", str(file)]) == 0
    assert file.read_bytes().startswith(b"%PDF")
    assert len(list(tmp_path.iterdir())) == 2


def test_several_results_are_drawn_over_each_other(
    result: Path, tmp_path: Path, drawn: list[tuple[list[str], dict[str, object], list[set[str]]]]
) -> None:
    other = tmp_path / "other.json"
    document = json.loads(ARCHIVED.read_text())
    document["host"]["cpu_model"] = "Another CPU"
    other.write_text(json.dumps(document))
    same = tmp_path / "same.json"
    shutil.copy(ARCHIVED, same)
    assert main([str(other), str(result)]) == 0
    assert {path.name for path in tmp_path.glob("other.*")} == {"other.json", "other.overlay.png", "other.overlay.svg"}
    assert main([str(same), str(result), "-o", str(tmp_path / "x.svg")]) == 0
    assert drawn[0][0] == ["Another CPU", "AMD EPYC 9R14"]
    # Results of one CPU at one time are told apart by their files.
    assert drawn[1][0] == ["AMD EPYC 9R14, same.json", "AMD EPYC 9R14, a sweep é.json"]
    assert [call[1]["title"] for call in drawn] == ["2 machines", "AMD EPYC 9R14: 2 sweeps"]
    assert [call[1]["partial"] for call in drawn] == [[], []]


def test_sweeps_of_one_machine_are_told_apart_as_shortly_as_can_be(
    result: Path, tmp_path: Path, drawn: list[tuple[list[str], dict[str, object], list[set[str]]]]
) -> None:
    document = json.loads(ARCHIVED.read_text())
    for number, started in enumerate(("2026-11-29T22:46:00Z", "2026-11-29T22:45:59Z")):
        document["started"], document["complete"] = started, False
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    (tmp_path / "folder").mkdir()
    shutil.copy(ARCHIVED, tmp_path / "folder" / result.name)
    first, second, third = tmp_path / "0.json", tmp_path / "1.json", tmp_path / "folder" / result.name
    main([str(result), str(first)])
    main([str(result), str(second)])
    main([str(result), str(third)])
    assert drawn[0][0] == ["AMD EPYC 9R14, 2026-11-29 22:45", "AMD EPYC 9R14, 2026-11-29 22:46"]
    assert drawn[1][0] == ["AMD EPYC 9R14, 2026-11-29 22:45:00", "AMD EPYC 9R14, 2026-11-29 22:45:59"]
    assert drawn[2][0] == [f"AMD EPYC 9R14, {result}", f"AMD EPYC 9R14, {third}"]
    # Interrupted ones are known by their names.
    assert [call[1]["partial"] for call in drawn] == [drawn[0][0][1:], drawn[1][0][1:], []]


@pytest.mark.parametrize("options", [["--team", "one"], ["--threads", "1"]])
def test_a_team_and_precisions_can_be_chosen(
    options: list[str], result: Path, drawn: list[tuple[list[str], dict[str, object], list[set[str]]]]
) -> None:
    assert main([str(result), *options, "--precision", "fp32, fp64"]) == 0
    ((_, given, teams),) = drawn
    assert teams == [{"one"}]
    assert given["precisions"] == ["fp32", "fp64"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threads", "3"], "no team of 3 threads; the result has: one"),
        (["--threads", "0"], "expected a number from 1"),
        (["--team", "P"], "no team 'P'"),
        (["--precision", "fp16"], "no roof in 'fp16'; it has: fp64, fp32"),
        (["--precision", "fp64,"], "names separated by commas"),
        (["-o", "chart.jpg"], r"cannot draw \.jpg"),
        ([str(ARCHIVED.parent / "no such file.json")], "no such file"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_in_a_sentence(options: list[str], words: str, result: Path) -> None:
    with pytest.raises(InputError, match=words):
        main([str(result), *options])
    assert [path.name for path in result.parent.iterdir()] == [result.name]


def test_one_result_named_twice_is_refused(result: Path) -> None:
    with pytest.raises(InputError, match="named twice"):
        main([str(result), str(result)])


def test_the_process_ends_with_2_and_no_traceback(result: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ert.plot", str(result), "-o", str(tmp_path / "no folder" / "a.png")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert len(ended.stderr.splitlines()) == 1


def test_it_runs_without_numba_and_help_without_matplotlib(result: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ert.plot import main\nheavy = {'numba', 'llvmlite', 'matplotlib', 'numpy', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\nmain(sys.argv[1:])\n"
        "print(sorted({'numba', 'llvmlite', 'matplotlib.pyplot', 'scipy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(result), "-o", str(tmp_path / "a.png")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.splitlines()[-1] == "[]"
