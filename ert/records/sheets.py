"""Machine sheets: TOML documents -> types of :mod:`ert.roofline.sheets.sheet`; docs/machine-sheets.md is the schema.

Keys carry the units that vendors print (``base_ghz``, ``size_kib``); here they become SI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import get_args

from ert.records.toml import Table
from ert.roofline.sheets.sheet import (
    AcceleratorSheet,
    CacheSheet,
    Clock,
    CoreGroup,
    CoreSheet,
    CounterEvents,
    CpuSheet,
    MemorySheet,
    Metric,
    PerCycle,
    PublishedBandwidth,
    PublishedMeasurement,
    PublishedPeak,
    Recognition,
    Sheet,
    Unit,
)

KIB, MIB, GIGA, TERA, MEGA = 1024.0, 1024.0**2, 1e9, 1e12, 1e6

LEVELS = ("L1", "L2", "L3", "L4")

KINDS = ("core", "cpu", "accelerator", "measurements", "events")
"""What a file can be about; its key ``kind`` says which."""

_METRICS: tuple[Metric, ...] = get_args(Metric)
_CLOCKS: tuple[Clock, ...] = get_args(Clock)
_UNITS: tuple[Unit, ...] = get_args(Unit)

FindCore = Callable[[str], CoreSheet]
"""Returns the sheet of a core by its name; InputError if there is none."""


def kind_of(document: Table) -> str:
    """Return what a document is about: one of :data:`KINDS`."""
    return document.one_of("kind", KINDS)


def sheet_of(document: Table, name: str, find_core: FindCore) -> Sheet:
    """Return the sheet that a document holds.

    Parameters
    ----------
    document : Table
        A whole file.
    name : str
        What the sheet is called: the stem of the file.
    find_core : callable
        Gives the sheet of a core that a CPU refers to.

    Raises
    ------
    InputError
        If a key is unknown, a group has no source, a value is of the wrong type or sign, or figures contradict each
        other; the sentence names the file and the key.
    """
    kind = document.one_of("kind", KINDS[:3])
    if kind == "core":
        return _core(document, name)
    return _cpu(document, name, find_core) if kind == "cpu" else _accelerator(document, name)


def measurements_of(document: Table) -> tuple[PublishedMeasurement, ...]:
    """Return the measurements of a document of that kind; InputError as :func:`sheet_of`."""
    kind_of(document)
    found = _measured(document, {})
    document.done()
    return found


def events_of(document: Table) -> tuple[CounterEvents, ...]:
    """Return the counter events of a document of that kind; InputError as :func:`sheet_of`."""
    kind_of(document)
    found = []
    for table in document.tables("events"):
        names = table.table("names", required=True)
        events = CounterEvents(
            vendor=table.text("vendor"),
            title=table.text("title"),
            counts=table.text("counts"),
            names=names.items() if names else (),
            formula=table.text("formula", ""),
            notes=table.texts("notes"),
            sources=table.texts("source", required=True),
        )
        table.done()
        found.append(events)
    document.done()
    return tuple(found)


# ------------------------------------------------------------------------------------------------ kinds of sheet


def _core(document: Table, name: str) -> CoreSheet:
    document.text("kind")
    title, aliases, notes = document.text("title"), document.texts("aliases"), document.texts("notes")
    sources: dict[str, None] = {}
    recognition = document.table("recognition", required=True)
    arithmetic, matrix = document.table("arithmetic"), document.table("matrix_unit")
    caches = document.table("caches")
    sheet = CoreSheet(
        name,
        title,
        aliases,
        recognition=_recognition(recognition) if recognition else Recognition(),
        isa=arithmetic.text("isa", "") if arithmetic else "",
        vector_bits=arithmetic.whole("vector_bits") if arithmetic else None,
        per_cycle=(*_rates(arithmetic, "vector"), *_rates(matrix, "matrix")),
        fma_pipes=arithmetic.whole("fma_pipes") if arithmetic else None,
        fma_latency=arithmetic.number("fma_latency_cycles") if arithmetic else None,
        accumulate_latency=arithmetic.number("accumulate_latency_cycles") if arithmetic else None,
        loads=caches.number("loads_per_cycle") if caches else None,
        stores=caches.number("stores_per_cycle") if caches else None,
        caches=_caches(caches),
        notes=notes,
        sources=_finish((recognition, arithmetic, matrix, caches), sources),
    )
    document.done()
    if sheet.accumulate_latency and sheet.fma_latency and sheet.accumulate_latency > sheet.fma_latency:
        document.fail(
            f"{sheet.accumulate_latency:g} cycles are more than fma_latency_cycles ({sheet.fma_latency:g}); the path "
            "from the addend alone cannot be the longer one",
            "arithmetic.accumulate_latency_cycles",
        )
    return sheet


def _cpu(document: Table, name: str, find_core: FindCore) -> CpuSheet:
    document.text("kind")
    title, aliases, notes = document.text("title"), document.texts("aliases"), document.texts("notes")
    sources: dict[str, None] = {}
    groups = tuple(_group(table, find_core, sources) for table in document.tables("cores"))
    if not groups:
        document.fail("missing; a CPU has at least one kind of core, written as [[cores]]", "cores")
    package, caches = document.table("package"), document.table("caches")
    memory, inside = document.table("memory"), document.table("package_memory")
    cores = package.whole("cores") if package else None
    threads = package.whole("threads") if package else None
    sheet = CpuSheet(
        name,
        title,
        aliases,
        groups=groups,
        threads=threads,
        caches=_caches(caches),
        memory=_memory(memory),
        package_memory=_memory(inside),
        max_sockets=package.whole("max_sockets") if package else None,
        power=package.number("tdp_watts") if package else None,
        peaks=_peaks(document, sources),
        bandwidths=_bandwidths(document, sources),
        measurements=_measured(document, sources),
        notes=notes,
        sources=_finish((package, caches, memory, inside), sources),
    )
    document.done()
    if cores is not None and cores != sheet.cores:
        document.fail(
            f"{cores}, but the counts of [[cores]] add up to {sheet.cores}; mend one of them", "package.cores"
        )
    if threads is not None and threads < sheet.cores:
        document.fail(f"{threads} threads on {sheet.cores} cores; each core has at least one", "package.threads")
    return sheet


def _accelerator(document: Table, name: str) -> AcceleratorSheet:
    document.text("kind")
    title, aliases, notes = document.text("title"), document.texts("aliases"), document.texts("notes")
    sources: dict[str, None] = {}
    compute, caches, memory = document.table("compute"), document.table("caches"), document.table("memory")
    sheet = AcceleratorSheet(
        name,
        title,
        aliases,
        units=compute.whole("units") if compute else None,
        clock=compute.number("clock_ghz", GIGA) if compute else None,
        per_cycle=(*_rates(compute, "vector", "vector_"), *_rates(compute, "matrix", "matrix_")),
        caches=_caches(caches),
        memory=_memory(memory),
        peaks=_peaks(document, sources),
        bandwidths=_bandwidths(document, sources),
        measurements=_measured(document, sources),
        notes=notes,
        sources=_finish((compute, caches, memory), sources),
    )
    document.done()
    if not sheet.precisions:
        document.fail("no peak; state one under [[published.peaks]], or units, clock and FLOP per cycle in [compute]")
    return sheet


# ------------------------------------------------------------------------------------------------------- groups


def _finish(tables: Iterable[Table | None], sources: dict[str, None]) -> tuple[str, ...]:
    """Take the sources of groups whose facts have been read, check what is left, and return all sources so far."""
    for table in tables:
        if table is not None:
            _close(table, sources)
    return tuple(sources)


def _close(table: Table, sources: dict[str, None]) -> tuple[str, ...]:
    found = table.texts("source", required=True)
    for path in table.texts("derived"):
        if not table.has(path):
            table.fail(f"{path!r} is no key of this group; derived lists keys that follow from the source", "derived")
    table.done()
    sources.update(dict.fromkeys(found))
    return found


def _recognition(table: Table) -> Recognition:
    found = Recognition(
        vendor=table.text("vendor", ""),
        family=table.whole("family"),
        models=table.ranges("models"),
        parts=table.ranges("parts"),
        kinds=table.texts("kinds"),
        names=table.texts("names"),
    )
    if not (found.models or found.parts or found.names):
        table.fail("it needs models (x86), parts (Arm) or names, so that the core can be recognised")
    if (found.models or found.parts) and not found.vendor:
        table.fail("missing; numbers of models and parts mean something for one vendor only", "vendor")
    return found


def _rates(table: Table | None, unit: Unit, prefix: str = "") -> tuple[PerCycle, ...]:
    if table is None:
        return ()
    counted = (*table.numbers(f"{prefix}flop_per_cycle"), *table.numbers(f"{prefix}op_per_cycle"))
    return tuple(PerCycle(precision, unit, operations) for precision, operations in counted)


def _caches(table: Table | None) -> tuple[CacheSheet, ...]:
    return tuple(cache for level in LEVELS if table is not None for cache in _cache(table, level))


def _cache(group: Table, level: str) -> tuple[CacheSheet, ...]:
    table = group.table(level)
    if table is None:
        return ()
    size, total = _size(table, "size"), _size(table, "total")
    cache = CacheSheet(
        level,
        size=size,
        total=total,
        cores=table.whole("shared_by_cores"),
        load_bytes=table.number("load_bytes_per_cycle"),
        store_bytes=table.number("store_bytes_per_cycle"),
        line=table.whole("line_bytes"),
    )
    table.done()
    if size and total and total % size:
        table.fail(f"the total of {total} bytes is no whole number of instances of {size} bytes; mend one of them")
    return (cache,)


def _size(table: Table, name: str) -> int | None:
    in_kib, in_mib = table.number(f"{name}_kib", KIB), table.number(f"{name}_mib", MIB)
    if in_kib is not None and in_mib is not None:
        table.fail(f"{name}_kib and {name}_mib both state it; keep one", f"{name}_mib")
    found = in_kib if in_mib is None else in_mib
    return None if found is None else round(found)


def _memory(table: Table | None) -> MemorySheet | None:
    if table is None:
        return None
    capacity = table.number("capacity_gb", GIGA)
    memory = MemorySheet(
        type=table.text("type", ""),
        channels=table.whole("channels"),
        bus_bits=table.whole("bus_bits"),
        transfers=table.number("megatransfers_per_s", MEGA),
        capacity=None if capacity is None else round(capacity),
    )
    if memory.channels is not None and memory.bus_bits is not None:
        table.fail("channels and bus_bits both state the width; keep the one that the vendor states", "bus_bits")
    return memory


def _group(table: Table, find_core: FindCore, sources: dict[str, None]) -> CoreGroup:
    count, sheet = table.whole("count"), table.text("sheet", "")
    if count is None:
        table.fail("missing; it must be the number of cores of this kind", "count")
    core = None
    if sheet:
        try:
            core = find_core(sheet)
        except ValueError as error:
            table.fail(str(error), "sheet")
    group = CoreGroup(
        count,
        core,
        kind=table.text("kind", ""),
        base=table.number("base_ghz", GIGA),
        all_core=table.number("all_core_ghz", GIGA),
        boost=table.number("boost_ghz", GIGA),
        highest=table.number("highest_ghz", GIGA),
    )
    _close(table, sources)
    order = [
        ("base_ghz", group.base),
        ("all_core_ghz", group.all_core),
        ("boost_ghz", group.boost),
        ("highest_ghz", group.highest),
    ]
    known = [(key, clock) for key, clock in order if clock is not None]
    for (low, lower), (high, higher) in pairwise(known):
        if lower > higher:
            table.fail(f"{lower / GIGA:g} GHz is above {high} ({higher / GIGA:g} GHz); mend one of them", low)
    return group


def _peaks(document: Table, sources: dict[str, None]) -> tuple[PublishedPeak, ...]:
    published = document.table("published")
    found = []
    for table in published.tables("peaks") if published else ():
        unit = table.one_of("unit", _UNITS, "vector")
        clock = table.one_of("clock", _CLOCKS) if "clock" in table else None
        sockets, why = table.whole("sockets") or 1, table.text("why", "")
        values = (*table.numbers("tflop_per_s", TERA), *table.numbers("top_per_s", TERA))
        if not values:
            table.fail("missing; it must name precisions and their peaks, as { fp64 = 9.7 }", "tflop_per_s")
        _close(table, sources)
        found += [PublishedPeak(precision, value, unit, clock, sockets, why) for precision, value in values]
    return tuple(found)


def _bandwidths(document: Table, sources: dict[str, None]) -> tuple[PublishedBandwidth, ...]:
    published = document.table("published")
    found = []
    for table in published.tables("bandwidths") if published else ():
        value, sockets, why = table.number("gb_per_s", GIGA), table.whole("sockets") or 1, table.text("why", "")
        if value is None:
            table.fail("missing; it must be a number above 0", "gb_per_s")
        _close(table, sources)
        found.append(PublishedBandwidth(value, sockets, why))
    if published is not None:
        published.tables("peaks")
        published.done()
    return tuple(found)


def _measured(document: Table, sources: dict[str, None]) -> tuple[PublishedMeasurement, ...]:
    return tuple(_measurement(table, sources) for table in document.tables("measured"))


_RATES = {"gflop_per_s": GIGA, "tflop_per_s": TERA, "gop_per_s": GIGA, "gb_per_s": GIGA}


def _measurement(table: Table, sources: dict[str, None]) -> PublishedMeasurement:
    stated = [(key, scale) for key, scale in _RATES.items() if key in table]
    if len(stated) != 1:
        table.fail("it needs one value: " + ", ".join(_RATES))
    key, scale = stated[0]
    value, high = table.number(key, scale), table.number("up_to", scale)
    if value is None or (high is not None and high < value):
        table.fail(f"the range ends below its beginning ({key})", "up_to")
    metric = table.one_of("metric", _METRICS)
    precision = table.text("precision", "")
    if not precision and metric in ("fma", "hpl", "matrix"):
        table.fail("missing; it must say which numbers were computed with, such as 'fp64'", "precision")
    system, description = table.text("system"), table.text("description")
    return PublishedMeasurement(
        system,
        metric,
        value,
        high,
        precision,
        cores=table.whole("cores"),
        sockets=table.whole("sockets"),
        description=description,
        models=table.texts("models"),
        relative=table.flag("relative"),
        source=_close(table, sources),
    )
