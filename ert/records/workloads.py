"""Workloads from a short TOML file: what is done, in which precision, on how many bytes (docs/workload.md)."""

from __future__ import annotations

from pathlib import Path

from ert.errors import InputError
from ert.records.toml import Table, read, wanted
from ert.roofline.comparing.machine import UNITS
from ert.roofline.comparing.predict import Part, Workload

LARGEST_COUNT = 1e30
"""FLOP and bytes of a part are below this: far above what any machine ever did, and sums of many are still finite."""

LEAST_COUNT = 1e-30
"""FLOP, bytes and weights are above this, so that no product or quotient of them vanishes."""

WHY_NOT_ZERO = "without both FLOP and bytes there is no arithmetic intensity"

EXAMPLE = 'write [[part]] and below it name = "...", flop = ..., bytes = ... and precision = "..."'


def load_workload(path: Path) -> Workload:
    """Read a workload.

    Raises
    ------
    InputError
        If it cannot be read, or a key is missing, unknown, of a wrong type or without a meaning, as zero FLOP are; the
        message names the file and the key.
    """
    document = read(path)
    name = document.text("name", path.stem)
    tables = document.tables("part")
    document.done()
    if not tables:
        document.fail(f"a workload needs parts: {EXAMPLE}")
    parts: list[Part] = []
    for table in tables:
        part = _part(table)
        if part.name in [other.name for other in parts]:
            table.fail(f"there is another part called {part.name!r}; give each a name of its own", "name")
        parts.append(part)
    return Workload(name, tuple(parts))


def calculation(name: str, part: Part) -> Workload:
    """Return a workload of one part whose numbers come from the command line.

    Raises
    ------
    InputError
        If FLOP or bytes are 0, or beyond :data:`LEAST_COUNT` and :data:`LARGEST_COUNT`.
    """
    for option, value in (("--flop", part.flop), ("--bytes", part.traffic)):
        if not LEAST_COUNT < value < LARGEST_COUNT:
            why = "" if value else f"; {WHY_NOT_ZERO}"
            raise InputError(f"{option}: expected {wanted(value, LEAST_COUNT, LARGEST_COUNT)}, found {value:g}{why}")
    return Workload(name, (part,))


def _part(table: Table) -> Part:
    name, precision = table.text("name"), table.text("precision")
    flop = table.number("flop", least=LEAST_COUNT, largest=LARGEST_COUNT, zero=WHY_NOT_ZERO)
    traffic = table.number("bytes", least=LEAST_COUNT, largest=LARGEST_COUNT, zero=WHY_NOT_ZERO)
    weight = table.number("weight", least=LEAST_COUNT)
    level = table.text("level", "")
    unit = table.one_of("unit", UNITS) if "unit" in table else ""
    table.done()
    if flop is None or traffic is None:
        table.fail(f"missing; {EXAMPLE}", "flop" if flop is None else "bytes")
    return Part(name, flop, traffic, precision, 1.0 if weight is None else weight, level, unit)
