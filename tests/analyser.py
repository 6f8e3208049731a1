"""What LLVM's machine code analyser, llvm-mca, predicts of loops on CPUs that are not here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping

from tests.emission import Target

OLDEST = 22
"""LLVM version whose machine models were looked at; older ones lack some of these CPUs or know less of them."""

NEWEST = 40
"""Versions are tried from here downwards."""

TRIPS = 100
"""Simulated trips of each loop: filling and emptying the pipes then adds less than half a percent."""

_LABEL = re.compile(r"^([.\w$]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b\.\w+|cbn?z)\s.*?([.\w$]+)$")


def executable() -> str:
    """Return the newest llvm-mca that is new enough; empty if there is none."""
    for name in (*(f"llvm-mca-{version}" for version in range(NEWEST, OLDEST - 1, -1)), "llvm-mca"):
        path = shutil.which(name)
        if path and _version(path) >= OLDEST:
            return path
    return ""


def cycles(target: Target, listings: Mapping[str, str]) -> dict[str, float]:
    """Return the predicted cycles of one trip of the innermost loop of each listing, by its name.

    Loads are taken to hit L1 and never to depend on stores.
    """
    comment = "//" if target.family == "arm" else "#"
    names = {f"loop{index}": name for index, name in enumerate(listings)}
    text = []
    for region, name in names.items():
        text += [f"{comment} LLVM-MCA-BEGIN {region}", *_innermost(listings[name]), f"{comment} LLVM-MCA-END {region}"]
    command = [executable(), f"-mtriple={target.triple}", f"-mcpu={target.cpu}", f"--iterations={TRIPS}", "--json"]
    done = subprocess.run(command, input="\n".join([*text, ""]), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    regions = json.loads(done.stdout)["CodeRegions"]
    return {names[region["Name"]]: region["SummaryView"]["TotalCycles"] / TRIPS for region in regions}


def _version(path: str) -> int:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"LLVM version (\d+)", said)
    return int(found.group(1)) if found else 0


def _innermost(listing: str) -> list[str]:
    """Return the lines of the one loop of a listing as they stand, without its label."""
    lines = listing.splitlines()
    labels = {match.group(1): index for index, line in enumerate(lines) if (match := _LABEL.match(line))}
    for index, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and labels.get(jump.group(1), index) < index:
            return lines[labels[jump.group(1)] + 1 : index + 1]
    raise AssertionError("the listing has no loop")
