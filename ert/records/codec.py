"""Frozen dataclasses <-> JSON values, from their type hints alone: a new field with a default needs no code here."""

from __future__ import annotations

import functools
import json
import math
import operator
import types
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from numbers import Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Sign = Literal["any", "not negative", "positive"]

SHOWN_CHARACTERS = 40
"""So much of a wrong value is quoted in a message: enough to find it, and the sentence stays readable."""

INTEGER_END = 2**63
"""Whole numbers lie below this on both sides of 0. It is what a 64-bit integer holds: no counter, no number of bytes
and none of passes is larger, and a product of a few of them is still a float."""

LARGEST_NUMBER = 1e18
"""Other numbers lie between this and its negative: as seconds older than the universe, as hertz a million times any
clock; what is derived from such numbers (products, squares, sums) stays finite."""

SMALLEST_POSITIVE = 1e-12
"""Numbers that must be above 0 are divided by. The only such ones that are not whole are durations, and no clock tells
a picosecond."""

BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that begin a new line or a column: a blank takes their place, so that every text is one line."""

STEERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of writing: what a person reads is then not what the file holds."""

REPLACED = "?"
"""Takes the place of every character that would steer a terminal or cannot be written at all. ASCII, since that can be
shown anywhere."""

_T = TypeVar("_T")


class MismatchError(ValueError):
    """A value that does not fit its type: `problem` says what was expected and found, `where` at which key."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._keys: list[str | int] = []

    def inside(self, key: str | int) -> MismatchError:
        """Add the key of the surrounding object or list."""
        self._keys.insert(0, key)
        return self

    @property
    def where(self) -> str:
        """The keys from the outermost to the innermost: ``measurements[3].case.team``."""
        named = (f"[{key}]" if isinstance(key, int) else f".{_short(key)}" for key in self._keys)
        return "".join(named).lstrip(".")

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" if self._keys else self.problem


@dataclass(frozen=True, slots=True)
class Coder:
    """How values of one type become JSON values and come back; both raise :class:`MismatchError`."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class Codec:
    """Coders for dataclasses made of numbers, text, tuples and further dataclasses.

    An object leaves out the fields that equal their defaults and ignores unknown keys. A tuple of (name, value) pairs
    becomes an object, or a list of pairs where a name repeats; other tuples become lists. Numbers must be finite and
    within :data:`INTEGER_END` and :data:`LARGEST_NUMBER`, in both directions. Text is cleaned in both directions, see
    :func:`plain_text`: a sweep must not be lost for a character of a name, nor must an old result.

    Parameters
    ----------
    special : mapping of type to Coder
        Types that are written in a way of their own.
    signs : mapping of (dataclass, field name) to Sign
        Which numbers may be negative (``"any"``) or must be above 0 (``"positive"``). All others may not be negative.
    """

    def __init__(
        self, special: Mapping[Any, Coder] | None = None, signs: Mapping[tuple[type, str], Sign] | None = None
    ) -> None:
        self._signs = dict(signs or {})
        self._known: dict[tuple[Any, Sign], Coder] = {}
        for hint, coder in (special or {}).items():
            self._known[hint, "not negative"] = coder

    def encode(self, value: Any) -> Any:
        """Return the JSON value of a dataclass instance."""
        return self.coder(type(value)).encode(value)

    def decode(self, kind: type[_T], data: Any) -> _T:
        """Return the instance of a dataclass that a JSON value stands for."""
        value: _T = self.coder(kind).decode(data)
        return value

    def coder(self, hint: Any, sign: Sign = "not negative") -> Coder:
        """Return the coder of a type hint; TypeError if it is none of the supported ones."""
        if (hint, sign) not in self._known:
            self._known[hint, sign] = self._make(hint, sign)
        return self._known[hint, sign]

    def columns(self, kind: type) -> Coder:
        """Return a coder for tuples of a dataclass that writes one list a field: an object of columns.

        A column whose values all equal the field's default is left out. At least one field must have no default, so
        that the number of rows is known.
        """
        items = self._fields(kind)
        required = next(name for name, (_, default) in items.items() if default is MISSING)

        def encode(rows: Sequence[Any]) -> dict[str, list[Any]]:
            columns = {}
            for name, (coder, default) in items.items():
                column = [getattr(row, name) for row in rows]
                if default is MISSING or any(value != default for value in column):
                    columns[name] = _each(coder.encode, column, name)
            return columns

        def decode(data: Any) -> tuple[Any, ...]:
            _expect(isinstance(data, dict), "an object of lists", data)
            lists = {}
            for name, (coder, default) in items.items():
                if name in data:
                    column = data[name]
                    if not isinstance(column, list):
                        raise MismatchError(f"expected a list, found {_shown(column)}").inside(name)
                    lists[name] = _each(coder.decode, column, name)
                elif default is MISSING:
                    raise MismatchError("expected a value, found none").inside(name)
            rows = len(lists[required])
            for name, column in lists.items():
                if len(column) != rows:
                    problem = f"expected as many entries as {required} has ({rows}), found {len(column)}"
                    raise MismatchError(problem).inside(name)
            return tuple(kind(**dict(zip(lists, row, strict=True))) for row in zip(*lists.values(), strict=True))

        return Coder(encode, decode)

    def _make(self, hint: Any, sign: Sign) -> Coder:
        origin, arguments = get_origin(hint), get_args(hint)
        if hint is str:
            return Coder(plain_text, plain_text)
        if hint is bool:
            return Coder(bool, _truth)
        if hint is int:
            return _integer(sign)
        if hint is float:
            return _number(sign)
        if origin is Literal:
            return _choice(arguments)
        if origin in (types.UnionType, Union):
            return self._union(arguments, sign)
        if origin is tuple:
            return self._tuple(arguments, sign)
        if isinstance(hint, type) and is_dataclass(hint):
            return self._object(hint)
        raise TypeError(f"cannot store values of type {hint}")

    def _fields(self, kind: type) -> dict[str, tuple[Coder, Any]]:
        hints = _hints(kind)
        return {
            field.name: (
                self.coder(hints[field.name], self._signs.get((kind, field.name), "not negative")),
                _default(field),
            )
            for field in fields(kind)
        }

    def _object(self, kind: type) -> Coder:
        items = self._fields(kind)

        def encode(value: Any) -> dict[str, Any]:
            found = {}
            for name, (coder, default) in items.items():
                part = getattr(value, name)
                if default is MISSING or part != default:
                    found[name] = _inside(coder.encode, part, name)
            return found

        def decode(data: Any) -> Any:
            _expect(isinstance(data, dict), "an object", data)
            found = {}
            for name, (coder, default) in items.items():
                if name in data:
                    found[name] = _inside(coder.decode, data[name], name)
                elif default is MISSING:
                    raise MismatchError("expected a value, found none").inside(name)
            return kind(**found)

        return Coder(encode, decode)

    def _union(self, arguments: tuple[Any, ...], sign: Sign) -> Coder:
        optional = types.NoneType in arguments
        members = [self.coder(member, sign) for member in arguments if member is not types.NoneType]

        def through(convert: Callable[[Coder], Callable[[Any], Any]]) -> Callable[[Any], Any]:
            converters = [convert(member) for member in members]

            def attempt(value: Any) -> Any:
                if optional and value is None:
                    return None
                problems = []
                for converter in converters:
                    try:
                        return converter(value)
                    except MismatchError as error:
                        if len(converters) == 1:
                            raise
                        problems.append(error.problem.partition(", found")[0].removeprefix("expected "))
                raise MismatchError(f"expected {' or '.join(problems)}, found {_shown(value)}")

            return attempt

        return Coder(through(lambda member: member.encode), through(lambda member: member.decode))

    def _tuple(self, arguments: tuple[Any, ...], sign: Sign) -> Coder:
        if arguments[-1] is not Ellipsis:
            return self._row([self.coder(argument, sign) for argument in arguments])
        item = self.coder(arguments[0], sign)
        if get_origin(arguments[0]) is tuple and get_args(arguments[0])[0] is str and len(get_args(arguments[0])) == 2:
            return _pairs(item, self.coder(get_args(arguments[0])[1], sign))

        def decode(data: Any) -> tuple[Any, ...]:
            _expect(isinstance(data, list), "a list", data)
            return tuple(_each(item.decode, data))

        return Coder(lambda values: _each(item.encode, values), decode)

    def _row(self, items: Sequence[Coder]) -> Coder:
        def encode(values: Sequence[Any]) -> list[Any]:
            return [_inside(item.encode, values[i], i) for i, item in enumerate(items)]

        def decode(data: Any) -> tuple[Any, ...]:
            _expect(isinstance(data, list) and len(data) == len(items), f"a list of {len(items)} entries", data)
            return tuple(_inside(item.decode, data[i], i) for i, item in enumerate(items))

        return Coder(encode, decode)


def _pairs(pair: Coder, item: Coder) -> Coder:
    def encode(values: Sequence[tuple[str, Any]]) -> Any:
        names = [plain_text(name) for name, _ in values]
        if len(set(names)) < len(names):
            return _each(pair.encode, values)
        return {plain_text(name): _inside(item.encode, value, plain_text(name)) for name, value in values}

    def decode(data: Any) -> tuple[tuple[str, Any], ...]:
        if isinstance(data, dict):
            named = ((plain_text(name), value) for name, value in data.items())
            return tuple((name, _inside(item.decode, value, name)) for name, value in named)
        _expect(isinstance(data, list), "an object or a list of pairs", data)
        return tuple(_each(pair.decode, data))

    return Coder(encode, decode)


def _integer(sign: Sign) -> Coder:
    def encode(value: Any) -> int:
        try:
            # Also takes the integers of NumPy, which JSON does not know, and makes a bool a number.
            return int(_signed(_bounded(int(operator.index(value))), sign))
        except TypeError:
            raise MismatchError(f"expected a whole number, found {_shown(value)}") from None

    def decode(data: Any) -> int:
        _expect(type(data) is int, "a whole number", data)
        return int(_signed(_bounded(data), sign))

    return Coder(encode, decode)


def _number(sign: Sign) -> Coder:
    def convert(value: Any) -> float:
        if type(value) is not float:
            _expect(isinstance(value, Real) and not isinstance(value, bool), "a number", value)
            try:
                value = float(value)
            except OverflowError:
                raise MismatchError(f"expected a finite number, found {_shown(value)}") from None
        _expect(math.isfinite(value), "a finite number", value)
        _expect(abs(value) <= LARGEST_NUMBER, f"a number up to {LARGEST_NUMBER:g}", value)
        _signed(value, sign)
        if sign == "positive":
            _expect(value >= SMALLEST_POSITIVE, f"a number from {SMALLEST_POSITIVE:g}", value)
        return float(value)

    return Coder(convert, convert)


def _choice(choices: tuple[Any, ...]) -> Coder:
    named = f"one of {', '.join(map(str, choices))}"

    def convert(value: Any) -> Any:
        _expect(value in choices, named, value)
        return value

    return Coder(convert, convert)


def plain_text(value: Any) -> str:
    """Return a text that can be shown anywhere on one line; MismatchError if it is none.

    Characters that begin a new line or column become blanks; other control characters (terminals obey the escape
    character), lone surrogates (no encoding can write them) and those that turn the direction of writing become
    :data:`REPLACED`.
    """
    _expect(isinstance(value, str), "text", value)
    if value.isascii() and value.isprintable():
        return str(value)
    return "".join(map(_plain, value))


def _plain(character: str) -> str:
    if character in BLANKS:
        return " "
    steers = unicodedata.category(character) in ("Cc", "Cs") or character in STEERING
    return REPLACED if steers else character


def _truth(value: Any) -> bool:
    _expect(isinstance(value, bool), "true or false", value)
    return bool(value)


def _bounded(value: int) -> int:
    _expect(-INTEGER_END < value < INTEGER_END, "a whole number of less than 64 bits", value)
    return value


def _signed(value: Any, sign: Sign) -> Any:
    if sign == "not negative":
        _expect(value >= 0, "a number that is not negative", value)
    elif sign == "positive":
        _expect(value > 0, "a number above 0", value)
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _inside(convert: Callable[[Any], Any], value: Any, key: str | int) -> Any:
    try:
        return convert(value)
    except MismatchError as error:
        raise error.inside(key) from None


def _each(convert: Callable[[Any], Any], values: Sequence[Any], key: str | None = None) -> list[Any]:
    index = 0
    found = []
    try:
        for index, value in enumerate(values):  # noqa: B007 - the index is read where the conversion failed
            found.append(convert(value))
    except MismatchError as error:
        error.inside(index)
        raise (error if key is None else error.inside(key)) from None
    return found


def _expect(fits: bool, what: str, value: Any) -> None:
    if not fits:
        raise MismatchError(f"expected {what}, found {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = f"a value of type {type(value).__name__}"
    return _short(text)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
