"""Runs take turns: with real processes, and without looking at a clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ert.measure import turn as module
from ert.measure.turn import NAME, Turn, is_free, turn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs flock")

HOLDER = """
import sys
from pathlib import Path
from ert.measure.turn import turn
with turn(lambda pid: print("waits for", pid, flush=True), wait={wait}, folders=[Path(sys.argv[1])]) as mine:
    print(mine.alone, mine.waited, flush=True)
    sys.stdin.readline()
"""


def process(folder: Path, *, wait: bool = True) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(wait=wait), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().strip()


def finish(running: subprocess.Popen[str]) -> None:
    running.communicate("\n", timeout=60)


def no_one(pid: int | None) -> None:
    raise AssertionError(f"waits for {pid}")


def test_the_first_is_alone_and_the_next_after_it_too(tmp_path: Path) -> None:
    for _ in range(2):
        with turn(no_one, folders=[tmp_path]) as mine:
            assert mine == Turn(True)
            assert (tmp_path / NAME).read_text() == f"{os.getpid()}\n"
        assert (tmp_path / NAME).read_text() == ""
        assert is_free([tmp_path]) == (True, None)


def test_the_second_says_who_it_waits_for_and_begins_when_that_ends(tmp_path: Path) -> None:
    first = process(tmp_path)
    assert line(first) == "True False"
    second = process(tmp_path)
    assert line(second) == f"waits for {first.pid}"
    assert is_free([tmp_path]) == (False, first.pid)
    assert second.poll() is None
    finish(first)
    assert line(second) == "True True"
    assert is_free([tmp_path]) == (False, second.pid)
    finish(second)
    assert is_free([tmp_path]) == (True, None)


def test_who_does_not_want_to_wait_runs_beside_it(tmp_path: Path) -> None:
    first = process(tmp_path)
    assert line(first) == "True False"
    beside = process(tmp_path, wait=False)
    assert line(beside) == f"waits for {first.pid}"
    assert line(beside) == "False False"
    finish(beside)
    # It neither took the lock away nor wiped out who has it.
    assert is_free([tmp_path]) == (False, first.pid)
    finish(first)


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    first = process(tmp_path)
    assert line(first) == "True False"
    first.kill()
    first.communicate()
    assert (tmp_path / NAME).read_text() == f"{first.pid}\n", "what a killed process leaves behind"
    with turn(no_one, folders=[tmp_path]) as mine:
        assert mine.alone


def test_ctrl_c_leaves_the_wait(tmp_path: Path) -> None:
    first = process(tmp_path)
    assert line(first) == "True False"
    second = process(tmp_path)
    assert line(second).startswith("waits for")
    second.send_signal(signal.SIGINT)
    _, said = second.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert second.returncode != 0
    finish(first)


def test_an_error_in_the_block_ends_the_turn(tmp_path: Path) -> None:
    with pytest.raises(KeyError), turn(no_one, folders=[tmp_path]):
        raise KeyError
    assert is_free([tmp_path]) == (True, None)


def test_a_number_that_is_no_process_is_not_told(tmp_path: Path) -> None:
    import fcntl

    for text in ("", "0\n", "many\n", "99999999999999999\n", f"{2**22 + 1}\n"):
        (tmp_path / NAME).write_text(text)
        with open(tmp_path / NAME) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert is_free([tmp_path]) == (False, None)


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = [tmp_path / "missing", tmp_path / "file", tmp_path]
    with turn(no_one, folders=places) as mine:
        assert mine.alone
    assert (tmp_path / NAME).exists()


def test_without_any_folder_it_is_a_note_and_no_failure(tmp_path: Path) -> None:
    with turn(no_one, folders=[tmp_path / "missing"]) as mine:
        assert mine.alone is None
        assert mine.notes
    assert is_free([tmp_path / "missing"]) == (None, None)


def test_without_locks_it_is_a_note_and_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fcntl", None)
    with turn(no_one, folders=[tmp_path]) as mine:
        assert mine.alone is None
    assert is_free([tmp_path]) == (None, None)


def test_a_file_system_without_locks_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> bool:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(module, "_taken", refuse)
    with turn(no_one, folders=[tmp_path]) as mine:
        assert mine.alone is None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_somebody_else_put_there_is_not_followed(tmp_path: Path, kind: str) -> None:
    aim = tmp_path / "aim"
    aim.write_text("precious")
    if kind == "link":
        (tmp_path / NAME).symlink_to(aim)
    elif kind == "pipe":
        os.mkfifo(tmp_path / NAME)
    else:
        (tmp_path / NAME).mkdir()
    with turn(no_one, folders=[tmp_path]) as mine:
        assert mine.alone is None
    assert aim.read_text() == "precious"


def test_any_user_may_take_the_lock_whatever_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        with turn(no_one, folders=[tmp_path]):
            assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(mask)


def test_folders_of_one_user_alone_are_not_where_others_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.mkdir(mode=0o755)
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr(module, "FOLDERS", (own, shared))
    with turn(no_one) as mine:
        assert mine.alone
    assert (shared / NAME).exists()
    assert not (own / NAME).exists()
