"""Recorded hosts: trees of /proc and /sys of real machines, and what an independent tool reads from each."""

from __future__ import annotations

import functools
import json
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ert.measure.host import read_host
from ert.roofline.model import Host

RECORDINGS = Path(__file__).parents[2] / "shared" / "topologies"
EXPECTED: Mapping[str, Any] = (
    json.loads((RECORDINGS / "expected.json").read_text()) if (RECORDINGS / "expected.json").exists() else {}
)
NAMES = sorted(EXPECTED) or ["none recorded"]
"""For tests over all recordings, which skip where there are none."""


@functools.cache
def recorded_host(name: str) -> Host:
    """Return the host of a recording; skips the test where the recordings are not."""
    if not EXPECTED:
        pytest.skip("no recorded hosts: the folder ../shared/topologies is not beside this checkout")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(RECORDINGS / EXPECTED[name]["archive"]) as archive:
            archive.extractall(folder, filter="data")
        return read_host(Path(folder) / name)
