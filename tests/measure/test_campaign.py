"""The whole sweep on a synthetic machine: what was planted must come back."""

from __future__ import annotations

import pytest

from ert.measure import irregular, plan
from ert.measure.campaign import Campaign
from ert.measure.plan import Settings
from ert.roofline.fitting.fit import fit
from ert.roofline.model import Case, Host, Measurement, Results, Roofline, Sample, Seconds
from tests.machine import CLOCK_HZ, TOOLCHAIN, SyntheticMachine, synthetic_host, teams_of


class Notebook:
    """Records what a journal would, and what a progress display would."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []
        self.samples: list[tuple[Case, Sample]] = []
        self.errors: list[str] = []
        self.steps: list[tuple[int, str, float]] = []
        self.totals: list[int] = []

    def measurement(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)

    def sample(self, case: Case, sample: Sample) -> None:
        self.samples.append((case, sample))

    def error(self, case: Case, text: str) -> None:
        self.errors.append(text)

    def step(self, done: int, what: str, seconds_left: float) -> None:
        self.steps.append((done, what, seconds_left))

    def total(self, steps: int) -> None:
        self.totals.append(steps)


def campaign(
    machine: SyntheticMachine,
    host: Host | None = None,
    settings: Settings | None = None,
    notebook: Notebook | None = None,
    earlier: tuple[Measurement, ...] = (),
    widths: dict[str, tuple[int, ...]] | None = None,
    fma: bool = True,
) -> Campaign:
    host = host or synthetic_host()
    settings = settings or Settings(effort="quick")
    teams = teams_of(host, settings.threads)
    notebook = notebook or Notebook()
    return Campaign(
        machine,
        host,
        TOOLCHAIN,
        teams,
        {team: plan.largest_working_set(host, team, 1 << 30) for team in (*teams.usual, *teams.extra, *teams.pairs)},
        settings,
        registers=32,
        fma=fma,
        widths=widths,
        absent=(("fp16", "vfmadd231ph"),) if widths else (),
        started="2026-11-29T00:00:00Z",
        elapsed=machine.elapsed,
        recorder=notebook,
        listener=notebook,
        earlier=earlier,
        room={team: plan.room_for(host, team, 4 << 30) for team in (*teams.usual, *teams.extra)},
    )


def sweep(machine: SyntheticMachine, **more: object) -> tuple[Results, Roofline]:
    one = campaign(machine, **more)  # type: ignore[arg-type]
    one.run()
    results = one.results(complete=True, seconds=Seconds())
    return results, fit(results)


def headline(roofline: Roofline, threads: int) -> dict[str, float]:
    found = {roof.level: roof.rate.best for roof in roofline.memory if roof.headline and roof.team.threads == threads}
    found |= {r.precision: r.rate.best for r in roofline.compute if r.headline and r.team.threads == threads}
    return found


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_what_was_planted_comes_back(effort: str) -> None:
    machine = SyntheticMachine(noise=0.02)
    _, roofline = sweep(machine, settings=Settings(effort=effort))
    assert roofline.notes == ()
    for threads in (1, 2):
        found = headline(roofline, threads)
        assert set(found) == {"fp64", "fp32", "L1", "L2", "L3", "DRAM"}
        planted = {"fp64": 48e9, "fp32": 96e9, "L1": 192e9, "L2": 96e9, "L3": 60e9, "DRAM": 1.25 * 20e9}
        for name, value in planted.items():
            assert found[name] == pytest.approx(threads * value, rel=0.03), name


def test_the_effective_capacities_are_those_planted() -> None:
    _, roofline = sweep(SyntheticMachine(noise=0.02), settings=Settings(effort="default"))
    one = roofline.curves[0]
    assert [plateau.name for plateau in one.plateaus] == ["L1", "L2", "L3", "DRAM"]
    for plateau, planted in zip(one.plateaus, (32 << 10, 1 << 20, 8 << 20), strict=False):
        assert plateau.capacity == pytest.approx(planted, rel=0.25)
    assert [plateau.declared for plateau in one.plateaus] == [32 << 10, 1 << 20, 16 << 20, None]


def test_intensity_points_follow_the_roofline() -> None:
    machine = SyntheticMachine()
    _, roofline = sweep(machine, settings=Settings(effort="default"))
    heights = {name: value for name, value, _ in machine.levels}
    assert len(roofline.points) == 2 * 2 * 4 * 9
    for point in roofline.points:
        expected = min(machine.peaks[point.precision], point.intensity * heights[point.level]) * point.team.threads
        assert point.flop_rate.best == pytest.approx(expected, rel=1e-6)
        assert point.intensity == 2 * point.multiply_adds / {"fp64": 8, "fp32": 4}[point.precision]


def test_every_pair_of_headline_roofs_has_its_ridge_point() -> None:
    _, roofline = sweep(SyntheticMachine())
    assert len(roofline.ridges) == 2 * 2 * 4
    for ridge in roofline.ridges:
        assert ridge.compute.team == ridge.memory.team
        assert ridge.intensity == pytest.approx(ridge.compute.rate.best / ridge.memory.rate.best)


def test_rates_per_cycle_are_for_one_core() -> None:
    _, roofline = sweep(SyntheticMachine())
    for roof in roofline.compute:
        if roof.headline:
            expected = {"fp64": 48e9, "fp32": 96e9}[roof.precision] / CLOCK_HZ
            assert roof.rate.per_cycle == pytest.approx(expected)


def test_the_pre_pass_finds_enough_accumulators_and_the_best_width() -> None:
    results, roofline = sweep(SyntheticMachine(chains_needed=16, best_bits=512))
    best = next(roof for roof in roofline.compute if roof.headline)
    assert best.accumulators >= 16
    assert best.vector_bits == 512
    assert all(
        measurement.case.vector_bits == 512
        for measurement in results.measurements
        if measurement.case.probe == "memory"
    )


def test_what_is_not_verified_never_becomes_a_headline() -> None:
    machine = SyntheticMachine(unverified=lambda case: case.vector_bits == 512)
    _, roofline = sweep(machine)
    assert not any(roof.headline for roof in roofline.compute if roof.vector_bits == 512)
    assert any(not roof.verified for roof in roofline.compute)
    assert any("mismatch" in note for note in roofline.notes)
    assert headline(roofline, 1)["fp64"] == pytest.approx(48e9)


def test_a_wrong_result_leaves_a_note_and_no_roof() -> None:
    notebook = Notebook()
    machine = SyntheticMachine(wrong=lambda case: case.mix == "copy")
    _, roofline = sweep(machine, notebook=notebook)
    assert not any(roof.mix == "copy" for roof in roofline.memory)
    assert any("copy" in note and "instead of" in note for note in roofline.notes)
    assert notebook.errors


def test_a_slow_round_lowers_the_grade() -> None:
    _, calm = sweep(SyntheticMachine())
    quiet = {roof.name: roof.rate.grade for roof in calm.compute}
    assert set(quiet.values()) == {"A"}
    long = SyntheticMachine()
    sweep(long)
    half = long.now / 2
    _, disturbed = sweep(SyntheticMachine(slow=lambda now: 1.0 if now < half else 1.5))
    # Ceilings come late in the first round, so that some saw nothing but the slow spell.
    assert all(roof.rate.grade > "A" for roof in disturbed.compute if roof.headline)
    assert headline(disturbed, 1)["fp64"] == pytest.approx(48e9)


def test_every_sample_goes_to_the_journal_and_progress_reaches_the_end() -> None:
    notebook = Notebook()
    results, _ = sweep(SyntheticMachine(), notebook=notebook)
    stored = [(m.case, sample) for m in results.measurements for sample in m.samples]
    assert len(notebook.samples) == len(stored)
    assert set(notebook.samples) == set(stored)
    assert len(notebook.measurements) == len(results.measurements)
    assert notebook.totals
    assert notebook.steps[-1][0] == notebook.totals[-1]


def test_each_case_has_samples_of_every_round() -> None:
    results, _ = sweep(SyntheticMachine())
    rounds, sparse = plan.effort("quick").rounds, irregular.EFFORTS["quick"].rounds
    for measurement in results.measurements:
        expected = sparse if measurement.case.probe in irregular.PROBES else rounds
        assert {sample.round for sample in measurement.samples} == set(range(expected))


def interrupted_at(run: int) -> SyntheticMachine:
    def stop(number: int) -> None:
        if number == run:
            raise KeyboardInterrupt

    return SyntheticMachine(on_run=stop)


def test_an_early_stop_after_the_first_round_leaves_every_roof() -> None:
    whole = Notebook()
    sweep(SyntheticMachine(), notebook=whole)

    class Impatient(Notebook):
        def sample(self, case: Case, sample: Sample) -> None:
            if sample.round == 1 and case.probe == "compute":
                raise KeyboardInterrupt

    one = campaign(SyntheticMachine(), notebook=Impatient())
    with pytest.raises(KeyboardInterrupt):
        one.run()
    partial = one.results(complete=False, seconds=Seconds())
    assert len(partial.measurements) == len(whole.measurements)
    assert set(headline(fit(partial), 2)) == {"fp64", "fp32", "L1", "L2", "L3", "DRAM"}


@pytest.mark.parametrize("stop", [1, 40, 300, 900])
def test_a_resumed_sweep_ends_as_an_uninterrupted_one(stop: int) -> None:
    expected, _ = sweep(SyntheticMachine())
    one = campaign(interrupted_at(stop))
    with pytest.raises(KeyboardInterrupt):
        one.run()
    partial = one.results(complete=False, seconds=Seconds())
    finished, roofline = sweep(SyntheticMachine(), earlier=partial.measurements)
    assert {m.case for m in finished.measurements} == {m.case for m in expected.measurements}
    kept = {(m.case, s) for m in partial.measurements for s in m.samples}
    assert kept <= {(m.case, s) for m in finished.measurements for s in m.samples}
    counts = {m.case: len(m.samples) for m in expected.measurements}
    assert {m.case: len(m.samples) for m in finished.measurements} == counts
    assert headline(roofline, 1)["fp64"] == pytest.approx(48e9)


def test_without_declared_caches_the_curve_alone_names_the_levels() -> None:
    machine = SyntheticMachine()
    _, roofline = sweep(machine, host=synthetic_host(declared=False), settings=Settings(effort="default"))
    assert [plateau.name for plateau in roofline.curves[0].plateaus] == ["L1", "L2", "L3", "DRAM"]
    assert all(plateau.declared is None for plateau in roofline.curves[0].plateaus)


def test_one_core_is_measured_once() -> None:
    results, roofline = sweep(SyntheticMachine(), host=synthetic_host(1))
    assert len(roofline.teams) == 1
    assert len({m.case for m in results.measurements}) == len(results.measurements)


def test_the_seed_orders_the_later_rounds() -> None:
    orders = []
    for seed in (1, 1, 2):
        notebook = Notebook()
        sweep(SyntheticMachine(), notebook=notebook, settings=Settings(effort="quick", seed=seed))
        orders.append([case for case, sample in notebook.samples if sample.round == 1])
    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == set(orders[2])


# ------------------------------------------------------------------------------- ceilings, mixes, chains, precisions

EVERY = {"fp64": (128, 256, 512), "fp32": (128, 256, 512), "bf16": (512,), "int8": (128, 256, 512)}


def roofs(roofline: Roofline, threads: int, precision: str = "fp64") -> dict[str, float]:
    return {
        roof.name.removeprefix(f"{precision} "): roof.rate.best
        for roof in roofline.compute
        if roof.team.threads == threads and roof.precision == precision
    }


def test_every_precision_has_its_roof_and_ridge_points() -> None:
    results, roofline = sweep(SyntheticMachine(), widths=EVERY)
    planted = {"fp64": 48e9, "fp32": 96e9, "bf16": 192e9, "int8": 384e9}
    for threads in (1, 2):
        found = headline(roofline, threads)
        assert {name: found[name] / threads for name in planted} == pytest.approx(planted)
    assert {(r.compute.precision, r.memory.level) for r in roofline.ridges} == {
        (precision, level) for precision in planted for level in ("L1", "L2", "L3", "DRAM")
    }
    assert results.absent == (("fp16", "vfmadd231ph"),)
    assert {point.precision for point in roofline.points} == {"fp64", "fp32"}


def test_only_the_precisions_asked_for_are_measured() -> None:
    results, _ = sweep(SyntheticMachine(), widths=EVERY, settings=Settings(effort="quick", precisions="int8,fp32,fp16"))
    assert {m.case.precision for m in results.measurements if m.case.probe == "compute"} == {"int8", "fp32"}


def test_ceilings_come_back_as_planted() -> None:
    machine = SyntheticMachine(noise=0.02)
    _, roofline = sweep(machine, widths=EVERY, settings=Settings(effort="default"))
    found = roofs(roofline, 1)
    planted = {
        "fma 512-bit": 48e9, "fma 256-bit": 48e9, "fma 128-bit": 24e9, "fma 64-bit": 12e9,
        "add 512-bit": 24e9, "mul 512-bit": 24e9, "divide 512-bit": 4.8e9, "sqrt 512-bit": 2.4e9,
        "mul_add_unfused 512-bit": 48e9, "fma_add_1_1 512-bit": 48e9, "fma_add_1_2 256-bit": 43.2e9,
        "fma 512-bit, 1 chain": 6e9, "fma 512-bit, 2 chains": 12e9, "fma 512-bit, 4 chains": 24e9,
    }  # fmt: skip
    assert {name: found[name] for name in planted} == pytest.approx(planted, rel=0.03)
    # Of all threads the roofs, the mixes, and what kernels need that only add or multiply; the rest belongs to a core.
    assert {name.split()[0] for name in roofs(roofline, 2)} == {
        "fma", "fma_add_2_1", "fma_add_1_1", "fma_add_1_2", "add", "mul",
    }  # fmt: skip
    assert not any(roof.above for roof in roofline.compute)
    assert {roof.instructions for roof in roofline.compute if roof.headline} == {"fma", "dot"}


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_latency_and_saturating_chains_come_back(effort: str) -> None:
    # 8 chains of 4 lanes and 2 FLOP make 16 FLOP a cycle at 256 bits.
    machine = SyntheticMachine(
        best_bits=512, chains_needed=8, peaks={"fp64": 16 * 2 * CLOCK_HZ, "int8": 128 * CLOCK_HZ}
    )
    _, roofline = sweep(machine, widths={"fp64": (128, 256, 512), "int8": (512,)}, settings=Settings(effort=effort))
    found = {latency.name: latency for latency in roofline.instruction_latencies}
    assert set(found) == {"fp64 fma 512-bit", "fp64 add 512-bit", "fp64 mul 512-bit", "int8 dot 512-bit"}
    assert found["fp64 fma 512-bit"].cycles == pytest.approx(8 * 16 / 32)
    assert found["fp64 add 512-bit"].cycles == pytest.approx(8 * 8 / 16)
    assert found["int8 dot 512-bit"].cycles == pytest.approx(8 * 128 / 128)
    assert found["fp64 fma 512-bit"].saturating_chains == 8
    assert found["int8 dot 512-bit"].saturating_chains == 8
    assert found["fp64 add 512-bit"].saturating_chains is None


def test_a_mix_above_the_roof_is_marked_and_said_and_moves_no_ridge_point() -> None:
    machine = SyntheticMachine(instructions={"fma_add_1_1": 1.5, "fma_add_2_1": 1.25, "fma_add_1_2": 1.02, "add": 0.5})
    _, roofline = sweep(machine)
    above = {(roof.precision, roof.instructions) for roof in roofline.compute if roof.above}
    assert above == {(p, i) for p in ("fp64", "fp32") for i in ("fma_add_1_1", "fma_add_2_1")}
    assert headline(roofline, 1)["fp64"] == pytest.approx(48e9)
    assert {ridge.compute.instructions for ridge in roofline.ridges} == {"fma"}
    (note,) = roofline.notes
    assert "1 thread: fp64 fma_add_1_1 512-bit by 50 %, fp32 fma_add_1_1 512-bit by 50 %; 2 threads:" in note


def test_without_multiply_add_the_pair_of_instructions_is_the_roof() -> None:
    results, roofline = sweep(SyntheticMachine(), fma=False)
    assert {roof.instructions for roof in roofline.compute if roof.headline} == {"mul_add_unfused"}
    assert not any("fma" in m.case.instructions for m in results.measurements)
    assert "fp64 mul_add_unfused 512-bit" in {latency.name for latency in roofline.instruction_latencies}


def test_an_unproven_multiply_add_leaves_no_better_name_to_the_pair() -> None:
    _, roofline = sweep(SyntheticMachine(unverified=lambda case: case.instructions == "fma"))
    assert {roof.instructions for roof in roofline.compute if roof.headline} == {"mul_add_unfused"}
    assert not any(roof.above for roof in roofline.compute if not roof.verified)


def test_one_thread_stands_for_all_where_none_was_asked_for() -> None:
    _, roofline = sweep(SyntheticMachine(), settings=Settings(effort="quick", threads="2"))
    (fma,) = (latency for latency in roofline.instruction_latencies if latency.name == "fp64 fma 512-bit")
    assert fma.team.threads == 2
    assert fma.cycles == pytest.approx(8 * 16 / 16)
