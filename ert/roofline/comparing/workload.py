"""The kernels of a result as a workload that other machines can be asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ert.errors import InputError
from ert.roofline.comparing.machine import Machine
from ert.roofline.comparing.predict import Part, Workload
from ert.roofline.placing.place import fastest_rungs
from ert.roofline.placing.placement import Placement

FORMATS = "spmv_"
"""Names of kernels that begin so are one product in several storage formats, and a program needs it in one."""


def workload_of(name: str, placements: Sequence[Placement]) -> Workload:
    """Return the kernels of a result as a workload: each once, with the largest team that ran kernels.

    Of implementations that solve the same problem only the fastest counts, and of storage formats of one sparse product
    (:data:`FORMATS`). These, kernels of smaller teams and kernels without FLOP or traffic are left out, and notes say
    which.

    Raises
    ------
    InputError
        If nothing remains.
    """
    most = max((placement.case.team.threads for placement in placements), default=0)
    largest = [placement for placement in placements if placement.case.team.threads == most]
    chosen = _fastest_formats(fastest_rungs(largest))
    notes = []
    fewer = len(placements) - len(largest)
    if fewer:
        notes.append(f"Left out: {fewer} measurements with fewer threads than {most}.")
    slower = [placement.label for placement in largest if placement not in chosen]
    if slower:
        notes.append(f"Left out, because a faster implementation of the same was measured: {', '.join(slower)}.")
    short = Counter(_short(placement) for placement in chosen)
    parts: dict[str, Part] = {}
    skipped = []
    for placement in chosen:
        label = _short(placement) if short[_short(placement)] == 1 else placement.label
        flop, traffic = placement.work.flop, placement.work.traffic_bytes(placement.level)
        if flop and traffic:
            parts.setdefault(
                label, Part(label, flop, traffic, placement.case.precision, level=placement.level, kernel=placement)
            )
        else:
            skipped.append(label)
    if not parts:
        raise InputError(f"{name}: no kernel with FLOP and traffic, so that it is no workload; name a workload's file")
    if skipped:
        notes.insert(0, f"Left out, because they have no FLOP or no traffic: {', '.join(skipped)}.")
    return Workload(name, tuple(parts.values()), tuple(notes))


def _fastest_formats(placements: Sequence[Placement]) -> list[Placement]:
    """Leave out the slower storage formats of one sparse product: the same matrix times the same vector."""
    best: dict[tuple[object, ...], Placement] = {}
    for placement in placements:
        key = _product(placement)
        if key not in best or placement.seconds < best[key].seconds:
            best[key] = placement
    return [placement for placement in placements if best[_product(placement)] is placement]


def _product(placement: Placement) -> tuple[object, ...]:
    task = FORMATS if placement.kernel.name.startswith(FORMATS) else placement.kernel.name
    level = "" if task == FORMATS else placement.level
    return task, placement.case.parameters, placement.case.precision, level


def _short(placement: Placement) -> str:
    return f"{placement.kernel.name} {placement.size}".rstrip()


def without_unknown_levels(workload: Workload, machines: Sequence[Machine]) -> Workload:
    """Leave out the parts whose level some machine has no roof of, and note it: for workloads made of a result.

    Raises
    ------
    InputError
        If nothing remains.
    """
    known = [{slope.level for slope in machine.slopes} for machine in machines]
    kept = tuple(part for part in workload.parts if all(part.place in levels for levels in known))
    lost = [part for part in workload.parts if part not in kept]
    if not lost:
        return workload
    levels = ", ".join(dict.fromkeys(part.place for part in lost))
    note = f"Left out, because not all machines have a memory roof of {levels}: {', '.join(p.name for p in lost)}."
    if not kept:
        raise InputError(f"{workload.name}: nothing can be predicted. {note}")
    return Workload(workload.name, kept, (*workload.notes, note))
