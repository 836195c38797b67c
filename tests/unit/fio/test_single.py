# SPDX-License-Identifier: Apache-2.0
from ioatlas.load.fio.collect import run_job
from ioatlas.load.fio.process import ProcessOutcome


class Fio:
    def __init__(self, text):
        self.text, self.load, self.job = text, None, ""

    def run(self, load, *, stop_asked, started, tick=None):
        self.load, self.job = load, (load.directory / "job.fio").read_text()
        if self.text:
            (load.directory / "fio.json").write_text(self.text)
        return ProcessOutcome(0, 1.0, "", "")


def test_the_job_lies_in_its_directory_and_the_output_is_read_back(tmp_path):
    fio = Fio('{"fio version": "fio-3.40", "jobs": [{"jobname": "a", "read": {"io_bytes": 7}}]}')
    _, output = run_job(fio, "[a]\n", tmp_path / "new", expected_seconds=10, options=("--readonly",))
    assert fio.job == "[a]\n"
    assert fio.load.arguments[0] == "--readonly"
    assert fio.load.limit_seconds == 45
    assert output.jobs[0].directions["read"].io_bytes == 7


def test_the_output_of_an_earlier_run_is_never_taken_for_this_one(tmp_path):
    (tmp_path / "fio.json").write_text(
        '{"fio version": "fio-3.40", "jobs": [{"jobname": "a", "read": {"io_bytes": 7}}]}'
    )
    _, output = run_job(Fio(""), "[a]\n", tmp_path, expected_seconds=1)
    assert output is None


def test_the_logs_of_an_earlier_run_are_gone_for_fio_appends_to_them(tmp_path):
    (tmp_path / "layout0_bw.log").write_text("1795731508940, 85333, 1, 0, 0\n")
    run_job(Fio(""), "[a]\n", tmp_path, expected_seconds=1)
    assert list(tmp_path.glob("*.log")) == []
