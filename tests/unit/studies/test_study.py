# SPDX-License-Identifier: Apache-2.0
"""The studies that ship: read, their campaign files accepted as a user's, their claims about what is measured."""

import pytest
from bench.studies import measured
from bench.studies.set_up import campaign_document, ident_of, read_document
from bench.studies.study import NAMES, Claim, find_study, read_study, targets_of

from ioatlas.load.streams.fixed_work import iozone_round
from ioatlas.measure.campaign import open_plan
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.units import parse_size_bytes
from ioatlas_lab.network import octet_of
from ioatlas_lab.running import filled, find

OPERATIONS = [workload.streams[0].operation for workload in iozone_round(1 << 22, 1 << 14)]
FORMS = [(name, quick) for name in NAMES for quick in (False, True)]


@pytest.fixture(autouse=True)
def lab_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("IOATLAS_LAB_DIR", str(tmp_path / "lab"))


@pytest.mark.parametrize(("name", "quick"), FORMS)
def test_the_campaign_file_is_one_that_a_user_could_write(name, quick, tmp_path):
    study = find_study(name)
    spec = read_document(campaign_document(study, tmp_path / "c", quick=quick))
    made = targets_of(study, quick=quick)
    assert [one.name for one in spec.configurations] == [one.name for one in made]
    assert spec.blocked != study.together
    for one in made:
        scenario = find(one.scenario)
        scenario.build(filled(scenario, one.settings))


@pytest.mark.parametrize(("name", "quick"), FORMS)
def test_claims_are_about_factors_and_options_there_are(name, quick, tmp_path):
    """A claim about a level that no configuration has could never be decided."""
    study = find_study(name)
    spec = read_document(campaign_document(study, tmp_path / "c", quick=quick))
    levels = {}
    for made in targets_of(study, quick=quick):
        for factor, value in made.factors.items():
            levels.setdefault(factor, set()).add(value)
    for option, values in (*spec.axes.items(), *((name, [value]) for name, value in spec.constants.items())):
        levels.setdefault(option, set()).update(values)
    for pattern in spec.patterns:
        for option, value in pattern.items():
            levels.setdefault(option, set()).add(value)
    if spec.of(FixedWorkOptions).ordered:
        levels["operation"] = set(OPERATIONS)
    for claim in study.claim:
        for place in (claim.of, claim.over):
            for option, wanted in place.items():
                if option == "direction":
                    continue
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    assert value in levels[option], (claim.id, option, value)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_planned_before_anything_is_set_up(name, tmp_path):
    apart = find_study(name).model_copy(update={"together": False})
    plan = open_plan(read_document(campaign_document(apart, tmp_path / "c", quick=True)), ahead=True)
    assert {cell.target for cell in plan.to_measure} == {one.name for one in targets_of(apart, quick=True)}
    assert not any((tmp_path / "lab").glob("*")), "nothing was set up"


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_has_one_name(name):
    study = find_study(name)
    assert len({claim.id for claim in study.claim}) == len(study.claim)


def test_lab_targets_of_two_directories_have_different_names(tmp_path):
    study = find_study("nii2021")
    assert ident_of(study, tmp_path / "a", 1) != ident_of(study, tmp_path / "b", 1)
    assert ident_of(study, tmp_path / "a", 1) == ident_of(study, tmp_path / "a", 1)


@pytest.mark.parametrize("name", NAMES)
def test_lab_targets_of_a_study_have_different_networks(name, tmp_path):
    study = find_study(name)
    octets = [octet_of(ident_of(study, tmp_path, number)) for number in range(len(targets_of(study, quick=False)))]
    assert len(set(octets)) == len(octets)
    assert all(0 < octet < 255 for octet in octets)


def test_a_program_takes_part_where_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    study = find_study("osaka2017")
    assert "engine" not in study.campaign_of(quick=True)
    (tmp_path / "iozone").write_text("#!/bin/sh\n")
    (tmp_path / "iozone").chmod(0o755)
    assert study.campaign_of(quick=True)["engine"] == "both"
    spec = read_document(campaign_document(study, tmp_path / "c", quick=True))
    assert spec.of(FixedWorkOptions).engines == ("fio", "iozone")


def test_an_unknown_study_names_those_there_are():
    with pytest.raises(UsageError, match="no study") as caught:
        find_study("nii1999")
    assert "nii2021" in caught.value.remedy


def test_a_wrong_file_names_the_key():
    with pytest.raises(UsageError) as caught:
        read_study("name = 3", "x.toml")
    assert "x.toml: name" in caught.value.where


def test_a_ratio_needs_something_to_be_held_against():
    with pytest.raises(ValueError, match="held against"):
        Claim(id="a", says="b", published="c", of={"bs": 1})


@pytest.mark.parametrize(("rates", "is_short"), [((90e6,), False), ((90e6, 550e6), True)])
def test_work_that_was_done_before_the_drives_rate_held_is_told(rates, is_short):
    """The block I/O controller lets 100 ms of the rate pass at once."""
    options = {"rw": "read", "bs": 4096, "size": 128 << 20}
    assert measured._is_too_short(Cell.of("a", options | {"io_size": 128 << 20}), rates) == is_short
    assert not measured._is_too_short(Cell.of("a", options), rates), "it runs for a time"


def test_no_quick_form_is_done_before_its_drives_rate_holds():
    """Its file at the rate of ten drives takes longer than the least that counts."""
    study = find_study("osaka2017")
    for quick in (False, True):
        (size,) = study.campaign_of(quick=quick)["sweep"]["size"]
        most = max(
            one.settings.get("drives", 1) * one.settings["bw_bytes_per_s"] for one in targets_of(study, quick=quick)
        )
        assert parse_size_bytes(size) >= measured.LEAST_SECONDS * most
