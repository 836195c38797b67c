# SPDX-License-Identifier: Apache-2.0
"""Every guard of a block device, fired on a real one that holds something; and an empty one let through."""

import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.target.direct import direct_io_alignment
from ioatlas.target.guard import check_before_start, check_extent, confirm_destroy
from ioatlas.target.identity import check_identity
from ioatlas.target.opening import open_target
from ioatlas.target.place import check_journal_place
from tests.real.target_lab import run, wait_for

pytestmark = [pytest.mark.needs("root"), pytest.mark.unmeasured]


def refusal(device):
    target = open_target(device)
    with pytest.raises(RefusedError) as caught:
        check_before_start(target, writes=True)
    check_before_start(target, writes=False)  # a read-only sweep is permitted whatever is on it
    return str(caught.value)


def write_at(device, *pieces):
    with open(device, "r+b") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def partition_table(label):
    return lambda device: run("sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", device, input=f"label: {label}\n")


def luks(device):
    options = "--batch-mode --pbkdf pbkdf2 --pbkdf-force-iterations 1000"
    run("cryptsetup", "luksFormat", *options.split(), device, "-", input="secret")


def md_member(device):
    """A version 1.2 superblock by its documented layout, as this kernel has no md to make one."""
    superblock = bytearray(256)
    struct.pack_into("<IIII", superblock, 0, 0xA92B4EFC, 1, 0, 0)
    superblock[16:32] = bytes(range(16))
    struct.pack_into("<Q", superblock, 128, 2048)  # data_offset
    struct.pack_into("<Q", superblock, 144, 8)  # super_offset, in sectors
    total = sum(struct.unpack("<64I", superblock))
    struct.pack_into("<I", superblock, 216, (total & 0xFFFFFFFF) + (total >> 32))
    write_at(device, (4096, bytes(superblock)))


def zfs_label(offset):
    """One of the four labels of a ZFS disk by its documented layout: a configuration under a checksum that covers its
    place, and uberblocks.

    Older libblkid go by the uberblocks, 2.41 and newer by the configuration (a list of names and values in XDR).
    """

    def pair(name, kind, value):
        text = name.encode()
        body = struct.pack(">I", len(text)) + text + bytes(-len(text) % 4) + struct.pack(">II", kind, 1) + value
        return struct.pack(">II", 8 + len(body), 8 + len(body)) + body

    numbers = {"version": 5000, "state": 0, "txg": 4, "pool_guid": 0x1234567890ABCDEF}
    numbers |= {"top_guid": 99, "guid": 99, "ashift": 12}
    pairs = b"".join(pair(name, 8, struct.pack(">Q", value)) for name, value in numbers.items())
    pairs += pair("name", 9, struct.pack(">I", 4) + b"tank")
    configuration = (bytes([1, 1, 0, 0]) + struct.pack(">II", 0, 1) + pairs + bytes(8)).ljust((112 << 10) - 40, b"\0")
    configuration += struct.pack("<QQQQQ", 0x0210DA7AB10C7A11, offset + (16 << 10), 0, 0, 0)
    configuration = configuration[:-32] + hashlib.sha256(configuration).digest()
    uberblocks = b"".join(struct.pack("<QQQ", 0x00BAB10C, 5000, 4 + slot).ljust(1024, b"\0") for slot in range(8))
    return (offset + (16 << 10), configuration), (offset + (128 << 10), uberblocks)


def zfs_member(device):
    size = int(run("blockdev", "--getsize64", device))
    for offset in (0, 256 << 10, size - (512 << 10), size - (256 << 10)):
        write_at(device, *zfs_label(offset))


def bcache_member(device):
    """A bcache superblock by its documented layout."""
    superblock = bytearray(256)
    struct.pack_into("<QQQ", superblock, 0, 0, 8, 0)  # csum, offset in sectors, version
    superblock[24:40] = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
    superblock[40:56] = bytes(range(16))
    write_at(device, (4096, bytes(superblock)))


BCACHEFS = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")
HELD = [
    ("ext4", ["mkfs.ext4"], lambda device: run("mkfs.ext4", "-q", device)),
    ("xfs", ["mkfs.xfs"], lambda device: run("mkfs.xfs", "-q", device)),
    ("btrfs", ["mkfs.btrfs"], lambda device: run("mkfs.btrfs", "-q", device)),
    ("vfat", ["mkfs.vfat"], lambda device: run("mkfs.vfat", device)),
    ("swap", ["mkswap"], lambda device: run("mkswap", device)),
    ("gpt", ["sfdisk"], partition_table("gpt")),
    ("dos", ["sfdisk"], partition_table("dos")),
    ("LVM2_member", ["pvcreate"], lambda device: run("pvcreate", "--yes", device)),
    ("crypto_LUKS", ["cryptsetup"], luks),
    ("linux_raid_member", [], md_member),
    ("zfs_member", [], zfs_member),
    ("bcache", [], bcache_member),
    ("bcachefs", [], lambda device: write_at(device, (4096 + 24, BCACHEFS))),
    ("bcachefs", [], lambda device: write_at(device, (7 * 512, BCACHEFS))),
    ("stratis", [], lambda device: write_at(device, (9 * 512 + 4, b"!Stra0tis\x86\xff\x02^Arh"))),
    ("apfs", [], lambda device: write_at(device, (32, b"NXSB"))),
    ("erofs", [], lambda device: write_at(device, (1024, b"\xe2\xe1\xf5\xe0"))),
    ("zonefs", [], lambda device: write_at(device, (0, b"SFOZ"))),
]


@pytest.mark.parametrize(
    ("kind", "make"), [pytest.param(kind, make, id=kind, marks=pytest.mark.needs(*tools)) for kind, tools, make in HELD]
)
def test_a_signature_refuses(bench, kind, make):
    device = bench.loop(bench.image(320 << 20))
    make(device)
    text = refusal(device)
    assert f" {kind} " in text, text
    assert "signature at byte" in text, text


@pytest.mark.parametrize("lost_sectors", [1, 34], ids=["no protective MBR", "only the backup"])
def test_a_gpt_of_which_a_part_is_left_refuses(bench, lost_sectors):
    device = bench.loop()
    partition_table("gpt")(device)
    write_at(device, (0, bytes(lost_sectors * 512)))
    assert "gpt" in refusal(device)


def test_an_empty_device_passes_and_stays_free_after_a_load(bench):
    device = bench.loop()
    target = open_target(device)
    assert (target.kind, target.size_bytes, target.location) == ("block", 64 << 20, device)
    check_before_start(target, writes=True)
    options = "--name=fill --rw=write --bs=1048576 --refill_buffers=1 --thread --direct=1"
    run("fio", f"--filename={device}", *options.split())
    check_before_start(target, writes=True)


def test_confirmation_wants_the_size_in_full(bench):
    target = open_target(bench.loop())
    for typed in ("67108864", "64 MiB", " 67108864 "):
        confirm_destroy(target, typed)
    for typed in (None, "", "y", "yes", "6710886", "671088640", "64", "64 GiB", "0"):
        with pytest.raises(RefusedError, match="67108864"):
            confirm_destroy(target, typed)


def test_the_load_may_not_reach_past_the_end(bench):
    target = open_target(bench.loop())
    check_extent(target, 64 << 20)
    with pytest.raises(RefusedError, match="ends at 67108864"):
        check_extent(target, (64 << 20) + 1)


@pytest.mark.needs("mkfs.ext4")
def test_mounted_refuses_also_when_its_signature_is_gone(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    point = bench.mount(device)
    text = refusal(device)
    assert f"mounted on {point}" in text
    assert "ext4" in text
    run("wipefs", "--all", "--force", device)
    text = refusal(device)
    assert f"mounted on {point}" in text
    assert "signature" not in text


@pytest.mark.needs("mkfs.ext4", "unshare")
def test_mounted_in_another_namespace_refuses(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    point = bench.directory / "elsewhere"
    point.mkdir()
    script = f"mount {device} {point} && echo up && read wait"
    process = bench.start(
        "unshare", "--mount", "sh", "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    assert not os.path.ismount(point)
    run("wipefs", "--all", "--force", device)
    assert f"mounted on {point}" in refusal(device)


@pytest.mark.needs("mkfs.btrfs")
def test_every_member_of_a_mounted_btrfs_refuses(bench):
    devices = [bench.loop(bench.image(128 << 20)) for _ in range(2)]
    run("mkfs.btrfs", "-q", "-f", *devices)
    run("btrfs", "device", "scan", *devices)
    forget = ("btrfs", "device", "scan", "--forget", *devices)
    # A mount namespace that was made meanwhile, as other tests do, holds the mount until it ends.
    bench.undo_later(lambda: wait_for(lambda: subprocess.run(forget, capture_output=True, check=False).returncode == 0))
    point = bench.mount(devices[0])
    for device in devices:
        assert f"mounted on {point}" in refusal(device)


@pytest.mark.needs("mkswap", "swapon")
def test_active_swap_refuses_also_when_its_signature_is_gone(bench):
    image = bench.image()
    device = bench.loop(image)
    run("mkswap", device)
    bench.swap(device)
    write_at(image, (os.sysconf("SC_PAGESIZE") - 10, bytes(10)))  # the device itself can no longer be written
    text = refusal(device)
    assert "active swap" in text
    assert "signature" not in text


def partitioned(bench, label):
    """A loop device with two partitions, told to the kernel by partx as some kernels do not read every table."""
    device = bench.loop()
    partition_table(f"{label}\nsize=16MiB\nsize=16MiB")(device)
    run("partx", "--add", device)
    # Whoever looks at all disks, as other tests do, holds a partition for a moment.
    delete = ["partx", "--delete", device]
    bench.undo_later(lambda: wait_for(lambda: subprocess.run(delete, check=False).returncode == 0, seconds=60))
    assert os.path.exists(f"{device}p2")
    return device


@pytest.mark.needs("sfdisk", "partx")
def test_a_disk_with_partitions_and_a_partition_refuse(bench):
    device = partitioned(bench, "gpt")
    assert f"has partitions ({device}p1, {device}p2)" in refusal(device)
    text = refusal(f"{device}p1")
    assert f"a partition of {device}" in text
    assert f"has partitions ({device}p2)" in text
    # The kernel still serves the partitions of a table that is gone.
    run("wipefs", "--all", "--force", device)
    text = refusal(device)
    assert "has partitions" in text
    assert "signature" not in text


@pytest.mark.needs("sfdisk", "partx", "mkfs.ext4")
def test_a_disk_whose_partition_is_mounted_says_so(bench):
    device = partitioned(bench, "dos")
    run("mkfs.ext4", "-q", f"{device}p2")
    point = bench.mount(f"{device}p2")
    assert f"{device}p2, which is built on it, is mounted on {point}" in refusal(device)
    assert f"{device}p2" in refusal(f"{device}p1")


@pytest.mark.needs("mkfs.ext4")
def test_another_loop_device_of_the_same_file_refuses(bench):
    image = bench.image()
    one, other = bench.loop(image), bench.loop(image)
    run("mkfs.ext4", "-q", one)
    point = bench.mount(one)
    run("wipefs", "--all", "--force", one)
    assert f"{one}, which leads to the same bytes, is mounted on {point}" in refusal(other)


@pytest.mark.needs("mkfs.ext4")
def test_a_loop_device_above_or_below_refuses(bench):
    lower = bench.loop()
    upper = bench.loop(lower)
    run("mkfs.ext4", "-q", upper)
    point = bench.mount(upper)
    run("wipefs", "--all", "--force", upper)
    assert f"{upper}, which is built on it, is mounted on {point}" in refusal(lower)
    run("umount", str(point))
    bench._undo.pop()
    run("mkfs.ext4", "-q", "-F", lower)
    assert f"{lower}, which lies below it, holds ext4 (file system" in refusal(upper)


def needs_kernel(name):
    """Skips where the kernel has no such block driver: these ran on a kernel that has."""
    if name not in Path("/proc/devices").read_text().split():
        pytest.skip(f"this kernel has no {name}")


@pytest.mark.needs("dmsetup")
def test_a_holder_refuses(bench):
    needs_kernel("device-mapper")
    device = bench.loop()
    run("dmsetup", "create", "ioatlas-guard", "--noudevsync", "--table", f"0 1024 linear {device} 0")
    bench.undo_later(lambda: run("dmsetup", "remove", "--noudevsync", "ioatlas-guard"))
    assert "is held by /dev/dm-" in refusal(device)
    # The mapped device itself rests on nothing but an empty disk that only it holds.
    mapped = next(
        path for path in Path("/sys/block").glob("dm-*") if (path / "dm/name").read_text().strip() == "ioatlas-guard"
    )
    check_before_start(open_target(f"/dev/{mapped.name}"), writes=True)


@pytest.mark.needs("pvcreate", "lvcreate")
def test_an_active_logical_volume_refuses(bench):
    needs_kernel("device-mapper")
    device = bench.loop()
    config = ("--config", "activation{udev_sync=0 udev_rules=0} devices{use_devicesfile=0}")
    run("pvcreate", "--yes", *config, device)
    run("vgcreate", *config, "ioatlasguard", device)
    bench.undo_later(lambda: run("vgremove", "--yes", *config, "ioatlasguard"))
    options = "--yes --zero n --wipesignatures n --size 16M --name lv ioatlasguard"
    run("lvcreate", *config, *options.split())
    assert "is held by /dev/dm-" in refusal(device)
    volume = next(
        path for path in Path("/sys/block").glob("dm-*") if (path / "dm/name").read_text().strip() == "ioatlasguard-lv"
    )
    text = refusal(f"/dev/{volume.name}")
    assert f"{device}, which lies below it, holds LVM2_member" in text


@pytest.mark.needs("mdadm")
def test_an_array_and_its_members_refuse(bench):
    needs_kernel("md")
    members = [bench.loop(), bench.loop()]
    array = "/dev/md99"
    options = "--run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean"
    run("mdadm", "--create", array, *options.split(), *members)
    bench.undo_later(lambda: run("mdadm", "--stop", array))
    for member in members:
        text = refusal(member)
        assert "is held by /dev/md99" in text
        assert "linux_raid_member" in text
    assert f"{members[1]}, which lies below it, holds linux_raid_member" in refusal(array)
    for member in members:  # the array runs on although its signatures are gone
        write_at(member, (4096, bytes(4096)))
        assert "is held by /dev/md99" in refusal(member)


def test_two_paths_to_one_unit_are_known_by_their_wwn(bench):
    """With `modprobe scsi_debug add_host=2 vpd_use_hostno=0 virtual_gb=0`: two disks that are one."""
    disks = {}
    for path in Path("/sys/block").glob("sd*"):
        if (path / "device/model").read_text().strip() == "scsi_debug":
            disks.setdefault((path / "device/wwid").read_text().strip(), []).append(f"/dev/{path.name}")
    pair = next((sorted(pair) for pair in disks.values() if len(pair) == 2), None)
    if pair is None:
        pytest.skip("no scsi_debug disk with two paths, which modprobe would make where the kernel has that module")
    one, other = pair
    check_before_start(open_target(one), writes=True)
    target = open_target(one)
    facts = dict(target.identity.facts)
    confirm_destroy(target, facts["wwn"])
    if len(facts["serial"]) < 4:  # `000` names nothing
        with pytest.raises(RefusedError, match=facts["size_bytes"]):
            confirm_destroy(target, facts["serial"])
    run("mkfs.ext4", "-q", other)
    bench.undo_later(lambda: run("wipefs", "--all", other))
    point = bench.mount(other)
    text = refusal(one)
    assert f"{other}, which leads to the same bytes, is mounted on {point}" in text


def holding(device, flags):
    return [sys.executable, "-c", f"import os; os.open({device!r}, {flags}); print('up', flush=True); input()"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [("os.O_RDONLY | os.O_EXCL", "exclusive use"), ("os.O_RDWR", "has it open for writing")],
    ids=["exclusive", "writing"],
)
def test_another_process_that_uses_it_refuses(bench, flags, words):
    device = bench.loop()
    process = bench.start(*holding(device, flags), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    text = refusal(device)
    assert words in text
    if "writing" in words:
        assert f"(pid {process.pid})" in text


def test_another_process_that_reads_it_does_not_matter(bench):
    device = bench.loop()
    process = bench.start(*holding(device, "os.O_RDONLY"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    check_before_start(open_target(device), writes=True)


def test_a_read_only_device_is_only_read(bench):
    target = open_target(bench.loop(None, "--read-only"))
    check_before_start(target, writes=False)
    with pytest.raises(IoAtlasError, match="read-only"):
        check_before_start(target, writes=True)


def test_a_link_to_a_device_is_resolved(bench):
    device = bench.loop()
    link = bench.directory / "by-id"
    link.symlink_to(device)
    assert open_target(str(link)).location == device


def test_another_disk_under_the_same_name_is_noticed(bench):
    device = bench.loop()
    target = open_target(device)
    check_identity(target)
    run("losetup", "--detach", device)
    run("losetup", device, str(bench.image(32 << 20)))
    with pytest.raises(RefusedError) as caught:
        check_identity(target)
    assert "size_bytes was 67108864, is 33554432" in str(caught.value)
    assert "backing_file was" in str(caught.value)


def test_a_device_that_has_gone_is_one_clear_error(bench):
    device = bench.loop()
    target = open_target(device)
    run("losetup", "--detach", device)
    with pytest.raises(RefusedError, match="size_bytes was 67108864, is 0"):
        check_before_start(target, writes=True)
    with pytest.raises(IoAtlasError, match="no size"):
        open_target(device)


@pytest.mark.needs("mkfs.ext4")
def test_the_journal_is_refused_on_the_device_under_test(bench):
    device = bench.loop()
    run("mkfs.ext4", "-q", device)
    point = bench.mount(device)
    target = open_target(device)
    with pytest.raises(RefusedError, match="device under test"):
        check_journal_place(str(point / "not" / "yet" / "there"), target)
    inner = point / "inner"
    with inner.open("wb") as file:
        file.truncate(16 << 20)
    nested = bench.loop(inner)
    run("mkfs.ext4", "-q", nested)
    with pytest.raises(RefusedError, match="device under test"):
        check_journal_place(str(bench.mount(nested)), target)
    assert check_journal_place(str(bench.directory / "campaign"), target) == ()


@pytest.mark.needs("sfdisk", "partx", "mkfs.ext4")
def test_the_journal_is_refused_on_a_partition_of_the_device_under_test(bench):
    device = partitioned(bench, "gpt")
    run("mkfs.ext4", "-q", f"{device}p2")
    point = bench.mount(f"{device}p2")
    for place in (device, f"{device}p1"):
        with pytest.raises(RefusedError, match="device under test"):
            check_journal_place(str(point), open_target(place))


@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_direct_io_alignment_of_a_device(bench, sector_bytes):
    device = bench.loop(None, "--sector-size", str(sector_bytes))
    target = open_target(device)
    found = direct_io_alignment(device)
    assert target.logical_block_bytes == sector_bytes
    assert (found.supported, found.offset_alignment_bytes) == (True, sector_bytes), found
