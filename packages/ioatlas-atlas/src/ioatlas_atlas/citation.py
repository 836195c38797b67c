# SPDX-License-Identifier: Apache-2.0
"""How a result is named in a paper. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPECIAL = re.compile(r"([&%$#_{}~^\\])")
_WORDS = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Cited:
    """What a citation needs. by: who published it. published: ISO date. address: the permanent one."""

    id: str
    title: str
    by: str
    published: str
    address: str
    sha256: str


def as_text(one: Cited) -> str:
    """One line."""
    what = f"{one.title}: performance map"
    who = f"{one.by or 'Anonymous'} ({one.published[:4]})"
    return f"{who}. {what}. I/O Atlas, result {one.id}. {one.address}. SHA-256 {one.sha256}."


def as_bibtex(one: Cited) -> str:
    """An entry that any version of BibTeX takes."""
    what = f"{one.title}: performance map"
    key = re.sub(r"[^A-Za-z0-9]", "", one.id)
    return (
        f"@misc{{ioatlas-{key},\n"
        f"  author = {{{{{_plain(one.by or 'Anonymous')}}}}},\n"
        f"  title = {{{_plain(what)}}},\n"
        f"  year = {{{one.published[:4]}}},\n"
        f"  howpublished = {{\\url{{{one.address}}}}},\n"
        f"  note = {{I/O Atlas result {_plain(one.id)}, SHA-256 {one.sha256}}},\n"
        "}\n"
    )


def _plain(text: str) -> str:
    """Nothing in it is a command of TeX, and no brace ends a field: BibTeX counts those behind a backslash too."""
    return _SPECIAL.sub(lambda found: _WORDS.get(found[1], f"\\{found[1]}"), " ".join(text.split()))
