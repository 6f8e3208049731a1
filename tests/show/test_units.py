"""Units: prefixes and digits, at and around the half ways, and sizes as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import InputError
from ert.show import units

POSITIVE = st.floats(min_value=1e-6, max_value=1e20, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (58.6e9, "58.6 GFLOP/s"),
        (1.23e12, "1.23 TFLOP/s"),
        (29e9, "29.0 GFLOP/s"),
        (117e9, "117 GFLOP/s"),
        (58.65e9, "58.7 GFLOP/s"),  # a half as it is written, whatever its binary neighbour
        (58.649e9, "58.6 GFLOP/s"),
        (58.75e9, "58.8 GFLOP/s"),
        (9.995e9, "10.0 GFLOP/s"),
        (9.994e9, "9.99 GFLOP/s"),
        (99.95e9, "100 GFLOP/s"),
        (999.4e9, "999 GFLOP/s"),
        (999.5e9, "1.00 TFLOP/s"),
        (1.0, "1.00 FLOP/s"),
        (0.25, "0.250 FLOP/s"),
        (0.0, "0 FLOP/s"),
        (2e21, "2000 EFLOP/s"),
        (1e22, "1.00e+22 FLOP/s"),
        (1e100, "1.00e+100 FLOP/s"),
        (1e-300, "1.00e-300 FLOP/s"),
        (math.inf, "inf FLOP/s"),
        (math.nan, "nan FLOP/s"),
    ],
)
def test_rates_have_three_digits(value: float, text: str) -> None:
    assert units.rate(value, "FLOP") == text


def test_the_unit_is_the_callers() -> None:
    assert units.rate(1.23e12, "B") == "1.23 TB/s"
    assert units.rate(470e9, "OP") == "470 GOP/s"
    assert units.hertz(3.674e9) == "3.67 GHz"


@given(POSITIVE)
def test_a_rate_is_off_by_half_a_digit_at_most(value: float) -> None:
    number, unit = units.rate(value, "FLOP").split(" ")
    factor = 1000.0 ** ("", "k", "M", "G", "T", "P", "E").index(unit.removesuffix("FLOP/s"))
    assert float(number) * factor == pytest.approx(value, rel=0.0051)
    assert float(number) < 1000 or unit.startswith("E")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (32 * 1024, "32 KiB"),
        (7.2 * 2**20, "7.2 MiB"),
        (1.02 * 2**20, "1.02 MiB"),
        (2**40, "1 TiB"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1023.4, "1023 B"),
        (1023.5, "1 KiB"),
        (1024 * 1023.5, "1 MiB"),
        (1.0049 * 2**20, "1 MiB"),
        (1.005 * 2**20, "1.01 MiB"),
        (0, "0 B"),
        (100 * 2**30, "100 GiB"),
        (math.inf, "inf B"),
    ],
)
def test_sizes_are_powers_of_two(value: float, text: str) -> None:
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.235e-8, "12.4 ns"),
        (1.08e-9, "1.08 ns"),
        (5e-5, "50.0 µs"),
        (0.9994, "999 ms"),
        (0.9995, "1.00 s"),
        (4.5, "4.50 s"),
        (99.94, "99.9 s"),
        (100.0, "1 min 40 s"),
        (125.5, "2 min 6 s"),
        (3599.5, "1 h 0 min"),
        (6.67e-13, "667 fs"),
        (2e-12, "2.00 ps"),
        (1e-20, "1.00e-20 s"),
        (1e27, "1.00e+27 s"),
        (0.0, "0 s"),
        (math.inf, "inf s"),
    ],
)
def test_durations(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_time_left_is_in_whole_seconds() -> None:
    assert units.whole_seconds(41.6) == "42 s"
    assert units.whole_seconds(125) == "2 min 5 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0031, "0.3 %"),
        (0.0005, "0.1 %"),
        (0.00049, "0.0 %"),
        (0.125, "12.5 %"),
        (1.0, "100.0 %"),
        (math.nan, "nan %"),
    ],
)
def test_percentages(value: float, text: str) -> None:
    assert units.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e30, "1.00e+30"),
        (1e-10, "1.00e-10"),
        (3e20, "300000000000000000000"),
        (0.1786, "0.179"),
        (1.955, "1.96"),
        (1365.3, "1365"),
        (999.5, "1000"),
        (0.0, "0"),
        (40.0, "40.0"),
    ],
)
def test_plain_numbers(value: float, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GiB", 2 << 30),
        ("512M", 512 << 20),
        ("512m", 512 << 20),
        ("512Mi", 512 << 20),
        ("1e9", 1_000_000_000),
        ("1.5 GB", 1_500_000_000),
        ("4kB", 4000),
        ("4096", 4096),
        ("4096B", 4096),
        (".5K", 512),
        ("1E+3", 1000),
        (" 8 MiB ", 8 << 20),
        ("1.9", 1),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "M", "-1", "1X", "nan", "inf", "1e400", "1e99999999999", "0", "0.5", "1,5G", "2 GiB more", "0x10"]
)
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="not a size") as caught:
        units.parse_size(text)
    assert repr(text) in str(caught.value)
    assert isinstance(caught.value, InputError)


@given(st.integers(min_value=1, max_value=999), st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]))
def test_a_written_size_is_read_back(number: int, unit: str) -> None:
    text = f"{number} {unit}"
    assert units.size(units.parse_size(text)) == text


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert units.parse_size(text) >= 1
    except InputError:
        pass
