"""Progress: how far a sweep is. Drawn only when it is told something, so that nothing is awake during a sample."""

from __future__ import annotations

import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from ert.show import units

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PLAIN_LINES = 10
"""Plain lines of a whole sweep, after the first: they tell enough in a log."""

PLAIN_SECONDS = 10.0
"""Between two plain lines while the number of steps is not known."""

REDRAW_SECONDS = 0.1
"""Between two drawings of the bar: more often cannot be read, and drawing takes time from the sweep."""


class Progress(Protocol):
    """Hears how far a sweep is; a context manager that stops at its end."""

    def start(self, total_seconds_estimate: float, total_steps: int) -> None:
        """Begin. Both numbers may be 0 for unknown."""

    def total(self, steps: int) -> None:
        """Set the number of steps, once it is known."""

    def step(self, done: int, what: str, seconds_left: float) -> None:
        """Tell that `done` steps are over and `what` comes next; `seconds_left` below 0 is unknown."""

    def say(self, line: str) -> None:
        """Print a line above the bar."""

    def stop(self) -> None:
        """End; what was drawn last stays."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""


def progress(stream: TextIO | None = None) -> Progress:
    """Return a live bar where `stream` (default: standard error) is a terminal, else what prints occasional lines."""
    stream = sys.stderr if stream is None else stream
    live = stream.isatty() and os.environ.get("TERM", "") != "dumb"
    return LiveProgress(stream) if live else PlainProgress(stream)


class _Stopping(ABC):
    """What both kinds share: the end of a ``with`` block stops them."""

    @abstractmethod
    def stop(self) -> None:
        """End what is shown."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class PlainProgress(_Stopping):
    """A line each time that another tenth is done, for logs and pipes.

    Parameters
    ----------
    stream : TextIO
        Where the lines go.
    clock : callable
        Returns seconds; monotonic.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._total = 0
        self._next = 0
        self._said = clock()

    def start(self, total_seconds_estimate: float, total_steps: int) -> None:
        """Begin; see :class:`Progress`."""
        self.total(total_steps)

    def total(self, steps: int) -> None:
        """Set the number of steps."""
        self._total = steps

    def step(self, done: int, what: str, seconds_left: float) -> None:
        """Print a line if another tenth is done since the last one, or some time has passed where that is unknown."""
        if self._total <= 0:
            if self._clock() - self._said >= PLAIN_SECONDS:
                self._tell(what, seconds_left)
            return
        share = min(1.0, done / self._total)
        reached = math.floor(share * PLAIN_LINES + 1e-9)  # 3 of 10 is the third tenth, whatever 0.3 is in binary
        if reached >= self._next:
            self._next = reached + 1
            self._tell(f"{100 * share:3.0f} %  {what}", seconds_left)

    def _tell(self, text: str, seconds_left: float) -> None:
        self._said = self._clock()
        left = _left(seconds_left)
        self.say(f"{text}, {left}" if left else text)

    def say(self, line: str) -> None:
        """Print a line."""
        try:
            print(line, file=self._stream, flush=True)
        except BrokenPipeError:
            # Whoever read the lines has left; the sweep goes on.
            self._stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open to the end

    def stop(self) -> None:
        """Do nothing: every line is printed already."""


class LiveProgress(_Stopping):
    """A bar in a terminal with the time left. It has no thread of its own.

    Parameters
    ----------
    stream : TextIO
        The terminal.
    clock : callable
        Returns seconds; monotonic.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._bar: Bar | None = None
        self._drawn = -REDRAW_SECONDS

    def start(self, total_seconds_estimate: float, total_steps: int) -> None:
        """Show the bar."""
        bar = self._shown()
        bar.update(bar.task_ids[0], total=total_steps or None, left=_left(total_seconds_estimate or -1.0))
        bar.refresh()

    def total(self, steps: int) -> None:
        """Set the number of steps; drawn with the next one."""
        bar = self._shown()
        bar.update(bar.task_ids[0], total=steps or None)

    def step(self, done: int, what: str, seconds_left: float) -> None:
        """Draw the bar, unless it was drawn just now."""
        bar = self._shown()
        bar.update(bar.task_ids[0], completed=done, description=what, left=_left(seconds_left))
        now = self._clock()
        if now - self._drawn >= REDRAW_SECONDS:
            self._drawn = now
            bar.refresh()

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            print(line, file=self._stream, flush=True)
            return
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Take the bar off the screen, so that a summary can follow."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _shown(self) -> Bar:
        """Return the bar, made when it is first needed."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            self._bar = Bar(
                BarColumn(bar_width=16),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]}", markup=False, table_column=Column(no_wrap=True)),
                TextColumn(
                    "{task.description}", markup=False,
                    table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
                ),
                console=Console(file=self._stream, force_terminal=True),
                auto_refresh=False,  # rich would draw from a thread, in the middle of samples
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                expand=True,
            )  # fmt: skip
            self._bar.add_task("", total=None, left="")
            self._bar.start()
        return self._bar


def _left(seconds: float) -> str:
    """Say how much time is left, in whole seconds; nothing if it is not known."""
    return f"{units.whole_seconds(seconds)} left" if seconds >= 0 else ""
