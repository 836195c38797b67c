# SPDX-License-Identifier: Apache-2.0
"""URIs of targets: their engines, what a job needs of them, and what is refused."""

import pytest

from ioatlas.errors import UsageError
from ioatlas.fio.uri import URI_ENGINES, check_uri, place_options, scheme_of
from ioatlas.model.options import ENGINES


def test_each_scheme_has_an_engine_that_a_sweep_may_name():
    assert set(URI_ENGINES.values()) <= set(ENGINES)


def test_places_in_the_options_of_each_engine():
    assert place_options("nbd://host/x") == (("uri", "nbd://host/x"),)
    assert dict(place_options("rbd://pool/image")) == {"clientname": "admin", "pool": "pool", "rbdname": "image"}
    assert dict(place_options("rbd://bench@pool/image"))["clientname"] == "bench"
    assert dict(place_options("gfapi://host/vol/dir/file.img")) == {
        "brick": "host",
        "volume": "vol",
        "filename": "dir/file.img",
    }


@pytest.mark.parametrize(
    "uri",
    [
        "rbd://pool",
        "rbd://pool/",
        "rbd://pool/a/b",
        "rbd://pool/a:b",
        "rbd://a@b@pool/image",
        "gfapi://host/vol",
        "gfapi://host:24007/vol/file",
        "gfapi://host/vol//file",
        "gfapi://host/vol/../file",
        "gfapi://host/vol/-rf",
    ],
)
def test_a_uri_that_does_not_name_one_place_is_refused(uri):
    with pytest.raises(UsageError, match=r"this is not (rbd:POOL/IMAGE|gfapi://HOST/VOLUME/FILE)"):
        check_uri(uri)


def test_the_scheme_is_in_small_letters():
    assert scheme_of("RBD://a/b") == "rbd"
