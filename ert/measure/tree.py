"""Reads single values out of a /proc and /sys tree: text, numbers, CPU lists, masks and sizes.

The tree may be the running system (``/``) or one recorded on another machine. A file that is missing, unreadable or
not in the expected form reads as None, because kernels, containers and recordings leave out any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MAX_CPU = 65535
"""Largest CPU number accepted: eight times the 8192 that Linux can be built for (``NR_CPUS``), so that a typing error
like ``0-99999999999`` is refused instead of filling the memory."""

MAX_INTEGER = 1 << 64
"""No kernel writes a number as large as this; one that is in a file is rubbish, and reads as nothing."""

_ONE_CPU = re.compile(r"[0-9]+", re.ASCII)
_CPU_RANGE = re.compile(r"([0-9]+)\s*-\s*([0-9]+)", re.ASCII)
_SIZE = re.compile(r"([0-9]+)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Logical CPUs named by a list such as ``"0-3,8"``.

    Parameters
    ----------
    text : str
        Numbers and ascending ranges, separated by commas, as the kernel and ``taskset -c`` write them.

    Returns
    -------
    tuple of int
        Ascending, without repetition.

    Raises
    ------
    ValueError
        If the list is empty, has a part that is neither a number nor an ascending range, or a number above
        :data:`MAX_CPU`.
    """
    found: set[int] = set()
    for part in text.split(","):
        part = part.strip()
        if _ONE_CPU.fullmatch(part):
            first = last = _cpu_number(part, text)
        elif match := _CPU_RANGE.fullmatch(part):
            first, last = _cpu_number(match[1], text), _cpu_number(match[2], text)
        elif not part:
            raise ValueError(f"CPU list {text!r} has an empty part; write it like 0-3,8")
        else:
            raise ValueError(f"CPU list {text!r}: {part!r} is neither a number nor a range; write it like 0-3,8")
        if last < first:
            raise ValueError(f"CPU list {text!r}: range {part!r} runs backwards; write {last}-{first}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _cpu_number(digits: str, text: str) -> int:
    if len(digits) > 2 * len(str(MAX_CPU)) or int(digits) > MAX_CPU:
        raise ValueError(f"CPU list {text!r}: {digits} is above {MAX_CPU}, the largest CPU number supported")
    return int(digits)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Shortest list that names ``cpus``: ``(8, 0, 1, 2, 3)`` gives ``"0-3,8"``; empty for none."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_cpu_mask(text: str) -> frozenset[int] | None:
    """CPUs of a kernel mask such as ``"00000000,0000ffff"``; None if it is not one.

    Groups after the first stand for 32 CPUs each, whether or not their leading zeros are written.
    """
    groups = text.strip().split(",")
    try:
        bits = int("".join([groups[0], *(group.strip().zfill(8) for group in groups[1:])]), 16)
    except ValueError:
        return None
    if bits < 0 or bits.bit_length() > MAX_CPU + 1:
        return None
    return frozenset(cpu for cpu, bit in enumerate(f"{bits:b}"[::-1]) if bit == "1")


def parse_integer(text: str) -> int | None:
    """Whole number of a text, decimal or with ``0x``; None if it is not one, or not below :data:`MAX_INTEGER`."""
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return None
    return value if abs(value) < MAX_INTEGER else None


def parse_size(text: str) -> int | None:
    """Bytes of a size such as ``"512K"``, ``"16M"`` or ``"56"`` (powers of two); None if it is not one."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or (number := parse_integer(match[1])) is None:
        return None
    size = number << _POWERS[match[2].upper()]
    return size if size < MAX_INTEGER else None


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory that holds ``proc`` and ``sys``; every path given to its methods is relative to it."""

    root: Path

    def path(self, name: str) -> Path:
        """Where ``name`` lies; a leading slash does not leave the tree."""
        return self.root / name.lstrip("/")

    def exists(self, name: str) -> bool:
        """Whether the file or folder is there, as far as this process may look."""
        try:
            return self.path(name).exists()
        except (OSError, ValueError):
            return False

    def is_folder(self, name: str) -> bool:
        """Whether ``name`` is a folder."""
        try:
            return self.path(name).is_dir()
        except (OSError, ValueError):
            return False

    def raw(self, name: str) -> bytes | None:
        """Contents of a file, or None."""
        try:
            return self.path(name).read_bytes()
        except (OSError, ValueError):  # ValueError: a NUL in a name that came from another file
            return None

    def text(self, name: str) -> str | None:
        """Contents without surrounding white space, or None; bytes that are not UTF-8 are replaced."""
        raw = self.raw(name)
        return None if raw is None else raw.decode("utf-8", "replace").strip()

    def integer(self, name: str) -> int | None:
        """Read a whole number, decimal or with ``0x``, or None."""
        text = self.text(name)
        return None if text is None else parse_integer(text)

    def size(self, name: str) -> int | None:
        """Bytes of a file like ``cache/index0/size``, or None."""
        text = self.text(name)
        return None if text is None else parse_size(text)

    def mask(self, name: str) -> frozenset[int] | None:
        """CPUs of a mask file, or None."""
        text = self.text(name)
        return None if text is None else parse_cpu_mask(text)

    def listed(self, name: str) -> frozenset[int] | None:
        """CPUs (or NUMA nodes) of a list file, or None; an empty file lists none."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return frozenset(parse_cpu_list(text) if text else ())
        except ValueError:
            return None

    def names(self, folder: str, pattern: str) -> tuple[str, ...]:
        """Entries of a folder that match a regular expression as a whole, those with numbers in numerical order."""
        try:
            entries = [entry.name for entry in self.path(folder).iterdir() if re.fullmatch(pattern, entry.name)]
        except (OSError, ValueError):
            return ()
        return tuple(sorted(entries, key=lambda entry: (int(re.sub(r"\D", "", entry) or 0), entry)))

    def numbered(self, folder: str, prefix: str) -> tuple[int, ...]:
        """Numbers n of the entries ``prefix``n of a folder, ascending."""
        return tuple(int(entry[len(prefix) :]) for entry in self.names(folder, re.escape(prefix) + "[0-9]+"))
