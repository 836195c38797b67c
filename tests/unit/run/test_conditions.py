# SPDX-License-Identifier: Apache-2.0
"""What a session notes beside its loads: the client's own limits, the network, counters while a batch runs."""

import gzip
import json
import math
import os
import time

import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.machine.measured import Rate
from ioatlas.load.machine.power import PowerLog, PowerSample
from ioatlas.load.machine.telemetry import Sample, Watched
from ioatlas.measure.run import conditions
from ioatlas.measure.run.telemetry import RAW, BatchTelemetry, Seen
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.target import Target
from ioatlas.model.verdict import read_verdict
from ioatlas.model.visit import Histogram, Part, Purpose, Visit
from tests.simulate.executor import SimulatedExecutor

CELL = Cell.of("here", {"rw": "read", "bs": 4096, "size": 1 << 20, "ioengine": "psync"})


@pytest.fixture
def here(tmp_path):
    return Target("here", "directory", str(tmp_path))


def facts(record):
    return {fact["name"]: fact for fact in record["targets"]["here"]["facts"]}


def test_nothing_is_measured_where_it_was_not_asked_for(tmp_path, here):
    executor = SimulatedExecutor()
    record = conditions.conditions(executor, (here,), tmp_path, measure=False)
    assert executor.runs == 0
    assert not [name for name in facts(record) if name.startswith("measured.")]


def test_what_a_person_named_is_measured_alone_and_typed_facts_stand_first(tmp_path, here, monkeypatch):
    drive = tmp_path / "drive"
    drive.write_bytes(bytes(8 << 20))
    (tmp_path / conditions.FACTS_FILE).write_text(f'[measure]\niperf = "10.0.0.9:5999"\ndrive = "{drive}"\n')

    def rate(host, *, port, reverse, seconds):
        assert (host, port, seconds) == ("10.0.0.9", 5999, 2)
        if not reverse:
            raise IoAtlasError("iperf3 could not measure: no route")
        return Rate(117e6, 0.0, "iperf3")

    monkeypatch.setattr(conditions, "network_rate", rate)
    found = facts(conditions.conditions(SimulatedExecutor(), (here,), tmp_path))
    assert found["measured.network_read"]["value"] == 117_000_000
    assert found["measured.network_write"]["value"] is None
    assert found["measured.network_write"]["note"] == "iperf3 could not measure: no route"
    assert found["measured.drive_read"]["value"] > 0


def test_counters_of_a_batch_are_kept_raw_and_told_for_each_visit(tmp_path):
    telemetry = BatchTelemetry(Watched())
    telemetry.start([Section(1, CELL, 1, 100, 0, (("filename", "/x"),))])
    telemetry.watch(os.getpid())
    end = time.monotonic() + 0.35
    while time.monotonic() < end:
        sum(range(10_000))
    seen = telemetry.stop(tmp_path)
    lines = [json.loads(line) for line in gzip.decompress((tmp_path / RAW).read_bytes()).splitlines()]
    assert [line["at"] for line in lines] == [sample.at for sample in seen.samples]
    assert len(lines) >= 2
    # As long as it was read: a busy machine reads late.
    begin, end = seen.samples[0].at, seen.samples[-1].at
    part = Part("read", 4096, 1, math.ceil((end - begin) * 1000), 1.0, Histogram(((1, 1),)), None)
    inside, never = (
        Visit(number, CELL.key, 1, 0, 0, 1, at, (part,), 0, 0.0, Purpose.SWEEP, 0, read_verdict("flat"), ())
        for number, at in ((1, begin), (2, begin - 1000))
    )
    record = seen.record([inside, never])
    assert list(record["visits"]) == ["1"], "a visit outside what was read has no counters"
    assert record["telemetry_seconds"] > 0
    assert "watts" not in record
    assert "meters_failed" not in record


def test_watts_of_a_visit_are_those_of_its_window(tmp_path):
    """A meter that is asked each second; the visit's window is its seconds 2 to 4."""
    watts = tuple(PowerSample("wall", 100.0 + at, 100.0 + at, 10.0 * at) for at in range(6))
    log = PowerLog(())
    log.failures["pdu"] = "no answer"
    seen = Seen((Sample(100.0, 0.0, {}), Sample(105.0, 5.0, {})), watts, 0.01, log)
    part = Part("read", 4096, 1, 4000, 1.0, Histogram(((1, 1),)), None)
    visit = Visit(7, CELL.key, 1, 0, 0, 1, 100.0, (part,), window_start_ms=2000)
    record = seen.record([visit])
    assert record["visits"]["7"]["watts"] == {"wall": 30.0}
    assert record["watts"] == {"wall": 25.0}
    assert record["meters_failed"] == {"pdu": "no answer"}
    assert record["telemetry_seconds"] == 0.01


def test_telemetry_that_was_not_begun_has_nothing_to_tell():
    seen = BatchTelemetry(Watched()).stop()
    assert seen.samples == ()
    assert seen.record([]) == {"visits": {}, "telemetry_seconds": 0.0}
