"""What a command line names as a machine: a result, a machine sheet by its name or file, or two numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ert.errors import InputError
from ert.records import machines
from ert.records.store import load
from ert.roofline.comparing.machine import Machine, measured_machine, promised_machine
from ert.roofline.sheets.sheet import CoreSheet


def machine_of(argument: str) -> Machine:
    """Return the machine that an argument names.

    Parameters
    ----------
    argument : str
        Path of a result (``.json``) or of a machine sheet (``.toml``), or the name of a sheet that ships with the tool.

    Raises
    ------
    InputError
        If there is no such file and no such sheet, it cannot be read, or it has no roofs.
    """
    if is_result(argument):
        results = load(Path(argument))
        # Deriving roofs needs more than reading, and a wrong file must fail before that.
        from ert.roofline.fitting.fit import fit

        return measured_machine(results.host.name, argument, results, fit(results))
    try:
        sheet = machines.find(argument)
    except InputError as error:
        if os.path.exists(argument):
            raise
        raise InputError(f"{argument}: no such file, and {error}") from None
    if isinstance(sheet, CoreSheet):
        raise InputError(
            f"{argument}: a core has neither clock nor memory of its own; name the sheet of a CPU that has it"
        )
    return promised_machine(f"sheet {sheet.name}" if not _is_file(argument) else argument, sheet)


def is_result(argument: str) -> bool:
    """Whether an argument names a result and not a sheet: by its suffix, or as a file without one."""
    if argument.lower().endswith(".toml"):
        return False
    return argument.lower().endswith(".json") or _is_file(argument)


def once_each(arguments: Sequence[str], loaded: Sequence[Machine]) -> None:
    """Raise InputError if two arguments are the same file, the same sheet, or copies of one result."""
    seen: dict[Any, str] = {}
    for argument, machine in zip(arguments, loaded, strict=True):
        identity: Any = machine.source
        if _is_file(argument):
            status = os.stat(argument)
            identity = status.st_dev, status.st_ino
        if identity in seen:
            raise InputError(f"{argument} and {seen[identity]} are the same machine from the same file; name it once")
        for other, earlier in zip(arguments, loaded, strict=True):
            if earlier is machine:
                break
            if machine.results and earlier.results and machine.results.same_sweep(earlier.results):
                raise InputError(f"{argument} is a copy of {other}: the same sweep; name it once")
        seen[identity] = argument


def _is_file(argument: str) -> bool:
    return Path(argument).is_file()
