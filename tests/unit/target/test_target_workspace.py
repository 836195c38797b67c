# SPDX-License-Identifier: Apache-2.0
"""The marked subdirectory: made once, checked before every start, and removed without touching what is not ours."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.target.opening import MARKER, open_target
from ioatlas.target.workspace import Workspace, clean, leftovers


@pytest.fixture
def target(tmp_path):
    directory = tmp_path / "nas"
    directory.mkdir()
    return open_target(str(directory))


def folder(target, campaign="c1"):
    return Path(target.location) / f".ioatlas-{campaign}"


def workspace_with(target, *names, campaign="c1"):
    journal = []
    workspace = Workspace(target, campaign, journal.append)
    for name in names:
        Path(workspace.file_path(name)).write_bytes(b"load")
    return workspace, journal


def test_made_used_and_removed(target):
    workspace, journal = workspace_with(target, "a", "b")
    assert journal == ["a", "b"]
    assert folder(target).stat().st_mode & 0o777 == 0o700
    marker = json.loads((folder(target) / MARKER).read_text())
    assert marker["campaign_id"] == "c1"
    assert marker["pid"] == os.getpid()
    workspace.check()
    removal = workspace.remove(journal)
    assert (removal.removed, removal.left, removal.directory_gone) == (("a", "b"), (), True)
    assert os.listdir(target.location) == []


def test_what_was_appended_is_cut_off_and_no_link_is_followed(target, tmp_path):
    workspace, _ = workspace_with(target, "a", "b")
    workspace.cut("a", 3)
    assert (folder(target) / "a").read_bytes() == b"loa"
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    (folder(target) / "b").unlink()
    (folder(target) / "b").symlink_to(theirs)
    with pytest.raises(IoAtlasError):
        workspace.cut("b", 3)
    assert theirs.read_bytes() == b"precious"


def test_a_file_is_registered_before_it_can_exist(target):
    seen = []
    with Workspace(target, "c1", lambda name: seen.append((name, os.path.exists(folder(target) / name)))) as workspace:
        path = workspace.file_path("a")
        assert seen == [("a", False)]
        assert path == str(folder(target) / "a")
        workspace.file_path("a")
        assert len(seen) == 1


def test_a_failing_journal_gives_no_path(target):
    def refuse(name):
        raise IoAtlasError("the journal is gone")

    with Workspace(target, "c1", refuse) as workspace, pytest.raises(IoAtlasError, match="journal is gone"):
        workspace.file_path("a")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../x", ".hidden", "/etc/passwd", "a\nb", "a:b", "a;b", MARKER, "x" * 200]
)
def test_only_plain_names_are_given(target, name):
    with Workspace(target, "c1", lambda _: None) as workspace, pytest.raises(UsageError):
        workspace.file_path(name)


@pytest.mark.parametrize("campaign", ["", "..", "a/b", "../../etc", "a b", "x" * 65, ".x", "a.b"])
def test_only_plain_campaign_ids(target, campaign):
    with pytest.raises(UsageError):
        Workspace(target, campaign, lambda _: None)
    with pytest.raises(UsageError):
        clean(target, campaign, [])


def test_found_again_after_a_crash(target):
    workspace, journal = workspace_with(target, "a")
    workspace.close()
    with Workspace(target, "c1", journal.append) as again:
        again.check(["a"])
    assert clean(target, "c1", journal).directory_gone
    assert clean(target, "c1", journal).directory_gone  # nothing there is no error


def made_until(location, journal, stop):
    """Makes a workspace, uses it and removes it, in a process of its own that is killed at a call of the system."""
    calls = 0

    def counted(real):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        target = open_target(location)
        for name in ("mkdir", "open", "write", "fsync", "rename", "close", "unlink", "rmdir"):
            setattr(os, name, counted(getattr(os, name)))
        with journal.open("a", buffering=1) as listed:
            workspace = Workspace(target, "c1", lambda name: listed.write(f"{name}\n"))
            Path(workspace.file_path("a")).write_text("x")
            workspace.remove(["a"])
        os._exit(0)
    finally:
        os._exit(1)


def test_killed_at_any_moment_of_its_making_it_is_cleaned_by_the_next_start(target, tmp_path):
    killed = 0
    journal = tmp_path / "journal"
    for moment in range(1, 60):
        status = made_until(target.location, journal, moment)
        removal = clean(target, "c1", journal.read_text().split() if journal.exists() else [])
        assert removal.left == ()
        assert os.listdir(target.location) == []
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1
    assert killed >= 10


def test_only_listed_files_are_removed_and_the_rest_is_reported(target):
    workspace, journal = workspace_with(target, "a")
    foreign = folder(target) / "thesis.odt"
    foreign.write_text("mine")
    (folder(target) / "more").mkdir()
    removal = workspace.remove(journal)
    assert removal.removed == ("a",)
    assert removal.left == ("more: not made by ioatlas", "thesis.odt: not made by ioatlas")
    assert not removal.directory_gone
    assert foreign.read_text() == "mine"
    assert (folder(target) / MARKER).exists()
    foreign.unlink()
    (folder(target) / "more").rmdir()
    assert clean(target, "c1", journal).directory_gone


def test_a_list_from_a_cache_that_still_names_what_is_gone_leaves_nothing_behind(target, monkeypatch):
    """As smbnetfs lists for some seconds: the file was removed a moment ago."""
    workspace, journal = workspace_with(target, "shared.dat")
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda place: ["shared.dat", *real(place)] if real(place) else [])
    removal = workspace.remove(journal)
    monkeypatch.undo()
    assert (removal.removed, removal.left, removal.directory_gone) == (("shared.dat",), (), True)
    assert os.listdir(target.location) == []


def test_a_journal_that_lists_other_places_deletes_nothing_there(target):
    victim = Path(target.location) / "victim"
    victim.write_text("mine")
    workspace, _ = workspace_with(target)
    removal = workspace.remove(["../victim", str(victim), "..", ".", "", "victim"])
    assert victim.read_text() == "mine"
    assert not removal.directory_gone
    assert removal.removed == ()
    assert clean(target, "c1", []).directory_gone


def test_a_link_in_place_of_the_directory_is_not_followed(target, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    workspace, journal = workspace_with(target, "a")
    os.rename(folder(target), tmp_path / "moved")
    (elsewhere / "a").write_text("mine")
    (elsewhere / MARKER).write_bytes((tmp_path / "moved" / MARKER).read_bytes())
    os.symlink(elsewhere, folder(target))
    for attempt in (workspace.check, lambda: Workspace(target, "c1", journal.append)):
        with pytest.raises(RefusedError, match="a link or a file"):
            attempt()
    removal = workspace.remove(journal)
    assert (removal.removed, removal.directory_gone) == (("a",), False)
    assert str(tmp_path / "moved") in removal.left[0], "where what was made lies now"
    assert os.listdir(tmp_path / "moved") == []
    assert (elsewhere / "a").read_text() == "mine"


@pytest.mark.parametrize("in_its_place", [None, "empty", "full"])
def test_one_that_is_away_for_a_moment_is_removed(target, tmp_path, monkeypatch, in_its_place):
    workspace, journal = workspace_with(target, "a")
    os.rename(folder(target), tmp_path / "moved")
    if in_its_place:
        folder(target).mkdir()
    if in_its_place == "full":
        (folder(target) / "mine").touch()

    def put_back(seconds):
        if seconds and (tmp_path / "moved").exists():
            if in_its_place:
                os.rename(folder(target), tmp_path / "other")
            os.rename(tmp_path / "moved", folder(target))

    monkeypatch.setattr("time.sleep", put_back)
    assert workspace.remove(journal).directory_gone
    assert os.listdir(target.location) == []


def test_another_directory_in_its_place_is_noticed(target, tmp_path):
    workspace, _ = workspace_with(target, "a")
    os.rename(folder(target), tmp_path / "moved")
    folder(target).mkdir()
    (folder(target) / MARKER).write_bytes((tmp_path / "moved" / MARKER).read_bytes())
    with pytest.raises(RefusedError, match="exchanged"):
        workspace.check()


def test_the_target_directory_exchanged_for_a_link_is_noticed(target, tmp_path):
    workspace, journal = workspace_with(target, "a")
    os.rename(target.location, tmp_path / "moved")
    os.symlink(tmp_path / "moved", target.location)
    with pytest.raises(IoAtlasError):
        workspace.check()
    with pytest.raises(IoAtlasError):
        clean(target, "c1", journal)
    assert (tmp_path / "moved" / ".ioatlas-c1" / "a").exists()
    assert workspace.remove(journal).directory_gone, "it goes by what is held"
    assert os.listdir(tmp_path / "moved") == []


def test_a_link_further_up_is_noticed(target, tmp_path):
    inner = Path(target.location) / "inner"
    inner.mkdir()
    workspace, journal = workspace_with(open_target(str(inner)), "a")
    os.rename(target.location, tmp_path / "moved")
    os.symlink(tmp_path / "moved", target.location)
    with pytest.raises(RefusedError, match="exchanged"):
        workspace.check()
    with pytest.raises(RefusedError, match="exchanged"):
        Workspace(workspace.target, "c1", journal.append)
    assert workspace.remove(journal).directory_gone


@pytest.mark.needs("root")
def test_a_directory_of_another_user_is_not_taken_for_ours(target):
    folder(target).mkdir()
    os.chown(folder(target), 12345, 12345)
    with pytest.raises(RefusedError, match="belongs to another user"):
        Workspace(target, "c1", lambda _: None)
    folder(target).rmdir()
    folder(target).mkdir()
    folder(target).chmod(0o777)
    with pytest.raises(RefusedError, match="others may write"):
        Workspace(target, "c1", lambda _: None)


@pytest.mark.parametrize("made", ["link", "hard link", "directory", "pipe"])
def test_a_file_exchanged_for_something_else_is_neither_written_nor_removed(target, tmp_path, made):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    workspace, journal = workspace_with(target, "a", "b")
    place = folder(target) / "a"
    place.unlink()
    match made:
        case "link":
            place.symlink_to(victim)
        case "hard link":
            os.link(victim, place)
        case "directory":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
    with pytest.raises(RefusedError, match="a is "):
        workspace.check()
    removal = workspace.remove(journal)
    assert removal.removed == ("b",)
    assert len(removal.left) == 1
    assert removal.left[0].startswith("a: ")
    assert os.path.lexists(place)
    assert victim.read_text() == "mine"


def test_anothers_marker_protects_everything(target):
    workspace, journal = workspace_with(target, "a")
    marker = folder(target) / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"campaign_id": "other"}))
    for attempt in (
        workspace.check,
        lambda: clean(target, "c1", journal),
        lambda: Workspace(target, "c1", journal.append),
    ):
        with pytest.raises(RefusedError, match="belongs to campaign other"):
            attempt()
    assert (folder(target) / "a").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"campaign_id": "c1"}', b"\xff\xfe", b"x" * 10000])
def test_a_marker_that_cannot_be_read_protects_everything(target, content):
    workspace, journal = workspace_with(target, "a")
    (folder(target) / MARKER).write_bytes(content)
    with pytest.raises(RefusedError, match="cannot be read"):
        workspace.remove(journal)
    assert (folder(target) / "a").exists()


def test_a_marker_that_is_a_link_is_not_trusted(target, tmp_path):
    workspace, journal = workspace_with(target, "a")
    marker = folder(target) / MARKER
    os.rename(marker, tmp_path / "marker")
    marker.symlink_to(tmp_path / "marker")
    with pytest.raises(RefusedError, match="cannot be read"):
        workspace.remove(journal)
    assert (tmp_path / "marker").exists()


def test_without_a_marker_nothing_in_it_is_removed(target):
    workspace, journal = workspace_with(target, "a")
    (folder(target) / MARKER).unlink()
    removal = clean(target, "c1", journal)
    assert removal.removed == ()
    assert removal.left == ("a: not made by ioatlas",)
    with pytest.raises(RefusedError, match="no marker"):
        Workspace(target, "c1", journal.append)
    workspace.close()


def test_a_running_campaign_is_left_alone(target):
    program = "import sys; from ioatlas.target.opening import *; from ioatlas.target.workspace import *; "
    program += "w = Workspace(open_target(sys.argv[1]), 'c1', print); "
    program += "print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, target.location], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "up\n"
        for attempt in (lambda: clean(target, "c1", []), lambda: Workspace(target, "c1", lambda _: None)):
            with pytest.raises(RefusedError, match=f"runs already, as process {running.pid}"):
                attempt()
        assert leftovers(target.location)[0].marker.running_elsewhere() is True
        running.kill()
    assert leftovers(target.location)[0].marker.running_elsewhere() is False
    assert clean(target, "c1", []).directory_gone


def test_a_reused_process_id_is_not_mistaken_for_the_campaign(target):
    workspace, journal = workspace_with(target, "a")
    workspace.close()
    marker = folder(target) / MARKER
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"pid": 1, "pid_start_ticks": 987654321}))
    assert clean(target, "c1", journal).directory_gone


def test_leftovers_of_others_are_reported_and_kept(target):
    workspace, _ = workspace_with(target, "a", campaign="other")
    workspace.close()
    mine, journal = workspace_with(target, "a")
    Path(target.location, ".ioatlas-file").write_text("a file of that name")
    Path(target.location, ".ioatlas-strange").mkdir()
    os.symlink("/etc", Path(target.location, ".ioatlas-link"))
    found = {Path(each.path).name: each for each in leftovers(target.location, "c1")}
    assert set(found) == {".ioatlas-other", ".ioatlas-strange"}
    assert found[".ioatlas-other"].marker.campaign_id == "other"
    assert found[".ioatlas-other"].size_bytes >= 4
    assert found[".ioatlas-strange"].marker is None
    mine.remove(journal)
    assert folder(target, "other").joinpath("a").exists()


def test_a_target_inside_a_workspace_is_refused(target):
    workspace, _ = workspace_with(target)
    with pytest.raises(RefusedError, match="subdirectory of another campaign"):
        open_target(workspace.path)
    workspace.close()


def test_direct_io_probe_leaves_nothing_and_survives_its_own_remains(target):
    workspace, journal = workspace_with(target)
    (folder(target) / "direct-probe").write_bytes(b"from a start that was killed")
    first = workspace.direct_io()
    assert first == workspace.direct_io()
    assert journal == ["direct-probe"]
    assert os.listdir(folder(target)) == [MARKER]
    assert first.supported or first.why_not
    assert workspace.remove(journal).directory_gone
