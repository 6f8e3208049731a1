"""Machines over each other, and workloads on them, by what is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ert.errors import InputError
from ert.roofline.comparing.machine import Machine, given_machine, measured_machine, promised_machine
from ert.roofline.comparing.predict import Part, Workload, predict
from ert.show.charts.overlay import overlay_figure, workload_figure
from tests import factories
from tests.roofline.comparing.test_machine import CPU


def measured(**changes: object) -> Machine:
    return measured_machine("EPYC", "a.json", factories.zen4_results(**changes), factories.zen4())


def drawn(figure: Any, name: str, axes: int = 0) -> Any:
    (found,) = [artist for artist in figure.axes[axes].get_children() if artist.get_gid() == name]
    return found


def names(figure: Any) -> list[str]:
    return [str(artist.get_gid()) for axes in figure.axes for artist in axes.get_children() if artist.get_gid()]


def test_promises_are_dashed_and_say_so() -> None:
    figure = overlay_figure([measured(), promised_machine("sheet cpu", CPU)], ["EPYC", "CPU 4"], "two")
    assert drawn(figure, "roof fp64 vector").get_linestyle() == "--"
    assert drawn(figure, "roof fp64 fma 256-bit").get_linestyle() == "-"
    assert "Dashed: promised" in figure.texts[1].get_text()
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend[:2] == ["EPYC, 2 threads", "CPU 4, promised, 4 cores at their all-core clock"]
    # Only the precision that both have.
    assert not [name for name in names(figure) if "fp32" in name or "bf16" in name]


def test_measured_machines_alone_have_no_dashes_and_partial_ones_say_so() -> None:
    figure = overlay_figure([measured(), measured(complete=False)], ["A", "B"], "two")
    assert "Dashed" not in figure.texts[1].get_text()
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend[1] == "B, 2 threads, partial"


def test_without_a_common_precision_there_is_no_figure() -> None:
    other = replace(promised_machine("sheet cpu", CPU), peaks=promised_machine("sheet cpu", CPU).peaks[1:])
    with pytest.raises(InputError, match=r"no precision in common \(A: fp64, fp32; B: bf16\)"):
        overlay_figure([measured(), other], ["A", "B"], "two")


def test_parts_lie_on_the_rooflines_and_their_time_below() -> None:
    workload = Workload("w", (Part("copying", 1e9, 1e10, "fp64"), Part("computing", 1e12, 1e9, "fp64")))
    prediction = predict(workload, (measured(), given_machine("M", 1e12, 1e11)))
    figure = workload_figure(prediction, ["EPYC", "M"], "title")
    for place, machine in enumerate(("EPYC", "M")):
        prospect = prediction.prospects[place]
        for each in prospect.forecasts:
            mark = drawn(figure, f"part {each.part.name} {machine}")
            assert list(mark.get_xdata()) == [each.part.intensity]
            assert mark.get_ydata()[0] == pytest.approx(each.attainable / 1e9)
            (bar,) = drawn(figure, f"share {each.part.name} {machine}", axes=1).get_segments()
            assert bar[1][1] - bar[0][1] == pytest.approx(100 * each.total_seconds / prospect.seconds)
    left, right = figure.axes[0].get_xlim()
    assert left < 0.1
    assert right > 1000
    assert figure.axes[1].get_xlim() == (left, right)
    assert {"label copying", "label computing"} <= set(names(figure))
    assert "Dashed" in figure.texts[1].get_text()


def test_parts_of_one_intensity_are_stacked_and_named_together() -> None:
    workload = Workload("w", tuple(Part(name, 1e9, 1e10, "fp64") for name in "abcde"))
    figure = workload_figure(predict(workload, (measured(),)), ["EPYC"], "title")
    tops = [drawn(figure, f"share {name} EPYC", axes=1).get_segments()[0][1][1] for name in "abcde"]
    assert tops == pytest.approx([20, 40, 60, 80, 100])
    assert drawn(figure, "label a").get_text() == "a, b, c, ..."


def test_only_the_levels_and_precisions_of_the_workload_are_drawn() -> None:
    workload = Workload("w", (Part("a", 1e9, 1e10, "fp32", level="L2"),))
    figure = workload_figure(predict(workload, (measured(),)), ["EPYC"], "title")
    assert [name for name in names(figure) if name.startswith("roof ")] == ["roof L2 load", "roof fp32 fma 256-bit"]


def test_a_machine_of_two_numbers_has_the_precisions_that_are_asked_for() -> None:
    workload = Workload("w", (Part("a", 1e9, 1e10, "fp32"), Part("b", 1e9, 1e10, "bf16")))
    figure = workload_figure(predict(workload, (given_machine("M", 1e12, 1e11),)), ["M"], "title")
    assert {"roof fp32 peak", "roof bf16 peak"} <= set(names(figure))


def test_measured_roofs_are_of_the_mix_that_is_promised() -> None:
    figure = overlay_figure([measured(), promised_machine("sheet cpu", CPU)], ["EPYC", "CPU 4"], "two")
    lines = [name for name in names(figure) if name.startswith("roof L1")]
    assert set(lines) == {"roof L1 load"}


def test_parts_without_a_label_are_listed_and_crossings_marked() -> None:
    workload = Workload("w", tuple(Part(f"p{n}", (n + 1) * 1e9, 1e10, "fp64") for n in range(9)))
    machines = (given_machine("A", 100e12, 0.9e12), given_machine("B", 40e12, 1.6e12))
    figure = workload_figure(predict(workload, machines), ["A", "B"], "title")
    note = " ".join(figure.texts[1].get_text().split())
    labelled = {name.removeprefix("label ") for name in names(figure)}
    for n in range(9):
        assert f"p{n}" in labelled or f"p{n} (" in note
    assert drawn(figure, "crossing 44.4").get_xdata()[0] == pytest.approx(400 / 9)


def test_no_mark_hides_another() -> None:
    machine = given_machine("A", 1e12, 1e11)
    workload = Workload("w", (Part("a", 1e9, 1e10, "fp64"),))
    figure = workload_figure(predict(workload, (machine, replace(machine, name="B"))), ["A", "B"], "title")
    sizes = [drawn(figure, f"part a {name}").get_markersize() for name in ("A", "B")]
    assert min(sizes) < 0.7 * max(sizes)
