"""Peaks and bandwidths that follow from a sheet's facts."""

from __future__ import annotations

import pytest

from ert.roofline.sheets.sheet import (
    AcceleratorSheet,
    CacheSheet,
    CoreGroup,
    CoreSheet,
    CpuSheet,
    MemorySheet,
    PerCycle,
    PublishedBandwidth,
    PublishedPeak,
)

BIG = CoreSheet(
    "big",
    "Big",
    per_cycle=(PerCycle("fp64", "vector", 16), PerCycle("bf16", "vector", 32), PerCycle("bf16", "matrix", 1024)),
    fma_pipes=2,
    fma_latency=4,
    caches=(CacheSheet("L1", size=1 << 15, load_bytes=64), CacheSheet("L2", size=1 << 20)),
)
SMALL = CoreSheet("small", "Small", per_cycle=(PerCycle("fp64", "vector", 8),))
CPU = CpuSheet(
    "cpu",
    "CPU",
    groups=(CoreGroup(8, BIG, "P", base=3e9, boost=5e9), CoreGroup(16, SMALL, "E", base=2e9, boost=4e9)),
    caches=(CacheSheet("L2", size=2 << 20, total=8 << 21), CacheSheet("L3", total=1 << 25)),
    memory=MemorySheet("DDR5", channels=2, transfers=5.6e9),
    bandwidths=(PublishedBandwidth(1e9),),
)


def test_the_peak_of_a_cpu_is_the_sum_over_its_kinds_of_core() -> None:
    assert CPU.cores == 24
    assert CPU.peak("fp64") == 8 * 16 * 3e9 + 16 * 8 * 2e9
    assert CPU.peak("fp64", "boost") == 8 * 16 * 5e9 + 16 * 8 * 4e9
    assert CPU.peak("fp64", "all-core") is None
    assert CPU.peak("int8") is None


def test_a_matrix_unit_makes_the_peak_unless_the_vector_one_is_asked_for() -> None:
    # The small cores state no bf16: the peak is that of the big ones.
    assert CPU.peak("bf16") == 8 * 1024 * 3e9
    assert CPU.peak("bf16", unit="vector") == 8 * 32 * 3e9
    assert CPU.precisions == ("fp64", "bf16")


def test_bandwidth_is_computed_before_it_is_looked_up() -> None:
    assert CPU.bandwidth() == 2 * 8 * 5.6e9
    assert MemorySheet("LPDDR5", bus_bits=512, transfers=6.4e9).bandwidth == 409.6e9
    bare = CpuSheet("c", "C", groups=CPU.groups, bandwidths=(PublishedBandwidth(1e12, sockets=2),))
    assert bare.bandwidth() == 5e11
    assert CpuSheet("c", "C", groups=CPU.groups).bandwidth() is None


def test_what_a_cpu_leaves_open_its_core_says() -> None:
    assert CPU.cache("L1") == BIG.cache("L1")
    assert CPU.cache("L2") == CacheSheet("L2", size=2 << 20, total=8 << 21)
    assert CPU.cache("L4") is None
    assert CPU.cache_bandwidth("L1", "boost") == 8 * 64 * 5e9
    assert CPU.cache_bandwidth("L2") is None


def test_chains_that_fill_the_pipes() -> None:
    assert BIG.fma_chains == 8
    assert SMALL.fma_chains is None


def test_an_accelerator_computes_what_it_can_and_else_says_what_is_published() -> None:
    sheet = AcceleratorSheet(
        "a",
        "A",
        units=220,
        clock=1.7e9,
        per_cycle=(PerCycle("fp64", "matrix", 256),),
        peaks=(
            PublishedPeak("fp64", 47.9e12),
            PublishedPeak("fp64", 1.0, "matrix"),
            PublishedPeak("bf16", 3e14, "matrix"),
        ),
        bandwidths=(PublishedBandwidth(3.2e12),),
    )
    assert sheet.peak("fp64") == pytest.approx(95.744e12)
    assert sheet.peak("fp64", unit="vector") == 47.9e12
    assert sheet.peak("bf16") == 3e14
    assert sheet.peak("int8") is None
    assert sheet.precisions == ("fp64", "bf16")
    assert sheet.bandwidth() == 3.2e12
