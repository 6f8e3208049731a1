"""What the types say of themselves."""

from __future__ import annotations

from ert.roofline.model import Host


def test_a_hidden_model_is_replaced_by_what_is_known() -> None:
    known = Host(system="Linux", machine="x86_64", vendor="AuthenticAMD", identity=(("family", 25), ("stepping", 1)))
    assert known.name == "AuthenticAMD family 25"
    assert Host(system="Linux", machine="riscv64").name == "riscv64 CPU"
