"""Where files of a sweep lie, so that none ever takes the name of another."""

from __future__ import annotations

import itertools
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ert.errors import InputError

SUFFIXES = (
    ".json",
    *(f".{kind}{form}" for kind in ("roofline", "levels", "latency", "scaling", "numa") for form in (".png", ".svg")),
    ".journal.jsonl",
)
"""Of the files of one sweep, in the order of the fields of :class:`Paths`."""

PROOF_BYTES = 4096
"""Written to prove that a folder can be written: a full disk still takes an empty file."""

_STEM = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
_STEM_LENGTH = len("20261129T224500Z")
_STARTED = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one sweep: the result, its figures, and the journal that is written while it runs."""

    json: Path
    roofline_png: Path
    roofline_svg: Path
    levels_png: Path
    levels_svg: Path
    latency_png: Path
    latency_svg: Path
    scaling_png: Path
    scaling_svg: Path
    numa_png: Path
    numa_svg: Path
    journal: Path


def result_paths(out: Path, machine: str, started: str) -> Paths:
    """Return names in ``<out>/<machine>/`` that no file has yet.

    Parameters
    ----------
    out : Path
        Folder of all results.
    machine : str
        Name of the machine's folder, as :func:`ert.measure.host.machine_slug` makes it.
    started : str
        UTC, ISO 8601 with seconds and ``Z``, as in :class:`ert.roofline.model.Results`. It names the files
        (``20261129T224500Z``); a sweep of the same second gets ``-2``, ``-3`` and so on behind it.

    Raises
    ------
    ValueError
        If `machine` is not the name of a folder or `started` is not such a time.
    """
    if not machine or machine.startswith(".") or {"/", "\\"} & set(machine):
        raise ValueError(f"{machine!r} is not the name of a folder")
    if not _STARTED.fullmatch(started):
        raise ValueError(f"{started!r} is not a time like 2026-11-29T22:45:00Z")
    folder = out / machine
    stem = free_stem(folder, re.sub("[-:]", "", started), SUFFIXES)
    return Paths(*(folder / (stem + suffix) for suffix in SUFFIXES))


def free_stem(folder: Path, stem: str, suffixes: tuple[str, ...]) -> str:
    """Return `stem`, or `stem` with ``-2``, ``-3`` ... behind it, so that no file has it with any of the suffixes."""
    for number in itertools.count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        if not any((folder / (name + suffix)).exists() for suffix in suffixes):
            break
    return name


def results_in(folder: Path) -> tuple[Path, ...]:
    """Return the files of a machine's folder that are named as results are, newest first."""
    named = [path for path in folder.glob("*.json") if _STEM.fullmatch(path.stem)]
    return tuple(sorted(named, key=lambda path: (path.stem[:_STEM_LENGTH], len(path.stem), path.stem), reverse=True))


def free_path(folder: Path, stem: str, suffix: str) -> Path:
    """Return a path in a folder that no file has: ``stem.suffix``, else ``stem-2.suffix`` and so on."""
    return folder / (free_stem(folder, stem, (suffix,)) + suffix)


def ensure_writable(folder: Path) -> None:
    """Create a folder if need be and prove that files can be written there, before anything is measured.

    Raises
    ------
    InputError
        If it is not a folder, or cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as proof:
            proof.write(bytes(PROOF_BYTES))
            proof.flush()
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder}: a file is in the way of this folder. Choose another with --out.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder}: cannot be written ({reason}). Choose another folder with --out.") from None
