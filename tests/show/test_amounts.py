"""Amounts with prefixes and units as users write them."""

from __future__ import annotations

import pytest

from ert.errors import InputError
from ert.show.amounts import parse_amount, parse_latency


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.37e11", 1.37e11), ("137G", 137e9), ("137 GFLOP", 137e9), ("137gflop", None), ("5flop", 5.0), ("0", 0.0),
        ("1E3", 1000.0), ("2k", 2000.0), ("2KFLOP", 2000.0), (".5M", 5e5), ("1 OP", 1.0), ("3TOP", 3e12),
        ("2mFLOP", 2e-3), ("", None), ("G", None), ("-1", None), ("1e999", None), ("1 GB", None), ("1,5", None),
        ("inf", None),
    ],
)  # fmt: skip
def test_amounts(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(InputError, match=r"--flop: expected an amount such as 1\.5e9, 1\.5G or 1\.5GFLOP, found"):
            parse_amount(text, ("FLOP", "OP"), "--flop")
    else:
        assert parse_amount(text, ("FLOP", "OP"), "--flop") == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("120ns", 120e-9), ("1.2e-7", 1.2e-7), ("300@2.5GHz", 120e-9), ("300 cycles @ 2.5 GHz", 120e-9), ("2us", 2e-6),
     ("0ns", None), ("0@1GHz", None), ("300@0", None), ("300@", None), ("soon", None),
     ("1e300", None)],
)  # fmt: skip
def test_latencies(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(InputError, match=r"--latency: expected a latency such as 120ns or 300@2\.5GHz, found"):
            parse_latency(text, "--latency")
    else:
        assert parse_latency(text, "--latency") == pytest.approx(value)


@pytest.mark.parametrize("text", ["-1", "-1e5", "nan", "inf", "-inf", "+Infinity"])
def test_numbers_that_cannot_be_amounts_say_why(text: str) -> None:
    with pytest.raises(InputError, match=r"found '.*'; it must be a finite number above 0"):
        parse_amount(text, ("FLOP",), "--flop")
