"""The probes' code reaches, on cores that are not here, what their sheets state, as far as LLVM knows these cores.

A wrong number of chains, copies between them, spills or vectors narrower than meant would halve a roof silently on a
machine that nobody here owns; llvm-mca tells without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ert.measure import plan
from ert.records import machines
from ert.roofline.sheets.sheet import CoreSheet
from microbench import catalog, isa
from microbench.assembly import verify
from microbench.probes import compute, intensity, memory
from microbench.probes.probe import Probe
from tests import analyser, emission
from tests.emission import Target, arm, assembly_for, x86

ENOUGH = 0.98
"""Share of the sheet's figure that must be predicted; what is missing is the loop's own instructions, and the start."""

POINT = 64
"""Multiply-adds for each loaded element of the point of the intensity sweep that is looked at: on the compute roof."""

WIDEST = 2
"""Vector widths looked at, from the widest down; the fastest makes the roof."""

_INTEL_512 = "LLVM's model has one 512-bit multiply-add or dot product a cycle; the core has a second unit on port 5"
_ZEN4_DOT = (
    "LLVM's model starts a dot product every second (int8) or third cycle (bf16); measured, one starts each cycle"
)
_ZEN5 = "LLVM's model is that of Zen 4, whose pipes are 256 bits wide"
_PAIRS = "LLVM's model takes three micro-operations for a pair of loads and sends out 3 (N1) or 5 (N2) a cycle"
_NEON = "the core has 512-bit SVE; the probes are made of NEON, 128 bits wide"


@dataclass(frozen=True)
class Core:
    """A core by LLVM's name, its sheet, and where less than the sheet's figure is to be expected.

    `expected` holds, for a precision or ``"load"`` or ``"store"``, the share of the sheet's figure, and why.
    """

    target: Target
    sheet: str
    expected: dict[str, tuple[float, str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.target.cpu


AVX2, FEW = (128, 256), (8, 12, 14)
ZEN5 = x86("znver5", (128, 256, 512), (8, 12, 24), "avx512vnni", "avx512vl", "avx512bf16", "avxvnni")
CORES = (
    Core(emission.HASWELL, "haswell"),
    Core(x86("broadwell", AVX2, FEW), "broadwell"),
    Core(x86("skylake", AVX2, FEW), "skylake-client"),
    Core(emission.SKYLAKE, "skylake-sp"),
    Core(emission.ICELAKE, "ice-lake-sp", dict.fromkeys(("fp64", "fp32"), (0.5, _INTEL_512))),
    Core(emission.SAPPHIRE, "golden-cove-server", dict.fromkeys(("fp64", "fp32", "int8"), (0.5, _INTEL_512))),
    Core(emission.ALDERLAKE, "golden-cove"),
    Core(x86("znver1", AVX2, FEW), "zen1"),
    Core(x86("znver2", AVX2, FEW), "zen2"),
    Core(emission.ZEN3, "zen3"),
    Core(emission.ZEN4, "zen4", {"bf16": (1 / 3, _ZEN4_DOT), "int8": (1 / 2, _ZEN4_DOT)}),
    Core(
        ZEN5,
        "zen5",
        dict.fromkeys(("fp64", "fp32"), (1 / 2, _ZEN5)) | {"bf16": (1 / 6, _ZEN5), "int8": (1 / 4, _ZEN5)},
    ),
    Core(arm("neoverse-n1", "fullfp16", "dotprod"), "neoverse-n1", {"load": (0.95, _PAIRS)}),
    Core(arm("neoverse-n2", "fullfp16", "bf16", "dotprod"), "neoverse-n2", {"load": (0.65, _PAIRS)}),
    Core(arm("neoverse-v1", "fullfp16", "bf16", "dotprod"), "neoverse-v1"),
    Core(emission.NEOVERSE, "neoverse-v2"),
    Core(arm("a64fx"), "a64fx", dict.fromkeys(("fp64", "fp32", "load"), (1 / 4, _NEON))),
)

pytestmark = pytest.mark.skipif(
    not analyser.executable(), reason=f"llvm-mca of LLVM {analyser.OLDEST} or newer is not installed (Debian: llvm-22)"
)


def most_chains(core: Core) -> int:
    """Return the largest number of chains that the sweep tries: what it then chooses is no slower."""
    return max(plan.ACCUMULATORS[core.target.isa.registers])


def arithmetic(core: Core, precision: str) -> dict[str, list[Probe]]:
    """Return what makes the roof of a precision: the compute probe, and a point of the intensity sweep, by width."""
    found, chains = core.target.isa, most_chains(core)
    widths = isa.widths(found, precision)[-WIDEST:]
    if catalog.precision(precision).accumulated:
        number = plan.DOT_CHAINS[found.registers]
        dots = [compute.build(precision, "dot", b, number, isa.extension(found, precision, b)) for b in widths]
        return {f"{precision} dot": list(dots)}
    return {
        f"{precision} fma": [compute.build(precision, "fma", bits, chains) for bits in widths],
        f"{precision} point": [intensity.build(precision, POINT, bits, chains) for bits in widths],
    }


def stated(core: Core) -> dict[str, float]:
    """Return what the sheet states per cycle and a probe measures: operations by precision, bytes of loads, stores."""
    sheet = machines.shipped(core.sheet)
    assert isinstance(sheet, CoreSheet)
    rates = {rate.precision: rate.operations for rate in sheet.per_cycle if rate.unit == "vector"}
    figures = {name: rate for name, rate in rates.items() if isa.widths(core.target.isa, name)}
    l1 = sheet.cache("L1")
    if l1 is not None:
        figures |= {name: rate for name, rate in (("load", l1.load_bytes), ("store", l1.store_bytes)) if rate}
    return figures


@pytest.mark.parametrize("core", CORES, ids=str)
def test_probes_reach_what_the_sheet_of_another_core_states(core: Core) -> None:
    figures = stated(core)
    assert {"fp64", "fp32"} <= set(figures)
    assert set(core.expected) <= set(figures)
    kinds: dict[str, list[Probe]] = {}
    for figure in figures:
        if figure in ("load", "store"):
            kinds[figure] = [memory.build(figure, bits) for bits in core.target.vector_bits]
        else:
            kinds |= arithmetic(core, figure)
    loops = [probe.loop for probes in kinds.values() for probe in probes]
    listings = {loop.name: assembly_for(core.target, loop) for loop in loops}
    for loop in loops:
        # No spill, and the width that was meant.
        assert verify(listings[loop.name], loop.counts, core.target.family)[1] == "", loop.name
    cycles = analyser.cycles(core.target, listings)
    for kind, probes in kinds.items():
        figure = kind.split()[0]
        share, _ = core.expected.get(figure, (1.0, ""))
        best = max(
            (probe.loop.flop or probe.loop.read_bytes + probe.loop.written_bytes) / cycles[probe.loop.name]
            for probe in probes
        )
        assert best >= ENOUGH * share * figures[figure], f"{kind}: {best:.2f} a cycle, stated {figures[figure]:g}"


def test_too_few_chains_and_copies_between_them_are_seen() -> None:
    """What the tests above look for would be found: they fail where the code is not good enough."""
    target = emission.NEOVERSE
    few = compute.build("fp64", "fma", 128, 8).loop
    apart = compute.build("fp64", "mul_add_unfused", 128, 24).loop
    cycles = analyser.cycles(target, {"few": assembly_for(target, few), "apart": assembly_for(target, apart)})
    assert few.flop / cycles["few"] == pytest.approx(8, rel=0.01)
    assert apart.flop / cycles["apart"] == pytest.approx(8, rel=0.01)
