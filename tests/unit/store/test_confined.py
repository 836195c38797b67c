# SPDX-License-Identifier: Apache-2.0
"""Files below a directory: no step follows a link, nothing but ordinary files is read or written."""

import os
import tracemalloc

import pytest

from ioatlas.model.errors import RefusedError
from ioatlas.store import confined


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim").write_text("kept")
    return tmp_path / "root"


def test_directories_are_made_step_by_step(root):
    assert confined.make_directory(root, "batches/00001", fresh=True) == root / "batches" / "00001"
    assert confined.make_directory(root, "batches/00001", fresh=True).is_dir()
    (root / "batches" / "00001" / "x").touch()
    with pytest.raises(RefusedError, match="does not know"):
        confined.make_directory(root, "batches/00001", fresh=True)


@pytest.mark.parametrize("relative", ["batches/00001", "batches", "../x", "a/../../x"])
def test_no_step_follows_a_link_or_leads_out(root, relative):
    (root / "batches").symlink_to(root.parent / "outside")
    with pytest.raises(RefusedError):
        confined.make_directory(root, relative)
    assert os.listdir(root.parent / "outside") == ["victim"]


def test_the_directory_that_a_person_named_may_be_a_link(root):
    named = root.parent / "named"
    named.symlink_to(root)
    assert confined.make_directory(named, "batches/1").is_dir()
    confined.check_tree(named, ["batches"])
    confined.write_text(named / "x", "text", in_root=True)
    assert (root / "x").read_text() == "text"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_what_is_written_takes_the_place_of_a_link(root, link):
    link(root.parent / "outside" / "victim", root / "job.fio")
    confined.write_text(root / "job.fio", "new")
    assert (root / "job.fio").read_text() == "new"
    assert (root.parent / "outside" / "victim").read_text() == "kept"


def test_only_ordinary_files_are_read(root):
    (root / "link").symlink_to(root.parent / "outside" / "victim")
    os.mkfifo(root / "pipe")
    (root / "file").write_text("12345")
    with pytest.raises(OSError, match="symbolic links"):
        confined.read_text(root / "link")
    with pytest.raises(RefusedError, match="ordinary"):
        confined.read_text(root / "pipe")
    with pytest.raises(RefusedError, match="more than"):
        confined.read_text(root / "file", most_bytes=4)
    assert confined.read_text(root / "file") == "12345"
    assert confined.is_ordinary(root / "file")
    assert not confined.is_ordinary(root / "nothing")
    for name in ("link", "pipe"):
        with pytest.raises(RefusedError):
            confined.is_ordinary(root / name)


@pytest.mark.parametrize("size", [0, 99, 100])
def test_a_text_is_read_whole_up_to_its_limit(root, size, monkeypatch):
    monkeypatch.setattr(confined, "PIECE_BYTES", 7)
    (root / "x").write_text("ab" * (size // 2) + "c" * (size % 2))
    assert confined.read_text(root / "x", most_bytes=100) == (root / "x").read_text()
    if size:
        with pytest.raises(RefusedError, match=f"more than the {size - 1} bytes"):
            confined.read_text(root / "x", most_bytes=size - 1)


def test_a_small_text_takes_little_memory(root):
    (root / "x").write_text("few words")
    tracemalloc.start()
    confined.read_text(root / "x")
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "deep"])
def test_a_tree_with_anything_else_is_refused(root, kind):
    place = confined.make_directory(root, "batches/00001" + ("/d" * 10 if kind == "deep" else ""))
    match kind:
        case "link":
            (place / "fio.json").symlink_to(root.parent / "outside" / "victim")
        case "hard link":
            (place / "fio.json").hardlink_to(root.parent / "outside" / "victim")
        case "pipe":
            os.mkfifo(place / "fio.json")
    confined.check_tree(root, ["layout"])
    with pytest.raises(RefusedError):
        confined.check_tree(root, ["batches"])


@pytest.mark.parametrize("name", ["../../../x", "..", ".", "a/b", "a\nb", "", "-", "x" * 300, ".hidden", "ä"])
def test_any_name_becomes_one_part_of_a_path(name):
    plain = confined.plain_name(name)
    assert plain == os.path.basename(plain)
    assert plain not in ("", ".", "..")
    assert len(plain) <= 128
    assert plain.isascii()


def test_names_stay_apart_and_plain_ones_as_they_are():
    assert confined.plain_name("nas 1.2_x+y-z") == "nas 1.2_x+y-z"
    assert confined.plain_name("a/b") != confined.plain_name("a:b")
