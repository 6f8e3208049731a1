"""``python -m ert.validate``: does a measured machine keep what its vendor promises? Measures nothing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ert.door import CHECK_FAILED, FINE, Parser, run
from ert.errors import InputError
from ert.records import machines
from ert.records.store import load
from ert.roofline.model import Host
from ert.roofline.sheets.checks import TOLERANCE
from ert.roofline.sheets.recognise import Recognised, assume, recognise

DESCRIPTION = "Hold a sweep that was stored earlier against the machine's data sheet. Measures nothing."
EPILOG = (
    "Exit code 1 when a check fails: a promise that holds for this machine was missed by more than the tolerance.\n"
    "docs/validation.md explains the checks and the keys of --json, docs/machine-sheets.md how to write a sheet."
)


def main(arguments: Sequence[str]) -> int:
    """Run the command; InputError if the result or the sheet cannot be read."""
    parser = Parser("validate", DESCRIPTION, EPILOG)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "result", metavar="RESULT", nargs="?", type=Path, help="file that python -m ert.sweep wrote (.json)"
    )
    what.add_argument("--sheet", metavar="FILE", help="check a machine sheet alone: its file, or its name")
    what.add_argument("--list", action="store_true", help="list the machine sheets that ship with the tool")
    parser.add_argument(
        "--machine", metavar="NAME|FILE", help="sheet to hold the result against (default: the one of its CPU)"
    )
    parser.add_argument(
        "--tolerance",
        type=_part,
        default=TOLERANCE,
        metavar="T",
        help="part by which a rate may miss its promise (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object in SI base units, versioned")
    options = parser.parse_args(arguments)
    if options.result is None and (options.machine or options.json):
        parser.error(f"{'--machine' if options.machine else '--json'} needs a RESULT")
    if options.list:
        from ert.show.validation import listing

        print(listing(tuple(machines.everything())))
        return FINE
    if options.sheet is not None:
        return _sheet(options.sheet)
    return _result(options)


def _result(options: argparse.Namespace) -> int:
    results = load(options.result)
    machine = _machine(results.host, options.machine)

    # Reading wrong files must fail before the slower imports begin.
    from ert.roofline.fitting.fit import fit
    from ert.roofline.sheets.validate import validate

    roofline = fit(results)
    if not roofline.teams:
        raise InputError(f"{options.result}: no roof in it, so that there is nothing to validate; measure again")
    checks = validate(results, roofline, machine, machines.measurements(), options.tolerance)
    from ert.records.validation import tally, validation

    if options.json:
        document = validation(results.host.name, machine, checks, options.tolerance)
        print(json.dumps(document, indent=2, allow_nan=False))
    else:
        from ert.show.validation import text

        print(text(results.host.name, machine, checks, tally(checks), options.tolerance))
    return CHECK_FAILED if any(check.failed for check in checks) else FINE


def _machine(host: Host, name: str | None) -> Recognised:
    if name is None:
        return recognise(host, machines.cores(), machines.cpus())
    try:
        sheet = machines.find(name)
        file = "" if machines.is_shipped(sheet) else name
        return assume(host, sheet, f"held against the sheet that --machine names, {name}", machines.cores(), file)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"--machine {name}: {error}") from None


def _sheet(name: str) -> int:
    from ert.roofline.sheets.check_sheet import check_sheet
    from ert.show.validation import sheet_text

    path = Path(name)
    if not path.is_file():
        sheet = machines.find(name)
    else:
        read = machines.check(path)
        if isinstance(read, tuple):
            print(f"{path}: valid, {len(read)} entries")
            return FINE
        sheet = read
    checks = check_sheet(sheet)
    print(sheet_text(sheet, checks))
    return CHECK_FAILED if any(check.failed for check in checks) else FINE


def _part(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no fraction from 0 to below 1, such as 0.05 for 5 %")
    return value


if __name__ == "__main__":
    run(main)
