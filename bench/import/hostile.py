# SPDX-License-Identifier: Apache-2.0
"""Peak memory and time of `ioatlas import` on hostile files of 1 GB, for every family of importers.

    python bench/import/hostile.py [--megabytes 1000] [--repeat-megabytes 50] [--only NAME]

Each file starts as its family's own, so that the family's reader gets it, and goes on as
  line      one line without end
  nulls     NUL bytes
  nesting   brackets or elements without end (JSON, XML)
  repeats   the family's own result lines, again and again (smaller: every one of them is read)
and is read by a process of its own. Besides: an XML bomb, JSON keys without end, files compressed a thousandfold, a
broken workbook. Prints a table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

JOB = {
    "jobname": "a@",
    "groupid": 0,
    "error": 0,
    "read": {
        "io_bytes": 4096,
        "io_kbytes": 4,
        "bw_bytes": 10,
        "bw": 0,
        "iops": 2.5,
        "runtime": 1,
        "clat_ns": {"mean": 1.0, "max": 2, "N": 1, "percentile": {f"{p:.6f}": p * 1000 for p in range(1, 100)}},
    },
}
IOZONE = (
    b"\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n"
    b"                                                              random    random     bkwd    record    stride\n"
    b"              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   "
    b"fwrite frewrite    fread  freread\n"
)
VDBENCH = (
    b"13:49:00.011 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: threads=8\n\n"
    b"                            interval        i/o   MB/sec   bytes   read     resp     read    write      max   "
    b"stddev queue  cpu%  cpu%\n"
    b"                                           rate  1024**2     i/o    pct     time     resp     resp     resp  "
    b"resp   depth sys+u   sys\n"
)
ELBENCHO = b"\nOPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ================   ==========  =========\n"
XDD = (
    b"XDD version Linux.7.0.0-rc18\n Seconds before starting, 0\n What               Pass  Target   Queue     "
    b"Bytes_Xfered         Ops     Elapsed  Bandwidth       IOPS   Latency   Pct_CPU  Op_Type    Xfer_Size\n"
    b" UNITS>>           Number  Number  Number            Bytes         #ops     seconds      MB/s      Ops/s    "
    b"millisec   percent     text        bytes\n"
)
DISKSPD = (
    b"Command Line: diskspd.exe -b4K -d10 c:\\x\n\nResults for timespan 1:\n"
    + b"*" * 79
    + b"\n\nactual test time:\t10.00s\nthread count:\t\t1\n"
    b"\nTotal IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file\n" + b"-" * 80 + b"\n"
)
# Family: (how its file starts, what it repeats, what nests or nothing).
FAMILIES: dict[str, tuple[bytes, bytes, bytes]] = {
    "fio JSON": (b'{"fio version": "fio-3.33",\n"jobs": [\n', json.dumps(JOB, indent=1).encode() + b",\n", b'[{"a":'),
    "fio JSON, one line": (b'{"fio version": "fio-3.33", "jobs": [', json.dumps(JOB).encode() + b", ", b"[["),
    "fio terse": (b"", b"3;fio-3.33;a@;0;0;" + b";".join([b"1"] * 125) + b"\n", b""),
    "fio text": (
        b"a: (groupid=0, jobs=1): err= 0: pid=1: Sun\n",
        b"  read: IOPS=@, BW=4000KiB/s (4096kB/s)(40MiB/10001msec)\na@: (groupid=0, jobs=1): err= 0: pid=1: Sun\n",
        b"",
    ),
    "fio log": (b"", b"@, @, 0, 4096\n", b""),
    "IOzone": (
        IOZONE,
        (
            b"    @      64  5782087 16219316 13472053 25594883 26380939 21282686 14183905  21823389  23240448 "
            b"14230902 "
            b"14183905 14871477 18936769\n"
        ),
        b"",
    ),
    "DiskSpd text": (
        DISKSPD,
        (
            b"     0 |      1073741824 |       262144 |     102.40 |   26214.40 | c:\\x (1GiB)\ntotal:        "
            b"1073741824 | "
            b"      262144 |     102.40 |   26214.40\n"
        ),
        b"",
    ),
    "DiskSpd XML": (
        b"<Results><Profile><TimeSpans>",
        b"<TimeSpan><Targets><Target><Path>x</Path></Target></Targets></TimeSpan>\n",
        b"<TimeSpan>",
    ),
    "vdbench": (
        VDBENCH,
        (
            b"13:50:00.011    avg_2-60      50.00     0.39    8192  69.02    6.076    8.595    0.464   40.595    5.452 "
            b"  "
            b"0.1   2.2   0.3\n13:50:01.011 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: threads=@\n"
        ),
        b"",
    ),
    "vdbench histogram": (
        b"RD=rd1 Reads and writes:\n   min(ms) < max(ms)          count   %%    cum%%\n",
        b"     @.000 <     @.020            1 0.0000 0.0000\n",
        b"",
    ),
    "xdd": (
        XDD,
        (
            b" TARGET_PASS          @       1       4        400000000          96      19.279     20.748      4.979   "
            b" "
            b"50.203     1.089    write      4194304\n"
        ),
        b"",
    ),
    "ORION": (
        b"ORION VERSION 11.1.0.7.0\nLarge/Small,      0,      1,      2\n",
        b"Maximum Small IOPS=19019 @ Small=5 and Large=0\n",
        b"",
    ),
    "elbencho": (
        ELBENCHO,
        (
            b"WRITE@    Elapsed ms       :      84135     110109\n          IOPS             :       3627       2788\n "
            b"    "
            b"     Throughput MiB/s :       3627       2788\n---\n"
        ),
        b"",
    ),
    "bonnie++": (
        b"",
        (
            b"1.96,1.96,host@,1,1300000000,2G,,400,99,90000,20,40000,10,1500,99,100000,12,300.0,9,16,,,,,1000,20,+++++,"
            b"+++,"
            b"1500,17,1100,21,+++++,+++,1400,24,30000us,500ms,900ms,9000us,300ms,600ms,90000us,700us,1500us,400us,90us,"
            b"700us\n"
        ),
        b"",
    ),
    "CrystalDiskMark": (
        b"CrystalDiskMark 8.0.1 x64\n[Read]\n",
        b"  RND    4KiB (Q=  1, T= 1):    41.375 MB/s [  10101.3 IOPS] <    98.75 us>\n",
        b"",
    ),
    "IO500": (
        b"IO500 version io500-isc24\n",
        b"[RESULT]       ior-easy-write@       44.123456 GiB/s : time 300.123 seconds\n",
        b"",
    ),
    "IOR": (
        (
            b"IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n\naccess    bw(MiB/s)  IOPS       Latency(s)  "
            b"block(KiB) "
            b"xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
        ),
        (
            b"write     1234.5     1234.5     0.001       1048576    1024.00    0.001      1.0        0.001      1.0   "
            b"    "
            b" 0\n"
        ),
        b"",
    ),
    "mdtest": (
        b"SUMMARY rate: (of 1 iterations)\n",
        b"   File creation             :        439.763        404.632        422.661         14.357\n",
        b"",
    ),
}


@dataclass(frozen=True)
class Case:
    """A file: its family and kind, how it starts, what it repeats, and how many bytes."""

    family: str
    kind: str
    start: bytes
    piece: bytes
    size: int
    packed: str = ""


def cases(size: int, repeat_size: int) -> list[Case]:
    found = []
    for family, (start, piece, nest) in FAMILIES.items():
        found.append(Case(family, "line", start + piece.rstrip(b"\n"), b"x" * 1000, size))
        found.append(Case(family, "nulls", start + piece, b"\0" * 1000, size))
        if nest:
            found.append(Case(family, "nesting", start, nest * 1000, size))
        found.append(Case(family, "repeats", start, piece, repeat_size))
    bomb = b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">]><Results><System>'
    fio, fio_piece, _ = FAMILIES["fio JSON"]
    return [
        *found,
        Case("DiskSpd XML", "bomb", bomb, b"<Path>&a;&a;&a;</Path>", size),
        Case(
            "fio JSON",
            "keys twice",
            b'{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {',
            b'"iops": 1, "iops": 2, ',
            size,
        ),
        Case("fio JSON", "string", b'{"fio version": "', b"a" * 1000, size),
        Case("fio log", "gzip", b"", b"100, 5000, 0, 4096\n" * 50, repeat_size * 4, "gzip"),
        Case("fio JSON", "gzip of nulls", fio + fio_piece, b"\0" * 1000, size, "gzip"),
        Case("fio JSON", "xz of nulls", fio + fio_piece, b"\0" * 1000, size, "xz"),
        Case(
            "IOzone workbook",
            "BIFF 2 records",
            b"\x09\x00\x04\x00\x02\x00\x10\x00",
            b"\x03\x00\x0f\x00" + b"\x01" * 15,
            size,
        ),
        Case(
            "IOzone workbook",
            "BIFF 2 records",
            b"\x09\x00\x04\x00\x02\x00\x10\x00",
            b"\x03\x00\x0f\x00" + b"\x01" * 15,
            15_000_000,
        ),
        Case("IOzone workbook", "OLE sectors", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"\xff" * 1000, size),
    ]


def block_of(piece: bytes, first: int) -> bytes:
    """About a megabyte of a piece; `@` stands for a number that is never the same."""
    times = max(1, (1 << 20) // len(piece))
    if b"@" not in piece:
        return piece * times
    return b"".join(piece.replace(b"@", b"%d" % number) for number in range(first, first + times))


def write(path: Path, case: Case) -> None:
    with path.open("wb") as plain:
        packed = {
            "gzip": lambda: gzip.GzipFile(fileobj=plain, mode="wb", compresslevel=1),
            "xz": lambda: lzma.LZMAFile(plain, "wb", preset=0),  # noqa: SIM115 - closed below
        }
        file = packed[case.packed]() if case.packed else plain
        file.write(case.start)
        done = len(case.start)
        while done < case.size:
            block = block_of(case.piece, done)
            file.write(block)
            done += len(block)
        if case.packed:
            file.close()


def measure(path: Path) -> tuple[int, int, float, list[str]]:
    """Exit code, peak memory in MiB, seconds, lines on the error stream."""
    tool = Path(sys.executable).with_name("ioatlas")
    script = f"""
import resource, subprocess
command = [{str(tool)!r}, "import", {str(path)!r}, "--json"]
p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
print(p.stderr)"""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    first, *rest = done.stdout.splitlines()
    code, peak = first.split()
    assert "Traceback" not in done.stdout, done.stdout
    return int(code), int(peak), seconds, [line.removeprefix("ioatlas: ") for line in rest if line]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeat-megabytes", type=int, default=50)
    parser.add_argument("--only", help="a family")
    options = parser.parse_args()
    print("| family | file | MB | exit | peak MiB | seconds | readings | problem lines |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for case in cases(options.megabytes * 1_000_000, options.repeat_megabytes * 1_000_000):
            if options.only and case.family != options.only:
                continue
            path = Path(name) / "hostile"
            write(path, case)
            code, peak, seconds, lines = measure(path)
            path.unlink()
            readings = lines[-1].split()[0] if lines else "?"
            print(
                f"| {case.family} | {case.kind} | {case.size // 1_000_000} | {code} | {peak} | {seconds:.0f} | "
                f"{readings} | {len(lines) - 1} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
