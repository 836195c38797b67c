# SPDX-License-Identifier: Apache-2.0
"""Translated workloads run under real fio, and what fio did is compared with what the source describes."""

import itertools
import json
import math
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.real.pauses import Pauses

from ioatlas.load.fio.jobfile import JobSection
from ioatlas_translate import translate
from ioatlas_translate.translation import Job, Translation

pytestmark = pytest.mark.needs("fio")
MIB = 1 << 20
SAMPLES = Path(os.environ.get("IOATLAS_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))


def scaled(translation: Translation, *, size: int = 8 * MIB, seconds: int = 1) -> Translation:
    """The same workload on a small target for a short time: sizes and times change, nothing else does."""
    jobs = []
    for job in translation.jobs:
        options = dict(job.section.options)
        options.pop("ramp_time", None)
        # Memory file systems of some machines take no direct I/O; addresses and mixes do not depend on it.
        options["direct"] = 0
        if options.get("ioengine") in ("io_uring", "libaio"):
            options["ioengine"] = "libaio"
        if int(options.get("size") or size + 1) > size:
            options["size"] = size
        if int(options.get("io_size") or 0) > size:
            options["io_size"] = size
        if "time_based" in options:
            options["runtime"] = seconds
        jobs.append(Job(JobSection(job.section.name, options), job.origin, job.waits, job.operation))
    return replace(translation, jobs=tuple(jobs))


def run(
    translation: Translation, folder: Path, *, log: bool = True
) -> tuple[list[dict], list[list[tuple[str, int, int]]]]:
    """Fio's results of each job, and the (operation, offset, length) it issued."""
    jobs = []
    for number, job in enumerate(translation.jobs):
        options = dict(job.section.options)
        if log:
            (folder / f"log{number}").unlink(missing_ok=True)  # fio appends
            options |= {"write_iolog": str(folder / f"log{number}"), "numjobs": 1}
        jobs.append(Job(JobSection(job.section.name, options), job.origin, job.waits, job.operation))
    path = folder / "job.fio"
    path.write_text(replace(translation, jobs=tuple(jobs)).job_file)
    done = subprocess.run(
        ["fio", "--output-format=json", str(path)], capture_output=True, text=True, cwd=folder, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    logs = []
    for number in range(len(jobs) if log else 0):
        lines = (line.split() for line in (folder / f"log{number}").read_text().splitlines())
        logs.append([(w[2], int(w[3]), int(w[4])) for w in lines if len(w) == 5 and w[2] in ("read", "write")])
    return found, logs


def within(count: int, n: int, share: float, sigmas: float = 4.5) -> bool:
    """Whether a binomial count is as its share says; a probability of 1 in 150,000 to fail by chance."""
    return abs(count - n * share) <= sigmas * math.sqrt(max(n * share * (1 - share), 1e-9)) + 1


MIXES = [
    ("diskspd", "diskspd -c1G -b4K -t1 -o4 -r -w33 -d60 x"),
    ("xdd", "xdd -op read -target x -rwratio 25 -reqsize 4 -numreqs 4000 -seek random -seek range 8192"),
    ("orion", "orion -run advanced -matrix point -num_small 4 -num_large 0 -write 20 -num_disks 1"),
    ("vdbench", "sd=s,lun=x,size=8m\nwd=w,sd=s,rdpct=67,xfersize=4k\nrd=r,wd=w,iorate=max,elapsed=30,warmup=5"),
    ("fio", "fio --name=a --rw=randrw --rwmixread=90 --bs=4k --size=8m --time_based --runtime=30 --norandommap"),
]


@pytest.mark.unmeasured
@pytest.mark.parametrize(("tool", "command"), MIXES, ids=[tool for tool, _ in MIXES])
def test_read_share(tool, command, tmp_path):
    translation = translate(tool, command)
    log = []
    for seconds in (1, 4, 16):  # a disk that stands still under others' writes has few in a second
        if len(log) <= 500:
            (place := tmp_path / f"{seconds}").mkdir()
            _, (log,) = run(scaled(translation, seconds=seconds), place)
    reads = sum(op == "read" for op, _, _ in log)
    assert len(log) > 500
    assert within(reads, len(log), int(translation.jobs[0].section.options["rwmixread"]) / 100)


@pytest.mark.unmeasured
def test_size_mix(tmp_path):
    text = (
        "sd=s,lun=x,size=8m\nwd=w,sd=s,rdpct=100,xfersize=(4k,40,8k,35,64k,25)\n"
        "rd=r,wd=w,iorate=max,elapsed=30,warmup=5"
    )
    translation = translate("vdbench", text)
    _, (log,) = run(scaled(translation), tmp_path)
    for size, share in ((4096, 0.4), (8192, 0.35), (65536, 0.25)):
        assert within(sum(length == size for _, _, length in log), len(log), share)


@pytest.mark.unmeasured
def test_random_share_of_partly_random_load(tmp_path):
    translation = translate("diskspd", "diskspd -c1G -b4K -o1 -rs30 x")
    assert translation.is_exact
    _, (log,) = run(scaled(translation), tmp_path)
    jumps = sum(b[1] != a[1] + a[2] for a, b in itertools.pairwise(log))
    # A random draw continues the sequence by chance once in 2,048 blocks; the end of the file is a jump of the
    # sequential part.
    blocks = 8 * MIB // 4096
    wraps = sum(a[1] + a[2] >= 8 * MIB for a in log)
    assert within(jumps - wraps, len(log), 0.3 * (1 - 1 / blocks), sigmas=6)


@pytest.mark.unmeasured
def test_zones_of_a_distribution(tmp_path):
    translation = translate("diskspd", "diskspd -c8M -b4K -o1 -rdpct60/10:0/10:30/20 x")
    assert translation.is_exact
    _, (log,) = run(scaled(translation), tmp_path)
    n, blocks = len(log), 8 * MIB // 4096
    edges = [0, 0.1, 0.2, 0.4, 1.0]
    counts = [sum(lo * 8 * MIB <= off < hi * 8 * MIB for _, off, _ in log) for lo, hi in itertools.pairwise(edges)]
    # fio cuts zones at whole blocks: a zone may give or take one block's share.
    for count, share, width in zip(counts, (0.6, 0.0, 0.3, 0.1), (0.1, 0.1, 0.2, 0.6), strict=True):
        slack = n * max(share, 0.6) / (width * blocks) * 2
        assert abs(count - n * share) <= 4.5 * math.sqrt(n * share * (1 - share)) + slack + 1


@pytest.mark.unmeasured
def test_uniform_offsets_are_independent_and_aligned(tmp_path):
    translation = translate("diskspd", "diskspd -c8M -b4K -r16K -o1 x")
    _, (log,) = run(scaled(translation), tmp_path)
    offsets = [off for _, off, _ in log]
    assert all(off % 16384 == 0 for off in offsets)
    cells = 8 * MIB // 16384
    counts = [0] * cells
    for off in offsets:
        counts[off // 16384] += 1
    expected = len(offsets) / cells
    chi_square = sum((c - expected) ** 2 / expected for c in counts)
    assert abs(chi_square - (cells - 1)) < 6 * math.sqrt(2 * (cells - 1))


@pytest.mark.unmeasured
def test_shares_of_streams_without_a_rate(tmp_path):
    text = (
        "sd=s,lun=x,size=8m,threads=4\nwd=a,sd=s,skew=60\nwd=b,sd=s,skew=30\nwd=c,sd=s,skew=10\n"
        "rd=r,wd=*,iorate=max,elapsed=30,warmup=5"
    )
    found, _ = run(scaled(translate("vdbench", text), seconds=2), tmp_path, log=False)
    totals = [job["read"]["total_ios"] for job in found]
    for total, share in zip(totals, (0.6, 0.3, 0.1), strict=True):
        # The last I/Os in flight weigh more the fewer there are.
        assert total / sum(totals) == pytest.approx(share, rel=0.03, abs=0.03 * share + 16 / sum(totals))


@pytest.mark.unmeasured
@pytest.mark.parametrize(("gaps", "extra"), [("poisson", ""), ("constant", ",distribution=deterministic")])
def test_offered_rate(gaps, extra, tmp_path):
    text = f"sd=s,lun=x,size=8m,threads=8\nwd=w,sd=s,rdpct=70\nrd=r,wd=w,iorate=500,elapsed=30,warmup=5{extra}"
    translation = translate("vdbench", text)
    options = translation.jobs[0].section.options
    assert options["rate_iops"] == "350,150"
    assert (options.get("rate_process") == "poisson") == (gaps == "poisson")
    with Pauses() as pauses:
        found, _ = run(scaled(translation, seconds=2), tmp_path, log=False)
    total = found[0]["read"]["total_ios"] + found[0]["write"]["total_ios"]
    # A Poisson count of 1,000 has a standard deviation of 32. fio's start adds up to a tenth of a second, and what was
    # due in a pause at the end is not done.
    assert abs(total - 1000) < 5 * math.sqrt(1000) + 60 + 2 * 500 * pauses.seconds


@pytest.mark.unmeasured
def test_throughput_limit(tmp_path):
    translation = translate("diskspd", "diskspd -c8M -b64K -o1 -g4000 -d60 x")
    assert translation.is_exact
    with Pauses() as pauses:
        found, _ = run(scaled(translation, seconds=2), tmp_path, log=False)
    assert found[0]["read"]["io_bytes"] / 2 == pytest.approx(4_000_000, rel=0.06 + 2 * pauses.share)


@pytest.mark.unmeasured
def test_iozone_operations_move_the_work_they_name(tmp_path):
    translation = translate("iozone", "iozone -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -e -s 4m -r 64k -w")
    found, logs = run(scaled(translation), tmp_path)
    blocks = 64
    by_name = {job.operation: log for job, log in zip(translation.jobs, logs, strict=True)}
    for name, log in by_name.items():
        assert len(log) == blocks, name
        assert {length for _, _, length in log} == {65536}
        assert {op for op, _, _ in log} == {"write" if "write" in name else "read"}
    for name in ("write", "rewrite", "read", "reread"):
        assert [off for _, off, _ in by_name[name]] == [k * 65536 for k in range(blocks)]
    for name in ("random read", "random write"):
        assert sorted(off for _, off, _ in by_name[name]) == [k * 65536 for k in range(blocks)]
        assert [off for _, off, _ in by_name[name]] != [k * 65536 for k in range(blocks)]
    assert {off for _, off, _ in by_name["record rewrite"]} == {0}
    backward = [off // 65536 for _, off, _ in by_name["backward read"]]
    assert backward[0] == 0  # the one I/O the fidelity report names
    assert backward[1:63] == list(range(62, 0, -1))
    strided = [off // 65536 for _, off, _ in by_name["strided read"]]
    assert strided[:4] == [0, 17, 34, 51]
    written = (tmp_path / "ioatlas-target-1").read_bytes()
    assert len(written) == 4 * MIB
    assert set(pages(written)) == {(b"_" * 8 + bytes(56)) * 64}, "the same few bytes in every page, never altered"
    assert all(job["error"] == 0 for job in found)


@pytest.mark.unmeasured
@pytest.mark.needs("iozone")
def test_what_iozone_writes_is_what_the_translation_says(tmp_path):
    command = ["iozone", "-i", "0", "-i", "2", "-e", "-s", "1m", "-r", "64k", "-w", "-f", str(tmp_path / "iozone.dat")]
    subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    (page,) = set(pages((tmp_path / "iozone.dat").read_bytes()))
    assert len(set(page[:8])) == 1
    assert page[0] != 0
    assert page[8:] == bytes(4088)


def pages(data):
    return (data[at : at + 4096] for at in range(0, len(data), 4096))


@pytest.mark.unmeasured
def test_interlocked_threads_cover_the_file_once(tmp_path):
    translation = translate("diskspd", "diskspd -c8M -b64K -t4 -o1 -si -d60 x")
    options = dict(translation.jobs[0].section.options)
    assert options["offset_increment"] == 65536
    for name in ("time_based", "runtime", "ramp_time", "offset_increment"):
        options.pop(name)
    offsets = []
    for k in range(4):
        one = {**options, "numjobs": 1, "offset": k * 65536, "size": 8 * MIB - 3 * 65536, "direct": 0}
        _, (log,) = run(replace(translation, jobs=(Job(JobSection("a", one)),)), tmp_path)
        offsets += [off // 65536 for _, off, _ in log]
    assert sorted(offsets) == list(range(128))


@pytest.mark.unmeasured
def test_vdbench_files(tmp_path):
    text = (
        "fsd=f,anchor=/d,depth=1,width=2,files=5,size=64k\n"
        "fwd=w,fsd=f,rdpct=80,xfersize=4k,fileio=random,fileselect=random,threads=2\n"
        "rd=r,fwd=w,fwdrate=max,format=yes,elapsed=10,warmup=2"
    )
    found, _ = run(scaled(translate("vdbench", text)), tmp_path, log=False)
    reads, writes = found[0]["read"]["total_ios"], found[0]["write"]["total_ios"]
    assert within(reads, reads + writes, 0.8, sigmas=6)
    files = list(tmp_path.glob("ioatlas-target-1.*"))
    assert len(files) == 10
    assert {file.stat().st_size for file in files} == {65536}


@pytest.mark.unmeasured
@pytest.mark.skipif(not SAMPLES.exists(), reason="needs other tools' results: IOATLAS_SAMPLES names their folder")
def test_every_example_of_fio_parses_and_what_is_written_is_accepted(tmp_path):
    """`pytest -s` prints how many translate exactly."""
    files = sorted((SAMPLES / "fio" / "axboe-examples").glob("*.fio"))
    exact = whole = 0
    paths = []
    for number, file in enumerate(files):
        translation = translate("fio", str(file))
        whole += len(translation.jobs)
        exact += translation.is_exact
        if translation.jobs:
            path = tmp_path / f"{number}.fio"
            path.write_text(translation.job_file)
            paths.append(str(path))
    for start in range(0, len(paths), 10):
        done = subprocess.run(
            ["fio", "--parse-only", *paths[start : start + 10]], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    print(f"{len(files)} files, {whole} jobs, {exact} files exact")
    assert len(files) > 100
    for file in (SAMPLES / "fio" / "jobs").iterdir():
        if file.suffix != ".json":
            assert translate("fio", str(file)).fidelity
