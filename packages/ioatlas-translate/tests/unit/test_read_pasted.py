# SPDX-License-Identifier: Apache-2.0
"""Results inside mails, documents and build logs, short ones in each tool's layout, give the bare file's readings."""

import quopri
from operator import attrgetter

import pytest
from read_samples import read_text

from ioatlas.model.units import words

DISKSPD = """\
Command Line: diskspd.exe -c1G -b4K -o7 -t1 -r -w0 -d30 -Sh -L io.dat

Input parameters:

\ttimespan:   1
\t-------------
\tduration: 30s
\tpath: 'io.dat'
\t\tperforming read test
\t\tblock size: 4KiB
\t\tusing random I/O (alignment: 4KiB)
\t\tnumber of outstanding I/O operations per thread: 7
\t\tthreads per file: 1

Results for timespan 1:
*******************************************************************************

actual test time:\t30.00s
thread count:\t\t1

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
     0 |       122880000 |        30000 |       3.91 |    1000.00 |    0.094 |     0.311 | io.dat (1GiB)
-----------------------------------------------------------------------------------------------------
total:         122880000 |        30000 |       3.91 |    1000.00 |    0.094 |     0.311

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
     0 |       122880000 |        30000 |       3.91 |    1000.00 |    0.094 |     0.311 | io.dat (1GiB)
-----------------------------------------------------------------------------------------------------
total:         122880000 |        30000 |       3.91 |    1000.00 |    0.094 |     0.311

Write IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
     0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       N/A | io.dat (1GiB)
-----------------------------------------------------------------------------------------------------
total:                 0 |            0 |       0.00 |       0.00 |    0.000 |       N/A
"""
FIO = """\
one: (g=0): rw=randread, bs=(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB, (T) 16.0KiB-16.0KiB, ioengine=libaio, iodepth=4
fio-3.36
Starting 1 process

one: (groupid=0, jobs=1): err= 0: pid=4711: Tue May  6 01:46:13 2025
  read: IOPS=500, BW=8000KiB/s (8192kB/s)(78.1MiB/10000msec)
    clat (usec): min=91, max=1150, avg=1941.25, stdev=27.19
     lat (usec): min=92, max=1150, avg=1950.50, stdev=27.22
    clat percentiles (usec):
     | 95.00th=[  151], 99.00th=[ 2157], 99.50th=[ 2200], 99.90th=[ 2300]
     issued rwts: total=5000,0,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
"""
IOZONE = """\
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $

\tCommand line used: iozone -a -s 100M -r 4k -i 0 -i 2
\tOutput is in kBytes/sec
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read\
   fwrite frewrite    fread  freread
          102400       4     3087     3145                      9761     5744

iozone test complete.
"""
BONNIE = """\
Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
myhost           8G           61234  18 31589   8           91293   8 711.5   6
"""
VDBENCH = """\
10:12:00.012 Starting RD=rd_a; I/O rate: 100; elapsed=30; For loops: xfersize=4k threads=16

Apr 02, 2012    interval        i/o   MB/sec   bytes   read     resp     resp     resp    cpu%  cpu%
                               rate  1024**2     i/o    pct     time      max   stddev sys+usr   sys
10:12:31.061    avg_2-30     6042.10    23.60    4096 100.00    2.642   85.241    1.334     3.1   2.1
"""
ELBENCHO = """\
COMMAND LINE: "elbencho" "-r" "-t" "8" "-b" "4k" "--rand" "/data/f"

OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
READ        Elapsed time     :     10.244s     10.261s
            IOPS             :        6529        6580
            Throughput MiB/s :          25          26
            IO latency       : [ min=108us avg=469us max=14.5ms ]
            IO lat % us      : [ 1%<=289 50%<=409 75%<=409 99%<=688 99.9%<=1024 ]
---
"""
CRYSTAL = """\
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]

[Read]
  SEQ    1MiB (Q=  8, T= 1):  7001.500 MB/s [   6677.1 IOPS] <   987.81 us>

Test: 1 GiB (x5) [C: 35% (83/237GiB)]
"""
TEXTS = {
    "diskspd": DISKSPD,
    "fio": FIO,
    "iozone": IOZONE,
    "bonnie": BONNIE,
    "vdbench": VDBENCH,
    "elbencho": ELBENCHO,
    "crystal": CRYSTAL,
}
WAYS = {
    "indented": lambda line: "    " + line,
    "by a tab": lambda line: "\t" + line,
    "deeper": lambda line: "            " + line,
    "quoted": lambda line: "> " + line,
    "quoted twice": lambda line: "> > " + line,
    "time stamps": lambda line: "2024-05-01T10:00:00.1234567Z " + line,
    "system log": lambda line: "May  1 10:00:00 nas01 bench[812]: " + line,
    "colours": lambda line: "\x1b[0;32m" + line.rstrip("\n") + "\x1b[0m\n",
    "web page": lambda line: line.replace("<", "&lt;").replace(">", "&gt;"),
    "mail as it was sent": lambda line: "> " + line.replace("=", "=3D"),
    "blanks at the end": lambda line: line.rstrip("\n") + "   \n",
    "kubectl logs --prefix": lambda line: "[pod/fio-7d9f-x2/fio] " + line,
    "a container runtime's log": lambda line: "2024-05-01T10:00:00.123456789Z stdout F " + line,
    "docker compose logs": lambda line: "fio-1  | " + line,
    "pdsh": lambda line: "node1: " + line,
    "date without a host": lambda line: "May  1 10:00:00 " + line,
    "a time of day": lambda line: "[10:00:00] " + line,
    "comments": lambda line: "# " + line,
    "a patch": lambda line: "+" + line,
    "blanks that do not break": lambda line: line.replace("    ", "\xa0   "),
}
FIGURES = attrgetter(
    *words("tool tool_version label direction rw operation bs_bytes size_bytes numjobs iodepth"),
    *words("iops bw_bytes_per_s lat_mean_ns lat_p99_ns statistic"),
)


def _figures(text):
    readings, problems = read_text(text)
    assert readings, problems
    return [FIGURES(reading) for reading in readings]


@pytest.mark.parametrize("tool", TEXTS)
@pytest.mark.parametrize("way", WAYS)
def test_same_readings(tool, way):
    pasted = "".join(WAYS[way](line) for line in TEXTS[tool].splitlines(keepends=True))
    page = f"# My disk\n\nSome words about it.\n\n```\n{pasted}```\n\nAnd more words: 3 MB/s.\n"
    assert _figures(page) == _figures(TEXTS[tool])


@pytest.mark.parametrize("tool", TEXTS)
def test_lines_with_their_numbers(tool):
    numbered = "".join(f"{number}:{line}" for number, line in enumerate(TEXTS[tool].splitlines(keepends=True), 17))
    assert _figures(numbered) == _figures(TEXTS[tool])


def test_lines_of_several_hosts_in_turn_are_no_result():
    both = "".join(f"node1: {line}node2: {line}" for line in FIO.splitlines(keepends=True))
    assert not read_text(both)[0]


def test_hosts_one_after_the_other():
    texts = {1: FIO, 2: FIO.replace("pid=4711", "pid=815")}
    both = "".join(f"node{host}: {line}" for host, text in texts.items() for line in text.splitlines(keepends=True))
    assert len(read_text(both)[0]) == 2


@pytest.mark.parametrize("tool", TEXTS)
def test_a_mail_in_quoted_printable_with_folded_lines(tool):
    body = quopri.encodestring(TEXTS[tool].replace("   ", "\xa0  ").encode()).decode()
    header = "From: somebody\nDKIM-Signature: v=1; a=rsa-sha256\nContent-Transfer-Encoding: quoted-printable\n\n"
    assert "=\n" in body
    assert _figures(header + body) == _figures(TEXTS[tool])


def test_an_answer_below_a_quoted_printable_mail_keeps_its_signs():
    """iodepth=32 is not `iodepth2` because some line above was encoded."""
    text = "> bs=3D4k and so =\n> on\n\n" + FIO.replace("iodepth=4", "iodepth=32")
    assert [reading.iodepth for reading in read_text(text)[0]] == [32]


def test_figures_of_the_texts():
    assert [(r[6], r[9], r[10], r[12]) for r in _figures(DISKSPD)] == [(4096, 7, 1000.0, 94000.0)]
    assert [(r[6], r[10], r[12], r[13]) for r in _figures(FIO)] == [(16384, 500, 1950500, 2157000)]
    assert [(r[3], r[4], r[5], r[11]) for r in _figures(IOZONE)] == [
        ("write", "write", None, 3087 * 1024),
        ("write", None, "rewrite", 3145 * 1024),
        ("read", "randread", None, 9761 * 1024),
        ("write", "randwrite", None, 5744 * 1024),
    ]
    assert [(r[3], r[10], r[11]) for r in _figures(BONNIE)][-1] == ("mixed", 711.5, None)
    assert [(r[10], r[12], r[13]) for r in _figures(ELBENCHO)] == [(6580, 469000, 688000)]


def test_line_numbers_are_those_of_the_page():
    readings, _ = read_text("words\n\n" + "".join("> " + line for line in BONNIE.splitlines(keepends=True)))
    assert {reading.line for reading in readings} == {6}


def test_an_excerpt_without_the_lines_above_it():
    readings, _ = read_text(DISKSPD[DISKSPD.index("Total IO") :])
    assert [(r.direction, r.iops, r.runtime_seconds) for r in readings] == [("read", 1000.0, None)]


def test_a_disk_mark_in_the_comments_of_a_program():
    disk_mark = (
        "CrystalDiskMark 8.0.1 x64\n[Read]\n"
        "  RND    4KiB (Q=  1, T= 1):    41.375 MB/s [  10101.3 IOPS] <    98.75 us>\n[Write]\n"
        "  RND    4KiB (Q=  1, T= 1):    71.375 MB/s [  17425.5 IOPS] <    58.75 us>\n"
    )
    for sign in ("// ", "//", "; ", "-- ", "* "):
        readings, problems = read_text("".join(f"{sign}{line}\n" for line in disk_mark.splitlines()))
        assert [reading.iops for reading in readings] == [10101.3, 17425.5], sign
        assert problems == []


def test_elbencho_below_its_heading():
    text = (
        "WRITE     Elapsed ms       :      49659      94917\n"
        "          IOPS             :       9688       5092\n"
        "          Throughput MiB/s :       9688       5092\n"
        "---\n"
    )
    readings, _ = read_text(text)
    assert [(reading.tool, reading.iops) for reading in readings] == [("elbencho", 5092)]
