"""Sections of text and tables, written for a terminal or as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ert.show.grid import Grid

KEEP = "\u00a0"
"""A blank at which no line of an item ends, as between a number and its unit."""


@dataclass(frozen=True, slots=True)
class Section:
    """A title (may be empty), sentences, and tables below them. Entries of `items` are a list."""

    title: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()


def as_text(sections: Sequence[Section], width: int) -> str:
    """Return the sections as text of so many columns; a table that needs more is wider."""
    blocks = []
    for section in sections:
        lines = textwrap.wrap(section.title, width, break_on_hyphens=False) if section.title else []
        lines += ["=" * max(map(len, lines))] if lines else []
        for paragraph in section.paragraphs:
            lines += textwrap.wrap(paragraph, width, break_on_hyphens=False)
        for item in section.items:
            wrapped = textwrap.wrap(item, width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
            lines += [line.replace(KEEP, " ") for line in wrapped]
        tables = ["\n".join(grid.text(width)) for grid in section.grids if grid.rows]
        blocks.append("\n".join([*lines, "\n\n".join(tables)] if tables else lines))
    return "\n\n".join(block for block in blocks if block)


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the sections as Markdown."""
    blocks = []
    for section in sections:
        blocks += [f"## {section.title}"] if section.title else []
        blocks += section.paragraphs
        blocks += ["\n".join(f"- {item}" for item in section.items)] if section.items else []
        blocks += ["\n".join(grid.markdown()) for grid in section.grids if grid.rows]
    return "\n\n".join(blocks)
