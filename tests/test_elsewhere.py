"""Other systems and machines: what Linux and x86 have is missed with a note, and everything else works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ert.records.store import load
from ert.roofline.fitting.fit import fit

FAKED = """\
import mmap, os, platform, sys, types
system = sys.argv.pop(1)
# Loaded before the names change: these choose among implementations of their own by the system.
import numba, numpy, subprocess, tempfile, threadpoolctl, threading
platform.system = lambda: system
GIB = 1 << 30
sys.modules["psutil"] = types.SimpleNamespace(
    cpu_count=lambda logical: 2,
    virtual_memory=lambda: types.SimpleNamespace(total=16 * GIB, available=8 * GIB),
    Process=lambda: types.SimpleNamespace(**({"cpu_affinity": lambda: [0, 1]} if system == "Windows" else {})),
)
for module, names in (
    (os, ("sched_getaffinity", "sched_setaffinity", "fork", "sysconf")),
    (mmap, ("MADV_HUGEPAGE", "MAP_PRIVATE") if system == "Windows" else ("MADV_HUGEPAGE",)),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
if system == "Windows":
    sys.modules["resource"] = None
opened = open
def refuse(path, *more, **others):
    if str(path).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return opened(path, *more, **others)
import builtins, io
builtins.open = io.open = refuse
from ert import door, sweep
sys.exit(sweep.main(sys.argv[1:]))
"""

OPTIONS = ["--quick", "--no-kernels", "--precisions", "fp64", "--max-memory", "16MiB"]


@pytest.mark.parametrize(("system", "threads"), [("Darwin", "1,kinds,smt,numa"), ("Windows", "all")])
def test_a_sweep_without_what_linux_has(tmp_path: Path, system: str, threads: str) -> None:
    """No pinning, no huge pages, no files of the kernel, no forks: one sweep to its end, in this process's
    own machine code."""
    asked = [*OPTIONS, "--threads", threads, "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", FAKED, system, *asked],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*/*.json")
    results = load(path)
    assert results.complete
    assert results.host.system == system
    assert results.host.caches == ()
    assert results.host.nodes[0].memory > 0
    assert not any(m.error for m in results.measurements), [m.error for m in results.measurements if m.error]
    for words in ("could not be bound", f"not read on {system}", "LLVM's word is taken"):
        assert any(words in note for note in results.notes), (words, results.notes)
    roofline = fit(results)
    assert any(roof.headline for roof in roofline.memory)
    assert any(roof.headline for roof in roofline.compute)
    assert all(s.steal_seconds is None for m in results.measurements for s in m.samples)
    assert json.loads(path.read_text())["schema"] == 1


EMITTED = """\
import sys
from microbench.isa import describe
from microbench.kernels.kernel import Stream
from microbench.kernels.registry import KERNELS
from tests.emission import Target, assembly_for
from tests.microbench.kernels.rig import problem_for
from tests.microbench.test_vector import build, probe_arguments
cpu, triple, machine, features = sys.argv[1:]
found = describe(machine, cpu, dict.fromkeys(features.split(), True))
target = Target(cpu, triple, machine, found.family, found.vector_bits, (8, 12))
count = 0
for arguments in probe_arguments(found, (8,)):
    assert "loop:" in assembly_for(target, build(*arguments).loop)
    count += 1
for spec in KERNELS:
    if spec.sizes == ("n",) and spec.implementation == "explicit vectors":
        task = spec.task(problem_for(target, max(found.vector_bits, default=32), "fp32"))
        if isinstance(task, Stream):
            assert "loop:" in assembly_for(target, task.loop)
            count += 1
print(count)
"""


@pytest.mark.parametrize(
    ("cpu", "triple", "machine", "features"),
    [
        ("spacemit-x60", "riscv64-unknown-linux-gnu", "riscv64", "v"),
        ("pwr9", "powerpc64le-unknown-linux-gnu", "ppc64le", "vsx"),
        ("z15", "s390x-unknown-linux-gnu", "s390x", ""),
        ("la464", "loongarch64-unknown-linux-gnu", "loongarch64", ""),
    ],
)
def test_llvm_makes_code_of_every_probe_for_other_machines(cpu: str, triple: str, machine: str, features: str) -> None:
    """In a process of its own, since LLVM ends the process at inline assembly that it cannot make."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EMITTED, cpu, triple, machine, features],
        capture_output=True, text=True, check=False, timeout=120, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    if "makes no code for" in done.stderr:
        pytest.skip(f"this LLVM was built without {machine}")
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert int(done.stdout) > 50
