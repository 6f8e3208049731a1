"""Rules on the fitness of a machine: what is fine, what warns, what is bad."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.roofline.fitness import LEAST_MEMORY, Finding, fitness, is_fit
from ert.roofline.model import Cache, Condition, Cpu, Host
from tests.machine import synthetic_host

MIB, GIB = 1 << 20, 1 << 30
QUIET = Condition(
    "2026-11-30T08:00:00Z",
    seconds=1.0,
    load=0.05,
    others=0.01,
    stolen=0.0,
    stolen_since_boot=0.0,
    alone=True,
    budget=6 * GIB,
    clock_source="tsc",
    clock_step=40e-9,
    frequency_driver="acpi-cpufreq",
)
HOST = replace(synthetic_host(4), governor="performance", turbo="on", thp="madvise")


def find(name: str, host: Host = HOST, **seen: Any) -> Finding:
    (finding,) = (each for each in fitness(host, replace(QUIET, **seen)) if each.name == name)
    return finding


def test_a_quiet_machine_is_fit_without_a_warning() -> None:
    findings = fitness(HOST, QUIET)
    assert {finding.verdict for finding in findings} == {"fine"}
    assert {finding.advice for finding in findings} == {""}
    assert is_fit(findings)


def test_what_is_not_told_is_no_warning() -> None:
    findings = fitness(Host("Plan9", "x86_64"), Condition(""))
    assert {finding.verdict for finding in findings} == {"fine"}
    assert len(findings) == 12


@pytest.mark.parametrize(
    ("name", "seen", "verdict"),
    [
        ("others", {"others": 0.09}, "fine"),
        ("others", {"others": 0.2}, "warn"),
        ("others", {"others": 1.0}, "bad"),  # of 4 CPUs
        ("others", {"others": 0.11, "seconds": 0.1}, "fine"),  # a single tick
        ("load", {"load": 0.4}, "fine"),
        ("load", {"load": 3.0}, "fine"),  # over by now
        ("load", {"load": 3.0, "others": 0.5}, "warn"),
        ("load", {"load": 3.0, "others": None}, "warn"),
        ("load", {"load": 4.0, "others": None}, "bad"),
        ("other runs", {"alone": False}, "bad"),
        ("other runs", {"alone": None}, "fine"),
        ("steal", {"stolen": 0.005}, "fine"),
        ("steal", {"stolen": 0.03}, "warn"),
        ("steal", {"stolen": 0.2}, "bad"),
        ("steal", {"stolen": 0.06, "seconds": 0.25}, "fine"),  # 15 ms: no more than two ticks
        ("steal", {"stolen_since_boot": 0.02}, "warn"),
        ("timer", {"clock_step": 1e-6}, "fine"),
        ("timer", {"clock_step": 1e-6, "clock_source": "hpet"}, "warn"),
        ("timer", {"clock_step": 5e-6}, "warn"),
        ("timer", {"clock_step": 4e-3, "clock_source": "jiffies"}, "bad"),
        ("timer", {"clock_backwards": 1}, "bad"),
        ("memory", {"budget": 127 * MIB}, "warn"),  # four times the last cache of 32 MiB are 128
        ("memory", {"budget": 128 * MIB}, "fine"),
    ],
)
def test_what_was_seen(name: str, seen: dict[str, Any], verdict: str) -> None:
    finding = find(name, **seen)
    assert finding.verdict == verdict
    assert bool(finding.advice) == (verdict != "fine")


@pytest.mark.parametrize(
    ("name", "machine", "verdict"),
    [
        ("quota", {"cpu_quota": 4.0}, "fine"),
        ("quota", {"cpu_quota": 3.5}, "warn"),
        ("quota", {"cpu_quota": 0.5}, "bad"),
        ("memory", {"memory_limit": LEAST_MEMORY - 1}, "bad"),
        ("memory", {"memory_available": 100 * MIB}, "bad"),
        ("governor", {"governor": "schedutil"}, "warn"),
        ("governor", {"governor": "powersave"}, "bad"),
        ("governor", {"governor": ""}, "fine"),
        ("turbo", {"turbo": "off"}, "warn"),
        ("huge pages", {"thp": "never"}, "warn"),
        ("huge pages", {"thp": "always"}, "fine"),
        ("hypervisor", {"hypervisor": "KVM"}, "warn"),
    ],
)
def test_what_the_machine_is(name: str, machine: dict[str, Any], verdict: str) -> None:
    finding = find(name, replace(HOST, **machine))
    assert finding.verdict == verdict
    assert bool(finding.advice) == (verdict != "fine")


def test_powersave_of_drivers_that_follow_demand_is_not_the_lowest_clock() -> None:
    host = replace(HOST, governor="powersave")
    assert find("governor", host, frequency_driver="intel_pstate").verdict == "warn"
    assert find("governor", host, frequency_driver="").verdict == "warn"


def test_a_quota_names_the_threads_that_fit_it() -> None:
    assert "--threads 1,3" in find("quota", replace(HOST, cpu_quota=3.5)).advice
    assert find("quota", replace(HOST, cpu_quota=1.5)).advice.endswith("--threads 1")
    assert "1 CPU's worth of time" in find("quota", replace(HOST, cpu_quota=1.0)).found


@pytest.mark.parametrize("name", ["quota", "hypervisor"])
def test_what_is_not_read_elsewhere_is_not_called_absent(name: str) -> None:
    assert find(name, replace(HOST, system="Darwin", hypervisor="", cpu_quota=None)).found == "not told by the system"
    assert find(name, replace(HOST, hypervisor="", cpu_quota=None)).found != "not told by the system"


def test_siblings_that_others_may_use() -> None:
    host = synthetic_host(2, siblings=2)
    assert find("SMT", host).verdict == "fine"
    others = replace(host, cpus=tuple(replace(cpu, usable=cpu.sibling == 0) for cpu in host.cpus))
    finding = find("SMT", others)
    assert finding.verdict == "warn"
    assert "2 of 2 cores" in finding.found
    # Whole cores that are not ours do not matter.
    half = replace(host, cpus=tuple(replace(cpu, usable=cpu.core == 0) for cpu in host.cpus))
    assert find("SMT", half).verdict == "fine"


def test_one_bad_finding_makes_it_unfit() -> None:
    assert is_fit(fitness(replace(HOST, hypervisor="KVM"), QUIET))
    assert not is_fit(fitness(HOST, replace(QUIET, alone=False)))


numbers = st.one_of(st.none(), st.floats(0, 1e18))


@given(
    st.builds(
        Condition,
        st.just("2026-11-30T08:00:00Z"),
        seconds=st.floats(0, 1e18),
        load=numbers,
        others=numbers,
        stolen=numbers,
        stolen_since_boot=numbers,
        alone=st.sampled_from((None, True, False)),
        budget=st.integers(0, 1 << 62),
        clock_source=st.text(max_size=4),
        clock_step=numbers,
        clock_backwards=st.integers(0, 9),
        frequency_driver=st.text(max_size=4),
    ),
    st.lists(st.builds(Cpu, st.integers(0, 3), st.integers(0, 3), usable=st.booleans()), max_size=4),
    st.integers(0, 1 << 62),
)
def test_no_condition_makes_it_crash(condition: Condition, cpus: list[Cpu], size: int) -> None:
    host = Host("Linux", "x86_64", cpus=tuple(cpus), caches=(Cache("L3", size, (0, 1)),), memory_available=size)
    findings = fitness(host, condition)
    assert len({finding.name for finding in findings}) == 12
    assert all(finding.found for finding in findings)
