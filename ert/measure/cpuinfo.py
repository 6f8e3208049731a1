"""Reads /proc/cpuinfo of any architecture: which processor this is, and the topology of kernels that tell no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ert.measure.armparts import ARM_PARTS
from ert.measure.tree import MAX_CPU, Tree, parse_integer

Fields = Mapping[str, str]
"""Lower-case key to value, as in one block of cpuinfo."""

_MODEL_KEYS = ("model name", "cpu model", "uarch", "cpu")
"""Keys that name the processor: x86 and LoongArch, MIPS, RISC-V, POWER. Arm has none."""
_PROCESSOR_KEY = re.compile(r"processor|cpu number", re.ASCII)
_S390_PROCESSOR = re.compile(r"processor ([0-9]+)", re.ASCII)
_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """What /proc/cpuinfo holds.

    Attributes
    ----------
    blocks : mapping of int to fields
        What is said of each logical CPU, by its number.
    common : fields
        What is said once for all of them (old Arm, POWER and s390 kernels).
    """

    blocks: Mapping[int, Fields]
    common: Fields

    def get(self, cpu: int, key: str) -> str:
        """Value of a key for a CPU, or for all of them, or empty."""
        return self.blocks.get(cpu, {}).get(key) or self.common.get(key, "")

    def integer(self, cpu: int, key: str) -> int | None:
        """Read the same as a number, decimal or with ``0x``; None if there is none."""
        return parse_integer(self.get(cpu, key))


def read_cpuinfo(tree: Tree) -> CpuInfo:
    """Parse /proc/cpuinfo; empty where it is missing."""
    blocks: dict[int, dict[str, str]] = {}
    common: dict[str, str] = {}
    block = common
    for line in (tree.text("proc/cpuinfo") or "").splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon:
            if not key:
                block = common
            continue
        if match := _S390_PROCESSOR.fullmatch(key):  # "processor 0: version = FF, ...": one line a CPU, no block
            if (cpu := _cpu_number(match[1])) is not None:
                blocks.setdefault(cpu, {})["identification"] = value
        elif _PROCESSOR_KEY.fullmatch(key.lower()) and (cpu := _cpu_number(value)) is not None:
            block = blocks.setdefault(cpu, {})
        else:
            block.setdefault(key.lower(), value)
    return CpuInfo(blocks, common)


def _cpu_number(text: str) -> int | None:
    number = parse_integer(text)
    return number if number is not None and 0 <= number <= MAX_CPU else None


def machine_of(info: CpuInfo) -> str:
    """Architecture as ``platform.machine()`` spells it, told by the keys that each one's kernel writes; or empty."""
    keys = {key for block in info.blocks.values() for key in block} | set(info.common)
    first = min(info.blocks, default=0)
    if "cpu implementer" in keys or "cpu architecture" in keys:
        architecture = info.get(first, "cpu architecture").lower()
        return "aarch64" if architecture in ("8", "aarch64") else "armv7l"
    if "flags" in keys and "fpu" in keys:
        return "x86_64" if "lm" in info.get(first, "flags").split() else "i686"
    if "mvendorid" in keys or "hart" in keys or info.get(first, "isa").startswith("rv"):
        return "riscv32" if info.get(first, "isa").startswith("rv32") else "riscv64"
    if "IBM/S390" in info.get(first, "vendor_id"):
        return "s390x"
    if info.get(first, "arch").lower() in ("ia-64", "ia64"):
        return "ia64"
    if "timebase" in keys or "POWER" in info.get(first, "cpu"):
        return "ppc64"
    if "loongson" in (info.get(first, "cpu family") + info.get(first, "model name")).lower():
        return "loongarch64"
    return ""


def arm_part(tree: Tree, info: CpuInfo, cpu: int) -> tuple[int, int, int, int] | None:
    """Read (implementer, part, variant, revision) of an Arm core from its MIDR register or cpuinfo; None elsewhere.

    The fields of the register are those of the Arm Architecture Reference Manual, MIDR_EL1.
    """
    midr = tree.integer(f"sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1")
    if midr:
        return midr >> 24 & 0xFF, midr >> 4 & 0xFFF, midr >> 20 & 0xF, midr & 0xF
    implementer, part = info.integer(cpu, "cpu implementer"), info.integer(cpu, "cpu part")
    if implementer is None or part is None:
        return None
    return implementer, part, info.integer(cpu, "cpu variant") or 0, info.integer(cpu, "cpu revision") or 0


def arm_name(implementer: int, part: int) -> str:
    """Name of an Arm core, or its part number where the table does not know it."""
    return ARM_PARTS.get((implementer, part), f"part {part:#05x}")


def vendor_and_identity(tree: Tree, info: CpuInfo, cpu: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Vendor and identity of one logical CPU as :class:`ert.roofline.model.Host` describes them."""
    if arm := arm_part(tree, info, cpu):
        return f"{arm[0]:#04x}", tuple(zip(("implementer", "part", "variant", "revision"), arm, strict=True))
    vendor = info.get(cpu, "vendor_id") or info.get(cpu, "vendor") or info.get(cpu, "mvendorid")
    keys = (("family", "cpu family"), ("model", "model"), ("stepping", "stepping"))
    numbers = [(name, info.integer(cpu, key)) for name, key in keys]
    if vendor in ("", "IBM/S390") or "mvendorid" in info.blocks.get(cpu, {}):
        return vendor, ()
    return vendor, tuple((name, number) for name, number in numbers if number is not None)


def cpu_model(tree: Tree, info: CpuInfo, cpus: Iterable[int]) -> str:
    """Name of the processor, its kinds joined by " + " where they are named apart; empty where it is hidden.

    Arm kernels write no name, so there it is made of the names of the cores.
    """
    names: dict[str, None] = {}
    for cpu in cpus:
        if arm := arm_part(tree, info, cpu):
            if arm[:2] in ARM_PARTS:
                names.setdefault(arm_name(*arm[:2]))
            continue
        name = next((value for key in _MODEL_KEYS if (value := info.get(cpu, key))), "")
        name = " ".join(name.partition(", altivec")[0].split())
        if _LETTERS.search(name) and name.lower() != "unknown":
            names.setdefault(name)
    return " + ".join(names)
