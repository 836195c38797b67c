# SPDX-License-Identifier: Apache-2.0
"""The user's own command on an alarm. It comes from this call's command line only, never from a directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from ioatlas.watch.session import Alarm

SECONDS = 60.0
"""How long a command may take: the next round does not wait for ever."""


def run_command(command: str, alarm: Alarm) -> str:
    """Run it in /bin/sh with the alarm in its environment and as JSON on its standard input. Why it failed, or ''.

    What it prints goes to standard error.
    """
    told = {
        "IOATLAS_ALARM": alarm.text,
        "IOATLAS_TARGET": alarm.target,
        "IOATLAS_DIRECTORY": alarm.directory,
        "IOATLAS_ROUND": alarm.round,
    }
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=sys.stderr.fileno() if _has_file() else subprocess.DEVNULL,
        env={**os.environ, **told},
        text=True,
        start_new_session=True,
    ) as process:
        try:
            process.communicate(json.dumps(alarm.as_json()) + "\n", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"the command was ended after {SECONDS:.0f} s"
    return f"the command ended with {process.returncode}" if process.returncode else ""


def _has_file() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):
        return False
