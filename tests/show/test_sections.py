"""Tables and sections as text and as Markdown."""

from __future__ import annotations

from ert.show.grid import Grid
from ert.show.sections import Section, as_markdown, as_text

GRID = Grid(("roof", "A", "B/A"), (("fp64", "1.0 G", "0.5"), ("a long name | of a roof", "12.5 G", "-")))


def test_text_is_aligned() -> None:
    assert GRID.text(80) == [
        "  roof                          A  B/A",
        "  fp64                      1.0 G  0.5",
        "  a long name | of a roof  12.5 G    -",
    ]


def test_a_name_that_is_too_long_stands_on_its_own_line() -> None:
    lines = GRID.text(25)
    assert lines[2] == "  a long name | of a roof"
    assert lines[3].split() == ["12.5", "G", "-"]
    assert len({len(line) for line in (lines[0], lines[1], lines[3])}) == 1
    assert max(map(len, lines)) <= 25


def test_markdown_escapes_bars() -> None:
    assert GRID.markdown() == [
        "| roof | A | B/A |",
        "| --- | ---: | ---: |",
        "| fp64 | 1.0 G | 0.5 |",
        r"| a long name \| of a roof | 12.5 G | - |",
    ]


def test_without_rows_there_is_no_table() -> None:
    assert Grid(("a",), ()).text(80) == Grid(("a",), ()).markdown() == []


def test_sections() -> None:
    parts = [
        Section("Title", ("A sentence that is wrapped.",), ("an item", "another item that is wrapped"), (GRID, GRID)),
        Section("", ("Alone.",)),
    ]
    text = as_text(parts, 20)
    lines = text.splitlines()
    assert lines[:4] == ["Title", "=====", "A sentence that is", "wrapped."]
    assert lines[4:8] == ["- an item", "- another item that", "  is wrapped", "  roof        A  B/A"]
    assert text.endswith("\n\nAlone.")
    assert "\n\n\n" not in text
    assert as_markdown(parts).startswith("## Title\n\nA sentence that is wrapped.\n\n- an item\n- another item")
