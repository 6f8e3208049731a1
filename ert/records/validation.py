"""The validation of a sweep as a versioned JSON document that other programs may rely on (docs/validation.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

from ert.roofline.sheets.checks import Check, Verdict
from ert.roofline.sheets.recognise import Recognised

FORMAT = "ert-roofline validation"
VERSION = 1
"""Raised when a key changes its meaning or goes away. New keys do not raise it."""


def validation(machine: str, recognised: Recognised, checks: Sequence[Check], tolerance: float) -> dict[str, Any]:
    """Return checks as a JSON object in SI base units, null for what is not known.

    Parameters
    ----------
    machine : str
        Name of the measured machine.
    recognised : Recognised
        What it was held against.
    checks : sequence of Check
        Of :func:`ert.roofline.sheets.validate.validate`.
    tolerance : float
        Part by which a rate may miss its promise.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": machine,
        "sheets": [sheet.name for sheet in recognised.sheets],
        "recognised": recognised.how,
        "doubts": list(recognised.doubts),
        "other_core": recognised.other_core or None,
        "tolerance": tolerance,
        "passed": not any(check.failed for check in checks),
        "verdicts": tally(checks),
        "checks": [_check(check) for check in checks],
    }


def tally(checks: Sequence[Check]) -> dict[str, int]:
    """Return how many checks have each verdict, and how many ``"failed"``."""
    found = Counter(check.verdict for check in checks)
    counts: dict[str, int] = {verdict: found[verdict] for verdict in get_args(Verdict)}
    return {**counts, "failed": sum(check.failed for check in checks)}


def _check(check: Check) -> dict[str, Any]:
    return {
        "section": check.section,
        "name": check.name,
        "unit": check.unit,
        "measured": check.measured,
        "promised": check.promised,
        "ratio": check.ratio,
        "verdict": check.verdict,
        "failed": check.failed,
        "basis": check.basis,
        "products": [[{"value": value, "unit": unit} for value, unit in product] for product in check.products],
        "why": check.why,
    }
