# SPDX-License-Identifier: Apache-2.0
"""Interval logs put away: two small files a visit become one compressed archive a batch."""

from __future__ import annotations

import zipfile
from pathlib import Path

ARCHIVE = "logs.zip"


def pack_logs(directory: Path) -> int:
    """Move the interval logs of a finished batch into `logs.zip` beside them; returns how many. Safe to repeat after a
    crash.
    """
    logs = sorted(directory.glob("*.log"))
    if not logs:
        return 0
    new = directory / f"{ARCHIVE}.new"
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for log in logs:
            archive.write(log, log.name)
    new.replace(directory / ARCHIVE)
    for log in logs:
        log.unlink()
    return len(logs)
