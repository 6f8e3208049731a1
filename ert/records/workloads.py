"""Workloads from a short TOML file: what is done, in which precision, on how many bytes (docs/workload.md)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ert.errors import InputError
from ert.roofline.predict import Part, Workload

LARGEST_FILE = 1 << 20
"""Bytes of a file that is read: thousands of parts fit. What is larger is something else."""

TEXTS, NUMBERS = ("name", "precision", "level", "unit"), ("flop", "bytes", "weight")

NEEDED = ("name", "flop", "bytes", "precision")

UNITS = ("vector", "matrix")

EXAMPLE = 'write [[part]] and below it name = "...", flop = ..., bytes = ... and precision = "..."'


def load_workload(path: Path) -> Workload:
    """Read a workload.

    Raises
    ------
    InputError
        If it cannot be read, or a key is missing, unknown, of a wrong type or without a meaning; the message names the
        file, the part and the key.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE} bytes, so that it is no workload")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file in UTF-8; a workload is TOML, see docs/workload.md") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    return workload(document, str(path), path.stem)


def workload(document: Mapping[str, Any], source: str, name: str) -> Workload:
    """Return the workload that a TOML document describes.

    Parameters
    ----------
    document : mapping
        As tomllib reads it: ``name`` (optional), and ``part``, a list of tables.
    source : str
        Name of the file, for messages.
    name : str
        The workload's, where the document does not tell.
    """
    _known(document, ("name", "part"), source)
    title = _text(document.get("name", name), source, "name")
    tables = document.get("part")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{source}: no parts; {EXAMPLE}")
    parts: list[Part] = []
    for number, table in enumerate(tables, start=1):
        where = f"{source}: part {number}"
        for key in NEEDED:
            if key not in table:
                raise InputError(f"{where}: {key} is missing; {EXAMPLE}")
        _known(table, (*TEXTS, *NUMBERS), where)
        texts = {key: _text(table[key], where, key) for key in TEXTS if key in table}
        numbers = {key: _number(table[key], where, key) for key in NUMBERS if key in table}
        numbers["traffic"] = numbers.pop("bytes")
        part = checked(Part(**texts, **numbers), where)  # type: ignore[arg-type]
        if part.name in [other.name for other in parts]:
            raise InputError(f"{where}: there is another part called {part.name!r}; give each a name of its own")
        parts.append(part)
    return Workload(title, tuple(parts))


def checked(part: Part, where: str) -> Part:
    """Return the part, if its numbers and its unit have a meaning.

    Raises
    ------
    InputError
        If FLOP, bytes or weight are not above 0, or the unit is unknown; `where` begins the message.
    """
    for key, value, remedy in (
        (
            "flop",
            part.flop,
            "what only moves data has no arithmetic intensity: count it with what uses the data",
        ),
        ("bytes", part.traffic, "every computation moves something: count at least its operands and results once"),
        ("weight", part.weight, "leave out what is never done"),
    ):
        if not value > 0:
            raise InputError(f"{where}: {key} must be above 0, found {value:g}; {remedy}")
    if part.unit not in ("", *UNITS):
        raise InputError(f"{where}: unit must be one of {', '.join(UNITS)}, found {part.unit!r}")
    return part


def _known(table: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(keys)}"
            raise InputError(f"{where}: unknown key {key!r}; {hint}")


def _text(value: object, where: str, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} must be a text that is not empty, found {value!r}")
    return value


def _number(value: object, where: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: {key} must be a number in SI base units, found {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where}: {key} must be finite, found {str(value)[:20]}")
    return number
