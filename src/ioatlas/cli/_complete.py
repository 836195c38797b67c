# SPDX-License-Identifier: Apache-2.0
"""What shells complete: names of files where a word may be one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType


class PathOrWord(StringParamType):
    """Text that is mostly a path: a target, which may be a URI; a key; a command line or a file of it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(incomplete, type="file")]


class Name(StringParamType):
    """One of some names, which are asked for when they are needed. The command itself says which are wrong."""

    def __init__(self, names: Callable[[], Iterable[str] | Mapping[str, str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        names = self._names()
        told = names if isinstance(names, Mapping) else dict.fromkeys(names, "")
        return [CompletionItem(name, help=text or None) for name, text in told.items() if name.startswith(incomplete)]
