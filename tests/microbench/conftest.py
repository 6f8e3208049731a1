"""Loops compiled once for all tests of the instruments, and a guard against tests that hang."""

from __future__ import annotations

import faulthandler
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from microbench.probes import compute, intensity, irregular, latency, memory, overhead
from microbench.probes.probe import Probe
from microbench.vector import Machinecode, compile_loop

HANGING_SECONDS = 300
"""Far longer than any test takes anywhere; what is not done by then waits for ever."""

_BUILDERS: dict[str, Callable[..., Probe]] = {
    "compute": compute.build,
    "memory": memory.build,
    "intensity": intensity.build,
    "latency": latency.build,
    "gather": irregular.build_gather,
    "stride": irregular.build_stride,
    "overhead": overhead.build_barrier,
}

Compiled = Callable[..., tuple[Probe, Machinecode]]


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    """Print where every thread stands and end the process, instead of waiting for ever."""
    faulthandler.dump_traceback_later(HANGING_SECONDS, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def compiled() -> Compiled:
    """Give a function from the kind of a probe and the arguments of its ``build`` to the probe and its code."""

    @functools.cache
    def build(kind: str, *arguments: Any) -> tuple[Probe, Machinecode]:
        probe = _BUILDERS[kind](*arguments)
        return probe, compile_loop(probe.loop)

    return build
