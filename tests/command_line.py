# SPDX-License-Identifier: Apache-2.0
"""The command line called in this process: all of it but the start of an interpreter, which takes longer than most."""

import contextlib
import io
import os
import subprocess
from pathlib import Path
from unittest import mock

from ioatlas.cli import main


def call(*arguments: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `ioatlas ARGUMENTS` ends with and prints. variables: of the environment. No traceback is hidden."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        mock.patch.dict(os.environ, variables),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(one) for one in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, *(one.buffer.getvalue().decode() for one in (out, err)))
