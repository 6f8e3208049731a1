"""Memory to measure on: alignment, huge pages, views, and what is refused."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from microbench.buffers import HUGE_PAGE, Arena

MIB = 1 << 20


@pytest.mark.parametrize("size", [1, 4096, HUGE_PAGE - 1, HUGE_PAGE, 3 * MIB + 17])
def test_an_arena_is_aligned_to_huge_pages_and_has_its_size(size: int) -> None:
    with Arena(size) as arena:
        assert arena.address % HUGE_PAGE == 0
        assert arena.bytes.nbytes == size
        assert arena.bytes.ctypes.data == arena.address
        assert arena.size == size


def test_an_arena_is_zero_and_can_be_written_to_its_ends() -> None:
    with Arena(3 * MIB) as arena:
        assert not arena.bytes.any()
        arena.bytes[0] = arena.bytes[-1] = 7
        assert (arena.bytes[0], arena.bytes[1], arena.bytes[-1]) == (7, 0, 7)


def test_views_share_the_arena() -> None:
    with Arena(1 << 16) as arena:
        view = arena.view(4096, 64, np.float64)
        view[:] = 1.5
        assert view.shape == (8,)
        assert view.ctypes.data == arena.address + 4096
        assert np.array_equal(arena.view(4096, 64, np.float32)[1::2], np.full(8, 1.9375, np.float32))
        assert not arena.view(0, 4096, np.uint8).any()
        assert not arena.view(4160, 4096, np.uint8).any()


@pytest.mark.parametrize(("offset", "length"), [(0, 4097), (4096, 1), (-64, 64), (1 << 40, 8)])
def test_views_outside_the_arena_are_refused(offset: int, length: int) -> None:
    with Arena(4096) as arena, pytest.raises(ValueError, match=f"{length} bytes at {offset} do not lie in an arena"):
        arena.view(offset, length, np.uint8)


@pytest.mark.parametrize("size", [1 << 60, 1 << 70])
def test_absurd_sizes_are_a_memory_error(size: int) -> None:
    with pytest.raises(MemoryError, match=f"cannot reserve {size} bytes"):
        Arena(size)


def test_a_closed_arena_holds_nothing() -> None:
    arena = Arena(4096)
    arena.close()
    assert arena.bytes.nbytes == 0
    arena.close()


def test_closing_leaves_living_views_alone() -> None:
    arena = Arena(4096)
    view = arena.view(0, 8, np.float64)
    view[0] = 2.5
    arena.close()
    assert view[0] == 2.5


def kernel_flags(address: int) -> list[str]:
    """Return the kernel's flags of the mapping that holds an address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        word = line.split()[0]
        if not word.endswith(":"):
            first, last = (int(end, 16) for end in word.split("-"))
            inside = first <= address < last
        elif inside and word == "VmFlags:":
            return line.split()[1:]
    raise AssertionError(f"no mapping holds {address:#x}")


@pytest.mark.skipif(
    sys.platform != "linux" or not Path("/proc/self/smaps").exists(), reason="needs the memory map of Linux"
)
def test_huge_pages_are_asked_for_private_memory() -> None:
    """Shared memory, which Python maps by default, gets huge pages only where a second switch allows it."""
    with Arena(4 * MIB) as arena:
        flags = kernel_flags(arena.address + MIB)
        assert "sh" not in flags
        assert ("hg" in flags) == arena.advised


def test_what_stands_behind_an_arena_is_told() -> None:
    with Arena(6 * MIB) as arena:
        arena.bytes[: 4 * MIB : 4096] = 1
        backing = arena.backing()
        if backing is None:
            pytest.skip("needs the memory map of Linux")
        resident, huge = backing
        assert 4 * MIB <= resident <= 8 * MIB
        assert 0 <= huge <= resident


def test_a_part_is_an_arena_within_the_whole() -> None:
    with Arena(16384) as whole:
        part = whole.part(4096, 8192)
        assert (part.address, part.size) == (whole.address + 4096, 8192)
        part.view(0, 8, np.float64)[0] = 3.0
        assert whole.view(4096, 8, np.float64)[0] == 3.0
        with pytest.raises(ValueError, match="do not lie in an arena"):
            part.view(8192, 8, np.float64)
        part.close()
        assert whole.view(4096, 8, np.float64)[0] == 3.0


@pytest.mark.parametrize(("offset", "size"), [(8192, 8193), (-64, 64), (32, 64)])
def test_parts_outside_or_across_lines_are_refused(offset: int, size: int) -> None:
    with Arena(16384) as whole, pytest.raises(ValueError, match=r"part|arena"):
        whole.part(offset, size)


def test_touching_writes_every_page_and_no_more() -> None:
    with Arena(3 * mmap.PAGESIZE) as arena:
        arena.touch()
        assert int(arena.bytes.sum()) == 3
        assert arena.bytes[:: mmap.PAGESIZE].all()
