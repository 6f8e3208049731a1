"""Advice on an application kernel: ordered rules; the first that applies says what limits it and what to do."""

from __future__ import annotations

from collections.abc import Callable

from ert.roofline.placing.causes import (
    far_below,
    gather_ceiling,
    inner_level,
    lower_ceiling,
    mixed_instructions,
    narrow_code,
    not_prefetched,
    one_chain,
    own_arithmetic,
    unfused_code,
)
from ert.roofline.placing.facts import Facts, Sentences
from ert.roofline.placing.rules import (
    above_compute_roof,
    above_memory_roof,
    at_compute_roof,
    at_memory_roof,
    below_memory_roof,
    too_short,
    unmeasured,
)

RULES: tuple[Callable[[Facts], Sentences], ...] = (
    unmeasured,
    above_memory_roof,
    above_compute_roof,
    too_short,
    at_memory_roof,
    at_compute_roof,
    gather_ceiling,
    not_prefetched,
    one_chain,
    narrow_code,
    unfused_code,
    own_arithmetic,
    inner_level,
    below_memory_roof,
    mixed_instructions,
    lower_ceiling,
    far_below,
)
"""First what makes a placement doubtful, then what is near a roof, then what is known of the kernel and its code, and
last what its rates suggest."""


def advise(facts: Facts) -> tuple[str, Sentences]:
    """Return the name of the first rule that applies to a kernel, and its one or two sentences."""
    for rule in RULES:
        sentences = tuple(sentence for sentence in rule(facts) if sentence)
        if sentences:
            return rule.__name__, sentences
    return "", ()
