"""Operators of neural networks: right results, formulas that count, oracles that notice, steps that stay bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microbench.kernels import attention, pitched
from microbench.kernels.kernel import Part, Program, Request, Sizes, Unsuitable
from microbench.kernels.parameters import SETTLED, adam_after
from microbench.kernels.registry import kernel
from tests.microbench.kernels.intrinsics import ROW_HINTS, exponential, flat, root, tile
from tests.microbench.kernels.workbench import Workbench, counted, problem

SMALL: dict[str, Sizes] = {
    "softmax": {"rows": 7, "columns": 37},
    "layer_norm": {"rows": 7, "columns": 37},
    "embedding": {"rows": 41, "dimensions": 11, "vocabulary": 23},
    "adam": {"n": 157},
    "attention_decode": {"length": 45, "heads": 3, "depth": 19},
    "attention_prefill": {"length": 256, "heads": 2, "depth": 64},
}
# Plain Python needs seconds for a block of the prefill as it is; smaller ones count alike.
COUNTED = {**SMALL, "attention_prefill": {"length": 96, "heads": 1, "depth": 32}}
FEW_KEYS = 32
RESULTS = ("y", "weight", "result")


def spoil(views: Any) -> None:
    result = next(views[name] for name in RESULTS if name in views).reshape(-1)
    result[len(result) // 2] += 0.01


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", SMALL)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    # Of attention the oracle looks at some heads and queries only.
    spoiled = (lambda views: views["result"].__iadd__(0.01)) if name.startswith("attention") else spoil
    outcome = workbench.run(kernel(name), precision, SMALL[name], threads, spoil=spoiled)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


@pytest.mark.parametrize(
    # Parts of the prefill are heads, each of which does the same.
    ("name", "threads"),
    [(name, threads) for name in SMALL for threads in (1, 3) if (name, threads) != ("attention_prefill", 3)],
)
def test_formulas_count_what_the_loops_do(monkeypatch: pytest.MonkeyPatch, name: str, threads: int) -> None:
    monkeypatch.setattr(attention, "KEYS", FEW_KEYS)
    spec, sizes = kernel(name), COUNTED[name]
    asked = problem("fp64", sizes, threads)
    substitutes = {
        **exponential("fp64"), **ROW_HINTS, "sqrt": root,
        "tile": flat(tile(pitched.shape(asked))), "tile_of_one": flat(tile(pitched.shape(asked, 1))),
    }  # fmt: skip
    counter, verdicts = counted(spec, "fp64", sizes, threads, substitutes=substitutes)
    tally = spec.count(asked)
    assert verdicts == [""] * threads
    assert counter.flop + counter.divisions == tally.flop
    assert (counter.read, counter.written) == (tally.read, tally.written)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SMALL)
def test_working_set_is_what_the_arrays_hold(name: str, threads: int) -> None:
    spec, asked = kernel(name), problem("fp32", SMALL[name], threads)
    task = spec.task(asked)
    assert isinstance(task, Program)
    held = 0
    for array in task.arrays:
        parts = asked.parts()[:1] if array.shared else asked.parts()
        held += sum(int(np.prod(array.shape(part))) * np.dtype(array.dtype).itemsize for part in parts)
    assert spec.count(asked).working_set == held


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_first_and_last_rows_are_like_the_others(workbench: Workbench, name: str, rows: int) -> None:
    assert workbench.run(kernel(name), "fp64", {"rows": rows, "columns": 300}, spoil=spoil).verdict == ""


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_steps_of_adam_stay_bounded_and_are_checked_after_any_number(workbench: Workbench, precision: str) -> None:
    outcome = workbench.run(kernel("adam"), precision, {"n": 33}, passes=20000, spoil=spoil)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt


def test_adam_after_many_steps_is_that_after_each() -> None:
    weight, gradient = np.array([0.5, 1.25]), np.array([1.5, -0.75])
    many = adam_after(SETTLED + 300, weight, gradient)
    first = second = np.zeros(2)
    for _ in range(SETTLED + 300):
        first = 0.9 * first + 0.1 * gradient
        second = 0.95 * second + 0.05 * gradient**2
        weight = weight * (1 - 0.01 * 0.1) - 0.01 * first / (np.sqrt(second) + 1e-8)
    for found, expected in zip(many, (weight, first, second), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    far = adam_after(10**9, weight, gradient)
    assert np.all(np.abs(far[0]) < 11)


def test_a_step_of_adam_that_was_not_made_is_noticed() -> None:
    task = kernel("adam").task(problem("fp32", {"n": 64}))
    assert isinstance(task, Program)
    views = {array.name: np.empty(array.shape(Part()), array.dtype) for array in task.arrays}
    for array in task.arrays:
        array.fill(Part(), views[array.name])
    assert task.check(Part(), views, 0) == ""
    assert "weight" in task.check(Part(), views, 1)


def test_attention_weighs_by_softmax(workbench: Workbench) -> None:
    length, depth = 256, 64
    found: dict[str, np.ndarray[Any, Any]] = {}
    workbench.run(
        kernel("attention_prefill"),
        "fp64",
        {"length": length, "heads": 1, "depth": depth},
        spoil=lambda views: found.update({name: view.copy() for name, view in views.items()}),
    )
    scores = found["query"] @ found["key"].T / np.sqrt(depth)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    assert weights.max() > 10 / length, "no softmax to speak of would go unnoticed"
    np.testing.assert_allclose(found["result"], weights @ found["value"], rtol=1e-11)


def test_embedding_reads_rows_at_random_from_the_whole_table(workbench: Workbench) -> None:
    seen: list[np.ndarray[Any, Any]] = []
    workbench.run(
        kernel("embedding"),
        "fp32",
        {"rows": 5000, "dimensions": 4, "vocabulary": 1000},
        threads=2,
        spoil=lambda views: seen.append(views["chosen"].copy()),
    )
    chosen = seen[0]
    assert len(np.unique(chosen)) > 850
    assert np.abs(np.diff(chosen.astype(int))).mean() == pytest.approx(1000 / 3, rel=0.1)


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("softmax", {"rows": 1, "columns": 8}, "each thread needs one"),
        ("embedding", {"rows": 1, "dimensions": 1, "vocabulary": 1 << 31}, "are possible"),
        ("attention_prefill", {"length": 300, "heads": 2, "depth": 64}, "length is 300"),
        ("attention_prefill", {"length": 256, "heads": 2, "depth": 3}, "depth is 3"),
        ("attention_decode", {"length": 0, "heads": 2, "depth": 3}, "at least one"),
    ],
)
def test_sizes_that_cannot_be_are_told(name: str, sizes: Sizes, said: str) -> None:
    with pytest.raises(Unsuitable, match=said):
        kernel(name).task(problem("fp64", sizes, 2))


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "embedding", "adam", "attention_decode"])
@pytest.mark.parametrize("threads", [1, 12])
def test_a_fit_uses_the_bytes_and_not_more(name: str, threads: int) -> None:
    spec = kernel(name)
    sizes = spec.fit(Request("fp32", 1 << 27, threads))
    used = spec.count(problem("fp32", sizes, threads)).working_set
    assert 0.9 * (1 << 27) < used <= 1.01 * (1 << 27)
