"""The part of the public report on latency, concurrency, irregular access, scaling and overhead."""

from __future__ import annotations

from typing import Any

from ert.roofline.model import (
    Concurrency,
    Estimate,
    Gather,
    Latency,
    LatencyCurve,
    NodeBandwidth,
    Overhead,
    RandomAccess,
    Roofline,
    Scaling,
    Strided,
    Team,
)


def irregular(roofline: Roofline) -> dict[str, Any]:
    """Return the lists of the report that come from the probes of irregular access, as docs/report-json.md has them."""
    return {
        "latencies": [_latency(entry) for entry in roofline.latencies],
        "latency_curves": [_latency_curve(curve) for curve in roofline.latency_curves],
        "random_access": [_random_access(entry) for entry in roofline.random_access],
        "concurrency": [_concurrency(entry) for entry in roofline.concurrency],
        "gather": [_gather(entry) for entry in roofline.gathers],
        "stride": [_strided(entry) for entry in roofline.strides],
        "scaling": [_scaling(entry) for entry in roofline.scaling],
        "numa": [_node(entry) for entry in roofline.numa],
        "overheads": [_overhead(entry) for entry in roofline.overheads],
    }


def certainty(rate: Estimate) -> dict[str, Any]:
    """Return what says how sure a rate is."""
    return {"median": rate.median, "spread": rate.spread, "grade": rate.grade, "samples": rate.samples}


def _inverse(rate: Estimate) -> dict[str, Any]:
    """Return the same for a duration, whose median is in seconds."""
    return {**certainty(rate), "median": 1.0 / rate.median if rate.median > 0 else None}


def _who(team: Team) -> dict[str, Any]:
    return {"team": team.name, "threads": team.threads}


def _latency(latency: Latency) -> dict[str, Any]:
    return {
        "level": latency.level,
        "pattern": latency.pattern,
        **_who(latency.team),
        "seconds": latency.seconds,
        "cycles": latency.cycles,
        **_inverse(latency.rate),
        "declared_capacity_bytes": latency.declared,
        "effective_capacity_bytes": latency.capacity,
    }


def _latency_curve(curve: LatencyCurve) -> dict[str, Any]:
    return {
        **_who(curve.team),
        "pattern": curve.pattern,
        "points": [
            {
                "working_set_bytes": point.working_set,
                "seconds": point.seconds,
                "cycles": point.cycles,
                **_inverse(point.rate),
            }
            for point in curve.points
        ],
        "plateaus": [
            {
                "level": plateau.name,
                "seconds": plateau.value,
                "first_working_set_bytes": plateau.first,
                "last_working_set_bytes": plateau.last,
                "declared_capacity_bytes": plateau.declared,
                "effective_capacity_bytes": plateau.capacity,
            }
            for plateau in curve.plateaus
        ],
        "notes": list(curve.notes),
    }


def _random_access(access: RandomAccess) -> dict[str, Any]:
    return {
        "level": access.level,
        **_who(access.team),
        "chains": access.chains,
        "working_set_bytes": access.working_set,
        "line_bytes": access.line_bytes,
        "byte_per_s": access.rate.best,
        "lines_in_flight": access.in_flight,
        **certainty(access.rate),
        "verified": access.verified,
        "headline": access.headline,
    }


def _concurrency(law: Concurrency) -> dict[str, Any]:
    return {
        "level": law.level,
        **_who(law.team),
        "byte_per_s": law.bandwidth,
        "seconds": law.latency,
        "needed_bytes_in_flight": law.needed,
        "reached_bytes_in_flight": law.reached,
        "chains": law.chains,
    }


def _gather(gather: Gather) -> dict[str, Any]:
    return {
        "level": gather.level,
        **_who(gather.team),
        "element_bytes": gather.element_bytes,
        "index_bytes": gather.index_bytes,
        "working_set_bytes": gather.working_set,
        "byte_per_s": gather.rate.best,
        "index_byte_per_s": gather.index_rate,
        "line_byte_per_s": gather.line_rate,
        **certainty(gather.rate),
        "verified": gather.verified,
    }


def _strided(strided: Strided) -> dict[str, Any]:
    return {
        "level": strided.level,
        **_who(strided.team),
        "stride": strided.stride,
        "working_set_bytes": strided.working_set,
        "byte_per_s": strided.rate.best,
        "line_byte_per_s": strided.line_rate,
        **certainty(strided.rate),
        "verified": strided.verified,
    }


def _scaling(scaling: Scaling) -> dict[str, Any]:
    return {
        "level": scaling.level,
        "mix": "load",
        "points": [
            {
                **_who(point.team),
                "cores": point.team.cores,
                "byte_per_s": point.rate.best,
                **certainty(point.rate),
                "verified": point.verified,
            }
            for point in scaling.points
        ],
        "saturated_by_threads": scaling.saturated_by.threads if scaling.saturated_by else None,
    }


def _node(entry: NodeBandwidth) -> dict[str, Any]:
    return {
        "cpu_node": entry.cpu_node,
        "memory_node": entry.memory_node,
        **_who(entry.team),
        "working_set_bytes": entry.working_set,
        "byte_per_s": entry.rate.best,
        **certainty(entry.rate),
        "verified": entry.verified,
    }


def _overhead(overhead: Overhead) -> dict[str, Any]:
    return {"kind": overhead.kind, **_who(overhead.team), "seconds": overhead.seconds, **_inverse(overhead.rate)}
