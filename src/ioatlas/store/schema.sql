-- SPDX-License-Identifier: Apache-2.0
-- The tables of a journal, each behind those it refers to. A comment behind a column says what it holds.

CREATE TABLE batch (
    batch_id INTEGER NOT NULL,
    directory TEXT NOT NULL,  -- below the campaign's directory
    status TEXT NOT NULL,  -- running, done, failed
    started_at FLOAT NOT NULL,
    seconds FLOAT,
    pid INTEGER,
    pid_started INTEGER,  -- clock ticks since boot
    exit_code INTEGER,
    load_seconds FLOAT,  -- time its sections' loads ran
    note TEXT NOT NULL,
    usage_json TEXT,  -- what the client's processors, disks and network did meanwhile, by kernel counters
    PRIMARY KEY (batch_id)
);
CREATE TABLE campaign (
    campaign_id TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at FLOAT NOT NULL,  -- seconds since the epoch
    tool_version TEXT NOT NULL,
    plan_json TEXT NOT NULL,  -- the campaign as it was asked for, normalised
    complete INTEGER NOT NULL,
    PRIMARY KEY (campaign_id)
);
CREATE TABLE cell (
    cell_key TEXT NOT NULL,
    position INTEGER NOT NULL,  -- place in the sweep
    target TEXT NOT NULL,
    options_json TEXT NOT NULL,
    sharing TEXT NOT NULL,
    state TEXT NOT NULL,
    streams_json TEXT NOT NULL,  -- [[name, options], ...] of a load of several streams at once
    reason TEXT NOT NULL,  -- why it is not measured; empty when it is to be measured
    PRIMARY KEY (cell_key)
);
CREATE TABLE file_made (
    path TEXT NOT NULL,  -- written before the file is created
    target TEXT NOT NULL,
    created_at FLOAT NOT NULL,
    size_bytes INTEGER NOT NULL,
    ready INTEGER NOT NULL,  -- laid out in full
    removed_at FLOAT,
    PRIMARY KEY (path)
);
CREATE TABLE ledger (
    entry INTEGER NOT NULL,
    at FLOAT NOT NULL,
    target TEXT NOT NULL,
    what TEXT NOT NULL,  -- lay-out, write load, trim load
    bytes INTEGER NOT NULL,
    PRIMARY KEY (entry)
);
CREATE TABLE outcome (
    name TEXT NOT NULL,  -- what was found out about the campaign as a whole
    value_json TEXT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE remark (
    entry INTEGER NOT NULL,
    at FLOAT NOT NULL,
    kind TEXT NOT NULL,  -- warning, left-out, note
    text TEXT NOT NULL,
    PRIMARY KEY (entry)
);
CREATE TABLE session (
    session_id INTEGER NOT NULL,
    started_at FLOAT NOT NULL,
    ended_at FLOAT,
    testbed_json TEXT NOT NULL,
    PRIMARY KEY (session_id)
);
CREATE TABLE target (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    location TEXT NOT NULL,
    identity_json TEXT NOT NULL,
    size_bytes INTEGER,
    logical_block_bytes INTEGER NOT NULL,
    ioengine TEXT,
    PRIMARY KEY (name)
);
CREATE TABLE prediction (
    cell_key TEXT NOT NULL,  -- up to version 0.3: what a model said of a cell that was not measured
    iops FLOAT NOT NULL,
    iops_low FLOAT NOT NULL,
    iops_high FLOAT NOT NULL,
    lat_p99_ns FLOAT,
    lat_p99_low_ns FLOAT,
    lat_p99_high_ns FLOAT,
    method TEXT NOT NULL,
    PRIMARY KEY (cell_key),
    FOREIGN KEY (cell_key) REFERENCES cell (cell_key)
);
CREATE TABLE visit (
    visit_id INTEGER NOT NULL,
    cell_key TEXT NOT NULL,
    block INTEGER NOT NULL,  -- the replicate, a randomised pass over the cells
    seed INTEGER NOT NULL,
    purpose TEXT NOT NULL,  -- sweep, probe, fresh, sentinel, before, search, curve, beside
    alone INTEGER NOT NULL,  -- in a fio of its own
    runtime_ms INTEGER,  -- how long its load was asked to run
    design_json TEXT,  -- up to version 0.3: why it was asked for
    status TEXT NOT NULL,  -- planned, done, discarded, failed, dropped
    batch_id INTEGER,
    section INTEGER,
    started_at FLOAT,
    error INTEGER,
    cpu_percent FLOAT,
    window_start_ms INTEGER,
    verdict TEXT,
    reason TEXT NOT NULL,  -- why it was discarded, failed or dropped
    PRIMARY KEY (visit_id),
    FOREIGN KEY (cell_key) REFERENCES cell (cell_key),
    FOREIGN KEY (batch_id) REFERENCES batch (batch_id)
);
CREATE TABLE part (
    visit_id INTEGER NOT NULL,
    stream TEXT NOT NULL,  -- of several streams at once; empty when the load is one
    direction TEXT NOT NULL,
    io_bytes INTEGER NOT NULL,
    total_ios INTEGER NOT NULL,
    runtime_ms FLOAT NOT NULL,
    lat_mean_ns FLOAT,
    lat_kind TEXT NOT NULL,
    short_ios INTEGER NOT NULL,
    drop_ios INTEGER NOT NULL,
    histogram BLOB NOT NULL,  -- zlib of JSON [[latency_ns, count], ...]
    series BLOB NOT NULL,  -- zlib of JSON {interval_ms, end_ms, bw_bytes_per_s, lat_mean_ns}
    PRIMARY KEY (visit_id, stream, direction),
    FOREIGN KEY (visit_id) REFERENCES visit (visit_id)
);
CREATE TABLE client_part (
    visit_id INTEGER NOT NULL,
    client TEXT NOT NULL,
    stream TEXT NOT NULL,
    direction TEXT NOT NULL,
    started_at FLOAT NOT NULL,  -- by the controller's clock
    runtime_ms FLOAT NOT NULL,  -- of the client alone
    io_bytes INTEGER NOT NULL,  -- in the time in which all clients took part
    total_ios INTEGER NOT NULL,
    bw_bytes_per_s FLOAT NOT NULL,
    lat_mean_ns FLOAT,
    lat_p99_ns FLOAT,
    clock_error_ms FLOAT NOT NULL,
    series BLOB NOT NULL,  -- as of a part
    PRIMARY KEY (visit_id, client, stream, direction)
);
CREATE TABLE target_part (
    visit_id INTEGER NOT NULL,
    target TEXT NOT NULL,
    stream TEXT NOT NULL,
    direction TEXT NOT NULL,
    started_at FLOAT NOT NULL,  -- by the controller's clock
    runtime_ms FLOAT NOT NULL,  -- of the target alone
    io_bytes INTEGER NOT NULL,  -- in the time in which all targets took part
    total_ios INTEGER NOT NULL,
    bw_bytes_per_s FLOAT NOT NULL,
    lat_mean_ns FLOAT,
    lat_p99_ns FLOAT,
    series BLOB NOT NULL,  -- as of a part
    PRIMARY KEY (visit_id, target, stream, direction)
);
CREATE TABLE flush_part (
    visit_id INTEGER NOT NULL,
    stream TEXT NOT NULL,
    direction TEXT NOT NULL,
    flushes INTEGER NOT NULL,
    mean_ns FLOAT NOT NULL,  -- of a flush
    histogram BLOB NOT NULL,  -- of the flushes, as of a part
    write_mean_ns FLOAT NOT NULL,  -- of a write without its flush
    write_histogram BLOB NOT NULL,  -- of the writes without their flushes
    PRIMARY KEY (visit_id, stream, direction)
);
