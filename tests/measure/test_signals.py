from __future__ import annotations

import signal
import threading

import pytest

from ert.measure.signals import HELD, signals_held


def test_an_interruption_waits_for_the_end_of_the_block() -> None:
    done = []

    def block() -> None:
        with signals_held():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done


def test_the_handlers_come_back() -> None:
    before = {number: signal.getsignal(number) for number in HELD}
    with signals_held():
        assert signal.getsignal(signal.SIGINT) is not before[signal.SIGINT]
    assert {number: signal.getsignal(number) for number in HELD} == before


def test_an_error_in_the_block_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="inside"), signals_held():
        raise ValueError("inside")


def test_other_threads_pass_through() -> None:
    passed = []

    def work() -> None:
        with signals_held():
            passed.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert passed == [signal.getsignal(signal.SIGINT)]
