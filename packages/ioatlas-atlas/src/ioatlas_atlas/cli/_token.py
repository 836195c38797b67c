# SPDX-License-Identifier: Apache-2.0
"""The token of an atlas: from the environment or a private file, never from the command line, where others see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from ioatlas.model.errors import UsageError
from ioatlas_atlas.client import Client

VARIABLE = "IOATLAS_TOKEN"
MOST_BYTES = 4096


def tokens_folder() -> Path:
    """Where files of tokens are, one for each service, named by its host."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "ioatlas" / "tokens"


def token_of(url: str) -> str:
    """'' where none is kept. Raises UsageError for a file that others can read."""
    if text := os.environ.get(VARIABLE, "").strip():
        return text
    path = tokens_folder() / (urlsplit(url).netloc.replace("/", "") or "none")
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")[:MOST_BYTES].strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if mode & 0o077:
        raise UsageError("others can read this token", where=str(path), remedy=f"chmod 600 {path}")
    return text


def client_of(url: str) -> Client:
    """A service, asked with the token that is kept for it."""
    return Client(url, token_of(url))


def plain(text: object) -> str:
    """A stranger's text on a terminal: one line without control characters."""
    return "".join(letter for letter in str("" if text is None else text) if letter.isprintable())[:200]


def title_of(client: Client, number: str) -> str:
    """Of a result there."""
    return plain((client.result(number).get("result") or {}).get("title"))


def state_of(told: Mapping[str, Any]) -> str:
    """Of a result, as an atlas tells it: 'public: anybody may read it'."""
    return ": ".join(filter(None, (plain(told.get("state")), plain(told.get("reason")))))


def agree(what: str, question: str, *, where: str, yes: bool) -> None:
    """Raises UsageError where nobody can be asked, and Abort where somebody says no."""
    if yes:
        return
    if not sys.stdin.isatty():
        remedy = "look at it with --dry-run, then add --yes"
        raise UsageError(f"nobody agreed to {what}", where=where, remedy=remedy)
    click.confirm(question, default=False, abort=True, err=True)
