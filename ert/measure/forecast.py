"""How long kernels will take, before any has run: from their counts and the roofs that apply to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ert.measure.kernels import EFFORTS, Beside, Effort, problem_of, work_of
from ert.measure.sampling import LONG_SECONDS, TARGET_SECONDS
from ert.roofline.model import Case, Results
from ert.roofline.quantities import whole_seconds
from microbench.kernels.kernel import Spec, Unsuitable
from microbench.kernels.registry import kernel

COMPUTE_SHARE: Mapping[str, float] = {"explicit vectors": 0.2, "library": 0.1, "compiled loops": 0.005}
"""Part of the compute roof that the slower kernels of each kind reach: a product of matrices in three plain loops was
seen at 0.7 %, since its operands come from far away one by one."""

MEMORY_SHARE = 0.1
"""The same of the memory roof."""

LONGEST_PASS = 60.0
"""Seconds: a pass expected to take longer is refused. Each round runs two or more, and none can be interrupted."""

CASE_SECONDS, VISIT_SECONDS = 0.05, 0.06
"""Of the code of a case, and of a visit with data laid, samples and check: 71 cases in 213 visits took 14 s."""


def pass_seconds(case: Case, roofs: Sequence[Case], results: Results, registers: int) -> float:
    """Return how many seconds a pass of a kernel takes at worst, roughly.

    Parameters
    ----------
    case : Case
        The kernel.
    roofs : sequence of Case
        What was measured of the roofs that apply to it: as :func:`ert.measure.kernels.beside` returns them.
    results : Results
        Holds them.
    registers : int
        Vector registers that code can name.
    """
    work, spec = work_of(case, registers), kernel(case.probe)
    seconds = [0.0]
    for measurement in (m for m in results.measurements if m.case in roofs):
        best = min(sample.seconds / sample.passes for sample in measurement.samples)
        roof = measurement.work
        if measurement.case.probe == "compute":
            seconds.append(work.flop / COMPUTE_SHARE[spec.implementation] * best / roof.flop)
        else:
            moved = work.traffic_bytes(case.level) / MEMORY_SHARE
            seconds.append(moved * best / roof.traffic_bytes(measurement.case.level))
    return max(seconds)


def too_long(case: Case, beside: Beside, results: Results, registers: int) -> str:
    """Return one sentence if a pass of a kernel is expected to take too long, else ``""``."""
    seconds = pass_seconds(case, beside[case], results, registers)
    if seconds <= LONGEST_PASS:
        return ""
    spec = kernel(case.probe)
    first = next((name for name in spec.sizes if isinstance(dict(case.parameters).get(name), int)), "")
    smaller = _smaller(case, spec, first, beside, results, registers) if first else 0
    advice = f"; --size {first}={smaller} would do" if smaller else ""
    return (
        f"a pass would take about {whole_seconds(seconds)} with {case.team.label} in {case.precision}, and cannot be "
        f"interrupted while it runs; the most is {whole_seconds(LONGEST_PASS)}{advice}"
    )


def _smaller(case: Case, spec: Spec, name: str, beside: Beside, results: Results, registers: int) -> int:
    """Return the size, halved until a pass is short enough; 0 if the kernel can have none such."""
    size = int(dict(case.parameters)[name]) // 2
    while size:
        tried = replace(case, parameters=tuple({**dict(case.parameters), name: size}.items()))
        try:
            spec.count(problem_of(tried, registers))
            if pass_seconds(tried, beside[case], results, registers) <= LONGEST_PASS:
                return size
        except Unsuitable:
            pass
        size //= 2
    return 0


def expected_seconds(passes: Iterable[float], visits: int, effort: str) -> float:
    """Return roughly how many seconds kernels take.

    Parameters
    ----------
    passes : iterable of float
        Seconds of a pass of each.
    visits : int
        Of kernels and roofs together.
    effort : str
        Name in :data:`ert.measure.kernels.EFFORTS`.
    """
    passes = tuple(passes)
    how: Effort = EFFORTS[effort]
    # A long pass is alone in its visit, after one that calibration needs in the first round.
    long = sum(
        seconds * (1 + how.rounds * (1 if seconds > LONG_SECONDS else 1 + how.visit.samples))
        for seconds in passes
        if seconds > TARGET_SECONDS
    )
    return len(passes) * CASE_SECONDS + visits * VISIT_SECONDS + long
