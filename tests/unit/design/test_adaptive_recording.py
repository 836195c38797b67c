# SPDX-License-Identifier: Apache-2.0
"""Dense sweeps as people keep them: missing columns, other axes, disorder, and what is refused."""

import json
import random
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ioatlas.cli.replay import command
from ioatlas.design.recording import read_recording
from ioatlas.errors import IoAtlasError

sys.path.insert(0, str(Path(__file__).parents[3] / "bench/adaptive"))
import surfaces

ROWS = surfaces.array(3, sizes=4, blocks=5, jobs=4)
KEYS = {
    "cells_total",
    "cells_measured",
    "median_error",
    "p90_error",
    "stated_median_error",
    "stated_p90_error",
    "interval_cover",
    "noise_median",
    "noise_p90",
    "compute_seconds",
}


def as_csv(rows, without=(), end="\n"):
    columns = [c for c in rows[0] if c not in without]
    return end.join([",".join(columns), *(",".join(str(row[c]) for c in columns) for row in rows)]) + end


CELLS = 12


def go(tmp_path, text, cells=CELLS, *more):
    path = tmp_path / "dense.csv"
    path.write_text(text, newline="")
    result = CliRunner().invoke(command, [str(path), "--cells", str(cells), "--json", *more])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.output)


def test_keys_counts_and_repeatability(tmp_path):
    first, second = go(tmp_path, as_csv(ROWS)), go(tmp_path, as_csv(ROWS))
    assert set(first) >= KEYS
    assert first["cells_total"] == len(ROWS) // 2
    assert first["cells_measured"] == CELLS
    assert first["noise_median"] > 0
    first.pop("compute_seconds")
    second.pop("compute_seconds")
    assert first == second
    assert go(tmp_path, as_csv(ROWS), CELLS, "--seed", "9")["median_error"] != first["median_error"]


def test_order_of_rows_line_ends_and_a_mark_decide_nothing(tmp_path):
    plain = go(tmp_path, as_csv(ROWS))
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    for text in (as_csv(shuffled), as_csv(ROWS, end="\r\n"), "\ufeff" + as_csv(ROWS), as_csv(ROWS).replace(",", ";")):
        assert go(tmp_path, text)["p90_error"] == plain["p90_error"]


@pytest.mark.parametrize(
    "without",
    [
        ("iops",),
        ("bw_bytes_per_s",),
        ("lat_mean_ns", "lat_p99_ns"),
        ("bw_bytes_per_s", "iops"),
        ("bw_bytes_per_s", "lat_mean_ns"),
    ],
)
def test_any_quantity_may_be_missing(tmp_path, without):
    assert go(tmp_path, as_csv(ROWS, without))["median_error"] < 0.2


@pytest.mark.parametrize("axis", ["rw", "bs_bytes", "size_bytes", "numjobs"])
def test_any_axis_may_be_missing(tmp_path, axis):
    kept = [row for row in ROWS if row[axis] == ROWS[0][axis]]
    result = go(tmp_path, as_csv(kept, (axis,)), 16)
    assert result["cells_measured"] == 16
    assert axis not in result["axes"]


def test_one_pass_has_no_noise(tmp_path):
    for rows in ([row for row in ROWS if row["pass"] == 1], [row for row in ROWS if row["pass"] == 2]):
        result = go(tmp_path, as_csv(rows, ("pass",)))
        assert result["noise_median"] is None
        assert result["visits"] == CELLS
        assert result["median_error"] < 0.3


def test_rows_that_repeat_without_a_pass_column_are_passes(tmp_path):
    assert go(tmp_path, as_csv(ROWS, ("pass",)))["passes"] == 2


def test_zeros_and_gaps(tmp_path):
    rows = [dict(row) for row in ROWS]
    for row in rows[:9]:
        row["bw_bytes_per_s"] = row["iops"] = row["lat_mean_ns"] = row["lat_p99_ns"] = 0
    rows[20]["bw_bytes_per_s"] = rows[30]["lat_p99_ns"] = rows[40]["size_bytes"] = ""
    result = go(tmp_path, as_csv(rows))
    assert any("9 of" in note for note in result["notes"])
    assert any("size_bytes" in note for note in result["notes"])
    assert result["median_error"] < 0.3


def test_unknown_columns_are_axes_only_when_they_tell_cells_apart(tmp_path):
    by_chance = random.Random(5)
    rows = [
        {**row, "pool": pool, "cpu": by_chance.random(), "note": by_chance.choice("ab")}
        for pool in ("a", "b")
        for row in ROWS
    ]
    result = go(tmp_path, as_csv(rows))
    assert "pool" in result["axes"]
    assert {"cpu", "note"}.isdisjoint(result["axes"])
    [note] = result["notes"]
    assert note.startswith("columns not used")
    assert note.endswith("cpu, note")


def test_sizes_may_be_written_as_people_write_them():
    text = "rw,bs,size,numjobs,iops\n" + "".join(
        f"read,{b},{s},{j},{100 * j}\n" for b in ("4k", "1m") for s in ("16MiB", "1g") for j in (1, 2)
    )
    recording = read_recording(text, "x")
    assert {point["bs"] for point in recording.points} == {4096, 1 << 20}
    assert {point["size"] for point in recording.points} == {16 << 20, 1 << 30}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("pass,rw,iops\n", "no row"),
        ("rw,bs_bytes\nread,1\n", "no column with a throughput"),
        ("rw,bs_bytes,iops\nread,1\n", "fields"),
        ("rw,rw,iops\nread,1,3\n", "same name"),
        ("pass,bs_bytes,iops\nfirst,1,3\nx,2,3\n", "not a number"),
        ("rw,iops\nread,3\nread,4\n", "no column varies"),
        ("bs_bytes,iops\n1,3\n2,4\n", "only 2 cells"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, text, says):
    with pytest.raises(IoAtlasError, match=says):
        go(tmp_path, text, 1)


@pytest.mark.parametrize("cells", [0, -3, 10**6])
def test_an_impossible_number_of_cells(tmp_path, cells):
    with pytest.raises(IoAtlasError, match="not possible"):
        go(tmp_path, as_csv(ROWS), cells)


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 9, len(ROWS) // 2 - 1, len(ROWS) // 2])
def test_every_possible_number_of_cells(tmp_path, cells):
    result = go(tmp_path, as_csv(ROWS), cells)
    assert result["cells_measured"] == cells
    assert (result["median_error"] is None) == (cells == len(ROWS) // 2)


def test_a_file_that_is_not_there(tmp_path):
    result = CliRunner().invoke(command, [str(tmp_path / "no.csv"), "--cells", "3"])
    assert isinstance(result.exception, IoAtlasError)


def test_text_output(tmp_path):
    path = tmp_path / "dense.csv"
    path.write_text(as_csv(ROWS))
    output = CliRunner().invoke(command, [str(path), "--cells", "24"]).output
    assert "on the cells not measured" in output
    assert "fixed time of an I/O" in output


def test_too_few_picks_state_nothing_in_words(tmp_path):
    path = tmp_path / "dense.csv"
    path.write_text(as_csv(surfaces.array(0, sizes=4, blocks=4, jobs=3)))
    output = CliRunner().invoke(command, [str(path), "--cells", "5"]).output
    assert "stated     unknown: 1 random cell was predicted" in output


def test_other_names_are_understood_where_the_values_leave_no_doubt():
    lines = ["op,block_kib,threads,qd,iops"]
    lines += [
        f"{op},{block},{jobs},{depth},{1000 + block + jobs * depth}"
        for op in ("read", "randwrite")
        for block in (4, 16, 64)
        for jobs in (1, 2)
        for depth in (1, 8)
    ]
    found = read_recording("\n".join(lines), "test")
    assert set(found.axes) == {"rw", "bs_bytes", "numjobs", "iodepth"}
    assert {point["bs_bytes"] for point in found.points} == {4096, 16384, 65536}
    assert found.passes == 1
    assert "the column block_kib is read as bs_bytes" in found.left_out


def test_a_block_that_numbers_repeats_is_no_block_size():
    lines = [
        "rw,numjobs,block,iops",
        *(
            f"{rw},{jobs},{block},{100 * jobs + block}"
            for block in (1, 2)
            for rw in ("read", "write")
            for jobs in (1, 2, 4)
        ),
    ]
    found = read_recording("\n".join(lines), "test")
    assert set(found.axes) == {"rw", "numjobs"}
    assert found.passes == 2


def test_a_mode_that_is_none_of_fios_keeps_its_name():
    lines = ["mode,numjobs,iops", *(f"{mode},{jobs},{100 * jobs}" for mode in ("cold", "warm") for jobs in (1, 2, 4))]
    found = read_recording("\n".join(lines), "test")
    assert set(found.axes) == {"mode", "numjobs"}
