"""Text of validations: what a person reads."""

from __future__ import annotations

from ert.records import machines
from ert.records.validation import tally
from ert.roofline.sheets.check_sheet import check_sheet
from ert.roofline.sheets.checks import Check
from ert.roofline.sheets.recognise import Recognised
from ert.show.validation import listing, sheet_text, text

CHECKS = (
    Check("Arithmetic per cycle and core, 1 thread", "fp64 multiply-adds", "FLOP/cycle", 15.8, 16.0, "sheet zen4",
          verdict="as promised"),
    Check("Peak, 2 threads", "fp64, base clock", "FLOP/s", 117e9, 76.8e9, "at the base clock",
          (((16, "FLOP/cycle"), (2, "cores"), (2.4e9, "Hz")),), "above", "Boost: no error."),
    Check("Peak, 2 threads", "fp32, base clock", "FLOP/s", 235e9, 153.6e9, "at the base clock",
          (((32, "FLOP/cycle"), (2, "cores"), (2.4e9, "Hz")),), "above", "Boost: no error."),
    Check("Core clock", "2 threads", "Hz", 3.7e9, 4e9, verdict="below", why="Heat.", failed=True),
    Check("Cache capacity", "L2 declared by the system", "B", 1 << 20, why="No sheet states it."),
    Check("Latency of arithmetic", "fp64 multiply-add", "cycle", 4.06, 4.0, verdict="as promised"),
    Check("Memory bandwidth", "DRAM, 2 threads", "B/s", 56.7e9, 460.8e9,
          products=(((12, "channels"), (8, "B"), (4.8e9, "transfers/s"), (1, "sockets")),), verdict="as promised"),
)  # fmt: skip

GOLDEN = """\
AMD EPYC, against AMD EPYC 9654 (sheet amd-epyc-9654)
Recognised by its model name.
Not certain: Two kinds of core.

Arithmetic per cycle and core, 1 thread
                                    measured      promised ratio  verdict
  fp64 multiply-adds               15.8 FLOP     16.0 FLOP  0.99  as promised

Peak, 2 threads                     measured      promised ratio  verdict
  fp64, base clock               117 GFLOP/s  76.8 GFLOP/s  1.52  above
    promised: 16 FLOP/cycle x 2 cores x 2.40 GHz
    Boost: no error.
  fp32, base clock               235 GFLOP/s   154 GFLOP/s  1.53  above
    promised: 32 FLOP/cycle x 2 cores x 2.40 GHz

Core clock                          measured      promised ratio  verdict
  2 threads                         3.70 GHz      4.00 GHz  0.93  below  FAILED
    Heat.

Cache capacity                      measured      promised ratio  verdict
  L2 declared by the system            1 MiB             -     -  not stated
    No sheet states it.

Latency of arithmetic               measured      promised ratio  verdict
  fp64 multiply-add               4.06 cycle    4.00 cycle  1.01  as promised

Memory bandwidth                    measured      promised ratio  verdict
  DRAM, 2 threads                  56.7 GB/s      461 GB/s  0.12  as promised
    promised: 12 channels x 8 B x 4.80 Gtransfers/s x 1 socket

7 checks: 3 as promised, 1 below, 2 above, 1 not stated. 1 check FAILED (rates
may differ by 5.0 %)."""


def test_a_validation_reads_like_this() -> None:
    cpu = machines.find("amd-epyc-9654")
    machine = Recognised(cpu, (), "recognised by its model name", ("Two kinds of core.",))  # type: ignore[arg-type]
    assert text("AMD EPYC", machine, CHECKS, tally(CHECKS), 0.05) == GOLDEN


def test_a_machine_without_a_sheet_is_named_alone() -> None:
    machine = Recognised(None, (), "not recognised")
    lines = text("riscv64 CPU", machine, CHECKS[4:5], tally(CHECKS[4:5]), 0.05).splitlines()
    assert lines[:2] == ["riscv64 CPU", "Not recognised."]
    assert lines[-1] == "1 check: 1 not stated. No check failed (rates may differ by 5.0 %)."


def test_a_sheet_shows_the_peaks_that_follow_from_it() -> None:
    hybrid = machines.find("intel-core-i9-13900k")
    lines = sheet_text(hybrid, check_sheet(hybrid)).splitlines()
    assert lines[0] == "intel-core-i9-13900k: a valid sheet of the CPU Intel Core i9-13900K"
    assert lines[2].split() == ["Promised", "base", "clock", "boost", "clock"]
    assert lines[3].split() == ["fp64", "666", "GFLOP/s", "1.24", "TFLOP/s"]
    assert lines[-1].split() == ["memory", "89.6", "GB/s"]
    core = machines.find("zen4")
    assert "int8 vector                             128 OP" in sheet_text(core, ())
    accelerator = machines.find("amd-mi250x")
    assert "computed     published" in sheet_text(accelerator, check_sheet(accelerator))


def test_sheets_are_listed_one_a_line() -> None:
    sheets = tuple(machines.everything())
    lines = listing(sheets).splitlines()
    assert len(lines) == len(sheets)
    assert any(line.split()[:2] == ["nvidia-h100-sxm", "NVIDIA"] and "(also h100, " in line for line in lines)
