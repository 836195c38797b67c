# SPDX-License-Identifier: Apache-2.0
"""URIs that name a target: which schemes there are, the engine of each, and what fio reads back as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ioatlas.errors import UsageError

URI_ENGINES = {"nbd": "nbd", "nbd+unix": "nbd", "rbd": "rbd", "gfapi": "gfapi_async"}
"""fio's engine of every scheme. `rbd` and `gfapi` are read in journals of before; they are no longer opened."""
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,=%\[\]]+")
_KEYWORDS = re.compile(r"\$\{|\$(pagesize|mb_memory|ncpus)")
_PASSWORD = re.compile(r"(//[^/@?#:%]*[:%])[^/@?#]+@")
_SECRET = re.compile(r"((?:^|[?&:;,])[\w.\-]*(?:key|secret|passw(?:or)?d|token)[\w.\-]*=)[^&:;,]+", re.IGNORECASE)
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_IMAGE = re.compile(rf"rbd://(?:(?P<clientname>{_WORD})@)?(?P<pool>{_WORD})/(?P<rbdname>{_WORD})", re.IGNORECASE)


def scheme_of(uri: str) -> str:
    """Its scheme, in small letters."""
    return uri.partition(":")[0].lower()


def masked(text: str) -> str:
    """What a person typed as a target, with *** in the place of passwords and keys."""
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1***@", text))


def check_no_secret(uri: str) -> None:
    """Raises UsageError for a URI with a password or a key in it."""
    if masked(uri) != uri:
        raise UsageError(
            "a password in a URI would stand in job files, the journal and the report",
            where=masked(uri),
            remedy="leave it out, and let the server know this client by its address or a socket",
        )


def check_uri(uri: str) -> None:
    """Raises UsageError for a URI that fio would read otherwise, or that names no place."""
    if not _CHARACTERS.fullmatch(uri) or _KEYWORDS.search(uri):
        raise UsageError(
            "this URI holds a character that fio would misread",
            where=repr(uri[:200]),
            remedy="write it percent-encoded, e.g. %3B for a semicolon",
        )
    scheme = scheme_of(uri)
    if scheme == "rbd" and _IMAGE.fullmatch(uri) is None:
        raise UsageError(
            "this is not rbd:POOL/IMAGE, with names of letters, digits and . _ -",
            where=uri,
            remedy="write rbd:POOL/IMAGE",
        )
    socket = re.search(r"[?&]socket=([^&]*)", uri)
    if scheme == "nbd+unix" and (socket is None or not socket.group(1).startswith(("/", "%2F", "%2f"))):
        raise UsageError(
            "an nbd+unix URI names its socket by an absolute path",
            where=uri,
            remedy="write nbd+unix:///EXPORT?socket=/PATH",
        )


def parts_of(uri: str) -> Mapping[str, str]:
    """What a URI of Ceph names, by fio's options. Raises UsageError for another form."""
    check_uri(uri)
    match = _IMAGE.fullmatch(uri)
    return match.groupdict("admin") if match is not None else {}


def place_options(uri: str) -> tuple[tuple[str, str], ...]:
    """The options of a job that bind it to this URI."""
    return tuple(parts_of(uri).items()) if scheme_of(uri) == "rbd" else (("uri", uri),)
