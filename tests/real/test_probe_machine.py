# SPDX-License-Identifier: Apache-2.0
"""The prober on this very machine: local places, devices made for the test, links of the lab."""

import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

import ioatlas_lab as lab
from ioatlas.load.machine.host import testbed
from ioatlas.model.errors import UsageError
from tests.real.conftest import needs
from tests.real.target_lab import Bench

pytestmark = [pytest.mark.usefixtures("own_lab"), pytest.mark.unmeasured]


def test_a_local_directory(tmp_path):
    spent = sum(os.times()[:4])
    bed = testbed(str(tmp_path))
    assert sum(os.times()[:4]) - spent < 2  # of the processor: a busy machine takes no more of it
    assert 0 < bed.seconds < 60
    assert bed.value("cpu.threads") == os.cpu_count()
    assert bed.value("host.kernel") == os.uname().release
    assert bed.get("host.name").private
    assert bed.value("target.kind") == "directory"
    stated = subprocess.run(
        ["stat", "-f", "-c", "%b %S", str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert bed.value("fs.size_bytes") == int(stated[0]) * int(stated[1])
    assert all(fact.source for fact in bed.facts)
    assert {fact.kind for fact in bed.facts} <= {"known", "unknown", "absent", "doubtful", "typed in"}
    assert all(fact.note for fact in bed.facts if fact.kind in ("absent", "doubtful"))
    assert not any(fact.value is None for fact in bed.facts if fact.kind == "known")


def test_a_file_with_holes_is_noticed(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as out:
        out.truncate(1 << 20)
    bed = testbed(str(path))
    assert bed.value("target.size_bytes") == 1 << 20
    assert bed.value("target.allocated_bytes") == 0
    assert bed.value("target.holes") is True


def test_typed_in_facts_win_and_say_what_they_replaced(tmp_path):
    facts = tmp_path / "testbed.toml"
    facts.write_text('[facts]\n"cpu.model" = "a better name"\n"nas.drives" = 5\n')
    bed = testbed(str(tmp_path), facts)
    assert (bed.value("cpu.model"), bed.get("cpu.model").kind) == ("a better name", "typed in")
    assert bed.value("nas.drives") == 5


def test_nothing_there():
    with pytest.raises(UsageError, match="No such file"):
        testbed("/nonexistent/place")


def test_memory_is_named_as_such():
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs at /dev/shm")
    assert testbed("/dev/shm").value("protocol.name") == "memory"


@pytest.mark.needs("root")
def test_a_loop_device_leads_down_to_what_it_lies_on():
    needs("drive")
    with lab.start("drive") as target:
        bed = testbed(target.location)
        name = target.location.removeprefix("/dev/")
        assert (
            bed.value(f"device.{name}.size_bytes") == target.path.stat().st_size
            or bed.value(f"device.{name}.size_bytes") == 256 << 20
        )
        assert str(bed.value("device.stack")).startswith(name)
        assert bed.get(f"device.{name}.backing_file").private
        assert bed.get(f"device.{name}.rotational").kind == "doubtful"


@pytest.mark.needs("root")
def test_the_members_of_a_btrfs(tmp_path):
    if shutil.which("mkfs.btrfs") is None:
        pytest.skip("needs btrfs-progs")
    bench, loops = Bench(tmp_path), []
    point = tmp_path / "m"
    point.mkdir()
    try:
        loops += [bench.loop(bench.image(256 << 20)) for _ in range(2)]
        subprocess.run(["mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", *loops], check=True)
        subprocess.run(["mount", loops[0], str(point)], check=True)
        bed = testbed(str(point))
    finally:
        subprocess.run(["umount", str(point)], check=False, capture_output=True)
        bench.clear()
    assert bed.value("fs.type") == "btrfs"
    assert set(str(bed.value("array.members")).split()) == {loop.removeprefix("/dev/") for loop in loops}
    assert bed.value("array.level") == "raid1"


@pytest.mark.needs("root")
@pytest.mark.parametrize(("name", "mtu"), [("link-1g", 1500), ("link-100m-jumbo", 9000)])
def test_the_interface_that_leads_to_a_server(name, mtu):
    needs(name)
    with lab.start(name) as target:
        bed = testbed(target.location)
        assert bed.value("nic.mtu") == mtu
        assert bed.value("nic.shaped_rate") == target.value("rate_bits_per_s")
        # A veth pair says 10 Gb/s whatever limits it: nobody may rely on that.
        assert bed.get("nic.speed").kind == "doubtful"
        assert bed.number("nic.speed") is None
        assert bed.value("route.local") is False


def test_a_user_without_rights_gets_less_but_no_error(tmp_path):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root to become somebody else")
    place = tmp_path
    for folder in [place, *place.parents]:
        if not os.access(folder, os.X_OK) or not folder.stat().st_mode & 0o001:
            place = None
            break
    place = place or "/tmp"
    code = "import json, sys; from ioatlas.load.machine.host import testbed; bed = testbed(sys.argv[1]); "
    code += "print(json.dumps([fact.kind for fact in bed.facts]))"
    run = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code, str(place)]
    done = subprocess.run(run, capture_output=True, text=True, cwd="/", check=False)
    if ("Permission denied" in done.stderr and "python" in done.stderr) or "No module named 'ioatlas'" in done.stderr:
        pytest.skip("this Python or this checkout cannot be read by another user")
    assert done.returncode == 0, done.stderr[-500:]
    assert "known" in json.loads(done.stdout)


def test_the_command_is_fast_and_speaks_json(tmp_path):
    run = [sys.executable, "-c", "from ioatlas.cli import main; main()", "probe", str(tmp_path), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4  # whatever else the machine does
    data = json.loads(done.stdout)
    assert {"name", "value", "kind", "source"} <= data["facts"][0].keys()
    assert data["raw"]
    shared = json.loads(subprocess.run([*run, "--share"], capture_output=True, text=True, check=True).stdout)
    assert os.uname().nodename not in json.dumps([fact for fact in shared["facts"] if fact["name"] == "host.name"])
    assert not shared["raw"]
