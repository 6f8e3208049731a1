"""Reads what stands between the tool and the bare machine: hypervisor, container, huge pages, frequency control."""

from __future__ import annotations

import re
from collections.abc import Collection

from ert.measure.cpuinfo import CpuInfo
from ert.measure.sysfs import CPU_FOLDER
from ert.measure.tree import Tree

UNKNOWN_HYPERVISOR = "unknown hypervisor"

_DMI = "sys/class/dmi/id"
_DMI_FILES = ("sys_vendor", "product_name", "bios_vendor", "board_vendor", "product_version")
_DMI_NAMES = (
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("parallels", "Parallels"),
    ("bhyve", "bhyve"),
    ("apple virtualization", "Apple Virtualization"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("hvm domu", "Xen"),
    ("xen", "Xen"),
    ("bochs", "Bochs"),
    ("google compute engine", "KVM"),
    ("amazon ec2", "KVM"),
    ("alibaba cloud", "KVM"),
    ("openstack", "KVM"),
    ("kvm", "KVM"),
    ("qemu", "KVM"),
)
"""Words in what the firmware calls the machine and the hypervisor they mean; the first found counts. The clouds named
run KVM; Amazon's older Xen machines are recognised before by ``sys/hypervisor/type``."""

_BARE_METAL = re.compile(r"\.metal\b|bare ?metal", re.IGNORECASE)
"""Cloud machines without a hypervisor carry the cloud's name too: ``c5.metal``."""

_CLOCK_NAMES = (("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"))
"""Clock sources that only a guest of that hypervisor has."""

_MICRO_VM = re.compile(r"firecracker|virtio_mmio\.device=", re.IGNORECASE)
"""Firecracker has no firmware tables; it hands its devices to a KVM guest on the kernel command line."""

_RUNTIMES = (
    (re.compile(r"kubepods"), "kubernetes"),
    (re.compile(r"libpod-"), "podman"),
    (re.compile(r"/docker/[0-9a-f]{12}|docker-[0-9a-f]{12}"), "docker"),
    (re.compile(r"lxc\.payload|/lxc/"), "lxc"),
    (re.compile(r"machine\.slice/machine-|systemd-nspawn"), "systemd-nspawn"),
    (re.compile(r"containerd"), "containerd"),
)
"""What container runtimes leave in a cgroup path. Bare ``docker`` is not enough: ``docker.service`` is the daemon."""


def read_hypervisor(tree: Tree, info: CpuInfo) -> str:
    """Name of the hypervisor; empty on bare metal as far as can be seen."""
    kind = (tree.text("sys/hypervisor/type") or "").lower()
    if kind == "xen":
        privileged = "control_d" in (tree.text("proc/xen/capabilities") or "")
        return "Xen (control domain)" if privileged else "Xen"
    flags = next((block["flags"] for block in info.blocks.values() if "flags" in block), None)
    if flags is not None and "hypervisor" not in flags.split():
        return ""  # x86 guests see this flag, so without it the words of the firmware mean nothing
    dmi = " ".join(tree.text(f"{_DMI}/{name}") or "" for name in _DMI_FILES).lower()
    clocks = tree.text("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    name = _named(_DMI_NAMES, "" if _BARE_METAL.search(dmi) else dmi) or _named(_CLOCK_NAMES, clocks)
    if name in ("", "KVM") and not dmi.strip() and _MICRO_VM.search(tree.text("proc/cmdline") or ""):
        return "Firecracker"
    return name or _from_other_platforms(tree, info) or (UNKNOWN_HYPERVISOR if flags is not None else kind)


def _from_other_platforms(tree: Tree, info: CpuInfo) -> str:
    """WSL, and what the device tree, s390 and POWER say."""
    compatible = (tree.text("proc/device-tree/hypervisor/compatible") or "").lower()
    stated = " ".join((compatible, tree.text("proc/sysinfo") or "", *info.common.values())).lower()
    if "microsoft" in (tree.text("proc/sys/kernel/osrelease") or tree.text("proc/version") or "").lower():
        return "Hyper-V"
    words = (("z/vm", "z/VM"), ("kvm", "KVM"), ("emulated by qemu", "KVM"), ("xen", "Xen"), ("pseries", "PowerVM"))
    return _named(words, stated)  # Linux calls a POWER machine pSeries under a hypervisor and PowerNV without one


def read_container(tree: Tree) -> str:
    """Name of the container runtime; empty outside one."""
    for text in (tree.text("run/systemd/container"), _environment(tree, "container")):
        if text:
            return "systemd-nspawn" if text == "systemd-nspawn" else text.split()[0].lower()
    if tree.exists("run/secrets/kubernetes.io") or tree.exists("var/run/secrets/kubernetes.io"):
        return "kubernetes"
    for name in ("proc/1/cgroup", "proc/self/cgroup"):
        groups = tree.text(name) or ""
        if found := next((runtime for pattern, runtime in _RUNTIMES if pattern.search(groups)), ""):
            return found
    if tree.exists("run/.containerenv"):
        return "podman"
    return "docker" if tree.exists(".dockerenv") else ""


def _environment(tree: Tree, key: str) -> str:
    """Value of a variable in the environment of the first process, which only root may read; or empty."""
    for entry in (tree.raw("proc/1/environ") or b"").split(b"\0"):
        name, _, value = entry.decode("utf-8", "replace").partition("=")
        if name == key:
            return value
    return ""


def _named(names: Collection[tuple[str, str]], text: str) -> str:
    return next((name for word, name in names if re.search(rf"\b{re.escape(word)}", text)), "")


def read_thp(tree: Tree) -> str:
    """Mode of transparent huge pages, or empty."""
    match = re.search(r"\[(\w+)\]", tree.text("sys/kernel/mm/transparent_hugepage/enabled") or "")
    return match[1] if match else ""


def read_governor(tree: Tree, cpus: Collection[int]) -> str:
    """Frequency governor of the CPUs; several are joined by commas, where they differ."""
    read = (tree.text(f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus)
    return ",".join(sorted({governor for governor in read if governor}))


def read_turbo(tree: Tree, cpus: Collection[int]) -> str:
    """Whether the clock may rise above its base: ``"on"``, ``"off"``, or empty where the system does not tell."""
    forbidden = tree.integer(f"{CPU_FOLDER}/intel_pstate/no_turbo")
    if forbidden is not None:
        return "off" if forbidden else "on"
    allowed = tree.integer(f"{CPU_FOLDER}/cpufreq/boost")
    if allowed is None:  # amd-pstate and older AMD drivers: one switch a CPU
        switches = [tree.integer(f"{CPU_FOLDER}/cpu{cpu}/cpufreq/{name}") for cpu in cpus for name in ("boost", "cpb")]
        known = [switch for switch in switches if switch is not None]
        allowed = max(known) if known else None
    return "" if allowed is None else "on" if allowed else "off"
