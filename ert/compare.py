"""``python -m ert.compare``: puts results and machine sheets side by side; measures nothing."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ert.door import CHECK_FAILED, FINE, Parser, run
from ert.errors import InputError

if TYPE_CHECKING:
    from ert.roofline.comparing.machine import Machine
    from ert.roofline.placing.placement import Placement

DESCRIPTION = """\
Put machines side by side: what differs between them, then every roof, ridge point and
kernel with its ratio to the first machine. Measures nothing."""
EPILOG = """\
A MACHINE is a result (.json), the name of a machine sheet such as nvidia-h100-sxm, or the file of
one (.toml). The first one is the reference. Numbers are called equal if the larger is at
most (1 + combined spread) times the smaller. The keys of --json are a public contract: docs/compare-json.md."""

WIDTH = 80
"""Columns of the text where no terminal tells its own."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if the check of --fail-below failed, InputError if a machine cannot be read."""
    options = _parser().parse_args(arguments)
    _check(options.machines, options.fail_below)

    from ert.records.sources import machine_of, once_each

    machines = [machine_of(argument) for argument in options.machines]
    once_each(options.machines, machines)
    from ert.roofline.comparing.compare import compare

    comparison = compare(machines, [_placements(machine) for machine in machines])
    from ert.show.machines import machine_names

    names = machine_names(machines)
    if options.output is not None:
        _draw(machines, names, options.output)
    if options.json:
        from ert.records.comparison import comparison_document

        print(json.dumps(comparison_document(comparison, names, options.fail_below), indent=2, allow_nan=False))
    else:
        from ert.show.comparison import sections
        from ert.show.sections import as_markdown, as_text

        width = shutil.get_terminal_size((WIDTH, 24)).columns
        found = sections(comparison, names, options.fail_below, width)
        print(as_markdown(found) if options.markdown else as_text(found, width))
    failed = options.fail_below is not None and comparison.fallen(options.fail_below)
    return CHECK_FAILED if failed else FINE


def _parser() -> Parser:
    parser = Parser("compare", DESCRIPTION, EPILOG)
    parser.add_argument("machines", metavar="MACHINE", nargs="+", help="result, name of a machine sheet, or its file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object in SI base units, versioned")
    form.add_argument("--markdown", action="store_true", help="tables as Markdown, all machines in one")
    parser.add_argument(
        "--fail-below", metavar="RATIO", type=float,
        help="exit with 1 if a roof or kernel is below this ratio of the first machine's by more than the combined "
        "spread, such as 0.95",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="also draw the roofs over each other, in the first precision that all have: .png, .svg or .pdf",
    )  # fmt: skip
    return parser


def _check(machines: Sequence[str], fail_below: float | None) -> None:
    from ert.show.machines import MOST

    if len(machines) < 2:
        raise InputError(f"a comparison needs two machines, found {machines[0]} alone; name another result or sheet")
    if len(machines) > MOST:
        raise InputError(f"{len(machines)} machines are too many for one comparison; name {MOST} at most")
    if fail_below is not None and not (math.isfinite(fail_below) and fail_below > 0):
        raise InputError(f"--fail-below: expected a ratio above 0 such as 0.95, found {fail_below:g}")


def _placements(machine: Machine) -> Sequence[Placement]:
    if machine.results is None or machine.roofline is None:
        return ()
    from ert.roofline.placing.place import place

    return place(machine.results, machine.roofline)


def _draw(machines: Sequence[Machine], names: Sequence[str], output: Path) -> None:
    from ert.show.charts.figures import save
    from ert.show.charts.overlay import overlay_figure

    save(overlay_figure(machines, names, " and ".join(names) if len(names) == 2 else f"{len(names)} machines"), output)


if __name__ == "__main__":
    run(main)
