"""Results come back from a file exactly as they were, and whatever is wrong with a file is said in a sentence."""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.errors import InputError
from ert.records import store
from ert.records.codec import Codec, MismatchError, plain_text
from ert.records.store import from_document, load, save, to_document, to_text
from ert.roofline.model import (
    Cache,
    Case,
    Code,
    Condition,
    Cpu,
    Host,
    Measurement,
    Node,
    Results,
    Sample,
    Seconds,
    Team,
    Toolchain,
    Work,
)

ARCHIVED = Path(__file__).parents[1] / "data" / "results-v1.json"

# ------------------------------------------------------------------------------------------- random results

COUNT = st.integers(0, 2**62)
ANY_TEXT = st.text(max_size=8)
TEXT = ANY_TEXT.map(plain_text)
NUMBER = st.floats(0, 1e18)
READING = st.floats(-1e18, 1e18)
INTEGER = st.integers(-(2**63) + 1, 2**63 - 1)
FREE = INTEGER | READING | TEXT
WILD = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT


def many(strategy: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=most).map(tuple)


def pairs(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return many(st.tuples(TEXT, strategy))


TEAMS = st.builds(
    Team,
    name=TEXT,
    cpus=st.lists(COUNT, min_size=1, max_size=3).map(tuple),
    cores=st.integers(1, 9),
    memory_node=st.none() | COUNT,
)
SAMPLES = st.builds(
    Sample,
    round=COUNT,
    passes=st.integers(1, 2**40),
    seconds=st.floats(1e-12, 1e18),
    thread_seconds=many(READING),
    clocks_hz=many(READING),
    at=NUMBER,
    steal_seconds=st.none() | READING,
    away_seconds=st.none() | NUMBER,
    context_switches=st.none() | INTEGER,
)
CASES = st.builds(
    Case,
    probe=TEXT,
    team=TEAMS,
    precision=TEXT,
    multiply_adds=COUNT,
    working_set=COUNT,
    parameters=pairs(INTEGER | TEXT),
)
CODES = st.builds(
    Code,
    status=st.sampled_from(["verified", "mismatch", "unseen", "library"]),
    reason=TEXT,
    found=pairs(COUNT),
    expected=pairs(COUNT),
)
WORKS = st.builds(Work, flop=COUNT, compulsory_bytes=st.none() | COUNT, level_bytes=pairs(COUNT), events=COUNT)
HOSTS = st.builds(
    Host,
    system=TEXT,
    machine=TEXT,
    identity=pairs(COUNT),
    cpus=many(st.builds(Cpu, id=COUNT, core=COUNT, kind=TEXT, usable=st.booleans())),
    caches=many(st.builds(Cache, level=TEXT, size=COUNT, cpus=many(COUNT), line=st.none() | COUNT)),
    nodes=many(st.builds(Node, id=COUNT, cpus=many(COUNT), memory=COUNT)),
    memory_limit=st.none() | COUNT,
    cpu_quota=st.none() | NUMBER,
    notes=many(TEXT),
)
RESULTS = st.builds(
    Results,
    started=TEXT,
    host=HOSTS,
    toolchain=st.builds(Toolchain, versions=pairs(TEXT), target=TEXT, features=many(TEXT), vector_bits=many(COUNT)),
    measurements=many(
        st.builds(Measurement, case=CASES, work=WORKS, code=CODES, samples=many(SAMPLES), error=TEXT, revision=COUNT)
    ),
    settings=pairs(FREE),
    notes=many(TEXT),
    absent=pairs(TEXT),
    seconds=st.builds(Seconds, total=NUMBER, compiling=NUMBER, measuring=NUMBER),
    complete=st.booleans(),
    conditions=many(
        st.builds(
            Condition,
            at=TEXT,
            seconds=NUMBER,
            load=st.none() | NUMBER,
            alone=st.none() | st.booleans(),
            budget=COUNT,
            clock_source=TEXT,
            clock_step=st.none() | NUMBER,
        )
    ),
)


@settings(max_examples=30)
@given(RESULTS)
def test_any_results_come_back_through_text_exactly(results: Results) -> None:
    again = from_document(json.loads(to_text(to_document(results))), "here")
    assert again == results
    # Equality takes 1 for 1.0 and True; the representation does not, but for the sign of zero.
    assert repr(again).replace("-0.0", "0.0") == repr(results).replace("-0.0", "0.0")


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | WILD, lambda inner: many(inner).map(list) | st.dictionaries(ANY_TEXT, inner)
    ),
    st.data(),
)
def test_any_value_at_any_key_is_taken_or_refused_in_a_sentence(value: Any, data: st.DataObject) -> None:
    document = json.loads(ARCHIVED.read_text())
    document["measurements"] = document["measurements"][:1]
    place, depth = document, data.draw(st.integers(1, 4))
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        depth -= 1
        if depth == 0 or not isinstance(place[key], (dict, list)) or not place[key]:
            break
        place = place[key]
    place[key] = value
    try:
        from_document(document, "x.json")
    except InputError as error:
        complaint = str(error)
    else:
        complaint = "x.json: fine."
    assert complaint.startswith("x.json: ")
    assert complaint.endswith((".", "`"))
    assert len(complaint.encode().splitlines()) == 1
    assert not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in complaint)


# ------------------------------------------------------------------------------------------ the stored form


def test_the_archived_result_of_schema_1_is_read() -> None:
    results = load(ARCHIVED)
    assert results.started == "2026-11-29T22:45:00Z"
    assert results.complete
    assert dict(results.settings) == {"precisions": "fp64,fp32", "seed": 0, "max_memory_bytes": 2147483648}
    assert results.host.identity == (("family", 25), ("model", 17), ("stepping", 1))
    assert results.host.caches[-1] == Cache("L3", 33554432, (0, 1), 64)
    assert results.host.memory_limit is None
    assert dict(results.toolchain.versions)["numba"] == "0.66.0"
    assert len(results.measurements) == 65
    first = results.measurements[0]
    assert first.case == Case("compute", Team("one", (0,), 1), "fp64", "fma", "", 512, 10)
    assert first.work == Work(flop=640)
    assert first.sound
    assert [sample.round for sample in first.samples] == [0, 0, 1, 1, 2, 2]
    assert first.samples[1] == Sample(0, 365834, 0.00400334, (0.004002859,), (3661101323.0,), 0.509605, 0.0, 0)
    assert [m.code.status for m in results.measurements].count("mismatch") == 1
    assert results.measurements[-1].error == "the system clock stepped back again and again"
    assert results.measurements[-1].samples == ()
    assert results.absent[0][0] == "bf16"
    assert results.seconds == Seconds(3.21, 1.312, 2.889)
    assert results.conditions == (), "from before they were recorded"


def test_the_archived_result_is_written_again_as_it_is() -> None:
    assert to_text(to_document(load(ARCHIVED))) == ARCHIVED.read_text()


def test_defaults_are_left_out_teams_listed_once_and_samples_are_columns(results: Results) -> None:
    team = Team("all", (0, 1), 2)
    samples = tuple(Sample(i, 7, 0.5, at=float(i)) for i in range(3))
    measured = [Measurement(Case("memory", team, working_set=k), Work(), Code("verified"), samples) for k in (1, 2)]
    document = to_document(replace(results, measurements=tuple(measured)))
    assert document["teams"] == [{"name": "all", "cpus": [0, 1], "cores": 2}]
    assert document["measurements"][0] == {
        "case": {"probe": "memory", "team": 0, "working_set": 1},
        "work": {},
        "code": {"status": "verified"},
        "samples": {"round": [0, 1, 2], "passes": [7, 7, 7], "seconds": [0.5, 0.5, 0.5], "at": [0.0, 1.0, 2.0]},
    }


def test_500_measurements_of_10_samples_take_less_than_2_mb(results: Results) -> None:
    rng = np.random.default_rng(1)
    team = Team("all", (0, 1), 2)

    def sample(number: int) -> Sample:
        seconds, first, second, clock, at = (float(value) for value in rng.random(5))
        return Sample(number, 10**6, seconds, (first, second), (3e9 + clock, 3e9), round(60 * at, 6), 0.01, 3)

    code = Code("verified", "", (("fma", 80), ("load", 10)), (("fma", 80), ("load", 10)))
    measured = (
        Measurement(
            Case("intensity", team, "fp64", "fma", "load", 512, 10, 8, size, "DRAM"),
            Work(flop=10**9, read_bytes=10**9, compulsory_bytes=10**9),
            code,
            tuple(sample(i) for i in range(10)),
        )
        for size in range(500)
    )
    assert len(to_text(to_document(replace(results, measurements=tuple(measured))))) < 2e6


def test_a_name_that_repeats_keeps_both_its_values(results: Results) -> None:
    twice = replace(results, absent=(("bf16", "one thing"), ("bf16", "another")))
    assert from_document(to_document(twice), "here") == twice


def test_numbers_of_numpy_are_stored_as_plain_ones(results: Results) -> None:
    case = Case("memory", Team("one", (0,), 1), working_set=np.int64(4096))  # type: ignore[arg-type]
    measured = Measurement(case, Work(), Code("verified"), (Sample(0, 1, np.float64(0.25)),))
    again = from_document(json.loads(to_text(to_document(replace(results, measurements=(measured,))))), "here")
    assert type(again.measurements[0].case.working_set) is int
    assert again.measurements[0].samples[0].seconds == 0.25


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 0.0, -1.0, 1e300, 1e-300])
def test_a_senseless_time_is_not_stored(results: Results, seconds: float) -> None:
    broken = replace(results.measurements[0], samples=(Sample(0, 1, seconds),))
    with pytest.raises(MismatchError, match=r"^measurements\[0\]\.samples\.seconds\[0\]: expected"):
        to_document(replace(results, measurements=(broken,)))


@pytest.mark.parametrize("passes", [2**63, 10**400])
def test_a_whole_number_of_more_than_64_bits_is_not_stored(results: Results, passes: int) -> None:
    broken = replace(results.measurements[0], samples=(Sample(0, passes, 1.0),))
    with pytest.raises(MismatchError, match=r"samples\.passes\[0\]: expected a whole number of less than 64 bits"):
        to_document(replace(results, measurements=(broken,)))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("AMD \x1b[31mEPYC\x1b[0m", "AMD ?[31mEPYC?[0m"),
        ("two\nlines\tand\u2028more", "two lines and more"),
        ("bell \x07, delete \x7f, \x9b31m", "bell ?, delete ?, ?31m"),
        ("half a pair \ud800", "half a pair ?"),
        ("turned \u202eXEON", "turned ?XEON"),
        ("Prüfling ™ 中", "Prüfling ™ 中"),
    ],
)
def test_text_that_would_steer_a_terminal_is_cleaned_when_read_and_written(
    results: Results, written: str, shown: str
) -> None:
    host = replace(results.host, cpu_model=written, notes=(written,))
    dirty = replace(results, host=host, settings=((written, written),))
    clean = replace(results, host=replace(host, cpu_model=shown, notes=(shown,)), settings=((shown, shown),))
    stored = to_document(dirty)
    assert stored == to_document(clean)
    stored["host"] |= {"cpu_model": written, "notes": [written]}
    stored["settings"] = {written: written}
    assert from_document(json.loads(to_text(stored)), "here") == clean


def test_a_type_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot store"):
        Codec().coder(dict[str, int])


# ------------------------------------------------------------------------------------- what files may hold


def test_unknown_keys_are_ignored_and_missing_ones_with_a_default_filled_in(results: Results) -> None:
    document = to_document(results)
    document["colour"] = "blue"
    document["host"] = {"system": "Linux", "machine": "riscv64", "rack": 4}
    del document["notes"]
    again = from_document(document, "here")
    assert again.host == Host("Linux", "riscv64")
    assert again.notes == ()


def _at(*keys: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def _without(*keys: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


FIRST = ("measurements", 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("format"), "not a result of this tool (no key 'format')"),
        (_at("format", value="gnuplot"), "not a result of this tool (format is 'gnuplot'"),
        (_at("format", value="ert-roofline journal"), "Continue it with `python -m ert.sweep --resume x.json`"),
        (_at("schema", value=2), "written by a newer version of this tool (schema 2; this one reads up to 1)"),
        (_at("schema", value="1"), "schema: expected a whole number from 1, found '1'"),
        (_without("schema"), "schema: expected a whole number from 1, found None"),
        (_without("host", "system"), "host.system: expected a value, found none"),
        (_without("measurements"), "measurements: expected a value, found none"),
        (_at("host", value=[]), "host: expected an object, found a list of 0"),
        (_at("host", "memory_total", value=-1), "host.memory_total: expected a number that is not negative, found -1"),
        (_at("host", "memory_total", value=1.5), "host.memory_total: expected a whole number, found 1.5"),
        (_at("host", "memory_total", value=True), "host.memory_total: expected a whole number, found true"),
        (_at("host", "memory_limit", value="2 GB"), 'host.memory_limit: expected a whole number, found "2 GB"'),
        (_at("host", "identity", value={"family": "x"}), 'host.identity.family: expected a whole number, found "x"'),
        (_at("host", "identity", value=[["family"]]), "host.identity[0]: expected a list of 2 entries, found a list"),
        (_at("host", "cpus", 1, "usable", value=1), "host.cpus[1].usable: expected true or false, found 1"),
        (_at("host", "kernel", value=None), "host.kernel: expected text, found null"),
        (
            _at("settings", value={"seed": None}),
            "settings.seed: expected a whole number or a number or text, found null",
        ),
        (_at("teams", value=3), "teams: expected a list"),
        (_at("teams", 0, "cpus", value=[]), "teams[0].cpus: expected at least one CPU, found none"),
        (_at("teams", 0, "cores", value=0), "teams[0].cores: expected a number above 0, found 0"),
        (
            _at(*FIRST, "case", "team", value=9),
            "measurements[0].case.team: expected the index of one of 1 teams, found 9",
        ),
        (_at(*FIRST, "case", "team", value=-1), "measurements[0].case.team: expected the index of one of 1 teams"),
        (
            _at(*FIRST, "case", "working_set", value=-64),
            "measurements[0].case.working_set: expected a number that is not",
        ),
        (
            _at(*FIRST, "code", "status", value="fine"),
            "code.status: expected one of verified, mismatch, unseen, compiled, library",
        ),
        (_at(*FIRST, "samples", value=[]), "measurements[0].samples: expected an object of lists, found a list of 0"),
        (_without(*FIRST, "samples", "seconds"), "measurements[0].samples.seconds: expected a value, found none"),
        (_at(*FIRST, "samples", "seconds", value=0.5), "samples.seconds: expected a list, found 0.5"),
        (
            _at(*FIRST, "samples", "seconds", 1, value=float("nan")),
            "samples.seconds[1]: expected a finite number, found NaN",
        ),
        (_at(*FIRST, "samples", "seconds", 1, value=0), "samples.seconds[1]: expected a number above 0, found 0"),
        (
            _at(*FIRST, "samples", "seconds", 1, value=10**400),
            "samples.seconds[1]: expected a finite number, found 1000",
        ),
        (_at(*FIRST, "samples", "passes", 0, value=0), "samples.passes[0]: expected a number above 0, found 0"),
        (
            _at(*FIRST, "samples", "round", value=[0]),
            "samples.passes: expected as many entries as round has (1), found 2",
        ),
        (_at("seconds", value={"total": float("-inf")}), "seconds.total: expected a finite number, found -Infinity"),
        (_at("seconds", value={"total": 1e300}), "seconds.total: expected a number up to 1e+18, found 1e+300"),
        (_at("seconds", value={"total": 10**19}), "seconds.total: expected a number up to 1e+18, found 1"),
        (_at(*FIRST, "samples", "at", value=[0.0, 1.1e18]), "samples.at[1]: expected a number up to 1e+18, found 1.1"),
        (
            _at(*FIRST, "samples", "clocks_hz", value=[[-1e300], []]),
            "samples.clocks_hz[0][0]: expected a number up to 1e+18, found -1e+300",
        ),
        (
            _at(*FIRST, "samples", "seconds", 1, value=5e-324),
            "samples.seconds[1]: expected a number from 1e-12, found 5e-324",
        ),
        (
            _at(*FIRST, "samples", "passes", 0, value=10**310),
            "samples.passes[0]: expected a whole number of less than 64 bits, found 1000",
        ),
        (
            _at(*FIRST, "work", "flop", value=2**63),
            "work.flop: expected a whole number of less than 64 bits, found",
        ),
        (
            _at(*FIRST, "samples", "context_switches", value=[0, -(2**63)]),
            "samples.context_switches[1]: expected a whole number of less than 64 bits, found -922",
        ),
        (_at("settings", value={"seed": 2**70}), "settings.seed: expected a whole number of less than 64 bits or a"),
        (_at("schema", value=10**4000), "schema: expected a whole number from 1, found 1000"),
        (
            _at("host", "identity", value={"\x1b[31mred": "x"}),
            'host.identity.?[31mred: expected a whole number, found "x"',
        ),
        (_at("host", "identity", value={"a" * 5000: "x"}), f"host.identity.{'a' * 40}...: expected a whole number"),
        (_at("host", "memory_limit", value="\x1b[31m"), 'expected a whole number, found "\\u001b[31m"'),
    ],
)
def test_what_is_wrong_is_named_with_its_key(
    results: Results, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    document = json.loads(to_text(to_document(results)))
    change(document)
    with pytest.raises(InputError) as caught:
        from_document(document, "x.json")
    assert str(caught.value).startswith("x.json: ")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    # What was found is followed by what to do.
    assert str(caught.value).endswith((".", "`"))


# ---------------------------------------------------------------------------------------------------- files


def test_what_is_saved_is_loaded_and_nothing_else_is_left(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "Ergebnisse für uns" / "eins.json"
    save(results, path)
    assert load(path) == results
    assert os.listdir(path.parent) == ["eins.json"]


def test_a_result_is_as_readable_as_other_files(results: Results, tmp_path: Path) -> None:
    save(results, tmp_path / "a.json")
    (tmp_path / "other").touch()
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


@pytest.mark.parametrize("links", [True, False])
def test_another_file_is_never_overwritten(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    path = tmp_path / "a.json"
    path.write_text("precious")
    with pytest.raises(InputError, match="another file of this name"):
        save(results, path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_file_system_without_links_will_do(results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    save(results, tmp_path / "a.json")
    assert load(tmp_path / "a.json") == results


def _no_links(source: Path, target: Path) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_saving_the_same_again_is_no_error(results: Results, tmp_path: Path) -> None:
    save(results, tmp_path / "a.json")
    save(results, tmp_path / "a.json")
    assert os.listdir(tmp_path) == ["a.json"]


def test_an_interrupted_write_leaves_nothing(results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(results, tmp_path / "a.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"  \n", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "not JSON but binary"),
        (b"name,value\n", "not JSON (Expecting value at line 1, column 1)"),
        (b"[1, 2]", "not a result of this tool (no key 'format')"),
        (b"{}", "not a result of this tool (no key 'format')"),
        (b'{"format": "ert-roofline results",}', "not JSON"),
        (b"[" * 100_000, "not a result of this tool"),
        (b"9" * 5000, "not a result of this tool"),
    ],
)
def test_files_that_are_not_ours(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_called_cut_off(tmp_path: Path, share: float) -> None:
    content = ARCHIVED.read_bytes()
    path = tmp_path / "a.json"
    path.write_bytes(content[: int(share * len(content))].rstrip(b"}"))
    with pytest.raises(InputError, match=r"cut off at line \d+\. The file is damaged"):
        load(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + ARCHIVED.read_bytes())
    assert load(tmp_path / "a.json") == load(ARCHIVED)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load(tmp_path / "a.json")
    with pytest.raises(InputError, match="a folder, not a result"):
        load(tmp_path)


@pytest.mark.parametrize("kind", ["zero", "pipe", "link"])
def test_what_may_never_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    else:
        path = Path("/dev/zero")
    with pytest.raises(InputError, match="a device or a pipe, not a file"):
        load(path)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with open(path, "wb") as file:
        file.truncate(store.LARGEST_FILE + 1)  # takes no room on the disk
    with pytest.raises(InputError, match=r"larger than 512 MiB"):
        load(path)


def test_no_more_is_read_than_a_file_has_said(tmp_path: Path) -> None:
    # Files of the system say 0 bytes; this one holds more than any memory.
    endless = Path("/proc/self/pagemap")
    if not endless.exists():
        pytest.skip("no such file on this system")
    with pytest.raises(InputError, match="the file is empty"):
        load(endless)


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Permissions do not stop the superuser, who may run the tests.
    def refuse(self: Path, **options: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        load(tmp_path / "a.json")
