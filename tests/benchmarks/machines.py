"""How often the fit finds the levels of random synthetic machines; prints a Markdown table.

Run by hand: `python -m tests.benchmarks.machines`, with `--seed` to repeat a run. Each run draws machines that no one
has seen before.
"""

from __future__ import annotations

import argparse
import secrets

from tests.planted import judge, shares
from tests.synthetic import SHAPES, planted_machine


def main() -> None:
    """Judge as many machines of each shape of transition as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=1000, help="of each shape of transition (default: 1000)")
    parser.add_argument("--seed", type=int, help="of the first machine (default: drawn at random)")
    options = parser.parse_args()
    first = secrets.randbelow(1 << 40) if options.seed is None else options.seed
    print(f"Seeds from {first}.\n")
    print("| transition | machines | levels | bandwidths | capacities | names |\n|---|---|---|---|---|---|")
    for shape in SHAPES:
        seeds = range(first, first + options.machines)
        right = shares([judge(planted_machine(seed, shape=shape), seed) for seed in seeds])
        print(f"| {shape} | {options.machines} | {' | '.join(f'{100 * share:.1f} %' for share in right.values())} |")


if __name__ == "__main__":
    main()
