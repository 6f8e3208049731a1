"""What the doctor says, and what a run says before it measures."""

from __future__ import annotations

from dataclasses import replace

from ert.roofline.fitness import Finding, fitness
from ert.show.fitness import diagnosis, waiting, warnings
from tests.roofline.test_fitness import HOST, QUIET

GUEST = replace(HOST, hypervisor="KVM")
BUSY = replace(QUIET, others=2.5, load=3.0, alone=False)


def test_a_quiet_machine_takes_a_line_for_each_check() -> None:
    lines = diagnosis(HOST, QUIET, fitness(HOST, QUIET)).splitlines()
    assert lines[0] == "Synthetic CPU, 4 usable CPUs, 2026-11-30T08:00:00Z"
    assert lines[-1] == "Fit to be measured."
    assert len(lines) == 12 + 4
    assert all(line.startswith("fine  ") for line in lines[2:-2])
    assert "fine  others      other processes use 0.01 of 4 CPUs" in lines


def test_a_warning_says_what_to_do_and_leaves_it_fit() -> None:
    text = diagnosis(GUEST, QUIET, fitness(GUEST, QUIET))
    assert "warn  hypervisor  KVM\n                  -> neighbours" in text
    assert text.endswith("Fit to be measured, with 1 warning.")


def test_what_is_bad_is_named_with_the_processes_behind_it() -> None:
    busy = [(4711, "cc1plus", 1.5), (4712, "evil\x1b[31m", 0.5)]
    text = diagnosis(HOST, BUSY, fitness(HOST, BUSY), busy, 815)
    assert "bad   others      other processes use 2.50 of 4 CPUs" in text
    assert "cc1plus (process 4711) 1.50 and evil?[31m (process" in text
    assert "it is process 815" in text
    assert text.endswith("Not fit to be measured now: others and other runs.")
    assert max(map(len, text.splitlines())) <= 80
    assert text.replace("\n", "").isprintable()


def test_processes_are_not_named_on_a_quiet_machine() -> None:
    assert "python" not in diagnosis(HOST, QUIET, fitness(HOST, QUIET), [(1, "python", 0.06)], 815)


def test_a_run_warns_in_one_sentence_for_each_degree() -> None:
    assert warnings(fitness(HOST, QUIET)) == []
    assert warnings(fitness(GUEST, QUIET)) == ["Not ideal: hypervisor. `python -m ert.doctor` says what to do."]
    bad, other = (" ".join(text.split()) for text in warnings(fitness(GUEST, BUSY)))
    assert bad == (
        "This machine is not fit to be measured now: other processes use 2.50 of 4 CPUs and another run of this tool "
        "is measuring."
    )
    assert other == "Also not ideal: load and hypervisor. `python -m ert.doctor` says what to do."


def test_warnings_fit_a_terminal() -> None:
    many = [
        Finding(f"check {number}", verdict, "something long " * 4) for number in range(9) for verdict in ("bad", "warn")
    ]
    assert max(len(line) for text in warnings(many) for line in text.splitlines()) <= 80


def test_who_waits_is_told_for_whom() -> None:
    assert waiting(815, wait=True).startswith("Another run (process 815) is measuring")
    assert "Ctrl-C" in waiting(None, wait=True)
    assert waiting(None, wait=False).startswith("Another run is measuring")
    assert "waiting" not in waiting(815, wait=False)
