"""Do the figures of a machine sheet agree with each other? Pure."""

from __future__ import annotations

from dataclasses import replace

from ert.roofline.quantities import operation
from ert.roofline.sheets.checks import Cause, Check, judge
from ert.roofline.sheets.sheet import AcceleratorSheet, CoreSheet, Sheet

PUBLISHED_AGREES = 0.02
"""Part by which a published peak may differ from the computed one: vendors print two to four digits."""


def check_sheet(sheet: Sheet) -> tuple[Check, ...]:
    """Hold the peaks that a sheet publishes against those that follow from its other facts.

    ``measured`` is then the computed figure and ``promised`` the published one. A difference of more than 2 % that the
    sheet does not explain fails.
    """
    if isinstance(sheet, CoreSheet):
        return ()
    found = []
    for peak in sheet.peaks:
        unit = f"{operation(peak.precision)}/s"
        if isinstance(sheet, AcceleratorSheet):
            computed = sheet.computed_peak(peak.precision, peak.unit)
            basis = "units x operations per cycle x clock"
        else:
            one = sheet.peak(peak.precision, peak.clock or "base", unit=peak.unit)
            computed = None if one is None else one * peak.sockets
            basis = f"cores x operations per cycle x {peak.clock or 'base'} clock x {peak.sockets} socket(s)"
        name = f"{peak.precision} {peak.unit} peak"
        found.append(_agreement(Check("Published peaks", name, unit, computed, peak.value, basis), peak.why))
    for stated in sheet.bandwidths:
        own = sheet.memory.bandwidth if sheet.memory else None
        computed = None if own is None else own * stated.sockets
        check = Check("Published bandwidths", "memory", "B/s", computed, stated.value, "bus width x transfers")
        found.append(_agreement(check, stated.why))
    return tuple(found)


def _agreement(check: Check, why: str) -> Check:
    if check.measured is None:
        return replace(check, why="The sheet states nothing that it could be computed from.")
    cause = Cause(why or "The sheet does not say why: mend a figure or add the reason as `why`.", failed=not why)
    return judge(check, 1 - PUBLISHED_AGREES, 1 + PUBLISHED_AGREES, cause, cause)
