"""Vector kernels: right results after any number of passes, counts equal to the instructions, oracles that notice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from microbench.assembly import verify
from microbench.kernels.gelu import CUBIC
from microbench.kernels.kernel import Stream
from microbench.kernels.reduction import ACCUMULATORS
from microbench.kernels.registry import kernel
from microbench.loop import FIRST_SLOT
from microbench.team import Worker
from tests.emission import BULLDOZER, NEHALEM, Target, assembly_for
from tests.microbench.kernels.rig import SMALL, Rig, counted_by_instructions, elsewhere, of_family, problem_for
from tests.microbench.kernels.test_elementary import needs_more_digits
from tests.microbench.kernels.workbench import Workbench, problem

NAMES = of_family("vector")
REDUCTIONS = ["vector_sum", "dot"]
PRECISIONS = ["fp64", "fp32"]

# The sign of its factor: a vector from a table, a multiplication, and the address that tells a pass's first trip.
BOOKKEEPING = {"axpy": {"loads": 1, "mul": 1}}


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(None, 1 << 16)
    yield worker
    worker.arena.close()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_right_and_wrong_ones_are_noticed(
    workbench: Workbench, name: str, precision: str, threads: int
) -> None:
    def damage(worker: Worker) -> None:
        if name in REDUCTIONS:
            worker.slot(FIRST_SLOT + ACCUMULATORS - 1, np.uint8)[7] ^= 0x10
        else:
            # 10 KiB lie inside the array that is stored to, of two operations apart inside the one between.
            worker.arena.bytes[10240 + (4096 * 8 if name == "fusion_apart" else 0) + 7] ^= 0x10

    outcome = workbench.run(kernel(name), precision, {"n": 4096 * threads}, threads, passes=3, damage=damage)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt
    assert outcome.code.status in ("verified", "unseen")


@pytest.mark.parametrize("passes", [1, 2, 3, 1000, 1001])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_results_stay_exact_for_any_number_of_passes(worker: Worker, name: str, precision: str, passes: int) -> None:
    rig = Rig(name, precision, worker)
    rig.run(passes)
    assert rig.check(passes) == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_that_was_not_made_is_noticed(worker: Worker, name: str) -> None:
    rig = Rig(name, "fp64", worker)
    assert "holds" in rig.check(1)


@pytest.mark.parametrize("name", ["vector_add", "axpy"])
def test_a_pass_more_or_less_in_place_is_noticed(worker: Worker, name: str) -> None:
    rig = Rig(name, "fp64", worker)
    rig.run(2)
    assert rig.check(2) == ""
    assert "holds" in rig.check(1)
    assert "holds" in rig.check(3)


def scattered(length: int, dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-9, 10, length).astype(dtype)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["vector_add", "axpy", "relu", "fusion_fused"])
def test_element_wise_kernels_compute_what_numpy_does(worker: Worker, name: str, precision: str) -> None:
    rig = Rig(name, precision, worker)
    arrays = [rig.array(0), rig.array(1)]
    for index, array in enumerate(arrays):
        array[:] = scattered(len(array), rig.dtype, index)
    y, x = (array.copy() for array in arrays)
    rig.run(1)
    expected = {"vector_add": x - y, "axpy": 3 * x + y, "relu": np.maximum(x, 0), "fusion_fused": (x / 2 + 1) / 2 + 1}
    assert np.array_equal(arrays[0], expected[name])
    assert np.array_equal(arrays[1], x)
    if name == "axpy":
        rig.run(1)
        assert np.array_equal(arrays[0], y)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_two_operations_apart_compute_what_numpy_does(worker: Worker, precision: str) -> None:
    rig = Rig("fusion_apart", precision, worker)
    x, between, result = worker.arena.view(0, 3 * SMALL * rig.dtype.itemsize, rig.dtype).reshape(3, -1)
    x[:] = scattered(SMALL, rig.dtype, 4)
    rig.run(1)
    assert np.array_equal(between, x / 2 + 1)
    assert np.array_equal(result, between / 2 + 1)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_compute_what_numpy_does(worker: Worker, name: str, precision: str) -> None:
    rig = Rig(name, precision, worker)
    arrays = [rig.array(index) for index in range(rig.task.arrays)]
    for index, array in enumerate(arrays):
        array[:] = scattered(len(array), rig.dtype, index)
    for chain in range(ACCUMULATORS):
        worker.slot(FIRST_SLOT + chain, rig.dtype)[:] = 0
    rig.run(1)
    expected = arrays[0].sum() if name == "vector_sum" else np.dot(*arrays)
    assert rig.accumulators(ACCUMULATORS).sum() == expected


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("n", [1024, 2048, 4096, 1 << 20])
def test_reductions_begin_anew_in_every_pass(worker: Worker, name: str, precision: str, n: int) -> None:
    rig = Rig(name, precision, worker, n)
    assert "partial sum" in rig.check(1)
    for passes in (1, 2, 3):
        rig.run(1)
        assert rig.check(passes) == ""


@needs_more_digits
@pytest.mark.parametrize("precision", PRECISIONS)
def test_gelu_is_right_to_three_units_in_the_last_place(worker: Worker, precision: str) -> None:
    rig = Rig("gelu", precision, worker, 1 << 15)
    x = rig.array(1)
    x[:] = np.linspace(-1, 12, len(x))
    rig.run(1)
    exact = x.astype(np.longdouble)
    argument = np.sqrt(2 / np.longdouble(np.pi)) * (exact + CUBIC * exact**3)
    expected = exact / (1 + np.exp(-2 * argument))
    last = np.spacing(np.abs(expected.astype(rig.dtype))).astype(np.longdouble)
    assert (np.abs(rig.array(0) - expected) / last).max() <= 3


@pytest.mark.parametrize("precision", PRECISIONS)
def test_gelu_far_out_is_its_argument_or_nearly_nothing(worker: Worker, precision: str) -> None:
    rig = Rig("gelu", precision, worker)
    x, y = rig.array(1), rig.array(0)
    x[:] = np.resize(np.array([-1e10, -40.0, 40.0, 1e10, 0.0]), len(x))
    rig.run(1)
    assert np.array_equal(y[2:5], x[2:5])
    assert (np.abs(y[:2]) < 1e-25).all()
    assert np.isfinite(y).all()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_formulas_count_what_the_instructions_do(name: str, precision: str) -> None:
    spec = kernel(name)
    tally = spec.count(problem(precision, {"n": SMALL}))
    flop, read, written = counted_by_instructions(spec, precision, BOOKKEEPING.get(name, {}))
    if name == "gelu":
        flop -= SMALL  # the addition that moves a whole number's bits
    assert (flop, read, written) == (tally.flop, tally.read, tally.written)


def test_fusion_halves_the_traffic_of_the_same_arithmetic() -> None:
    apart, fused = (kernel(name).count(problem("fp64", {"n": SMALL})) for name in ("fusion_apart", "fusion_fused"))
    assert apart.flop == fused.flop
    assert apart.traffic == 2 * fused.traffic
    assert apart.compulsory == fused.compulsory


@pytest.mark.parametrize(("target", "bits"), [*elsewhere(), (NEHALEM, 128)], ids=str)
def test_code_for_other_cpus_is_what_was_meant(target: Target, bits: int) -> None:
    for precision in PRECISIONS:
        for name in NAMES:
            task = kernel(name).task(problem_for(target, bits, precision, fma=target is not NEHALEM))
            assert isinstance(task, Stream)
            _, reason = verify(assembly_for(target, task.loop), task.loop.counts, target.family)
            if name == "gelu" and (target, bits) == (BULLDOZER, 256):
                # Without AVX2 integers come by halves of 128 bits; that is told, not hidden.
                assert "vector bits" in reason
            else:
                assert not reason, f"{name} {precision}: {reason}"
