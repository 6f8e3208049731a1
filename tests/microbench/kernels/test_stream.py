"""STREAM: right results after any number of passes, counts equal to the instructions, an oracle that notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from microbench.assembly import verify
from microbench.kernels.kernel import Request, Stream, Unsuitable
from microbench.kernels.registry import kernel
from microbench.team import Worker
from tests.emission import NEHALEM, Target, assembly_for
from tests.microbench.kernels.rig import Rig, counted_by_instructions, elsewhere, of_family, problem_for
from tests.microbench.kernels.workbench import Workbench, problem

NAMES = of_family("stream")
PRECISIONS = ["fp64", "fp32"]

Array = np.ndarray[Any, np.dtype[Any]]
EXPECTED: dict[str, Callable[[list[Array]], Array]] = {
    "copy": lambda start: start[1],
    "scale": lambda start: 3 * start[1],
    "add": lambda start: start[1] + start[2],
    "triad": lambda start: start[1] + 3 * start[2],
    "fill": lambda start: np.full_like(start[0], 3),
}


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
        worker.arena.bytes[1024 * 5 + 7] ^= 0x10

    outcome = workbench.run(kernel(name), precision, {"n": 4096 * threads}, threads, damage=damage)
    assert outcome.verdict == ""
    assert "wrong result" in outcome.verdict_when_spoilt
    assert outcome.code.status in ("verified", "unseen")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_they_compute_what_numpy_does(worker: Worker, name: str, precision: str) -> None:
    rig = Rig(name, precision, worker)
    random = np.random.default_rng(5)
    arrays = [rig.array(index) for index in range(rig.task.arrays)]
    for array in arrays:
        array[:] = random.integers(-99, 100, len(array))
    start = [array.copy() for array in arrays]
    rig.run(2)
    expected = EXPECTED[name.removeprefix("stream_").removesuffix("_nt")](start)
    assert np.array_equal(arrays[0], expected)
    assert all(np.array_equal(array, before) for array, before in zip(arrays[1:], start[1:], strict=True))


@pytest.mark.parametrize("passes", [1, 2, 1001])
@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_agrees_after_any_number_of_passes_but_not_before(worker: Worker, name: str, passes: int) -> None:
    rig = Rig(name, "fp32", worker)
    assert "holds" in rig.check(passes)
    rig.run(passes)
    assert rig.check(passes) == ""


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_formulas_count_what_the_instructions_do(name: str, precision: str) -> None:
    spec = kernel(name)
    tally = spec.count(problem(precision, {"n": 3 * 1024}))
    assert counted_by_instructions(spec, precision, {}) == (tally.flop, tally.read, tally.written)
    assert tally.traffic == tally.read + (tally.written if name.endswith("_nt") else 2 * tally.written)


@pytest.mark.parametrize(("target", "bits"), elsewhere(), ids=str)
def test_code_for_other_cpus_is_what_was_meant(target: Target, bits: int) -> None:
    for name in NAMES:
        task = kernel(name).task(problem_for(target, bits, "fp32"))
        assert isinstance(task, Stream)
        _, reason = verify(assembly_for(target, task.loop), task.loop.counts, target.family)
        assert not reason, f"{name}: {reason}"


def test_without_fused_multiply_adds_a_triad_multiplies_and_adds() -> None:
    task = kernel("stream_triad_nt").task(problem_for(NEHALEM, 128, "fp64", fma=False))
    assert isinstance(task, Stream)
    found, reason = verify(assembly_for(NEHALEM, task.loop), task.loop.counts, "x86")
    assert not reason
    assert (found.fma, found.mul, found.add) == (0, 64, 64)


@pytest.mark.parametrize("threads", [1, 3])
def test_sizes_fill_the_bytes_asked_for_in_whole_steps(threads: int) -> None:
    spec = kernel("stream_triad")
    sizes = spec.fit(Request("fp64", 1_000_000, threads))
    tally = spec.count(problem("fp64", sizes, threads))
    assert 1_000_000 - threads * 3 * 1024 < tally.working_set <= 1_000_000


def test_a_size_that_is_not_made_of_whole_steps_is_refused_with_the_next_that_is() -> None:
    with pytest.raises(Unsuitable, match=r"n is 1000; .* multiple of 256, and the next is 1024"):
        kernel("stream_copy").count(problem("fp64", {"n": 1000}, 2))
