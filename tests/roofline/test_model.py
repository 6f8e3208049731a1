"""What the types say of themselves."""

from __future__ import annotations

import pytest

from ert.roofline.model import Host, Team


def test_a_hidden_model_is_replaced_by_what_is_known() -> None:
    known = Host(system="Linux", machine="x86_64", vendor="AuthenticAMD", identity=(("family", 25), ("stepping", 1)))
    assert known.name == "AuthenticAMD family 25"
    assert Host(system="Linux", machine="riscv64").name == "riscv64 CPU"


@pytest.mark.parametrize(
    ("name", "threads", "cores", "label", "usual"),
    [
        ("one", 1, 1, "1 thread", True),
        ("all", 8, 8, "8 threads", True),
        ("16", 16, 8, "16 threads on 8 cores", True),
        ("2", 2, 1, "2 threads on 1 core", True),
        ("one E", 1, 1, "1 thread (E)", False),
        ("all Cortex-X3", 2, 2, "2 threads (Cortex-X3)", False),
        ("SMT", 16, 8, "16 threads on 8 cores (SMT)", False),
        ("node 0, memory 1", 4, 4, "4 threads (node 0, memory 1)", False),
    ],
)
def test_teams_are_called_by_their_threads_and_by_what_else_they_are(
    name: str, threads: int, cores: int, label: str, usual: bool
) -> None:
    team = Team(name, tuple(range(threads)), cores)
    assert (team.label, team.usual) == (label, usual)
