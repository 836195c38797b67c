# SPDX-License-Identifier: Apache-2.0
"""The texts of a journal of version 1 are the values of the enumerations, and none can be added without this list."""

import pytest

from ioatlas.model.visit import BatchStatus, Purpose, RemarkKind, SectionState, VisitStatus
from ioatlas.store import schema

JOURNAL = {
    Purpose: ["sweep", "probe", "fresh", "sentinel", "before", "search", "curve", "beside"],
    VisitStatus: ["planned", "done", "discarded", "failed", "dropped"],
    BatchStatus: ["running", "done", "failed"],
    SectionState: ["finished", "cut-short", "over-run", "failed"],
    RemarkKind: ["warning", "left-out", "note"],
}


@pytest.mark.parametrize("kind", JOURNAL)
def test_the_texts_of_the_journal_stay(kind):
    assert [str(value) for value in kind] == JOURNAL[kind]
    assert [kind(text) for text in JOURNAL[kind]] == list(kind)


def test_the_word_of_today_is_read_as_well():
    assert Purpose("baseline") is Purpose.BASELINE
    with pytest.raises(ValueError, match="granules"):
        Purpose("granules")


def test_the_tables_name_every_text_they_hold():
    said = {
        (table, column.name): column.comment
        for table in ("visit", "batch", "remark")
        for column in schema.TABLES[table].columns
    }
    assert said["visit", "purpose"] == "sweep, probe, fresh, sentinel, before, search, curve, beside"
    assert said["visit", "status"] == "planned, done, discarded, failed, dropped"
    assert said["batch", "status"] == "running, done, failed"
    assert said["remark", "kind"] == "warning, left-out, note"
