"""Bounds of workloads on machines, totals and crossings: worked cases, and properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.errors import InputError
from ert.roofline.comparing.machine import Machine, given_machine, measured_machine
from ert.roofline.comparing.predict import Part, Workload, crossing, forecast, predict
from ert.roofline.comparing.workload import without_unknown_levels, workload_of
from ert.roofline.formulas import attainable, in_flight
from ert.roofline.placing.place import place
from ert.show.prediction import beaten
from tests import factories

A, B = given_machine("A", 100e12, 0.9e12), given_machine("B", 40e12, 1.6e12)


def part(intensity: float, **changes: object) -> Part:
    return Part(**{"name": "part", "flop": intensity * 1e9, "traffic": 1e9, "precision": "fp64", **changes})  # type: ignore[arg-type]


def epyc() -> Machine:
    return measured_machine("EPYC", "a.json", factories.zen4_results(), factories.zen4())


def test_intensity_2_under_60_tflops_and_1_5_terabytes() -> None:
    found = forecast(part(2), given_machine("M", 60e12, 1.5e12))
    assert found.ridge == pytest.approx(40)
    assert found.attainable == pytest.approx(3e12)
    assert found.bound == "memory"


def test_the_machine_with_the_faster_memory_is_better_below_the_crossing() -> None:
    found = predict(Workload("w", (part(1),)), (A, B))
    assert [prospect.forecasts[0].attainable for prospect in found.prospects] == pytest.approx([0.9e12, 1.6e12])
    assert [prospect.forecasts[0].ridge for prospect in found.prospects] == pytest.approx([1000 / 9, 25])
    assert found.ranking == (1, 0)
    assert found.faster(1, 0) == pytest.approx(16 / 9)
    (crossed,) = found.crossings
    assert crossed.at == pytest.approx(44.4, abs=0.05)
    assert (crossed.memory_better, crossed.compute_better) == (1, 0)
    assert (crossed.memory_ratio, crossed.compute_ratio) == pytest.approx((0.9 / 1.6, 2.5))
    for intensity, better in ((44.0, 1), (45.0, 0)):
        assert predict(Workload("w", (part(intensity),)), (A, B)).ranking[0] == better


def test_a_matrix_product_of_4096_in_bf16() -> None:
    n = 4096
    product = Part("product", 2 * n**3, 3 * n * n * 2, "bf16")
    found = forecast(product, given_machine("M", 989e12, 3.35e12))
    assert product.intensity == pytest.approx(1365, abs=0.5)
    assert found.bound == "compute"
    assert found.seconds == pytest.approx(139e-6, rel=1e-3)


def test_gelu_and_decoding_are_bound_by_memory() -> None:
    machine = given_machine("M", 989e12, 3.35e12)
    gelu = forecast(Part("gelu", 8 * 5e9, 10e9 + 10e9, "bf16"), machine)
    assert (gelu.bound, gelu.seconds) == ("memory", pytest.approx(6.0e-3, rel=0.01))
    token = forecast(Part("decode", 2 * 70e9, 140e9, "bf16"), machine)
    assert (token.bound, 1 / token.seconds) == ("memory", pytest.approx(24, abs=0.1))


def test_little_s_law() -> None:
    assert in_flight(100e9, 300 / 2.5e9) == pytest.approx(12e3)
    with pytest.raises(ValueError, match="negative"):
        in_flight(-1.0, 1.0)


def test_at_the_ridge_point_a_part_is_compute_bound() -> None:
    assert forecast(part(25), B).bound == "compute"
    assert forecast(part(24.999), B).bound == "memory"


def test_weights_count_how_often_a_part_is_done() -> None:
    workload = Workload("w", (part(1, name="a", weight=3), part(100, name="b", weight=0.5)))
    (prospect,) = predict(workload, (B,)).prospects
    assert [each.total_seconds for each in prospect.forecasts] == pytest.approx([3 * 1 / 1600, 0.5 * 100 / 40000])
    assert prospect.seconds == pytest.approx(3 / 1600 + 0.5 / 400)


def test_the_level_of_a_part_chooses_the_memory_roof() -> None:
    assert forecast(part(0.1, level="L1"), epyc()).slope.rate == pytest.approx(2 * 328e9)
    assert forecast(part(0.1), epyc()).slope.level == "DRAM"
    with pytest.raises(InputError, match="no memory roof of L1; it has: DRAM"):
        forecast(part(1, level="L1"), A)
    with pytest.raises(InputError, match="no compute roof of bf16; it has: fp64, fp32"):
        forecast(part(1, precision="bf16"), epyc())


@pytest.mark.parametrize(
    ("first", "second", "at", "memory", "compute"),
    [
        ((10, 1), (10, 2), None, 1, None),
        ((10, 1), (20, 1), None, None, 1),
        ((10, 1), (10, 1), None, None, None),
        ((20, 2), (10, 1), None, 0, 0),
        ((20, 1), (10, 2), 10.0, 1, 0),
        ((10, 2), (20, 1), 10.0, 0, 1),
    ],
)
def test_a_crossing_exists_where_each_machine_is_ahead_somewhere(
    first: tuple[float, float], second: tuple[float, float], at: float | None, memory: int | None, compute: int | None
) -> None:
    found = crossing([given_machine("A", *first), given_machine("B", *second)], 0, 1, "fp64")
    assert (found.at, found.memory_better, found.compute_better) == (at, memory, compute)


rates = st.floats(min_value=1e-3, max_value=1e15)


@given(rates, rates, rates, rates)
def test_both_machines_attain_the_same_at_the_crossing(p: float, b: float, q: float, c: float) -> None:
    found = crossing([given_machine("A", p, b), given_machine("B", q, c)], 0, 1, "fp64")
    if found.at is not None:
        assert attainable(found.at, p, b) == pytest.approx(attainable(found.at, q, c))
        low, high = found.at / 1.01, found.at * 1.01
        signs = [attainable(at, p, b) - attainable(at, q, c) for at in (low, high)]
        assert signs[0] * signs[1] <= 0
    else:
        ratios = [attainable(at, p, b) / attainable(at, q, c) for at in (1e-20, 1e-3, 1.0, 1e3, 1e20)]
        assert max(ratios) <= 1 + 1e-6 or min(ratios) >= 1 - 1e-6


def test_totals_inside_the_spread_of_their_roofs_are_equal() -> None:
    other = measured_machine("other", "b.json", factories.zen4_results(), factories.zen4())
    found = predict(Workload("w", (part(0.1),)), (epyc(), other, A))
    assert found.equal(0, 1)
    assert not found.equal(0, 2)
    assert found.prospects[0].spread == pytest.approx(0.005)
    assert found.prospects[2].spread == 0.0


def test_the_kernels_of_a_result_are_a_workload_once_a_ladder() -> None:
    roofline = factories.zen4()
    results = factories.kernel_results(roofline, teams=(factories.ONE, factories.BOTH), precisions=("fp64", "fp32"))
    workload = workload_of("a.json", place(results, roofline))
    names = [each.name for each in workload.parts]
    assert len(set(names)) == len(names)
    assert [name for name in names if name.startswith("gemm")] == [
        "gemm_reordered n 512 fp64 DRAM", "gemm_blas n 2048 fp64 DRAM",
        "gemm_reordered n 512 fp32 DRAM", "gemm_blas n 2048 fp32 DRAM",
    ]  # fmt: skip
    assert "Left out, because they have no FLOP or no traffic: stream_copy n 16777216" in workload.notes[0]
    dot = next(each for each in workload.parts if each.name == "dot n 16777216 fp64 DRAM")
    assert (dot.flop, dot.traffic, dot.level) == (2 * 2**24, 16 * 2**24, "DRAM")
    with pytest.raises(InputError, match="no kernel with FLOP and traffic"):
        workload_of("a.json", ())


def test_a_kernel_is_held_against_the_roofs_that_apply_to_it() -> None:
    roofline = factories.zen4()
    results = factories.kernel_results(roofline)
    placements = place(results, roofline)
    machine = measured_machine("EPYC", "a.json", results, roofline)
    workload = workload_of("a.json", placements)
    own = predict(workload, (replace(machine, kernels=placements),)).prospects[0].forecasts
    assert own
    for each in own:
        kernel = each.part.kernel
        assert kernel is not None
        assert each.seconds == pytest.approx(kernel.lower_bound)
        assert each.measured == kernel.seconds
        assert each.beaten == (kernel.seconds * (1 + each.spread) < each.seconds)
    # On another result, roofs of the same kind; on a promise, the headline roofs.
    other = predict(workload, (machine,)).prospects[0].forecasts
    assert [each.slope.name for each in other] == [each.slope.name for each in own]
    assert {each.measured for each in other} == {None}
    promised = predict(Workload("w", workload.parts[:1]), (A,)).prospects[0].forecasts[0]
    assert promised.slope.rate == 0.9e12


def test_a_kernel_above_its_bound_is_told() -> None:
    roofline = factories.zen4()
    results = factories.kernel_results(roofline)
    placements = tuple(replace(placement, seconds=placement.seconds / 10) for placement in place(results, roofline))
    machine = replace(measured_machine("EPYC", "a.json", results, roofline), kernels=placements)
    found = predict(workload_of("a.json", placements), (machine,))
    assert any(each.beaten for each in found.prospects[0].forecasts)
    sentences = beaten(found, ["EPYC"])
    assert len(sentences) == sum(each.beaten for each in found.prospects[0].forecasts)
    assert "which is less than its lower bound of" in sentences[0]


def test_what_a_result_leaves_out_of_its_workload_is_listed() -> None:
    roofline = factories.zen4()
    results = factories.kernel_results(roofline, teams=(factories.ONE, factories.BOTH))
    placements = place(results, roofline)
    workload = workload_of("a.json", placements)
    told = " ".join(workload.notes)
    assert "with fewer threads than 2" in told
    for placement in placements:
        if placement.case.team == factories.BOTH:
            kept = [part for part in workload.parts if part.kernel is placement]
            assert kept or f"{placement.kernel.name} {placement.size}" in told


def test_of_formats_of_one_sparse_product_the_fastest_counts() -> None:
    roofline = factories.zen4()
    (dot,) = [p for p in place(factories.kernel_results(roofline), roofline) if p.kernel.name == "dot"]
    csr = replace(dot, kernel=replace(dot.kernel, name="spmv_csr"))
    sell = replace(dot, kernel=replace(dot.kernel, name="spmv_sell"), seconds=dot.seconds / 2)
    workload = workload_of("a.json", (csr, sell))
    assert [part.kernel for part in workload.parts] == [sell]
    assert workload.notes == (f"Left out, because a faster implementation of the same was measured: {csr.label}.",)


def test_parts_in_a_level_that_a_machine_lacks_are_left_out_and_told() -> None:
    workload = Workload("w", (part(1, name="in cache", level="L2"), part(1, name="in memory")))
    kept = without_unknown_levels(workload, (epyc(), A))
    assert [each.name for each in kept.parts] == ["in memory"]
    assert kept.notes == ("Left out, because not all machines have a memory roof of L2: in cache.",)
    assert without_unknown_levels(workload, (epyc(),)) is workload
    with pytest.raises(InputError, match=r"w: nothing can be predicted\. Left out, .*: in cache"):
        without_unknown_levels(Workload("w", workload.parts[:1]), (A,))
