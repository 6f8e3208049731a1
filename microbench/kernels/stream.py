"""STREAM: copy, scale, add and triad with ordinary and with non-temporal stores, and fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from microbench.kernels.elementwise import multiply_add, spec, stream
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Problem, Spec, Stream

if TYPE_CHECKING:
    from microbench.vector import Emitter

SCALAR = 3.0
"""The factor of scale and triad, that of the original."""

SOURCE = "J. D. McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers (1995)"

Task = Callable[[Problem, bool], Stream]


def _copy(problem: Problem, nontemporal: bool) -> Stream:
    return stream(
        problem, (1,), lambda emitter, b, x, a: b[0], {}, lambda start, passes: start[1], nontemporal=nontemporal
    )


def _scale(problem: Problem, nontemporal: bool) -> Stream:
    return stream(
        problem,
        (1,),
        lambda emitter, b, x, a: emitter.mul(b[0], x, a),
        {"mul": 1},
        lambda start, passes: SCALAR * start[1],
        nontemporal=nontemporal,
        x=SCALAR,
    )


def _add(problem: Problem, nontemporal: bool) -> Stream:
    return stream(
        problem,
        (1, 2),
        lambda emitter, b, x, a: emitter.builder.fadd(b[0], b[1]),
        {"add": 1},
        lambda start, passes: start[1] + start[2],
        nontemporal=nontemporal,
    )


def _triad(problem: Problem, nontemporal: bool) -> Stream:
    combine, instructions = multiply_add(problem)

    def operation(emitter: Emitter, b: list[Any], x: Any, a: Any) -> Any:
        return combine(emitter, b[1], x, b[0])

    return stream(
        problem,
        (1, 2),
        operation,
        instructions,
        lambda start, passes: start[1] + SCALAR * start[2],
        nontemporal=nontemporal,
        x=SCALAR,
    )


def _fill(problem: Problem, nontemporal: bool) -> Stream:
    return stream(
        problem,
        (),
        lambda emitter, b, x, a: a,
        {},
        lambda start, passes: np.full_like(start[0], SCALAR),
        nontemporal=nontemporal,
        a=SCALAR,
    )


def _pair(
    name: str, text: str, task: Task, arrays: int, flop: str, mix: str, instructions: str = "", notes: str = ""
) -> tuple[Spec, Spec]:
    """Return a kernel with ordinary stores, measured at each level, and with non-temporal ones, measured in memory."""

    def made(nontemporal: bool) -> Spec:
        suffix = "_nt" if nontemporal else ""
        return spec(
            f"stream_{name}{suffix}",
            f"STREAM {name}, {text}" + (", non-temporal stores" if nontemporal else ""),
            lambda problem: task(problem, nontemporal),
            family="stream",
            flop=Formula(flop),
            reads=arrays - 1,
            writes=1,
            allocates=0 if nontemporal else 1,
            arrays=arrays,
            compulsory=arrays,
            mix=f"{mix}{suffix}",
            instructions=instructions,
            source=SOURCE,
            streaming=not nontemporal,
            representative=("fp64",) if (name, nontemporal) in REPRESENTATIVE else (),
            notes=notes,
        )

    return made(False), made(True)


REPRESENTATIVE = (("copy", False), ("triad", True))
"""Those of an ordinary sweep: one with ordinary stores and one with non-temporal ones."""

KERNELS = (
    *_pair("copy", "a = b", _copy, 2, "0", "copy"),
    *_pair("scale", "a = q b", _scale, 2, "n", "copy", "mul"),
    *_pair("add", "a = b + c", _add, 3, "n", "load2_store1", "add"),
    *_pair("triad", "a = b + q c", _triad, 3, "2*n", "triad", "fma"),
    *_pair("fill", "a = q", _fill, 1, "0", "store", notes="Not of the original: what a store alone costs."),
)
