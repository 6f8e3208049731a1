"""Text on the fitness of a machine: what the doctor says, and what a run says before it measures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ert.records.codec import plain_text
from ert.roofline.fitness import Finding, is_fit
from ert.roofline.model import Condition, Host
from ert.show.words import listed, plural

VERDICT, NAME = 6, 12
"""Widths of the first two columns."""

Busy = tuple[int, str, float]
"""A process: its number, its program, and the CPUs' worth of time that it uses."""


def diagnosis(
    host: Host, condition: Condition, findings: Sequence[Finding], busy: Sequence[Busy] = (), holder: int | None = None
) -> str:
    """Return the findings as a table, with what to do about each beneath it, and the verdict as the last line.

    Parameters
    ----------
    host : Host
        The machine.
    condition : Condition
        The look at it.
    findings : sequence of Finding
        As :func:`ert.roofline.fitness.fitness` orders them.
    busy : sequence of Busy
        The processes that use most CPU time, told where others disturb.
    holder : int, optional
        Number of the process of another run of this tool, if one is measuring and it is known.
    """
    lines = [f"{host.name}, {plural(sum(cpu.usable for cpu in host.cpus), 'usable CPU')}, {condition.at}", ""]
    for finding in findings:
        lines += _wrapped(f"{finding.verdict:<{VERDICT}}{finding.name:<{NAME}}", finding.found)
        if finding.name == "others" and finding.advice and busy:
            named = (f"{plain_text(name)} (process {pid}) {cpus:.2f}" for pid, name, cpus in busy)
            lines += _wrapped(" " * (VERDICT + NAME), f"most of it: {listed(tuple(named))}")
        if finding.name == "other runs" and finding.advice and holder:
            lines += _wrapped(" " * (VERDICT + NAME), f"it is process {holder}")
        if finding.advice:
            lines += _wrapped(" " * (VERDICT + NAME) + "-> ", finding.advice)
    return "\n".join([*lines, "", _verdict(findings)])


def warnings(findings: Sequence[Finding]) -> list[str]:
    """Return what a run says before it measures: a sentence on what is bad, one on what is not as good; or nothing."""
    bad = [finding.found for finding in findings if finding.verdict == "bad"]
    warned = [finding.name for finding in findings if finding.verdict == "warn"]
    said = []
    if bad:
        said.append(f"This machine is not fit to be measured now: {listed(bad)}.")
    if warned:
        said.append(f"{'Also not' if bad else 'Not'} ideal: {listed(warned)}.")
    if said:
        said[-1] += " `python -m ert.doctor` says what to do."
    return [textwrap.fill(sentence, 80, break_on_hyphens=False) for sentence in said]


def waiting(pid: int | None, *, wait: bool) -> str:
    """Return what is said when another run is measuring."""
    who = "Another run" + (f" (process {pid})" if pid else "")
    if wait:
        return f"{who} is measuring on this machine: waiting for it to end. Ctrl-C leaves, --no-wait does not wait."
    return f"{who} is measuring on this machine: each disturbs the other."


def _verdict(findings: Sequence[Finding]) -> str:
    warned = sum(finding.verdict == "warn" for finding in findings)
    if not is_fit(findings):
        bad = [finding.name for finding in findings if finding.verdict == "bad"]
        return f"Not fit to be measured now: {listed(bad)}."
    return "Fit to be measured" + (f", with {plural(warned, 'warning')}." if warned else ".")


def _wrapped(first: str, text: str) -> list[str]:
    indent = " " * len(first)
    return textwrap.wrap(text, 80, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
