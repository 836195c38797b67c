# SPDX-License-Identifier: Apache-2.0
"""A campaign's directory from somebody else: `resume` with real fio runs nothing and changes nothing until its target
was typed, and then nothing but what was shown.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from ioatlas.load.fio.process import start_time_ticks
from ioatlas.measure import campaign
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.cell import Cell
from tests.real.conftest import ioatlas
from tests.unit.foreign import Fuzzer

pytestmark = pytest.mark.unmeasured

CAMPAIGN = """
visits = 1
window = "100ms"
[target]
path = "{target}"
[sweep]
rw = ["randread"]
bs = ["4k"]
size = "1m"
direct = 0
ioengine = "psync"
"""
TRACE = "fio version 3 iolog\n" + "".join(f"{n * 2} d read {n * 4096} 4096\n" for n in range(20))


class Place:
    """A campaign that was begun here, a folder of other files, and the state of the user."""

    def __init__(self, root: Path, more: str = "") -> None:
        self.root, self.target, self.directory = root, root / "target", root / "campaign"
        self.outside = root / "outside"
        for folder in (self.target, self.outside):
            folder.mkdir()
        (self.outside / "victim").write_text("kept")
        for name in ("a_bw.log", "b_lat.log"):
            (self.outside / name).write_text("1, 2, 0, 4096, 0\n")
        self.state = root / "state"
        text = CAMPAIGN.format(target=self.target)
        text = more.format(target=self.target, root=root) if more else text
        campaign.start(campaign.open_plan(read_campaign(text)), self.directory).close()
        self.before = self.seen()

    def seen(self):
        return {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else None
            for folder in (self.outside, self.target)
            for path in sorted(folder.rglob("*"))
        }

    def sql(self, *statements):
        link = sqlite3.connect(self.directory / "journal.sqlite", isolation_level=None)
        try:
            return [link.execute(*one if isinstance(one, tuple) else (one,)).fetchall() for one in statements]
        finally:
            link.close()

    def with_option(self, name, value):
        """The cells with one more option, and keys and visits as if they had been planned so."""
        ((rows),) = [self.sql("select cell_key, target, options_json, sharing, state from cell")[0]]
        for key, target, options, sharing, state in rows:
            changed = {**dict(json.loads(options)), name: value}
            cell = Cell.of(target, changed, sharing=sharing, state=state)
            self.sql(
                "pragma foreign_keys=off",
                (
                    "update cell set cell_key = ?, options_json = ? where cell_key = ?",
                    (cell.key, json.dumps(cell.options), key),
                ),
                ("update visit set cell_key = ? where cell_key = ?", (cell.key, key)),
            )

    def resume(self, *arguments, state=None):
        with mock.patch.dict(os.environ, {"XDG_STATE_HOME": str(state or self.state)}):
            return ioatlas("resume", self.directory, *arguments, cwd=self.root)

    def batches(self):
        return sorted(path.name for path in (self.directory / "batches").glob("*"))

    def check_untouched(self, done, code=(1, 2)):
        assert done.returncode in code, done.stderr
        assert done.stderr.count("ioatlas: ") == 1
        assert "what to do: " in done.stderr
        assert "Traceback" not in done.stderr
        assert self.seen() == self.before


@pytest.fixture
def place(disk_dir, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(disk_dir / "state"))
    return Place(disk_dir)


def cells(name, value):
    return lambda place: place.with_option(name, value)


def target(column, value):
    return lambda place: place.sql(
        "pragma foreign_keys=off",
        (f"update target set {column} = ?", (value,)),
        *([("update cell set target = ?", (value,))] if column == "name" else []),
    )


def running_batch(place):
    place.sql(
        (
            "insert into batch (batch_id, directory, status, started_at, note) values (1, ?, 'running', 0, '')",
            (str(place.outside),),
        )
    )


def linked(name, to="outside"):
    def change(place):
        path = place.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(place.root / to)

    return change


def plan(change):
    def edit(place):
        (((text,),),) = place.sql("select plan_json from campaign")
        record = json.loads(text)
        change(record)
        place.sql(("update campaign set plan_json = ?", (json.dumps(record),)))

    return edit


ATTACKS = {
    "a command as an option": cells("exec_prerun", "touch outside/ran"),
    "a file as an option": cells("filename", "outside/victim"),
    "a library as an engine": cells("ioengine", "external:outside/x.so"),
    "a log as an option": cells("write_iolog", "outside/log"),
    "a library as the target's engine": target("ioengine", "external:outside/x.so"),
    "a target that leads out": target("name", "../../../outside/x"),
    "a folder as a batch's": running_batch,
    "linked batches": linked("batches"),
    "linked lay-out": linked("layout"),
    "a linked batch": linked("batches/00001"),
    "a linked job file": linked("layout/target/lay-out/job.fio", "outside/victim"),
    "a linked output": linked("batches/00001/fio.json", "outside/victim"),
    "a linked report": linked("report.html", "outside/victim"),
    "a linked facts file": linked("testbed.toml", "outside/victim"),
    "a hard link": lambda place: (place.directory / "report.html").hardlink_to(place.outside / "victim"),
    "a pipe": lambda place: os.mkfifo(place.directory / "testbed.toml"),
    "a trigger": lambda place: place.sql("create trigger t after update on visit begin delete from remark; end"),
    "an option in the plan": plan(lambda record: record["spec"]["constants"].update(exec_prerun="touch outside/ran")),
    "files that lead out": plan(lambda record: record["files"].update(target={"../../outside/x": 1})),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("name", ATTACKS)
def test_an_edited_directory_runs_nothing(place, name, trusted):
    ATTACKS[name](place)
    done = place.resume(*(["--trust", place.target] if trusted else []))
    place.check_untouched(done)
    assert "--trust" not in done.stderr  # none of it can be vouched for


def test_what_is_allowed_and_was_changed_is_shown_and_has_to_be_typed(place):
    other = place.root / "other"
    other.mkdir()
    done = place.resume()
    assert done.returncode == 0, done.stderr
    shutil.rmtree(place.directory)
    campaign.start(campaign.open_plan(read_campaign(CAMPAIGN.format(target=place.target))), place.directory).close()
    place.with_option("rw", "randwrite")
    place.sql(("update target set location = ?", (str(other),)))
    for typed in ([], ["--trust", str(place.target)], ["--trust", ""]):
        done = place.resume(*typed)
        place.check_untouched(done, code=(2,))
        assert f"--trust {other}" in done.stderr
        assert "rw = randwrite" in done.stderr
        assert f"directory {other}: files in .ioatlas-" in done.stderr
        assert f"--filename={other}/.ioatlas-" in done.stderr
        assert os.listdir(other) == []
    done = place.resume("--trust", str(other))
    assert done.returncode == 0, done.stderr
    assert place.batches()
    assert os.listdir(other) == []
    assert place.resume().returncode == 0  # vouched for once


def test_a_copy_of_the_same_user_goes_on_and_one_from_elsewhere_does_not(place):
    moved = place.root / "moved"
    shutil.copytree(place.directory, moved)
    shutil.move(place.directory, place.root / "away")
    place.directory = moved
    done = place.resume(state=place.root / "other-user")
    place.check_untouched(done, code=(2,))
    assert "on another machine or by another user" in done.stderr
    assert "Resuming this directory would do this here:" in done.stderr
    place.sql("delete from outcome where name = 'seal'")
    done = place.resume()
    place.check_untouched(done, code=(2,))
    assert "carries no seal" in done.stderr
    shutil.rmtree(moved)
    shutil.move(place.root / "away", moved)
    assert place.resume().returncode == 0


def test_a_directory_from_elsewhere_can_be_looked_at(place, monkeypatch):
    assert place.resume().returncode == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(place.root / "elsewhere"))
    for command in (
        ["show", place.directory],
        ["report", place.directory],
        ["export", place.directory, "--format", "csv"],
        ["compare", place.directory, place.directory],
    ):
        done = ioatlas(*command)
        assert done.returncode == 0, done.stderr
    assert not (place.root / "elsewhere").exists()


def test_a_host_in_the_facts_file_is_shown_and_never_asked_before(place):
    (place.directory / "testbed.toml").write_text('[power.nas]\nurl = "http://127.0.0.1:9/watts"\n')
    done = place.resume()
    place.check_untouched(done, code=(2,))
    assert "http://127.0.0.1:9/watts" in done.stderr
    (place.directory / "testbed.toml").write_text('[facts]\n"nic.speed" = "1 Gb/s"\n')
    assert place.resume().returncode == 0


def test_a_process_that_a_foreign_journal_names_is_left_alone(place):
    with subprocess.Popen(["sleep", "60"]) as victim:
        try:
            columns = "batch_id, directory, status, started_at, note, pid, pid_started"
            values = (victim.pid, start_time_ticks(victim.pid))
            place.sql(
                (f"insert into batch ({columns}) values (1, 'batches/00001', 'running', 0, '', ?, ?)", values),
                "delete from outcome where name = 'seal'",
            )
            assert place.resume("--trust", place.target).returncode == 0
            assert victim.poll() is None
        finally:
            victim.kill()


def test_lanes_of_a_trace_are_made_anew(disk_dir, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(disk_dir / "state"))
    (disk_dir / "t.iolog").write_text(TRACE)
    text = 'visits = 1\ntrace = "{root}/t.iolog"\n[target]\npath = "{target}"\n[sweep]\ndirect = 0\nnumjobs = 1\n'
    place = Place(disk_dir, text)
    kept, lane = place.directory / "trace.iolog", place.directory / "trace" / "1" / "0"
    trace, good = kept.read_text(), lane.read_text()
    kept.write_text(trace.replace(" read ", " write "))
    done = place.resume()
    place.check_untouched(done)
    assert "not the trace that was planned" in done.stderr
    kept.write_text(trace)
    victim = place.outside / "victim"
    lane.write_text(f"fio version 3 iolog\n0 {victim} add\n0 {victim} open\n0 {victim} write 0 4096\n")
    done = place.resume()
    assert done.returncode == 0, done.stderr
    assert lane.read_text() == good
    assert place.seen() == place.before


def test_the_key_is_for_the_user_alone(place):
    key = place.state / "ioatlas" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    done = place.resume()
    place.check_untouched(done, code=(2,))
    assert "no key of yours alone" in done.stderr


@pytest.mark.long("cli", "store")
def test_edited_journals_of_a_real_campaign_do_no_harm(place, monkeypatch):
    """Read by another user, so that whatever is resumed has to be refused: not one program is started."""
    assert place.resume().returncode == 0
    shutil.copytree(place.directory, place.root / "whole")
    monkeypatch.setenv("XDG_STATE_HOME", str(place.root / "other-user"))
    world = SimpleNamespace(place=place.root, directory=place.directory, target=place.target, executor=None)
    fuzzer = Fuzzer(place.root, {"real": world}, commands=("show", "report", "export", "compare", "resume"))
    for told, outcome in fuzzer.many(range(1, 9)):
        assert outcome.what == "", told
