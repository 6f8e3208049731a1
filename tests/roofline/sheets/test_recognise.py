"""Hosts are held against the sheet that is theirs."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from ert.measure.host import read_host
from ert.records import machines
from ert.roofline.model import Cpu, Host
from ert.roofline.sheets.recognise import Recognised, assume, names_model, recognise, team_kinds
from tests import factories

TOPOLOGIES = Path(__file__).parents[4] / "shared" / "topologies"


def found(**changes: object) -> Recognised:
    host = replace(Host("Linux", "x86_64", cpus=(Cpu(0, 0),)), **changes)  # type: ignore[arg-type]
    return recognise(host, machines.cores(), machines.cpus())


def names(machine: Recognised) -> list[str]:
    return [sheet.name for sheet in machine.sheets]


@pytest.mark.parametrize(
    ("model", "sheet"),
    [
        ("AMD EPYC 7742 64-Core Processor", "amd-epyc-7742"),
        ("AMD EPYC 9684X 96-Core Processor", "amd-epyc-9684x"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "amd-ryzen-9-7950x"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd-ryzen-7-7840u"),
        ("AMD Ryzen Threadripper PRO 7995WX 96-Cores", "amd-ryzen-threadripper-pro-7995wx"),
        ("Intel(R) Xeon(R) CPU E5-2690 v3 @ 2.60GHz", "intel-xeon-e5-2690-v3"),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "intel-xeon-gold-6148"),
        ("Intel(R) Xeon(R) Platinum 8480+", "intel-xeon-platinum-8480-plus"),
        ("Intel(R) Xeon(R) CPU Max 9480", "intel-xeon-max-9480"),
        ("Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz", "intel-core-i7-6700k"),
        ("13th Gen Intel(R) Core(TM) i9-13900K", "intel-core-i9-13900k"),
        ("Intel(R) Core(TM) Ultra 9 285K", "intel-core-ultra-9-285k"),
        ("Apple M1 Max", "apple-m1-max"),
    ],
)
def test_a_cpu_is_recognised_by_its_model_name(model: str, sheet: str) -> None:
    machine = found(cpu_model=model)
    assert names(machine) == [sheet]
    assert repr(model) in machine.how


@pytest.mark.parametrize("model", ["AMD EPYC 9654P 96-Core Processor", "AMD EPYC", "Intel(R) Core(TM) i9-9900KS", ""])
def test_a_neighbour_in_name_is_not_taken_for_it(model: str) -> None:
    assert found(cpu_model=model).cpu is None


@pytest.mark.parametrize(
    ("vendor", "identity", "core"),
    [
        ("AuthenticAMD", {"family": 0x19, "model": 0x11}, "zen4"),
        ("AuthenticAMD", {"family": 0x19, "model": 0xA5}, "zen4"),
        ("AuthenticAMD", {"family": 0x19, "model": 0x01}, "zen3"),
        ("AuthenticAMD", {"family": 0x17, "model": 0x31}, "zen2"),
        ("AuthenticAMD", {"family": 0x1A, "model": 0x44}, "zen5"),
        ("AuthenticAMD", {"family": 0x1A, "model": 0x24}, "zen5-mobile"),
        ("AuthenticAMD", {"family": 0x1A, "model": 0x51}, "zen6"),
        ("GenuineIntel", {"family": 6, "model": 0x6A}, "ice-lake-sp"),
        ("GenuineIntel", {"family": 6, "model": 0x6C}, "ice-lake-d"),
        ("GenuineIntel", {"family": 6, "model": 0xBE}, "gracemont"),
        ("GenuineIntel", {"family": 6, "model": 0xCF}, "raptor-cove-server"),
        ("0x41", {"implementer": 0x41, "part": 0xD0C}, "neoverse-n1"),
        ("0x41", {"implementer": 0x41, "part": 0xD4F}, "neoverse-v2"),
        ("0x46", {"implementer": 0x46, "part": 0x001}, "a64fx"),
    ],
)
def test_a_core_is_recognised_by_its_numbers(vendor: str, identity: dict[str, int], core: str) -> None:
    machine = found(vendor=vendor, identity=tuple(identity.items()))
    assert names(machine) == [core]
    assert "the model name is hidden" in machine.how


def test_numbers_of_another_vendor_or_family_mean_nothing() -> None:
    assert names(found(vendor="GenuineIntel", identity=(("family", 0x19), ("model", 0x11)))) == []
    machine = found(vendor="AuthenticAMD", identity=(("family", 0x99), ("model", 0x11)))
    assert names(machine) == []
    assert machine.how == (
        "not recognised: the model name is hidden, and no core's sheet has AuthenticAMD CPUID family 0x99, model 0x11; "
        "a sheet can be named, or written"
    )


def test_where_numbers_do_not_tell_the_model_name_does() -> None:
    skylake = {"vendor": "GenuineIntel", "identity": (("family", 6), ("model", 0x55))}
    assert names(found(**skylake, cpu_model="Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz")) == ["skylake-sp-one-fma"]
    listed = found(**skylake, cpu_model="Intel(R) Xeon(R) Platinum 8176 CPU @ 2.10GHz")
    assert (names(listed), listed.doubts) == (["skylake-sp"], ())
    hidden = found(**skylake, cpu_model="Intel(R) Xeon(R) Processor")
    assert names(hidden) == ["skylake-sp"]
    assert "one 512-bit FMA unit" in hidden.doubts[0]


def test_kinds_of_core_get_sheets_of_their_own() -> None:
    hybrid = {"vendor": "GenuineIntel", "identity": (("family", 6), ("model", 0x97))}
    cpus = (Cpu(0, 0, kind="P"), Cpu(1, 0, sibling=1, kind="P"), Cpu(2, 1, kind="E"), Cpu(3, 2, kind="E"))
    machine = found(**hybrid, cpus=cpus)
    assert {kind: group.core.name for kind, group in machine.groups if group.core} == {
        "P": "golden-cove",
        "E": "gracemont",
    }
    assert [group.count for _, group in machine.groups] == [1, 2]
    assert "do not tell" in found(**hybrid).doubts[0]
    named = found(cpu_model="Intel(R) Core(TM) i9-13900K", cpus=cpus)
    assert [(kind, group.boost) for kind, group in named.groups] == [("P", 5.4e9), ("E", 4.3e9)]
    one_kind = found(cpu_model="Intel(R) Core(TM) i9-13900K")
    assert one_kind.doubts == ("The system does not tell which kind of core a logical CPU is; all are taken as P.",)
    assert team_kinds(Host("Linux", "x86_64", cpus=cpus), (0, 1, 2, 9)) == {"P": 1, "E": 1}
    assert team_kinds(Host("Linux", "x86_64"), (0, 1)) == {"": 2}


def test_kinds_of_arm_cores_are_known_by_their_part_names() -> None:
    cpus = (Cpu(0, 0, kind="Cortex-A55"), Cpu(1, 1, kind="Cortex-A76"))
    machine = found(vendor="0x41", identity=(("implementer", 0x41), ("part", 0xD05)), cpus=cpus)
    assert [(kind, group.core.name) for kind, group in machine.groups if group.core] == [("Cortex-A76", "cortex-a76")]


def test_risc_v_is_recognised_by_name() -> None:
    assert names(found(cpu_model="Spacemit(R) X60")) == ["spacemit-x60"]
    assert names(found(cpu_model="sifive,u74-mc")) == ["sifive-u74"]


def test_a_sheet_can_be_given() -> None:
    host = factories.zen4_host()
    assert names(assume(host, machines.find("amd-epyc-9654"), "given")) == ["amd-epyc-9654"]
    core = assume(host, machines.find("haswell"), "given")
    assert (names(core), core.cpu, core.groups[0][1].count) == (["haswell"], None, 2)
    with pytest.raises(ValueError, match="nvidia-b200 is an accelerator"):
        assume(host, machines.find("nvidia-b200"), "given")


def test_names_are_compared_word_by_word() -> None:
    assert names_model("AMD EPYC 7742", "amd epyc 7742 64-core processor")
    assert not names_model("AMD EPYC 7742", "AMD EPYC 77420")
    assert not names_model("", "AMD EPYC 7742")


RECORDED = {
    "x86_64-epyc_7451": [("", "zen1")],
    "20em64t-hybrid-1p6c2t+2ca4co1t": [("E", "gracemont"), ("P", "golden-cove")],
    "nvidia-dgx-gb10": [],
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_hosts(name: str, tmp_path: Path) -> None:
    if not TOPOLOGIES.is_dir():
        pytest.skip("no recorded hosts: the folder ../shared/topologies is not beside this checkout")
    expected = json.loads((TOPOLOGIES / "expected.json").read_text())
    with tarfile.open(TOPOLOGIES / expected[name]["archive"]) as archive:
        archive.extractall(tmp_path, filter="data")
    machine = recognise(read_host(tmp_path / name), machines.cores(), machines.cpus())
    assert sorted((kind, group.core.name) for kind, group in machine.groups if group.core) == RECORDED[name]
