# SPDX-License-Identifier: Apache-2.0
"""Records of the journal: what was written before they had a version is read, what is newer is refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ioatlas.answer.analysis.counters import CountedPath, CountedPaths
from ioatlas.measure.procedures.tune.result import Refuted, TuneEnd, TuneGoal, Unrunnable
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.outcomes import (
    Chosen,
    HighestLoad,
    HighestLoads,
    HoleCheck,
    IdleWatts,
    Integrity,
    IntegrityCheck,
    KeptMeter,
    KnownMemory,
    Meters,
    PreparedTarget,
    PreparedTargets,
    SniaPass,
    SniaPasses,
    Voided,
    VoidedReplicate,
    of_plain,
    plain,
)
from ioatlas.model.visit import (
    BatchStatus,
    Histogram,
    Part,
    Purpose,
    RemarkKind,
    SectionState,
    Series,
    Visit,
    VisitShare,
    VisitStatus,
)
from ioatlas.plan.latency_search import Goal
from ioatlas.store import schema
from tests.unit.simulated import new_journal

KNOWN = [
    (
        PreparedTargets({"disk": PreparedTarget("filled", 1 << 30, "disk/")}),
        "prepared",
        {"disk": {"state": "filled", "end_bytes": 1 << 30, "once": "disk/"}},
    ),
    (
        Meters((KeptMeter("plug", "target", "http"), KeptMeter("shelf", "client", "typed in", 12.5))),
        "meters",
        [
            {"name": "plug", "of": "target", "source": "http", "loaded_watts": None},
            {"name": "shelf", "of": "client", "source": "typed in", "loaded_watts": 12.5},
        ],
    ),
    (IdleWatts({"plug": 40.0, "version": 6.5}), "idle_watts", {"plug": 40.0, "version": 6.5}),
    (HoleCheck(frozenset({"b", "a"})), "hollow", ["a", "b"]),
    (KnownMemory({"client": 1 << 34, "server": 1 << 35}), "memory", {"client": 1 << 34, "server": 1 << 35}),
    (
        Voided((VoidedReplicate("nas", 1, 4, "level -33%", 30, 0, -0.33, 0.01),)),
        "voided",
        [
            {"target": "nas", "block": 1, "again": 4, "reason": "level -33%"}
            | {"visits": 30, "discarded": 0, "effect": -0.33, "error": 0.01}
        ],
    ),
    (Chosen(240), "chosen", 240),
    (
        Integrity((IntegrityCheck("nas", 4096, 8, 1 << 20, 1 << 20, 1 << 20, 0, 0, ""),)),
        "integrity",
        [
            {"target": "nas", "bs_bytes": 4096, "iodepth": 8, "size_bytes": 1 << 20, "written_bytes": 1 << 20}
            | {"read_bytes": 1 << 20, "mismatches": 0, "error": 0, "message": ""}
        ],
    ),
    (
        SniaPasses({"ssd/bs 4 KiB": SniaPass("discarded", 3, "steady state met")}),
        "rounds",
        {"ssd/bs 4 KiB": {"purge": "discarded", "first": 3, "ended": "steady state met"}},
    ),
    (
        HighestLoads().with_load("nas", "video", HighestLoad(900.0, "response time", 1000.0, 7)),
        "stream_loads",
        {"nas\tvideo": {"iops": 900.0, "limited_by": "response time", "refused": 1000.0, "trials": 7}},
    ),
    (
        TuneGoal(Goal("mean", 5e6, 16, 32)),
        "tune",
        {"quantity": "mean", "limit_ns": 5e6, "max_jobs": 16, "max_depth": 32, "exceed_ratio": 0.5, "trials": 3},
    ),
    (TuneEnd("budget"), "tune_ended", "budget"),
    (Refuted(((1, 8), (2, 16))), "tune_refuted", [[1, 8], [2, 16]]),
    (Unrunnable(((64, 256),)), "tune_failed", [[64, 256]]),
    (
        CountedPaths({"disk": CountedPath(("sda", "sdb")), "nas": CountedPath(nfs=True)}),
        "counted",
        {
            "disk": {"devices": ["sda", "sdb"], "interfaces": [], "nfs": False, "caches": []},
            "nas": {"devices": [], "interfaces": [], "nfs": True, "caches": []},
        },
    ),
]


@pytest.mark.parametrize(("record", "name", "early"), KNOWN, ids=[name for _, name, _ in KNOWN])
def test_a_record_is_read_as_it_was_written_early_and_now(record, name, early, tmp_path):
    journal = new_journal(tmp_path)
    try:
        kind = type(record)
        assert (journal.is_kept(kind), journal.kept(kind)) == (False, kind())
        journal.set_outcome(name, early)
        assert (journal.is_kept(kind), journal.kept(kind)) == (True, record)
        journal.keep(record)
        assert journal.kept(kind) == record
        assert journal.outcomes()[name] == {"version": 1, kind.CONTENT: json.loads(json.dumps(early))}
        journal.keep(kind())
        assert (journal.is_kept(kind), journal.kept(kind)) == (True, kind())
    finally:
        journal.close()


def test_a_path_that_was_kept_before_flushes_were_counted_has_no_caches():
    told = {"disk": {"devices": ["sda"], "interfaces": [], "nfs": False}}
    assert CountedPaths.from_json(told) == CountedPaths({"disk": CountedPath(("sda",))})


def test_a_record_of_a_later_version_is_refused():
    with pytest.raises(IoAtlasError, match="'idle_watts' has version 2, this ioatlas reads up to 1"):
        IdleWatts.from_json({"version": 2, "watts": {}})


def test_a_pass_that_was_only_prepared_is_read():
    assert SniaPasses.from_json({"ssd/": {"purge": "none", "first": 0}}).passes == {"ssd/": SniaPass("none")}


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


@dataclass(frozen=True)
class Inner:
    name: str
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    sizes: tuple[int, ...] = ()
    pairs: tuple[tuple[int, str], ...] = ()
    names: frozenset[str] = frozenset()
    by_name: Mapping[str, Inner] = field(default_factory=dict)


WHOLE = Outer(Inner("a", 0.5), (1, 2), ((1, "x"), (2, "y")), frozenset({"b", "a"}), {"k": Inner("c")})


@pytest.mark.parametrize("value", [WHOLE, Outer(Inner("a"))])
def test_what_was_written_is_read_back(value):
    assert of_plain(Outer, json.loads(json.dumps(plain(value)))) == value


def test_a_field_that_was_not_kept_has_its_default():
    assert of_plain(Outer, {"inner": {"name": "a"}}) == Outer(Inner("a"))


@pytest.mark.parametrize("content", [3, {}, {"inner": 3}, {"inner": {"name": "a"}, "sizes": ["x"]}, {"other": 1}])
def test_what_is_none_is_refused(content):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        of_plain(Outer, content)


def test_the_longest_client_tells_how_long_a_load_ran():
    common = Part("read", 1, 1, 2700, 1e6, Histogram(), Series(0))
    alone = Visit(1, "k", 1, 0, 0, 7, 1000.0, (common,))
    assert alone.ran_ms == 2700
    clients = (
        VisitShare("read", 1000.0, 3100, 1, 1, 1.0, name="a"),
        VisitShare("read", 1000.3, 3400, 1, 1, 1.0, name="b"),
    )
    assert Visit(1, "k", 1, 0, 0, 7, 1000.0, (common,), clients=clients).ran_ms == 3400
