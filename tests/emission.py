"""Machine code for CPUs other than this one: loops emitted by LLVM for a named target, as text of assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from llvmlite import binding, ir

from microbench.isa import Isa
from microbench.loop import Loop
from microbench.vector import emit

_I64 = ir.IntType(64)


@dataclass(frozen=True)
class Target:
    """A CPU by LLVM's name of it, and what the probes need to know of its instruction set."""

    cpu: str
    triple: str
    machine: str
    family: str
    vector_bits: tuple[int, ...]
    accumulators: tuple[int, ...]
    extensions: tuple[str, ...] = ()
    """LLVM's names of the extensions of the catalogue that the CPU has."""

    def __str__(self) -> str:
        return self.cpu

    @property
    def isa(self) -> Isa:
        """What the probes would know of it."""
        return Isa(
            self.family, self.cpu, self.extensions, self.vector_bits, True, 32 if self.accumulators[-1] > 14 else 16
        )


def x86(cpu: str, vector_bits: tuple[int, ...], accumulators: tuple[int, ...], *extensions: str) -> Target:
    """Return a target; the last number of accumulators tells how many registers the probes may use."""
    return Target(cpu, "x86_64-unknown-linux-gnu", "x86_64", "x86", vector_bits, accumulators, extensions)


def arm(cpu: str, *extensions: str, triple: str = "aarch64-unknown-linux-gnu", machine: str = "aarch64") -> Target:
    """Return a target with NEON."""
    return Target(cpu, triple, machine, "arm", (128,), (8, 12, 24), extensions)


NEHALEM = x86("nehalem", (128,), (8, 12))
HASWELL = x86("haswell", (128, 256), (8, 12, 14))
BULLDOZER = x86("bdver2", (128, 256), (8, 12, 14))
SKYLAKE = x86("skylake-avx512", (128, 256, 512), (8, 12, 24))
ICELAKE = x86("icelake-server", (128, 256, 512), (8, 12, 24), "avx512vnni", "avx512vl")
SAPPHIRE = x86(
    "sapphirerapids", (128, 256, 512), (8, 12, 24), "avx512vnni", "avx512vl", "avx512bf16", "avx512fp16", "avxvnni"
)
ALDERLAKE = x86("alderlake", (128, 256), (8, 12, 14), "avxvnni")
KNIGHTS = x86("knl", (128, 256, 512), (8, 12, 14))
ZEN3 = x86("znver3", (128, 256), (8, 12, 14))
ZEN4 = x86("znver4", (128, 256, 512), (8, 12, 24), "avx512vnni", "avx512vl", "avx512bf16")
NEOVERSE = arm("neoverse-v2", "fullfp16", "bf16", "dotprod")
APPLE = arm("apple-m1", "fullfp16", "dotprod", triple="arm64-apple-macosx", machine="arm64")

WITH_FMA = (HASWELL, BULLDOZER, SKYLAKE, ICELAKE, SAPPHIRE, ALDERLAKE, KNIGHTS, ZEN3, NEOVERSE, APPLE)


def assembly_for(target: Target, loop: Loop, attributes: str = "") -> str:
    """Return the assembly of ``void loop(arguments, trips)`` for `target`, optimised as Numba optimises.

    `attributes` are added to the function, in LLVM's notation. Skips the test where this LLVM was built without the
    target.
    """
    return assembly_of(
        target, [_I64, _I64], lambda builder, found: emit(builder, loop, *found, target.machine), attributes
    )


def assembly_of(
    target: Target, kinds: Sequence[ir.Type], body: Callable[[ir.IRBuilder, Sequence[Any]], None], attributes: str = ""
) -> str:
    """Return the assembly of a function whose arguments have these types and whose body is emitted by `body`."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        machine = binding.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, opt=3)
    except RuntimeError as error:
        pytest.skip(f"this LLVM makes no code for {target.triple}: {error}")
    module = ir.Module(name="emission")
    module.triple = target.triple
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "loop")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    body(builder, function.args)
    builder.ret_void()
    head = f'define void @"loop"({", ".join(str(argument) for argument in function.args)})'
    text = str(module)
    assert head in text
    parsed = binding.parse_assembly(text.replace(head, f"{head} {attributes}"))
    parsed.verify()
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(parsed, passes)
    return str(machine.emit_assembly(parsed))
