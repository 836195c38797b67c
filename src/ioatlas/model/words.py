# SPDX-License-Identifier: Apache-2.0
"""Tables of words, written as text: a screenful of names stays a few lines."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())
