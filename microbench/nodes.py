"""Which NUMA node memory lies on: binds a range of addresses to one, and asks where pages are.

Through Linux's system calls mbind(2) and move_pages(2), which the C library does not offer by name. Containers often
refuse both, other systems have neither; then the answer is that it is not known, and memory lies where it was first
written.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections import Counter
from collections.abc import Mapping

_NUMBERS: Mapping[str, tuple[int, int]] = {
    "x86_64": (237, 279),
    "aarch64": (235, 239),
    "riscv64": (235, 239),
    "loongarch64": (235, 239),
    "ppc64le": (259, 301),
    "s390x": (268, 310),
}
"""Numbers of mbind and move_pages by machine (Linux, arch/*/ and scripts/syscall.tbl)."""

_MPOL_BIND = 2
"""Pages come from the node or not at all, and the kernel's balancing leaves them there (linux/mempolicy.h)."""

ASKED = 256
"""Pages that are asked for: of a range that lies on two nodes, the share of each is known within a few percent."""

_LONG_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def bind(address: int, size: int, node: int) -> bool:
    """Let the pages of a range come from one node; False if the system has or allows no such thing.

    Parameters
    ----------
    address, size : int
        Whole base pages that nobody has written yet.
    node : int
        Number of the NUMA node.
    """
    words = node // _LONG_BITS + 1
    mask = (ctypes.c_ulong * words)()
    mask[node // _LONG_BITS] = 1 << node % _LONG_BITS
    # The kernel takes one bit less than it is told.
    most = ctypes.c_ulong(words * _LONG_BITS + 1)
    return _call(0, ctypes.c_void_p(address), ctypes.c_ulong(size), _MPOL_BIND, mask, most, ctypes.c_uint(0))


def where(address: int, size: int) -> dict[int, int] | None:
    """Return how many of some pages of a range lie on each node; None if the system does not tell.

    Parameters
    ----------
    address, size : int
        A range that has been written.

    Returns
    -------
    dict of int to int
        Up to :data:`ASKED` pages, evenly spaced; pages that nothing stands behind are left out.
    """
    pages = max(1, size // mmap.PAGESIZE)
    count = min(ASKED, pages)
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    asked = (ctypes.c_void_p * count)(*(first + number * pages // count * mmap.PAGESIZE for number in range(count)))
    found = (ctypes.c_int * count)()
    if not _call(1, ctypes.c_int(0), ctypes.c_ulong(count), asked, None, found, ctypes.c_int(0)):
        return None
    return dict(Counter(node for node in found if node >= 0))


def _call(which: int, *arguments: object) -> bool:
    """Make one of the two system calls; False if it fails or there is none."""
    numbers = _NUMBERS.get(platform.machine()) if sys.platform == "linux" else None
    if numbers is None:
        return False
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return bool(function(ctypes.c_long(numbers[which]), *arguments) == 0)
