"""Memory to measure on: anonymous, aligned to 2 MiB, advised to be backed by huge pages."""

from __future__ import annotations

import mmap
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from microbench.catalog import HUGE_PAGE, array_pitch

# Python maps shared memory unless told otherwise, and Linux gives huge pages to that only if a second switch,
# transparent_hugepage/shmem_enabled, says so; it is off by default.
_PRIVATE: dict[str, int] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


class Arena:
    """One thread's memory, reserved at once, backed by pages as they are first written.

    Parameters
    ----------
    size : int
        Usable bytes.

    Raises
    ------
    MemoryError
        If the system does not give that much.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        try:
            self._map = mmap.mmap(-1, size + HUGE_PAGE, **_PRIVATE)
        except (OSError, ValueError, OverflowError) as error:
            raise MemoryError(f"cannot reserve {size} bytes: {error}") from None
        whole = np.frombuffer(self._map, dtype=np.uint8)
        start = -whole.ctypes.data % HUGE_PAGE
        self.bytes: np.ndarray[Any, np.dtype[np.uint8]] = whole[start : start + size]
        self.address = int(self.bytes.ctypes.data)
        self.advised = False
        if hasattr(self._map, "madvise") and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                self._map.madvise(mmap.MADV_HUGEPAGE)
                self.advised = True
            except OSError:
                pass  # kernels built without transparent huge pages

    def offsets(self, arrays: int, length: int) -> tuple[int, ...]:
        """Return where `arrays` arrays of `length` bytes start, so that no two alias; all are multiples of 64."""
        pitch = array_pitch(length)
        return tuple(index * pitch for index in range(arrays))

    def view(self, offset: int, length: int, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Return `length` bytes at `offset` as elements of `dtype`; ValueError if the arena does not hold them all."""
        if offset < 0 or offset + length > self.size:
            raise ValueError(f"{length} bytes at {offset} do not lie in an arena of {self.size}")
        return self.bytes[offset : offset + length].view(dtype)

    def touch(self) -> None:
        """Write to every page, so that the calling thread decides where it lies."""
        self.bytes[:: mmap.PAGESIZE] = 1

    def part(self, offset: int, size: int) -> Arena:
        """Return a part of this memory as an arena; ValueError if it is not all here or begins inside a line.

        Closing the part leaves this one as it is.
        """
        return _Part(self, offset, size)

    def backing(self) -> tuple[int, int] | None:
        """Return the bytes that memory stands behind, and how many of them are huge pages; None if not told."""
        try:
            text = Path("/proc/self/smaps").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        found: dict[str, int] = {}
        inside = False
        for line in text.splitlines():
            first, _, rest = line.partition(" ")
            if not first.endswith(":"):
                start, end = (int(part, 16) for part in first.split("-"))
                inside = start < self.address + self.size and self.address < end
            elif inside and first in ("Rss:", "AnonHugePages:"):
                found[first] = found.get(first, 0) + 1024 * int(rest.split()[0])
        return (found["Rss:"], found.get("AnonHugePages:", 0)) if "Rss:" in found else None

    def close(self) -> None:
        """Give the memory back. Views taken from it must not be used any more."""
        self.bytes = np.empty(0, np.uint8)
        try:
            self._map.close()
        except BufferError:
            pass  # a view is alive; the map goes with it

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Part(Arena):
    """A part of another arena."""

    def __init__(self, whole: Arena, offset: int, size: int) -> None:
        if offset % 64:
            raise ValueError(f"a part at {offset} does not begin with a line of 64 bytes")
        self.size = size
        self.bytes = whole.view(offset, size, np.uint8)
        self.address = whole.address + offset
        self.advised = whole.advised

    def close(self) -> None:
        """Let go of the memory, which belongs to the whole."""
        self.bytes = np.empty(0, np.uint8)
