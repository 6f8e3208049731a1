"""The public JSON of a comparison (docs/compare-json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ert.roofline.comparing.cautions import cautions
from ert.roofline.comparing.compare import Comparison, Row
from ert.roofline.comparing.machine import Machine

FORMAT = "ert-roofline comparison"
VERSION = 1
"""Raised when a key changes its meaning or goes away. New keys do not raise it."""


def comparison_document(comparison: Comparison, names: Sequence[str], fail_below: float | None) -> dict[str, Any]:
    """Return a comparison as a JSON object in SI base units.

    Parameters
    ----------
    comparison : Comparison
    names : sequence of str
        What the machines are called so that no two are called the same.
    fail_below : float or None
        The ratio of the check; None without one.
    """
    fallen = [] if fail_below is None else comparison.fallen(fail_below)
    return {
        "format": FORMAT,
        "version": VERSION,
        "machines": [machine_document(machine, name) for machine, name in zip(comparison.machines, names, strict=True)],
        "cautions": list(cautions(comparison.machines, names)),
        "differences": [
            {"group": fact.group, "name": fact.name, "values": list(fact.values)} for fact in comparison.differences
        ],
        "teams": [{"name": name, "labels": list(labels)} for name, labels in comparison.teams],
        "rows": [_row(row) for row in comparison.rows],
        "fail_below": fail_below,
        "fallen": [
            {"kind": row.key.kind, "name": row.key.name, "team": row.key.team, "machine": place}
            for row, place in fallen
        ],
    }


def machine_document(machine: Machine, name: str) -> dict[str, Any]:
    """Return what a machine is and where its roofs come from."""
    return {
        "name": name,
        "kind": machine.kind,
        "source": machine.source,
        "extent": machine.extent,
        "started": machine.results.started if machine.results else None,
        "complete": machine.results.complete if machine.results else None,
    }


def _row(row: Row) -> dict[str, Any]:
    key = row.key
    return {
        "kind": key.kind,
        "name": key.name,
        "team": key.team,
        "precision": key.precision,
        "level": key.level,
        "unit": key.unit,
        "values": [quantity.value if quantity else None for quantity in row.quantities],
        "spreads": [quantity.spread if quantity else None for quantity in row.quantities],
        "taken_from": [quantity.name if quantity else None for quantity in row.quantities],
        "ratios": [judgement.ratio for judgement in row.judgements],
        "combined_spreads": [judgement.spread for judgement in row.judgements],
        "verdicts": [judgement.verdict for judgement in row.judgements],
    }
