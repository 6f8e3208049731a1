"""Stencils: right results, formulas that count what the code does, and an oracle that notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from microbench import assembly
from microbench.kernels.kernel import Part, Problem, Program, Request, Sizes
from microbench.kernels.registry import kernel
from microbench.kernels.rows import Rows
from tests.emission import NEHALEM, WITH_FMA, Target, assembly_of
from tests.microbench.kernels.workbench import Workbench, counted, problem

SMALL: dict[str, Sizes] = {
    "jacobi_1d": {"n": 177},
    "jacobi_1d_blocked": {"n": 177, "block": 20, "steps": 4},
    "jacobi_2d": {"n": 43},
    "jacobi_2d_blocked": {"n": 43},
    "jacobi_3d": {"n": 19},
    "jacobi_3d_blocked": {"n": 19, "block": 7},
}
DIMENSIONS = {name: int(name[7]) for name in SMALL}


def one_element(views: Any) -> None:
    filled = np.flatnonzero(views["new"])
    views["new"][filled[len(filled) // 2]] *= 1.001


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", SMALL)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    outcome = workbench.run(kernel(name), precision, SMALL[name], threads, spoil=one_element)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt
    assert outcome.code.status == "verified", outcome.code.reason


def along(layers: int, dimensions: int) -> Any:
    """The intrinsic of `rows` for so many layers, in plain Python."""

    def sum_rows(new: Any, to: int, old: Any, at: int, count: int, weight: Any, *pitches: int) -> None:
        assert len(pitches) == dimensions - 1
        steps = (1, *pitches)
        for i in range(count):
            loaded: dict[int, Any] = {}
            for layer in range(layers):
                centre = i + layer * steps[-1] * (dimensions > 1)
                total = None
                for away in (0, *(sign * step for step in steps for sign in (-1, 1))):
                    if centre + away not in loaded:
                        loaded[centre + away] = old[at + centre + away]
                    total = loaded[centre + away] if total is None else total + loaded[centre + away]
                new[to + centre] = weight * total

    return sum_rows


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_formulas_count_what_the_loops_do(name: str, threads: int) -> None:
    spec = kernel(name)
    together = {"jacobi_2d_blocked": 8, "jacobi_3d_blocked": 4}.get(name, 1)
    dimensions = DIMENSIONS[name]
    substitutes = {
        "sum_rows": along(1, dimensions), "sum_several": along(together, dimensions), "drain": lambda: None,
    }  # fmt: skip
    counter, verdicts = counted(spec, "fp64", SMALL[name], threads, substitutes=substitutes)
    tally = spec.count(problem("fp64", SMALL[name], threads))
    assert verdicts == [""] * threads
    assert (counter.flop, counter.read, counter.written) == (tally.flop, tally.read, tally.written)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_working_set_is_what_the_arrays_hold(name: str, threads: int) -> None:
    spec, asked = kernel(name), problem("fp32", SMALL[name], threads)
    task = spec.task(asked)
    assert isinstance(task, Program)
    held = sum(int(np.prod(array.shape(part))) * 4 for array in task.arrays for part in asked.parts())
    assert spec.count(asked).working_set == held


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_step_is_what_numpy_computes(workbench: Workbench, dimensions: int) -> None:
    n = 21
    found: dict[str, np.ndarray[Any, Any]] = {}
    workbench.run(
        kernel(f"jacobi_{dimensions}d"),
        "fp64",
        {"n": n},
        spoil=lambda views: found.update({name: view.copy() for name, view in views.items()}),
    )
    line = 8
    shape = {1: (line + n + 1,), 2: (n + 2, 32), 3: (n + 2, n + 2, 32)}[dimensions]
    old, new = (found[name].reshape(shape)[..., line - 1 : line + n + 1] for name in ("old", "new"))
    inner = (slice(1, -1),) * dimensions
    expected = old[inner].copy()
    for axis in range(dimensions):
        for shift in (-1, 1):
            expected += np.roll(old, shift, axis)[inner]
    np.testing.assert_allclose(new[inner], expected / (2 * dimensions + 1), rtol=1e-14)


def test_more_threads_than_layers_leave_some_without_work() -> None:
    substitutes = {"sum_rows": along(1, 2)}
    counter, verdicts = counted(kernel("jacobi_2d"), "fp64", {"n": 2}, 3, substitutes=substitutes)
    assert verdicts == [""] * 3
    assert counter.flop == 5 * 4


@pytest.mark.parametrize("name", ["jacobi_2d", "jacobi_3d_blocked", "jacobi_1d_blocked"])
@pytest.mark.parametrize("threads", [1, 7, 64])
def test_a_fit_uses_the_bytes_and_not_more(name: str, threads: int) -> None:
    spec = kernel(name)
    request = Request("fp32", 1 << 30, threads)
    sizes = spec.fit(request)
    used = spec.count(problem("fp32", sizes, threads)).working_set
    assert 0.45 * (1 << 30) < used <= 1.001 * (1 << 30)
    layers = [end - begin for begin, end in (Part(index, threads).share(int(sizes["n"])) for index in range(threads))]
    assert max(layers) < 1.05 * sum(layers) / threads, "every thread has as much to do"


@pytest.mark.parametrize("sizes", [{"n": 64, "block": 0, "steps": 4}, {"n": 64, "block": 16, "steps": 1}])
def test_sizes_that_mean_nothing_are_told(sizes: Sizes) -> None:
    with pytest.raises(ValueError, match="is needed"):
        kernel("jacobi_1d_blocked").task(problem("fp64", sizes))


def test_an_oracle_sees_a_pass_that_was_not_made() -> None:
    asked = problem("fp64", {"n": 43})
    task = kernel("jacobi_2d").task(asked)
    assert isinstance(task, Program)
    views = {array.name: np.empty(array.shape(Part()), array.dtype) for array in task.arrays}
    for array in task.arrays:
        array.fill(Part(), views[array.name])
    assert "point 0 holds" in task.check(Part(), views, 1)


def test_several_layers_share_their_loads() -> None:
    asked = problem("fp64", {})
    assert [Rows(asked, 2, layers).loads for layers in (1, 8)] == [5, 26]
    assert [Rows(asked, 3, layers).loads for layers in (1, 4)] == [7, 22]


@pytest.mark.parametrize(
    ("dimensions", "layers", "nontemporal"), [(1, 1, False), (2, 1, True), (2, 8, True), (3, 4, True)]
)
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("target", [NEHALEM, *WITH_FMA], ids=str)
def test_loops_are_what_was_meant_on_other_cpus(
    target: Target, precision: str, dimensions: int, layers: int, nontemporal: bool
) -> None:
    check_rows(
        target, Rows(Problem(precision, {}, vector_bits=max(target.vector_bits)), dimensions, layers, nontemporal)
    )


@pytest.mark.parametrize(("precision", "bits"), [("fp64", 64), ("fp32", 32)])
@pytest.mark.parametrize(("dimensions", "layers"), [(1, 1), (2, 8)])
def test_cpus_without_vectors_have_a_loop_too(precision: str, bits: int, dimensions: int, layers: int) -> None:
    check_rows(NEHALEM, Rows(Problem(precision, {}, vector_bits=bits), dimensions, layers, nontemporal=True))


def check_rows(target: Target, rows: Rows) -> None:
    """The code of the rows for a CPU contains the loop that their counts say."""
    precision, dimensions = rows.problem.precision, rows.dimensions
    word, element = ir.IntType(64), ir.DoubleType() if precision == "fp64" else ir.FloatType()

    def body(builder: ir.IRBuilder, found: Any) -> None:
        new, old = (builder.inttoptr(address, ir.PointerType()) for address in found[:2])
        rows.emit(builder, new, old, found[2], found[3], found[4:], target.machine)

    text = assembly_of(target, [word, word, word, element, *[word] * (dimensions - 1)], body)
    assert assembly.contains(text, rows.counts, target.family) == (rows.counts, "")
