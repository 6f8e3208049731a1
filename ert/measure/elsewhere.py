"""Describes the running machine where it is not Linux: macOS, Windows and others, through psutil and platform."""

from __future__ import annotations

import importlib
import os
import platform
import re
from collections.abc import Iterable
from typing import Any

from ert.measure.tree import format_cpu_list
from ert.roofline.model import Cpu, Host, Node


def read_elsewhere(affinity: Iterable[int] | None) -> Host:
    """Describe the running machine as far as the Python library and psutil tell.

    Raises
    ------
    ValueError
        If ``affinity`` names no CPU of this machine.
    """
    psutil: Any = importlib.import_module("psutil")
    logical = psutil.cpu_count(logical=True) or os.cpu_count() or 1
    cores = psutil.cpu_count(logical=False) or logical
    even = logical % cores == 0  # not so on hybrids, where only some cores have a second thread
    threads = logical // cores if even else 1
    own = set(affinity) if affinity is not None else _process_affinity(psutil)
    usable = set(range(logical)) if own is None else own & set(range(logical))
    if not usable:
        raise ValueError(f"none of the CPUs {format_cpu_list(own or ()) or '(none given)'} is among 0-{logical - 1}")
    memory = psutil.virtual_memory()
    described = platform.processor()  # Windows: "AMD64 Family 25 Model 17 Stepping 1, AuthenticAMD"
    if described.lower() in ("arm", "i386", platform.machine().lower()):
        described = ""  # macOS gives the architecture here
    parts = re.search(r"Family (\d+) Model (\d+) Stepping (\d+)(?:, (\S+))?", described)
    identity = tuple(zip(("family", "model", "stepping"), map(int, parts.groups()[:3]), strict=True)) if parts else ()
    notes = [f"Caches, NUMA nodes and limits are not read on {platform.system()}; levels come from the measurement."]
    if not even:
        notes.append(f"{logical} CPUs on {cores} cores: which share a core is not known, so each counts as one.")
    if parts or not described:
        notes.append("The CPU model is not read here.")
    return Host(
        system=platform.system(),
        machine=platform.machine(),
        kernel=platform.release(),
        cpu_model="" if parts else described,
        vendor=(parts[4] or "") if parts else "",
        identity=identity,
        cpus=tuple(Cpu(cpu, cpu // threads, sibling=cpu % threads, usable=cpu in usable) for cpu in range(logical)),
        nodes=(Node(0, tuple(range(logical)), int(memory.total)),),
        memory_total=int(memory.total),
        memory_available=int(memory.available),
        notes=tuple(notes),
    )


def _process_affinity(psutil: Any) -> set[int] | None:
    """CPUs of this process where the system has affinities (Windows, FreeBSD)."""
    process = psutil.Process()
    return set(process.cpu_affinity()) or None if hasattr(process, "cpu_affinity") else None
