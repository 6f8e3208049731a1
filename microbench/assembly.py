"""Reads generated assembly: what the innermost loop really contains, and whether that is what was meant.

Understands the AT&T syntax that LLVM prints for x86-64 and both of its syntaxes of aarch64: the usual one
(``fmla v0.2d, v1.2d, v2.2d``) and Apple's (``fmla.2d v0, v1, v2``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions of one trip through a loop. Vector loads and stores count registers, wherever they hide.

    ``other_loads`` and ``other_stores`` are scalar integer accesses, ``spills`` accesses to the stack (counted there
    only), ``other_vector`` vector instructions of any other kind (shuffles, conversions, integer arithmetic; copies of
    registers are not counted). ``vector_bits`` is the one width of all floating-point and vector instructions; 0 if
    there are none, -1 if they differ or cannot be told: of scalable vectors, and where a mask leaves elements out.
    """

    fma: int = 0
    add: int = 0
    mul: int = 0
    divide: int = 0
    sqrt: int = 0
    dot: int = 0
    loads: int = 0
    stores: int = 0
    nontemporal_stores: int = 0
    other_loads: int = 0
    other_stores: int = 0
    spills: int = 0
    calls: int = 0
    other_vector: int = 0
    vector_bits: int = 0


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of assembly: mnemonic and operands as they stand."""

    mnemonic: str
    operands: tuple[str, ...]


# Immediates of aarch64 (``#16``, ``#-8``, ``#:lo12:x``) are no comments; those of x86 begin with a dollar sign.
_COMMENT = re.compile(r"#(?![-\d:])|//|;")
_ENCODING = re.compile(r"^\{(?:vex|vex2|vex3|evex)\}\s*")
_LABEL = re.compile(r"^([.\w$@]+):")
_OPERANDS = re.compile(r",(?![^(\[{]*[)\]}])")
_X86_MEMORY = re.compile(r"\(.*\)")
_X86_REGISTER = re.compile(r"%([xyz])mm\d+")
_X86_BITS = {"x": 128, "y": 256, "z": 512}
_X86_ARITHMETIC = (
    # Without a number: the four-operand form of AMD's family 15h.
    ("fma", re.compile(r"^vfn?m(?:add|sub)(?:132|213|231)?([ps])([sdh])$")),
    ("add", re.compile(r"^v?(?:add|sub)([ps])([sdh])$")),
    ("mul", re.compile(r"^v?mul([ps])([sdh])$")),
    ("divide", re.compile(r"^v?div([ps])([sdh])$")),
    ("sqrt", re.compile(r"^v?sqrt([ps])([sdh])$")),
    ("dot", re.compile(r"^v(?:dpbf16ps|p?dpbusds?|pdpwssds?)$")),
)
_X86_MOVES = re.compile(r"^v?(?:mov(?:[au]p[sd]|dq[au](?:8|16|32|64)?|nt(?:p[sd]|dq|dqa)|s[sdh])|lddqu)$")
_X86_SCALAR = re.compile(r"^v?(?:mov|add|sub|mul|div|sqrt|f\w+)s([sdh])$")
_X86_COPIES = re.compile(r"^v?mov(?:[au]p[sd]|dq[au](?:8|16|32|64)?|s[sd]|[dq])$")
_X86_STACK = re.compile(r"^(?:push|pop)[a-z]?$")
_X86_STACK_ONLY = re.compile(r"\(%rsp\b")
_X86_STACK_OR_FRAME = re.compile(r"\(%rsp\b|\(%rbp\)")
_X86_JUMPS = re.compile(r"^j[a-z]+$")
_ELEMENT_BITS = {"s": 32, "d": 64, "h": 16}

_ARM_ARITHMETIC = {
    "fmla": "fma", "fmls": "fma", "fmadd": "fma", "fmsub": "fma", "fnmadd": "fma", "fnmsub": "fma", "fmad": "fma",
    "fadd": "add", "fsub": "add", "fmul": "mul", "fdiv": "divide", "fsqrt": "sqrt",
    "bfdot": "dot", "sdot": "dot", "udot": "dot", "usdot": "dot",
}  # fmt: skip
_ARM_PAIRS = frozenset({"ldp", "ldnp", "ldpsw", "stp", "stnp"})
_ARM_COPIES = frozenset({"mov", "fmov", "movprfx"})
_ARM_JUMPS = re.compile(r"^(?:b|b\.[a-z]+|cbn?z|tbn?z)$")
_ARM_APPLE = re.compile(r"^(\w+)\.(\d+[bhsd])$")
_ARM_BARE = re.compile(r"\bv\d+\b")
_ARM_VECTOR = re.compile(r"^v\d+\.(\d+)([bhsd])")
_ARM_SCALAR = re.compile(r"^([qdshb])\d+$")
_ARM_SCALABLE = re.compile(r"\bz\d+\b")
_ARM_STACK = re.compile(r"^\[(?:sp|x29|fp)\b")
_ARM_SCALAR_BITS = {"q": 128, "d": 64, "s": 32, "h": 16, "b": 8}


def innermost_loops(assembly: str) -> list[list[Instruction]]:
    """Return the instructions of each innermost loop of a listing.

    A loop is what stands between a label and a later jump back to it; innermost is one that contains no other.
    """
    lines = list(_lines(assembly))
    labels = {entry: index for index, entry in enumerate(lines) if isinstance(entry, str)}
    spans = []
    for index, entry in enumerate(lines):
        if isinstance(entry, Instruction) and _is_jump(entry):
            start = labels.get(entry.operands[-1] if entry.operands else "", index)
            if start < index:
                spans.append((start, index))
    inner = [
        (start, end)
        for start, end in spans
        if not any((other != (start, end)) and start <= other[0] and other[1] <= end for other in spans)
    ]
    return [[line for line in lines[start : end + 1] if isinstance(line, Instruction)] for start, end in inner]


def count(loop: list[Instruction], family: str) -> Counts:
    """Return what a loop contains. `family` is ``"x86"`` or ``"arm"``; ValueError for others."""
    if family == "x86":
        # A frame pointer stays as it is and needs no index; otherwise it is a register like any other.
        stack = _X86_STACK_ONLY if any(_moves_frame(instruction) for instruction in loop) else _X86_STACK_OR_FRAME
        return _tally(_x86(instruction, stack) for instruction in loop)
    if family == "arm":
        return _tally(_arm(instruction) for instruction in loop)
    raise ValueError(f"assembly of {family!r} cannot be read; known: x86, arm")


def verify(assembly: str, expected: Counts, family: str) -> tuple[Counts, str]:
    """Compare the one loop of a listing with the model.

    Returns
    -------
    counts : Counts
        What was found (all zero if there was no single loop to count).
    reason : str
        Empty if it equals `expected`, else one sentence saying what differs.
    """
    if not assembly:
        return Counts(), "the generated code cannot be seen"
    loops = innermost_loops(assembly)
    if len(loops) != 1:
        return Counts(), f"the generated code has {len(loops)} innermost loops instead of one"
    if any(_is_jump(instruction) for instruction in loops[0][:-1]):
        return Counts(), "the loop of the generated code branches, so that what it contains is not what a trip does"
    try:
        found = count(loops[0], family)
    except ValueError as error:
        return Counts(), str(error)
    wrong = [
        f"{field.name.replace('_', ' ')} {getattr(found, field.name)} instead of {getattr(expected, field.name)}"
        for field in fields(Counts)
        if getattr(found, field.name) != getattr(expected, field.name)
    ]
    return found, "; ".join(wrong)


ARITHMETIC = ("fma", "add", "mul", "divide", "sqrt", "dot")


def survey(assembly: str, family: str) -> Counts:
    """Return the counts of the innermost loop that does most, for code that has no model.

    That is the one with the most lanes of arithmetic, or without any of loads and stores. Its width is the widest of
    its vector instructions; it may differ from instruction to instruction here. All zero if nothing can be read.
    """
    best, most = Counts(), (-1, -1)
    for loop in innermost_loops(assembly):
        try:
            found = count(loop, family)
        except ValueError:
            return Counts()
        bits = _widest(loop, family)
        work = sum(getattr(found, name) for name in ARITHMETIC)
        score = (work * bits, (found.loads + found.stores + found.nontemporal_stores) * bits)
        if score > most:
            best, most = replace(found, vector_bits=bits), score
    return best


def contains(assembly: str, expected: Counts, family: str) -> tuple[Counts, str]:
    """Look for the modelled loop among the innermost loops of a listing.

    Returns
    -------
    counts : Counts
        Of that loop, or of the one that does most if it is not there.
    reason : str
        Empty if it is there, else one sentence.
    """
    if not assembly:
        return Counts(), "the generated code cannot be seen"
    try:
        found = [count(loop, family) for loop in innermost_loops(assembly)]
    except ValueError as error:
        return Counts(), str(error)
    if expected in found:
        return expected, ""
    return survey(assembly, family), f"none of its {len(found)} innermost loops is the one that was meant"


def _widest(loop: list[Instruction], family: str) -> int:
    read = _x86_bits if family == "x86" else (lambda instruction: _arm_bits(instruction.operands))
    widths = [0]
    for instruction in loop:
        if family != "x86" or any(_X86_REGISTER.search(operand) for operand in instruction.operands):
            widths.append(read(instruction))
    return max(widths)


def _lines(assembly: str) -> Iterator[str | Instruction]:
    # A semicolon separates instructions on x86, which its general registers give away; on Apple's aarch64 it begins a
    # comment.
    for raw in (assembly.replace(";", "\n") if "%r" in assembly else assembly).splitlines():
        line = _ENCODING.sub("", _COMMENT.split(raw, maxsplit=1)[0].strip())
        if match := _LABEL.match(line):
            yield match.group(1)
            line = line[match.end() :].strip()
        if not line or line.startswith("."):
            continue
        mnemonic, _, rest = line.partition("\t") if "\t" in line else line.partition(" ")
        operands = tuple(operand.strip() for operand in _OPERANDS.split(rest) if operand.strip())
        yield Instruction(mnemonic.strip(), operands)


def _is_jump(instruction: Instruction) -> bool:
    return bool(_X86_JUMPS.match(instruction.mnemonic) or _ARM_JUMPS.match(instruction.mnemonic))


Tally = tuple[dict[str, int], int]
"""What one instruction adds to the counts, and its vector width in bits (0 for none)."""


def _tally(parts: Iterator[Tally]) -> Counts:
    totals: dict[str, int] = {}
    widths = set()
    for adds, bits in parts:
        for name, number in adds.items():
            totals[name] = totals.get(name, 0) + number
        if bits:
            widths.add(bits)
    width = widths.pop() if len(widths) == 1 else (-1 if widths else 0)
    return Counts(**totals, vector_bits=width)


def _moves_frame(instruction: Instruction) -> bool:
    changes = not instruction.mnemonic.startswith(("cmp", "test"))
    return changes and bool(instruction.operands) and instruction.operands[-1] == "%rbp"


def _x86(instruction: Instruction, stack: re.Pattern[str]) -> Tally:
    name, operands = instruction.mnemonic, instruction.operands
    if name.startswith(("nop", "lea", "prefetch")) or _X86_JUMPS.match(name):
        return {}, 0
    if name.startswith("call"):
        return {"calls": 1}, 0
    memory = [index for index, operand in enumerate(operands) if _X86_MEMORY.search(operand)]
    on_stack = any(stack.search(operands[index]) for index in memory)
    adds: dict[str, int] = {}
    is_vector = any(_X86_REGISTER.search(operand) for operand in operands)
    for kind, pattern in _X86_ARITHMETIC:
        if pattern.match(name):
            adds[kind] = 1
    if memory:
        writes = memory[-1] == len(operands) - 1 and not name.startswith(("cmp", "test", "vucomi", "ucomi"))
        reads = not writes or not (_X86_MOVES.match(name) or name.startswith("mov"))
        if on_stack or _X86_STACK.match(name):
            adds["spills"] = 1
        elif is_vector:
            if writes:
                adds["nontemporal_stores" if "movnt" in name else "stores"] = 1
            else:
                adds["loads"] = 1
        else:
            if writes:
                adds["other_stores"] = 1
            if reads:
                adds["other_loads"] = 1
    elif _X86_STACK.match(name):
        adds["spills"] = 1
    elif is_vector and not adds and not _X86_COPIES.match(name):
        adds["other_vector"] = 1
    if not is_vector or not adds:
        return adds, 0
    return adds, -1 if any("{%k" in operand for operand in operands) else _x86_bits(instruction)


def _x86_bits(instruction: Instruction) -> int:
    if scalar := _X86_SCALAR.match(instruction.mnemonic):
        return _ELEMENT_BITS[scalar.group(1)]
    kinds = {match.group(1) for operand in instruction.operands for match in _X86_REGISTER.finditer(operand)}
    return max(_X86_BITS[kind] for kind in kinds)


def _arm(instruction: Instruction) -> Tally:
    name, operands = instruction.mnemonic, instruction.operands
    if apple := _ARM_APPLE.match(name):
        name = apple.group(1)
        operands = tuple(_ARM_BARE.sub(rf"\g<0>.{apple.group(2)}", operand) for operand in operands)
    if name in {"bl", "blr"}:
        return {"calls": 1}, 0
    bits = _arm_bits(operands)
    if kind := _ARM_ARITHMETIC.get(name):
        return {kind: 1}, bits
    loads, stores = name.startswith("ld"), name.startswith("st")
    if not loads and not stores:
        return ({"other_vector": 1}, bits) if bits and name not in _ARM_COPIES else ({}, 0)
    # A list in braces names each register it moves.
    listed = operands[0].count(",") + 1 if operands and operands[0].startswith("{") else 1
    registers = 2 if name in _ARM_PAIRS else listed
    if any(_ARM_STACK.match(operand) for operand in operands):
        return {"spills": registers}, 0
    if not bits:
        return {"other_loads" if loads else "other_stores": registers}, 0
    if loads:
        return {"loads": registers}, bits
    return {"nontemporal_stores" if name == "stnp" else "stores": registers}, bits


def _arm_bits(operands: tuple[str, ...]) -> int:
    first = operands[0].strip("{} ") if operands else ""
    if _ARM_SCALABLE.search(first):
        return -1
    if vector := _ARM_VECTOR.match(first):
        return int(vector.group(1)) * _ARM_SCALAR_BITS[vector.group(2)]
    if scalar := _ARM_SCALAR.match(first):
        return _ARM_SCALAR_BITS[scalar.group(1)]
    return 0
