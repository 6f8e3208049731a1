"""The timed call: barrier, clock, loop, clock, core clock, all inside compiled code and without the GIL."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic

from microbench.clock import chain, monotonic_ns, running_ns

DONE, ABORTED, LATE = 0, 1, 2
"""What :func:`timed` returns: timed; the abort word was set; a peer did not come to the barrier in time."""

ARRIVED, ABORT, CONTROL_WORDS = 0, 8, 16
"""Words of the control block, each on a cache line of its own: arrivals at the barrier, the abort word."""

START, END, CHAIN, RAN, RESULTS = 0, 1, 2, 4, 8
"""Words of one thread's result block: start and end in ns, time of the fastest clock chain in ns, and for how many ns
between start and end the thread was on a CPU. The word after the chain's keeps its sum."""

CHAIN_SEGMENTS = 4
"""Clock chains after a sample; an interrupt lengthens one of them, so the fastest is taken."""

SPINS = 256
"""Turns at the barrier between two looks at the clock."""

_I64 = ir.IntType(64)
_RELAX = {"x86_64": "pause", "amd64": "pause", "aarch64": "yield", "arm64": "yield"}.get(platform.machine().lower(), "")


# LLVM needs its parser for inline assembly that is not empty.
binding.initialize_native_asmparser()


def _word(builder: ir.IRBuilder, address: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, ir.PointerType()), [index], source_etype=_I64)


@intrinsic  # type: ignore[untyped-decorator]
def _arrive(typingctx: Any, address: Any, index: Any) -> Any:
    """Add one to a shared word, atomically."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        builder.atomic_rmw("add", _word(builder, *args), ir.Constant(_I64, 1), "seq_cst")
        return context.get_dummy_value()

    return types.void(address, index), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _look(typingctx: Any, address: Any, index: Any) -> Any:
    """Read a shared word, atomically, after a hint to the core that this is a spin loop."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        builder.asm(ir.FunctionType(ir.VoidType(), []), _RELAX, "~{memory}", [], True)
        return builder.load_atomic(_word(builder, *args), "acquire", 8, typ=_I64)

    return types.int64(address, index), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _write(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
    """Write a shared word, atomically."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        address, index, value = args
        builder.atomic_rmw("xchg", _word(builder, address, index), value, "seq_cst")
        return context.get_dummy_value()

    return types.void(address, index, value), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _call(typingctx: Any, address: Any, arguments: Any, trips: Any) -> Any:
    """Call a compiled loop."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        address, arguments, trips = args
        function = ir.FunctionType(ir.VoidType(), [_I64, _I64])
        builder.call(builder.inttoptr(address, function.as_pointer()), [arguments, trips])
        return context.get_dummy_value()

    return types.void(address, arguments, trips), codegen


@njit(
    types.int64(*[types.int64] * 9),
    nogil=True,
    cache=False,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def timed(
    loop: int,
    arguments: int,
    warm: int,
    trips: int,
    control: int,
    arrivals: int,
    deadline: int,
    links: int,
    results: int,
) -> int:
    """Run a loop untimed for `warm` trips, meet the others, run it timed for `trips` trips, take the core clock.

    Parameters
    ----------
    loop, arguments : int
        Addresses of the compiled loop and of its arguments.
    warm, trips : int
        Trips before and inside the timed part; `warm` may be 0.
    control, arrivals : int
        Address of the control block, and the count of arrivals at which everybody is there.
    deadline : int
        Nanoseconds after which a thread waits no longer at the barrier.
    links : int
        Trips of each clock chain; 0 takes no core clock, and does not ask how long the thread was on a CPU either.
    results : int
        Address of this thread's result block.

    Returns
    -------
    int
        :data:`DONE`, :data:`ABORTED` or :data:`LATE`.
    """
    # Called back before it came: its peers have left the barrier, and its arrival would open it for nobody else.
    if _look(control, ABORT) != 0:
        return ABORTED
    if warm > 0:
        _call(loop, arguments, warm)
    _arrive(control, ARRIVED)
    limit = monotonic_ns() + deadline
    spins = 0
    while _look(control, ARRIVED) < arrivals:
        if _look(control, ABORT) != 0:
            return ABORTED
        spins += 1
        if spins == SPINS:
            spins = 0
            if monotonic_ns() > limit:
                _write(control, ABORT, 1)
                return LATE
    ran = running_ns() if links > 0 else 0
    start = monotonic_ns()
    _call(loop, arguments, trips)
    end = monotonic_ns()
    ran = running_ns() - ran if links > 0 else 0
    fastest = 0
    if links > 0:
        for _ in range(CHAIN_SEGMENTS):
            before = monotonic_ns()
            _write(results, CHAIN + 1, chain(links))
            took = monotonic_ns() - before
            if fastest == 0 or 0 < took < fastest:
                fastest = took
    _write(results, START, start)
    _write(results, END, end)
    _write(results, CHAIN, fastest)
    _write(results, RAN, ran)
    return DONE
