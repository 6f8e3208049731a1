"""Is a machine fit to be measured? Rules over what its system told; pure, so that every old result is judged anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ert.roofline.fitting.caches import BEYOND_CACHE, cache_share
from ert.roofline.model import LINUX, Condition, Host
from ert.roofline.quantities import cpu_time, percent, seconds, size

Verdict = Literal["fine", "warn", "bad"]

TICK = 0.01
"""Seconds: what the counters of the system step by nearly everywhere (USER_HZ is 100)."""

UNSURE_TICKS = 2
"""Ticks that a count may be off at both its ends; less than this is no finding."""

OTHERS_NOTED = 0.1
"""CPUs' worth of time: an idle desktop or guest was seen to use up to 0.05."""

OTHERS_BAD = 0.25
"""Part of the usable CPUs, as one busy process is of up to four: hardly a sample of all cores is without it."""

LOAD_NOTED = 0.5
"""Load average: half of the last minute one process ran, on whichever CPU."""

STOLEN_NOTED, STOLEN_BAD = 0.01, 0.05
"""Parts of the one CPU that was wanted during the look: what grades A and C promise a repeated sweep to keep."""

STEP_NOTED, STEP_BAD = 4e-6, 4e-5
"""Seconds: 0.1 % and 1 % of a sample, which lasts some 4 ms."""

SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "pit")
"""Clock sources that are read from a device, or only tick."""

SCALING_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Drivers under which ``powersave`` means that the hardware chooses the clock by demand; under others it means the
lowest one (the Linux kernel's ``Documentation/admin-guide/pm/intel_pstate.rst`` and ``amd-pstate.rst``)."""

LEAST_MEMORY = 240 << 20
"""Bytes: a quick sweep was seen to run to its end in this much, and not in 96 MiB."""

NOT_TOLD = "not told by the system"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that decides whether measuring makes sense now.

    Attributes
    ----------
    name : str
        ``"load"``, ``"steal"``, ``"governor"``, ...
    verdict : str
        ``"fine"``, ``"warn"`` (numbers will be a little worse, or less general) or ``"bad"`` (not fit to be measured).
    found : str
        What was found, in a few words with units.
    advice : str
        What to do about it; empty where it is fine.
    """

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def fitness(host: Host, condition: Condition) -> tuple[Finding, ...]:
    """Judge a machine by what it is and what it was doing.

    Parameters
    ----------
    host : Host
        The machine.
    condition : Condition
        The look at it. What it does not know gives no warning.

    Returns
    -------
    tuple of Finding
        Always the same names in the same order: what changes from minute to minute first, what the machine is last.
    """
    return (
        _others(host, condition),
        _load(host, condition),
        _runs(condition),
        _steal(host, condition),
        _quota(host),
        _memory(host, condition),
        _timer(condition),
        _governor(host, condition),
        _turbo(host),
        _huge_pages(host),
        _siblings(host),
        _hypervisor(host),
    )


def is_fit(findings: Iterable[Finding]) -> bool:
    """Whether nothing is so bad that numbers would mislead."""
    return all(finding.verdict != "bad" for finding in findings)


def _usable(host: Host) -> int:
    return max(1, sum(cpu.usable for cpu in host.cpus))


def _cores(host: Host) -> dict[int, int]:
    """Return a usable CPU of each core that has one."""
    return {cpu.core: cpu.id for cpu in reversed(host.cpus) if cpu.usable}


def _sure(part: float, condition: Condition) -> bool:
    """Whether a share of a CPU is more than the counters may be off by."""
    return part * condition.seconds > UNSURE_TICKS * TICK


def _others(host: Host, condition: Condition) -> Finding:
    others, cpus = condition.others, _usable(host)
    if others is None:
        return Finding("others", "fine", NOT_TOLD)
    found = f"other processes use {others:.2f} of {cpus} CPU{'s' if cpus > 1 else ''}"
    if others < OTHERS_NOTED or not _sure(others, condition):
        return Finding("others", "fine", found)
    return Finding(
        "others",
        "bad" if others >= OTHERS_BAD * cpus else "warn",
        found,
        "end or pause them (top shows which they are), or measure later",
    )


def _load(host: Host, condition: Condition) -> Finding:
    load, others = condition.load, condition.others
    if load is None:
        return Finding("load", "fine", NOT_TOLD)
    found = f"load average {load:.2f} over the last minute"
    if load < LOAD_NOTED:
        return Finding("load", "fine", found)
    if others is None:
        verdict: Verdict = "bad" if load >= _usable(host) else "warn"
        return Finding("load", verdict, found, "end what else is running, or wait a minute if it has just ended")
    if others < OTHERS_NOTED:
        return Finding("load", "fine", f"{found}, but idle now")
    return Finding("load", "warn", found, "wait until it is well below 1: what ran then may come back")


def _runs(condition: Condition) -> Finding:
    if condition.alone is None:
        return Finding("other runs", "fine", "runs of this tool cannot see each other on this system")
    if condition.alone:
        return Finding("other runs", "fine", "no other run of this tool is measuring")
    return Finding(
        "other runs", "bad", "another run of this tool is measuring", "wait for it to end: both numbers would be wrong"
    )


def _steal(host: Host, condition: Condition) -> Finding:
    now, before = condition.stolen, condition.stolen_since_boot
    if now is None or before is None:
        return Finding("steal", "fine", NOT_TOLD)
    found = f"{percent(now)} of a busy CPU stolen now, {percent(before)} since boot"
    advice = "the hypervisor runs others on these CPUs: measure at a quiet hour, or on dedicated CPUs"
    if now >= STOLEN_NOTED and _sure(now, condition):
        return Finding("steal", "bad" if now >= STOLEN_BAD else "warn", found, advice)
    if before >= STOLEN_NOTED:
        return Finding("steal", "warn", found, f"{advice}; the grades tell which numbers suffered")
    return Finding("steal", "fine", found if host.hypervisor or before else "none")


def _quota(host: Host) -> Finding:
    quota, cores = host.cpu_quota, len(_cores(host))
    if quota is None:
        return Finding("quota", "fine", "no limit of CPU time" if host.system == LINUX else NOT_TOLD)
    found = f"a control group allows {cpu_time(quota)} on {cores} core{'s' if cores != 1 else ''}"
    if quota >= cores:
        return Finding("quota", "fine", found)
    if quota < 1:
        return Finding("quota", "bad", found, "even one thread is stopped in each period: raise the quota")
    return Finding(
        "quota",
        "warn",
        found,
        "more threads are stopped for a part of each period: raise it, or use --threads "
        + ("1" if int(quota) == 1 else f"1,{int(quota)}"),
    )


def _memory(host: Host, condition: Condition) -> Finding:
    left = min((part for part in (host.memory_available, host.memory_limit) if part), default=0)
    shares = cache_share(host, tuple(_cores(host).values()))
    wanted = BEYOND_CACHE * shares[-1].total if shares else 0
    if not left:
        return Finding("memory", "fine", NOT_TOLD)
    found = f"{size(left)} available"
    free = "free some" if host.memory_limit is None else "free some, or raise the limit of the control group"
    if left <= LEAST_MEMORY:
        return Finding("memory", "bad", found, f"measuring needs more than {size(LEAST_MEMORY)}: {free}")
    if condition.budget and condition.budget < wanted:
        return Finding(
            "memory",
            "warn",
            f"{found}, {size(condition.budget)} of it for arrays",
            f"{free}: to leave the caches behind takes {size(wanted)}, else DRAM is measured with hits in them",
        )
    return Finding("memory", "fine", found)


def _timer(condition: Condition) -> Finding:
    step, source = condition.clock_step, condition.clock_source
    named = f" ({source})" if source else ""
    if condition.clock_backwards:
        return Finding(
            "timer", "bad", f"the clock steps back{named}", "choose another clock source, or mend the firmware"
        )
    if step is None:
        return Finding("timer", "fine", NOT_TOLD)
    found = f"steps of {seconds(step)}{named}"
    if step < STEP_NOTED and source not in SLOW_CLOCKS:
        return Finding("timer", "fine", found)
    advice = "use the clock of the CPU (tsc on x86): the kernel log says why it was refused"
    return Finding("timer", "bad" if step >= STEP_BAD else "warn", found, advice)


def _governor(host: Host, condition: Condition) -> Finding:
    governor, driver = host.governor, condition.frequency_driver
    if not governor:
        return Finding("governor", "fine", NOT_TOLD)
    found = governor + (f" ({driver})" if driver else "")
    names = set(governor.split(","))
    by_demand = driver in SCALING_DRIVERS
    if names == {"performance"}:
        return Finding("governor", "fine", found)
    advice = "as root: cpupower frequency-set -g performance"
    if "powersave" in names and not by_demand:
        return Finding("governor", "bad" if driver else "warn", found, f"cores stay at their lowest clock; {advice}")
    return Finding("governor", "warn", found, f"clocks rise only some time after work begins; {advice}")


def _turbo(host: Host) -> Finding:
    if host.turbo == "off":
        return Finding(
            "turbo",
            "warn",
            "off",
            "roofs are those of the base clock; if that is not meant, turn it on in the firmware",
        )
    return Finding("turbo", "fine", host.turbo or NOT_TOLD)


def _huge_pages(host: Host) -> Finding:
    if host.thp == "never":
        return Finding(
            "huge pages",
            "warn",
            "never",
            "large working sets measure page walks too; as root: "
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return Finding("huge pages", "fine", host.thp or NOT_TOLD)


def _siblings(host: Host) -> Finding:
    cores = _cores(host)
    threads: dict[int, int] = {}
    for cpu in host.cpus:
        threads[cpu.core] = threads.get(cpu.core, 0) + 1
    if max(threads.values(), default=1) < 2:
        return Finding("SMT", "fine", "one thread a core" if not host.hypervisor else "none seen from this guest")
    found = f"up to {max(threads.values())} threads a core"
    foreign = {cpu.core for cpu in host.cpus if not cpu.usable} & set(cores)
    if foreign:
        return Finding(
            "SMT",
            "warn",
            f"{found}; on {len(foreign)} of {len(cores)} cores a sibling is not usable here",
            "whoever runs there shares pipes and caches: ask for whole cores",
        )
    return Finding("SMT", "fine", f"{found}; one is used before siblings are")


def _hypervisor(host: Host) -> Finding:
    if not host.hypervisor:
        return Finding("hypervisor", "fine", "none seen" if host.system == LINUX else NOT_TOLD)
    return Finding(
        "hypervisor",
        "warn",
        host.hypervisor,
        "neighbours unseen from here share the last cache and memory: compare sweeps of several hours",
    )
