"""The journal of a sweep: each sample is on disk as soon as it is taken, so that no interruption loses it.

JSON lines. The first is the header: format, schema, and what of a result is known at the start. Each further line
holds one thing: ``{"team": {...}}`` and ``{"measurement": {...}}`` are numbered from 0 in their order, and
``{"sample": 3, "of": {...}}`` and ``{"error": 3, "text": "..."}`` belong to measurement 3; ``{"note": "..."}``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ert.errors import InputError
from ert.records.codec import Codec, MismatchError, plain_text
from ert.records.places import Paths, result_paths
from ert.records.store import (
    DAMAGED,
    JOURNAL_FORMAT,
    check_envelope,
    complaints,
    decode_team,
    from_document,
    is_journal,
    parse,
    plain_codec,
    read_text,
    results_codec,
    to_line,
)
from ert.roofline.model import Case, Measurement, Results, Sample, Seconds, Team

SCHEMA = 1
"""See :data:`ert.records.store.SCHEMA`."""


class Journal:
    """An open journal; close it, or use it as a context.

    Parameters
    ----------
    path : Path
        Must not exist; its folder is created.
    header : Results
        Started, host, toolchain, settings, absent and notes of the sweep. Measurements in it (those of a resumed
        sweep) are written too, so that this journal alone holds all that is known.

    Raises
    ------
    FileExistsError
        If the file exists.
    OSError
        If it cannot be written; so do the methods, for instance when the disk is full.
    """

    def __init__(self, path: Path, header: Results) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "x", encoding="ascii", newline="\n")  # noqa: SIM115 - open as long as the journal is
        self._teams: list[Team] = []
        self._codec = results_codec(self._teams)
        self._known: dict[Case, tuple[int, Measurement]] = {}
        start = self._codec.encode(replace(header, measurements=(), seconds=Seconds(), complete=True))
        del start["measurements"]
        self._write({"format": JOURNAL_FORMAT, "schema": SCHEMA, **start})
        for measurement in header.measurements:
            self.measurement(measurement)

    def measurement(self, measurement: Measurement) -> None:
        """Describe a case, once, before its first sample; samples that the measurement has already are written too.

        Raises
        ------
        ValueError
            If the case was described differently before.
        """
        description = replace(measurement, samples=())
        if measurement.case in self._known:
            if self._known[measurement.case][1] != description:
                raise ValueError(f"described twice, and differently: {measurement.case}")
            return
        known = len(self._teams)
        line = {"measurement": self._codec.encode(description)}
        for team in self._teams[known:]:
            self._write({"team": plain_codec().encode(team)})
        self._write(line)
        self._known[measurement.case] = len(self._known), description
        for sample in measurement.samples:
            self.sample(measurement.case, sample)

    def sample(self, case: Case, sample: Sample) -> None:
        """Append a sample of a described case."""
        self._write({"sample": self._number(case), "of": self._codec.encode(sample)})

    def error(self, case: Case, text: str) -> None:
        """Append why the numbers of a described case mean nothing."""
        self._write({"error": self._number(case), "text": text})

    def note(self, text: str) -> None:
        """Append a note of the sweep."""
        self._write({"note": text})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _number(self, case: Case) -> int:
        if case not in self._known:
            raise ValueError(f"not described in the journal: {case}")
        return self._known[case][0]

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(to_line(entry) + "\n")
        self._file.flush()


def begin(out: Path, machine: str, header: Results) -> tuple[Paths, Journal]:
    """Take free names for a sweep and open its journal, which keeps them taken.

    Two sweeps that start in the same second get different names, whichever process they run in. Parameters as those of
    :func:`ert.records.places.result_paths` and :class:`Journal`.
    """
    while True:
        paths = result_paths(out, machine, header.started)
        try:
            return paths, Journal(paths.journal, header)
        except FileExistsError:
            if not paths.journal.exists():
                # Not the other sweep's journal is in the way, but a file where the folder should be.
                raise


def recover(path: Path) -> Results:
    """Return the partial result that a journal holds, even if its last line is torn.

    ``complete`` is False. ``seconds`` is what the samples tell: the end of the last one, and their sum.

    Raises
    ------
    InputError
        If the file cannot be read, is no journal, of a newer schema, or damaged elsewhere than in its last line.
    """
    return _recover(read_text(path), str(path))


def resume(path: Path) -> Results:
    """Read what an interrupted sweep left: a partial result or a journal.

    Raises
    ------
    InputError
        As :func:`recover` and :func:`ert.records.store.load`.
    """
    text, source = read_text(path), str(path)
    if is_journal(text):
        return _recover(text, source)
    return from_document(parse(text, source), source)


class _Reader:
    """Collects the entries of a journal."""

    def __init__(self) -> None:
        self.teams: list[Team] = []
        self.measurements: list[Measurement] = []
        self.samples: list[list[Sample]] = []
        self.notes: list[str] = []
        self._codec: Codec = results_codec(self.teams)

    def add(self, entry: Any) -> None:
        """Take one line; lines of a kind that is not known are passed over."""
        if not isinstance(entry, dict):
            raise MismatchError("expected an object")
        if "team" in entry:
            self.teams.append(decode_team(entry["team"]))
        elif "measurement" in entry:
            self.measurements.append(self._codec.decode(Measurement, entry["measurement"]))
            self.samples.append([])
        elif "sample" in entry:
            self.samples[self._number(entry["sample"])].append(self._codec.decode(Sample, entry.get("of")))
        elif "error" in entry:
            number = self._number(entry["error"])
            self.measurements[number] = replace(self.measurements[number], error=plain_text(entry.get("text")))
        elif "note" in entry:
            self.notes.append(plain_text(entry["note"]))

    def results(self, header: Results) -> Results:
        """Return all that was collected."""
        taken = [sample for samples in self.samples for sample in samples]
        return replace(
            header,
            measurements=tuple(
                replace(measurement, samples=tuple(samples))
                for measurement, samples in zip(self.measurements, self.samples, strict=True)
            ),
            notes=(*header.notes, *self.notes),
            seconds=Seconds(
                total=max((sample.at + sample.seconds for sample in taken), default=0.0),
                measuring=sum(sample.seconds for sample in taken),
            ),
            complete=False,
        )

    def _number(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < len(self.measurements):
            raise MismatchError(f"expected the number of a measurement described above, found {value!r:.40}")
        return value


def _recover(text: str, source: str) -> Results:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip("\0 \t\r")]
    entries = []
    torn = False
    for number, line in lines:
        try:
            entries.append((number, json.loads(line)))
        except (ValueError, RecursionError):
            torn = number == lines[-1][0] and number > lines[0][0]
            if not torn:
                raise InputError(f"{source}: line {number}: not JSON. {DAMAGED}") from None
    if not entries:
        raise InputError(f"{source}: the file is empty. {DAMAGED}")
    first, header = entries[0]
    check_envelope(header, JOURNAL_FORMAT, SCHEMA, source)
    with complaints(f"{source}: line {first}"):
        start = plain_codec().decode(Results, {**header, "measurements": []})
    reader = _Reader()
    for number, entry in entries[1:]:
        with complaints(f"{source}: line {number}"):
            reader.add(entry)
    if torn:
        reader.notes.append("The last line of the journal was cut off; what it held is lost.")
    return reader.results(start)
