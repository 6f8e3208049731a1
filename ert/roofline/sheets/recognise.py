"""Which sheets describe a host: by its model name, else its cores by what the processor tells of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ert.roofline.model import Host
from ert.roofline.sheets.sheet import AcceleratorSheet, CoreGroup, CoreSheet, CpuSheet, Sheet

_NOISE = frozenset(("cpu", "processor", "core", "cores", "gen"))
"""Words of a model name that do not tell models apart."""

_TAIL = re.compile(r" @ | w/ | with ")
"""What follows is the clock or the graphics unit."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What is known of a host.

    Attributes
    ----------
    cpu : CpuSheet or None
        Sheet of the very CPU; None where only its cores are known, or nothing.
    groups : tuple of (str, CoreGroup)
        For each kind of core of the host (``""`` where all are alike) what is promised of it; kinds that no sheet
        describes are missing.
    how : str
        How it was recognised, or what it would take, as a sentence.
    doubts : tuple of str
        Sentences on what the processor does not tell.
    other_core : str
        A sentence where the processor tells that its core is not the sheet's; else empty.
    file : str
        Path of the sheet where it was given by one; else empty.
    """

    cpu: CpuSheet | None
    groups: tuple[tuple[str, CoreGroup], ...]
    how: str
    doubts: tuple[str, ...] = ()
    other_core: str = ""
    file: str = ""

    @property
    def sheets(self) -> tuple[CpuSheet | CoreSheet, ...]:
        """The sheets that the host is held against: of the CPU, else of its cores."""
        if self.cpu is not None:
            return (self.cpu,)
        return tuple(dict.fromkeys(group.core for _, group in self.groups if group.core))

    def group(self, kind: str) -> CoreGroup | None:
        """Return what is promised of one kind of core."""
        return dict(self.groups).get(kind)


def recognise(host: Host, cores: Sequence[CoreSheet], cpus: Sequence[CpuSheet]) -> Recognised:
    """Find the sheets of a host.

    Parameters
    ----------
    host : Host
        The machine that was measured.
    cores, cpus : sequence
        All known sheets.

    Returns
    -------
    Recognised
        Of the CPU whose title is in the host's model name; else of the cores that fit its CPUID family and model, its
        Arm implementer and part, or its name; else nothing, and what it would need.
    """
    named = [cpu for cpu in cpus if names_model(cpu.title, host.cpu_model)]
    if named:
        cpu = max(named, key=lambda cpu: len(_words(cpu.title)))
        return assume(host, cpu, f"recognised by its model name, {host.cpu_model!r}", cores)
    groups: list[tuple[str, CoreGroup]] = []
    doubts: list[str] = []
    for kind in _kinds(host):
        fitting = [core for core in cores if _fits(core, host, kind)]
        if fitting:
            core, doubt = _choose(fitting, host)
            groups.append((kind, CoreGroup(_count(host, kind), core, kind)))
            doubts += doubt
    model = f"the model name {host.cpu_model!r} belongs to no sheet" if host.cpu_model else "the model name is hidden"
    if not groups:
        how = f"not recognised: {model}, and no core's sheet has {_identity(host)}; a sheet can be named, or written"
        return Recognised(None, (), how)
    how = f"its core is recognised by {_identity(host)}; {model}"
    return Recognised(None, tuple(groups), how, tuple(dict.fromkeys(doubts)))


def assume(host: Host, sheet: Sheet, how: str, cores: Sequence[CoreSheet] = (), file: str = "") -> Recognised:
    """Hold a host against a given sheet, of a CPU or a core.

    Parameters
    ----------
    host : Host
        The machine that was measured.
    sheet : Sheet
        What it is held against.
    how : str
        Why this sheet.
    cores : sequence of CoreSheet
        All known cores, so that another core than the sheet's can be named.
    file : str
        Path of the sheet where it was given by one.

    Raises
    ------
    ValueError
        For an accelerator.
    """
    if isinstance(sheet, AcceleratorSheet):
        raise ValueError(f"{sheet.name} is an accelerator; a sweep measures a CPU")
    kinds = _kinds(host)
    if isinstance(sheet, CoreSheet):
        held = tuple((kind, CoreGroup(_count(host, kind), sheet, kind)) for kind in kinds)
        return Recognised(None, held, how, other_core=_other_core(host, held, cores), file=file)
    doubts = []
    groups = []
    for kind in kinds:
        fitting = [group for group in sheet.groups if not kind or kind in _kinds_of(group)]
        if not fitting and len(sheet.groups) == 1:
            fitting = [sheet.groups[0]]
        if fitting:
            groups.append((kind, fitting[0]))
        if not kind and len(sheet.groups) > 1:
            taken = fitting[0].kind or "the first"
            doubts.append(f"The system does not tell which kind of core a logical CPU is; all are taken as {taken}.")
    return Recognised(sheet, tuple(groups), how, tuple(doubts), other_core=_other_core(host, groups, cores), file=file)


def names_model(title: str, model: str) -> bool:
    """Whether a model name, as the operating system shows it, is that of the given title."""
    words = _words(title)
    return bool(words) and words <= _words(model)


def _words(name: str) -> frozenset[str]:
    plain = re.sub(r"\((r|tm)\)|[®™,]", " ", _TAIL.split(name)[0].lower())
    words = (re.sub(r"^\d+-(core|cores)$", "", word) for word in plain.split())
    return frozenset(word for word in words if word and word not in _NOISE)


def _fits(core: CoreSheet, host: Host, kind: str) -> bool:
    """Whether a sheet can be that of a kind of core of the host; names are looked at by :func:`_choose`."""
    if kind and core.name == kind.lower():
        return True
    known, seen = core.recognition, dict(host.identity)
    if not known.models and not known.parts:
        return any(names_model(name, host.cpu_model) for name in known.names)
    if known.vendor.lower() != host.vendor.lower() or (known.family is not None and seen.get("family") != known.family):
        return False
    numbers, number = (known.models, seen.get("model")) if known.models else (known.parts, seen.get("part"))
    return number in numbers and (not kind or not known.kinds or kind in known.kinds)


def _other_core(host: Host, groups: Sequence[tuple[str, CoreGroup]], cores: Sequence[CoreSheet]) -> str:
    """Return a sentence if what the processor tells of itself is not the core of a sheet; empty if nothing is told."""
    seen = dict(host.identity)
    for kind, group in groups:
        core = group.core
        numbers = () if core is None else core.recognition.models or core.recognition.parts
        told = "model" in seen or "part" in seen
        if core is None or not numbers or not told or _fits(core, host, kind):
            continue
        what = "CPUID" if "family" in seen else "identification"
        fitting = [each for each in cores if _fits(each, host, kind)]
        if fitting:
            named = _choose(fitting, host)[0].title
            return f"the result's {what} is that of {named}, the sheet's core is {core.title}"
        return f"the result's {what} ({_identity(host)}) is that of no known sheet, the sheet's core is {core.title}"
    return ""


def _choose(fitting: Sequence[CoreSheet], host: Host) -> tuple[CoreSheet, list[str]]:
    """Return one of the sheets that fit by number, and what remains in doubt."""
    by_name = [core for core in fitting if any(names_model(name, host.cpu_model) for name in core.recognition.names)]
    if by_name:
        return by_name[0], []
    open_ones = [core for core in fitting if not core.recognition.names] or list(fitting)
    chosen = max(open_ones, key=lambda core: core.operations("fp64") or 0)
    others = [core.title for core in fitting if core is not chosen]
    # A full model name that no list holds has been looked up; a hidden one has not.
    hidden = not re.search(r"\d", host.cpu_model)
    if others and (hidden or len(open_ones) > 1):
        return chosen, [f"The processor's numbers do not tell {chosen.title} from {' or '.join(others)}."]
    return chosen, []


def _identity(host: Host) -> str:
    seen = dict(host.identity)
    if "family" in seen:
        return f"{host.vendor} CPUID family {seen['family']:#x}, model {seen.get('model', 0):#x}"
    if "part" in seen:
        return f"Arm implementer {host.vendor}, part {seen['part']:#x}"
    return f"the name {host.cpu_model!r}" if host.cpu_model else f"the vendor {host.vendor or 'unknown'!r}"


def _kinds_of(group: CoreGroup) -> tuple[str, ...]:
    return (group.kind, *(group.core.recognition.kinds if group.core else ()))


def _kinds(host: Host) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cpu.kind for cpu in host.cpus)) or ("",)


def _count(host: Host, kind: str) -> int:
    return len({cpu.core for cpu in host.cpus if cpu.kind == kind}) or 1


def team_kinds(host: Host, cpus: Iterable[int]) -> dict[str, int]:
    """Return how many physical cores of each kind a choice of logical CPUs belongs to.

    CPUs of a host that lists none of them count as cores of one kind without a name.
    """
    by_id = {cpu.id: cpu for cpu in host.cpus}
    chosen = {(by_id[cpu].kind, by_id[cpu].core) for cpu in cpus if cpu in by_id}
    found: dict[str, int] = {}
    for kind, _ in sorted(chosen):
        found[kind] = found.get(kind, 0) + 1
    return found or {"": len(set(cpus))}
