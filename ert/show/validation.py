"""Text of a validation: one line a check, and beneath it why it differs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import get_args

from ert.roofline.sheets.checks import Check, Factor
from ert.roofline.sheets.recognise import Recognised
from ert.roofline.sheets.sheet import AcceleratorSheet, Clock, CoreSheet, CpuSheet, Sheet
from ert.show import units
from ert.show.words import operation, plural

WIDTH = 80

NAME, FIGURE, RATIO = 30, 14, 6
"""Widths of the columns; the verdict takes what is left of WIDTH."""

RATIO_DIGITS = 2


def text(
    machine: str, recognised: Recognised, checks: Sequence[Check], counts: dict[str, int], tolerance: float
) -> str:
    """Return a validation as lines of text.

    Parameters
    ----------
    machine : str
        Name of the measured machine.
    recognised : Recognised
        What it was held against.
    checks : sequence of Check
        In the order in which they are shown.
    counts : dict
        How many have each verdict, and how many ``"failed"``.
    tolerance : float
        Part by which a rate may miss its promise.
    """
    against = " and ".join(f"{sheet.title} (sheet {recognised.file or sheet.name})" for sheet in recognised.sheets)
    other = recognised.other_core
    lines = _wrapped(f"{other[:1].upper()}{other[1:]}.") if other else []
    lines += _wrapped(f"{machine}, against {against}" if against else machine)
    lines += _wrapped(f"{recognised.how[:1].upper()}{recognised.how[1:]}.")
    lines += [line for doubt in recognised.doubts for line in _wrapped(f"Not certain: {doubt}")]
    lines += _checks(checks, ("measured", "promised"))
    lines += ["", *_verdict(counts, tolerance)]
    return "\n".join(line.rstrip() for line in lines)


def sheet_text(sheet: Sheet, checks: Sequence[Check]) -> str:
    """Return what a valid sheet says of itself: its title, its published figures against the computed ones."""
    what = {CoreSheet: "core", AcceleratorSheet: "accelerator"}.get(type(sheet), "CPU")
    lines = [*_wrapped(f"{sheet.name}: a valid sheet of the {what} {sheet.title}"), *_promises(sheet)]
    lines += _checks(checks, ("computed", "published"))
    return "\n".join(line.rstrip() for line in lines)


def listing(sheets: Sequence[Sheet]) -> str:
    """Return one line a sheet: its name, what it is of, and its aliases."""
    width = max(len(sheet.name) for sheet in sheets)
    lines = []
    for sheet in sheets:
        also = f" (also {', '.join(sheet.aliases)})" if sheet.aliases else ""
        lines.append(f"{sheet.name:<{width}}  {sheet.title}{also}")
    return "\n".join(lines)


def _promises(sheet: Sheet) -> list[str]:
    """What follows from a sheet: its peaks and its memory bandwidth."""
    if isinstance(sheet, CoreSheet):
        rates = [
            (f"{rate.precision} {rate.unit}", rate.operations, operation(rate.precision)) for rate in sheet.per_cycle
        ]
        rows = [(name, [f"{units.number(rate)} {what}"]) for name, rate, what in rates]
        columns = ["per cycle"]
    elif isinstance(sheet, CpuSheet):
        clocks = [clock for clock in get_args(Clock) if any(group.clock(clock) for group in sheet.groups)]
        columns = [f"{clock} clock" for clock in clocks]
        rows = [(p, [_peak(sheet.peak(p, clock), p) for clock in clocks]) for p in sheet.precisions]
    else:
        columns, rows = ["dense peak"], [(p, [_peak(sheet.peak(p), p)]) for p in sheet.precisions]
    first = min(NAME, WIDTH - (FIGURE + 4) * len(columns))
    lines = ["", f"{'Promised':<{first}}" + "".join(f"{column:>{FIGURE + 4}}" for column in columns)] if rows else []
    lines += [f"  {name:<{first - 2}}" + "".join(f"{cell:>{FIGURE + 4}}" for cell in cells) for name, cells in rows]
    bandwidth = None if isinstance(sheet, CoreSheet) else sheet.bandwidth()
    return lines + (
        [] if bandwidth is None else [f"  {'memory':<{first - 2}}{units.rate(bandwidth, 'B'):>{FIGURE + 4}}"]
    )


def _peak(value: float | None, precision: str) -> str:
    return "-" if value is None else units.rate(value, operation(precision))


def _checks(checks: Sequence[Check], columns: tuple[str, str]) -> list[str]:
    lines: list[str] = []
    section, said = "", ""
    for check in checks:
        if check.section != section:
            section, said = check.section, ""
            head = "".join(f"{column:>{FIGURE}}" for column in columns) + f"{'ratio':>{RATIO}}  verdict"
            lines.append("")
            lines += [f"{section:<{NAME}}{head}"] if len(section) < NAME else [section, " " * NAME + head]
        # What was just said of another precision need not be said again.
        lines += _line(check, check.why if check.why != said else "")
        said = check.why or said
    return lines


def _line(check: Check, why: str) -> list[str]:
    ratio = "-" if check.ratio is None else f"{check.ratio:.{RATIO_DIGITS}f}"
    ratio = ratio if len(ratio) < RATIO else units.number(check.ratio or 0.0)
    figures = f"{_figure(check.measured, check.unit):>{FIGURE}}{_figure(check.promised, check.unit):>{FIGURE}}"
    mark = "  FAILED" if check.failed else ""
    # A name that is too long gets a line of its own.
    lines = [] if len(check.name) <= NAME - 2 else _wrapped(check.name, 2)
    name = "" if lines else check.name
    lines.append(f"  {name:<{NAME - 2}}{figures}{ratio:>{RATIO}}  {check.verdict}{mark}")
    promise = " + ".join(" x ".join(_factor(factor) for factor in product) for product in check.products)
    if promise:
        lines += _wrapped(f"promised: {promise}", 4)
    elif check.verdict != "not stated" and check.section == "Published measurements":
        lines += _wrapped(check.basis, 4)
    return lines + (_wrapped(why, 4) if why else [])


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "B":
        return units.size(value)
    if unit == "Hz":
        return units.hertz(value)
    if unit.endswith("/s"):
        return units.rate(value, unit.removesuffix("/s"))
    # Cycles and operations of one cycle need no prefix.
    return f"{units.number(value)} {unit.removesuffix('/cycle')}"


def _factor(factor: Factor) -> str:
    value, unit = factor
    if unit == "Hz":
        return units.hertz(value)
    if unit in ("B/s", "transfers/s"):
        return units.rate(value, unit.removesuffix("/s"))
    if unit in ("cores", "sockets", "channels"):
        return f"{value:g} {unit.removesuffix('s') if value == 1 else unit}"
    return f"{value:g} {unit}"


def _verdict(counts: dict[str, int], tolerance: float) -> list[str]:
    total = sum(count for name, count in counts.items() if name != "failed")
    parts = ", ".join(f"{count} {name}" for name, count in counts.items() if name != "failed" and count)
    failed = counts["failed"]
    end = "No check failed" if not failed else f"{plural(failed, 'check')} FAILED"
    return _wrapped(f"{plural(total, 'check')}: {parts}. {end} (rates may differ by {units.percent(tolerance)}).")


def _wrapped(sentence: str, indent: int = 0) -> list[str]:
    blank = " " * indent
    return textwrap.wrap(sentence, WIDTH, initial_indent=blank, subsequent_indent=blank, break_on_hyphens=False)
