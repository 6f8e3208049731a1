"""Results <-> a JSON file: versioned, checked in full when read, written at once or not at all."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ert.errors import InputError
from ert.records.codec import INTEGER_END, Codec, Coder, MismatchError, Sign
from ert.roofline.model import Case, Results, Sample, Team

FORMAT = "ert-roofline results"
SCHEMA = 1
"""Raised when an older reader would misread a file. A new key with a default does not raise it: readers ignore keys
that they do not know and fill in keys that are missing."""

JOURNAL_FORMAT = "ert-roofline journal"
"""Format of :mod:`ert.records.journal`, named here so that a journal in the place of a result is recognised."""

DAMAGED = "The file is damaged or was edited: take it from a backup, or measure again with `python -m ert.sweep`."

LARGEST_FILE = 512 * 2**20
"""Bytes of a file that is read. The sweep of a machine with 512 CPUs, each sample with the seconds and clock of every
thread, takes some 100 MB; what is larger is something else, and would fill the memory."""

SIGNS: dict[tuple[type, str], Sign] = {
    (Sample, "passes"): "positive",
    (Sample, "seconds"): "positive",
    (Team, "cores"): "positive",
    # What the system's counters showed, kept as it was: one that steps back is a finding, not damage.
    (Sample, "thread_seconds"): "any",
    (Sample, "clocks_hz"): "any",
    (Sample, "steal_seconds"): "any",
    (Sample, "context_switches"): "any",
    # Free pairs of name and value: their numbers may mean anything.
    (Case, "parameters"): "any",
    (Results, "settings"): "any",
}
"""Numbers for which another rule than "not negative" holds; see :class:`ert.records.codec.Codec`."""


def to_document(results: Results) -> dict[str, Any]:
    """Return the JSON object that stores a sweep.

    Teams are listed once and cases name them by index; the samples of a measurement are columns; fields that equal
    their default are left out.

    Raises
    ------
    MismatchError
        If a number is not finite, absurdly large or senseless: a fault of the measuring code.
    """
    teams: list[Team] = []
    body = results_codec(teams).encode(results)
    measurements = body.pop("measurements")
    team_list = [plain_codec().encode(team) for team in teams]
    return {"format": FORMAT, "schema": SCHEMA, **body, "teams": team_list, "measurements": measurements}


def from_document(document: Any, source: str) -> Results:
    """Return the sweep that a JSON object stores.

    Parameters
    ----------
    document : object
        As :func:`to_document` returns it, or read from a file.
    source : str
        Name of the file, for messages.

    Raises
    ------
    InputError
        If it is not a result, of a newer schema, or damaged; the message names the key and what was found there.
    """
    check_envelope(document, FORMAT, SCHEMA, source)
    with complaints(source):
        listed = document.get("teams", [])
        if not isinstance(listed, list):
            raise MismatchError("expected a list").inside("teams")
        teams: list[Team] = []
        for index, entry in enumerate(listed):
            try:
                teams.append(decode_team(entry))
            except MismatchError as error:
                raise error.inside(index).inside("teams") from None
        return results_codec(teams).decode(Results, document)


def save(results: Results, path: Path) -> None:
    """Write a sweep to a new file: the whole file appears at once, or none does.

    Raises
    ------
    InputError
        If there is another file of that name already (see :func:`ert.records.places.free_path`).
    OSError
        If the folder cannot be written.
    """
    content = to_text(to_document(results)).encode("ascii")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _publish(temporary, path, content)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path) -> Results:
    """Read a sweep.

    Raises
    ------
    InputError
        If the file cannot be read, is not a result, of a newer schema, truncated or damaged.
    """
    text, source = read_text(path), str(path)
    # A journal is many JSON values; its header says what it is and what to do with it.
    return from_document(parse(text.partition("\n")[0] if is_journal(text) else text, source), source)


# --------------------------------------------------------------------------------- shared with the journal


@functools.cache
def plain_codec() -> Codec:
    """Return the codec that writes every part of a result in full."""
    return Codec(signs=SIGNS)


def results_codec(teams: list[Team]) -> Codec:
    """Return the codec of results and their parts.

    Parameters
    ----------
    teams : list of Team
        The teams that cases name by index. Encoding appends those that are new.
    """

    def number(team: Team) -> int:
        if team not in teams:
            teams.append(team)
        return teams.index(team)

    def team(index: Any) -> Team:
        if type(index) is not int or not 0 <= index < len(teams):
            raise MismatchError(f"expected the index of one of {len(teams)} teams, found {index!r:.40}")
        return teams[index]

    return Codec({Team: Coder(number, team), tuple[Sample, ...]: plain_codec().columns(Sample)}, SIGNS)


def decode_team(data: Any) -> Team:
    """Return the team that a JSON object stands for; MismatchError if it has no CPU."""
    team = plain_codec().decode(Team, data)
    if not team.cpus:
        raise MismatchError("expected at least one CPU, found none").inside("cpus")
    return team


def check_envelope(document: Any, format_name: str, schema: int, source: str) -> None:
    """Raise InputError unless the document says that it is of this format and of a schema that can be read."""
    if not isinstance(document, dict) or "format" not in document:
        raise InputError(f"{source}: not a result of this tool (no key 'format'). Name a file that a sweep wrote.")
    found = document["format"]
    if found == JOURNAL_FORMAT != format_name and document.get("roofs_started"):
        raise InputError(
            f"{source}: the journal of a run of kernels that did not end. "
            f"Go on with `python -m ert.kernels --against {source}`, and use the result of that: it keeps what the "
            "journal holds."
        )
    if found == JOURNAL_FORMAT != format_name:
        raise InputError(
            f"{source}: the journal of a sweep that did not end. "
            f"Continue it with `python -m ert.sweep --resume {source}`, and use the result of that."
        )
    if found != format_name:
        raise InputError(
            f"{source}: not a result of this tool (format is {found!r:.60}, expected {format_name!r}). "
            "Name a file that a sweep wrote."
        )
    version = document.get("schema")
    if type(version) is not int or not 1 <= version < INTEGER_END:
        raise InputError(f"{source}: schema: expected a whole number from 1, found {version!r:.40}. {DAMAGED}")
    if version > schema:
        raise InputError(
            f"{source}: written by a newer version of this tool (schema {version}; this one reads up to {schema}). "
            "Install a newer ert-roofline to read it."
        )


@contextlib.contextmanager
def complaints(source: str) -> Iterator[None]:
    """Turn a MismatchError of the block into an InputError that names the file and says what to do."""
    try:
        yield
    except MismatchError as error:
        raise InputError(f"{source}: {error}. {DAMAGED}") from None


def read_text(path: Path) -> str:
    """Return the text of a regular file of at most :data:`LARGEST_FILE` bytes; InputError says why it is not read."""
    try:
        kind = path.stat()
        if stat.S_ISDIR(kind.st_mode):
            raise InputError(f"{path}: a folder, not a result. Name one of the .json files in it.")
        if not stat.S_ISREG(kind.st_mode):
            # Devices and pipes may never end, and opening a pipe may wait for ever.
            raise InputError(f"{path}: a device or a pipe, not a file. Name a result that a sweep wrote.")
        if kind.st_size > LARGEST_FILE:
            raise InputError(
                f"{path}: not a result of this tool (larger than {LARGEST_FILE // 2**20} MiB). "
                "Name a .json file that a sweep wrote."
            )
        with open(path, "rb") as file:
            # No more than was announced: some files of the system say 0 bytes and hold more than any memory.
            content = file.read(kind.st_size)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file. Name a result that a sweep wrote.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}). Check its permissions.") from None
    if not content.strip():
        raise InputError(f"{path}: the file is empty. {DAMAGED}")
    try:
        # Editors of some systems put a byte order mark in front.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a result of this tool (not JSON but binary). Name a .json file.") from None


def is_journal(text: str) -> bool:
    """Whether a text begins with the header line of a journal."""
    try:
        header = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("format") == JOURNAL_FORMAT


def parse(text: str, source: str) -> Any:
    """Return the JSON value of a text; InputError says where it ends or goes wrong."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and not text.rstrip().endswith("}"):
            raise InputError(f"{source}: cut off at line {text.count(chr(10)) + 1}. {DAMAGED}") from None
        raise InputError(
            f"{source}: not JSON ({error.msg} at line {error.lineno}, column {error.colno}). "
            "Name a .json file that a sweep wrote."
        ) from None
    except (RecursionError, ValueError) as error:
        # Nesting without end, or a number of thousands of digits.
        raise InputError(f"{source}: not a result of this tool ({error}). Name a file that a sweep wrote.") from None


def to_line(value: Any) -> str:
    """Return JSON without a line break; a number that is not finite raises ValueError."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def to_text(document: dict[str, Any]) -> str:
    """Return JSON with one line a key, and one line an entry of the lists of objects, so that versions compare."""
    parts = []
    for key, value in document.items():
        listed = isinstance(value, list) and value and isinstance(value[0], dict)
        text = f"[\n{_lines(value)}\n]" if listed else to_line(value)
        parts.append(f"{to_line(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(values: Sequence[Any]) -> str:
    return ",\n".join(to_line(value) for value in values)


def _publish(temporary: Path, path: Path, content: bytes) -> None:
    """Give a finished file its name, unless a different file has it."""
    try:
        # A link refuses a name that exists, whoever made it and when; a replacement would not.
        os.link(temporary, path)
    except FileExistsError:
        if path.is_file() and path.read_bytes() == content:
            return
        raise InputError(f"{path}: there is another file of this name already, which is kept.") from None
    except OSError:
        # File systems without links (FAT, some network drives).
        if path.exists():
            raise InputError(f"{path}: there is another file of this name already, which is kept.") from None
        os.replace(temporary, path)
