"""Makes machine code of a program: Numba compiles its body, an entry unpacks the argument block and repeats passes."""

from __future__ import annotations

import math
import types as python_types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from microbench.kernels.kernel import Array, Integer, Part, Problem, Program
from microbench.team import ARGUMENT_WORDS
from microbench.vector import Machinecode, assembly_of

_I64 = ir.IntType(64)


def words(program: Program, problem: Problem, part: Part, addresses: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return the argument block of one part: for each argument its word, and of arrays the address and the shape.

    ValueError if they are more than a block holds.

    Parameters
    ----------
    program, problem, part
        What runs.
    addresses : sequence of int
        Where each array of the program begins, in order.
    """
    found: list[int] = []
    places = iter(addresses)
    for argument in program.arguments:
        if isinstance(argument, Array):
            found += [next(places), *argument.shape(part)]
        elif isinstance(argument, Integer):
            found.append(argument.value(part))
        else:
            bits = np.zeros(1, np.int64)
            bits.view(problem.dtype)[0] = argument.value
            found.append(int(bits[0]))
    if len(found) > ARGUMENT_WORDS:
        raise ValueError(f"{len(found)} words of arguments; at most {ARGUMENT_WORDS}")
    return np.array(found, np.int64)


def compile_program(program: Program, problem: Problem) -> Machinecode:
    """Compile a program for this CPU, in this process and without a cache, so that its assembly can be read."""
    options = {"fastmath": set(program.fastmath), "error_model": "numpy", "cache": False}
    made = {name: make() for name, make in program.makers.items()}
    for name, helper in program.helpers.items():
        made[name] = njit(**options)(_with(helper, made))
    body = njit(**options)(_with(program.body, made))
    unpack = _unpacking(program, problem)

    def entry(arguments: Any, passes: Any) -> None:
        for _ in range(passes):
            body(*unpack(arguments))
            _part()

    compiled = cfunc(types.void(types.uint64, types.int64), nopython=True, cache=False)(entry)
    return Machinecode(compiled.address, assembly_of(compiled), compiled)


def _with(function: Any, made: Mapping[str, Any]) -> Any:
    """Return the function with other values behind some of its global names."""
    return python_types.FunctionType(function.__code__, {**function.__globals__, **made}, function.__name__)


@intrinsic  # type: ignore[untyped-decorator]
def _part(typingctx: Any) -> Any:
    """Keep passes apart: whatever the one before computed is in memory, and nothing is known of it."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(function, "", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return types.void(), codegen


def _unpacking(program: Program, problem: Problem) -> Any:
    """Return an intrinsic that makes a tuple of the program's arguments from the address of their block."""
    kinds = []
    for argument in program.arguments:
        if isinstance(argument, Array):
            kinds.append(types.Array(from_dtype(np.dtype(argument.dtype)), len(argument.shape(Part())), "C"))
        else:
            kinds.append(types.int64 if isinstance(argument, Integer) else from_dtype(problem.dtype))
    whole = types.Tuple(kinds)

    @intrinsic  # type: ignore[untyped-decorator]
    def unpack(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            block = builder.inttoptr(args[0], _I64.as_pointer())
            place = 0

            def word(kind: ir.Type = _I64) -> Any:
                nonlocal place
                pointer = builder.gep(block, [ir.Constant(_I64, place)], source_etype=_I64)
                place += 1
                return builder.load(builder.bitcast(pointer, kind.as_pointer()), typ=kind)

            values = []
            for kind in kinds:
                if isinstance(kind, types.Array):
                    values.append(_array(context, builder, kind, word(), [word() for _ in range(kind.ndim)]))
                else:
                    values.append(word(context.get_value_type(kind)))
            return context.make_tuple(builder, whole, values)

        return whole(address), codegen

    return unpack


def _array(context: Any, builder: ir.IRBuilder, kind: Any, address: Any, shape: list[Any]) -> Any:
    array = context.make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[Any] = []
    step: Any = ir.Constant(_I64, item)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=ir.Constant(_I64, item),
        meminfo=None,
    )
    return array._getvalue()


def bytes_of(array: Array, part: Part) -> int:
    """Return the bytes of an array of a part."""
    return int(np.dtype(array.dtype).itemsize) * math.prod(array.shape(part))
