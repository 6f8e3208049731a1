"""What a second process that uses a core half of the time does to the roofs; prints Markdown tables.

Run by hand on a machine that is quiet otherwise: `python -m tests.benchmarks.noise FILE` measures for about half a
minute and writes the samples; with several files it measures nothing and judges their samples together. Cases are
visited round by round, quiet and disturbed in turn. The judge draws rounds and samples from them as a sweep takes them
and counts how often the best of a draw is off, and what grade it has: other numbers of rounds and samples, and other
rules, can so be tried on the same samples.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from ert.measure.bench import Bench
from ert.measure.sampling import Visit, visit
from ert.roofline.model import Case, Measurement, Team
from ert.roofline.statistics import GRADES, REPEATS_WITHIN, grade
from microbench import isa
from tests.synthetic import KIB, MIB

ROUNDS, SAMPLES = 12, 3
"""Rounds and samples of a visit that are recorded; draws take fewer."""

MOVED = 0.03
"""A roof that moves by more than this must say so by its grade."""

DRAWS = 400
SCHEMES = {"quick": (3, 1), "default": (5, 2), "thorough": (12, 3)}
"""Rounds and samples a visit of the efforts; of the last no more than was recorded."""

PERIODS = {"20 ms": 0.02, "200 ms": 0.2, "2 s": 2.0}
"""Of the second process: busy for the first half, asleep for the second."""

SHORTEST = min(PERIODS.values())

BUSY = """
import os, sys, time
if sys.argv[2]:
    os.sched_setaffinity(0, {int(sys.argv[2])})
half = float(sys.argv[1]) / 2
while True:
    end = time.monotonic() + half
    while time.monotonic() < end:
        pass
    time.sleep(half)
"""

Sample = tuple[float, int, float]
"""Passes per second, involuntary context switches, and seconds stolen by the hypervisor."""

Rounds = list[list[Sample]]


def cases(cpus: tuple[int, ...]) -> dict[str, Case]:
    """Return the roofs that are watched, by name."""
    bits = isa.host().vector_bits[-2:][0]
    found = {}
    for team in dict.fromkeys((Team("one", cpus[:1], 1), Team("all", cpus, len(cpus)))):
        found |= {
            f"compute fp64, {team.label}": Case("compute", team, "fp64", "fma", vector_bits=bits, accumulators=12),
            f"compute fp32, {team.label}": Case("compute", team, "fp32", "fma", vector_bits=bits, accumulators=12),
            f"L1 load, {team.label}": Case("memory", team, mix="load", vector_bits=bits, working_set=16 * KIB),
            f"L1 copy, {team.label}": Case("memory", team, mix="copy", vector_bits=bits, working_set=16 * KIB),
            f"L2 load, {team.label}": Case("memory", team, mix="load", vector_bits=bits, working_set=256 * KIB),
            f"L3 load, {team.label}": Case("memory", team, mix="load", vector_bits=bits, working_set=4 * MIB),
            f"DRAM load, {team.label}": Case("memory", team, mix="load", vector_bits=bits, working_set=64 * MIB),
        }
    return found


@contextmanager
def busy(period: float, cpu: str) -> Iterator[None]:
    """Run the second process, on one CPU or wherever the system puts it."""
    command = [sys.executable, "-c", BUSY, str(period), cpu]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def record(bench: Bench, watched: dict[str, Case]) -> dict[str, Rounds]:
    """Visit every case once a round."""
    order, taken = random.Random(1), {}
    for name, case in watched.items():
        taken[name] = Measurement(case, *bench.describe(case))
        assert taken[name].code.verified, name
    for number in range(ROUNDS):
        names = list(watched)
        order.shuffle(names)
        for name in names:
            taken[name] = visit(bench, taken[name], number, Visit(SAMPLES), time.monotonic)
            assert not taken[name].error, taken[name].error
    return {
        name: [
            [
                (s.passes / s.seconds, s.context_switches or 0, s.steal_seconds or 0.0)
                for s in m.samples
                if s.round == number
            ]
            for number in range(ROUNDS)
        ]
        for name, m in taken.items()
    }


def measure(cpus: tuple[int, ...]) -> dict[str, dict[str, Rounds]]:
    """Return the samples of every condition: quiet, and each kind of second process."""
    watched, found = cases(cpus), {}
    with Bench(dict.fromkeys(cpus, 80 * MIB)) as bench:
        found["quiet"] = record(bench, watched)
        for name, period in PERIODS.items():
            with busy(period, str(cpus[0])):
                found[f"{name}, on the first CPU"] = record(bench, watched)
        with busy(SHORTEST, ""):
            found["20 ms, anywhere"] = record(bench, watched)
        found["quiet again"] = record(bench, watched)
    return found


def draws(rounds: Rounds, scheme: tuple[int, int], chance: random.Random) -> Iterator[Rounds]:
    """Draw rounds, and samples that follow each other, as a sweep would have taken them."""
    number, samples = scheme
    for _ in range(DRAWS):
        chosen = chance.sample(rounds, min(number, len(rounds)))
        starts = [chance.randrange(max(1, len(row) - samples + 1)) for row in chosen]
        yield [row[start : start + samples] for row, start in zip(chosen, starts, strict=True)]


def judged(files: Sequence[dict[str, dict[str, Rounds]]], scheme: tuple[int, int]) -> dict[str, dict[str, list[Any]]]:
    """Return movement and grade of every draw, by kind of roof and condition."""
    chance = random.Random(7)
    found: dict[str, dict[str, list[Any]]] = {}
    for conditions in files:
        for condition, roofs in conditions.items():
            for name, rounds in roofs.items():
                quiet = [*conditions["quiet"][name], *conditions["quiet again"][name]]
                truth = max(rate for row in quiet for rate, *_ in row)
                kind = name.split()[0] + name[name.index(",") :]
                disturbed = "quiet" if condition.startswith("quiet") else condition
                into = found.setdefault(kind, {}).setdefault(disturbed, [])
                for drawn in draws(rounds, scheme, chance):
                    bests = [max(rate for rate, *_ in row) for row in drawn]
                    into.append((max(bests) / truth - 1, grade(bests, sum(map(len, drawn)))))
    return found


def table(files: Sequence[dict[str, dict[str, Rounds]]], scheme: tuple[int, int]) -> Iterator[str]:
    """Yield the lines of the table of one scheme."""
    yield (
        "| roof | second process | moved, median | 1 of 100 | moved over 3 % | ... with A or B | broke its grade | "
        f"{' | '.join(GRADES)} |"
    )
    yield f"|---|---|---|---|---|---|---|{'---|' * len(GRADES)}"
    for kind, conditions in judged(files, scheme).items():
        for condition, drawn in conditions.items():
            moves = sorted(move for move, _ in drawn)
            far = [letter for move, letter in drawn if abs(move) > MOVED]
            broke = [move for move, letter in drawn if abs(move) > REPEATS_WITHIN.get(letter, 1.0)]
            cells = [f"{100 * median(moves):.1f} %", f"{100 * moves[len(moves) // 100]:.1f} %"]
            cells += [
                share(len(some), len(drawn)) for some in (far, [letter for letter in far if letter in "AB"], broke)
            ]
            cells += [share(sum(letter == each for _, letter in drawn), len(drawn)) for each in GRADES]
            yield f"| {kind} | {condition} | {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def main() -> None:
    """Measure into one file, or judge several."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cpus", default="0,1", help="CPUs of the larger team (default: 0,1)")
    options = parser.parse_args()
    if len(options.files) == 1 and not options.files[0].exists():
        cpus = tuple(int(cpu) for cpu in options.cpus.split(","))
        options.files[0].write_text(json.dumps(measure(cpus)))
    files = [json.loads(path.read_text()) for path in options.files]
    for name, scheme in SCHEMES.items():
        print(f"\n{name}: {scheme[0]} rounds of {scheme[1]}\n")
        print("\n".join(table(files, scheme)))


if __name__ == "__main__":
    main()
