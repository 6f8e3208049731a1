"""Sparse products: right on every matrix and in every format, counted as they are, and noticed when wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from llvmlite import binding, ir

from microbench import assembly
from microbench.kernels import products, sellpack
from microbench.kernels.gallery import FAMILIES
from microbench.kernels.kernel import Library, Part, Program, Request, Unsuitable
from microbench.kernels.matrices import lengths_of, matrix_of
from microbench.kernels.registry import kernel
from tests.emission import HASWELL, NEHALEM, NEOVERSE, SKYLAKE, ZEN4, Target
from tests.microbench.kernels.workbench import Workbench, counted, problem

OURS = ("spmv_csr", "spmv_ell", "spmv_sell")


def sizes(matrix: str, n: int = 1000) -> dict[str, int | str]:
    return {"matrix": matrix, "n": n}


def pairs(chosen: Iterable[str]) -> list[tuple[str, str]]:
    """Formats and matrices, without ELL for rows of very different length."""
    return [(name, matrix) for matrix in chosen for name in OURS if (name, matrix) != ("spmv_ell", "power_law")]


# ---------------------------------------------------------------------- the inner loops on counting numbers


def row_sum(values: Any, columns: Any, x: Any, begin: int, end: int) -> Any:
    total: Any = 0.0
    for at in range(begin, end):
        total = total + values[at] * x[columns[at]]
    return total


def row_sum_ahead(values: Any, columns: Any, x: Any, begin: int, end: int) -> Any:
    for at in range(begin, end):
        _ = columns[at + sellpack.AHEAD]
    return row_sum(values, columns, x, begin, end)


def substitutes(lanes: int) -> dict[str, Any]:
    def of_rows(values: Any, columns: Any, x: Any, y: Any, begin: int, end: int, stride: int, row: int) -> None:
        for lane in range(lanes):
            total: Any = 0.0
            for at in range(begin + lane, end + lane, stride):
                total = total + values[at] * x[columns[at]]
            y[row + lane] = total

    def of_rows_ahead(values: Any, columns: Any, *others: Any) -> None:
        _, _, begin, end, stride, _ = others
        for at in range(begin, end, stride):
            for lane in range(lanes):
                _ = columns[at + lane + sellpack.AHEAD]
        of_rows(values, columns, *others)

    return {
        "row_sum": row_sum, "row_sum_ahead": row_sum_ahead, "rows_sums": of_rows, "rows_sums_ahead": of_rows_ahead,
    }  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("name", "matrix"), pairs(["laplacian_2d", "laplacian_3d_permuted", "power_law"]))
def test_formulas_count_what_the_loops_do(name: str, matrix: str, threads: int) -> None:
    spec, size = kernel(name), sizes(matrix, 150)
    posed = problem("fp64", size, threads)
    numbers = spec.numbers(posed)
    made = substitutes(posed.vector_bits // 64)
    used = spec.task(posed)
    assert isinstance(used, Program)
    counter, verdicts = counted(spec, "fp64", size, threads, substitutes={key: made[key] for key in used.makers})
    tally = spec.count(posed)
    padding = numbers.get("stored", numbers["nnz"]) - numbers["nnz"]
    assert verdicts == [""] * threads
    assert counter.flop == tally.flop + 2 * padding
    assert (counter.read, counter.written) == (tally.read, tally.written)


# --------------------------------------------------------------------------------------------- machine code


def spoil(views: Any) -> None:
    views["y"][len(views["y"]) // 3] += 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize(("name", "matrix"), pairs(FAMILIES))
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, matrix: str, precision: str, threads: int
) -> None:
    outcome = workbench.run(kernel(name), precision, sizes(matrix), threads, spoil=spoil)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_scipy_is_called_and_checked(workbench: Workbench, precision: str) -> None:
    outcome = workbench.run(kernel("spmv_csr_scipy"), precision, sizes("power_law"))
    assert outcome.verdict == ""
    assert outcome.code.status == "library"
    assert "csr_array" in outcome.code.reason
    task = kernel("spmv_csr_scipy").task(problem(precision, sizes("power_law")))
    assert isinstance(task, Library)
    data = task.prepare()
    task.call(data)
    assert task.check(data) == ""
    data["y"][500] += 1
    assert "row 500" in task.check(data)


@pytest.mark.parametrize("name", OURS)
def test_a_product_that_was_not_done_is_noticed(name: str) -> None:
    posed = problem("fp64", sizes("laplacian_2d"))
    task = kernel(name).task(posed)
    assert isinstance(task, Program)
    arrays = {}
    for array in task.arrays:
        arrays[array.name] = np.empty(array.shape(Part()), array.dtype)
        array.fill(Part(), arrays[array.name])
    assert "nan" in task.check(Part(), arrays, 1)


def test_an_entry_in_a_wrong_place_is_noticed(workbench: Workbench) -> None:
    def exchange(views: Any) -> None:
        columns = views["columns"]
        columns[100] = columns[0]
        for row in range(len(views["y"])):
            part = slice(int(views["starts"][row]), int(views["starts"][row + 1]))
            views["y"][row] = np.dot(views["values"][part], views["x"][columns[part]])

    outcome = workbench.run(kernel("spmv_csr"), "fp64", sizes("laplacian_3d"), spoil=exchange)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


# ----------------------------------------------------------------------------------------- packing, sizes


def test_ell_refuses_what_would_be_mostly_padding() -> None:
    with pytest.raises(
        Unsuitable, match="every row is as long as the longest: 62 entries, where the mean of power_law"
    ):
        kernel("spmv_ell").count(problem("fp64", sizes("power_law")))
    with pytest.raises(Unsuitable, match="every row is as long as the longest"):
        kernel("spmv_ell").task(problem("fp64", sizes("power_law")))


@pytest.mark.parametrize("matrix", ["laplacian_2d", "power_law"])
def test_sell_sorts_rows_inside_windows_and_loses_none(matrix: str) -> None:
    n = 50_000
    rows = len(lengths_of(matrix, n))
    order = sellpack.sell_order(matrix, n, 0, rows)
    assert np.array_equal(np.sort(order), np.arange(rows))
    for begin in range(0, rows, sellpack.SIGMA):
        window = order[begin : begin + sellpack.SIGMA]
        assert window.min() == begin
        assert (np.diff(lengths_of(matrix, n)[window]) <= 0).all()


def test_sell_stores_little_more_than_the_entries_where_ell_could_not() -> None:
    _, stored = sellpack.sell_totals("power_law", 200_000, 8, 1)
    assert stored < 1.5 * lengths_of("power_law", 200_000).sum()


def test_sell_computes_in_the_order_of_its_rows(workbench: Workbench) -> None:
    found: dict[str, np.ndarray[Any, Any]] = {}
    size = sizes("laplacian_2d", 900)
    workbench.run(
        kernel("spmv_sell"), "fp64", size, spoil=lambda views: found.update(x=views["x"].copy(), y=views["y"].copy())
    )
    matrix = matrix_of("laplacian_2d", 900)
    place = sellpack.sell_places("laplacian_2d", 900, 1)
    dense = np.zeros((900, 900))
    rows = np.repeat(np.arange(900), np.diff(matrix.starts))
    dense[place[rows], place[matrix.columns]] = matrix.values
    np.testing.assert_allclose(found["y"][:900], dense @ found["x"], rtol=1e-13)


def test_both_precisions_are_measured_on_the_same_matrices_within_the_bytes() -> None:
    spec = kernel("spmv_csr")
    for precision in ("fp64", "fp32"):
        request = Request(precision, 16 << 20)
        chosen = [spec.fit(request), *spec.series(request)]
        assert [size["matrix"] for size in chosen] == list(FAMILIES)
        for size in chosen:
            needs = spec.count(problem(precision, size)).working_set
            assert (8 << 20 if precision == "fp64" else 4 << 20) < needs <= 16.2 * (1 << 20)
    assert spec.fit(Request("fp64", 1 << 24)) == spec.fit(Request("fp32", 1 << 24))


@pytest.mark.parametrize("matrix", FAMILIES)
def test_the_smallest_matrices_work(matrix: str) -> None:
    spec = kernel("spmv_csr")
    made = substitutes(8)
    for n in (1, 2, 9):
        size = sizes(matrix, n)
        _, verdicts = counted(
            spec, "fp64", size, 2, substitutes={key: made[key] for key in ("row_sum", "row_sum_ahead")}
        )
        assert verdicts == ["", ""]


# --------------------------------------------------------------------------------------------- other CPUs


def emitted(target: Target, element: Any, lanes: int, ahead: bool) -> str:
    """The sums of `lanes` rows, or of one row where that is 1, as assembly for another CPU."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        machine = binding.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, opt=3)
    except RuntimeError as error:
        pytest.skip(f"this LLVM makes no code for {target.triple}: {error}")
    module = ir.Module(name="emission")
    module.triple = target.triple
    pointer, number = ir.PointerType(), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * 4 + [number] * 3), "sums")
    values, columns, x, y, begin, end, stride = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    operands = products.Operands(values, columns, x, element)
    if lanes == 1:
        builder.store(products.emit_row(builder, operands, begin, end, ahead), y)
    else:
        products.emit_rows(builder, operands, lanes, begin, end, stride, y, ahead)
    builder.ret_void()
    parsed = binding.parse_assembly(str(module))
    parsed.verify()
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(parsed, passes)
    return str(machine.emit_assembly(parsed))


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("element", [ir.DoubleType(), ir.FloatType()], ids=["fp64", "fp32"])
@pytest.mark.parametrize("target", [NEHALEM, HASWELL, SKYLAKE, ZEN4, NEOVERSE], ids=str)
def test_a_step_of_a_vector_of_rows_is_one_multiply_add_of_that_width(
    target: Target, element: Any, ahead: bool
) -> None:
    bits = target.vector_bits[-1]
    lanes = bits // (64 if element == ir.DoubleType() else 32)
    (loop,) = assembly.innermost_loops(emitted(target, element, lanes, ahead))
    found = assembly.count(loop, target.family)
    fetched = sum(line.mnemonic.startswith(("prefetch", "prfm")) for line in loop)
    fused = target is not NEHALEM
    assert (found.fma, found.mul, found.add) == ((1, 0, 0) if fused else (0, 1, 1))
    assert found.calls == found.spills == 0
    assert assembly.survey(emitted(target, element, lanes, ahead), target.family).vector_bits == bits
    streams = max(1, lanes * 4 // 64) + max(1, bits // 8 // 64)
    assert fetched == streams + (lanes if ahead else 0)


@pytest.mark.parametrize("target", [NEHALEM, HASWELL, SKYLAKE, ZEN4, NEOVERSE], ids=str)
def test_a_row_takes_eight_entries_a_step_and_one_jump_for_the_rest(target: Target) -> None:
    text = emitted(target, ir.DoubleType(), 1, False)
    (loop,) = assembly.innermost_loops(text)
    found = assembly.count(loop, target.family)
    assert 2 * found.fma + found.mul + found.add == 2 * products.UNROLLED
    assert found.calls == found.spills == 0
    if target.family == "x86":
        # Through a table. On aarch64 LLVM prefers comparisons for so few cases.
        assert re.search(r"jmpq?\s+\*", text)
