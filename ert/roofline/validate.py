"""Does the machine keep its promises? Arithmetic, latency and clocks here, the rest beside it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ert.roofline.checks import TOLERANCE, Cause, Check, Factor, computed, judge
from ert.roofline.clocks import clock_hz, drift
from ert.roofline.model import ComputeRoof, Host, Results, Roofline, Team
from ert.roofline.quantities import operation
from ert.roofline.recognise import Recognised, team_kinds
from ert.roofline.sheet import AcceleratorSheet, Clock, CoreGroup, CoreSheet, CpuSheet, PublishedMeasurement, Sheet
from ert.roofline.validate_memory import cache_bandwidths, capacities, memory_bandwidth
from ert.roofline.validate_published import against_published, headlines

WHOLE_CYCLE = 0.5
"""Cycles by which a latency may miss its promise: latencies are whole numbers of cycles, so less is the error of the
measured clock."""

HALF_UNITS = (0.45, 0.55)
"""A ratio in between says that half of the multiply-add units are there."""

PUBLISHED_AGREES = 0.02
"""Part by which a published peak may differ from the computed one: vendors print two to four digits."""


def validate(
    results: Results,
    roofline: Roofline,
    machine: Recognised,
    measurements: Sequence[PublishedMeasurement] = (),
    tolerance: float = TOLERANCE,
) -> tuple[Check, ...]:
    """Hold a sweep against the sheet of its machine.

    Parameters
    ----------
    results : Results
        The sweep.
    roofline : Roofline
        What was fitted to it.
    machine : Recognised
        The sheets that describe its host.
    measurements : sequence of PublishedMeasurement
        Of systems without a sheet; those of the host's model are compared too.
    tolerance : float
        Part by which a rate may miss its promise.

    Returns
    -------
    tuple of Check
        In the order in which a person reads them: cycle by cycle, then per second, then memory.
    """
    host = results.host
    single = next((team for team in _by_size(roofline) if len(team_kinds(host, team.cpus)) == 1), None)
    everyone = max(roofline.teams, key=lambda team: (team.name == "all", team.threads), default=None)
    checks: list[Check] = []
    if single is not None:
        group = machine.group(next(iter(team_kinds(host, single.cpus))))
        checks += _per_cycle(results, roofline, single, group, tolerance)
        checks += _latencies(roofline, single, group)
        checks += cache_bandwidths(host, roofline, single, machine, group, tolerance)
    if everyone is not None:
        checks += _peaks(host, roofline, everyone, machine, tolerance)
        checks += _clocks(results, roofline, single, everyone, machine, tolerance)
        checks += capacities(host, roofline, machine, tolerance)
        checks += memory_bandwidth(host, roofline, everyone, machine, tolerance)
        checks += against_published(host, roofline, everyone, machine, measurements)
    return tuple(checks)


def check_sheet(sheet: Sheet) -> tuple[Check, ...]:
    """Hold the peaks that a sheet publishes against those that follow from its other facts.

    ``measured`` is then the computed figure and ``promised`` the published one. A difference of more than 2 % that the
    sheet does not explain fails.
    """
    if isinstance(sheet, CoreSheet):
        return ()
    found = []
    for peak in sheet.peaks:
        unit = f"{operation(peak.precision)}/s"
        if isinstance(sheet, AcceleratorSheet):
            computed = sheet.computed_peak(peak.precision, peak.unit)
            basis = "units x operations per cycle x clock"
        else:
            one = sheet.peak(peak.precision, peak.clock or "base", unit=peak.unit)
            computed = None if one is None else one * peak.sockets
            basis = f"cores x operations per cycle x {peak.clock or 'base'} clock x {peak.sockets} socket(s)"
        name = f"{peak.precision} {peak.unit} peak"
        found.append(_agreement(Check("Published peaks", name, unit, computed, peak.value, basis), peak.why))
    for stated in sheet.bandwidths:
        own = sheet.memory.bandwidth if sheet.memory else None
        computed = None if own is None else own * stated.sockets
        check = Check("Published bandwidths", "memory", "B/s", computed, stated.value, "bus width x transfers")
        found.append(_agreement(check, stated.why))
    return tuple(found)


def _agreement(check: Check, why: str) -> Check:
    if check.measured is None:
        return replace(check, why="The sheet states nothing that it could be computed from.")
    cause = Cause(why or "The sheet does not say why: mend a figure or add the reason as `why`.", failed=not why)
    return judge(check, 1 - PUBLISHED_AGREES, 1 + PUBLISHED_AGREES, cause, cause)


def _by_size(roofline: Roofline) -> list[Team]:
    return sorted(roofline.teams, key=lambda team: team.threads)


# ----------------------------------------------------------------------------------------------------- per cycle


def _per_cycle(
    results: Results, roofline: Roofline, team: Team, group: CoreGroup | None, tolerance: float
) -> Iterable[Check]:
    section = f"Arithmetic per cycle and core, {team.label}"
    core = group.core if group else None
    for roof in headlines(roofline, team):
        check = Check(
            section, f"{roof.precision} {_what(roof)}", f"{operation(roof.precision)}/cycle", roof.rate.per_cycle
        )
        if roof.rate.per_cycle is None:
            yield replace(check, why="The clock was not measured in this sweep.")
            continue
        promised = core.operations(roof.precision, "vector") if core else None
        if core is None or promised is None:
            yield replace(check, why=_unstated(core, f"{roof.precision} per cycle"))
            continue
        check = replace(check, promised=promised, basis=f"sheet {core.name}")
        yield judge(
            check,
            1 - tolerance,
            1 + tolerance,
            _slow_arithmetic(results, roof, core, check.ratio or 1.0),
            Cause("No core does more than its units can: the sheet is of another core, or too low.", failed=True),
        )


def _slow_arithmetic(results: Results, roof: ComputeRoof, core: CoreSheet, ratio: float) -> Cause:
    widest = max(results.toolchain.vector_bits, default=0)
    if core.vector_bits and widest and widest < core.vector_bits:
        return Cause(
            f"The widest vectors usable here have {widest} bits, the core has {core.vector_bits}: the system or the "
            "hypervisor hides an instruction set.",
            failed=True,
        )
    if HALF_UNITS[0] < ratio < HALF_UNITS[1]:
        return Cause(
            "Half of the promise: this model has half of the multiply-add units, or they are busy.", failed=True
        )
    return _disturbed(results.host, roof) or Cause(
        "Other work on the core, or a limit of its power that stretches cycles of wide vectors.", failed=True
    )


def _latencies(roofline: Roofline, team: Team, group: CoreGroup | None) -> Iterable[Check]:
    core = group.core if group else None
    for latency in roofline.instruction_latencies:
        if latency.team != team or latency.instructions != "fma" or not latency.verified:
            continue
        check = Check("Latency of arithmetic", f"{latency.precision} multiply-add", "cycle", latency.cycles)
        if core is None or core.fma_latency is None:
            yield replace(check, why=_unstated(core, "latency of a multiply-add"))
            continue
        check = replace(check, promised=core.fma_latency, basis=f"sheet {core.name}")
        slack = WHOLE_CYCLE / core.fma_latency
        yield judge(
            check,
            1 - slack,
            1 + slack,
            Cause("Fewer cycles than stated: the sheet is of another core, or too high.", failed=True),
            Cause("More cycles than stated: another core, or other work on it.", failed=True),
        )


# ---------------------------------------------------------------------------------------------------- per second


def _peaks(host: Host, roofline: Roofline, team: Team, machine: Recognised, tolerance: float) -> Iterable[Check]:
    kinds = team_kinds(host, team.cpus)
    groups = [(count, machine.group(kind)) for kind, count in kinds.items()]
    for roof in headlines(roofline, team):
        hertz = roof.rate.clock_hz
        check = Check(f"Peak, {team.label}", roof.precision, f"{operation(roof.precision)}/s", roof.rate.best)
        if hertz is not None and len(groups) == 1 and (product := _product(groups[0], roof.precision, hertz)):
            yield judge(
                computed(replace(check, name=f"{roof.precision}, measured clock"), "at the measured clock", product),
                1 - tolerance,
                1 + tolerance,
                _disturbed(host, roof) or Cause("The cores slow each other down, or share a core.", failed=True),
                Cause("More than the units can do: the sheet is of another core, or too low.", failed=True),
            )
        if machine.cpu is not None:
            yield _peak_at(check, groups, roof, "base", tolerance, host)
            yield _peak_at(check, groups, roof, "boost", tolerance, host)


def _product(of: tuple[int, CoreGroup | None], precision: str, hertz: float | None) -> tuple[Factor, ...]:
    """Return operations per cycle x cores x clock of one kind of core; empty where one of them is not stated."""
    cores, group = of
    operations = group.core.operations(precision, "vector") if group and group.core else None
    if operations is None or hertz is None:
        return ()
    return (operations, f"{operation(precision)}/cycle"), (cores, "cores"), (hertz, "Hz")


def _peak_at(
    check: Check,
    groups: Sequence[tuple[int, CoreGroup | None]],
    roof: ComputeRoof,
    clock: Clock,
    tolerance: float,
    host: Host,
) -> Check:
    check = replace(check, name=f"{roof.precision}, {clock} clock")
    products = [_product(of, roof.precision, of[1].clock(clock) if of[1] else None) for of in groups]
    if not all(products):
        return replace(check, why=f"The sheets do not state the rate and the {clock} clock of all cores used.")
    check = computed(check, f"at the {clock} clock", *products)
    if clock == "base":
        return judge(
            check,
            1 - tolerance,
            1 + tolerance,
            _disturbed(host, roof) or Cause(_slow_clock(host), failed=True),
            Cause("The cores run above their base clock (boost): no error.", failed=False),
        )
    return judge(
        check,
        1 - tolerance,
        1 + tolerance,
        Cause("Boost is promised to a few cores at a time; all together run slower within their power.", failed=False),
        Cause("Faster than the stated boost clock: overclocked, or the sheet is of another model.", failed=False),
    )


def _clocks(
    results: Results, roofline: Roofline, single: Team | None, everyone: Team, machine: Recognised, tolerance: float
) -> Iterable[Check]:
    host = results.host
    for team in dict.fromkeys(team for team in (single, everyone) if team is not None):
        hertz, kinds = clock_hz(roofline, team), team_kinds(host, team.cpus)
        group = machine.group(next(iter(kinds))) if len(kinds) == 1 else None
        for clock in ("base", "boost" if team == single else "all-core"):
            check = Check("Core clock", f"{team.label} against {clock}", "Hz", hertz)
            stated = group.clock(clock) if group else None
            if hertz is None or stated is None:
                if clock == "base":
                    yield replace(check, name=team.label, why=_no_clock(hertz, machine.cpu))
                continue
            check = replace(check, promised=stated, basis=f"stated {clock} clock")
            low, high = Cause(_slow_clock(host), failed=clock == "base"), Cause("Boost: no error.", failed=False)
            if clock != "base":
                low = Cause(_slow_clock(host), failed=False)
                high = Cause("Above the stated clock: overclocked, or the sheet is of another model.", failed=False)
            yield judge(check, 1 - tolerance, 1 + tolerance, low, high)
        if found := drift(results, team):
            check = Check("Core clock", f"{team.label}, end against start", "Hz", found.last, found.first)
            yield judge(
                replace(check, basis="the clock at the beginning of the sweep"),
                1 - tolerance,
                1 + tolerance,
                Cause("It slowed down while it was measured: heat, or a power budget for short bursts.", failed=True),
                Cause("It was slower at the beginning: other work, or a governor that reacts late.", failed=False),
            )


def _no_clock(measured: float | None, cpu: CpuSheet | None) -> str:
    if measured is None:
        return "The clock was not measured in this sweep."
    if cpu is None:
        return "Only the core is known, not the CPU model and its clocks; --machine names it."
    return f"The sheet {cpu.name} does not state its base clock, or the threads ran on several kinds of core."


def _slow_clock(host: Host) -> str:
    settings = [f"governor {host.governor}"] if host.governor not in ("", "performance") else []
    settings += ["turbo off"] if host.turbo == "off" else []
    seen = f" The system says: {', '.join(settings)}." if settings else ""
    return f"The cores run slower than this clock: power, heat, or wide vectors.{seen}"


# --------------------------------------------------------------------------------------------------------- words


def _what(roof: ComputeRoof) -> str:
    return "dot products" if roof.instructions == "dot" else "multiply-adds"


def _unstated(core: CoreSheet | None, what: str) -> str:
    return f"The sheet {core.name} does not state the {what}." if core else "No sheet describes this core."


def _disturbed(host: Host, roof: ComputeRoof) -> Cause | None:
    """Blame what the result itself shows: a quota, or noise."""
    if host.cpu_quota is not None and host.cpu_quota < roof.team.threads:
        return Cause(
            f"A quota leaves this process {host.cpu_quota:g} CPUs' worth of time for {roof.team.label}.", failed=False
        )
    if roof.rate.grade != "D":
        return None
    neighbours = "neighbours of this virtual machine" if host.hypervisor else "other work"
    return Cause(f"The samples differ by much (grade D): {neighbours} took time. Measure again.", failed=True)
