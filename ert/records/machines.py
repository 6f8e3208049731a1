"""Finding machine sheets: those that ship with the tool by name or alias, a user's own by the path of the file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ert.errors import InputError
from ert.records import sheets
from ert.records.toml import Table, near, read
from ert.roofline.quantities import rate
from ert.roofline.sheets.check_sheet import check_sheet
from ert.roofline.sheets.sheet import CoreSheet, CounterEvents, CpuSheet, PublishedMeasurement, Sheet

PACKAGE = "machines"
FOLDERS = ("cores", "cpus", "accelerators")
SUFFIX = ".toml"


def find(machine: str) -> Sheet:
    """Return a machine sheet.

    Parameters
    ----------
    machine : str
        Name of a sheet that ships with the tool (``"nvidia-h100-sxm"``), one of its aliases, its title, or parts of the
        title that no other has, in any case; or the path of a TOML file.

    Raises
    ------
    InputError
        If there is no such sheet or file, or if it is not a valid sheet.
    """
    if machine.lower().endswith(SUFFIX) or "/" in machine:
        return load(Path(machine))
    name = machine.strip().lower()
    if name in _shipped():
        return shipped(name)
    # Aliases and titles stand inside the files.
    for sheet in everything():
        if name in (alias.lower() for alias in (*sheet.aliases, sheet.title)):
            return sheet
    if Path(machine).is_file():
        return load(Path(machine))
    holding = [sheet for sheet in everything() if name and all(word in sheet.title.lower() for word in name.split())]
    if len(holding) == 1:
        return holding[0]
    if holding:
        raise InputError(f"{machine!r} could be {', '.join(sheet.name for sheet in holding)}; name one of them")
    hint = near(name, names()) or "python -m ert.validate --list shows the names"
    raise InputError(f"no machine sheet is called {machine!r}; {hint}, and a sheet of your own is given by its path")


def load(path: Path) -> Sheet:
    """Read a sheet from a file anywhere, to be used; its name is the file's stem. InputError as :func:`find`."""
    sheet = _read(path)
    for wrong in check_sheet(sheet):
        if wrong.failed and wrong.measured is not None and wrong.promised is not None:
            unit = wrong.unit.removesuffix("/s")
            raise InputError(
                f"{path}: its figures contradict each other: {wrong.name}, computed {rate(wrong.measured, unit)}, "
                f"published {rate(wrong.promised, unit)}; mend one of them, or add the reason as `why`"
            )
    return sheet


def is_shipped(sheet: Sheet) -> bool:
    """Whether a sheet is one of those that ship with the tool."""
    return sheet.name in _shipped() and shipped(sheet.name) is sheet


def _read(path: Path) -> Sheet:
    def core(name: str) -> CoreSheet:
        return _core_beside(path.parent / name) if name.lower().endswith(SUFFIX) else _core(name)

    return sheets.sheet_of(read(path), path.name.removesuffix(SUFFIX), core)


def _core_beside(path: Path) -> CoreSheet:
    sheet = None if sheets.kind_of(read(path)) != "core" else _read(path)
    if not isinstance(sheet, CoreSheet):
        raise InputError(f"{path} is no sheet of a core")
    return sheet


def check(path: Path) -> Sheet | tuple[PublishedMeasurement, ...] | tuple[CounterEvents, ...]:
    """Read a file of any kind that belongs into the folder of machines; InputError if it breaks the schema."""
    kind = sheets.kind_of(read(path))
    if kind == "measurements":
        return sheets.measurements_of(read(path))
    return sheets.events_of(read(path)) if kind == "events" else _read(path)


def names() -> tuple[str, ...]:
    """Names of all sheets that ship with the tool: cores, CPUs, accelerators, each sorted."""
    return tuple(_shipped())


@cache
def shipped(name: str) -> Sheet:
    """Return a sheet that ships with the tool by its exact name; InputError if it is not valid."""
    return sheets.sheet_of(_document(_shipped()[name]), name, _core)


def everything() -> Iterator[Sheet]:
    """All sheets that ship with the tool, in the order of :func:`names`, each read when it is asked for."""
    return (shipped(name) for name in names())


def cores() -> tuple[CoreSheet, ...]:
    """Sheets of all cores."""
    return tuple(sheet for sheet in everything() if isinstance(sheet, CoreSheet))


def cpus() -> tuple[CpuSheet, ...]:
    """Sheets of all CPUs."""
    return tuple(sheet for sheet in everything() if isinstance(sheet, CpuSheet))


@cache
def measurements() -> tuple[PublishedMeasurement, ...]:
    """Published measurements of systems that have no sheet of their own."""
    return sheets.measurements_of(_document(_root().joinpath("measurements.toml")))


@cache
def events() -> tuple[CounterEvents, ...]:
    """Performance-counter events of all vendors."""
    return sheets.events_of(_document(_root().joinpath("events.toml")))


def _core(name: str) -> CoreSheet:
    sheet = shipped(name) if name in _shipped() else None
    if not isinstance(sheet, CoreSheet):
        known = [name for name, path in _shipped().items() if path in _files("cores")]
        hint = near(name, known) or "a core of your own is given as a file beside the sheet, such as 'my-core.toml'"
        raise InputError(f"no core's sheet is called {name!r}; {hint}")
    return sheet


def _root() -> Traversable:
    return resources.files(PACKAGE)


@cache
def _files(folder: str) -> tuple[Traversable, ...]:
    found = (path for path in _root().joinpath(folder).iterdir() if path.name.endswith(SUFFIX))
    return tuple(sorted(found, key=lambda path: path.name))


@cache
def _shipped() -> dict[str, Traversable]:
    return {path.name.removesuffix(SUFFIX): path for folder in FOLDERS for path in _files(folder)}


def _document(path: Traversable) -> Table:
    # An installed sheet is found by its name; the path of the installation says nothing to a user.
    return read(path, f"{PACKAGE}/{path.name}")
