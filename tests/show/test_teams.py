"""Teams side by side: the tables and the chart of extra teams and NUMA nodes, from planted numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from ert.errors import InputError
from ert.roofline.model import ComputeRoof, Cpu, Host, MemoryRoof, NodeBandwidth, Roofline, Team
from ert.show import tables, teams
from ert.show.charts import figures
from tests import factories
from tests.show.charts.drawings import assert_readable, drawn

GIGA = 1e9
ONE, ALL, SMT = Team("one", (2,), 1), Team("all", (2, 0, 4, 5), 4), Team("SMT", (2, 0, 4, 5, 3, 1), 4)
ONE_E, ALL_P, ALL_E = Team("one E", (4,), 1), Team("all P", (2, 0), 2), Team("all E", (4, 5), 2)
HYBRID = Host(
    "Linux", "x86_64", kinds=("P", "E"), cpu_model="Hybrid",
    cpus=tuple(Cpu(cpu, core, kind=kind) for cpu, core, kind in (
        (0, 0, "P"), (1, 0, "P"), (2, 1, "P"), (3, 1, "P"), (4, 2, "E"), (5, 3, "E"),
    )),
)  # fmt: skip
RATES = {ONE: 1.0, ALL: 3.0, ONE_E: 0.5, ALL_P: 2.0, ALL_E: 1.0, SMT: 3.3}


def roofline(rates: dict[Team, float] = RATES) -> Roofline:
    compute = tuple(
        ComputeRoof(f"{p} fma 256-bit", p, "fma", 256, 8, team, factories.estimate(f * rate * 100 * GIGA), True, True)
        for team, rate in rates.items() for p, f in (("fp64", 1), ("int8", 8))
    )  # fmt: skip
    memory = tuple(
        MemoryRoof(f"{level} load", level, "load", 256, team, "program", 1 << 20, factories.estimate(rate * b * GIGA),
                   True, True)
        for team, rate in rates.items() for level, b in (("L1", 200), ("DRAM", 20))
    )  # fmt: skip
    return Roofline(compute, memory, (), (), ())


def numa(nodes: int = 4, far: float = 0.5, rows: int | None = None) -> tuple[NodeBandwidth, ...]:
    return tuple(
        NodeBandwidth(
            near, other, Team(f"node {near}, memory {other}", (near,), 1, other), 1 << 27,
            factories.estimate((100.0 if near == other else 100.0 * far) * GIGA), True,
        )
        for near in range(rows or nodes) for other in range(nodes)
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------- tables


def test_usual_teams_alone_stand_nowhere_twice() -> None:
    assert teams.sections(factories.zen4(), factories.zen4_host(), 80) == []


def test_kinds_of_core_stand_side_by_side() -> None:
    lines = teams.sections(roofline(), HYBRID, 80)
    assert lines == [
        "",
        "Teams side by side",
        "==================",
        "  roof             1 thread    4 threads     1 thread    2 threads    2 threads",
        "                          P        P + E            E            P            E",
        "  fp64          100 GFLOP/s  300 GFLOP/s 50.0 GFLOP/s  200 GFLOP/s  100 GFLOP/s",
        "  int8            800 GOP/s   2.40 TOP/s    400 GOP/s   1.60 TOP/s    800 GOP/s",
        "  L1               200 GB/s     600 GB/s     100 GB/s     400 GB/s     200 GB/s",
        "  DRAM            20.0 GB/s    60.0 GB/s    10.0 GB/s    40.0 GB/s    20.0 GB/s",
        "",
        "  roof            6 threads",
        "                        SMT",
        "  fp64          330 GFLOP/s",
        "  int8           2.64 TOP/s",
        "  L1               660 GB/s",
        "  DRAM            66.0 GB/s",
        "",
        "  With SMT siblings, times the rate of one thread a core: fp64 1.10, int8 1.10,",
        "  L1 1.10, DRAM 1.10.",
    ]


def test_without_kinds_the_heads_say_what_differs() -> None:
    host = replace(HYBRID, kinds=(), cpus=tuple(replace(cpu, kind="") for cpu in HYBRID.cpus))
    lines = teams.sections(roofline({ONE: 1.0, ALL: 3.0, SMT: 3.3}), host, 80)
    assert lines[4].split() == ["one", "a", "core", "one", "a", "core", "SMT"]


def test_a_roof_that_a_team_has_not_is_a_dash() -> None:
    whole = roofline({ALL: 3.0, ALL_E: 1.0})
    some = replace(whole, memory=tuple(r for r in whole.memory if (r.team, r.level) != (ALL, "L1")))
    (row,) = (line for line in teams.sections(some, HYBRID, 80) if line.startswith("  L1"))
    assert row.split() == ["L1", "-", "200", "GB/s"]


def test_long_names_of_kinds_are_cut_and_columns_stay_apart() -> None:
    long = tuple(replace(cpu, kind={"P": "Cortex-X925", "E": "Cortex-A725"}[cpu.kind]) for cpu in HYBRID.cpus)
    host = replace(HYBRID, kinds=("Cortex-X925", "Cortex-A725"), cpus=long)
    head = teams.sections(roofline(), host, 80)[4]
    assert "Cortex-X925" in head
    assert "…" in head
    assert len(head) <= 80


def test_the_summary_tells_usual_teams_in_full_and_the_others_in_the_table() -> None:
    text = tables.summary(factories.zen4_results(host=HYBRID), roofline())
    assert "Teams side by side" in text
    assert text.index("4 threads") < text.index("Teams side by side")
    assert "2 threads (E)" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_matrix_of_nodes() -> None:
    lines = teams.sections(Roofline((), (), (), (), (), numa=numa(2)), HYBRID, 80)
    assert lines == [
        "",
        "Bandwidth between NUMA nodes",
        "============================",
        "  GB/s of loads: cores of a node down, memory of a node across",
        "",
        "  cores        memory 0 memory 1",
        "  node 0            100     50.0",
        "  node 1           50.0      100",
        "",
        "  At worst, the cores of node 0 get 50 % of the bandwidth of their own memory",
        "  from that of node 1.",
    ]


def test_a_wide_matrix_is_told_in_blocks_and_gaps_are_dashes() -> None:
    some = tuple(entry for entry in numa(9) if entry.local or entry.memory_node == 0)
    doubtful = (replace(some[0], verified=False), *some[1:])
    lines = teams.sections(Roofline((), (), (), (), (), numa=doubtful), HYBRID, 80)
    assert all(len(line) <= 80 for line in lines)
    assert sum(line.startswith("  cores") for line in lines) == 2
    rows = [line.split() for line in lines if line.startswith("  node 0 ")]
    assert rows[0] == ["node", "0", "-", "-", "-", "-", "-", "-", "-"]
    rows = [line.split() for line in lines if line.startswith("  node 3 ")]
    assert rows[0] == ["node", "3", "50.0", "-", "-", "100", "-", "-", "-"]


# ----------------------------------------------------------------------------------------------------- chart


@pytest.mark.parametrize(("nodes", "rows"), [(2, 2), (4, 3), (8, 8)])
def test_the_chart_shows_every_pair_with_its_number(nodes: int, rows: int) -> None:
    found = numa(nodes, rows=rows)
    figure = figures.numa_figure(Roofline((), (), (), (), (), numa=found), HYBRID, "Measured on a day.")
    (axes,) = figure.axes
    shown = {str(text.get_gid()): text.get_text() for text in axes.texts}
    assert shown == {f"rate {entry.cpu_node} {entry.memory_node}": "100" if entry.local else "50.0" for entry in found}
    (image,) = axes.images
    assert image.get_array().shape == (rows, nodes)
    assert "Hybrid" in next(text.get_text() for text in figure.texts if text.get_gid() == "title")
    assert_readable(figure)


def test_pairs_that_were_not_measured_stay_empty() -> None:
    found = tuple(entry for entry in numa(3) if entry.local or entry.memory_node == 0)
    figure = figures.numa_figure(Roofline((), (), (), (), (), numa=found), HYBRID)
    (axes,) = figure.axes
    assert len(axes.texts) == 5
    assert math.isnan(float(axes.images[0].get_array().filled(math.nan)[0][1]))


def test_the_chart_is_drawn_where_there_is_more_than_one_memory(tmp_path: Path) -> None:
    results = factories.zen4_results()
    for nodes, kinds in ((2, ["levels", "numa", "roofline"]), (1, ["levels", "roofline"])):
        files = figures.write(results, replace(factories.zen4(), numa=numa(nodes)), tmp_path / "name")
        assert sorted({path.name.split(".")[1] for path in files}) == kinds
    with pytest.raises(InputError, match="no bandwidth between NUMA nodes"):
        figures.numa_figure(factories.zen4(), HYBRID)


def test_the_levels_of_many_teams_are_those_of_single_threads_and_usual_ones() -> None:
    plain = factories.zen4()
    curves = tuple(replace(plain.curves[0], team=team) for team in (ONE, ALL, ONE_E, ALL_P, ALL_E, SMT))
    (axes,) = figures.levels_figure(replace(plain, curves=curves), HYBRID).axes
    assert set(drawn(axes, "curve")) == {"one", "all", "one E"}
