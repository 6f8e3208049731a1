"""Workloads from TOML, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ert.errors import InputError
from ert.records.workloads import calculation, load_workload
from ert.roofline.comparing.predict import Part

PART = 'name = "a"\nflop = 2e9\nbytes = 1e9\nprecision = "fp64"\n'
DOCS = Path(__file__).parents[2] / "docs"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_part_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = load_workload(written(tmp_path, f"[[part]]\n{PART}"))
    assert found.name == "mine"
    assert found.parts == (Part("a", 2e9, 1e9, "fp64"),)
    assert (found.parts[0].weight, found.parts[0].place, found.parts[0].unit) == (1.0, "DRAM", "")


def test_everything_can_be_said(tmp_path: Path) -> None:
    text = f'name = "both"\n[[part]]\n{PART}weight = 0.25\nlevel = "L2"\nunit = "vector"\n'
    found = load_workload(written(tmp_path, text))
    assert (found.name, found.parts) == ("both", (Part("a", 2e9, 1e9, "fp64", 0.25, "L2", "vector"),))


def test_counts_of_any_size_are_read(tmp_path: Path) -> None:
    (part,) = load_workload(written(tmp_path, "[[part]]\n" + PART.replace("2e9", "3.1e23"))).parts
    assert part.flop == 3.1e23


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"a workload needs parts: write \[\[part\]\]"),
        ("part = 3", r"part: expected a list of tables"),
        ("[[part]\n", "this is not TOML"),
        (f"[[part]]\n{PART}[[part]]\n{PART}", r"part\[1\].name: there is another part called 'a'"),
        (f"[[part]]\n{PART}wieght = 2", r"part\[0\].wieght: unknown key; did you mean weight"),
        (f"parts = []\n[[part]]\n{PART}", "parts: unknown key; did you mean part"),
        (
            "[[part]]\n" + PART.replace("2e9", "0"),
            r"part\[0\].flop: .*found 0; without both FLOP and bytes there is no",
        ),
        ("[[part]]\n" + PART.replace("1e9", "0.0"), r"part\[0\].bytes: .*found 0.0; without both FLOP and bytes"),
        ("[[part]]\n" + PART.replace("1e9", "-1"), r"part\[0\].bytes: expected a number above 0, found -1"),
        ("[[part]]\n" + PART.replace("1e9", '"1 GB"'), r"part\[0\].bytes: expected a number above 0, found '1 GB'"),
        ("[[part]]\n" + PART.replace("1e9", "inf"), r"part\[0\].bytes: expected a number above 0, found inf"),
        ("[[part]]\n" + PART.replace("1e9", "1e30"), r"part\[0\].bytes: expected a number below 1e\+30, found 1e\+30"),
        ("[[part]]\n" + PART.replace("2e9", "1e-300"), r"part\[0\].flop: expected a number above 1e-30, found 1e-300"),
        ("[[part]]\n" + PART.replace("1e9", "nan"), r"part\[0\].bytes: expected a number above 0, found nan"),
        ("[[part]]\n" + PART.replace("1e9", "true"), r"part\[0\].bytes: expected a number above 0, found True"),
        ("[[part]]\n" + PART.replace("bytes = 1e9\n", ""), r"part\[0\].bytes: missing"),
        ("[[part]]\n" + PART.replace("flop = 2e9\n", ""), r"part\[0\].flop: missing"),
        ("[[part]]\n" + PART.replace('precision = "fp64"', ""), r"part\[0\].precision: missing"),
        ("[[part]]\n" + PART.replace('"fp64"', "64"), r"part\[0\].precision: expected a text, found 64"),
        (f"[[part]]\n{PART}weight = 0", r"part\[0\].weight: expected a number above 0"),
        (f'[[part]]\n{PART}unit = "tensor"', r"part\[0\].unit: expected one of 'vector', 'matrix', found 'tensor'"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        load_workload(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: there is no such file"):
        load_workload(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Part("a", 0.0, 1.0, "fp64"), "--flop: expected a number above 0, found 0; without both FLOP and bytes"),
        (Part("a", 1e30, 1.0, "fp64"), r"--flop: expected a number below 1e\+30, found 1e\+30$"),
        (Part("a", 1.0, 1e-30, "fp64"), r"--bytes: expected a number above 1e-30, found 1e-30$"),
        (Part("a", 1.0, 0.0, "fp64"), "--bytes: expected a number above 0, found 0; without both FLOP and bytes"),
    ],
)
def test_a_calculation_needs_flop_and_bytes(part: Part, words: str) -> None:
    with pytest.raises(InputError, match=words):
        calculation("c", part)


@pytest.mark.parametrize("path", sorted((DOCS / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_the_examples_are_workloads(path: Path) -> None:
    assert load_workload(path).parts


def test_the_example_in_the_document_is_a_workload(tmp_path: Path) -> None:
    text = (DOCS / "workload.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    assert len(load_workload(written(tmp_path, example)).parts) == 2
