"""Shares: splits a whole number of passes among threads of different speed."""

from __future__ import annotations

import math
from collections.abc import Sequence


def split(total: int, speeds: Sequence[float]) -> list[int]:
    """Split `total` into whole parts as nearly in proportion to `speeds` as can be, each at least 1.

    Parameters
    ----------
    total : int
        At least as many as there are speeds.
    speeds : sequence of float
        Above 0, in any unit.

    Returns
    -------
    list of int
        Their sum is `total`.

    Raises
    ------
    ValueError
        If there are more parts than can be given 1 each, or a speed is not above 0.

    Notes
    -----
    Each part is rounded down and what is left goes to the largest remainders (Hamilton's method).
    """
    if total < len(speeds) or not speeds:
        raise ValueError(f"{total} cannot be split among {len(speeds)} that get at least 1 each")
    if not all(math.isfinite(speed) and speed > 0 for speed in speeds):
        raise ValueError(f"speeds must be above 0: {list(speeds)}")
    spare = total - len(speeds)
    whole = math.fsum(speeds)
    exact = [max(0.0, total * speed / whole - 1) for speed in speeds]
    # Who is to get less than 1 gets it at the cost of the others.
    scale = spare / math.fsum(exact) if spare else 0.0
    parts = [math.floor(part * scale) for part in exact]
    for index in sorted(range(len(parts)), key=lambda i: parts[i] - exact[i] * scale)[: max(0, spare - sum(parts))]:
        parts[index] += 1
    parts[0] += spare - sum(parts)
    return [1 + part for part in parts]
