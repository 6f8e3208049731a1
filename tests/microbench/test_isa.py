"""Instruction sets, from what LLVM says of a CPU."""

from __future__ import annotations

import dataclasses

import pytest

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
    [("riscv64", (), ()), ("riscv64", ("v",), (128,)), ("ppc64le", ("vsx",), (128,)), ("s390x", (), ())],
)
def test_other_machines_keep_their_name(machine: str, features: tuple[str, ...], vector_bits: tuple[int, ...]) -> None:
    found = described(machine, "generic", features)
    assert (found.family, found.vector_bits, found.features) == (machine, vector_bits, features)


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
