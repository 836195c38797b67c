# SPDX-License-Identifier: Apache-2.0
"""Outputs of tools and files that this machine may not have, in the shapes their manuals give."""

from types import SimpleNamespace

import pytest

from ioatlas.load.machine.hardware import facts_of_nvme, facts_of_smartctl, look_at_slot
from ioatlas.load.machine.path import (
    connections,
    look_at_session,
    mount_port,
    section_of,
    server_bytes,
    server_flushes,
    server_of,
)
from ioatlas.load.machine.sheet import Sheet


def values(sheet):
    return {fact.name: fact.value for fact in sheet.facts}


@pytest.mark.parametrize(
    ("fs_type", "source", "server"),
    [
        ("nfs4", "nas.example:/vol/data", "nas.example"),
        ("nfs", "10.1.2.3:/x", "10.1.2.3"),
        ("nfs4", "[fd00::7]:/x", "fd00::7"),
        ("cifs", "//nas/share/deep", "nas"),
        ("fuse.sshfs", "user@box:/srv", "box"),
        ("fuse.glusterfs", "g1:/gv0", "g1"),
        ("ceph", "m1:6789,m2:6789:/", "m1"),
        ("ext4", "/dev/sda1", ""),
        ("virtiofs", "share", ""),
    ],
)
def test_the_server_in_a_mount_source(fs_type, source, server):
    assert server_of(fs_type, source) == server


@pytest.mark.parametrize(
    ("protocol", "options", "port"),
    [
        ("NFS", "rw,vers=4.2,port=20049,addr=10.1.2.3", 20049),
        ("NFS", "rw,vers=4.2,port=0,clientaddr=10.1.2.4", 2049),
        ("NFS", "rw,vers=3,mountport=635", 2049),
        ("SMB", "rw,vers=3.1.1", 445),
        ("SMB", "port=1445", 1445),
        ("Lustre", "rw", None),
    ],
)
def test_the_servers_port_is_the_mounts_or_the_protocols_own(protocol, options, port):
    sheet = Sheet()
    mount_port(sheet, protocol, options, "findmnt -J")
    assert values(sheet).get("protocol.port") == port


SATA_DISK = {
    "smartctl": {"exit_status": 0},
    "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "model_family": "Family",
    "model_name": "DISK-4T",
    "serial_number": "SER1",
    "firmware_version": "FW2",
    "rotation_rate": 7200,
    "interface_speed": {
        "max": {"sata_value": 14, "string": "6.0 Gb/s", "units_per_second": 60, "bits_per_unit": 100000000},
        "current": {"sata_value": 2, "string": "3.0 Gb/s", "units_per_second": 30, "bits_per_unit": 100000000},
    },
    "smart_status": {"passed": True},
    "temperature": {"current": 34},
    "power_on_time": {"hours": 1234},
}


def test_a_sata_drive_with_a_slow_link():
    sheet = Sheet()
    facts_of_smartctl(sheet, "sda", SATA_DISK)
    seen = values(sheet)
    assert seen["device.sda.link_current"] == 3_000_000_000
    assert seen["device.sda.link_max"] == 6_000_000_000
    assert seen["device.sda.rotation_rpm"] == 7200
    assert [fact.name for fact in sheet.facts if fact.private] == ["device.sda.serial_number"]


def test_a_drive_that_tells_nothing_is_unknown():
    sheet = Sheet()
    facts_of_smartctl(
        sheet, "vda", {"smartctl": {"messages": [{"string": "Unable to detect device type", "severity": "error"}]}}
    )
    [fact] = sheet.facts
    assert (fact.kind, fact.note) == ("unknown", "Unable to detect device type")


def test_an_nvme_controller():
    sheet = Sheet()
    facts_of_nvme(sheet, "nvme0n1", {"mn": "FAST 1T   ", "fr": "1.0", "sn": "S9", "vwc": 7, "mdts": 5})
    assert values(sheet)["device.nvme0n1.volatile_write_cache"] is True
    assert values(sheet)["device.nvme0n1.max_transfer_bytes"] == 128 << 10


MOUNTSTATS = """device /dev/sda1 mounted on / with fstype ext4
device nas:/a mounted on /mnt/a with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=131072,wsize=65536,hard,proto=tcp,timeo=600,retrans=2
\tage:\t100
\tbytes:\t10 20 4096000 8192000 4096000 8192000 0 0
\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)
\txprt:\ttcp 800 1 2 0 0 500 500 0 600 0 2 10 20
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 1000 1003 1 128000 4224000 15 900 930 0
\t       WRITE: 70 70 0 0 0 0 0 0 0
\t      COMMIT: 7 7 0 0 0 0 0 0 0

device nas:/b mounted on /mnt/my\\040share with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\timpl_id:\tname='Linux 6.1.0-13-amd64 x86_64',domain='kernel.org',date='0,0'
\txprt:\ttcp 1 1 1 0 0 5 5 0 5 0 2 1 1
\txprt:\ttcp 2 1 1 0 0 5 5 0 5 0 2 1 1
"""


def test_mountstats_of_one_mount():
    assert server_bytes(section_of(MOUNTSTATS, "/mnt/a")) == (4096000, 8192000)
    assert server_flushes(section_of(MOUNTSTATS, "/mnt/a")) == 77
    other = section_of(MOUNTSTATS, "/mnt/my share")
    assert (server_bytes(other), connections(other)) == (None, 2)
    assert section_of(MOUNTSTATS, "/mnt") == ""


def test_a_server_of_nfs_says_what_it_runs(monkeypatch):
    monkeypatch.setattr(Sheet, "file", lambda *_: MOUNTSTATS)
    for place, said in (("/mnt/my share", "Linux 6.1.0-13-amd64 x86_64"), ("/mnt/a", None)):
        look_at_session(sheet := Sheet(), SimpleNamespace(protocol="NFS", mount_point=place))
        assert values(sheet).get("nfs.implementation") == said


def slot(tmp_path, **files):
    place = tmp_path / "pci0000:00" / "0000:00:1c.0" / "0000:02:00.0"
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_text(text)
    return place


def test_a_card_in_a_slot_that_is_too_narrow(tmp_path):
    place = slot(
        tmp_path,
        current_link_speed="5.0 GT/s PCIe\n",
        max_link_speed="8.0 GT/s PCIe\n",
        current_link_width="1\n",
        max_link_width="4\n",
    )
    sheet = Sheet()
    look_at_slot(sheet, "nic", place)
    seen = values(sheet)
    assert seen["nic.pcie.current_link_speed"] == 5.0
    assert seen["nic.pcie.max_link_width"] == 4
    assert seen["nic.pcie.below_capability"] is True


def test_a_conventional_pci_device_tells_no_link(tmp_path):
    sheet = Sheet()
    look_at_slot(sheet, "nic", slot(tmp_path, vendor="0x8086"))
    assert {fact.kind for fact in sheet.facts} == {"absent"}
    look_at_slot(sheet := Sheet(), "nic", tmp_path)
    assert sheet.facts == []


def test_a_missing_tool_and_a_failing_one_are_recorded():
    sheet = Sheet()
    assert sheet.tool("no-such-tool-at-all", "-j") is None
    assert sheet.tool("ls", "/nonexistent/place") is None
    assert [(fact.name, fact.kind) for fact in sheet.facts] == [
        ("tool.no-such-tool-at-all", "absent"),
        ("tool.ls", "unknown"),
    ]
    assert "/nonexistent/place" in sheet.raw["ls /nonexistent/place"]
    assert sheet.tool_json("echo", "no json") is None
    assert "JSON cannot be read" in sheet.facts[-1].note
