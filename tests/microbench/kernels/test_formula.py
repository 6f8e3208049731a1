"""Formulas: one text that is shown and evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microbench.kernels.formula import Formula


@pytest.mark.parametrize(
    ("expression", "sizes", "value", "shown"),
    [
        ("2*n**3", {"n": 10}, 2000, "2·n³"),
        ("3*s*n", {"n": 7, "s": 8}, 168, "3·s·n"),
        ("2*s*(n+2*t)", {"n": 5, "s": 4, "t": 3}, 88, "2·s·(n + 2·t)"),
        ("5*n*log2(n)", {"n": 1024}, 51200, "5·n·log2(n)"),
        ("ceildiv(n, 8)*8 - n", {"n": 13}, 3, "ceildiv(n, 8)·8 - n"),
        ("n//3", {"n": 10}, 3, "n / 3"),
        ("s*(n + 2)**1 + n**12", {"n": 2, "s": 8}, 4128, "s·(n + 2) + n¹²"),
        ("2*(t) + log2(n)", {"n": 8, "t": 3}, 9, "2·t + log2(n)"),
        ("max(n, m) % 4", {"n": 6, "m": 3}, 2, "max(n, m) % 4"),
    ],
)
def test_it_is_evaluated_exactly_and_shown_as_a_person_writes_it(
    expression: str, sizes: dict[str, int], value: int, shown: str
) -> None:
    formula = Formula(expression)
    assert formula(sizes) == value
    assert str(formula) == shown
    assert formula.names == set(sizes)


@pytest.mark.parametrize(
    "expression", ["", "2*", "__import__('os')", "n.bit_length()", "1.5*n", "n/2", "[n]", "-n", "f(n)"]
)
def test_what_is_no_count_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"expression|cannot be part"):
        Formula(expression)


def test_a_missing_size_and_a_negative_count_are_told() -> None:
    with pytest.raises(KeyError, match="m"):
        Formula("n*m")({"n": 1})
    with pytest.raises(ValueError, match="is -1 for"):
        Formula("n - 2")({"n": 1})


@given(st.integers(1, 1 << 80))
def test_large_numbers_stay_exact(n: int) -> None:
    assert Formula("2*n**3")({"n": n}) == 2 * n * n * n
    assert Formula("log2(n)")({"n": n}) == len(bin(n)) - 3
