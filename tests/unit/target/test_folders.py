# SPDX-License-Identifier: Apache-2.0
"""A folder that a command filled is removed whole, and nothing outside it."""

import os

import pytest

from ioatlas.target.workspace import DEEPEST, remove_folder


@pytest.fixture
def parent(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_links_are_removed_and_never_followed(tmp_path, parent):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    folder = tmp_path / "f.work"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "away").symlink_to(tmp_path / "outside")
    os.link(tmp_path / "outside" / "kept", folder / "second")
    os.mkfifo(folder / "deep" / "pipe")
    (folder / "deep" / "deeper").chmod(0o500)
    remove_folder(parent, "f.work")
    assert not folder.exists()
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path, parent):
    (tmp_path / "outside").mkdir()
    (tmp_path / "f.work").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        remove_folder(parent, "f.work")
    assert (tmp_path / "outside").is_dir()


def test_what_is_too_deep_is_said(tmp_path, parent):
    folder = tmp_path / "f.work"
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(DEEPEST + 2):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    with pytest.raises(OSError, match="levels of directories"):
        remove_folder(parent, "f.work")
