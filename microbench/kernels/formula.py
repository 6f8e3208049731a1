"""Counts as formulas in the problem size: one text that is both shown and evaluated."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    # Exact for integers of any size, which a float's logarithm is not.
    "log2": lambda value: value.bit_length() - 1,
    "ceildiv": lambda value, by: -(-value // by),
}
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Formula:
    """A whole number as an expression in named sizes, such as ``"2*n**3"``.

    It may hold whole numbers, names, ``+ - * // % **``, ``min``, ``max``, ``log2`` (rounded down) and ``ceildiv``.

    Parameters
    ----------
    expression : str
        In Python's syntax.

    Raises
    ------
    ValueError
        If it is no such expression.
    """

    expression: str

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.expression, mode="eval").body
        except SyntaxError:
            raise ValueError(f"not an expression: {self.expression!r}") from None
        for node in ast.walk(tree):
            if not _allowed(node):
                raise ValueError(f"{self.expression!r}: {ast.unparse(node)!r} cannot be part of a count")

    @property
    def names(self) -> frozenset[str]:
        """The sizes it depends on."""
        tree = ast.parse(self.expression, mode="eval")
        found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return frozenset(found - set(_FUNCTIONS))

    def __call__(self, sizes: Mapping[str, int]) -> int:
        """Return its value; KeyError names a size that is missing, ValueError says that it is negative."""
        value = _value(ast.parse(self.expression, mode="eval").body, sizes)
        if value < 0:
            raise ValueError(f"{self.expression} is {value} for {dict(sizes)}")
        return value

    def __str__(self) -> str:
        """Return it as a person writes it: ``2·n³``."""
        text = re.sub(r"\*\*\s*1(?!\d)", "", self.expression)
        text = re.sub(r"\*\*\s*(\d+)", lambda power: power.group(1).translate(_POWERS), text)
        text = re.sub(r"\s*\*\s*", "·", text)
        text = re.sub(r"\s*([+-])\s*", r" \1 ", text)
        text = re.sub(r"(?<!\w)\((\w+)\)", r"\1", text)
        return re.sub(r"\s*//\s*", " / ", text).strip()


def _allowed(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=op):
            return type(op) in _OPERATORS
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return name in _FUNCTIONS
        case ast.Constant(value=value):
            return type(value) is int
        case ast.Name() | ast.Load() | ast.operator():
            return True
    return False


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_value(argument, sizes) for argument in arguments))
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
    raise ValueError(f"cannot evaluate {ast.unparse(node)!r}")
