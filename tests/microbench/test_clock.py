"""Time inside compiled code."""

from __future__ import annotations

import time
from typing import Any

import pytest
from numba import njit, types

from microbench import isa
from microbench.assembly import Instruction, innermost_loops
from microbench.clock import CHAIN_LINKS, TELLS_RUNNING, chain, monotonic_ns, running_ns


@pytest.fixture(scope="module")
def now() -> Any:
    return njit(types.int64())(lambda: monotonic_ns())


@pytest.fixture(scope="module")
def links() -> Any:
    return njit(types.int64(types.int64))(lambda trips: chain(trips))


def test_the_clock_is_the_monotonic_clock_of_python(now: Any) -> None:
    for _ in range(100):
        before, inside, after = time.monotonic_ns(), now(), time.monotonic_ns()
        assert before <= inside <= after


def test_the_clock_does_not_step_back(now: Any) -> None:
    readings = [now() for _ in range(1000)]
    assert readings == sorted(readings)
    assert len(set(readings)) > 1


@pytest.mark.skipif(not TELLS_RUNNING, reason="this system does not tell how long a thread was on a CPU")
def test_a_thread_that_sleeps_is_on_no_cpu() -> None:
    running = njit(types.int64())(lambda: running_ns())
    for _ in range(10):
        before, inside, after = time.thread_time_ns(), running(), time.thread_time_ns()
        assert before <= inside <= after
    asleep = time.monotonic_ns()
    before = running()
    time.sleep(0.05)
    ran = running() - before
    assert ran < time.monotonic_ns() - asleep - 40_000_000


@pytest.mark.parametrize("trips", [1, 2, 1000])
def test_the_chain_returns_its_sum(links: Any, trips: int) -> None:
    assert links(trips) == trips + CHAIN_LINKS * trips * trips


@pytest.mark.skipif(isa.host().family not in ("x86", "arm"), reason="reads the assembly of x86 and aarch64")
def test_the_chain_is_made_of_additions_that_wait_for_each_other(links: Any) -> None:
    loops = innermost_loops(links.inspect_asm(links.signatures[0]))
    # What Python calls is in the listing too, with jumps of its own.
    loop = max(loops, key=len)
    assert not any("(" in operand or "[" in operand for instruction in loop for operand in instruction.operands)
    additions = [instruction for instruction in loop if is_addition_of_registers(instruction)]
    assert len(additions) == CHAIN_LINKS
    (total,) = {destination(instruction) for instruction in additions}
    assert all(total in sources(instruction) for instruction in additions)
    others = [instruction for instruction in loop if instruction not in additions]
    assert all(destination(instruction) != total for instruction in others)
    assert len(others) <= 3


def is_addition_of_registers(instruction: Instruction) -> bool:
    immediate = any(operand.startswith(("$", "#")) for operand in instruction.operands)
    return instruction.mnemonic in ("add", "addq") and not immediate


def destination(instruction: Instruction) -> str:
    return instruction.operands[-1 if isa.host().family == "x86" else 0]


def sources(instruction: Instruction) -> tuple[str, ...]:
    return instruction.operands if isa.host().family == "x86" else instruction.operands[1:]
