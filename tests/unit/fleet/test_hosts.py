# SPDX-License-Identifier: Apache-2.0
"""What names a fleet, private directories on hosts, and hosts' clocks against ours."""

import subprocess
import sys
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.load.fleet.client import Exchange, PrivateDirectory, offset_of, sweep
from ioatlas.load.fleet.hosts import Host, read_clients
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
