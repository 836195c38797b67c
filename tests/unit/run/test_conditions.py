# SPDX-License-Identifier: Apache-2.0
"""What a session notes beside its loads, what a person typed serves for, and what a host is asked before a load."""

import gzip
import json
import math
import os
import time
from types import SimpleNamespace

import pytest

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.held import moved, reached
from ioatlas.load.fleet.hosts import Host
from ioatlas.load.machine.measured import Rate
from ioatlas.load.machine.power import PowerLog, PowerSample
from ioatlas.load.machine.telemetry import Sample, Watched
from ioatlas.measure.run import conditions, environment, set_up
from ioatlas.measure.run.set_up import Consent, confirm_writing
from ioatlas.measure.run.telemetry import RAW, BatchTelemetry, Seen
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, RefusedError
from ioatlas.model.target import Target
from ioatlas.model.verdict import read_verdict
from ioatlas.model.visit import Histogram, Part, Purpose, Visit
from ioatlas.target.opening import MARKER
from ioatlas.target.workspace import Workspace, directory_name
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


SIZE = "134217728"


@pytest.fixture
def drives(monkeypatch):
    """Three drives of one size without serial numbers; the third has a second name."""

    def confirm(target, typed):
        if typed != SIZE:
            raise RefusedError("not confirmed", where=target.location)

    monkeypatch.setattr(set_up, "check_before_start", lambda _target, writes: None)
    monkeypatch.setitem(set_up.CONFIRMS, "block", ("destroy", confirm))
    places = {"a": "/dev/1", "b": "/dev/2", "c": "/dev/3", "again": "/dev/3"}
    return [SimpleNamespace(name=name, kind="block", location=place) for name, place in places.items()]


PLAN = SimpleNamespace(writes=lambda _name: True)


def test_a_size_that_was_typed_once_confirms_one_drive(drives):
    with pytest.raises(RefusedError) as refused:
        confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE)), drives)
    assert refused.value.where == "/dev/3"
    confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE, SIZE)), drives)


def test_what_stands_in_a_table_of_its_own_serves_beside(drives):
    confirm_writing(PLAN, Consent(destroy=(SIZE, SIZE), own={"b": {"destroy": SIZE}}), drives)


@pytest.mark.parametrize("forged", ["", '{"campaign_id": "c"}'], ids=["away", "forged"])
def test_a_host_looks_for_the_marker_of_the_directory_that_is_held(tmp_path, monkeypatch, forged):
    target, asked = Target("t", "directory", str(tmp_path)), []
    host = Host("alpha", "ssh")
    fleet = SimpleNamespace(
        fleet=SimpleNamespace(hosts=[host]),
        clients={"alpha": SimpleNamespace(name="alpha")},
        path_on=lambda _host, path: path,
        hold=lambda _name, _path, text: asked.append(text),
    )
    monkeypatch.setattr(environment, "check_far", lambda *_, **__: None)
    with Workspace(target, "c", lambda _: None) as workspace:
        ours = (tmp_path / directory_name("c") / MARKER).read_text()
        places = {path: reached(descriptor) for path, descriptor in workspace.held.items()}
        sites = SimpleNamespace(campaign_id="c", through=lambda path: moved(path, places))
        place = tmp_path / directory_name("c")
        place.rename(tmp_path / "away")
        if forged:
            place.mkdir()
            (place / MARKER).write_text(forged)
        environment.check_hosts(fleet, {"t": target}, sites, [SimpleNamespace(target="t", writes=True)])
    assert asked == [ours]
