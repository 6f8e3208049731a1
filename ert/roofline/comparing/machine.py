"""A machine with roofs, measured or promised: what is compared, and what a workload is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ert.errors import InputError
from ert.roofline.fitting.statistics import SPREAD_LIMITS
from ert.roofline.model import MEMORY, Estimate, Results, Roofline, Team
from ert.roofline.placing.placement import Placement
from ert.roofline.sheets.sheet import AcceleratorSheet, Clock, CpuSheet, Unit

ANY = ""
"""Precision of a peak that holds for all of them: of a machine that is given by two numbers alone."""

ROUNDING = 1e-9
"""Promises that are computed in different ways are equal in spite of the last binary digits."""

CLOCKS: tuple[Clock, ...] = ("all-core", "base", "boost")
"""Which clock a CPU's promised peak is meant at, the first that its sheet states: all cores work at once, and the boost
clock of a single one is more than they reach together."""


UNITS: tuple[Unit, ...] = ("vector", "matrix")


@dataclass(frozen=True, slots=True)
class Peak:
    """The compute roof of a precision.

    Attributes
    ----------
    precision : str
        ``"fp64"``, ...; :data:`ANY` for all.
    unit : str
        ``"vector"`` or ``"matrix"``.
    name : str
        What was measured or what is promised: ``"fp64 fma 512-bit"``, ``"bf16 matrix"``.
    rate : float
        FLOP/s (OP/s for integers).
    spread : float or None
        What two measurements of it may differ by on its side, see :func:`allowance`; None for a promise.
    """

    precision: str
    unit: str
    name: str
    rate: float
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Slope:
    """The memory roof of a level: `rate` in byte/s, the rest as of a :class:`Peak`. ``mix`` is empty for any mix."""

    level: str
    mix: str
    name: str
    rate: float
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """The roofs of a whole machine: all its threads together.

    Attributes
    ----------
    name : str
        What a person calls it.
    kind : str
        ``"result"`` (measured), ``"sheet"`` (promised by a machine sheet) or ``"given"`` (two numbers).
    source : str
        The file or the sheet it comes from.
    extent : str
        How much of it the roofs are of: ``"2 threads"``, ``"32 cores at their all-core clock"``.
    peaks : tuple of Peak
        One a precision and unit.
    slopes : tuple of Slope
        One a level, nearest to the core first.
    results, roofline : Results, Roofline or None
        Of a measured machine, all that is known.
    clock : str
        Which stated clock its peaks are meant at; empty for all but the sheets of CPUs.
    cautions : tuple of str
        What its promises leave out, in sentences.
    kernels : tuple of Placement
        Application kernels that were measured on it, where they are asked about.
    """

    name: str
    kind: str
    source: str
    extent: str
    peaks: tuple[Peak, ...]
    slopes: tuple[Slope, ...]
    results: Results | None = None
    roofline: Roofline | None = None
    clock: Clock | Literal[""] = ""
    cautions: tuple[str, ...] = ()
    kernels: tuple[Placement, ...] = ()

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions that it has a compute roof of."""
        return tuple(dict.fromkeys(peak.precision for peak in self.peaks))

    def peak(self, precision: str, unit: str = "") -> Peak:
        """Return the compute roof of a precision: of the named unit, or the highest.

        Raises
        ------
        InputError
            If it has none.
        """
        found = [peak for peak in self.peaks if peak.precision in (precision, ANY) and unit in ("", peak.unit)]
        if not found:
            asked = f"{precision} of its {unit} unit" if unit else precision
            known = dict.fromkeys(f"{peak.precision} ({peak.unit})" if unit else peak.precision for peak in self.peaks)
            have = ", ".join(known) or "none at all"
            raise InputError(f"{self.name} ({self.source}): no compute roof of {asked}; it has: {have}")
        return max(found, key=lambda peak: peak.rate)

    def slope(self, level: str = "") -> Slope:
        """Return the memory roof of a level, of main memory if none is named.

        Raises
        ------
        InputError
            If it has none.
        """
        wanted = level or MEMORY
        for slope in self.slopes:
            if slope.level == wanted:
                return slope
        have = ", ".join(slope.level for slope in self.slopes) or "none at all"
        raise InputError(f"{self.name} ({self.source}): no memory roof of {wanted}; it has: {have}")


def of_mixes(machine: Machine, mixes: Mapping[str, str]) -> Machine:
    """Return a measured machine with its memory roofs of the access mixes named by level, where it has them."""
    if machine.roofline is None:
        return machine
    team = largest_team(machine.roofline.teams)
    slopes = []
    for slope in machine.slopes:
        same = [
            roof
            for roof in machine.roofline.memory
            if (roof.team, roof.level, roof.bytes_counted) == (team, slope.level, "program")
            and roof.verified and roof.mix == mixes.get(slope.level)
        ]  # fmt: skip
        best = max(same, key=lambda roof: roof.rate.best, default=None)
        slopes.append(
            slope if best is None else Slope(best.level, best.mix, best.name, best.rate.best, allowance(best.rate))
        )
    return replace(machine, slopes=tuple(slopes))


def allowance(rate: Estimate) -> float:
    """Return the fraction that a measured rate may be off by: its spread, and not less than its grade stands for.

    A grade tells what a repeated sweep should agree within, and half of that is one side's part
    (:data:`ert.roofline.fitting.statistics.SPREAD_LIMITS`). Without this floor a number of one round, whose spread is
    0, would differ from all others.
    """
    return max(rate.spread, SPREAD_LIMITS.get(rate.grade, SPREAD_LIMITS["C"]))


def combined(first: float | None, second: float | None) -> float:
    """Return what the two sides' spreads add up to: both can be low, each by its own; a promise adds nothing."""
    return (first or 0.0) + (second or 0.0)


def differs(ratio: float, spread: float) -> bool:
    """Whether the larger of two numbers is more than (1 + combined spread) times the smaller, whichever comes first."""
    return max(ratio, 1.0 / ratio) - 1.0 > spread + ROUNDING


def measured_machine(name: str, source: str, results: Results, roofline: Roofline) -> Machine:
    """Return the headline roofs of a result's largest team.

    Raises
    ------
    InputError
        If it holds no roof.
    """
    if not roofline.teams:
        raise InputError(f"{source}: the result holds no roof")
    team = largest_team(roofline.teams)
    peaks = tuple(
        Peak(roof.precision, "vector", roof.name, roof.rate.best, allowance(roof.rate))
        for roof in roofline.compute
        if roof.headline and roof.team == team
    )
    slopes = tuple(
        Slope(roof.level, roof.mix, roof.name, roof.rate.best, allowance(roof.rate))
        for roof in roofline.memory
        if roof.headline and roof.team == team
    )
    return Machine(name, "result", source, team.label, peaks, slopes, results, roofline)


def promised_machine(source: str, sheet: CpuSheet | AcceleratorSheet) -> Machine:
    """Return what a sheet promises of one CPU with all its cores, or of one accelerator.

    Raises
    ------
    InputError
        If it states neither a peak nor a bandwidth.
    """
    if isinstance(sheet, CpuSheet):
        machine = _promised_cpu(source, sheet)
    else:
        peaks = [
            Peak(precision, unit, f"{precision} {unit}", rate)
            for precision in sheet.precisions
            for unit in UNITS
            if (rate := sheet.peak(precision, unit=unit)) is not None
        ]
        kind = sheet.memory.type if sheet.memory else ""
        machine = Machine(sheet.title, "sheet", source, "one device", tuple(peaks), _main(sheet.bandwidth(), kind))
    if not machine.peaks and not machine.slopes:
        raise InputError(f"{source}: the sheet states neither a peak nor a bandwidth, so that it has no roof")
    return machine


def given_machine(name: str, peak: float, bandwidth: float) -> Machine:
    """Return a machine of two numbers: FLOP/s in any precision, and byte/s of memory."""
    peaks, slopes = (Peak(ANY, "vector", "peak", peak),), (Slope(MEMORY, "", MEMORY, bandwidth),)
    return Machine(name, "given", name, "by two numbers", peaks, slopes)


def largest_team(teams: Sequence[Team]) -> Team:
    """Return the team that says most about the whole machine: ``"all"``, else the one with the most threads."""
    return next((team for team in teams if team.name == "all"), max(teams, key=lambda team: team.threads))


def _promised_cpu(source: str, sheet: CpuSheet) -> Machine:
    clock = next((clock for clock in CLOCKS if sheet.groups and sheet.groups[0].clock(clock) is not None), None)
    peaks: list[Peak] = []
    slopes: list[Slope] = []
    if clock is not None:
        for precision in sheet.precisions:
            for unit in UNITS:
                rate = sheet.peak(precision, clock, unit=unit)
                if rate is not None:
                    peaks.append(Peak(precision, unit, f"{precision} {unit}", rate))
        levels = dict.fromkeys(
            cache.level
            for caches in (sheet.caches, *(group.core.caches for group in sheet.groups[:1] if group.core))
            for cache in caches
        )
        for level in levels:
            rate = sheet.cache_bandwidth(level, clock)
            if rate is not None:
                slopes.append(Slope(level, "load", f"{level} load", rate))
    kind = sheet.memory.type if sheet.memory else ""
    counted = sum(group.count for group in sheet.groups if clock and group.core and group.clock(clock))
    cores = f"{sheet.cores} cores" if counted in (0, sheet.cores) else f"{counted} of {sheet.cores} cores"
    extent = f"{cores} at their {clock} clock" if clock else cores
    roofs = (*slopes, *_main(sheet.bandwidth(), kind))
    told = _cautions(sheet, clock, counted) if peaks or roofs else ()
    return Machine(sheet.title, "sheet", source, extent, tuple(peaks), roofs, clock=clock or "", cautions=told)


def _cautions(sheet: CpuSheet, clock: Clock | None, counted: int) -> tuple[str, ...]:
    """Return what a CPU's sheet leaves out of its roofs, with its own notes where they could say why."""
    found = []
    if clock == "base":
        found.append("no all-core clock is stated, so that its peaks are at the base clock; the cores may run faster.")
    elif clock == "boost":
        found.append(
            "no all-core and no base clock is stated, so that its peaks are at the boost clock, which all cores "
            "together may not hold."
        )
    apart = 0 < counted < sheet.cores
    if apart:
        found.append(
            f"its peaks are of {counted} of its {sheet.cores} cores: no rates or no clock of the others are known."
        )
    package = sheet.package_memory
    unknown = package is not None and package.bandwidth is None
    if package is not None and unknown:
        kind = package.type or "memory in the package"
        outside = (sheet.memory.type if sheet.memory else "") or "the memory outside the package"
        found.append(f"its {MEMORY} roof is that of {outside} alone; the bandwidth of its {kind} is not stated.")
    return (*found, *(f"note of the sheet: {note}" for note in sheet.notes)) if apart or unknown else tuple(found)


def _main(bandwidth: float | None, kind: str) -> tuple[Slope, ...]:
    """Return the roof of main memory; stacked memory is DRAM too, so that all machines have it at one level."""
    name = f"{MEMORY} ({kind})" if kind else MEMORY
    return () if bandwidth is None else (Slope(MEMORY, "", name, bandwidth),)
