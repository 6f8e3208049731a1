"""Figures as files. All charts are drawn with matplotlib, which is imported when one is drawn."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ert.errors import InputError
from ert.roofline.comparing.machine import largest_team
from ert.roofline.fitting.clocks import clock_hz
from ert.roofline.model import (
    Results,
    Roofline,
    Team,
)
from ert.roofline.placing.place import place
from ert.show import units
from ert.show.charts.curves import latency_figure, levels_figure, scaling_figure
from ert.show.charts.efficiency import efficiency_figure
from ert.show.charts.kernel_chart import kernel_figure
from ert.show.charts.nodes import numa_figure
from ert.show.charts.pen import FEWEST_SCALED, drawing_style
from ert.show.charts.roofs import roofline_figure
from ert.show.words import minute

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "described",
    "efficiency_figure",
    "kernel_figure",
    "latency_figure",
    "levels_figure",
    "numa_figure",
    "roofline_figure",
    "save",
    "scaling_figure",
    "write",
]

PNG_DPI = 160
"""Sharp on a slide and in print, at half a megabyte."""

DRAWN: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Formats, and the metadata that would make two drawings of one result differ."""


def write(
    results: Results,
    roofline: Roofline,
    stem: Path,
    *,
    team: str | None = None,
    precisions: Sequence[str] | None = None,
    largest: Team | None = None,
) -> list[Path]:
    """Draw the figures of one result as ``<stem>.<kind>.{png,svg}``.

    The kinds are ``roofline``, ``levels``, ``latency``, ``scaling`` (with more than two numbers of threads) and
    ``numa`` (with the memory of more than one node); with application kernels also ``kernels`` and ``efficiency`` of
    the largest team that ran any, and ``kernels-one`` and so on of each other team by its name.

    Parameters
    ----------
    results, roofline
        A sweep and what was fitted to it.
    stem : Path
        Folder and beginning of the names.
    team, precisions
        As for :func:`roofline_figure`; kernels of other teams and precisions are left out too.
    largest : Team, optional
        The team whose kernels have no team in the names of their figures (default: the largest that is drawn).

    Returns
    -------
    list of Path
        The files written. What a partial result has no data for is left out.

    Raises
    ------
    InputError
        If there is nothing to draw at all, no such team or no such precision.
    OSError
        If a file cannot be written.
    """
    note = described(results, roofline)
    figures: dict[str, Figure] = {}
    if roofline.compute or roofline.memory or team or precisions:
        pairs = [(results.host.name, roofline)]
        figures["roofline"] = roofline_figure(pairs, team=team, precisions=precisions, footnote=note)
    if any(curve.points for curve in roofline.curves):
        figures["levels"] = levels_figure(roofline, results.host, note)
    if any(curve.points for curve in roofline.latency_curves):
        figures["latency"] = latency_figure(roofline, results.host, note)
    if any(len(scaling.points) > FEWEST_SCALED for scaling in roofline.scaling):
        figures["scaling"] = scaling_figure(roofline, results.host, note)
    if len({entry.memory_node for entry in roofline.numa if entry.verified}) > 1:
        figures["numa"] = numa_figure(roofline, results.host, note)
    figures.update(_kernels(results, roofline, team, precisions, largest, note))
    if not figures:
        raise InputError("nothing to draw: the result holds no roof, no bandwidth curve and no kernel")
    paths = []
    for kind, figure in figures.items():
        both = [stem.with_name(f"{stem.name}.{kind}{suffix}") for suffix in (".png", ".svg")]
        save(figure, *both)
        paths += both
    return paths


def _kernels(
    results: Results,
    roofline: Roofline,
    team: str | None,
    precisions: Sequence[str] | None,
    largest: Team | None,
    note: str,
) -> dict[str, Figure]:
    """Draw the application kernels, if there are any."""
    placed = [
        placement
        for placement in place(results, roofline)
        if (team is None or placement.case.team.name == team)
        and (precisions is None or placement.case.precision in precisions)
    ]
    teams = list(dict.fromkeys(placement.case.team for placement in placed))
    figures: dict[str, Figure] = {}
    chief = largest or (largest_team(teams) if teams else None)
    for each in sorted(teams, key=lambda each: each != chief):
        suffix = "" if each == chief else f"-{each.name}"
        figures[f"kernels{suffix}"] = kernel_figure(placed, roofline, each, results.host.name, note)
        if any(placement.headroom is not None for placement in placed if placement.case.team == each):
            figures[f"efficiency{suffix}"] = efficiency_figure(placed, each, results.host.name, note)
    return figures


def described(results: Results, roofline: Roofline) -> str:
    """Return the footnote of one result: when it was measured and at which clock."""
    clocks = [clock for team in roofline.usual_teams if (clock := clock_hz(roofline, team))]
    text = f"Measured {minute(results.started)} UTC" if results.started else "Measured"
    if results.roofs_started:
        text = f"Roofs measured {minute(results.roofs_started)} UTC, kernels {minute(results.started)} UTC"
    texts = dict.fromkeys(units.hertz(clock) for clock in clocks)
    text += f" at {' and '.join(texts)}." if texts else "."
    return text if results.complete else f"{text} Partial: the sweep was interrupted."


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure; each suffix says a format: ``.png``, ``.svg`` or ``.pdf``.

    Two drawings of one result are the same to the byte with one version of matplotlib. A file appears whole or not at
    all: an older one of its name stays as it is until then.

    Raises
    ------
    InputError
        If the suffix is another one.
    OSError
        If a file cannot be written; its `filename` is the path that was asked for.
    """
    for path in paths:
        suffix = path.suffix.lower()
        if suffix not in DRAWN:
            raise InputError(f"{path}: cannot draw {suffix or 'a file without a suffix'}; use {', '.join(DRAWN)}")
        buffer = BytesIO()
        with drawing_style():
            figure.savefig(buffer, format=suffix[1:], dpi=PNG_DPI, metadata=DRAWN[suffix])
        _replace(path, buffer.getvalue())


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file under another name in the same folder, then give it the name."""
    # A link to a file stays one.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                # Some file systems say only now that there is no room.
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # Of a full disk the error names no file, and else the temporary one, which means nothing to anybody.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
