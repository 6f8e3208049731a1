"""The exponential function for kernels: plain Python that Numba compiles and LLVM vectorises. Imports no compiler.

A program that calls ``exp`` names it in `helpers` and what it needs of the compiler in `makers`::

    Program(body, arguments, check, helpers=exp_helpers(precision), makers=exp_makers(precision))

It holds under every fast-math flag that regroups sums. Method: e**x = 2**k 2**r with k the whole number nearest to
x log2(e) and r what is left, between -1/2 and 1/2; 2**r is a polynomial, 2**k goes to the exponent. No table, no
branch. Error on CPUs with fused multiply-adds: at most 2 units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

EXP2: dict[str, tuple[Any, ...]] = {
    "fp64": tuple(
        map(
            np.float64,
            (
                4.434770108833277e-10,
                7.073783115558886e-09,
                1.0178199578403593e-07,
                1.3215435283100292e-06,
                1.5252733493116193e-05,
                0.00015403530457110492,
                0.0013333558146774627,
                0.00961812910759412,
                0.055504108664820084,
                0.2402265069591013,
                0.6931471805599453,
                1.0,
            ),
        )
    ),
    "fp32": tuple(
        map(
            np.float32,
            (
                0.00015353366325143725,
                0.0013398873852565885,
                0.00961843691766262,
                0.055503323674201965,
                0.24022647738456726,
                0.6931471824645996,
                1.0,
            ),
        )
    ),
}
"""Coefficients of 2**r for r between -1/2 and 1/2, highest power first.

Our own fit: the polynomial 1 + r q(r) of least relative error, by Remez's exchange in 60 digits, each coefficient then
rounded to the precision. Relative errors: 2.8e-17 (fp64) and 1.6e-8 (fp32), a quarter of a rounding each.
"""

LOG2_E: dict[str, tuple[float, float]] = {
    "fp64": (1.4426950408889634, 2.0355273740931033e-17),
    "fp32": (1.4426950216293335, 1.925963033500011e-08),
}
"""log2(e) as the sum of two numbers of the precision."""

ROUGH_LOG2_E: dict[str, Any] = {"fp64": np.float64(1.442695), "fp32": np.float32(1.4427)}
"""log2(e) for choosing k, where the last digits do not matter. Not the number above, so that LLVM does not take this
product for that of the remainder, which must not be rounded."""

RANGE: dict[str, tuple[Any, Any]] = {
    "fp64": (np.float64(-707.5), np.float64(709.0)),
    "fp32": (np.float32(-86.875), np.float32(88.0)),
}
"""Arguments for which nothing becomes infinite or denormal; beyond, the value is that of the bound."""

SHIFTER = {"fp64": 1.5 * 2.0**52, "fp32": 1.5 * 2.0**23}
"""Added to a small whole number, this brings the number's bits to the lowest of the sum."""

EXP_FLOP = {name: 5 + 2 * (len(coefficients) - 1) for name, coefficients in EXP2.items()}
"""Additions and multiplications of one exponential: a product for k, two multiply-adds for r, one for each further
coefficient. Rounding, comparisons and work on the exponent are 0."""

nearest: Any = None
scaled: Any = None
remainder: Any = None
"""Intrinsics of :mod:`microbench.kernels.exponent`, put in their place when a program is compiled."""


def exp_fp64(x: Any) -> Any:
    """Return e**x in fp64; NaN stays NaN."""
    low, high = RANGE_FP64
    x = low if x < low else x
    x = high if x > high else x
    k = nearest(x * ROUGH_FP64)
    r = remainder(x, k)
    p = r * EXP2_FP64[0] + EXP2_FP64[1]
    for index in range(2, 12):
        p = p * r + EXP2_FP64[index]
    return scaled(p, k)


def exp_fp32(x: Any) -> Any:
    """Return e**x in fp32; NaN stays NaN."""
    low, high = RANGE_FP32
    x = low if x < low else x
    x = high if x > high else x
    k = nearest(x * ROUGH_FP32)
    r = remainder(x, k)
    p = r * EXP2_FP32[0] + EXP2_FP32[1]
    for index in range(2, 7):
        p = p * r + EXP2_FP32[index]
    return scaled(p, k)


# Numba takes global tuples and numbers for constants, but no dictionaries.
EXP2_FP64, EXP2_FP32 = EXP2["fp64"], EXP2["fp32"]
RANGE_FP64, RANGE_FP32 = RANGE["fp64"], RANGE["fp32"]
ROUGH_FP64, ROUGH_FP32 = ROUGH_LOG2_E["fp64"], ROUGH_LOG2_E["fp32"]


def exp_helpers(precision: str) -> Mapping[str, Callable[..., Any]]:
    """Return what a program that calls ``exp`` names as its helpers."""
    return {"exp": {"fp64": exp_fp64, "fp32": exp_fp32}[precision]}


def exp_makers(precision: str) -> Mapping[str, Callable[[], Any]]:
    """Return what a program that calls ``exp`` names as its makers."""

    def make(name: str, *arguments: Any) -> Callable[[], Any]:
        def made() -> Any:
            from microbench.kernels import exponent

            return getattr(exponent, f"{name}_intrinsic")(*arguments)

        return made

    return {"nearest": make("nearest"), "scaled": make("scaled"), "remainder": make("remainder", LOG2_E[precision])}
