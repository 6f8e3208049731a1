"""Does the machine keep its promises? Caches and memory; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ert.roofline.fitting.caches import BEYOND_CACHE, SMALLEST_CACHE
from ert.roofline.model import MEMORY, Host, MemoryRoof, Roofline, Team
from ert.roofline.quantities import percent, rate
from ert.roofline.sheets.checks import Cause, Check, Factor, computed, judge
from ert.roofline.sheets.recognise import Recognised
from ert.roofline.sheets.sheet import CHANNEL_BYTES, CacheSheet, CoreGroup, CpuSheet

CAPACITY_PART = 0.7
"""Effective over promised capacity of a cache from which it counts as kept: code, page tables and pages that collide
take the rest (0.76 to 1.1 was seen of private caches)."""

CAPACITY_ABOVE = 1.5
"""The same, upwards: the effective capacity is the middle of a step that begins at the true one and takes up to an
octave."""

WITNESSES_AGREE = 1.25
"""Two effective capacities this near are one: a curve has about eight points an octave, and steps are rounded."""

AS_FAST = 1.5
"""An outer level is about as fast as this one if its latency is at most so many times that of this one."""

DECLARED = "declared by the system"

PINS_PART = 0.7
"""Part of the rate of the pins that streams reach on healthy machines. Published: 0.70 (EPYC 7452), 0.82 (A64FX), 0.89
(Xeon Gold 6248), 0.91 (Xeon E5-2697 v4), 0.92 (Xeon Gold 6148); refresh and turns of the bus take the rest. The sheets
and measurements in the folder machines say where these come from."""

MOST_CACHED = 0.9
"""A working set of which the last cache could hold more is no measurement of memory: no bandwidth says more of it."""

PATH_PART = 0.5
"""Part of the width of the path between L2 and L1 from which a sustained stream shows no fault: the path also carries
evicted lines, and Intel's 64 bytes per cycle are sustained by half to two thirds."""


def cache_bandwidths(
    host: Host, roofline: Roofline, team: Team, machine: Recognised, group: CoreGroup | None, tolerance: float
) -> Iterable[Check]:
    """Bytes per cycle and core of L1 (loads, stores) and L2 (loads) against the sheet of the core."""
    section = f"Cache bandwidth per cycle and core, {team.label}"
    core = group.core if group else None
    for level, mix, words in (("L1", "load", "loads"), ("L1", "store", "stores"), ("L2", "load", "loads")):
        roof = _best(roofline, team, level, mix)
        if roof is None:
            continue
        check = Check(section, f"{level} {words}", "B/cycle", roof.rate.per_cycle)
        cache = core.cache(level) if core else None
        promised = (cache.load_bytes if mix == "load" else cache.store_bytes) if cache else None
        if core is None or promised is None or roof.rate.per_cycle is None:
            of = f"The sheet {core.name} does not state it." if core else "No sheet describes this core."
            yield replace(check, why=of if roof.rate.per_cycle is not None else "The clock was not measured.")
            continue
        check = replace(check, promised=promised, basis=f"sheet {core.name}")
        disturbed = f" Its samples are of grade D: measure again on a quiet {_machine(host)}." * (
            roof.rate.grade == "D"
        )
        if level == "L1":
            below = Cause(f"The load and store units do not get all they can do.{disturbed}", failed=True)
        else:
            sustained = (check.ratio or 0.0) >= PATH_PART
            below = Cause(
                "The promise is the width of the path from L2; a long stream leaves gaps on it, and lines that L1 "
                f"gives up go the same way.{disturbed}",
                failed=not sustained,
            )
        above = Cause("More than the path is said to carry: another core, or the sheet is too low.", failed=True)
        yield judge(check, 1 - tolerance, 1 + tolerance, below, above)


def capacities(
    host: Host, roofline: Roofline, single: Team | None, machine: Recognised, tolerance: float
) -> Iterable[Check]:
    """Sizes of caches: declared against the sheet, and effective against what is promised or declared."""
    for level in _levels(host, machine):
        stated = _stated(machine, level)
        declared = max((c.size for c in host.caches if c.level == level and c.size >= SMALLEST_CACHE), default=None)
        check = Check("Cache capacity", f"{level} declared by the system", "B", declared)
        size = stated.size if stated else None
        if declared is not None and size is not None:
            yield judge(
                replace(check, promised=size, basis="size of an instance on the sheet"),
                1 - tolerance,
                1 + tolerance,
                _other_size(host, "smaller"),
                _other_size(host, "larger"),
            )
        elif declared is not None and stated is not None and stated.total is not None:
            yield _against_total(host, check, level, stated.total)
        elif declared is not None:
            yield replace(check, why="No sheet states the size of this cache for this CPU.")
        promised = size if size is not None else declared
        if promised is None or single is None:
            continue
        basis = "size of an instance on the sheet" if size is not None else DECLARED
        yield from _effective(host, roofline, single, level, promised, basis)


def memory_bandwidth(
    host: Host, roofline: Roofline, team: Team, machine: Recognised, tolerance: float
) -> Iterable[Check]:
    """DRAM bandwidth of all threads against channels x 8 bytes, or the bus width, x transfers of the sockets used."""
    roof = next((r for r in roofline.memory if r.team == team and r.level == MEMORY and r.headline), None)
    if roof is None:
        return
    check = Check("Memory bandwidth", f"{MEMORY}, {team.label}", "B/s", roof.rate.best)
    cpu = machine.cpu
    one = cpu.bandwidth() if cpu else None
    if cpu is None or one is None:
        yield replace(check, why=_no_memory(host, cpu))
        return
    sockets = len({c.package for c in host.cpus if c.id in team.cpus}) or 1
    share = team.cores / (cpu.cores * sockets)
    check = computed(check, *_memory_promise(cpu, one, sockets))
    part = check.ratio or 0.0
    if share < 1 and part < PINS_PART:
        kept = part >= share * PINS_PART
        reached = f"{percent(part / share)} of it" if part < share else f"{part / share:.1f} times that"
        why = (
            f"This process uses {team.cores} of {cpu.cores * sockets} cores. Their share of the promise is "
            f"{rate(share * one * sockets, 'B')}, and they reach {reached}."
        )
        yield judge(check, PINS_PART, 1 + tolerance, Cause(why, failed=not kept), _faster_memory(cpu, False))
        return
    cached = part <= (1 + tolerance) / (1 - _cached_part(host, roof, cpu, sockets))
    slow = Cause(
        "Empty channels, slower memory than stated, or data on another NUMA node; look at the memory that is fitted.",
        failed=True,
    )
    done = judge(check, PINS_PART, 1 + tolerance, slow, _faster_memory(cpu, cached))
    if done.verdict == "as promised":
        done = replace(
            done, why="The promise is the rate of the pins; streams reach 0.7 to 0.95 of it on sound machines."
        )
    yield done


def _best(roofline: Roofline, team: Team, level: str, mix: str) -> MemoryRoof | None:
    found = [
        r
        for r in roofline.memory
        if (r.team, r.level, r.mix, r.bytes_counted, r.verified) == (team, level, mix, "program", True)
    ]
    return max(found, key=lambda roof: roof.rate.best, default=None)


def _levels(host: Host, machine: Recognised) -> list[str]:
    stated = [level for level in ("L1", "L2", "L3", "L4") if _stated(machine, level)]
    return sorted({*stated, *(cache.level for cache in host.caches)})


def _stated(machine: Recognised, level: str) -> CacheSheet | None:
    if machine.cpu is not None:
        return machine.cpu.cache(level)
    # Several kinds of core have caches of their own: without the CPU's sheet the first kind speaks.
    return next((group.core.cache(level) for _, group in machine.groups if group.core), None)


def _effective(host: Host, roofline: Roofline, team: Team, level: str, promised: float, basis: str) -> Iterable[Check]:
    """What one thread has of a level: a line where bandwidth and latency agree, else a line each and no verdict."""
    if team.threads != 1:
        return
    plateaus = [plateau for curve in roofline.curves if curve.team == team for plateau in curve.plateaus]
    shown = {
        "bandwidth": [p.capacity for p in plateaus if p.name == level and p.capacity],
        "latency": [x.capacity for x in roofline.latencies if (x.level, x.team) == (level, team) and x.capacity],
    }
    found = {way: max(values) for way, values in shown.items() if values}
    if not found:
        return
    above = _larger_than_declared(roofline, team, level)
    judged = {
        way: judge(
            Check("Cache capacity", f"{level} effective, one thread", "B", value, promised, basis),
            CAPACITY_PART,
            CAPACITY_ABOVE,
            _part_of_cache(host, level),
            above,
        )
        for way, value in found.items()
    }
    if max(found.values()) <= WITNESSES_AGREE * min(found.values()):
        yield next(iter(judged.values()))
        return
    certain = len({check.verdict for check in judged.values()}) == 1
    for way, check in judged.items():
        check = replace(check, name=f"{level} effective, {way}")
        if certain:
            why = f"Not certain: bandwidth and latency show different sizes. {check.why}".rstrip()
            yield replace(check, why=why)
        else:
            why = "Not certain: bandwidth and latency show different sizes."
            yield replace(check, failed=False, why=why)


def _larger_than_declared(roofline: Roofline, team: Team, level: str) -> Cause:
    """Say what data that stay near for longer than a cache is large mean: as fast an outer cache, unless it is slow."""
    beyond = "The data stay near for longer than this cache is large"
    known = [latency for latency in roofline.latencies if latency.team == team]
    here = next((index for index, latency in enumerate(known) if latency.level == level), None)
    if here is None or here + 1 >= len(known):
        return Cause(f"{beyond}; the latency of the next level, which would say why, was not measured.", failed=False)
    times = known[here + 1].seconds / known[here].seconds
    if times <= AS_FAST:
        return Cause(f"{beyond}: {known[here + 1].level} is about as fast.", failed=False)
    return Cause(
        f"{beyond}, though {known[here + 1].level} takes {times:.1f} times as long: prefetchers hide it, or the cache "
        "is larger than stated.",
        failed=False,
    )


def _other_size(host: Host, word: str) -> Cause:
    if host.hypervisor:
        return Cause(f"The hypervisor ({host.hypervisor}) shows its guest a {word} cache.", failed=False)
    return Cause(f"The cache is {word} than stated: another model, or ways set aside by the firmware.", failed=True)


def _against_total(host: Host, check: Check, level: str, total: int) -> Check:
    """Compare the sum over instances, which counts only where the system shows the whole CPU."""
    packages = len({cpu.package for cpu in host.cpus}) or 1
    seen = sum(cache.size for cache in host.caches if cache.level == level)
    check = replace(
        check,
        name=f"{level} declared, all instances",
        measured=seen,
        promised=total * packages,
        basis=f"total on the sheet x {packages} socket(s)",
    )
    return judge(check, 0.99, 1.01, _other_size(host, "smaller"), _other_size(host, "larger"))


def _part_of_cache(host: Host, level: str) -> Cause:
    if host.hypervisor and any(len(c.cpus) > 1 for c in host.caches if c.level == level):
        return Cause(
            f"A guest ({host.hypervisor}) shares this cache with neighbours: the curve shows what they leave to it.",
            failed=False,
        )
    pages = " No huge pages are in use (thp never): pages collide in the cache." if host.thp == "never" else ""
    return Cause(f"Other work uses the cache, or ways of it are set aside.{pages}", failed=not host.hypervisor)


def _no_memory(host: Host, cpu: CpuSheet | None) -> str:
    if cpu is not None:
        return f"The sheet {cpu.name} does not state both the width and the speed of its memory."
    guest = " A guest sees neither the channels nor how many neighbours use them." if host.hypervisor else ""
    return f"Only the core is known, not the CPU model and its channels; --machine names it.{guest}"


def _memory_promise(cpu: CpuSheet, one: float, sockets: int) -> tuple[str, tuple[Factor, ...]]:
    """Return where a memory bandwidth comes from, in words and in factors."""
    memory, times = cpu.memory, ((float(sockets), "sockets"),)
    if memory is None or memory.bandwidth is None or memory.transfers is None:
        return "as published", ((one, "B/s"), *times)
    if memory.channels:
        width: tuple[Factor, ...] = ((memory.channels, "channels"), (CHANNEL_BYTES, "B"))
    else:
        width = (((memory.bus_bits or 0) / 8, "B"),)
    return f"{memory.type} memory".strip(), (*width, (memory.transfers, "transfers/s"), *times)


def _faster_memory(cpu: CpuSheet, cached: bool) -> Cause:
    """Say what a bandwidth above that of the pins means: impossible, unless something nearer holds some of the data."""
    if cpu.package_memory:
        return Cause("Above the rate of the pins: the memory inside the package may hold the data.", failed=False)
    if cached:
        return Cause("Above the rate of the pins: a part of the data can have stayed in cache.", failed=False)
    return Cause(
        "No stream is faster than the pins: faster modules or more channels than the sheet states, or a wrong "
        "measurement.",
        failed=True,
    )


def _cached_part(host: Host, roof: MemoryRoof, cpu: CpuSheet, sockets: int) -> float:
    """Return the part of the data of a memory roof that the last cache can hold, at most :data:`MOST_CACHED`."""
    data = roof.working_set * roof.team.threads
    levels = [cache.level for cache in host.caches] + [cache.level for cache in cpu.caches]
    last = max(levels, default="")
    declared = sum(c.size for c in host.caches if c.level == last and c.size >= SMALLEST_CACHE)
    stated = cpu.cache(last)
    total = ((stated.total or stated.size or 0) if stated else 0) * sockets
    return min(max(declared, total) / data, MOST_CACHED) if data else 1 / BEYOND_CACHE


def _machine(host: Host) -> str:
    return "host" if host.hypervisor else "machine"
