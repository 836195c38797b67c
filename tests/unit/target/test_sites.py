# SPDX-License-Identifier: Apache-2.0
"""Places of cells on directories and files, prepared by a simulated fio: what is written, kept and removed."""

import os
from dataclasses import replace

import pytest

from ioatlas.model.cell import CLIENTS, Cell
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError, UsageError
from ioatlas.model.outcomes import PreparedTarget, PreparedTargets
from ioatlas.model.target import Identity, Target
from ioatlas.store.journal import Journal
from ioatlas.target import sites as module
from ioatlas.target.direct import DirectIo
from ioatlas.target.opening import open_target
from ioatlas.target.placing import Extent, Places, extents, joined
from ioatlas.target.preparation import TargetUse
from ioatlas.target.sites import Sites
from ioatlas.target.tree import TREE, make_tree, remove_tree
from tests.simulate.executor import SimulatedExecutor
from tests.unit.simulated import new_journal

SIZE = 1 << 20


class Place:
    """A target with a journal; every step that guards or writes is told in `steps`."""

    def __init__(self, tmp_path, monkeypatch, kind):
        place = tmp_path / kind
        if kind == "directory":
            place.mkdir()
        else:
            place.write_bytes(bytes(4 * SIZE))
        self.place, self.kind = place, kind
        self.target = replace(open_target(str(place)), name="t")
        self.journal = new_journal(tmp_path / f"campaign-{kind}")
        self.steps, self.events = [], []
        self.fio = SimulatedExecutor(moment=lambda what: self.steps.append(f"fio {what}"))
        guard = module.check_before_start

        def check_before_start(target, *, writes):
            self.steps.append("guard for writing" if writes else "guard")
            guard(target, writes=writes)

        monkeypatch.setattr(module, "check_before_start", check_before_start)

    def cell(self, state="laid-out", sharing="shared", **options):
        known = {"rw": "randread", "bs": 4096, "size": SIZE, "direct": 0, "numjobs": 1, "iodepth": 1, **options}
        return replace(Cell.of("t", known, sharing=sharing), state=state)

    def sites(self, *cells, campaign="c1", targets=(), known=False):
        """known: the journal has the cells already."""
        self.journal.add_cells([(cell, "") for cell in cells if not known])
        how = {"executor": self.fio, "stop_asked": lambda: False, "emit": self.events.append}
        return Sites(self.journal, campaign, [self.target, *targets], cells, **how)

    def use(self, *cells, **how):
        return TargetUse(cells, **{"laid_out": frozenset({"t"}), "preparation": "laid-out", **how})

    def ran(self):
        return [step for step in self.steps if step.startswith("fio ")]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    place = Place(tmp_path, monkeypatch, "directory")
    yield place
    place.journal.close()


@pytest.fixture
def file(tmp_path, monkeypatch):
    place = Place(tmp_path, monkeypatch, "file")
    yield place
    place.journal.close()


def test_all_targets_are_cleaned_where_the_journal_cannot_be_written(directory, tmp_path, monkeypatch):
    """The file system of the results may be full: nothing stays on the targets for that."""
    other = tmp_path / "other"
    other.mkdir()
    cells = [directory.cell(), replace(directory.cell(), target="u")]
    sites = directory.sites(*cells, targets=[replace(open_target(str(other)), name="u")])
    sites.prepare(directory.use(*cells, laid_out=frozenset({"t", "u"})))
    assert list(directory.place.iterdir())
    assert list(other.iterdir())

    def full(*_given):
        raise PartialResultError("the journal cannot be written")

    monkeypatch.setattr(Journal, "file_removed", full)
    monkeypatch.setattr(Journal, "add_remark", full)
    with pytest.raises(PartialResultError):
        sites.clean()
    assert not list(directory.place.iterdir())
    assert not list(other.iterdir())


def test_a_directory_is_laid_out_and_left_as_it_was(directory):
    shared, private = directory.cell(), directory.cell(sharing="private", numjobs=2, size=2 * SIZE)
    sites = directory.sites(shared, private)
    sites.prepare(directory.use(shared, private))
    made = {path.name: path.stat().st_size for path in (directory.place / ".ioatlas-c1").iterdir()}
    assert {"shared.dat": SIZE, "private.0": 2 * SIZE, "private.1": 2 * SIZE}.items() <= made.items()
    ready = {os.path.basename(path): ready for path, (_, ready) in directory.journal.files("t").items()}
    assert ready == {"shared.dat": True, "private.0": True, "private.1": True}
    assert [row[1:] for row in directory.journal.ledger()] == [("t", "lay-out", 5 * SIZE)]
    assert dict(sites.location(shared))["filename"] == str(directory.place / ".ioatlas-c1" / "shared.dat")
    assert dict(sites.location(private))["filename_format"] == "private.$jobnum"
    sites.check([shared, private])
    sites.clean()
    assert list(directory.place.iterdir()) == []
    assert directory.journal.files("t") == {}
    assert [event.name for event in directory.events][-1] == "cleaned"


def test_the_guards_come_before_anything_is_written(directory, file, monkeypatch):
    for place in (directory, file):
        cell = place.cell()
        place.sites(cell).prepare(place.use(cell))
        assert place.steps.index("guard for writing") < place.steps.index(place.ran()[0])

    def refuse(_target, *, writes):
        raise RefusedError("somebody's data is on it")

    monkeypatch.setattr(module, "check_before_start", refuse)
    for place in (directory, file):
        before, cell = len(place.ran()), place.cell(bs=8192)
        sites = place.sites(cell, campaign="c2")
        with pytest.raises(RefusedError):
            sites.prepare(place.use(cell, preparation="filled"))
        with pytest.raises(RefusedError):
            sites.check([cell])
        assert len(place.ran()) == before
    assert not (directory.place / ".ioatlas-c2").exists()


def test_a_read_is_guarded_as_one_and_a_load_stays_inside_its_target(file):
    read, write, beyond = file.cell(), file.cell(rw="randwrite"), file.cell(offset=4 * SIZE)
    sites = file.sites(read, write, beyond)
    sites.check([read])
    assert file.steps == ["guard"]
    sites.check([read, write])
    assert file.steps == ["guard", "guard for writing"]
    with pytest.raises(RefusedError, match="the load reaches to byte"):
        sites.check([beyond])


def test_nothing_is_written_where_nothing_is_to_lie(directory, file):
    for place in (directory, file):
        cell = place.cell()
        place.sites(cell).prepare(place.use(cell, laid_out=frozenset()))
        assert place.ran() == []
    assert list(directory.place.iterdir()) == []


def test_a_fresh_cell_finds_no_data_and_a_new_file_every_time(directory):
    cell = directory.cell(state="fresh", rw="write")
    sites = directory.sites(cell)
    sites.prepare(directory.use(cell, preparation="fresh"))
    path = directory.place / ".ioatlas-c1" / "shared.dat"
    assert (path.stat().st_size, path.stat().st_blocks) == (SIZE, 0)
    path.write_bytes(b"x" * SIZE)
    sites.renew([directory.cell()])
    assert path.stat().st_blocks > 0
    sites.renew([cell])
    assert (path.stat().st_size, path.stat().st_blocks) == (SIZE, 0)
    sites.clean()


def test_holes_in_what_was_filled_are_an_error(directory):
    cell = directory.cell(size=16 << 20)  # the simulated fio leaves large files sparse
    with pytest.raises(IoAtlasError, match="bytes are holes although all were written"):
        directory.sites(cell).prepare(directory.use(cell, preparation="filled"))
    directory.sites(directory.cell(bs=512, size=16 << 20), campaign="c2").prepare(directory.use(cell))


def test_a_range_is_prepared_once_for_each_part_of_a_campaign(file):
    cell, larger = file.cell(), file.cell(size=2 * SIZE)
    sites = file.sites(cell, larger)

    def runs(name, use):
        known = len(file.journal.ledger())
        prepared = sites.is_prepared("t", use, once=name)
        sites.prepare_target("t", use, once=name)
        assert sites.is_prepared("t", use, once=name)
        assert prepared == (len(file.journal.ledger()) == known)
        return not prepared

    filled = file.use(cell, preparation="filled")
    laid_out, beyond = file.use(cell), file.use(larger)
    parts = [("a", filled), ("a", filled), ("b", filled), ("b", laid_out), ("b", beyond), ("b", laid_out)]
    assert [runs(*one) for one in parts] == [True, False, True, True, True, False]
    kept = file.journal.kept(PreparedTargets).targets
    assert kept == {"t": PreparedTarget("laid-out", 2 * SIZE, "b")}


def test_files_in_a_directory_are_never_taken_as_prepared(directory):
    cell = directory.cell()
    sites, use = directory.sites(cell), directory.use(cell)
    sites.prepare(use)
    assert not sites.is_prepared("t", use, once="")


def test_data_of_two_kinds_lie_side_by_side(file):
    plain, reduced = file.cell(), file.cell(buffer_compress_percentage=50)
    sites = file.sites(plain, reduced)
    sites.prepare(file.use(plain, reduced))
    assert [dict(sites.location(cell)).get("offset", 0) for cell in (plain, reduced)] == [0, SIZE]
    assert file.journal.kept(PreparedTargets).targets["t"].end_bytes == 2 * SIZE


def test_ranges_of_clients_count_on_from_an_offset_that_the_job_names(file):
    cell = file.cell(**{CLIENTS: 2, "client_range": "own"})
    sites = file.sites(cell)
    assert dict(sites.location(cell))["offset"] == 0
    assert sites.strides() == {"t": SIZE}


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_blocks_that_direct_io_cannot_move(kind, file, directory, monkeypatch):
    place = {"file": file, "directory": directory}[kind]
    answer = DirectIo(supported=True, offset_alignment_bytes=4096)
    monkeypatch.setattr(module, "direct_io_alignment", lambda _path: answer)
    monkeypatch.setattr(module.Workspace, "direct_io", lambda _self: answer)
    odd, whole, buffered = place.cell(bs=512, direct=1), place.cell(direct=1), place.cell(bs=512)
    sites = place.sites(odd, whole, buffered)
    with pytest.raises(UsageError, match="direct I/O here moves whole blocks of 4096 B, the sweep has bs=512"):
        sites.prepare(place.use(odd, whole, buffered))
    assert place.ran() == []
    sites.prepare(place.use(odd, whole, buffered, odd_sizes="leave out"))
    left = {cell.key for cell, reason in place.journal.cells() if reason.startswith("not admissible")}
    assert left == {odd.key}
    sites.clean()


def test_direct_io_that_does_not_work_is_said_before_anything_is_written(file, monkeypatch):
    monkeypatch.setattr(module, "direct_io_alignment", lambda _path: DirectIo(supported=False, why_not="no O_DIRECT"))
    cell = file.cell(direct=1)
    with pytest.raises(UsageError, match="direct I/O does not work here: no O_DIRECT"):
        file.sites(cell).prepare(file.use(cell))
    assert file.ran() == []


def test_a_directory_is_opened_for_files_that_a_load_makes_itself(directory):
    cell = directory.cell(rw="write")
    sites = directory.sites(cell)
    sites.open("t", {"work.dat": SIZE}, directory.use(cell))
    assert directory.ran() == []
    path = directory.place / ".ioatlas-c1" / "work.dat"
    assert sites.file_path("t", "work.dat") == str(path)
    assert directory.journal.files("t")[str(path)] == (SIZE, False)
    path.write_bytes(b"x")
    sites.remove("t", "work.dat")
    assert not path.exists()
    with pytest.raises(RefusedError, match="was not made by this campaign"):
        sites.remove("t", "other.dat")
    sites.clean()


def test_a_directory_that_is_too_full_is_not_opened(directory):
    cell = directory.cell()
    with pytest.raises(IoAtlasError, match="not enough space"):
        directory.sites(cell).open("t", {"work.dat": 1 << 60}, directory.use(cell))
    assert list(directory.place.iterdir()) == []


def test_what_another_session_or_campaign_left(directory):
    cell = directory.cell()
    died = directory.sites(cell)
    died.prepare(directory.use(cell))
    other = directory.place / ".ioatlas-other"
    other.mkdir()
    again = directory.sites(cell, known=True)
    died._close("t")  # its process is gone
    again.prepare(directory.use(cell, laid_out=frozenset()))
    assert [path.name for path in directory.place.iterdir()] == [".ioatlas-other"]
    (told,) = [text for _, text in directory.journal.remarks()]
    assert "belongs to a campaign without a marker; it was left alone" in told


def test_what_cannot_be_removed_now_is_said_and_stays_listed(directory, monkeypatch):
    cell = directory.cell()
    sites = directory.sites(cell)
    sites.prepare(directory.use(cell))

    def gone(*_):
        raise IoAtlasError("the server does not answer")

    monkeypatch.setattr(module.Workspace, "remove", gone)
    sites.clean()
    ((_, text),) = directory.journal.remarks()
    assert "could not be removed now (the server does not answer); `ioatlas resume` removes them" in text
    assert directory.journal.files("t")


# -- purge ----------------------------------------------------------------------------------------------------


def test_a_purge_in_words(file, directory):
    sites = file.sites()
    assert sites.purge("t", "none") == "none, as asked"
    assert "not checked" in sites.purge("t", "by-hand")
    assert "a file offers none" in sites.purge("t", "auto")
    assert "a directory offers none" in directory.sites().purge("t", "auto")
    export = Target("t", "uri", "nbd://nas", Identity(()))
    assert "an export offers none" in module.purge(export, "auto", print)


def test_a_purge_takes_the_data_out_of_a_file_and_keeps_its_length(file):
    file.place.write_bytes(b"x" * 4 * SIZE)
    assert "holes punched" in file.sites().purge("t", "punch-hole")
    assert (file.place.stat().st_size, file.place.stat().st_blocks) == (4 * SIZE, 0)


def test_a_purge_that_was_asked_for_and_cannot_be_done_is_an_error(file, directory):
    for place, how in ((file, "discard"), (directory, "discard"), (directory, "nvme-format")):
        with pytest.raises(UsageError, match=f"purge = '{how}' cannot be done here"):
            place.sites().purge("t", how)


MIB = 1 << 20
ZEROES = (("zero_buffers", 1),)


def test_ranges_that_touch_are_written_in_one_go():
    ranges = {f"at {n * MIB}": Extent(MIB, offset_bytes=n * MIB) for n in (2, 0, 1)}
    assert joined(ranges) == {"at 0": Extent(3 * MIB)}


def test_other_data_and_ranges_apart_stay_apart():
    apart = {"a": Extent(MIB), "b": Extent(MIB, offset_bytes=3 * MIB)}
    assert joined(apart) == apart
    other = {"a": Extent(MIB), "b": Extent(MIB, ZEROES, offset_bytes=MIB), "c": Extent(MIB, offset_bytes=2 * MIB)}
    assert joined(other) == other


def test_a_range_inside_another_adds_nothing():
    assert joined({"a": Extent(4 * MIB), "b": Extent(MIB, offset_bytes=MIB)}) == {"a": Extent(4 * MIB)}


def test_the_only_client_of_a_fleet_has_the_files_that_its_job_names():
    options = {"rw": "read", "bs": 4096, "size": MIB, CLIENTS: 1, "client_range": "own"}
    cell = Cell("nas", tuple(sorted(options.items())))
    assert list(extents([cell], Places([cell]), directory=True)) == ["shared.client1.dat"]


@pytest.fixture
def place(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    make_tree(fd, ["job.0/level.2", "job.1/level.2"])
    yield tmp_path, fd, os.fstat(fd).st_dev
    os.close(fd)


def fill(folder, count, mark="f"):
    for number in range(count):
        (folder / f"{mark}.0.{number}").touch()


def test_a_tree_of_any_number_of_files_goes(place):
    path, fd, device = place
    fill(path / TREE / "job.0/level.2", 6000)
    fill(path / TREE / "job.1/level.2", 10, "r")
    left, told = {}, []
    assert remove_tree(fd, device, left, told.append) == 6010
    assert left == {}
    assert told == [5000]
    assert list(path.iterdir()) == []
    assert remove_tree(fd, device, left) == 0


def test_what_is_not_ours_stays_with_its_folders(place):
    path, fd, device = place
    deep = path / TREE / "job.0/level.2"
    fill(deep, 3)
    (deep / "notes.txt").write_text("mine")
    (path / TREE / "photos").mkdir()
    left = {}
    assert remove_tree(fd, device, left) == 3
    assert left["tree/job.0/level.2/notes.txt"] == "not made by ioatlas"
    assert left["tree/photos"] == "not made by ioatlas"
    assert (deep / "notes.txt").read_text() == "mine"
    assert not (path / TREE / "job.1").exists()


def test_no_link_is_followed(place, tmp_path_factory):
    path, fd, device = place
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, 2)
    (path / TREE / "job.7").symlink_to(elsewhere)
    (path / TREE / "job.0/level.2/f.0.0").symlink_to(elsewhere / "f.0.0")
    left = {}
    assert remove_tree(fd, device, left) == 0
    assert set(left) >= {"tree/job.7", "tree/job.0/level.2/f.0.0"}
    assert sorted(one.name for one in elsewhere.iterdir()) == ["f.0.0", "f.0.1"]


def test_a_link_in_the_place_of_the_tree_is_left(tmp_path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, 2)
    (tmp_path / TREE).symlink_to(elsewhere)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        left = {}
        assert remove_tree(fd, os.fstat(fd).st_dev, left) == 0
    finally:
        os.close(fd)
    assert TREE in left
    assert len(list(elsewhere.iterdir())) == 2
