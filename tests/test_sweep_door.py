"""The sweep command: options, faults, interruptions and what it leaves behind, on a synthetic machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ert import door, sweep
from ert.errors import InputError
from ert.measure import bench
from ert.measure.bench import TeamError
from ert.records.journal import recover
from ert.records.report import report
from ert.records.store import load
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Condition, Host, Node, Results
from tests.machine import TOOLCHAIN, SyntheticMachine, quiet, synthetic_host

MIB, GIB = 1 << 20, 1 << 30
REPOSITORY = Path(__file__).parents[1]


class SyntheticBench(SyntheticMachine):
    """A synthetic machine with what the door asks of the real bench."""

    registers, fma, pinned = 32, True, True
    compiling = measuring = 0.0

    def __enter__(self) -> SyntheticBench:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def notes(self) -> tuple[str, ...]:
        return ("a note of the bench",)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[dict[int, int]]]:
    """Put a synthetic machine and host in the place of the real ones; returns the list of arenas asked for."""

    def install(host: Host | None = None, **planted: Any) -> list[dict[int, int]]:
        arenas: list[dict[int, int]] = []

        def make(sizes: dict[int, int], pools: object, kinds: object) -> SyntheticBench:
            arenas.append(sizes)
            return SyntheticBench(**planted)

        monkeypatch.setattr(bench, "Bench", make)
        monkeypatch.setattr(bench, "toolchain", lambda: TOOLCHAIN)
        monkeypatch.setattr(sweep, "read_host", lambda: host or synthetic_host())
        quiet(monkeypatch, tmp_path)
        monkeypatch.chdir(tmp_path)
        return arenas

    return install


def run(*options: str) -> int:
    return sweep.main(["--quick", "--no-plot", *options])


def interrupt_at(run: int) -> Callable[[int], None]:
    """Ctrl-C in that run of the instrument."""

    def interrupt(number: int) -> None:
        if number == run:
            raise KeyboardInterrupt

    return interrupt


def only_result(folder: Path = Path("results")) -> Results:
    (path,) = folder.glob("*/*.json")
    return load(path)


def test_a_sweep_prints_its_summary_and_leaves_result_and_figures(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    machine()
    assert sweep.main(["--quick"]) == door.FINE
    (folder,) = Path("results").iterdir()
    assert folder.name == "synthetic-2c"
    suffixes = sorted(path.name.split(".", 1)[1] for path in folder.iterdir())
    charts = ("efficiency", "kernels", "latency", "levels", "roofline")
    assert suffixes == sorted(["json", *(f"{chart}.{kind}" for chart in charts for kind in ("png", "svg"))])
    said = capsys.readouterr().out
    assert "Synthetic CPU" in said
    assert "fp64 fma" in said
    assert str(folder) in said
    assert all(len(line) <= 80 for line in said.splitlines() if "results" not in line)


def test_the_name_of_the_host_is_nowhere(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "secret-name")
    machine()
    run()
    (path,) = Path("results").glob("*/*.json")
    assert "secret-name" not in path.read_text() + capsys.readouterr().out + str(path)


def test_options_are_stored_with_the_result(machine: Callable[..., object]) -> None:
    machine()
    run("--threads", "1", "--precisions", "fp32", "--cpus", "1", "--seed", "5", "--max-memory", "256MiB", "--out", "o")
    results = only_result(Path("o"))
    stored = dict(results.settings)
    assert stored["threads"] == "1"
    assert stored["precisions"] == "fp32"
    assert stored["seed"] == 5
    assert stored["max_memory"] == 256 * MIB
    assert {m.case.team.cpus for m in results.measurements} == {(1,)}
    assert {m.case.precision for m in results.measurements} - {""} == {"fp32"}
    assert results.notes[-1] == "a note of the bench"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threads", "3"], "do not fit the 2 CPUs"),
        (["--threads", "none"], "neither a number"),
        (["--precisions", "fp63"], "unknown precision 'fp63'"),
        (["--cpus", "7"], "CPU 7 cannot be used"),
        (["--cpus", "3-1"], "--cpus"),
        (["--cpus", ""], "--cpus"),
        (["--max-memory", "lots"], "--max-memory"),
        (["--max-memory", "4KiB"], "too little"),
        (["--max-memory", ""], "--max-memory"),
        (["--max-memory", "99999999999999999999"], "--max-memory"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "9223372036854775808"], "--seed"),
        (["--resume", "nowhere.json"], "nowhere.json"),
        (["--resume", "nowhere.json", "--seed", "3"], "leave out --seed"),
    ],
)
def test_bad_options_end_in_a_sentence_before_anything_is_measured(
    machine: Callable[..., list[dict[int, int]]], options: list[str], words: str
) -> None:
    arenas = machine()
    with pytest.raises(InputError) as complaint:
        sweep.main(options)
    assert words in str(complaint.value)
    assert "\n" not in str(complaint.value)
    assert arenas == []


def test_a_folder_that_cannot_be_written_is_found_out_first(machine: Callable[..., list[dict[int, int]]]) -> None:
    arenas = machine()
    Path("file").write_text("in the way")
    with pytest.raises(InputError, match="file"):
        run("--out", "file/results")
    assert arenas == []


def test_paths_with_spaces_and_letters_of_all_kinds(machine: Callable[..., object]) -> None:
    machine()
    assert run("--out", "été 測定/ résultats") == door.FINE
    assert only_result(Path("été 測定/ résultats")).complete


def test_one_usable_cpu_that_is_not_the_first(machine: Callable[..., object]) -> None:
    host = synthetic_host(4)
    host = replace(host, cpus=tuple(replace(cpu, usable=cpu.id == 3) for cpu in host.cpus))
    machine(host)
    assert run() == door.FINE
    assert {m.case.team.cpus for m in only_result().measurements} == {(3,)}


def test_a_memory_limit_makes_a_smaller_measurement_with_a_note(
    machine: Callable[..., list[dict[int, int]]],
) -> None:
    host = synthetic_host()
    large = tuple(replace(cache, size=8 * cache.size) if cache.level == "L3" else cache for cache in host.caches)
    arenas = machine(replace(host, caches=large, memory_limit=256 * MIB))
    assert run() == door.FINE
    results = only_result()
    assert sum(arenas[0].values()) <= 256 * MIB
    assert any("because" in note and "memory" in note for note in results.notes)
    assert max(m.case.working_set for m in results.measurements) < 4 * 128 * MIB


@pytest.mark.parametrize("limit", [None, 512 * MIB], ids=["larger than the memory", "larger than the limit"])
def test_a_last_cache_that_memory_cannot_leave_behind(
    machine: Callable[..., list[dict[int, int]]], limit: int | None
) -> None:
    host = synthetic_host()
    caches = tuple(replace(cache, size=32 << 30) if cache.level == "L3" else cache for cache in host.caches)
    arenas = machine(replace(host, caches=caches, memory_limit=limit))
    assert run() == door.FINE
    assert sum(arenas[0].values()) < (limit or host.memory_available)
    results = only_result()
    assert any("the last level may contain hits in the one before" in note for note in results.notes)
    assert {"L1", "L2"} <= {roof.level for roof in fit(results).memory if roof.headline}


def test_a_memory_limit_too_small_for_python_itself_is_refused(machine: Callable[..., list[dict[int, int]]]) -> None:
    arenas = machine(replace(synthetic_host(), memory_limit=96 * MIB))
    with pytest.raises(InputError, match="96 MiB of memory"):
        run()
    assert arenas == []


def test_kinds_siblings_and_nodes_are_measured_and_told(
    machine: Callable[..., list[dict[int, int]]], capsys: pytest.CaptureFixture[str]
) -> None:
    host = synthetic_host(4, siblings=2)
    host = replace(
        host,
        cpus=tuple(replace(cpu, kind="P" if cpu.core < 2 else "E", node=cpu.core % 2) for cpu in host.cpus),
        kinds=("P", "E"),
        nodes=(Node(0, (0, 2, 4, 6), 8 << 30), Node(1, (1, 3, 5, 7), 8 << 30)),
    )
    machine(host)
    assert sweep.main(["--quick", "--precisions", "fp64"]) == door.FINE
    said = capsys.readouterr().out
    assert "Teams side by side" in said
    assert "Bandwidth between NUMA nodes" in said
    assert "then the roofs of" in said
    assert all(len(line) <= 80 for line in said.splitlines() if "results" not in line)
    results = only_result()
    assert {m.case.team.name for m in results.measurements} >= {
        "one", "all", "one E", "all P", "all E", "SMT", "node 0, memory 1", "node 1, memory 1",
    }  # fmt: skip
    assert dict(results.settings)["binding"] == "spread"
    assert any("fast cores wait for slow ones" in note for note in results.notes)
    assert any(path.name.endswith(".numa.png") for path in Path("results").glob("*/*"))
    # Kernels run on one thread a core of the whole machine, as on any other.
    kernels = {kernel.name for kernel in results.kernels}
    assert {m.case.team.name for m in results.measurements if m.case.probe in kernels} == {"all"}
    assert sorted(entry.rate.best for entry in fit(results).numa) == pytest.approx([2 * 20e9] * 4)


def test_threads_that_are_named_are_all_that_is_measured(machine: Callable[..., object]) -> None:
    machine(synthetic_host(4, siblings=2))
    run("--threads", "1,2", "--bind", "close", "--precisions", "fp64")
    teams = {m.case.team.name: m.case.team.cpus for m in only_result().measurements}
    assert teams["2"] == (1, 2)
    assert "SMT" not in teams


def test_a_sweep_from_before_there_was_a_choice_goes_on_in_its_order(machine: Callable[..., object]) -> None:
    machine(synthetic_host(4), on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run("--threads", "1,all")
    (path,) = Path("results").glob("*/*.json")
    document = json.loads(path.read_text())
    del document["settings"]["binding"]
    for team in document["teams"]:
        team["cpus"] = sorted({1: 0, 2: 1, 3: 2, 0: 3}[cpu] for cpu in team["cpus"])
    path.write_text(json.dumps(document))
    machine(synthetic_host(4))
    assert sweep.main(["--no-plot", "--resume", str(path)]) == door.FINE
    (complete,) = (result for result in map(load, Path("results").glob("*/*.json")) if result.complete)
    assert {m.case.team.cpus[0] for m in complete.measurements} == {0}


def test_too_little_memory_for_an_extra_team_is_told(machine: Callable[..., object]) -> None:
    machine(replace(synthetic_host(2, siblings=2), memory_limit=512 * MIB))
    run("--max-memory", "64MiB")
    results = only_result()
    assert "SMT" not in {m.case.team.name for m in results.measurements}
    assert any("little memory" in note and "roofs with 4 threads on 2 cores (SMT)" in note for note in results.notes)


def test_a_quota_below_the_threads_is_explained(machine: Callable[..., object]) -> None:
    machine(replace(synthetic_host(), cpu_quota=0.5))
    run()
    results = only_result()
    assert any("0.5 CPUs" in note and "two speeds" in note for note in results.notes)
    roofline = fit(results)
    assert {roof.rate.grade for roof in (*roofline.compute, *roofline.memory)} == {"D"}


def test_a_quota_that_leaves_room_costs_no_grade(machine: Callable[..., object]) -> None:
    machine(replace(synthetic_host(), cpu_quota=1.5))
    run()
    grades = {(roof.team.threads, roof.rate.grade) for roof in fit(only_result()).memory}
    assert {grade for threads, grade in grades if threads == 1} == {"A"}
    assert {grade for threads, grade in grades if threads == 2} == {"D"}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, door.Terminated])
def test_an_interruption_keeps_what_was_measured_and_says_where(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str], stop: type[BaseException]
) -> None:
    def interrupt(number: int) -> None:
        if number == 500:
            raise stop

    machine(on_run=interrupt)
    with pytest.raises(stop):
        run()
    partial = only_result()
    assert not partial.complete
    assert any(m.samples for m in partial.measurements)
    (path,) = Path("results").glob("*/*.json")
    said = capsys.readouterr().err
    assert str(path) in said
    assert "--resume" in said
    assert not list(Path("results").glob("*/*.jsonl"))

    machine()
    assert sweep.main(["--no-plot", "--resume", str(path)]) == door.FINE
    complete = [result for result in map(load, Path("results").glob("*/*.json")) if result.complete]
    assert len(complete) == 1
    assert any(partial.started in note for note in complete[0].notes)
    assert complete[0].seconds.total >= partial.seconds.total
    assert dict(complete[0].settings)["effort"] == "quick"
    assert path.exists()
    assert not load(path).complete
    assert any(roof.headline for roof in fit(complete[0]).memory)


def test_a_second_interruption_loses_nothing_of_the_first(machine: Callable[..., object]) -> None:
    machine(on_run=interrupt_at(900))
    with pytest.raises(KeyboardInterrupt):
        run()
    (first,) = Path("results").glob("*/*.json")
    machine(on_run=interrupt_at(1))
    with pytest.raises(KeyboardInterrupt):
        sweep.main(["--no-plot", "--resume", str(first)])
    (second,) = set(Path("results").glob("*/*.json")) - {first}
    before = {(m.case, s) for m in load(first).measurements for s in m.samples}
    after = {(m.case, s) for m in load(second).measurements for s in m.samples}
    assert before == after


def test_an_interruption_before_the_first_sample_leaves_no_files(machine: Callable[..., object]) -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    machine(on_run=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert [path for path in Path("results").rglob("*") if path.is_file()] == []


def test_a_thread_that_dies_ends_in_a_sentence_and_a_partial_result(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    def die(number: int) -> None:
        if number == 400:
            raise TeamError("a thread of the team died")

    machine(on_run=die)
    assert run() == door.CHECK_FAILED
    assert "a thread of the team died" in capsys.readouterr().err
    assert not only_result().complete


def test_a_result_that_cannot_be_written_leaves_the_journal(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(results: Results, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sweep, "save", full)
    machine(on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run()
    (journal,) = Path("results").glob("*/*.jsonl")
    assert str(journal) in capsys.readouterr().err
    assert any(m.samples for m in recover(journal).measurements)


def test_a_journal_can_be_resumed_as_well(machine: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = sweep.save

    def full(results: Results, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sweep, "save", full)
    machine(on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run()
    (journal,) = Path("results").glob("*/*.jsonl")
    monkeypatch.setattr(sweep, "save", kept)
    machine()
    assert sweep.main(["--no-plot", "--resume", str(journal)]) == door.FINE
    assert only_result().complete


def test_a_complete_result_is_not_resumed(machine: Callable[..., object]) -> None:
    machine()
    run()
    (path,) = Path("results").glob("*/*.json")
    with pytest.raises(InputError, match="complete"):
        sweep.main(["--resume", str(path)])


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (replace(synthetic_host(), cpu_model="Another CPU"), "another machine"),
        (replace(synthetic_host(4), caches=synthetic_host().caches), "other CPUs"),
    ],
)
def test_a_result_of_another_machine_is_not_resumed(machine: Callable[..., object], host: Host, words: str) -> None:
    machine(on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run()
    (path,) = Path("results").glob("*/*.json")
    machine(host)
    with pytest.raises(InputError, match=words):
        sweep.main(["--no-plot", "--resume", str(path)])


def test_two_sweeps_never_take_each_others_names(machine: Callable[..., object]) -> None:
    machine()
    run()
    run()
    assert len(list(Path("results").glob("*/*.json"))) == 2


def test_a_resumed_sweep_ends_beside_the_one_that_was_begun(machine: Callable[..., object]) -> None:
    machine(on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run("--out", "elsewhere")
    (path,) = Path("elsewhere").glob("*/*.json")
    machine()
    assert sweep.main(["--no-plot", "--resume", str(path)]) == door.FINE
    assert len(list(path.parent.glob("*.json"))) == 2
    assert not Path("results").exists()


def test_a_reader_that_leaves_does_not_end_the_sweep(
    machine: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    machine()
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run() == door.FINE
        monkeypatch.undo()
    assert len(list(tmp_path.glob("results/*/*.json"))) == 1


# --------------------------------------------------------------------------------- the machine and other runs


def test_what_the_machine_was_doing_is_stored_and_reported(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    machine()
    run()
    assert "doctor" not in capsys.readouterr().err, "nothing to warn of"
    results = only_result()
    assert results.conditions == (Condition("2026-11-29T22:45:00Z", alone=True),)
    (condition,) = report(results, fit(results))["conditions"]
    assert condition["alone"] is True
    assert {check["verdict"] for check in condition["checks"]} == {"fine"}


def test_a_machine_that_is_not_fit_is_warned_of_and_measured(
    machine: Callable[..., object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    machine(replace(synthetic_host(), hypervisor="KVM"))
    quiet(monkeypatch, tmp_path, others=1.5, seconds=0.25)
    assert run() == door.FINE
    said = " ".join(capsys.readouterr().err.split())
    assert "not fit to be measured now: other processes use 1.50 of 2 CPUs." in said
    assert "Also not ideal: hypervisor. `python -m ert.doctor` says what to do." in said
    assert only_result().conditions[0].others == 1.5


def test_a_resumed_sweep_has_the_conditions_of_both_runs(
    machine: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine(on_run=interrupt_at(500))
    with pytest.raises(KeyboardInterrupt):
        run()
    (path,) = Path("results").glob("*/*.json")
    machine()
    quiet(monkeypatch, tmp_path, load=0.5)
    assert sweep.main(["--no-plot", "--resume", str(path)]) == door.FINE
    (after,) = set(Path("results").glob("*/*.json")) - {path}
    assert [condition.load for condition in load(after).conditions] == [None, 0.5]


def test_without_a_lock_the_result_says_so(
    machine: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine()
    quiet(monkeypatch, tmp_path / "missing")
    assert run() == door.FINE
    results = only_result()
    assert results.conditions[0].alone is None
    assert any("lock" in note for note in results.notes)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that measures, until it is told to end."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom ert.measure.turn import turn\n"
        f"with turn(print, folders=[Path({str(tmp_path)!r})]):\n    print('measuring', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "measuring\n"
    yield running
    if running.poll() is None:
        running.communicate("\n", timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_a_second_sweep_says_for_whom_it_waits_looks_anew_and_measures(
    machine: Callable[..., object], monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str]
) -> None:
    said: list[str] = []
    hosts = iter([replace(synthetic_host(), memory_available=GIB), synthetic_host()])

    def complain(text: str) -> None:
        said.append(text)
        if "waiting" in text:
            assert not list(Path("results").glob("*/*")), "nothing is measured yet"
            other.communicate("\n", timeout=60)

    machine()
    monkeypatch.setattr(sweep, "read_host", lambda: next(hosts))
    monkeypatch.setattr(door, "complain", complain)
    assert run() == door.FINE
    assert f"Another run (process {other.pid}) is measuring on this machine: waiting" in said[0]
    results = only_result()
    assert results.conditions[0].alone is True
    assert results.host == synthetic_host()


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_who_does_not_wait_measures_beside_the_other_and_stores_that(
    machine: Callable[..., object], capsys: pytest.CaptureFixture[str], other: subprocess.Popen[str]
) -> None:
    machine()
    assert run("--no-wait") == door.FINE
    said = " ".join(capsys.readouterr().err.split())
    assert f"Another run (process {other.pid}) is measuring on this machine: each disturbs the other." in said
    assert "not fit to be measured now: another run of this tool is measuring" in said
    assert only_result().conditions[0].alone is False


def test_bad_input_does_not_wait(machine: Callable[..., object], other: subprocess.Popen[str]) -> None:
    machine()
    with pytest.raises(InputError, match="do not fit the 2 CPUs"):
        run("--threads", "3")


# ------------------------------------------------------------------------------------------ the real command


def command(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ert.sweep", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def test_help_names_every_option_and_does_not_import_numba() -> None:
    script = "import sys; from ert import sweep\ntry: sweep.main(['--help'])\nexcept SystemExit: pass\n"
    script += "assert 'numba' not in sys.modules and 'matplotlib' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for option in (
        "quick",
        "thorough",
        "threads",
        "precisions",
        "cpus",
        "out",
        "no-plot",
        "seed",
        "max-memory",
        "no-wait",
        "resume",
    ):
        assert f"--{option}" in done.stdout
    assert "default" in done.stdout


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no CPU affinity")
def test_the_real_machine_is_measured_also_without_a_home_that_can_be_written(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    options = ["--quick", "--threads", "1", "--precisions", "fp64", "--cpus", str(cpu), "--max-memory", "32MiB"]
    done = subprocess.run(
        [sys.executable, "-m", "ert.sweep", *options, "--out", str(tmp_path), "--no-plot"],
        env={**os.environ, "HOME": "/proc/nobody", "XDG_CACHE_HOME": "/proc/nobody", "NUMBA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*/*.json")
    results = load(path)
    assert results.complete
    names = {kernel.name for kernel in results.kernels}
    roofs, kernels = (
        [m for m in results.measurements if (m.case.probe in names) == wanted] for wanted in (False, True)
    )
    assert all(m.code.verified for m in roofs), [m.code for m in roofs]
    assert kernels
    assert all(m.code.status in ("verified", "compiled", "library") for m in kernels), [m.code for m in kernels]
    assert not [m.error for m in results.measurements if m.error]
    assert not any(m.error for m in results.measurements), [m.error for m in results.measurements if m.error]
    assert {m.case.team.cpus for m in results.measurements} == {(cpu,)}
    assert json.loads(path.read_text())["schema"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_the_real_command_with_their_code(tmp_path: Path, number: signal.Signals, code: int) -> None:
    sweeping = command("--threads", "1", "--max-memory", "32MiB", "--out", str(tmp_path), "--no-plot")
    try:
        # The announcement comes first; the journal's first samples mean that measuring is under way.
        while sweeping.poll() is None:
            journals = list(tmp_path.glob("*/*.jsonl"))
            if journals and '"sample"' in journals[0].read_text():
                break
        sweeping.send_signal(number)
        _, said = sweeping.communicate(timeout=120)
    finally:
        sweeping.kill()
    assert sweeping.returncode == code
    assert "Traceback" not in said
    (path,) = tmp_path.glob("*/*.json")
    assert str(path) in said
    assert not load(path).complete
