"""Application kernels in the public report and its table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ert.records.report import report, rows
from ert.records.store import from_document, to_document
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Roofline, Sample
from tests import factories
from tests.factories import BOTH, ONE

WHOLE = factories.zen4_whole()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return report(factories.kernel_results(WHOLE, teams=(ONE, BOTH)), WHOLE)


def the_placement(document: dict[str, Any], name: str, team: str = "all") -> dict[str, Any]:
    return next(p for p in document["placements"] if (p["kernel"], p["team"]) == (name, team))


def test_the_facts_of_the_catalogue(document: dict[str, Any]) -> None:
    assert document["kernels"][1] == {
        "name": "stream_triad_nt", "family": "stream", "title": "stream triad nt", "implementation": "explicit vectors",
        "flop_formula": "2 n", "read_formula": "2 n s", "written_formula": "n s", "compulsory_formula": "3 n s",
        "traffic_formula": "3 n s", "source": "McCalpin, STREAM", "instructions": "fma", "mix": "triad_nt", "limit": "",
        "nominal": False, "ladder": "", "rung": None, "notes": "",
    }  # fmt: skip
    gemm = next(entry for entry in document["kernels"] if entry["name"] == "gemm_blas")
    assert (gemm["ladder"], gemm["rung"], gemm["implementation"]) == ("gemm", 6, "library")


def test_a_placement(document: dict[str, Any]) -> None:
    n = 16 << 20
    traffic, roof = 24 * n, 28.2e9 * 5 / 3
    found = the_placement(document, "stream_triad_nt")
    assert found == {
        "kernel": "stream_triad_nt", "parameters": {"n": n}, "size": f"n {n}", "precision": "fp64", "team": "all",
        "threads": 2, "level": "DRAM", "working_set_bytes": 2**27, "total_working_set_bytes": 2**28, "flop": 2 * n,
        "read_bytes": 16 * n, "written_bytes": 8 * n, "allocate_bytes": 0, "compulsory_bytes": traffic,
        "traffic_bytes": traffic,
        "flop_per_byte": pytest.approx(1 / 12), "program_flop_per_byte": pytest.approx(1 / 12),
        "flop_per_s": pytest.approx(0.98 * roof / 12), "byte_per_s": pytest.approx(0.98 * roof), "unit": "FLOP/s",
        "median": pytest.approx(0.98 * roof / 12 / 1.002), "spread": pytest.approx(1 - 1 / 1.002), "grade": "A",
        "samples": 3, "verified": True, "code": {"status": "verified", "reason": "", "found": {}},
        "compute_roof": "fp64 fma 256-bit, team all", "memory_roof": "DRAM triad_nt, team all",
        "memory_roof_per_s": 47e9, "memory_roof_moved": False,
        "attainable_per_s": pytest.approx(roof / 12), "compute_share": pytest.approx(0.98 * roof / 12 / 117.6e9),
        "memory_share": pytest.approx(0.98), "efficiency": pytest.approx(0.98), "bound": "memory",
        "seconds": pytest.approx(traffic / roof / 0.98), "lower_bound_seconds": pytest.approx(traffic / roof),
        "headroom_seconds": pytest.approx(traffic / roof / 0.98 - traffic / roof), "rank": found["rank"],
        "rule": "at_memory_roof", "advice": found["advice"],
    }  # fmt: skip
    assert len(found["advice"]) == 2


def test_a_kernel_without_flop_has_a_rate_in_bytes(document: dict[str, Any]) -> None:
    fill = the_placement(document, "fill")
    assert (fill["flop_per_s"], fill["unit"], fill["compute_roof"], fill["compute_share"]) == (
        None,
        "byte/s",
        None,
        None,
    )
    assert fill["memory_roof"] == "DRAM store (traffic), team all"
    assert fill["attainable_per_s"] == pytest.approx(26e9 * 5 / 3)
    assert fill["median"] == pytest.approx(fill["byte_per_s"] / 1.002)


def test_roofs_are_named_as_in_the_report(document: dict[str, Any]) -> None:
    compute = {roof["name"] for roof in document["compute_roofs"]}
    memory = {roof["name"] for roof in document["memory_roofs"]}
    assert {p["compute_roof"] for p in document["placements"]} <= compute | {None}
    assert {p["memory_roof"] for p in document["placements"]} <= memory


def test_ranks_are_by_headroom(document: dict[str, Any]) -> None:
    ranked = sorted(document["placements"], key=lambda entry: entry["rank"])
    assert [entry["rank"] for entry in ranked] == list(range(1, len(ranked) + 1))
    headroom = [entry["headroom_seconds"] for entry in ranked]
    assert headroom == sorted(headroom, reverse=True)


def test_unknown_roofs_are_null() -> None:
    bare = Roofline((), (), (), (), ())
    found = report(factories.kernel_results(WHOLE, most=2), bare)["placements"][1]
    assert [found[key] for key in ("compute_roof", "memory_roof", "efficiency", "rank", "headroom_seconds")] == [
        None
    ] * 5
    assert found["bound"] == "unknown"


def test_reuse(document: dict[str, Any]) -> None:
    assert document["reuse"][-1] == {
        "team": "all", "threads": 2, "precision": "fp64", "level": "DRAM", "flop_per_byte": pytest.approx(117.6 / 50),
        "block": 19, "held_bytes": 3 * 19 * 19 * 8, "holder": "L3",
        "effective_capacity_bytes": pytest.approx(7.2 * 2**20), "fits": True, "batch": pytest.approx(117.6 / 50 * 4),
    }  # fmt: skip
    assert len(document["reuse"]) == 2 * 4
    assert report(factories.kernel_results(WHOLE, most=2), WHOLE)["reuse"] == []


def test_every_placement_is_a_row_of_the_table(document: dict[str, Any]) -> None:
    table = [row for row in rows(document) if row["kind"] == "placement"]
    assert len(table) == len(document["placements"])
    for row, entry in zip(table, document["placements"], strict=True):
        assert {name: value for name, value in row.items() if name in entry} == {
            name: value for name, value in entry.items() if name in row
        }
    columns = (
        "kernel",
        "size",
        "efficiency",
        "bound",
        "seconds",
        "lower_bound_seconds",
        "rank",
        "flop",
        "traffic_bytes",
    )
    assert all(name in table[0] for name in columns)


def test_every_key_is_documented(document: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "report-json.md").read_text(encoding="utf-8")
    keys = {key for name in ("kernels", "placements", "reuse") for entry in document[name] for key in entry}
    keys |= {"kernels", "placements", "reuse", "status", "reason", "found"}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []
    rules = {p["bound"] for p in document["placements"]} | {"unknown"}
    assert [word for word in sorted(rules) if f"`{word}`" not in text] == []


def test_results_with_kernels_are_stored_and_read_and_give_finite_numbers() -> None:
    results = factories.kernel_results(WHOLE, precisions=("fp64", "fp32"))
    again = from_document(json.loads(json.dumps(to_document(results))), "a file")
    assert again == results
    for roofline in (WHOLE, fit(results)):
        assert report(again, roofline) == report(results, roofline)
        json.dumps(report(results, roofline), allow_nan=False)


def test_the_largest_and_smallest_counts_give_finite_numbers() -> None:
    results = factories.kernel_results(WHOLE, most=3)
    big = tuple(
        replace(
            m,
            work=replace(m.work, flop=2**62, read_bytes=2**62, allocate_bytes=2**62),
            samples=(Sample(0, 2**62, 1e-12),),
        )
        for m in results.measurements
    )
    json.dumps(report(replace(results, measurements=big), WHOLE), allow_nan=False)


def test_a_result_without_kernels_has_empty_lists() -> None:
    empty = report(factories.zen4_results(), WHOLE)
    assert [empty[name] for name in ("kernels", "placements", "reuse")] == [[], [], []]
