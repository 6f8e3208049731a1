"""How far the roofs of whole quick sweeps move beside a second process, and what their grades say; prints a table.

Run by hand on a machine that is quiet otherwise: `python -m tests.benchmarks.sweeps FOLDER` takes five quick sweeps
quiet and five beside each kind of second process, in turns (ten minutes), and judges all results in FOLDER. With
`--judge` it only judges those.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from ert.records.places import results_in
from ert.records.store import load
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Estimate, Roofline
from tests.benchmarks.noise import MOVED, PERIODS, busy

TURNS = 5
QUIET = "quiet"

UNDISTURBED = 0.75
"""A roof is what this part of all sweeps reaches at most: on a shared machine quiet sweeps can be slow as well."""


def measure(folder: Path, cpu: str) -> None:
    """Take the sweeps, each in a folder of its own that is named by its condition."""
    conditions = {
        QUIET: nullcontext,
        **{f"{name}, on CPU {cpu}": lambda p=p: busy(p, cpu) for name, p in PERIODS.items()},
    }
    conditions["20 ms, anywhere"] = lambda: busy(PERIODS["20 ms"], "")
    for turn in range(TURNS):
        for name, condition in conditions.items():
            out = folder / f"{name}-{turn + 1}"
            command = [sys.executable, "-m", "ert.sweep", "--quick", "--no-kernels", "--no-plot", "--out", str(out)]
            with condition():
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def roofs(roofline: Roofline) -> Iterator[tuple[tuple[str, str, str], Estimate]]:
    """Yield the roofs that are judged: headlines of arithmetic, and every mix in L1 and L2."""
    for peak in roofline.compute:
        if peak.headline:
            yield ("compute", peak.team.label, peak.precision), peak.rate
    for slope in roofline.memory:
        if slope.level in ("L1", "L2") and slope.bytes_counted == "program":
            yield (slope.level, slope.team.label, slope.mix), slope.rate


def table(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of the table over all results in the folders."""
    found: dict[tuple[str, str, str], list[tuple[bool, Estimate]]] = {}
    for folder in folders:
        for path in (path for machine in sorted(folder.iterdir()) for path in results_in(machine)):
            for name, rate in roofs(fit(load(path))):
                found.setdefault(name, []).append((folder.name.startswith(QUIET), rate))
    rows: dict[tuple[str, str, bool], list[int]] = {}
    for (level, team, _), judged in found.items():
        usual = sorted(rate.best for _, rate in judged)[int(UNDISTURBED * (len(judged) - 1))]
        for quiet, rate in judged:
            moved, well = abs(rate.best / usual - 1) > MOVED, rate.grade in "AB"
            row = rows.setdefault((level, team, quiet), [0, 0, 0, 0])
            rows[level, team, quiet] = [a + b for a, b in zip(row, (1, moved, moved and well, well), strict=True)]
    yield "| roof | second process | roofs | over 3 % | of these A or B | A or B |"
    yield "|---|---|---|---|---|---|"
    for (level, team, quiet), row in sorted(rows.items()):
        yield f"| {level}, {team} | {'no' if quiet else 'yes'} | {' | '.join(map(str, row))} |"


def main() -> None:
    """Measure, unless told not to, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", action="store_true", help="judge what is there, measure nothing")
    parser.add_argument("--cpu", default="0", help="where the second process runs (default: 0)")
    options = parser.parse_args()
    if not options.judge:
        measure(options.folder, options.cpu)
    print("\n".join(table(sorted(path for path in options.folder.iterdir() if path.is_dir()))))


if __name__ == "__main__":
    main()
