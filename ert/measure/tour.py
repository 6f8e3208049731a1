"""How kernels are run: in which groups, and each beside the roofs that apply to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ert.measure.kernels import EFFORTS, MATRIX, is_foreign, stored_kernel, work_of
from ert.measure.visits import Visits
from ert.roofline.model import Case, ComputeRoof, Results, Roofline
from ert.roofline.placing.applies import compute_roof, memory_roof, works_of_mixes

Beside = Mapping[Case, tuple[Case, ...]]
"""For each kernel the measurements of the roofs that apply to it."""


def run(visits: Visits, chosen: Sequence[Case], effort: str, beside: Beside, first: int) -> None:
    """Visit many kernels: in groups that share their data, all rounds of a group before the next, libraries last.

    Parameters
    ----------
    visits : Visits
        What measures and writes down.
    chosen : sequence of Case
        The kernels.
    effort : str
        Name in :data:`ert.measure.kernels.EFFORTS`.
    beside : mapping of Case to tuple of Case
        For each kernel the measurements of the roofs that apply to it. They are sampled again beside the kernel: a
        machine may be faster now than when the sweep was taken, and a roof is its best sample.
    first : int
        Number of the first round that these roofs have not been visited in.
    """
    how = EFFORTS[effort]
    for group in groups(chosen):
        peaks = dict.fromkeys(roof for case in group for roof in beside[case] if roof.probe == "compute")
        for number in range(how.rounds):
            visits.round(first + number, peaks, lambda case: how.visit)
            visits.pairs(number, with_roof(group, beside), how.visit, first + number)


def with_roof(chosen: Iterable[Case], beside: Beside) -> tuple[tuple[Case, Case | None], ...]:
    """Return each kernel with the memory roof that applies to it, which moves more than a compute roof does."""
    return tuple((case, next((roof for roof in beside[case] if roof.probe == "memory"), None)) for case in chosen)


def beside(chosen: Iterable[Case], results: Results, roofline: Roofline, registers: int) -> Beside:
    """Return for each kernel case those of the compute and the memory roof that apply to it, as far as measured."""
    works = works_of_mixes(results.measurements)
    of_memory = {
        (m.case.team, m.case.level, m.case.mix): m.case for m in results.measurements if m.case.probe == "memory"
    }
    of_compute = {_arithmetic(m.case): m.case for m in results.measurements if m.case.probe == "compute"}
    found = {}
    for case in chosen:
        work = work_of(case, registers)
        facts = stored_kernel(case.probe)
        slope = memory_roof(work, case.mix, case.team, case.level, roofline.memory, works)
        peak = compute_roof(facts, case.team, case.precision, roofline.compute) if work.flop else None
        roofs = [of_memory[slope.team, slope.level, slope.mix]] if slope else []
        found[case] = (*roofs, *([of_compute[_arithmetic(peak)]] if peak else []))
    return found


def _arithmetic(what: Case | ComputeRoof) -> tuple[object, ...]:
    return what.team, what.precision, what.instructions, what.vector_bits, what.accumulators


def steps(chosen: Sequence[Case], beside: Beside, effort: str) -> int:
    """Return how many visits a tour has: a compute roof that applies to several groups has its rounds once."""
    peaks = {roof for case in chosen for roof in beside[case] if roof.probe == "compute"}
    return EFFORTS[effort].rounds * (len(chosen) + len(peaks))


def groups(chosen: Sequence[Case]) -> tuple[tuple[Case, ...], ...]:
    """Return cases in groups that share what is dear to make: a matrix, or the code; libraries in groups of their own.

    Groups come in the order of their first cases.
    """
    found: dict[tuple[object, ...], list[Case]] = {}
    for part in in_order(chosen):
        for case in part:
            matrix = dict(case.parameters).get(MATRIX, "")
            foreign = is_foreign(case)
            key = (foreign, matrix, case.parameters if matrix else case.probe, case.precision)
            found.setdefault(key, []).append(case)
    return tuple(tuple(group) for _, group in sorted(found.items(), key=lambda item: bool(item[0][0])))


def in_order(chosen: Iterable[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Return the cases of our own code and those of libraries, whose waiting threads must disturb nothing."""
    chosen = tuple(chosen)
    foreign = [case for case in chosen if is_foreign(case)]
    return tuple(case for case in chosen if case not in foreign), tuple(foreign)
