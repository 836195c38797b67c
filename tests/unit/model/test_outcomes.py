# SPDX-License-Identifier: Apache-2.0
"""Records of the journal: what was written before they had a version is read, what is newer is refused."""

import json

import pytest

from ioatlas.analysis.counters import CountedPath, CountedPaths
from ioatlas.errors import IoAtlasError
from ioatlas.model.outcomes import (
    ComputeSeconds,
    HoleCheck,
    IdleWatts,
    KeptMeter,
    KnownMemory,
    Meters,
    PreparedTarget,
    PreparedTargets,
    Voided,
    VoidedReplicate,
)
from ioatlas.store.journal import Journal

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
            {
                "target": "nas",
                "block": 1,
                "again": 4,
                "reason": "level -33%",
                "visits": 30,
                "discarded": 0,
                "effect": -0.33,
                "error": 0.01,
            }
        ],
    ),
    (ComputeSeconds(1.25), "compute_seconds", 1.25),
    (
        CountedPaths({"disk": CountedPath(("sda", "sdb")), "nas": CountedPath(nfs=True)}),
        "counted",
        {
            "disk": {"devices": ["sda", "sdb"], "interfaces": [], "nfs": False},
            "nas": {"devices": [], "interfaces": [], "nfs": True},
        },
    ),
]


@pytest.mark.parametrize(("record", "name", "early"), KNOWN, ids=[name for _, name, _ in KNOWN])
def test_a_record_is_read_as_it_was_written_early_and_now(record, name, early, tmp_path):
    journal = Journal.create(tmp_path)
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


def test_a_record_of_a_later_version_is_refused():
    with pytest.raises(IoAtlasError, match="'idle_watts' has version 2, this ioatlas reads up to 1"):
        IdleWatts.from_json({"version": 2, "watts": {}})
