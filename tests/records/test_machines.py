"""Every machine sheet that ships with the tool, how sheets are found, and what is said of bad ones."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import machines as shipped
from ert.errors import InputError
from ert.records import machines
from ert.roofline.sheets.check_sheet import check_sheet
from ert.roofline.sheets.sheet import AcceleratorSheet, CoreSheet, CpuSheet

FOLDER = Path(shipped.__file__).parent
FILES = sorted(FOLDER.rglob("*.toml"))
DOCS = Path(__file__).parents[2] / "docs" / "machine-sheets.md"

CPU = """
kind = "cpu"
title = "Test 1"

[[cores]]
count = 4
sheet = "zen4"
base_ghz = 2
boost_ghz = 3
source = ["a page"]

[package]
cores = 4
threads = 8
source = ["a page"]

[caches]
L3 = { size_mib = 16, total_mib = 32 }
source = ["a page"]

[memory]
channels = 2
megatransfers_per_s = 3200
source = ["a page"]

[[published.bandwidths]]
gb_per_s = 51.2
source = ["a page"]

[[measured]]
system = "a board"
metric = "fma"
precision = "fp64"
gflop_per_s = 100
description = "by hand"
source = ["a page"]
"""
CORE = """
kind = "core"
title = "Core"

[recognition]
vendor = "AuthenticAMD"
family = 0x19
models = [0x11, "0x80-0x8f"]
source = ["a page"]

[arithmetic]
fma_latency_cycles = 4
flop_per_cycle = { fp64 = 16 }
source = ["a page"]
"""
ACCELERATOR = """
kind = "accelerator"
title = "A"

[[published.peaks]]
tflop_per_s = { fp64 = 9.7 }
source = ["a page"]
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_keeps_to_the_schema(path: Path) -> None:
    machines.check(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_published_figure_is_the_computed_one_or_the_sheet_says_why(path: Path) -> None:
    read = machines.check(path)
    if not isinstance(read, tuple):
        assert [check for check in check_sheet(read) if check.failed] == []


def test_the_folder_ships_as_package_data_and_nothing_is_missed() -> None:
    shipped = resources.files("machines")
    assert {path.name for path in shipped.joinpath("cpus").iterdir()} == {p.name for p in (FOLDER / "cpus").iterdir()}
    assert len(machines.names()) == len(FILES) - 2
    assert len({path.stem for path in FILES}) == len(FILES)
    assert machines.measurements()
    assert machines.events()


def test_no_name_or_alias_means_two_machines() -> None:
    found = [name.lower() for s in machines.everything() for name in (s.name, *s.aliases)]
    assert sorted(set(found)) == sorted(found)
    titles = [sheet.title for sheet in machines.everything()]
    assert len(set(titles)) == len(titles)


def test_the_facts_of_some_machines_known_from_other_documents() -> None:
    # Vendors' pages and the worked examples of the model's literature.
    def bound(name: str, precision: str) -> float:
        sheet = machines.find(name)
        assert isinstance(sheet, AcceleratorSheet)
        return (sheet.peak(precision) or 0.0) / (sheet.bandwidth() or 1.0)

    ridges = {
        "v100": 139,
        "nvidia-a100-sxm-80gb": 153,
        "nvidia-a100-sxm-40gb": 201,
        "h100": 295,
        "h200": 206,
        "b200": 281,
    }
    for name, ridge in ridges.items():
        assert bound(name, "fp16") == pytest.approx(ridge, abs=0.5)
    assert bound("nvidia-a100-sxm-80gb", "fp32") == pytest.approx(9.6, abs=0.05)
    rome = machines.find("amd-epyc-7742")
    assert isinstance(rome, CpuSheet)
    assert rome.peak("fp64") == pytest.approx(2304e9)
    assert rome.bandwidth() == pytest.approx(204.8e9)
    hybrid = machines.find("intel-core-i9-13900k")
    assert isinstance(hybrid, CpuSheet)
    assert hybrid.peak("fp64", "boost") == pytest.approx(1241.6e9)


@pytest.mark.parametrize("name", ["nvidia-h100-sxm", "NVIDIA-H100-SXM", "h100", "NVIDIA H100 SXM5", "nvidia h100"])
def test_a_sheet_is_found_by_name_alias_title_and_parts_of_it(name: str) -> None:
    assert machines.find(name).name == "nvidia-h100-sxm"


def test_a_sheet_is_found_by_path(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CPU)
    sheet = machines.find(str(tmp_path / "mine.toml"))
    assert isinstance(sheet, CpuSheet)
    assert (sheet.name, sheet.title, sheet.cores) == ("mine", "Test 1", 4)
    assert sheet.peak("fp64") == 4 * 16 * 2e9
    assert sheet.bandwidth() == 51.2e9
    assert sheet.sources == ("a page",)
    (tmp_path / "core.toml").write_text(CORE)
    core = machines.find(str(tmp_path / "core.toml"))
    assert isinstance(core, CoreSheet)
    assert core.recognition.models == (0x11, *range(0x80, 0x90))


def test_a_core_of_ones_own_is_a_file_beside_the_sheet(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CPU.replace('"zen4"', '"my-core.toml"'))
    with pytest.raises(InputError, match=r"cores\[0\]\.sheet: .*my-core\.toml: there is no such file"):
        machines.find(str(tmp_path / "mine.toml"))
    (tmp_path / "my-core.toml").write_text(CORE)
    sheet = machines.find(str(tmp_path / "mine.toml"))
    assert isinstance(sheet, CpuSheet)
    assert sheet.peak("fp64") == 4 * 16 * 2e9
    (tmp_path / "my-core.toml").write_text(CPU.replace('"zen4"', '"mine.toml"'))
    with pytest.raises(InputError, match=r"my-core\.toml is no sheet of a core"):
        machines.find(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "f" * 5000])
def test_numbers_of_thousands_of_digits_are_errors(tmp_path: Path, digits: str) -> None:
    (tmp_path / "x.toml").write_text(CPU.replace("base_ghz = 2", f"base_ghz = {digits}"))
    with pytest.raises(InputError, match="a number of thousands of digits"):
        machines.find(str(tmp_path / "x.toml"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nvidia-h100-sxn", "did you mean nvidia-h100-sxm?"),
        ("zzz", "--list shows the names"),
        ("", "no machine sheet is called ''"),
        ("EPYC", "could be zen5, amd-epyc-7742, amd-epyc-7763"),
        ("/nowhere/mine.toml", "/nowhere/mine.toml: there is no such file"),
    ],
)
def test_what_is_not_found_is_said_in_a_sentence(name: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        machines.find(name)


@pytest.mark.parametrize(
    ("document", "old", "new", "words"),
    [
        (CPU, "base_ghz = 2", "base_gzh = 2", "cores[0].base_gzh: unknown key; did you mean base_ghz?"),
        (CPU, 'title = "Test 1"', 'titel = "Test 1"', "title: missing; it must be a text"),
        (CPU, "threads = 8", "colour = 8", "package.colour: unknown key; the keys are cores, threads, "),
        (CPU, 'boost_ghz = 3\nsource = ["a page"]', "boost_ghz = 3", "cores[0].source: missing; it must be a list"),
        (CPU, 'boost_ghz = 3\nsource = ["a page"]', "boost_ghz = 3\nsource = []", "cores[0].source: the list is empty"),
        (CPU, 'boost_ghz = 3\nsource = ["a page"]', 'boost_ghz = 3\nsource = "p"', "cores[0].source: expected a list"),
        (CPU, "base_ghz = 2", "base_ghz = -2", "cores[0].base_ghz: expected a number above 0, found -2"),
        (CPU, "base_ghz = 2", "base_ghz = nan", "cores[0].base_ghz: expected a number above 0, found nan"),
        (CPU, "base_ghz = 2", 'base_ghz = "fast"', "cores[0].base_ghz: expected a number above 0, found 'fast'"),
        (CPU, "base_ghz = 2", "base_ghz = true", "cores[0].base_ghz: expected a number above 0, found True"),
        (CPU, "base_ghz = 2", "base_ghz = 4", "cores[0].base_ghz: 4 GHz is above boost_ghz (3 GHz)"),
        (CPU, "count = 4", "count = 4.5", "cores[0].count: expected a whole number above 0, found 4.5"),
        (CPU, "count = 4\n", "", "cores[0].count: missing"),
        (CPU, "count = 4", "count = 5", "package.cores: 4, but the counts of [[cores]] add up to 5"),
        (CPU, "threads = 8", "threads = 3", "package.threads: 3 threads on 4 cores"),
        (CPU, 'sheet = "zen4"', 'sheet = "zen44"', "no core's sheet is called 'zen44'; did you mean zen4?"),
        (CPU, 'sheet = "zen4"', 'sheet = "nvidia-b200"', "cores[0].sheet: no core's sheet is called 'nvidia-b200'"),
        (CPU, "total_mib = 32", "total_mib = 40", "caches.L3: the total of 41943040 bytes is no whole number"),
        (CPU, "size_mib = 16", "size_mib = 16, size_kib = 1", "caches.L3.size_mib: size_kib and size_mib both"),
        (CPU, "channels = 2", "channels = 2\nbus_bits = 128", "memory.bus_bits: channels and bus_bits both state"),
        (CPU, "gb_per_s = 51.2", "sockets = 1", "published.bandwidths[0].gb_per_s: missing"),
        (CPU, "[[published.bandwidths]]", "[[published.bandwiths]]", "published.bandwiths: unknown key; did you mean"),
        (CPU, "[[published.bandwidths]]", "[published.bandwidths]", "written as [[published.bandwidths]]"),
        (CPU, 'metric = "fma"', 'metric = "fna"', "did you mean fma?"),
        (CPU, 'precision = "fp64"\n', "", "measured[0].precision: missing"),
        (CPU, "gflop_per_s = 100", "gflop_per_s = 100\nup_to = 50", "measured[0].up_to: the range ends below"),
        (CPU, "gflop_per_s = 100", "gflop_per_s = 100\ngb_per_s = 5", "measured[0]: it needs one value"),
        (CPU, 'kind = "cpu"', 'kind = "gpu"', "kind: expected one of 'core', 'cpu', "),
        (CPU, "[[cores]]", "[[kerne]]", "cores: missing; a CPU has at least one kind of core"),
        (CORE, "0x11, ", '"0x11-", ', "recognition.models: expected a list of whole numbers and ranges"),
        (CORE, "models = [0x11", "models = 0x11 # [", "recognition.models: expected a list"),
        (CORE, 'vendor = "AuthenticAMD"\n', "", "recognition.vendor: missing"),
        (CORE, 'models = [0x11, "0x80-0x8f"]\n', "", "recognition: it needs models (x86), parts (Arm) or names"),
        (CORE, "fp64 = 16", "fp64 = 0", "arithmetic.flop_per_cycle.fp64: expected a number above 0, found 0"),
        (CORE, "{ fp64 = 16 }", "16", "arithmetic.flop_per_cycle: expected a table, found 16"),
        (CORE, "flop_per_cycle =", "derived = ['chains']\nflop_per_cycle =", "'chains' is no key of this group"),
        (CORE, "flop_per_cycle =", "accumulate_latency_cycles = 5\nflop_per_cycle =", "5 cycles are more than"),
        (ACCELERATOR, "tflop_per_s = { fp64 = 9.7 }", "sockets = 1", "published.peaks[0].tflop_per_s: missing"),
        (ACCELERATOR, "[[published.peaks]]", "[[peaks]]", "peaks: unknown key"),
        (CPU, "channels = 2", "channels = ", "this is not TOML: Invalid value"),
    ],
)  # fmt: skip
def test_a_bad_sheet_is_an_error_that_names_file_and_key(
    tmp_path: Path, document: str, old: str, new: str, words: str
) -> None:
    path = tmp_path / "bad.toml"
    assert old in document
    path.write_text(document)
    machines.check(path)
    path.write_text(document.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        machines.check(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_text_or_no_file_are_errors(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.toml: this is not TOML: it is no UTF-8 text"):
        machines.check(tmp_path / "binary.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match=r"folder\.toml: cannot be read"):
        machines.check(tmp_path / "folder.toml")


def test_the_example_of_the_documentation_is_a_valid_sheet(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    example = text[text.index("## Adding a machine") :]
    lines = example[example.index('    kind = "cpu"') : example.index("\n`python -m")].splitlines()
    (tmp_path / "example-24c.toml").write_text("\n".join(line.removeprefix("    ") for line in lines))
    sheet = machines.find(str(tmp_path / "example-24c.toml"))
    assert isinstance(sheet, CpuSheet)
    assert sheet.peak("fp64") == pytest.approx(1.1136e12)
    assert "1.11 TFLOP/s" in example


def test_every_key_in_use_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    # Names of precisions and of events are free.
    free = re.compile(r"flop_per_cycle|op_per_cycle|_flop_per_cycle|tflop_per_s|names")

    def keys(value: Any, inside: str = "") -> set[str]:
        if isinstance(value, dict):
            own = set() if free.search(inside) else set(value)
            return own.union(*(keys(part, name) for name, part in value.items()))
        return set().union(*(keys(part, inside) for part in value)) if isinstance(value, list) else set()

    found: set[str] = set()
    for path in FILES:
        found |= keys(tomllib.loads(path.read_text(encoding="utf-8")))
    assert {"base_ghz", "L1", "megatransfers_per_s", "derived"} <= found
    assert [key for key in sorted(found) if not re.search(rf"\b{key}\b", text)] == []
