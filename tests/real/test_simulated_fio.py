# SPDX-License-Identifier: Apache-2.0
"""The simulated target against real fio: the same job files give files of the same form."""

import json
import os

import pytest

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.fio.collect import complete_output, read_batch
from ioatlas.load.fio.executor import LoadProcess, SystemExecutor
from ioatlas.load.fio.process import Minder
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.target.layout import Layout
from ioatlas.target.placing import Extent
from ioatlas.target.preparation import STEPS
from tests.real.pauses import Pauses
from tests.simulate.executor import SimulatedExecutor

pytestmark = pytest.mark.needs("fio")

MIB = 1 << 20
HUGE = 16 << 30


def cell(**options):
    given = {"rw": "randread", "bs": 4096, "size": MIB, "numjobs": 1, "iodepth": 1, "ioengine": "psync", **options}
    return Cell.of("t", given)


def both(tmp_path, text, **more):
    """{'real' or 'simulated': directory with what came of a job file}."""
    for name, executor in (("real", SystemExecutor()), ("simulated", SimulatedExecutor())):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "job.fio").write_text(text)
        load = LoadProcess(
            "fio", ("--output-format=json+", "--output=fio.json", "--eta=never", "job.fio"), directory, "fio.err", 60.0
        )
        outcome = executor.run(load, Minder(**more))
        yield directory, outcome


def keys(value):
    """The form of a document: names of its objects, the bins of histograms left out."""
    if isinstance(value, dict):
        if "bins" in value:
            value = {**value, "bins": None}
        return {name: keys(each) for name, each in value.items()}
    if isinstance(value, list):
        return [keys(each) for each in value]
    return type(value).__name__ if isinstance(value, str) else None


@pytest.mark.unmeasured
def test_a_batch_has_the_same_form(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"x" * MIB)
    streams = Cell("t", (("phase", "a"),), streams=(("r", cell().options), ("w", cell(rw="randwrite").options)))
    cells = [
        cell(),
        cell(rw="randrw", numjobs=2, ioengine="libaio", iodepth=4),
        cell(rate_iops=100),
        streams,
        cell(rw="write", bs=65536, io_size=4 * MIB),
    ]
    sections = tuple(
        # The gap is wide: on a busy machine a section ends late, and no neighbour may meet it.
        Section(number, one, 5, 3_600_000 if one.work_bounded else 490, 500, (("filename", str(data)),))
        for number, one in enumerate(cells, 1)
    )
    text = job_text(Batch(1, tmp_path, sections))
    for place in (tmp_path / "1", tmp_path / "2", tmp_path / "3"):
        place.mkdir()
        with Pauses() as pauses:
            (real, ended), (simulated, simulated_ended) = both(place, text)
        read = [read_batch(directory, sections, 1, {}, {}) for directory in (real, simulated)]
        if all(result.state == "finished" for result in read[0]):
            break  # else the machine stood still: its reason is told below
    assert (ended.exit_code, ended.stderr) == (simulated_ended.exit_code, simulated_ended.stderr) == (0, "")
    assert {path.name for path in real.iterdir()} == {path.name for path in simulated.iterdir()}
    documents = [json.loads((directory / "fio.json").read_text()) for directory in (real, simulated)]
    for document in documents:
        document.pop("disk_util", None)
        for job in document["jobs"]:
            job["job options"] = {}
    assert keys(documents[0]) == keys(documents[1])
    for ours, theirs in zip(*read, strict=True):
        assert ours.state == theirs.state == "finished", (ours.reason, theirs.reason)
        assert [part.direction for part in ours.visit.parts] == [part.direction for part in theirs.visit.parts]
        assert [part.stream for part in ours.visit.parts] == [part.stream for part in theirs.visit.parts]
        for mine, other in zip(ours.visit.parts, theirs.visit.parts, strict=True):
            if not ours.section.cell.work_bounded:
                assert mine.series.interval_ms == other.series.interval_ms
                # each against its own time: on a busy machine the real one may end late
                for part in (mine, other):
                    assert abs(len(part.series.end_ms) - part.runtime_ms / part.series.interval_ms) <= 2
            assert mine.lat_kind == other.lat_kind
            assert sum(count for _, count in mine.histogram.bins) == mine.total_ios
            assert sum(count for _, count in other.histogram.bins) == other.total_ios
    for results in read:
        (paced,) = results[2].visit.parts
        # What was due in a pause at the end is not done.
        assert abs(paced.total_ios - paced.runtime_ms * 100 / 1000) <= 3 + 100 * pauses.seconds
    work = [results[4].visit.parts[0].io_bytes for results in read]
    assert work == [4 * MIB, 4 * MIB]


@pytest.mark.unmeasured
def test_options_are_read_as_fio_reads_them(tmp_path):
    """Fio repeats in its output what it took each section's options for."""
    data = tmp_path / "data"
    data.touch()
    os.truncate(data, HUGE)  # fio cuts an I/O short where the next block was done: few are in a large file
    sections = tuple(
        Section(number, one, 5, 190, 10, (("filename", str(data)),))
        for number, one in enumerate([cell(), cell(rw="randrw", rwmixread=30, bssplit="4096/50:8192/50", size=HUGE)], 1)
    )
    (real, _), (simulated, _) = both(tmp_path, job_text(Batch(1, tmp_path, sections)))
    (ours, theirs) = (complete_output(directory) for directory in (real, simulated))
    assert ours.version.split("-")[0] == theirs.version.split("-")[0]
    assert ours.global_options == theirs.global_options
    for one, other in zip(ours.jobs, theirs.jobs, strict=True):
        assert one.options == other.options
        assert (one.name, one.groupid, one.error) == (other.name, other.groupid, other.error)
        ios = [sum(d.total_ios for d in j.directions.values()) for j in (one, other)]
        mean = [
            sum(d.io_bytes for d in j.directions.values()) / count for j, count in zip((one, other), ios, strict=True)
        ]
        # each I/O's size is drawn, half 4096 and half 8192 where split: the error of a mean is 2048 over sqrt(I/Os).
        # A busy machine does few I/Os in a window this short.
        errors = [2048 / count**0.5 if "bssplit" in one.options else 0.0 for count in ios]
        assert abs(mean[0] - mean[1]) <= 4 * sum(errors), (mean, ios)


@pytest.mark.unmeasured
def test_a_layout_makes_the_same_files(tmp_path):
    target = Target("t", str(tmp_path), "directory")
    places = {name: {"filename": f"{name}.dat"} for name in "ab"}
    layout = Layout(target, places, dict.fromkeys("ab", Extent(4 * MIB)), tmp_path, direct=False)
    for directory, outcome in both(tmp_path, layout.job(STEPS["laid-out"][0])):
        assert outcome.exit_code == 0, outcome.stderr
        assert {(directory / name).stat().st_size for name in ("a.dat", "b.dat")} == {4 * MIB}
        output = complete_output(directory)
        assert sum(job.directions["write"].io_bytes for job in output.jobs) == 8 * MIB
        assert [job.name for job in output.jobs] == ["layout0", "layout1"]


@pytest.mark.unmeasured
def test_a_file_that_is_missing_and_a_stop_look_alike(tmp_path):
    one = (Section(1, cell(), 5, 490, 10, (("filename", str(tmp_path / "none")),)),)
    (tmp_path / "missing").mkdir()
    for directory, outcome in both(tmp_path / "missing", job_text(Batch(1, tmp_path, one))):
        assert outcome.exit_code == 1
        (result,) = read_batch(directory, one, 1, {}, {}) or [None]
        assert result is None or result.state != "finished"
    data = tmp_path / "data"
    data.write_bytes(b"x" * MIB)
    lasts = {1: 490, 2: 20_000}
    two = tuple(Section(number, cell(), 5, ms, 10, (("filename", str(data)),)) for number, ms in lasts.items())
    place = tmp_path / "stopped"
    place.mkdir()
    ticks = []

    def first_ended():
        """Fio writes a section's logs when it ends; the simulated one writes all of them at once, in exact time."""
        if (place / "simulated").exists():
            return bool(ticks) and ticks[-1] > 0.9
        return any(log.stat().st_size for log in (place / "real").glob("*.log"))

    for directory, outcome in both(place, job_text(Batch(1, tmp_path, two)), tick=ticks.append, stop_asked=first_ended):
        assert outcome.stopped == "asked"
        ended, stopped = (result.state for result in read_batch(directory, two, 1, {}, {}))
        assert ended in ("finished", "over-run")  # a busy machine lets fio run longer than it was asked to
        assert stopped == "cut-short"
        ticks.clear()
