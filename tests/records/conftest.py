"""A small sweep for the tests of files."""

from __future__ import annotations

import pytest

from ert.roofline.model import (
    Case,
    Code,
    Condition,
    Cpu,
    Host,
    Measurement,
    Results,
    Sample,
    Seconds,
    Team,
    Toolchain,
    Work,
)


@pytest.fixture
def results() -> Results:
    """One measurement of two samples on a host of two CPUs, each part with something that is not its default."""
    team = Team("one", (1,), 1)
    measurement = Measurement(
        Case("memory", team, mix="load", vector_bits=512, working_set=4096, parameters=(("offset", -64),)),
        Work(read_bytes=4096, compulsory_bytes=4096),
        Code("verified", "", (("load", 16),), (("load", 16),)),
        (Sample(0, 50_000, 0.0041, (0.004,), (3.6e9,), 1.5), Sample(1, 50_000, 0.0042, (0.0041,), (3.6e9,), 9.25)),
    )
    return Results(
        "2026-11-29T22:45:00Z",
        Host("Linux", "x86_64", cpus=(Cpu(0, 0, usable=False), Cpu(1, 1)), memory_total=2**33, memory_limit=2**31),
        Toolchain((("numba", "0.61.2"),), "znver4", ("avx512f",), (256, 512)),
        (measurement,),
        (("seed", 0), ("precisions", "fp64")),
        ("A note.",),
        (("bf16", "vdpbf16ps"),),
        Seconds(12.5, 1.0, 8.0),
        conditions=(Condition("2026-11-29T22:44:59Z", 0.25, 0.5, alone=True),),
    )
