# SPDX-License-Identifier: Apache-2.0
"""A target: what is measured, and how it is recognised again before every start of the load; and groups of
them that are loaded together; and URIs that name one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.options import KEYWORD

TargetKind = Literal["directory", "file", "block", "uri", "imported", "together"]
"""imported: nowhere; what another tool measured goes by such a target's name. together: several at once."""


@dataclass(frozen=True)
class Identity:
    """Facts that must still hold before every fio start; a disk may have another name after a reboot, a NAS may be
    unmounted.

    facts: sorted (name, value), e.g. ('fs_type', 'ext4'), ('source', '/dev/vda'), ('st_dev', '65024'), ('serial', ...),
           ('size_bytes', ...).
    """

    facts: tuple[tuple[str, str], ...] = ()

    def differences(self, other: Identity) -> tuple[str, ...]:
        mine, theirs = dict(self.facts), dict(other.facts)
        return tuple(
            f"{name} was {mine.get(name, 'unknown')}, is {theirs.get(name, 'unknown')}"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        )


@dataclass(frozen=True)
class Target:
    """One place to measure. `location` is an absolute path or a URI; `size_bytes` is None for a directory."""

    name: str
    kind: TargetKind
    location: str
    identity: Identity = field(default_factory=Identity)
    size_bytes: int | None = None
    free_bytes: int | None = None
    logical_block_bytes: int = 512
    ioengine: str | None = None

    @property
    def takes_flushes(self) -> bool:
        """Whether its server says that it takes any; an error for every other one."""
        return NO_FLUSHES not in self.identity.facts


NO_FLUSHES = ("flushes", "none")
"""Among the facts of an NBD export to which no flush may be sent."""
LONGEST_NAME = 48


@dataclass(frozen=True)
class Group:
    """Targets that are loaded together. Cells go by the group's name, and work on targets of it by theirs."""

    name: str
    members: tuple[str, ...]


def group_name(members: Sequence[str]) -> str:
    """Name of a group that nobody named."""
    name = " + ".join(members)
    return name if len(name) <= LONGEST_NAME else f"{len(members)} targets together"


def on_members(cells: Iterable[Cell], groups: Iterable[Group]) -> tuple[Cell, ...]:
    """The cells as each target sees them: one of a group stands once for each of its targets, whose load it is."""
    members = {group.name: group.members for group in groups}
    if not members:
        return tuple(cells)
    return tuple(replace(cell, target=name) for cell in cells for name in members.get(cell.target, (cell.target,)))


URI_ENGINES = {"nbd": "nbd", "nbd+unix": "nbd", "rbd": "rbd", "gfapi": "gfapi_async"}
"""fio's engine of every scheme. `rbd` and `gfapi` are read in journals of before; they are no longer opened."""
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,=%\[\]]+")
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
    if not _CHARACTERS.fullmatch(uri) or KEYWORD.search(uri):
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
