"""The public report keeps its keys, and says null where nothing is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ert.records.report import COLUMNS, report, rows
from ert.roofline.model import (
    Cache,
    ComputeRoof,
    Curve,
    CurvePoint,
    Estimate,
    Grade,
    Host,
    InstructionLatency,
    IntensityPoint,
    MemoryRoof,
    NodeBandwidth,
    Plateau,
    Results,
    RidgePoint,
    Roofline,
    Team,
)
from tests import factories

ONE, BOTH = Team("one", (1,), 1), Team("all", (0, 1), 2)


def estimate(best: float, per_cycle: float | None = None, grade: Grade = "A") -> Estimate:
    return Estimate(best, 0.98 * best, per_cycle, 0.01, grade, 6)


def peak(team: Team, precision: str = "fp64", **other: Any) -> ComputeRoof:
    return ComputeRoof(f"{precision} fma 512-bit", precision, "fma", 512, 10, team, estimate(58e9, 16.0), True, **other)


def slope(team: Team, **other: Any) -> MemoryRoof:
    rate = estimate(29e9, 0.0, "C")
    return MemoryRoof("DRAM load", "DRAM", "load", 512, team, "program", 2**27, rate, True, **other)


@pytest.fixture
def roofline() -> Roofline:
    compute = (peak(ONE, headline=True), peak(BOTH, headline=True), peak(ONE, "int8"))
    memory = (slope(ONE, headline=True), slope(BOTH, headline=True, declared=2**25, capacity=7e6))
    return Roofline(
        compute,
        memory,
        (IntensityPoint("DRAM", "load", "fp64", ONE, 8, 2.0, estimate(57e9), estimate(28.5e9), False),),
        (RidgePoint(compute[0], memory[0], 2.0), RidgePoint(compute[1], memory[1], 2.25)),
        (
            Curve(
                BOTH,
                (CurvePoint(4096, estimate(400e9, 60.0)),),
                (Plateau("L1", 4e11, 4096, 2**15, 3.3e4, 2**15),),
                ("2 threads: a note",),
            ),
        ),
        ("A derived note.", "A note."),
        (InstructionLatency("fp64 fma 512-bit", "fp64", "fma", 512, ONE, 4.02, estimate(9e8, 0.249), 8, True),),
    )


def test_the_envelope(results: Results, roofline: Roofline) -> None:
    document = report(results, roofline)
    assert document["format"] == "ert-roofline report"
    assert document["version"] == 1
    assert document["started"] == "2026-11-29T22:45:00Z"
    assert document["complete"] is True
    assert document["settings"] == {"seed": 0, "precisions": "fp64"}
    assert document["notes"] == ["A note.", "A derived note."]
    assert document["absent"] == [{"name": "bf16", "needs": "vdpbf16ps"}]
    assert document["seconds"] == {"total": 12.5, "compiling": 1.0, "measuring": 8.0}
    assert document["teams"] == [{"name": "one", "threads": 1, "cores": 1, "cpus": [1], "memory_node": None}]
    assert document["toolchain"] == {
        "versions": {"numba": "0.61.2"}, "target": "znver4", "features": ["avx512f"], "vector_bits": [256, 512],
    }  # fmt: skip


def test_conditions_are_judged_and_disturbances_counted(results: Results, roofline: Roofline) -> None:
    document = report(results, roofline)
    (condition,) = document["conditions"]
    assert (condition["at"], condition["seconds"], condition["load"]) == ("2026-11-29T22:44:59Z", 0.25, 0.5)
    assert (condition["others_cpus"], condition["budget_bytes"]) == (None, None)
    assert {check["name"]: check["verdict"] for check in condition["checks"]}["load"] == "warn"
    assert document["disturbed_samples"] == [
        {"team": "one", "threads": 1, "samples": 2, "stolen": 0, "switched": 0, "roofs": []}
    ]
    assert document["clock_drift"] == []
    assert report(replace(results, conditions=()), roofline)["conditions"] == []


def test_compute_roofs(results: Results, roofline: Roofline) -> None:
    roofs = report(results, roofline)["compute_roofs"]
    assert roofs[0] == {
        "name": "fp64 fma 512-bit, team one",
        "precision": "fp64",
        "instructions": "fma",
        "vector_bits": 512,
        "accumulators": 10,
        "team": "one",
        "threads": 1,
        "flop_per_s": 58e9,
        "unit": "FLOP/s",
        "flop_per_cycle_per_core": 16.0,
        "median": 0.98 * 58e9,
        "spread": 0.01,
        "grade": "A",
        "samples": 6,
        "verified": True,
        "headline": True,
        "above_headline": False,
        "few_chains": False,
    }
    assert [(roof["threads"], roof["unit"]) for roof in roofs] == [(1, "FLOP/s"), (2, "FLOP/s"), (1, "OP/s")]


def test_instruction_latencies(results: Results, roofline: Roofline) -> None:
    assert report(results, roofline)["instruction_latencies"] == [
        {
            "name": "fp64 fma 512-bit",
            "precision": "fp64",
            "instructions": "fma",
            "vector_bits": 512,
            "team": "one",
            "threads": 1,
            "cycles": 4.02,
            "saturating_chains": 8,
            "spread": 0.01,
            "grade": "A",
            "samples": 6,
            "verified": True,
        }
    ]


def test_memory_roofs(results: Results, roofline: Roofline) -> None:
    roofs = report(results, roofline)["memory_roofs"]
    assert roofs[1] == {
        "name": "DRAM load, team all",
        "level": "DRAM",
        "mix": "load",
        "vector_bits": 512,
        "team": "all",
        "threads": 2,
        "bytes_counted": "program",
        "byte_per_s": 29e9,
        "unit": "byte/s",
        "byte_per_cycle_per_core": None,
        "median": 0.98 * 29e9,
        "spread": 0.01,
        "grade": "C",
        "samples": 6,
        "verified": True,
        "headline": True,
        "working_set_bytes": 2**27,
        "total_working_set_bytes": 2**28,
        "declared_capacity_bytes": 2**25,
        "effective_capacity_bytes": 7e6,
    }
    assert roofs[0]["declared_capacity_bytes"] is roofs[0]["effective_capacity_bytes"] is None


def test_intensity_and_ridge_points(results: Results, roofline: Roofline) -> None:
    document = report(results, roofline)
    assert document["intensity_points"] == [
        {
            "level": "DRAM",
            "mix": "load",
            "precision": "fp64",
            "team": "one",
            "threads": 1,
            "k": 8,
            "flop_per_byte": 2.0,
            "flop_per_s": 57e9,
            "unit": "FLOP/s",
            "byte_per_s": 28.5e9,
            "median": 0.98 * 57e9,
            "spread": 0.01,
            "grade": "A",
            "samples": 6,
            "verified": False,
        }
    ]
    assert document["ridge_points"][1] == {
        "compute_roof": "fp64 fma 512-bit, team all",
        "memory_roof": "DRAM load, team all",
        "team": "all",
        "threads": 2,
        "precision": "fp64",
        "level": "DRAM",
        "flop_per_byte": 2.25,
    }


def test_curves(results: Results, roofline: Roofline) -> None:
    assert report(results, roofline)["curves"] == [
        {
            "team": "all",
            "threads": 2,
            "mix": "load",
            "points": [
                {
                    "working_set_bytes": 4096,
                    "total_working_set_bytes": 8192,
                    "byte_per_s": 400e9,
                    "byte_per_cycle_per_core": 60.0,
                    "median": 0.98 * 400e9,
                    "spread": 0.01,
                    "grade": "A",
                    "samples": 6,
                }
            ],
            "plateaus": [
                {
                    "level": "L1",
                    "byte_per_s": 4e11,
                    "first_working_set_bytes": 4096,
                    "last_working_set_bytes": 2**15,
                    "declared_capacity_bytes": 2**15,
                    "effective_capacity_bytes": 3.3e4,
                }
            ],
            "notes": ["2 threads: a note"],
        }
    ]


def test_roofs_have_names_of_their_own_and_ridge_points_use_them(results: Results, roofline: Roofline) -> None:
    twins = replace(peak(ONE, headline=True), accumulators=12), replace(peak(ONE), accumulators=14)
    compute = (*roofline.compute, *twins)
    ridge = RidgePoint(twins[0], roofline.memory[0], 3.0)
    document = report(results, replace(roofline, compute=compute, ridges=(*roofline.ridges, ridge)))
    names = [roof["name"] for roof in document["compute_roofs"]]
    assert len(set(names)) == len(names) == 5
    by_name = {roof["name"]: roof for roof in document["compute_roofs"]}
    assert [by_name[point["compute_roof"]]["accumulators"] for point in document["ridge_points"]] == [10, 10, 12]
    memory = {roof["name"]: roof for roof in document["memory_roofs"]}
    assert [memory[point["memory_roof"]]["threads"] for point in document["ridge_points"]] == [1, 2, 1]


def test_the_host_is_counted_up_and_unknown_sizes_are_null(results: Results, roofline: Roofline) -> None:
    caches = (Cache("L1", 2**15, (0,), 64), Cache("L1", 2**15, (1,), 64), Cache("L3", 0, (0, 1)))
    document = report(replace(results, host=replace(results.host, caches=caches)), roofline)
    host = document["host"]
    assert host["caches"] == [
        {"level": "L1", "size_bytes": 2**15, "line_bytes": 64, "cpus": 1, "instances": 2},
        {"level": "L3", "size_bytes": None, "line_bytes": None, "cpus": 2, "instances": 1},
    ]
    assert (host["online_cpus"], host["usable_cpus"], host["usable_cores"], host["packages"]) == (2, [1], 1, 1)
    assert (host["memory_total_bytes"], host["memory_available_bytes"], host["memory_limit_bytes"]) == (
        2**33,
        None,
        2**31,
    )
    assert host["cpu_quota"] is None


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (Host("Linux", "x86_64", cpu_model="AMD EPYC 9R14", vendor="AuthenticAMD"), "AMD EPYC 9R14"),
        (
            Host("Linux", "x86_64", vendor="AuthenticAMD", identity=(("family", 25), ("model", 17), ("stepping", 1))),
            "AuthenticAMD family 25 model 17",
        ),
        (Host("Linux", "riscv64"), "riscv64 CPU"),
    ],
)
def test_a_machine_has_a_name(host: Host, name: str) -> None:
    assert host.name == name


def test_an_empty_sweep_has_an_empty_report(results: Results) -> None:
    document = report(replace(results, measurements=(), complete=False), Roofline((), (), (), (), ()))
    assert document["complete"] is False
    assert rows(document) == []
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_table_has_a_row_for_everything_and_loses_nothing(results: Results, roofline: Roofline) -> None:
    document = report(results, roofline)
    table = rows(document)
    assert [row["kind"] for row in table] == [
        *["compute_roof"] * 3, *["memory_roof"] * 2, "instruction_latency", "intensity_point",
        *["ridge_point"] * 2, "curve_point", "plateau",
    ]  # fmt: skip
    assert all(tuple(row) == COLUMNS for row in table)
    (curve,) = document["curves"]
    entries = [
        *document["compute_roofs"],
        *document["memory_roofs"],
        *document["instruction_latencies"],
        *document["intensity_points"],
        *document["ridge_points"],
        *({"team": "all", "threads": 2, "mix": "load", **entry} for entry in (*curve["points"], *curve["plateaus"])),
    ]
    for row, entry in zip(table, entries, strict=True):
        assert {name: value for name, value in row.items() if name in entry} == entry
        assert all(value is None for name, value in row.items() if name not in entry and name != "kind")


# ----------------------------------------------------------------------------------------- irregular access


@pytest.fixture
def whole(results: Results) -> dict[str, Any]:
    return report(results, factories.irregular())


def test_latencies_and_their_curves(whole: dict[str, Any]) -> None:
    l2 = next(entry for entry in whole["latencies"] if (entry["level"], entry["pattern"]) == ("L2", "random"))
    assert l2 == {
        "level": "L2", "pattern": "random", "team": "one", "threads": 1, "seconds": pytest.approx(3.8e-9),
        "cycles": pytest.approx(13.946), "median": pytest.approx(3.8e-9 / 0.997), "spread": 0.003, "grade": "A",
        "samples": 18, "declared_capacity_bytes": 2**20, "effective_capacity_bytes": 1.02 * 2**20,
    }  # fmt: skip
    random, page = whole["latency_curves"]
    assert (random["pattern"], page["pattern"]) == ("random", "page")
    assert (random["team"], random["threads"], random["notes"]) == ("one", 1, ["a note of the curve"])
    assert random["points"][0]["working_set_bytes"] == 4096
    assert random["points"][0]["seconds"] == pytest.approx(1.08e-9, rel=0.01)
    assert set(random["points"][0]) == {
        "working_set_bytes", "seconds", "cycles", "median", "spread", "grade", "samples",
    }  # fmt: skip
    assert [plateau["level"] for plateau in random["plateaus"]] == ["L1", "L2", "L3", "DRAM"]
    assert random["plateaus"][3]["seconds"] == pytest.approx(167e-9)


def test_concurrency(whole: dict[str, Any]) -> None:
    best = [entry for entry in whole["random_access"] if entry["headline"]]
    assert [(entry["team"], entry["chains"], entry["lines_in_flight"]) for entry in best] == [
        ("one", 24, 20.0), ("all", 24, 40.0),
    ]  # fmt: skip
    assert best[0]["byte_per_s"] == pytest.approx(20 * 0.384e9)
    assert whole["concurrency"][0] == {
        "level": "DRAM", "team": "one", "threads": 1, "byte_per_s": 30e9, "seconds": 167e-9,
        "needed_bytes_in_flight": pytest.approx(5010), "reached_bytes_in_flight": 1280.0, "chains": 24,
    }  # fmt: skip


def test_gathers_strides_scaling_and_overheads(whole: dict[str, Any]) -> None:
    gather = whole["gather"][3]
    assert (gather["level"], gather["element_bytes"], gather["index_bytes"]) == ("L2", 8, 8)
    assert (gather["byte_per_s"], gather["index_byte_per_s"], gather["line_byte_per_s"]) == (16e9, 16e9, 110e9)
    assert whole["gather"][0]["line_byte_per_s"] is None
    stride = whole["stride"][1]
    assert (stride["level"], stride["stride"], stride["byte_per_s"]) == ("L1", 8, 14.5e9)
    dram = whole["scaling"][1]
    assert (dram["level"], dram["saturated_by_threads"]) == ("DRAM", None)
    assert [(point["threads"], point["byte_per_s"]) for point in dram["points"]] == [(1, 30e9), (2, 60e9)]
    costs = {(entry["kind"], entry["threads"]): entry["seconds"] for entry in whole["overheads"]}
    assert costs["barrier", 2] == pytest.approx(60e-9)


def test_pairs_of_numa_nodes(results: Results) -> None:
    team = Team("node 0, memory 1", (0, 2), 2, memory_node=1)
    pair = NodeBandwidth(0, 1, team, 2**26, estimate(12e9), True)
    (entry,) = report(results, replace(factories.zen4(), numa=(pair,)))["numa"]
    assert entry == {
        "cpu_node": 0, "memory_node": 1, "team": "node 0, memory 1", "threads": 2, "working_set_bytes": 2**26,
        "byte_per_s": 12e9, "median": 0.98 * 12e9, "spread": 0.01, "grade": "A", "samples": 6, "verified": True,
    }  # fmt: skip
    text = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text(encoding="utf-8")
    assert [key for key in entry if f"`{key}`" not in text] == []


def test_every_key_of_irregular_access_is_documented(whole: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text(encoding="utf-8")

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    names = ("latencies", "latency_curves", "random_access", "concurrency", "gather", "stride", "scaling", "overheads")
    assert all(whole[name] for name in names)
    missing = [key for key in sorted(keys({name: whole[name] for name in names})) if f"`{key}`" not in text]
    assert missing == []


def test_a_report_without_them_has_empty_lists(results: Results, roofline: Roofline) -> None:
    document = report(results, roofline)
    assert [document[name] for name in ("latencies", "random_access", "gather", "scaling", "overheads")] == [[]] * 5
