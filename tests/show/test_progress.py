"""Progress: a bar in a terminal, lines elsewhere, and nothing awake between two calls."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest

from ert.show.progress import PLAIN_SECONDS, REDRAW_SECONDS, LiveProgress, PlainProgress, Progress, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def written(stream: io.StringIO) -> str:
    """Return what was written since the last call."""
    text = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return text


def test_a_terminal_gets_a_bar_and_a_pipe_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(progress(Terminal()), LiveProgress)
    assert isinstance(progress(io.StringIO()), PlainProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress(Terminal()), PlainProgress)


def test_standard_error_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as show:
        show.say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


@pytest.mark.parametrize("steps", [7, 10, 300, 1000])
def test_lines_come_each_tenth(steps: int) -> None:
    stream = io.StringIO()
    show: Progress
    with PlainProgress(stream) as show:
        show.start(60.0, steps)
        for done in range(steps + 1):
            show.step(done, f"case {done}", 60.0 * (1 - done / steps))
    lines = stream.getvalue().splitlines()
    assert len(lines) == min(11, steps + 1)
    assert lines[0] == "  0 %  case 0, 60 s left"
    assert lines[-1] == f"100 %  case {steps}, 0 s left"


def test_lines_without_a_total_come_by_the_clock() -> None:
    stream, clock = io.StringIO(), Clock()
    show = PlainProgress(stream, clock)
    for _ in range(100):
        clock.now += PLAIN_SECONDS / 40
        show.step(1, "choosing", -1.0)
    assert stream.getvalue().splitlines() == ["choosing"] * 2
    show.total(10)
    show.step(5, "half", -1.0)
    assert stream.getvalue().splitlines()[2:] == [" 50 %  half"]


def test_steps_beyond_the_total_end_at_the_whole() -> None:
    stream = io.StringIO()
    show = PlainProgress(stream)
    show.total(2)
    show.step(3, "more", 0.0)
    show.step(4, "and more", 0.0)
    assert stream.getvalue() == "100 %  more, 0 s left\n"


@pytest.mark.usefixtures("wide")
def test_the_bar_says_how_far_what_and_how_long() -> None:
    stream, clock = Terminal(), Clock()
    with LiveProgress(stream, clock) as show:
        show.start(60.0, 200)
        assert "60 s left" in written(stream)
        clock.now = 1.0
        show.step(50, "memory L1 [load] 512-bit", 125.0)
        text = written(stream)
        assert "25%" in text
        assert "2 min 5 s left" in text
        assert "memory L1 [load] 512-bit" in text
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back


@pytest.mark.usefixtures("wide")
def test_the_bar_is_drawn_only_when_told_and_not_too_often() -> None:
    stream, clock = Terminal(), Clock()
    threads = threading.active_count()
    with LiveProgress(stream, clock) as show:
        show.total(100)
        show.step(1, "first", 9.0)
        assert threading.active_count() == threads
        written(stream)
        clock.now += REDRAW_SECONDS / 2
        show.step(2, "too soon", 9.0)
        assert written(stream) == ""
        clock.now += REDRAW_SECONDS
        show.step(3, "later", 9.0)
        assert "later" in written(stream)


@pytest.mark.usefixtures("wide")
def test_lines_stand_above_the_bar_and_are_no_markup() -> None:
    stream = Terminal()
    show = LiveProgress(stream)
    show.say("before [b]it[/b]")
    assert written(stream) == "before [b]it[/b]\n"
    show.start(1.0, 10)
    show.say("above [b]it[/b]")
    assert "above [b]it[/b]\n" in written(stream)
    show.stop()
    show.stop()
    written(stream)
    show.say("after")
    assert written(stream) == "after\n"


@pytest.mark.usefixtures("wide")
def test_an_interruption_gives_the_terminal_back() -> None:
    stream = Terminal()

    def interrupted() -> None:
        with LiveProgress(stream) as show:
            show.start(60.0, 10)
            written(stream)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back


def test_rich_is_imported_only_for_a_bar() -> None:
    code = (
        "import io, sys, ert.show.progress as p\nshow = p.progress(io.StringIO())\n"
        "show.total(1)\nshow.step(1, 'x', 0)\n"
        "print('rich' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "False"
