"""A grid of cells as aligned text or as a Markdown table: one content, two forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INDENT = "  "

GAP = 2
"""Blanks between two columns of text."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes
    ----------
    header : tuple of str
        One a column; the first columns hold text, the last ones figures.
    rows : tuple of tuple of str
        As many cells as the header.
    texts : int
        How many columns from the left are aligned to the left.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1

    def text(self, width: int) -> list[str]:
        """Return lines with aligned columns, the header first; nothing without rows.

        A first cell that would make its line longer than `width` stands on a line of its own.
        """
        if not self.rows:
            return []
        lines = [self.header, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        room = max(len(self.header[0]), width - len(INDENT) - sum(GAP + other for other in widths[1:]))
        widths[0] = min(widths[0], room)
        found = []
        for line in lines:
            if len(line[0]) > widths[0]:
                found.append(INDENT + line[0])
                line = ("", *line[1:])
            found.append((INDENT + self._line(line, widths)).rstrip())
        return found

    def markdown(self) -> list[str]:
        """Return the lines of a Markdown table; nothing without rows."""
        if not self.rows:
            return []
        rule = ["---" if column < self.texts else "---:" for column in range(len(self.header))]
        return [f"| {' | '.join(map(_escaped, line))} |" for line in (self.header, rule, *self.rows)]

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        parts = [
            cell.ljust(width) if column < self.texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return (" " * GAP).join(parts)


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|")
