"""``python -m ert.predict``: what a workload can reach on machines, and which serves it better; measures nothing."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ert.door import FINE, Parser, run
from ert.errors import InputError

if TYPE_CHECKING:
    from ert.roofline.comparing.machine import Machine
    from ert.roofline.comparing.predict import Prediction, Workload

DESCRIPTION = """\
Say what the roofs of machines allow a workload: what is attainable, what bounds it, how long it
takes at least, which machine serves it better, and at which intensity that changes."""
EPILOG = """\
WORKLOAD is a short TOML file (docs/workload.md), or a result whose kernels are taken. Without one,
--flop, --bytes and --precision describe a single computation:
  python -m ert.predict --flop 1.37e11 --bytes 100MB --precision bf16 --on nvidia-h100-sxm
A MACHINE is a result (.json), the name of a machine sheet, the file of one (.toml), or a peak and a
bandwidth such as 60TFLOP/s,1.5TB/s. Amounts take decimal prefixes."""

WIDTH = 80
"""Columns of the text where no terminal tells its own."""

LARGEST_RATE = 1e30
"""FLOP/s and byte/s: far above what any machine ever did, and products with counts are still finite."""

GIVEN = ","
"""Between the peak and the bandwidth of a machine of two numbers; no name of a sheet has one."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; InputError if the workload or a machine cannot be used."""
    options = _parser().parse_args(arguments)
    from ert.show.amounts import parse_latency

    latency = None if options.latency is None else parse_latency(options.latency, "--latency")
    workload = _workload(options)
    from ert.records.sources import once_each
    from ert.roofline.comparing.predict import predict

    machines = [_with_kernels(_machine(argument), workload) for argument in options.on]
    once_each(options.on, machines)
    if options.workload and _is_result(options.workload):
        from ert.roofline.comparing.workload import without_unknown_levels

        workload = without_unknown_levels(workload, machines)
    prediction = predict(workload, machines)
    from ert.show.machines import machine_names

    names = machine_names(machines)
    if options.output is not None:
        _draw(prediction, names, options.output)
    if options.json:
        from ert.records.prediction import prediction_document

        print(json.dumps(prediction_document(prediction, names, latency), indent=2, allow_nan=False))
    else:
        from ert.show.prediction import sections
        from ert.show.sections import as_text

        print(as_text(sections(prediction, names, latency), shutil.get_terminal_size((WIDTH, 24)).columns))
    return FINE


def _parser() -> Parser:
    parser = Parser("predict", DESCRIPTION, EPILOG)
    parser.add_argument("workload", metavar="WORKLOAD", nargs="?", help="file of a workload (.toml), or a result")
    parser.add_argument("--on", metavar="MACHINE", nargs="+", required=True, help="machines to ask about it")
    single = parser.add_argument_group("a single computation instead of a WORKLOAD")
    single.add_argument("--flop", metavar="N", help="floating-point operations, a multiply-add counting 2")
    single.add_argument("--bytes", metavar="N", help="bytes that cross the memory level")
    single.add_argument("--precision", metavar="NAME", help="whose compute roof applies, such as fp64 or bf16")
    single.add_argument("--level", metavar="NAME", help="whose memory roof applies, such as L2 (default: main memory)")
    single.add_argument("--unit", choices=("vector", "matrix"), help="which unit computes (default: the faster one)")
    parser.add_argument(
        "--latency", metavar="TIME",
        help="also say how many bytes must be in flight to reach the memory roof at this latency: 120ns, 300@2.5GHz",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object in SI base units, versioned")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="also draw the workload on the rooflines of the machines: .png, .svg or .pdf",
    )  # fmt: skip
    return parser


def _workload(options: Namespace) -> Workload:
    """Return what is asked for: a file's workload, the kernels of a result, or one computation."""
    given = [name for name in ("flop", "bytes", "precision", "level", "unit") if getattr(options, name) is not None]
    needed = ("--flop", "--bytes", "--precision")
    if options.workload is not None:
        if given:
            raise InputError(f"--{given[0]} describes a computation of its own; leave it out, or {options.workload}")
        return _of_result(options.workload) if _is_result(options.workload) else _of_file(options.workload)
    missing = [option for option in needed if option[2:] not in given]
    if missing:
        raise InputError(f"{missing[0]} is missing: name the file of a workload, or give {', '.join(needed)}")
    from ert.records.workloads import calculation
    from ert.roofline.comparing.predict import Part
    from ert.show import units
    from ert.show.amounts import parse_amount
    from ert.show.words import operation

    flop = parse_amount(options.flop, ("FLOP", "OP"), "--flop")
    traffic = parse_amount(options.bytes, ("B",), "--bytes")
    name = f"{units.short(flop)}{operation(options.precision)} on {units.short(traffic)}B, {options.precision}"
    part = Part("computation", flop, traffic, options.precision, level=options.level or "", unit=options.unit or "")
    return calculation(name, part)


def _is_result(argument: str) -> bool:
    from ert.records.sources import is_result

    return is_result(argument)


def _of_file(argument: str) -> Workload:
    from ert.records.workloads import load_workload

    return load_workload(Path(argument))


def _of_result(argument: str) -> Workload:
    from ert.records.store import load

    results = load(Path(argument))
    from ert.roofline.comparing.workload import workload_of
    from ert.roofline.fitting.fit import fit
    from ert.roofline.placing.place import place

    return workload_of(f"kernels of {results.host.name}", place(results, fit(results)))


def _with_kernels(machine: Machine, workload: Workload) -> Machine:
    """Return a measured machine with its kernels, if the workload is made of kernels: they may be its own."""
    if machine.results is None or machine.roofline is None or not any(part.kernel for part in workload.parts):
        return machine
    from ert.roofline.placing.place import place

    return replace(machine, kernels=place(machine.results, machine.roofline))


def _machine(argument: str) -> Machine:
    from ert.records.sources import machine_of
    from ert.roofline.comparing.machine import given_machine
    from ert.show.amounts import is_rate, parse_amount

    if GIVEN not in argument or Path(argument).exists():
        if is_rate(argument) and not Path(argument).exists():
            raise InputError(
                f"--on {argument}: a machine of two numbers needs a peak and a bandwidth, such as 1TFLOP/s,100GB/s"
            )
        return machine_of(argument)

    peak, _, bandwidth = argument.partition(GIVEN)
    rates = (
        parse_amount(peak, ("FLOP/s", "OP/s"), f"--on {argument}: peak"),
        parse_amount(bandwidth, ("B/s",), f"--on {argument}: bandwidth"),
    )
    if not all(0 < rate < LARGEST_RATE for rate in rates):
        raise InputError(f"--on {argument}: peak and bandwidth must be above 0 and below {LARGEST_RATE:g}")
    return given_machine(argument, *rates)


def _draw(prediction: Prediction, names: Sequence[str], output: Path) -> None:
    from ert.show.charts.figures import save
    from ert.show.charts.overlay import workload_figure
    from ert.show.prediction import summary_title

    save(workload_figure(prediction, names, summary_title(prediction, names)), output)


if __name__ == "__main__":
    run(main)
