"""``python -m ert.report``: says in text, JSON or CSV what a stored sweep found; measures nothing."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ert.door import FINE, Parser, run
from ert.records.report import COLUMNS, report, rows
from ert.records.store import load

DESCRIPTION = "Print the roofs, ridge points and levels of a sweep that was stored earlier. Measures nothing."
EPILOG = "The keys of --json and the columns of --csv are a public contract: docs/report-json.md."

WIDTH = 80
"""Columns of the text where no terminal tells its own."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; InputError if the result cannot be read."""
    parser = Parser("report", DESCRIPTION, EPILOG)
    parser.add_argument("result", metavar="RESULT", type=Path, help="file that python -m ert.sweep wrote (.json)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object in SI base units, versioned")
    form.add_argument("--csv", action="store_true", help="one table in SI base units, a row a roof, point or level")
    options = parser.parse_args(arguments)
    results = load(options.result)

    # Reading a wrong file must fail before the slower imports begin.
    from ert.roofline.fitting.fit import fit

    roofline = fit(results)
    if options.json:
        print(json.dumps(report(results, roofline), indent=2, allow_nan=False))
    elif options.csv:
        _write_csv(rows(report(results, roofline)))
    else:
        from ert.show.tables import summary

        print(summary(results, roofline, shutil.get_terminal_size((WIDTH, 24)).columns))
    return FINE


def _write_csv(table: Sequence[dict[str, Any]]) -> None:
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table:
        # As in JSON: true and false.
        writer.writerow({key: str(value).lower() if isinstance(value, bool) else value for key, value in row.items()})


if __name__ == "__main__":
    run(main)
