# SPDX-License-Identifier: Apache-2.0
import pytest
from read_samples import read_path, read_text
from tests.facts import has
from tests.unit.samples import sample

MIB = 1 << 20
TEXT = """
Command Line: diskspd.exe -b64K -d1 -t2 -o8 -w25 -L t.dat

Input parameters:

\ttimespan:   1
\t-------------
\tduration: 1s
\tmeasuring latency
\tpath: 't.dat'
\t\tperforming mix test (write/read ratio: 25/100)
\t\tblock size: 65536
\t\tusing sequential I/O (stride: 65536)
\t\tnumber of outstanding I/O operations: 8
\t\tthreads per file: 2

Results for timespan 1:
*******************************************************************************

actual test time:\t1.00s
thread count:\t\t2

Total IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  |  file
-----------------------------------------------------------------------------
     0 |         8388608 |          128 |       8.00 |     128.00 |    1.500 | t.dat (10MB)
-----------------------------------------------------------------------------
total:           8388608 |          128 |       8.00 |     128.00 |    1.500

Read IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  |  file
-----------------------------------------------------------------------------
     0 |         6291456 |           96 |       6.00 |      96.00 |    1.250 | t.dat (10MB)
-----------------------------------------------------------------------------
total:           6291456 |           96 |       6.00 |      96.00 |    1.250

Write IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  |  file
-----------------------------------------------------------------------------
     0 |         2097152 |           32 |       2.00 |      32.00 |    2.250 | t.dat (10MB)
-----------------------------------------------------------------------------
total:           2097152 |           32 |       2.00 |      32.00 |    2.250

  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
   50th |      1.000 |      2.000 |      1.100
   99th |      4.000 |      5.000 |      4.500
    max |      9.000 |      9.500 |      9.500
"""


def test_old_layout_mb_is_binary():
    read, write = read_text(TEXT)[0]
    has(read, direction="read", rw="rw", bs_bytes=65536, numjobs=2, iodepth=8, rwmixread=75.0)
    assert (read.bw_bytes_per_s, read.iops, read.lat_mean_ns, read.lat_p99_ns) == (6 * MIB, 96.0, 1_250_000, 4_000_000)
    assert (write.bw_bytes_per_s, write.lat_p99_ns, write.size_bytes) == (2 * MIB, 5_000_000, 10 * MIB)


def test_decimal_commas_crlf_and_utf16():
    from read_samples import read_bytes

    text = (
        TEXT.replace("8.00", "8,00")
        .replace("6.00", "6,00")
        .replace("1.250", "1,250")
        .replace("4.000", "4,000")
        .replace("96.00", "96,00")
        .replace("1.00s", "1,00s")
    )
    plain = read_text(TEXT)[0][0]
    other = read_bytes(text.replace("\n", "\r\n").encode("utf-16"))[0][0]
    for name in ("bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns", "line"):
        assert getattr(other, name) == getattr(plain, name), name


def test_cut_before_the_write_rows_says_so():
    readings, problems = read_text(TEXT[: TEXT.index("Read IO")])
    assert [(r.direction, r.iops) for r in readings] == [("mixed", 128.0)]
    assert any("cut off" in problem for problem in problems)


XML = """<Results><System><ComputerName>h</ComputerName><Tool><Version>2.1.0</Version></Tool></System>
<Profile><TimeSpans><TimeSpan><Targets><Target><Path>a</Path><BlockSize>8192</BlockSize><Random>8192</Random><RequestCount>4</RequestCount>
<WriteRatio>100</WriteRatio><ThreadsPerFile>2</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans></Profile>
<TimeSpan><TestTimeSeconds>2.00</TestTimeSeconds><ThreadCount>2</ThreadCount>
<Latency><AverageWriteMilliseconds>0.5</AverageWriteMilliseconds><Bucket><Percentile>99</Percentile><WriteMilliseconds>3.25</WriteMilliseconds></Bucket></Latency>
<Thread><Id>0</Id><Target><ReadBytes>0</ReadBytes><ReadCount>0</ReadCount><WriteBytes>8192</WriteBytes><WriteCount>1</WriteCount><FileSize>65536</FileSize></Target></Thread>
<Thread><Id>1</Id><Target><ReadBytes>0</ReadBytes><ReadCount>0</ReadCount><WriteBytes>24576</WriteBytes><WriteCount>3</WriteCount><FileSize>65536</FileSize></Target></Thread>
</TimeSpan>
</Results>"""


def test_xml_sums_threads():
    readings, problems = read_text(XML)
    assert problems == []
    write = readings[0]
    has(write, direction="write", rw="randwrite", bs_bytes=8192, iodepth=4, numjobs=2)
    has(write, bw_bytes_per_s=16384.0, iops=2.0, lat_mean_ns=500_000, lat_p99_ns=3_250_000, size_bytes=65536)
    assert write.tool_version == "2.1.0"


def test_cut_xml_gives_no_partial_sum():
    readings, problems = read_text(XML[: XML.index("<Id>1</Id>")])
    assert readings == []
    assert "cut off" in problems[0]


def test_entities_are_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n' + XML.replace(">a<", ">&b;<")
    readings, problems = read_text(bomb)
    assert readings == []
    assert problems
    inside = XML.replace("<Results>", "<Results>", 1).replace("<Path>a</Path>", "<Path>" + "<x>" * 200 + "</Path>")
    assert read_text(inside)[1]


def test_samples():
    read, write = read_path(sample("diskspd/diskspd-2.0-mix-70-30.txt"))[0]
    assert (read.iops, write.iops, read.lat_p99_ns, write.lat_p99_ns) == (834.98, 354.05, 877_000, 6_107_000)
    assert read.bw_bytes_per_s == pytest.approx(3.26 * MIB, rel=2e-3)
    assert (read.rwmixread, read.size_bytes, read.line, write.line) == (70, 1 << 30, 57, 64)
    new = read_path(sample("diskspd/diskspd-2.2.0-write-new-layout.txt"))[0]
    assert [(r.direction, r.iops, r.bs_bytes, r.iodepth, r.lat_p99_ns) for r in new] == [
        ("write", 508.09, 4096, 16, 161_752_000)
    ]
    many = read_path(sample("diskspd/diskspd-2.0.21-write-32-threads.txt"))[0]
    assert [(r.numjobs, r.iops, r.lat_mean_ns) for r in many] == [(32, 76458.71, 6_696_000)]
    xml = read_path(sample("diskspd/diskspd-2.0.21a-results.xml"))[0]
    assert [(r.direction, r.lat_mean_ns, r.lat_p99_ns) for r in xml] == [
        ("read", 2_477_000, 21_897_000),
        ("write", 1_767_000, 4_184_000),
    ]
    assert xml[0].io_bytes == 152_215_552


def test_a_result_without_its_input_parameters_takes_the_load_from_the_command_line():
    text = """\
Command Line: "C:\\\\Program Files\\\\diskspd.exe" -c64M -b4K -r4K -t4 -o16 -w30 -d5 -Suw -L C:\\\\test.dat

Results for timespan 1:
*******************************************************************************

actual test time:	5.00s
thread count:		4

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  |  file
--------------------------------------------------------------------------------
     0 |        17256448 |         4213 |       3.29 |     841.30 |    4.753 | C:\\\\test.dat (64MiB)
--------------------------------------------------------------------------------
total:          69226496 |        16901 |      13.18 |    3374.97 |    4.739

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  |  file
--------------------------------------------------------------------------------
total:          69226496 |        16901 |      13.18 |    3374.97 |    4.739
"""
    (reading,), _ = read_text(text)
    has(reading, bs_bytes=4096, rw="randrw", rwmixread=70, iodepth=16, numjobs=4)
    assert reading.label == "C:\\\\test.dat"
    assert any("from the command line" in note for note in reading.notes)
    profile, _ = read_text(text.replace("-c64M", "-Xprofile.xml"))
    assert (profile[0].bs_bytes, profile[0].rw) == (None, None)
