# SPDX-License-Identifier: Apache-2.0
"""Other tools' files where a campaign or a command is asked for: the message says what to type instead."""

import pytest

from tests.command_line import call


@pytest.mark.parametrize("command", ["show", "report", "compare"])
def test_results_of_others_have_to_be_imported_first(tmp_path, command):
    theirs = tmp_path / "fio.json"
    theirs.write_text('{"fio version": "fio-3.33", "jobs": []}')
    result = call(command, theirs, *([theirs] if command == "compare" else []))
    assert result.returncode != 0
    assert "`ioatlas import FILE -o DIR`" in " ".join(result.stderr.split())


def test_a_path_is_no_command(tmp_path):
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=read\n")
    result = call(job)
    assert result.returncode != 0
    assert "`ioatlas translate fio` reads a job file" in " ".join(result.stderr.split())
