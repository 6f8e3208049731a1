"""Machines in words: what each is called beside others, and where its roofs come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from string import ascii_uppercase

from ert.roofline.comparing.machine import Machine
from ert.show.words import minute, told_apart

MOST = len(ascii_uppercase)
"""So many machines have a letter."""


def machine_names(machines: Sequence[Machine]) -> list[str]:
    """Return names of machines that all differ: results of one CPU are told apart by their times or files."""
    started = [machine.results.started if machine.results else machine.source for machine in machines]
    files = [PurePath(machine.source).name for machine in machines]
    sources = [machine.source for machine in machines]
    names = [machine.name for machine in machines]
    return told_apart(names, [minute(text) for text in started], started, files, sources) or sources


def legend(machines: Sequence[Machine], names: Sequence[str]) -> tuple[str, ...]:
    """Return a line a machine: its letter, its name, and where its roofs come from."""
    return tuple(
        f"{letter}: {name} ({origin(machine)})"
        for letter, machine, name in zip(ascii_uppercase, machines, names, strict=False)
    )


def origin(machine: Machine) -> str:
    """Say where the roofs of a machine come from and of how much of it they are."""
    if machine.results is None:
        return "given by two numbers" if machine.kind == "given" else f"promised, {machine.extent}; {machine.source}"
    partial = "" if machine.results.complete else ", partial: the sweep was interrupted"
    return f"measured {minute(machine.results.started)} UTC, {machine.extent}{partial}; {machine.source}"
