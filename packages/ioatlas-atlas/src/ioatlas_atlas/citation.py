# SPDX-License-Identifier: Apache-2.0
"""How a result is named in a paper. Pure."""

from __future__ import annotations

import re

from ioatlas_atlas.records import Result
from ioatlas_atlas.views import day

_SPECIAL = re.compile(r"([&%$#_{}~^\\])")
_WORDS = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def as_text(one: Result, origin: str) -> str:
    """One line. origin: address of the service."""
    what = f"{one.title}: performance map"
    who = f"{one.owner or 'Anonymous'} ({day(one.uploaded_at)[:4]})"
    return f"{who}. {what}. I/O Atlas, result {one.id}. {origin}/r/{one.id}. SHA-256 {one.bundle_sha256 or 'deleted'}."


def as_bibtex(one: Result, origin: str) -> str:
    """An entry that any version of BibTeX takes."""
    what = f"{one.title}: performance map"
    key = re.sub(r"[^A-Za-z0-9]", "", one.id)
    return (
        f"@misc{{ioatlas-{key},\n"
        f"  author = {{{{{_plain(one.owner or 'Anonymous')}}}}},\n"
        f"  title = {{{_plain(what)}}},\n"
        f"  year = {{{day(one.uploaded_at)[:4]}}},\n"
        f"  howpublished = {{\\url{{{origin}/r/{one.id}}}}},\n"
        f"  note = {{I/O Atlas result {_plain(one.id)}, SHA-256 {one.bundle_sha256 or 'deleted'}}},\n"
        "}\n"
    )


def _plain(text: str) -> str:
    """Nothing in it is a command of TeX, and no brace ends a field: BibTeX counts those behind a backslash too."""
    return _SPECIAL.sub(lambda found: _WORDS.get(found[1], f"\\{found[1]}"), " ".join(text.split()))
