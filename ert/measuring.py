"""What commands that measure share: they take turns on a machine, and look at it before they begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from ert import door
from ert.measure.condition import observe
from ert.measure.turn import Turn, turn
from ert.roofline.fitness import fitness
from ert.roofline.model import Condition, Host
from ert.show.fitness import waiting, warnings

NO_WAIT = "measure at once even if another run is measuring on this machine (default: wait for it to end)"


class Run(Protocol):
    """What a command does once its input is known to be good."""

    def run(self, mine: Turn) -> int:
        """Measure; return the exit code."""


_Run = TypeVar("_Run", bound=Run)


def in_turn(prepare: Callable[[], _Run], *, wait: bool) -> int:
    """Prepare a run and do it when no other is measuring; return its exit code.

    It is prepared before the wait, so that bad input need not wait, and again after one: memory that was in use then is
    free now, and a sweep that kernels build on may have come into being.
    """
    ready = prepare()
    with turn(lambda holder: door.complain(waiting(holder, wait=wait)), wait=wait) as mine:
        return (prepare() if mine.waited else ready).run(mine)


def look(host: Host, mine: Turn) -> Condition:
    """Return the condition of the machine, and warn of what is not as it should be."""
    condition = observe(host, alone=mine.alone)
    for sentence in warnings(fitness(host, condition)):
        door.complain(sentence)
    return condition
