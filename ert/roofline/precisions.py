"""What arithmetic of a precision is counted in."""

from __future__ import annotations


def operation(precision: str) -> str:
    """Name what is counted: ``"OP"`` for integer precisions, else ``"FLOP"``."""
    return "OP" if precision.startswith(("int", "uint")) else "FLOP"
