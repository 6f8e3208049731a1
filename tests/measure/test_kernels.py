"""The plan of the kernels: names, sizes, levels, what does not fit, and the order in which they run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ert.errors import InputError
from ert.measure import kernels
from ert.measure.kernels import Ground, Wish
from ert.roofline.model import Case, Team
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Problem, Program, Request, Spec, Unsuitable, as_many, fixed, plain
from microbench.kernels.registry import KERNELS, kernel

MIB = 1 << 20
ONE, ALL = Team("one", (0,), 1), Team("all", (0, 1, 2, 3), 4)
LEVELS = {"L1": 16 << 10, "L2": 512 << 10, "L3": 4 * MIB, "DRAM": 64 * MIB}
CAPACITIES = {"L1": 32 << 10, "L2": MIB, "L3": 8 * MIB}


def ground(team: Team = ONE, **changes: Any) -> Ground:
    widths = {(level, mix): 256 for level in LEVELS for mix in ("copy", "load")}
    return replace(Ground(team, LEVELS, CAPACITIES, widths, {"fp64": 512, "fp32": 512}, 32), **changes)


def _task(problem: Problem) -> Program:
    raise AssertionError("a plan builds nothing")


def spec(name: str = "made_up", **changes: Any) -> Spec:
    given: dict[str, Any] = {
        "name": name,
        "family": "vector",
        "title": "made up",
        "implementation": "explicit vectors",
        "source": "here",
        "flop": Formula("n"),
        "read": Formula("s*n"),
        "written": Formula("s*n"),
        "compulsory": Formula("2*s*n"),
        "working_set": Formula("2*s*n"),
        "sizes": ("n", "m"),
        "fit": as_many(2, 16),
        "quantities": plain,
        "task": _task,
        "mix": "copy",
        "streaming": True,
    }
    return Spec(**{**given, **changes})


@pytest.fixture(autouse=True)
def _in_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalogue hold whatever these tests make up."""
    made = [spec(), spec("foreign", implementation="library", family="dense", streaming=False, fit=fixed(n=64))]
    monkeypatch.setattr(kernels.registry, "KERNELS", (*KERNELS, *made))
    monkeypatch.setattr(kernels.registry, "_BY_NAME", {entry.name: entry for entry in (*KERNELS, *made)})


def test_a_streaming_kernel_runs_at_each_level_when_everything_is_wanted() -> None:
    found, absent = kernels.cases(Wish((spec(),), ("fp64",), everything=True), [ground()], 1 << 40)
    assert [case.level for case in found] == list(LEVELS)
    for case, size in zip(found, LEVELS.values(), strict=True):
        assert 0.9 * size < case.working_set <= size
    assert {case.vector_bits for case in found} == {256}
    assert absent == ()


def test_otherwise_it_runs_in_memory_and_with_each_team_and_precision() -> None:
    found, _ = kernels.cases(Wish((spec(),)), [ground(), ground(ALL)], 1 << 40)
    assert [(case.team, case.precision) for case in found] == [
        (ONE, "fp64"), (ALL, "fp64"), (ONE, "fp32"), (ALL, "fp32"),
    ]  # fmt: skip
    assert {case.level for case in found} == {"DRAM"}
    assert all(0.9 * 64 * MIB < case.working_set <= 64 * MIB for case in found)


@pytest.mark.parametrize(("n", "level"), [(16, "L1"), (16 << 10, "L2"), (256 << 10, "L3"), (1 << 24, "DRAM")])
def test_a_size_that_the_user_sets_decides_the_level(n: int, level: str) -> None:
    (case,), _ = kernels.cases(Wish((spec(),), ("fp64",), {"": n}, everything=True), [ground()], 1 << 40)
    assert case.level == level
    assert dict(case.parameters)["n"] == n


def test_the_level_follows_the_bytes_of_one_thread() -> None:
    chosen = Wish((spec(streaming=False),), ("fp64",), {"n": 256 << 10})
    (one, four), _ = kernels.cases(chosen, [ground(), ground(ALL)], 1 << 40)
    assert (one.working_set, four.working_set) == (4 * MIB, MIB)
    assert (one.level, four.level) == ("L3", "L2")


def test_a_series_runs_whole_and_only_when_everything_is_wanted() -> None:
    batches = spec(streaming=False, series=lambda request: ({"n": 32, "m": 1}, {"n": 64, "m": 2}))
    found, _ = kernels.cases(Wish((batches,), ("fp64",), everything=True), [ground()], 1 << 40)
    assert [dict(case.parameters).get("m") for case in found] == [None, 1, 2]
    found, _ = kernels.cases(Wish((batches,), ("fp64",)), [ground()], 1 << 40)
    assert len(found) == 1
    usual = replace(batches, usual_series=lambda request: ({"n": 64, "m": 2},))
    found, _ = kernels.cases(Wish((usual,), ("fp64",)), [ground()], 1 << 40)
    assert [dict(case.parameters).get("m") for case in found] == [None, 2]


def test_what_cannot_be_computed_or_does_not_fit_is_absent_with_the_reason() -> None:
    def refuse(problem: Problem) -> dict[str, int]:
        raise Unsuitable("its rows are too unlike")

    found, absent = kernels.cases(Wish((spec(quantities=refuse), spec("other")), ("fp64",)), [ground()], 1 << 40)
    assert [case.probe for case in found] == ["other"]
    assert absent[0][1] == "its rows are too unlike"
    found, absent = kernels.cases(Wish((spec(),), ("fp64",)), [ground()], 32 * MIB)
    assert found == ()
    assert "64 MiB of memory, of which 32 MiB may be used" in absent[0][1]
    found, absent = kernels.cases(Wish((spec(flop=Formula("n**9")),), ("fp64",)), [ground()], 1 << 40)
    assert found == ()
    assert "lifetime" in absent[0][1]


def test_more_threads_than_a_kernel_can_use_are_not_measured() -> None:
    found, _ = kernels.cases(Wish((spec(most_threads=1),), ("fp64",)), [ground(), ground(ALL)], 1 << 40)
    assert [case.team for case in found] == [ONE]


def test_vectors_are_as_wide_as_the_roofs_best_ones() -> None:
    explicit, compiled = spec(), spec(implementation="compiled loops")
    assert ground().bits(explicit, "fp64", "L1") == 256
    assert ground(stream_bits={}).bits(explicit, "fp64", "L1") == 512
    assert ground().bits(replace(explicit, streaming=False), "fp64", "L1") == 512
    assert ground().bits(explicit, "fp64", "DRAM") == 256
    assert ground().bits(replace(explicit, flop=Formula("30*n")), "fp64", "L1") == 512
    assert ground().bits(compiled, "fp64", "L1") == 0


def test_an_ordinary_sweep_runs_the_representatives_of_its_precisions() -> None:
    wish = kernels.wish(kernels.SOME, ("fp64", "fp32", "bf16"))
    assert wish is not None
    assert {entry.family for entry in wish.specs} == {entry.family for entry in KERNELS if entry.representative}
    for entry in wish.specs:
        found, _ = kernels.cases(replace(wish, specs=(entry,)), [ground()], 1 << 40)
        assert {case.precision for case in found} == set(entry.representative)
    assert kernels.wish(kernels.SOME, ("bf16",)) is None
    assert kernels.wish(kernels.NONE, ("fp64",)) is None
    every = kernels.wish(kernels.EVERY, ("fp64",))
    assert every is not None
    assert len(every.specs) == len(KERNELS) + 2
    with pytest.raises(InputError, match="unknown choice of kernels 'few'"):
        kernels.wish("few", ("fp64",))


def test_names_are_kernels_families_ladders_or_all() -> None:
    assert [entry.name for entry in kernels.named(["made_up", "made_up"])] == ["made_up"]
    assert {entry.family for entry in kernels.named(["stencil"])} == {"stencil"}
    assert kernels.named([kernels.EVERY]) == kernels.registry.KERNELS
    with pytest.raises(InputError, match="did you mean made_up"):
        kernels.named(["made_pu"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("AXPY", r"did you mean axpy\?"),
        ("triad", r"did you mean stream_triad or stream_triad_nt\?"),
        ("conv", "did you mean convolution"),
        ("qqqq", "--list"),
        ("", "empty"),
        (" ", "empty"),
    ],
)
def test_a_name_that_is_none_is_answered_with_those_it_may_stand_for(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        kernels.named([name])


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("2048", {"": 2048}), ("n=3, batch=4", {"n": 3, "batch": 4}), ("matrix=random,n=9", {"matrix": "random", "n": 9})],
)
def test_sizes_are_read(text: str, sizes: dict[str, int | str]) -> None:
    assert kernels.sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a whole number"),
        ("0", "from 1 to"),
        ("-5", "expected a whole number"),
        ("1e3", "expected a whole number"),
        ("n=", "expected a whole number or NAME=NUMBER, found 'n='"),
        ("n=1,n=2", "names n twice"),
        (f"{10**30}", "from 1 to"),
        ("n=²", "expected"),
    ],
)
def test_sizes_that_are_none_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=f"^--size.*{words}"):
        kernels.sizes(text)


def test_a_size_that_a_kernel_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="made_up has no size k; it has n, m"):
        kernels.cases(Wish((spec(),), sizes={"k": 3}), [ground()], 1 << 40)


@pytest.mark.parametrize("text", ["fp16", "fp64,double", ",", ""])
def test_precisions_of_kernels_are_checked(text: str) -> None:
    with pytest.raises(InputError, match=r"--precisions.*fp64 and fp32"):
        kernels.precisions(text)
    assert kernels.precisions("fp32, fp64,fp32") == ("fp32", "fp64")


def test_libraries_run_last_and_kernels_that_share_a_matrix_together() -> None:
    def case(probe: str, **parameters: int | str) -> Case:
        return Case(probe, ONE, "fp64", parameters=tuple(sorted(parameters.items())))

    chosen = (case("foreign", n=1), case("made_up", n=1), case("jacobi_1d", n=1), case("made_up", n=2))
    own, foreign = kernels.in_order(chosen)
    assert foreign == (chosen[0],)
    assert own == chosen[1:]
    assert kernels.groups(chosen) == ((chosen[1], chosen[3]), (chosen[2],), (chosen[0],))
    sparse = (case("made_up", matrix="a", n=1), case("jacobi_1d", matrix="b", n=1), case("jacobi_1d", matrix="a", n=1))
    assert kernels.groups(sparse) == ((sparse[0], sparse[2]), (sparse[1],))


def test_work_is_that_of_the_formulas_and_traffic_belongs_to_the_level() -> None:
    case = Case("jacobi_1d", ALL, "fp32", level="L3", parameters=(("n", 1000),))
    work = kernels.work_of(case, 32)
    tally = kernel("jacobi_1d").count(Problem("fp32", {"n": 1000}, 4))
    assert (work.flop, work.read_bytes, work.written_bytes) == (tally.flop, tally.read, tally.written)
    assert work.traffic_bytes("L3") == tally.traffic
    assert work.traffic_bytes("L1") == work.program_bytes


def test_the_stored_kernel_tells_its_formulas() -> None:
    kernel_facts = kernels.stored(spec())
    assert (kernel_facts.flop, kernel_facts.read, kernel_facts.traffic) == ("n", "s·n", "s·n + s·n")


def test_a_listing_needs_no_machine() -> None:
    ((facts, case, work, _),) = kernels.listed([spec()], "fp32", {"n": 100}, MIB)
    assert facts.name == "made_up"
    assert dict(case.parameters) == {"n": 100}
    assert work.flop == 100
    ((_, case, _, _),) = kernels.listed([spec()], "fp32", {}, MIB)
    assert dict(case.parameters)["n"] == MIB // 8


def test_a_listing_gives_the_value_of_every_name_in_a_formula() -> None:
    for facts, case, _, numbers in kernels.listed(KERNELS, "fp64", {}, MIB):
        formulas = kernel(facts.name)
        known = {"s", "t", *dict(case.parameters), *numbers}
        assert formulas.flop.names | formulas.read.names | formulas.written.names | formulas.compulsory.names <= known
        assert not set(numbers) & set(formulas.sizes)
    ((_, _, _, numbers),) = kernels.listed([kernel("gemm_packed")], "fp64", {}, MIB)
    assert numbers


def test_a_listing_refuses_what_no_machine_can_compute() -> None:
    with pytest.raises(InputError, match="lifetime"):
        kernels.listed([kernel("gemm_naive")], "fp64", {"n": 10**9}, MIB)


def test_a_request_carries_what_sizes_may_depend_on() -> None:
    seen: list[Request] = []

    def fit(request: Request) -> dict[str, int | str]:
        seen.append(request)
        return {"n": 16}

    kernels.cases(Wish((spec(fit=fit),), ("fp32",)), [ground(ALL)], 1 << 40)
    (request,) = seen
    assert (request.precision, request.threads, request.bytes) == ("fp32", 4, 4 * LEVELS["DRAM"])
    assert request.capacities == CAPACITIES
    assert (request.vector_bits, request.registers) == (256, 32)


def test_a_size_that_a_listed_kernel_cannot_have_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"--size: stream_copy cannot have it: n is 1000; .* the next is 1024"):
        kernels.listed([kernel("stream_copy")], "fp64", {"n": 1000}, MIB)
