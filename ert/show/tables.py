"""Tables: the roofs of a machine, and what the machine is, as plain text that stays readable when it is piped."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ert.roofline.fitting.clocks import clock_hz
from ert.roofline.fitting.fit import PURE
from ert.roofline.fitting.statistics import REPEATS_WITHIN, SLOW_ROUND
from ert.roofline.model import LINUX, ComputeRoof, Cpu, Estimate, Host, MemoryRoof, Results, Roofline, Team, Toolchain
from ert.roofline.placing.place import place
from ert.roofline.quantities import cpu_time
from ert.show import irregular, kernels, teams, units
from ert.show.words import levels, operation, plural, ranges, width_words

VALUE, PER_CYCLE, SPREAD, GRADE, VERIFIED = 10, 10, 7, 6, 9
"""Widths of the columns; a roof's name gets the rest. A value has room for ``"58.6 GFLOP/s"`` over two of them."""

SHORTEST_NAME, LONGEST_NAME = 28, 40
"""Room for ``"* DRAM load2_store1_nt  512"``, and where a wider name would part from its figures."""

ROOM = 2
"""What a compute roof's value leaves to its rate per cycle: ``"0.0123 FLOP"`` is longer than any ``"29.3 B"``."""

FIGURES = VALUE + VALUE + PER_CYCLE + SPREAD + GRADE + VERIFIED

LABEL = 10
"""Width of the first column of :func:`found`."""

CELL = 9
"""Width of one level in the table of ridge points."""

CEILING, PRECISION = 30, 10
"""Widths of the tables that have a column for each precision: five fit 80 characters."""


BESIDE_OTHERS = (
    "Another run of this tool was measuring on this machine when this one began: its numbers may be too low, and so "
    "may those of the other."
)


def summary(results: Results, roofline: Roofline, width: int = 80) -> str:
    """Return the roofs of a sweep, and where its kernels lie under them, as text.

    Parameters
    ----------
    results : Results
        The sweep: names the machine, and says whether it was interrupted and what could not be measured.
    roofline : Roofline
        What was fitted to it.
    width : int
        Characters a line; below 80 the columns keep their width and lines get longer than asked for.

    Returns
    -------
    str
        Lines without trailing blanks or terminal control codes, joined by newlines.
    """
    width = min(max(width, SHORTEST_NAME + FIGURES), LONGEST_NAME + FIGURES)
    lines = _heading(results, width)
    for team in roofline.usual_teams:
        lines += ["", *_team(roofline, team, width)]
    lines += teams.sections(roofline, results.host, width)
    lines += irregular.sections(roofline, width)
    lines += kernels.sections(place(results, roofline), roofline, width)
    lines += ["", *(_legend(roofline, width) if roofline.teams else ["No roof: no measurement gave a number."])]
    lines += _notes(results, roofline, width)
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())


def found(host: Host, toolchain: Toolchain, teams: Sequence[Team], width: int = 80) -> str:
    """Return what the machine is, in about eight labelled lines.

    Parameters
    ----------
    host, toolchain
        As read from the system and from LLVM; what is unknown is left out or said to be unknown.
    teams : sequence of Team
        The threads that will measure; none, if nothing is going to be measured.
    width : int
        Characters a line.
    """
    rows = [
        ("CPU", _cpu(host)),
        ("Cores", _cores(host)),
        ("Caches", _caches(host)),
        ("Memory", _memory(host)),
        ("Vectors", _vectors(toolchain)),
        ("System", _system(host)),
        ("Settings", _settings(host)),
    ]
    if teams:
        rows.append(("Threads", "; ".join(_placed(team) for team in teams)))
    rows += [("Note", note) for note in host.notes]
    lines: list[str] = []
    for label, text in rows:
        indent = " " * LABEL
        lines += textwrap.wrap(text, width, initial_indent=f"{label:<{LABEL}}", subsequent_indent=indent)
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------- summary


def _heading(results: Results, width: int) -> list[str]:
    title = f"Roofline of {results.host.name}"
    when = f"measured {_moment(results.started)}" if results.started else ""
    if results.roofs_started:
        when = f"roofs measured {_moment(results.roofs_started)}, kernels {_moment(results.started)},"
    spent = results.seconds
    if spent.total:
        when += f" in {units.seconds(spent.total)}"
        when += f" (compiling {units.seconds(spent.compiling)})" if spent.compiling else ""
    lines = textwrap.wrap(title, width) + textwrap.wrap(when.rstrip(","), width)
    if not results.complete:
        lines.append("PARTIAL: the sweep was interrupted, roofs may be missing or too low")
    return lines


def _moment(started: str) -> str:
    return f"{started.replace('T', ' ').removesuffix('Z')} UTC"


def _team(roofline: Roofline, team: Team, width: int) -> list[str]:
    name = width - FIGURES
    clock = clock_hz(roofline, team)
    title = team.label + (f" at {units.hertz(clock)}" if clock else "")
    lines = [title, "=" * len(title)]
    compute = [roof for roof in roofline.compute if roof.team == team]
    memory = [roof for roof in roofline.memory if roof.team == team]
    if compute:
        lines.append(_row("  compute roof", name, _compute_value("rate"), _common(*HEADER, room=PER_CYCLE + ROOM)))
        for precision in dict.fromkeys(roof.precision for roof in compute):
            lines += _compute_rows([roof for roof in compute if roof.precision == precision], name)
        lines += _ceilings(compute, width) + _chains(roofline, team, width)
    if memory:
        lines += ["", _row("  memory roof", name, _memory_value("program B", "traffic B"), _common(*HEADER))]
        for level in levels(roof.level for roof in memory):
            lines += _level_rows([roof for roof in memory if roof.level == level], name)
    lines += _capacities(roofline, team)
    lines += _ridges(roofline, team, width)
    return lines


def _row(title: str, name: int, value: str, common: str) -> str:
    """Put a row together; a name that is too long gets a line of its own."""
    if len(title) >= name:  # without a blank it would run into the value
        return f"{title}\n{'':<{name}}{value}{common}"
    return f"{title:<{name}}{value}{common}"


def _common(per_cycle: str, spread: str, grade: str, verified: str, *, room: int = PER_CYCLE) -> str:
    """Return the columns that all roofs share; one that is too wide moves the others, but never touches them."""
    return f" {per_cycle:>{room - 1}} {spread:>{SPREAD - 1}} {grade:>{GRADE - 1}} {verified:>{VERIFIED - 1}}"


HEADER = ("per cycle", "spread", "grade", "verified")


def _compute_value(rate: str) -> str:
    return f"{rate:>{2 * VALUE - ROOM}}"


def _memory_value(program: str, traffic: str) -> str:
    return f"{program:>{VALUE}} {traffic:>{VALUE - 1}}"


def _estimate(rate: Estimate, unit: str, verified: bool, room: int = PER_CYCLE) -> str:
    """Return the columns that all roofs share, `room` characters for the first."""
    per_cycle = f"{units.number(rate.per_cycle)} {unit}" if rate.per_cycle else "-"
    return _common(per_cycle, units.percent(rate.spread), rate.grade, "yes" if verified else "NO", room=room)


def _compute_rows(roofs: Sequence[ComputeRoof], name: int) -> list[str]:
    """Return the rows of one precision: the headline, the best mix above it, and what is not proven."""
    mixes = sorted((roof for roof in roofs if roof.above), key=lambda roof: -roof.rate.best)[:1]
    chosen = [
        *(roof for roof in roofs if roof.headline),
        *mixes,
        *(roof for roof in roofs if not roof.verified),
    ]
    return [
        _row(
            f"{'+' if roof.above else _mark(roof.headline)} {roof.name}",
            name,
            _compute_value(units.rate(roof.rate.best, operation(roof.precision))),
            _estimate(roof.rate, operation(roof.precision), roof.verified, PER_CYCLE + ROOM),
        )
        for roof in chosen
    ]


def _ceilings(roofs: Sequence[ComputeRoof], width: int) -> list[str]:
    """Return what each kind of arithmetic and width reaches, a column for each precision."""
    cells: dict[str, dict[str, str]] = {}
    kinds = list(dict.fromkeys(roof.instructions for roof in roofs if roof.instructions not in PURE))

    def order(roof: ComputeRoof) -> tuple[int, int]:
        # The conventional arithmetic first, the others as they were measured; wide vectors before narrow ones.
        return -1 if roof.instructions in PURE else kinds.index(roof.instructions), -roof.vector_bits

    for roof in sorted(roofs, key=order):
        if roof.verified and not roof.few_chains:
            cells.setdefault(_ceiling_name(roof), {})[roof.precision] = units.short(roof.rate.best)
    precisions = list(dict.fromkeys(roof.precision for roof in roofs))
    if all(len(row) < 2 for row in cells.values()) and len(cells) <= len(precisions):
        return []  # the roofs alone
    return _by_precision("ceiling, FLOP/s or OP/s", cells, precisions, width)


def _chains(roofline: Roofline, team: Team, width: int) -> list[str]:
    """Return the latency of instructions, and what few independent chains reach."""
    found = [latency for latency in roofline.instruction_latencies if latency.team == team and latency.verified]
    if not found:
        return []
    precisions = list(dict.fromkeys(latency.precision for latency in found))
    cycles: dict[str, dict[str, str]] = {}
    for latency in found:
        cycles.setdefault(_kind(latency.instructions), {})[latency.precision] = f"{latency.cycles:.1f}"
    lines = _by_precision("latency, cycles", cycles, precisions, width)
    pure = [latency for latency in found if latency.saturating_chains is not None]
    few: dict[int, dict[str, str]] = {}
    for latency in pure:
        for roof in roofline.compute:
            same = (roof.team, roof.precision, roof.instructions, roof.vector_bits) == (
                latency.team, latency.precision, latency.instructions, latency.vector_bits
            )  # fmt: skip
            if same and roof.verified and roof.accumulators < (latency.saturating_chains or 0):
                few.setdefault(roof.accumulators, {})[roof.precision] = units.short(roof.rate.best)
    if few:
        cells = {plural(number, "chain"): few[number] for number in sorted(few)}
        cells["chains that saturate"] = {latency.precision: str(latency.saturating_chains) for latency in pure}
        bits = sorted({latency.vector_bits for latency in pure})
        lines += _by_precision(f"few chains, {' or '.join(map(str, bits))}-bit", cells, precisions, width)
    return lines


def _by_precision(
    title: str, cells: Mapping[str, Mapping[str, str]], precisions: Sequence[str], width: int
) -> list[str]:
    """Return a table with a column for each precision, in as many blocks as the width needs."""
    room = max(1, (width - CEILING) // PRECISION)
    lines: list[str] = []
    for start in range(0, len(precisions), room):
        block = precisions[start : start + room]
        lines += ["", f"{'  ' + title:<{CEILING}}" + "".join(f"{name:>{PRECISION}}" for name in block)]
        for row, values in cells.items():
            if any(name in values for name in block):
                shown = "".join(f"{values.get(name, '-'):>{PRECISION}}" for name in block)
                lines.append(f"{'  ' + row:<{CEILING}}{shown}")
    return lines


def _kind(instructions: str) -> str:
    """Name a kind of arithmetic in tables where each precision has its own conventional one."""
    return "fma / dot" if instructions in PURE else instructions


def _ceiling_name(roof: ComputeRoof) -> str:
    return f"{_kind(roof.instructions)} {width_words(roof)}"


def _level_rows(roofs: Sequence[MemoryRoof], name: int) -> list[str]:
    """Return the rows of one level: the headline, then the other mixes downwards, each with both counts of bytes."""
    traffic = {_key(roof): roof for roof in roofs if roof.bytes_counted == "traffic"}
    rows = []
    for roof in sorted(roofs, key=lambda roof: (not roof.headline, -roof.rate.best)):
        if roof.bytes_counted == "traffic":
            continue
        other = traffic.get(_key(roof))
        title = f"{_mark(roof.headline)} {roof.name}"
        title = f"{title:<{name - 5}}{roof.vector_bits:>4}" if roof.vector_bits else title
        value = _memory_value(units.rate(roof.rate.best, "B"), units.rate(other.rate.best, "B") if other else "")
        rows.append(_row(title, name, value, _estimate(roof.rate, "B", roof.verified)))
    return rows


def _key(roof: MemoryRoof) -> tuple[str, str, int, int]:
    return roof.level, roof.mix, roof.vector_bits, roof.working_set


def _mark(headline: bool) -> str:
    return "*" if headline else " "


def _capacities(roofline: Roofline, team: Team) -> list[str]:
    """Return effective against declared capacity of each cache level, from the bandwidth curve."""
    plateaus = [plateau for curve in roofline.curves if curve.team == team for plateau in curve.plateaus]
    known = [plateau for plateau in plateaus if plateau.capacity or plateau.declared]
    if not known:
        return []
    lines = ["", f"{'  capacity for one thread':<{SHORTEST_NAME}}{'effective':>{VALUE}}{'declared':>{VALUE}}"]
    for plateau in known:
        effective = units.size(plateau.capacity) if plateau.capacity else "-"
        declared = units.size(plateau.declared) if plateau.declared else "-"
        lines.append(f"{'  ' + plateau.name:<{SHORTEST_NAME}}{effective:>{VALUE}}{declared:>{VALUE}}")
    return lines


def _ridges(roofline: Roofline, team: Team, width: int) -> list[str]:
    """Return the ridge points: compute roofs down, memory roofs across, in as many blocks as the width needs."""
    ridges = [ridge for ridge in roofline.ridges if ridge.compute.team == team]
    values = {(ridge.compute.name, ridge.memory.name): ridge.intensity for ridge in ridges}
    memory = {ridge.memory.name: ridge.memory for ridge in ridges}
    compute = list(dict.fromkeys(ridge.compute.name for ridge in ridges))
    names = {name: roof.level if roof.headline else name for name, roof in memory.items()}
    order = levels(roof.level for roof in memory.values())
    columns = sorted(memory, key=lambda name: order.index(memory[name].level))
    title = "  ridge point, FLOP/byte"
    first = max([len(title) + 2, *(len(name) + 3 for name in compute)])
    room = max(1, (width - first) // CELL)
    lines: list[str] = []
    for start in range(0, len(columns), room):
        block = columns[start : start + room]
        lines += ["", f"{title:<{first}}" + "".join(f"{names[name]:>{CELL}}" for name in block)]
        for row in compute:
            cells = [units.number(values[row, name]) if (row, name) in values else "-" for name in block]
            lines.append(f"{'  ' + row:<{first}}" + "".join(f"{cell:>{CELL}}" for cell in cells))
    return lines


def _legend(roofline: Roofline, width: int) -> list[str]:
    promises = ", ".join(f"{grade} {within * 100:g} %" for grade, within in REPEATS_WITHIN.items())
    sentences = [
        "* the roof that the chart draws.",
        "Rates are the best sample; per cycle is for one core; spread is 1 - median of the rounds' bests / best.",
        f"Grade: a repeated sweep should agree within {promises}, D not even that. "
        f"A round that is over {SLOW_ROUND * 100:g} % slower than the best one lowers it by a step.",
    ]
    if any(roof.above for roof in roofline.compute):
        sentences.insert(1, "+ a mix of instructions that is faster than the roof.")
    if any(roof.bytes_counted == "traffic" for roof in roofline.memory):
        sentences.append(
            "Program B counts the bytes loaded and stored; traffic B, shown where it differs, also the read of each "
            "line before an ordinary store overwrites it (modelled)."
        )
    if not all(roof.verified for roof in roofline.compute) or not all(roof.verified for roof in roofline.memory):
        sentences.append("NO: the generated code is not proven to be what the name says; never a roof.")
    return textwrap.wrap(" ".join(sentences), width)


def _notes(results: Results, roofline: Roofline, width: int) -> list[str]:
    """Return what else has to be said, each once."""
    absent = [f"not measured here: {what}, which would need {needs}" for what, needs in results.absent]
    curves = [note for curve in roofline.curves for note in curve.notes]
    others = [BESIDE_OTHERS] if any(condition.alone is False for condition in results.conditions) else []
    notes = list(dict.fromkeys([*others, *results.notes, *roofline.notes, *curves, *absent]))
    if not notes:
        return []
    lines = ["", "Notes"]
    for note in notes:
        lines += textwrap.wrap(note, width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return lines


# --------------------------------------------------------------------------------------------------- found


def _cpu(host: Host) -> str:
    identity = [f"{key} {value:#x}" if key in ("implementer", "part") else f"{key} {value}"
                for key, value in host.identity]  # fmt: skip
    vendor = [host.vendor] if host.vendor and host.cpu_model else []
    known = ", ".join([host.machine, *vendor, *identity])
    return f"{host.cpu_model} ({known})" if host.cpu_model else f"model hidden ({known})"


def _cores(host: Host) -> str:
    usable = [cpu for cpu in host.cpus if cpu.usable]
    cores, mine = len({cpu.core for cpu in host.cpus}), len({cpu.core for cpu in usable})
    text = f"{mine} of {plural(cores, 'physical core')} usable" + _kinds(usable)
    text += f", {'CPU' if len(usable) == 1 else 'CPUs'} {ranges(cpu.id for cpu in usable)}" if usable else ""
    text += f" of {plural(len(host.cpus), 'logical CPU')}" if len(host.cpus) not in (cores, len(usable)) else ""
    packages, nodes = len({cpu.package for cpu in host.cpus}), len(host.nodes)
    if host.system == LINUX:
        text += f", {plural(packages, 'socket')}" + (f", {plural(nodes, 'NUMA node')}" if nodes else "")
    if host.cpu_quota is not None:
        text += f"; a quota allows {cpu_time(host.cpu_quota)}"
    return text


def _kinds(cpus: Iterable[Cpu]) -> str:
    """Say how many usable cores of each kind there are, where there are kinds."""
    kinds = Counter(kind for _, kind in sorted({(cpu.core, cpu.kind) for cpu in cpus}) if kind)
    return f" ({', '.join(f'{count} {kind}' for kind, count in kinds.items())})" if len(kinds) > 1 else ""


def _caches(host: Host) -> str:
    """Say each size of each level with its number of instances."""
    if not host.caches:
        return "none declared; the measured curve will name the levels"
    instances = Counter((cache.level, cache.size) for cache in host.caches)
    texts = []
    for level in levels(cache.level for cache in host.caches):
        sizes = [
            f"{count} x {units.size(size) if size else 'unknown size'}"
            for (name, size), count in instances.items()
            if name == level
        ]
        texts.append(f"{level} {' + '.join(sizes)}")
    return ", ".join(texts)


def _memory(host: Host) -> str:
    parts = [units.size(host.memory_total) if host.memory_total else "size unknown"]
    if host.memory_available:
        parts.append(f"{units.size(host.memory_available)} available")
    if host.memory_limit is not None:
        parts.append(f"limited to {units.size(host.memory_limit)}")
    elif host.system == LINUX:
        parts.append("no limit")
    return ", ".join(parts)


def _vectors(toolchain: Toolchain) -> str:
    if not toolchain.vector_bits:
        return "none known"
    bits = ", ".join(str(width) for width in toolchain.vector_bits)
    return f"{bits} bits" + (f" (code for {toolchain.target})" if toolchain.target else "")


def _system(host: Host) -> str:
    text = f"{host.system} {host.kernel}".rstrip()
    if host.hypervisor:
        text += f", virtual machine ({host.hypervisor})"
    elif host.system == LINUX:
        text += ", no virtual machine seen"
    return text + (f", container ({host.container})" if host.container else "")


def _settings(host: Host) -> str:
    named = [("huge pages", host.thp), ("frequency governor", host.governor), ("turbo", host.turbo)]
    return ", ".join(f"{name} {value or 'unknown'}" for name, value in named)


def _placed(team: Team) -> str:
    cpus = ranges(team.cpus)
    return f"{team.label} on {'CPU' if team.threads == 1 else 'CPUs'} {cpus}"
