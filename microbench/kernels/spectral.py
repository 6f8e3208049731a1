"""Fourier transforms by SciPy, which many programs use and whose code is not ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Library, Problem, Request, Spec, Unsuitable, differs, pattern, plain, sampled

POINTS = 1024
"""Points of a transform: its data and its factors fit every L1."""

SERIES = (1 << 6, 1 << 14, 1 << 18)
"""Further ones: a few lines, the size of an L2, and beyond it."""

MOST_BYTES = 64 << 20
"""Of all data: more than a cache holds, and laid in a tenth of a second."""

CHECKED = 1 << 16
"""Points of transforms that the oracle computes anew, of one at least."""

TOLERANCE = {"fp64": 1e-9, "fp32": 1e-3}
"""Of the largest amplitude, after many thousand transforms, whose roundings add up like the root of their number."""

DTYPES: dict[str, Any] = {"fp64": np.complex128, "fp32": np.complex64}


@dataclass(slots=True)
class _Batch:
    """Transforms side by side, and how often each was done since they were filled."""

    values: np.ndarray[Any, Any]
    passes: int = 0


def start(positions: Any, precision: str) -> Any:
    """Return what the data are filled with, at any positions: complex numbers of the order of 1."""
    return pattern(positions, DTYPES[precision]) - 1 + 1j * (pattern(positions, DTYPES[precision], salt=1) - 1)


def after(passes: int, values: Any) -> Any:
    """Return rows after so many unitary transforms: four of them are the identity, two turn the order round."""
    match passes % 4:
        case 1:
            return np.fft.fft(values, norm="ortho")
        case 2:
            return np.roll(values[:, ::-1], 1, axis=1)
        case 3:
            return np.fft.ifft(values, norm="ortho")
    return values


def _task(problem: Problem) -> Library:
    n, batch = problem.size("n"), problem.size("batch")
    if n < 2 or batch < 1:
        raise Unsuitable(f"{batch} transforms of {n} points; at least one of two is needed")

    def prepare() -> _Batch:
        values = np.empty((batch, n), DTYPES[problem.precision])
        flat = values.reshape(-1)
        block = 1 << 16
        for begin in range(0, len(flat), block):
            flat[begin : begin + block] = start(np.arange(begin, min(begin + block, len(flat))), problem.precision)
        return _Batch(values)

    def call(data: _Batch) -> None:
        from scipy import fft

        # In place and unitary: nothing is allocated in a timed pass, and amplitudes stay as they are for ever.
        data.values = fft.fft(data.values, norm="ortho", overwrite_x=True, workers=problem.threads)
        data.passes += 1

    def check(data: _Batch) -> str:
        rows = sampled(batch, max(1, CHECKED // n))
        filled = start(rows[:, None] * n + np.arange(n), problem.precision).astype(np.complex128)
        expected, found = after(data.passes, filled), data.values[rows]
        largest = float(np.abs(expected).max())
        for part, have, want in (("real", found.real, expected.real), ("imaginary", found.imag, expected.imag)):
            if text := differs(
                have / largest + 2, want / largest + 2, TOLERANCE[problem.precision] / 2, f"{part} part"
            ):
                return text
        return ""

    return Library(prepare, call, check, _describe)


def _describe() -> str:
    import scipy

    return f"SciPy {scipy.__version__}, pocketfft"


def _fit(request: Request, n: int = POINTS) -> dict[str, int | str]:
    used = min(request.bytes, MOST_BYTES)
    batch = used // (2 * request.element_bytes * n) // request.threads * request.threads
    return {"n": n, "batch": max(request.threads, batch)}


def _series(request: Request) -> tuple[dict[str, int | str], ...]:
    return tuple(_fit(request, n) for n in SERIES)


KERNELS = (
    Spec(
        name="fft",
        family="spectral",
        title="Complex Fourier transforms, SciPy",
        implementation="library",
        source="M. Frigo, S. G. Johnson, The Design and Implementation of FFTW3, 2005: 5 n log2 n by convention, "
        "whatever the algorithm does",
        flop=Formula("5*batch*n*log2(n)"),
        read=Formula("2*s*batch*n"),
        written=Formula("2*s*batch*n"),
        compulsory=Formula("4*s*batch*n"),
        working_set=Formula("2*s*batch*n"),
        sizes=("n", "batch"),
        fit=_fit,
        series=_series,
        quantities=plain,
        task=_task,
        instructions="fma",
        mix="update",
        nominal=True,
        representative=("fp64",),
        notes="In place; fp64 means complex numbers of two of them. Bytes as if every transform were read and written "
        "once: SciPy also copies it to and from a buffer, and beyond a cache it goes over it several times",
    ),
)
