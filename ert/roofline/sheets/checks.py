"""A check: what was measured beside what is promised, and what to make of the difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

Verdict = Literal["as promised", "below", "above", "not comparable", "not stated"]

TOLERANCE = 0.05
"""Part by which a rate may miss its promise unless the user says otherwise: loop overhead and the clock's own error
cost up to 2 % on an idle machine, and figures per cycle of the same machine were seen to repeat within 2 %."""

Factor = tuple[float, str]
"""A number and its unit: (16, "FLOP/cycle"), (2, "cores"), (2.25e9, "Hz")."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise held against a measurement.

    Attributes
    ----------
    section, name : str
        What is checked: ``"Arithmetic per cycle and core"``, ``"fp64 multiply-adds"``.
    unit : str
        Of both figures, in SI base units: ``"FLOP/cycle"``, ``"OP/cycle"``, ``"B/cycle"``, ``"FLOP/s"``, ``"OP/s"``,
        ``"B/s"``, ``"B"``, ``"Hz"``, ``"cycle"``.
    measured, promised : float or None
        None where it was not measured, or is not stated.
    basis : str
        Where the promise comes from.
    products : tuple of tuple of Factor
        What it was computed from: a sum of products (one each kind of core); empty where it is stated as it is.
    verdict : str
        ``"as promised"``, ``"below"``, ``"above"``, ``"not comparable"`` (nothing in the result is the same
        thing) or ``"not stated"``.
    why : str
        The likely cause of a difference, or what is missing; a sentence or two.
    failed : bool
        Whether the machine does not keep a promise that holds here: nothing that the result itself shows explains it.
    """

    section: str
    name: str
    unit: str
    measured: float | None
    promised: float | None = None
    basis: str = ""
    products: tuple[tuple[Factor, ...], ...] = ()
    verdict: Verdict = "not stated"
    why: str = ""
    failed: bool = False

    @property
    def ratio(self) -> float | None:
        """Measured over promised; None where one of them is missing, or both are not of the same thing."""
        if self.verdict == "not comparable":
            return None
        return self.measured / self.promised if self.measured is not None and self.promised else None


def computed(check: Check, basis: str, *products: tuple[Factor, ...]) -> Check:
    """Return the check with the promise that is the sum of these products."""
    promised = sum(math.prod(value for value, _ in product) for product in products)
    return replace(check, promised=promised, basis=basis, products=products)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a figure differs, and whether the difference counts against the machine."""

    why: str
    failed: bool


def judge(check: Check, low: float, high: float, below: Cause, above: Cause) -> Check:
    """Return the check with its verdict.

    Parameters
    ----------
    check : Check
        With both figures, or without a promise: then it is returned as it is.
    low, high : float
        The ratios between which the promise counts as kept.
    below, above : Cause
        What to say of a ratio outside.
    """
    ratio = check.ratio
    if ratio is None:
        return check
    if ratio < low:
        return replace(check, verdict="below", why=below.why, failed=below.failed)
    if ratio > high:
        return replace(check, verdict="above", why=above.why, failed=above.failed)
    return replace(check, verdict="as promised")
