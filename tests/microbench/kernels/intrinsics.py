"""What the intrinsics of kernels do, on counting numbers: substitutes for `counted`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microbench.kernels.elementary import LOG2_E
from tests.microbench.kernels.workbench import Number


def exponential(precision: str) -> Mapping[str, Any]:
    """Substitutes for `microbench.kernels.elementary.exp_makers`."""
    high, low = LOG2_E[precision]
    return {
        "nearest": lambda value: Number(np.rint(value.value), value.counter),
        "scaled": lambda value, power: Number(np.ldexp(value.value, int(power.value)), value.counter),
        "remainder": lambda value, whole: value * low + (value * high - whole),
    }
