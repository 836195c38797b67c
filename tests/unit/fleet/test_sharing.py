# SPDX-License-Identifier: Apache-2.0
"""What each client works on, and who takes part."""

import pytest

from ioatlas.load.fio.executor import Spread
from ioatlas.load.fio.held import moved_job
from ioatlas.load.fleet.sharing import file_of, job_of, participants, rate_of, span_seconds

TEXT = """[global]
thread=1

[v1]
ioengine=libaio
filename=/mnt/nas/.ioatlas/shared.dat
rw=randread
offset=1048576
runtime=2000ms
randseed=7

[v2]
directory=/mnt/nas/.ioatlas
filename_format=private.$jobnum
rw=randwrite
startdelay=2100ms
runtime=500ms
randseed=9
"""


def spreads(*names, **how):
    """Sections in which it takes part as the first of two."""
    return {Spread((name,), 7, 2, **how): (0, 2) for name in names or ("v1", "v2")}


def test_a_rate_is_that_of_all_clients_together():
    assert [rate_of(1000, place, 3) for place in range(3)] == ["333", "333", "334"]
    assert [rate_of("90,10", place, 2) for place in range(2)] == ["45,5", "45,5"]
    assert rate_of("0,10", 0, 2) == "0,5"
    assert rate_of(1, 0, 2) == "1", "0 would be no limit at all"
    job = job_of(TEXT.replace("randseed=9", "rate_iops=100\nrandseed=9"), 1, spreads())
    assert "rate_iops=50\n" in job


def test_files_of_clients_do_not_meet():
    assert file_of("shared.dat", 0) == "shared.client1.dat"
    assert file_of("private.3", 1) == "private.client2.3"
    job = job_of(TEXT, 1, spreads(own_files=True))
    assert "filename=/mnt/nas/.ioatlas/shared.client2.dat" in job
    assert "filename_format=private.client2.$jobnum" in job
    assert job.count("unique_filename=0\n") == 1, "else a server of fio would call them otherwise"


def test_ranges_of_clients_lie_a_stride_apart():
    assert "offset=4194304\n" in job_of(TEXT, 3, spreads(stride_bytes=1 << 20))
    assert "offset=1048576\n" in job_of(TEXT, 3, spreads())


def test_the_first_client_keeps_the_seed_and_others_have_their_own():
    assert "randseed=7\n" in job_of(TEXT, 0, spreads())
    assert "randseed=7\n" not in job_of(TEXT, 1, spreads())


def test_a_path_may_begin_otherwise_on_a_client():
    several = TEXT.replace("shared.dat", "shared.dat:/mnt/nas/.ioatlas/more:/mnt/nasty/other")
    job = moved_job(several, {"/mnt/nas": "/Volumes/n:s", "/mnt": "/x"})
    assert r"filename=/Volumes/n\:s/.ioatlas/shared.dat:/Volumes/n\:s/.ioatlas/more:/x/nasty/other" in job
    assert r"directory=/Volumes/n\:s/.ioatlas" in job
    assert "/mnt/" not in job


def test_a_client_gets_the_sections_in_which_it_takes_part():
    job = job_of(TEXT, 0, spreads("v1"))
    assert "[v1]" in job
    assert "[v2]" not in job
    assert job.startswith("[global]\nthread=1\n\n[v1]")


def test_nothing_writes_where_only_reading_was_asked_for():
    with pytest.raises(ValueError, match="v2"):
        job_of(TEXT, 0, spreads(), readonly=True)
    assert "[v1]" in job_of(TEXT, 0, spreads("v1"), readonly=True)


def test_who_takes_part_follows_from_the_seed_alone():
    names = [f"c{n}" for n in range(6)]
    drawn = {participants(names, Spread(("v",), seed, 2)) for seed in range(200)}
    assert participants(names, Spread(("v",), 5, 2)) == participants(names, Spread(("v",), 5, 2))
    assert len(drawn) == 15, "every pair of six"
    assert participants(names, Spread(("v",), 1, 6)) == tuple(names)
    assert participants(names, Spread(("v",), 1, 9)) == tuple(names)


def test_a_batch_lasts_until_its_last_section_ends():
    assert span_seconds(TEXT) == pytest.approx(2.6)


def test_clients_of_several_jobs_wait_until_all_have_opened_their_targets():
    """Else the first ones load what the others still connect to."""
    text = TEXT.replace("runtime=", "startdelay=0ms\nruntime=", 1).replace("[v2]", "[v1-2]\nstartdelay=0ms\n\n[v2]")
    together = {Spread(("v1",), 7, 2): (0, 2), Spread(("v1-2",), 7, 2): (0, 2), Spread(("v2",), 9, 2): (0, 2)}
    told = [line for line in job_of(text, 0, together).splitlines() if line.startswith("startdelay")]
    assert told == ["startdelay=120ms", "startdelay=120ms", "startdelay=2220ms"], "all of them by as much"
    apart = {Spread(("v1",), 7, 2): (0, 2), Spread(("v2",), 9, 2): (0, 2)}
    alone = job_of(text.replace("[v1-2]\nstartdelay=0ms\n\n", ""), 0, apart)
    assert [line for line in alone.splitlines() if line.startswith("startdelay")] == [
        "startdelay=0ms",
        "startdelay=2100ms",
    ]
