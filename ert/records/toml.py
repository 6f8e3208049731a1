"""Strict reading of TOML files that people write: every value is asked for by key and type, and no key goes unread."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ert.errors import InputError

SHOWN_CHARACTERS = 40
"""So much of a wrong value is quoted: enough to find it, and the sentence stays readable."""

LARGEST_NUMBER = 1e18
"""No number of a file may be larger: products of a few are still finite, and no fact about a machine comes near."""

_T = TypeVar("_T", bound=str)


class Table:
    """A table of a TOML file with its place in it. Errors are sentences that name the file and the key.

    Parameters
    ----------
    values : dict
        As tomllib gives it; what has been asked for counts as read.
    file : str
        Name of the file in messages.
    where : str
        Key of the table, empty for the whole file.
    """

    def __init__(self, values: dict[str, Any], file: str, where: str = "") -> None:
        self._values = values
        self._file = file
        self._where = where
        self._known: dict[str, None] = {}

    def fail(self, problem: str, key: str = "") -> NoReturn:
        """Raise InputError about a key of this table, or about the table."""
        place = self._at(key) if key else self._where
        raise InputError(f"{self._file}: {place}: {problem}" if place else f"{self._file}: {problem}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty; `default` where the key is missing, which else is an error."""
        value = self._get(key, "a text", default is None)
        if value is None:
            return default or ""
        if not isinstance(value, str) or not value.strip():
            self._wrong(key, "a text", value)
        return value

    def one_of(self, key: str, choices: Sequence[_T], default: _T | None = None) -> _T:
        """Return one of the texts that are allowed."""
        value = self.text(key, default)
        found = [choice for choice in choices if choice == value]
        if not found:
            self._wrong(key, "one of " + ", ".join(map(repr, choices)), value, near(value, choices))
        return found[0]

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a list of texts; empty where the key is missing."""
        value = self._get(key, "a list of texts", required)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            self._wrong(key, "a list of texts", value)
        if required and not value:
            self.fail("the list is empty", key)
        return tuple(value)

    def number(
        self, key: str, scale: float = 1.0, *, least: float = 0.0, largest: float = LARGEST_NUMBER, zero: str = ""
    ) -> float | None:
        """Return a number above `least` and below `largest`, times `scale`; None where the key is missing.

        `zero` is the reason that is told where it is 0.
        """
        value = self._get(key, "a number above 0", False)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least < value < largest:
            self._wrong(key, wanted(value, least, largest), value, zero if value == 0 else "")
        return _exact(value, scale)

    def whole(self, key: str) -> int | None:
        """Return a whole number above 0; None where the key is missing."""
        value = self._get(key, "a whole number above 0", False)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < LARGEST_NUMBER:
            self._wrong(key, "a whole number above 0", value)
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean; False where the key is missing."""
        value = self._get(key, "true or false", False)
        if value is not None and not isinstance(value, bool):
            self._wrong(key, "true or false", value)
        return bool(value)

    def ranges(self, key: str) -> tuple[int, ...]:
        """Return the whole numbers of a list that may hold ranges: ``[0x11, "0x80-0x8f"]``."""
        value = self._get(key, "a list", False)
        expected = 'a list of whole numbers and ranges such as "0x10-0x1f"'
        if value is None:
            return ()
        if not isinstance(value, list):
            self._wrong(key, expected, value)
        found: list[int] = []
        for item in value:
            numbers = _range(item)
            if numbers is None:
                self._wrong(key, expected, item)
            found += numbers
        return tuple(found)

    def table(self, key: str, *, required: bool = False) -> Table | None:
        """Return the table under a key; None where it is missing."""
        value = self._get(key, "a table", required)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong(key, "a table", value)
        return Table(value, self._file, self._at(key))

    def tables(self, key: str) -> tuple[Table, ...]:
        """Return the tables of a list of tables (``[[key]]``); empty where it is missing."""
        value = self._get(key, "a list of tables", False)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._wrong(key, f"a list of tables, written as [[{self._at(key)}]]", value)
        return tuple(Table(item, self._file, f"{self._at(key)}[{index}]") for index, item in enumerate(value))

    def numbers(self, key: str, scale: float = 1.0) -> tuple[tuple[str, float], ...]:
        """Return a table whose values are all numbers above 0, as (name, number x `scale`); names are free."""
        table = self.table(key)
        if table is None:
            return ()
        pairs = tuple((name, table.number(name, scale)) for name in table._values)
        return tuple((name, value) for name, value in pairs if value is not None)

    def items(self) -> tuple[tuple[str, str], ...]:
        """Return all (key, text) of a table whose keys are free."""
        return tuple((key, self.text(key)) for key in self._values)

    def has(self, path: str) -> bool:
        """Whether a dotted key leads to a value below this table."""
        value: Any = self._values
        for part in path.split("."):
            if not isinstance(value, dict) or part not in value:
                return False
            value = value[part]
        return True

    def done(self) -> None:
        """Raise InputError if the table has a key that nobody asked for."""
        for key in self._values:
            if key not in self._known:
                self.fail(f"unknown key; {near(key, self._known) or 'the keys are ' + ', '.join(self._known)}", key)

    def _get(self, key: str, expected: str, required: bool) -> Any:
        self._known.setdefault(key)
        if required and key not in self._values:
            self.fail(f"missing; it must be {expected}", key)
        return self._values.get(key)

    def _at(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key

    def _wrong(self, key: str, expected: str, value: object, hint: str = "") -> NoReturn:
        try:
            shown = repr(value)
        except (RecursionError, ValueError):  # whole numbers in hexadecimal digits have no limit until they are written
            shown = "a number of thousands of digits"
        shown = shown if len(shown) <= SHOWN_CHARACTERS else shown[: SHOWN_CHARACTERS - 3] + "..."
        self.fail(f"expected {expected}, found {shown}" + (f"; {hint}" if hint else ""), key)


def read(path: Path | Traversable, file: str = "") -> Table:
    """Read a TOML file.

    Parameters
    ----------
    path : Path or Traversable
        The file.
    file : str
        What messages call it; its path where it is empty.

    Raises
    ------
    InputError
        If the file cannot be read or is no TOML.
    """
    file = file or str(path)
    if isinstance(path, Path):
        regular(path)
    try:
        return Table(tomllib.loads(path.read_bytes().decode("utf-8")), file)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: this is not TOML: it is no UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: this is not TOML: {error}") from None
    except (RecursionError, ValueError):
        # Python limits both; neither says where.
        raise InputError(f"{file}: it has a number of thousands of digits, or nesting without end") from None


def regular(path: Path) -> None:
    """Raise InputError if something is there that is no regular file: reading a pipe or a device might never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: this is no regular file; name a file")


def wanted(value: object, least: float, largest: float) -> str:
    """Say what number was expected where `value` was found: the limits that matter to it are named."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return "a number above 0"
    return f"a number above {least:g}" if value <= least else f"a number below {largest:g}"


def near(word: str, known: Iterable[str]) -> str:
    """Return ``"did you mean ...?"`` for the known word nearest to one that is not known; empty if none is near."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return f"did you mean {by_lower[found[0]]}?" if found else ""


def _exact(value: float, scale: float) -> float:
    """Return value x scale, whole where it is meant to be: 3.55 x 1e9 is 3 550 000 000."""
    product = value * scale
    return float(round(product)) if math.isclose(product, round(product), rel_tol=1e-12) else product


def _range(item: object) -> list[int] | None:
    if isinstance(item, int) and not isinstance(item, bool) and item >= 0:
        return [item]
    if not isinstance(item, str):
        return None
    try:
        first, last = (int(end, 0) for end in item.split("-"))
    except ValueError:
        return None
    # A wider range than a CPUID model can have is a slip of the pen.
    return list(range(first, last + 1)) if 0 <= first <= last <= 0xFFFF else None
