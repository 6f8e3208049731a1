"""Runs kernels in tests: as machine code on threads of a team, and as plain Python on numbers that count."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ert.measure.applications import Applications
from ert.roofline.model import Case, Code, Team, Work
from microbench import confirm
from microbench.kernels.kernel import Array, Integer, Part, Problem, Program, Spec
from microbench.team import Team as Threads
from microbench.team import Worker


def problem(precision: str, sizes: Mapping[str, int | str], threads: int = 1) -> Problem:
    """A problem for this CPU's vectors."""
    found, _ = confirm.host()
    return Problem(precision, sizes, threads, max(found.vector_bits), found.registers, fma=found.fma)


@dataclass
class Outcome:
    work: Work
    code: Code
    verdict: str
    verdict_when_spoilt: str


Spoiler = Callable[[Mapping[str, np.ndarray[Any, Any]]], None]


class Workbench:
    """Threads on which kernels run as in the product; code is made once for all tests."""

    def __init__(self) -> None:
        usable = (
            sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
        )
        self._cpus = tuple(usable[:2])
        found, _ = confirm.host()
        self._threads = Threads(dict.fromkeys(self._cpus, 1 << 16))
        self._applications = Applications(self._threads, found.registers, found.family, found.fma)

    @property
    def most_threads(self) -> int:
        return len(self._cpus)

    def run(
        self,
        spec: Spec,
        precision: str,
        sizes: Mapping[str, int | str],
        threads: int = 1,
        *,
        passes: int = 2,
        spoil: Spoiler | None = None,
        damage: Callable[[Worker], None] | None = None,
    ) -> Outcome:
        """Run a kernel; then the last part is damaged, a program's arrays by `spoil`, a stream's memory by `damage`.

        Then it is checked again.
        """
        threads = min(threads, self.most_threads)
        bits = max(confirm.host()[0].vector_bits)
        team = Team("all" if threads > 1 else "one", self._cpus[:threads], threads)
        case = Case(spec.name, team, precision, vector_bits=bits, level="DRAM", parameters=tuple(sorted(sizes.items())))
        applications = self._applications
        work, code = applications.describe(case)
        applications.open(case)
        assert applications.run(case, passes).seconds > 0
        verdict, spoilt = applications.check(case), ""
        if spoil is not None:
            spoil(applications.views(case)[threads - 1])
            spoilt = applications.check(case)
        if damage is not None:
            self._threads.each(team.cpus[-1:], damage)
            spoilt = applications.check(case)
        applications.settle()
        return Outcome(work, code, verdict, spoilt)

    def close(self) -> None:
        self._threads.close()


# ------------------------------------------------------------------------------------------------ counting


@dataclass
class Counter:
    """What a body did: additions and multiplications, elements loaded and stored (bytes), divisions."""

    flop: int = 0
    divisions: int = 0
    read: int = 0
    written: int = 0


class Number:
    """A number that counts the arithmetic done with it."""

    __slots__ = ("counter", "value")

    def __init__(self, value: Any, counter: Counter) -> None:
        self.value, self.counter = value, counter

    def _do(self, other: Any, operation: Callable[[Any, Any], Any], *, swapped: bool = False) -> Number:
        value = other.value if isinstance(other, Number) else other
        self.counter.flop += 1
        return Number(operation(value, self.value) if swapped else operation(self.value, value), self.counter)

    def __add__(self, other: Any) -> Number:
        return self._do(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return self._do(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Number:
        return self._do(other, lambda a, b: a - b, swapped=True)

    def __mul__(self, other: Any) -> Number:
        return self._do(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Number:
        self.counter.divisions += 1
        self.counter.flop -= 1
        return self._do(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Number:
        self.counter.divisions += 1
        self.counter.flop -= 1
        return self._do(other, lambda a, b: a / b, swapped=True)

    def __neg__(self) -> Number:
        return Number(-self.value, self.counter)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < (other.value if isinstance(other, Number) else other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > (other.value if isinstance(other, Number) else other))

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __float__(self) -> float:
        return float(self.value)


class Watched:
    """An array whose element accesses are counted in bytes. Elements of float type come as counting numbers."""

    def __init__(self, array: np.ndarray[Any, Any], counter: Counter) -> None:
        self.array, self.counter = array, counter
        self.shape = array.shape
        self._counts = array.dtype.kind == "f"

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> Any:
        self.counter.read += self.array.itemsize
        value = self.array[index]
        assert np.ndim(value) == 0, "bodies touch single elements"
        return Number(value, self.counter) if self._counts else int(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.counter.written += self.array.itemsize
        self.array[index] = value.value if isinstance(value, Number) else value


def counted(
    spec: Spec,
    precision: str,
    sizes: Mapping[str, int | str],
    threads: int = 1,
    *,
    substitutes: Mapping[str, Any] | None = None,
    passes: int = 1,
) -> tuple[Counter, list[str]]:
    """Run a program's body as plain Python, part by part; return what it did and what its oracle says of each part.

    `substitutes` stand in for the intrinsics that only compiled code has: name -> function on counting numbers, or a
    function (counter) -> that, marked by the attribute `needs_counter`.
    """
    task = spec.task(problem(precision, sizes, threads))
    assert isinstance(task, Program)
    counter = Counter()
    made: dict[str, Any] = {}
    for name, value in (substitutes or {}).items():
        made[name] = value(counter) if getattr(value, "needs_counter", False) else value
    missing = set(task.makers) - set(made)
    assert not missing, f"no substitute for {missing}"
    for name, helper in task.helpers.items():
        if name not in made:
            made[name] = _with(helper, made)
    body = _with(task.body, made)
    parts = [Part(index, threads) for index in range(threads)]
    common: dict[str, np.ndarray[Any, Any]] = {}
    views: list[dict[str, np.ndarray[Any, Any]]] = []
    for part in parts:
        mine: dict[str, np.ndarray[Any, Any]] = {}
        for array in task.arrays:
            if array.shared and array.name not in common:
                common[array.name] = np.empty(array.shape(part), array.dtype)
            mine[array.name] = common[array.name] if array.shared else np.empty(array.shape(part), array.dtype)
            array.fill(part, mine[array.name])
        views.append(mine)
    for part, mine in zip(parts, views, strict=True):
        for _ in range(passes):
            body(*(_operand(argument, part, mine, counter) for argument in task.arguments))
    return counter, [task.check(part, mine, passes) for part, mine in zip(parts, views, strict=True)]


def _operand(argument: Any, part: Part, views: Mapping[str, np.ndarray[Any, Any]], counter: Counter) -> Any:
    if isinstance(argument, Array):
        return Watched(views[argument.name], counter)
    return argument.value(part) if isinstance(argument, Integer) else Number(argument.value, counter)


def _with(function: Any, made: Mapping[str, Any]) -> Any:
    return types.FunctionType(function.__code__, {**function.__globals__, **made}, function.__name__)
