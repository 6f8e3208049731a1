"""Quantities as a person reads them: numbers with prefixes and units, for tables, figures, and sentences made here."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from ert.roofline.formulas import ELEMENT_BYTES

DIGITS = 3
"""Significant digits shown: no rate is known better than to a few parts in a thousand."""

LARGE = ("", "k", "M", "G", "T", "P", "E")
SMALL = ("", "m", "µ", "n", "p", "f")
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")

CLOCK_FORM_SECONDS = 100.0
"""From here on a duration reads better as minutes and seconds."""

LONGEST_SECONDS = 3.6e9
"""A million hours: what takes longer is written with a power of ten, since nobody reads it to the minute."""

MOST_DIGITS = 24
"""Decimals keep 28 digits; what has more before the last one shown is left as it is."""

POWERS = -6, 21
"""Numbers below the one power of ten and from the other on are written with a power: their zeros could not be counted.
Rates have prefixes up to the second one's."""


def operation(precision: str) -> str:
    """Name what is counted: ``"OP"`` for integer precisions, else ``"FLOP"``."""
    return "OP" if precision.startswith(("int", "uint")) else "FLOP"


def article(name: str) -> str:
    """Return the article before the name of a level: ``"an"`` before L1, L2 and L3, else ``"a"``."""
    return "an" if name.startswith("L") else "a"


def width(bits: int, precision: str) -> str:
    """Say how wide vectors are: ``"512-bit"``, ``"scalar"`` where they hold one element."""
    return "scalar" if bits == 8 * ELEMENT_BYTES.get(precision, 0) else f"{bits}-bit"


def rate(value: float, unit: str) -> str:
    """Write a rate with three significant digits and a decimal prefix: ``"58.6 GFLOP/s"``.

    Parameters
    ----------
    value : float
        In units per second.
    unit : str
        ``"FLOP"``, ``"OP"``, ``"B"``: what is counted, without ``/s``.
    """
    return _prefixed(value, f"{unit}/s")


def short(value: float) -> str:
    """Write a number with three significant digits and a decimal prefix alone, for columns: ``"58.6 G"``."""
    return _prefixed(value, "")


def hertz(value: float) -> str:
    """Write a frequency in hertz: ``"3.67 GHz"``."""
    return _prefixed(value, "Hz")


def number(value: float) -> str:
    """Write a plain number with three significant digits, without a prefix: ``"0.179"``, ``"1365"``."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    return _power(value) if _extreme(value) else f"{_rounded(value):f}"


def seconds(value: float) -> str:
    """Write a duration in seconds: ``"12.3 ns"``, ``"4.50 s"``, ``"2 min 5 s"``, ``"1 h 2 min"``."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g} s"
    if abs(value) >= LONGEST_SECONDS or abs(value) < 1000.0 ** (1 - len(SMALL)):
        return f"{_power(value)} s"
    if abs(value) >= CLOCK_FORM_SECONDS:
        return _clock_form(value)
    step = 0
    while abs(_rounded(value * 1000.0**step)) < 1 and step + 1 < len(SMALL):
        step += 1
    return f"{_rounded(value * 1000.0**step):f} {SMALL[step]}s"


def whole_seconds(value: float) -> str:
    """Write a duration in whole seconds, for time that is left: ``"42 s"``, ``"2 min 5 s"``."""
    return _clock_form(value) if abs(value) >= CLOCK_FORM_SECONDS else f"{value:.0f} s"


def percent(fraction: float) -> str:
    """Write a fraction as a percentage with one decimal: 0.0031 is ``"0.3 %"``."""
    if not math.isfinite(fraction):
        return f"{fraction:g} %"
    return f"{_quantized(_decimal(fraction) * 100, Decimal('0.1')):f} %"


def size(value: float) -> str:
    """Write bytes with three significant digits and a binary prefix: ``"32 KiB"``, ``"7.2 MiB"``.

    Trailing zeros are left out, since most sizes are whole numbers; 1000 to 1023 keep their fourth digit.
    """
    if not math.isfinite(value):
        return f"{value:g} B"
    scaled, step = value, 0
    while abs(_rounded(scaled)) >= 1024 and step + 1 < len(BINARY):
        scaled, step = scaled / 1024, step + 1
    digits = f"{_rounded(scaled):f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {BINARY[step]}"


def _prefixed(value: float, unit: str) -> str:
    """Write a value with the decimal prefix that leaves one to three digits before the point."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g} {unit}"
    if _extreme(value / 10.0):
        return f"{_power(value)} {unit}"
    step = 0
    # The rounded value decides, so that 999.6e9 becomes 1.00 T and not 1000 G.
    while abs(_rounded(value / 1000.0**step)) >= 1000 and step + 1 < len(LARGE):
        step += 1
    return f"{_rounded(value / 1000.0**step):f} {LARGE[step]}{unit}"


def _decimal(value: float) -> Decimal:
    """Return the shortest decimal that means this float: halves are then halves as a person reads them."""
    return Decimal(repr(float(value)))


def _extreme(value: float) -> bool:
    return not 10.0 ** POWERS[0] <= abs(value) < 10.0 ** POWERS[1]


def _power(value: float) -> str:
    """Write a number with three significant digits and a power of ten: ``"1.00e+27"``."""
    return f"{value:.{DIGITS - 1}e}"


def _quantized(value: Decimal, step: Decimal) -> Decimal:
    # Numbers far above the step would need more digits than the context keeps; they are whole anyway.
    return value.quantize(step, ROUND_HALF_UP) if value.adjusted() < step.adjusted() + MOST_DIGITS else value


def _rounded(value: float) -> Decimal:
    """Round to DIGITS significant digits; whole numbers with more digits stay whole."""
    exact = _decimal(value)
    if exact == 0:
        return exact
    place = min(0, exact.adjusted() - DIGITS + 1)
    rounded = _quantized(exact, Decimal(1).scaleb(place))
    if rounded.adjusted() > exact.adjusted() and place < 0:  # 9.996 -> 10.00: one digit too many
        rounded = _quantized(rounded, Decimal(1).scaleb(place + 1))
    return rounded


def _clock_form(value: float) -> str:
    sign, whole = "-" if value < 0 else "", int(_quantized(abs(_decimal(value)), Decimal(1)))
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{sign}{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours} h {minutes} min"


def cpu_time(quota: float) -> str:
    """Say how much CPU time a quota allows: "1 CPU's worth of time", "1.5 CPUs' worth of time"."""
    whose = "CPU's" if quota == 1 else "CPUs'"
    return f"{quota:g} {whose} worth of time"
