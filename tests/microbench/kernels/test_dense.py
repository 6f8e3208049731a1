"""Dense products: right at all sizes, formulas that count what the code does, and an oracle that notices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microbench.kernels import blas, dense, packed, rungs
from microbench.kernels.kernel import Library, Part, Problem, Request, Unsuitable
from microbench.kernels.operands import Operand, wrong_product
from microbench.kernels.registry import KERNELS, kernel
from microbench.kernels.tile import largest
from tests.microbench.kernels import intrinsics
from tests.microbench.kernels.workbench import Counter, Workbench, counted, problem

Sizes = Mapping[str, int | str]

RESULT = {"gemv": "y", "decode": "y"}
PROGRAMS = tuple(spec.name for spec in KERNELS if spec.family == "dense" and spec.name != "gemm_blas")


def sizes_of(name: str, precision: str, n: int, k: int = 53) -> Sizes:
    """A problem with blocks that are small enough for several of each, whatever the vectors are."""
    tile = largest(precision, problem(precision, {}).vector_bits, problem(precision, {}).registers)
    match name:
        case "gemm_packed":
            return {"n": n, "mc": 2 * tile.rows, "kc": 14, "nc": 2 * tile.width}
        case "gemm_blocked":
            return {"n": n, "kc": 10, "nc": 2 * rungs.tile_of(problem(precision, {})).width}
        case "decode":
            return {"batch": n, "m": 2 * tile.width + 5, "k": k}
    return {"n": n}


def spoil(views: Mapping[str, np.ndarray[Any, Any]]) -> None:
    views["c" if "c" in views else "y"].flat[0] += 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    outcome = workbench.run(kernel(name), precision, sizes_of(name, precision, 37), threads, spoil=spoil)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_is_what_is_stated(workbench: Workbench, name: str) -> None:
    outcome = workbench.run(kernel(name), "fp64", sizes_of(name, "fp64", 8))
    explicit = kernel(name).implementation == "explicit vectors"
    assert outcome.code.status == ("verified" if explicit else "compiled"), outcome.code.reason


@pytest.mark.parametrize("n", [1, 7, 24, 131, 1023])
@pytest.mark.parametrize("name", ["gemm_vectorised", "gemm_blocked", "gemm_packed", "gemv"])
def test_every_size_is_right(workbench: Workbench, name: str, n: int) -> None:
    spec = kernel(name)
    found = problem("fp32", {})
    fitting = spec.fit(Request("fp32", 1 << 22, 2, {}, found.vector_bits, found.registers))
    for sizes in (sizes_of(name, "fp32", n), {**fitting, "n": n}):
        assert workbench.run(spec, "fp32", sizes, 2, passes=1).verdict == ""


@pytest.mark.parametrize("batch", [1, 3, 4, 8, 14, 64])
@pytest.mark.parametrize("k", [1, 53, 3000])
def test_every_batch_is_right(workbench: Workbench, batch: int, k: int) -> None:
    assert workbench.run(kernel("decode"), "fp64", sizes_of("decode", "fp64", batch, k), 2).verdict == ""


def test_a_product_is_what_numpy_computes(workbench: Workbench) -> None:
    found: dict[str, np.ndarray[Any, Any]] = {}
    workbench.run(
        kernel("gemm_naive"),
        "fp64",
        {"n": 41},
        spoil=lambda views: found.update({k: v.copy() for k, v in views.items()}),
    )
    np.testing.assert_array_equal(found["c"], found["a"] @ found["b"])


# ------------------------------------------------------------------------------------------------- counting


def substitutes(name: str, precision: str, sizes: Sizes, threads: int) -> Mapping[str, Any]:
    given = problem(precision, sizes, threads)
    best = largest(precision, given.vector_bits, given.registers)
    match name:
        case "gemm_packed":
            return {"tile": intrinsics.tile(best), "turn": intrinsics.turn(best), "copy": intrinsics.copy(best)}
        case "gemm_vectorised" | "gemm_blocked":
            return {"tile": intrinsics.tile(rungs.tile_of(given))}
        case "decode":
            rows = {"tall": best.rows, "four": dense.FOUR, "single": 1}
            return {key: intrinsics.tile(replace(best, rows=height, packed=False)) for key, height in rows.items()}
        case "gemv":
            return {"dots": intrinsics.dots}
    return {}


def run_counted(name: str, n: int, threads: int, k: int = 53) -> tuple[Counter, Any]:
    sizes = sizes_of(name, "fp64", n, k)
    counter, verdicts = counted(
        kernel(name), "fp64", sizes, threads, substitutes=substitutes(name, "fp64", sizes, threads)
    )
    assert verdicts == [""] * threads
    return counter, kernel(name).count(problem("fp64", sizes, threads))


@pytest.mark.parametrize("threads", [1, 3, 4])
@pytest.mark.parametrize("n", [1, 29])
@pytest.mark.parametrize("name", PROGRAMS)
def test_formulas_count_what_the_loops_do(name: str, n: int, threads: int) -> None:
    counter, tally = run_counted(name, n, threads)
    assert (counter.read, counter.written) == (tally.read, tally.written)
    # Operations on the zeros that fill up the last tiles are done and not counted.
    assert counter.flop >= tally.flop
    if kernel(name).implementation == "compiled loops":
        assert counter.flop == tally.flop


@pytest.mark.parametrize("name", ["gemm_vectorised", "gemm_packed", "gemv"])
def test_whole_tiles_do_no_more_than_what_is_counted(name: str) -> None:
    given = problem("fp64", {})
    best, small = largest("fp64", given.vector_bits, given.registers), rungs.tile_of(given)
    n = {
        "gemm_vectorised": math.lcm(small.rows, small.width),
        "gemm_packed": math.lcm(best.rows, best.width),
        "gemv": dense.inner.ROWS,
    }[name]
    counter, tally = run_counted(name, n, 1)
    assert counter.flop == tally.flop == (2 * n**2 if name == "gemv" else 2 * n**3)


def test_a_batch_of_several_chunks_is_counted() -> None:
    chunk = dense.CHUNK_BYTES // (8 * largest("fp64", problem("fp64", {}).vector_bits, 32).width)
    counter, tally = run_counted("decode", 9, 1, chunk + 3)
    assert (counter.read, counter.written) == (tally.read, tally.written)


# ---------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("threads", [1, 6, 64])
def test_parts_of_a_packed_product_are_near_to_squares(threads: int) -> None:
    request = Request("fp64", 1 << 30, threads, {"L1": 32 << 10, "L2": 1 << 20, "L3": 4 << 20}, 512, 32)
    sizes = kernel("gemm_packed").fit(request)
    task = packed.task(Problem("fp64", sizes, threads, 512, 32))
    extents = {
        argument.name: [argument.value(Part(index, threads)) for index in range(threads)]
        for argument in task.arguments
        if argument.name in ("rows", "columns")
    }
    n = int(sizes["n"])
    assert sum(rows * columns for rows, columns in zip(*extents.values(), strict=True)) == n**2
    across, down = len(set(map(str, extents["columns"]))), n / max(extents["rows"])
    assert down <= threads
    assert across <= math.isqrt(threads)
    assert n == {1: 2048, 6: 2048, 64: 4096}[threads]


def test_blocks_fill_half_of_each_cache() -> None:
    request = Request("fp64", 1 << 27, 2, {"L1": 32 << 10, "L2": 1 << 20, "L3": 4 << 20}, 512, 32)
    sizes = {name: int(value) for name, value in kernel("gemm_packed").fit(request).items()}
    assert sizes == {"n": 2048, "mc": 256, "kc": 256, "nc": 1008}
    without = kernel("gemm_packed").fit(Request("fp64", 1 << 27, 1, {}, 256, 16))
    assert int(without["nc"]) == packed.WIDEST


def test_small_products_are_of_every_size_of_the_series() -> None:
    request = Request("fp64", 1 << 27)
    for name in ("gemm_packed", "gemm_blas"):
        assert [sizes["n"] for sizes in kernel(name).series(request)] == list(dense.gemm.SERIES)
    assert [sizes["batch"] for sizes in kernel("decode").series(request)] == [4, 16, 64]
    assert [sizes["batch"] for sizes in kernel("decode").usual_series(request)] == [16]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("gemm_packed", {"n": 99, "mc": 7, "kc": 64, "nc": 48}), ("gemm_blocked", {"n": 99, "kc": 9, "nc": 1})],
)
def test_blocks_that_tiles_do_not_divide_are_refused(name: str, sizes: Sizes) -> None:
    with pytest.raises(Unsuitable, match="must be a multiple of"):
        kernel(name).task(Problem("fp64", sizes, 1, 256, 16))


# ----------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("wrong", [(0, 0), (299, 300)])
def test_the_oracle_sees_the_ends_of_a_large_product(wrong: tuple[int, int]) -> None:
    left, right = (Operand(Problem("fp32", {}), 301, salt) for salt in (0, 1))
    product = left.rows(range(300)) @ right.rows(range(301))
    assert wrong_product(lambda i, j: product[np.ix_(i, j)], left, right, range(300), range(301)) == ""
    product[wrong] += 0.125
    assert "element of the product" in wrong_product(
        lambda i, j: product[np.ix_(i, j)], left, right, range(300), range(301)
    )


def test_operands_differ_and_no_two_rows_nearby_are_alike() -> None:
    left, right = (Operand(Problem("fp64", {}), 64, salt).rows(range(1000)) for salt in (0, 1))
    assert not np.array_equal(left, right)
    assert len(np.unique(left, axis=0)) == 1000
    assert np.array_equal(left * 8, np.rint(left * 8))


# ------------------------------------------------------------------------------------------------------- BLAS


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_the_blas_is_right_and_named(workbench: Workbench, precision: str) -> None:
    outcome = workbench.run(kernel("gemm_blas"), precision, {"n": 131})
    assert outcome.verdict == ""
    assert outcome.code.status == "library"
    assert outcome.code.reason.endswith("1 thread")


def test_a_wrong_product_of_the_blas_is_noticed() -> None:
    task = kernel("gemm_blas").task(problem("fp64", {"n": 20}))
    assert isinstance(task, Library)
    data = task.prepare()
    assert "element of the product" in task.check(data)
    task.call(data)
    assert task.check(data) == ""
    data.c[3, 4] += 1
    assert "element of the product" in task.check(data)


def test_what_is_told_of_a_blas() -> None:
    pool = {"internal_api": "openblas", "version": "0.3.30", "architecture": "Zen", "num_threads": 2}
    assert blas.named(pool) == "OpenBLAS 0.3.30, Zen kernels, 2 threads"
    assert blas.named({"internal_api": "accelerate", "version": None, "num_threads": 1}) == "accelerate, 1 thread"
