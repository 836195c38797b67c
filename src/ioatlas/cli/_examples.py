# SPDX-License-Identifier: Apache-2.0
"""Examples and exit status of commands, as `--help` ends with: one text for each package of commands."""

from __future__ import annotations

import functools
import re
from importlib.resources import files


def examples(command: str, package: str = "ioatlas.cli") -> str:
    """What stands below `== command` in the package's examples.txt. Its lines stay as they are."""
    return "\b\n" + _texts(package)[command].replace("\n\n", "\n\n\b\n")


@functools.cache
def _texts(package: str) -> dict[str, str]:
    text = files(package).joinpath("examples.txt").read_text(encoding="utf-8")
    sections = re.split(r"^== (.+)\n", text, flags=re.MULTILINE)
    return {name: body.strip("\n") for name, body in zip(sections[1::2], sections[2::2], strict=True)}
