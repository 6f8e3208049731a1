"""What LLVM says of the CPU is tried, and what fails costs a sentence and no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from microbench import confirm, isa
from microbench.confirm import Trials, confirmed, trials_of
from tests.emission import ALDERLAKE, NEOVERSE, SAPPHIRE, ZEN4

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be tried without forks")

KILLED = """define void @trial(ptr %at) {
  call void @llvm.trap()
  ret void
}
declare void @llvm.trap()
"""
NONSENSE = """define void @trial(ptr %at) {
  call void asm sideeffect "no such instruction", ""()
  ret void
}
"""
FINE = "define void @trial(ptr %at) {\n  ret void\n}\n"


def failing(*names: str) -> Callable[[Trials], dict[str, str]]:
    def run(trials: Trials) -> dict[str, str]:
        assert set(names) <= set(trials)
        return dict.fromkeys(names, "Illegal instruction")

    return run


def test_what_works_is_left_as_it_is() -> None:
    assert confirmed(SAPPHIRE.isa, failing()) == (SAPPHIRE.isa, ())


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (ZEN4, {"avx512bf16", "avx512vnni"}),
        (SAPPHIRE, {"avx512bf16", "avx512vnni", "avx512fp16", "avxvnni"}),
        (ALDERLAKE, {"avxvnni"}),
        (NEOVERSE, {"bf16", "dotprod", "fullfp16"}),
    ],
    ids=str,
)
def test_each_width_and_extension_has_a_trial(target: object, names: set[str]) -> None:
    found = target.isa  # type: ignore[attr-defined]
    trials = {tuple(name.split()) for name in trials_of(found)}
    assert {bits for what, bits in trials if what == "vector"} == {str(bits) for bits in found.vector_bits}
    assert {what for what, _ in trials} == {"vector", "fma"} | names


def test_a_lying_extension_costs_a_note_and_that_precision() -> None:
    found, notes = confirmed(ZEN4.isa, failing("avx512bf16 512", "avx512bf16 128"))
    assert isa.widths(found, "bf16") == ()
    assert isa.widths(found, "int8") == (128, 256, 512)
    assert found.vector_bits == (128, 256, 512)
    (note,) = notes
    assert "avx512bf16 (512, 128 bits)" in note
    assert "Illegal instruction" in note


def test_vectors_that_fail_take_their_extensions_with_them() -> None:
    found, _ = confirmed(SAPPHIRE.isa, failing("vector 512"))
    assert found.vector_bits == (128, 256)
    assert found.registers == 16
    assert found.features == ("avxvnni",)
    assert isa.widths(found, "int8") == (128, 256)


def test_multiply_adds_that_fail_are_not_used() -> None:
    found, notes = confirmed(ZEN4.isa, failing("fma 128"))
    assert not found.fma
    assert "fused multiply-add" in notes[0]


def test_llvm_is_believed_where_nothing_can_be_tried() -> None:
    def run(trials: Trials) -> dict[str, str]:
        raise OSError("this system has no processes to fork")

    found, notes = confirmed(ZEN4.isa, run)
    assert found == ZEN4.isa
    assert "LLVM's word is taken" in notes[0]


@needs_fork
def test_trials_fail_one_by_one() -> None:
    failed = confirm.run({"killed 1": KILLED, "fine 1": FINE, "nonsense 1": NONSENSE, "fine 2": FINE})
    assert set(failed) == {"killed 1", "nonsense 1"}
    assert failed["nonsense 1"] == "LLVM makes no code for it"


@needs_fork
def test_a_child_that_does_not_answer_is_an_error_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(OSError, match="gave no answer"):
        confirm.run({"fine 1": FINE})


@needs_fork
def test_this_cpu_is_confirmed_once() -> None:
    found, _ = confirm.host()
    assert confirm.host() is confirm.host()
    assert set(found.vector_bits) <= set(isa.host().vector_bits)
    assert set(found.features) <= set(isa.host().features)
