"""Each sentence of advice: a placement that calls for it, with the numbers of the case in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ert.roofline.model import (
    Case,
    Code,
    ComputeRoof,
    Kernel,
    Measurement,
    MemoryRoof,
    Roofline,
    Sample,
    Team,
    Work,
)
from ert.roofline.placing.advice import RULES
from ert.roofline.placing.place import Placement, place
from ert.roofline.quantities import number
from tests import factories
from tests.factories import BOTH, KIB, MIB, ONE, estimate, kernel, kernel_measurement

WHOLE = factories.zen4_whole()
GIB = 1 << 30

SCALAR = Code("compiled", found=(("fma", 1), ("loads", 2), ("vector_bits", 64)))
NARROW = Code("compiled", found=(("fma", 4), ("loads", 8), ("vector_bits", 128)))
WIDE = Code("compiled", found=(("fma", 4), ("loads", 8), ("vector_bits", 512)))
MIXED = Code(
    "compiled",
    found=(("fma", 96), ("add", 24), ("divide", 8), ("other_vector", 40), ("loads", 8), ("vector_bits", 512)),
)
COMPILED: dict[str, object] = {"implementation": "compiled loops"}
SEPARATE = Code("compiled", found=(("add", 4), ("mul", 4), ("vector_bits", 512)))


def advised(
    entry: Kernel,
    work: Work,
    seconds: float,
    roofline: Roofline = WHOLE,
    *,
    others: tuple[Placement, ...] = (),
    team: Team = ONE,
    precision: str = "fp64",
    level: str = "DRAM",
    code: Code | None = None,
    parameters: tuple[tuple[str, int | str], ...] = (),
    working_set: int = 128 * MIB,
) -> Placement:
    measured = kernel_measurement(
        entry, work, seconds, team=team, precision=precision, level=level, code=code, parameters=parameters,
        working_set=working_set,
    )  # fmt: skip
    beside = [
        kernel_measurement(
            p.kernel,
            p.work,
            p.seconds,
            team=p.case.team,
            precision=p.case.precision,
            level=p.level,
            parameters=p.case.parameters,
        )
        for p in others
    ]
    kernels = {k.name: k for k in (entry, *(p.kernel for p in others))}
    results = factories.zen4_results(measurements=(measured, *beside), kernels=tuple(kernels.values()))
    return place(results, roofline)[0]


def streaming(share: float, roofline: Roofline = WHOLE, *, bytes_per_s: float = 30e9, **changes: object) -> Placement:
    """A load-only stream of fp64 at such a share of 30 GB/s, one FLOP for each 8 bytes."""
    work = Work(flop=GIB // 8, read_bytes=GIB)
    return advised(kernel(family="vector", mix="load"), work, GIB / (share * bytes_per_s), roofline, **changes)  # type: ignore[arg-type]


def computing_vectors(share: float, code: Code) -> Placement:
    """The same that is no matrix product."""
    work = Work(flop=100 * GIB, read_bytes=GIB)
    return advised(kernel("gelu", "vector", mix="load"), work, 100 * GIB / (share * 58.8e9), code=code)


def computing(
    share: float, roofline: Roofline = WHOLE, *, facts: dict[str, object] | None = None, **changes: object
) -> Placement:
    """A kernel in DRAM that makes such a share of 58.8 GFLOP/s, 100 FLOP/byte."""
    work = Work(flop=100 * GIB, read_bytes=GIB)
    entry = kernel("product", "dense", **{"mix": "load", **(facts or {})})
    return advised(entry, work, 100 * GIB / (share * 58.8e9), roofline, **changes)  # type: ignore[arg-type]


def with_compute(roof: ComputeRoof, **changes: object) -> Roofline:
    compute = tuple(replace(r, **changes) if r is roof else r for r in WHOLE.compute)  # type: ignore[arg-type]
    return replace(WHOLE, compute=compute)


def with_memory(level: str, mix: str, team: Team, **changes: object) -> Roofline:
    def chosen(roof: MemoryRoof) -> bool:
        return (roof.level, roof.mix, roof.team) == (level, mix, team)

    memory = tuple(replace(r, **changes) if chosen(r) else r for r in WHOLE.memory)  # type: ignore[arg-type]
    return replace(WHOLE, memory=memory)


def of_one_team(roofline: Roofline, team: Team = ONE) -> Roofline:
    return replace(
        roofline,
        compute=tuple(roof for roof in roofline.compute if roof.team == team),
        memory=tuple(roof for roof in roofline.memory if roof.team == team),
    )


def the_roof(instructions: str, bits: int = 512, *, few: int = 0, team: Team = ONE) -> ComputeRoof:
    return next(
        roof
        for roof in WHOLE.compute
        if (roof.precision, roof.instructions, roof.vector_bits, roof.team) == ("fp64", instructions, bits, team)
        and (roof.accumulators == few if few else not roof.few_chains)
    )


# ------------------------------------------------------------------------------------------ under the roofs


def test_a_roof_that_was_not_measured_is_named() -> None:
    missing = computing(0.5, precision="fp16")
    assert (missing.rule, missing.advice) == (
        "unmeasured",
        ("No verified roof of fp16 arithmetic with 1 thread: what limits it is not known.",),
    )
    (both,) = computing(0.5, precision="fp16", level="L9").advice
    assert "fp16 arithmetic and L9 with" in both


def test_above_the_memory_roof_with_data_in_a_nearer_cache() -> None:
    found = streaming(2.0, working_set=8 * MIB)
    assert found.rule == "above_memory_roof"
    first, second = found.advice
    assert first == (
        "It moves 200.0 % of what the DRAM load roof allows: its 8 MiB a thread are partly in L3, "
        "which holds 7.2 MiB, so "
        "that less crosses DRAM than is counted."
    )
    assert second == "Measure a larger size, or place it under the L3 roof."


def test_above_a_memory_roof_that_is_uncertain() -> None:
    doubtful = with_memory("DRAM", "load", ONE, rate=estimate(30e9, grade="D", spread=0.123))
    first, second = streaming(1.5, doubtful).advice
    assert "150.0 % of what the DRAM load roof allows: that roof is uncertain (grade D, spread 12.3 %)" in first
    assert second == "Repeat the sweep on a quiet machine."


def test_above_a_memory_roof_for_another_reason() -> None:
    (only,) = streaming(1.5).advice
    assert "its modelled traffic counts bytes at DRAM that stay in a nearer cache, or the roof was measured" in only


def test_above_the_compute_roof_by_a_nominal_count() -> None:
    found = computing(1.2, facts={"nominal": True, "flop": "5 n log2(n)"})
    assert found.rule == "above_compute_roof"
    assert found.advice == (
        "It makes 120.0 % of the fp64 fma 256-bit roof: its count, 5 n log2(n), is nominal, more than the code does.",
    )


def test_above_the_compute_roof_by_additions_beside_multiply_adds() -> None:
    (only,) = computing(1.2).advice
    share = 1.2 * 58.8 / 88
    assert only == (
        "It makes 120.0 % of the fp64 fma 256-bit roof: additions run beside multiply-adds on this core. Of fp64 "
        f"fma_add_1_1 512-bit (88.0 GFLOP/s), the best such mix, it makes {100 * share:.1f} %."
    )


def test_above_the_compute_roof_for_another_reason() -> None:
    pure = replace(WHOLE, compute=tuple(roof for roof in WHOLE.compute if not roof.above))
    (only,) = computing(1.2, pure).advice
    assert only.endswith("the code does less than is counted, or the roof was measured too low (grade A).")


def test_a_pass_that_is_hardly_longer_than_its_call_and_loop_ends() -> None:
    work = Work(flop=800, read_bytes=6400)
    alone = advised(kernel(mix="load"), work, 180e-9, level="L1", working_set=4 * KIB)
    assert alone.rule == "too_short"
    assert alone.advice == (
        "It is too short: in a pass of 180 ns, calls and loop ends take a good part.",
        "Do more at a time, larger or several problems.",
    )
    both = advised(kernel(mix="load"), work, 180e-9, team=BOTH, level="L1", working_set=4 * KIB)
    assert both.advice[0].endswith("A barrier of 2 threads after each pass would add 60.0 ns.")
    # It comes before every other cause; ten times the time hides the ends, and so does a good rate.
    scalar = {"level": "L1", "code": SCALAR, "working_set": 4 * KIB}
    assert advised(kernel(mix="load", limit="chain"), work, 180e-9, **scalar).rule == "too_short"  # type: ignore[arg-type]
    assert advised(kernel(mix="load"), work, 2.4e-6, level="L1").rule != "too_short"
    assert advised(kernel(mix="load"), Work(flop=800, read_bytes=36000), 180e-9, level="L1").rule != "too_short"


def test_less_than_a_microsecond_is_short_where_nothing_is_near() -> None:
    def rule(read: int) -> str:
        return advised(kernel(mix="load"), Work(flop=800, read_bytes=read), 900e-9, level="L1").rule

    assert rule(20_000) == "too_short"
    assert rule(150_000) == "below_memory_roof"


def test_a_call_of_a_library_that_is_hardly_longer_than_a_start() -> None:
    work = Work(flop=800, read_bytes=6400)
    found = advised(kernel(mix="load", implementation="library"), work, 100e-6, team=BOTH, level="L1")
    assert found.advice[0] == "It is too short: 28.0 µs to start 2 threads are 28.0 % of a pass of 100 µs."
    # What takes less than a start has started no threads: only the call counts.
    quick = advised(kernel(mix="load", implementation="library"), work, 2e-6, team=BOTH, level="L1")
    assert quick.advice[0].startswith("It is too short: in a pass of 2.00 µs, calls of the library take a good part.")
    alone = advised(kernel(mix="load", implementation="library"), work, 100e-6, level="L1")
    assert alone.rule != "too_short"


# -------------------------------------------------------------------------------------------- near a roof


def test_near_the_memory_roof_non_temporal_stores_where_they_pay() -> None:
    work = Work(read_bytes=GIB, written_bytes=GIB, allocate_bytes=GIB)
    entry = kernel(mix="copy", instructions="")
    found = advised(entry, work, 3 * GIB / 31e9)
    assert found.rule == "at_memory_roof"
    assert found.advice == (
        f"At {100 * 31 / 31.5:.1f} % of the DRAM copy (traffic) roof (31.5 GB/s) only fewer bytes make it faster.",
        "Non-temporal stores spare the write-allocate read, 33.3 % of its modelled traffic: by the DRAM copy_nt roof "
        "(27.5 GB/s) they allow 1.31 times the speed.",
    )
    # The measured roof decides: where they are no faster, nothing is promised; nor in a cache.
    slow = with_memory("DRAM", "copy_nt", ONE, rate=estimate(20e9))
    assert "Non-temporal" not in advised(entry, work, 3 * GIB / 31e9, slow).advice[1]
    assert "Non-temporal" not in advised(entry, work, 3 * GIB / 78e9, level="L3").advice[1]


def test_near_the_memory_roof_blocking_where_data_are_moved_more_than_once() -> None:
    work = Work(flop=GIB, read_bytes=4 * GIB, compulsory_bytes=GIB)
    found = advised(kernel(mix="load"), work, 4 * GIB / 29e9)
    assert found.advice[1].startswith("It moves each datum 4.00 times (modelled): block or reorder")
    once = advised(kernel(mix="load"), replace(work, compulsory_bytes=4 * GIB), 4 * GIB / 29e9)
    assert "each datum" not in once.advice[1]


def test_near_the_memory_roof_the_batch_that_meets_the_ridge() -> None:
    # 1 FLOP/byte at a batch of 4; the ridge point of 58.8 GFLOP/s and 30 GB/s is 1.96.
    found = advised(
        kernel("decode", "dense", mix="load"), Work(flop=GIB, read_bytes=GIB), GIB / 29e9,
        parameters=(("batch", 4), ("n", 4096)),
    )  # fmt: skip
    assert found.advice[1] == (
        "Its intensity of 1.00 FLOP/byte grows with the batch of 4 and meets the ridge point (1.96 "
        "FLOP/byte) at a batch of "
        "about 8."
    )


def test_near_the_memory_roof_more_threads_where_they_have_a_higher_one() -> None:
    assert streaming(0.95).advice[1] == "2 threads have a DRAM roof 1.67 times as high."
    flat = with_memory("DRAM", "load", BOTH, rate=estimate(31e9))
    assert "threads have" not in streaming(0.95, flat).advice[1]


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("stream", "fuse it with the loop"),
        ("vector", "fuse it with the operation"),
        ("dense", "larger blocks or more vectors"),
        ("sparse", "fewer bytes for each non-zero"),
        ("stencil", "block over time steps"),
        ("convolution", "more output channels"),
        ("spectral", "while the data are in cache"),
        ("neural", "operators around it"),
        ("unheard", "fuse it with its neighbours"),
    ],
)
def test_near_the_memory_roof_what_its_family_can_do(family: str, words: str) -> None:
    alone = of_one_team(WHOLE)
    work = Work(flop=GIB // 8, read_bytes=GIB)
    found = advised(kernel("k", family, mix="load"), work, GIB / 29e9, alone)
    assert found.advice[1].startswith(
        "The ridge point (1.96 FLOP/byte) is at 15.7 times its intensity (0.125 FLOP/byte): "
    )
    assert words in found.advice[1]
    assert found.advice[1].endswith("or store fp32 in place of fp64.")
    # A copy has no ridge point and no precision.
    copy = advised(kernel("k", family, mix="load", instructions=""), Work(read_bytes=GIB), GIB / 29e9, alone)
    assert words in copy.advice[1][0].lower() + copy.advice[1][1:]
    assert "FLOP" not in copy.advice[1]
    assert "fp32" not in copy.advice[1]


def test_near_the_compute_roof_a_shorter_precision() -> None:
    found = computing(0.9)
    assert found.rule == "at_compute_roof"
    assert found.advice == (
        "At 90.0 % of the fp64 fma 256-bit roof (58.8 GFLOP/s) at most 1.11 times the speed is left with the same "
        "operations.",
        "fp32 has a roof 1.99 times as high (117 GFLOP/s).",
    )
    assert computing(0.96).advice[0].endswith("only fewer operations make it faster.")


def test_near_a_roof_what_is_left_and_the_faster_rung() -> None:
    low = {"ladder": "gemm", "rung": 1}
    size = (("n", 2048),)
    below = computing(0.82, facts=low, parameters=size, others=(rung(2, 0.93),))
    assert below.advice[1].startswith("The next faster rung of the ladder, GEMM, step 2, takes ")
    assert below.advice[1].endswith(": 1.13 times as fast.")
    # Near the fastest rung, what is left is another problem.
    assert "rung" not in computing(0.9, facts=low, parameters=size, others=(rung(2, 0.91),)).advice[1]
    assert "at most 1.18 times the speed is left with the same bytes" in streaming(0.85).advice[0]
    assert "only fewer bytes make it faster" in streaming(0.96).advice[0]


def test_a_rung_that_moves_fewer_bytes_comes_before_other_ways_to_move_fewer() -> None:
    def fused(seconds: float, size: int = 64) -> Placement:
        work = Work(flop=GIB // 2, read_bytes=GIB, written_bytes=GIB, allocate_bytes=GIB)
        parameters = (("n", size),)
        plain = factories.placement("fused", "vector", team=ONE, parameters=parameters, facts={
            "ladder": "fusion", "rung": 2, "title": "one loop"})  # fmt: skip
        rate = estimate(work.flop / seconds)
        return replace(plain, work=work, seconds=seconds, flop_rate=rate, intensity=1 / 6)

    apart = Work(flop=GIB // 2, read_bytes=2 * GIB, written_bytes=2 * GIB, allocate_bytes=2 * GIB)
    entry = kernel("apart", "vector", mix="copy", ladder="fusion", rung=1)

    def said(share: float, *others: Placement) -> str:
        seconds = 6 * GIB / (share * 31.5e9)
        return advised(entry, apart, seconds, parameters=(("n", 64),), others=others).advice[1]

    for share in (0.9, 0.7):
        assert said(share, fused(0.1024)) == (
            "The next faster rung of the ladder, one loop, takes 102 ms with 0.500 times the bytes for each operation: "
            f"{number(6 * GIB / (share * 31.5e9) / 0.1024)} times as fast."
        )
        assert said(share).startswith("Non-temporal stores")
    elsewhere = said(0.9, fused(0.1024, 128))
    assert elsewhere.startswith("The next faster rung of the ladder, one loop, makes 2.2")
    assert elsewhere.endswith(
        " times the FLOP/s with 0.500 times the bytes for each operation, at n 128, DRAM (102 ms)."
    )


def test_near_the_compute_roof_more_threads() -> None:
    double = replace(WHOLE, compute=tuple(roof for roof in WHOLE.compute if roof.precision == "fp64"))
    assert computing(0.9, double).advice[1] == "2 threads have a roof 2.00 times as high."


def test_near_the_compute_roof_with_nothing_left() -> None:
    double = replace(WHOLE, compute=tuple(roof for roof in WHOLE.compute if roof.precision == "fp64"))
    assert computing(0.9, of_one_team(double)).advice[1] == "An algorithm with fewer operations is what is left."


# ------------------------------------------------------------------------------------- what is known of it


def test_gathers_at_the_rate_of_the_measured_gather() -> None:
    # The measured gather of 8 bytes brings 2e9 elements/s.
    work = Work(flop=20 * MIB, read_bytes=100 * MIB, events=9 * MIB)
    entry = kernel("spmv", "sparse", mix="load", limit="gather")
    found = advised(entry, work, 9 * MIB / 1.8e9)
    assert found.rule == "gather_ceiling"
    assert found.advice == (
        "It reads 1.80 G elements/s through an index, 90.0 % of what random gathers from DRAM reach (2.00 G).",
        "Renumber or sort it so that neighbours share lines, or block it so that what is gathered "
        "stays in L3 (7.2 MiB).",
    )
    assert advised(entry, work, 9 * MIB / 1.0e9).rule != "gather_ceiling"
    # Far above what random ones reach: its neighbours share lines.
    assert advised(entry, work, 9 * MIB / 9.0e9).rule != "gather_ceiling"
    assert advised(replace(entry, limit=""), work, 9 * MIB / 1.8e9).rule != "gather_ceiling"
    uncut = replace(WHOLE, curves=())
    assert (
        advised(entry, work, 9 * MIB / 1.8e9, uncut).advice[1] == "Renumber or sort it so that neighbours share lines."
    )


def test_no_faster_than_independent_random_reads() -> None:
    def gathering(share: float, roofline: Roofline = WHOLE, **changes: object) -> Placement:
        entry = kernel("spmv", "sparse", mix="load", limit="gather")
        work = Work(flop=GIB // 8, read_bytes=GIB)
        return advised(entry, work, GIB / (share * 30e9), roofline, **changes)  # type: ignore[arg-type]

    found = gathering(7.5 / 30)
    assert found.rule == "not_prefetched"
    assert found.advice == (
        "It moves 7.50 GB/s, about what independent random reads of DRAM reach (7.68 GB/s): 4.89 "
        "KiB must be in flight for "
        "the roof, such reads keep 1.25 KiB.",
        "Renumber or sort it so that neighbours share lines, or block it so that what is gathered stays in L3 "
        "(7.2 MiB).",
    )
    assert gathering(4.0 / 30).rule != "not_prefetched"
    assert gathering(12.0 / 30).rule != "not_prefetched"
    # What reads in order has that rate by chance.
    assert streaming(7.5 / 30).rule == "far_below"
    rows = gathering(7.5 / 30, parameters=(("dimensions", 64), ("rows", 7)))
    assert rows.advice[0].startswith("It moves 7.50 GB/s in random rows of 512 B, about what independent random reads")
    assert rows.advice[1].startswith("Sort the indices, so that a row that is needed again is still in cache")
    slow = gathering(4.0 / 30, parameters=(("dimensions", 64), ("rows", 7)))
    assert slow.advice[0].endswith("it reads random rows of 512 B each, and no measured ceiling explains its rate.")
    # Where random reads keep most of what is needed in flight, as in a cache, they explain nothing.
    enough = replace(WHOLE, concurrency=tuple(replace(law, reached=0.8 * law.needed) for law in WHOLE.concurrency))
    assert gathering(7.5 / 30, enough).rule != "not_prefetched"


def test_steps_that_wait_for_each_other() -> None:
    found = computing(0.24, facts={"limit": "chain"})
    assert found.rule == "one_chain"
    assert found.advice == (
        "Each step waits for the one before: one chain of fma reaches 25.0 % of the roof (14.7 "
        "GFLOP/s), it makes 24.0 %.",
        "Keep more sums or columns going side by side.",
    )
    assert (
        computing(0.4, facts={"limit": "chain"})
        .advice[0]
        .startswith("Each step waits for the one before: 2 chains of fma reach 50.0 % of the roof")
    )
    # Few chains were measured with one thread; with two the share is compared, and it is said whose it is.
    both = computing(0.48, team=BOTH, facts={"limit": "chain"})
    assert "25.0 % of the roof (14.7 GFLOP/s with 1 thread), it makes 24.0 %" in both.advice[0]


def test_a_ceiling_far_above_what_a_kernel_makes_is_no_cause() -> None:
    assert computing(0.01, code=WIDE, facts={"limit": "chain"}).rule == "far_below"
    assert computing(0.01, code=NARROW).rule == "far_below"


def test_scalar_code() -> None:
    found = computing(0.2, code=SCALAR, facts=COMPILED)
    assert found.rule == "narrow_code"
    assert found.advice == (
        "Its code computes one element an instruction: scalar fma reaches 25.0 % of the roof (14.7 GFLOP/s), it makes "
        "20.0 %.",
        "Vectorise it: 128-bit vectors reach 50.0 % of the roof (29.4 GFLOP/s).",
    )


def test_scalar_code_is_not_blamed_for_what_gathers_or_memory_explain() -> None:
    assert computing(0.24, code=SCALAR).rule == "narrow_code"
    assert computing(0.01, code=SCALAR).rule == "far_below"
    assert computing(0.01, code=SCALAR, facts={"limit": "gather"}).rule == "far_below"
    assert computing(0.24, code=SCALAR, facts={"limit": "gather"}).rule == "narrow_code"
    assert streaming(0.6, code=SCALAR).rule == "below_memory_roof"


def test_narrow_vectors() -> None:
    found = computing(0.45, code=NARROW, facts=COMPILED)
    assert found.advice == (
        "Its code computes in 128-bit vectors: 128-bit fma reaches 50.0 % of the roof (29.4 GFLOP/s), it makes 45.0 %.",
        "Vectorise it: 256-bit vectors reach the roof.",
    )
    # What is written in vectors of that width has it on purpose.
    chosen = computing(0.45, code=NARROW)
    assert chosen.advice[1] == "That width was chosen, not left to a compiler."
    slopes = replace(WHOLE, memory=tuple(replace(roof, vector_bits=128) for roof in WHOLE.memory))
    assert (
        computing(0.45, slopes, code=NARROW).advice[1] == "That width was chosen: it is the one of the DRAM load roof."
    )


def test_arithmetic_that_is_not_all_multiply_adds() -> None:
    found = computing_vectors(0.7, MIXED)
    assert found.rule == "mixed_instructions"
    assert found.advice == (
        "It makes 70.0 % of the fp64 fma 256-bit roof, which its mix of instructions cannot reach: the inner loop has "
        "96 multiply-adds, 24 additions, 8 divisions, 40 others.",
        "Fewer divisions and roots, a shorter polynomial or a table would make it faster.",
    )
    # Its mix alone would allow (2 x 96 + 32) / (2 x 168) = 67 %: far less has another cause.
    assert computing(0.3, code=MIXED).rule != "mixed_instructions"
    assert computing(0.7, code=WIDE).rule == "lower_ceiling"


def test_products_and_sums_that_are_not_fused() -> None:
    half = with_compute(the_roof("mul_add_unfused"), rate=estimate(29.4e9))
    found = computing(0.45, half, code=SEPARATE)
    assert found.rule == "unfused_code"
    assert found.advice == (
        "Its code multiplies and adds apart: without fusing, 50.0 % of the roof (29.4 GFLOP/s) is "
        "the ceiling, it makes "
        "45.0 %.",
        "Let the compiler contract a * b + c to one instruction, or write it so.",
    )
    # On a core whose pipes do both as fast, that is no ceiling.
    assert computing(0.45, code=SEPARATE).rule != "unfused_code"


def test_arithmetic_that_cannot_fuse_and_was_measured_with_another_team() -> None:
    found = computing(0.9, team=BOTH, facts={"instructions": "add"})
    assert found.rule == "own_arithmetic"
    assert found.advice == (
        "Its arithmetic is add, which reaches 50.0 % of the roof (29.4 GFLOP/s with 1 thread): it "
        "makes 45.0 %, near what "
        "it can.",
        "Only multiply-adds in place of it, fewer operations or more threads would help.",
    )
    assert computing(0.6, team=BOTH, facts={"instructions": "add"}).rule != "own_arithmetic"


def test_the_traffic_of_a_nearer_level_at_its_roof() -> None:
    # 26.5 GFLOP/s, 45 % of the roof, on 212 of the 233 GB/s of L1.
    work = Work(flop=265 * 10**8, read_bytes=212 * 10**9, level_bytes=(("DRAM", 10**9),))
    entry = kernel("product", "dense", mix="load")
    found = advised(entry, work, 1.0)
    assert found.rule == "inner_level"
    assert found.advice == (
        f"Its traffic at L1, 212 GB/s (modelled), is {100 * 212 / 233:.1f} % of the L1 load roof.",
        "Keep values in registers for several uses (register blocks).",
    )
    in_l2 = replace(work, read_bytes=50 * 10**9, level_bytes=(("DRAM", 10**9), ("L2", 110 * 10**9)))
    assert advised(entry, in_l2, 1.0).advice == (
        f"Its traffic at L2, 110 GB/s (modelled), is {100 * 110 / 117:.1f} % of the L2 load roof.",
        "Smaller blocks, that stay in front of L2, use each byte more often there.",
    )
    assert advised(entry, replace(work, read_bytes=100 * 10**9), 1.0).rule != "inner_level"


# ----------------------------------------------------------------------------------- what its rates suggest


def test_some_way_below_the_memory_roof() -> None:
    found = streaming(0.6)
    assert found.rule == "below_memory_roof"
    assert found.advice == (
        "It moves 60.0 % of what the DRAM load roof allows (30.0 GB/s).",
        "2 threads have a DRAM roof 1.67 times as high.",
    )
    assert streaming(0.6, of_one_team(WHOLE)).advice[1].startswith("That roof is a stream in order on huge pages")
    copy = Work(read_bytes=GIB, written_bytes=GIB, allocate_bytes=GIB)
    stored = advised(kernel(mix="copy", instructions=""), copy, 3 * GIB / (0.6 * 31.5e9))
    assert stored.advice[1].startswith("Non-temporal stores spare")


def test_the_lowest_ceiling_that_it_is_not_above() -> None:
    found = computing(0.45, code=WIDE)
    assert found.rule == "lower_ceiling"
    assert found.advice == (
        "It makes 45.0 % of the roof; the lowest measured ceiling above that is 2 chains, 50.0 % of the roof (29.4 "
        "GFLOP/s).",
        "Give it more independent sums, and fewer loads for each operation.",
    )
    one = computing(0.24, code=WIDE)
    assert "is 1 chain, 25.0 % of the roof (14.7 GFLOP/s)" in one.advice[0]


def test_code_that_was_not_read_may_be_under_any_ceiling() -> None:
    unread = computing(0.24, code=Code("unseen", "no listing"))
    assert "is scalar code, 25.0 %" in unread.advice[0]
    assert unread.advice[1] == "See whether the compiler vectorised its inner loop."
    narrow = computing(0.4, with_compute(the_roof("fma", few=2), verified=False), code=Code("unseen"))
    assert "is 128-bit vectors, 50.0 %" in narrow.advice[0]
    assert narrow.advice[1] == "See which vectors its inner loop uses."
    slow = with_compute(the_roof("mul_add_unfused"), rate=estimate(0.7 * 58.8e9))
    apart = computing(0.6, slow, code=Code("unseen"))
    assert "is no fused multiply-adds, 70.0 %" in apart.advice[0]
    assert apart.advice[1] == "See whether its inner loop has fused multiply-adds."
    library = computing(0.24, code=Code("library"), facts={"implementation": "library"})
    assert library.advice[0].endswith("; its code is another library's and was not read.")
    assert library.advice[1] == "Try another library, or another build of it."


def test_above_every_lower_ceiling_and_not_near_the_roof() -> None:
    assert computing(0.7, code=WIDE).advice == (
        "It makes 70.0 % of the compute roof, more than each lower ceiling allows.",
        "What is left are gaps between blocks, edges, and loads beside the arithmetic.",
    )
    vectors = computing_vectors(0.7, WIDE)
    assert vectors.advice[1] == "What is left are loads and stores beside the arithmetic, and the ends of loops."


def test_far_below_everything() -> None:
    bare = replace(WHOLE, random_access=())
    found = streaming(0.1, bare)
    assert found.rule == "far_below"
    assert found.advice == (
        "It makes 0.6 % of the compute roof and 10.0 % of the memory roof, and no measured ceiling explains that.",
        "Look for steps that wait for each other, calls in the inner loop, page walks and idle threads.",
    )
    library = computing(0.05, code=Code("library"), facts={"implementation": "library"})
    assert library.rule == "far_below"
    assert library.advice[0].endswith(
        "no measured ceiling explains that; its code is another library's and was not read."
    )
    gathering = advised(
        kernel("spmv", "sparse", mix="load", limit="gather"), Work(flop=GIB // 8, read_bytes=GIB), GIB / 3e9
    )
    assert "it reads single elements through an index, each of which may bring a whole line" in gathering.advice[0]
    assert gathering.advice[1].startswith("Renumber or sort it")
    copy = advised(kernel(mix="load", instructions=""), Work(read_bytes=GIB), GIB / 3e9, bare)
    assert copy.advice[0] == "It makes 10.0 % of the memory roof, and no measured ceiling explains that."


# ------------------------------------------------------------------------------------------------ ladders


def rung(number: int, share: float, size: int = 2048, **changes: object) -> Placement:
    return factories.placement(
        f"gemm_{number}", "dense", roofline=WHOLE, team=ONE, intensity=100.0, efficiency=share,
        parameters=(("n", size),), facts={"ladder": "gemm", "rung": number, "title": f"GEMM, step {number}"}, **changes,
    )  # fmt: skip


def test_the_next_rung_of_a_ladder_takes_the_place_of_other_advice() -> None:
    low = {"ladder": "gemm", "rung": 1}
    size = (("n", 2048),)

    def second(*others: Placement) -> str:
        return computing(0.2, facts=low, code=SCALAR, parameters=size, others=others).advice[1]

    seconds = rung(2, 0.5).seconds
    assert second(rung(3, 0.8), rung(2, 0.5)) == (
        f"The next faster rung of the ladder, GEMM, step 2, takes {1e3 * seconds:.0f} ms: 2.50 times as fast."
    )
    # A rung that is no faster is passed over; another size has no time to compare, but a rate.
    assert "GEMM, step 3, takes" in second(rung(2, 0.2), rung(3, 0.8))
    assert second(rung(2, 0.5, size=512)) == (
        "The next faster rung of the ladder, GEMM, step 2, makes 2.50 times the FLOP/s, at n 512, DRAM "
        f"({1e3 * seconds:.0f} ms)."
    )
    assert second(rung(2, 0.5, size=512), rung(2, 0.4)).endswith(": 2.00 times as fast.")
    # So has a lower rung that is of the same problem only where the next one is not.
    assert "step 3" in second(rung(2, 0.5, size=512), rung(3, 0.4))
    blocks = replace(rung(3, 0.8), case=replace(rung(3, 0.8).case, parameters=(("kc", 128), ("n", 2048))))
    assert second(blocks).endswith(": 4.00 times as fast.")
    assert "rung" not in second(rung(2, 0.5, level="L2"))
    low = {"ladder": "gemm", "rung": 1, **COMPILED}
    assert second(rung(1, 0.5)).startswith("Vectorise it")
    assert computing(0.2, facts=COMPILED, code=SCALAR, others=(rung(2, 0.5),)).advice[1].startswith("Vectorise it")


# --------------------------------------------------------------------------------------------- in general


def test_changing_the_ceiling_that_limits_changes_the_sentence() -> None:
    """The same kernel under roofs that differ in one ceiling alone."""
    chain = the_roof("fma", few=1)
    before = computing(0.24, code=WIDE)
    higher = computing(0.24, with_compute(chain, rate=estimate(0.3 * 58.8e9)), code=WIDE)
    lower = computing(0.24, with_compute(chain, rate=estimate(0.1 * 58.8e9)), code=WIDE)
    assert "1 chain, 25.0 % of the roof (14.7 GFLOP/s)" in before.advice[0]
    assert "1 chain, 30.0 % of the roof (17.6 GFLOP/s)" in higher.advice[0]
    assert lower.rule == "far_below"

    scalar = the_roof("fma", 64)
    assert "scalar fma reaches 25.0 %" in computing(0.2, code=SCALAR).advice[0]
    assert (
        "scalar fma reaches 28.0 %"
        in computing(0.2, with_compute(scalar, rate=estimate(0.28 * 58.8e9)), code=SCALAR).advice[0]
    )

    assert streaming(0.95).rule == "at_memory_roof"
    assert streaming(0.95, with_memory("DRAM", "load", ONE, rate=estimate(45e9))).rule == "below_memory_roof"


def test_an_unverified_ceiling_says_nothing() -> None:
    assert computing(0.2, of_one_team(WHOLE), code=SCALAR).rule == "narrow_code"
    doubtful = of_one_team(with_compute(the_roof("fma", 64), verified=False))
    assert computing(0.2, doubtful, code=SCALAR).rule != "narrow_code"


def test_every_rule_has_its_test_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [rule.__name__ for rule in RULES if f'"{rule.__name__}"' not in text] == []


# ------------------------------------------------------------------------------- mixes of loads and stores

TWO_LOADS = Work(flop=MIB // 4, read_bytes=2 * MIB, written_bytes=MIB)
MIXES = {
    "load": Work(read_bytes=300),
    "update": Work(read_bytes=100, written_bytes=100),
    "load2_store1": Work(read_bytes=200, written_bytes=100, allocate_bytes=100),
}


def mixed(entry: Kernel, work: Work, seconds: float, level: str, *mixes: str) -> Placement:
    """Place a kernel where so many mixes are known by their shares."""
    measured = kernel_measurement(entry, work, seconds, team=ONE, level=level, working_set=4 * KIB)
    known = [
        Measurement(Case("memory", ONE, mix=mix), MIXES[mix], Code("verified"), (Sample(0, 1, 1.0),)) for mix in mixes
    ]
    memory = tuple(roof for roof in WHOLE.memory if roof.mix in mixes)
    results = factories.zen4_results(measurements=(measured, *known), kernels=(entry,))
    return place(results, replace(WHOLE, memory=memory))[0]


def test_an_update_in_place_has_the_roof_of_two_loads_and_a_store_in_l1() -> None:
    axpy = kernel("axpy", "vector", mix="update")
    right = mixed(axpy, TWO_LOADS, 3 * MIB / (0.97 * 328e9), "L1", "load", "update", "load2_store1")
    assert right.advice[0].startswith("At 97.0 % of the L1 load2_store1 roof (328 GB/s)")
    # Where its own mix was not measured, another one that moves slower is the cause, and no cache.
    other = mixed(axpy, TWO_LOADS, 3 * MIB / (0.97 * 328e9), "L1", "update")
    assert other.rule == "above_memory_roof"
    assert other.advice == (
        f"It moves {100 * 0.97 * 328 / 213:.1f} % of what the L1 update roof allows: 66.7 % of its traffic are reads, "
        "50.0 % of that roof's, and no nearer mix was measured there.",
    )


def test_above_a_roof_in_l1_there_is_no_nearer_cache() -> None:
    found = mixed(kernel(mix="update"), replace(TWO_LOADS, written_bytes=2 * MIB), 4 * MIB / 300e9, "L1", "update")
    assert found.advice[0].endswith("the code loads or stores less than is counted, or the roof was measured too low.")


def test_the_inner_levels_roof_is_that_of_its_loads_and_stores() -> None:
    work = replace(TWO_LOADS, level_bytes=(("DRAM", MIB // 100),))
    entry = kernel("gemm_reordered", "dense", mix="load")
    found = mixed(entry, work, 3 * MIB / (0.9 * 328e9), "DRAM", "load", "load2_store1")
    assert found.rule == "inner_level"
    assert found.advice[0] == "Its traffic at L1, 295 GB/s (modelled), is 90.0 % of the L1 load2_store1 roof."


def test_the_article_before_a_level() -> None:
    found = streaming(0.95, level="L1", bytes_per_s=233e9)
    assert found.advice[1].startswith("2 threads have an L1 roof")
