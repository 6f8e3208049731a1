"""All kernels there are, collected from the files of their families. Imports no compiler."""

from __future__ import annotations

from difflib import get_close_matches

from microbench.kernels import (
    attention,
    convolution,
    dense,
    neural,
    parameters,
    sparse,
    spectral,
    stencil,
    stream,
    vector,
)
from microbench.kernels.kernel import Spec

KERNELS: tuple[Spec, ...] = (
    *stream.KERNELS,
    *vector.KERNELS,
    *dense.KERNELS,
    *sparse.KERNELS,
    *stencil.KERNELS,
    *convolution.KERNELS,
    *spectral.KERNELS,
    *neural.KERNELS,
    *attention.KERNELS,
    *parameters.KERNELS,
)
"""In the order in which they are listed and measured."""

FAMILIES = tuple(dict.fromkeys(spec.family for spec in KERNELS))

_BY_NAME = {spec.name: spec for spec in KERNELS}


def kernel(name: str) -> Spec:
    """Return the kernel called `name`; KeyError suggests the nearest name."""
    if name not in _BY_NAME:
        near = get_close_matches(name, [*_BY_NAME, *FAMILIES], n=1)
        hint = f"did you mean {near[0]}?" if near else "`python -m ert.kernels --list` shows them all"
        raise KeyError(f"unknown kernel {name!r}; {hint}")
    return _BY_NAME[name]


def is_kernel(name: str) -> bool:
    """Whether a case's probe is a kernel."""
    return name in _BY_NAME
