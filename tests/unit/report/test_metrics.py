# SPDX-License-Identifier: Apache-2.0
"""`--metrics`, read by the parsers of Prometheus' own client."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as read_plain

from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.report.metrics import FAMILIES, Values, check_place
from tests.unit.simulated import Shell

DASHBOARD = Path(__file__).parents[3] / "examples" / "grafana" / "ioatlas.json"


def full() -> Values:
    values = Values()
    for family in FAMILIES:
        labels = {"target": 'a "b"\\c\nd'}
        values.add(family.name, labels) if family.kind == "counter" else values.set(family.name, 1.5, labels)
    return values


def test_the_parser_reads_every_metric_back():
    found = {family.name: family for family in read_plain(full().text())}
    assert set(found) == {family.name for family in FAMILIES}
    for family in FAMILIES:
        (sample,) = found[family.name].samples
        assert (sample.name, found[family.name].type) == (family.sample, family.kind)
        assert sample.labels == {"target": 'a "b"\\c\nd'}


def test_names_follow_the_conventions():
    for family in FAMILIES:
        assert re.fullmatch(r"ioatlas_[a-z0-9_]+", family.name)
        assert not re.search(r"_(ms|ns|kib|mib|percent)(_|$)", family.name)


def test_the_dashboard_asks_for_metrics_that_there_are():
    text = DASHBOARD.read_text()
    board = json.loads(text)
    asked = set(re.findall(r"\bioatlas_[a-z0-9_]+", text))
    assert asked <= {family.sample for family in FAMILIES}
    assert len(asked) >= 10
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_a_map_leaves_its_last_values(tmp_path):
    (tmp_path / "disk").mkdir()
    place = tmp_path / "ioatlas.prom"
    words = ["map", tmp_path / "disk", "--size", "1m", "--budget", "5s", "-o", tmp_path / "m", "--metrics", place]
    done = Shell()(*words)
    assert done.returncode == 0, done.stderr
    found = {family.name: family for family in read_plain(place.read_text())}
    assert found["ioatlas_session_running"].samples[0].value == 0
    assert sum(sample.value for sample in found["ioatlas_visits"].samples) > 0
    rates = found["ioatlas_visit_throughput_bytes_per_second"].samples
    assert all(sample.value > 0 for sample in rates)
    assert [path.name for path in tmp_path.iterdir() if "ioatlas.prom" in path.name] == ["ioatlas.prom"]


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "mine.prom").write_text("# mine\n")
    with pytest.raises(RefusedError):
        check_place(tmp_path / "mine.prom")
    with pytest.raises(IoAtlasError, match="its directory"):
        check_place(tmp_path / "no" / "x.prom")
    with pytest.raises(UsageError):
        check_place(Path("127.0.0.1:9750"))
