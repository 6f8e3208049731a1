"""The machine: CPUs, caches, nodes, and the tools that measured."""

from __future__ import annotations

from dataclasses import dataclass

LINUX = "Linux"
"""The system whose control groups, NUMA nodes and hypervisor are read; of others nothing is known of these."""

MEMORY = "DRAM"
"""Name of the level that is not a cache."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU that is online.

    Attributes
    ----------
    id : int
        The operating system's number.
    core : int
        Index of its physical core, counted over the whole host from 0. SMT siblings share it.
    package, node : int
        Socket and NUMA node; 0 where the host names none.
    sibling : int
        Rank among the logical CPUs of its core: 0 for the first, 1 for its SMT sibling.
    kind : str
        Kind of core on hosts that have several (``"P"``, ``"E"``, or a part name); empty where all are alike.
    usable : bool
        Whether this process may run on it (affinity and cgroup cpuset).
    """

    id: int
    core: int
    package: int = 0
    node: int = 0
    sibling: int = 0
    kind: str = ""
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Cache:
    """One instance of a data or unified cache as the system declares it.

    Attributes
    ----------
    level : str
        ``"L1"``, ``"L2"``, ``"L3"``, ...
    size : int
        Declared bytes; 0 where the system lists the cache but not its size.
    cpus : tuple of int
        The online logical CPUs that share this instance.
    line : int or None
        Bytes of a line; None if not declared.
    """

    level: str
    size: int
    cpus: tuple[int, ...]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One NUMA node: its online CPUs (may be none) and its memory in bytes (may be 0)."""

    id: int
    cpus: tuple[int, ...]
    memory: int


@dataclass(frozen=True, slots=True)
class Host:
    """Who and where we are, as far as the operating system tells; no field identifies the owner or the network.

    Attributes
    ----------
    system, machine : str
        As ``platform.system()`` and ``platform.machine()`` spell them: ``"Linux"``, ``"x86_64"``.
    kernel : str
        Release of the operating system kernel.
    cpu_model : str
        Marketing name; empty where it is hidden.
    vendor : str
        ``"AuthenticAMD"``, ``"GenuineIntel"``, or the Arm implementer as ``"0x41"``; empty if unknown.
    identity : tuple of (str, int)
        What recognises the core: ``family``, ``model``, ``stepping`` on x86, ``implementer``, ``part``, ``variant``,
        ``revision`` on Arm. On hosts with several kinds of core, of the first.
    cpus, caches, nodes : tuple
        Online logical CPUs, data caches (one entry an instance), and the NUMA nodes whose memory may be used.
    memory_total, memory_available : int
        Bytes; 0 if unknown. What a control group leaves of the available memory counts where that is less.
    memory_limit : int or None
        Smallest cgroup memory limit in force in bytes; None without one.
    kinds : tuple of str
        Kinds of core, the fastest first; empty where all are alike.
    cpu_quota : float or None
        CPUs' worth of time a cgroup lets this process use (``cpu.max``); None without a quota.
    hypervisor, container : str
        Name of the hypervisor or container runtime; empty on bare metal.
    thp : str
        Transparent huge pages: ``"always"``, ``"madvise"``, ``"never"``; empty if unknown.
    governor, turbo : str
        Frequency governor, and ``"on"`` or ``"off"``; empty where the system does not tell.
    page_size : int
        Bytes of a base page.
    notes : tuple of str
        What was found inconsistent or missing, in sentences.
    """

    system: str
    machine: str
    kernel: str = ""
    cpu_model: str = ""
    vendor: str = ""
    identity: tuple[tuple[str, int], ...] = ()
    cpus: tuple[Cpu, ...] = ()
    caches: tuple[Cache, ...] = ()
    nodes: tuple[Node, ...] = ()
    memory_total: int = 0
    memory_available: int = 0
    memory_limit: int | None = None
    cpu_quota: float | None = None
    hypervisor: str = ""
    container: str = ""
    thp: str = ""
    governor: str = ""
    turbo: str = ""
    page_size: int = 4096
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The CPU's marketing name, or what else tells the machine where that is hidden."""
        known = (self.vendor, *(f"{key} {value}" for key, value in self.identity if key in ("family", "model")))
        return self.cpu_model or " ".join(known).strip() or f"{self.machine} CPU"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What produced and ran the code: versions, the target CPU as LLVM names it, and the vector widths it offers.

    Attributes
    ----------
    versions : tuple of (str, str)
        Package and its version: ``ert-roofline``, ``python``, ``numba``, ``llvmlite``, ``llvm``, ``numpy``.
    target : str
        LLVM's name of the CPU the code was made for.
    features : tuple of str
        LLVM's names of the instruction sets present that the probes can use.
    vector_bits : tuple of int
        Vector widths the CPU can execute, ascending.
    """

    versions: tuple[tuple[str, str], ...] = ()
    target: str = ""
    features: tuple[str, ...] = ()
    vector_bits: tuple[int, ...] = ()
