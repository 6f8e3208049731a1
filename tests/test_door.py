"""How commands end: a first interruption is told to them, a second one does not wait for them."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

STUBBORN = """
import threading, time
from ert import door

def main(arguments):
    try:
        print("ready", flush=True)
        threading.Event().wait(60)
    except KeyboardInterrupt:
        # As while compiled code runs, which nothing can interrupt.
        print("waiting", flush=True)
        threading.Event().wait(60)
    return 0

door.run(main)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(signal.SIGINT, signal.SIGINT, 130), (signal.SIGTERM, signal.SIGTERM, 143), (signal.SIGINT, signal.SIGTERM, 143)],
)
def test_a_second_interruption_ends_the_process(first: signal.Signals, second: signal.Signals, code: int) -> None:
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for word, number in (("ready", first), ("waiting", second)):
                assert process.stdout.readline().strip() == word
                process.send_signal(number)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == code
    assert said == "error: interrupted again: ended without waiting\n"
