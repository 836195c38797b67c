# SPDX-License-Identifier: Apache-2.0
import pytest
from read_samples import read_path, read_text
from tests.facts import has
from tests.unit.samples import sample

KIB = 1024
HEAD = """\
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.506 $
\tFile size set to 4096 kB
\tRecord Size 64 kB
\tCommand line used: iozone {flags}
\tOutput is in kBytes/sec
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read\
   fwrite frewrite    fread  freread
"""


def by_operation(readings):
    return {(reading.operation or reading.rw): reading for reading in readings}


def test_blank_columns_are_not_measured():
    row = f"            4096      64     1000     2000                        5000     6000{' ' * 64}\n\n"
    row += "iozone test complete.\n"
    readings, problems = read_text(HEAD.format(flags="-s 4m -r 64k -i 0 -i 2") + row)
    assert problems == []
    found = by_operation(readings)
    assert set(found) == {"write", "rewrite", "randread", "randwrite"}
    assert found["write"].bw_bytes_per_s == 1000 * KIB
    assert (found["rewrite"].rw, found["rewrite"].operation, found["rewrite"].direction) == (None, "rewrite", "write")
    has(found["randread"], bs_bytes=64 * KIB, size_bytes=4096 * KIB, numjobs=1)
    assert found["write"].tool_version == "3.506"


def test_columns_without_their_blanks_follow_the_command_line():
    readings, _ = read_text(HEAD.format(flags="-s 4m -r 64k -i 0 -i 2") + "4096 64 1000 2000 5000 6000\n\n")
    assert {name: reading.bw_bytes_per_s for name, reading in by_operation(readings).items()} == {
        "write": 1000 * KIB,
        "rewrite": 2000 * KIB,
        "randread": 5000 * KIB,
        "randwrite": 6000 * KIB,
    }


def test_noretest_zero_is_not_measured():
    row = f"            4096      64     1000        0     3000        0{' ' * 82}\n\n"
    assert set(by_operation(read_text(HEAD.format(flags="-i 0 -i 1 -+n") + row)[0])) == {"write", "read"}


def test_cut_row_loses_its_last_figure():
    row = "            4096      64     1000     2000     30"
    readings, problems = read_text(HEAD.format(flags="-i 0 -i 1") + row)
    assert set(by_operation(readings)) == {"write", "rewrite"}
    assert len(problems) == 1


@pytest.mark.parametrize(("text", "separator"), [("{a};{b}", ";"), ("{a},{b}", ","), ("{a}\t{b}", "\t")])
def test_report_saved_from_a_spreadsheet(text, separator):
    lines = [
        "Writer Report",
        separator.join(["", "64", "128"]),
        separator.join(["512", "100", ""]),
        separator.join(["1024", "", "400"]),
    ]
    readings, _ = read_text("\r\n".join(lines) + "\r\n")
    assert [(r.size_bytes // KIB, r.bs_bytes // KIB, r.bw_bytes_per_s / KIB) for r in readings] == [
        (512, 64, 100),
        (1024, 128, 400),
    ]


def test_throughput_blocks_with_host_prefix():
    text = (
        "\tThroughput test with 2 threads\n\tEach thread writes a 1024 Kbyte file in 4 Kbyte records\n"
        "10.0.0.7:\tChildren see throughput for  2 initial writers \t=  302980.50 kB/sec\n"
        "10.0.0.7:\tMin throughput per thread \t\t\t=  100000.00 kB/sec\n"
        "\tChildren see throughput for 2 reverse readers \t=  10.00 ops/sec\n"
    )
    write, backward = read_text(text)[0]
    has(write, host="10.0.0.7", numjobs=2, bw_bytes_per_s=302980.5 * KIB, bs_bytes=4096, size_bytes=1024 * KIB)
    assert write.details["min_per_process_bytes_per_s"] == 100000 * KIB
    assert (backward.operation, backward.iops, backward.bw_bytes_per_s) == ("backward read", 10.0, None)


def test_samples_table_and_report_are_not_counted_twice():
    table, problems = read_path(sample("iozone/own-3.489-auto-i012-R.txt"))
    assert problems == []
    assert len(table) == 36
    found = {(reading.operation or reading.rw, reading.size_bytes, reading.bs_bytes) for reading in table}
    assert ("write", 512 * KIB, 64 * KIB) in found


def test_samples_modes_and_versions():
    ops = by_operation(read_path(sample("iozone/own-3.489-ops-O.txt"))[0])
    assert (ops["write"].iops, ops["randread"].iops, ops["write"].bw_bytes_per_s) == (492790, 1080328, None)
    usec = by_operation(read_path(sample("iozone/own-3.489-usec-N.txt"))[0])
    assert (usec["write"].lat_mean_ns, usec["reread"].lat_mean_ns, usec["write"].bw_bytes_per_s) == (
        19_000,
        6_000,
        None,
    )
    old, _ = read_path(sample("iozone/iozone-3.327-auto-ext4.txt"))
    first = {(r.operation or r.rw): r.bw_bytes_per_s / KIB for r in old if r.line == 26}
    assert first == {
        "write": 200191,
        "rewrite": 267128,
        "read": 401314,
        "reread": 806376,
        "randread": 65585,
        "randwrite": 247430,
        "backward read": 40445,
        "record rewrite": 306121,
        "strided read": 50563,
        "fwrite": 221318,
        "frewrite": 306121,
        "fread": 66627,
        "freread": 67977,
    }
    tput, _ = read_path(sample("iozone/own-3.489-throughput-l1-u3-R.txt"))
    assert [(r.operation or r.rw, r.numjobs) for r in tput][:5] == [
        ("write", 1),
        ("rewrite", 1),
        ("read", 1),
        ("reread", 1),
        ("write", 2),
    ]
    assert tput[4].bw_bytes_per_s == pytest.approx(3518141.75 * KIB)
    mixed = by_operation(read_path(sample("iozone/own-3.489-throughput-t2-R.txt"))[0])["mixed workload"]
    assert (mixed.direction, mixed.rw) == ("mixed", None)
    readings, problems = read_path(sample("iozone/own-3.489-error-missing-i0.txt"))
    assert readings == []
    assert len(problems) == 2


def test_a_workbook_is_told_to_be_not_read():
    readings, problems = read_path(sample("iozone/own-3.489-auto-i012-R.xls"))
    assert readings == []
    assert "workbook" in problems[0]


def test_mapped_files_have_nine_columns_and_cpu_reports_are_no_rates():
    """The layout of IOzone 3.489 with -B -+u -R."""
    readings, problems = read_text(
        "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n"
        "\tCommand line used: iozone -a -B -s 512 -r 64 -+u -R\n"
        "                                                              random    random     bkwd    record    stride   "
        "     \n"
        "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   "
        "     \n"
        "             512      64  2097550  4927617 22183443 20490142 20490142  4571003 34192498  26908901  83217427\n"
        "\n"
        'Excel output is below:\n\n"Writer report"\n        "64"\n"512"   2097550\n\n'
        '"Writer CPU utilization report (Zero values should be ignored)"\n        "64"\n"512"    64.26\n'
    )
    assert problems == []
    assert len(readings) == 9
    assert (readings[8].operation, readings[8].bw_bytes_per_s) == ("strided read", 83217427 * 1024)


def test_cpu_report_of_throughput_mode():
    readings, _ = read_text(
        '"Throughput report Y-axis is type of test X-axis is number of processes"\n"Record size = 64 kBytes "\n"Output '
        'is in kBytes/sec"\n\n'
        '"  Initial write " 8827629.50 \n\n"CPU utilization report Y-axis is type of test X-axis is number of '
        'processes"\n'
        '"Record size = 64 kBytes "\n"Output is in CPU%"\n\n"  Initial write "     186.22 \n'
    )
    assert [reading.bw_bytes_per_s for reading in readings] == [8827629.5 * 1024]


def test_blank_columns_of_the_older_table():
    readings, _ = read_text(
        "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite "
        "frewrite   fread  freread\n"
        "          409600      64   31782   22524                    816017   10411                  3779260           "
        "           \n"
    )
    assert [reading.operation or reading.rw for reading in readings] == [
        "write",
        "rewrite",
        "randread",
        "randwrite",
        "strided read",
    ]


def test_summary_of_throughput_without_its_header_says_its_unit():
    """An excerpt from the quoted summary on: operations per second are no kilobytes."""
    text = (
        '"Throughput report Y-axis is type of test X-axis is number of processes"\n'
        '"Record size = 4 kBytes "\n"Output is in {}/sec"\n\n"  Initial write "    2067.34 \n'
    )
    (ops,), (rate,) = (read_text(text.format(unit))[0] for unit in ("ops", "kBytes"))
    assert (ops.iops, ops.bw_bytes_per_s, ops.bs_bytes) == (2067.34, None, 4096)
    assert (rate.iops, rate.bw_bytes_per_s) == (None, 2067.34 * 1024)
