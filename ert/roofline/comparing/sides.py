"""One side of a comparison: all numbers of a machine, by what they are matched by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from ert.roofline.comparing.machine import Machine, allowance
from ert.roofline.formulas import ridge
from ert.roofline.model import ComputeRoof, Estimate, MemoryRoof, Roofline
from ert.roofline.placing.placement import Placement
from ert.roofline.quantities import operation

Kind = Literal[
    "compute roof", "memory roof", "ridge point", "ceiling", "access mix", "random access", "latency", "kernel"
]

PROBES: Mapping[Kind, tuple[str, ...]] = {
    "compute roof": ("compute",),
    "memory roof": ("memory",),
    "ceiling": ("compute",),
    "access mix": ("memory",),
    "random access": ("latency",),
    "latency": ("latency",),
}
"""The instruments behind each kind of number, whose versions decide whether two are comparable."""


@dataclass(frozen=True, slots=True)
class Key:
    """What numbers are matched by. ``name`` is unique within kind and team."""

    kind: Kind
    team: str
    name: str
    unit: str
    precision: str = ""
    level: str = ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of one machine.

    Attributes
    ----------
    value : float
        In the unit of its key.
    spread : float or None
        See :func:`ert.roofline.comparing.machine.allowance`; None for a promise.
    name : str
        What exactly it was taken from: the kind of arithmetic and width, the access mix.
    revisions : tuple of int
        Versions of the code that measured it; empty for a promise.
    """

    value: float
    spread: float | None
    name: str
    revisions: tuple[int, ...] = ()


Side = dict[Key, Quantity]

Roof = TypeVar("Roof", ComputeRoof, MemoryRoof)


def side(machine: Machine, placements: Sequence[Placement], whole: str, mixes: Mapping[str, str]) -> Side:
    """Return all numbers of a machine.

    Parameters
    ----------
    machine : Machine
        Measured or promised.
    placements : sequence of Placement
        Its kernels.
    whole : str
        Name of the team that promises stand beside: a sheet's roofs are of all cores.
    mixes : mapping of str to str
        Level -> the access mix that its roof shall be of, because another machine promises that one; a measured machine
        shows its headline roof for the others.
    """
    if machine.results is None or machine.roofline is None:
        found = dict(_promised(machine, whole))
    else:
        revisions: defaultdict[str, set[int]] = defaultdict(set)
        for measurement in machine.results.measurements:
            revisions[measurement.case.probe].add(measurement.revision)
        known = {probe: tuple(sorted(numbers)) for probe, numbers in revisions.items()}
        found = dict(_measured(machine.roofline, whole, mixes, known)) | dict(_kernels(placements, known))
    return found | dict(_ridges(found))


Item = tuple[Key, Quantity]

Revisions = Mapping[str, tuple[int, ...]]


def _promised(machine: Machine, whole: str) -> Iterator[Item]:
    for precision in machine.precisions:
        best = machine.peak(precision)
        for peak in machine.peaks:
            if peak.precision == precision:
                kind: Kind = "compute roof" if peak == best else "ceiling"
                name = precision if peak == best else peak.name
                key = Key(kind, whole, name, f"{operation(precision)}/s", precision=precision)
                yield key, Quantity(peak.rate, peak.spread, peak.name)
    for slope in machine.slopes:
        key = Key("memory roof", whole, slope.level, "byte/s", level=slope.level)
        yield key, Quantity(slope.rate, slope.spread, slope.name)


def _measured(roofline: Roofline, whole: str, mixes: Mapping[str, str], revisions: Revisions) -> Iterator[Item]:
    for peak in _best(roof for roof in roofline.compute if roof.verified):
        key = Key("ceiling", peak.team.name, peak.name, f"{operation(peak.precision)}/s", precision=peak.precision)
        yield key, _quantity(peak.rate, peak.name, "ceiling", revisions)
        if peak.headline:
            key = Key("compute roof", peak.team.name, peak.precision, key.unit, precision=peak.precision)
            yield key, _quantity(peak.rate, peak.name, "compute roof", revisions)
    # The other count of bytes is of the same samples: its ratio would say the same twice.
    for slope in _best(roof for roof in roofline.memory if roof.verified and roof.bytes_counted == "program"):
        key = Key("access mix", slope.team.name, slope.name, "byte/s", level=slope.level)
        yield key, _quantity(slope.rate, slope.name, "access mix", revisions)
        wanted = mixes.get(slope.level, "") if slope.team.name == whole else ""
        if slope.mix == wanted if wanted else slope.headline:
            key = Key("memory roof", slope.team.name, slope.level, "byte/s", level=slope.level)
            yield key, _quantity(slope.rate, slope.name, "memory roof", revisions)
    for access in roofline.random_access:
        if access.headline and access.verified:
            key = Key("random access", access.team.name, access.level, "byte/s", level=access.level)
            yield key, _quantity(access.rate, f"{access.level} {access.chains} chains", "random access", revisions)
    for latency in roofline.latencies:
        name = f"{latency.level} {latency.pattern}"
        key = Key("latency", latency.team.name, name, "s", level=latency.level)
        yield key, Quantity(latency.seconds, allowance(latency.rate), name, _of(revisions, "latency"))


def _best(roofs: Iterable[Roof]) -> list[Roof]:
    """Return of roofs with the same team and name the highest: one access mix may have been measured in two widths."""
    best: dict[tuple[str, str], Roof] = {}
    for roof in roofs:
        key = roof.team.name, roof.name
        if key not in best or roof.rate.best > best[key].rate.best:
            best[key] = roof
    return list(best.values())


def _kernels(placements: Iterable[Placement], revisions: Revisions) -> Iterator[Item]:
    for placement in placements:
        case, rate = placement.case, placement.flop_rate or placement.byte_rate
        if rate is None:
            continue
        name = placement.label
        unit = f"{operation(case.precision)}/s" if placement.flop_rate else "byte/s"
        key = Key("kernel", case.team.name, name, unit, case.precision, placement.level)
        yield key, Quantity(rate.best, allowance(rate), name, revisions.get(case.probe, ()))


def _ridges(found: Side) -> Iterator[Item]:
    """Yield where each compute roof meets each memory roof of its team."""
    for top, peak in found.items():
        for foot, slope in found.items():
            if top.kind == "compute roof" and foot.kind == "memory roof" and top.team == foot.team:
                name = f"{top.precision} {foot.level}"
                key = Key("ridge point", top.team, name, f"{operation(top.precision)}/byte", top.precision, foot.level)
                spread = None if peak.spread is None or slope.spread is None else peak.spread + slope.spread
                value = ridge(peak.value, slope.value)
                yield key, Quantity(value, spread, f"{peak.name}, {slope.name}", (*peak.revisions, *slope.revisions))


def _quantity(rate: Estimate, name: str, kind: Kind, revisions: Revisions) -> Quantity:
    return Quantity(rate.best, allowance(rate), name, _of(revisions, kind))


def _of(revisions: Revisions, kind: Kind) -> tuple[int, ...]:
    return tuple(number for probe in PROBES[kind] for number in revisions.get(probe, ()))
