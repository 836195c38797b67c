# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import date

import pytest
from tests.unit.bundle.made import campaign

from ioatlas.answer.product.sheet_file import read_sheet
from ioatlas.measure.campaign import load_result
from ioatlas.model.result import Unmeasured
from ioatlas.model.verdict import read_unmeasured
from ioatlas_atlas.extract import title_of
from ioatlas_atlas.extracted import kind_of, media_of
from ioatlas_atlas.fairness import Condition, Declaration, Grade, State, Told, checklist, grade, publication

TODAY = date(2026, 11, 23)
SHEET = """
format = 1
[source]
name = "price list"
date = 2026-11-01
[product]
vendor = "Example"
model = "NAS-8"
firmware = "7.2"
[[drives]]
count = 8
capacity = "8 TB"
[layout]
type = "raid6"
[[price]]
what = "all of it"
each = 4200
currency = "USD"
"""
SILENT = '[publishing]\nlicence = "says nothing"\n'


def sheet(rest=SILENT):
    return read_sheet(SHEET + rest)


@pytest.fixture(scope="module")
def result():
    return load_result(campaign("dense"))


def told(conditions):
    return {one.name: one.told for one in conditions}


def test_what_the_product_sheet_tells_is_told_and_what_is_missing_says_what_to_do(result):
    with_sheet = checklist(result, sheet(), Declaration("", ""), signed=True, licence="CC0-1.0")
    assert {"product", "drives and layout", "price", "firmware", "sponsor", "signature"} <= {
        one.name for one in with_sheet if one.told is Told.YES
    }
    without = checklist(result, None, Declaration(), signed=False)
    assert told(without)["product"] is Told.NO
    assert told(without)["sponsor"] is Told.NO
    assert all(one.todo for one in without if one.told is Told.NO and one.name in ("product", "price", "sponsor"))


def test_a_campaign_that_was_stopped_is_not_complete_and_costs_a_grade(result):
    stopped = replace(result, complete=False)
    assert told(checklist(stopped, sheet(), Declaration("", ""), signed=True))["complete"] is Told.NO


def test_cells_that_were_left_out_are_counted_though_the_campaign_came_to_its_end(result):
    one = result.estimates[0].cell
    lost = tuple(Unmeasured(replace(one, target=f"t{n}"), read_unmeasured("budget")) for n in (1, 2, 3))
    cut = checklist(replace(result, unmeasured=lost), sheet(), Declaration("", ""), signed=True)
    (complete,) = (each for each in cut if each.name == "complete")
    cells = len({each.cell.key for each in result.estimates}) + 3
    assert (complete.told, complete.text) == (Told.PARTLY, f"3 of {cells} cells were left out")


def test_a_title_is_product_protocol_and_size(result):
    assert title_of(result, sheet()).startswith("Example NAS-8, local, ")
    assert title_of(result, None).startswith("Unnamed product, local, ")


@pytest.mark.parametrize(
    ("said", "kind"),
    [("NAS", "NAS"), ("all-flash array", "array"), ("disk array", "array"), ("cloud volume", "cloud volume"),
     ("block virtualisation", "software"), ("NVMe SSD", "drive"), ("", "")],
)  # fmt: skip
def test_the_words_of_a_sheet_tell_its_kind(said, kind):
    assert kind_of(said) == kind


@pytest.mark.parametrize(
    ("drives", "media"),
    [("8 x 4 TB SATA SSD", "flash"), ("4 x 3 TB 7,200 rpm", "spindles"), ("8 x 8 TB (WD80)", ""),
     ("4 x 3 TB 7,200 rpm, 2 x 1 TB NVMe as cache", "flash and spindles")],
)  # fmt: skip
def test_the_words_of_its_drives_tell_its_media(drives, media):
    assert media_of(drives) == media


def test_each_value_without_an_interval_is_counted(result):
    bare = replace(
        result, estimates=tuple(replace(one, bw_low=None, iops_low=None) for one in result.estimates if one.iops)
    )
    found = next(one for one in checklist(bare, sheet(), Declaration(), signed=True) if one.name == "intervals")
    assert found.told is Told.NO
    assert found.text.startswith("0 of ")


@pytest.mark.parametrize(
    ("missing", "needed", "grades"),
    [(0, 0, Grade.A), (2, 0, Grade.B), (0, 1, Grade.C), (3, 2, Grade.C), (0, 3, Grade.D)],
)
def test_the_grade_follows_from_what_is_missing(missing, needed, grades):
    made = [Condition("x", Told.NO, False, "")] * missing + [Condition("y", Told.PARTLY, True, "")] * needed
    made += [Condition("z", Told.YES, True, ""), Condition("link", Told.NOT_APPLICABLE, True, "")]
    assert grade(made) is grades


@pytest.mark.parametrize(
    ("rest", "declared", "state"),
    [
        (SILENT, Declaration(), State.PUBLIC),
        ('[publishing]\nlicence = "yes"\n', Declaration(), State.PUBLIC),
        ('[publishing]\nlicence = "no"\n', Declaration(), State.PRIVATE),
        ('[publishing]\nlicence = "ask first"\n', Declaration(), State.PRIVATE),
        ('[publishing]\nlicence = "ask first"\n', Declaration(permission="J. Doe, 2026-11-02"), State.PUBLIC),
        ('[publishing]\nlicence = "no"\npermission = "J. Doe"\n', Declaration(), State.PUBLIC),
        ("", Declaration(), State.PRIVATE),
        (SILENT, Declaration(embargo="2026-11-24"), State.EMBARGOED),
        (SILENT, Declaration(embargo="2026-11-23"), State.PUBLIC),
        ('[publishing]\nlicence = "no"\n', Declaration(embargo="2026-11-24"), State.PRIVATE),
    ],
)
def test_a_result_is_public_only_when_licence_and_embargo_allow_it(rest, declared, state):
    said = publication(sheet(rest).publishing, declared, TODAY)
    assert said.state is state
    assert said.reason


def test_withdrawn_and_flagged_stand_before_all_else():
    assert publication(None, Declaration(), TODAY).state is State.PUBLIC
    assert publication(None, Declaration(), TODAY, wants_private=True).state is State.PRIVATE
    assert publication(None, Declaration(), TODAY, flagged="10 times its like").state is State.FLAGGED
