"""Trees that contradict themselves, leave things out or hold rubbish: still a host, and plans that make sense."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ert.errors import InputError
from ert.measure import irregular, plan, teams
from ert.measure.capacity import memory_budget
from ert.measure.host import packages, physical_cores, read_host
from ert.measure.order import BINDINGS, BY_NUMBER
from ert.measure.sysfs import settled
from ert.measure.tree import MAX_INTEGER, parse_cpu_mask, parse_integer, parse_size
from ert.roofline.fitness import fitness, is_fit
from ert.roofline.model import Cache, Condition, Cpu, Host, Node, Team
from tests.measure.test_host import GIB, KIB, MIB, Files, build, cache_files, cpu_files, usable_of

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def node_files(masks: dict[int, str], memory: int = 1 * GIB) -> Files:
    files: Files = {}
    for node, mask in masks.items():
        files[f"{NODE}/node{node}/cpumap"] = mask
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:  {memory // KIB} kB"
    return files


# ----------------------------------------------------------------------------------- who is together with whom


def test_packages_of_the_same_number_are_told_apart_by_their_cpus(tmp_path: Path) -> None:
    files: Files = {f"{CPU}/online": "0-3"}
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = cpu // 2 * 512
        files[f"{CPU}/cpu{cpu}/topology/core_siblings"] = f"{1 << cpu:x}"
    assert packages(read_host(build(tmp_path, files))) == (0, 1, 2, 3)
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/topology/core_siblings"] = "3" if cpu < 2 else "c"
    assert packages(read_host(build(tmp_path, files))) == (0, 512)


def test_a_cpu_that_others_contradict_is_outvoted(tmp_path: Path) -> None:
    files = cpu_files(8)
    for cpu in range(8):
        package = "55" if cpu % 2 == 0 else "aa"
        files[f"{CPU}/cpu{cpu}/topology/package_cpus"] = "0f" if cpu == 3 else package
        files |= cache_files(cpu, 0, 3, "8M", "0-3" if cpu == 2 else "0,2,4,6" if cpu % 2 == 0 else "1,3,5,7")
    host = read_host(build(tmp_path, files))
    assert [cpu.package for cpu in host.cpus] == [0, 1] * 4
    assert host.caches == (Cache("L3", 8 * MIB, (0, 2, 4, 6)), Cache("L3", 8 * MIB, (1, 3, 5, 7)))


@given(st.dictionaries(st.integers(0, 7), st.frozensets(st.integers(0, 7))))
def test_what_is_settled_is_disjoint_and_reaches_all_who_speak_for_themselves(
    claims: dict[int, frozenset[int]],
) -> None:
    groups = settled(claims)
    assert all(cpu in group and groups[other] == group for cpu, group in groups.items() for other in group)
    assert {cpu for cpu, group in claims.items() if cpu in group} <= groups.keys()
    said = {group for cpu, group in claims.items() if cpu in group}
    for group in said:
        if all(other == group or not other & group for other in said):
            assert all(groups[cpu] == group for cpu in group)


@pytest.mark.parametrize(
    ("vendor", "family", "cores"), [("AuthenticAMD", 21, 4), ("AuthenticAMD", 23, 2), ("GenuineIntel", 21, 2)]
)
def test_siblings_with_core_ids_of_their_own_are_cores_in_the_modules_of_family_15h_alone(
    tmp_path: Path, vendor: str, family: int, cores: int
) -> None:
    files = cpu_files(4, threads=2)
    block = "processor : {}\nvendor_id : {}\ncpu family : {}\nmodel : 2"
    files["proc/cpuinfo"] = "\n\n".join(block.format(cpu, vendor, family) for cpu in range(4))
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/topology/core_id"] = cpu
    assert len(physical_cores(read_host(build(tmp_path, files)))) == cores


def test_a_cache_whose_mask_is_empty_is_that_of_a_core(tmp_path: Path) -> None:
    files = cpu_files(4, threads=2)
    for cpu in range(4):
        files |= cache_files(cpu, 0, 3, "9M", "") | {f"{CPU}/cpu{cpu}/cache/index0/shared_cpu_map": "00000000,00000000"}
    assert [cache.cpus for cache in read_host(build(tmp_path, files)).caches] == [(0, 1), (2, 3)]


def test_online_numbers_without_a_folder_are_no_cpus(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(2) | {f"{CPU}/online": "0-65535"}))
    assert [cpu.id for cpu in host.cpus] == [0, 1]


# ------------------------------------------------------------------------------------------------- NUMA nodes


def test_nodes_that_all_list_the_same_cpus_are_one_with_all_memory(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(2) | node_files({0: "3", 1: "3", 4: "3"})))
    assert host.nodes == (Node(0, (0, 1), 3 * GIB),)
    assert {cpu.node for cpu in host.cpus} == {0}
    assert "NUMA nodes 1,4 list CPUs that others list too; they count as part of those." in host.notes


def test_a_node_that_overlaps_others_gives_them_its_cpus_and_its_memory_to_none(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(6) | node_files({0: "3", 1: "0", 2: "c", 3: "3c"})))
    assert host.nodes == (Node(0, (0, 1), GIB), Node(1, (), GIB), Node(2, (2, 3, 4, 5), GIB))
    assert [cpu.node for cpu in host.cpus] == [0, 0, 2, 2, 2, 2]


def test_memory_is_that_of_the_nodes_where_the_whole_is_not_told(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, cpu_files(2) | node_files({0: "1", 1: "2"}, memory=4 * GIB)))
    assert (host.memory_total, memory_budget(host)) == (8 * GIB, 4 * GIB)


def test_a_memory_side_cache_is_noted(tmp_path: Path) -> None:
    files = cpu_files(2) | node_files({0: "3"}) | {f"{NODE}/node0/memory_side_cache/index1/size": 16 * GIB}
    assert any(
        "node 0 lies behind a memory-side cache of 16 GiB" in note for note in read_host(build(tmp_path, files)).notes
    )


# ---------------------------------------------------------------------------------------------------- cgroups


def test_the_group_of_a_version_2_cpuset_from_proc_self_cpuset_alone(tmp_path: Path) -> None:
    files = cpu_files(4) | node_files({0: "3", 1: "c"}) | {
        "proc/mounts": "none /cgroup/memory cgroup rw,memory 0 0\nnone /cgroup/unified cgroup2 rw 0 0",
        "proc/self/cpuset": "/job/step",
        "cgroup/unified/job/step/cpuset.cpus.effective": "1",
        "cgroup/unified/job/step/cpuset.mems.effective": "0",
        "cgroup/unified/cpuset.cpus.effective": "0-3",
    }  # fmt: skip
    host = read_host(build(tmp_path, files))
    assert (usable_of(host), [node.id for node in host.nodes]) == ((1,), [0])


def test_of_a_version_1_cpuset_what_was_set_counts_in_a_recording(tmp_path: Path) -> None:
    files = cpu_files(4) | {
        "proc/mounts": "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0",
        "proc/self/cgroup": "7:cpuset:/job",
        "sys/fs/cgroup/cpuset/job/cpuset.cpus": "0-2",
        "sys/fs/cgroup/cpuset/job/cpuset.effective_cpus": "0",
    }
    assert usable_of(read_host(build(tmp_path, files))) == (0, 1, 2)


# ---------------------------------------------------------------------------------------------- what is planned


def test_a_node_too_small_for_its_caches_is_not_measured_as_memory() -> None:
    cpus = tuple(Cpu(cpu, cpu, node=cpu // 2) for cpu in range(4))
    caches = tuple(Cache("L3", 64 * MIB, part) for part in ((0, 1), (2, 3)))
    nodes = (Node(0, (0, 1), 64 * GIB), Node(1, (2, 3), 64 * GIB), Node(2, (), 128 * MIB))
    host = Host("Linux", "x86_64", cpus=cpus, caches=caches, nodes=nodes, memory_total=128 * GIB)
    pairs = [Team("pair", (0, 1), 2, memory) for memory in (0, 1, 2)]
    kept, pools = plan.pools(host, pairs, range(4), 32 * GIB)
    assert [team.memory_node for team in kept] == [0, 1] == list(pools)
    assert plan.wanted_working_set(host, pairs[2]) == plan.wanted_working_set(host, pairs[0])


@given(threads=st.integers(1, 64), nodes=st.integers(2, 8), room=st.integers(0, 1 << 34))
def test_nodes_never_lend_more_than_there_is(threads: int, nodes: int, room: int) -> None:
    cpus = tuple(Cpu(cpu, cpu) for cpu in range(threads))
    caches = tuple(Cache("L2", 256 * KIB, (cpu,)) for cpu in range(threads))
    caches += (Cache("L3", MIB, tuple(range(threads))),)
    declared = tuple(Node(node, cpus_, 0) for node, cpus_ in enumerate([tuple(range(threads)), *[()] * (nodes - 1)]))
    host = Host("Linux", "x86_64", cpus=cpus, caches=caches, nodes=declared)
    pairs = [Team(f"pair {node}", tuple(range(threads)), threads, node) for node in range(nodes)]
    _, pools = plan.pools(host, pairs, range(threads), room)
    assert sum(pool.size for pool in pools.values()) <= room


# ----------------------------------------------------------------------------------------------------- rubbish


def test_numbers_that_no_kernel_writes_are_none() -> None:
    assert [parse_integer(text) for text in ("12", "-1", "0x1F", "", "x", "9" * 5000, "0x" + "f" * 17)] == [
        12, -1, 31, None, None, None, None,
    ]  # fmt: skip
    assert parse_integer(str(MAX_INTEGER - 1)) == MAX_INTEGER - 1
    assert [parse_size(text) for text in ("9" * 5000, f"{1 << 60}G", f"{1 << 20}T")] == [None, None, 1 << 60]
    assert parse_cpu_mask("f" * 100_000) is None


def whole_tree() -> Files:
    """Everything that is read, of two packages with siblings, two nodes, two cgroup versions and a device tree."""
    files = cpu_files(8, threads=2) | node_files({0: "0f", 1: "f0"}) | {f"{NODE}/online": "0-1"}
    for cpu in range(8):
        files |= {f"{CPU}/cpu{cpu}/topology/package_cpus": "0f" if cpu < 4 else "f0"}
        files |= {f"{CPU}/cpu{cpu}/cpu_capacity": 1024 if cpu < 4 else 512}
        files |= cache_files(cpu, 0, 1, "32K", f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}", "Data")
        files |= cache_files(cpu, 1, 3, "8M", "0-3" if cpu < 4 else "4-7")
        files |= {f"{CPU}/cpu{cpu}/cache/index1/id": cpu // 4, f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave"}
    block = (
        "processor : {}\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : {}\nphysical id : 0\ncore id : 1\nflags : lm"
    )
    group = "sys/fs/cgroup"
    return files | {
        "proc/cpuinfo": "\n\n".join(block.format(cpu, 80 + cpu // 4) for cpu in range(8)),
        "proc/meminfo": f"MemTotal: {2 * MIB} kB\nMemAvailable: {MIB} kB",
        "proc/stat": "cpu0 1 2\ncpu1 1 2",
        "proc/mounts": f"cgroup2 /{group}/unified cgroup2 rw 0 0\ncgroup /{group}/one cgroup rw,memory,cpu,cpuset 0 0",
        "proc/self/cgroup": "7:memory,cpu,cpuset:/job\n0::/job",
        "proc/self/status": "Cpus_allowed_list: 0-7\nMems_allowed: 3",
        "proc/driver/nvidia/gpus/0/numa_status": "Node: 2",
        f"{group}/unified/job/memory.max": GIB,
        f"{group}/unified/job/memory.current": MIB,
        f"{group}/unified/job/memory.stat": "inactive_file 4096",
        f"{group}/unified/job/cpu.max": "200000 100000",
        f"{group}/unified/job/cpuset.cpus.effective": "0-6",
        f"{group}/one/job/memory.limit_in_bytes": GIB,
        f"{group}/one/job/cpu.cfs_quota_us": 100000,
        f"{group}/one/job/cpu.cfs_period_us": 100000,
        f"{group}/one/job/cpuset.mems": "0-1",
        f"{NODE}/node0/memory_side_cache/index1/size": "1G",
        "proc/device-tree/cpus/c/device_type": b"cpu\0",
        "proc/device-tree/cpus/c/reg": b"\0\0\0\1",
        "proc/device-tree/cpus/c/l2-cache": b"\0\0\0\2",
        "proc/device-tree/cpus/c/phandle": b"\0\0\0\2",
        f"{CPU}/cpufreq/boost": 1,
        "sys/devices/cpu_core/cpus": "0-3",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    }  # fmt: skip


WHOLE = whole_tree()

RUBBISH = st.one_of(
    st.sampled_from(
        [b"", b"0", b"1", b"-1", b"9" * 30, b"9" * 6000, b"0x" + b"f" * 6000, b"ffffffff," * 3000 + b"ff", b"0-65535",
         b"99999999999G", b"-512K", b"1e400", b"nan", b"0 0", b"max 0", b"\0\xff\xfe", "٣".encode(), b"\n:\n::\n",
         b"MemTotal: " + b"9" * 5000 + b" kB", b"/../..", b"processor : 9999999999"]
    ),
    st.binary(max_size=40),
)  # fmt: skip


def derive(host: Host) -> None:
    """Derive all that is planned from a host, and check what must hold of it whatever it is."""
    usable = set(usable_of(host))
    limit = memory_budget(host)
    condition = Condition("2026-01-01T00:00:00Z", budget=limit)
    assert isinstance(is_fit(fitness(host, condition)), bool)
    for binding in (*BINDINGS, BY_NUMBER):
        cpus = teams.usable_cpus(host, (), binding)
        assert len(cpus) == len(usable)
        assert set(cpus) == usable
        for threads in (teams.USUAL, "1", "all", teams.KINDS, teams.SIBLINGS, teams.NUMA):
            try:
                who = teams.choose(host, cpus, threads, 4)
            except InputError:
                assert threads not in (teams.USUAL, "1", "all") or not usable
                continue
            largest = plan.largest_working_sets(host, who.usual, plan.default_budget(host, who.usual, limit))
            extra, _ = irregular.affordable(host, who.extra, largest, limit, "roofs")
            arenas = plan.arena_sizes(largest | extra)
            pairs, pools = plan.pools(host, who.pairs, arenas, limit - sum(arenas.values()))
            assert sum(pool.size for pool in pools.values()) <= max(0, limit - sum(arenas.values()))
            for team, size in (largest | extra | pairs).items():
                assert set(team.cpus) <= usable
                assert 0 < size <= plan.wanted_working_set(host, team)
                assert plan.curve_sizes(size, 4)[-1] == size
                assert all(part > 0 for part in plan.expected_levels(host, team, size).values())


def test_the_whole_tree_is_read_as_it_is_meant(tmp_path: Path) -> None:
    host = read_host(build(tmp_path, WHOLE))
    assert usable_of(host) == tuple(range(7))
    assert (host.memory_limit, host.cpu_quota) == (GIB, 1.0)
    assert len(host.kinds) == len(host.nodes) == 2
    derive(host)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), st.none() | RUBBISH, max_size=12))
def test_no_rubbish_in_a_tree_makes_reading_or_planning_fail(changes: dict[str, bytes | None]) -> None:
    files = {name: content for name, content in (WHOLE | changes).items() if content is not None}
    with tempfile.TemporaryDirectory() as folder:
        derive(read_host(build(Path(folder), files)))
