"""Does the machine do what others measured on the same model? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ert.roofline.fitting.fit import PURE
from ert.roofline.model import MEMORY, ComputeRoof, Host, Roofline, Team
from ert.roofline.quantities import operation
from ert.roofline.sheets.checks import Cause, Check, judge
from ert.roofline.sheets.recognise import Recognised, names_model
from ert.roofline.sheets.sheet import CpuSheet, PublishedMeasurement

OTHERS_DIFFER = 0.10
"""Part by which a published measurement may be missed: another compiler, memory kit and BIOS differ by that much."""


def headlines(roofline: Roofline, team: Team) -> list[ComputeRoof]:
    """Return the roofs of a team that promises are about: the best multiply-adds or dot products of each precision."""
    return [r for r in roofline.compute if r.team == team and r.headline and r.verified and r.instructions in PURE]


def against_published(
    host: Host, roofline: Roofline, team: Team, machine: Recognised, measurements: Sequence[PublishedMeasurement]
) -> Iterable[Check]:
    """Hold the roofs of all threads against what the CPU's sheet and `measurements` tell of the same model."""
    own = machine.cpu.measurements if machine.cpu else ()
    others = (m for m in measurements if any(names_model(model, host.cpu_model) for model in m.models))
    for published in (*own, *others):
        if not published.relative:
            yield _check(host, roofline, team, machine.cpu, published)


def _check(host: Host, roofline: Roofline, team: Team, cpu: CpuSheet | None, published: PublishedMeasurement) -> Check:
    unit = "B/s" if published.metric in ("load", "triad") else f"{operation(published.precision)}/s"
    name = " ".join(word for word in (published.precision, _METRICS[published.metric]) if word)
    check = Check(
        "Published measurements", name, unit, None, published.value, f"{published.system}: {published.description}"
    )
    measured = _like(roofline, team, published)
    if measured is None:
        return replace(check, verdict="not comparable", why="No probe of this result measures the same.")
    sockets = len({c.package for c in host.cpus if c.id in team.cpus}) or 1
    # A figure that names neither counts a whole machine: of as many sockets as were measured here.
    cores = published.cores or (cpu.cores * (published.sockets or sockets) if cpu else None)
    if cores is None or cores != team.cores:
        taken = f"{cores} cores" if cores else f"{published.sockets or 'unknown'} sockets"
        return replace(
            check,
            measured=measured,
            verdict="not comparable",
            why=f"It took {taken}, this result {team.cores}.",
        )
    return judge(
        replace(check, measured=measured),
        1 - OTHERS_DIFFER,
        (published.high or published.value) / published.value * (1 + OTHERS_DIFFER),
        Cause("Others reached more on the same machine: look at its memory, BIOS and clock.", failed=True),
        Cause("Better than what was published: newer firmware, faster memory or a higher clock.", failed=False),
    )


_METRICS = {
    "fma": "multiply-adds", "load": "loads from DRAM", "triad": "STREAM triad", "hpl": "Linpack (HPL)",
    "matrix": "matrix unit", "other": "stream of another mix",
}  # fmt: skip


def _like(roofline: Roofline, team: Team, published: PublishedMeasurement) -> float | None:
    """Return the measured rate that counts the same as a published one: STREAM counts program bytes."""
    if published.metric == "fma":
        found = [r.rate.best for r in headlines(roofline, team) if r.precision == published.precision]
    else:
        mixes = {"load": ("load",), "triad": ("triad", "triad_nt")}.get(published.metric, ())
        found = [
            r.rate.best
            for r in roofline.memory
            if r.team == team and r.level == MEMORY and r.mix in mixes and r.bytes_counted == "program" and r.verified
        ]
    return max(found, default=None)
