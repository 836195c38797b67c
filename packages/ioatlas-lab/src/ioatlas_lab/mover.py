# SPDX-License-Identifier: Apache-2.0
"""The helper that changes a running lab target: a wandering rate, a server that stands still now and then, or ends.

Started as `python mover.py drift RATE_FILE HIGH LOW SECONDS`, `... stall PID_FILE PERIOD STALL` or
`... away PID_FILE SECONDS`;
ends with its instance. It imports nothing of the project, so it starts at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

TICK_SECONDS = 0.2


def drift(rate_file: Path, high: float, low: float, seconds: float) -> None:
    """Write the rate of this moment to `rate_file` for ever: a triangle between high and low, half a period in
    `seconds`.
    """
    start = time.monotonic()
    beside = rate_file.with_suffix(".new")
    while True:
        phase = (time.monotonic() - start) / seconds % 2
        down = phase if phase <= 1 else 2 - phase
        beside.write_text(f"{round(high + (low - high) * down)}\n")
        beside.replace(rate_file)
        time.sleep(TICK_SECONDS)


def stall(pid_file: Path, period_seconds: float, stall_seconds: float) -> None:
    """Stop the process for `stall_seconds` once in every period; never leave it stopped."""
    pid = int(pid_file.read_text().split()[0])
    journal = pid_file.with_name("stalls")
    journal.write_text("")
    due = time.monotonic()

    def end(*_: object) -> None:
        os.kill(pid, signal.SIGCONT)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        due += period_seconds
        time.sleep(max(0.0, due - stall_seconds - time.monotonic()))
        began = time.time()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(stall_seconds)
        os.kill(pid, signal.SIGCONT)
        with journal.open("a") as out:
            out.write(f"{began:.3f} {time.time():.3f}\n")


def away(pid_file: Path, seconds: float) -> None:
    """End the process so long from now, as a box whose power fails."""
    time.sleep(seconds)
    pid, started = map(int, pid_file.read_text().split())
    # The number may be somebody else's by now.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    if int(fields[19]) == started:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "drift":
        drift(Path(sys.argv[2]), *map(float, sys.argv[3:6]))
    elif sys.argv[1] == "away":
        away(Path(sys.argv[2]), float(sys.argv[3]))
    else:
        stall(Path(sys.argv[2]), *map(float, sys.argv[3:5]))
