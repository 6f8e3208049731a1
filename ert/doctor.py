"""``python -m ert.doctor``: is this machine fit to be measured now, and what to do about it? Measures no roof."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ert.door import CHECK_FAILED, FINE, Parser, run
from ert.measure.condition import CAREFUL_SECONDS, look
from ert.measure.host import read_host
from ert.measure.turn import is_free
from ert.records.fitness import diagnosis
from ert.roofline.fitness import fitness, is_fit

DESCRIPTION = """\
Say whether this machine is fit to be measured now: what else runs on it, what a control group or a
hypervisor takes away, how its clocks are set, and what to do about each. Takes about a second."""

EPILOG = """\
exit codes: 0 fit, perhaps with warnings, 1 not fit to be measured now. docs/doctor.md explains the
checks and the keys of --json."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    parser = Parser("doctor", DESCRIPTION, EPILOG)
    parser.add_argument("--json", action="store_true", help="one JSON object in SI base units, versioned")
    options = parser.parse_args(arguments)
    host = read_host()
    free, holder = is_free()
    condition, consumers = look(host, CAREFUL_SECONDS, alone=free)
    findings = fitness(host, condition)
    if options.json:
        print(json.dumps(diagnosis(host, condition, findings), indent=2, allow_nan=False))
    else:
        from ert.show import fitness as show

        busy = [(consumer.pid, consumer.name, consumer.cpus) for consumer in consumers]
        print(show.diagnosis(host, condition, findings, busy, holder))
    return FINE if is_fit(findings) else CHECK_FAILED


if __name__ == "__main__":
    run(main)
