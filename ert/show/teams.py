"""The part of the summary that sets teams side by side: kinds of core, SMT siblings, NUMA nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from ert.roofline.model import SMT, USUAL_TEAMS, Host, NodeBandwidth, Roofline, Team
from ert.show import units
from ert.show.words import levels, operation, plural

FIRST, CELL = 14, 13
"""Widths: the name of a roof, and a rate over the name of its team."""

NODE = 9
"""Width of a column for one node's memory."""

GIGA = 1e9


def sections(roofline: Roofline, host: Host, width: int) -> list[str]:
    """Return the lines on extra teams and on NUMA nodes; none where there are no such."""
    parts = []
    teams = roofline.teams
    if any(not team.usual for team in teams) and len(teams) > 1:
        title = "Teams side by side"
        parts.append([title, "=" * len(title), *_side_by_side(roofline, host, teams, width)])
    if roofline.numa:
        title = "Bandwidth between NUMA nodes"
        parts.append([title, "=" * len(title), *_nodes(roofline.numa, width)])
    lines: list[str] = []
    for part in parts:
        lines += ["", *part]
    return lines


# -------------------------------------------------------------------------------------------- side by side


def _side_by_side(roofline: Roofline, host: Host, teams: Sequence[Team], width: int) -> list[str]:
    """Return the headline roofs: one a row, a column for each team, in as many blocks as the width needs."""
    rates = _headlines(roofline)
    names = [
        *dict.fromkeys(roof.precision for roof in roofline.compute if roof.headline),
        *levels(roof.level for roof in roofline.memory if roof.headline),
    ]
    unit = {roof.precision: operation(roof.precision) for roof in roofline.compute}
    room = max(1, (width - FIRST) // CELL)
    lines: list[str] = []
    for start in range(0, len(teams), room):
        block = teams[start : start + room]
        lines += [""] if start else []
        lines += [_row("  roof", [plural(team.threads, "thread") for team in block]), _row("", _whose(block, host))]
        for name in names:
            found = [rates.get((team, name)) for team in block]
            cells = [units.rate(rate, unit.get(name, "B")) if rate else "-" for rate in found]
            lines.append(_row(f"  {name}", cells))
    return lines + _gain_of_siblings(rates, names, teams, width)


def _headlines(roofline: Roofline) -> dict[tuple[Team, str], float]:
    rates = {(roof.team, roof.precision): roof.rate.best for roof in roofline.compute if roof.headline}
    return rates | {(roof.team, roof.level): roof.rate.best for roof in roofline.memory if roof.headline}


def _whose(teams: Iterable[Team], host: Host) -> list[str]:
    """Say which kind of core a team runs on, where there are kinds, or that it takes siblings too."""
    kind = {cpu.id: cpu.kind for cpu in host.cpus}
    texts = []
    for team in teams:
        found = list(dict.fromkeys(kind.get(cpu, "") for cpu in team.cpus))
        text = " + ".join(filter(None, found)) if len(host.kinds) > 1 else "one a core"
        if not team.usual and team.name.split()[0] not in USUAL_TEAMS:
            text = team.name
        texts.append(text if len(text) < CELL else textwrap.shorten(text, CELL - 1, placeholder="…"))
    return texts


def _gain_of_siblings(
    rates: Mapping[tuple[Team, str], float], names: Sequence[str], teams: Sequence[Team], width: int
) -> list[str]:
    """Say what a thread on every logical CPU brings against one a core."""
    both = next((team for team in teams if team.name == SMT), None)
    if both is None:
        return []
    single = next((team for team in teams if team.usual and team.threads == team.cores == both.cores), None)
    if single is None:
        return []
    gains = [
        f"{name} {rates[both, name] / rates[single, name]:.2f}"
        for name in names
        if (both, name) in rates and (single, name) in rates
    ]
    text = f"With SMT siblings, times the rate of one thread a core: {', '.join(gains)}."
    return ["", *textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")] if gains else []


def _row(title: str, cells: Sequence[str], width: int = CELL) -> str:
    return f"{title:<{FIRST}}" + "".join(f"{cell:>{width}}" for cell in cells)


# ------------------------------------------------------------------------------------------------ NUMA nodes


def _nodes(found: Sequence[NodeBandwidth], width: int) -> list[str]:
    """Return the matrix in GB/s: the cores of a node down, the memory of a node across."""
    rates = {(entry.cpu_node, entry.memory_node): entry for entry in found}
    rows, columns = sorted({near for near, _ in rates}), sorted({far for _, far in rates})
    room = max(1, (width - FIRST) // NODE)
    lines = ["  GB/s of loads: cores of a node down, memory of a node across"]
    for start in range(0, len(columns), room):
        block = columns[start : start + room]
        lines += ["", _row("  cores", [f"memory {node}" for node in block], NODE)]
        for near in rows:
            entries = [rates.get((near, far)) for far in block]
            cells = [units.number(entry.rate.best / GIGA) if entry and entry.verified else "-" for entry in entries]
            lines.append(_row(f"  node {near}", cells, NODE))
    return lines + _farthest(found, width)


def _farthest(found: Sequence[NodeBandwidth], width: int) -> list[str]:
    """Say how much less the memory of another node gives at worst."""
    own = {entry.cpu_node: entry.rate.best for entry in found if entry.local and entry.verified}
    shares = [
        (entry.rate.best / own[entry.cpu_node], entry)
        for entry in found
        if entry.verified and not entry.local and entry.cpu_node in own
    ]
    if not shares:
        return []
    share, entry = min(shares, key=lambda pair: pair[0])
    text = (
        f"At worst, the cores of node {entry.cpu_node} get {100 * share:.0f} % of the bandwidth of their own memory "
        f"from that of node {entry.memory_node}."
    )
    return ["", *textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")]
