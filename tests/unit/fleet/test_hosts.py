# SPDX-License-Identifier: Apache-2.0
"""What names a fleet, what each client works on, private directories on hosts, and hosts' clocks against ours."""

import subprocess
import sys
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.load.fio.executor import Spread
from ioatlas.load.fio.held import moved_job
from ioatlas.load.fleet.client import Exchange, PrivateDirectory, offset_of, sweep
from ioatlas.load.fleet.hosts import Host, read_clients
from ioatlas.load.fleet.sharing import file_of, job_of, participants, rate_of, span_seconds
from ioatlas.model.errors import UsageError

FILE = """
[defaults]
identity = "/keys/bench"

[[host]]
ssh = "bench@c1.example"

[[host]]
name = "win"
fio_server = "10.0.0.9"
os = "windows"
path = 'D:\\data'
"""


def test_typed_hosts_are_reached_by_ssh_and_named_without_their_user():
    fleet = read_clients("c1, root@10.0.0.2,fio://10.0.0.3:9000")
    assert fleet.hosts == (
        Host("c1", "ssh", "c1"),
        Host("10.0.0.2", "ssh", "root@10.0.0.2"),
        Host("10.0.0.3", "fio", "10.0.0.3", 9000),
    )


def test_local_clients_and_namespaces():
    assert read_clients("local:3").names == ("local1", "local2", "local3")
    assert read_clients("netns:a,b").hosts[1] == Host("b", "netns", "b")


def test_a_file_gives_each_host_its_words_and_the_defaults(tmp_path):
    (tmp_path / "hosts.toml").write_text(FILE)
    fleet = read_clients("hosts.toml", folder=tmp_path)
    assert fleet.hosts[0] == Host("c1.example", "ssh", "bench@c1.example", identity="/keys/bench")
    assert fleet.hosts[1].port == 8765
    assert fleet.hosts[1].os == "windows"
    assert fleet.hosts[1].path == "D:\\data"
    assert fleet.source == "hosts.toml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no client"),
        ("local:x", "no number"),
        ("local:0", "no number"),
        ("a,,b", "empty name"),
        ("a,a", "two hosts"),
        ("a,root@a", "two hosts"),
        ("fio://1.2.3.4:99999", "no address"),
        ("-oProxyCommand=x", "no host"),
        ("netns:a/b", "no network namespace"),
        ("missing.toml", "cannot be read"),
    ],
)
def test_what_names_no_fleet_is_told(text, said, tmp_path):
    with pytest.raises(UsageError) as raised:
        read_clients(text, folder=tmp_path)
    assert said in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host = 1", "no [[host]]"),
        ("[[host]]\n", "does not say how"),
        ("[[hosts]]\nssh='a'", "key 'hosts'"),
        ("[[host]]\nssh='a'\nnetns='b'", "both"),
        ("[[host]]\nssh='a'\ncolour='red'", "'colour'"),
        ("[[host]]\nssh='a'\nport='22'", "no port"),
        ("[[host]]\nssh='a'\nos='beos'", "not a known system"),
        ("[[host]]\nssh=3", "plain text"),
        ("[[host]]\nssh='a'\noptions='x'", "no list"),
        ("[defaults]\nssh='a'\n[[host]]", "same for all"),
        ("[[host]]\nssh='a'\n[[host]]\nssh='b'\nname='a'", "two hosts"),
        ("x = [", "not TOML"),
    ],
)
def test_a_wrong_file_says_where_and_what(text, said, tmp_path):
    (tmp_path / "h.toml").write_text(text)
    with pytest.raises(UsageError) as raised:
        read_clients("h.toml", folder=tmp_path)
    assert said in str(raised.value)
    assert "h.toml" in raised.value.where


@pytest.mark.parametrize(
    ("typed", "destination", "port"),
    [
        ("root@10.0.0.5:2222", "root@10.0.0.5", 2222),
        ("c1:22", "c1", 22),
        ("[fe80::1]:2222", "fe80::1", 2222),
        ("root@[::1]", "root@::1", 0),
        ("root@::1", "root@::1", 0),
        ("ssh://root@c1:22", "ssh://root@c1:22", 0),
    ],
)
def test_a_port_behind_a_host_is_one_for_ssh(typed, destination, port):
    (host,) = read_clients(typed).hosts
    assert (host.destination, host.port) == (destination, port)


def test_a_host_is_no_two_clients_by_two_names(tmp_path):
    file = tmp_path / "hosts.toml"
    file.write_text('[[host]]\nname = "x"\nssh = "root@c1"\n[[host]]\nname = "y"\nssh = "root@c1"\n')
    with pytest.raises(UsageError, match="two hosts have the address 'root@c1'"):
        read_clients(str(file))
    file.write_text('[[host]]\nname = "x"\nssh = "c1:22"\n[[host]]\nname = "y"\nssh = "c1:2222"\n')
    assert read_clients(str(file)).names == ("x", "y")
    with pytest.raises(UsageError, match="99999 is no port"):
        read_clients("c1:99999")


KILLED = (
    "import os; from ioatlas.load.fleet.client import PrivateDirectory as P; "
    "print(P().path, flush=True); os.kill({}, 9)"
)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_session_left_is_swept_and_no_other(temporary):
    mine = PrivateDirectory()
    assert mine.path.stat().st_mode & 0o77 == 0
    (temporary / "ioatlas-fleet-other").mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = temporary / done.stdout.strip()
    assert left.is_dir()
    assert sweep() == [left]
    assert not left.exists()
    assert mine.path.is_dir()
    mine.close()
    mine.close()
    assert [one.name for one in temporary.iterdir()] == ["ioatlas-fleet-other"], "nothing says that its owner is dead"


def test_what_a_link_names_is_not_swept(temporary, tmp_path_factory):
    there = tmp_path_factory.mktemp("there")
    (there / "held").touch()
    (temporary / "ioatlas-fleet-link").symlink_to(there)
    assert sweep() == []
    assert (there / "held").exists()


SECONDS = st.floats(0, 2)


@given(st.floats(-1000, 1000), st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=8))
def test_the_truth_lies_within_the_error(offset, legs):
    """However long there and back take, and however unequal."""
    told = offset_of(Exchange(100.0, 100.0 + there + offset, 100.0 + there + back) for there, back in legs)
    assert abs(told.offset_ms - offset * 1000) <= told.error_ms + 1e-6
    assert told.error_ms == pytest.approx(min(there + back for there, back in legs) * 500, abs=1e-6)


def test_a_coarse_reading_counts_for_less():
    fine, coarse = Exchange(0, 5.010, 0.020), Exchange(1, 6.0, 1.001, resolution_seconds=0.5)
    assert offset_of([coarse, fine]).offset_ms == pytest.approx(5000)


def test_without_an_answer_there_is_none():
    assert offset_of([]) is None


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
