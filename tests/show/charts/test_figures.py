"""What the figures draw: lines, marks and labels with their data, and that no label stands on another."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

from ert.errors import InputError
from ert.roofline.model import ComputeRoof, MemoryRoof, Roofline, Team
from ert.show.charts import figures, pen
from tests import factories
from tests.factories import BOTH, KIB, MIB, ONE
from tests.show.charts.drawings import assert_readable, drawn, texts

MACHINES = {
    "zen4": factories.zen4,
    "server": factories.server,
    "six levels": factories.six_levels,
    "close levels": factories.close_levels,
    "one level": factories.one_level,
    "five precisions": factories.multi_precision,
    "ceilings": factories.zen4_ceilings,
}
EVERY = ["fp64", "fp32", "fp16", "bf16", "int8"]


def headlines(roofline: Roofline, team: Team) -> dict[str, ComputeRoof | MemoryRoof]:
    roofs: list[ComputeRoof | MemoryRoof] = [*roofline.compute, *roofline.memory]
    return {roof.name: roof for roof in roofs if roof.headline and roof.team == team}


def one_panel(roofline: Roofline, **options: Any) -> Axes:
    (axes,) = figures.roofline_figure([("CPU", roofline)], **options).axes
    return axes


# ------------------------------------------------------------------------------------ the roofline chart


@pytest.mark.parametrize("name", MACHINES)
def test_every_roof_is_labelled_and_nothing_collides(name: str) -> None:
    roofline = MACHINES[name]()
    there = [precision for precision in EVERY if any(roof.precision == precision for roof in roofline.compute)]
    figure = figures.roofline_figure([("A CPU", roofline)], precisions=there, footnote="Measured on a day.")
    assert_readable(figure)
    assert len(figure.axes) == len(roofline.teams)
    for axes, team in zip(figure.axes, roofline.teams, strict=True):
        labels = texts(axes)
        for roof in headlines(roofline, team):
            assert labels[roof].startswith(f"{roof}  ")
        ridges = texts(axes, "ridge")
        for ridge in roofline.ridges:
            if ridge.compute.team == team:
                # Two precisions of the same peak have one ridge point.
                alike = [
                    f"{peak.name} {ridge.memory.name}"
                    for peak in roofline.compute
                    if peak.team == team and abs(peak.rate.best / ridge.compute.rate.best - 1) < 0.01
                ]
                assert any(name in ridges for name in alike)


bandwidths = st.lists(st.floats(1, 2000), min_size=1, max_size=5).map(lambda rates: sorted(rates, reverse=True))


@settings(max_examples=12, derandomize=True)
@given(bandwidths, st.floats(2, 5000), st.sampled_from([1.0, 1.02, 2.0]))
def test_any_machine_gives_a_readable_chart(rates: list[float], peak: float, ratio: float) -> None:
    names = ["L1", "L2", "L3", "L4"][: len(rates) - 1]
    names.append("DRAM")
    memory = {name: {"load": rate, "copy": rate * 0.8} for name, rate in zip(names, rates, strict=True)}
    compute = {"fp64": {256: peak, 128: peak / 2}, "fp32": {256: peak * ratio}}
    roofline = factories.machine(compute, memory, {ONE: {}})
    figure = figures.roofline_figure([("CPU", roofline)])
    assert_readable(figure)
    labels = texts(figure.axes[0])
    assert set(headlines(roofline, ONE)) <= set(labels)


def test_a_slope_is_its_bandwidth_up_to_the_highest_roof() -> None:
    axes = one_panel(factories.zen4(), team="one")
    line = drawn(axes, "roof")["L1 load2_store1"]
    intensities, rates = line.get_xdata(), line.get_ydata()
    assert [rate / x for x, rate in zip(intensities, rates, strict=True)] == pytest.approx([328, 328])
    assert rates[-1] == pytest.approx(117.2)  # fp32 is the highest
    assert texts(axes)["L1 load2_store1"] == "L1 load2_store1  328 GB/s"


def test_a_slopes_label_is_turned_along_it() -> None:
    axes = one_panel(factories.zen4(), team="one")
    line = drawn(axes, "roof")["DRAM load"]
    (x0, y0), (x1, y1) = axes.transData.transform(list(zip(line.get_xdata(), line.get_ydata(), strict=True)))
    (label,) = (text for text in axes.texts if text.get_gid() == "label DRAM load")
    assert label.get_rotation() == pytest.approx(math.degrees(math.atan2(y1 - y0, x1 - x0)))


def test_a_compute_roof_runs_from_the_steepest_slope_to_the_edge() -> None:
    axes = one_panel(factories.zen4(), team="all")
    line = drawn(axes, "roof")["fp64 fma 256-bit"]
    assert list(line.get_ydata()) == pytest.approx([117.6, 117.6])
    assert list(line.get_xdata()) == pytest.approx([117.6 / 656, axes.get_xlim()[1]])
    assert texts(axes)["fp64 fma 256-bit"] == "fp64 fma 256-bit  118 GFLOP/s"


def test_ceilings_and_mixes_are_thinner_and_the_points_own_roof_is_told_apart() -> None:
    axes = one_panel(factories.zen4(), team="one")
    roof = min(line.get_linewidth() for line in drawn(axes, "roof").values())
    ceilings, mixes, loads = drawn(axes, "ceiling"), drawn(axes, "mix"), drawn(axes, "load")
    assert set(ceilings) == {f"fp64 fma {w}-bit" for w in (512, 128, 64)} | {
        f"fp32 fma {w}-bit" for w in (512, 128, 32)
    }
    assert set(loads) == {"L1 load"}  # the other levels' headline is the load-only one itself
    assert "DRAM copy_nt" in mixes
    assert "L3 copy_nt" not in mixes  # its stores go to memory
    assert all(line.get_linewidth() < roof / 1.5 for line in (*ceilings.values(), *mixes.values(), *loads.values()))
    assert loads["L1 load"].get_linestyle() == "--"
    # Labelled only where it can be told from a labelled roof.
    assert "fp64 fma 128-bit" in texts(axes)
    assert "fp64 fma 512-bit" not in texts(axes)


def test_points_stand_at_their_intensity_with_level_colours_and_precision_shapes() -> None:
    roofline = factories.zen4()
    points = drawn(one_panel(roofline, team="one"), "point")
    assert len(points) == 4 * 2 * 9
    for point in roofline.points:
        if point.team != ONE:
            continue
        mark = points[f"{point.level} {point.precision} {point.multiply_adds}"]
        assert mark.get_xdata() == pytest.approx([point.intensity])
        assert mark.get_ydata() == pytest.approx([point.flop_rate.best / 1e9])
        assert mark.get_color() == pen.level_colour(point.level)
    shapes = {name.split()[1]: mark.get_marker() for name, mark in points.items()}
    assert shapes["fp64"] != shapes["fp32"]
    # On the common roof the farther levels leave a ring of the nearer ones to see.
    sizes = [points[f"{level} fp64 256"].get_markersize() for level in ("L1", "L2", "L3", "DRAM")]
    assert sizes == sorted(set(sizes), reverse=True)


def test_a_point_of_unproven_code_is_hollow() -> None:
    roofline = factories.one_level()
    first, *others = roofline.points
    doubtful = replace(roofline, points=(replace(first, verified=False), *others))
    points = drawn(one_panel(doubtful), "point")
    assert points["DRAM fp32 1"].get_markerfacecolor() == "white"
    assert points["DRAM fp32 2"].get_markerfacecolor() != "white"


def test_what_is_not_verified_is_not_drawn() -> None:
    roofline = factories.zen4()
    memory = tuple(replace(roof, verified=roof.name != "L1 copy") for roof in roofline.memory)
    compute = tuple(replace(roof, verified=roof.vector_bits != 128) for roof in roofline.compute)
    axes = one_panel(replace(roofline, memory=memory, compute=compute), team="one")
    assert "L1 copy" not in drawn(axes, "mix")
    assert "fp64 fma 128-bit" not in drawn(axes, "ceiling")


def test_ridge_points_stand_where_the_roofs_meet() -> None:
    axes = one_panel(factories.zen4(), team="one")
    mark = drawn(axes, "mark")["fp64 fma 256-bit DRAM load"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == pytest.approx((58.8 / 30, 58.8))
    assert texts(axes, "ridge")["fp64 fma 256-bit DRAM load"] == "1.96"


def test_one_thread_and_all_threads_stand_beside_each_other_on_one_scale() -> None:
    figure = figures.roofline_figure([("CPU", factories.zen4())])
    one, both = figure.axes
    assert (one.get_title(loc="left"), both.get_title(loc="left")) == ("1 thread", "2 threads")
    assert (one.get_xlim(), one.get_ylim()) == (both.get_xlim(), both.get_ylim())
    assert texts(one)["DRAM load"] == "DRAM load  30.0 GB/s"
    assert texts(both)["DRAM load"] == "DRAM load  50.0 GB/s"


def test_panels_far_apart_have_scales_of_their_own() -> None:
    one, many = figures.roofline_figure([("CPU", factories.server())]).axes
    assert one.get_xlim() == many.get_xlim()
    assert many.get_ylim()[1] > 50 * one.get_ylim()[1]
    assert texts(many)["fp64 fma 256-bit"] == "fp64 fma 256-bit  7.53 TFLOP/s"


def test_title_and_footnote_say_what_and_when() -> None:
    note = figures.described(factories.zen4_results(complete=False), factories.zen4())
    figure = figures.roofline_figure([("AMD EPYC 9R14", factories.zen4())], team="all", footnote=note)
    title, footnote = (text.get_text() for text in figure.texts)
    assert title == "AMD EPYC 9R14, 2 threads"
    assert "Measured 2026-03-01 09:30 UTC at 3.67 GHz. Partial" in footnote
    assert "1 GB = 1e9 bytes" in footnote


def test_a_precision_can_be_chosen() -> None:
    axes = one_panel(factories.multi_precision(), team="one", precisions=["int8", "fp32"])
    assert {name.split()[0] for name in drawn(axes, "roof")} == {"L1", "L2", "L3", "DRAM", "fp32", "int8"}
    assert {name.split()[1] for name in drawn(axes, "point")} == {"fp32", "int8"}
    assert "GOP/s" in axes.get_ylabel()
    assert "GOP/s" not in one_panel(factories.zen4(), team="one").get_ylabel()


def test_two_precisions_are_drawn_unless_others_are_asked_for() -> None:
    figure = figures.roofline_figure([("CPU", factories.multi_precision())])
    assert_readable(figure)
    for axes in figure.axes:
        assert {name.split()[0] for name in drawn(axes, "roof")} == {"L1", "L2", "L3", "DRAM", "fp64", "fp32"}
    footnote = next(text.get_text() for text in figure.texts if text.get_gid() == "footnote")
    assert "Also measured (--precision): fp16, bf16 and int8." in " ".join(footnote.split())
    asked = figures.roofline_figure([("CPU", factories.multi_precision())], precisions=["fp64"])
    assert "Also measured" not in " ".join(text.get_text() for text in asked.texts)
    compute = tuple(roof for roof in factories.multi_precision().compute if roof.precision in ("bf16", "int8"))
    others = replace(factories.zen4(), compute=compute, ridges=(), points=())
    axes = figures.roofline_figure([("CPU", others)], team="one").axes[0]
    assert {"bf16 fma 512-bit", "int8 fma 512-bit"} <= set(drawn(axes, "roof"))


def test_a_mix_above_the_roof_is_drawn_and_named_and_the_slopes_reach_it() -> None:
    axes = one_panel(factories.zen4_ceilings(), team="one")
    above = drawn(axes, "above")
    assert set(above) == {"fp64 fma_add_1_1 512-bit", "fp32 fma_add_1_1 512-bit"}
    line = above["fp32 fma_add_1_1 512-bit"]
    assert list(line.get_ydata()) == pytest.approx([176, 176])
    assert line.get_linewidth() < drawn(axes, "roof")["fp32 fma 256-bit"].get_linewidth()
    assert max(drawn(axes, "roof")["L1 load2_store1"].get_ydata()) == pytest.approx(176)
    assert texts(axes)["fp32 fma_add_1_1 512-bit"] == "fp32 fma_add_1_1  176 GFLOP/s"
    # Ridge points stay with the conventional roofs.
    assert not any("fma_add" in name for name in drawn(axes, "mark"))
    assert "mix faster than multiply-adds" in [t.get_text() for t in axes.get_legend().get_texts()]  # type: ignore[union-attr]


@pytest.mark.parametrize("precisions", [["fp64"], ["fp32"], ["int8"], ["fp64", "fp32", "bf16"], EVERY])
@pytest.mark.parametrize("team", [None, "one"])
def test_ceilings_do_not_collide(precisions: list[str], team: str | None) -> None:
    known = [name for name in precisions if name != "fp16"]
    assert_readable(figures.roofline_figure([("CPU", factories.zen4_ceilings())], team=team, precisions=known))


def test_one_precision_shows_all_of_its_ceilings_and_names_those_that_can_be_told_apart() -> None:
    axes = one_panel(factories.zen4_ceilings(), team="one", precisions=["fp64"])
    lines, labels = drawn(axes, "ceiling"), texts(axes)
    assert {
        "fp64 sqrt 512-bit",
        "fp64 divide 512-bit",
        "fp64 fma_add_2_1 512-bit",
        "fp64 fma 512-bit, 2 chains",
    } <= set(lines)
    assert labels["fp64 fma 128-bit"] == "fp64 128-bit, fp64 2 chains, fp64 add, ...  29.4 GFLOP/s"
    assert labels["fp64 fma 64-bit"] == "fp64 scalar, fp64 1 chain  14.7 GFLOP/s"
    assert labels["fp64 divide 512-bit"] == "fp64 divide  3.27 GFLOP/s"
    assert labels["fp64 fma_add_2_1 512-bit"] == "fp64 fma_add_2_1  73.4 GFLOP/s"


def test_several_precisions_show_the_ceilings_that_tell_most() -> None:
    names = set(drawn(one_panel(factories.zen4_ceilings(), team="one"), "ceiling"))
    assert {"fp64 fma 64-bit", "fp64 fma 512-bit, 1 chain", "fp64 add 512-bit"} <= names
    assert not {"fp64 fma 512-bit, 2 chains", "fp64 sqrt 512-bit", "fp64 fma_add_1_2 512-bit"} & names


def test_a_result_with_roofs_of_one_kind_alone_is_drawn() -> None:
    roofline = factories.zen4()
    for part in (
        replace(roofline, compute=(), ridges=(), points=()),
        replace(roofline, memory=(), ridges=(), points=()),
    ):
        figure = figures.roofline_figure([("CPU", part)], team="one")
        assert_readable(figure)
        assert set(drawn(figure.axes[0], "roof")) == set(headlines(part, ONE))


def test_several_machines_are_told_apart_by_colour() -> None:
    machines = [("AMD EPYC 9R14", factories.zen4()), ("Another", factories.six_levels())]
    figure = figures.roofline_figure(machines)
    assert_readable(figure)
    (axes,) = figure.axes
    slopes = [line for line in axes.lines if str(line.get_gid()) in ("roof L1 load2_store1", "roof HBM load")]
    assert len({line.get_color() for line in slopes}) == 2
    shown = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert shown == ["AMD EPYC 9R14, 2 threads", "Another, 1 thread", "ridge point, FLOP/byte"]
    # The legend names them; the title does not say it again.
    assert figure.texts[0].get_text() == "2 machines"
    assert not drawn(axes, "point")
    # All threads of each, in the first precision that both have.
    assert "L1 load2_store1  656 GB/s" in texts(axes).values()
    assert not any("fp32" in text for text in texts(axes).values())


def test_the_legend_says_whose_threads_are_drawn_and_what_is_partial() -> None:
    machines = [("AMD EPYC", factories.zen4()), ("Another", factories.one_level())]
    figure = figures.roofline_figure(machines, title="Both", partial=["Another"])
    assert_readable(figure)
    shown = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert shown[:2] == ["AMD EPYC, 2 threads", "Another, 1 thread, partial"]
    assert figure.texts[0].get_text() == "Both"
    assert "Partial: the sweep was interrupted" in figure.texts[1].get_text()
    assert "Partial" not in figures.roofline_figure(machines).texts[1].get_text()


def test_the_legend_offers_no_ridge_point_where_none_is_drawn() -> None:
    roofline = factories.zen4()
    for part in (replace(roofline, ridges=()), replace(roofline, compute=(), ridges=(), points=())):
        (axes,) = figures.roofline_figure([("CPU", part)], team="one").axes
        assert not drawn(axes, "mark")
        assert not any("ridge" in text.get_text() for text in axes.get_legend().get_texts())  # type: ignore[union-attr]


def test_nothing_to_explain_needs_no_legend() -> None:
    bare = factories.one_level()
    bare = replace(bare, memory=tuple(r for r in bare.memory if r.headline), compute=(), ridges=(), points=())
    assert one_panel(bare).get_legend() is None


def test_a_dollar_sign_in_a_name_is_no_formula(tmp_path: Path) -> None:
    host = replace(factories.zen4_host(), cpu_model=r"CPU $\frac{$")
    figures.save(figures.levels_figure(factories.one_level(), host), tmp_path / "a.png")
    both = [(host.name, factories.one_level()), ("Another", factories.zen4())]
    figures.save(figures.roofline_figure(both), tmp_path / "b.png")


def test_three_crowded_machines_keep_every_label() -> None:
    machines = [("A", factories.zen4()), ("B", factories.server()), ("C", factories.close_levels())]
    figure = figures.roofline_figure(machines)
    assert_readable(figure)
    labels = [text for text in figure.axes[0].texts if str(text.get_gid()).startswith("label ")]
    assert len(labels) == 3 * (4 + 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"team": "P"}, "no team 'P'; it has: one, all"), ({"precisions": ["fp16"]}, "'fp16'; it has: fp64, fp32")],
)
def test_what_the_result_has_not_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        figures.roofline_figure([("CPU", factories.zen4())], **options)


def test_nothing_to_draw_is_refused() -> None:
    empty = Roofline((), (), (), (), ())
    with pytest.raises(InputError, match="holds no roof"):
        figures.roofline_figure([("CPU", empty)])
    with pytest.raises(InputError, match="no bandwidth curve"):
        figures.levels_figure(empty, factories.zen4_host())
    lesser = replace(factories.one_level(), memory=(), ridges=(), points=())
    unproven = replace(lesser, compute=tuple(replace(roof, headline=False, verified=False) for roof in lesser.compute))
    with pytest.raises(InputError, match="no verified roof"):
        figures.roofline_figure([("CPU", unproven)])


# ------------------------------------------------------------------------------------ the bandwidth curve


@pytest.mark.parametrize("name", MACHINES)
def test_every_plateau_and_capacity_is_labelled_and_nothing_collides(name: str) -> None:
    roofline = MACHINES[name]()
    figure = figures.levels_figure(roofline, factories.zen4_host(), "Measured on a day.")
    assert_readable(figure)
    (axes,) = figure.axes
    labels = texts(axes)
    for curve in roofline.curves:
        for plateau in curve.plateaus:
            assert labels[f"{curve.team.name} {plateau.name}"].startswith(f"{plateau.name}  ")
    marks = [name for kind in ("declared", "effective") for name in drawn(axes, kind)]
    assert len(labels) == sum(len(curve.plateaus) for curve in roofline.curves) + len(marks)


def test_curves_and_plateaus_have_the_rates_of_the_team() -> None:
    roofline = factories.zen4()
    (axes,) = figures.levels_figure(roofline, factories.zen4_host()).axes
    curves = drawn(axes, "curve")
    assert set(curves) == {"one", "all"}
    for curve in roofline.curves:
        line = curves[curve.team.name]
        assert list(line.get_xdata()) == [point.working_set for point in curve.points]
        assert list(line.get_ydata()) == pytest.approx([point.rate.best / 1e9 for point in curve.points])
    plateau = drawn(axes, "plateau")["all L1"]
    assert list(plateau.get_ydata()) == pytest.approx([466, 466])
    assert texts(axes)["all L1"] == "L1  466 GB/s"
    assert "one thread" in axes.get_xlabel()
    assert "all threads together" in axes.get_ylabel()


def test_the_band_reaches_from_the_median_to_the_best() -> None:
    roofline = factories.zen4()
    (axes,) = figures.levels_figure(roofline, factories.zen4_host()).axes
    bands = {str(band.get_gid()): band for band in axes.collections}
    (path,) = bands["band one"].get_paths()
    rates = [value for point in roofline.curves[0].points for value in (point.rate.best, point.rate.median)]
    heights = np.asarray(path.vertices)[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((min(rates) / 1e9, max(rates) / 1e9))


def test_capacities_that_the_teams_share_are_one_mark() -> None:
    roofline = factories.zen4()
    (axes,) = figures.levels_figure(roofline, factories.zen4_host()).axes
    assert set(drawn(axes, "declared")) == {f"{level} {size}" for level, size in factories.ZEN4_DECLARED.items()}
    assert {line.get_linestyle() for line in drawn(axes, "effective").values()} == {"-"}
    assert {line.get_linestyle() for line in drawn(axes, "declared").values()} == {"--"}
    one, both = roofline.curves
    shared = tuple(
        replace(plateau, capacity=3.6 * MIB, declared=16 * MIB) if plateau.name == "L3" else plateau
        for plateau in both.plateaus
    )
    apart = replace(roofline, curves=(one, replace(both, plateaus=shared)))
    figure = figures.levels_figure(apart, factories.zen4_host())
    assert_readable(figure)
    labels = set(texts(figure.axes[0]).values())
    assert {"L3 effective 7.2 MiB", "L3 effective 3.6 MiB", "L3 declared 32 MiB", "L3 declared 16 MiB"} <= labels
    assert "L1 declared 32 KiB" in labels


def test_labels_of_capacities_stand_on_white_above_all_lines() -> None:
    (axes,) = figures.levels_figure(factories.zen4(), factories.zen4_host()).axes
    found = [text for text in axes.texts if "declared" in text.get_text() or "effective" in text.get_text()]
    assert len(found) >= 4
    for text in found:
        ground = text.get_bbox_patch()
        assert ground is not None
        assert ground.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
        assert text.get_zorder() > max(line.get_zorder() for line in axes.lines)


def test_ticks_are_sizes_in_powers_of_two() -> None:
    (axes,) = figures.levels_figure(factories.zen4(), factories.zen4_host()).axes
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert "64 KiB" in shown
    assert "1 MiB" in shown
    assert 64 * KIB in axes.get_xticks()


# --------------------------------------------------------------------------------- latency and scaling


FLAT = {"random": {"L1": 1.0, "L2": 4.0, "DRAM": 80.0}, "page": {"L1": 1.0, "L2": 3.9, "DRAM": 79.0}}
ONE_PATTERN = {"random": {"L1": 1.0, "L2": 1.5, "L3": 2.2, "DRAM": 3.1}}


@pytest.mark.parametrize("latencies", [None, FLAT, ONE_PATTERN], ids=["zen4", "alike", "close"])
def test_every_latency_is_labelled_once_and_nothing_collides(latencies: dict[str, dict[str, float]] | None) -> None:
    roofline = factories.irregular(latencies)
    figure = figures.latency_figure(roofline, factories.zen4_host(), "Measured on a day.")
    assert_readable(figure)
    (axes,) = figure.axes
    labels = texts(axes)
    random = {entry.level: entry.seconds for entry in roofline.latencies if entry.pattern == "random"}
    for entry in roofline.latencies:
        near = max(entry.seconds / random[entry.level], random[entry.level] / entry.seconds) < 1.1
        assert (f"{entry.pattern} {entry.level}" in labels) == (entry.pattern == "random" or not near)
    assert labels["random L1"].startswith("L1  1.0")
    assert labels["random L1"].endswith("cycles")


def test_latency_curves_are_in_nanoseconds_with_the_capacities_of_the_random_one() -> None:
    roofline = factories.irregular()
    (axes,) = figures.latency_figure(roofline, factories.zen4_host()).axes
    curves = drawn(axes, "curve")
    assert set(curves) == {"random", "page"}
    for curve in roofline.latency_curves:
        line = curves[curve.pattern]
        assert list(line.get_xdata()) == [point.working_set for point in curve.points]
        assert list(line.get_ydata()) == pytest.approx([point.seconds * 1e9 for point in curve.points])
    assert set(drawn(axes, "effective")) == {f"{level} {size:.0f}" for level, size in factories.ZEN4_CAPACITIES.items()}
    assert list(drawn(axes, "plateau")["random DRAM"].get_ydata()) == pytest.approx([167, 167])
    assert "ns" in axes.get_ylabel()


def test_what_the_fit_does_not_believe_of_a_latency_curve_is_not_written() -> None:
    roofline = factories.irregular()
    doubted = tuple(
        replace(entry, seconds=2.0 * entry.seconds, capacity=None) if entry.level == "L2" else entry
        for entry in roofline.latencies
    )
    (axes,) = figures.latency_figure(replace(roofline, latencies=doubted), factories.zen4_host()).axes
    assert {name.split()[0] for name in drawn(axes, "effective")} == {"L1", "L3"}
    assert not any(name.endswith("L2") for name in texts(axes))


def test_scaling_is_drawn_with_more_than_two_points_and_its_saturation() -> None:
    roofline = factories.irregular(threads=(1, 2, 4, 8))
    figure = figures.scaling_figure(roofline, factories.zen4_host(), "Measured on a day.")
    assert_readable(figure)
    (axes,) = figure.axes
    line = drawn(axes, "scaling")["DRAM"]
    assert list(line.get_xdata()) == [1, 2, 4, 8]
    assert list(line.get_ydata()) == pytest.approx([30, 60, 60, 60])
    assert list(drawn(axes, "saturated")) == ["DRAM"]
    assert list(drawn(axes, "saturated")["DRAM"].get_xdata()) == [2]
    assert texts(axes)["DRAM"] == "DRAM  60.0 GB/s, saturated by 2 threads"
    with pytest.raises(InputError, match="more than two"):
        figures.scaling_figure(factories.irregular(), factories.zen4_host())
    with pytest.raises(InputError, match="no latency curve"):
        figures.latency_figure(factories.zen4(), factories.zen4_host())


@pytest.mark.parametrize(("threads", "kinds"), [((1, 2), ["latency"]), ((1, 2, 4), ["latency", "scaling"])])
def test_what_there_is_beside_the_roofs_is_written(tmp_path: Path, threads: tuple[int, ...], kinds: list[str]) -> None:
    written = figures.write(factories.zen4_results(), factories.irregular(threads=threads), tmp_path / "a")
    names = [f"a.{kind}.{form}" for kind in ("roofline", "levels", *kinds) for form in ("png", "svg")]
    assert [path.name for path in written] == names


# ------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_the_same_result_gives_the_same_bytes(tmp_path: Path, suffix: str, magic: bytes) -> None:
    contents = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}{suffix}"
        figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), path)
        contents.append(path.read_bytes())
    assert contents[0].startswith(magic)
    assert contents[0] == contents[1]


def test_the_resolution_is_that_of_print_and_slides(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), path)
    width, height = (int.from_bytes(path.read_bytes()[i : i + 4], "big") for i in (16, 20))
    assert (width, height) == (1600, 1040)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_older_figure_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.png"
    path.write_bytes(b"the older one")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left on device") as caught:
        figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), path)
    assert caught.value.filename == str(path)
    assert caught.value.errno == errno.ENOSPC
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"the older one"


def test_a_figure_takes_the_place_of_an_older_one_behind_its_link_too(tmp_path: Path) -> None:
    (tmp_path / "real.svg").write_bytes(b"the older one")
    (tmp_path / "link.svg").symlink_to("real.svg")
    figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), tmp_path / "link.svg")
    assert (tmp_path / "link.svg").is_symlink()
    assert (tmp_path / "real.svg").read_bytes().startswith(b"<?xml")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_in_the_place_of_a_figure_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    with pytest.raises(OSError, match="a directory") as caught:
        figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), tmp_path / "a.png")
    assert caught.value.filename == str(tmp_path / "a.png")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.json"])
def test_an_unknown_format_is_refused_and_nothing_written(tmp_path: Path, name: str) -> None:
    figure = figures.levels_figure(factories.one_level(), factories.zen4_host())
    with pytest.raises(InputError, match=r"use \.png, \.svg, \.pdf"):
        figures.save(figure, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_both_figures_are_written_beside_each_other(tmp_path: Path) -> None:
    paths = figures.write(factories.zen4_results(), factories.one_level(), tmp_path / "2026.x")
    names = [f"2026.x.{kind}.{form}" for kind in ("roofline", "levels") for form in ("png", "svg")]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_of_a_partial_result_what_there_is_gets_drawn(tmp_path: Path) -> None:
    results, roofline = factories.zen4_results(complete=False), factories.one_level()
    written = figures.write(results, replace(roofline, curves=()), tmp_path / "a")
    assert [path.name for path in written] == ["a.roofline.png", "a.roofline.svg"]
    written = figures.write(results, Roofline((), (), (), (), roofline.curves), tmp_path / "b")
    assert [path.name for path in written] == ["b.levels.png", "b.levels.svg"]
    with pytest.raises(InputError, match="nothing to draw"):
        figures.write(results, Roofline((), (), (), (), ()), tmp_path / "c")


def test_the_users_settings_change_nothing_and_are_left_alone(tmp_path: Path) -> None:
    import matplotlib

    def picture(name: str) -> bytes:
        path = tmp_path / name
        figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), path)
        return path.read_bytes()

    usual = picture("usual.svg")
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert picture("odd.svg") == usual
        assert matplotlib.rcParams["font.size"] == 30.0


def test_no_display_no_home_no_pyplot_and_no_remark(tmp_path: Path) -> None:
    nowhere = tmp_path / "a file, no folder"
    nowhere.touch()
    code = (
        "import sys\nfrom pathlib import Path\nfrom ert.show.charts import figures\nfrom tests import factories\n"
        "assert 'matplotlib' not in sys.modules\n"
        "figures.save(figures.levels_figure(factories.one_level(), factories.zen4_host()), Path(sys.argv[1]))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    hidden = ("DISPLAY", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLBACKEND")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.png")],
        env={**environment, "HOME": str(nowhere), "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_labels_of_odd_teams_are_named(tmp_path: Path) -> None:
    team = Team("E", (4, 5), 2)
    roofline = factories.machine({"fp64": {128: 20.0}}, {"L1": {"load": 90.0}, "DRAM": {"load": 11.0}}, {team: {}})
    figure = figures.roofline_figure([("A hybrid", roofline)])
    assert figure.texts[0].get_text() == "A hybrid, 2 threads (E)"
    assert BOTH not in roofline.teams
