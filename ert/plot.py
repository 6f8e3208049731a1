"""``python -m ert.plot``: draws the figures of one or several stored sweeps again; measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ert.door import FINE, Parser, run
from ert.errors import InputError

if TYPE_CHECKING:
    from ert.roofline.model import Measurement, Results, Roofline, Team

DESCRIPTION = "Draw the figures of a stored sweep again, or the roofs of several over each other. Measures nothing."
EPILOG = """\
Without -o the figures lie beside the first RESULT: of one result as NAME.roofline.png and .svg,
NAME.levels.png and .svg, NAME.latency.png and .svg where latencies were measured, and
NAME.scaling.png and .svg where bandwidth was measured with more than two numbers of threads,
and where application kernels were measured NAME.kernels.png and .svg (the kernels under the
roofs) and NAME.efficiency.png and .svg (where effort pays), of the largest team of threads;
those of another team have its name behind, as in NAME.kernels-one.png.
Of several they are NAME.overlay.png and .svg: roofs alone, without kernels. NAME is the name
of the first RESULT without .json."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; InputError if a result cannot be read or has not what is asked for."""
    options = _parser().parse_args(arguments)
    precisions = _names(options.precision, "--precision")
    if options.threads is not None and options.threads < 1:
        raise InputError(f"--threads: expected a number from 1, found {options.threads}")

    # Reading a wrong file must fail before the slower imports begin.
    from ert.records.store import load

    results = [load(path) for path in options.results]
    from ert.roofline.comparing.machine import largest_team
    from ert.roofline.fitting.fit import fit

    rooflines = [fit(result) for result in results]
    # Before teams are left out: a picture of another team must not take the name of that of the largest.
    ran = [m.case.team for m in _kernels(results[0])]
    largest = largest_team(ran) if ran else None
    if options.team is not None or options.threads is not None:
        rooflines = [
            _only(path, roofline, options.team, options.threads)
            for path, roofline in zip(options.results, rooflines, strict=True)
        ]
        # What is fitted stays; of the measurements only kernels are still to be drawn.
        results = [
            replace(result, measurements=tuple(m for m in result.measurements if m.case.team in roofline.teams))
            for result, roofline in zip(results, rooflines, strict=True)
        ]
    for path in _draw(options.results, results, rooflines, precisions, options.output, largest):
        print(f"wrote {path}")
    drawn = _kernels(results[0])
    if len(results) == 1 and precisions and drawn and not any(m.case.precision in precisions for m in drawn):
        have = " and ".join(dict.fromkeys(m.case.precision for m in drawn))
        print(f"no chart of kernels: none ran in {' or '.join(precisions)}; they ran in {have}")
    return FINE


def _kernels(results: Results) -> list[Measurement]:
    """Return the application kernels of a result."""
    names = {kernel.name for kernel in results.kernels}
    return [m for m in results.measurements if m.valid and m.case.probe in names]


def _parser() -> Parser:
    parser = Parser("plot", DESCRIPTION, EPILOG)
    parser.add_argument(
        "results", metavar="RESULT", nargs="+", type=Path, help="file that python -m ert.sweep wrote (.json)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="draw the roofline chart alone, into this file: .png, .svg or .pdf (default: beside the first RESULT)",
    )  # fmt: skip
    parser.add_argument(
        "--precision", metavar="LIST",
        help="precisions to draw, comma-separated, such as fp64,fp32 (default: all; of several results the first "
        "that they have in common)",
    )  # fmt: skip
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument(
        "--team", metavar="NAME",
        help="team of threads to draw, such as one or all (default: both beside each other; of several results all)",
    )  # fmt: skip
    workers.add_argument("--threads", metavar="N", type=int, help="the same by its number of threads")
    return parser


def _names(text: str | None, option: str) -> list[str] | None:
    """Split a comma-separated list."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"{option}: expected names separated by commas, found {text!r}")
    return names


def _only(path: Path, roofline: Roofline, name: str | None, threads: int | None) -> Roofline:
    """Keep of a roofline the team that was asked for."""
    for team in roofline.teams:
        if team.name == name or team.threads == threads:
            return replace(
                roofline,
                compute=tuple(roof for roof in roofline.compute if roof.team == team),
                memory=tuple(roof for roof in roofline.memory if roof.team == team),
                points=tuple(point for point in roofline.points if point.team == team),
                ridges=tuple(ridge for ridge in roofline.ridges if ridge.compute.team == team),
                curves=tuple(curve for curve in roofline.curves if curve.team == team),
                latency_curves=tuple(curve for curve in roofline.latency_curves if curve.team == team),
                latencies=tuple(latency for latency in roofline.latencies if latency.team == team),
            )
    wanted = f"team {name!r}" if threads is None else f"team of {threads} threads"
    known = ", ".join(f"{team.name} (threads: {team.threads})" for team in roofline.teams)
    raise InputError(f"{path}: no {wanted}; the result has: {known or 'no roof at all'}")


def _draw(
    paths: Sequence[Path],
    results: Sequence[Results],
    rooflines: Sequence[Roofline],
    precisions: Sequence[str] | None,
    output: Path | None,
    largest: Team | None,
) -> list[Path]:
    """Draw what was asked for; return the files written. `largest` is the team whose kernels need no team's name."""
    from ert.show.charts import figures

    stem = paths[0].with_suffix("")
    if len(results) == 1 and output is None:
        return figures.write(results[0], rooflines[0], stem, precisions=precisions, largest=largest)
    names = _labels(paths, results)
    named = list(zip(names, rooflines, strict=True))
    if len(results) == 1:
        note = figures.described(results[0], rooflines[0])
        figure = figures.roofline_figure(named, precisions=precisions, footnote=note)
    else:
        partial = [name for name, result in zip(names, results, strict=True) if not result.complete]
        figure = figures.roofline_figure(named, precisions=precisions, title=_title(results), partial=partial)
    files = [output] if output is not None else [Path(f"{stem}.overlay{suffix}") for suffix in (".png", ".svg")]
    figures.save(figure, *files)
    return files


def _title(results: Sequence[Results]) -> str:
    """Say above several results what they have in common; the legend names each."""
    machines = {result.host.name for result in results}
    if len(machines) == 1:
        return f"{machines.pop()}: {len(results)} sweeps"
    return f"{len(machines)} machines" + (f", {len(results)} sweeps" if len(results) > len(machines) else "")


def _labels(paths: Sequence[Path], results: Sequence[Results]) -> list[str]:
    """Name each result by its CPU; with its time, or its file, where that would name two alike."""
    from ert.show.words import minute, told_apart

    cpus = [result.host.name for result in results]
    started = [result.started.replace("T", " ").removesuffix("Z") for result in results]
    minutes = [minute(result.started) for result in results]
    names = told_apart(cpus, minutes, started, [path.name for path in paths], paths)
    if names is None:
        raise InputError(f"the same result is named twice: {', '.join(map(str, paths))}")
    return names


if __name__ == "__main__":
    run(main)
