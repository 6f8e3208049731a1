"""The lines that say which code ran each kernel."""

from __future__ import annotations

from dataclasses import replace

from ert.roofline.model import Code
from ert.show.codes import code_lines
from tests.factories import placement


def test_each_kernel_stands_with_its_kind_of_code_once_and_libraries_name_themselves() -> None:
    triad = replace(placement("triad", "stream"), code=Code("verified"))
    naive = replace(placement("naive", "dense"), code=Code("compiled", "made by the compiler"))
    blas = [
        replace(placement("blas", "dense"), code=Code("library", f"OpenBLAS 0.3, Zen kernels, threads: {number}"))
        for number in (1, 2)
    ]
    lines = code_lines([triad, triad, naive, *blas], 80)
    assert lines == [
        "Code verified instruction by instruction: triad.",
        "Code compiled, not compared with a model: naive.",
        "Code of a library: blas.",
        "  blas: OpenBLAS 0.3, Zen kernels, threads: 1",
        "  blas: OpenBLAS 0.3, Zen kernels, threads: 2",
    ]


def test_lines_keep_the_width_and_nothing_is_said_of_nothing() -> None:
    many = [replace(placement(f"kernel_{i}", "dense"), code=Code("verified")) for i in range(40)]
    assert all(len(line) <= 80 for line in code_lines(many, 80))
    assert code_lines([], 80) == []


def test_code_that_is_not_what_was_expected_is_named() -> None:
    odd = replace(placement("odd", "dense"), code=Code("mismatch", "3 loads instead of 2"))
    assert code_lines([odd], 80) == ["Code NOT what was expected: odd."]
