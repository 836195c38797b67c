# SPDX-License-Identifier: Apache-2.0
"""What command lines of each tool mean, as the tools' own manuals have it."""

import json
import re
from contextlib import suppress

import pytest
from read_samples import jobs, levels

from ioatlas.load.fio.jobfile import render_job
from ioatlas.load.streams.fixed_work import iozone_arguments, iozone_round
from ioatlas.model.errors import UsageError
from ioatlas.model.units import parse_size_bytes, words
from ioatlas_translate import translate
from ioatlas_translate.command import split_words
from ioatlas_translate.translation import job_to_dict

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


FIRST_JOB = r"""
diskspd: C:\tools\diskspd.exe -t8 -o8 -r -b4K -w0 -d60 -h -L -c1000G D:\io.dat
    -> rw=randread bs_bytes=4096 numjobs=8 iodepth=8 runtime_seconds=60 ramp_time_seconds=5 direct=1 \
    size_bytes=1000GiB norandommap=1 rwmixread=100
diskspd: diskspd -t8 -o8 -r -b8K -w33 -d60 -Sh -c1000G x
    -> rw=randrw rwmixread=67 bs_bytes=8192 sync=dsync
diskspd: diskspd x
    -> rw=read bs_bytes=65536 iodepth=2 numjobs=1 runtime_seconds=10 ramp_time_seconds=5 direct=0 size_bytes=null
diskspd: diskspd -w x
    -> rw=read
diskspd: diskspd -c1G -b4K -r8b -W0 x
    -> blockalign_bytes=32768 rw=randread
diskspd: diskspd -c1G -b4K -rs70 x
    -> rw=randread percentage_random=70
diskspd: diskspd -c1G -b4K -rdpct90/10:0/10:5/20 x
    -> random_distribution=zoned:90/10:0/10:5/20:5/60
diskspd: diskspd -c40G -b4K -rdabs10/10G:10/20G x
    -> random_distribution=zoned_abs:10/10737418240:10/21474836480:80/10737418240
diskspd: diskspd -c1G -b4K -t2 -g500 x
    -> rate_bytes_per_s=500000
diskspd: diskspd -c1G -b4K -t2 -g500i x
    -> rate_iops=500
diskspd: diskspd -c1G -b4K -o1 -i10 -j5 x
    -> thinktime_us=5000 thinktime_blocks=10
diskspd: diskspd -c1G -B1M -f512M -b4K x
    -> offset_bytes=1MiB size_bytes=511MiB
diskspd: diskspd -c1G -Sm -w100 -Z x
    -> ioengine=mmap zero_buffers=1
diskspd: diskspd -c1G -a0,1 -t2 x
    -> cpus_allowed=0,1 cpus_allowed_policy=split
diskspd: diskspd -c1G -t4 -T64K x
    -> offset_increment_bytes=65536 size_bytes=1073545216
diskspd: diskspd -c1G -p -o4 x
    -> numjobs=4 iodepth=1
diskspd: diskspd -c1G -b8K -s32K x
    -> rw=read:24576
iozone: iozone -i 0 -i 1 -r 64k -s 4g -c -e -I
    -> rw=write bs_bytes=65536 size_bytes=4GiB direct=1 end_fsync=1 operation=write
iozone: iozone -s 4096 -r 64 -i0
    -> size_bytes=4MiB bs_bytes=65536
iozone: iozone -t 4 -s 1m -r 4 -i 0 -o
    -> numjobs=4 sync=sync filename_format=ioatlas-target-1.$jobnum.$filenum
iozone: iozone -Rb out.xls -H 8 -B -i 0 -J 2
    -> ioengine=mmap iodepth=1 thinktime_us=2000
xdd: xdd -op write -targets 1 /dev/sdz -reqsize 128 -mbytes 64 -qd 4 -dio
    -> rw=write bs_bytes=131072 size_bytes=64MiB iodepth=4 direct=1 zero_buffers=1
xdd: xdd -op read -target x -rwratio 70 -reqsize 8 -blocksize 512 -numreqs 100 -seek random -seek range 8192 -passes 3
    -> rw=randrw rwmixread=70 bs_bytes=4096 size_bytes=4MiB io_size_bytes=409600 loops=3
xdd: xdd -op read -targets -2 x -kbytes 1024 -throttle ops 50 -startdelay 1.5 -targetoffset 1024
    -> numjobs=2 rate_iops=50 startdelay_seconds=1.5 offset_increment_bytes=1MiB
orion: ./orion_linux -run oltp -testname t -num_disks 2
    -> rw=randread bs_bytes=8192 iodepth=2 runtime_seconds=60 direct=1
orion: orion -run advanced -matrix point -num_small 4 -num_large 0 -size_small 16 -write 25 -duration 10
    -> rw=randrw rwmixread=75 bs_bytes=16384 iodepth=4 runtime_seconds=10
fio: fio -filename=/dev/sdb -direct=1 -iodepth 1 -thread -rw=randrw -rwmixread=70 -bs=16k -size=200G -numjobs=30 \
    -runtime=100 -group_reporting -name=t
    -> rw=randrw bs_bytes=16384 size_bytes=200GiB numjobs=30 runtime_seconds=100 direct=1
fio: fio --name=a --rw=randread --bs=4KiB --size=1g
    -> bs_bytes=4000
fio: fio --kb_base=1000 --name=a --rw=randread --bs=4KiB --size=1m
    -> bs_bytes=4096 size_bytes=1000000
"""
"""Command lines, and what the first job of each is to say."""


def worth(text):
    for read in (json.loads, parse_size_bytes):
        with suppress(ValueError, UsageError):
            return read(text)
    return text


@pytest.mark.parametrize(
    "case", re.findall(r"^(\w+): (.*)\n +-> (.*)$", FIRST_JOB.replace("\\\n    ", ""), re.MULTILINE)
)
def test_first_job(case):
    tool, command, said = case
    expected = {name: worth(text) for name, text in (one.split("=", 1) for one in said.split())}
    translation = translate(tool, command)
    job = job_to_dict(translation.jobs[0])
    assert {name: job.get(name) for name in expected} == expected
    assert translation.job_file
    assert translation.fidelity


BAD = [
    ("diskspd", "diskspd -q5 x"),
    ("diskspd", "diskspd -b4Q x"),
    ("diskspd", "diskspd -t2 -F4 x"),
    ("diskspd", "diskspd -w101 x"),
    ("diskspd", "diskspd x -b4K"),
    ("diskspd", 'diskspd "x'),
    ("iozone", "iozone -y"),
    ("iozone", "iozone -? "),
    ("iozone", ("iozone -r 32m -s 1g -i 0")),
    ("iozone", "iozone -s 4k -r 8k -i 0"),
    ("xdd", "xdd -op erase -target x -bytes 1"),
    ("xdd", ("xdd -target x")),
    ("xdd", "xdd -nosuch 3 -target x -bytes 1"),
    ("orion", "orion -testname x"),
    ("orion", "orion -run fast"),
    ("orion", ("orion -run advanced -matrix point -num_small 3")),
    ("fio", "fio --rw=read"),
    ("fio", "fio --name=a --rw=sideways"),
    ("fio", "fio --name=a --bs=4x"),
    ("diskspd", "/nowhere/profile.xml"),
    ("vdbench", "sd=sd1,lun=x\nwd=wd1,sd=sd9\nrd=r,wd=wd1,iorate=max"),
    ("vdbench", "sd=sd1,nosuch=3"),
    ("vdbench", "sd=sd1,lun=x"),
    ("diskspd", "   "),
]


@pytest.mark.parametrize(("tool", "command"), BAD)
def test_bad_input_is_one_clear_error(tool, command):
    with pytest.raises(UsageError) as error:
        translate(tool, command)
    assert error.value.remedy


def test_interlocked_sequential_and_write_through_are_not_called_exact():
    translation = translate("diskspd", "diskspd -t8 -o8 -si -b8K -w33 -d60 -h -L -c1000G x")
    assert levels(translation, "address") == {"approximate"}
    assert levels(translation, "write-through") == {"approximate"}
    assert levels(translate("diskspd", "diskspd -t8 -r -w0 -h -c1G x"), "write-through") == {"exact"}


def test_iozone_nine_operations_in_order_and_never_time_based():
    found = jobs("iozone", "iozone -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -c -e -I -s 4g -r 4k")
    assert ", ".join(job["operation"] for job in found) == (
        "write, rewrite, read, reread, random read, random write, backward read, record rewrite, strided read"
    )
    assert [job["rw"] for job in found] == [
        *words("write write read read randread randwrite read:-8192 write read:65536")
    ]
    assert not any("time_based" in job or "runtime_seconds" in job for job in found)
    assert all(job["stonewall"] for job in found[1:])
    assert found[7]["size_bytes"] == 4096
    assert found[7]["io_size_bytes"] == 4 * GIB


@pytest.mark.parametrize(
    ("more", "pattern", "level"),
    [
        ("", "0x" + "5f" * 8 + "00" * 56, "approximate"),
        ("-V 7", "0x07", "exact"),
        ("-+d", None, "approximate"),
        ("-+w 50", None, "approximate"),
    ],
)
def test_iozone_writes_its_own_data_unless_told_otherwise(more, pattern, level):
    made = translate("iozone", f"iozone -i 0 -i 1 -I -s 4m -r 64k {more}")
    assert {job.section.options.get("buffer_pattern") for job in made.jobs} == {pattern}, (
        "what is read is what was written"
    )
    if pattern:
        assert all(job.section.options["refill_buffers"] == 0 for job in made.jobs), (
            "IOzone never touches its buffer between two writes"
        )
    attribute = "deduplication" if "-+w" in more else "write data"
    assert [one.level for one in made.fidelity if one.attribute == attribute] == [level]


def test_iozone_auto_mode_leaves_small_records_out_of_large_files():
    cells = {(j["size_bytes"], j["bs_bytes"]) for j in jobs("iozone", "iozone -a -i 0")}
    assert (64 * KIB, 4 * KIB) in cells
    assert (16 * MIB, 4 * KIB) in cells
    assert (32 * MIB, 32 * KIB) not in cells
    assert (512 * MIB, 16 * MIB) in cells
    everything = {(j["size_bytes"], j["bs_bytes"]) for j in jobs("iozone", "iozone -az -i 0")}
    assert (32 * MIB, 4 * KIB) in everything
    assert (64 * KIB, 128 * KIB) not in everything


def test_iozone_sweep_of_processes():
    found = jobs("iozone", "iozone -l 1 -u 3 -s 1m -r 256k -i 0 -i 1 -R")
    assert [j["numjobs"] for j in found if j["operation"] == "write"] == [1, 2, 3]


def test_orion_simple_on_one_disk_has_the_published_points():
    assert len(translate("orion", "orion -run simple -testname x -num_disks 1").workloads) == 7  # and the idle point
    oltp = jobs("orion", "orion -run oltp -num_disks 1")
    assert [j["iodepth"] for j in oltp] == list(range(1, 21))
    assert {j["bs_bytes"] for j in jobs("orion", "orion -run dss -num_disks 1")} == {MIB}


def test_options_without_counterpart_are_named():
    text = "sd=s,lun=x,size=1g,resetlun=60\nwd=w,sd=s,threads=4\nrd=r,wd=w,iorate=max,elapsed=5,warmup=1"
    named = {entry.attribute for entry in translate("vdbench", text).fidelity if entry.level == "not expressible"}
    assert named == {"sd: resetlun=", "wd: threads="}


def test_fio_values_of_bare_options():
    first, second = jobs("fio", "[a]\nrw=read\nsize=1m\nbuffered=0\n[b]\nrw=read\nsize=1m\nstonewall=0\n")
    assert first["direct"] == 1
    assert not second["stonewall"]
    assert (second["iodepth"], second["numjobs"], second["direct"]) == (1, 1, 0)


FIO_FILE = """
; comment
[global]
bs=4k ; block
size=(1024*1024)
direct=1
[first]
rw=randread
iodepth=$ncpus
filename=/dev/sda:/tmp/x
exec_prerun=rm -rf /
[global]
bs=${NO_SUCH_VARIABLE_HERE}8k
[second]
stonewall
rw=readwrite
bssplit=4k/40:8k-16k/60
verify=crc32c
runtime=2m
"""


def test_fio_job_file(tmp_path):
    path = tmp_path / "a.fio"
    path.write_text(FIO_FILE)
    translation = translate("fio", str(path))
    first, second = (job_to_dict(job) for job in translation.jobs)
    assert (first["bs_bytes"], first["size_bytes"], first["rw"]) == (4096, MIB, "randread")
    assert first["iodepth"] >= 1
    assert second["stonewall"]
    assert second["rw"] == "rw"
    assert second["runtime_seconds"] == 120
    assert levels(translation, "exec_prerun") == {"not expressible"}
    assert levels(translation, "verify") == {"not expressible"}
    assert levels(translation, "environment") == {"approximate"}
    text = translation.job_file
    assert "/dev/sda" not in text
    assert "rm -rf" not in text
    assert "filename=ioatlas-target-1:ioatlas-target-2" in text


def test_an_include_is_read_beside_the_file(tmp_path):
    (tmp_path / "common.inc").write_text("bs=128k\nrw=write\n")
    (tmp_path / "a.fio").write_text("[a]\ninclude common.inc\nsize=1m\n[b]\ninclude missing.inc\nsize=1m\n")
    translation = translate("fio", str(tmp_path / "a.fio"))
    assert job_to_dict(translation.jobs[0])["bs_bytes"] == 131072
    assert "not expressible" in levels(translation, "include")


def test_a_circle_of_includes_ends(tmp_path):
    (tmp_path / "a.inc").write_text("include a.inc\n")
    (tmp_path / "a.fio").write_text("[a]\ninclude a.inc\n")
    with pytest.raises(UsageError):
        translate("fio", str(tmp_path / "a.fio"))


@pytest.mark.parametrize(
    ("tool", "name", "text", "pasted"),
    [
        ("diskspd", "run.bat", "@echo off\nset SIZE=2G\ndiskspd64.exe -c%SIZE% x\n", "diskspd64.exe -c%SIZE% x"),
        ("diskspd", "run.ps1", "$b = 4\nC:\\run\\diskspd.exe -b$($b)k a.dat\n", "C:\\run\\diskspd.exe -b$($b)k a.dat"),
        ("xdd", "run.sh", "# all\nsize=4\nxdd -op 'read' -bytes $size\n", 'xdd -op "read" -bytes $size'),
        ("fio", "run.sh", "for i in 1 2; do\nfio --name=a$i --rw=read\ndone\n", "fio --name=a$i --rw=read"),
        ("xdd", "list", "xdd -op read -bytes 8\nxdd -op write -bytes 8\n", "xdd -op read -bytes 8"),
        ("xdd", "list.sch", "# two\n\n-op read -bytes 8\n-op write -bytes 8\n", "-op read -bytes 8"),
    ],
)
def test_a_script_is_refused_with_what_to_paste(tmp_path, tool, name, text, pasted):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match="scripts are not read") as refused:
        translate(tool, str(tmp_path / name))
    assert f"ioatlas translate {tool} '{pasted}'" in refused.value.remedy


def test_a_file_may_hold_one_command_over_several_lines(tmp_path):
    path = tmp_path / "run.cmd"
    path.write_text("REM diskspd of a comment\nC:\\t\\diskspd64.exe -c2G -b4K ^\n  -t4 -r d:\\a.dat > out.txt\n")
    (job,) = jobs("diskspd", str(path))
    assert (job["bs_bytes"], job["numjobs"], job["size_bytes"], job["target"]) == (4096, 4, 2 * GIB, "d:\\a.dat")
    (job,) = jobs("fio", "fio --name=a --rw=read\n--bs=4k \\\n--size=1g | tee log")
    assert (job["bs_bytes"], job["size_bytes"]) == (4096, GIB)


@pytest.mark.parametrize("variable", ["$size", "${size}", "%SIZE%", "$(cat size)"])
def test_a_variable_without_a_value_is_refused(variable):
    with pytest.raises(UsageError, match="has no value here"):
        translate("xdd", f"xdd -op read -target a -bytes {variable}")


def test_iozone_takes_values_without_a_blank():
    assert jobs("iozone", "iozone -t1 -i0 -r1k -s1g /tmp")[0]["bs_bytes"] == 1024


def test_diskspd_xml_profile_and_entities(tmp_path):
    target = (
        "<Target><Path>*1</Path><BlockSize>8192</BlockSize><Random>8192</Random><WriteRatio>30</WriteRatio>"
        "<RequestCount>4</RequestCount><FileSize>1048576</FileSize></Target>"
    )
    span = f"<TimeSpan><Duration>7</Duration><Targets>{target}</Targets></TimeSpan>"
    xml = f"<Profile><TimeSpans>{span}</TimeSpans></Profile>"
    (tmp_path / "p.xml").write_text(xml)
    (job,) = jobs("diskspd", f"diskspd -d9 -X{tmp_path}/p.xml first.bin")
    assert (job["rw"], job["rwmixread"], job["runtime_seconds"], job["target"]) == ("randrw", 70, 9, "first.bin")
    (tmp_path / "bad.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]>' + xml)
    with pytest.raises(UsageError):
        translate("diskspd", str(tmp_path / "bad.xml"))


def test_a_diskspd_profile_is_the_load_of_its_switches(tmp_path):
    target = (
        "<Target><Path>x</Path><BlockSize>4096</BlockSize><RandomAccess>true</RandomAccess><FileSize>1048576</FileSize>"
        "<DisableAllCache>true</DisableAllCache><Random>4096</Random><RandomRatio>60</RandomRatio>"
        "<RequestCount>32</RequestCount><ThreadsPerFile>4</ThreadsPerFile><WriteRatio>30</WriteRatio>"
        "<WriteBufferContent><Pattern>zero</Pattern></WriteBufferContent><IOPriority>1</IOPriority>"
        '<Throughput unit="IOPS">500</Throughput></Target>'
    )
    affinity = '<Affinity><AffinityGroupAssignment Group="0" Processor="2"/></Affinity>'
    span = f"<Duration>30</Duration><Warmup>0</Warmup><RandSeed>5</RandSeed>{affinity}<Targets>{target}</Targets>"
    (tmp_path / "p.xml").write_text(f"<Profile><TimeSpans><TimeSpan>{span}</TimeSpan></TimeSpans></Profile>")
    by_switches = "-d30 -W0 -z5 -a2 -b4096 -fr -c1048576 -Sh -r4096 -rs60 -o32 -t4 -w30 -Z -I1 -g500i"
    profile, command = translate("diskspd", str(tmp_path / "p.xml")), translate("diskspd", f"diskspd {by_switches} x")
    assert profile.job_file == command.job_file
    assert set(profile.fidelity) == set(command.fidelity)


def test_words_by_windows_and_posix_rules():
    assert split_words(r'a "C:\my dir\x.dat" \\srv\share', windows=True) == ["a", r"C:\my dir\x.dat", r"\\srv\share"]
    assert split_words(r"a my\ dir 'x y' \"q", windows=False) == ["a", "my dir", "x y", '"q']


def test_equal_commands_give_equal_text():
    command = "diskspd -c1G -b4K -t2 -r -w30 x y"
    assert translate("diskspd", command).to_dict() == translate("diskspd", command).to_dict()
    sections = [job.section for job in translate("diskspd", command).jobs]
    assert render_job(sections).count("[target") == 2


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("diskspd", "diskspd -c1G -b4K x"),
        ("vdbench", "sd=sd1,lun=x,size=1g\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max"),
        ("xdd", "xdd -op read -target x -reqsize 4 -numreqs 8"),
    ],
)
def test_buffered_loads_keep_the_cached_pages_of_their_file(tool, command):
    """Fio drops a file's cached pages before a job; these tools do not, and a read after a write finds them."""
    assert {job["invalidate"] for job in jobs(tool, command)} == {0}


def test_an_include_by_another_machines_path_is_looked_for_beside_the_file(tmp_path):
    (tmp_path / "disks").write_text("sd=sd1,lun=x,size=1g\n")
    (tmp_path / "p.parm").write_text("include=/opt/nowhere/disks\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n")
    assert [job["size_bytes"] for job in jobs("vdbench", str(tmp_path / "p.parm"))] == [GIB]


def test_fio_verify_0_is_no_verification():
    translation = translate("fio", "fio --name=a --rw=write --bs=64k --size=1g --verify=0")
    assert levels(translation, "verify") == {"exact"}


@pytest.mark.parametrize(("options", "percent"), [("", 50), ("--rwmixwrite=30", 70), ("--rwmixread=20", 20)])
def test_json_tells_the_share_of_reads(options, percent):
    (job,) = jobs("fio", f"fio --name=a --rw=randrw --bs=4k --size=1g {options}")
    assert job["rwmixread"] == percent


@pytest.mark.parametrize(
    ("tool", "command", "option", "value"),
    [
        (
            "diskspd",
            ("diskspd.exe \u2013c50G \u2013d60 \u2013r \u2013o8 \u2013b8K \u201cC:\\my test.dat\u201d"),
            "bs_bytes",
            8192,
        ),
        ("fio", "fio \u2014name=a \u2014rw=randread \u2014bs=4k\u00a0\u2014size=1g \u2014iodepth=4", "iodepth", 4),
        ("iozone", "iozone \u2013s 1g \u2013r 64k \u2013i 0", "size_bytes", GIB),
    ],
)
def test_dashes_and_quotes_of_a_page(tool, command, option, value):
    assert jobs(tool, command)[0][option] == value


@pytest.mark.parametrize(
    ("options", "timed", "runtime", "loops"),
    [
        ("-runtime 15 -numreqs 7 -passes 3", False, 15, 3),
        ("-runtime 10 -timelimit 15 -bytes 7168", False, 10, None),
        ("-runtime 15", True, 15, None),
    ],
)
def test_xdd_runtime_beside_an_amount_of_work_is_a_cap(options, timed, runtime, loops):
    (job,) = jobs("xdd", f"xdd -op write -target t -reqsize 7 {options}")
    assert (bool(job.get("time_based")), job["runtime_seconds"], job.get("loops")) == (timed, runtime, loops)


def test_xdd_short_names_of_options_without_counterpart():
    translation = translate("xdd", "xdd -op read -target t -numreqs 8 -xni tcp -ver -war")
    assert {e.attribute for e in translation.fidelity if e.level == "not expressible"} == {"-xni", "-writeafterread"}


@pytest.mark.parametrize(
    ("matrix", "unused"),
    [("col", {"-num_large"}), ("row", {"-num_small"}), ("basic", {"-num_small", "-num_large"}), ("max", set())],
)
def test_orion_load_that_the_matrix_varies_is_named(matrix, unused):
    translation = translate(
        "orion", f"orion -run advanced -testname t -num_disks 1 -matrix {matrix} -num_small 2 -num_large 1"
    )
    assert {e.attribute for e in translation.fidelity if e.attribute.startswith("-num_")} == unused


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(("size", "record"), [(4 << 30, 1 << 20), (3 << 20, 28 << 10), (4 << 10, 4 << 10)])
def test_a_round_is_its_translation(size, record, direct):
    command = " ".join(["iozone", *iozone_arguments(size, [record], direct=direct)])
    assert translate("iozone", command).workloads == iozone_round(size, record, direct=direct)
