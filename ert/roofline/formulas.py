"""The formulas of the roofline model (Williams, Waterman, Patterson, CACM 52(4), 2009, doi:10.1145/1498765.1498785)."""

from __future__ import annotations

ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}
"""Bytes of an element of each precision."""


def intensity(flop: float, traffic: float) -> float:
    """Return the arithmetic intensity in FLOP/byte of `flop` operations on `traffic` bytes; infinite without bytes."""
    if flop < 0 or traffic < 0:
        raise ValueError(f"counts cannot be negative: {flop} FLOP, {traffic} bytes")
    if traffic == 0:
        return float("inf") if flop else 0.0
    return flop / traffic


def attainable(at: float, peak: float, bandwidth: float) -> float:
    """Return the attainable FLOP/s at intensity `at` (FLOP/byte): min(peak, intensity x bandwidth)."""
    return min(peak, at * bandwidth)


def ridge(peak: float, bandwidth: float) -> float:
    """Return the intensity in FLOP/byte at which a compute roof and a memory roof meet (the machine balance)."""
    if bandwidth <= 0:
        raise ValueError(f"a bandwidth must be positive: {bandwidth} byte/s")
    return peak / bandwidth


def in_flight(bandwidth: float, latency: float) -> float:
    """Return the bytes that must be outstanding to reach `bandwidth` (byte/s) at `latency` seconds: Little's law.

    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961.
    """
    if bandwidth < 0 or latency < 0:
        raise ValueError(f"bandwidth and latency cannot be negative: {bandwidth} byte/s, {latency} s")
    return bandwidth * latency
