# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from ioatlas.target.tree import TREE, make_tree, remove_tree


@pytest.fixture
def place(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    make_tree(fd, ["job.0/level.2", "job.1/level.2"])
    yield tmp_path, fd, os.fstat(fd).st_dev
    os.close(fd)


def fill(folder, count, mark="f"):
    for number in range(count):
        (folder / f"{mark}.0.{number}").touch()


def test_a_tree_of_any_number_of_files_goes(place):
    path, fd, device = place
    fill(path / TREE / "job.0/level.2", 6000)
    fill(path / TREE / "job.1/level.2", 10, "r")
    left, told = {}, []
    assert remove_tree(fd, device, left, told.append) == 6010
    assert left == {}
    assert told == [5000]
    assert list(path.iterdir()) == []
    assert remove_tree(fd, device, left) == 0


def test_what_is_not_ours_stays_with_its_folders(place):
    path, fd, device = place
    deep = path / TREE / "job.0/level.2"
    fill(deep, 3)
    (deep / "notes.txt").write_text("mine")
    (path / TREE / "photos").mkdir()
    left = {}
    assert remove_tree(fd, device, left) == 3
    assert left["tree/job.0/level.2/notes.txt"] == "not made by ioatlas"
    assert left["tree/photos"] == "not made by ioatlas"
    assert (deep / "notes.txt").read_text() == "mine"
    assert not (path / TREE / "job.1").exists()


def test_no_link_is_followed(place, tmp_path_factory):
    path, fd, device = place
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, 2)
    (path / TREE / "job.7").symlink_to(elsewhere)
    (path / TREE / "job.0/level.2/f.0.0").symlink_to(elsewhere / "f.0.0")
    left = {}
    assert remove_tree(fd, device, left) == 0
    assert set(left) >= {"tree/job.7", "tree/job.0/level.2/f.0.0"}
    assert sorted(one.name for one in elsewhere.iterdir()) == ["f.0.0", "f.0.1"]


def test_a_link_in_the_place_of_the_tree_is_left(tmp_path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, 2)
    (tmp_path / TREE).symlink_to(elsewhere)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        left = {}
        assert remove_tree(fd, os.fstat(fd).st_dev, left) == 0
    finally:
        os.close(fd)
    assert TREE in left
    assert len(list(elsewhere.iterdir())) == 2
