"""The catalogue of kernels as text: what each counts, as formulas and as numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby

from ert.roofline.model import MEMORY, Case, Kernel, Work
from ert.show.units import number, short, size

NAME, FORMULA = 14, 42
"""Columns of the names of the counts and of their formulas."""

NO_BREAK = "\u00a0"
"""Keeps a name and its number on one line; the text that is printed has ordinary blanks."""

Row = tuple[Kernel, Case, Work, Mapping[str, int]]
"""A kernel, a problem of it, what that counts, and the numbers in its formulas that follow from its sizes."""


def listing(rows: Sequence[Row], width: int = 80) -> str:
    """Return the kernels by family.

    Parameters
    ----------
    rows : sequence of (Kernel, Case, Work, mapping of str to int)
        In order; the case says in which size and precision the numbers are, the mapping what else formulas name.
    width : int
        Columns.
    """
    blocks = []
    for family, members in groupby(rows, key=lambda row: row[0].family):
        blocks.append(f"{family}\n{'=' * len(family)}")
        blocks += [_kernel(*member, width) for member in members]
    blocks.append(
        textwrap.fill(
            "s is the bytes of an element, t the threads. Program bytes are what the code loads and stores, compulsory "
            "bytes count each datum once, traffic is modelled for the level that the data live in. / rounds down.",
            width,
        )
    )
    return "\n\n".join(blocks)


def _kernel(kernel: Kernel, case: Case, work: Work, numbers: Mapping[str, int], width: int) -> str:
    sizes = ", ".join(f"{name}{NO_BREAK}={NO_BREAK}{value}" for name, value in case.parameters)
    traffic = work.traffic_bytes(case.level)
    facts: list[str] = [kernel.implementation]
    if kernel.ladder:
        facts.append(f"rung {kernel.rung} of {kernel.ladder}")
    lines = textwrap.wrap(f"{kernel.name}: {kernel.title} ({', '.join(facts)})", width, subsequent_indent="  ")
    nominal = ", nominal" if kernel.nominal else ""
    lines += _count("FLOP" + nominal, kernel.flop, _flop(work.flop), width)
    lines += _count("loaded", kernel.read, size(work.read_bytes), width)
    lines += _count("stored", kernel.written, size(work.written_bytes), width)
    lines += _count("compulsory", kernel.compulsory, size(work.compulsory_bytes or 0), width)
    lines += _count("traffic", kernel.traffic, size(traffic), width)
    if numbers:
        known = ", ".join(f"{name}{NO_BREAK}={NO_BREAK}{value}" for name, value in numbers.items())
        lines += _wrapped(f"{'with':<{NAME}}{known}", width)
    intensity = f"{_per_byte(work.flop, traffic)} of traffic in {MEMORY}, {_per_byte(work.flop, work.program_bytes)}"
    lines += _wrapped(f"FLOP/byte   {intensity} of program bytes, {case.precision}, {sizes}", width)
    lines += [line for text in (kernel.notes, kernel.source) if text for line in _wrapped(text, width, 0)]
    return "\n".join(lines)


def _count(name: str, formula: str, value: str, width: int) -> list[str]:
    line = f"  {name:<{NAME}}{formula:<{FORMULA}} {value:>12}"
    if len(formula) <= FORMULA and len(line) <= width:
        return [line]
    return [*_wrapped(f"{name:<{NAME}}{formula}", width), f"{value:>{min(width, NAME + FORMULA + 15)}}"]


def _wrapped(text: str, width: int, hanging: int = NAME) -> list[str]:
    indent = " " * (hanging + 2)
    lines = textwrap.wrap(text, width, initial_indent="  ", subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _flop(value: int) -> str:
    return f"{short(value)}FLOP"


def _per_byte(flop: int, moved: int) -> str:
    return number(flop / moved) if moved else "no bytes"
