"""Instruction sets, from what LLVM says of a CPU."""

from __future__ import annotations

import dataclasses

import pytest

from microbench import isa
from microbench.isa import Isa, describe, host

AVX2 = ("sse2", "avx", "avx2", "fma", "f16c")
AVX512 = (*AVX2, "avx512f", "avx512vl", "avx512dq", "avx512bw")


def described(machine: str, target: str, have: tuple[str, ...]) -> Isa:
    """Describe a CPU that has these features, and lacks one that matters and one that does not."""
    return describe(machine, target, {**dict.fromkeys(have, True), "amx-tile": False, "mmx": True})


@pytest.mark.parametrize(
    ("machine", "target", "features", "vector_bits", "fma", "registers"),
    [
        ("x86_64", "x86-64", ("sse2",), (128,), False, 16),
        ("x86_64", "sandybridge", ("sse2", "avx"), (128, 256), False, 16),
        ("x86_64", "haswell", AVX2, (128, 256), True, 16),
        ("AMD64", "znver3", AVX2, (128, 256), True, 16),
        ("x86_64", "skylake-avx512", AVX512, (128, 256, 512), True, 32),
        ("x86_64", "znver4", (*AVX512, "avx512bf16", "avx512vnni"), (128, 256, 512), True, 32),
        ("x86_64", "knl", (*AVX2, "avx512f"), (128, 256, 512), True, 16),
    ],
)
def test_x86(
    machine: str, target: str, features: tuple[str, ...], vector_bits: tuple[int, ...], fma: bool, registers: int
) -> None:
    assert described(machine, target, features) == Isa("x86", target, features, vector_bits, fma, registers)


@pytest.mark.parametrize("machine", ["aarch64", "arm64", "ARM64"])
@pytest.mark.parametrize("features", [("neon", "fp-armv8"), ("neon", "fp-armv8", "bf16", "sve", "sve2")])
def test_arm_has_neon_whatever_else_it_has(machine: str, features: tuple[str, ...]) -> None:
    found = described(machine, "neoverse-v2", features)
    assert (found.family, found.vector_bits, found.fma, found.registers) == ("arm", (128,), True, 32)
    assert set(found.features) == set(features)


@pytest.mark.parametrize(
    ("machine", "features", "vector_bits"),
    [("riscv64", (), ()), ("riscv64", ("v",), ()), ("ppc64le", ("vsx",), (128,)), ("s390x", (), ())],
)
def test_other_machines_keep_their_name(machine: str, features: tuple[str, ...], vector_bits: tuple[int, ...]) -> None:
    found = described(machine, "generic", features)
    assert (found.family, found.vector_bits, found.features) == (machine, vector_bits, features)


@pytest.mark.parametrize(
    ("machine", "features", "precision", "widths"),
    [
        ("x86_64", AVX512, "fp64", (128, 256, 512)),
        ("x86_64", (*AVX512, "avx512vnni"), "int8", (128, 256, 512)),
        ("x86_64", (*AVX2, "avx512f", "avx512vnni"), "int8", (512,)),
        ("x86_64", (*AVX2, "avxvnni"), "int8", (128, 256)),
        ("x86_64", AVX512, "int8", ()),
        ("x86_64", (*AVX512, "avx512bf16"), "bf16", (128, 256, 512)),
        ("x86_64", (*AVX512, "avx512fp16"), "fp16", (128, 256, 512)),
        ("x86_64", AVX512, "fp16", ()),
        ("aarch64", ("neon", "fullfp16", "dotprod"), "fp16", (128,)),
        ("aarch64", ("neon", "fullfp16", "dotprod"), "int8", (128,)),
        ("aarch64", ("neon", "fullfp16", "dotprod"), "bf16", ()),
        ("riscv64", (), "fp64", (64,)),
        ("riscv64", (), "fp32", (32,)),
        ("riscv64", (), "int8", ()),
    ],
)
def test_widths_of_a_precision(
    machine: str, features: tuple[str, ...], precision: str, widths: tuple[int, ...]
) -> None:
    assert isa.widths(described(machine, "generic", features), precision) == widths


def test_the_encoding_that_reaches_all_registers_is_preferred() -> None:
    both = described("x86_64", "sapphirerapids", (*AVX512, "avx512vnni", "avxvnni"))
    old = described("x86_64", "alderlake", (*AVX2, "avxvnni"))
    extension = isa.extension(both, "int8", 256)
    assert extension is not None
    assert extension.name == "AVX512-VNNI"
    extension = isa.extension(old, "int8", 256)
    assert extension is not None
    assert extension.name == "AVX-VNNI"
    assert isa.extension(old, "int8", 512) is None


def test_what_is_missing_is_named_by_its_instruction() -> None:
    x86, arm = described("x86_64", "znver3", AVX2), described("aarch64", "cortex-a72", ("neon",))
    assert isa.needs(x86, "fp16") == "vfmadd231ph (AVX512-FP16)"
    assert isa.needs(x86, "int8") == "vpdpbusd (AVX512-VNNI) or vpdpbusd (AVX-VNNI)"
    assert isa.needs(arm, "bf16") == "bfdot (FEAT_BF16)"
    assert "none of riscv64" in isa.needs(described("riscv64", "generic", ()), "bf16")


def test_matrix_units_are_seen() -> None:
    features = (*AVX512, "amx-bf16", "amx-int8")
    with_tiles = describe("x86_64", "sapphirerapids", {**dict.fromkeys(features, True), "amx-tile": True})
    assert isa.tiles(with_tiles) == (("AMX", "amx-tile, amx-bf16, amx-int8"),)
    assert isa.tiles(described("x86_64", "znver4", AVX512)) == ()
    assert isa.tiles(described("arm64", "apple-m4", ("neon", "sme"))) == (("SME", "sme"),)


def test_features_of_no_interest_are_left_out() -> None:
    assert described("x86_64", "haswell", AVX2).features == AVX2


def test_the_host_is_one_of_them() -> None:
    found = host()
    assert found.target
    assert found is host()
    assert found == describe("x86_64" if found.family == "x86" else {"arm": "aarch64"}.get(found.family, found.family),
                             found.target, dict.fromkeys(found.features, True))  # fmt: skip
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.registers = 1  # type: ignore[misc]
