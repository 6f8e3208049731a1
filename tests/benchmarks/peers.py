"""Compare our probes and STREAM with likwid-bench, carm-roofline and C, in turn within one run; prints a table.

Run by hand on a quiet machine: `python -m tests.benchmarks.peers --turns 7`. Peers that are not found are left out.
Every turn measures each comparison with every tool, one right after the other; the ratios are taken turn by turn, so
that a slow spell of the machine meets both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ert.measure.bench import Bench
from ert.measure.sampling import Visit, visit
from ert.roofline.fitting.fit import rates
from ert.roofline.model import MEMORY, Case, Measurement, Team
from microbench import catalog, isa
from microbench.kernels.kernel import Request
from microbench.kernels.registry import kernel

KIB, MIB = 1 << 10, 1 << 20
OUR_SAMPLES = 60
"""About a third of a second, like one run of a peer; passes of the triad in C."""


@dataclass(frozen=True)
class Comparison:
    """One number that several tools can measure: ours as cases (the best counts), likwid's tests, CARM's selection.

    `triad` are the elements of the same in C, our own in :file:`triad.c`.
    """

    name: str
    unit: str
    ours: tuple[Case, ...]
    likwid: tuple[str, ...] = ()
    carm: tuple[tuple[str, str], ...] = ()
    triad: int = 0


def comparisons(cpus: tuple[int, ...]) -> list[Comparison]:
    """Return what is compared: peaks and bandwidths of one thread, and DRAM and L3 of all."""
    one, every = Team("one", cpus[:1], 1), Team("all", cpus, len(cpus))
    wide = [bits for bits in isa.host().vector_bits if bits >= 256] or [128]
    suffix = {256: "avx", 512: "avx512", 128: "sse"}

    def peak(precision: str) -> tuple[Case, ...]:
        return tuple(
            Case("compute", one, precision, "fma", vector_bits=bits, accumulators=chains)
            for bits in wide
            for chains in (8, 12, 16)
        )

    def stream(mix: str, size: int, team: Team = one) -> tuple[Case, ...]:
        size = catalog.round_working_set(mix, size)
        return tuple(
            Case("memory", team, mix=mix, vector_bits=bits, working_set=size) for bits in isa.host().vector_bits
        )

    def tests(name: str, end: str = "") -> tuple[str, ...]:
        return tuple(f"{name}_{suffix[bits]}{end}" for bits in wide)

    def triad(team: Team) -> Comparison:
        request = Request("fp64", 192 * MIB * team.threads, team.threads)
        sizes = kernel("stream_triad_nt").fit(request)
        cases = tuple(
            Case("stream_triad_nt", team, "fp64", "fma", "triad_nt", vector_bits=bits, level=MEMORY,
                 parameters=tuple(sizes.items()))
            for bits in isa.host().vector_bits
        )  # fmt: skip
        name = f"STREAM triad, non-temporal stores, {team.label}"
        return Comparison(name, "GB/s", cases, tests("stream_mem", "_fma"), triad=int(sizes["n"]))

    nt = ("", "_mem")
    found = [
        Comparison("fp64 multiply-add peak", "GFLOP/s", peak("fp64"), tests("peakflops", "_fma")),
        Comparison("fp32 multiply-add peak", "GFLOP/s", peak("fp32"), tests("peakflops_sp", "_fma")),
        Comparison("L1 load", "GB/s", stream("load", 24 * KIB), tests("load"), (("L1", "1:0"),)),
        Comparison("L1 2:1", "GB/s", stream("load2_store1", 24 * KIB), (), (("L1", "2:1"),)),
        Comparison("L1 triad", "GB/s", stream("triad", 24 * KIB), tests("stream", "_fma")),
        Comparison("L1 copy", "GB/s", stream("copy", 24 * KIB), tests("copy")),
        Comparison("L1 store", "GB/s", stream("store", 24 * KIB), tests("store")),
        Comparison("L2 load", "GB/s", stream("load", 384 * KIB), tests("load"), (("L2", "1:0"),)),
        Comparison("L2 2:1", "GB/s", stream("load2_store1", 384 * KIB), (), (("L2", "2:1"),)),
        Comparison("L2 triad", "GB/s", stream("triad", 384 * KIB), tests("stream", "_fma")),
        Comparison("L3 load, 1 thread", "GB/s", stream("load", 8 * MIB), tests("load")),
        Comparison("DRAM load, 1 thread", "GB/s", stream("load", 128 * MIB), tests("load")),
        Comparison("DRAM copy_nt, 1 thread", "GB/s", stream("copy_nt", 128 * MIB), tests(f"copy{nt[1]}")),
        Comparison("DRAM copy, 1 thread", "GB/s", stream("copy", 128 * MIB), tests("copy")),
        Comparison("DRAM triad_nt, 1 thread", "GB/s", stream("triad_nt", 128 * MIB), tests(f"stream{nt[1]}", "_fma")),
        Comparison("DRAM triad, 1 thread", "GB/s", stream("triad", 128 * MIB), tests("stream", "_fma")),
        triad(one),
    ]
    if every.threads > 1:
        who = f"{every.threads} threads"
        found += [
            Comparison(f"L3 load, {who}", "GB/s", stream("load", 8 * MIB, every), tests("load")),
            Comparison(f"DRAM load, {who}", "GB/s", stream("load", 128 * MIB, every), tests("load")),
            Comparison(f"DRAM copy_nt, {who}", "GB/s", stream("copy_nt", 128 * MIB, every), tests("copy_mem")),
            triad(every),
        ]
    return found


def likwid(test: str, size: int, threads: int) -> float:
    """Return what one second of likwid-bench reports, in units per second; 0 if the test does not exist or run."""
    kilobytes = size * threads // 1000
    command = ["likwid-bench", "-t", test, "-w", f"N:{kilobytes}kB:{threads}", "-s", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    unit = "MFlops/s" if test.startswith("peak") else "MByte/s"
    match = re.search(rf"{unit}:\s+([\d.]+)", done.stdout)
    return float(match.group(1)) * 1e6 if match else 0.0


def carm(executable: str, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return CARM's best bandwidth in byte/s for each (level, load:store ratio), over its instruction sets."""
    levels = sorted({level for level, _ in wanted})
    ratios = sorted({ratio for _, ratio in wanted})
    with tempfile.TemporaryDirectory() as folder:
        command = [executable, "benchmark", "-t", "memory", "-m", *levels, "--ld-st-ratio", *ratios, "-d", "f64"]
        command += ["-i", "x86_avx2", "x86_avx512", "--threads", "1", "--test-time", "1", "--output-dir", folder]
        command += ["--output-fmt", "jsonl"]
        subprocess.run(command, capture_output=True, check=False)
        best: dict[tuple[str, str], float] = {}
        for path in Path(folder).rglob("benchmarks.jsonl"):
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                key = (entry["cache_level"], entry["load_store_ratio"])
                best[key] = max(best.get(key, 0.0), entry["bandwidth_gbps"] * 1e9)
        return best


def built(folder: str) -> str:
    """Build the triad in C as one would build STREAM; the empty string without a compiler that can."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    program = str(Path(folder) / "triad")
    source = str(Path(__file__).with_name("triad.c"))
    if not compiler:
        return ""
    command = [compiler, "-O3", "-march=native", "-fopenmp", source, "-o", program]
    return program if subprocess.run(command, capture_output=True, check=False).returncode == 0 else ""


def in_c(program: str, elements: int, cpus: tuple[int, ...]) -> float:
    """Return the best rate of the triad in C in byte/s, with a thread pinned to each of these CPUs; 0 if it failed."""
    places = {"OMP_NUM_THREADS": str(len(cpus)), "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus)}
    environment = {**os.environ, **places, "OMP_PROC_BIND": "close"}
    command = [program, str(elements), str(OUR_SAMPLES)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return float(done.stdout.split()[0]) if done.returncode == 0 else 0.0


def ours(bench: Bench, cases: Iterable[Case], samples: int) -> tuple[float, float]:
    """Return the best rate of our best case in units per second, and the median of its samples."""
    best = (0.0, 0.0)
    for case in cases:
        work, code = bench.describe(case)
        if not code.verified:
            continue
        taken = visit(bench, Measurement(case, work, code), 0, Visit(samples), time.monotonic)
        if taken.valid:
            rate = rates(taken, work.flop if case.probe == "compute" else work.program_bytes)
            best = max(best, (rate.best, rate.median))
    return best


def main() -> None:
    """Run the turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between turns (default: 5)")
    parser.add_argument("--cpus", default="0,1", help="CPUs of the team (default: 0,1)")
    parser.add_argument("--carm", default=shutil.which("carm") or "", help="path of the carm command")
    parser.add_argument("--only", default="", help="regular expression on the names of comparisons")
    options = parser.parse_args()
    cpus = tuple(int(cpu) for cpu in options.cpus.split(","))
    chosen = [c for c in comparisons(cpus) if re.search(options.only, c.name)]
    have_likwid = shutil.which("likwid-bench") is not None
    sides = ("ours", "our median", "likwid", "carm", "c")
    values: dict[str, dict[str, list[float]]] = {c.name: {side: [] for side in sides} for c in chosen}
    with tempfile.TemporaryDirectory() as folder, Bench(dict.fromkeys(cpus, 400 * MIB)) as bench:
        program = built(folder)
        for turn in range(options.turns):
            wanted = [key for c in chosen for key in c.carm]
            from_carm = carm(options.carm, wanted) if options.carm and wanted else {}
            for comparison in chosen:
                case = comparison.ours[0]
                size, threads = case.working_set or 16 * KIB, case.team.threads
                if comparison.triad:
                    size = 24 * comparison.triad // threads
                taken = values[comparison.name]
                for side in ("ours", "c", "likwid") if turn % 2 else ("likwid", "c", "ours"):
                    if side == "c":
                        wanted_in_c = program and comparison.triad
                        taken["c"].append(in_c(program, comparison.triad, case.team.cpus) if wanted_in_c else 0.0)
                        continue
                    if side == "likwid":
                        tests = comparison.likwid if have_likwid else ()
                        taken["likwid"].append(max((likwid(test, size, threads) for test in tests), default=0.0))
                        continue
                    best, middle = ours(bench, comparison.ours, OUR_SAMPLES // len(comparison.ours))
                    taken["ours"].append(best)
                    taken["our median"].append(middle)
                taken["carm"].append(max((from_carm.get(key, 0.0) for key in comparison.carm), default=0.0))
            print(f"turn {turn + 1} of {options.turns}", file=sys.stderr)
            time.sleep(options.pause)
    print(
        "| what | unit | ours, best | ours, median | likwid-bench | CARM | C | best / best peer | median / best peer |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for comparison in chosen:
        print(_row(comparison, values[comparison.name]))


def _row(comparison: Comparison, values: dict[str, list[float]]) -> str:
    def text(side: str) -> str:
        return f"{median(values[side]) / 1e9:.1f}" if any(values[side]) else ""

    peers = [max(rates) for rates in zip(values["likwid"], values["carm"], values["c"], strict=True)]

    def ratio(side: str) -> str:
        ratios = [mine / peer for mine, peer in zip(values[side], peers, strict=True) if peer > 0]
        return f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else ""

    cells = [comparison.name, comparison.unit, *(text(side) for side in values), ratio("ours"), ratio("our median")]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
