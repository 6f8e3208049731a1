"""What a choice of threads gets of each declared cache."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ert.roofline.model import Host

SMALLEST_CACHE = 1024
"""Bytes; a declared cache below this is taken as not declared. First-level data caches have held 8 KiB and more since
the early 1990s, while faulty firmware and hypervisors have declared sizes such as 56 bytes."""

BEYOND_CACHE = 4
"""A bandwidth curve ends at this many times the last cache, so that less than a quarter of it can be in cache at the
end."""


@dataclass(frozen=True, slots=True)
class CacheShare:
    """What a choice of threads gets of one level, in declared bytes.

    Attributes
    ----------
    level : str
        ``"L1"``, ``"L2"``, ...
    per_thread : int
        Capacity that one thread can use: its instance divided by the chosen threads that share it, the smallest over
        the threads.
    instance : int
        Size of the instance that ``per_thread`` is a part of.
    total : int
        Sum over all instances that the threads touch.
    largest : int
        What the thread gets that has most of the level: more than ``per_thread`` where instances differ in size or in
        the number of chosen threads that share them.
    """

    level: str
    per_thread: int
    instance: int
    total: int
    largest: int


def cache_share(host: Host, cpus: Sequence[int]) -> tuple[CacheShare, ...]:
    """Share the declared caches among one thread on each of ``cpus``, from L1 outwards.

    Levels without a credible size are left out. A thread that a level does not serve (a core without L3 beside others
    with one) does not count for that level; neither does a CPU that the host does not list.
    """
    chosen = frozenset(cpus)
    shares: dict[str, list[tuple[int, int]]] = {}
    for cache in host.caches:
        threads = len(chosen.intersection(cache.cpus))
        if threads and cache.size >= SMALLEST_CACHE:
            shares.setdefault(cache.level, []).append((cache.size // threads, cache.size))
    return tuple(
        CacheShare(level, *min(found), sum(size for _, size in found), max(found)[0])
        for level, found in sorted(shares.items(), key=lambda item: _level_number(item[0]))
    )


def cache_capacities(host: Host, cpus: Sequence[int]) -> list[tuple[str, int]]:
    """Return each declared level and the bytes of it that one of these threads can use, from L1 outwards."""
    return [(share.level, share.per_thread) for share in cache_share(host, cpus)]


def _level_number(level: str) -> int:
    return int(re.sub(r"\D", "", level) or 0)
