# SPDX-License-Identifier: Apache-2.0
"""What is to be left out of a bundle: everything that names a site, unless a plan says otherwise.

# redact.toml
keep = ["addresses"]              # kinds that stay: hosts, users, serials, paths, addresses
words = ["Contoso", "project-x"]  # further words to be replaced
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from ioatlas.errors import UsageError

KINDS = ("hosts", "users", "serials", "paths", "addresses")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class RedactPlan:
    """keep: kinds that stay as they are. words: more that is replaced."""

    keep: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    def hides(self, kind: str) -> bool:
        return kind not in self.keep


def read_plan(text: str | None) -> RedactPlan:
    """The plan in a TOML file; `none` keeps every kind, nothing or `default` replaces every kind. Raises UsageError."""
    if text is None or text == "default":
        return RedactPlan()
    if text == "none":
        return RedactPlan(frozenset(KINDS))
    try:
        with Path(text).open("rb") as file:
            table = tomllib.loads(file.read(MOST_BYTES).decode())
    except OSError as error:
        raise UsageError(
            f"the plan cannot be read: {error.strerror}", where=text, remedy="name a TOML file, `default` or `none`"
        ) from error
    except ValueError as error:
        raise UsageError(f"this is no TOML: {error}", where=text) from None
    if unknown := sorted(table.keys() - {"keep", "words"}):
        raise UsageError(f"there is no key {unknown[0]!r}", where=text, remedy="keys are keep and words")
    keep, words = table.get("keep", []), table.get("words", [])
    if not isinstance(keep, list) or not set(map(str, keep)) <= set(KINDS):
        raise UsageError("keep is no list of kinds", where=text, remedy=f"kinds are {', '.join(KINDS)}")
    if not isinstance(words, list) or not all(isinstance(word, str) and len(word.strip()) > 1 for word in words):
        raise UsageError("words is no list of words of two letters and more", where=text)
    return RedactPlan(frozenset(keep), tuple(word.strip() for word in words))
