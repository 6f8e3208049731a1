"""Units: how tables and figures write quantities, and where sizes with prefixes are read."""

from __future__ import annotations

import re
from decimal import Decimal

from ert.errors import InputError
from ert.roofline.quantities import hertz, number, percent, rate, seconds, short, size, whole_seconds

__all__ = ["hertz", "number", "parse_size", "percent", "rate", "seconds", "short", "size", "whole_seconds"]

_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e\+?[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)

_FACTORS: dict[str, int] = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgtpe", start=1):
    _FACTORS[_letter] = _FACTORS[f"{_letter}ib"] = _FACTORS[f"{_letter}i"] = 1024**_power
    _FACTORS[f"{_letter}b"] = 1000**_power

LARGEST_EXPONENT = 30
"""Of ten, in a size: far above any memory, and small enough that the number is made at once."""


def parse_size(text: str) -> int:
    """Read a size in bytes.

    Parameters
    ----------
    text : str
        A number, and optionally a unit in any case: ``KiB MiB GiB ...`` and the short ``K M G ...`` are powers of
        1024, as other tools that limit memory read them; ``kB MB GB ...`` are powers of 1000.

    Returns
    -------
    int
        Whole bytes, rounded down.

    Raises
    ------
    InputError
        (a `ValueError`) If the text is no size, or less than one byte.
    """
    match = _SIZE.fullmatch(text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    exponent = re.search(r"e\+?([0-9]+)$", match[1].lower()) if match else None
    if not match or factor is None or (exponent and int(exponent[1][:9]) > LARGEST_EXPONENT):
        raise InputError(f"not a size: {text!r}; write bytes or a number with a unit, such as 1e9, 512M, 512MiB or 2GB")
    result = int(Decimal(match[1]) * factor)
    if result < 1:
        raise InputError(f"not a size: {text!r} is less than one byte")
    return result
