"""Comparisons in words and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

from ert.roofline.comparing.cautions import cautions
from ert.roofline.comparing.compare import Comparison, Judgement, Row, Verdict
from ert.roofline.comparing.differences import Fact, Value
from ert.roofline.comparing.sides import Kind, Quantity
from ert.show import units
from ert.show.grid import Grid
from ert.show.machines import legend
from ert.show.sections import KEEP, Section
from ert.show.words import listed, plural

PLAIN = (0.1, 10.0)
"""Ratios in between are written with three decimals, so that those near 1 can be told apart."""

EQUAL = (
    "Equal: the larger number is at most (1 + combined spread) times the smaller. A number's spread is that of its "
    "rounds, at least what its grade stands for; a promise has none, so that two promises "
    "are equal only if they are the same."
)

RIDGES: Kind = "ridge point"
"""Neither faster nor slower where they are higher: they say which roof is in the way."""

WORDS = ("equal", "faster", "slower", "higher", "lower", "not comparable")
"""In the order in which they are counted."""

NOT_INSTALLED = "not installed"
"""What results hold as the version of the tool where it ran from a folder that no installer knew."""

HEADINGS: dict[Kind, str] = {
    "compute roof": "compute roof",
    "memory roof": "memory roof",
    "ridge point": "ridge point, operations/byte",
    "kernel": "kernel",
    "ceiling": "ceiling",
    "access mix": "access mix",
    "random access": "random access",
    "latency": "latency",
}


def sections(comparison: Comparison, names: Sequence[str], fail_below: float | None, width: int) -> list[Section]:
    """Return a comparison as text and tables.

    Parameters
    ----------
    comparison : Comparison
    names : sequence of str
        What the machines are called so that no two are called the same.
    fail_below : float or None
        The ratio of the check, if one was asked for.
    width : int
        Characters a line: where all machines do not fit into one table, each has one with the reference.
    """
    letters = ascii_uppercase[: len(names)]
    found = [Section("Comparison", (), legend(comparison.machines, names)), _differences(comparison, letters)]
    found.append(_summary(comparison, letters, fail_below))
    if told := cautions(comparison.machines, names):
        found.append(Section("Mind", items=told))
    for team, labels in comparison.teams:
        rows = [row for row in comparison.rows if row.key.team == team and not _alone(row)]
        if rows:
            found.append(_team(rows, _team_title(labels, letters), letters, width))
    return [*found, *_one_sided(comparison, letters)]


def ratio_text(ratio: float) -> str:
    """Write a ratio: ``"0.985"``, ``"34.2"``."""
    return f"{ratio:.3f}" if PLAIN[0] <= ratio < PLAIN[1] else units.number(ratio)


def quantity_text(value: float, unit: str) -> str:
    """Write a number in its unit: ``"58.6 GFLOP/s"``, ``"1.08 ns"``."""
    if unit == "s":
        return units.seconds(value)
    if unit.endswith("/byte"):
        return units.number(value)
    return units.rate(value, {"byte/s": "B"}.get(unit, unit.removesuffix("/s")))


# ----------------------------------------------------------------------------------- hosts, toolchains, settings


def _differences(comparison: Comparison, letters: str) -> Section:
    measured = [letter for letter, machine in zip(letters, comparison.machines, strict=True) if machine.results]
    title = "What differs between the sweeps"
    if len(measured) < 2:
        only = f"Only {measured[0]} was measured" if measured else "None of them was measured"
        return Section(title, (f"{only}: there are no two hosts, toolchains and settings to compare.",))
    if not comparison.differences:
        return Section(title, ("Nothing: hosts, toolchains and settings are the same.",))
    items = tuple(_fact(fact, letters) for fact in comparison.differences)
    return Section(title, items=items)


def _fact(fact: Fact, letters: str) -> str:
    values = (f"{letter} {value}" for letter, value in zip(letters, _fact_values(fact), strict=True))
    return f"{fact.group}, {_fact_name(fact.name)}: {'; '.join(values)}"


def _fact_name(name: str) -> str:
    return name.replace("_bytes", "").replace("_hz", "").replace("_", " ")


def _fact_values(fact: Fact) -> Iterable[str]:
    if fact.name in ("features", "unproven_roofs", "not_measured"):
        # Long lists: what all have says nothing here.
        split = ", " if fact.name != "features" else " "
        lists = [str(value or "").split(split) for value in fact.values]
        common = set(lists[0]).intersection(*lists[1:])
        return [split.join(word for word in words if word not in common) or "-" for words in lists]
    return [_value(value, fact.name) for value in fact.values]


def _value(value: Value, name: str) -> str:
    if value is None or value == "":
        return "-"
    if value == NOT_INSTALLED:
        return "version unknown (run from its source)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and name.endswith("_bytes"):
        return units.size(value)
    if isinstance(value, int | float) and "_hz" in name:
        return units.hertz(value)
    return str(value)


# --------------------------------------------------------------------------------------------- verdicts, tables


def _summary(comparison: Comparison, letters: str, fail_below: float | None) -> Section:
    sentences = []
    for place, letter in enumerate(letters[1:]):
        rates, ridges = (
            Counter(
                verdict_text(row.judgements[place].verdict, row.key.kind)
                for row in comparison.rows
                if (row.key.kind == RIDGES) == wanted and row.judgements[place].verdict != "one side"
            )
            for wanted in (False, True)
        )
        texts = []
        if rates:
            start = (
                f"Of {plural(rates.total(), 'rate')} and latencies that {letters[0]} and {letter} both have, {letter}"
            )
            texts.append(f"{start} has {_counted(rates)}.")
        if ridges:
            texts.append(f"Of {plural(ridges.total(), RIDGES)}, {letter} has {_counted(ridges)}.")
        sentences.append(" ".join(texts) or f"{letters[0]} and {letter} have nothing in common to compare.")
    sentences.append(EQUAL)
    if fail_below is None:
        return Section("Result", tuple(sentences))
    fallen = comparison.fallen(fail_below)
    limit = f"{fail_below:g} of {letters[0]}"
    if not fallen:
        return Section("Result", (*sentences, f"Check passed: no roof or kernel is below {limit} beyond the spread."))
    items = tuple(_fallen(comparison, row, place, letters) for row, place in fallen)
    return Section("Result", (*sentences, f"CHECK FAILED: below {limit} beyond the spread:"), items)


def verdict_text(verdict: Verdict, kind: Kind) -> str:
    """Say what a verdict means: a higher rate is faster, a higher latency slower, and ridge points are neither."""
    if kind == RIDGES or verdict not in ("higher", "lower"):
        return verdict
    return "faster" if (verdict == "higher") != (kind == "latency") else "slower"


def _counted(verdicts: Counter[str]) -> str:
    return listed([f"{verdicts[word]} {word}" for word in WORDS if verdicts[word]])


def _fallen(comparison: Comparison, row: Row, place: int, letters: str) -> str:
    first, other, judgement = row.quantities[0], row.quantities[place], row.judgements[place - 1]
    return (
        f"{row.key.kind} {_label(row)}, {_team_label(comparison, row, place)}: {letters[place]} {_cell(other, row)} "
        f"against {letters[0]} {_cell(first, row)}, ratio {ratio_text(judgement.ratio or 0.0)}, "
        f"combined spread {units.percent(judgement.spread or 0.0)}"
    )


def _team_label(comparison: Comparison, row: Row, place: int) -> str:
    """Name the team of a row as it is on one machine."""
    labels = dict(comparison.teams).get(row.key.team)
    return (labels[place] if labels else None) or row.key.team


def _team_title(labels: Sequence[str | None], letters: str) -> str:
    known = {label for label in labels if label}
    if len(known) == 1:
        return known.pop()
    return ", ".join(f"{letter}: {label}" for letter, label in zip(letters, labels, strict=True) if label)


def _team(rows: Sequence[Row], title: str, letters: str, width: int) -> Section:
    together: list[Grid] = []
    apart: list[Grid] = []
    notes: list[str] = []
    for kind in dict.fromkeys(row.key.kind for row in rows):
        mine = [row for row in rows if row.key.kind == kind]
        together.append(_grid(mine, letters, range(1, len(letters))))
        for place in range(1, len(letters)):
            # What this machine lacks stands in another table, beside a machine that has it.
            apart.append(_grid([row for row in mine if row.quantities[place]], letters, [place]))
        notes += [note for row in mine if (note := _different_sources(row, letters))]
    fits = all(len(line) <= width for grid in together for line in grid.text(width))
    return Section(title, tuple(notes), grids=tuple(together if fits else apart))


def _grid(rows: Sequence[Row], letters: str, places: Iterable[int]) -> Grid:
    places = list(places)
    header = [HEADINGS[rows[0].key.kind] if rows else "", letters[0]]
    for place in places:
        header += [letters[place], f"{letters[place]}/{letters[0]}", "spread", "verdict"]
    lines = []
    for row in rows:
        cells = [_label(row), _cell(row.quantities[0], row)]
        for place in places:
            cells += [_cell(row.quantities[place], row), *_judged(row.judgements[place - 1], row.key.kind)]
        lines.append(tuple(cells))
    return Grid(tuple(header), tuple(lines))


def _cell(quantity: Quantity | None, row: Row) -> str:
    return "-" if quantity is None else quantity_text(quantity.value, row.key.unit)


def _judged(judgement: Judgement, kind: Kind) -> tuple[str, str, str]:
    if judgement.ratio is None:
        return "-", "-", "-" if judgement.verdict == "one side" else judgement.verdict
    spread = units.percent(judgement.spread) if judgement.spread else "-"
    return ratio_text(judgement.ratio), spread, verdict_text(judgement.verdict, kind)


def _sources(row: Row) -> list[str]:
    return list(dict.fromkeys(quantity.name for quantity in row.quantities if quantity))


def _label(row: Row) -> str:
    """Name a row: a roof by what was measured, if that is the same on all machines."""
    sources = _sources(row)
    return sources[0] if len(sources) == 1 and row.key.kind != "ridge point" else row.key.name


def _different_sources(row: Row, letters: str) -> str:
    """Say what each machine's roof is, where they are not the same kind."""
    if row.key.kind not in ("compute roof", "memory roof") or len(_sources(row)) < 2:
        return ""
    parts = [f"{letter} {quantity.name}" for letter, quantity in zip(letters, row.quantities, strict=True) if quantity]
    return f"{row.key.name}: {', '.join(parts)}."


def _alone(row: Row) -> bool:
    return sum(quantity is not None for quantity in row.quantities) == 1


def _one_sided(comparison: Comparison, letters: str) -> Iterable[Section]:
    """Yield what only one machine has, by machine: an item for each kind and team."""
    for place, letter in enumerate(letters):
        found: dict[tuple[str, str], list[str]] = {}
        for row in comparison.rows:
            quantity = row.quantities[place]
            if quantity is not None and _alone(row):
                texts = found.setdefault((row.key.kind, _team_label(comparison, row, place)), [])
                texts.append(f"{_label(row)} {_cell(quantity, row)}".replace(" ", KEEP))
        items = tuple(f"{kind}, {team}: {'; '.join(texts)}" for (kind, team), texts in found.items())
        if items:
            yield Section(f"Only in {letter}", items=items)
