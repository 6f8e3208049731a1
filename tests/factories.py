"""Rooflines and results made from a few planted numbers, by the formulas of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ert.roofline.model import (
    Cache,
    Case,
    Code,
    ComputeRoof,
    Concurrency,
    Cpu,
    Curve,
    CurvePoint,
    Estimate,
    Gather,
    Grade,
    Host,
    InstructionLatency,
    IntensityPoint,
    Kernel,
    Latency,
    LatencyCurve,
    LatencyPoint,
    Measurement,
    MemoryRoof,
    Node,
    Overhead,
    Plateau,
    RandomAccess,
    Results,
    RidgePoint,
    Roofline,
    Sample,
    Scaling,
    ScalingPoint,
    Seconds,
    Strided,
    Team,
    Toolchain,
    Work,
)
from ert.roofline.placing.place import Placement

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GIGA = 1e9
CLOCK = 3.67e9

ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}
MULTIPLY_ADDS = tuple(2**i for i in range(9))

ONE = Team("one", (0,), 1)
BOTH = Team("all", (0, 1), 2)

Bandwidths = Mapping[str, Mapping[str, float]]
"""Level -> access mix -> GB/s."""

ZEN4_COMPUTE = {
    "fp64": {512: 58.6, 256: 58.8, 128: 29.4, 64: 14.7},
    "fp32": {512: 117.0, 256: 117.2, 128: 58.7, 32: 14.7},
}
ZEN4_MEMORY = {
    "L1": {"load": 233.0, "load2_store1": 328.0, "copy": 214.0, "triad": 294.0, "update": 213.0, "store": 117.0},
    "L2": {"load": 117.0, "load2_store1": 88.0, "copy": 79.0, "triad": 87.0, "update": 98.0, "store": 59.0},
    "L3": {"load": 98.0, "load2_store1": 61.0, "copy": 52.0, "triad": 61.0, "update": 71.0, "store": 38.0,
           "load2_store1_nt": 33.0, "copy_nt": 32.0, "triad_nt": 33.0, "store_nt": 29.0},
    "DRAM": {"load": 30.0, "load2_store1": 24.0, "copy": 21.0, "triad": 24.0, "update": 27.0, "store": 13.0,
             "load2_store1_nt": 28.0, "copy_nt": 27.5, "triad_nt": 28.2, "store_nt": 26.0},
}  # fmt: skip
ZEN4_CAPACITIES = {"L1": 32 * KIB, "L2": 1.02 * MIB, "L3": 7.2 * MIB}
ZEN4_DECLARED = {"L1": 32 * KIB, "L2": 1 * MIB, "L3": 32 * MIB}


def estimate(
    best: float, *, cores: int = 1, spread: float = 0.003, grade: Grade = "A", clock: float | None = CLOCK
) -> Estimate:
    """Return the estimate of a rate in units per second that `cores` cores make together at `clock` hertz."""
    return Estimate(
        best=best,
        median=best * (1 - spread),
        per_cycle=best / clock / cores if clock else None,
        spread=spread,
        grade=grade,
        samples=18,
        clock_hz=clock,
    )


def compute_roofs(rates: Mapping[str, Mapping[int, float]], team: Team, factor: float = 1.0) -> tuple[ComputeRoof, ...]:
    """Return one multiply-add roof a precision and width, from GFLOP/s; the best of a precision is its headline."""
    return tuple(
        ComputeRoof(
            name=f"{precision} fma {bits}-bit",
            precision=precision,
            instructions="fma",
            vector_bits=bits,
            accumulators=8,
            team=team,
            rate=estimate(rate * factor * GIGA, cores=team.cores),
            verified=True,
            headline=rate == max(widths.values()),
        )
        for precision, widths in rates.items()
        for bits, rate in widths.items()
    )


def memory_roofs(
    rates: Bandwidths,
    team: Team,
    factors: Mapping[str, float] | None = None,
    *,
    capacities: Mapping[str, float] | None = None,
    declared: Mapping[str, int] | None = None,
) -> tuple[MemoryRoof, ...]:
    """Return one roof a level and mix, from GB/s of program bytes, and where they differ the count in traffic bytes."""
    extra = {"load2_store1": 4 / 3, "copy": 3 / 2, "triad": 4 / 3, "store": 2.0}
    found = []
    for level, mixes in rates.items():
        factor = (factors or {}).get(level, 1.0) * GIGA
        exact = {mix: rate for mix, rate in mixes.items() if level == "L1" or mix == "load" or mix.endswith("_nt")}
        for mix, rate in mixes.items():
            counts = [("program", 1.0)] + ([("traffic", extra[mix])] if level != "L1" and mix in extra else [])
            found += [
                MemoryRoof(
                    name=f"{level} {mix}" + (" (traffic)" if counted == "traffic" else ""),
                    level=level,
                    mix=mix,
                    vector_bits=256,
                    team=team,
                    bytes_counted="traffic" if counted == "traffic" else "program",
                    working_set=16 * KIB,
                    rate=estimate(rate * factor * more, cores=team.cores),
                    verified=True,
                    headline=counted == "program" and mix == max(exact, key=lambda name: exact[name]),
                    declared=(declared or {}).get(level),
                    capacity=(capacities or {}).get(level),
                )
                for counted, more in counts
            ]
    return tuple(found)


def intensity_points(
    compute: Sequence[ComputeRoof], memory: Sequence[MemoryRoof], multiply_adds: Sequence[int] = MULTIPLY_ADDS
) -> tuple[IntensityPoint, ...]:
    """Return load-only points that follow min(P, I x B), 1 % below it."""
    found = []
    for load in memory:
        if load.mix != "load" or load.bytes_counted != "program":
            continue
        for peak in compute:
            if not peak.headline:
                continue
            for k in multiply_adds:
                intensity = 2 * k / ELEMENT_BYTES[peak.precision]
                rate = 0.99 * min(peak.rate.best, intensity * load.rate.best)
                found.append(
                    IntensityPoint(
                        level=load.level,
                        mix="load",
                        precision=peak.precision,
                        team=load.team,
                        multiply_adds=k,
                        intensity=intensity,
                        flop_rate=estimate(rate, cores=load.team.cores),
                        byte_rate=estimate(rate / intensity, cores=load.team.cores),
                        verified=True,
                    )
                )
    return tuple(found)


def ridge_points(compute: Sequence[ComputeRoof], memory: Sequence[MemoryRoof]) -> tuple[RidgePoint, ...]:
    """Return where the headline roofs of a team meet."""
    return tuple(
        RidgePoint(peak, slope, peak.rate.best / slope.rate.best)
        for peak in compute
        for slope in memory
        if peak.headline and slope.headline
    )


def curve(
    team: Team,
    heights: Mapping[str, float],
    capacities: Mapping[str, float],
    declared: Mapping[str, int],
    *,
    smallest: int = 4 * KIB,
    largest: int = 128 * MIB,
    spread: float = 0.03,
) -> Curve:
    """Return a bandwidth curve with heights in GB/s that leaves each level at its capacity in bytes of one thread."""
    names = list(heights)
    edges = [capacities[name] for name in names[:-1]]
    points = []
    size = float(smallest)
    while size <= largest * 1.001:
        value = heights[names[0]]
        for edge, upper, lower in zip(edges, names, names[1:], strict=False):
            value *= (heights[lower] / heights[upper]) ** (1 / (1 + (edge / size) ** 5))
        points.append(CurvePoint(round(size), estimate(value * GIGA, cores=team.cores, spread=spread)))
        size *= 2**0.25
    lower_edges = [float(smallest), *(edge * 1.5 for edge in edges)]
    upper_edges = [*(edge / 1.3 for edge in edges), float(largest)]
    plateaus = tuple(
        Plateau(
            name=name,
            value=heights[name] * GIGA,
            first=round(low),
            last=round(high),
            capacity=capacities.get(name),
            declared=declared.get(name),
        )
        for name, low, high in zip(names, lower_edges, upper_edges, strict=True)
    )
    return Curve(team, tuple(points), plateaus)


def machine(
    compute: Mapping[str, Mapping[int, float]],
    memory: Bandwidths,
    teams: Mapping[Team, Mapping[str, float]],
    *,
    capacities: Mapping[str, float] | None = None,
    declared: Mapping[str, int] | None = None,
    notes: tuple[str, ...] = (),
    largest: int = 128 * MIB,
) -> Roofline:
    """Return a roofline of several teams.

    Parameters
    ----------
    compute : mapping
        Precision -> vector bits -> GFLOP/s of one core.
    memory : mapping
        Level -> access mix -> GB/s of one thread; each level needs ``"load"``.
    teams : mapping
        Team -> level -> how many times the bandwidth of one thread it reaches; a level left out scales with the cores.
    """
    capacities = capacities or {level: 32.0 * KIB * 16**i for i, level in enumerate(list(memory)[:-1])}
    declared = declared or {}
    all_compute: list[ComputeRoof] = []
    all_memory: list[MemoryRoof] = []
    points: list[IntensityPoint] = []
    ridges: list[RidgePoint] = []
    curves: list[Curve] = []
    for team, scaling in teams.items():
        factors = {level: scaling.get(level, float(team.cores)) for level in memory}
        peaks = compute_roofs(compute, team, team.cores)
        slopes = memory_roofs(memory, team, factors, capacities=capacities, declared=declared)
        all_compute += peaks
        all_memory += slopes
        points += intensity_points(peaks, slopes)
        ridges += ridge_points(peaks, slopes)
        heights = {level: mixes["load"] * factors[level] for level, mixes in memory.items()}
        curves.append(curve(team, heights, capacities, declared, largest=largest))
    return Roofline(tuple(all_compute), tuple(all_memory), tuple(points), tuple(ridges), tuple(curves), notes)


def zen4() -> Roofline:
    """Return the roofline of a two-core Zen 4 guest: twice the rates with two threads, but for DRAM."""
    return machine(
        ZEN4_COMPUTE,
        ZEN4_MEMORY,
        {ONE: {"L1": 1, "L2": 1, "L3": 1, "DRAM": 1}, BOTH: {"DRAM": 5 / 3}},
        capacities=ZEN4_CAPACITIES,
        declared=ZEN4_DECLARED,
    )


def zen4_host() -> Host:
    """Return the host that :func:`zen4` stands for."""
    return Host(
        system="Linux",
        machine="x86_64",
        kernel="6.1.0",
        cpu_model="AMD EPYC 9R14",
        vendor="AuthenticAMD",
        identity=(("family", 25), ("model", 17), ("stepping", 1)),
        cpus=(Cpu(0, 0), Cpu(1, 1)),
        caches=(
            Cache("L1", 32 * KIB, (0,), 64),
            Cache("L1", 32 * KIB, (1,), 64),
            Cache("L2", MIB, (0,), 64),
            Cache("L2", MIB, (1,), 64),
            Cache("L3", 32 * MIB, (0, 1), 64),
        ),
        nodes=(Node(0, (0, 1), 16 * GIB),),
        memory_total=16 * GIB,
        memory_available=14 * GIB,
        hypervisor="KVM",
        thp="madvise",
    )


def zen4_toolchain() -> Toolchain:
    """Return the toolchain of the same results."""
    return Toolchain(
        versions=(("ert-roofline", "0.1.0"), ("python", "3.11.7"), ("numba", "0.61.0"), ("llvm", "15.0.7")),
        target="znver4",
        features=("avx2", "avx512f", "fma"),
        vector_bits=(128, 256, 512),
    )


def zen4_results(**changes: object) -> Results:
    """Return results without measurements, for what only names the machine and the sweep."""
    fields: dict[str, object] = {
        "started": "2026-03-01T09:30:00Z",
        "host": zen4_host(),
        "toolchain": zen4_toolchain(),
        "measurements": (),
        "seconds": Seconds(total=52.0, compiling=9.1, measuring=38.0),
        **changes,
    }
    return Results(**fields)  # type: ignore[arg-type]


ZEN4_CEILINGS = {
    "fma_add_2_1": 73.4, "fma_add_1_1": 88.0, "fma_add_1_2": 58.7, "mul_add_unfused": 58.7, "add": 29.4, "mul": 29.3,
    "divide": 3.27, "sqrt": 1.84,
}  # fmt: skip
"""GFLOP/s of one core in fp64 at 512 bits; twice that in fp32 but for division and root."""

ZEN4_CYCLES = {("fp64", "fma"): 4.02, ("fp64", "add"): 3.01, ("fp32", "fma"): 4.02, ("bf16", "dot"): 6.05,
               ("int8", "dot"): 4.03}  # fmt: skip


def zen4_ceilings() -> Roofline:
    """Return :func:`zen4` with the ceilings and dot products of such a core as a sweep finds them."""
    bare = machine(
        {**ZEN4_COMPUTE, "bf16": {512: 235.0, 128: 117.0}, "int8": {512: 470.0, 256: 469.0}},
        ZEN4_MEMORY,
        {ONE: {"L1": 1, "L2": 1, "L3": 1, "DRAM": 1}, BOTH: {"DRAM": 5 / 3}},
        capacities=ZEN4_CAPACITIES,
        declared=ZEN4_DECLARED,
    )
    bare = _renamed_dots(bare)
    extra = []
    for team in (ONE, BOTH):
        for precision, factor in (("fp64", 1.0), ("fp32", 2.0)):
            for name, rate in ZEN4_CEILINGS.items():
                if team == ONE or name.startswith("fma_add"):
                    extra.append(_ceiling(team, precision, name, rate * factor * team.cores, above=rate > 60))
    for precision, instructions, rates in (
        ("fp64", "fma", {1: 14.7, 2: 29.4, 4: 58.6}),
        ("fp32", "fma", {1: 29.3, 2: 58.7, 4: 117.1}),
        ("bf16", "dot", {1: 39.4, 2: 78.2, 4: 157.0}),
        ("int8", "dot", {1: 117.0, 2: 235.0, 4: 469.0}),
    ):
        extra += [_ceiling(ONE, precision, instructions, rate, chains) for chains, rate in rates.items()]
    latencies = tuple(
        InstructionLatency(
            f"{precision} {name} 512-bit", precision, name, 512, ONE, cycles, estimate(CLOCK / cycles),
            None if name == "add" else 8 if precision == "bf16" else 4, True,
        )
        for (precision, name), cycles in ZEN4_CYCLES.items()
    )  # fmt: skip
    return replace(bare, compute=(*bare.compute, *extra), instruction_latencies=latencies)


def _renamed_dots(roofline: Roofline) -> Roofline:
    """Call the arithmetic of bf16 and int8 what it is."""

    def renamed(roof: ComputeRoof) -> ComputeRoof:
        if roof.precision not in ("bf16", "int8"):
            return roof
        return replace(roof, name=roof.name.replace("fma", "dot"), instructions="dot")

    return replace(
        roofline,
        compute=tuple(renamed(roof) for roof in roofline.compute),
        ridges=tuple(replace(ridge, compute=renamed(ridge.compute)) for ridge in roofline.ridges),
        points=tuple(point for point in roofline.points if point.precision in ("fp64", "fp32")),
    )


def _ceiling(
    team: Team, precision: str, instructions: str, rate: float, chains: int = 0, above: bool = False
) -> ComputeRoof:
    words = f", {chains} chain{'s' if chains > 1 else ''}" if chains else ""
    return ComputeRoof(
        f"{precision} {instructions} 512-bit{words}", precision, instructions, 512, chains or 16, team,
        estimate(rate * GIGA, cores=team.cores), True, above=above, few_chains=bool(chains),
    )  # fmt: skip


def server() -> Roofline:
    """Return a 128-core machine: fp64 at several TFLOP/s, L1 at tens of TB/s."""
    many = Team("all", tuple(range(128)), 128)
    return machine(
        ZEN4_COMPUTE, ZEN4_MEMORY, {ONE: {}, many: {"DRAM": 15.3, "L3": 96.0}},
        capacities=ZEN4_CAPACITIES, declared=ZEN4_DECLARED, largest=512 * MIB,
    )  # fmt: skip


def six_levels() -> Roofline:
    """Return a machine with an L4 and two kinds of memory."""
    memory = {
        "L1": {"load": 400.0, "copy": 380.0},
        "L2": {"load": 190.0},
        "L3": {"load": 96.0},
        "L4": {"load": 55.0},
        "HBM": {"load": 31.0},
        "DRAM": {"load": 14.0},
    }
    capacities = {"L1": 48 * KIB, "L2": 2 * MIB, "L3": 12 * MIB, "L4": 60 * MIB, "HBM": 1.0 * GIB}
    declared = {"L1": 48 * KIB, "L2": 2 * MIB, "L3": 30 * MIB, "L4": 64 * MIB}
    return machine(
        {"fp64": {512: 95.0, 256: 48.0, 128: 24.0}}, memory, {ONE: {}},
        capacities=capacities, declared=declared, largest=8 * GIB,
    )  # fmt: skip


def close_levels() -> Roofline:
    """Return a machine whose L2, L3 and memory are nearly as fast as each other."""
    memory = {"L1": {"load": 233.0}, "L2": {"load": 101.0}, "L3": {"load": 98.0}, "DRAM": {"load": 95.0}}
    return machine(ZEN4_COMPUTE, memory, {ONE: {}}, capacities=ZEN4_CAPACITIES, declared=ZEN4_DECLARED)


def one_level() -> Roofline:
    """Return a machine of which only one level, one precision and one width are known."""
    return machine({"fp32": {128: 16.0}}, {"DRAM": {"load": 9.0}}, {ONE: {}}, largest=16 * MIB)


def multi_precision() -> Roofline:
    """Return a machine with five precisions, integers among them."""
    compute = {**ZEN4_COMPUTE, "fp16": {512: 233.0}, "bf16": {512: 234.0}, "int8": {512: 470.0}}
    return machine(
        compute,
        ZEN4_MEMORY,
        {ONE: {"DRAM": 1}, BOTH: {"DRAM": 5 / 3}},
        capacities=ZEN4_CAPACITIES,
        declared=ZEN4_DECLARED,
    )


# ---------------------------------------------------------------------- latency, concurrency, irregular access

ZEN4_LATENCIES = {
    "random": {"L1": 1.08, "L2": 3.8, "L3": 14.0, "DRAM": 167.0},
    "page": {"L1": 1.08, "L2": 2.43, "L3": 5.81, "DRAM": 68.9},
}
"""Pattern -> level -> ns."""


def latency_curve(
    team: Team, pattern: str, values: Mapping[str, float], capacities: Mapping[str, float], declared: Mapping[str, int]
) -> LatencyCurve:
    """Return a latency curve with levels of so many ns that end at the capacities in bytes."""
    rates = curve(team, {level: 1000.0 / value for level, value in values.items()}, capacities, declared)
    points = tuple(LatencyPoint(point.working_set, estimate(point.rate.best / 1000)) for point in rates.points)
    plateaus = tuple(replace(plateau, value=1000.0 / plateau.value) for plateau in rates.plateaus)
    return LatencyCurve(team, pattern, points, plateaus, ("a note of the curve",))


def irregular(
    latencies: Mapping[str, Mapping[str, float]] | None = None, *, threads: Sequence[int] = (1, 2)
) -> Roofline:
    """Return :func:`zen4` with all that is measured beside roofs; `latencies` as :data:`ZEN4_LATENCIES`."""
    latencies = latencies or ZEN4_LATENCIES
    curves = tuple(
        latency_curve(ONE, pattern, values, ZEN4_CAPACITIES, ZEN4_DECLARED) for pattern, values in latencies.items()
    )
    found = tuple(
        Latency(
            level, pattern, ONE, value * 1e-9, value * 1e-9 * CLOCK, estimate(1e9 / value),
            ZEN4_CAPACITIES.get(level), ZEN4_DECLARED.get(level),
        )
        for pattern, values in latencies.items()
        for level, value in values.items()
    )  # fmt: skip
    access = tuple(
        RandomAccess(
            "DRAM", team, chains, 128 * MIB, 64, estimate(team.threads * min(chains, 20) * 0.384e9),
            float(team.threads * min(chains, 20)), True, chains == 24,
        )
        for team in (ONE, BOTH)
        for chains in (1, 2, 4, 8, 16, 24, 32)
    )  # fmt: skip
    laws = tuple(
        Concurrency("DRAM", team, bandwidth, 167e-9, bandwidth * 167e-9, team.threads * 20 * 64.0, 24)
        for team, bandwidth in ((ONE, 30e9), (BOTH, 50e9))
    )
    lines = {"L1": None, "L2": 110e9, "L3": 90e9, "DRAM": 9e9}
    gathers = tuple(
        Gather(level, team, size, size, MIB, estimate(2e9 * size), 2e9 * size, line, True)
        for team in (ONE, BOTH) for level, line in lines.items() for size in (4, 8)
    )  # fmt: skip
    strides = tuple(
        Strided(level, team, stride, MIB, estimate(14.5e9), line, True)
        for team in (ONE, BOTH) for level, line in lines.items() for stride in (1, 8, 64)
    )  # fmt: skip
    teams = [Team(str(number), tuple(range(number)), number) for number in threads]
    scaling = tuple(
        Scaling(
            level,
            tuple(ScalingPoint(team, estimate(min(team.threads * rate, most) * GIGA), True) for team in teams),
            next((team for team in teams[:-1] if team.threads * rate >= most), None),
        )
        for level, rate, most in (("L3", 98.0, 1e9), ("DRAM", 30.0, 60.0))
    )
    costs = {"first start": 10e-6, "last end": 14e-6, "barrier": 30e-9}
    overheads = tuple(
        Overhead(kind, team, estimate(1 / (team.threads * seconds)))
        for team in (ONE, BOTH) for kind, seconds in costs.items()
    )  # fmt: skip
    return replace(
        zen4(), latency_curves=curves, latencies=found, random_access=access, concurrency=laws, gathers=gathers,
        strides=strides, scaling=scaling, overheads=overheads,
    )  # fmt: skip


def zen4_whole() -> Roofline:
    """Return :func:`irregular` with the ceilings of :func:`zen4_ceilings`: all that a sweep finds."""
    ceilings = zen4_ceilings()
    return replace(
        irregular(), compute=ceilings.compute, ridges=ceilings.ridges,
        instruction_latencies=ceilings.instruction_latencies,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------- application kernels


def kernel(name: str = "stream_triad_nt", family: str = "stream", **changes: object) -> Kernel:
    """Return a kernel as a catalogue would describe it."""
    fields: dict[str, object] = {
        "title": name.replace("_", " "),
        "implementation": "explicit vectors",
        "flop": "2 n",
        "read": "2 n s",
        "written": "n s",
        "compulsory": "3 n s",
        "traffic": "3 n s",
        "source": "McCalpin, STREAM",
        "instructions": "fma",
        **changes,
    }
    return Kernel(name, family, **fields)  # type: ignore[arg-type]


def kernel_measurement(
    kernel: Kernel,
    work: Work,
    seconds: float,
    *,
    team: Team = BOTH,
    precision: str = "fp64",
    level: str = "DRAM",
    parameters: tuple[tuple[str, int | str], ...] = (),
    code: Code | None = None,
    working_set: int = 128 * MIB,
    error: str = "",
) -> Measurement:
    """Return the measurement of a kernel whose best pass takes so long; three rounds, 0.2 % apart."""
    status = {"explicit vectors": "verified", "compiled loops": "compiled", "library": "library"}[kernel.implementation]
    samples = tuple(
        Sample(i, 4, 4 * seconds * (1 + 0.002 * i), clocks_hz=(CLOCK,) * team.threads, at=float(i)) for i in range(3)
    )
    case = Case(kernel.name, team, precision, working_set=working_set, level=level, parameters=parameters)
    return Measurement(case, work, code or Code(status), () if error else samples, error)  # type: ignore[arg-type]


def lower_bound(roofline: Roofline, kernel: Kernel, work: Work, team: Team, precision: str, level: str) -> float:
    """Return the seconds that a pass takes at least: under the headline peak, and the roof of the mix by its name."""
    peak = next(
        (r.rate.best for r in roofline.compute if r.team == team and r.precision == precision and r.headline), None
    )
    slopes = [r for r in roofline.memory if (r.team, r.level) == (team, level)]
    mine = [r for r in slopes if r.mix == kernel.mix] or [r for r in slopes if r.headline]
    return max(work.flop / peak if peak else 0.0, work.traffic_bytes(level) / mine[-1].rate.best if mine else 0.0)


SCALAR = Code("compiled", found=(("add", 1), ("loads", 2), ("mul", 1), ("vector_bits", 64)))
MEGA = 1 << 20

Planted = tuple[Kernel, int, int, int, int, int | None, float, tuple[tuple[str, int | str], ...]]
"""Kernel, FLOP, elements read, written, allocated and of traffic (None: a stream's), efficiency, parameters."""


def planted_kernels() -> tuple[Planted, ...]:
    """Return a kernel of each family as a sweep would choose them, with the efficiency that they shall have."""
    n = 16 * MEGA
    gemm = 2 * 2048**3
    small = 2 * 512**3
    square, few = 3 * 2048**2, 3 * 512**2
    nonzeros = 20 * MEGA
    ladder = [
        ("naive", "three loops", "compiled loops", 0.012), ("reordered", "loops reordered", "compiled loops", 0.12),
        ("vectorised", "vectorised", "explicit vectors", 0.25), ("blocked", "cache blocks", "explicit vectors", 0.45),
        ("packed", "register blocks, packing", "explicit vectors", 0.87), ("blas", "NumPy's BLAS", "library", 0.93),
    ]  # fmt: skip
    rungs = tuple(
        (
            kernel(f"gemm_{name}", "dense", title=f"GEMM, {title}", implementation=made, ladder="gemm", rung=i),
            gemm if i > 2 else small, gemm if i < 5 else gemm // 16, 0, 0, square if i > 2 else few, efficiency,
            (("n", 2048 if i > 2 else 512),),
        )
        for i, (name, title, made, efficiency) in enumerate(ladder, 1)
    )  # fmt: skip
    batches = tuple(
        (
            kernel("decode", "dense", title="batched decode"), 2 * batch * 4 * MEGA * 4, 4 * MEGA * 4, 0, 0, None,
            0.9 if batch < 64 else 0.7, (("batch", batch), ("n", 4096)),
        )
        for batch in (1, 4, 16, 64)
    )  # fmt: skip
    size = (("n", n),)
    sparse = {"limit": "gather", "mix": "load"}
    return (
        (kernel("stream_copy", mix="copy", instructions=""), 0, n, n, n, None, 0.97, size),
        (kernel("stream_triad_nt", mix="triad_nt"), 2 * n, 2 * n, n, 0, None, 0.98, size),
        (kernel("fill", mix="store", instructions=""), 0, 0, n, n, None, 0.99, size),
        (kernel("dot", "vector"), 2 * n, 2 * n, 0, 0, None, 0.96, size),
        (kernel("axpy", "vector", mix="update"), 2 * n, 2 * n, n, 0, None, 0.93, size),
        (kernel("gelu", "vector", mix="copy", notes="exp counts 12"), 20 * n, n, n, n, None, 0.71, size),
        (kernel("gemv", "dense"), 2 * n, n, 0, 0, None, 0.95, (("n", 4096),)),
        *rungs,
        *batches,
        (kernel("spmv_csr", "sparse", **sparse), 2 * nonzeros, 2 * nonzeros, 4 * MEGA, 0, None, 0.91,
         (("matrix", "laplacian_2d"), ("n", 4 * MEGA))),
        (kernel("spmv_csr", "sparse", **sparse), 2 * nonzeros, 2 * nonzeros, 4 * MEGA, 0, None, 0.18,
         (("matrix", "random_uniform"), ("n", 4 * MEGA))),
        (kernel("jacobi_2d", "stencil", mix="copy", instructions="add"), 5 * n, 5 * n, n, n, 3 * n, 0.9, size),
        (kernel("conv_3x3", "convolution"), 2 * 9 * 64 * 64 * MEGA // 4, 9 * 64 * MEGA, 16 * MEGA, 0, 32 * MEGA, 0.62,
         (("channels", 64), ("n", 512))),
        (kernel("fft", "spectral", mix="update", implementation="library", nominal=True, instructions="fma_add_1_1"),
         5 * 4 * MEGA * 22, 8 * MEGA, 8 * MEGA, 0, None, 0.21, (("n", 4 * MEGA),)),
        (kernel("softmax", "neural", mix="copy", implementation="compiled loops"), 16 * n, 3 * n, n, n, None, 0.4,
         size),
        (kernel("attention_decode", "neural"), 4 * n, 2 * n, 0, 0, None, 0.88, (("keys", 8192), ("width", 128))),
        (kernel("embedding", "neural", mix="copy", limit="gather", instructions=""), 0, n, n, 0, None, 0.3, size),
        (kernel("adam", "neural", mix="update", notes="division and root count 1"), 14 * n, 4 * n, 3 * n, 0, None,
         0.9, size),
    )  # fmt: skip


def kernel_results(
    roofline: Roofline | None = None,
    *,
    teams: Sequence[Team] = (BOTH,),
    precisions: Sequence[str] = ("fp64",),
    level: str = "DRAM",
    most: int | None = None,
) -> Results:
    """Return results of application kernels, and nothing else, that lie under a roofline as planted.

    Parameters
    ----------
    roofline : Roofline
        :func:`zen4` where none is given. Place them with ``place(kernel_results(r), r)``.
    most : int
        So many cases at most.
    """
    roofline = roofline or zen4()
    measurements = []
    for team in teams:
        for precision in precisions:
            s = ELEMENT_BYTES[precision]
            for entry, flop, read, written, allocated, traffic, efficiency, parameters in planted_kernels():
                work = Work(
                    flop,
                    s * read,
                    s * written,
                    s * allocated,
                    compulsory_bytes=s * (traffic or read + written),
                    level_bytes=() if traffic is None else ((level, s * traffic),),
                )
                least = lower_bound(roofline, entry, work, team, precision, level)
                code = SCALAR if entry.implementation == "compiled loops" else None
                measurements.append(
                    kernel_measurement(
                        entry,
                        work,
                        least / efficiency,
                        team=team,
                        precision=precision,
                        level=level,
                        parameters=parameters,
                        code=code,
                    )
                )
    measurements = measurements[:most]
    names = {measurement.case.probe for measurement in measurements}
    known = {entry[0].name: entry[0] for entry in planted_kernels() if entry[0].name in names}
    return zen4_results(measurements=tuple(measurements), kernels=tuple(known.values()))


def placement(
    name: str = "stream_triad_nt",
    family: str = "stream",
    *,
    roofline: Roofline | None = None,
    team: Team = BOTH,
    precision: str = "fp64",
    level: str = "DRAM",
    intensity: float = 0.1,
    efficiency: float = 0.9,
    parameters: tuple[tuple[str, int | str], ...] = (),
    facts: Mapping[str, object] | None = None,
    **changes: object,
) -> Placement:
    """Return a kernel at an intensity, at so much of what the headline roofs allow; 0 is a kernel without FLOP.

    `facts` change the kernel, `changes` the placement.
    """
    roofline = roofline or zen4()
    peak = next(r for r in roofline.compute if (r.team, r.precision) == (team, precision) and r.headline)
    slope = next(r for r in roofline.memory if (r.team, r.level) == (team, level) and r.headline)
    entry = kernel(name, family, **{"instructions": "fma" if intensity else "", **(facts or {})})
    traffic = 256 * MIB
    work = Work(round(intensity * traffic), traffic)
    least = max(work.flop / peak.rate.best, traffic / slope.rate.best)
    seconds = least / efficiency
    measured = kernel_measurement(
        entry, work, seconds, team=team, precision=precision, level=level, parameters=parameters
    )
    flop_rate, byte_rate = work.flop / seconds, traffic / seconds
    compute_share = flop_rate / peak.rate.best if work.flop else None
    memory_share = byte_rate / slope.rate.best
    near = "memory" if memory_share >= (compute_share or 0.0) else "compute"
    fields: dict[str, object] = {
        "kernel": entry, "case": measured.case, "work": work, "code": measured.code, "level": level,
        "intensity": intensity, "program_intensity": intensity,
        "flop_rate": estimate(flop_rate, cores=team.cores) if work.flop else None,
        "byte_rate": estimate(byte_rate, cores=team.cores),
        "compute_roof": peak if work.flop else None, "memory_roof": slope, "beside": False,
        "attainable": min(peak.rate.best, intensity * slope.rate.best) if work.flop else slope.rate.best,
        "compute_share": compute_share, "memory_share": memory_share, "efficiency": efficiency,
        "bound": near if efficiency >= 0.5 else "neither", "seconds": seconds, "lower_bound": least,
        "rule": "planted", "advice": ("What to do about it.",), **changes,
    }  # fmt: skip
    return Placement(**fields)  # type: ignore[arg-type]
