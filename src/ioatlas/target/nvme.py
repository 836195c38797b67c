# SPDX-License-Identifier: Apache-2.0
"""`nvme format` of one namespace as the purge of a test: everything that could reach beyond it is refused first. The
guards have come before.

Bits after the NVM Express base specification 2.0: identify controller OACS bit 1 (format is supported), FNA bits 0 and
1 (format, erase reach all namespaces); identify namespace FLBAS bits 0 to 3 and 5 to 6 (index of the LBA format in
use), bit 4 (metadata beside the data), DPS bits 0 to 2 (protection).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ioatlas.errors import IoAtlasError, UsageError, faults

LONGEST_SECONDS = 3600
_NAMESPACE = re.compile(r"^/dev/nvme\d+n\d+$")
_FORMAT_SUPPORTED = 0b10
_REACHES_ALL = 0b11
_EXTENDED, _PROTECTED = 0b10000, 0b111


def format_namespace(path: str, size_bytes: int) -> str:
    """Erase the user data of the namespace at `path` by the drive's own format, its LBA format kept; what was done, in
    words.

    Raises UsageError, before anything was started, for what is no whole namespace or whose format would reach further;
    IoAtlasError when it fails.
    """
    path = os.path.realpath(path)
    if not _NAMESPACE.match(path):
        raise UsageError(
            "only a whole NVMe namespace can be formatted",
            where=path,
            remedy="use purge = 'auto', or name /dev/nvmeXnY",
        )
    if shutil.which("nvme") is None:
        raise UsageError(
            "the program nvme is not installed", where="purge", remedy="install nvme-cli, or use purge = 'auto'"
        )
    controller, namespace = _told(path, "id-ctrl"), _told(path, "id-ns")
    if not _number(controller, "oacs", path) & _FORMAT_SUPPORTED:
        raise UsageError("the controller does not support format", where=path, remedy="use purge = 'auto'")
    if _number(controller, "fna", path) & _REACHES_ALL:
        listed = _told(path, "list-ns", "--all").get("nsid_list")
        if not isinstance(listed, list) or len(listed) != 1:
            count = f"{len(listed)} namespaces" if isinstance(listed, list) else "an unknown number of namespaces"
            raise UsageError(
                f"format would erase every namespace of this controller, and it has {count}",
                where=path,
                remedy="use purge = 'auto'",
            )
    flbas = _number(namespace, "flbas", path)
    if flbas & _EXTENDED or _number(namespace, "dps", path) & _PROTECTED:
        raise UsageError(
            "the namespace keeps metadata or protection information, which a format would change",
            where=path,
            remedy="use purge = 'auto'",
        )
    lba_format = (flbas & 0xF) | (flbas >> 5 & 0b11) << 4
    # Without --force nvme opens the device exclusively, and waits 10 s: it refuses when anyone took the device into use
    # since the guards looked.
    _run(path, "format", "--ses=1", f"--lbaf={lba_format}")
    with (
        faults(
            IoAtlasError,
            "the namespace cannot be opened after its format",
            where=path,
            remedy="check it with `nvme list`",
        ),
        Path(path).open("rb") as device,
    ):
        after = device.seek(0, os.SEEK_END)
    if after != size_bytes:
        raise IoAtlasError(
            f"the namespace has {after} B after its format, {size_bytes} B before",
            where=path,
            remedy="check it with `nvme id-ns`",
        )
    return "namespace formatted (nvme format --ses=1, erase of user data)"


def _told(path: str, *words: str) -> dict[str, Any]:
    text = _run(path, *words, "--output-format=json")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise IoAtlasError(
            f"`nvme {words[0]}` said nothing that can be read", where=path, remedy="use purge = 'auto'"
        ) from error
    return found if isinstance(found, dict) else {}


def _number(told: dict[str, Any], name: str, path: str) -> int:
    if not isinstance(told.get(name), int):
        raise IoAtlasError(f"nvme does not tell {name} of this device", where=path, remedy="use purge = 'auto'")
    return int(told[name])


def _run(path: str, *words: str) -> str:
    command = ["nvme", words[0], path, *words[1:]]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise IoAtlasError(
            f"`nvme {words[0]}` did not end within an hour", where=path, remedy="check the drive"
        ) from error
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if "--force" not in line]
        raise IoAtlasError(
            f"`nvme {words[0]}` failed: {said[-1] if said else done.returncode}",
            where=path,
            remedy="use purge = 'auto'",
        )
    return done.stdout
