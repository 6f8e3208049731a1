"""Text on application kernels: the table, the advice, the ranking, the blocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ert.roofline.fitting.fit import fit
from ert.roofline.model import Code, Results
from ert.roofline.placing.place import Placement, place
from ert.show.kernels import sections
from ert.show.tables import summary
from tests import factories
from tests.factories import BOTH, ONE, placement

WHOLE = factories.zen4_whole()


def text_of(*placements: Placement, whole: bool = False) -> str:
    return "\n".join(sections(placements, WHOLE, whole=whole))


def row(text: str, name: str) -> list[str]:
    """Return the words of the row that begins with a name, also where the name has a line of its own."""
    lines = text.splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(f"   {name}"))
    alone = len(lines[index].split()) <= 3
    return (lines[index] + (lines[index + 1] if alone else "")).split()


@pytest.fixture(scope="module")
def many() -> Results:
    return factories.kernel_results(WHOLE, teams=(ONE, BOTH), precisions=("fp64", "fp32"))


@pytest.mark.parametrize("whole", [False, True])
def test_everything_fits_80_columns_of_plain_text(many: Results, whole: bool) -> None:
    lines = sections(place(many, WHOLE), WHOLE, whole=whole)
    text = "\n".join(lines)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert text.isascii()


def test_a_row_has_every_column() -> None:
    text = text_of(placement("triad", level="DRAM", intensity=0.1, efficiency=0.9))
    # 0.1 FLOP/byte at 90 % of the 50 GB/s that two threads read; 117.6 GFLOP/s is the peak.
    assert row(text, "triad") == [
        "triad", "DRAM", "0.100", "0.100", "4.50", "G", "45.0", "G", "3.8", "%", "90", "%", "90", "%", "memory", "A",
    ]  # fmt: skip


def test_a_kernel_without_flop_has_a_bandwidth_only() -> None:
    assert row(text_of(placement("copy", intensity=0)), "copy") == [
        "copy", "DRAM", "0", "0", "-", "45.0", "G", "-", "90", "%", "90", "%", "memory", "A",
    ]  # fmt: skip


def test_a_kernel_without_roofs_has_dashes() -> None:
    unknown = replace(
        placement("odd"), compute_share=None, memory_share=None, efficiency=None, lower_bound=None, bound="unknown",
        byte_rate=None, program_intensity=None,
    )  # fmt: skip
    assert row(text_of(unknown), "odd") == [
        "odd",
        "DRAM",
        "0.100",
        "-",
        "4.50",
        "G",
        "-",
        "-",
        "-",
        "-",
        "unknown",
        "A",
    ]


def test_a_rate_above_its_roof_is_shown_as_it_is() -> None:
    assert "250" in row(text_of(placement("hot", efficiency=2.5)), "hot")


def test_a_nominal_count_is_marked_and_explained() -> None:
    nominal = text_of(placement("fft", "spectral", facts={"nominal": True}))
    assert "~4.50" in row(nominal, "fft")
    assert "~ nominal FLOP." in nominal
    assert "~" not in text_of(placement("fft", "spectral"))


def test_columns_never_touch() -> None:
    wide = placement(
        "w" * 30, intensity=1234567.0, program_intensity=0.00000123, compute_share=123.4, memory_share=0.0001,
        efficiency=123.4, facts={"nominal": True},
    )  # fmt: skip
    assert row(text_of(wide), "w" * 30)[1:4] == ["DRAM", "1234567", "1e-06"]


def test_rows_are_grouped_by_team_precision_and_family() -> None:
    text = text_of(
        placement("later", "neural"), placement("odd", "unheard"), placement("first", "stream"),
        placement("other", "stream", team=ONE), placement("short", "stream", precision="fp32"),
    )  # fmt: skip
    inside = [
        line.strip().split("  ")[0] for line in text.split("FLOP/byte: ")[0].splitlines() if line.startswith("  ")
    ]
    assert inside == [
        "2 threads, fp64", "kernel", "stream", "first", "neural", "later", "unheard", "odd",
        "2 threads, fp32", "kernel", "stream", "short",
        "1 thread, fp64", "kernel", "stream", "other",
    ]  # fmt: skip


def test_parameters_that_tell_rows_apart_are_named() -> None:
    text = text_of(
        *(placement("decode", "dense", parameters=(("batch", batch), ("n", 4096))) for batch in (1, 16)),
        *(placement("spmv", "sparse", parameters=(("matrix", name),)) for name in ("laplacian", "random")),
        placement("alone", parameters=(("n", 7),)),
    )
    lines = text.splitlines()
    for name in ("decode batch 1 ", "decode batch 16", "spmv laplacian", "spmv random", "alone "):
        assert [line for line in lines if line.startswith(f"   {name}")]
    assert "4096" not in text.split("FLOP/byte: ")[0]


def test_the_ranking_has_the_most_seconds_first_and_says_what_to_do() -> None:
    placements = [
        placement(f"k{i}", efficiency=0.1 * i, intensity=0.1, parameters=(("n", i),), advice=(f"Do {i}.", "Then rest."))
        for i in range(1, 8)
    ]
    ranking = text_of(*placements).split("Where effort pays, 2 threads")[1]
    names = [line[2:4] for line in ranking.splitlines() if line.startswith("- k")]
    assert names == ["k1", "k2", "k3", "k4", "k5"]
    assert "- and 2 kernels with less." in ranking
    first = placements[0]
    assert first.headroom is not None
    assert f"k1, n 1, fp64, DRAM: {1e3 * first.headroom:.1f} ms of {1e3 * first.seconds:.1f} ms. Do 1. Then rest." in (
        " ".join(ranking.split())
    )


def test_the_whole_text_has_all_advice_and_the_whole_ranking() -> None:
    placements = [placement(f"k{i}", efficiency=0.1 * i, advice=(f"Do {i}.",)) for i in range(1, 8)]
    text = text_of(*placements, whole=True)
    assert [f"Do {i}." in text for i in range(1, 8)] == [True] * 7
    assert text.count("Do 7.") == 1
    ranking = text.split("Where effort pays")[1]
    assert len([line for line in ranking.splitlines() if line.startswith("- k")]) == 7


def test_slower_rungs_are_not_where_effort_pays() -> None:
    rungs = [placement(f"gemm{i}", "dense", efficiency=0.2 * i, facts={"ladder": "gemm", "rung": i}) for i in (1, 2, 3)]
    ranking = text_of(*rungs).split("Where effort pays")[1]
    assert "gemm3" in ranking
    assert "gemm1" not in ranking


def test_the_ranking_is_of_the_largest_team_and_left_out_without_headroom() -> None:
    text = text_of(placement("k", team=ONE), placement("k"))
    assert "Where effort pays, 2 threads" in text
    assert "Where effort pays, 1 thread" not in text
    assert "Where effort pays" not in text_of(placement("k", efficiency=1.2))


def test_blocks_stand_beside_dense_kernels_only() -> None:
    text = text_of(placement("gemm", "dense"))
    lines = {line[:26].strip(): line[26:].split() for line in text.split("Reuse that passes")[1].splitlines()}
    assert lines["data from"] == ["L1", "L2", "L3", "DRAM"]
    assert lines["ridge point, FLOP/byte"] == ["0.252", "0.503", "0.600", "2.35"]
    assert lines["smallest GEMM block"] == ["3", "x", "3", "5", "x", "5", "5", "x", "5", "19", "x", "19"]
    assert lines["three of them"] == ["216", "B", "600", "B", "600", "B", "8.46", "KiB"]
    assert lines["must stay in"] == ["registers", "L1", "L2", "L3"]
    assert lines["so that they fit"] == ["-", "yes", "yes", "yes"]
    assert lines["smallest decode batch"] == ["2", "3", "3", "10"]
    assert "Reuse" not in text_of(placement("triad"))
    curves = tuple(
        replace(curve, plateaus=tuple(replace(p, capacity=100.0) for p in curve.plateaus)) for curve in WHOLE.curves
    )
    small = "\n".join(sections([placement("gemm", "dense")], replace(WHOLE, curves=curves)))
    assert "  so that they fit                    -           NO           NO           NO" in small


def test_without_kernels_nothing_is_said() -> None:
    assert sections((), WHOLE) == []
    assert "kernel" not in summary(factories.zen4_results(), factories.zen4()).lower()


def test_the_summary_has_the_kernels_after_the_roofs(many: Results) -> None:
    text = summary(many, WHOLE)
    assert max(map(len, text.splitlines())) <= 80
    assert (
        text.index("memory roof") < text.index("Application kernels (traffic is modelled)") < text.index("* the roof")
    )
    assert "Where effort pays, 2 threads" in text


def test_kernels_that_went_wrong_are_noted_and_not_placed(many: Results) -> None:
    wrong = replace(many.measurements[0], error="wrong result on CPU 0", samples=(), code=Code("verified"))
    results = replace(many, measurements=(wrong,))
    text = summary(results, fit(results))
    assert "left out, wrong result on CPU 0" in " ".join(text.split())
    assert "Application kernels" not in text


def test_a_memory_roof_that_moved_is_marked_and_explained() -> None:
    steady, moved = factories.placement("steady"), factories.placement("moved", beside=True)
    lines = "\n".join(sections([steady, moved], factories.zen4()))
    assert lines.count("^") == 2
    assert "not steady during the sweep" in " ".join(lines.split())
    assert "^" not in "\n".join(sections([steady], factories.zen4()))


def test_a_row_whose_memory_roof_moved_fits_80_columns_too() -> None:
    moved = placement("moved", beside=True, memory_share=1.06, efficiency=1.06)
    line = next(line for line in text_of(moved).splitlines() if line.startswith("   moved"))
    steady = next(line for line in text_of(placement("steady")).splitlines() if line.startswith("   steady"))
    assert "106 %^" in line
    assert len(line.rstrip()) == len(steady.rstrip()) <= 80


def test_cases_that_the_same_rule_speaks_of_share_a_paragraph() -> None:
    def case(n: int, precision: str, efficiency: float, rule: str) -> Placement:
        return placement(
            "axpy", "vector", precision=precision, efficiency=efficiency, rule=rule, parameters=(("n", n),),
            advice=(f"Told for {n}.",),
        )  # fmt: skip

    cases = (case(1, "fp64", 0.9, "a"), case(2, "fp64", 0.6, "a"), case(3, "fp32", 0.8, "a"), case(4, "fp32", 0.8, "b"))
    text = " ".join(text_of(*cases, whole=True).split("What limits them")[1].split("Where effort pays")[0].split())
    # That with most to win is told.
    assert "axpy, n 2, fp64, DRAM: Told for 2. Likewise n 1, fp64, DRAM (90 %); n 3, fp32, DRAM (80 %)." in text
    assert "axpy, n 4, fp32, DRAM: Told for 4." in text
    assert "Told for 1" not in text


def test_other_sizes_of_a_ladder_stay_where_effort_pays() -> None:
    sizes = [
        placement(f"gemm{i}", "dense", efficiency=0.2 * i, parameters=(("n", n),), facts={"ladder": "gemm", "rung": i})
        for i, n in ((1, 512), (2, 2048))
    ]
    ranking = text_of(*sizes).split("Where effort pays")[1]
    assert "gemm1" in ranking
    assert "gemm2" in ranking


def test_the_reuse_table_says_whose_ridges_it_has() -> None:
    assert "Reuse that passes the ridge points of load-only streams, 2 threads, fp64" in text_of(
        placement("gemm", "dense")
    )
