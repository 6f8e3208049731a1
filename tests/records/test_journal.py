"""What is in the journal of an interrupted sweep comes back, up to the very last line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ert.errors import InputError
from ert.records.journal import Journal, begin, recover, resume
from ert.records.store import load, save
from ert.roofline.model import Case, Code, Measurement, Results, Sample, Seconds, Team, Work

ONE, BOTH = Team("one", (0,), 1), Team("all", (0, 1), 2)
FIRST = Measurement(Case("compute", ONE, "fp64", "fma"), Work(flop=640), Code("verified"))
SECOND = Measurement(Case("memory", BOTH, mix="load", working_set=4096), Work(read_bytes=8192), Code("verified"))
THIRD = Measurement(Case("compute", BOTH, "fp32", "fma"), Work(flop=640), Code("mismatch", "a spill"), revision=2)


def sample(number: int) -> Sample:
    """Return a sample that says which it is."""
    return Sample(number, 10 + number, 0.004, (0.0039,), (3.6e9,), at=float(number), context_switches=number)


def write(path: Path, header: Results) -> None:
    """Write a journal of two rounds that ends in the middle of the second."""
    with Journal(path, header) as journal:
        for measurement in (FIRST, SECOND, THIRD):
            journal.measurement(measurement)
        journal.sample(FIRST.case, sample(0))
        journal.sample(SECOND.case, sample(1))
        journal.note("The clock fell by half.")
        journal.error(THIRD.case, "wrong result")
        journal.sample(FIRST.case, sample(2))


@pytest.fixture
def header(results: Results) -> Results:
    """What is known when a sweep starts."""
    return replace(results, measurements=(), seconds=Seconds())


def test_everything_written_is_recovered(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    assert recover(tmp_path / "j") == replace(
        header,
        measurements=(
            replace(FIRST, samples=(sample(0), sample(2))),
            replace(SECOND, samples=(sample(1),)),
            replace(THIRD, error="wrong result"),
        ),
        notes=("A note.", "The clock fell by half."),
        seconds=Seconds(total=2.004, measuring=0.004 + 0.004 + 0.004),
        complete=False,
    )


def test_each_line_is_on_disk_before_the_next(tmp_path: Path, header: Results) -> None:
    with Journal(tmp_path / "j", header) as journal:
        journal.measurement(FIRST)
        for count in range(1, 4):
            journal.sample(FIRST.case, sample(count))
            assert len(recover(tmp_path / "j").measurements[0].samples) == count


def test_a_journal_cut_anywhere_gives_what_came_before_the_cut(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "whole", header)
    content = (tmp_path / "whole").read_bytes()
    whole = recover(tmp_path / "whole")
    first_line = content.index(b"\n")
    taken = -1
    # Every cut in the last lines, and some of the many before.
    for end in (*range(first_line + 1, len(content) - 300, 29), *range(len(content) - 300, len(content))):
        (tmp_path / "cut").write_bytes(content[:end])
        found = recover(tmp_path / "cut")
        before = content[:end].count(b'{"sample"') - (b'{"sample"' in content[:end].rpartition(b"\n")[2])
        count = sum(len(measurement.samples) for measurement in found.measurements)
        assert count in (before, before + 1)
        assert count >= taken
        taken = count
        assert not found.complete
        if content[end - 1 : end] not in b"\n}":
            assert "cut off" in found.notes[-1]
    assert taken == sum(len(measurement.samples) for measurement in whole.measurements)


def test_a_tail_of_zeros_as_a_power_failure_leaves_it_is_passed_over(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    whole = recover(tmp_path / "j")
    with open(tmp_path / "j", "ab") as file:
        file.write(bytes(100))
    assert recover(tmp_path / "j") == whole


def test_a_case_is_described_once(tmp_path: Path, header: Results) -> None:
    with Journal(tmp_path / "j", header) as journal:
        journal.measurement(FIRST)
        journal.measurement(replace(FIRST, samples=(sample(0),)))
        with pytest.raises(ValueError, match="described twice, and differently"):
            journal.measurement(replace(FIRST, work=Work(flop=1)))
    assert recover(tmp_path / "j").measurements == (FIRST,)


def test_a_case_that_was_not_described_is_refused(tmp_path: Path, header: Results) -> None:
    with Journal(tmp_path / "j", header) as journal:
        with pytest.raises(ValueError, match="not described"):
            journal.sample(FIRST.case, sample(0))
        with pytest.raises(ValueError, match="not described"):
            journal.error(FIRST.case, "wrong")
    assert recover(tmp_path / "j").measurements == ()


def test_the_journal_of_a_resumed_sweep_holds_the_earlier_samples(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    earlier = recover(tmp_path / "j")
    with Journal(tmp_path / "k", earlier) as journal:
        journal.sample(SECOND.case, sample(3))
    again = recover(tmp_path / "k")
    assert again.measurements[1].samples == (sample(1), sample(3))
    assert again.measurements[::2] == earlier.measurements[::2]
    assert again.notes == earlier.notes


def test_a_journal_is_never_written_over(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    content = (tmp_path / "j").read_bytes()
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "j", header)
    assert (tmp_path / "j").read_bytes() == content


def test_sweeps_of_the_same_second_get_names_of_their_own(tmp_path: Path, header: Results) -> None:
    found = [begin(tmp_path, "epyc-2c", header) for _ in range(3)]
    for _, journal in found:
        journal.close()
    assert [paths.json.name for paths, _ in found] == [
        "20261129T224500Z.json", "20261129T224500Z-2.json", "20261129T224500Z-3.json",
    ]  # fmt: skip
    assert all(recover(paths.journal).started == header.started for paths, _ in found)


def test_a_file_in_the_place_of_the_folder_ends_begin(tmp_path: Path, header: Results) -> None:
    (tmp_path / "epyc-2c").touch()
    with pytest.raises(FileExistsError):
        begin(tmp_path, "epyc-2c", header)


def test_resume_takes_a_journal_or_a_result(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    partial = recover(tmp_path / "j")
    save(partial, tmp_path / "partial.json")
    assert resume(tmp_path / "j") == partial
    assert resume(tmp_path / "partial.json") == partial == load(tmp_path / "partial.json")


def test_a_journal_in_the_place_of_a_result_is_recognised(tmp_path: Path, header: Results) -> None:
    Journal(tmp_path / "j", header).close()
    with pytest.raises(InputError, match="--resume"):
        load(tmp_path / "j")
    write(tmp_path / "k", header)
    with pytest.raises(InputError, match="--resume"):
        load(tmp_path / "k")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 3: not JSON"),
        ("[]", "line 3: expected an object"),
        ('{"sample": 0, "of": {"round": 0, "passes": 1}}', "line 3: seconds: expected a value, found none"),
        ('{"sample": 0, "of": {"round": 0, "passes": 1, "seconds": -1}}', "line 3: seconds: expected a number above 0"),
        ('{"sample": 0}', "line 3: expected an object, found null"),
        ('{"sample": 7, "of": {}}', "line 3: expected the number of a measurement described above, found 7"),
        ('{"error": 0}', "line 3: expected text, found null"),
        ('{"team": {"name": "a", "cpus": [], "cores": 1}}', "line 3: cpus: expected at least one CPU"),
        ('{"measurement": {"case": {"probe": "a", "team": 5}}}', "line 3: case.team: expected the index of one of 1"),
    ],
)
def test_damage_elsewhere_is_named_with_its_line(tmp_path: Path, header: Results, line: str, words: str) -> None:
    write(tmp_path / "j", header)
    lines = (tmp_path / "j").read_text().splitlines()
    assert "team" in json.loads(lines[1])
    assert "measurement" in json.loads(lines[2])
    if '"sample": 0' in line or '"error": 0' in line:
        lines[0:0], words = lines[:1], words.replace("line 3", "line 4")
        del lines[0]
        lines.insert(3, line)
    else:
        lines.insert(2, line)
    (tmp_path / "j").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        recover(tmp_path / "j")
    assert str(caught.value).startswith(f"{tmp_path / 'j'}: ")
    assert words in str(caught.value)


def test_notes_and_errors_are_cleaned(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    with open(tmp_path / "j", "a") as file:
        file.write('{"note": "\\u001b[2J\\ud800"}\n{"error": 0, "text": "two\\nlines"}\n')
    found = recover(tmp_path / "j")
    assert found.notes[-1] == "?[2J?"
    assert found.measurements[0].error == "two lines"


def test_lines_of_an_unknown_kind_are_passed_over(tmp_path: Path, header: Results) -> None:
    write(tmp_path / "j", header)
    whole = recover(tmp_path / "j")
    with open(tmp_path / "j", "a") as file:
        file.write('{"temperature": 70}\n')
    assert recover(tmp_path / "j") == whole


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "the file is empty"),
        ("\0\0\0", "the file is empty"),
        ('{"format": "ert-roofline jou', "not JSON"),
        ('{"format": "ert-roofline results", "schema": 1}', "not a result of this tool"),
        ('{"format": "ert-roofline journal", "schema": 2}', "written by a newer version"),
        ('{"format": "ert-roofline journal", "schema": 1}', "line 1: started: expected a value, found none"),
    ],
)
def test_what_is_no_journal(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "j").write_text(content)
    with pytest.raises(InputError) as caught:
        recover(tmp_path / "j")
    assert words in str(caught.value)


def test_resume_refuses_what_is_neither(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("hello")
    with pytest.raises(InputError, match="not JSON"):
        resume(tmp_path / "j")
