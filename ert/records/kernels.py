"""The part of the public report on application kernels: catalogue facts, placements, reuse that passes ridges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ert.records.irregular import certainty
from ert.roofline.model import ComputeRoof, Kernel, MemoryRoof, Results, Roofline
from ert.roofline.placing.applies import is_roof
from ert.roofline.placing.blocking import block_sizes, crossing_batch
from ert.roofline.placing.place import Placement, place, rank
from ert.roofline.quantities import operation


def kernels(results: Results, roofline: Roofline, compute: Sequence[str], memory: Sequence[str]) -> dict[str, Any]:
    """Return the lists of the report on application kernels, as docs/report-json.md has them.

    Parameters
    ----------
    results, roofline
        As of :func:`ert.records.report.report`.
    compute, memory : sequence of str
        The names of the roofline's compute and memory roofs in the report.
    """
    placements = place(results, roofline)
    order = {id(placement): position for position, placement in enumerate(rank(placements), 1)}
    return {
        "kernels": [_kernel(kernel) for kernel in results.kernels],
        "placements": [
            _placement(
                placement,
                _name(placement.compute_roof, roofline.compute, compute),
                _slope_name(placement.memory_roof, roofline.memory, memory),
                order.get(id(placement)),
            )
            for placement in placements
        ],
        "reuse": _reuse(placements, roofline),
    }


def _name(roof: ComputeRoof | None, roofs: Sequence[ComputeRoof], names: Sequence[str]) -> str | None:
    return next((name for other, name in zip(roofs, names, strict=True) if other is roof), None)


def _slope_name(roof: MemoryRoof | None, roofs: Sequence[MemoryRoof], names: Sequence[str]) -> str | None:
    """Return the name of a memory roof, also where another rate of it counts."""
    return next((name for other, name in zip(roofs, names, strict=True) if roof and is_roof(roof, other)), None)


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "family": kernel.family,
        "title": kernel.title,
        "implementation": kernel.implementation,
        "flop_formula": kernel.flop,
        "read_formula": kernel.read,
        "written_formula": kernel.written,
        "compulsory_formula": kernel.compulsory,
        "traffic_formula": kernel.traffic,
        "source": kernel.source,
        "instructions": kernel.instructions,
        "mix": kernel.mix,
        "limit": kernel.limit,
        "nominal": kernel.nominal,
        "ladder": kernel.ladder,
        "rung": kernel.rung or None,
        "notes": kernel.notes,
    }


def _placement(
    placement: Placement, compute_roof: str | None, memory_roof: str | None, position: int | None
) -> dict[str, Any]:
    case, work = placement.case, placement.work
    flop_rate, byte_rate = placement.flop_rate, placement.byte_rate
    rate = flop_rate or byte_rate
    unit = f"{operation(case.precision)}/s" if flop_rate else "byte/s"
    return {
        "kernel": placement.kernel.name,
        "parameters": dict(case.parameters),
        "size": placement.size,
        "precision": case.precision,
        "team": case.team.name,
        "threads": case.team.threads,
        "level": placement.level,
        "working_set_bytes": case.working_set,
        "total_working_set_bytes": case.total_working_set,
        "flop": work.flop,
        "read_bytes": work.read_bytes,
        "written_bytes": work.written_bytes,
        "allocate_bytes": work.allocate_bytes,
        "compulsory_bytes": work.compulsory_bytes,
        "traffic_bytes": work.traffic_bytes(placement.level),
        "flop_per_byte": placement.intensity,
        "program_flop_per_byte": placement.program_intensity,
        "flop_per_s": flop_rate.best if flop_rate else None,
        "byte_per_s": byte_rate.best if byte_rate else None,
        "unit": unit,
        **(certainty(rate) if rate else {}),
        "verified": placement.code.verified,
        "code": {
            "status": placement.code.status,
            "reason": placement.code.reason,
            "found": dict(placement.code.found),
        },
        "compute_roof": compute_roof,
        "memory_roof": memory_roof,
        "memory_roof_per_s": placement.memory_roof.rate.best if placement.memory_roof else None,
        "memory_roof_moved": placement.beside,
        "attainable_per_s": placement.attainable,
        "compute_share": placement.compute_share,
        "memory_share": placement.memory_share,
        "efficiency": placement.efficiency,
        "bound": placement.bound,
        "seconds": placement.seconds,
        "lower_bound_seconds": placement.lower_bound,
        "headroom_seconds": placement.headroom,
        "rank": position,
        "rule": placement.rule,
        "advice": list(placement.advice),
    }


def _reuse(placements: Sequence[Placement], roofline: Roofline) -> list[dict[str, Any]]:
    """Return the blocks and batches for every team and precision that dense kernels were measured with."""
    dense = [placement.case for placement in placements if placement.kernel.family == "dense"]
    return [
        {
            "team": team.name,
            "threads": team.threads,
            "precision": precision,
            "level": block.memory.level,
            "flop_per_byte": block.ridge,
            "block": block.side,
            "held_bytes": block.held_bytes,
            "holder": block.holder,
            "effective_capacity_bytes": block.capacity,
            "fits": block.fits,
            "batch": crossing_batch(roofline, team, precision, block.memory.level),
        }
        for team, precision in dict.fromkeys((case.team, case.precision) for case in dense)
        for block in block_sizes(roofline, team, precision)
    ]
