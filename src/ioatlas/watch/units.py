# SPDX-License-Identifier: Apache-2.0
"""A systemd service and its timer that make the rounds of a watch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ioatlas import beneath
from ioatlas.errors import RefusedError

MARK = "# Written by ioatlas watch --write-units."
ROOM = 300.0
"""Seconds beyond the planned ones that a round may take before systemd ends it; it goes on in the next one."""


def unit_name(target: str) -> str:
    """'ioatlas-watch-mnt-nas'."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-").lower()
    return f"ioatlas-watch-{plain[:60] or 'target'}"


def quoted(words: Sequence[str]) -> str:
    """A command line as systemd reads it: specifiers and variables are not replaced."""
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    safe = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./$-]+", safe):
        return safe
    inner = safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'


def unit_texts(target: str, words: Sequence[str], every_seconds: float, round_seconds: float) -> dict[str, str]:
    """The texts by file name. words: the command line of one round."""
    name, shown = unit_name(target), re.sub(r"[^\x20-\x7e]", "?", target).replace("%", "%%")
    service = f"""{MARK}
[Unit]
Description=I/O Atlas: one round of watching {shown}
After=local-fs.target remote-fs.target network-online.target

[Service]
Type=oneshot
ExecStart={quoted(words)}
TimeoutStartSec={round_seconds + ROOM:.0f}
KillSignal=SIGTERM
KillMode=mixed
UMask=0077
"""
    timer = f"""{MARK}
[Unit]
Description=I/O Atlas: watch {shown}

[Timer]
OnActiveSec=1min
OnUnitActiveSec={every_seconds:g}s
AccuracySec=1s

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def write_units(folder: Path, texts: dict[str, str]) -> list[Path]:
    """The files' paths. Raises RefusedError for a file that somebody else wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in texts:
        path = folder / name
        if beneath.is_ordinary(path) and not beneath.read_text(path).startswith(MARK):
            raise RefusedError(
                "there is a unit of that name that ioatlas did not write",
                where=str(path),
                remedy="choose another directory, or remove it",
            )
    for name, text in texts.items():
        beneath.write_text(folder / name, text, in_root=True)
    return [folder / name for name in texts]
