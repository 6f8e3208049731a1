"""Which code ran each kernel: verified, told by what it contains, or that of a library."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ert.roofline.model import Code
from ert.roofline.placing.placement import Placement

SAYS = {
    "verified": "verified instruction by instruction",
    "compiled": "compiled, not compared with a model",
    "library": "of a library",
    "mismatch": "NOT what was expected",
    "unseen": "not seen, so not verified",
}
"""What each status of code means, in the order in which they are told."""


def code_lines(placements: Sequence[Placement], width: int) -> list[str]:
    """Return which kernels ran which kind of code; of a library also which one, of each team that it differs for.

    Parameters
    ----------
    placements : sequence of Placement
        Of one result.
    width : int
        Characters a line.
    """
    lines: list[str] = []
    for status, words in SAYS.items():
        names = dict.fromkeys(p.kernel.name for p in placements if p.code.status == status)
        if names:
            lines += _wrapped(f"Code {words}: {', '.join(names)}.", width)
        if status == "library":
            lines += _libraries([p for p in placements if p.code.status == status], width)
    return lines


def _libraries(placements: Sequence[Placement], width: int) -> list[str]:
    """Return one line a library as it describes itself, with the kernels that it ran."""
    users: dict[str, dict[str, None]] = {}
    for placement in placements:
        users.setdefault(_described(placement.code), {}).setdefault(placement.kernel.name)
    lines = []
    for text, names in users.items():
        lines += _wrapped(f"  {', '.join(names)}: {text}", width, "    ")
    return lines


def _described(code: Code) -> str:
    return code.reason or "does not say which"


def _wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
