"""What all commands share: how they start, and how they end when something is wrong."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn, TextIO

from ert.errors import InputError

FINE, CHECK_FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
"""Exit codes. The last two are 128 plus the number of the signal, as shells report them."""


_PLAIN = "ert-plain"
"""Name of the codec error handler that output goes through: no letter ends a command."""

_NEAREST = {"µ": "u", "μ": "u", "×": "x", "·": "*", "–": "-", "—": "-", "’": "'", "…": "...", "®": "(R)", "™": "(TM)"}


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised in the main thread so that it takes the same way out as Ctrl-C."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose help shows defaults and whose errors exit with 2 (argparse's own habit)."""

    def __init__(self, command: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"python -m ert.{command}" if command else "python -m ert",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )


def run(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run a command with the process's arguments and exit with its code; no traceback reaches a user."""
    _open_streams()
    _catch_signals()
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except InputError as error:
        code = _complain(str(error), BAD_INPUT)
    except Terminated:
        code = _complain("terminated", TERMINATED)
    except KeyboardInterrupt:
        code = _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
        code = FINE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _complain(f"{where}{error.strerror or error}", BAD_INPUT)
    except MemoryError as error:
        code = _complain(str(error) or "out of memory", BAD_INPUT)
    sys.exit(code)


def say(text: str = "") -> None:
    """Print a line; a reader that has left (``| head``) must not end a measurement."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _to_nowhere(sys.stdout)


def complain(text: str) -> None:
    """Print a line to standard error, with the same patience."""
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        _to_nowhere(sys.stderr)


def _to_nowhere(stream: TextIO) -> None:
    """Let what is buffered and what is still written to a broken stream vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Give a process that was started with closed output (``>&-``) somewhere to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=_PLAIN)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding does not have as the nearest letters of ASCII (a handler of codecs)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_NEAREST.get(letter, "?") for letter in text), error.end


codecs.register_error(_PLAIN, _plain)


def _complain(sentence: str, code: int) -> int:
    complain(f"error: {sentence}")
    return code


def _catch_signals() -> None:
    """Let Ctrl-C and SIGTERM raise in the main thread, and a second of them end the process at once.

    The first one waits for compiled code, which may run for long and cannot be interrupted.
    """
    raised: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        terminated = number != signal.SIGINT
        if raised:
            complain("error: interrupted again: ended without waiting")
            os._exit(TERMINATED if terminated else INTERRUPTED)
        raised.append(number)
        raise Terminated if terminated else KeyboardInterrupt

    # Whoever starts a process with Ctrl-C ignored (a shell, in the background) wants it ignored.
    for number in (getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)):
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
