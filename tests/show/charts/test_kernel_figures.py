"""What the figures of kernels draw: each kernel at its place with a name or number, and nothing on anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, FancyArrowPatch

from ert.errors import InputError
from ert.roofline.model import Roofline
from ert.roofline.placing.place import place
from ert.roofline.placing.placement import Placement
from ert.show.charts import figures
from ert.show.charts.efficiency import MOST_BARS
from ert.show.charts.key import LOOKS, key_columns, key_lines
from ert.show.charts.points import FAMILIES, Entry
from ert.show.charts.points import entries as points_entries
from tests import factories
from tests.factories import BOTH, GIGA, ONE, placement
from tests.show.charts.drawings import assert_readable, drawn, texts

NOWHERE = Roofline((), (), (), (), ())
HIGHEST = 60


def draw(placements: Sequence[Placement], roofline: Roofline | None = None, machine: str = "A CPU") -> Figure:
    team = placements[0].case.team
    return figures.kernel_figure(placements, roofline or factories.zen4(), team, machine, "Measured on a day.")


def planted(precisions: Sequence[str] = ("fp64",)) -> list[Placement]:
    roofline = factories.zen4()
    return list(place(factories.kernel_results(roofline, precisions=precisions), roofline))


def spread(count: int) -> list[Placement]:
    """Return kernels of all families, many of them near each other on the slope as they are in life."""
    return [
        placement(
            f"kernel_{i}", FAMILIES[i % len(FAMILIES)], intensity=0.05 * 1.12**i if i % 3 else 0.1 * (1 + i % 5),
            efficiency=0.15 + 0.9 * ((i * 7) % 10) / 10, precision=("fp64", "fp32")[i % 2],
        )
        for i in range(count)
    ]  # fmt: skip


def chart_of(figure: Figure) -> Axes:
    return next(axes for axes in figure.axes if axes.get_xscale() == "log")


def words(name: str) -> str:
    """Return a text as one line with ordinary spaces."""
    return name.replace("\n", " ").replace("\u00a0", " ")


def key_of(figure: Figure) -> dict[str, str]:
    """Return the texts of the key by their names."""
    found: dict[str, str] = {}
    for axes in figure.axes:
        if not axes.axison:
            found.update((str(text.get_gid()), words(text.get_text())) for text in axes.texts)
    return found


def assert_whole(figure: Figure) -> None:
    """Everything is readable, and legends, keys and panels keep clear of each other and inside the figure."""
    assert_readable(figure)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes = [(f"panel {i}", axes.get_tightbbox(renderer)) for i, axes in enumerate(figure.axes)]
    boxes += [(f"legend {i}", legend.get_window_extent(renderer)) for i, legend in enumerate(figure.legends)]
    boxes += [(text.get_text(), text.get_window_extent(renderer)) for text in figure.texts]
    for name, box in boxes:
        assert box is not None
        assert box.x0 >= 0, name
        assert box.y0 >= 0, name
        assert box.x1 <= figure.bbox.x1, name
        assert box.y1 <= figure.bbox.y1, name
    for (name, first), (other, second) in combinations(boxes, 2):
        assert not first.overlaps(second), f"{name} on {other}"  # type: ignore[union-attr,arg-type]


# ------------------------------------------------------------------------------------------------- points


@pytest.mark.parametrize("count", [1, 12, 20, HIGHEST])
def test_every_kernel_is_drawn_and_named_and_nothing_collides(count: int) -> None:
    placed = spread(count)
    figure = draw(placed)
    assert_whole(figure)
    axes = chart_of(figure)
    points, labels, key = drawn(axes, "point"), texts(axes), key_of(figure)
    assert len(points) == count
    for one in placed:
        name = f"{one.kernel.name} {one.case.precision} DRAM"
        assert one.flop_rate is not None
        assert points[name].get_xdata()[0] == one.intensity
        assert points[name].get_ydata()[0] == pytest.approx(one.flop_rate.best / GIGA)
        label = words(labels[name])
        if key:
            assert key[f"name {label}"] == one.kernel.title
            assert key[f"efficiency {label} {one.case.precision}"] == f"{100 * (one.efficiency or 0):.0f} %"
        else:
            assert label == f"{one.kernel.title}  {100 * (one.efficiency or 0):.0f} %"
    assert (count > 20) <= bool(key) <= (count > 12)


def test_no_label_hides_a_point() -> None:
    figure = draw(spread(HIGHEST))
    axes = chart_of(figure)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    marks = [
        axes.transData.transform((line.get_xdata()[0], line.get_ydata()[0])) for line in drawn(axes, "point").values()
    ]
    for text in axes.texts:
        if str(text.get_gid()).startswith("label kernel"):
            box = text.get_window_extent(renderer)
            assert not any(box.contains(x, y) for x, y in marks), text.get_text()


@pytest.mark.parametrize("precisions", [("fp64",), ("fp64", "fp32")])
def test_the_kernels_of_a_sweep_are_readable(precisions: Sequence[str]) -> None:
    placed = planted(precisions)
    figure = draw(placed)
    assert_whole(figure)
    counted = [one for one in placed if one.flop_rate]
    assert len(drawn(chart_of(figure), "point")) == len(counted)
    assert len(drawn(chart_of(figure), "attainable")) > 5


def test_points_in_one_place_keep_their_labels() -> None:
    placed = [placement(f"kernel_{i}", "sparse", intensity=0.2 * (1 + 1e-4 * i)) for i in range(30)]
    figure = draw(placed)
    assert_whole(figure)
    labels = texts(chart_of(figure))
    assert {f"kernel_{i} fp64 DRAM" for i in range(30)} <= set(labels)
    # What stands back has a line to its point.
    assert len(drawn(chart_of(figure), "leader")) > 20


def test_families_have_shapes_and_colours_and_precisions_a_fill() -> None:
    looks = set()
    figure = draw([placement(f"k_{name}", name, intensity=0.1 * 2**i) for i, name in enumerate(FAMILIES)])
    for name, line in drawn(chart_of(figure), "point").items():
        family = name.removeprefix("k_").split()[0]
        marker, colour, _ = LOOKS[family]
        assert (line.get_marker(), to_hex(line.get_color())) == (marker, colour.lower())
        assert to_hex(line.get_markerfacecolor()) == colour.lower()
        looks.add((marker, colour))
    assert len({marker for marker, _ in looks}) == len({colour for _, colour in looks}) == len(FAMILIES)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(FAMILIES)

    both = draw([placement("dot", "vector"), placement("dot", "vector", precision="fp32", intensity=0.2)])
    fills = {name: to_hex(line.get_markerfacecolor()) for name, line in drawn(chart_of(both), "point").items()}
    assert fills["dot fp32 DRAM"] == "#ffffff"
    assert fills["dot fp64 DRAM"] != "#ffffff"
    assert [text.get_text() for text in both.legends[1].get_texts()][:2] == ["fp64", "fp32"]


def test_no_entry_of_the_key_is_broken_by_the_end_of_a_column() -> None:
    entries = [Entry(f"a rather long name of a kernel that needs two lines, the {i}.", "dense", ()) for i in range(31)]
    lines = key_lines(list(enumerate(entries, start=1)), ["fp64"])
    for most in (7, 20, 40, 1000):
        columns = key_columns(lines, most)
        assert [line for column in columns for line in column] == lines
        assert all(len(column) <= most for column in columns)
        assert all(column[0].family or column[0].entry for column in columns)
        assert not any(column[-1].family for column in columns)
    assert key_columns([], 40) == []


def test_a_kernel_whose_data_are_nearer_than_those_of_others_says_so_in_its_name() -> None:
    far = placement("far", "dense", level="DRAM")
    near = placement("near", "dense", level="L3")
    names = {entry.placements[0].kernel.name: words(entry.name) for entry in points_entries([far, near])}
    assert names["near"].endswith(", in L3")
    assert "in DRAM" not in names["far"]


def test_an_unknown_family_is_drawn_too() -> None:
    figure = draw([placement("qubits", "quantum")])
    assert list(drawn(chart_of(figure), "point")) == ["qubits fp64 DRAM"]


def test_a_line_leads_from_a_point_to_what_it_could_attain() -> None:
    low, near = placement("low", efficiency=0.2), placement("near", efficiency=0.98)
    axes = chart_of(draw([low, near]))
    gaps, ends = drawn(axes, "gap"), drawn(axes, "attainable")
    assert list(gaps) == list(ends) == ["low fp64 DRAM"]
    assert low.flop_rate is not None
    assert low.attainable is not None
    assert list(gaps["low fp64 DRAM"].get_ydata()) == pytest.approx([low.flop_rate.best / GIGA, low.attainable / GIGA])
    assert ends["low fp64 DRAM"].get_ydata()[0] == pytest.approx(low.attainable / GIGA)


def test_a_point_above_its_roof_stays_where_it_is_and_is_marked() -> None:
    fast, usual = placement("fast", efficiency=1.4), placement("usual", efficiency=1.01)
    figure = draw([fast, usual])
    axes = chart_of(figure)
    assert list(drawn(axes, "above")) == ["fast fp64 DRAM"]
    assert fast.flop_rate is not None
    assert drawn(axes, "point")["fast fp64 DRAM"].get_ydata()[0] == pytest.approx(fast.flop_rate.best / GIGA)
    legend = [text.get_text() for row in figure.legends for text in row.get_texts()]
    assert "above its roof" in legend
    assert "up to the attainable" not in legend


def test_roofs_are_drawn_and_named_and_those_that_apply_besides() -> None:
    roofline = factories.zen4()
    add = next(roof for roof in factories.zen4_ceilings().compute if roof.instructions == "add" and roof.team == ONE)
    mix = next(roof for roof in roofline.memory if (roof.team, roof.level, roof.mix) == (ONE, "DRAM", "copy"))
    axes = chart_of(draw([placement("sum", team=ONE, compute_roof=add, memory_roof=mix)]))
    roofs = {roof.name for roof in roofline.compute if roof.headline and (roof.team, roof.precision) == (ONE, "fp64")}
    roofs |= {roof.name for roof in roofline.memory if roof.headline and roof.team == ONE}
    assert set(drawn(axes, "roof")) == roofs
    assert roofs <= set(texts(axes))
    assert list(drawn(axes, "ceiling")) == [add.name]
    assert list(drawn(axes, "mix")) == [mix.name]


def test_kernels_without_any_roof_are_drawn() -> None:
    bare = placement("alone", compute_roof=None, memory_roof=None, attainable=None, efficiency=0.5)
    bare = replace(bare, efficiency=None, compute_share=None, memory_share=None, lower_bound=None, bound="unknown")
    figure = draw([bare], NOWHERE)
    assert_whole(figure)
    assert texts(chart_of(figure))["alone fp64 DRAM"] == "alone"


# ------------------------------------------------------------------------------------------------- series


def arrows(axes: Axes) -> list[str]:
    return [str(patch.get_gid()) for patch in axes.patches if patch.get_gid()]


def test_a_ladder_and_a_series_of_sizes_are_paths_with_arrows() -> None:
    axes = chart_of(draw(planted()))
    found = arrows(axes)
    assert sum(name.startswith("ladder gemm_") for name in found) == 5
    assert sum(name.startswith("size decode") for name in found) == 3
    heads = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(heads) == 8
    assert all(isinstance(patch.get_arrowstyle(), ArrowStyle.CurveFilledB) for patch in heads)


def test_the_same_kernel_nearer_to_the_core_is_small_and_pale_and_has_no_name() -> None:
    placed = [placement("axpy", "vector", level=level, intensity=0.1) for level in ("L1", "L2", "DRAM")]
    figure = draw(placed)
    axes = chart_of(figure)
    (point,) = drawn(axes, "point").values()
    near = drawn(axes, "nearer")
    assert sorted(near) == ["axpy fp64 L1", "axpy fp64 L2"]
    assert all(mark.get_markersize() < point.get_markersize() / 1.5 for mark in near.values())
    assert all(mark.get_alpha() < 0.5 for mark in near.values())
    assert [name for name in texts(axes) if name.startswith("axpy")] == ["axpy fp64 DRAM"]
    assert sum(name.startswith("level") for name in arrows(axes)) == 2
    assert "data nearer to the core" in [text.get_text() for row in figure.legends for text in row.get_texts()]


# ------------------------------------------------------------------------- kernels without arithmetic, words


def test_kernels_without_arithmetic_stand_below_in_bandwidth_with_their_roof() -> None:
    copy = placement("copy", intensity=0.0, efficiency=0.8)
    fill = placement("fill", intensity=0.0, efficiency=0.4, memory_roof=None)
    figure = draw([copy, placement("dot", "vector"), replace(fill, efficiency=None)])
    assert_whole(figure)
    chart, strip = figure.axes[-1], figure.axes[0]
    assert list(drawn(chart, "point")) == ["dot fp64 DRAM"]
    assert [label.get_text() for label in strip.get_yticklabels()] == ["copy", "fill"]
    marks, ticks = drawn(strip, "bandwidth"), drawn(strip, "tick")
    assert copy.byte_rate is not None
    assert copy.memory_roof is not None
    assert marks["copy fp64 0"].get_xdata()[0] == pytest.approx(copy.byte_rate.best / GIGA)
    assert ticks["copy fp64 0"].get_xdata()[0] == pytest.approx(copy.memory_roof.rate.best / GIGA)
    assert list(ticks) == ["copy fp64 0"]
    assert not drawn(strip, "above")
    assert {words(text) for text in texts(strip, "value").values()} == {"40.0 GB/s, 80 %", "20.0 GB/s, –"}


def test_a_bandwidth_above_its_roof_is_marked() -> None:
    figure = draw([placement("copy", intensity=0.0, efficiency=1.2), placement("fill", intensity=0.0)])
    assert list(drawn(figure.axes[0], "above")) == ["copy fp64 0"]
    assert "above its roof" in [text.get_text() for row in figure.legends for text in row.get_texts()]


def test_kernels_without_arithmetic_alone_make_a_figure() -> None:
    figure = draw([placement("copy", intensity=0.0), placement("copy", intensity=0.0, precision="fp32")])
    assert_whole(figure)
    (strip,) = figure.axes
    assert len(drawn(strip, "bandwidth")) == 2


def test_a_kernel_without_traffic_has_no_place_and_is_named() -> None:
    idle = replace(placement("spin"), intensity=None, byte_rate=None, memory_roof=None, memory_share=None)
    figure = draw([idle, placement("dot", "vector")])
    assert_whole(figure)
    strip = figure.axes[0]
    assert [label.get_text() for label in strip.get_yticklabels()] == ["spin"]
    assert texts(strip, "value")["0"] == "no traffic at DRAM"


def test_long_names_break_and_keep_clear() -> None:
    long = "a kernel with quite a number of words in its title, and then some more of them"
    wide = "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"
    few = [placement(f"k{i}", intensity=0.3 * 3**i, facts={"title": title}) for i, title in enumerate((long, wide))]
    figure = draw([*few, placement("bare", intensity=0.0, facts={"title": long})], machine="A CPU of long name " * 8)
    assert_whole(figure)
    many = [replace(one, kernel=replace(one.kernel, title=(long, wide)[i % 2])) for i, one in enumerate(spread(30))]
    figure = draw(many)
    assert_whole(figure)
    key = key_of(figure)
    assert all(key[f"name {number}"] for number in range(1, 31))
    assert sum(name.startswith("more") for name in key) >= 30


def test_what_counts_is_said() -> None:
    figure = draw(planted())
    chart = chart_of(figure)
    assert "modelled traffic" in chart.get_xlabel()
    assert chart.get_ylabel() == "Performance (GFLOP/s)"
    title, note = (text.get_text() for text in figure.texts)
    assert title == "A CPU, 2 threads: kernels under the roofs"
    assert "FLOP by convention: fft." in words(note)
    assert note.endswith("Measured on a day.")


def test_a_team_without_kernels_is_refused() -> None:
    with pytest.raises(InputError, match="no kernel of 1 thread"):
        figures.kernel_figure([placement()], factories.zen4(), ONE, "A CPU")
    with pytest.raises(InputError, match="no kernel of 1 thread"):
        figures.efficiency_figure([placement()], ONE, "A CPU")


# ------------------------------------------------------------------------------------------- efficiencies


def bars(axes: Axes) -> list[float]:
    return [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]


def test_both_shares_stand_side_by_side_where_effort_pays_first() -> None:
    low = placement("low", efficiency=0.2, intensity=0.1)
    high = placement("high", efficiency=0.9, intensity=0.1)
    peak = placement("peak", efficiency=0.8, intensity=100.0)
    bare = placement("bare", efficiency=0.95, intensity=0.0)
    figure = figures.efficiency_figure([high, low, bare, peak], BOTH, "A CPU", "Measured on a day.")
    assert_whole(figure)
    memory, compute, times = figure.axes
    ranked = sorted([high, low, bare, peak], key=lambda one: -(one.headroom or 0.0))
    assert [label.get_text() for label in memory.get_yticklabels()] == [one.kernel.name for one in ranked]
    assert bars(memory) == pytest.approx([100 * (one.memory_share or 0) for one in ranked])
    assert bars(compute) == pytest.approx([100 * one.compute_share for one in ranked if one.compute_share is not None])
    assert list(texts(compute, "none").values()) == ["no arithmetic"]
    assert len(texts(times, "gain")) == 4
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["bound by memory", "bound by compute", "far below both roofs"]
    colours = {one.kernel.name: to_hex(patch.get_facecolor())
               for one, patch in zip(ranked, memory.patches, strict=True)}  # fmt: skip
    assert len({colours["low"], colours["high"], colours["peak"]}) == 3
    assert colours["bare"] == colours["high"]


def test_a_share_above_the_roof_is_not_cut() -> None:
    figure = figures.efficiency_figure([placement("fast", efficiency=1.7)], BOTH, "A CPU")
    assert_whole(figure)
    assert bars(figure.axes[0]) == pytest.approx([170.0])
    assert figure.axes[0].get_xlim()[1] > 170


def test_what_is_not_shown_is_counted() -> None:
    placed = spread(MOST_BARS + 7)
    unknown = replace(placement("unknown"), lower_bound=None, compute_share=None, memory_share=None, bound="unknown")
    rungs = [placement(f"gemm_{i}", "dense", efficiency=0.1 * i, intensity=50.0, facts={"ladder": "gemm", "rung": i})
             for i in (1, 2, 3)]  # fmt: skip
    figure = figures.efficiency_figure([*placed, unknown, *rungs], BOTH, "A CPU")
    assert_whole(figure)
    assert len(figure.axes[0].get_yticklabels()) == MOST_BARS
    note = words(figure.texts[1].get_text())
    assert (
        "Not shown: 2 slower implementations of what a faster one does, 8 kernels with less to gain, "
        "1 kernel without a roof that applies." in note
    )


def test_long_names_are_shortened_beside_bars() -> None:
    figure = figures.efficiency_figure([placement(facts={"title": "W" * 90})], BOTH, "A CPU")
    assert_whole(figure)
    (label,) = figure.axes[0].get_yticklabels()
    assert label.get_text().endswith(" ...")


def test_without_any_roof_there_is_no_efficiency_to_draw() -> None:
    with pytest.raises(InputError, match="with a roof that applies"):
        figures.efficiency_figure([replace(placement(), lower_bound=None)], BOTH, "A CPU")


# --------------------------------------------------------------------------------------------- as files


def kinds(paths: Sequence[Path]) -> list[str]:
    return [path.name.split(".")[1] for path in paths if path.suffix == ".svg"]


def test_kernels_are_written_with_the_other_figures_a_team_each(tmp_path: Path) -> None:
    roofline = replace(factories.zen4(), curves=())
    results = factories.kernel_results(roofline, teams=(ONE, BOTH), most=40)
    both = ["roofline", "kernels", "efficiency", "kernels-one", "efficiency-one"]
    assert kinds(figures.write(results, roofline, tmp_path / "a")) == both
    assert kinds(figures.write(results, roofline, tmp_path / "b", team="one")) == both[:3]
    single = figures.write(results, roofline, tmp_path / "c", precisions=["fp32"])
    assert kinds(single) == ["roofline"]


def test_kernels_need_no_roofs_to_be_written(tmp_path: Path) -> None:
    results = factories.kernel_results(most=3)
    assert kinds(figures.write(results, NOWHERE, tmp_path / "a")) == ["kernels"]


def test_two_drawings_of_kernels_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        figures.save(draw(spread(8)), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
