# SPDX-License-Identifier: Apache-2.0
"""One module for each tool; `translate` finds it by the tool's name and imports only that one."""

from __future__ import annotations

import importlib
from typing import cast

from ioatlas.model.errors import UsageError
from ioatlas_translate.command import located, open_argument
from ioatlas_translate.translation import Translation

TOOLS = ("diskspd", "iozone", "vdbench", "xdd", "orion", "fio")


def translate(tool: str, argument: str) -> Translation:
    """A command line, or the path of a file, in the language of `tool`. Raises UsageError for what cannot be read."""
    name = tool.lower()
    if name not in TOOLS:
        raise UsageError(f"{tool!r} is not a tool whose language is known", remedy="name one of " + ", ".join(TOOLS))
    module = importlib.import_module(f"{__name__}.{name}")
    source = open_argument(argument)
    with located(source.where):
        return cast(Translation, module.translate(source, name))
