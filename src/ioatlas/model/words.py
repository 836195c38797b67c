# SPDX-License-Identifier: Apache-2.0
"""Tables of words, written as text: a screenful of names stays a few lines."""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def pairs(text: str) -> dict[str, str]:
    """Words with what each stands for: 'b=block s=size'."""
    return dict(word.split("=", 1) for word in text.split())
