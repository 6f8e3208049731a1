"""Time inside compiled code: the monotonic clock, the time that a thread ran, and the core clock of the CPU.

The core clock is found from a chain of additions of one register to another, each waiting for the one before. An
integer addition takes one cycle on every core this can run on, so links / seconds is the clock frequency. The addend is
a register because recent Intel cores resolve additions of a constant at rename, without spending a cycle
(https://www.uops.info, Golden Cove, ``ADD R64, I8``).
"""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CHAIN_LINKS = 64
"""Additions in one trip of the clock chain; the loop around them runs beside the chain and adds nothing to it."""

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)


def _constant(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


def _system_clock() -> tuple[int, int]:
    """Return the address of the clock function and the nanoseconds of one unit it counts in, in 1/2**20."""
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32")
        frequency = ctypes.c_int64()
        kernel.QueryPerformanceFrequency(ctypes.byref(frequency))
        address = ctypes.cast(kernel.QueryPerformanceCounter, ctypes.c_void_p).value
        return int(address or 0), round(1e9 / frequency.value * 2**20)
    libc = ctypes.CDLL(None)
    return int(ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value or 0), 0


_ADDRESS, _UNIT = _system_clock()


@intrinsic  # type: ignore[untyped-decorator]
def monotonic_ns(typingctx: Any) -> Any:
    """Nanoseconds of the monotonic clock, as ``time.monotonic_ns`` counts them."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        if not _UNIT:
            return _read(builder, time.CLOCK_MONOTONIC)
        ticks = cgutils.alloca_once(builder, _I64)
        signature_type = ir.FunctionType(_I32, [ir.PointerType()])
        builder.call(builder.inttoptr(_constant(_ADDRESS), signature_type.as_pointer()), [ticks])
        return builder.lshr(builder.mul(builder.load(ticks, typ=_I64), _constant(_UNIT)), _constant(20))

    return types.int64(), codegen


TELLS_RUNNING = hasattr(time, "CLOCK_THREAD_CPUTIME_ID") and not _UNIT
"""Whether the system tells how long a thread has been on a CPU."""


@intrinsic  # type: ignore[untyped-decorator]
def running_ns(typingctx: Any) -> Any:
    """Nanoseconds that the calling thread has been on a CPU; 0 where the system does not tell."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _read(builder, time.CLOCK_THREAD_CPUTIME_ID) if TELLS_RUNNING else _constant(0)

    return types.int64(), codegen


def _read(builder: ir.IRBuilder, clock: int) -> Any:
    """Read a clock of the system."""
    # In the entry block: taken where the call stands, it would grow the stack with every turn of a loop round it.
    pair = cgutils.alloca_once(builder, ir.ArrayType(_I64, 2))
    signature_type = ir.FunctionType(_I32, [_I32, ir.PointerType()])
    function = builder.inttoptr(_constant(_ADDRESS), signature_type.as_pointer())
    builder.call(function, [ir.Constant(_I32, clock), pair])
    seconds = builder.load(pair, typ=_I64)
    nanoseconds = builder.load(builder.gep(pair, [_constant(1)], source_etype=_I64), typ=_I64)
    return builder.add(builder.mul(seconds, _constant(1_000_000_000)), nanoseconds)


def now_ns() -> int:
    """Return what :func:`monotonic_ns` reads at this moment, for code that is not compiled."""
    return time.perf_counter_ns() if _UNIT else time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@intrinsic  # type: ignore[untyped-decorator]
def chain(typingctx: Any, trips: Any) -> Any:
    """Do ``CHAIN_LINKS * trips`` additions, each of which needs the sum before; returns the sum."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        (trips,) = args
        entry = builder.block
        body, done = builder.append_basic_block("chain"), builder.append_basic_block("chain.done")
        builder.branch(body)
        builder.position_at_end(body)
        left, total = builder.phi(_I64), builder.phi(_I64)
        left.add_incoming(trips, entry)
        total.add_incoming(trips, entry)
        link = total
        for _ in range(CHAIN_LINKS):
            link = opaque(builder, builder.add(link, trips))
        rest = builder.sub(left, _constant(1))
        left.add_incoming(rest, body)
        total.add_incoming(link, body)
        builder.cbranch(builder.icmp_unsigned("!=", rest, _constant(0)), body, done)
        builder.position_at_end(done)
        return link

    return types.int64(trips), codegen


def opaque(builder: ir.IRBuilder, value: Any) -> Any:
    """Return `value` (an integer) through an empty inline assembly, so that LLVM cannot see what it is."""
    function = ir.FunctionType(value.type, [value.type])
    return builder.asm(function, "", "=r,0", [value], True)
