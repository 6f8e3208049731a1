"""What differs between the hosts, toolchains and settings of results: whatever could explain a different number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ert.roofline.comparing.machine import Machine
from ert.roofline.fitting.clocks import clock_hz
from ert.roofline.model import ComputeRoof, Host, MemoryRoof, Results, Roofline, Toolchain

Value = str | int | float | bool | None

CLOCK_MOVES = 0.01
"""Core clocks nearer than this are the same: a boost clock wanders by as much within a sweep."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is not the same in all results.

    Attributes
    ----------
    group : str
        ``"host"``, ``"toolchain"``, ``"settings"`` or ``"sweep"``.
    name : str
        What it is; ends in its unit (``"memory_total_bytes"``) where it has one.
    values : tuple of str, int, float, bool or None
        One a machine; None where it is not known, and for a machine that was not measured.
    """

    group: str
    name: str
    values: tuple[Value, ...]


def differences(machines: Sequence[Machine]) -> tuple[Fact, ...]:
    """Return what differs between the machines that were measured, hosts first; nothing if less than two were."""
    tables = [
        _facts(machine.results, machine.roofline) if machine.results and machine.roofline else None
        for machine in machines
    ]
    measured = [table for table in tables if table is not None]
    keys = dict.fromkeys(key for table in measured for key in table)
    found = []
    for group, name in sorted(keys, key=lambda key: GROUPS.index(key[0])):
        values = [_told(table.get((group, name))) for table in measured]
        if not _alike(values, name):
            shown = tuple(None if table is None else _told(table.get((group, name))) for table in tables)
            found.append(Fact(group, name, shown))
    return tuple(found)


GROUPS = ("host", "toolchain", "settings", "sweep")

Table = Mapping[tuple[str, str], Value]


def _told(value: Value) -> Value:
    """Return a value, None where the result does not tell it."""
    return None if value == "" else value


def _alike(values: Sequence[Value], name: str) -> bool:
    if name.startswith(REVISION):
        # What one of them did not measure is no row of both.
        values = [value for value in values if value is not None]
    if name.startswith(CLOCK) and all(values):
        clocks = [float(value) for value in values if value]
        return max(clocks) <= min(clocks) * (1 + CLOCK_MOVES)
    return len({repr(value) for value in values}) < 2


CLOCK, REVISION = "core_clock_hz", "revision of"


def _facts(results: Results, roofline: Roofline) -> Table:
    """Return all that could matter, by group and name."""
    return {
        **{("host", name): value for name, value in _host(results.host)},
        **{("toolchain", name): value for name, value in _toolchain(results.toolchain)},
        **{("settings", name): value for name, value in results.settings},
        **{("sweep", name): value for name, value in _sweep(results, roofline)},
    }


def _host(host: Host) -> Iterable[tuple[str, Value]]:
    usable = [cpu for cpu in host.cpus if cpu.usable]
    yield "cpu", host.name
    yield "identity", " ".join([host.vendor, *(f"{key} {value}" for key, value in host.identity)])
    yield "system", f"{host.system} {host.machine}"
    yield "kernel", host.kernel
    yield "hypervisor", host.hypervisor
    yield "container", host.container
    yield "usable_cores", len({cpu.core for cpu in usable})
    yield "usable_cpus", len(usable)
    yield "online_cpus", len(host.cpus)
    yield "packages", len({cpu.package for cpu in host.cpus})
    yield "nodes", len(host.nodes)
    for (level, size), count in Counter((cache.level, cache.size) for cache in host.caches).items():
        # Sizes are names here: a level may have caches of several sizes, on two kinds of core.
        yield f"{level} caches of {size} bytes", count
    yield "memory_total_bytes", host.memory_total or None
    yield "memory_limit_bytes", host.memory_limit
    yield "cpu_quota", host.cpu_quota
    yield "huge_pages", host.thp
    yield "governor", host.governor
    yield "turbo", host.turbo
    yield "page_size_bytes", host.page_size


def _toolchain(toolchain: Toolchain) -> Iterable[tuple[str, Value]]:
    yield from toolchain.versions
    yield "target", toolchain.target
    yield "features", " ".join(toolchain.features)
    yield "vector_bits", " ".join(map(str, toolchain.vector_bits))


def _sweep(results: Results, roofline: Roofline) -> Iterable[tuple[str, Value]]:
    yield "complete", results.complete
    for team in roofline.teams:
        yield f"{CLOCK}, {team.label}", clock_hz(roofline, team)
    roofs: tuple[ComputeRoof | MemoryRoof, ...] = (*roofline.compute, *roofline.memory)
    yield "unproven_roofs", ", ".join(f"{roof.name} ({roof.team.label})" for roof in roofs if not roof.verified)
    yield "not_measured", ", ".join(name for name, _ in results.absent)
    revisions: dict[str, set[int]] = {}
    for measurement in results.measurements:
        revisions.setdefault(measurement.case.probe, set()).add(measurement.revision)
    for probe, numbers in revisions.items():
        yield f"{REVISION} {probe}", " ".join(map(str, sorted(numbers)))
