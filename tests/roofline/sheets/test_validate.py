"""Checks of a sweep against sheets: each verdict, its cause, and whether it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ert.records import machines
from ert.records.store import load
from ert.roofline.fitting.clocks import drift
from ert.roofline.fitting.fit import fit
from ert.roofline.model import (
    Case,
    Code,
    Cpu,
    Host,
    InstructionLatency,
    Latency,
    Measurement,
    Results,
    Roofline,
    Sample,
    Work,
)
from ert.roofline.sheets.check_sheet import check_sheet
from ert.roofline.sheets.checks import Check
from ert.roofline.sheets.recognise import assume, recognise
from ert.roofline.sheets.sheet import (
    CoreGroup,
    CpuSheet,
    MemorySheet,
    PublishedBandwidth,
    PublishedMeasurement,
    PublishedPeak,
)
from ert.roofline.sheets.validate import validate
from tests import factories

GUEST = min((Path(__file__).parents[3] / "results" / "amd-epyc-2c").glob("*.json"))
ZEN4 = machines.find("zen4")
BARE = replace(factories.zen4_host(), hypervisor="")
"""The same two cores, as a machine of their own."""


def cpu_sheet(**changes: object) -> CpuSheet:
    """Return a CPU of two Zen 4 cores that promises what the synthetic machine does."""
    assert not isinstance(ZEN4, CpuSheet)
    group = CoreGroup(2, ZEN4, base=3.0e9, all_core=3.6e9, boost=3.7e9)  # type: ignore[arg-type]
    fields: dict[str, object] = {
        "groups": (group,),
        "threads": 4,
        "memory": MemorySheet("DDR5", channels=1, transfers=6.4e9),
        **changes,
    }
    return CpuSheet("two", "Two", **fields)  # type: ignore[arg-type]


def checks(
    sheet: object = None,
    host: Host = BARE,
    roofline: Roofline | None = None,
    results: Results | None = None,
    measurements: tuple[PublishedMeasurement, ...] = (),
    tolerance: float = 0.05,
) -> dict[str, Check]:
    """Return the checks of the synthetic machine by name."""
    results = replace(results or factories.zen4_results(), host=host)
    machine = assume(host, sheet or cpu_sheet(), "given")  # type: ignore[arg-type]
    found = validate(results, roofline or factories.zen4(), machine, measurements, tolerance)
    return {f"{check.section.split(',')[0]}: {check.name}": check for check in found}


def verdict(check: Check) -> tuple[str, bool]:
    return check.verdict, check.failed


def scaled(factor: float, precision: str = "fp64", grade: str = "A") -> Roofline:
    """Return the synthetic machine with another rate per cycle of one precision."""
    roofline = factories.zen4()
    compute = tuple(
        replace(
            roof,
            rate=replace(
                roof.rate, best=roof.rate.best * factor, per_cycle=(roof.rate.per_cycle or 0) * factor, grade=grade
            ),  # type: ignore[arg-type]
        )
        if roof.precision == precision
        else roof
        for roof in roofline.compute
    )
    return replace(roofline, compute=compute)


# ------------------------------------------------------------------------------------- the guest with a hidden name


def test_the_guest_with_a_hidden_name_keeps_what_its_core_promises() -> None:
    results = load(GUEST)
    machine = recognise(results.host, machines.cores(), machines.cpus())
    assert [sheet.name for sheet in machine.sheets] == ["zen4"]
    found = validate(results, fit(results), machine, machines.measurements())
    kept = {c.name for c in found if c.verdict == "as promised"}
    assert {"fp64 multiply-adds", "fp32 multiply-adds", "bf16 dot products", "int8 dot products"} <= kept
    assert {"fp64 multiply-add", "L1 loads", "L1 stores", "L2 loads", "fp64, measured clock"} <= kept
    assert {"L1 declared by the system", "L2 declared by the system", "L2 effective, latency"} <= kept
    other = {c.name: c for c in found if c.verdict != "as promised"}
    assert other["L3 effective, one thread"].verdict == "below"
    assert "shares this cache with neighbours" in other["L3 effective, one thread"].why
    assert other["DRAM, 2 threads"].verdict == "not stated"
    assert "neither the channels nor how many neighbours" in other["DRAM, 2 threads"].why
    assert not any(c.failed for c in found)


# ----------------------------------------------------------------------------------------------------- arithmetic


def test_a_machine_that_keeps_its_promises_passes() -> None:
    found = checks()
    assert verdict(found["Arithmetic per cycle and core: fp64 multiply-adds"]) == ("as promised", False)
    peak = found["Peak: fp64, measured clock"]
    assert verdict(peak) == ("as promised", False)
    assert peak.products == (((16, "FLOP/cycle"), (2, "cores"), (pytest.approx(factories.CLOCK), "Hz")),)
    assert peak.promised == pytest.approx(2 * 16 * factories.CLOCK)


@pytest.mark.parametrize(
    ("factor", "said", "words"),
    [
        (0.90, ("below", True), "Other work on the core"),
        (0.50, ("below", True), "half of the multiply-add units"),
        (1.20, ("above", True), "the sheet is of another core"),
        (0.96, ("as promised", False), ""),
    ],
)
def test_arithmetic_per_cycle(factor: float, said: tuple[str, bool], words: str) -> None:
    check = checks(roofline=scaled(factor))["Arithmetic per cycle and core: fp64 multiply-adds"]
    assert verdict(check) == said
    assert words in check.why


def test_the_tolerance_decides() -> None:
    name = "Arithmetic per cycle and core: fp64 multiply-adds"
    assert checks(roofline=scaled(0.90), tolerance=0.15)[name].verdict == "as promised"
    assert checks(roofline=scaled(0.97), tolerance=0.01)[name].verdict == "below"


def test_causes_that_the_result_shows_are_named_first() -> None:
    name = "Arithmetic per cycle and core: fp64 multiply-adds"
    assert "other work took time" in checks(roofline=scaled(0.9, grade="D"))[name].why
    guest = checks(roofline=scaled(0.9, grade="D"), host=factories.zen4_host())
    assert "neighbours of this virtual machine" in guest[name].why
    masked = factories.zen4_results(toolchain=replace(factories.zen4_toolchain(), vector_bits=(128,)))
    assert "hides an instruction set" in checks(roofline=scaled(0.5), results=masked)[name].why
    quota = checks(roofline=scaled(0.5), host=replace(BARE, cpu_quota=1.0))["Peak: fp64, measured clock"]
    assert verdict(quota) == ("below", False)
    assert "1 CPU's worth of time for 2 threads" in quota.why


def test_what_no_sheet_states_is_not_stated() -> None:
    found = checks(machines.find("tiger-lake"))
    check = found["Arithmetic per cycle and core: fp64 multiply-adds"]
    assert (check.verdict, check.failed, check.ratio) == ("not stated", False, None)
    assert check.why == "The sheet tiger-lake does not state the fp64 per cycle."
    unknown = validate(factories.zen4_results(), factories.zen4(), recognise(Host("Linux", "x86_64"), (), ()))
    assert {c.verdict for c in unknown if "effective" not in c.name and "against start" not in c.name} == {"not stated"}


@pytest.mark.parametrize(
    ("cycles", "said"), [(4.1, ("as promised", False)), (5.02, ("above", True)), (3.0, ("below", True))]
)
def test_latency_is_right_to_half_a_cycle(cycles: float, said: tuple[str, bool]) -> None:
    rate = factories.estimate(factories.CLOCK / cycles)
    latency = InstructionLatency("x", "fp64", "fma", 512, factories.ONE, cycles, rate, 8, True)
    roofline = replace(factories.zen4(), instruction_latencies=(latency,))
    assert verdict(checks(roofline=roofline)["Latency of arithmetic: fp64 multiply-add"]) == said


# ------------------------------------------------------------------------------------------------- peaks and clocks


def test_above_the_base_clock_is_boost_and_no_error() -> None:
    found = checks()
    base = found["Peak: fp64, base clock"]
    assert (base.promised, verdict(base)) == (2 * 16 * 3.0e9, ("above", False))
    assert "boost" in base.why
    assert verdict(found["Peak: fp64, boost clock"]) == ("as promised", False)
    assert verdict(found["Core clock: 1 thread against base"]) == ("above", False)
    assert verdict(found["Core clock: 1 thread against boost"]) == ("as promised", False)
    assert verdict(found["Core clock: 2 threads against all-core"]) == ("as promised", False)


def test_below_the_base_clock_fails_and_the_system_is_quoted() -> None:
    group = replace(cpu_sheet().groups[0], base=4.5e9, all_core=4.6e9, boost=5.5e9)
    found = checks(cpu_sheet(groups=(group,)), host=replace(BARE, governor="powersave", turbo="off"))
    check = found["Core clock: 1 thread against base"]
    assert verdict(check) == ("below", True)
    assert "governor powersave, turbo off" in check.why
    assert verdict(found["Peak: fp64, base clock"]) == ("below", True)
    assert verdict(found["Peak: fp64, boost clock"]) == ("below", False)
    assert verdict(found["Core clock: 1 thread against boost"]) == ("below", False)


def test_kinds_of_core_add_up() -> None:
    host = replace(BARE, cpus=(Cpu(0, 0, kind="P"), Cpu(1, 1, kind="E")))
    small = replace(ZEN4, name="small", per_cycle=tuple(replace(r, operations=8) for r in ZEN4.per_cycle))  # type: ignore
    groups = (CoreGroup(1, ZEN4, "P", base=4e9), CoreGroup(1, small, "E", base=2e9))  # type: ignore[arg-type]
    found = checks(cpu_sheet(groups=groups), host=host)
    check = found["Peak: fp64, base clock"]
    assert check.promised == 16 * 4e9 + 8 * 2e9
    assert len(check.products) == 2
    # One clock of two kinds of core means nothing.
    assert "Peak: fp64, measured clock" not in found


def drifting(*clocks: float) -> Results:
    team = factories.ONE
    samples = tuple(Sample(i, 1, 1.0, (1.0,), (clock,), at=float(i)) for i, clock in enumerate(clocks))
    measured = Measurement(Case("compute", team), Work(flop=1), Code("verified"), samples)
    return factories.zen4_results(measurements=(measured,))


def test_a_clock_that_falls_while_it_is_measured_fails() -> None:
    falling = checks(results=drifting(*[4e9] * 3, *[3.8e9] * 3, *[3.5e9] * 3))[
        "Core clock: 1 thread, end against start"
    ]
    assert (falling.measured, falling.promised) == (3.5e9, 4e9)
    assert verdict(falling) == ("below", True)
    steady = checks(results=drifting(*[4e9] * 9))["Core clock: 1 thread, end against start"]
    assert verdict(steady) == ("as promised", False)
    assert drift(drifting(*[4e9] * 8), factories.ONE) is None


# --------------------------------------------------------------------------------------------------------- memory


def test_memory_is_held_against_the_pins() -> None:
    check = checks()["Memory bandwidth: DRAM, 2 threads"]
    assert check.promised == 1 * 8 * 6.4e9
    assert check.products == (((1, "channels"), (8, "B"), (6.4e9, "transfers/s"), (1.0, "sockets")),)
    assert 0.7 < (check.ratio or 0) < 1
    assert verdict(check) == ("as promised", False)
    assert "rate of the pins" in check.why


@pytest.mark.parametrize(
    ("channels", "cores", "said", "words"),
    [
        (4, 2, ("below", True), "Empty channels"),
        (
            12,
            96,
            ("below", False),
            "Their share of the promise is 12.8 GB/s, and they reach 3.9 times that.",
        ),
        (12, 4, ("below", True), "and they reach 16.3 % of it"),
    ],
)
def test_memory_below_the_promise(channels: int, cores: int, said: tuple[str, bool], words: str) -> None:
    group = replace(cpu_sheet().groups[0], count=cores)
    memory = MemorySheet("DDR5", channels=channels, transfers=6.4e9)
    check = checks(cpu_sheet(groups=(group,), memory=memory))["Memory bandwidth: DRAM, 2 threads"]
    assert verdict(check) == said
    assert words in check.why


def test_memory_above_the_promise_and_without_one() -> None:
    slow = cpu_sheet(memory=MemorySheet("DDR3", channels=1, transfers=1e9), package_memory=MemorySheet("HBM2e"))
    check = checks(slow)["Memory bandwidth: DRAM, 2 threads"]
    assert verdict(check) == ("above", False)
    assert "inside the package" in check.why
    open_end = checks(cpu_sheet(memory=None))["Memory bandwidth: DRAM, 2 threads"]
    assert (open_end.verdict, open_end.promised) == ("not stated", None)
    assert "does not state both the width and the speed" in open_end.why
    published = checks(cpu_sheet(memory=None, bandwidths=(PublishedBandwidth(50e9),)))[
        "Memory bandwidth: DRAM, 2 threads"
    ]
    assert (published.promised, published.basis) == (50e9, "as published")


def test_two_sockets_have_twice_the_channels() -> None:
    host = replace(BARE, cpus=(Cpu(0, 0, package=0), Cpu(1, 1, package=1)))
    one_core = replace(cpu_sheet().groups[0], count=1)
    check = checks(cpu_sheet(groups=(one_core,)), host=host)["Memory bandwidth: DRAM, 2 threads"]
    assert check.promised == 2 * 8 * 6.4e9


def test_declared_caches_are_held_against_the_sheet() -> None:
    small = replace(BARE, caches=tuple(replace(c, size=c.size // 2) for c in BARE.caches))
    check = checks(host=small)["Cache capacity: L2 declared by the system"]
    assert verdict(check) == ("below", True)
    guest = checks(host=replace(small, hypervisor="KVM"))["Cache capacity: L2 declared by the system"]
    assert verdict(guest) == ("below", False)
    assert "hypervisor (KVM)" in guest.why


def test_effective_capacity_of_a_guest_is_explained_and_of_a_machine_is_not() -> None:
    name = "Cache capacity: L3 effective, one thread"
    guest, bare = checks(host=factories.zen4_host())[name], checks(host=replace(BARE, thp="never"))[name]
    assert verdict(guest) == ("below", False)
    assert verdict(bare) == ("below", True)
    assert "No huge pages" in bare.why


def test_an_l3_that_is_stated_in_total_counts_all_instances() -> None:
    amd = machines.find("amd-epyc-7773x")
    assert isinstance(amd, CpuSheet)
    found = checks(replace(amd, caches=tuple(replace(c, total=32 << 20) for c in amd.caches)))
    assert verdict(found["Cache capacity: L3 declared, all instances"]) == ("as promised", False)


def test_caches_per_cycle() -> None:
    found = checks()
    assert verdict(found["Cache bandwidth per cycle and core: L1 stores"]) == ("as promised", False)
    check = checks(machines.find("haswell"), host=replace(BARE, identity=()))[
        "Cache bandwidth per cycle and core: L2 loads"
    ]
    assert (check.promised, check.verdict) == (64, "below")
    assert "width of the path" in check.why


# ------------------------------------------------------------------------------------------- published measurements


def published(**changes: object) -> PublishedMeasurement:
    fields: dict[str, object] = {"precision": "fp64", "cores": 2, "description": "by hand", **changes}
    return PublishedMeasurement("a board", fields.pop("metric", "fma"), fields.pop("value", 117e9), **fields)  # type: ignore


@pytest.mark.parametrize(
    ("measurement", "said", "words"),
    [
        (published(), ("as promised", False), ""),
        (published(value=150e9), ("below", True), "Others reached more"),
        (published(value=80e9), ("above", False), "Better than"),
        (published(value=80e9, high=120e9), ("as promised", False), ""),
        (published(cores=64), ("not comparable", False), "It took 64 cores, this result 2"),
        (published(metric="hpl"), ("not comparable", False), "No probe of this result measures the same."),
        (published(metric="load", precision="", value=50e9), ("as promised", False), ""),
        (published(metric="triad", precision="", value=47e9, cores=None), ("as promised", False), ""),
    ],
)
def test_published_measurements(measurement: PublishedMeasurement, said: tuple[str, bool], words: str) -> None:
    found = checks(cpu_sheet(measurements=(measurement,)))
    (check,) = [c for name, c in found.items() if name.startswith("Published")]
    assert verdict(check) == said
    assert words in check.why
    assert "a board: by hand" in check.basis


def test_measurements_of_relatives_are_no_promise_and_others_are_found_by_model() -> None:
    found = checks(cpu_sheet(measurements=(published(relative=True),)))
    assert not any(name.startswith("Published") for name in found)
    others = (published(models=("AMD EPYC 9R14",)), published(models=("AMD EPYC 7742",)))
    found = checks(ZEN4, measurements=others)
    assert [name for name in found if name.startswith("Published")] == ["Published measurements: fp64 multiply-adds"]


# --------------------------------------------------------------------------------------------------- a sheet alone


def test_a_published_peak_is_held_against_the_computed_one() -> None:
    right = PublishedPeak("fp64", 2 * 96e9 * 1.01, sockets=2)
    wrong = PublishedPeak("fp64", 120e9)
    told = replace(wrong, why="A slip of the pen.")
    verdicts = [verdict(check) for check in check_sheet(cpu_sheet(peaks=(right, wrong, told)))]
    assert verdicts == [("as promised", False), ("below", True), ("below", False)]
    (bandwidth,) = check_sheet(cpu_sheet(bandwidths=(PublishedBandwidth(40e9),)))
    assert verdict(bandwidth) == ("above", True)
    assert check_sheet(ZEN4) == ()


def test_a_team_of_its_own_kind_is_looked_at_before_a_mixed_one() -> None:
    host = replace(BARE, cpus=(Cpu(0, 0, kind="E"), Cpu(1, 1, kind="P")))
    mixed = replace(factories.zen4(), compute=tuple(r for r in factories.zen4().compute if r.team == factories.BOTH))
    mixed = replace(mixed, memory=tuple(r for r in mixed.memory if r.team == factories.BOTH))
    assert not any(name.startswith("Arithmetic") for name in checks(host=host, roofline=mixed))
    assert "Arithmetic per cycle and core: fp64 multiply-adds" in checks(host=host)


# ------------------------------------------------------------------------------------------- causes that are possible


def test_a_sheet_of_another_core_is_the_cause_of_all_that_differs_from_it() -> None:
    host = replace(factories.zen4_host(), vendor="AuthenticAMD", identity=(("family", 0x19), ("model", 0x11)))
    machine = assume(host, machines.find("haswell"), "given", machines.cores())
    assert machine.other_core == (
        "the result's CPUID is that of AMD Zen 4 and Zen 4c, the sheet's core is Intel Haswell"
    )
    found = validate(replace(factories.zen4_results(), host=host), factories.zen4(), machine)
    differing = [c for c in found if c.verdict in ("below", "above") and c.basis.startswith("sheet")]
    assert differing
    assert {c.why for c in differing} == {"The sheet is of another core than the one that was measured."}
    assert not [c for c in found if "hypervisor" in c.why or "neighbours" in c.why]
    assert assume(host, ZEN4, "given", machines.cores()).other_core == ""
    assert assume(replace(host, identity=()), machines.find("haswell"), "given", machines.cores()).other_core == ""


def test_a_low_peak_is_not_blamed_on_a_clock_that_is_not_low_or_on_cores_that_are_alone() -> None:
    found = checks(roofline=scaled(0.49))
    assert "not below this one" in found["Peak: fp64, base clock"].why
    assert "not below this one" in found["Peak: fp64, boost clock"].why
    assert "One thread alone does less" in found["Peak: fp64, measured clock"].why
    both = factories.zen4()
    compute = tuple(
        replace(r, rate=replace(r.rate, best=0.6 * r.rate.best)) if r.team == factories.BOTH else r
        for r in both.compute
    )
    slowed = checks(roofline=replace(both, compute=compute))["Peak: fp64, measured clock"]
    assert "slow each other down" in slowed.why


def test_a_clock_above_all_that_is_stated_fails() -> None:
    group = replace(cpu_sheet().groups[0], base=2e9, all_core=2.5e9, boost=3e9)
    found = checks(cpu_sheet(groups=(group,)))
    assert verdict(found["Core clock: 1 thread against boost"]) == ("above", True)
    assert "Above the highest stated clock" in found["Core clock: 1 thread against boost"].why
    assert verdict(found["Core clock: 2 threads against all-core"]) == ("above", False)
    favoured = checks(cpu_sheet(groups=(replace(group, highest=3.7e9),)))
    check = favoured["Core clock: 1 thread against boost"]
    assert verdict(check) == ("above", False)
    assert "highest clock" in check.why


def test_a_bandwidth_above_the_pins_fails_unless_data_can_have_stayed_in_cache() -> None:
    name = "Memory bandwidth: DRAM, 2 threads"
    roofline = factories.zen4()
    roof = next(r for r in roofline.memory if r.team == factories.BOTH and r.level == "DRAM" and r.headline)
    pins = roof.rate.best / 1.2
    near = cpu_sheet(memory=MemorySheet("DDR5", channels=1, transfers=pins / 8))
    last = sum(cache.size for cache in BARE.caches if cache.level == "L3")
    for times, failed in ((4, False), (40, True)):
        memory = tuple(replace(r, working_set=times * last // 2) if r is roof else r for r in roofline.memory)
        assert verdict(checks(near, roofline=replace(roofline, memory=memory))[name]) == ("above", failed)


def test_two_witnesses_of_a_capacity_that_disagree_are_both_shown() -> None:
    roofline = factories.zen4()
    plateau = next(p for c in roofline.curves if c.team == factories.ONE for p in c.plateaus if p.name == "L2")
    size = plateau.capacity or 0.0
    rate = factories.estimate(1e8)

    def witness(capacity: float, outer: float) -> Roofline:
        latencies = (
            Latency("L2", "random", factories.ONE, 4e-9, 16.0, rate, capacity),
            Latency("L3", "random", factories.ONE, outer, 60.0, rate),
        )
        return replace(roofline, latencies=latencies)

    agreed = checks(roofline=witness(1.1 * size, 14e-9))
    assert "Cache capacity: L2 effective, one thread" in agreed
    found = checks(roofline=witness(4 * size, 14e-9))
    assert found["Cache capacity: L2 effective, bandwidth"].measured == size
    above = found["Cache capacity: L2 effective, latency"]
    assert (above.measured, above.failed) == (4 * size, False)
    assert above.why.startswith("Not certain")
    doubled = replace(BARE, caches=tuple(replace(c, size=c.size // 4) for c in BARE.caches))
    bare = CoreGroup(2, None, base=3e9)
    name = "Cache capacity: L2 effective, one thread"
    slow = checks(cpu_sheet(groups=(bare,)), host=doubled, roofline=witness(size, 14e-9))[name]
    assert slow.verdict == "above"
    assert "L3 takes 3.5 times as long" in slow.why
    fast = checks(cpu_sheet(groups=(bare,)), host=doubled, roofline=witness(size, 5e-9))[name]
    assert "L3 is about as fast" in fast.why


def test_base_and_boost_are_not_stated_where_only_the_core_is_known() -> None:
    found = checks(ZEN4)
    for clock in ("base", "boost"):
        check = found[f"Peak: fp64, {clock} clock"]
        assert (check.verdict, check.promised) == ("not stated", None)
        assert "--machine names it" in check.why


def test_what_is_not_comparable_has_no_ratio() -> None:
    found = checks(cpu_sheet(measurements=(published(cores=64),)))
    (check,) = [c for name, c in found.items() if name.startswith("Published")]
    assert (check.ratio, check.measured is None) == (None, False)
