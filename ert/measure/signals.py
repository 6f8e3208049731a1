"""Signals wait while code is made: an exception inside a callback of LLVM would be swallowed there, or crash it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HELD = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name))


@contextmanager
def signals_held() -> Iterator[None]:
    """Let an interruption that arrives in the block take effect at its end.

    Does nothing outside the main thread, which is the only one that handles signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    before = {number: signal.signal(number, lambda number, frame: arrived.append((number, frame))) for number in HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number, frame in arrived:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
