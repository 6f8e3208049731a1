"""The public report of a sweep: a versioned document that other programs may rely on (docs/report-json.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ert.records.disturbance import disturbances
from ert.records.fitness import conditions
from ert.records.irregular import certainty, irregular
from ert.records.kernels import kernels
from ert.roofline.model import (
    Cache,
    ComputeRoof,
    Curve,
    Estimate,
    Host,
    InstructionLatency,
    IntensityPoint,
    MemoryRoof,
    Plateau,
    Results,
    RidgePoint,
    Roofline,
    Team,
)
from ert.roofline.quantities import operation

FORMAT = "ert-roofline report"
VERSION = 1
"""Raised when a key changes its meaning or goes away. New keys do not raise it."""

COLUMNS = (
    "kind", "name", "level", "mix", "precision", "instructions", "vector_bits", "accumulators", "k", "team", "threads",
    "bytes_counted", "compute_roof", "memory_roof", "flop_per_byte", "flop_per_s", "unit", "flop_per_cycle_per_core",
    "byte_per_s", "byte_per_cycle_per_core", "median", "spread", "grade", "samples", "verified", "headline",
    "working_set_bytes", "total_working_set_bytes", "first_working_set_bytes", "last_working_set_bytes",
    "declared_capacity_bytes", "effective_capacity_bytes", "above_headline", "few_chains", "cycles",
    "saturating_chains", "kernel", "size", "program_flop_per_byte", "attainable_per_s", "compute_share", "memory_share",
    "efficiency", "bound", "seconds", "lower_bound_seconds", "headroom_seconds", "rank", "rule", "flop",
    "traffic_bytes",
)  # fmt: skip
"""Of the table that :func:`rows` returns. New ones are added at the end only."""


def report(results: Results, roofline: Roofline) -> dict[str, Any]:
    """Return the report as a JSON object: SI base units, null for what is not known, the order of the sweep.

    Parameters
    ----------
    results : Results
        The sweep.
    roofline : Roofline
        What was derived from it.

    Returns
    -------
    dict
        As docs/report-json.md describes it.
    """
    compute = _unique_names(roofline.compute)
    memory = _unique_names(roofline.memory)
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": results.host.name,
        "started": results.started,
        "roofs_started": results.roofs_started or results.started,
        "complete": results.complete,
        "host": _host(results.host),
        "toolchain": {
            "versions": dict(results.toolchain.versions),
            "target": results.toolchain.target,
            "features": list(results.toolchain.features),
            "vector_bits": list(results.toolchain.vector_bits),
        },
        "settings": dict(results.settings),
        "teams": [_team(team) for team in dict.fromkeys(m.case.team for m in results.measurements)],
        "compute_roofs": [_compute_roof(r, name) for r, name in zip(roofline.compute, compute, strict=True)],
        "memory_roofs": [_memory_roof(r, name) for r, name in zip(roofline.memory, memory, strict=True)],
        "instruction_latencies": [_instruction_latency(latency) for latency in roofline.instruction_latencies],
        "intensity_points": [_intensity_point(point) for point in roofline.points],
        "ridge_points": [
            _ridge_point(
                ridge,
                compute[roofline.compute.index(ridge.compute)],
                memory[roofline.memory.index(ridge.memory)],
            )
            for ridge in roofline.ridges
        ],
        "curves": [_curve(curve) for curve in roofline.curves],
        **irregular(roofline),
        **kernels(results, roofline, compute, memory),
        "conditions": conditions(results),
        **disturbances(results, roofline),
        "absent": [{"name": name, "needs": needs} for name, needs in results.absent],
        "notes": list(dict.fromkeys((*results.notes, *roofline.notes))),
        "seconds": {
            "total": results.seconds.total,
            "compiling": results.seconds.compiling,
            "measuring": results.seconds.measuring,
        },
    }


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a report's roofs, points, ridge points, curves, plateaus and placed kernels as one flat table.

    Parameters
    ----------
    document : dict
        What :func:`report` returned.

    Returns
    -------
    list of dict
        Each has all of :data:`COLUMNS`, None where a column says nothing of its `kind`: ``compute_roof``,
        ``memory_roof``, ``instruction_latency``, ``intensity_point``, ``ridge_point``, ``curve_point``, ``plateau``,
        ``placement``.
    """
    table = [
        *(("compute_roof", entry) for entry in document["compute_roofs"]),
        *(("memory_roof", entry) for entry in document["memory_roofs"]),
        *(("instruction_latency", entry) for entry in document["instruction_latencies"]),
        *(("intensity_point", entry) for entry in document["intensity_points"]),
        *(("ridge_point", entry) for entry in document["ridge_points"]),
    ]
    # The table has the columns of roofs; what else a report says is in its JSON form.
    for curve in document["curves"]:
        team = {"team": curve["team"], "threads": curve["threads"], "mix": curve["mix"]}
        table += [("curve_point", team | point) for point in curve["points"]]
        table += [("plateau", team | plateau) for plateau in curve["plateaus"]]
    table += [("placement", entry) for entry in document["placements"]]
    return [{name: kind if name == "kind" else entry.get(name) for name in COLUMNS} for kind, entry in table]


def _host(host: Host) -> dict[str, Any]:
    usable = [cpu for cpu in host.cpus if cpu.usable]
    return {
        "system": host.system,
        "machine": host.machine,
        "kernel": host.kernel,
        "cpu_model": host.cpu_model,
        "vendor": host.vendor,
        "identity": dict(host.identity),
        "online_cpus": len(host.cpus),
        "usable_cpus": [cpu.id for cpu in usable],
        "usable_cores": len({cpu.core for cpu in usable}),
        "packages": len({cpu.package for cpu in host.cpus}),
        "core_kinds": list(host.kinds) or sorted({cpu.kind for cpu in host.cpus if cpu.kind}),
        "caches": _caches(host.caches),
        "nodes": [{"id": node.id, "cpus": list(node.cpus), "memory_bytes": node.memory} for node in host.nodes],
        "memory_total_bytes": host.memory_total or None,
        "memory_available_bytes": host.memory_available or None,
        "memory_limit_bytes": host.memory_limit,
        "cpu_quota": host.cpu_quota,
        "hypervisor": host.hypervisor,
        "container": host.container,
        "thp": host.thp,
        "governor": host.governor,
        "turbo": host.turbo,
        "page_size_bytes": host.page_size,
        "notes": list(host.notes),
    }


def _caches(caches: Iterable[Cache]) -> list[dict[str, Any]]:
    """Count the instances that are alike."""
    alike = Counter((cache.level, cache.size, cache.line, len(cache.cpus)) for cache in caches)
    return [
        {"level": level, "size_bytes": size or None, "line_bytes": line, "cpus": cpus, "instances": instances}
        for (level, size, line, cpus), instances in alike.items()
    ]


def _team(team: Team) -> dict[str, Any]:
    return {
        "name": team.name,
        "threads": team.threads,
        "cores": team.cores,
        "cpus": list(team.cpus),
        "memory_node": team.memory_node,
    }


def _unique_names(roofs: Sequence[ComputeRoof] | Sequence[MemoryRoof]) -> list[str]:
    """Return a name for each roof that no other has: with its team, and a number behind it if that is not enough."""
    seen: Counter[str] = Counter()
    names = []
    for roof in roofs:
        name = f"{roof.name}, team {roof.team.name}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}, #{seen[name]}")
    return names


def _compute_roof(roof: ComputeRoof, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "precision": roof.precision,
        "instructions": roof.instructions,
        "vector_bits": roof.vector_bits,
        "accumulators": roof.accumulators,
        "team": roof.team.name,
        "threads": roof.team.threads,
        "flop_per_s": roof.rate.best,
        "unit": _unit(roof.precision),
        "flop_per_cycle_per_core": _per_cycle(roof.rate),
        **certainty(roof.rate),
        "verified": roof.verified,
        "headline": roof.headline,
        "above_headline": roof.above,
        "few_chains": roof.few_chains,
    }


def _instruction_latency(latency: InstructionLatency) -> dict[str, Any]:
    return {
        "name": latency.name,
        "precision": latency.precision,
        "instructions": latency.instructions,
        "vector_bits": latency.vector_bits,
        "team": latency.team.name,
        "threads": latency.team.threads,
        "cycles": latency.cycles,
        "saturating_chains": latency.saturating_chains,
        "spread": latency.rate.spread,
        "grade": latency.rate.grade,
        "samples": latency.rate.samples,
        "verified": latency.verified,
    }


def _memory_roof(roof: MemoryRoof, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "level": roof.level,
        "mix": roof.mix,
        "vector_bits": roof.vector_bits,
        "team": roof.team.name,
        "threads": roof.team.threads,
        "bytes_counted": roof.bytes_counted,
        "byte_per_s": roof.rate.best,
        "unit": "byte/s",
        "byte_per_cycle_per_core": _per_cycle(roof.rate),
        **certainty(roof.rate),
        "verified": roof.verified,
        "headline": roof.headline,
        "working_set_bytes": roof.working_set,
        "total_working_set_bytes": roof.working_set * roof.team.threads,
        "declared_capacity_bytes": roof.declared,
        "effective_capacity_bytes": roof.capacity,
    }


def _intensity_point(point: IntensityPoint) -> dict[str, Any]:
    return {
        "level": point.level,
        "mix": point.mix,
        "precision": point.precision,
        "team": point.team.name,
        "threads": point.team.threads,
        "k": point.multiply_adds,
        "flop_per_byte": point.intensity,
        "flop_per_s": point.flop_rate.best,
        "unit": _unit(point.precision),
        "byte_per_s": point.byte_rate.best,
        **certainty(point.flop_rate),
        "verified": point.verified,
    }


def _ridge_point(ridge: RidgePoint, compute: str, memory: str) -> dict[str, Any]:
    return {
        "compute_roof": compute,
        "memory_roof": memory,
        "team": ridge.compute.team.name,
        "threads": ridge.compute.team.threads,
        "precision": ridge.compute.precision,
        "level": ridge.memory.level,
        "flop_per_byte": ridge.intensity,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "team": curve.team.name,
        "threads": curve.team.threads,
        "mix": "load",
        "points": [
            {
                "working_set_bytes": point.working_set,
                "total_working_set_bytes": point.working_set * curve.team.threads,
                "byte_per_s": point.rate.best,
                "byte_per_cycle_per_core": _per_cycle(point.rate),
                **certainty(point.rate),
            }
            for point in curve.points
        ],
        "plateaus": [_plateau(plateau) for plateau in curve.plateaus],
        "notes": list(curve.notes),
    }


def _plateau(plateau: Plateau) -> dict[str, Any]:
    return {
        "level": plateau.name,
        "byte_per_s": plateau.value,
        "first_working_set_bytes": plateau.first,
        "last_working_set_bytes": plateau.last,
        "declared_capacity_bytes": plateau.declared,
        "effective_capacity_bytes": plateau.capacity,
    }


def _per_cycle(rate: Estimate) -> float | None:
    """Return the rate per cycle and core; 0 is no rate but a clock that was not read."""
    return rate.per_cycle or None


def _unit(precision: str) -> str:
    return f"{operation(precision)}/s"
