"""Emitted loops: every probe contains exactly what it means, on this CPU and on others, and traps of LLVM are seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import ir

from ert.measure import plan
from microbench import catalog, isa, vector
from microbench import loop as loops
from microbench.assembly import Counts, innermost_loops, verify
from microbench.loop import Loop
from microbench.probes import compute, intensity, irregular, latency, memory, overhead
from microbench.probes.probe import Probe
from microbench.vector import Emitter
from tests.emission import (
    ALDERLAKE,
    APPLE,
    HASWELL,
    NEHALEM,
    NEOVERSE,
    SAPPHIRE,
    SKYLAKE,
    WITH_FMA,
    ZEN3,
    ZEN4,
    Target,
    assembly_for,
)

HOST = isa.host()
HOST_CHAINS = (1, 8, 12, 24) if HOST.registers == 32 else (1, 8, 12)

readable = pytest.mark.skipif(
    HOST.family not in ("x86", "arm"), reason=f"the assembly of {HOST.family} cannot be read, and is reported as unseen"
)


def kinds(precision: str, fma: bool) -> tuple[catalog.Instruction, ...]:
    return tuple(kind for kind in catalog.instructions_of(precision) if fma or "fma" not in kind.steps)


def ordinary(found: isa.Isa) -> tuple[catalog.Precision, ...]:
    """Return the precisions with multiply-adds that a CPU works on."""
    return tuple(entry for entry in catalog.PRECISIONS if not entry.accumulated and isa.widths(found, entry.name))


def fitting(kind: catalog.Instruction, chains: tuple[int, ...], registers: int) -> tuple[int, ...]:
    """Return the numbers of chains that the sweep may ask for: mixes leave some registers free."""
    if len(set(kind.steps)) < 2:
        return chains
    most = registers - plan.SPARE_REGISTERS[registers]
    return tuple(dict.fromkeys(max(len(kind.steps), min(number, most) // len(kind.steps) * len(kind.steps))
                               for number in chains))  # fmt: skip


def mixes(fma: bool) -> tuple[catalog.Mix, ...]:
    return tuple(mix for mix in catalog.MIXES if fma or not mix.fma)


def probe_arguments(found: isa.Isa, chains: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield what each probe of the catalogue is built from on a CPU: kind and arguments."""
    widths, fma = found.vector_bits, found.fma
    for mix in mixes(fma):
        for bits in widths or (64,):
            yield "memory", mix.name, bits
    for precision in ordinary(found):
        for kind in kinds(precision.name, fma):
            for bits in (8 * precision.bytes, *widths):
                numbers = chains if bits == max(widths, default=0) else chains[:2]
                for number in fitting(kind, numbers, found.registers):
                    yield "compute", precision.name, kind.name, bits, number
        for k in catalog.MULTIPLY_ADDS if fma else ():
            for bits in widths or (8 * precision.bytes,):
                yield "intensity", precision.name, k, bits, chains[-1]
    for precision in catalog.PRECISIONS:
        for bits in isa.widths(found, precision.name) if precision.accumulated else ():
            for number in (1, 2, plan.DOT_CHAINS[found.registers]):
                yield "compute", precision.name, "dot", bits, number, isa.extension(found, precision.name, bits)
    for number in (1, 2, 4, 8, 16, *((24, 32) if chains[-1] >= 24 else ())):
        yield "latency", "random", number
    for gather in catalog.GATHERS:
        yield "gather", *gather
    for stride in catalog.STRIDES:
        yield "stride", stride
    yield "overhead", 2


BUILDERS = {
    "compute": compute.build,
    "memory": memory.build,
    "intensity": intensity.build,
    "latency": latency.build,
    "gather": irregular.build_gather,
    "stride": irregular.build_stride,
    "overhead": overhead.build_barrier,
}


def build(kind: str, *arguments: Any) -> Probe:
    return BUILDERS[kind](*arguments)  # type: ignore[operator, no-any-return]


def reasons(target: Target, probes: Iterator[Probe]) -> dict[str, str]:
    """Return the name of each probe whose code for `target` is not what it means, and why."""
    found = {
        probe.loop.name: verify(assembly_for(target, probe.loop), probe.loop.counts, target.family)[1]
        for probe in probes
    }
    assert found
    return {name: reason for name, reason in found.items() if reason}


# ------------------------------------------------------------------------------------------------ what is accepted


@readable
@pytest.mark.parametrize("kind", catalog.PROBES)
def test_every_probe_of_this_cpu_is_what_it_means(compiled: Any, kind: str) -> None:
    wrong = {}
    for arguments in probe_arguments(HOST, HOST_CHAINS):
        if arguments[0] == kind:
            probe, code = compiled(*arguments)
            found, reason = verify(code.assembly, probe.loop.counts, HOST.family)
            if reason or found != probe.loop.counts:
                wrong[probe.loop.name] = reason
    assert wrong == {}


@pytest.mark.parametrize("target", WITH_FMA, ids=str)
@pytest.mark.parametrize("kind", catalog.PROBES)
def test_every_probe_is_what_it_means_on_other_cpus(target: Target, kind: str) -> None:
    arguments = probe_arguments(target.isa, target.accumulators)
    assert reasons(target, (build(*each) for each in arguments if each[0] == kind)) == {}


def test_probes_without_multiply_add_are_what_they_mean_on_old_cpus() -> None:
    # Instructions with two operands need copies: additions of many chains spill, and the sweep asks for eight. Scalar
    # roots first clear their register, which is why the sweep takes vectors.
    arguments = [
        each
        for each in probe_arguments(replace(NEHALEM.isa, fma=False), NEHALEM.accumulators)
        if (each[0], *each[2:3]) != ("compute", "sqrt") or each[3] == 128
        if each[:1] + each[2:3] != ("compute", "add") or each[4] <= plan.SINGLE_CHAINS[16]
    ]
    assert reasons(NEHALEM, (build(*each) for each in arguments)) == {}


@pytest.mark.parametrize(
    "arguments",
    [("memory", "triad", bits) for bits in (128, 256, 512)]
    + [("memory", "copy_nt", 256), ("compute", "fp32", "mul_add_unfused", 32, 8), ("intensity", "fp32", 4, 512, 8)],
    ids=str,
)
def test_work_of_a_trip_is_what_its_instructions_do(arguments: tuple[Any, ...]) -> None:
    loop = build(*arguments).loop
    counts, width = loop.counts, loop.vector_bits // 8
    lanes = width // catalog.precision(loop.precision).bytes
    assert loop.flop == lanes * (2 * counts.fma + counts.add + counts.mul)
    assert loop.read_bytes == width * counts.loads
    assert loop.written_bytes == width * (counts.stores + counts.nontemporal_stores)


def test_work_of_every_probe_is_what_its_instructions_do() -> None:
    for arguments in probe_arguments(SAPPHIRE.isa, (1, 7, 8, 24)):
        if arguments[0] not in ("compute", "memory", "intensity"):
            continue
        loop = build(*arguments).loop
        counts, width = loop.counts, loop.vector_bits // 8
        lanes = width // catalog.precision(loop.precision).bytes
        assert counts.vector_bits == loop.vector_bits
        single = counts.add + counts.mul + counts.divide + counts.sqrt
        assert loop.flop == lanes * (2 * (counts.fma + counts.dot) + single), loop.name
        assert loop.read_bytes == width * counts.loads, loop.name
        assert loop.written_bytes == width * (counts.stores + counts.nontemporal_stores), loop.name
        assert loop.allocate_bytes in (0, loop.written_bytes), loop.name


@pytest.mark.parametrize("mix", catalog.MIXES, ids=lambda mix: mix.name)
def test_lines_are_allocated_unless_read_before_or_written_past_the_caches(mix: catalog.Mix) -> None:
    loop = memory.build(mix.name, 256).loop
    read_before = mix.name.startswith("update")
    assert loop.allocate_bytes == (0 if mix.nontemporal or read_before else loop.written_bytes)


def test_dot_products_count_two_operations_for_each_element() -> None:
    """4 FLOP in each 32 bits of bf16, 8 OP in each of int8."""
    for precision, operations in (("bf16", 4), ("int8", 8)):
        extension = isa.extension(SAPPHIRE.isa, precision, 512)
        loop = compute.build(precision, "dot", 512, 3, extension).loop
        assert loop.flop == loop.counts.dot * 16 * operations


@pytest.mark.parametrize(
    ("target", "precision", "bits", "listed"),
    [
        (ZEN4, "bf16", 512, "vdpbf16ps\t%zmm"),
        (ZEN4, "int8", 256, "vpdpbusd\t%ymm"),
        (ALDERLAKE, "int8", 256, "{vex}\tvpdpbusd\t%ymm"),
        (SAPPHIRE, "fp16", 512, "vfmadd231ph\t%zmm"),
        (SAPPHIRE, "fp16", 16, "vfmadd231sh\t%xmm"),
        (NEOVERSE, "fp16", 128, "fmla\tv"),
        (NEOVERSE, "bf16", 128, "bfdot\tv"),
        (NEOVERSE, "int8", 128, "sdot\tv"),
    ],
    ids=str,
)
def test_extensions_are_the_instructions_that_they_name(target: Target, precision: str, bits: int, listed: str) -> None:
    dot = bool(catalog.precision(precision).accumulated)
    extension = isa.extension(target.isa, precision, bits)
    loop = compute.build(precision, "dot" if dot else "fma", bits, 8, extension).loop
    listing = assembly_for(target, loop)
    assert verify(listing, loop.counts, target.family)[1] == ""
    assert listing.count(listed) == (loop.counts.dot or loop.counts.fma)


# ------------------------------------------------------------------------------------------------ what is rejected


def loop_of(body: loops.Body, counts: Counts, **more: Any) -> Loop:
    return Loop("trap", "fp64", counts.vector_bits, body, counts, **more)


def literal(emitter: Emitter, value: float) -> ir.Constant:
    return ir.Constant(emitter.type, [value] * emitter.lanes)


def test_a_literal_start_value_becomes_an_addition() -> None:
    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for offset in range(0, 512, 64):
            loaded = emitter.load(arrays[0], offset)
            beta = literal(emitter, 1.0)
            for _ in range(8):
                beta = emitter.fma(beta, loaded, a)
            emitter.store(beta, arrays[0], offset)
        return values

    loop = loop_of(body, Counts(fma=64, loads=8, stores=8, vector_bits=512), step=512)
    found, reason = verify(assembly_for(SKYLAKE, loop), loop.counts, "x86")
    assert reason == "fma 56 instead of 64; add 8 instead of 0"
    assert found.vector_bits == 512


def test_trials_on_the_same_data_share_one_load() -> None:
    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for _ in range(4):
            values = [emitter.fma(value, emitter.load(arrays[0], 0), a) for value in values]
        return values

    loop = loop_of(body, Counts(fma=32, loads=32, vector_bits=512), accumulators=8, step=64)
    assert verify(assembly_for(SKYLAKE, loop), loop.counts, "x86")[1] == "loads 1 instead of 32"


@pytest.mark.parametrize(("target", "chains"), [(HASWELL, 18), (SKYLAKE, 36), (NEOVERSE, 36)], ids=str)
def test_too_many_accumulators_spill(target: Target, chains: int) -> None:
    loop = compute.build("fp64", "fma", target.vector_bits[-1], chains).loop
    found, reason = verify(assembly_for(target, loop), loop.counts, target.family)
    assert found.fma == loop.counts.fma
    assert reason == f"spills {found.spills} instead of 0"


def test_loops_without_a_barrier_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "_barrier", lambda builder: None)

    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        return [emitter.fma(value, x, a) for value in values]

    short = loop_of(body, Counts(fma=2, vector_bits=512), accumulators=2)
    assert verify(assembly_for(SKYLAKE, short), short.counts, "x86")[1] == (
        "the generated code has 2 innermost loops instead of one"
    )


def test_vectors_wider_than_the_cpu_has_are_split() -> None:
    loop = compute.build("fp64", "fma", 512, 6).loop
    assert loop.counts.fma == 78
    assert verify(assembly_for(HASWELL, loop), loop.counts, "x86")[1] == (
        "fma 156 instead of 78; vector bits 256 instead of 512"
    )


def test_a_preference_for_narrow_vectors_is_seen() -> None:
    loop = intensity.build("fp64", 4, 512, 8).loop
    narrow = '"prefer-vector-width"="256" "min-legal-vector-width"="0"'
    assert verify(assembly_for(SKYLAKE, loop, narrow), loop.counts, "x86")[1] == (
        "fma 128 instead of 64; loads 32 instead of 16; vector bits 256 instead of 512"
    )


def test_multiply_adds_become_calls_where_the_cpu_has_none() -> None:
    loop = compute.build("fp64", "fma", 64, 8).loop
    assert "calls 72 instead of 0" in verify(assembly_for(NEHALEM, loop), loop.counts, "x86")[1]


def test_mixed_widths_are_seen() -> None:
    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        half = Emitter(emitter.builder, "fp64", 256, "x86_64")
        emitter.sink(emitter.load(arrays[0], 0))
        half.sink(half.load(arrays[0], 64))
        return values

    loop = loop_of(body, Counts(loads=2, vector_bits=512), step=128)
    assert verify(assembly_for(SKYLAKE, loop), loop.counts, "x86")[1] == "vector bits -1 instead of 512"


def test_constants_that_do_not_fit_are_read_from_memory_each_trip() -> None:
    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        return [emitter.fma(value, literal(emitter, 0.5 + i), a) for i, value in enumerate(values)]

    loop = loop_of(body, Counts(fma=14, vector_bits=256), accumulators=14)
    found, reason = verify(assembly_for(HASWELL, loop), loop.counts, "x86")
    assert found.fma == 14
    assert found.loads + found.spills > 0
    assert reason


def test_emission_to_memory_past_the_caches_ends_with_a_fence() -> None:
    fence = re.compile(r"^\s+(?:dmb|mfence|lock)\b", re.MULTILINE)
    for target in (SKYLAKE, ZEN3, NEOVERSE):
        ordinary, past = (assembly_for(target, memory.build(name, 128).loop) for name in ("copy", "copy_nt"))
        assert not fence.search(ordinary)
        assert len(fence.findall(past)) == 1


def test_a_single_nontemporal_vector_is_stored_all_the_same() -> None:
    def body(emitter: Emitter, arrays: list[Any], values: list[Any], x: Any, a: Any) -> list[Any]:
        for offset in (0, 16, 48):
            emitter.store(a, arrays[0], offset, nontemporal=True)
        return values

    loop = loop_of(body, Counts(nontemporal_stores=3, vector_bits=128), step=64)
    listing = assembly_for(NEOVERSE, loop)
    # One pair, and one vector by halves.
    assert listing.count("stnp\tq") == 1
    assert listing.count("stnp\td") == 1


def test_unknown_precisions_have_no_element_type() -> None:
    loop = Loop("unknown", "fp8", 128, lambda *_: [], Counts())
    with pytest.raises(KeyError, match="fp8"):
        vector.compile_loop(loop)


def test_addresses_of_loops_that_store_have_no_index() -> None:
    for name in ("load2_store1", "copy_nt", "triad"):
        for line in assembly_for(SKYLAKE, memory.build(name, 512).loop).splitlines():
            if "mm" in line and "(" in line:
                assert "," not in line[line.index("(") : line.index(")")], line


@pytest.mark.parametrize("target", [NEOVERSE, APPLE], ids=str)
def test_chains_need_no_copies_where_multiply_adds_overwrite_the_addend(target: Target) -> None:
    for probe in (
        compute.build("fp64", "fma", 128, 24),
        intensity.build("fp32", 8, 128, 24),
        memory.build("update", 128),
    ):
        (trip,) = innermost_loops(assembly_for(target, probe.loop))
        assert not [line for line in trip if line.mnemonic.startswith(("mov", "fmov")) and "v" in line.operands[0]]
