from __future__ import annotations

from dataclasses import replace

import pytest

from ert.errors import InputError
from ert.measure import plan
from ert.measure.capacity import memory_budget
from ert.measure.plan import Settings
from ert.measure.teams import usable_cpus
from ert.roofline.fitting.caches import cache_capacities
from ert.roofline.model import Cache, Plateau, Team
from tests.machine import synthetic_host, teams_of

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_one_thread_on_every_core_before_siblings() -> None:
    host = synthetic_host(4, siblings=2)
    one, every, both = teams_of(host, "1,all,8").usual
    assert (one.name, one.cpus, one.cores) == ("one", (0,), 1)
    assert (every.name, every.cpus, every.cores) == ("all", (0, 1, 2, 3), 4)
    assert (both.name, len(both.cpus), both.cores) == ("8", 8, 4)


def test_one_usable_cpu_makes_one_team() -> None:
    host = synthetic_host(4)
    teams = teams_of(host, "1,all", (3,)).usual
    assert teams == (Team("one", (3,), 1),)


@pytest.mark.parametrize("threads", ["0", "-1", "many", "", "1,,2", "1.5", "9"])
def test_impossible_thread_counts_are_refused(threads: str) -> None:
    host = synthetic_host(4)
    with pytest.raises(InputError, match="--threads"):
        teams_of(host, threads)


def test_cpus_that_cannot_be_used_are_named() -> None:
    host = synthetic_host(4)
    host = replace(host, cpus=tuple(replace(cpu, usable=cpu.id != 2) for cpu in host.cpus))
    with pytest.raises(InputError, match=r"CPU 2,7 cannot be used.*usable: 0-1,3"):
        usable_cpus(host, (1, 2, 7), "spread")


@pytest.mark.parametrize("text", ["fp63", "", ",", "fp64 fp32"])
def test_unknown_precisions_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="fp64, fp32"):
        plan.precisions(text)


def test_all_precisions_can_be_asked_for() -> None:
    assert plan.precisions("all") == ("fp64", "fp32", "fp16", "bf16", "int8")
    assert plan.precisions("int8, fp64,int8") == ("int8", "fp64")


ONE = Team("one", (0,), 1)


def test_each_precision_is_measured_at_its_widths_and_in_scalar_code() -> None:
    widths = {"fp64": (128, 256), "fp32": (128, 256), "bf16": (256,)}
    cases = plan.compute_cases(ONE, widths, {128: 8, 256: 12}, 32, True)
    found = [(case.precision, case.instructions, case.vector_bits, case.accumulators) for case in cases]
    assert found == [
        ("fp64", "fma", 64, 8), ("fp64", "fma", 128, 8), ("fp64", "fma", 256, 12),
        ("fp32", "fma", 32, 8), ("fp32", "fma", 128, 8), ("fp32", "fma", 256, 12),
        ("bf16", "dot", 256, 20),
    ]  # fmt: skip
    without = plan.compute_cases(ONE, {"fp64": (64,)}, {64: 8}, 32, False)
    assert [(case.instructions, case.vector_bits) for case in without] == [("mul_add_unfused", 64)]


@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize("chains", [8, 12, 14, 24])
def test_mixes_have_whole_shares_and_leave_registers_free(registers: int, chains: int) -> None:
    cases = plan.mix_cases(ONE, "fp64", 256, chains, registers)
    assert [case.instructions for case in cases] == ["fma_add_2_1", "fma_add_1_1", "fma_add_1_2"]
    for case, shares in zip(cases, (3, 2, 3), strict=True):
        assert case.accumulators % shares == 0
        assert case.accumulators <= registers - plan.SPARE_REGISTERS[registers]


def test_the_instruction_ceilings_are_all_but_the_roof_itself() -> None:
    cases = plan.instruction_cases(ONE, "fp32", 512, 10, 32, True)
    assert [(case.instructions, case.accumulators) for case in cases] == [
        ("mul_add_unfused", 10), ("add", 10), ("add", 1), ("mul", 10), ("mul", 1), ("divide", 8), ("sqrt", 8),
    ]  # fmt: skip
    old = plan.instruction_cases(ONE, "fp32", 128, 12, 16, False)
    assert [(case.instructions, case.accumulators) for case in old] == [
        ("add", 8), ("add", 1), ("mul", 8), ("mul", 1), ("divide", 8), ("sqrt", 8),
    ]  # fmt: skip


def test_few_chains_are_fewer_than_those_of_the_roof() -> None:
    cases = plan.chain_cases(ONE, "fp64", 512, 8, (1, 2, 4, 8, 16), True)
    assert [case.accumulators for case in cases] == [1, 2, 4]
    assert {case.instructions for case in plan.chain_cases(ONE, "int8", 512, 20, (1, 4), True)} == {"dot"}


def test_the_curve_ends_at_four_times_the_last_cache() -> None:
    host = synthetic_host(2)
    one, every = teams_of(host, "1,all").usual
    assert plan.largest_working_set(host, one, GIB) == 64 * MIB
    assert plan.largest_working_set(host, every, GIB) == 32 * MIB


def test_the_curve_leaves_every_slice_of_the_last_cache() -> None:
    host = synthetic_host(8)
    slices = tuple(Cache("L3", 32 * MIB, (core, core + 1)) for core in range(0, 8, 2))
    host = replace(host, caches=tuple(cache for cache in host.caches if cache.level != "L3") + slices)
    every = teams_of(host, "all").usual[0]
    assert 8 * plan.largest_working_set(host, every, 16 * GIB) == 4 * 4 * 32 * MIB


def test_the_memory_limit_wins() -> None:
    host = synthetic_host(2)
    every = teams_of(host, "all").usual[0]
    largest = plan.largest_working_set(host, every, 32 * MIB)
    assert largest < 16 * MIB
    assert sum(plan.arena_sizes({every: largest}).values()) <= 32 * MIB


@pytest.mark.parametrize(("l3", "memory"), [(2 * GIB, GIB), (64 * GIB, GIB), (GIB, 512 * MIB)])
@pytest.mark.parametrize("limited", [False, True], ids=["memory", "limit"])
def test_a_last_cache_larger_than_the_memory(l3: int, memory: int, limited: bool) -> None:
    host = synthetic_host(2)
    caches = tuple(replace(cache, size=l3) if cache.level == "L3" else cache for cache in host.caches)
    less: dict[str, int] = {"memory_limit": memory} if limited else {"memory_total": memory, "memory_available": memory}
    host = replace(host, caches=caches, **less)
    teams = teams_of(host, "1,all").usual
    budget = plan.default_budget(host, teams, memory_budget(host))
    largest = plan.largest_working_sets(host, teams, budget)
    assert sum(plan.arena_sizes(largest).values()) <= budget < memory
    for team, size in largest.items():
        sizes = plan.level_working_sets((), cache_capacities(host, team.cpus), size)
        assert {"L1", "L2"} <= set(sizes)
        assert max(sizes.values()) <= size


def test_the_default_budget_follows_the_caches_and_never_exceeds_the_limit() -> None:
    host = synthetic_host(2)
    teams = teams_of(host, "1,all").usual
    assert plan.default_budget(host, teams, 100 * GIB) == 2 * GIB
    assert plan.default_budget(host, teams, MIB) == MIB
    huge = replace(host, caches=(Cache("L3", GIB, (0, 1)),))
    assert plan.default_budget(huge, teams_of(huge, "all").usual, 100 * GIB) >= 4 * GIB


@pytest.mark.parametrize("an_octave", [2, 4, 8])
def test_curve_sizes_are_even_on_a_log_scale(an_octave: int) -> None:
    sizes = plan.curve_sizes(64 * MIB, an_octave)
    assert sizes[0] == 4 * KIB
    assert sizes[-1] == 64 * MIB
    assert sorted(set(sizes)) == list(sizes)
    assert all(size % KIB == 0 for size in sizes)
    # Steps of 1 KiB are too coarse for eight sizes between 4 and 16 KiB.
    for octave in range(14 if an_octave == 8 else 12, 26):
        inside = [size for size in sizes if 2**octave <= size < 2 ** (octave + 1)]
        assert len(inside) >= an_octave


def test_working_sets_of_levels_lie_inside_their_plateaus() -> None:
    plateaus = (
        Plateau("L1", 2e11, 4 * KIB, 32 * KIB),
        Plateau("L2", 1e11, 64 * KIB, MIB),
        Plateau("DRAM", 3e10, 16 * MIB, 64 * MIB),
    )
    sizes = plan.level_working_sets(plateaus, (), 64 * MIB)
    assert list(sizes) == ["L1", "L2", "DRAM"]
    assert 4 * KIB < sizes["L1"] < 32 * KIB
    assert 64 * KIB < sizes["L2"] < MIB
    assert sizes["DRAM"] == 64 * MIB


def test_a_declared_level_without_a_plateau_is_measured_where_it_should_be() -> None:
    plateaus = (Plateau("L1", 2e11, 4 * KIB, 32 * KIB, 40 * KIB), Plateau("L3", 1e11, 64 * KIB, 6 * MIB, 8 * MIB))
    declared = (("L1", 32 * KIB), ("L2", MIB), ("L3", 16 * MIB))
    sizes = plan.level_working_sets(plateaus, declared, 64 * MIB)
    assert list(sizes) == ["L1", "L2", "L3"]
    assert 64 * KIB < sizes["L2"] <= MIB / 2
    assert 2 * MIB <= sizes["L3"] <= 6 * MIB


def test_a_declared_level_beyond_the_curve_is_left_out() -> None:
    plateaus = (Plateau("L1", 2e11, 4 * KIB, 32 * KIB, 40 * KIB), Plateau("L2", 1e11, 64 * KIB, MIB))
    sizes = plan.level_working_sets(plateaus, (("L1", 32 * KIB), ("L2", MIB), ("L3", 256 * MIB)), MIB)
    assert list(sizes) == ["L1", "L2"]


def test_nontemporal_stores_only_beyond_the_private_caches() -> None:
    assert not any(mix.endswith("_nt") for mix in plan.mixes_of("L2", True))
    assert {"copy_nt", "triad_nt", "store_nt"} <= set(plan.mixes_of("DRAM", True))
    assert "triad" not in plan.mixes_of("L1", False)


def test_working_sets_are_whole_steps_of_every_array() -> None:
    case = plan.memory_case(Team("one", (0,), 1), "L2", "triad", 300_001, 512)
    assert case.working_set % (3 * 1024) == 0
    assert 0 <= 300_001 - case.working_set < 3 * 1024


def test_settings_survive_being_stored() -> None:
    settings = Settings("quick", "1,2", "0-1", "fp32", 7, 1 << 28)
    assert Settings.restored(settings.stored()) == settings
    with pytest.raises(InputError, match="settings"):
        Settings.restored([("effort", "quick")])
