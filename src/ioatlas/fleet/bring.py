# SPDX-License-Identifier: Apache-2.0
"""Our fio with its libraries in a client's private directory, removed with that directory."""

from __future__ import annotations

import io
import platform
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.fleet.shell import Shell

BRING_SECONDS = 120.0
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")


def bring_fio(fio: str, machine: str, place: str, shell: Shell, command: Callable[..., list[str]]) -> str:
    """Copy it; the path of what starts it there. machine: the client's architecture, as uname tells it.

    command: one of this machine that runs its words there. Raises IoAtlasError.
    """
    if machine != platform.machine():
        raise UsageError(
            f"it is a {machine or 'machine of unknown kind'}, and our fio is for {platform.machine()}",
            where=shell.name,
            remedy="install the same version of fio there",
        )
    done = subprocess.run(
        command("tar", "-xf", "-", "-C", place),
        input=packed(fio),
        capture_output=True,
        check=False,
        timeout=BRING_SECONDS,
    )
    program = f"{place}/brought/fio"
    if done.returncode == 0 and shell.run([program, "--version"]):
        return program
    said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["its directories may be mounted noexec"]
    raise IoAtlasError(
        f"our fio does not run there: {said[0]}", where=shell.name, remedy="install the same version of fio there"
    )


def packed(fio: str) -> bytes:
    """A tar of `brought/`: the program, the loader and libraries it needs, and a script that starts it with them."""
    program = Path(shutil.which(fio) or fio).resolve()
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    libraries = [Path(found) for found in _LIBRARY.findall(told)]
    loader = next((one for one in libraries if one.name.startswith(("ld-", "ld64"))), None)
    by = f'"$here/lib/{loader.name}" --library-path "$here/lib" ' if loader is not None else ""
    start = f'#!/bin/sh\nhere=${{0%/*}}\nexec {by}"$here/program" "$@"\n'
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        _add(archive, "brought/program", program.read_bytes())
        _add(archive, "brought/fio", start.encode())
        for library in libraries:
            _add(archive, f"brought/lib/{library.name}", library.read_bytes())
    return held.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o700
    archive.addfile(entry, io.BytesIO(content))
