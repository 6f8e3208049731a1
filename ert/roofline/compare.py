"""Machines side by side: what differs between them, and every roof, ridge point and kernel with ratio and verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ert.roofline.formulas import ridge
from ert.roofline.machine import Machine, allowance, combined, differs
from ert.roofline.model import Estimate, MemoryRoof, Roofline
from ert.roofline.place import Placement
from ert.roofline.predict import kernel_label
from ert.roofline.surroundings import Fact, facts

Kind = Literal[
    "compute roof", "memory roof", "ridge point", "ceiling", "access mix", "random access", "latency", "kernel"
]

WHOLE = "all"
"""Name of the team that a sheet's promises stand beside."""

FALLING: tuple[Kind, ...] = ("compute roof", "memory roof", "ceiling", "access mix", "random access", "kernel")
"""What :func:`fallen` looks at: rates, of which more is better. Ridge points are ratios of two of them."""

Verdict = Literal["equal", "higher", "lower", "one side", "not comparable"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of one machine: its value, its spread (None for a promise), and what exactly it was taken from."""

    value: float
    spread: float | None
    name: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """One machine's number against the reference's.

    Attributes
    ----------
    ratio : float or None
        The machine's over the reference's; None where one of them has none, or they are not comparable.
    spread : float or None
        Combined spread of both, see :func:`ert.roofline.machine.allowance`.
    verdict : str
        ``"equal"`` if the ratio is within the combined spread of 1.
    """

    ratio: float | None
    spread: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that the machines are compared by.

    Attributes
    ----------
    kind, name : str
        What it is.
    unit : str
        ``"FLOP/s"``, ``"OP/s"``, ``"byte/s"``, ``"FLOP/byte"``, ``"s"``.
    team, precision, level : str
        Empty where they say nothing.
    quantities : tuple of Quantity or None
        One a machine; None where it has none.
    judgements : tuple of Judgement
        One for each machine after the first, which is the reference.
    """

    kind: Kind
    name: str
    unit: str
    team: str
    precision: str
    level: str
    quantities: tuple[Quantity | None, ...]
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Machines, what differs in their surroundings, and the rows; ``teams`` holds the label of each team by machine."""

    machines: tuple[Machine, ...]
    differences: tuple[Fact, ...]
    teams: tuple[tuple[str, tuple[str | None, ...]], ...]
    rows: tuple[Row, ...]

    def fallen(self, ratio: float) -> tuple[tuple[Row, int], ...]:
        """Return rows and machines whose rate is below `ratio` of the reference's by more than the combined spread."""
        return tuple(
            (row, place)
            for row in self.rows
            if row.kind in FALLING
            for place, judgement in enumerate(row.judgements, start=1)
            if judgement.ratio is not None
            and judgement.spread is not None
            and judgement.ratio * (1.0 + judgement.spread) < ratio
        )


Key = tuple[Kind, str, str, str, str, str]
"""Kind, team, name, precision, level, unit."""


def compare(machines: Sequence[Machine], placements: Sequence[Sequence[Placement]]) -> Comparison:
    """Put machines side by side; the first is the reference.

    Parameters
    ----------
    machines : sequence of Machine
        At least two.
    placements : sequence of sequence of Placement
        The kernels of each; empty for machines without.

    Returns
    -------
    Comparison
        What only some of them have is there too, with the verdict ``"one side"``.
    """
    mixes = {slope.level: slope.mix for machine in machines if not machine.roofline for slope in machine.slopes}
    tables = [_quantities(machine, kernels, mixes) for machine, kernels in zip(machines, placements, strict=True)]
    revised = [_revised(machines[0], machine) for machine in machines[1:]]
    keys = dict.fromkeys(key for table in tables for key in table)
    rows = []
    for key in sorted(keys, key=lambda key: ORDER.index(key[0])):
        kind, team, name, precision, level, unit = key
        found = tuple(table.get(key) for table in tables)
        judged = tuple(
            _judge(found[0], other, kind in changed or name in changed)
            for other, changed in zip(found[1:], revised, strict=True)
        )
        rows.append(Row(kind, name, unit, team, precision, level, found, judged))
    kept = tuple(row for row in rows if not _said_already(row, rows))
    return Comparison(tuple(machines), _differences(machines), _teams(machines), kept)


ORDER: tuple[Kind, ...] = (
    "compute roof", "memory roof", "ridge point", "ceiling", "access mix", "random access", "latency", "kernel"
)  # fmt: skip


def _judge(first: Quantity | None, other: Quantity | None, changed: bool) -> Judgement:
    if first is None or other is None:
        return Judgement(None, None, "one side")
    if changed:
        return Judgement(None, None, "not comparable")
    ratio, spread = other.value / first.value, combined(first.spread, other.spread)
    if not differs(ratio, spread):
        return Judgement(ratio, spread, "equal")
    return Judgement(ratio, spread, "higher" if ratio > 1.0 else "lower")
