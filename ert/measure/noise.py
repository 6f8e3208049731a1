"""What disturbed a sample: time stolen by the hypervisor and involuntary context switches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")
_STEAL_FIELD = 8
"""Field of a ``cpu`` line of /proc/stat that counts stolen ticks (proc_stat(5))."""


@dataclass(slots=True)
class Disturbance:
    """Seconds stolen from the watched CPUs and involuntary switches of this process; None where not known."""

    steal_seconds: float | None = None
    context_switches: int | None = None


def stolen_ticks(stat: str, cpus: Sequence[int]) -> int | None:
    """Return the ticks stolen from some CPUs since boot, from the text of /proc/stat; None if it does not tell."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    ticks = [
        int(fields[_STEAL_FIELD])
        for line in stat.splitlines()
        if (fields := line.split()) and fields[0] in wanted and len(fields) > _STEAL_FIELD
    ]
    return sum(ticks) if ticks else None


@contextmanager
def disturbances(cpus: Sequence[int]) -> Iterator[Disturbance]:
    """Watch the block inside; the object it yields is filled when the block ends."""
    seen = Disturbance()
    steal, switches = _steal(cpus), _switches()
    yield seen
    after_steal, after_switches = _steal(cpus), _switches()
    if steal is not None and after_steal is not None:
        seen.steal_seconds = (after_steal - steal) / os.sysconf("SC_CLK_TCK")
    if switches is not None and after_switches is not None:
        seen.context_switches = after_switches - switches


def _steal(cpus: Sequence[int]) -> int | None:
    try:
        return stolen_ticks(_STAT.read_text(encoding="ascii"), cpus)
    except OSError:
        return None


def _switches() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
