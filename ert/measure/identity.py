"""Whether a result may be added to: it must come from this machine, and from CPUs that this process may use."""

from __future__ import annotations

from collections.abc import Iterable

from ert.errors import InputError
from ert.roofline.model import Host, Team

TELLING = ("cpu_model", "vendor", "identity", "machine", "caches")
"""Fields of a host that differ between machines and not from day to day on one."""


def require_same_machine(then: Host, now: Host, option: str) -> None:
    """Refuse a result of another machine.

    Raises
    ------
    InputError
        Naming `option` and what differs.
    """
    for name in TELLING:
        if getattr(then, name) != getattr(now, name):
            raise InputError(
                f"{option}: the result comes from another machine ({name.replace('_', ' ')} "
                f"{getattr(then, name)!r}, here {getattr(now, name)!r})"
            )


def require_same_cpus(measured: Iterable[Team], usable: Iterable[int], option: str) -> None:
    """Refuse a result that was measured on CPUs which this process may not use now; InputError names them."""
    foreign = sorted({cpu for team in measured for cpu in team.cpus} - set(usable))
    if foreign:
        raise InputError(f"{option}: the result was measured on other CPUs than this process may use now: {foreign}")
