# SPDX-License-Identifier: Apache-2.0
"""Protocols without a mount: what is opened by a URI, and what is said instead of the others."""

import pytest

from ioatlas.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.target import Target
from ioatlas.target import (
    check_identity,
    check_writable,
    confirm_overwrite,
    identify,
    open_target,
    opening,
    rbd,
)
from ioatlas.target.nbd import Export


def image(**more):
    told = {"facts": (("cluster", "c1"), ("image_id", "i1")), **more}
    return Export(1 << 20, False, **told)


@pytest.fixture
def ceph(monkeypatch):
    """A cluster's answer, to be changed by the test."""
    answer = {"now": image()}
    monkeypatch.setattr(rbd, "read_image", lambda uri: answer["now"])
    monkeypatch.setattr(opening, "lacks_engine", lambda name: False)
    return answer


def test_an_image_is_opened_by_its_short_and_its_full_name(ceph):
    target = open_target("rbd:pool/image")
    assert target == open_target("rbd://pool/image")
    assert (target.kind, target.location, target.name, target.ioengine) == ("uri", "rbd://pool/image", "image", "rbd")
    assert target.size_bytes == 1 << 20
    assert dict(target.identity.facts)["image_id"] == "i1"


def test_another_image_of_the_same_name_and_size_is_another_target(ceph):
    target = open_target("rbd:pool/image")
    ceph["now"] = image(facts=(("cluster", "c1"), ("image_id", "i2")))
    assert identify(target) != target.identity
    with pytest.raises(RefusedError, match="image_id was i1, is i2"):
        check_identity(target)


def test_an_image_that_somebody_has_open_is_not_written(ceph):
    target = open_target("rbd:pool/image")
    check_writable(target)
    ceph["now"] = image(users=("10.0.0.9:0/77",))
    with pytest.raises(RefusedError, match=r"10\.0\.0\.9:0/77 has it open for writing"):
        check_writable(target)


def test_it_is_written_only_after_name_and_size_are_typed(ceph):
    target = open_target("rbd:pool/image")
    for typed in (None, "yes", "rbd://pool/image", "rbd://pool/image 1048575"):
        with pytest.raises(RefusedError, match="will be lost"):
            confirm_overwrite(target, typed)
    confirm_overwrite(target, "rbd://pool/image 1048576")


@pytest.mark.parametrize(
    ("uri", "instead"),
    [
        ("nfs://host/export", "mount -t nfs"),
        ("iscsi://host/iqn.2026-01.lab/1", "iscsiadm"),
        ("s3://host/bucket", "mount-s3"),
        ("smb://host/share", "mount -t cifs"),
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
        open_target("rbd:pool/image")
    assert "rbd map" in str(error.value)


def test_an_empty_image_is_refused(ceph):
    ceph["now"] = Export(0, False)
    with pytest.raises(IoAtlasError, match="empty"):
        open_target("rbd:pool/image")


def test_a_path_that_looks_like_an_image_stays_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rbd:pool").mkdir()
    (tmp_path / "rbd:pool" / "image").mkdir()
    target: Target = open_target("rbd:pool/image")
    assert target.kind == "directory"
