# SPDX-License-Identifier: Apache-2.0
"""`ioatlas watch` over a real NBD export that becomes slower, time compressed: rounds are 20 s apart.

    nice -n 15 .venv/bin/python bench/watch/real.py

nbdkit serves memory behind a rate limit of 40 MB/s; after 7 rounds the limit is 30 MB/s, as when a drive of four fails.
Needs nbdkit and fio, takes about four minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUIET_ROUNDS, MOST_ROUNDS, EVERY_SECONDS = 7, 14, 20
BEFORE, AFTER = 40_000_000, 30_000_000
CELLS = """
window = "2s"
[sweep]
rw = ["read"]
bs = ["64k"]
size = "64m"
iodepth = 4
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="ioatlas-watch-") as name:
        place = Path(name)
        (place / "rate").write_text(f"{BEFORE * 8}\n")
        (place / "cells.toml").write_text(CELLS)
        (place / "alarm.sh").write_text(f'printf "%s\\n" "$IOATLAS_ALARM" > {place}/told\n')
        limits = [f"rate={BEFORE * 8}", f"rate-file={place}/rate", "burstiness=0.1"]
        server = subprocess.Popen(
            ["nbdkit", "-f", "-U", f"{place}/disk.sock", "--filter=rate", "memory", "64M", *limits]
        )
        try:
            while not (place / "disk.sock").exists():
                time.sleep(0.05)
            return watch(place)
        finally:
            server.terminate()
            server.wait()


def watch(place: Path) -> int:
    """Exit status of the watch: 3 where the change was found."""
    words = ["watch", f"nbd+unix:///?socket={place}/disk.sock", "--campaign", f"{place}/cells.toml", "--read-only"]
    words += [
        f"--every={EVERY_SECONDS}s",
        "--share=50%",
        "--false-alarms=1d",
        "--until=alarm",
        "--json",
    ]
    words += ["--alarm", f"sh {place}/alarm.sh", "-o", f"{place}/w"]
    rounds, slower = 0, 0
    with subprocess.Popen([sys.executable, "-m", "ioatlas", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "watched":
                rounds += 1
                levels = ", ".join(f"{one['name']} {one['last'] / 1e6:.1f} MB/s" for one in event["charts"])
                print(f"round {rounds}: {levels}; {event['seconds']} s", flush=True)
                if rounds == MOST_ROUNDS:
                    process.terminate()
                if rounds == QUIET_ROUNDS:
                    (place / "rate").write_text(f"{AFTER * 8}\n")
                    slower = rounds
                    print(f"now {AFTER / 1e6:.0f} MB/s instead of {BEFORE / 1e6:.0f}", flush=True)
            elif event["event"] == "alarm":
                print(f"alarm after {rounds - slower} rounds of it: {event['text']}", flush=True)
    told = place / "told"
    print(f"exit status {process.returncode}; the command was told: {told.read_text() if told.exists() else 'nothing'}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(0 if main() == 3 else 1)
