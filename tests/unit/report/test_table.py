# SPDX-License-Identifier: Apache-2.0
import csv
import io
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.panel import Dot, Line, Panel, Series, Table
from ioatlas.model.result import CampaignResult, ReplicateRow, Unmeasured
from ioatlas.model.units import words
from ioatlas.model.verdict import VerdictCode, read_unmeasured
from ioatlas.report.export.to_json import write_json
from ioatlas.report.table import FIXED, block_bytes, columns, rows, write_csv
from tests.unit.analysis.test_overview import result, sweep

from .exported import MIXED, SECRET_PLACE, SHAPES, SQUARE, campaign, value_of

PROMISED = [
    *words(
        "target rw bs_bytes size_bytes numjobs iodepth direction kind n_visits bw_bytes_per_s bw_low bw_high "
        "iops lat_mean_ns lat_p99_ns lat_kind verdict method"
    )
]


def csv_rows(result: CampaignResult) -> list[dict[str, str]]:
    out = io.StringIO()
    write_csv(result, out)
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def json_of(result: CampaignResult) -> dict[str, Any]:
    out = io.StringIO()
    write_json(result, out)
    return json.loads(out.getvalue())


def test_the_promised_columns_come_first_and_in_order() -> None:
    assert list(FIXED) == PROMISED
    assert list(csv_rows(campaign(SQUARE))[0])[: len(PROMISED)] == PROMISED


def test_every_cell_and_direction_has_exactly_one_row() -> None:
    result = campaign(SQUARE)
    found = csv_rows(result)
    assert len(found) == 2 * 3 * 2 * 3
    assert len({(row["cell"], row["direction"]) for row in found}) == len(found)


def test_values_survive_at_full_precision() -> None:
    result = campaign(SQUARE)
    by_key = {(e.cell.key, e.direction): e for e in result.estimates}
    seen = 0
    for row in csv_rows(result):
        estimate = by_key.get((row["cell"], row["direction"]))
        if estimate is None:
            continue
        seen += 1
        assert float(row["bw_bytes_per_s"]) == value_of(estimate.cell, estimate.direction)
        assert (float(row["bw_low"]), float(row["bw_high"])) == (estimate.bw_low, estimate.bw_high)
        assert (int(row["bs_bytes"]), int(row["size_bytes"]), int(row["numjobs"])) == (
            estimate.cell.bs_bytes,
            estimate.cell.size_bytes,
            estimate.cell.numjobs,
        )
        assert (row["kind"], row["verdict"], row["lat_kind"]) == (estimate.kind, estimate.verdict, "total")
        assert row["notes"] == "one, note"
        assert row["seeds"] == "; ".join(map(str, estimate.seeds))
    assert seen == len(by_key)


def test_a_cell_without_an_estimate_is_a_row_that_says_why() -> None:
    missing = [row for row in csv_rows(campaign(SQUARE)) if row["verdict"].startswith("not admissible: ")]
    assert len(missing) == 2 * 3
    for row in missing:
        assert row["n_visits"] == "0"
        assert {
            row[name]
            for name in ("kind", "bw_bytes_per_s", "bw_low", "iops", "lat_mean_ns", "lat_kind", "method", "seeds")
        } == {""}
        assert int(row["bs_bytes"]) > int(row["size_bytes"])


def test_rows_follow_the_order_of_the_axes() -> None:
    found = [
        (row["rw"], int(row["bs_bytes"]), int(row["size_bytes"]), int(row["numjobs"]))
        for row in csv_rows(campaign(SQUARE))
    ]
    assert found == sorted(found)


def test_mixed_directions_have_a_row_each_with_their_own_block_size() -> None:
    result = campaign(MIXED)
    found = csv_rows(result)
    assert {row["direction"] for row in found if row["rw"] == "randrw"} == {"read", "write"}
    assert {row["direction"] for row in found if row["rw"] == "trimwrite"} == {"write", "trim"}
    sizes = {(row["direction"], row["bs_bytes"]) for row in found if row["bs"] == "4096,16384"}
    assert sizes == {("read", "4096"), ("write", "16384"), ("trim", "16384")}
    assert {"30", "70"} == {row["rwmixread"] for row in found}


@pytest.mark.parametrize(
    ("bs", "expected"),
    [
        (8192, (8192,) * 3),
        ("4096,16384", (4096, 16384, 16384)),
        (",8192", (4096, 8192, 8192)),
        ("512,1024,2048", (512, 1024, 2048)),
        ("8192,16384,", (8192, 16384, 4096)),
    ],
)
def test_block_size_of_a_direction_is_read_as_fio_reads_it(bs: int | str, expected: tuple[int, ...]) -> None:
    cell = Cell.of("nas", {"rw": "randrw", "bs": bs})
    assert tuple(block_bytes(cell, direction) for direction in ("read", "write", "trim")) == expected


def test_a_mix_of_block_sizes_has_no_single_one() -> None:
    assert block_bytes(Cell.of("nas", {"rw": "read", "bssplit": "4096/50:8192/50"}), "read") is None


def test_an_unmeasured_direction_of_a_measured_cell_is_not_doubled() -> None:
    result = campaign(SQUARE)
    result = replace(
        result,
        unmeasured=(*result.unmeasured, Unmeasured(result.estimates[0].cell, read_unmeasured("failed: something"))),
    )
    assert len(csv_rows(result)) == 36


@pytest.mark.parametrize("shape", SHAPES)
def test_json_has_the_same_names_and_values_as_csv(shape: str) -> None:
    result = campaign(SHAPES[shape])
    document = json_of(result)
    listed = document["rows"]
    assert isinstance(listed, list)
    texts = csv_rows(result)
    assert [list(row) for row in listed] == [list(columns(result))] * len(texts)
    for row, text in zip(listed, texts, strict=True):
        for name, value in row.items():
            if not isinstance(value, list):
                assert text[name] == ("" if value is None else str(value))
    assert document["findings"]
    assert document["settings"] == {"profile": "test"}


def test_exports_name_no_site() -> None:
    result = campaign(SQUARE)
    result = replace(
        result,
        unmeasured=(
            *result.unmeasured,
            Unmeasured(Cell.of("nas", {"rw": "trim"}), read_unmeasured(f"failed: {SECRET_PLACE}/nas is gone")),
        ),
    )
    text = json.dumps(json_of(result)) + json.dumps(csv_rows(result))
    for secret in (SECRET_PLACE, "/dev/sdz", "secret-host"):
        assert secret not in text
    assert "failed: [nas] is gone" in text


def test_json_holds_no_nan() -> None:
    result = campaign({})
    result = replace(result, estimates=(replace(result.estimates[0], bw_high=float("inf"), lat_mean_ns=float("nan")),))
    row = json_of(result)["rows"][0]  # type: ignore[index]
    assert (row["bw_high"], row["lat_mean_ns"]) == (None, None)


def test_json_has_the_charts_and_tables_that_the_report_shows() -> None:
    dots = (Dot(4096.0, 1e8, 0.98e8, 1.02e8, 3), Dot(65536.0, 2e8, n=1))
    chart = Panel("Record rewrite", (Series("fio", dots),), limits=(Line("link", math.inf),), y_unit="B/s")
    table = Table("side by side", ("Operation", "Why"), (("write", f"slow at {SECRET_PLACE}/nas"),))
    found = json_of(replace(campaign(SQUARE), charts=(chart,), tables=(table,)))
    (one,) = found["charts"]
    assert (one["title"], one["y_unit"], one["series"][0]["name"]) == ("Record rewrite", "B/s", "fio")
    told = [tuple(dot[name] for name in ("x", "value", "low", "high", "n")) for dot in one["series"][0]["dots"]]
    assert told == [(4096.0, 1e8, 0.98e8, 1.02e8, 3), (65536.0, 2e8, None, None, 1)]
    assert one["limits"] == [{"name": "link", "value": None, "drawn": True}]
    (two,) = found["tables"]
    assert two["columns"] == ["Operation", "Why"]
    assert two["rows"] == [["write", "slow at [nas]"]]


def test_an_empty_campaign_is_a_header() -> None:
    result = replace(campaign({}), estimates=())
    assert list(rows(result)) == []
    assert csv_rows(result) == []


def test_a_replicate_keeps_its_name_of_the_format() -> None:
    told = json_of(replace(campaign(SQUARE), replicates=(ReplicateRow("nas", 3, 9, 1, 0.1, 0.01),)))
    assert told["blocks"] == [
        {
            "target": "nas",
            "block": 3,
            "n_visits": 9,
            "n_discarded": 1,
            "effect": 0.1,
            "error": 0.01,
            "note": "",
            "voided": False,
        }
    ]


def test_of_runs_that_disagree_the_range_is_told():
    (e,) = sweep(lambda **o: 1e7, rw=("read",), bs=(4096,), numjobs=(1,))
    law = {"bw_low": 1.0, "bw_high": 1e12, "iops": 100.0, "lat_mean_ns": 1e7, "bw_seen": (5e6, 4e7)}
    for verdict, low, high in ((VerdictCode.RUNS_DISAGREE, 5e6, 4e7), (VerdictCode.STEADY, 1.0, 1e12)):
        (row,) = rows(result([replace(e, verdict=verdict, **law)]))
        assert (row["bw_low"], row["bw_high"]) == (low, high)
    (row,) = rows(result([replace(e, verdict=VerdictCode.RUNS_DISAGREE, **law)]))
    assert (row["iops_low"], row["iops_high"]) == (50.0, 400.0)
    assert (row["lat_mean_low_ns"], row["lat_mean_high_ns"]) == (2.5e6, 2e7)
