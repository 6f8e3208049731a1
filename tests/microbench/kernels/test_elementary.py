"""The exponential of kernels: its error, bounds and counts, with and without regrouped sums, vectorised."""

from __future__ import annotations

import ctypes
import types
from typing import Any

import numpy as np
import pytest

from microbench import assembly, confirm
from microbench.kernels import elementary
from microbench.kernels.elementary import EXP_FLOP, RANGE, exp_helpers, exp_makers
from microbench.kernels.kernel import Array, Integer, Part, Problem, Program
from microbench.kernels.program import compile_program, words
from microbench.vector import Machinecode
from tests.microbench.kernels.intrinsics import exponential
from tests.microbench.kernels.workbench import Counter, Number

ULPS = 2.0
CONTRACT, REGROUP = frozenset({"contract"}), frozenset({"contract", "reassoc", "nsz", "arcp", "afn"})


def each(x: Any, y: Any, n: Any) -> None:
    for i in range(n):
        y[i] = exp(x[i])  # type: ignore[name-defined]  # noqa: F821


def evaluate(precision: str, values: Any, fastmath: frozenset[str]) -> tuple[np.ndarray[Any, Any], Machinecode]:
    problem = Problem(precision, {})
    x = np.asarray(values).astype(problem.dtype)
    y = np.zeros_like(x)
    program = Program(
        each,
        (
            Array("x", x.dtype, lambda part: x.shape, lambda part, array: None),
            Array("y", x.dtype, lambda part: x.shape, lambda part, array: None),
            Integer("n", lambda part: len(x)),
        ),
        lambda part, arrays, passes: "",
        helpers=exp_helpers(precision),
        makers=exp_makers(precision),
        fastmath=fastmath,
    )
    code = compile_program(program, problem)
    block = words(program, problem, Part(), [x.ctypes.data, y.ctypes.data])
    ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)(code.address)(block.ctypes.data, 1)
    return y, code


def units(found: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Errors in units of the last place."""
    exact = np.exp(x.astype(found.dtype).astype(np.longdouble))
    return np.abs(found - exact) / np.spacing(exact.astype(found.dtype)).astype(np.longdouble)


needs_fma = pytest.mark.skipif(not confirm.host()[0].fma, reason="without fused multiply-adds it is less exact")
needs_more_digits = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="here NumPy has no type with more digits than fp64"
)


@needs_fma
@needs_more_digits
@pytest.mark.parametrize("fastmath", [CONTRACT, REGROUP], ids=["contract", "regroup"])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_values_are_right_to_two_units_in_the_last_place(precision: str, fastmath: frozenset[str]) -> None:
    low, high = (float(bound) for bound in RANGE[precision])
    x = np.concatenate([np.linspace(low, high, 100_001), np.linspace(-20, 20, 100_003), np.linspace(-1, 1, 10_001)])
    x = x.astype(np.float32 if precision == "fp32" else np.float64)
    found, code = evaluate(precision, x, fastmath)
    assert units(found, x).max() <= ULPS
    if code.assembly:
        seen = assembly.survey(code.assembly, confirm.host()[0].family)
        assert seen.vector_bits >= 128
        assert seen.calls == 0
        assert seen.fma > 0


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_bounds_and_special_values(precision: str) -> None:
    low, high = (float(bound) for bound in RANGE[precision])
    x = [0.0, -0.0, np.nan, np.inf, -np.inf, 2 * high, 2 * low, high, low]
    found, _ = evaluate(precision, x, CONTRACT)
    smallest = np.finfo(found.dtype).tiny
    assert found[0] == found[1] == 1
    assert np.isnan(found[2])
    assert found[3] == found[5] == found[7] < np.inf
    assert found[4] == found[6] == found[8] >= smallest


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_flop_are_those_of_its_text(precision: str) -> None:
    counter = Counter()
    function = exp_helpers(precision)["exp"]
    plain = types.FunctionType(function.__code__, {**vars(elementary), **exponential(precision)})
    x = np.float32(1.5) if precision == "fp32" else np.float64(1.5)
    result = plain(Number(x, counter))
    assert float(result) == pytest.approx(np.exp(1.5), rel=1e-6 if precision == "fp32" else 1e-15)
    assert counter.flop == EXP_FLOP[precision]
