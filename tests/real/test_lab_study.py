# SPDX-License-Identifier: Apache-2.0
"""A small study on real lab targets of known rates: claims that hold, one that does not, nothing left behind."""

import json
import signal

import pytest
from bench.studies import set_up
from bench.studies.__main__ import make
from bench.studies.study import read_study

from ioatlas.answer.results.library import REPORT
from ioatlas.model.errors import IoAtlasError
from ioatlas_lab import instance
from ioatlas_lab.running import missing, scenarios

TEXT = """
name = "rates"
title = "Two rates"
source = "Nobody, Never, 2026"
together = true
otherwise = []

[campaign]
visits = 2
window = "300ms"

[campaign.sweep]
rw = ["read", "write"]
bs = ["32k", "64k"]
iodepth = 4
size = "8m"

[[setup]]
scenario = "bandwidth"
name = "rate {rate}"
settings = {bw_bytes_per_s = "{rate}", burst_seconds = 0.05, size_bytes = 67_108_864}
cross = {rate = [20_000_000, 80_000_000]}

[[figure]]
name = "rates"
kind = "bars"
title = "Two rates"

[[claim]]
id = "more"
says = "Four times the rate is faster."
published = "4 times"
of = {rate = 80_000_000}
over = {rate = 20_000_000}
expected = "higher"

[[claim]]
id = "alike"
says = "The rate makes no difference."
published = "none"
of = {rate = 80_000_000}
over = {rate = 20_000_000}
expected = "same"
"""


@pytest.fixture
def own_lab(tmp_path, monkeypatch):
    """A directory of the lab of its own; the signals as they were."""
    monkeypatch.setenv("IOATLAS_LAB_DIR", str(tmp_path / "lab"))
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield tmp_path
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.long("lab")
@pytest.mark.skipif(bool(missing(scenarios()["bandwidth"])), reason="nbdkit is missing")
def test_a_study_from_its_targets_to_its_table(own_lab, capsys, monkeypatch):
    study, directory = read_study(TEXT, "rates.toml"), own_lab / "c"
    make(study, directory, quick=False, as_json=False)
    said = capsys.readouterr().out
    assert "Two rates: 2 claims" not in said
    assert "rates: 2 claims; 1 as published, 1 otherwise" in said
    document = json.loads((directory / "study" / "study.json").read_text())
    higher, same = document["claims"]
    # Rates of 1 to 4 as configured; what is drawn of noise lies in the interval, so the truth does.
    assert higher["ratios"][0]["value"] == pytest.approx(4, rel=0.2)
    assert (higher["outcome"], same["outcome"]) == ("same", "differs")
    assert (directory / "study" / "rates.png").stat().st_size > 5000
    assert "Published, and here" in (directory / REPORT).read_text()
    assert not instance.instances(), "lab targets are left"
    again = (directory / "journal.sqlite").stat().st_mtime_ns
    (directory / "study" / "study.json").unlink()
    take_down = set_up._take_down
    monkeypatch.setattr(set_up, "_take_down", lambda prefix: take_down(prefix) or ["rates (could not take down: x)"])
    with pytest.raises(IoAtlasError, match="lab targets are left"):  # told, and the answer is there all the same
        make(study, directory, quick=False, as_json=True)  # complete: answered, not measured again
    assert (directory / "study" / "study.json").exists()
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["event"] == "study"
    assert (directory / "journal.sqlite").stat().st_mtime_ns == again
    assert not instance.instances()
