# SPDX-License-Identifier: Apache-2.0
"""Loads of names, which fio has not: the process that makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.fio.collect import ERRORS, OUTPUT
from ioatlas.fio.executor import LoadProcess

TOLD = "names.json"
SCRIPT = Path(__file__).with_name("names_load.py")


def names_process(told: Mapping[str, Any], directory: Path, *, limit_seconds: float) -> LoadProcess:
    """The process that does what `told` says.

    told: name, operation, direction, jobs, files, passes, top, folder, names, renamed; the last three lie below `top`
    and hold $jobnum and $filenum.
    """
    beneath.write_text(directory / TOLD, json.dumps(told, indent=1))
    return LoadProcess("names", ("-I", "-B", str(SCRIPT), TOLD, OUTPUT, told["top"]), directory, ERRORS, limit_seconds)
