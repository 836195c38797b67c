# SPDX-License-Identifier: Apache-2.0
"""Little's law over loads of real fio: it holds whatever flushes, waits or paces."""

import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.fio.collect import read_batch
from ioatlas.load.fio.executor import LoadProcess, SystemExecutor
from ioatlas.load.fio.process import Minder
from ioatlas.load.machine.telemetry import Watched
from ioatlas.measure.run.intake import take_in
from ioatlas.measure.run.telemetry import BatchTelemetry
from ioatlas.model.cell import Cell
from ioatlas.model.verdict import ReasonCode, VerdictCode
from ioatlas.model.visit import Purpose
from ioatlas.stats.gates import in_flight
from ioatlas.store.journal import PlannedVisit

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]

SIZE = 8 << 20
OPTIONS = (
    *({"fdatasync": 1}, {"fsync": 1}, {"fsync": 4}, {"sync_file_range": "write:4"}, {"sync": "dsync"}, {"sync": "1"}),
    *({"end_fsync": 1}, {"fsync_on_close": 1}, {"thinktime": 2000}, {"rate_iops": 200}, {"rw": "randrw", "fsync": 1}),
    *({"fdatasync": 1, "direct": 0}, {"fdatasync": 2, "numjobs": 3}),
)
MOST_BETWEEN = 4
"""Writes of a job between two flushes."""


def judged(tmp_path, cells):
    """The visits of one batch over the cells, judged as a campaign's are."""
    data = tmp_path / "data"
    data.write_bytes(b"x" * SIZE)
    sections = tuple(
        Section(number, one, 5, 400, 500, (("filename", str(data)),)) for number, one in enumerate(cells, 1)
    )
    (tmp_path / "job.fio").write_text(job_text(Batch(1, tmp_path, sections)))
    telemetry = BatchTelemetry(Watched())
    telemetry.start(sections)
    outcome = SystemExecutor().run(
        LoadProcess(
            "fio", ("--output-format=json+", "--output=fio.json", "--eta=never", "job.fio"), tmp_path, "fio.err", 120.0
        ),
        Minder(started=lambda pid, _ticks: telemetry.watch(pid)),
    )
    seen = telemetry.stop()
    assert outcome.exit_code == 0, outcome.stderr
    results = read_batch(tmp_path, sections, 1, {}, {})
    planned = {
        one.visit_id: PlannedVisit(one.cell.key, 0, 5, Purpose.PROBE, runtime_ms=400, visit_id=one.visit_id)
        for one in sections
    }
    return take_in(results, planned, None, seen.counted(results)).visits


@pytest.mark.parametrize(
    ("engine", "depth"),
    [
        *(("psync", 1), ("io_uring", 8)),
        *(pytest.param("libaio", depth, marks=pytest.mark.long("fio", "stats")) for depth in (1, 8)),
    ],
)
def test_the_law_holds_for_what_flushes_waits_or_paces(tmp_path, engine, depth):
    base = {"rw": "randwrite", "bs": 4096, "size": SIZE, "direct": 1, "numjobs": 1, "iodepth": depth}
    cells = [Cell.of("t", {**base, "ioengine": engine, **more}) for more in OPTIONS]
    visits = judged(tmp_path, cells)
    wrong = [
        (cells[one.section].option, one.verdict.text, one.discarded)
        for one in visits
        if one.verdict.code is VerdictCode.UNACCOUNTED
        or any(reason.code is ReasonCode.LITTLES_LAW for reason in one.discarded)
    ]
    assert [one.section for one in visits] == list(range(len(cells)))
    assert wrong == []
    for one in visits:
        cell = cells[one.section]
        if cell.flushes and not cell.flush_holds_queue:
            (write,) = (part for part in one.parts if part.direction == "write")
            if write.total_ios <= MOST_BETWEEN * cell.numjobs:
                continue  # a disk that others keep busy: not one of its flushes came up
            assert write.lat_kind == "flushed", cell.option
            assert write.lat_mean_ns > write.flush.write_mean_ns
            assert write.flush.count
        if depth == 1 and cell.option.get("fdatasync") == 1:
            # What a reader sees is enough: operations a second x latency is the one in flight, less the client's share.
            (write,) = one.parts
            shown = write.total_ios * write.lat_mean_ns / (write.runtime_ms * 1e6)
            flight = in_flight(one.parts, cell)
            assert shown == pytest.approx(flight.low, rel=0.02)
