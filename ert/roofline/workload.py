"""The kernels of a result as a workload that other machines can be asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ert.errors import InputError
from ert.roofline.machine import Machine
from ert.roofline.place import fastest_rungs
from ert.roofline.placement import Placement
from ert.roofline.predict import Part, Workload


def workload_of(name: str, placements: Sequence[Placement]) -> Workload:
    """Return the kernels of a result as a workload: each once, with the largest team that ran it.

    Of implementations that solve the same problem only the fastest counts. Kernels without FLOP or
    without traffic are left out, and a note says which.

    Raises
    ------
    InputError
        If nothing remains.
    """
    most = max((placement.case.team.threads for placement in placements), default=0)
    chosen = fastest_rungs(placement for placement in placements if placement.case.team.threads == most)
    short = Counter(_short(placement) for placement in chosen)
    parts: dict[str, Part] = {}
    skipped = []
    for placement in chosen:
        label = _short(placement) if short[_short(placement)] == 1 else placement.label
        flop, traffic = placement.work.flop, placement.work.traffic_bytes(placement.level)
        if flop and traffic:
            parts.setdefault(label, Part(label, flop, traffic, placement.case.precision, level=placement.level))
        else:
            skipped.append(label)
    if not parts:
        raise InputError(f"{name}: no kernel with FLOP and traffic, so that it is no workload; name a workload's file")
    note = f"Left out, because they have no FLOP or no traffic: {', '.join(skipped)}."
    return Workload(name, tuple(parts.values()), (note,) if skipped else ())


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
