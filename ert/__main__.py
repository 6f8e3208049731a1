"""``python -m ert``: lists the commands, and runs the one that is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from ert.door import FINE, Parser, run

DISTRIBUTION = "ert-roofline"

COMMANDS = {
    "sweep": "measure the roofs of this machine; writes a result and its figures",
    "doctor": "say whether this machine is fit to be measured now",
    "kernels": "run application kernels under the roofs of a sweep",
    "report": "print what a result says, as text, JSON or CSV",
    "plot": "draw the figures of one or several results again",
    "validate": "hold a result against the machine's data sheet",
    "compare": "put results and machine sheets side by side, with ratios",
    "predict": "say what a workload can reach on machines, and which is better",
}
"""Each is the module ``ert.<name>`` with a ``main(arguments) -> int``."""


def version() -> str:
    """Return the version of the installed distribution, ``"unknown"`` where there is none (a bare checkout)."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str]) -> int:
    """List the commands, or run the one that comes first in `arguments` with the others."""
    if arguments and arguments[0] in COMMANDS:
        command: Callable[[Sequence[str]], int] = importlib.import_module(f"ert.{arguments[0]}").main
        return command(arguments[1:])
    parser = Parser("", f"Empirical roofline tool for CPUs, {DISTRIBUTION} {version()}.", _listing())
    parser.add_argument("--version", action="version", version=f"{DISTRIBUTION} {version()}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below, with its options")
    named, _ = parser.parse_known_args(arguments[:1])
    if arguments and not arguments[0].startswith("-"):
        parser.error(_unknown(named.command))
    if arguments:
        parser.error(f"unknown option {arguments[0]}; `python -m ert` lists the commands")
    parser.print_help()
    return FINE


def _listing() -> str:
    width = max(map(len, COMMANDS))
    lines = (f"  python -m ert.{name:<{width}}  {text}" for name, text in COMMANDS.items())
    return "commands (each explains its options with --help):\n" + "\n".join(lines)


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
    return f"unknown command {name!r}; {hint}"


if __name__ == "__main__":
    run(main)
