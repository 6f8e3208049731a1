"""Machines over each other in one roofline chart, promises dashed, and a workload on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ert.errors import InputError
from ert.roofline.comparing.compare import promised_mixes
from ert.roofline.comparing.machine import ANY, Machine, Peak, Slope, largest_team, of_mixes
from ert.roofline.comparing.predict import Prediction
from ert.roofline.formulas import ridge
from ert.roofline.model import ComputeRoof, Estimate, MemoryRoof, RidgePoint, Roofline, Team
from ert.show.charts.figures import roofline_figure
from ert.show.charts.parts import Mark, unnamed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERYTHING = Team("all", (), 1)
"""Stands for all of a machine that was not measured."""

WHAT_PROMISES = "Dashed: promised, not measured."

WHAT_MARKS = (
    "A mark is what the roofs allow a part of the workload; its area (less for one on another) and the bar are its "
    "share of the time."
)


def overlay_figure(machines: Sequence[Machine], names: Sequence[str], title: str) -> Figure:
    """Draw the roofs of machines over each other, in the first precision that all have.

    Raises
    ------
    InputError
        If they have no precision in common.
    """
    common = [name for name in machines[0].precisions if all(name in other.precisions for other in machines[1:])]
    if not common:
        have = "; ".join(f"{name}: {', '.join(m.precisions)}" for name, m in zip(names, machines, strict=True))
        raise InputError(f"no figure: the machines have compute roofs of no precision in common ({have})")
    wanted = [(common[0], "")]
    # The same roofs as in the tables: a promise of loads stands beside measured loads.
    mixes = promised_mixes(machines)
    drawn = [
        (name, _drawn(of_mixes(machine, mixes), wanted, [slope.level for slope in machine.slopes]))
        for name, machine in zip(names, machines, strict=True)
    ]
    partial = [name for name, m in zip(names, machines, strict=True) if m.results and not m.results.complete]
    promised, note = _promised(machines, names), _footnote(machines)
    return roofline_figure(drawn, title=title, partial=partial, promised=promised, footnote=note)


def workload_figure(prediction: Prediction, names: Sequence[str], title: str) -> Figure:
    """Draw the parts of a workload on the rooflines of the machines that were asked about it."""
    parts = prediction.workload.parts
    wanted = list(dict.fromkeys((part.precision, part.unit) for part in parts))
    levels = list(dict.fromkeys(part.place for part in parts))
    machines = [prospect.machine for prospect in prediction.prospects]
    drawn = [(name, _drawn(machine, wanted, levels)) for name, machine in zip(names, machines, strict=True)]
    marks = [
        Mark(name, each.part.name, each.part.intensity, each.attainable, each.total_seconds / prospect.seconds)
        for name, prospect in zip(names, prediction.prospects, strict=True)
        for each in prospect.forecasts
    ]
    note = " ".join(filter(None, (WHAT_MARKS, _footnote(machines), unnamed(marks))))
    crossings = sorted({crossing.at for crossing in prediction.crossings if crossing.at is not None})
    return roofline_figure(
        drawn, title=title, precisions=_drawn_precisions(drawn), promised=_promised(machines, names), marks=marks,
        crossings=crossings, footnote=note,
    )  # fmt: skip


def _drawn_precisions(drawn: Sequence[tuple[str, Roofline]]) -> list[str]:
    return list(dict.fromkeys(roof.precision for _, roofline in drawn for roof in roofline.compute))


def _promised(machines: Sequence[Machine], names: Sequence[str]) -> dict[str, str]:
    return {
        name: f"promised, {machine.extent}" if machine.kind == "sheet" else machine.extent
        for name, machine in zip(names, machines, strict=True)
        if not machine.roofline
    }


def _footnote(machines: Sequence[Machine]) -> str:
    return WHAT_PROMISES if any(not machine.roofline for machine in machines) else ""


def _drawn(machine: Machine, wanted: Sequence[tuple[str, str]], levels: Sequence[str]) -> Roofline:
    """Return the roofs of a machine in the form that charts draw: of the precisions, units and levels asked for."""
    peaks = dict.fromkeys((precision, machine.peak(precision, unit)) for precision, unit in wanted)
    team = largest_team(machine.roofline.teams) if machine.roofline else EVERYTHING
    compute = tuple(_compute_roof(precision, peak, team) for precision, peak in peaks)
    memory = tuple(_memory_roof(machine.slope(level), team) for level in levels)
    ridges = tuple(
        RidgePoint(top, foot, ridge(top.rate.best, foot.rate.best)) for top in compute for foot in memory
    )  # fmt: skip
    return Roofline(compute, memory, (), ridges, ())


def _compute_roof(precision: str, peak: Peak, team: Team) -> ComputeRoof:
    name = f"{precision} {peak.name}" if peak.precision == ANY else peak.name
    return ComputeRoof(name, precision, "", 0, 0, team, _rate(peak.rate), verified=True, headline=True)


def _memory_roof(slope: Slope, team: Team) -> MemoryRoof:
    rate = _rate(slope.rate)
    return MemoryRoof(slope.name, slope.level, slope.mix, 0, team, "program", 0, rate, verified=True, headline=True)


def _rate(value: float) -> Estimate:
    """Return a rate as charts need it: its height alone."""
    return Estimate(value, value, None, 0.0, "A", 0)
