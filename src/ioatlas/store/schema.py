# SPDX-License-Identifier: Apache-2.0
"""Tables of the journal, one SQLite file in the campaign's directory.

Format history (the file's `PRAGMA user_version`):
  1  first version.
  2  the plan may hold configurations, which are set up before they are measured; records of one of them have its name
     behind an @.
  3  visits may be made by several clients; their shares stand in the table client_part, which other journals lack.
  4  visits may load several targets together; their shares stand in the table target_part, which other journals lack.
  5  configurations may be set up several times; replicates of the second time count from 100,000, and so on.
  6  writes may wait for flushes, whose times stand in the table flush_part, which other journals lack.
A new journal has the newest format. Before version 0.4 it had the first one that its plan needed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Float, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

from ioatlas.model.visit import BatchStatus, Purpose, RemarkKind, VisitStatus

VERSION = 6
FIRST_VERSION = 1
FORMAT_OF_CLIENTS = 3
FORMAT_OF_GROUPS = 4
FORMAT_OF_FLUSHES = 6

metadata = MetaData()
metadata_of_clients = MetaData()
"""Tables of journals whose visits several clients make."""
metadata_of_groups = MetaData()
"""Tables of journals whose visits load several targets together."""
metadata_of_flushes = MetaData()
"""Tables of journals whose writes wait for flushes."""


def _texts(values: type[StrEnum]) -> str:
    return ", ".join(values)


def _share_columns(common: str, own: str) -> list[Column[Any]]:
    """What is kept of a share of a part."""
    return [
        Column("stream", Text, primary_key=True, default=""),
        Column("direction", Text, primary_key=True),
        Column("started_at", Float, nullable=False, comment="by the controller's clock"),
        Column("runtime_ms", Float, nullable=False, comment=own),
        Column("io_bytes", Integer, nullable=False, comment=common),
        Column("total_ios", Integer, nullable=False),
        Column("bw_bytes_per_s", Float, nullable=False),
        Column("lat_mean_ns", Float),
        Column("lat_p99_ns", Float),
    ]


def metadata_of(version: int) -> tuple[MetaData, ...]:
    """All tables of a journal of a format, in groups."""
    more = (
        (FORMAT_OF_CLIENTS, metadata_of_clients),
        (FORMAT_OF_GROUPS, metadata_of_groups),
        (FORMAT_OF_FLUSHES, metadata_of_flushes),
    )
    return (metadata, *(each for least, each in more if version >= least))


campaign = Table(
    "campaign",
    metadata,
    Column("campaign_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at", Float, nullable=False, comment="seconds since the epoch"),
    Column("tool_version", Text, nullable=False),
    Column("plan_json", Text, nullable=False, comment="the campaign as it was asked for, normalised"),
    Column("complete", Integer, nullable=False, default=0),
)

session = Table(
    "session",
    metadata,
    Column("session_id", Integer, primary_key=True),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("testbed_json", Text, nullable=False),
)

target = Table(
    "target",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("identity_json", Text, nullable=False),
    Column("size_bytes", Integer),
    Column("logical_block_bytes", Integer, nullable=False),
    Column("ioengine", Text),
)

cell = Table(
    "cell",
    metadata,
    Column("cell_key", Text, primary_key=True),
    Column("position", Integer, nullable=False, comment="place in the sweep"),
    Column("target", Text, nullable=False),
    Column("options_json", Text, nullable=False),
    Column("sharing", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column(
        "streams_json",
        Text,
        nullable=False,
        default="[]",
        comment="[[name, options], ...] of a load of several streams at once",
    ),
    Column(
        "reason", Text, nullable=False, default="", comment="why it is not measured; empty when it is to be measured"
    ),
)

visit = Table(
    "visit",
    metadata,
    Column("visit_id", Integer, primary_key=True),
    Column("cell_key", Text, ForeignKey("cell.cell_key"), nullable=False),
    Column("block", Integer, nullable=False, comment="the replicate, a randomised pass over the cells"),
    Column("seed", Integer, nullable=False),
    Column("purpose", Text, nullable=False, comment=_texts(Purpose)),
    Column("alone", Integer, nullable=False, default=0, comment="in a fio of its own"),
    Column("runtime_ms", Integer, comment="how long its load was asked to run"),
    Column("design_json", Text, comment="why the adaptive design asked for it and what it predicted before"),
    Column("status", Text, nullable=False, default=VisitStatus.PLANNED, comment=_texts(VisitStatus)),
    Column("batch_id", Integer, ForeignKey("batch.batch_id")),
    Column("section", Integer),
    Column("started_at", Float),
    Column("error", Integer),
    Column("cpu_percent", Float),
    Column("window_start_ms", Integer),
    Column("verdict", Text),
    Column("reason", Text, nullable=False, default="", comment="why it was discarded, failed or dropped"),
)

part = Table(
    "part",
    metadata,
    Column("visit_id", Integer, ForeignKey("visit.visit_id"), primary_key=True),
    Column(
        "stream", Text, primary_key=True, default="", comment="of several streams at once; empty when the load is one"
    ),
    Column("direction", Text, primary_key=True),
    Column("io_bytes", Integer, nullable=False),
    Column("total_ios", Integer, nullable=False),
    Column("runtime_ms", Float, nullable=False),
    Column("lat_mean_ns", Float),
    Column("lat_kind", Text, nullable=False),
    Column("short_ios", Integer, nullable=False, default=0),
    Column("drop_ios", Integer, nullable=False, default=0),
    Column("histogram", LargeBinary, nullable=False, comment="zlib of JSON [[latency_ns, count], ...]"),
    Column(
        "series", LargeBinary, nullable=False, comment="zlib of JSON {interval_ms, end_ms, bw_bytes_per_s, lat_mean_ns}"
    ),
)

client_part = Table(
    "client_part",
    metadata_of_clients,
    Column("visit_id", Integer, primary_key=True),
    Column("client", Text, primary_key=True),
    *_share_columns("in the time in which all clients ran", "of the client alone"),
    Column("clock_error_ms", Float, nullable=False, default=0.0),
    Column("series", LargeBinary, nullable=False, comment="as of a part"),
)

target_part = Table(
    "target_part",
    metadata_of_groups,
    Column("visit_id", Integer, primary_key=True),
    Column("target", Text, primary_key=True),
    *_share_columns("in the time in which all were loaded", "of the target alone"),
    Column("series", LargeBinary, nullable=False, comment="as of a part"),
)

flush_part = Table(
    "flush_part",
    metadata_of_flushes,
    Column("visit_id", Integer, primary_key=True),
    Column("stream", Text, primary_key=True, default=""),
    Column("direction", Text, primary_key=True),
    Column("flushes", Integer, nullable=False),
    Column("mean_ns", Float, nullable=False, comment="of a flush"),
    Column("histogram", LargeBinary, nullable=False, comment="of the flushes, as of a part"),
    Column("write_mean_ns", Float, nullable=False, comment="of a write without its flush"),
    Column("write_histogram", LargeBinary, nullable=False, comment="of the writes without their flushes"),
)

prediction = Table(
    "prediction",
    metadata,
    Column("cell_key", Text, ForeignKey("cell.cell_key"), primary_key=True),
    Column("iops", Float, nullable=False),
    Column("iops_low", Float, nullable=False, comment="90% prediction interval of one reading"),
    Column("iops_high", Float, nullable=False),
    Column("lat_p99_ns", Float),
    Column("lat_p99_low_ns", Float),
    Column("lat_p99_high_ns", Float),
    Column("method", Text, nullable=False),
)

outcome = Table(
    "outcome",
    metadata,
    Column("name", Text, primary_key=True, comment="what was found out about the campaign as a whole"),
    Column("value_json", Text, nullable=False),
)

batch = Table(
    "batch",
    metadata,
    Column("batch_id", Integer, primary_key=True),
    Column("directory", Text, nullable=False, comment="below the campaign's directory"),
    Column("status", Text, nullable=False, comment=_texts(BatchStatus)),
    Column("started_at", Float, nullable=False),
    Column("seconds", Float),
    Column("pid", Integer),
    Column("pid_started", Integer, comment="clock ticks since boot"),
    Column("exit_code", Integer),
    Column("load_seconds", Float, comment="time its sections' loads ran"),
    Column("note", Text, nullable=False, default=""),
    Column(
        "usage_json", Text, comment="what the client's processors, disks and network did meanwhile, by kernel counters"
    ),
)

file_made = Table(
    "file_made",
    metadata,
    Column("path", Text, primary_key=True, comment="written before the file is created"),
    Column("target", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("size_bytes", Integer, nullable=False, default=0),
    Column("ready", Integer, nullable=False, default=0, comment="laid out in full"),
    Column("removed_at", Float),
)

ledger = Table(
    "ledger",
    metadata,
    Column("entry", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("target", Text, nullable=False),
    Column("what", Text, nullable=False, comment="lay-out, write load, trim load"),
    Column("bytes", Integer, nullable=False),
)

remark = Table(
    "remark",
    metadata,
    Column("entry", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", Text, nullable=False, comment=_texts(RemarkKind)),
    Column("text", Text, nullable=False),
)
