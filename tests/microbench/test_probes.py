"""Results of the probes: what they compute, that their oracles agree, and that the oracles notice what is wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from microbench import catalog, confirm, isa
from microbench.catalog import STEP_BYTES
from microbench.loop import A_SLOT, FIRST_SLOT, X_SLOT
from microbench.probes import compute, intensity, memory
from microbench.probes.probe import (
    ADDEND,
    CHECK_WHOLE_BYTES,
    DTYPES,
    MULTIPLIER,
    SIGN,
    START_STEPS,
    Chains,
    Probe,
    ramp,
)
from microbench.team import REGISTER_SLOTS, Worker
from microbench.vector import Machinecode

HOST, _ = confirm.host()
WIDTHS = HOST.vector_bits
WIDEST = WIDTHS[-1:]
MIXES = [mix.name for mix in catalog.MIXES if HOST.fma or not mix.fma]
STORING = [name for name in MIXES if name != "load"]
PRECISIONS = [entry.name for entry in catalog.PRECISIONS if isa.widths(HOST, entry.name) and not entry.accumulated]
INSTRUCTIONS = [entry.name for entry in catalog.instructions_of("fp64") if HOST.fma or "fma" not in entry.steps]
CHAINED = [name for name in INSTRUCTIONS if catalog.instruction(name).chained]
DOTS = [
    (entry.name, bits) for entry in catalog.PRECISIONS if entry.accumulated for bits in isa.widths(HOST, entry.name)
]
CHAINS = 8

needs_fma = pytest.mark.skipif(not HOST.fma, reason="this CPU has no fused multiply-add")

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Memory of a thread, on this one, which stays where it is."""
    worker = Worker(None, 8 << 20)
    yield worker
    worker.arena.close()


def call(worker: Worker, code: Machinecode, trips: int) -> None:
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)(code.address)
    function(worker.arguments.ctypes.data, trips)


def integers(seed: int, shape: Any, dtype: Any) -> Array:
    """Return small whole numbers, whose sums and products have no rounding."""
    numbers: Array = np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)
    return numbers


def signs(seed: int, shape: Any, dtype: Any) -> Array:
    numbers: Array = np.random.default_rng(seed).choice([-1, 1], shape).astype(dtype)
    return numbers


# ------------------------------------------------------------------------- what the code computes, without the oracles


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("steps", [1, 3, 37])
def test_streams_compute_what_numpy_does(compiled: Any, worker: Worker, name: str, bits: int, steps: int) -> None:
    _, code = compiled("memory", name, bits)
    length = steps * STEP_BYTES
    count = catalog.mix(name).arrays
    worker.arena.bytes[:] = 0x5A
    offsets = worker.arena.offsets(count, length)
    arrays = [worker.arena.view(offset, length, np.float64) for offset in offsets]
    for index, array in enumerate(arrays):
        array[:] = integers(index, array.shape, np.float64)
    x, a = worker.slot(X_SLOT, np.float64), worker.slot(A_SLOT, np.float64)
    x[:], a[:] = signs(7, 8, np.float64), integers(8, 8, np.float64)
    before = worker.arena.bytes.copy()
    lanes = bits // 64
    xs, addends = (np.tile(slot[:lanes], length // 8 // lanes) for slot in (x, a))

    worker.point(offsets, length, STEP_BYTES)
    # Two passes and one step more, which has seen one pass more than the rest.
    call(worker, code, 2 * steps + 1)

    start = [array.copy() for array in views(before, offsets, length)]
    kind = name.removesuffix("_nt")
    expected = list(start)
    if kind in ("copy", "load2_store1"):
        expected[0] = start[1]
    elif kind == "triad":
        expected[0] = start[2] * xs + start[1]
    elif kind == "store":
        expected[0] = addends
    elif kind == "update":
        thrice = start[0] * (xs + 1) ** 3
        expected[0] = start[0] * (xs + 1) ** 2
        expected[0][: STEP_BYTES // 8] = thrice[: STEP_BYTES // 8]
    for index, array in enumerate(arrays):
        assert np.array_equal(array, expected[index]), f"array {index}"
        before[offsets[index] : offsets[index] + length] = array.view(np.uint8)
    # Nothing between, before or behind the arrays was touched.
    assert np.array_equal(worker.arena.bytes, before)


def views(memory: Array, offsets: tuple[int, ...], length: int) -> list[Array]:
    return [memory[offset : offset + length].view(np.float64) for offset in offsets]


ONE_STEP: dict[str, Callable[[Array, Array, Array], Array]] = {
    "fma": lambda y, x, a: y * x + y,
    "mul_add_unfused": lambda y, x, a: y * x + a,
    "add": lambda y, x, a: a - y,
    "mul": lambda y, x, a: y * x,
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("instructions", CHAINED)
@pytest.mark.parametrize("bits", [0, *WIDTHS])
@pytest.mark.parametrize("trips", [1, 4, 13])
def test_chains_compute_what_numpy_does(
    compiled: Any, worker: Worker, precision: str, instructions: str, bits: int, trips: int
) -> None:
    bits = bits or 8 * catalog.precision(precision).bytes
    probe, code = compiled("compute", precision, instructions, bits, CHAINS)
    x, a, values = fill_registers(worker, precision, probe, CHAINS)
    steps = catalog.instruction(instructions).steps
    if "fma" in steps:
        # -2 and 0, with which y * x + y is exact and stays small.
        x = worker.slot(X_SLOT, x.dtype)[: len(x)] = x - 1
    worker.point((), 0)
    call(worker, code, trips)
    for index in range(CHAINS):
        for _ in range(probe.steps * trips):
            values[index] = ONE_STEP[steps[index % len(steps)]](values[index], x, a)
    assert np.array_equal(read_registers(worker, precision, probe, CHAINS), values)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("instructions", ["divide", "sqrt"])
@pytest.mark.parametrize("bits", [0, *WIDTHS])
def test_divisions_and_roots_are_those_of_numpy(
    compiled: Any, worker: Worker, precision: str, instructions: str, bits: int
) -> None:
    bits = bits or 8 * catalog.precision(precision).bytes
    probe, code = compiled("compute", precision, instructions, bits, CHAINS)
    dtype, lanes = DTYPES[precision], lanes_of(precision, probe)
    worker.registers[:] = 0
    numbers = np.random.default_rng(5).uniform(0.5, 900, (2, lanes)).astype(dtype)
    worker.slot(A_SLOT, dtype)[:lanes], worker.accumulator(CHAINS, dtype)[:lanes] = numbers
    worker.point((), 0)
    call(worker, code, 3)
    expected = numbers[0] / numbers[1] if instructions == "divide" else np.sqrt(numbers[1])
    found = read_registers(worker, precision, probe, CHAINS)
    assert all(np.array_equal(row, expected) for row in found)
    assert np.array_equal(worker.accumulator(CHAINS, dtype)[:lanes], numbers[1])


def dot_products(worker: Worker, precision: str, lanes: int) -> tuple[Array, Array]:
    """Return x . a and a . a of each lane, from the bytes in the registers."""
    if precision == "int8":
        x, a = (worker.slot(slot, np.int8)[: 4 * lanes].astype(np.int64) for slot in (X_SLOT, A_SLOT))
        return (x * a).reshape(lanes, 4).sum(axis=1), (a * a).reshape(lanes, 4).sum(axis=1)
    halves = [worker.slot(slot, np.uint16)[: 2 * lanes].astype(np.uint32) << 16 for slot in (X_SLOT, A_SLOT)]
    x, a = (half.view(np.float32) for half in halves)
    return (x * a).reshape(lanes, 2).sum(axis=1), (a * a).reshape(lanes, 2).sum(axis=1)


@pytest.mark.parametrize(("precision", "bits"), DOTS)
@pytest.mark.parametrize("trips", [1, 4, 13])
def test_dot_products_compute_what_numpy_does(
    compiled: Any, worker: Worker, precision: str, bits: int, trips: int
) -> None:
    probe, code = compiled("compute", precision, "dot", bits, CHAINS)
    lanes, rng = bits // 32, np.random.default_rng(11)
    if precision == "int8":
        # From 0 to 127 where the one of two instructions takes bytes without a sign.
        worker.slot(X_SLOT, np.int8)[:] = rng.integers(0, 128, 64)
        worker.slot(A_SLOT, np.int8)[:] = rng.integers(-128, 128, 64)
        dtype: Any = np.int32
    else:
        for slot in (X_SLOT, A_SLOT):
            worker.slot(slot, np.uint16)[:] = rng.integers(-9, 10, 32).astype(np.float32).view(np.uint32) >> 16
        dtype = np.float32
    starts = rng.integers(-99, 100, (CHAINS, lanes))
    for index, start in enumerate(starts):
        worker.accumulator(index, dtype)[:lanes] = start
    worker.point((), 0)
    call(worker, code, trips)
    product, square = dot_products(worker, precision, lanes)
    up = 0 if precision == "int8" else probe.steps // 2 + 1
    expected = starts + trips * (up * square + (probe.steps - up) * product)
    found = np.array([worker.accumulator(index, dtype)[:lanes] for index in range(CHAINS)])
    assert np.array_equal(found, expected)


@needs_fma
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("multiply_adds", catalog.MULTIPLY_ADDS)
@pytest.mark.parametrize(("bits", "chains"), [(bits, CHAINS) for bits in WIDEST] + [(WIDTHS[0], 12)])
@pytest.mark.parametrize("steps", [1, 3])
def test_intensities_compute_what_numpy_does(
    compiled: Any, worker: Worker, precision: str, multiply_adds: int, bits: int, chains: int, steps: int
) -> None:
    probe, code = compiled("intensity", precision, multiply_adds, bits, chains)
    _, _, values = fill_registers(worker, precision, probe, chains)
    length = steps * STEP_BYTES
    data = worker.arena.view(0, length, DTYPES[precision])
    data[:] = signs(9, data.shape, data.dtype) - 1
    worker.point((0,), length, probe.loop.step)
    call(worker, code, 2 * length // probe.loop.step)
    loads = probe.loop.counts.loads
    turn = 0
    for vector, loaded in enumerate(np.tile(data, 2).reshape(-1, values.shape[1])):
        # Every trip begins again with the first chain.
        turn = turn if vector % loads else 0
        for _ in range(multiply_adds):
            values[turn % chains] = values[turn % chains] * loaded + values[turn % chains]
            turn += 1
    assert np.array_equal(read_registers(worker, precision, probe, chains), values)


def lanes_of(precision: str, probe: Probe) -> int:
    return probe.loop.vector_bits // (8 * catalog.precision(precision).bytes)


def fill_registers(worker: Worker, precision: str, probe: Probe, chains: int) -> tuple[Array, Array, Array]:
    """Fill the register block with other numbers in every lane: multiplier, addend, starts of the chains."""
    dtype, lanes = DTYPES[precision], lanes_of(precision, probe)
    worker.registers[:] = 0
    x, a = signs(1, lanes, dtype), integers(2, lanes, dtype)
    starts = integers(3, (chains, lanes), dtype) + np.arange(chains * lanes, dtype=dtype).reshape(chains, lanes)
    worker.slot(X_SLOT, dtype)[:lanes], worker.slot(A_SLOT, dtype)[:lanes] = x, a
    for index, start in enumerate(starts):
        worker.slot(FIRST_SLOT + index, dtype)[:lanes] = start
    return x, a, starts


def read_registers(worker: Worker, precision: str, probe: Probe, chains: int) -> Array:
    lanes = lanes_of(precision, probe)
    return np.array([worker.accumulator(index, DTYPES[precision])[:lanes] for index in range(chains)])


# --------------------------------------------------------------------------------------- that the oracles are content


def run(worker: Worker, probe: Probe, code: Machinecode, length: int, passes: int) -> int:
    """Prepare a probe and run some passes in two calls, as a warm-up and a sample; returns the trips made."""
    probe.prepare(worker, length)
    a_pass = length // probe.loop.step if probe.arrays else 1
    call(worker, code, a_pass)
    if passes > 1:
        call(worker, code, (passes - 1) * a_pass)
    return passes * a_pass


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", MIXES)
def test_the_oracle_of_a_stream_is_content(compiled: Any, worker: Worker, name: str, bits: int) -> None:
    probe, code = compiled("memory", name, bits)
    for steps in (1, 5, 31):
        for passes in (1, 2, 7):
            length = steps * STEP_BYTES
            trips = run(worker, probe, code, length, passes)
            assert probe.check(worker, length, trips) == ""


@pytest.mark.parametrize("name", MIXES)
def test_the_oracle_of_a_large_stream_is_content(compiled: Any, worker: Worker, name: str) -> None:
    probe, code = compiled("memory", name, WIDEST[0])
    length = CHECK_WHOLE_BYTES + 3 * STEP_BYTES
    assert probe.check(worker, length, run(worker, probe, code, length, 3)) == ""


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("bits", [0, *WIDTHS])
def test_the_oracle_of_chains_is_content(
    compiled: Any, worker: Worker, precision: str, instructions: str, bits: int
) -> None:
    bits = bits or 8 * catalog.precision(precision).bytes
    probe, code = compiled("compute", precision, instructions, bits, CHAINS)
    for passes in (1, 2, 101):
        assert probe.check(worker, 0, run(worker, probe, code, 0, passes)) == ""


@pytest.mark.parametrize(("precision", "bits"), DOTS)
def test_the_oracle_of_dot_products_is_content(compiled: Any, worker: Worker, precision: str, bits: int) -> None:
    probe, code = compiled("compute", precision, "dot", bits, CHAINS)
    for passes in (1, 2, 101, 40_001):
        assert probe.check(worker, 0, run(worker, probe, code, 0, passes)) == ""


@pytest.mark.parametrize("precision", sorted({precision for precision, _ in DOTS}))
def test_the_oracle_of_dot_products_counts_the_trips(compiled: Any, worker: Worker, precision: str) -> None:
    probe, code = compiled("compute", precision, "dot", WIDEST[0], CHAINS)
    trips = run(worker, probe, code, 0, 9)
    for wrong in (trips - 2, trips - 1, trips + 1, trips + 2):
        assert "accumulator 0 holds" in probe.check(worker, 0, wrong)


def test_more_dot_products_than_fp32_can_count_are_refused(worker: Worker) -> None:
    extension = next(entry for entry in catalog.EXTENSIONS if entry.precision == "bf16")
    probe = compute.build("bf16", "dot", extension.vector_bits[0], CHAINS, extension)
    probe.prepare(worker, 0)
    assert "more than can be counted" in probe.check(worker, 0, 1 << 24)


@pytest.mark.parametrize("name", ["divide", "sqrt"])
def test_a_wrong_result_of_a_division_or_root_is_noticed(compiled: Any, worker: Worker, name: str) -> None:
    probe, code = compiled("compute", "fp64", name, WIDEST[0], CHAINS)
    trips = run(worker, probe, code, 0, 1)
    result = worker.accumulator(CHAINS - 1, np.float64)
    result[-1 if WIDEST[0] == 512 else 0] += 1e-15
    assert f"result {CHAINS - 1} holds" in probe.check(worker, 0, trips)


@needs_fma
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("multiply_adds", catalog.MULTIPLY_ADDS)
@pytest.mark.parametrize(("bits", "chains"), [(bits, CHAINS) for bits in WIDEST] + [(WIDTHS[0], 12)])
def test_the_oracle_of_an_intensity_is_content(
    compiled: Any, worker: Worker, precision: str, multiply_adds: int, bits: int, chains: int
) -> None:
    probe, code = compiled("intensity", precision, multiply_adds, bits, chains)
    for steps, passes in ((1, 1), (1, 2), (5, 3), (31, 4)):
        length = steps * STEP_BYTES
        assert probe.check(worker, length, run(worker, probe, code, length, passes)) == ""


# ------------------------------------------------------------------------------------- that the oracles notice a fault


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_wrong_element_is_noticed(compiled: Any, worker: Worker, name: str, place: str) -> None:
    probe, code = compiled("memory", name, WIDEST[0])
    length = 9 * STEP_BYTES
    trips = run(worker, probe, code, length, 2)
    stored = worker.arena.view(0, length, np.float64)
    index = {"first": 0, "middle": len(stored) // 2 + 1, "last": len(stored) - 1}[place]
    stored[index] = np.nextafter(stored[index], np.inf)
    assert f"element {index} holds" in probe.check(worker, length, trips)


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_wrong_end_of_a_large_array_is_noticed(compiled: Any, worker: Worker, place: str) -> None:
    probe, code = compiled("memory", "copy", WIDEST[0])
    length = CHECK_WHOLE_BYTES + 3 * STEP_BYTES
    trips = run(worker, probe, code, length, 1)
    stored = worker.arena.view(0, length, np.float64)
    index = 0 if place == "first" else len(stored) - 1
    stored[index] = 0
    assert f"element {index} holds" in probe.check(worker, length, trips)


@pytest.mark.parametrize("name", STORING)
def test_a_stream_that_did_not_run_is_noticed(compiled: Any, worker: Worker, name: str) -> None:
    probe, _ = compiled("memory", name, WIDEST[0])
    length = 5 * STEP_BYTES
    probe.prepare(worker, length)
    assert "element 0 holds" in probe.check(worker, length, 15)


@pytest.mark.parametrize("name", STORING)
def test_a_stream_that_stopped_half_way_is_noticed(compiled: Any, worker: Worker, name: str) -> None:
    probe, code = compiled("memory", name, WIDEST[0])
    length = 5 * STEP_BYTES
    probe.prepare(worker, length)
    call(worker, code, 3)
    assert "holds" in probe.check(worker, length, 5)
    assert probe.check(worker, length, 3) == "only 3 trips were made of the 5 that one pass takes"


@pytest.mark.parametrize("name", [name for name in MIXES if name.startswith("update")])
@pytest.mark.parametrize("missing", [-1, 1])
def test_a_pass_too_few_or_too_many_of_an_update_is_noticed(
    compiled: Any, worker: Worker, name: str, missing: int
) -> None:
    probe, code = compiled("memory", name, WIDEST[0])
    length = 5 * STEP_BYTES
    trips = run(worker, probe, code, length, 6)
    assert "holds" in probe.check(worker, length, trips + missing * 5)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("bits", [0, *WIDTHS])
def test_faults_in_chains_are_noticed(compiled: Any, worker: Worker, precision: str, bits: int) -> None:
    bits = bits or 8 * catalog.precision(precision).bytes
    probe, code = compiled("compute", precision, INSTRUCTIONS[0], bits, CHAINS)
    dtype, lanes = DTYPES[precision], lanes_of(precision, probe)
    trips = run(worker, probe, code, 0, 3)
    assert "accumulator 0 holds" in probe.check(worker, 0, trips - 1)
    last = worker.accumulator(CHAINS - 1, dtype)
    good = last[lanes - 1]
    last[lanes - 1] = np.nextafter(good, dtype(np.inf))
    assert f"accumulator {CHAINS - 1} holds" in probe.check(worker, 0, trips)
    last[lanes - 1] = good
    one, other = worker.accumulator(1, dtype), worker.accumulator(2, dtype)
    one[:], other[:] = other.copy(), one.copy()
    assert "accumulator 1 holds" in probe.check(worker, 0, trips)


@needs_fma
def test_faults_in_an_intensity_are_noticed(compiled: Any, worker: Worker) -> None:
    # One multiply-add on each of 16 loads, dealt to 12 chains: the first four do two steps a trip, the others one.
    probe, code = compiled("intensity", "fp64", 1, WIDTHS[0], 12)
    length = STEP_BYTES
    trips = run(worker, probe, code, length, 3)
    assert probe.check(worker, length, trips) == ""
    assert "accumulator 4 holds" in probe.check(worker, length, trips - 1)
    worker.accumulator(0, np.float64)[0] += 1
    assert "accumulator 0 holds" in probe.check(worker, length, trips)


# ------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("name", MIXES)
def test_streams_stay_with_normal_numbers(compiled: Any, worker: Worker, name: str) -> None:
    probe, code = compiled("memory", name, WIDEST[0])
    length = 3 * STEP_BYTES
    run(worker, probe, code, length, 1001)
    for offset in worker.arena.offsets(probe.arrays, length):
        assert_normal(worker.arena.view(offset, length, np.float64))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_chains_stay_with_normal_numbers(compiled: Any, worker: Worker, precision: str, instructions: str) -> None:
    probe, code = compiled("compute", precision, instructions, WIDEST[0], CHAINS)
    for passes in (10_000, 10_001):
        run(worker, probe, code, 0, passes)
        for index in range(CHAINS):
            assert_normal(worker.accumulator(index, DTYPES[precision])[: lanes_of(precision, probe)])


def assert_normal(values: Array) -> None:
    assert np.isfinite(values).all()
    assert (np.abs(values) >= np.finfo(values.dtype).tiny).all()
    assert (np.abs(values) < 8).all()


LONG = 1_000_000_000
"""Steps of a chain that runs for a second."""


@pytest.mark.parametrize("step", ["fma", "mul_add_unfused", "add", "mul"])
@pytest.mark.parametrize("precision", DTYPES)
def test_chains_come_back_to_the_last_bit_so_that_they_never_end_in_denormals(precision: str, step: str) -> None:
    dtype = DTYPES[precision]
    starts = Chains(precision, START_STEPS, (step,)).start(0)
    x, a = dtype(MULTIPLIER if step == "fma" else SIGN), dtype(ADDEND)
    once = ONE_STEP[step](starts, x, a)
    period = 2
    assert ONE_STEP[step](once, x, a).tobytes() == starts.tobytes()
    assert once.tobytes() != starts.tobytes()
    for steps in (LONG, LONG + 1):
        assert_normal(starts if steps % period == 0 else once)


def test_an_update_in_place_comes_back_to_the_last_bit() -> None:
    start = ramp(0)
    once = start * MULTIPLIER + start
    assert (once * MULTIPLIER + once).tobytes() == start.tobytes()
    assert_normal(start)
    assert_normal(once)


# ------------------------------------------------------------------------------------------------------ untouched pages

READERS = [
    *(("memory", name, WIDEST[0]) for name in MIXES),
    *([("intensity", "fp64", 1, WIDEST[0], CHAINS)] if HOST.fma else []),
    ("latency", "random", 1),
    ("latency", "page", 1),
    *(("gather", *entry) for entry in catalog.GATHERS),
    ("stride", 8),
]


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: " ".join(map(str, kind)))
def test_every_page_that_is_read_was_written_before(compiled: Any, kind: tuple[Any, ...]) -> None:
    """Pages that nobody wrote are all the same page of zeros, which lies in the nearest cache however many are read."""
    probe, _ = compiled(*kind)
    length = 64 * STEP_BYTES * 8 // probe.arrays // STEP_BYTES * STEP_BYTES
    fresh = Worker(None, 4 << 20)
    before = fresh.arena.backing()
    if before is None:
        pytest.skip("needs the memory map of Linux")
    assert before[0] == 0
    probe.prepare(fresh, length)
    resident, _ = fresh.arena.backing() or (0, 0)
    fresh.arena.close()
    assert resident >= probe.arrays * length


def test_no_two_lanes_of_any_two_chains_start_alike() -> None:
    for precision in ("fp64", "fp32", "fp16"):
        chains = compute.build(precision, "fma", 512, 24).registers.chains  # type: ignore[attr-defined]
        starts = np.concatenate([chains.start(index) for index in range(24)])
        assert len(set(starts.tolist())) == len(starts)


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("length", [0, STEP_BYTES - 64, STEP_BYTES + 64])
@pytest.mark.parametrize("name", ["load", "copy"])
def test_arrays_that_are_not_whole_steps_are_refused(worker: Worker, name: str, length: int) -> None:
    with pytest.raises(ValueError, match=f"arrays of {length} bytes are not whole steps of {STEP_BYTES}"):
        memory.build(name, 128).prepare(worker, length)


def test_arrays_that_do_not_fit_are_refused(worker: Worker) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        memory.build("copy", 128).prepare(worker, 8 << 20)
    with pytest.raises(ValueError, match="does not fit"):
        intensity.build("fp64", 1, 128, 8).prepare(worker, (8 << 20) + STEP_BYTES)


def test_arrays_that_are_not_aligned_are_refused(worker: Worker) -> None:
    with pytest.raises(ValueError, match="array at 32 is not aligned to 64 bytes"):
        worker.point((0, 32), 4096)
    with pytest.raises(ValueError, match="4 arrays; a loop has at most 3"):
        worker.point((0, 64, 128, 192), 64)


def test_more_chains_than_slots_are_refused(worker: Worker) -> None:
    most = REGISTER_SLOTS - FIRST_SLOT
    compute.build("fp64", "fma", 64, most).prepare(worker, 0)
    with pytest.raises(IndexError, match=f"no slot {REGISTER_SLOTS}"):
        compute.build("fp64", "fma", 64, most + 1).prepare(worker, 0)


def test_a_fill_is_kept_only_while_it_is_there(worker: Worker) -> None:
    load, store, other = memory.build("load", 128), memory.build("store", 128), intensity.build("fp32", 1, 128, 8)
    length = 4 * STEP_BYTES
    for before in (store, other, load):
        before.prepare(worker, 8 * STEP_BYTES)
        load.prepare(worker, length)
        assert (worker.arena.view(0, length, np.float64) == MULTIPLIER).all()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(KeyError, match="unknown access mix"):
        memory.build("stream", 256)
    with pytest.raises(KeyError, match="unknown instruction"):
        compute.build("fp64", "remainder", 256, 8)
    with pytest.raises(KeyError, match="fp64 has no dot"):
        compute.build("fp64", "dot", 256, 8)
    with pytest.raises(KeyError, match="bf16 has no fma"):
        compute.build("bf16", "fma", 256, 8)
    with pytest.raises(KeyError, match="no 64-bit dot products of bf16"):
        compute.build("bf16", "dot", 64, 8)
    with pytest.raises(KeyError, match="unknown precision"):
        intensity.build("fp128", 1, 256, 8)
