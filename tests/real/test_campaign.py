# SPDX-License-Identifier: Apache-2.0
"""The main job with a real fio on a real disk: map, resume, stop, crash, fill the disk, lose the server.

What needs no real disk of this is in tests/unit/cli/test_map_simulated.py and tests/unit/procedures.
"""

import csv
import io
import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ioatlas.measure.campaign import default_directory, open_plan
from ioatlas.measure.procedures.options import read_campaign
from tests.real.conftest import disk_directory, ioatlas, rows, start
from tests.real.target_lab import wait_for

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]

SWEEP = """
visits = {visits}
order_seed = 3
window = "{window}"
[target]
{target}
[sweep]
rw = {rw}
bs = {bs}
size = "16m"
"""


def campaign(directory, target, *, rw=("read", "randwrite"), bs=("4k", "64k"), visits=2, window="200ms"):
    path = directory / "campaign.toml"
    path.write_text(SWEEP.format(target=target, rw=json.dumps(rw), bs=json.dumps(bs), visits=visits, window=window))
    return path


def running(journal):
    """Whether a batch of the sweep, after the probes, has its fio."""
    return (journal / "journal.sqlite").exists() and rows(
        journal,
        "select 1 from batch join visit using (batch_id) "
        "where batch.status='running' and batch.pid > 0 and visit.purpose='sweep'",
    )


def a_section_ended(journal):
    """Whether fio has written a log of the running batch: it does so at the end of each section."""
    return any(
        log.stat().st_size
        for (batch,) in rows(journal, "select batch_id from batch where status='running'")
        for log in (journal / "batches" / f"{batch:05d}").glob("*.log")
    )


def fio_below(pid):
    """Pids of fio processes that this process started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "fio"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished campaign beside a user's file and another campaign: (last event, its directory, the target)."""
    scratch = tmp_path_factory.mktemp("finished")
    with disk_directory() as target:
        (target / "precious").write_text("keep me")
        other = target / ".ioatlas-abc123"
        other.mkdir()
        (other / "shared.dat").write_bytes(b"x" * 100)
        file = campaign(scratch, f'path = "{target}"\nname = "nas"')
        process = start("map", "--campaign", file, "-o", scratch / "c", "--json")
        stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        yield json.loads(stdout.splitlines()[-1]), scratch / "c", target


def test_map_measures_reports_exports_and_leaves_nothing(finished):
    last, directory, target = finished
    assert last["event"] == "done"
    assert last["cells"] == 4
    # Two replicates of four cells; what another load on the machine spoils is tried again, and may be spoilt again.
    made = "select count(*) from visit where purpose = 'sweep' and status in ('done', 'discarded')"
    assert rows(directory, made)[0][0] >= 8
    counting = "select count(*) from visit where purpose != 'probe' and status = 'done'"
    assert last["visits"] == rows(directory, counting)[0][0] >= 4
    assert last["seconds"] > 2
    assert Path(last["directory"]) == directory
    assert sorted(p.name for p in target.iterdir()) == [".ioatlas-abc123", "precious"]
    assert (target / "precious").read_text() == "keep me"
    assert (target / ".ioatlas-abc123" / "shared.dat").read_bytes() == b"x" * 100, "another campaign's"

    html = (directory / "report.html").read_text()
    assert "http://" not in html.replace("http://www.w3.org", "")
    jobs = sorted((directory / "batches").glob("*/job.fio"))
    assert jobs
    assert all((job.parent / "fio.json").is_file() for job in jobs)

    table = ioatlas("export", directory, "--format", "csv")
    assert table.returncode == 0, table.stderr
    found = list(csv.DictReader(io.StringIO(table.stdout)))
    assert len(found) == 4
    for row in found:
        assert row["target"] == "nas"
        assert row["kind"] == "measured"
        assert int(row["n_visits"]) >= 1
        assert row["lat_kind"] == "total"
        assert float(row["bw_bytes_per_s"]) == pytest.approx(float(row["iops"]) * int(row["bs_bytes"]), rel=1e-6)
        assert float(row["bw_low"]) <= float(row["bw_bytes_per_s"]) <= float(row["bw_high"]) if row["bw_low"] else True


def test_the_figures_are_those_of_fios_own_output(finished):
    _, directory, _ = finished
    wanted = {}
    for raw in (directory / "batches").glob("*/fio.json"):
        for job in json.loads(raw.read_text())["jobs"]:
            if job["jobname"].startswith("v"):
                wanted[int(job["jobname"][1:])] = job
    parts = rows(
        directory,
        "select p.visit_id, p.direction, io_bytes, total_ios, p.runtime_ms, lat_mean_ns"
        " from part p join visit v using (visit_id)",
    )
    assert len(parts) >= 8
    assert {direction for _, direction, *_ in parts} == {"read", "write"}
    for visit_id, direction, io_bytes, total_ios, runtime_ms, lat_mean_ns in parts:
        figures = wanted[visit_id][direction]
        assert (io_bytes, total_ios, runtime_ms) == (figures["io_bytes"], figures["total_ios"], figures["runtime"])
        assert lat_mean_ns == figures["lat_ns"]["mean"]


def test_a_killed_campaign_goes_on_where_it_was(disk_dir, tmp_path):
    file = campaign(
        tmp_path, f'path = "{disk_dir}"', rw=["read"], visits=3, window="1s"
    )  # long enough to be met running
    process = start("map", "--campaign", file, "-o", tmp_path / "c")
    journal = tmp_path / "c"
    wait_for(lambda: running(journal))
    (fio,) = fio_below(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(
        lambda: not Path(f"/proc/{fio}").exists() or "Z" in Path(f"/proc/{fio}/stat").read_text().split(")")[1][:3]
    )
    done_before = set(rows(journal, "select visit_id from visit where status='done'"))
    assert any(disk_dir.iterdir()), "the crash left its files"

    resumed = ioatlas("resume", journal, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert done_before <= set(rows(journal, "select visit_id from visit where status='done'"))
    # A busy machine may spoil some of them; a replicate that moved as a whole is made again under another number.
    made = "status in ('done', 'discarded') and purpose='sweep'"
    per_cell = rows(journal, f"select count(distinct block) from visit where {made} group by cell_key")
    assert len(per_cell) == 2
    assert min(per_cell) >= (3,)
    assert list(disk_dir.iterdir()) == []


def test_a_stopped_campaign_cleans_keeps_and_tells_the_signal(disk_dir, tmp_path):
    """SIGINT; that the others end it as well is in tests/unit/cli/test_live.py."""
    file = campaign(tmp_path, f'path = "{disk_dir}"', bs=["64k"], visits=20)
    process = start("map", "--campaign", file, "-o", tmp_path / "c")
    journal = tmp_path / "c"
    wait_for(lambda: running(journal))
    wait_for(lambda: a_section_ended(journal))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGINT
    assert "ioatlas resume" in stderr
    assert list(disk_dir.iterdir()) == []
    # What a busy machine spoilt is kept too, as discarded.
    kept = "select count(*) from visit where status in ('done', 'discarded') and purpose='sweep'"
    assert rows(journal, kept)[0][0] >= 1, "finished sections are kept"


def test_plan_writes_nothing(disk_dir, tmp_path):
    plan = ioatlas("plan", disk_dir, "--campaign", ROOT / "examples/campaigns/seed2021.toml", "--json", cwd=tmp_path)
    assert plan.returncode == 0, plan.stderr
    summary = json.loads(plan.stdout)
    assert summary["cells"] == 1904
    assert summary["cells_not_admissible"] == 16
    assert summary["space_needed_bytes"] == 2 << 30
    assert summary["bytes_written"] > 2 << 30
    assert summary["seconds"] > 1904
    assert list(disk_dir.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["map"], "no target is named"),
        (["map", "/nonexistent/place"], "/nonexistent/place"),
        (["map", "{disk}", "--profile", "nope"], "no profile 'nope'"),
        (["map", "{disk}", "--budget", "-3s"], "not a duration"),
        (["resume", "{disk}"], "no journal"),
        (["show", "{disk}"], "no journal"),
        (["map", "{disk}", "-o", "{disk}/inside"], "inside"),
    ],
)
def test_wrong_requests_get_one_clear_message(disk_dir, arguments, words):
    process = ioatlas(*[a.replace("{disk}", str(disk_dir)) for a in arguments])
    assert process.returncode in (1, 2)
    assert words in process.stderr
    assert "Traceback" not in process.stderr
    assert list(disk_dir.iterdir()) == []


@pytest.fixture
def nbd(tmp_path):
    """A memory disk behind nbdkit; `kill` ends it."""
    if shutil.which("nbdkit") is None:
        pytest.skip("nbdkit is not installed")
    socket = tmp_path / "s.sock"

    class Server:
        uri = f"nbd+unix:///?socket={socket}"
        process = None

        def up(self, words=("memory", "64M")):
            socket.unlink(missing_ok=True)
            self.process = subprocess.Popen(["nbdkit", "-f", "-U", str(socket), *words])
            wait_for(socket.exists)

        def kill(self):
            self.process.kill()
            self.process.wait()

    server = Server()
    server.up()
    yield server
    server.kill()


def test_an_export_is_read_without_confirmation_and_written_only_with(nbd, tmp_path):
    reading = ioatlas(
        "map",
        "--campaign",
        campaign(tmp_path, f'uri = "{nbd.uri}"', rw=["read"], bs=["64k"], visits=1),
        "-o",
        tmp_path / "r",
        "--json",
    )
    assert reading.returncode == 0, reading.stderr
    assert "--readonly" not in reading.stderr
    assert not (tmp_path / "r" / "layout").exists()
    file = campaign(tmp_path, f'uri = "{nbd.uri}"', rw=["write"], bs=["64k"], visits=1)
    refused = ioatlas("map", "--campaign", file, "-o", tmp_path / "w")
    assert refused.returncode == 2
    assert f"{nbd.uri} {64 << 20}" in refused.stderr
    assert not (tmp_path / "w").exists()
    written = ioatlas("map", "--campaign", file, "-o", tmp_path / "w", "--overwrite", f"{nbd.uri} {64 << 20}")
    assert written.returncode == 0, written.stderr


@pytest.mark.unmeasured
def test_jobs_that_a_server_does_not_serve_at_a_time_are_left_out(nbd, tmp_path):
    nbd.kill()
    nbd.up(("--filter=noparallel", "memory", "64M", "serialize=connections"))
    file = campaign(tmp_path, f'uri = "{nbd.uri}"', rw=["read"], bs=["64k"])
    file.write_text(file.read_text().replace("[sweep]", "[sweep]\nnumjobs = [1, 4]"))
    told = ioatlas("map", "--campaign", file, "-o", tmp_path / "c", "--json")
    assert told.returncode == 0, told.stderr
    assert "use --numjobs 1 and a larger --iodepth" in told.stdout
    ((reason,),) = rows(tmp_path / "c", "select reason from cell where reason != ''")
    assert reason == "not admissible: the server takes 1 connection at a time"
    assert "may be faster" not in ioatlas("show", tmp_path / "c", "-v").stdout


@pytest.mark.long("run", "store")
def test_a_server_that_dies_costs_no_finished_visit(nbd, tmp_path):
    journal = tmp_path / "c"
    process = start(
        "map", "--campaign", campaign(tmp_path, f'uri = "{nbd.uri}"', rw=["read"], visits=40), "-o", journal
    )
    wait_for(
        lambda: running(journal) and rows(journal, "select 1 from visit where status='done' and purpose='sweep'"), 60
    )
    nbd.kill()
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 4, stderr
    assert "ioatlas resume" in stderr
    assert "Traceback" not in stderr
    before = rows(journal, "select count(*) from visit where status='done'")[0][0]
    again = ioatlas("resume", journal)
    assert again.returncode in (1, 4)
    assert "Traceback" not in again.stderr
    assert rows(journal, "select count(*) from visit where status='done'")[0][0] == before


@pytest.mark.needs("root")
def test_a_full_file_system_is_one_clear_message(tmp_path, disk_dir):
    image = disk_dir / "small.img"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mount = tmp_path / "mnt"
    mount.mkdir()
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    try:
        (mount / "fill").write_bytes(b"x" * (36 << 20))
        process = ioatlas("map", "--campaign", campaign(tmp_path, f'path = "{mount}"'), "-o", tmp_path / "c")
        assert process.returncode in (1, 2)
        assert "free" in process.stderr
        assert "Traceback" not in process.stderr
        assert sorted(p.name for p in mount.iterdir()) == ["fill", "lost+found"]
    finally:
        subprocess.run(["umount", mount], check=True)


def test_inside_the_target_a_campaign_is_made_in_the_home_directory(disk_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    plan = open_plan(
        read_campaign(SWEEP.format(target=f'path = "{disk_dir}"', rw='["read"]', bs='["4k"]', visits=1, window="1s"))
    )
    for where, made_in in ((disk_dir, tmp_path), (disk_dir.parent, Path())):
        monkeypatch.chdir(where)
        assert default_directory(plan).parent == made_in
