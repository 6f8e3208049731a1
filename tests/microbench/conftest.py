"""Loops compiled once for all tests of the instruments, and a guard against tests that hang."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
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


@pytest.fixture(scope="session")
def terminal(pytestconfig: pytest.Config) -> Iterator[int]:
    """Give a descriptor of the stderr that is not captured."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        descriptor = os.dup(2)
    yield descriptor
    os.close(descriptor)


@pytest.fixture(autouse=True)
def _no_test_hangs(terminal: int) -> Iterator[None]:
    """Print where every thread stands and end the process, instead of waiting for ever."""
    faulthandler.dump_traceback_later(HANGING_SECONDS, exit=True, file=terminal)
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
