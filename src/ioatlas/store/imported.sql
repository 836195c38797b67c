-- SPDX-License-Identifier: Apache-2.0
-- Imported readings. Of each record what is searched and sorted by is a column of its own, made when it is read.

CREATE TABLE import_run (
    import_id INTEGER PRIMARY KEY,
    started_at REAL NOT NULL,     -- seconds since the epoch
    tool_version TEXT NOT NULL,   -- of ioatlas
    label TEXT NOT NULL           -- what the user called these results; empty when nothing
);
CREATE TABLE reading (
    reading_id INTEGER PRIMARY KEY,
    import_id INTEGER NOT NULL REFERENCES import_run,
    digest BLOB NOT NULL UNIQUE,  -- BLAKE2b of the record, 16 bytes: the same reading is kept once
    record TEXT NOT NULL,         -- the JSON object of `ioatlas import --json`
    source TEXT GENERATED ALWAYS AS (json_extract(record, '$.source')) VIRTUAL,
    tool TEXT GENERATED ALWAYS AS (json_extract(record, '$.tool')) VIRTUAL,
    tool_version TEXT GENERATED ALWAYS AS (json_extract(record, '$.tool_version')) VIRTUAL,
    label TEXT GENERATED ALWAYS AS (json_extract(record, '$.label')) VIRTUAL,
    direction TEXT GENERATED ALWAYS AS (json_extract(record, '$.direction')) VIRTUAL,
    rw TEXT GENERATED ALWAYS AS (json_extract(record, '$.rw')) VIRTUAL,
    operation TEXT GENERATED ALWAYS AS (json_extract(record, '$.operation')) VIRTUAL,
    statistic TEXT GENERATED ALWAYS AS (json_extract(record, '$.statistic')) VIRTUAL,
    bs_bytes INTEGER GENERATED ALWAYS AS (json_extract(record, '$.bs_bytes')) VIRTUAL,
    size_bytes INTEGER GENERATED ALWAYS AS (json_extract(record, '$.size_bytes')) VIRTUAL,
    numjobs INTEGER GENERATED ALWAYS AS (json_extract(record, '$.numjobs')) VIRTUAL,
    iodepth INTEGER GENERATED ALWAYS AS (json_extract(record, '$.iodepth')) VIRTUAL,
    rwmixread REAL GENERATED ALWAYS AS (json_extract(record, '$.rwmixread')) VIRTUAL,
    iops REAL GENERATED ALWAYS AS (json_extract(record, '$.iops')) VIRTUAL,
    bw_bytes_per_s REAL GENERATED ALWAYS AS (json_extract(record, '$.bw_bytes_per_s')) VIRTUAL,
    lat_mean_ns REAL GENERATED ALWAYS AS (json_extract(record, '$.lat_mean_ns')) VIRTUAL,
    lat_p99_ns REAL GENERATED ALWAYS AS (json_extract(record, '$.lat_p99_ns')) VIRTUAL
);
CREATE TABLE problem (
    entry INTEGER PRIMARY KEY,
    import_id INTEGER NOT NULL REFERENCES import_run,
    text TEXT NOT NULL            -- what could not be read, one line
);
