"""What this CPU can execute, as LLVM sees it: target name, vector widths, fused multiply-add."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from microbench import catalog
from microbench.catalog import EXTENSIONS, TILES, Extension

_X86 = ("x86_64", "amd64", "i386", "i686")
_ARM = ("aarch64", "arm64")
_INTERESTING = (
    *("sse2", "avx", "avx2", "fma", "f16c"),
    *("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512bf16", "avx512fp16", "avx512vnni", "avxvnni"),
    *("amx-tile", "amx-bf16", "amx-int8"),
    *("neon", "fp-armv8", "fullfp16", "bf16", "dotprod", "i8mm", "sve", "sve2", "sme"),
    *("v", "vsx"),
)


@dataclass(frozen=True, slots=True)
class Isa:
    """Instruction set of a CPU.

    Attributes
    ----------
    family : str
        ``"x86"``, ``"arm"`` or the bare machine name for others.
    target : str
        LLVM's name of the CPU.
    features : tuple of str
        LLVM's names of those instruction sets that matter to the probes.
    vector_bits : tuple of int
        Widths of vector that one instruction can work on, ascending; empty where only scalars are known to work.
    fma : bool
        Whether a multiply-add is one instruction.
    registers : int
        Vector registers that code can name.
    """

    family: str
    target: str
    features: tuple[str, ...]
    vector_bits: tuple[int, ...]
    fma: bool
    registers: int


def describe(machine: str, target: str, features: Mapping[str, bool]) -> Isa:
    """Return the instruction set of a CPU given LLVM's name of it and its feature flags."""
    have = tuple(name for name in _INTERESTING if features.get(name))
    machine = machine.lower()
    if machine in _X86:
        widths = [128]
        if "avx" in have:
            widths.append(256)
        if "avx512f" in have:
            widths.append(512)
        # Without VL the upper 16 registers exist for 512-bit instructions only; all that has F but not VL is Knights
        # Landing, and 16 registers still hold its 12 chains.
        registers = 32 if "avx512vl" in have else 16
        return Isa("x86", target, have, tuple(widths), "fma" in have, registers)
    if machine in _ARM:
        # SVE registers are longer on some cores, but their length is not a constant of the code; NEON is what every
        # one of them executes at 128 bits.
        return Isa("arm", target, have, (128,), True, 32)
    # RISC-V's vectors have no fixed length, and LLVM (20) takes none of them as operands of inline assembly.
    widths = [128] if "vsx" in have else []
    return Isa(machine, target, have, tuple(widths), True, 32)


def extension(found: Isa, precision: str, bits: int) -> Extension | None:
    """Return what a CPU works on a precision with at a vector width; None if it has nothing, or needs nothing."""
    for entry in EXTENSIONS:
        usable = entry.family == found.family and bits in entry.vector_bits and bits in found.vector_bits
        if usable and entry.precision == precision and set(entry.features) <= set(found.features):
            return entry
    return None


def widths(found: Isa, precision: str) -> tuple[int, ...]:
    """Return the vector widths at which a CPU works on a precision, ascending; empty if it cannot at all.

    Scalars are not listed; where a CPU has no vectors that are known, the width of an element stands for them.
    """
    if precision not in {entry.precision for entry in EXTENSIONS}:
        return found.vector_bits or (8 * catalog.precision(precision).bytes,)
    return tuple(bits for bits in found.vector_bits if extension(found, precision, bits))


def needs(found: Isa, precision: str) -> str:
    """Return which instructions would work on a precision, in words."""
    known = {
        f"{entry.mnemonic} ({entry.name})": None
        for entry in EXTENSIONS
        if entry.precision == precision and entry.family == found.family
    }
    return " or ".join(known) or f"an instruction for it, and this release knows none of {found.family}"


def tiles(found: Isa) -> tuple[tuple[str, str], ...]:
    """Return the matrix units that a CPU has and no probe measures, each with the names of its instruction sets."""
    present = []
    for name, features in TILES.items():
        if set(features) <= set(found.features):
            present.append((name, ", ".join(f for f in found.features if f.startswith(name.lower()))))
    return tuple(present)


@cache
def host() -> Isa:
    """Return the instruction set of the CPU this runs on, as LLVM describes it."""
    from llvmlite import binding

    return describe(platform.machine(), binding.get_host_cpu_name(), dict(binding.get_host_cpu_features()))
