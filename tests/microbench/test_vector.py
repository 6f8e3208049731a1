"""Emitted loops: every probe contains exactly what it means, on this CPU and on others, and traps of LLVM are seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from llvmlite import ir

from microbench import catalog, isa, vector
from microbench.assembly import Counts, verify
from microbench.probes import compute, intensity, irregular, latency, memory, overhead
from microbench.probes.probe import Probe
from microbench.vector import Emitter, Loop
from tests.emission import HASWELL, NEHALEM, NEOVERSE, SKYLAKE, WITH_FMA, ZEN3, ZEN4, Target, assembly_for

HOST = isa.host()
HOST_CHAINS = (1, 8, 12, 24) if HOST.registers == 32 and HOST.family == "x86" else (1, 8, 12)

readable = pytest.mark.skipif(
    HOST.family not in ("x86", "arm"), reason=f"the assembly of {HOST.family} cannot be read, and is reported as unseen"
)


def instruction_names(fma: bool) -> tuple[str, ...]:
    return tuple(entry.name for entry in catalog.INSTRUCTIONS if fma or entry.name != "fma")


def mixes(fma: bool) -> tuple[catalog.Mix, ...]:
    return tuple(mix for mix in catalog.MIXES if fma or not mix.fma)


def probe_arguments(widths: tuple[int, ...], chains: tuple[int, ...], fma: bool) -> Iterator[tuple[Any, ...]]:
    """Yield what each probe of the catalogue is built from: kind and arguments."""
    for mix in mixes(fma):
        for bits in widths:
            yield "memory", mix.name, bits
    for precision in catalog.PRECISIONS:
        for name in instruction_names(fma):
            for bits in (8 * precision.bytes, *widths):
                for number in chains if bits == widths[-1] else chains[:2]:
                    yield "compute", precision.name, name, bits, number
        for k in catalog.MULTIPLY_ADDS if fma else ():
            for bits in widths:
                yield "intensity", precision.name, k, bits, chains[-1]
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
    for arguments in probe_arguments(HOST.vector_bits, HOST_CHAINS, HOST.fma):
        if arguments[0] == kind:
            probe, code = compiled(*arguments)
            found, reason = verify(code.assembly, probe.loop.counts, HOST.family)
            if reason or found != probe.loop.counts:
                wrong[probe.loop.name] = reason
    assert wrong == {}


@pytest.mark.parametrize("target", WITH_FMA, ids=str)
@pytest.mark.parametrize("kind", catalog.PROBES)
def test_every_probe_is_what_it_means_on_other_cpus(target: Target, kind: str) -> None:
    arguments = probe_arguments(target.vector_bits, target.accumulators, True)
    assert reasons(target, (build(*each) for each in arguments if each[0] == kind)) == {}


def test_probes_without_multiply_add_are_what_they_mean_on_old_cpus() -> None:
    arguments = probe_arguments(NEHALEM.vector_bits, NEHALEM.accumulators, False)
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
    for arguments in probe_arguments((128, 256, 512), (1, 7, 8, 24), True):
        if arguments[0] not in ("compute", "memory", "intensity"):
            continue
        loop = build(*arguments).loop
        counts, width = loop.counts, loop.vector_bits // 8
        lanes = width // catalog.precision(loop.precision).bytes
        assert counts.vector_bits == loop.vector_bits
        assert loop.flop == lanes * (2 * counts.fma + counts.add + counts.mul), loop.name
        assert loop.read_bytes == width * counts.loads, loop.name
        assert loop.written_bytes == width * (counts.stores + counts.nontemporal_stores), loop.name
        assert loop.allocate_bytes in (0, loop.written_bytes), loop.name


@pytest.mark.parametrize("mix", catalog.MIXES, ids=lambda mix: mix.name)
def test_lines_are_allocated_unless_read_before_or_written_past_the_caches(mix: catalog.Mix) -> None:
    loop = memory.build(mix.name, 256).loop
    read_before = mix.name.startswith("update")
    assert loop.allocate_bytes == (0 if mix.nontemporal or read_before else loop.written_bytes)


# ------------------------------------------------------------------------------------------------ what is rejected


def loop_of(body: vector.Body, counts: Counts, **more: Any) -> Loop:
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


# On aarch64 each chain needs a copy of the addend besides, and what LLVM orders so takes more than the 32 registers.
@pytest.mark.parametrize(("target", "chains"), [(HASWELL, 18), (SKYLAKE, 36), (NEOVERSE, 24)], ids=str)
def test_too_many_accumulators_spill(target: Target, chains: int) -> None:
    loop = compute.build("fp64", "fma", target.vector_bits[-1], chains).loop
    found, reason = verify(assembly_for(target, loop), loop.counts, target.family)
    assert found.fma == loop.counts.fma
    assert reason == f"spills {found.spills} instead of 0"


def test_loops_without_a_barrier_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "_barrier", lambda builder: None)
    copy = memory.build("copy", 512).loop
    assert "loads 32 instead of 16" in verify(assembly_for(ZEN4, copy), copy.counts, "x86")[1]

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
    loop = Loop("unknown", "fp16", 128, lambda *_: [], Counts())
    with pytest.raises(KeyError, match="fp16"):
        vector.compile_loop(loop)
