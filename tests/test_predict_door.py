"""``python -m ert.predict``: worked cases on the sheets that ship with the tool, and its errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import machines as shipped
from ert.errors import InputError
from ert.predict import main
from ert.records.store import load, save
from tests import factories

MACHINES = Path(shipped.__file__).parent
"""As installed, which is not the checkout when the wheel is tested."""

ARCHIVED = Path(__file__).parent / "data" / "results-v1.json"
DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = DOCS / "examples" / "llm-decode.toml"
ONE = ["--flop", "2", "--bytes", "1", "--precision", "fp64"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def calculated(
    capsys: pytest.CaptureFixture[str], machine: str, precision: str, flop: float, traffic: float
) -> dict[str, Any]:
    """Return what is said of a single computation on one machine, with the ratio of the two roofs added."""
    numbers = ["--flop", str(flop), "--bytes", str(traffic), "--precision", precision]
    (found,) = asked(capsys, *numbers, "--on", machine)["machines"]
    part: dict[str, Any] = found["parts"][0]
    return part | {"runs_per_s": found["runs_per_s"]}


@pytest.mark.parametrize(
    ("machine", "precision", "ridge"),
    [
        ("nvidia-v100-sxm2", "fp16", 139), ("nvidia-a100-sxm-80gb", "fp16", 153), ("nvidia-a100-sxm-40gb", "fp16", 201),
        ("nvidia-a100-sxm-80gb", "bf16", 153), ("nvidia-h100-sxm", "bf16", 295), ("nvidia-h200-sxm", "bf16", 206),
        ("nvidia-b200", "bf16", 281), ("nvidia-a100-sxm-80gb", "fp32", 9.6), ("nvidia-a100-sxm-40gb", "fp32", 12.5),
    ],
)  # fmt: skip
def test_ridge_points_of_accelerators(
    machine: str, precision: str, ridge: float, capsys: pytest.CaptureFixture[str]
) -> None:
    found = calculated(capsys, machine, precision, 1, 1)["ridge_flop_per_byte"]
    assert round(found, 1 if ridge < 100 else 0) == ridge


@pytest.mark.parametrize(("precision", "bound"), [("fp32", "compute"), ("tf32", "memory"), ("fp16", "memory")])
def test_a_higher_compute_roof_makes_the_same_kernel_memory_bound(
    precision: str, bound: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calculated(capsys, "nvidia-a100-sxm-80gb", precision, 50, 1)["bound"] == bound


def test_a_matrix_product_gelu_and_decoding_on_an_h100(capsys: pytest.CaptureFixture[str]) -> None:
    n = 4096
    product = calculated(capsys, "nvidia-h100-sxm", "bf16", 2 * n**3, 3 * 2 * n**2)
    assert (product["bound"], product["seconds"]) == ("compute", pytest.approx(139e-6, rel=1e-2))
    gelu = calculated(capsys, "nvidia-h100-sxm", "bf16", 4e10, 20e9)
    assert (gelu["bound"], gelu["seconds"]) == ("memory", pytest.approx(6.0e-3, rel=1e-2))
    assert calculated(capsys, "nvidia-h100-sxm", "bf16", 140e9, 140e9)["runs_per_s"] == pytest.approx(24, abs=0.1)


def test_two_numbers_make_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys, *ONE, "--on", "60TFLOP/s,1.5TB/s")
    (part,) = document["machines"][0]["parts"]
    assert part["ridge_flop_per_byte"] == pytest.approx(40)
    assert part["attainable_flop_per_s"] == pytest.approx(3e12)
    assert document["crossings"] == []


def test_two_machines_and_their_crossing(capsys: pytest.CaptureFixture[str]) -> None:
    one = ["--flop", "1", "--bytes", "1", "--precision", "fp64", "--on", "100TFLOP/s,0.9TB/s", "40e12,1.6e12"]
    document = asked(capsys, *one)
    (crossing,) = document["crossings"]
    assert crossing["flop_per_byte"] == pytest.approx(44.4, abs=0.05)
    assert [entry["machine"] for entry in document["ranking"]] == [1, 0]
    main(one)
    text = " ".join(capsys.readouterr().out.split())
    assert "below 44.4 FLOP/byte 40e12,1.6e12 attains more, up to 1.778 times; above, 100TFLOP/s,0.9TB/s" in text
    assert "40e12,1.6e12 serves it best" in text


def test_bytes_in_flight(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*ONE, "--on", "1TFLOP/s,100GB/s", "--latency", "300@2.5GHz"]
    assert asked(capsys, *arguments)["machines"][0]["in_flight_bytes"] == pytest.approx(12e3)
    main(arguments)
    assert "12.0 kB" in capsys.readouterr().out


def test_a_workload_on_a_result_and_sheets_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--on", "nvidia-h100-sxm", "nvidia-h200-sxm", "nvidia-a100-sxm-80gb"]) == 0
    text = capsys.readouterr().out
    joined = " ".join(text.split())
    parts = asked(capsys, str(EXAMPLE), "--on", "nvidia-h100-sxm")["workload"]["parts"]
    assert "NVIDIA H200 SXM serves it best" in joined
    assert "below 295 FLOP/byte NVIDIA H200 SXM attains more, up to 1.433 times; above, " in joined
    assert "NVIDIA H100 SXM5 and NVIDIA H200 SXM are equal" in joined
    assert "attains more than NVIDIA A100 80GB SXM at every intensity" in joined
    assert max(map(len, text.splitlines())) <= 80
    (line,) = [line for line in text.splitlines() if line.startswith("  NVIDIA A100 80GB SXM  ")]
    best, worst = (
        sum(part["weight"] * max(part["flop"] / peak[part["precision"]], part["bytes"] / bandwidth) for part in parts)
        for peak, bandwidth in (
            ({"bf16": 989.4e12, "fp32": 66.9e12}, 4.8e12),
            ({"bf16": 312e12, "fp32": 19.5e12}, 2.039e12),
        )
    )
    assert line.split()[-1] == f"{worst / best:.3f}"


def test_totals_are_sums_of_weighted_parts(capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(capsys, str(EXAMPLE), "--on", "nvidia-h100-sxm")
    (machine,) = document["machines"]
    parts = document["workload"]["parts"]
    assert machine["seconds"] == pytest.approx(
        sum(part["weight"] * max(part["flop"] / on["flop_per_s"], part["bytes"] / on["byte_per_s"])
            for part, on in zip(parts, machine["parts"], strict=True))
    )  # fmt: skip


def test_a_sheet_of_one_s_own_and_a_result_are_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "mine.toml"
    shutil.copy(MACHINES / "accelerators" / "nvidia-h100-sxm.toml", sheet)
    document = asked(capsys, *ONE, "--on", str(sheet), str(ARCHIVED))
    assert [(entry["kind"], entry["source"]) for entry in document["machines"]] == [
        ("sheet", str(sheet)), ("result", str(ARCHIVED))
    ]  # fmt: skip


def test_the_kernels_of_a_result_are_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archived = load(ARCHIVED)
    team = next(m.case.team for m in archived.measurements if m.case.team.name == "all")
    planted = factories.kernel_results()
    kernels = tuple(replace(m, case=replace(m.case, team=team)) for m in planted.measurements)
    path = tmp_path / "kernels.json"
    save(replace(archived, measurements=(*archived.measurements, *kernels), kernels=planted.kernels), path)
    document = asked(capsys, str(path), "--on", str(ARCHIVED), "nvidia-h100-sxm")
    names = [part["name"] for part in document["workload"]["parts"]]
    assert {"dot n 16777216", "gemm_blas n 2048"} <= set(names)
    assert "stream_copy" in document["workload"]["notes"][0]
    with pytest.raises(InputError, match=r"kernels of AMD EPYC 9R14: no kernel with FLOP and traffic"):
        main([str(ARCHIVED), "--on", "nvidia-h100-sxm"])


def test_the_figure_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chart.svg"
    text = tmp_path / "w.toml"
    text.write_text(EXAMPLE.read_text().replace('"bf16"', '"fp64"'))
    assert main([str(text), "--on", str(ARCHIVED), "nvidia-h100-sxm", "-o", str(file)]) == 0
    assert "part weights NVIDIA H100 SXM5" in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*ONE, "--on", "nvidia-h100-sxm", "nvidia-h100-sxm"], "are the same machine from the same file; name it once"),
        ([*ONE, "--on", str(ARCHIVED), f"{ARCHIVED.parent}/../data/{ARCHIVED.name}"], "the same machine"),
        ([*ONE, "--on", "zen4"], "zen4: a core has neither clock nor memory of its own"),
        ([*ONE, "--on", "nvidia-h100-smx"], "nvidia-h100-smx: no such file, and no machine sheet .* did you mean"),
        ([*ONE, "--on", "none.json"], r"none\.json: there is no such file"),
        ([*ONE, "--on", "1TFLOP/s,0"], "peak and bandwidth must be above 0"),
        ([*ONE, "--on", "1TFLOP/s"], "needs a peak and a bandwidth, such as 1TFLOP/s,100GB/s"),
        ([*ONE, "--on", "1e300,1"], r"must be above 0 and below 1e\+30"),
        (["--flop", "1e100", "--bytes", "1", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         r"--flop: expected a number below 1e\+30, found 1e\+100"),
        (["--flop", "1", "--bytes", "1e100", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         r"--bytes: expected a number below 1e\+30"),
        (["--flop", "1e-300", "--bytes", "1e300", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         "--flop: expected a number above 1e-30"),
        (["--flop", "nan", "--bytes", "1", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         "must be a finite number"),
        ([*ONE, "--on", "1TFLOP/s,fast"], "bandwidth: expected an amount such as"),
        ([*ONE, "--level", "L3", "--on", "nvidia-h100-sxm"], "no memory roof of L3; it has: DRAM"),
        ([*ONE, "--latency", "soon", "--on", "nvidia-h100-sxm"], "--latency: expected"),
        (["--flop", "1", "--bytes", "1", "--precision", "fp8", "--on", str(ARCHIVED)],
         "no compute roof of fp8; it has: fp64, fp32"),
        (["--flop", "0", "--bytes", "1", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         "--flop: expected a number above 0, found 0"),
        (["--flop", "1", "--bytes", "0", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         "--bytes: expected a number above 0, found 0"),
        (["--flop", "1", "--bytes", "many", "--precision", "fp64", "--on", "nvidia-h100-sxm"],
         "--bytes: expected an amount"),
        (["--flop", "1", "--on", "nvidia-h100-sxm"], "--bytes is missing: name the file of a workload, or give --flop"),
        (["--on", "nvidia-h100-sxm"], "--flop is missing"),
        ([str(EXAMPLE), "--flop", "1", "--on", "nvidia-h100-sxm"], "--flop describes a computation of its own"),
        ([str(EXAMPLE), "--on", str(ARCHIVED)], "no compute roof of bf16"),
        (["none.toml", "--on", "nvidia-h100-sxm"], r"none\.toml: there is no such file"),
        ([*ONE, "--on", "nvidia-h100-sxm", "-o", "chart.jpg"], r"cannot draw \.jpg"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_an_error_in_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        main(arguments)
    assert "\n" not in str(caught.value)


def test_every_key_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "workload.md").read_text(encoding="utf-8")
    document = asked(capsys, str(EXAMPLE), "--on", "nvidia-h100-sxm", "nvidia-a100-sxm-80gb", "--latency", "500ns")

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    found = keys(document)
    assert {"flop_per_byte", "times_slower"} <= found
    assert [key for key in sorted(found) if f"`{key}`" not in text] == []


def test_it_starts_without_numba_and_numpy_on_sheets() -> None:
    code = (
        "import sys\nfrom ert.predict import main\nmain(sys.argv[1:])\n"
        "heavy = {'numba', 'llvmlite', 'matplotlib', 'scipy', 'numpy', 'microbench'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(EXAMPLE), "--on", "nvidia-h100-sxm", "amd-mi300x"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_process_ends_with_2_and_no_traceback() -> None:
    command = [sys.executable, "-m", "ert.predict", "none.toml", "--on", "nvidia-h100-sxm"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: none.toml: there is no such file")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(("flop", "traffic"), [("9e29", "1e-29"), ("1e-29", "9e29"), ("1e27", "1e27")])
def test_extreme_computations_have_words_and_fit(flop: str, traffic: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--flop", flop, "--bytes", traffic, "--precision", "fp64", "--on", "nvidia-h100-sxm", "apple-m1-max"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_pipe_as_a_workload_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match=r"pipe\.toml: this is no regular file"):
        main([str(tmp_path / "pipe.toml"), "--on", "nvidia-h100-sxm"])


def test_promises_that_are_equal_have_no_spread_to_be_equal_within(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ONE, "--on", "1TFLOP/s,1TB/s", "1e12,1e12"])
    text = " ".join(capsys.readouterr().out.split())
    assert "equal to 1e12,1e12." in text


def test_measured_beside_promised_is_cautioned(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ONE, "--on", str(ARCHIVED), "intel-xeon-max-9480"])
    text = " ".join(capsys.readouterr().out.split())
    assert "streams reach 0.7 to 0.95 of it" in text
    assert "the bandwidth of its HBM2e is not stated" in text
    assert len(asked(capsys, *ONE, "--on", str(ARCHIVED), "intel-xeon-max-9480")["cautions"]) == 4
