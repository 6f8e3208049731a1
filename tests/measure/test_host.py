"""Hosts read from recorded trees of real machines and from small ones that are built here."""

from __future__ import annotations

import dataclasses
import os
import platform
import struct
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ert.measure.host import (
    CacheShare,
    cache_share,
    format_cpu_list,
    machine_slug,
    memory_budget,
    packages,
    parse_cpu_list,
    physical_cores,
    physical_order,
    read_host,
)
from ert.measure.tree import parse_cpu_mask, parse_size
from ert.roofline.model import Cache, Cpu, Host, Node
from tests.recordings import EXPECTED

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10

Files = dict[str, str | bytes | int]


# ------------------------------------------------------------------------------------------ recorded trees


@pytest.mark.parametrize("name", sorted(EXPECTED) or ["none recorded"])
def test_recorded_host_matches_what_an_independent_tool_reads(recorded: Any, name: str) -> None:
    host = recorded(name)
    usable = {cpu.id for cpu in host.cpus if cpu.usable}
    caches = Counter((cache.level, cache.size) for cache in host.caches if usable & set(cache.cpus))
    assert {
        "archive": EXPECTED[name]["archive"],
        "usable_logical_cpus": sorted(usable),
        "physical_cores": len(physical_cores(host)),
        "packages": len(packages(host)),
        "numa_nodes": len(host.nodes),
        "data_caches": [
            {"instances": count, "level": level, "size_bytes": size} for (level, size), count in sorted(caches.items())
        ],
    } == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(EXPECTED) or ["none recorded"])
def test_recorded_host_is_consistent(recorded: Any, name: str) -> None:
    host = recorded(name)
    order, cores = physical_order(host), physical_cores(host)
    assert sorted(order) == [cpu.id for cpu in host.cpus if cpu.usable]
    assert order[: len(cores)] == cores
    core_of = {cpu.id: cpu.core for cpu in host.cpus}
    assert len({core_of[cpu] for cpu in cores}) == len(cores)
    assert {cpu.core for cpu in host.cpus} == set(range(len({cpu.core for cpu in host.cpus})))
    for share in cache_share(host, cores):
        assert 0 < share.per_thread <= share.instance <= share.total
    assert all(set(cache.cpus) <= set(core_of) for cache in host.caches)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("20em64t-hybrid-1p6c2t+2ca4co1t", {"P": 12, "E": 8}),
        ("nvidia-dgx-gb10", {"Cortex-X925": 10, "Cortex-A725": 10}),
        ("arm-A510-A710-A715-X3", {"Cortex-A510": 3, "Cortex-A710": 2, "Cortex-A715": 2, "Cortex-X3": 1}),
        ("x86_64-epyc_7451", {"": 96}),
        ("64amd64-4s2n4ca2co", {"": 64}),
    ],
)
def test_kinds_of_core_are_named_where_they_differ(recorded: Any, name: str, kinds: dict[str, int]) -> None:
    assert Counter(cpu.kind for cpu in recorded(name).cpus) == kinds


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("16amd64-8n2c-cpusets", "amd-opteron-865-10c"),
        ("16em64t-4s2c2t-offlines", "intel-xeon-7c"),
        ("20em64t-hybrid-1p6c2t+2ca4co1t", "intel-core-i7-1370p-14c"),
        ("nvidia-dgx-gb10", "arm-cortex-a725-cortex-x925-20c"),
        ("rv64-milkvpioneer", "riscv64-0x5b7-64c"),
        ("x86_64-epyc_7451", "amd-epyc-7451-48c"),
    ],
)
def test_recorded_slug(recorded: Any, name: str, slug: str) -> None:
    assert machine_slug(recorded(name)) == slug


def test_recorded_details(recorded: Any) -> None:
    hybrid = recorded("20em64t-hybrid-1p6c2t+2ca4co1t")
    assert (hybrid.system, hybrid.machine, hybrid.kernel) == ("Linux", "x86_64", "6.1.0-13-amd64")
    assert hybrid.identity == (("family", 6), ("model", 186), ("stepping", 2))
    assert (hybrid.governor, hybrid.turbo, hybrid.hypervisor, hybrid.container) == ("powersave", "on", "", "")
    assert hybrid.memory_total == 32489496 * KIB
    assert hybrid.caches[0].line == 64
    arm = recorded("arm-A510-A710-A715-X3")
    assert (arm.vendor, dict(arm.identity)["part"], arm.machine) == ("0x41", 0xD46, "aarch64")
    assert "The system lists L1, L2, L3 without a size." in arm.notes
    assert len(arm.nodes) == 1
    assert arm.nodes[0].cpus == tuple(range(8))
    restricted = recorded("16amd64-8n2c-cpusets")
    assert [node.id for node in restricted.nodes] == [1, 2, 3, 4]
    assert "CPUs of these NUMA nodes may be used, but not their memory: 0,6-7." in restricted.notes
    assert "Present but offline: CPUs 4." in restricted.notes


def test_recorded_cache_shares(recorded: Any) -> None:
    epyc = recorded("x86_64-epyc_7451")
    assert cache_share(epyc, physical_cores(epyc)) == (
        CacheShare("L1", 32 * KIB, 32 * KIB, 48 * 32 * KIB, 32 * KIB),
        CacheShare("L2", 512 * KIB, 512 * KIB, 48 * 512 * KIB, 512 * KIB),
        CacheShare("L3", 8 * MIB // 3, 8 * MIB, 16 * 8 * MIB, 8 * MIB // 3),
    )
    assert cache_share(epyc, [0, 48])[0] == CacheShare("L1", 16 * KIB, 32 * KIB, 32 * KIB, 16 * KIB)
    assert cache_share(epyc, [0, 3])[2] == CacheShare("L3", 8 * MIB, 8 * MIB, 16 * MIB, 8 * MIB)


def test_no_field_names_the_machine(recorded: Any) -> None:
    text = str(recorded("nvidia-dgx-gb10")) + str(recorded("20em64t-hybrid-1p6c2t+2ca4co1t"))
    for secret in ("cfarm107", "vesubie", "user-1001", "bos03"):
        assert secret not in text


# ------------------------------------------------------------------------------------------- built trees


def build(root: Path, files: Files) -> Path:
    """Write files below ``root``; an empty folder is a name that ends in a slash."""
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
    return root


def cpu_files(cpus: int, *, threads: int = 1, offline: tuple[int, ...] = ()) -> Files:
    """Sysfs of one package; siblings are neighbours and core ids count from 0."""
    files: Files = {"sys/devices/system/cpu/present": f"0-{cpus - 1}"}
    online = [cpu for cpu in range(cpus) if cpu not in offline]
    files["sys/devices/system/cpu/online"] = format_cpu_list(online)
    for cpu in range(cpus):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        files[f"{folder}/online"] = int(cpu not in offline)
        if cpu not in offline:
            first = cpu // threads * threads
            mates = [mate for mate in range(first, first + threads) if mate in online]
            files[f"{folder}/topology/core_cpus_list"] = format_cpu_list(mates)
            files[f"{folder}/topology/core_id"] = cpu // threads
            files[f"{folder}/topology/physical_package_id"] = 0
    return files


def cache_files(cpu: int, index: int, level: int, size: str, shared: str, kind: str = "Unified") -> Files:
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    return {f"{folder}/level": level, f"{folder}/size": size, f"{folder}/type": kind,
            f"{folder}/shared_cpu_list": shared}  # fmt: skip


def usable_of(host: Host) -> tuple[int, ...]:
    return tuple(cpu.id for cpu in host.cpus if cpu.usable)


def test_an_empty_tree_is_a_host_about_which_nothing_is_known(tmp_path: Path) -> None:
    host = read_host(tmp_path)
    assert (host.system, host.cpus, host.caches, host.memory_limit, host.cpu_quota) == ("Linux", (), (), None, None)
    assert "The system lists no CPU." in host.notes
    assert "The system declares no cache." in host.notes
    assert physical_order(host) == ()
    assert machine_slug(host) == "unknown-0c"
    assert memory_budget(host) == 256 * MIB


def test_smt_siblings_come_after_all_cores(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(6, threads=2)))
    assert [cpu.core for cpu in host.cpus] == [0, 0, 1, 1, 2, 2]
    assert [cpu.sibling for cpu in host.cpus] == [0, 1, 0, 1, 0, 1]
    assert physical_order(host) == (0, 2, 4, 1, 3, 5)
    assert physical_cores(host) == (0, 2, 4)


def test_affinity_restricts_and_the_first_usable_sibling_stands_for_its_core(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(6, threads=2)), affinity=[1, 2, 3, 99])
    assert usable_of(host) == (1, 2, 3)
    assert physical_order(host) == (1, 2, 3)
    assert physical_cores(host) == (1, 2)
    with pytest.raises(ValueError, match="none of the CPUs 77 is online; online are 0-5"):
        read_host(tmp_path, affinity=[77])


def test_status_of_a_recorded_process_restricts(tmp_path: Path) -> None:
    files = cpu_files(4) | {"proc/self/status": "Name:\tx\nCpus_allowed:\tc\nCpus_allowed_list:\t2-3"}
    assert usable_of(read_host(build(tmp_path, files))) == (2, 3)
    assert usable_of(read_host(tmp_path, affinity=[0, 3])) == (0, 3)
    build(tmp_path, {"proc/self/status": "Cpus_allowed:\t6"})
    assert usable_of(read_host(tmp_path)) == (1, 2)


def test_offline_cpus_are_left_out_and_noted(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(8, threads=2, offline=(0, 3, 6, 7))))
    assert [cpu.id for cpu in host.cpus] == [1, 2, 4, 5]
    assert [cpu.sibling for cpu in host.cpus] == [0, 0, 0, 1]
    assert physical_cores(host) == (1, 2, 4)
    assert "Present but offline: CPUs 0,3,6-7." in host.notes


def test_sparse_cpu_numbers(tmp_path: Path) -> None:
    files: Files = {"sys/devices/system/cpu/online": "8,16,100"}
    for cpu, mates in ((8, "00010100"), (16, "00010100"), (100, "10,00000000,00000000,00000000")):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings"] = mates
    host = read_host(build(tmp_path, files))
    assert [(cpu.id, cpu.core, cpu.sibling) for cpu in host.cpus] == [(8, 0, 0), (16, 0, 1), (100, 1, 0)]


def test_core_ids_that_repeat_in_other_packages_are_other_cores(tmp_path: Path) -> None:
    files: Files = {"sys/devices/system/cpu/online": "0-3"}
    for cpu in range(4):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/core_id"] = cpu // 2
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = cpu % 2 * 3
    host = read_host(build(tmp_path, files))
    assert len({cpu.core for cpu in host.cpus}) == 4
    assert packages(host) == (0, 3)


def test_packages_without_numbers_are_told_apart_by_their_cpus(tmp_path: Path) -> None:
    files: Files = {"sys/devices/system/cpu/online": "0-3"}
    for cpu in range(4):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = -1
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/core_siblings"] = "3" if cpu < 2 else "c"
    assert [cpu.package for cpu in read_host(build(tmp_path, files)).cpus] == [0, 0, 1, 1]


def test_cpuinfo_stands_in_for_missing_sysfs(tmp_path: Path) -> None:
    block = "processor\t: {}\nvendor_id\t: GenuineIntel\nphysical id\t: {}\ncore id\t: {}\nfpu\t: yes\nflags\t: fpu lm"
    blocks = [block.format(cpu, cpu % 2, cpu // 2 % 2) for cpu in range(8)]
    host = read_host(build(tmp_path, {"proc/cpuinfo": "\n\n".join(blocks)}))
    assert [cpu.package for cpu in host.cpus] == [0, 1] * 4
    assert physical_cores(host) == (0, 1, 2, 3)
    assert (host.machine, host.caches) == ("x86_64", ())
    assert host.nodes[0].cpus == tuple(range(8))


def test_s390_cpuinfo_has_one_line_a_cpu(tmp_path: Path) -> None:
    lines = "vendor_id       : IBM/S390\n# processors    : 2\nprocessor 0: version = FF,  identification = 0133E8\n"
    host = read_host(build(tmp_path, {"proc/cpuinfo": lines + "processor 1: version = FF,  identification = 1133E8"}))
    assert (host.machine, host.vendor, len(host.cpus), host.identity) == ("s390x", "IBM/S390", 2, ())


@pytest.mark.parametrize(
    ("cpuinfo", "machine", "model"),
    [
        ("processor : 0\ncpu : POWER9 (raw), altivec supported\n\ntimebase : 1\nplatform : PowerNV", "ppc64",
         "POWER9 (raw)"),
        ("Processor : ARMv7 Processor rev 4 (v7l)\nprocessor : 0\n\nCPU implementer : 0x41\nCPU architecture: 7\n"
         "CPU part : 0xc07", "armv7l", "Cortex-A7"),
        ("processor : 0\nvendor : GenuineIntel\narch : IA-64\nfamily : Itanium 2\nmodel : 1", "ia64", ""),
        ("processor : 0\nmodel name : Loongson-3A5000\nCPU Family : Loongson-64bit", "loongarch64", "Loongson-3A5000"),
        ("processor : 0\nisa : rv64imafdc\nuarch : sifive,u74-mc\nmvendorid : 0x489", "riscv64", "sifive,u74-mc"),
        ("processor : 0\nmodel name : unknown\nfpu : yes\nflags : fpu lm", "x86_64", ""),
        ("\x00\xff garbage without colons", "", ""),
    ],
)  # fmt: skip
def test_cpuinfo_of_other_architectures(tmp_path: Path, cpuinfo: str, machine: str, model: str) -> None:
    host = read_host(build(tmp_path, {"proc/cpuinfo": cpuinfo}))
    assert (host.machine, host.cpu_model) == (machine, model)


def test_proc_stat_is_the_last_witness_of_cpus(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, {"proc/stat": "cpu  1 2\ncpu0 1 2\ncpu2 1 2\nintr 7"}))
    assert [cpu.id for cpu in host.cpus] == [0, 2]
    assert any("does not tell which CPUs share a core" in note for note in host.notes)


def test_caches_sizes_types_duplicates_and_the_mask_before_the_list(tmp_path: Path) -> None:
    files = cpu_files(2)
    for cpu in range(2):
        files |= cache_files(cpu, 0, 1, "48K", str(cpu), "Data")
        files |= cache_files(cpu, 1, 1, "32K", str(cpu), "Instruction")
        files |= cache_files(cpu, 2, 2, "2M", str(cpu))
        files |= cache_files(cpu, 3, 3, "1G", "0-1")
        files |= cache_files(cpu, 4, 3, "", "0-1")
        files |= cache_files(cpu, 10, 4, "nonsense", "0-1")
    files["sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_map"] = "3"
    files["sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_map"] = "00000000,00000003"
    host = read_host(build(tmp_path, files))
    assert host.caches == (
        Cache("L1", 48 * KIB, (0,)),
        Cache("L1", 48 * KIB, (1,)),
        Cache("L2", 2 * MIB, (0, 1)),
        Cache("L3", GIB, (0, 1)),
        Cache("L4", 0, (0, 1)),
    )
    assert [share.level for share in cache_share(host, [0])] == ["L1", "L2", "L3"]


def test_caches_that_do_not_tell_who_shares_them(tmp_path: Path) -> None:
    files = cpu_files(4, threads=2)
    for cpu in range(4):
        files |= cache_files(cpu, 0, 1, "32K", "", "Data")
        files |= cache_files(cpu, 1, 3, "8M", "")
        for index in (0, 1):
            del files[f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"]
        files[f"sys/devices/system/cpu/cpu{cpu}/cache/index1/id"] = 0
    host = read_host(build(tmp_path, files))
    assert [cache.cpus for cache in host.caches] == [(0, 1), (2, 3), (0, 1, 2, 3)]


def test_a_cache_of_56_bytes_is_noted_and_not_planned_with(tmp_path: Path) -> None:
    files = cpu_files(1) | cache_files(0, 0, 1, "32K", "0", "Data") | cache_files(0, 1, 2, "56", "0")
    host = read_host(build(tmp_path, files))
    assert host.caches[1].size == 56
    assert [share.level for share in cache_share(host, [0])] == ["L1"]
    assert "A declared L2 of 56 bytes cannot be right; it is taken as not declared." in host.notes


def test_power_caches_and_threads_from_the_device_tree(tmp_path: Path) -> None:
    def cells(*values: int) -> bytes:
        return struct.pack(f">{len(values)}I", *values)

    files: Files = {"sys/devices/system/cpu/online": "0-3"}
    for core, first in ((0, 0), (4, 2)):
        folder = f"proc/device-tree/cpus/PowerPC,POWER7@{core}"
        files |= {
            f"{folder}/device_type": b"cpu\0",
            f"{folder}/reg": cells(core),
            f"{folder}/ibm,ppc-interrupt-server#s": cells(first, first + 1),
            f"{folder}/d-cache-size": cells(32 * KIB),
            f"{folder}/d-cache-line-size": cells(128),
            f"{folder}/l2-cache": cells(100 + core),
            f"proc/device-tree/cpus/l2-cache@{core}/device_type": b"cache\0",
            f"proc/device-tree/cpus/l2-cache@{core}/phandle": cells(100 + core),
            f"proc/device-tree/cpus/l2-cache@{core}/d-cache-size": cells(256 * KIB),
            f"proc/device-tree/cpus/l2-cache@{core}/l2-cache": cells(200),
        }
    files |= {
        "proc/device-tree/cpus/l3-cache/device_type": b"cache\0",
        "proc/device-tree/cpus/l3-cache/linux,phandle": cells(200),
        "proc/device-tree/cpus/l3-cache/d-cache-size": cells(4 * MIB),
        "proc/device-tree/cpus/l3-cache/l2-cache": cells(200),
    }
    host = read_host(build(tmp_path, files))
    assert [cpu.core for cpu in host.cpus] == [0, 0, 1, 1]
    assert host.caches == (
        Cache("L1", 32 * KIB, (0, 1), 128),
        Cache("L1", 32 * KIB, (2, 3), 128),
        Cache("L2", 256 * KIB, (0, 1)),
        Cache("L2", 256 * KIB, (2, 3)),
        Cache("L3", 4 * MIB, (0, 1, 2, 3)),
    )


def test_numa_nodes_without_cpus_without_memory_and_on_a_gpu(tmp_path: Path) -> None:
    node = "sys/devices/system/node"
    files = cpu_files(2) | {
        f"{node}/online": "0-3",
        f"{node}/node0/cpulist": "0",
        f"{node}/node0/meminfo": "Node 0 MemTotal:       1024 kB",
        f"{node}/node1/cpumap": "2",
        f"{node}/node1/meminfo": "Node 1 MemTotal:       0 kB",
        f"{node}/node2/cpulist": "",
        f"{node}/node2/meminfo": "Node 2 MemTotal:       2048 kB",
        f"{node}/node3/cpulist": "",
        f"{node}/node4/cpulist": "",
        "proc/driver/nvidia/gpus/0000:01:00.0/numa_status": "Node:   3\nStatus: online",
    }
    host = read_host(build(tmp_path, files))
    assert host.nodes == (Node(0, (0,), MIB), Node(1, (1,), 0), Node(2, (), 2 * MIB))
    assert [cpu.node for cpu in host.cpus] == [0, 1]


def test_one_node_is_assumed_where_none_is_declared(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(2) | {"proc/meminfo": "MemTotal:  4194304 kB\nMemFree: 1024 kB"}))
    assert [(node.id, node.cpus, node.memory) for node in host.nodes] == [(0, (0, 1), 4 * GIB)]
    assert "The system declares no NUMA node; one is assumed." in host.notes


# -------------------------------------------------------------------------------------------------- kinds


def test_intel_kinds_from_the_monitoring_units(tmp_path: Path) -> None:
    files = cpu_files(6) | {"sys/devices/cpu_core/cpus": "0-1", "sys/devices/cpu_atom/cpus": "2-5"}
    for cpu in range(6):
        files |= cache_files(cpu, 0, 1, "32K", str(cpu), "Data")
        if cpu < 4:
            files |= cache_files(cpu, 1, 3, "8M", "0-3")
    assert [cpu.kind for cpu in read_host(build(tmp_path, files)).cpus] == ["P", "P", "E", "E", "LP-E", "LP-E"]


@pytest.mark.parametrize(
    ("capacities", "kinds"),
    [
        ((1024, 1017, 731, 718), ["P", "P", "E", "E"]),
        ((446, 446, 1024, 871), ["E", "E", "P", "M"]),
        ((1024, 1000, 997, 1024), ["", "", "", ""]),
    ],
)
def test_kinds_from_capacities_alone(tmp_path: Path, capacities: tuple[int, ...], kinds: list[str]) -> None:
    files = cpu_files(4)
    for cpu, capacity in enumerate(capacities):
        files[f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity"] = capacity
    assert [cpu.kind for cpu in read_host(build(tmp_path, files)).cpus] == kinds


def test_two_different_processors_in_one_machine(tmp_path: Path) -> None:
    block = "processor : {}\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : {}\nfpu : yes\nflags : fpu lm"
    cpuinfo = "\n\n".join((block.format(0, 15), block.format(1, 23)))
    kinds = [cpu.kind for cpu in read_host(build(tmp_path, {"proc/cpuinfo": cpuinfo})).cpus]
    assert kinds == ["family 6 model 15", "family 6 model 23"]


# ------------------------------------------------------------------------------------------------ cgroups

V2: Files = {"proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0"}
V1: Files = {
    "proc/mounts": "\n".join(
        f"cgroup /sys/fs/cgroup/{name} cgroup rw,nosuid,{name} 0 0" for name in ("memory", "cpu,cpuacct", "cpuset")
    )
}


def test_cgroup2_limits_are_the_smallest_up_the_path(tmp_path: Path) -> None:
    group = "sys/fs/cgroup"
    files = cpu_files(4) | V2 | {
        "proc/self/cgroup": "0::/a.slice/b.scope",
        "proc/meminfo": f"MemTotal: {8 * GIB // KIB} kB\nMemAvailable: {6 * GIB // KIB} kB",
        f"{group}/a.slice/memory.max": GIB,
        f"{group}/a.slice/memory.high": 768 * MIB,
        f"{group}/a.slice/memory.current": 500 * MIB,
        f"{group}/a.slice/memory.stat": f"anon 1\ninactive_file {200 * MIB}\nactive_file {100 * MIB}",
        f"{group}/a.slice/cpu.max": "150000 100000",
        f"{group}/a.slice/b.scope/memory.max": "max",
        f"{group}/a.slice/b.scope/cpu.max": "max 100000",
        f"{group}/a.slice/cpuset.cpus.effective": "1-3",
        f"{group}/a.slice/cpuset.mems.effective": "0",
        f"{group}/cpuset.cpus.effective": "0-3",
    }  # fmt: skip
    host = read_host(build(tmp_path, files))
    assert host.memory_limit == 768 * MIB
    assert host.memory_available == (768 - 200) * MIB
    assert host.cpu_quota == 1.5
    assert usable_of(host) == (1, 2, 3)
    assert memory_budget(host) == (768 - 200) * MIB // 2


def test_cgroup1_limits_are_the_smallest_up_the_path(tmp_path: Path) -> None:
    group = "sys/fs/cgroup"
    files = cpu_files(4) | V1 | {
        "proc/self/cgroup": "7:memory:/outer/inner\n4:cpu,cpuacct:/outer\n3:cpuset:/outer/inner\n1:name=systemd:/x",
        f"{group}/memory/outer/memory.limit_in_bytes": 2 * GIB,
        f"{group}/memory/outer/inner/memory.limit_in_bytes": 0x7FFFFFFFFFFFF000,
        f"{group}/memory/outer/inner/memory.usage_in_bytes": 1,
        f"{group}/memory/memory.limit_in_bytes": 0x7FFFFFFFFFFFF000,
        f"{group}/cpu,cpuacct/outer/cpu.cfs_quota_us": 50000,
        f"{group}/cpu,cpuacct/outer/cpu.cfs_period_us": 100000,
        f"{group}/cpu,cpuacct/cpu.cfs_quota_us": -1,
        f"{group}/cpu,cpuacct/cpu.cfs_period_us": 100000,
        f"{group}/cpuset/outer/inner/cpuset.cpus": "",
        f"{group}/cpuset/outer/cpuset.cpus": "2",
    }  # fmt: skip
    host = read_host(build(tmp_path, files))
    assert (host.memory_limit, host.cpu_quota, usable_of(host)) == (2 * GIB, 0.5, (2,))


def test_a_group_that_has_used_all_its_memory_leaves_next_to_nothing(tmp_path: Path) -> None:
    files = V2 | {"proc/self/cgroup": "0::/", "proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 9 kB"}
    files |= {"sys/fs/cgroup/memory.max": 4096, "sys/fs/cgroup/memory.current": 5000}
    host = read_host(build(tmp_path, files))
    assert (host.memory_available, memory_budget(host)) == (1, 0)


def test_no_limit_is_none(tmp_path: Path) -> None:
    files = cpu_files(2) | V1 | {
        "proc/self/cgroup": "7:memory:/\n4:cpu,cpuacct:/",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": 0x7FFFFFFFFFFFF000,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": -1,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": 100000,
    }  # fmt: skip
    host = read_host(build(tmp_path, files))
    assert (host.memory_limit, host.cpu_quota, usable_of(host)) == (None, None, (0, 1))


@pytest.mark.parametrize("path", ["/docker/0123456789abcdef", "/../../other", "/"])
def test_a_container_sees_its_own_group_at_the_mount_point(tmp_path: Path, path: str) -> None:
    files = cpu_files(2) | V2 | {
        "proc/self/cgroup": f"0::{path}",
        "sys/fs/cgroup/memory.max": 256 * MIB,
        "sys/fs/cgroup/memory.current": 56 * MIB,
        "sys/fs/cgroup/cpu.max": "25000 100000",
        "sys/fs/cgroup/cpuset.cpus.effective": "1",
    }  # fmt: skip
    host = read_host(build(tmp_path, files))
    assert (host.memory_limit, host.memory_available, host.cpu_quota) == (256 * MIB, 200 * MIB, 0.25)
    assert usable_of(host) == (1,)


def test_the_inner_part_of_a_host_path_is_found_below_a_containers_mount(tmp_path: Path) -> None:
    files = cpu_files(2) | V2 | {
        "proc/self/cgroup": "0::/docker/0123456789abcdef/job",
        "sys/fs/cgroup/memory.max": GIB,
        "sys/fs/cgroup/job/memory.max": 128 * MIB,
    }  # fmt: skip
    assert read_host(build(tmp_path, files)).memory_limit == 128 * MIB


def test_cgroups_are_found_without_a_mount_table(tmp_path: Path) -> None:
    files: Files = {"sys/fs/cgroup/cgroup.controllers": "cpu memory", "sys/fs/cgroup/memory.max": GIB}
    assert read_host(build(tmp_path / "two", files)).memory_limit == GIB
    files = {"sys/fs/cgroup/memory/memory.limit_in_bytes": GIB, "sys/fs/cgroup/cpu,cpuacct/": ""}
    assert read_host(build(tmp_path / "one", files)).memory_limit == GIB


def test_hybrid_hierarchies_and_escaped_mount_points(tmp_path: Path) -> None:
    files: Files = {
        "proc/mounts": "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/a\\040b cgroup rw,memory 0 0",
        "proc/self/cgroup": "4:memory:/job\n0::/",
        "sys/a b/job/memory.limit_in_bytes": GIB,
        "sys/fs/cgroup/unified/": "",
    }
    assert read_host(build(tmp_path, files)).memory_limit == GIB


@pytest.mark.parametrize(
    ("mount", "name"),
    [
        ("none /dev/cpuset cpuset rw 0 0", "dev/cpuset/set/cpus"),
        ("none /dev/cpuset cgroup rw,noprefix,cpuset 0 0", "dev/cpuset/set/cpus"),
        ("none /dev/cpuset cgroup rw,cpuset 0 0", "dev/cpuset/set/cpuset.cpus"),
        ("none /dev/cpuset cgroup rw,cpuset 0 0", "dev/cpuset/set/cpuset.effective_cpus"),
    ],
)
def test_cpusets_of_old_kernels(tmp_path: Path, mount: str, name: str) -> None:
    files = cpu_files(4) | {"proc/mounts": mount, "proc/self/cpuset": "/set", name: "1,3"}
    assert usable_of(read_host(build(tmp_path, files))) == (1, 3)


def test_a_cpuset_that_leaves_no_cpu_was_misread_and_is_ignored(tmp_path: Path) -> None:
    files = cpu_files(2) | {"proc/mounts": "n /dev/cpuset cpuset rw 0 0", "dev/cpuset/cpus": "6-7"}
    host = read_host(build(tmp_path, files))
    assert usable_of(host) == (0, 1)
    assert any("none of which may be used" in note for note in host.notes)


# ------------------------------------------------------------------------------------------- surroundings

X86 = "processor : 0\nvendor_id : AuthenticAMD\nfpu : yes\nflags : fpu lm"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({}, ""),
        ({"proc/cpuinfo": X86, "sys/class/dmi/id/sys_vendor": "QEMU"}, ""),
        ({"proc/cpuinfo": f"{X86} hypervisor"}, "unknown hypervisor"),
        ({"proc/cpuinfo": f"{X86} hypervisor", "sys/class/dmi/id/sys_vendor": "VMware, Inc."}, "VMware"),
        ({"proc/cpuinfo": f"{X86} hypervisor", "sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
          "sys/class/dmi/id/product_name": "Virtual Machine"}, "Hyper-V"),
        ({"proc/cpuinfo": f"{X86} hypervisor", "sys/hypervisor/type": "xen"}, "Xen"),
        ({"proc/cpuinfo": X86, "sys/hypervisor/type": "xen", "proc/xen/capabilities": "control_d"},
         "Xen (control domain)"),
        ({"proc/cpuinfo": f"{X86} hypervisor",
          "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock"}, "KVM"),
        ({"proc/cpuinfo": f"{X86} hypervisor", "proc/cmdline": "pci=off virtio_mmio.device=4K@0xd0000000:5"},
         "Firecracker"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "c7g.large"}, "KVM"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "c7g.metal"}, ""),
        ({"proc/device-tree/hypervisor/compatible": b"linux,kvm\0"}, "KVM"),
        ({"proc/cpuinfo": "processor : 0\ncpu : POWER8\n\nplatform : pSeries\nmachine : CHRP IBM,9119"}, "PowerVM"),
        ({"proc/sysinfo": "VM00 Control Program: z/VM    6.4.0"}, "z/VM"),
        ({"proc/sys/kernel/osrelease": "5.15.90-microsoft-standard-WSL2"}, "Hyper-V"),
    ],
)  # fmt: skip
def test_hypervisors(tmp_path: Path, files: Files, name: str) -> None:
    assert read_host(build(tmp_path, files)).hypervisor == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"proc/1/cgroup": "0::/system.slice/docker.service"}, ""),
        ({".dockerenv": ""}, "docker"),
        ({"proc/1/cgroup": "4:memory:/docker/0123456789abcdef"}, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker-0123456789abcdef.scope"}, "docker"),
        ({"proc/1/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-0a.scope"}, "kubernetes"),
        ({"run/secrets/kubernetes.io/": "", ".dockerenv": ""}, "kubernetes"),
        ({"run/.containerenv": 'engine="podman-4"'}, "podman"),
        ({"proc/1/environ": b"PATH=/bin\0container=lxc\0"}, "lxc"),
        ({"run/systemd/container": "systemd-nspawn"}, "systemd-nspawn"),
    ],
)
def test_containers(tmp_path: Path, files: Files, name: str) -> None:
    assert read_host(build(tmp_path, files)).container == name


def test_huge_pages_governor_and_turbo(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    files = cpu_files(2) | {
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        f"{cpu}/cpu0/cpufreq/scaling_governor": "performance",
        f"{cpu}/cpu1/cpufreq/scaling_governor": "powersave",
        f"{cpu}/cpufreq/boost": 0,
    }
    host = read_host(build(tmp_path, files))
    assert (host.thp, host.governor, host.turbo) == ("madvise", "performance,powersave", "off")
    build(tmp_path, {f"{cpu}/intel_pstate/no_turbo": 0})
    assert read_host(tmp_path, affinity=[1]).governor == "powersave"
    assert read_host(tmp_path).turbo == "on"


# ------------------------------------------------------------------------------------------ pure functions


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", (0,)), ("0-3,8", (0, 1, 2, 3, 8)), (" 5 , 1-2,2 ", (1, 2, 5)), ("7-7", (7,))]
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty part"),
        ("1,,2", "empty part"),
        ("3-1", "runs backwards; write 1-3"),
        ("a", "neither a number nor a range"),
        ("-1", "neither a number nor a range"),
        ("1-", "neither a number nor a range"),
        ("1.5", "neither a number nor a range"),
        ("٣", "neither a number nor a range"),
        ("0-99999999999", "above 65535"),
        ("9" * 5000, "above 65535"),
    ],
)
def test_bad_cpu_lists_say_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_cpu_list(text)


@given(st.frozensets(st.integers(0, 65535), min_size=1, max_size=30))
def test_cpu_lists_and_masks_round_trip(cpus: frozenset[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    padded = digits.zfill(-(-len(digits) // 8) * 8)
    assert parse_cpu_mask(",".join(padded[at : at + 8] for at in range(0, len(padded), 8))) == cpus


def test_masks_and_sizes() -> None:
    assert parse_cpu_mask("1,0") == frozenset({32})  # the leading zeros of a group may be missing
    assert parse_cpu_mask("0") == frozenset()
    assert parse_cpu_mask("what") is None
    assert [parse_size(text) for text in ("56", "32K", "1M", "2G", "0", "512 kB", "", "K", "-1K")] == [
        56, 32 * KIB, MIB, 2 * GIB, 0, 512 * KIB, None, None, None,
    ]  # fmt: skip
    assert format_cpu_list(()) == ""


def one_core(**fields: Any) -> Host:
    return dataclasses.replace(Host("Linux", "x86_64", cpus=(Cpu(0, 0), Cpu(1, 0, sibling=1))), **fields)


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("AMD EPYC", "amd-epyc-1c"),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "intel-xeon-gold-6148-1c"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd-ryzen-7-7840u-w-radeon-780m-graphics-1c"),
        ("AMD Ryzen 5 3400G with Radeon Vega Graphics", "amd-ryzen-5-3400g-1c"),
        ("AMD Ryzen Threadripper 3990X 64-Core Processor", "amd-ryzen-threadripper-3990x-1c"),
        ("Intel Core Processor (Skylake, IBRS)", "intel-core-skylake-ibrs-1c"),
        ("Apple M2 Pro", "apple-m2-pro-1c"),
        ("Процессор Ünïcode® X1", "unicode-x1-1c"),
        ("../../etc/passwd", "etc-passwd-1c"),
        ("处理器", "x86-64-genuineintel-family-6-model-85-1c"),
        ("", "x86-64-genuineintel-family-6-model-85-1c"),
        ("x" * 300, "x" * 60 + "-1c"),
    ],
)
def test_slugs(model: str, slug: str) -> None:
    host = one_core(cpu_model=model, vendor="GenuineIntel", identity=(("family", 6), ("model", 85)))
    assert machine_slug(host) == slug


def test_slug_of_an_unnamed_arm_part() -> None:
    identity = (("implementer", 0x41), ("part", 0xFFE), ("variant", 0), ("revision", 0))
    assert machine_slug(one_core(machine="aarch64", vendor="0x41", identity=identity)) == "arm-part-0xffe-1c"
    assert machine_slug(Host("Plan9", "")) == "unknown-0c"


@pytest.mark.parametrize(
    ("memory", "limit", "budget"),
    [
        ({}, None, 256 * MIB),
        ({}, 8 * MIB, 8 * MIB),
        ({"memory_total": 32 * GIB, "memory_available": 20 * GIB}, None, 10 * GIB),
        ({"memory_total": 32 * GIB, "memory_available": 20 * GIB}, GIB, GIB),
        ({"memory_total": 32 * GIB, "memory_available": 20 * GIB, "memory_limit": 2 * GIB}, None, GIB),
        ({"memory_available": 20 * GIB, "memory_limit": 256 * MIB}, None, 32 * MIB),
        ({"memory_available": 96 * MIB}, None, 12 * MIB),
    ],
)
def test_memory_budget(memory: dict[str, int], limit: int | None, budget: int) -> None:
    assert memory_budget(one_core(**memory), limit=limit) == budget


@pytest.mark.parametrize("limit", [0, -5])
def test_a_memory_limit_must_be_positive(limit: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        memory_budget(one_core(), limit=limit)


def test_cache_share_of_unequal_cores() -> None:
    caches = (
        Cache("L10", 64 * MIB, (0, 1, 2)),
        Cache("L1", 48 * KIB, (0, 1)),
        Cache("L1", 32 * KIB, (2,)),
        Cache("L2", 0, (0, 1, 2)),
        Cache("L3", 9 * MIB, (0, 1)),
    )
    host = Host("Linux", "x86_64", cpus=(Cpu(0, 0), Cpu(1, 0, sibling=1), Cpu(2, 1)), caches=caches)
    assert cache_share(host, [0, 2]) == (
        CacheShare("L1", 32 * KIB, 32 * KIB, 80 * KIB, 48 * KIB),
        CacheShare("L3", 9 * MIB, 9 * MIB, 9 * MIB, 9 * MIB),
        CacheShare("L10", 32 * MIB, 64 * MIB, 64 * MIB, 32 * MIB),
    )
    assert cache_share(host, [0, 1, 2])[0] == CacheShare("L1", 24 * KIB, 48 * KIB, 80 * KIB, 32 * KIB)
    assert cache_share(host, []) == ()
    assert cache_share(host, [7]) == ()


# ----------------------------------------------------------------------------------------- running machines


@pytest.mark.skipif(platform.system() != "Linux", reason="reads the running Linux")
def test_this_machine() -> None:
    host = read_host()
    assert set(usable_of(host)) <= os.sched_getaffinity(0)
    assert physical_cores(host)
    assert host.machine == platform.machine()
    assert host.memory_total > 0
    assert 0 < memory_budget(host) < host.memory_total
    text = str(host)
    assert platform.node() not in text or len(platform.node()) < 4


@pytest.mark.skipif(platform.system() != "Linux", reason="fakes an affinity of the running Linux")
def test_cpus_that_only_the_scheduler_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = max(cpu.id for cpu in read_host().cpus) + 5
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, hidden})
    host = read_host()
    assert host.cpus[-1].id == hidden
    assert any(note.startswith("Usable, but not described") for note in host.notes)


def fake_platform(monkeypatch: pytest.MonkeyPatch, system: str, processor: str, machine: str, psutil: Any) -> None:
    for name, value in (("system", system), ("processor", processor), ("machine", machine), ("release", "1.2")):
        monkeypatch.setattr(platform, name, lambda value=value: value)
    monkeypatch.setitem(sys.modules, "psutil", psutil)


def fake_psutil(logical: int, cores: int | None, affinity: list[int] | None) -> Any:
    process = types.SimpleNamespace() if affinity is None else types.SimpleNamespace(cpu_affinity=lambda: affinity)
    return types.SimpleNamespace(
        cpu_count=lambda logical=logical, all_cpus=logical: all_cpus if logical else cores,
        virtual_memory=lambda: types.SimpleNamespace(total=16 * GIB, available=8 * GIB),
        Process=lambda: process,
    )


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    described = "AMD64 Family 25 Model 97 Stepping 2, AuthenticAMD"
    fake_platform(monkeypatch, "Windows", described, "AMD64", fake_psutil(8, 4, [2, 3, 4]))
    host = read_host()
    assert (host.system, host.machine, host.vendor) == ("Windows", "AMD64", "AuthenticAMD")
    assert host.identity == (("family", 25), ("model", 97), ("stepping", 2))
    assert physical_order(host) == (2, 4, 3)
    assert machine_slug(host) == "amd64-authenticamd-family-25-model-97-stepping-2-2c"
    assert (memory_budget(host), host.caches, cache_share(host, [2])) == (4 * GIB, (), ())
    assert any("not read on Windows" in note for note in host.notes)
    assert usable_of(read_host(affinity=[7])) == (7,)
    with pytest.raises(ValueError, match="none of the CPUs 8 is among 0-7"):
        read_host(affinity=[8])


@pytest.mark.parametrize(("logical", "cores", "physical"), [(12, 12, 12), (20, 14, 20), (4, None, 4)])
def test_macos_and_hybrids_without_linux(
    monkeypatch: pytest.MonkeyPatch, logical: int, cores: int | None, physical: int
) -> None:
    fake_platform(monkeypatch, "Darwin", "arm", "arm64", fake_psutil(logical, cores, None))
    host = read_host()
    assert len(physical_cores(host)) == physical
    assert host.cpu_model == ""
    assert machine_slug(host) == f"arm64-{physical}c"
    assert any("share a core is not known" in note for note in host.notes) == (logical == 20)


def test_a_recorded_tree_is_read_on_any_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_platform(monkeypatch, "Windows", "", "AMD64", None)
    assert read_host(build(tmp_path, cpu_files(2))).system == "Linux"
