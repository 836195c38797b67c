# SPDX-License-Identifier: Apache-2.0
"""What names a site is left out of anything made to be passed around: hosts, users, serial numbers, paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from ioatlas.model.target import Target
from ioatlas.model.units import words

SITE_WORDS = frozenset(
    words("""
        host hostname fqdn node user username serial wwn uuid path mount mountpoint source location ip address mac
        directory cwd server share export uri url
    """)
)
PUBLIC_FACTS = ("fs_type", "model", "rotational")
"""Facts of a target's identity that name no site."""


def redactor(targets: Sequence[Target]) -> Callable[[str], str]:
    """Replaces where a target is by its placeholder: a report is passed around, the site's paths are nobody's
    business.
    """
    places = {
        place: f"[{target.name}]"
        for target in targets
        for line in target.location.splitlines()  # of targets that are loaded together one each
        if len(place := line.rstrip("/")) > 1
    }
    if not places:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(place) for place in sorted(places, key=len, reverse=True)))
    return lambda text: pattern.sub(lambda match: places[match.group()], text)


Cleaned = TypeVar("Cleaned")


def redacted(value: Cleaned, clean: Callable[[str], str]) -> Cleaned:
    """A record, or several, with all texts cleaned."""
    made: object = value
    if isinstance(value, str):
        made = clean(value)
    elif isinstance(value, tuple | list):
        made = tuple(redacted(each, clean) for each in value)
    elif isinstance(value, Mapping):
        made = {name: redacted(each, clean) for name, each in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        made = replace(value, **{one.name: redacted(getattr(value, one.name), clean) for one in fields(value)})
    return made  # type: ignore[return-value]


def names_site(name: str) -> bool:
    """Whether a key such as 'client_hostname' holds something that names a site."""
    return bool(SITE_WORDS & set(re.split(r"[^a-z0-9]+", name.lower())))
