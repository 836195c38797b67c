# SPDX-License-Identifier: Apache-2.0
"""URIs that name a target: which schemes there are, the engine of each, and what fio reads back as it was written."""

from __future__ import annotations

import re

from ioatlas.errors import UsageError

URI_ENGINES = {"nbd": "nbd", "nbd+unix": "nbd"}
"""fio's engine of every scheme."""
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,=%\[\]]+")
_KEYWORDS = re.compile(r"\$\{|\$(pagesize|mb_memory|ncpus)")


def scheme_of(uri: str) -> str:
    """Its scheme, in small letters."""
    return uri.partition("://")[0].lower()


def check_uri(uri: str) -> None:
    """Raises UsageError for a URI that fio would read otherwise, or that names no place."""
    if not _CHARACTERS.fullmatch(uri) or _KEYWORDS.search(uri):
        raise UsageError(
            "this URI holds a character that fio would misread",
            where=repr(uri[:200]),
            remedy="write it percent-encoded, e.g. %3B for a semicolon",
        )
    socket = re.search(r"[?&]socket=([^&]*)", uri)
    if scheme_of(uri) == "nbd+unix" and (socket is None or not socket.group(1).startswith(("/", "%2F", "%2f"))):
        raise UsageError(
            "an nbd+unix URI names its socket by an absolute path",
            where=uri,
            remedy="write nbd+unix:///EXPORT?socket=/PATH",
        )
