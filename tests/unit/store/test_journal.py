# SPDX-License-Identifier: Apache-2.0
"""The journal: what goes in comes out, in one piece, also after an end in the middle."""

import sqlite3
from dataclasses import replace

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, PartialResultError, UsageError
from ioatlas.model.target import Identity, Target
from ioatlas.model.verdict import BUDGET_ENDED, ReasonCode, Verdict, VerdictCode, read_reasons, read_verdict, sentences
from ioatlas.model.visit import BatchStatus, Histogram, Part, Purpose, RemarkKind, Series, Visit, VisitStatus
from ioatlas.store import visits
from ioatlas.store.journal import Intake, Journal, NewVisit
from ioatlas.store.schema import TABLES
from ioatlas.store.visits import read_part
from tests.unit.simulated import new_journal

TARGET = Target("t", "directory", "/mnt/t", Identity((("fs_type", "ext4"),)), None, None, 4096, None)
CELL = Cell.of("t", {"rw": "randrw", "bs": 4096, "size": 1 << 20, "numjobs": 2})


@pytest.fixture
def journal(tmp_path):
    made = new_journal(tmp_path / "c")
    made.begin_campaign("id1", "name", "0.0", {"spec": {}}, [TARGET])
    made.add_cells([(CELL, "")])
    yield made
    made.close()


def finished(visit_id, discarded=""):
    series = Series(10, (10, 20), (1e6, 2e6), (5e4, 6e4))
    part = Part("read", 8192, 2, 490, 55000.0, Histogram(((50000, 1), (60000, 1))), series)
    judged = (20, read_verdict("flat"), read_reasons(discarded))
    return Visit(visit_id, CELL.key, 1, 0, 0, 7, 12.5, (part,), 0, 3.5, Purpose.SWEEP, *judged)


def test_a_full_file_system_is_told_and_can_be_resumed(journal):
    """No traceback of the database: what was finished is kept, and the remedy names the directory."""
    journal.add_remark(RemarkKind.NOTE, "before")
    journal._rows(f"PRAGMA max_page_count={journal._value('PRAGMA page_count')}")
    with pytest.raises(PartialResultError, match="journal cannot be written") as told:
        journal.add_remark(RemarkKind.NOTE, "x" * 100_000)
    assert f"ioatlas resume {journal.directory}" in told.value.remedy
    assert [text for _, text in journal.remarks()] == ["before"]


def test_what_was_read_is_not_read_again_and_what_is_new_is_seen(journal, monkeypatch):
    journal.add_visits([NewVisit(CELL.key, number, 7) for number in range(2)])
    first, second = journal.planned(Purpose.SWEEP)
    read = []
    monkeypatch.setattr(visits, "read_part", lambda *row, **how: read.append(1) or read_part(*row, **how))
    for number, planned in enumerate((first, second), 1):
        batch_id, _ = journal.begin_batch({planned.visit_id: 490})
        journal.finish_batch(batch_id, Intake([replace(finished(planned.visit_id), batch_id=batch_id)]))
        for _ in range(2):
            assert len(journal.visits(with_series=True)) == len(journal.of_target("t").visits()) == number
        assert len(read) == 2 * number, "once with the series and once without"
    journal.discard_visits([first.visit_id], read_reasons("bytes: too few")[0])
    assert [bool(one.discarded) for one in journal.visits()] == [True, False]
    again = Journal.open(journal.directory)
    assert again.visits(with_series=True) == journal.visits(with_series=True)
    again.close()


def test_visits_come_in_the_order_in_which_they_were_made_though_the_clock_was_set_back(journal):
    journal.add_visits([NewVisit(CELL.key, number, 7) for number in range(3)])
    late, early, last = journal.planned(Purpose.SWEEP)
    for batch, started_at in (((early, late), (200.0, 210.0)), ((last,), (100.0,))):
        batch_id, _ = journal.begin_batch({visit.visit_id: 490 for visit in batch})
        made = [replace(finished(one.visit_id), started_at=at) for one, at in zip(batch, started_at, strict=True)]
        journal.finish_batch(batch_id, Intake(made))
    assert [visit.visit_id for visit in journal.visits()] == [visit.visit_id for visit in (early, late, last)]


def test_a_visit_comes_back_as_it_went_in(journal):
    journal.add_visits([NewVisit(CELL.key, 0, 7), NewVisit(CELL.key, 1, 8)])
    first, second = journal.planned(Purpose.SWEEP)
    batch_id, directory = journal.begin_batch({first.visit_id: 490})
    assert directory.is_dir()
    gave = Intake([finished(first.visit_id)], load_seconds=0.5, written={("t", "write load"): 99})
    journal.finish_batch(batch_id, gave, seconds=1.0)
    assert journal.visits(with_series=True) == [finished(first.visit_id)]
    assert journal.planned(Purpose.SWEEP) == [second]
    assert [row[1:] for row in journal.ledger()] == [("t", "write load", 99)]
    assert journal.targets() == (TARGET,)
    assert journal.cells() == [(CELL, "")]


def test_visits_that_did_not_run_are_planned_again_in_their_order(journal):
    journal.add_visits([NewVisit(CELL.key, block, 7 + block) for block in range(3)])
    before = journal.planned(Purpose.SWEEP)
    batch_id, _ = journal.begin_batch({visit.visit_id: 490 for visit in before})
    again = [NewVisit(CELL.key, 1, 99, alone=True, runtime_ms=2000)]
    journal.finish_batch(batch_id, Intake([finished(before[1].visit_id, "overlapped")], again=again))
    after = journal.planned(Purpose.SWEEP)
    assert [visit.visit_id for visit in after[:2]] == [before[0].visit_id, before[2].visit_id]
    assert (after[2].alone, after[2].runtime_ms, after[2].seed) == (True, 2000, 99)
    assert journal.tries(CELL.key, 1) == 1
    assert journal.count_visits() == {"planned": 3, "discarded": 1}


def test_a_discarded_visit_can_count_reinstated(journal):
    journal.add_visits([NewVisit(CELL.key, block, 7 + block) for block in range(2)])
    first, second = journal.planned(Purpose.SWEEP)
    batch_id, _ = journal.begin_batch({first.visit_id: 490, second.visit_id: 490})
    late, overlapped = f"{ReasonCode.LATE} (flat): 4 times", "overlapped"
    made = [finished(first.visit_id, late), finished(second.visit_id, overlapped)]
    journal.finish_batch(batch_id, Intake(made))
    assert journal.discarded(ReasonCode.LATE) == [(first.visit_id, CELL.key, 0, Verdict(VerdictCode.FLAT))]
    journal.reinstate(first.visit_id, Verdict(VerdictCode.FLAT, "after all"))
    assert journal.discarded(ReasonCode.LATE) == []
    assert [(visit.verdict.text, sentences(visit.discarded)) for visit in journal.visits()] == [
        ("flat: after all", ""),
        ("flat", "overlapped"),
    ]
    # Flat: nothing is cut from its window any more.
    assert [visit.window_start_ms for visit in journal.visits()] == [0, 20]
    journal.reinstate(first.visit_id, Verdict(VerdictCode.FLAT, "twice"))
    assert journal.visits()[0].verdict.text == "flat: after all"


def test_a_running_batch_is_found_after_a_crash(journal, tmp_path):
    journal.add_visits([NewVisit(CELL.key, 0, 7)])
    (visit,) = journal.planned(Purpose.SWEEP)
    batch_id, _ = journal.begin_batch({visit.visit_id: 490})
    journal.set_batch_process(batch_id, 123, 456)
    again = Journal.open(tmp_path / "c")
    (row,) = again.running_batches()
    assert (row.batch_id, row.pid, row.pid_started) == (batch_id, 123, 456)
    assert again.batch_visits(batch_id)[0].runtime_ms == 490
    again.close()


def test_left_out_cells_lose_their_planned_visits(journal):
    journal.add_visits([NewVisit(CELL.key, 0, 7)])
    journal.leave_out({CELL.key: "left out: budget"})
    assert journal.planned(Purpose.SWEEP) == []
    assert journal.cells() == [(CELL, "left out: budget")]


def test_no_visit_is_planned_that_a_later_check_refuses(journal):
    journal.leave_out({CELL.key: "left out: budget"})
    with pytest.raises(AssertionError):
        journal.add_visits([NewVisit(CELL.key, 0, 7)])
    assert journal.planned(Purpose.SWEEP) == []


def test_a_directory_without_a_journal_and_a_taken_one_are_told_apart(tmp_path, journal):
    with pytest.raises(UsageError, match="no journal"):
        Journal.open(tmp_path)
    with pytest.raises(UsageError, match="already here"):
        new_journal(tmp_path / "c")


def test_a_newer_or_damaged_journal_is_one_clear_error(tmp_path, journal):
    path = tmp_path / "c" / "journal.sqlite"
    link = sqlite3.connect(path)
    link.execute("PRAGMA user_version=99")
    link.close()
    with pytest.raises(IoAtlasError, match="format 99"):
        Journal.open(tmp_path / "c")
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(IoAtlasError, match="cannot be read"):
        Journal.open(tmp_path / "c")


def test_a_journal_of_an_unfinished_version_is_one_clear_error(tmp_path, journal):
    link = sqlite3.connect(tmp_path / "c" / "journal.sqlite")
    link.execute("alter table visit drop column design_json")
    link.close()
    with pytest.raises(IoAtlasError, match=r"visit\.design_json"):
        Journal.open(tmp_path / "c")


def test_files_are_known_until_they_are_removed(journal):
    journal.register_file("/mnt/t/.ioatlas-id1/shared.dat", "t", 10)
    assert journal.files("t") == {"/mnt/t/.ioatlas-id1/shared.dat": (10, False)}
    journal.file_ready("/mnt/t/.ioatlas-id1/shared.dat")
    assert journal.files("t") == {"/mnt/t/.ioatlas-id1/shared.dat": (10, True)}
    journal.file_removed("/mnt/t/.ioatlas-id1/shared.dat")
    assert journal.files("t") == {}


def test_visits_that_the_budget_ended_before_are_counted(journal):
    journal.add_visits([NewVisit(CELL.key, 0, 7), NewVisit(CELL.key, 1, 8, Purpose.PROBE)])
    assert journal.count_dropped(BUDGET_ENDED, Purpose.SWEEP) == 0
    journal.drop_planned("voided", purpose=Purpose.PROBE)
    journal.drop_planned(BUDGET_ENDED, purpose=Purpose.SWEEP)
    assert journal.count_dropped(BUDGET_ENDED, Purpose.SWEEP) == 1
    assert journal.count_dropped(BUDGET_ENDED, Purpose.FRESH) == 0


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("batch", "status", BatchStatus),
        ("remark", "kind", RemarkKind),
        ("visit", "purpose", Purpose),
        ("visit", "status", VisitStatus),
    ],
)
def test_the_schema_names_all_words_that_a_column_may_hold(table, column, words):
    (comment,) = (one.comment for one in TABLES[table].columns if one.name == column)
    assert comment == ", ".join(words)
