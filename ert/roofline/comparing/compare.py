"""Machines side by side: what differs between them, and every roof, ridge point and kernel with ratio and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ert.roofline.comparing.differences import Fact, differences
from ert.roofline.comparing.machine import Machine, combined, differs, largest_team
from ert.roofline.comparing.sides import Key, Kind, Quantity, Side, side
from ert.roofline.model import Roofline
from ert.roofline.placing.placement import Placement

ORDER: tuple[Kind, ...] = (
    "compute roof", "memory roof", "ridge point", "kernel", "ceiling", "access mix", "random access", "latency"
)  # fmt: skip
"""Of the rows: what is asked for most comes first."""

FALLING: tuple[Kind, ...] = ("compute roof", "memory roof", "kernel", "ceiling", "access mix", "random access")
"""What :meth:`Comparison.fallen` looks at: rates, of which more is better."""

Verdict = Literal["equal", "higher", "lower", "one side", "not comparable"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One machine's number against the reference's.

    Attributes
    ----------
    ratio : float or None
        The machine's over the reference's; None where one of them has none, or they are not comparable.
    spread : float or None
        Combined spread: that of the one plus that of the other, see :func:`ert.roofline.comparing.machine.allowance`.
    verdict : str
        ``"equal"`` if the larger number is at most (1 + combined spread) times the smaller, see
        :func:`ert.roofline.comparing.machine.differs`; ``"not comparable"`` if different versions of an instrument or
        kernel measured them.
    """

    ratio: float | None
    spread: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that the machines are compared by.

    Attributes
    ----------
    key : Key
        What it is.
    quantities : tuple of Quantity or None
        One a machine; None where it has none.
    judgements : tuple of Judgement
        One for each machine after the first, which is the reference.
    """

    key: Key
    quantities: tuple[Quantity | None, ...]
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Machines, the first being the reference, what differs in their surroundings, and the rows.

    ``teams`` holds the label of each team on every machine, None where a machine has no such team.
    """

    machines: tuple[Machine, ...]
    differences: tuple[Fact, ...]
    teams: tuple[tuple[str, tuple[str | None, ...]], ...]
    rows: tuple[Row, ...]

    def fallen(self, ratio: float) -> tuple[tuple[Row, int], ...]:
        """Return rows, and by their places machines, that are below `ratio` of the reference beyond the spread.

        Even if the combined spread is given to the machine, its rate is then less than `ratio` times the reference's.
        Ridge points and latencies are not looked at: less is not worse there.
        """
        return tuple(
            (row, place)
            for row in self.rows
            if row.key.kind in FALLING
            for place, found in enumerate(row.judgements, start=1)
            if found.ratio is not None and found.spread is not None and found.ratio * (1.0 + found.spread) < ratio
        )


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
        What only some of them have is there too, with the verdict ``"one side"``. Roofs whose code is not proven are no
        rows; the differences name them.
    """
    mixes = promised_mixes(machines)
    whole = next((largest_team(machine.roofline.teams).name for machine in machines if machine.roofline), "all")
    sides = [side(machine, kernels, whole, mixes) for machine, kernels in zip(machines, placements, strict=True)]
    keys = dict.fromkeys(key for each in sides for key in each)
    rows = []
    for key in sorted(keys, key=lambda key: ORDER.index(key.kind)):
        found = tuple(each.get(key) for each in sides)
        if not _said_already(key, found, sides):
            rows.append(Row(key, found, tuple(_judge(found[0], other) for other in found[1:])))
    return Comparison(tuple(machines), differences(machines), _teams(machines, whole), tuple(rows))


def promised_mixes(machines: Sequence[Machine]) -> dict[str, str]:
    """Return by level the access mix that a sheet's bandwidth is meant for."""
    return {slope.level: slope.mix for machine in machines if not machine.roofline for slope in machine.slopes}


def _judge(first: Quantity | None, other: Quantity | None) -> Judgement:
    if first is None or other is None:
        return Judgement(None, None, "one side")
    if first.revisions and other.revisions and first.revisions != other.revisions:
        return Judgement(None, None, "not comparable")
    ratio, spread = other.value / first.value, combined(first.spread, other.spread)
    if not differs(ratio, spread):
        return Judgement(ratio, spread, "equal")
    return Judgement(ratio, spread, "higher" if ratio > 1.0 else "lower")


def _said_already(key: Key, found: Sequence[Quantity | None], sides: Sequence[Side]) -> bool:
    """Whether a ceiling or access mix is, for each machine that has it, the very roof that a row above shows."""
    above: Kind
    if key.kind == "ceiling":
        above, name, unit = "compute roof", key.precision, key.unit
    elif key.kind == "access mix":
        above, name, unit = "memory roof", key.level, key.unit
    else:
        return False
    top = Key(above, key.team, name, unit, key.precision, key.level)
    return all(
        quantity is None or (top in each and each[top].name == quantity.name)
        for each, quantity in zip(sides, found, strict=True)
    )


def _teams(machines: Sequence[Machine], whole: str) -> tuple[tuple[str, tuple[str | None, ...]], ...]:
    labels = [_labels(machine.roofline) if machine.roofline else {whole: machine.extent} for machine in machines]
    names = dict.fromkeys(name for known in labels for name in known)
    return tuple((name, tuple(known.get(name) for known in labels)) for name in names)


def _labels(roofline: Roofline) -> dict[str, str]:
    others = [*(access.team for access in roofline.random_access), *(found.team for found in roofline.latencies)]
    return {team.name: team.label for team in (*roofline.teams, *others)}
