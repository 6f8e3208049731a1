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


MOST_SUGGESTED = 4
"""Names that a suggestion holds: more are no help."""


def kernel(name: str) -> Spec:
    """Return the kernel called `name`; KeyError suggests the nearest names."""
    if name not in _BY_NAME:
        near = suggestions(name)
        hint = f"did you mean {_either(near)}?" if near else "`python -m ert.kernels --list` shows them all"
        raise KeyError(f"unknown kernel {name!r}; {hint}")
    return _BY_NAME[name]


def suggestions(name: str) -> tuple[str, ...]:
    """Return the names of kernels, families and ladders that `name` may stand for, the likeliest first.

    Upper and lower case are the same; a part of a name or of a title will do, or a misspelt name.
    """
    wanted = name.strip().lower()
    groups = tuple(dict.fromkeys(other for spec in _BY_NAME.values() for other in (spec.family, spec.ladder) if other))
    names = (*_BY_NAME, *groups)
    found = [other for other in names if other.lower() == wanted]
    if not found and wanted:
        found += [other for other in groups if wanted in other]
        found += [spec.name for spec in _BY_NAME.values() if wanted in spec.name or wanted in spec.title.lower()]
    return tuple(dict.fromkeys(found or get_close_matches(wanted, names, n=1)))[:MOST_SUGGESTED]


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def is_kernel(name: str) -> bool:
    """Whether a case's probe is a kernel."""
    return name in _BY_NAME
