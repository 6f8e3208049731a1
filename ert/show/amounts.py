"""Amounts that a user writes with decimal prefixes and units: FLOP, bytes, rates, latencies."""

from __future__ import annotations

import math
import re

from ert.errors import InputError

PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
            "P": 1e15, "E": 1e18}  # fmt: skip

_AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*")

_NEVER = re.compile(r"\s*(-|[+-]?(nan|inf(inity)?)\b)", re.IGNORECASE)
"""How what cannot be an amount begins although it is a number."""

LATENCIES = "120ns or 300@2.5GHz"
"""Examples of latencies, in seconds and in cycles of a clock."""

LONGEST_LATENCY = 1e6
"""Seconds: no memory keeps anybody waiting for days, and products with bandwidths stay finite."""

CYCLES = "@"
"""Between cycles and the clock that they are of."""


def parse_amount(text: str, units: tuple[str, ...], option: str) -> float:
    """Read an amount that is not negative.

    Parameters
    ----------
    text : str
        A number, then optionally a decimal prefix and one of the units: ``"1.37e11"``, ``"137G"``, ``"137 GFLOP"``.
    units : tuple of str
        Names of the unit without prefix; case does not matter in them, but does in the prefix: m is milli, M is mega.
    option : str
        Whose value it is, for the message.

    Raises
    ------
    InputError
        If it is no such amount.
    """
    match = _AMOUNT.fullmatch(text)
    if match:
        for unit in (*units, ""):
            head = match[2][: len(match[2]) - len(unit)]
            if match[2].lower().endswith(unit.lower()) and head.strip() in PREFIXES:
                value = float(match[1]) * PREFIXES[head.strip()]
                if math.isfinite(value):
                    return value
    example = f"1.5e9, 1.5G or 1.5G{units[0]}"
    why = "; it must be a finite number above 0" if _NEVER.match(text) else ""
    raise InputError(f"{option}: expected an amount such as {example}, found {text!r}{why}")


def is_rate(text: str) -> bool:
    """Whether a text is a single rate with its unit, such as ``"1TFLOP/s"``: half of a machine of two numbers."""
    try:
        parse_amount(text, ("FLOP/s", "OP/s", "B/s"), "")
    except InputError:
        return False
    return text.rstrip().endswith("/s")


def parse_latency(text: str, option: str) -> float:
    """Read a latency in seconds: ``"120ns"``, or in cycles of a clock: ``"300@2.5GHz"``.

    Raises
    ------
    InputError
        If it is no latency above 0.
    """
    try:
        if CYCLES in text:
            cycles, _, clock = text.partition(CYCLES)
            hertz = parse_amount(clock, ("Hz",), option)
            value = parse_amount(cycles, ("cycles",), option) / hertz if hertz else 0.0
        else:
            value = parse_amount(text, ("s",), option)
    except InputError:
        value = 0.0
    if not 0 < value < LONGEST_LATENCY:
        raise InputError(f"{option}: expected a latency such as {LATENCIES}, found {text!r}")
    return value
