"""What must be known before numbers of machines, measured and promised, are held against each other."""

from __future__ import annotations

from collections.abc import Sequence

from ert.roofline.comparing.machine import Machine

STREAMS = 0.7, 0.95
"""Share of the bandwidth of the pins that streams reach on machines that are in order: refresh, turning from reads to
writes and opening rows take the rest."""


def cautions(machines: Sequence[Machine], names: Sequence[str]) -> tuple[str, ...]:
    """Return sentences on what the roofs of machines do not say.

    Parameters
    ----------
    machines : sequence of Machine
        Those that are compared or ranked.
    names : sequence of str
        What they are called.

    Returns
    -------
    tuple of str
        What each promise leaves out, then what promises of different kinds have to do with each other.
    """
    found = [
        f"{name}: {sentence}" for machine, name in zip(machines, names, strict=True) for sentence in machine.cautions
    ]
    promised = [name for machine, name in zip(machines, names, strict=True) if machine.kind == "sheet"]
    measured = [name for machine, name in zip(machines, names, strict=True) if machine.kind == "result"]
    clocks = {name: machine.clock for machine, name in zip(machines, names, strict=True) if machine.clock}
    if len(set(clocks.values())) > 1:
        each = ", ".join(f"{name} {clock}" for name, clock in clocks.items())
        found.append(f"The promised peaks are not meant at the same kind of clock: {each}.")
    if promised and measured:
        low, high = STREAMS
        found.append(
            f"A promised bandwidth ({', '.join(promised)}) is that of the memory's pins, and streams reach {low:g} to "
            f"{high:g} of it; a promised peak is units x clock. What was measured ({', '.join(measured)}) has paid "
            "that already."
        )
    return tuple(found)
