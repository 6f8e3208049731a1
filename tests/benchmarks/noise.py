"""What a second process that uses a core half of the time does to the roofs; prints Markdown tables.

Run by hand on a machine that is quiet otherwise: `python -m tests.benchmarks.noise NEW_FILE` measures for about half a
minute, writes every sample, and judges them; with files that exist it measures nothing and judges theirs together.

Cases are visited round by round, as a sweep does, once quiet and once beside each kind of second process. The judge
draws rounds and samples from what was recorded, by the rules of a sweep and by simpler ones, and counts how often the
rate of a draw is off, and what grade it has.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median

from ert.measure.bench import Bench
from ert.measure.plan import EFFORTS
from ert.measure.sampling import RETAKES, calibrate
from ert.roofline.fitting.statistics import GRADES, rates
from ert.roofline.model import Case, Code, Estimate, Measurement, Sample, Team, Work
from microbench import isa
from tests.synthetic import KIB, MIB

ROUNDS, SAMPLES = 10, 8
"""Rounds that are recorded, and samples of a visit; draws take fewer."""

MOVED = 0.03
"""A roof that moves by more than this must say so by its grade."""

DRAWS = 500
ANY_CASE = Case("compute", Team("one", (0,), 1))

PERIODS = {"20 ms": 0.02, "200 ms": 0.2, "2 s": 2.0}
"""Of the second process: busy for the first half, asleep for the second."""

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

Rounds = list[list[Sample]]
Conditions = dict[str, dict[str, Rounds]]
"""Condition -> roof -> samples."""


def cases(cpus: tuple[int, ...]) -> dict[str, Case]:
    """Return the roofs that are watched, by name."""
    bits = isa.host().vector_bits[-2:][0]
    found = {}
    for team in dict.fromkeys((Team("one", cpus[:1], 1), Team("all", cpus, len(cpus)))):
        for precision in ("fp64", "fp32"):
            case = Case("compute", team, precision, "fma", vector_bits=bits, accumulators=12)
            found[f"compute {precision}, {team.label}"] = case
        for name, size in (("L1 load", 16 * KIB), ("L1 copy", 16 * KIB), ("L2 load", 256 * KIB)):
            case = Case("memory", team, mix=name.split()[1], vector_bits=bits, working_set=size)
            found[f"{name}, {team.label}"] = case
    return found


@contextmanager
def busy(period: float, cpu: str) -> Iterator[None]:
    """Run the second process, on one CPU or wherever the system puts it."""
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(period), cpu])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def record(bench: Bench, watched: dict[str, Case], target: float) -> dict[str, Rounds]:
    """Visit every case once a round; no sample is left out or taken again."""
    order = random.Random(1)
    taken: dict[str, Rounds] = {name: [] for name in watched}
    for number in range(ROUNDS):
        for name in order.sample(list(watched), len(watched)):
            case = watched[name]
            bench.describe(case)
            bench.open(case)
            before = taken[name][0][0].passes if number else 0
            passes = before or calibrate(lambda passes, case=case: bench.run(case, passes), target=target)
            row = []
            for _ in range(SAMPLES):
                timing = bench.run(case, passes)
                row.append(Sample(number, passes, timing.seconds, away_seconds=timing.away_seconds))
            taken[name].append(row)
            assert not bench.check(case)
    return taken


def measure(cpus: tuple[int, ...], target: float) -> Conditions:
    """Return the samples of every condition: quiet, and each kind of second process."""
    watched, found = cases(cpus), {}
    conditions = {"quiet": nullcontext()}
    conditions |= {f"{name}, on the first CPU": busy(period, str(cpus[0])) for name, period in PERIODS.items()}
    conditions |= {"20 ms, anywhere": busy(PERIODS["20 ms"], "")}
    with Bench(dict.fromkeys(cpus, MIB)) as bench:
        for name, condition in conditions.items():
            with condition:
                found[name] = record(bench, watched, target)
    return found


def draw(rounds: Rounds, number: int, samples: int, retakes: int, chance: random.Random) -> list[Sample]:
    """Draw rounds, and from each the samples that a visit beginning at a random one would have taken."""
    drawn = []
    for index, row in enumerate(chance.sample(rounds, min(number, len(rounds)))):
        start = chance.randrange(len(row))
        visit: list[Sample] = []
        for sample in (*row[start:], *row[:start]):
            if len(visit) == samples + retakes or sum(not each.interrupted for each in visit) == samples:
                break
            visit.append(replace(sample, round=index))
        drawn += visit
    return drawn


def rate_of(rounds: Rounds, scheme: tuple[int, int], chance: random.Random, *, told: bool) -> Estimate:
    """Return the passes per second that a sweep would have found; unless `told`, it knows of no interruption."""
    if not told:
        rounds = [[replace(sample, away_seconds=None) for sample in row] for row in rounds]
    drawn = tuple(draw(rounds, *scheme, RETAKES if told else 0, chance))
    return rates(Measurement(ANY_CASE, Work(flop=1), Code("verified"), drawn), 1)


def table(files: Sequence[Conditions], scheme: tuple[int, int], *, told: bool) -> Iterator[str]:
    """Yield the lines of the table of one scheme.

    A rate moves away from what quiet sweeps of the same scheme find in the median. All kinds of second process are put
    together.
    """
    chance = random.Random(7)
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for conditions in files:
        for condition, roofs in conditions.items():
            for name, rounds in roofs.items():
                quiet = conditions["quiet"][name]
                usual = median(rate_of(quiet, scheme, chance, told=told).best for _ in range(DRAWS))
                beside = "no" if condition == "quiet" else "yes"
                into = found.setdefault((name.split()[0] + name[name.index(",") :], beside), [])
                drawn = (rate_of(rounds, scheme, chance, told=told) for _ in range(DRAWS))
                into += ((rate.best / usual - 1, rate.grade) for rate in drawn)
    yield f"| roof | second process | moved, median | over 3 % | so, A or B | {' | '.join(GRADES)} |"
    yield f"|---|---|---|---|---|{'---|' * len(GRADES)}"
    for (kind, condition), judged in found.items():
        far = [letter for move, letter in judged if abs(move) > MOVED]
        counts = [len(far), sum(letter in "AB" for letter in far)]
        counts += [sum(letter == each for _, letter in judged) for each in GRADES]
        shares = [f"{100 * count / len(judged):.1f} %" for count in counts]
        yield f"| {kind} | {condition} | {100 * median(move for move, _ in judged):.1f} % | {' | '.join(shares)} |"


def main() -> None:
    """Measure into a new file, or judge those that exist."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cpus", default="0,1", help="CPUs of the larger team (default: 0,1)")
    parser.add_argument("--target", type=float, default=4e-3, help="seconds of a sample (default: 0.004)")
    parser.add_argument("--schemes", help="rounds x samples to judge, such as 3x1,5x2 (default: those of the efforts)")
    options = parser.parse_args()
    if len(options.files) == 1 and not options.files[0].exists():
        measured = measure(tuple(int(cpu) for cpu in options.cpus.split(",")), options.target)
        stored = {
            condition: {
                name: [[(s.round, s.passes, s.seconds, s.away_seconds) for s in row] for row in rounds]
                for name, rounds in roofs.items()
            }
            for condition, roofs in measured.items()
        }
        options.files[0].write_text(json.dumps(stored))
    files = [
        {
            condition: {
                name: [[Sample(a, b, c, away_seconds=d) for a, b, c, d in row] for row in rounds]
                for name, rounds in roofs.items()
            }
            for condition, roofs in json.loads(path.read_text()).items()
        }
        for path in options.files
    ]
    schemes = [f"{effort.rounds}x{effort.samples}" for effort in EFFORTS if effort.rounds <= ROUNDS]
    for scheme in options.schemes.split(",") if options.schemes else schemes:
        number, samples = (int(part) for part in scheme.split("x"))
        for told in (False, True):
            rule = "interrupted samples replaced" if told else "every sample taken"
            print(f"\n{number} rounds of {samples}, {rule}\n")
            print("\n".join(table(files, (number, samples), told=told)))


if __name__ == "__main__":
    main()
