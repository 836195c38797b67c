# SPDX-License-Identifier: Apache-2.0
"""Peak memory and time of `ioatlas import` on hostile files of 1 GB.

    python bench/import/hostile.py [--megabytes 1000]

Each file is made, read by a process of its own with a memory watch, and removed: one endless line, one endless JSON string, brackets without
end, a million job entries, a fio log of every I/O, a vdbench log, an XML bomb, NUL bytes, and a compressed file that expands.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PERCENTILES = {f"{percent:.6f}": percent * 1000 for percent in range(1, 100)}
JOB = {
    "jobname": "a",
    "groupid": 0,
    "error": 0,
    "read": {
        "io_bytes": 4096,
        "io_kbytes": 4,
        "bw_bytes": 10,
        "bw": 0,
        "iops": 2.5,
        "runtime": 1,
        "clat_ns": {"mean": 1.0, "max": 2, "N": 1, "percentile": PERCENTILES},
    },
}


def cases() -> dict[str, tuple[bytes, bytes]]:
    """Name: (start of the file, what is repeated up to the size)."""
    job = json.dumps(JOB, indent=1).encode()
    return {
        "one endless line": (b"", b"x" * 1000),
        "endless JSON string": (b'{"fio version": "', b"a" * 1000),
        "brackets": (b'{"fio version": "fio-3.33", "jobs": ', b'[{"a":' * 100),
        "fio JSON of many jobs": (b'{"fio version": "fio-3.33",\n"jobs": [\n', job + b",\n"),
        "fio JSON on one line": (b'{"fio version": "fio-3.33", "jobs": [', job.replace(b"\n", b"") + b", "),
        "fio log of every I/O": (b"", b"100, 5000, 0, 4096\n200, 70000, 1, 4096\n"),
        "vdbench log": (b"13:49:00.011 Starting RD=rd1; I/O rate: 50; elapsed=60\n", b"13:49:01.000 some line of a log\n"),
        "XML bomb": (b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">]><Results><System>', b"<Path>&a;&a;&a;</Path>"),
        "XML without end": (b"<Results><Profile><TimeSpans>", b"<TimeSpan><Targets><Target><Path>x</Path></Target></Targets></TimeSpan>"),
        "NUL bytes": (b"", b"\0" * 1000),
        "IOzone table": (b"\tIozone: Performance Test of File I/O\n              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n",
                         b"            1024      64  5782087 16219316 13472053 25594883 26380939 21282686 14183905  21823389  23240448 14230902 14183905 14871477 18936769\n"),
        "JSON keys twice": (b'{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {', b'"iops": 1, "iops": 2, '),
    }  # fmt: skip


def write(path: Path, start: bytes, piece: bytes, size: int, *, packed: bool) -> None:
    block = piece * max(1, (1 << 20) // len(piece))
    with gzip.open(path, "wb", compresslevel=1) if packed else path.open("wb") as file:
        file.write(start)
        done = len(start)
        while done < size:
            file.write(block)
            done += len(block)


def measure(path: Path) -> Iterator[str]:
    tool = Path(sys.executable).with_name("ioatlas")
    script = f"import resource,subprocess,sys; p=subprocess.run([{str(tool)!r},'import',{str(path)!r},'--json'],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE,text=True); print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss//1024); print(p.stderr)"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    first, *rest = done.stdout.splitlines()
    code, peak = first.split()
    assert "Traceback" not in done.stdout, done.stdout
    yield f"exit {code}, peak {peak} MiB, {seconds:.0f} s, {[line for line in rest if line][-1].removeprefix('ioatlas: ')}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    options = parser.parse_args()
    for name, (start, piece) in cases().items():
        for packed in (False, True) if name == "fio log of every I/O" else (False,):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / ("x_clat.1.log" if "log of" in name else "result")
                write(path, start, piece, options.megabytes * 1_000_000, packed=packed)
                for line in measure(path):
                    print(f"{name}{' (gzip)' if packed else ''}: {line}", flush=True)


if __name__ == "__main__":
    main()
