"""The kernels command: names, sizes, the sweep it builds on, interruptions, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ert import door, kernels, sweep
from ert.errors import InputError
from ert.measure import bench
from ert.measure.bench import TeamError
from ert.measure.turn import turn
from ert.records.journal import recover
from ert.records.store import load, save
from ert.roofline.fitting.fit import fit
from ert.roofline.placing.place import place
from ert.show.charts import figures
from tests.machine import TOOLCHAIN, quiet, synthetic_host
from tests.test_sweep_door import SyntheticBench, interrupt_at

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """Put a synthetic machine in the place of the real one."""

    def install(**planted: Any) -> None:
        monkeypatch.setattr(bench, "Bench", lambda arenas, *_, **__: SyntheticBench(**planted))

    monkeypatch.setattr(bench, "toolchain", lambda: TOOLCHAIN)
    monkeypatch.setattr(bench, "registers", lambda: 32)
    for module in (sweep, kernels):
        monkeypatch.setattr(module, "read_host", synthetic_host)
    quiet(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    install()
    return install


@pytest.fixture
def taken(machine: Machine, capsys: pytest.CaptureFixture[str]) -> Path:
    """A sweep of the roofs alone."""
    assert sweep.main(["--quick", "--no-plot", "--no-kernels"]) == door.FINE
    capsys.readouterr()
    (path,) = Path("results").glob("*/*.json")
    return path


def added(before: Path) -> Path:
    (path,) = set(before.parent.glob("*.json")) - {before}
    return path


def run(*options: str) -> int:
    return kernels.main([*options, "--no-plot"])


def test_kernels_are_placed_under_the_roofs_of_the_newest_sweep(
    taken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    untouched = taken.read_bytes()
    assert run("jacobi_1d") == door.FINE
    said = capsys.readouterr().out
    assert "jacobi_1d" in said
    assert "1 kernel in 16 cases" in said
    assert all(len(line) <= 80 for line in said.splitlines() if "results" not in line and "sweep" not in line)
    results = load(added(taken))
    assert taken.read_bytes() == untouched
    assert results.complete
    assert [kernel.name for kernel in results.kernels] == ["jacobi_1d"]
    placed = place(results, fit(results))
    assert {(p.case.team.threads, p.case.precision, p.level) for p in placed} == {
        (threads, precision, level)
        for threads in (1, 2)
        for precision in ("fp64", "fp32")
        for level in ("L1", "L2", "L3", "DRAM")
    }
    assert "Kernels measured at" in results.notes[-1]


def test_every_roof_of_the_sweep_is_in_the_new_result(taken: Path) -> None:
    run("stencil", "--threads", "1")
    before, after = load(taken), load(added(taken))
    then = {m.case: m for m in before.measurements}
    now = {m.case: m for m in after.measurements}
    assert set(then) <= set(now)
    for case, measurement in then.items():
        assert now[case].samples[: len(measurement.samples)] == measurement.samples


def test_a_roof_is_sampled_again_beside_the_kernels_that_it_applies_to(machine: Machine, taken: Path) -> None:
    # Since the sweep the machine has become faster: without that the kernel would lie above its roof.
    machine(slow=lambda now: 0.5)
    run("jacobi_1d", "--threads", "1", "--precisions", "fp64", "--size", "8000000")
    results = load(added(taken))
    placed = place(results, fit(results))
    assert placed
    assert all(p.efficiency == pytest.approx(0.9, abs=0.01) for p in placed)
    again = [m for m in results.measurements if m.case.probe == "memory" and m.case.level]
    rounds = {m.case.mix: {sample.round for sample in m.samples} for m in again if m.case.team.threads == 1}
    assert max(rounds["copy"]) > max(rounds["load"])


def test_a_roof_that_moves_while_kernels_run_does_not_make_them_look_bad(machine: Machine, taken: Path) -> None:
    # Three times as slow for most of the time, as memory is on some shared machines: whole seconds at a time.
    machine(slow=lambda now: 1.0 if now % 1.0 < 0.2 else 3.0)
    run("jacobi_1d", "--threads", "1", "--precisions", "fp64", "--size", "8000000")
    results = load(added(taken))
    (placed,) = place(results, fit(results))
    assert placed.efficiency == pytest.approx(0.9, abs=0.02)


def test_what_was_measured_before_is_replaced_and_other_kernels_stay(taken: Path) -> None:
    assert sweep.main(["--quick", "--no-plot", "--out", "second"]) == door.FINE
    (path,) = Path("second").glob("*/*.json")
    before = load(path)
    assert before.kernels
    run("jacobi_1d", "--against", str(path))
    after = load(added(path))
    assert {kernel.name for kernel in after.kernels} == {kernel.name for kernel in before.kernels} | {"jacobi_1d"}
    cases = [m.case for m in after.measurements]
    assert len(cases) == len(set(cases))


def test_a_size_and_threads_and_precisions_are_obeyed(taken: Path) -> None:
    run("jacobi_1d", "--size", "1000", "--threads", "all", "--precisions", "fp32")
    results = load(added(taken))
    (case,) = [m.case for m in results.measurements if m.case.probe == "jacobi_1d"]
    assert (dict(case.parameters)["n"], case.team.threads, case.precision, case.level) == (1000, 2, "fp32", "L1")


def test_figures_are_drawn_anew(taken: Path) -> None:
    assert kernels.main(["jacobi_1d", "--size", "1000"]) == door.FINE
    stem = added(taken).stem
    assert (taken.parent / f"{stem}.roofline.png").exists()


def test_the_list_shows_formulas_and_numbers_and_runs_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernels.main(["--list"]) == door.FINE
    said = capsys.readouterr().out
    for spec in kernels.kernels.registry.KERNELS:
        assert f"\n{spec.name}: " in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert kernels.main(["--list", "jacobi_1d", "--size", "1000", "--precisions", "fp32"]) == door.FINE
    said = capsys.readouterr().out
    assert "3·n" in said
    assert "3.00 kFLOP" in said
    assert "fp32, n = 1000" in said
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["jacobi_1e"], "did you mean jacobi_1d"),
        (["--size", "0"], "--size"),
        (["jacobi_1d", "--size", "k=3"], "jacobi_1d has no size k"),
        (["jacobi_1d", "--size", "99999999999"], "may be used"),
        (["--threads", "3"], "--threads: '3'"),
        (["--threads", "none"], "the sweep measured"),
        (["--precisions", "fp16"], "no kernel works in 'fp16'"),
        (["--against", "nowhere.json"], "nowhere.json"),
        (["--max-memory", "many"], "--max-memory: not a size"),
        (["--matrix", "nowhere.mtx"], "nowhere.mtx"),
        (["jacobi_1d", "--matrix", "nowhere.mtx"], "takes no matrix"),
        (["--matrix", "nowhere.mtx", "--size", "5"], "leave out --size"),
        ([""], "empty"),
        (["gemm_naive", "--size", "10000"], "a pass would take about .* --size n="),
        (["jacobi_1d", "--max-memory", "1KiB"], r"of which 1 KiB may be used"),
        (["--list", "--threads", "1"], "leave out --list or --threads"),
        (["--list", "--against", "x.json"], "leave out --list or --against"),
        (["--list", "--max-memory", "1GiB"], "leave out --list or --max-memory"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_leaves_nothing(taken: Path, options: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(*options)
    assert list(taken.parent.iterdir()) == [taken]


def test_without_a_sweep_it_says_how_to_take_one(machine: Machine) -> None:
    with pytest.raises(InputError, match=r"python -m ert\.sweep"):
        run("jacobi_1d")


def test_files_that_are_no_complete_sweep_are_passed_over(taken: Path) -> None:
    (taken.parent / "20990101T000000Z.json").write_text("{}")
    save(replace(load(taken), complete=False), taken.parent / "20980101T000000Z.json")
    assert run("jacobi_1d", "--size", "1000") == door.FINE


def test_a_result_of_another_machine_is_refused(taken: Path) -> None:
    other = load(taken)
    save(replace(other, host=replace(other.host, cpu_model="Other CPU")), Path("other.json"))
    with pytest.raises(InputError, match="another machine"):
        run("jacobi_1d", "--against", "other.json")


def test_a_sweep_without_roofs_is_refused(taken: Path) -> None:
    save(replace(load(taken), measurements=()), Path("empty.json"))
    with pytest.raises(InputError, match="no roofs"):
        run("jacobi_1d", "--against", "empty.json")


def test_an_interruption_keeps_the_kernels_measured_until_then(
    machine: Machine, taken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(on_run=interrupt_at(25))
    with pytest.raises(KeyboardInterrupt):
        run("jacobi_1d", "--threads", "1")
    path = added(taken)
    results = load(path)
    assert any(m.case.probe == "jacobi_1d" and m.samples for m in results.measurements)
    assert {m.case for m in load(taken).measurements} <= {m.case for m in results.measurements}
    assert "interrupted" in results.notes[-1]
    assert str(path) in capsys.readouterr().err
    assert not list(taken.parent.glob("*.jsonl"))


def test_what_a_killed_run_measured_is_kept_by_the_next(
    machine: Machine, taken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that runs at the end of a process has run: the journal is all there is."""
    began = load(taken).started
    machine(on_run=interrupt_at(25))
    monkeypatch.setattr(kernels.Run, "_keep", lambda *parts: None)
    with pytest.raises(KeyboardInterrupt):
        run("jacobi_1d", "--threads", "1", "--size", "1000")
    machine()
    (journal,) = taken.parent.glob("*.journal.jsonl")
    untouched = journal.read_bytes()
    with pytest.raises(InputError, match=r"run of kernels .* `python -m ert\.kernels --against"):
        load(journal)
    with pytest.raises(InputError, match=r"python -m ert\.kernels --against"):
        sweep.main(["--resume", str(journal)])
    held = {m.case for m in recover(journal).measurements if m.case.probe == "jacobi_1d" and m.samples}
    assert held
    assert run("stream_copy", "--threads", "1", "--against", str(journal)) == door.FINE
    results = load(added(taken))
    assert held <= {m.case for m in results.measurements if m.samples}
    assert {kernel.name for kernel in results.kernels} == {"jacobi_1d", "stream_copy"}
    assert results.complete
    assert results.roofs_started == began
    assert any("ended early" in note for note in results.notes)
    assert journal.read_bytes() == untouched


def test_the_times_of_roofs_and_kernels_are_told_apart(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ert import report

    swept = replace(load(taken), started="2026-01-02T03:04:05Z")
    taken.unlink()
    save(swept, taken)
    run("jacobi_1d", "--size", "1000")
    first = added(taken)
    capsys.readouterr()
    report.main([str(first)])
    head = "\n".join(capsys.readouterr().out.splitlines()[:4])
    kernels_at = load(first).started.replace("T", " ").removesuffix("Z")
    assert f"roofs measured 2026-01-02 03:04:05 UTC, kernels {kernels_at} UTC" in head.replace("\n", " ")
    results = load(first)
    assert figures.described(results, fit(results)).startswith("Roofs measured 2026-01-02 03:04 UTC, kernels 20")
    # Kernels that build on kernels have the roofs of the same sweep.
    run("stream_copy", "--size", "4096", "--against", str(first))
    (second,) = set(taken.parent.glob("*.json")) - {taken, first}
    assert load(second).roofs_started == "2026-01-02T03:04:05Z"


def test_a_wish_that_cannot_be_met_does_not_wait_for_another_run(taken: Path, tmp_path: Path) -> None:
    with turn(print, folders=[tmp_path]), pytest.raises(InputError, match="may be used"):
        run("jacobi_1d", "--size", "99999999999")


def test_an_interruption_before_the_first_kernel_leaves_nothing(machine: Machine, taken: Path) -> None:
    machine(on_run=interrupt_at(1))
    with pytest.raises(KeyboardInterrupt):
        run("jacobi_1d")
    assert list(taken.parent.iterdir()) == [taken]


def test_the_condition_of_the_machine_is_added_to_that_of_the_sweep(
    taken: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet(monkeypatch, tmp_path, others=2.0, seconds=0.25)
    run("jacobi_1d", "--size", "1000")
    assert "not fit to be measured now" in capsys.readouterr().err
    assert [condition.others for condition in load(added(taken)).conditions] == [None, 2.0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_kernels_do_not_run_beside_a_sweep_unless_asked_to(
    taken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with turn(print, folders=[tmp_path]):
        assert run("jacobi_1d", "--size", "1000", "--no-wait") == door.FINE
    assert f"Another run (process {os.getpid()}) is measuring" in capsys.readouterr().err
    assert load(added(taken)).conditions[-1].alone is False


def test_a_thread_that_dies_ends_the_run_with_exit_code_1(
    machine: Machine, taken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(number: int) -> None:
        if number == 30:
            raise TeamError("a thread of the team failed")

    machine(on_run=die)
    assert run("jacobi_1d") == door.CHECK_FAILED
    assert "a thread of the team failed" in capsys.readouterr().err


def test_a_wrong_result_is_told_and_stored(machine: Machine, taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine(wrong=lambda case: case.probe == "jacobi_1d")
    assert run("jacobi_1d", "--size", "1000") == door.FINE
    results = load(added(taken))
    assert all("element 3" in m.error for m in results.measurements if m.case.probe == "jacobi_1d")
    assert any("element 3 holds" in note for note in fit(results).notes)
    assert "element 3 holds" in capsys.readouterr().out


def test_help_and_list_start_without_a_compiler(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ert import kernels\nkernels.main(['--list', 'jacobi_1d'])\n"
        "loaded = {'numba', 'llvmlite', 'scipy', 'matplotlib'} & set(sys.modules)\nassert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)


def test_the_public_report_has_the_placements(taken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ert import report

    run("jacobi_1d", "--size", "1000")
    capsys.readouterr()
    assert report.main([str(added(taken)), "--json"]) == door.FINE
    document = json.loads(capsys.readouterr().out)
    assert {entry["kernel"] for entry in document["placements"]} == {"jacobi_1d"}
