# SPDX-License-Identifier: Apache-2.0
"""The container: one form only, read by any zip program, and nothing else is taken for it."""

import io
import random
import struct
import zipfile
import zlib

import pytest

from ioatlas.model.errors import IoAtlasError
from ioatlas.store import archive

MEMBERS = {"b/c.json": b'{"a": 1}\n' * 50, "a.txt": b"text", "b/é.txt": b"", "z.zip": b"PK" * 200}


def read_all(data):
    with archive.of_bytes(data, "x.zip") as opened:
        return {name: opened.read(name) for name in opened.members}


def test_what_is_written_is_read_by_us_and_by_others_whatever_the_order():
    data = archive.as_bytes(MEMBERS)
    assert archive.as_bytes(dict(reversed(MEMBERS.items()))) == data
    assert read_all(data) == MEMBERS
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        assert packed.testzip() is None
        assert {name: packed.read(name) for name in packed.namelist()} == MEMBERS
        assert packed.namelist() == sorted(MEMBERS, key=str.encode)
        assert {info.date_time for info in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.external_attr >> 16 for info in packed.infolist()} == {0o100644}
        assert packed.getinfo("z.zip").compress_type == zipfile.ZIP_STORED
        assert packed.getinfo("b/c.json").compress_type == zipfile.ZIP_DEFLATED


def test_every_changed_byte_outside_of_packed_data_is_refused_and_inside_it_changes_the_digest():
    data = archive.as_bytes(MEMBERS)
    digest = archive.of_bytes(data, "").digest()
    generator = random.Random(1)
    for place in range(len(data)):
        bad = bytearray(data)
        bad[place] ^= 1 << generator.randrange(8)
        try:
            with archive.of_bytes(bytes(bad), "") as opened:
                for name in opened.members:
                    opened.read(name)
                assert opened.digest() != digest, place
        except IoAtlasError:
            pass


@pytest.mark.parametrize("more", [b"\0", b"PK", b"PK\5\6" + bytes(18)])
def test_nothing_stands_before_or_behind(more):
    data = archive.as_bytes(MEMBERS)
    for changed in (data + more, more + data):
        with pytest.raises(IoAtlasError):
            read_all(changed)


def others(**how):
    """A zip of another program."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **how) as packed:
        packed.writestr("a.txt", "text")
    return out.getvalue()


@pytest.mark.parametrize("data", [b"", b"PK\5\6" + bytes(17), b"x" * 100, others(), others(compression=8)])
def test_what_is_no_such_zip_is_refused(data):
    with pytest.raises(IoAtlasError):
        read_all(data)


NAMES = [
    "../a", "/a", "a/../b", "a//b", "./a", "a/.", "", "a\\b", "c:a", "a\nb", "a\0b", "x" * 300, " a", "a/ /b",
    "e\u0301.txt", "a\u202eb",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_neither_written_nor_read(name):
    with pytest.raises(IoAtlasError):
        archive.as_bytes({name: b""})
    with pytest.raises(IoAtlasError):
        read_all(forged([(name, b"text")]))


def forged(members, *, mode=None, sizes=None, method=0):
    """A container of our form, but for what is given. members: (name, bytes) in any order."""
    out, central = b"", b""
    for name, data in members:
        size = len(data) if sizes is None else sizes
        crc = zlib.crc32(data)
        one = archive.Member(name, method, crc, len(data), size, len(out))
        head = one.central_header
        if mode is not None:
            head = head[:38] + struct.pack("<I", mode << 16) + head[42:]
        out += one.local_header + data
        central += head
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(members), len(members), len(central), len(out), 0)
    return out + central + end


def test_the_forger_of_these_tests_makes_what_we_make():
    assert forged([("a", b"x"), ("b", b"y")]) == archive.as_bytes({"a": b"x", "b": b"y"})


@pytest.mark.parametrize(
    "members",
    [[("a", b"1"), ("a", b"2")], [("b", b"1"), ("a", b"2")], [("A", b"1"), ("a", b"2")], [("a", b"1"), ("a/b", b"2")]],
    ids=["twice", "unsorted", "same but for case", "file and folder"],
)
def test_names_are_sorted_and_stand_there_once(members):
    with pytest.raises(IoAtlasError, match="sorted"):
        read_all(forged(members))


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o020666, 0o100755])
def test_links_directories_devices_and_programs_are_refused(mode):
    with pytest.raises(IoAtlasError, match="no ordinary file"):
        read_all(forged([("a", b"/etc/passwd")], mode=mode))


def deflated(data):
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packing.compress(data) + packing.flush()


def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = deflated(bytes(50 << 20))
    with pytest.raises(IoAtlasError, match="would unpack"):
        read_all(forged([("a", bomb)], sizes=50 << 20, method=8))
    small = forged([("a", bomb)], sizes=100, method=8)  # that lies about its size
    with pytest.raises(IoAtlasError, match="does not end"):
        read_all(small)
    with pytest.raises(IoAtlasError, match="would unpack"):
        read_all(forged([("a", b"x")], sizes=(1 << 32) - 1, method=0))


def test_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    with pytest.raises(IoAtlasError, match="too much"):
        archive.as_bytes(MEMBERS)
    with pytest.raises(IoAtlasError):
        read_all(forged([(name, b"") for name in "abcd"]))


def test_the_unpacked_size_of_all_is_bounded(monkeypatch):
    data = archive.as_bytes(MEMBERS)
    monkeypatch.setattr(archive, "MOST_UNPACKED", 100)
    with pytest.raises(IoAtlasError, match="does not fit"):
        read_all(data)


def test_a_member_is_read_up_to_what_is_asked_for():
    with archive.of_bytes(archive.as_bytes(MEMBERS), "") as opened:
        with pytest.raises(IoAtlasError, match="more than the 10"):
            opened.read("b/c.json", 10)
        with pytest.raises(IoAtlasError, match="not there"):
            opened.read("none")


def test_what_packs_too_well_is_stored_so_that_the_limit_holds():
    data = bytes(1 << 20)
    assert read_all(archive.as_bytes({"a": data})) == {"a": data}
