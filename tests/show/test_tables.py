"""The summary and the description of a host, as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ert.roofline.model import Cache, Condition, Cpu, Host, RidgePoint, Roofline, Team, Toolchain
from ert.show.tables import found, summary
from tests import factories
from tests.factories import BOTH, GIB, KIB, MIB, ONE


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


def the_line(text: str, *words: str) -> str:
    (line,) = lines_with(text, *words)
    return line


def part(text: str, team: str) -> str:
    """Return what is said of one team: from its underlined title to the next empty line before another title."""
    after = text.split(f"\n{team} at ", 1)[1]
    return after.split("\n2 threads at ", 1)[0]


@pytest.fixture(scope="module")
def text() -> str:
    return summary(factories.zen4_results(), factories.zen4())


@pytest.mark.parametrize(
    "roofline",
    [
        factories.zen4(),
        factories.server(),
        factories.six_levels(),
        factories.multi_precision(),
        factories.one_level(),
        factories.zen4_ceilings(),
        factories.irregular(),
    ],
    ids=["zen4", "server", "six", "precisions", "one", "ceilings", "irregular"],
)
def test_everything_fits_80_columns_of_plain_text(roofline: Roofline) -> None:
    results = factories.zen4_results(notes=("a note " * 40,), absent=(("bf16", "an instruction " * 12),))
    text = summary(results, roofline)
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii()
    assert text.replace("\n", "").isprintable()  # no control codes
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_compute_roof_has_all_its_columns(text: str) -> None:
    row = the_line(part(text, "1 thread"), "fp64 fma 256-bit", "GFLOP/s")
    assert row.split() == ["*", "fp64", "fma", "256-bit", "58.8", "GFLOP/s", "16.0", "FLOP", "0.3", "%", "A", "yes"]
    assert the_line(part(text, "2 threads"), "* fp64 fma").split()[4:8] == ["118", "GFLOP/s", "16.0", "FLOP"]


@pytest.mark.parametrize("per_cycle", [0.673, 0.0673, 0.000673, 123456.0])
def test_columns_never_touch(per_cycle: float) -> None:
    roofline = factories.zen4()
    changed = replace(
        roofline,
        compute=tuple(replace(r, rate=replace(r.rate, per_cycle=per_cycle, spread=0.9999)) for r in roofline.compute),
        memory=tuple(replace(r, rate=replace(r.rate, per_cycle=per_cycle, spread=0.9999)) for r in roofline.memory),
    )
    text = part(summary(factories.zen4_results(), changed).replace(" at ", " at 1 GHz at "), "2 threads")
    value = f"{per_cycle:.3g}" if per_cycle < 1 else "123456"
    row = the_line(text, "* fp64 fma")
    assert row.split()[4:] == ["118", "GFLOP/s", value, "FLOP", "100.0", "%", "A", "yes"]
    row = the_line(text, "* DRAM")
    assert row.split()[-7:] == ["GB/s", value, "B", "100.0", "%", "A", "yes"]


def test_the_legend_says_how_grades_come_about(text: str) -> None:
    said = " ".join(text.split())
    assert "within A 1 %, B 2 %, C 5 %, D not even that." in said
    assert "A round that is over 2 % slower than the best one lowers it by a step." in said


def section(text: str, title: str) -> list[list[str]]:
    """Return the cells of the table whose header begins with `title`, the header's first."""
    lines = text[text.index(f"  {title}") :].split("\n\n")[0].splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def test_each_precision_shows_its_headline_alone(text: str) -> None:
    rows = list(lines_with(part(text, "1 thread"), "fp64", "GFLOP/s"))
    assert [row.split("fma ")[1].split()[0] for row in rows] == ["256-bit"]


def test_ceilings_have_a_column_for_each_precision(text: str) -> None:
    assert section(part(text, "1 thread"), "ceiling, FLOP/s or OP/s") == [
        ["ceiling, FLOP/s or OP/s", "fp64", "fp32"],
        ["fma / dot 512-bit", "58.6 G", "117 G"],
        ["fma / dot 256-bit", "58.8 G", "117 G"],
        ["fma / dot 128-bit", "29.4 G", "58.7 G"],
        ["fma / dot scalar", "14.7 G", "14.7 G"],
    ]


def test_a_mix_above_the_roof_stands_beside_it() -> None:
    text = summary(factories.zen4_results(), factories.zen4_ceilings())
    one = part(text, "1 thread")
    row = the_line(one, "+ fp64 fma_add_1_1 512-bit")
    assert row.split()[4:8] == ["88.0", "GFLOP/s", "24.0", "FLOP"]
    assert "+ fp64 fma_add_2_1" not in one
    assert "+ a mix of instructions that is faster than the roof" in " ".join(text.split())
    assert "+ a mix" not in summary(factories.zen4_results(), factories.zen4())


def test_all_kinds_of_ceilings_are_listed_with_gaps_for_what_was_not_measured() -> None:
    one = part(summary(factories.zen4_results(), factories.zen4_ceilings()), "1 thread")
    rows = {row[0]: row[1:] for row in section(one, "ceiling, FLOP/s or OP/s")}
    assert rows["fma / dot 512-bit"] == ["58.6 G", "117 G", "235 G", "470 G"]
    assert rows["fma / dot 256-bit"] == ["58.8 G", "117 G", "-", "469 G"]
    assert rows["divide 512-bit"] == ["3.27 G", "6.54 G", "-", "-"]
    assert list(rows)[5:8] == ["fma_add_2_1 512-bit", "fma_add_1_1 512-bit", "fma_add_1_2 512-bit"]


def test_latencies_and_few_chains_are_told_for_each_precision() -> None:
    text = summary(factories.zen4_results(), factories.zen4_ceilings())
    one = part(text, "1 thread")
    assert section(one, "latency, cycles") == [
        ["latency, cycles", "fp64", "fp32", "bf16", "int8"],
        ["fma / dot", "4.0", "4.0", "6.0", "4.0"],
        ["add", "3.0", "-", "-", "-"],
    ]
    assert section(one, "few chains, 512-bit") == [
        ["few chains, 512-bit", "fp64", "fp32", "bf16", "int8"],
        ["1 chain", "14.7 G", "29.3 G", "39.4 G", "117 G"],
        ["2 chains", "29.4 G", "58.7 G", "78.2 G", "235 G"],
        ["4 chains", "-", "-", "157 G", "-"],
        ["chains that saturate", "4", "4", "8", "4"],
    ]
    assert "latency, cycles" not in text.split("2 threads", 1)[1]


def test_roofs_alone_need_no_table_of_ceilings() -> None:
    assert "ceiling" not in summary(factories.zen4_results(), factories.one_level())


def test_levels_come_in_order_with_their_headline_first(text: str) -> None:
    rows = [line for line in lines_with(part(text, "1 thread"), "B/s") if line[2] in "LD"]
    levels = [row[2:].split()[0] for row in rows]
    assert list(dict.fromkeys(levels)) == ["L1", "L2", "L3", "DRAM"]
    for level in ("L1", "L2", "L3", "DRAM"):
        marks = [row[0] for row, name in zip(rows, levels, strict=True) if name == level]
        assert marks == ["*"] + [" "] * (len(marks) - 1)


def test_both_counts_of_bytes_stand_in_one_row_where_they_differ(text: str) -> None:
    one = part(text, "1 thread")
    row = the_line(one, "L2 copy ")
    assert row.split() == ["L2", "copy", "256", "79.0", "GB/s", "119", "GB/s", "21.5", "B", "0.3", "%", "A", "yes"]
    assert the_line(one, "DRAM copy_nt").count("GB/s") == 1
    assert the_line(one, "L1 copy").count("GB/s") == 1
    assert "traffic)" not in one


def test_integers_are_counted_in_operations() -> None:
    text = summary(factories.zen4_results(), factories.multi_precision())
    row = the_line(part(text, "1 thread"), "int8 fma 512-bit", "GOP/s")
    assert row.split()[4:8] == ["470", "GOP/s", "128", "OP"]


def test_effective_and_declared_capacities_stand_side_by_side(text: str) -> None:
    one = part(text, "1 thread").split("capacity for one thread")[1].split("\n\n")[0]
    assert the_line(one, "L3   ").split() == ["L3", "7.2", "MiB", "32", "MiB"]
    assert one.splitlines()[0].split() == ["effective", "declared"]
    assert the_line(one, "L2   ").split() == ["L2", "1.02", "MiB", "1", "MiB"]


def test_ridge_points_are_a_table_of_roofs_by_levels(text: str) -> None:
    one = part(text, "1 thread").split("ridge point, FLOP/byte")[1].splitlines()
    assert one[0].split() == ["L1", "L2", "L3", "DRAM"]
    assert one[1].split() == ["fp64", "fma", "256-bit", "0.179", "0.503", "0.600", "1.96"]
    assert one[2].split() == ["fp32", "fma", "256-bit", "0.357", "1.00", "1.20", "3.91"]


def test_many_levels_of_ridge_points_are_folded() -> None:
    text = summary(factories.zen4_results(), factories.six_levels())
    headers = lines_with(text, "ridge point, FLOP/byte")
    assert [name for line in headers for name in line.split()[3:]] == ["L1", "L2", "L3", "L4", "HBM", "DRAM"]
    rows = lines_with(text.split("ridge point, FLOP/byte", 1)[1], "fp64 fma")
    assert [number for row in rows for number in row.split()[3:]] == ["0.238", "0.500", "0.990", "1.73", "3.06", "6.79"]
    assert len(headers) == 1
    narrower = summary(factories.zen4_results(), replace(factories.six_levels(), ridges=_with_long_names()))
    assert len(lines_with(narrower, "ridge point, FLOP/byte")) == 2


def _with_long_names() -> tuple[RidgePoint, ...]:
    return tuple(
        replace(ridge, compute=replace(ridge.compute, name="fp64 mul_add_unfused 512-bit of a kind"))
        for ridge in factories.six_levels().ridges
    )


def test_an_unverified_roof_is_marked() -> None:
    roofline = factories.zen4()
    doubtful = replace(roofline.compute[2], verified=False)
    text = summary(factories.zen4_results(), replace(roofline, compute=(*roofline.compute[:2], doubtful)))
    assert the_line(text, "128-bit", "GFLOP/s").endswith("NO")
    assert "NO: the generated code" in " ".join(text.split())
    assert "NO:" not in summary(factories.zen4_results(), roofline)


def test_a_roof_without_clock_has_no_rate_per_cycle() -> None:
    roofline = factories.one_level()
    (roof,) = roofline.compute
    for unknown in (None, 0.0):
        blind = replace(roof, rate=replace(roof.rate, per_cycle=unknown, clock_hz=unknown))
        text = summary(factories.zen4_results(), replace(roofline, compute=(blind,)))
        assert the_line(text, "fp32 fma", "GFLOP/s").split()[-5:] == ["-", "0.3", "%", "A", "yes"]
        assert "\n1 thread\n" in text


def test_a_name_too_long_for_its_column_keeps_its_figures() -> None:
    roofline = factories.one_level()
    long = replace(roofline.compute[0], name="fp32 mul_add_unfused_and_then_some 128-bit")
    text = summary(factories.zen4_results(), replace(roofline, compute=(long,)))
    lines = text.splitlines()
    assert "16.0 GFLOP/s" in lines[lines.index("* " + long.name) + 1]


def test_notes_of_all_kinds_are_said_once() -> None:
    curve = replace(factories.zen4().curves[0], notes=("said of the curve",))
    roofline = replace(factories.zen4(), curves=(curve,), notes=("said twice", "said by the fit"))
    results = factories.zen4_results(notes=("said twice", "said by the sweep"), absent=(("bf16", "vdpbf16ps"),))
    text = summary(results, roofline)
    for note in ("twice", "by the fit", "by the sweep", "of the curve"):
        assert text.count(f"- said {note}") == 1
    assert "- not measured here: bf16, which would need vdpbf16ps" in text


def test_a_sweep_that_began_beside_another_says_so_first() -> None:
    def told(alone: bool | None) -> bool:
        results = factories.zen4_results(conditions=(Condition("2026-11-30T08:00:00Z", alone=alone),))
        return "Another run of this tool was measuring" in summary(results, factories.zen4())

    assert [told(alone) for alone in (False, True, None)] == [True, False, False]


def test_the_sweep_is_named_and_a_partial_one_says_so() -> None:
    text = summary(factories.zen4_results(), factories.zen4())
    assert text.startswith("Roofline of AMD EPYC 9R14\nmeasured 2026-03-01 09:30:00 UTC in 52.0 s (compiling 9.10 s)\n")
    assert "PARTIAL" not in text
    assert "PARTIAL" in summary(factories.zen4_results(complete=False), factories.zen4())


def test_nothing_measured_is_said_and_not_an_empty_table() -> None:
    text = summary(factories.zen4_results(), Roofline((), (), (), (), ()))
    assert "No roof" in text
    assert "per cycle" not in text


def test_wide_terminals_do_not_pull_names_from_figures() -> None:
    text = summary(factories.zen4_results(), factories.zen4(), width=300)
    assert max(map(len, text.splitlines())) <= 100


# ----------------------------------------------------------------------------------------- irregular access


@pytest.fixture(scope="module")
def irregular() -> str:
    return summary(factories.zen4_results(), factories.irregular()).split("Latency, concurrency")[1]


def test_latencies_stand_beside_the_capacities_of_both_witnesses(irregular: str) -> None:
    table = irregular.split("load to use, 1 thread")[1].split("\n\n")[0]
    row = the_line(table, "L2 ").split()
    assert row == ["L2", "3.80", "ns", "13.9", "2.43", "ns", "8.92", "1.02", "MiB", "1.02", "MiB"]
    assert the_line(table, "DRAM").split() == ["DRAM", "167", "ns", "613", "68.9", "ns", "253", "-", "-"]


def test_random_reads_are_a_table_of_chains(irregular: str) -> None:
    assert the_line(irregular, "lines, chains a thread").split()[-7:] == ["1", "2", "4", "8", "16", "24", "32"]
    rates = the_line(irregular, "DRAM, 1 thread  ").split()[-7:]
    assert rates == ["0.384", "0.768", "1.54", "3.07", "6.14", "7.68", "7.68"]


def test_littles_law_is_said_in_words(irregular: str) -> None:
    words = " ".join(irregular.split())
    assert "DRAM, 1 thread: 30.0 GB/s x 167 ns = 4.89 KiB in flight (Little's law), 78 lines." in words
    assert "along 24 chains a thread kept 20 lines in flight, 26 % of that" in words


def test_irregular_reads_count_the_bytes_used_and_their_lines(irregular: str) -> None:
    one = irregular.split("1 thread: GB/s of the bytes used")[1].split("\n\n")[0]
    assert the_line(one, "gather 8 B by 64-bit").split()[-5:] == ["16.0", "16.0", "16.0", "16.0", "(9.00)"]
    assert the_line(one, "stride 8").split()[-7:] == ["14.5", "14.5", "(110)", "14.5", "(90)", "14.5", "(9.00)"]


def test_overheads_say_below_which_work_no_roof_is_reached(irregular: str) -> None:
    words = " ".join(irregular.split())
    assert "2 threads: from a call to the last end 28.0 us (20.0 us to the first start), one barrier 60.0 ns." in words
    # 118 GFLOP/s and the memory roof of two threads, times 28 us.
    assert "less than 3.29 MFLOP (fp64) or 1.40 MB of DRAM that starts its threads anew cannot reach half" in words


def test_saturation_is_said() -> None:
    text = " ".join(summary(factories.zen4_results(), factories.irregular(threads=(1, 2, 4))).split())
    assert "DRAM bandwidth by threads: 1: 30.0 GB/s, 2: 60.0 GB/s, 4: 60.0 GB/s. 2 threads saturate it" in text
    assert "4: 392 GB/s. Every step brought more: it takes all of them." in text


def test_nothing_is_said_of_what_was_not_measured(text: str) -> None:
    assert "Latency, concurrency" not in text


# --------------------------------------------------------------------------------------------------- found


def test_a_plain_host_takes_eight_lines() -> None:
    text = found(factories.zen4_host(), factories.zen4_toolchain(), (ONE, BOTH))
    lines = text.splitlines()
    assert len(lines) == 8
    assert max(map(len, lines)) <= 80
    assert text.isascii()
    assert the_line(text, "Cores") == "Cores     2 of 2 physical cores usable, CPUs 0-1, 1 socket, 1 NUMA node"
    assert the_line(text, "Caches") == "Caches    L1 2 x 32 KiB, L2 2 x 1 MiB, L3 1 x 32 MiB"
    assert the_line(text, "Memory") == "Memory    16 GiB, 14 GiB available, no limit"
    assert "128, 256, 512 bits (code for znver4)" in text
    assert "virtual machine (KVM)" in text
    assert "huge pages madvise, frequency governor unknown" in text
    assert the_line(text, "Threads") == "Threads   1 thread on CPU 0; 2 threads on CPUs 0-1"


def test_an_unusual_host_is_told_in_full() -> None:
    cpus = tuple(
        Cpu(id=i, core=i // 2 if i < 8 else i - 4, sibling=i % 2 if i < 8 else 0, kind="P" if i < 8 else "E",
            usable=i != 3)
        for i in range(12)
    )  # fmt: skip
    host = Host(
        system="Linux", machine="x86_64", cpus=cpus, memory_total=8 * GIB, memory_limit=256 * MIB, cpu_quota=1.5,
        caches=(
            *(Cache("L1", 48 * KIB, (i, i + 1)) for i in (0, 2, 4, 6)),
            *(Cache("L1", 32 * KIB, (i,)) for i in range(8, 12)),
            Cache("L2", 0, (0, 1)),
        ),
        container="docker", governor="powersave", turbo="off", thp="never", notes=("two kinds of core",),
    )  # fmt: skip
    text = found(host, Toolchain(), (Team("P", (0, 2, 4, 6), 4), Team("smt", (0, 1), 1)))
    assert "model hidden (x86_64)" in text
    assert "8 of 8 physical cores usable (4 P, 4 E), CPUs 0-2,4-11 of 12 logical CPUs" in " ".join(text.split())
    assert "a quota allows 1.5 CPUs' worth of time" in " ".join(text.split())
    assert "L1 4 x 48 KiB + 4 x 32 KiB, L2 1 x unknown size" in text
    assert "8 GiB, limited to 256 MiB" in text
    assert "no virtual machine seen, container (docker)" in text
    assert "huge pages never, frequency governor powersave, turbo off" in text
    assert "4 threads (P) on CPUs 0,2,4,6; 2 threads on 1 core (smt) on CPUs 0-1" in text
    assert the_line(text, "Note") == "Note      two kinds of core"


def test_a_host_that_tells_nothing_is_described_without_a_crash() -> None:
    text = found(Host(system="Darwin", machine="arm64"), Toolchain(), ())
    assert "model hidden (arm64)" in text
    assert "none declared" in text
    assert "size unknown" in text
    assert "Threads" not in text
