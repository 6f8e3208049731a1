"""Which kernels are points of the charts, how they are called, and what belongs together."""

from __future__ import annotations

from dataclasses import replace

from ert.roofline.placing.placement import Placement
from ert.show.charts.points import MOVED, arithmetic, entries, families, split, steps
from tests.factories import kernel, placement


def at_levels(intensities: dict[str, float], name: str = "axpy", **options: object) -> list[Placement]:
    return [
        placement(name, "vector", level=level, intensity=value, parameters=(("n", i),), **options)  # type: ignore[arg-type]
        for i, (level, value) in enumerate(intensities.items())
    ]


def test_the_outermost_level_is_the_point_and_the_same_stream_in_the_caches_is_nearer() -> None:
    placed = at_levels({"L1": 0.125, "L2": 0.083, "L3": 0.083, "DRAM": 0.083})
    points, nearer = split(placed)
    assert [point.level for point in points] == ["DRAM"]
    assert [other.level for other in nearer] == ["L1", "L2", "L3"]


def test_a_size_that_moves_the_kernel_along_the_intensities_is_a_point_in_any_level() -> None:
    placed = at_levels({"L2": 8.0, "L3": 8.0 * 1.01 * MOVED, "DRAM": 8.0 * 0.99 * MOVED**2 * 1.02})
    points, nearer = split(placed)
    assert [point.level for point in points] == ["L2", "DRAM"]
    assert [other.level for other in nearer] == ["L3"]


def test_a_kernel_that_was_measured_in_a_cache_alone_is_a_point() -> None:
    points, nearer = split(at_levels({"L2": 0.1}))
    assert (len(points), nearer) == (1, [])


def test_precisions_of_one_kernel_share_an_entry_whatever_their_sizes() -> None:
    double = placement("dot", "vector", parameters=(("n", 100),))
    single = placement("dot", "vector", precision="fp32", parameters=(("n", 200),))
    (entry,) = entries([double, single])
    assert (entry.name, entry.family, entry.placements) == ("dot", "vector", (double, single))


def test_sizes_and_inputs_are_named_where_there_are_several() -> None:
    batches = [placement("decode", "dense", parameters=(("batch", b), ("n", 4096)), precision=p)
               for b in (1, 16) for p in ("fp64", "fp32")]  # fmt: skip
    matrices = [placement("spmv", "sparse", parameters=(("matrix", m), ("n", n)))
                for m, n in (("laplacian", 9), ("uniform", 7))]  # fmt: skip
    one = placement("jacobi", "stencil", parameters=(("n", 5),))
    found = {entry.name.replace("\u00a0", " "): len(entry.placements) for entry in entries([*batches, *matrices, one])}
    assert found == {
        "decode, batch 1": 2, "decode, batch 16": 2, "spmv, laplacian": 1, "spmv, uniform": 1, "jacobi": 1,
    }  # fmt: skip


def test_the_rungs_of_a_ladder_say_their_size_where_it_is_not_the_same() -> None:
    def rung(i: int, n: int) -> Placement:
        return placement(f"gemm_{i}", "dense", parameters=(("n", n),), facts={"ladder": "gemm", "rung": i})

    named = [entry.name.replace("\u00a0", " ") for entry in entries([rung(1, 512), rung(2, 2048)])]
    assert named == ["gemm 1, n 512", "gemm 2, n 2048"]
    assert [entry.name for entry in entries([rung(1, 512), rung(2, 512)])] == ["gemm 1", "gemm 2"]


def test_sizes_that_arrays_of_another_number_leave_are_not_named() -> None:
    apart = placement("loops", "vector", parameters=(("n", 500),), facts={"ladder": "fusion", "rung": 1})
    fused = placement("loop", "vector", parameters=(("n", 750),), facts={"ladder": "fusion", "rung": 2})
    assert [entry.name for entry in entries([apart, fused])] == ["loops", "loop"]


def test_formulas_are_left_out_of_names_that_can_be_told_apart_without() -> None:
    def named(*titles: str) -> list[str]:
        return [entry.name for entry in entries([placement(f"k{i}", facts={"title": title})
                                                 for i, title in enumerate(titles)])]  # fmt: skip

    assert named("triad, a = b + q c, non-temporal stores", "two loops: t = a x, z = t + b", "y = x") == [
        "triad, non-temporal stores", "two loops", "y = x",
    ]  # fmt: skip
    assert named("norm, y = x / s", "norm, y = x s") == ["norm, y = x / s", "norm, y = x s"]


def test_two_measurements_of_the_same_are_two_entries() -> None:
    first = placement("dot", "vector")
    second = replace(first, seconds=2 * first.seconds)
    assert [entry.placements for entry in entries([first, second])] == [(first,), (second,)]


def test_families_come_in_the_order_of_texts_and_unknown_ones_last() -> None:
    points = [placement(f"k{i}", family) for i, family in enumerate(("quantum", "neural", "stream"))]
    assert families(points) == ["stream", "neural", "quantum"]
    assert [entry.family for entry in entries(points)] == ["stream", "neural", "quantum"]


def test_a_ladder_goes_from_rung_to_rung_by_its_largest_sizes() -> None:
    def rung(i: int, seconds: float, n: int, precision: str = "fp64") -> Placement:
        return placement(
            f"gemm_{i}", "dense", intensity=10.0 * n, parameters=(("n", n),), precision=precision,
            facts={"ladder": "gemm", "rung": i}, seconds=seconds,
        )  # fmt: skip

    small, large = rung(3, 0.1, 1), rung(3, 5.0, 8)
    first, single = rung(1, 9.0, 8), rung(1, 9.0, 8, "fp32")
    found = [step for step in steps([small, large, first, single], []) if step.kind == "ladder"]
    assert [(step.start, step.end) for step in found] == [(first, large)]


def test_sizes_are_a_series_and_so_are_levels() -> None:
    batches = [placement("decode", "dense", intensity=float(b), parameters=(("batch", b),)) for b in (16, 1, 4)]
    found = steps(batches, [])
    assert [(step.kind, step.start, step.end) for step in found] == [
        ("size", batches[1], batches[2]),
        ("size", batches[2], batches[0]),
    ]
    points, nearer = split(at_levels({"DRAM": 0.083, "L1": 0.083}))
    (step,) = steps(points, nearer)
    assert (step.kind, step.start.level, step.end.level) == ("level", "L1", "DRAM")


def test_inputs_are_no_series() -> None:
    assert not steps([placement("spmv", "sparse", parameters=(("matrix", m),)) for m in ("a", "b")], [])


def test_without_arithmetic_or_traffic_there_is_no_place_on_the_axes() -> None:
    usual = placement()
    assert arithmetic(usual)
    assert not arithmetic(placement("fill", intensity=0.0))
    assert not arithmetic(replace(usual, intensity=None))
    assert not arithmetic(replace(usual, flop_rate=None))
    ladder = kernel(ladder="copy", rung=1)
    assert not steps([replace(placement("fill", intensity=0.0), kernel=ladder)], [])
