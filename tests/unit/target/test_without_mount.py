# SPDX-License-Identifier: Apache-2.0
"""Protocols without a mount: what is said of those that no URI opens."""

import pytest

from ioatlas.model.errors import UsageError
from ioatlas.target import opening
from ioatlas.target.opening import open_target


@pytest.mark.parametrize(
    ("uri", "instead"),
    [
        ("nfs://host/export", "mount -t nfs"),
        ("iscsi://host/iqn.2026-01.lab/1", "iscsiadm"),
        ("s3://host/bucket", "mount-s3"),
        ("smb://host/share", "mount -t cifs"),
        ("rbd://pool/image", "rbd map"),
        ("gfapi://host/volume/file", "mount -t glusterfs"),
    ],
)
def test_what_is_not_opened_is_said_with_what_works(uri, instead, monkeypatch):
    monkeypatch.setattr(opening, "lacks_engine", lambda name: True)
    with pytest.raises(UsageError) as error:
        open_target(uri)
    assert instead in str(error.value)


def test_a_fio_without_the_engine_is_said_before_anything_is_asked(monkeypatch):
    monkeypatch.setattr(opening, "lacks_engine", lambda name: True)
    with pytest.raises(UsageError, match="the installed fio has no") as error:
        open_target("nbd://host/x")
    assert "nbd-client" in str(error.value)


def test_a_path_that_looks_like_an_image_stays_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rbd:pool").mkdir()
    (tmp_path / "rbd:pool" / "image").mkdir()
    target = open_target("rbd:pool/image")
    assert target.kind == "directory"
