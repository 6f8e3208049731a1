"""The fitness of a machine as JSON: what the doctor prints (docs/doctor.md), and the conditions of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ert.roofline.fitness import Finding, fitness, is_fit
from ert.roofline.model import Condition, Host, Results

FORMAT = "ert-roofline diagnosis"
VERSION = 1
"""Raised when a key changes its meaning or goes away. New keys do not raise it."""


def diagnosis(host: Host, condition: Condition, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what the doctor found as a JSON object: SI base units, null for what is not known."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": host.name,
        "fit": is_fit(findings),
        **_condition(condition, findings),
    }


def conditions(results: Results) -> list[dict[str, Any]]:
    """Return how the machine was at the start of each run behind a result, judged by today's rules."""
    return [_condition(condition, fitness(results.host, condition)) for condition in results.conditions]


def _condition(condition: Condition, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "at": condition.at,
        "seconds": condition.seconds,
        "load": condition.load,
        "others_cpus": condition.others,
        "stolen_cpus": condition.stolen,
        "stolen_since_boot": condition.stolen_since_boot,
        "alone": condition.alone,
        "budget_bytes": condition.budget or None,
        "clock_source": condition.clock_source,
        "clock_step_seconds": condition.clock_step,
        "clock_backwards": condition.clock_backwards,
        "frequency_driver": condition.frequency_driver,
        "checks": [
            {"name": each.name, "verdict": each.verdict, "found": each.found, "advice": each.advice}
            for each in findings
        ],
    }
