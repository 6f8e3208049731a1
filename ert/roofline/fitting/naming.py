"""Names of levels: matches the plateaus of a curve with the caches that the system declares, wrong sizes or not."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from ert.roofline.model import Plateau

NEAR_OCTAVES = 2.0
"""A declared capacity further from the effective one than this (a factor of 4) contradicts the curve. Less is usual:
a guest owns a part of a shared L3."""

PAST_OCTAVES = 1.0
"""A curve that goes on for an octave past a capacity has left that cache."""

SURE_OCTAVES = 1.5
"""Width from which a plateau that nothing declared explains is believed: caches grow by a factor of 4 and more."""

NO_L1_IS_SMALLER = 64 * 1024
"""Bytes. With nothing declared and one plateau that ends below this, the plateau is L1."""

NO_CACHE_IS_LARGER = 1 << 30
"""Bytes. The largest L3 that one thread can fill is about half of this (Intel Xeon 6980P, 504 MiB)."""

NEW = 3.5
"""Cost in octaves of a plateau that no declared cache stands for: worse than a contradicting size, since a system
that lists caches at all seldom leaves one out."""

UNSEEN = 1.25
"""Cost in octaves of a declared cache that no plateau stands for: neighbours of equal speed are usual."""

WRONG = 3.0
"""Cost in octaves of a name whose size contradicts the curve; less than NEW, so that names keep their order."""

UNKNOWN = 1.5
"""Cost in octaves of a name without a size."""


def name_levels(
    plateaus: tuple[Plateau, ...], declared: Sequence[tuple[str, int]]
) -> tuple[tuple[Plateau, ...], tuple[str, ...]]:
    """Give each plateau its name and declared capacity, and say in sentences where curve and system disagree.

    Parameters
    ----------
    plateaus : tuple of Plateau
        As cut from the curve, small to large; their names do not matter.
    declared : sequence of (str, int)
        Levels that the system declares and the bytes of each that one thread can use, from L1 outwards; a size of 0 is
        unknown. A size is a prior for the names, never the truth.

    Returns
    -------
    named : tuple of Plateau
    notes : tuple of str
    """
    if not declared:
        return _name_alone(plateaus)
    plateaus = _one_memory(plateaus, declared)
    count, known = len(plateaus), len(declared)
    notes = []
    if count == known + 1:
        # As many plateaus as caches and memory: one each, however wrong the sizes are.
        chosen: list[int | None] = [*range(known), known]
    else:
        chosen = _assign(plateaus, [size for _, size in declared])
    names = _spell(chosen, [name for name, _ in declared])
    if count > known + 1:
        notes.append(
            f"The curve shows {count - 1} caches where the system declares {known}; the others are numbered in order."
        )
    sizes = {name: size if size > 0 else None for name, size in declared}
    named = tuple(
        replace(plateau, name=name, declared=sizes.get(name)) for plateau, name in zip(plateaus, names, strict=True)
    )
    notes += _unseen(named, declared)
    for plateau in named:
        notes += _contradiction(plateau, sizes)
    return named, tuple(notes)


def _one_memory(plateaus: tuple[Plateau, ...], declared: Sequence[tuple[str, int]]) -> tuple[Plateau, ...]:
    """Drop narrow plateaus between the last declared cache and memory, if there are more than both explain.

    They are pieces of the slide from a cache that neighbours use too, cut by a slow spell. A cache that the system does
    not declare is as wide as its capacity is larger than that of the one before.
    """
    largest = max(size for _, size in declared)
    while len(plateaus) > len(declared) + 1:
        piece = plateaus[-2]
        if not 0 < largest <= piece.first or math.log2(piece.last / piece.first) >= SURE_OCTAVES:
            break
        plateaus = (*plateaus[:-2], plateaus[-1])
    return plateaus


def _name_alone(plateaus: tuple[Plateau, ...]) -> tuple[tuple[Plateau, ...], tuple[str, ...]]:
    """Names when no cache is declared."""
    if len(plateaus) > 1:
        names = [*(f"L{i}" for i in range(1, len(plateaus))), "DRAM"]
        return tuple(replace(p, name=name) for p, name in zip(plateaus, names, strict=True)), ()
    only = plateaus[0]
    if only.last < NO_L1_IS_SMALLER:
        return (replace(only, name="L1"),), ()
    name = "DRAM" if only.last >= NO_CACHE_IS_LARGER else "L1"
    note = (
        f"The curve is one plateau from {_text(only.first)} to {_text(only.last)} and no cache is declared: it is "
        f"called {name}, but levels within that range could not be told apart."
    )
    return (replace(only, name=name),), (note,)


def _assign(plateaus: tuple[Plateau, ...], sizes: list[int]) -> list[int | None]:
    """Match plateaus to declared caches in order: an index, ``len(sizes)`` for memory, None for an unlisted cache."""
    count, known = len(plateaus), len(sizes)
    largest = max((size for size in sizes if size > 0), default=0)
    reach = math.log2(plateaus[-1].last)

    def ends(plateau: Plateau, size: int) -> float:
        """Cost of a plateau that ends in a step."""
        if size <= 0 or plateau.capacity is None:
            return UNKNOWN
        apart = abs(math.log2(plateau.capacity / size))
        return apart if apart <= NEAR_OCTAVES else WRONG

    def stays(size: int) -> float:
        """Cost of a last plateau that does not leave the cache."""
        return max(0.0, reach - math.log2(size)) if size > 0 else UNKNOWN

    # Plateaus must have left the last cache if there are more of them than caches.
    memory = 0.0
    if count <= known and largest:
        memory = max(0.0, math.log2(largest) + PAST_OCTAVES - reach)
    best: dict[tuple[int, int], tuple[float, list[int | None]]] = {(0, 0): (0.0, [])}

    def offer(plateau: int, cache: int, cost: float, chosen: list[int | None]) -> None:
        if (plateau, cache) not in best or cost < best[plateau, cache][0]:
            best[plateau, cache] = (cost, chosen)

    for i in range(count):
        for j in range(known + 1):
            if (i, j) not in best:
                continue
            cost, chosen = best[i, j]
            if j < known:
                offer(i, j + 1, cost + UNSEEN, chosen)
            if i < count - 1:
                offer(i + 1, j, cost + NEW, [*chosen, None])
                if j < known:
                    offer(i + 1, j + 1, cost + ends(plateaus[i], sizes[j]), [*chosen, j])
            else:
                offer(count, known, cost + memory + UNSEEN * (known - j), [*chosen, known])
                if j < known:
                    offer(count, known, cost + stays(sizes[j]), [*chosen, j])
    return best[count, known][1]


def _spell(chosen: list[int | None], names: list[str]) -> list[str]:
    """Names of the plateaus; caches that are not declared get the free numbers between their neighbours."""
    spelled = ["" if i is None else "DRAM" if i == len(names) else names[i] for i in chosen]
    numbers = [int(found[1]) if (found := re.fullmatch(r"L(\d+)", name)) else None for name in spelled]
    previous = 0
    for at, name in enumerate(spelled):
        if not name:
            numbers[at], spelled[at] = previous + 1, f"L{previous + 1}"
        number = numbers[at]
        if number is not None:
            if number <= previous:
                # No free number: counting is then clearer than a name that no machine has.
                return [*(f"L{i}" for i in range(1, len(chosen))), "DRAM"]
            previous = number
    return spelled


def _unseen(named: tuple[Plateau, ...], declared: Sequence[tuple[str, int]]) -> list[str]:
    """Sentences on the expected levels that have no plateau of their own."""
    order = [*(name for name, _ in declared), "DRAM"]
    seen = {plateau.name for plateau in named}
    notes = []
    for i, name in enumerate(order):
        if name not in seen:
            # Plateaus are named by their ends: a level that hides in one is hidden by the next one that has a name.
            host = next((other for other in order[i + 1 :] if other in seen), None)
            notes.append(
                f"{name} is declared but could not be told apart from {host}."
                if host
                else f"{name} has no plateau of its own: it was not reached or cannot be told apart from "
                f"{named[-1].name}."
            )
    return notes


def _contradiction(plateau: Plateau, sizes: dict[str, int | None]) -> list[str]:
    """Say if the declared capacity cannot be what the curve shows."""
    if plateau.name not in sizes:
        return []
    if plateau.declared is None:
        return [f"The size of {plateau.name} is not declared; the curve alone gives it."]
    seen = plateau.capacity
    if seen is None:
        # A last plateau shows only how far the cache reaches at least.
        if math.log2(plateau.last / plateau.declared) <= NEAR_OCTAVES:
            return []
        where = f"its plateau reaches {_text(plateau.last)}"
    else:
        if abs(math.log2(seen / plateau.declared)) <= NEAR_OCTAVES:
            return []
        where = f"the curve leaves its plateau at {_text(seen)}"
    return [f"{_text(plateau.declared)} of {plateau.name} are declared, but {where}; the curve is believed."]


def _text(size: float) -> str:
    """Bytes as a reader expects them in a sentence."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"
