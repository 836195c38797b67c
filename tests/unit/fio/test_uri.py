# SPDX-License-Identifier: Apache-2.0
"""URIs of targets: their engines, what a job needs of them, and what is refused."""

import pytest

from ioatlas.model.errors import UsageError
from ioatlas.model.options import ENGINES
from ioatlas.model.target import URI_ENGINES, check_no_secret, check_uri, masked, place_options, scheme_of


def test_each_scheme_has_an_engine_that_a_sweep_may_name():
    assert set(URI_ENGINES.values()) <= set(ENGINES)


def test_places_in_the_options_of_each_engine():
    assert place_options("nbd://host/x") == (("uri", "nbd://host/x"),)
    assert dict(place_options("rbd://pool/image")) == {"clientname": "admin", "pool": "pool", "rbdname": "image"}
    assert dict(place_options("rbd://bench@pool/image"))["clientname"] == "bench"


@pytest.mark.parametrize(
    "uri", ["rbd://pool", "rbd://pool/", "rbd://pool/a/b", "rbd://pool/a:b", "rbd://a@b@pool/image"]
)
def test_a_uri_that_does_not_name_one_place_is_refused(uri):
    with pytest.raises(UsageError, match="it is no rbd:POOL/IMAGE"):
        check_uri(uri)


def test_the_scheme_is_in_small_letters():
    assert scheme_of("RBD://a/b") == "rbd"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("nbd://user:pw@host:10809/disk", "nbd://user:***@host:10809/disk"),
        ("nbd+unix://u:pw@/disk?socket=/s", "nbd+unix://u:***@/disk?socket=/s"),
        ("iscsi://user%pw@host:3260/iqn.x/1", "iscsi://user%***@host:3260/iqn.x/1"),
        ("s3://bucket?access_key=AK&secret_key=pw", "s3://bucket?access_key=***&secret_key=***"),
        ("rbd:pool/image:id=x:key=pw", "rbd:pool/image:id=x:key=***"),
    ],
)
def test_a_password_is_never_shown_and_never_taken(typed, shown):
    assert masked(typed) == shown
    with pytest.raises(UsageError) as caught:
        check_no_secret(typed)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "typed",
    ["nbd://alice@host/disk", "nbd://[::1]:10809/disk", "rbd://client@pool/key", "nbd+unix:///monkey=1?socket=/a:b@c"],
)
def test_a_uri_without_a_password_is_as_it_was(typed):
    assert masked(typed) == typed
    check_no_secret(typed)
