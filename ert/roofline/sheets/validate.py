"""Does the machine keep its promises? Arithmetic, latency and clocks here, the rest beside it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ert.roofline.fitting.clocks import clock_hz, drift
from ert.roofline.model import ComputeRoof, Host, Results, Roofline, Team
from ert.roofline.quantities import cpu_time, operation
from ert.roofline.sheets.checks import TOLERANCE, Cause, Check, Factor, computed, judge
from ert.roofline.sheets.recognise import Recognised, team_kinds
from ert.roofline.sheets.sheet import Clock, CoreGroup, CoreSheet, CpuSheet, PublishedMeasurement
from ert.roofline.sheets.validate_memory import DECLARED, cache_bandwidths, capacities, memory_bandwidth
from ert.roofline.sheets.validate_published import against_published, headlines

WHOLE_CYCLE = 0.5
"""Cycles by which a latency may miss its promise: latencies are whole numbers of cycles, so less is the error of the
measured clock."""

HALF_UNITS = (0.45, 0.55)
"""A ratio in between says that half of the multiply-add units are there."""

AT_START = "the clock at the beginning of the sweep"

OWN_BASES = (AT_START, DECLARED)
"""What no sheet promises: the result is held against itself."""


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
    if machine.other_core:
        # What a hypervisor or neighbours take explains nothing if the promise is another core's.
        host = replace(host, hypervisor="")
        results = replace(results, host=host)
    checks: list[Check] = []
    if single is not None:
        group = machine.group(next(iter(team_kinds(host, single.cpus))))
        checks += _per_cycle(results, roofline, single, group, tolerance)
        checks += _latencies(roofline, single, group)
        checks += cache_bandwidths(host, roofline, single, machine, group, tolerance)
    if everyone is not None:
        checks += _peaks(host, roofline, single, everyone, machine, tolerance)
        checks += _clocks(results, roofline, single, everyone, machine, tolerance)
        checks += capacities(host, roofline, single, machine, tolerance)
        checks += memory_bandwidth(host, roofline, everyone, machine, tolerance)
        checks += against_published(host, roofline, everyone, machine, measurements)
    return tuple(_of_another_core(check) if machine.other_core else check for check in checks)


def _of_another_core(check: Check) -> Check:
    """Give a check that differs from a sheet of another core that one cause."""
    if check.verdict not in ("below", "above") or check.basis in OWN_BASES:
        return check
    return replace(check, why="The sheet is of another core than the one that was measured.")


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


def _peaks(
    host: Host, roofline: Roofline, single: Team | None, team: Team, machine: Recognised, tolerance: float
) -> Iterable[Check]:
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
                _disturbed(host, roof) or _less_per_cycle(roofline, single, roof, product[0][0], tolerance),
                Cause("More than the units can do: the sheet is of another core, or too low.", failed=True),
            )
        for clock in ("base", "boost"):
            if machine.cpu is not None:
                yield _peak_at(check, groups, roof, clock, tolerance, host)
            elif groups and groups[0][1] is not None:
                yield replace(check, name=f"{roof.precision}, {clock} clock", why=_ONLY_CORE)


def _less_per_cycle(
    roofline: Roofline, single: Team | None, roof: ComputeRoof, promised: float, tolerance: float
) -> Cause:
    """Say why a team does less per cycle than promised: one thread alone tells whether the team is to blame."""
    alone = (
        next((r.rate.per_cycle for r in headlines(roofline, single) if r.precision == roof.precision), None)
        if single is not None
        else None
    )
    if alone is not None and alone < (1 - tolerance) * promised:
        return Cause("One thread alone does less per cycle than promised, too; see arithmetic per cycle.", failed=True)
    if roof.team.threads == 1 or alone is None:
        return Cause("The core does less per cycle than promised.", failed=True)
    return Cause("The cores slow each other down, or share a core: one alone keeps the promise.", failed=True)


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
    hertz = roof.rate.clock_hz
    stated = [of[1].clock(clock) or 0.0 for of in groups if of[1]]
    if hertz is not None and len(groups) == 1 and hertz >= (1 - tolerance) * stated[0]:
        low = _disturbed(host, roof) or Cause(
            "The clock is not the cause, it is not below this one: the cores do less per cycle than promised.",
            failed=clock == "base",
        )
    elif clock == "base":
        low = _disturbed(host, roof) or Cause(_slow_clock(host), failed=True)
    elif roof.team.cores == 1:
        low = Cause(_slow_clock(host), failed=False)
    else:
        low = Cause(
            "Boost is promised to a few cores at a time; all together run slower within their power.", failed=False
        )
    if clock == "base":
        return judge(
            check,
            1 - tolerance,
            1 + tolerance,
            low,
            Cause("The cores run above their base clock (boost): no error.", failed=False),
        )
    return judge(
        check,
        1 - tolerance,
        1 + tolerance,
        low,
        _above_boost(check, groups, tolerance),
    )


def _above_boost(check: Check, groups: Sequence[tuple[int, CoreGroup | None]], tolerance: float) -> Cause:
    """Say what a clock, or a peak, above that of the boost clock means: one kind of core may have a higher one."""
    group = groups[0][1] if len(groups) == 1 else None
    highest = group.highest / group.boost if group is not None and group.highest and group.boost else 1.0
    if highest > 1 and (check.ratio or 0.0) <= (1 + tolerance) * highest:
        return Cause("Within the highest clock that the sheet states of single cores: no error.", failed=False)
    return Cause(
        "Above the highest stated clock: overclocked, another model, or a sheet that states too little.",
        failed=True,
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
            if clock == "boost":
                high = _above_boost(check, [(1, group)], tolerance)
            yield judge(check, 1 - tolerance, 1 + tolerance, low, high)
        if found := drift(results, team):
            check = Check("Core clock", f"{team.label}, end against start", "Hz", found.last, found.first)
            yield judge(
                replace(check, basis=AT_START),
                1 - tolerance,
                1 + tolerance,
                Cause("It slowed down while it was measured: heat, or a power budget for short bursts.", failed=True),
                Cause("It was slower at the beginning: other work, or a governor that reacts late.", failed=False),
            )


_ONLY_CORE = "Only the core is known, not the CPU model and its clocks; --machine names it."


def _no_clock(measured: float | None, cpu: CpuSheet | None) -> str:
    if measured is None:
        return "The clock was not measured in this sweep."
    if cpu is None:
        return _ONLY_CORE
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
        return Cause(f"A quota leaves this process {cpu_time(host.cpu_quota)} for {roof.team.label}.", failed=False)
    if roof.rate.grade != "D":
        return None
    neighbours = "neighbours of this virtual machine" if host.hypervisor else "other work"
    return Cause(f"The samples differ by much (grade D): {neighbours} took time. Measure again.", failed=True)
