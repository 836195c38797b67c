# SPDX-License-Identifier: Apache-2.0
"""What is inside the time that fio and IOzone report: each system call on the file is delayed in turn, and the reported
time looked at.

Needs strace and iozone. `python bench/iozone/clock.py DIRECTORY`; delays are 200 ms a call, put in by strace.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from ioatlas_translate.read.importer import read_source
from ioatlas_translate.read.source import Source

DELAY_US = 200_000
SIZE, RECORD = 4 << 20, 1 << 20
CALLS = {"opening": "openat,creat", "flush": "fsync", "close": "close"}


def strace(file: Path, call: str | None) -> list[str]:
    if call is None:
        return []
    # Without -P the delay would fall on every file; openat takes its path from the call itself, fsync and close from
    # the descriptor.
    return [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-P",
        str(file),
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:delay_enter={DELAY_US}",
    ]


def fio_ms(place: Path, rw: str, call: str | None) -> float:
    """Fio's run time of one pass."""
    file = place / "clock.dat"
    options = [
        "--name=clock",
        f"--filename={file}",
        f"--rw={rw}",
        f"--bs={RECORD}",
        f"--size={SIZE}",
        "--ioengine=psync",
        "--direct=1",
        "--thread",
        "--invalidate=0",
    ]
    if rw == "write":
        file.unlink(missing_ok=True)
        options += ["--end_fsync=1", "--fallocate=none"]
    out = subprocess.run(
        [*strace(file, call), "fio", "--output-format=json", *options], capture_output=True, text=True, check=True
    ).stdout
    return float(json.loads(out[out.index("{") :])["jobs"][0][rw]["runtime"])


def iozone_ms(place: Path, call: str | None) -> dict[str, float]:
    """IOzone's times of write and read, from the rates it prints."""
    file = place / "clock-iozone.dat"
    said = subprocess.run(
        [
            *strace(file, call),
            "iozone",
            "-i",
            "0",
            "-i",
            "1",
            "-c",
            "-e",
            "-I",
            "-s",
            f"{SIZE >> 10}k",
            "-r",
            f"{RECORD >> 10}k",
            "-f",
            str(file),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    text = place / "iozone.txt"
    text.write_text(said)
    found = {
        reading.operation or reading.rw: reading.bw_bytes_per_s
        for reading in read_source(Source.of(text, "iozone.txt"))
    }
    return {name: 1000 * SIZE / float(found[name] or 0) for name in ("write", "read")}


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        place = Path(folder)
        rows = []
        for what, call in ((None, None), *CALLS.items()):
            iozone = iozone_ms(place, call)
            rows.append(
                (
                    what or "nothing",
                    fio_ms(place, "write", call),
                    fio_ms(place, "read", call),
                    iozone["write"],
                    iozone["read"],
                )
            )
    print("| delayed by 200 ms | fio write, ms | fio read, ms | IOzone write, ms | IOzone read, ms |")
    print("|---|---|---|---|---|")
    for what, *times in rows:
        print(f"| {what} | " + " | ".join(f"{value:.1f}" for value in times) + " |")


if __name__ == "__main__":
    main()
