# SPDX-License-Identifier: Apache-2.0
"""What a product is, by the words of its sheet: its kind and its media; what facts of a testbed say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

KINDS = {
    "NAS": ("nas", "filer"),
    "cloud volume": ("cloud", "volume"),
    "array": ("array", "san"),
    "software": ("software", "virtuali"),
    "drive": ("drive", "ssd", "disk", "nvme", "hdd"),
}
"""Words of a sheet's kind that decide; the first one that is found does."""
_MEDIA = {"flash": ("ssd", "nvme", "flash", "optane"), "spindles": ("rpm", "hdd", "disk", "spindle")}


def kind_of(said: str) -> str:
    """One of KINDS; '' where nothing tells."""
    return next((kind for kind, words in KINDS.items() if any(word in said.lower() for word in words)), "")


def media_of(drives: str) -> str:
    """'flash', 'spindles', both, or '' where nothing tells."""
    return " and ".join(name for name, words in _MEDIA.items() if any(word in drives.lower() for word in words))


def plain_facts(sessions: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Of all sessions, without the target's name that facts of several targets have before theirs."""
    return {name.rsplit(": ", 1)[-1]: value for session in sessions for name, value in session.items()}


def link_speed(facts: Mapping[str, str]) -> str:
    """Of the network card; '' where none is told."""
    return next((value for name, value in facts.items() if name.startswith("nic.") and name.endswith("speed")), "")
