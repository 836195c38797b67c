# SPDX-License-Identifier: Apache-2.0
"""Ceilings through the executor: which job fio is given, and what becomes of its answer. No fio runs."""

import configparser
import json
import os

import pytest

from ioatlas.load.fio.executor import SystemClock
from ioatlas.load.fio.process import ProcessOutcome
from ioatlas.load.machine import measured
from ioatlas.load.machine.measured import client_rate, stack_rate, target_rate
from ioatlas.model.errors import IoAtlasError


class Answering:
    """Answers every section with its own number of I/Os a second, and keeps what was asked."""

    clock = SystemClock()

    def __init__(self, exit_code=0, said=""):
        self.exit_code, self.said = exit_code, said
        self.loads, self.jobs, self.served = [], [], []

    def run(self, load, *, stop_asked, started, tick=None):
        self.loads.append(load)
        parser = configparser.RawConfigParser(allow_no_value=True)
        parser.read(load.directory / "job.fio")
        sections = [dict(parser[name]) for name in parser.sections() if name != "global"]
        self.jobs.append(sections)
        self.served += [os.path.exists(one["uri"].partition("socket=")[2]) for one in sections if "uri" in one]
        if not self.exit_code:
            rates = [
                {
                    "jobname": f"ceiling{index}",
                    "read": {"io_bytes": 1, "iops": 100.0 + index, "bw_bytes": 4096 * (100 + index)},
                }
                for index in range(len(sections))
            ]
            (load.directory / "fio.json").write_text(json.dumps({"fio version": "fio-3.40", "jobs": rates}))
        return ProcessOutcome(self.exit_code, 0.1, "", self.said)


def test_the_queue_of_the_null_engine_is_as_asked():
    fio = Answering()
    client_rate(fio, 512, numjobs=3, iodepth=8, seconds=0.1)
    assert {"bs": "512", "numjobs": "3", "iodepth": "8"}.items() <= fio.jobs[0][0].items()


def test_a_target_is_only_ever_read_and_named_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fio = Answering()
    target_rate(fio, "disk.img", "read", 65536)
    assert "--readonly" in fio.loads[0].arguments
    assert fio.jobs[0][0]["filename"] == str(tmp_path / "disk.img")
    target_rate(fio, "nbd://nas/export", "read", 65536)
    assert (fio.jobs[1][0]["ioengine"], fio.jobs[1][0]["uri"]) == ("nbd", "nbd://nas/export")


@pytest.mark.needs("nbdkit")
def test_a_server_in_memory_is_there_for_as_long_as_it_is_read():
    fio = Answering()
    stack_rate(fio, "nbd", 4096)
    stack_rate(fio, "nbd", 1 << 20)
    assert fio.served == [True, True]
    assert [one["iodepth"] for (one,) in fio.jobs] == ["16", "4"]
    assert not fio.loads[0].directory.exists()


@pytest.mark.needs("nbdkit")
def test_a_server_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setattr(measured, "_MEMORY_BYTES", "no size")
    with pytest.raises(IoAtlasError, match=r"nbdkit does not serve: .*no size"):
        stack_rate(Answering(), "nbd", 4096)


def test_a_load_that_fails_is_named_with_what_fio_said():
    with pytest.raises(IoAtlasError, match="fio ended with status 1: engine not loadable") as failed:
        client_rate(Answering(exit_code=1, said="engine not loadable"), 4096)
    assert "ioengine=null" in failed.value.where


def test_a_program_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(measured, "PATH", "/nonexistent")
    with pytest.raises(IoAtlasError, match="nbdkit is not installed"):
        stack_rate(Answering(), "nbd", 4096)
