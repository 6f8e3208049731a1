"""Text on application kernels: where each lies under the roofs, what limits it, and where effort pays."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ert.roofline.model import Roofline, Team
from ert.roofline.placing.blocking import Block, block_sizes, crossing_batch
from ert.roofline.placing.place import HALF, Placement, fastest_rungs, rank
from ert.show import units
from ert.show.codes import code_lines
from ert.show.words import plural

NAME = 19
"""Width of the names; the columns beside them make it 80 characters."""

COLUMNS = (
    ("level", 5), ("level", 6), ("L1", 6), ("FLOP/s", 8), ("B/s", 7), ("comp.", 6), ("mem.", 7), ("eff.", 6),
    ("bound", 8), ("", 2),
)  # fmt: skip
"""Titles and widths; the last is the grade."""

MOVED = "^"
"""Behind the share of a memory roof that counts as it was beside the kernel."""

FIRST, CELL = 26, 13
"""Widths of the table of blocks."""

TITLE = "Application kernels (traffic is modelled)"

WORTHWHILE = 5
"""So many kernels are told in the short form's ranking."""

FAMILIES = ("stream", "vector", "dense", "sparse", "stencil", "convolution", "spectral", "neural")
"""In the order in which they are shown; others follow."""

TINY = 0.001
"""FLOP/byte that three decimals do not show."""


def sections(placements: Sequence[Placement], roofline: Roofline, width: int = 80, *, whole: bool = False) -> list[str]:
    """Return the lines on application kernels; none where there are none.

    Parameters
    ----------
    placements : sequence of Placement
        Of one result, as :func:`ert.roofline.placing.place.place` returns them.
    roofline : Roofline
        They lie under it.
    width : int
        Characters a line.
    whole : bool
        Whether to give the advice on every kernel, and not only on those where effort pays most.
    """
    if not placements:
        return []
    lines = ["", TITLE, "=" * len(TITLE)]
    teams = list(dict.fromkeys(placement.case.team for placement in placements))
    for team in teams:
        mine = [placement for placement in placements if placement.case.team == team]
        for precision in dict.fromkeys(placement.case.precision for placement in mine):
            chosen = [placement for placement in mine if placement.case.precision == precision]
            lines += [*_table(chosen, team, precision), ""]
    lines += _legend(placements, width)
    lines += code_lines(placements, width)
    if whole:
        lines += _advice(placements, width)
    largest = max(teams, key=lambda team: team.threads)
    lines += _ranking([placement for placement in placements if placement.case.team == largest], largest, width, whole)
    if any(placement.kernel.family == "dense" for placement in placements):
        for team in teams:
            lines += _blocks(placements, roofline, team)
    return lines


# --------------------------------------------------------------------------------------------------- table


def _table(placements: Sequence[Placement], team: Team, precision: str) -> list[str]:
    """Return one row a kernel, by family."""
    title = f"  {team.label}{', ' + precision if precision else ''}"
    lines = [
        f"{title:<{NAME + 5}}{'FLOP/byte at':>12}{'':>15}{'share of roof':>13}",
        _columns("  kernel", [name for name, _ in COLUMNS]),
    ]
    for family in _families(placements):
        lines.append(f"  {family}")
        lines += [_row(p, _name(p, placements)) for p in placements if p.kernel.family == family]
    return lines


def _families(placements: Sequence[Placement]) -> list[str]:
    found = dict.fromkeys(placement.kernel.family for placement in placements)
    return sorted(found, key=lambda family: FAMILIES.index(family) if family in FAMILIES else len(FAMILIES))


def _name(placement: Placement, among: Sequence[Placement]) -> str:
    """Name a kernel, with those of its parameters that tell it from the same kernel in other rows."""
    same = [p for p in among if p.kernel.name == placement.kernel.name]
    mine = dict(placement.case.parameters)
    told = [
        str(value) if isinstance(value, str) else f"{name} {value}"
        for name, value in mine.items()
        if any(dict(p.case.parameters).get(name) != value for p in same)
    ]
    return " ".join([placement.kernel.name, *told])


def _row(placement: Placement, name: str) -> str:
    flop_rate, byte_rate = placement.flop_rate, placement.byte_rate
    grade = flop_rate or byte_rate
    mark = "~" if placement.kernel.nominal else ""
    return _columns(
        f"   {name}",
        [
            placement.level or "-",
            _intensity(placement.intensity),
            _intensity(placement.program_intensity),
            mark + units.short(flop_rate.best) if flop_rate else "-",
            units.short(byte_rate.best) if byte_rate else "-",
            _share(placement.compute_share),
            _share(placement.memory_share) + (MOVED if placement.beside else ""),
            _share(placement.efficiency),
            placement.bound,
            grade.grade if grade else "-",
        ],
    )


def _columns(title: str, cells: Sequence[str]) -> str:
    """Put a row together; a name that is too long gets a line of its own."""
    row = "".join(f" {cell:>{width - 1}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True)).rstrip()
    # Without a blank it would run into the figures.
    return f"{title}\n{'':<{NAME}}{row}" if len(title) >= NAME else f"{title:<{NAME}}{row}"


def _intensity(value: float | None) -> str:
    """Write an intensity in few characters: ``"0.083"``, ``"171"``."""
    if value is None:
        return "-"
    if 0 < value < TINY:
        return f"{value:.0e}"
    return f"{value:.3f}" if 0 < value < 1 else units.number(value)


def _share(value: float | None) -> str:
    """Write a share in as few characters as it is known to: ``"97 %"``, ``"1.2 %"``."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if value < 0.0995 else f"{100 * value:.0f} %"


def _legend(placements: Sequence[Placement], width: int) -> list[str]:
    sentences = [
        "FLOP/byte: by modelled traffic at the level of the data, by program bytes at L1. B/s: modelled traffic.",
        "Shares of the compute roof of the same precision, threads and arithmetic, and of the memory roof of the level "
        "for the nearest access mix.",
        f"Efficiency (eff.): the rate as part of what both roofs allow; under {HALF * 100:g} % neither is the bound.",
        "The last column is the grade.",
    ]
    if any(placement.kernel.nominal for placement in placements):
        sentences.append("~ nominal FLOP.")
    if any(placement.beside for placement in placements):
        sentences.append(
            f"{MOVED} This memory roof was not steady during the sweep: what it gave in the same seconds as the kernel "
            "counts, less than its best."
        )
    return textwrap.wrap(" ".join(sentences), width)


# -------------------------------------------------------------------------------------------------- advice


def _full_name(placement: Placement) -> str:
    parts = [placement.kernel.name, placement.size, placement.case.precision, placement.level]
    return ", ".join(part for part in parts if part)


def _case(placement: Placement) -> str:
    """Name one of several cases of a kernel, and the part that it reaches of what is attainable."""
    parts = ", ".join(filter(None, (placement.size, placement.case.precision, placement.level)))
    return f"{parts} ({_share(placement.efficiency)})" if placement.efficiency is not None else parts


def _said(text: str, width: int) -> list[str]:
    # In ASCII, as the rest of the text is.
    text = text.replace("µ", "u")
    return textwrap.wrap(text, width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def _advice(placements: Sequence[Placement], width: int) -> list[str]:
    """Return what limits each kernel and what to do, by family.

    Cases of one kernel that the same rule speaks of differ in figures alone: the one with most to win is told, and the
    others are named behind it.
    """
    lines: list[str] = []
    for team in dict.fromkeys(placement.case.team for placement in placements):
        lines += ["", f"What limits them, {team.label}"]
        mine = [placement for placement in placements if placement.case.team == team]
        for family in _families(mine):
            groups: dict[tuple[str, str], list[Placement]] = {}
            for placement in mine:
                if placement.kernel.family == family:
                    groups.setdefault((placement.kernel.name, placement.rule), []).append(placement)
            for group in groups.values():
                first = max(group, key=lambda placement: placement.headroom or 0.0)
                others = [_case(placement) for placement in group if placement is not first]
                likewise = f" Likewise {'; '.join(others)}." if others else ""
                lines += _said(f"{_full_name(first)}: {' '.join(first.advice)}{likewise}", width)
    return lines


def _ranking(placements: Sequence[Placement], team: Team, width: int, whole: bool) -> list[str]:
    """Return where effort pays: kernels by the seconds that a pass takes above its lower bound."""
    ranked = [placement for placement in rank(fastest_rungs(placements)) if placement.headroom]
    if not ranked:
        return []
    lines = ["", f"Where effort pays, {team.label}: time of a pass above its lower bound"]
    for placement in ranked if whole else ranked[:WORTHWHILE]:
        headroom, seconds = placement.headroom or 0.0, placement.seconds
        text = f"{_full_name(placement)}: {units.seconds(headroom)} of {units.seconds(seconds)}."
        if not whole:
            text += " " + " ".join(placement.advice)
        lines += _said(text, width)
    left = len(ranked) - WORTHWHILE
    if left > 0 and not whole:
        lines += _said(f"and {plural(left, 'kernel')} with less.", width)
    return lines


# -------------------------------------------------------------------------------------------------- blocks


def _blocks(placements: Sequence[Placement], roofline: Roofline, team: Team) -> list[str]:
    """Return the block of a matrix product, and the batch of a matrix times vectors, that pass each ridge point."""
    lines: list[str] = []
    dense = [p for p in placements if p.kernel.family == "dense" and p.case.team == team]
    for precision in dict.fromkeys(placement.case.precision for placement in dense):
        blocks = block_sizes(roofline, team, precision)
        if not blocks:
            continue
        cells = [(block, crossing_batch(roofline, team, precision, block.memory.level)) for block in blocks]
        rows = [
            ("  ridge point, FLOP/byte", [units.number(block.ridge) for block, _ in cells]),
            ("  smallest GEMM block", [f"{block.side} x {block.side}" for block, _ in cells]),
            ("  three of them", [units.size(block.held_bytes) for block, _ in cells]),
            ("  must stay in", [block.holder for block, _ in cells]),
            ("  which holds", [units.size(block.capacity) if block.capacity else "-" for block, _ in cells]),
            ("  so that they fit", [_fits(block) for block, _ in cells]),
            ("  smallest decode batch", [_batch(batch) for _, batch in cells]),
        ]
        lines += ["", f"Reuse that passes the ridge points of load-only streams, {team.label}, {precision}"]
        lines.append(f"{'  data from':<{FIRST}}" + "".join(f"{block.memory.level:>{CELL}}" for block, _ in cells))
        lines += [f"{name:<{FIRST}}" + "".join(f"{cell:>{CELL}}" for cell in row) for name, row in rows]
    return lines


def _fits(block: Block) -> str:
    return "-" if block.fits is None else "yes" if block.fits else "NO"


def _batch(batch: float | None) -> str:
    return "-" if batch is None else str(max(1, -int(-batch // 1)))
