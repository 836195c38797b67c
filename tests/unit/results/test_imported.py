# SPDX-License-Identifier: Apache-2.0
"""What was imported becomes a result: every figure imported, no visit, no interval, nothing the source did not tell."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from ioatlas.answer.analysis.imported import imported_map
from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.results.comparison import compare_sides
from ioatlas.cli.export import command as export_command
from ioatlas.measure.campaign import load_result
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.finding import FindingCode
from ioatlas.model.imported_reading import ImportedReading, Labelled, OneLatency
from ioatlas.model.quantities import quantity
from ioatlas.report.page_data import report_data
from ioatlas.report.table import write_csv
from ioatlas.store.imported import Imported
from ioatlas_translate.import_ import command

IOZONE = """\
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\tCommand line used: iozone -a -i 0 -i 1 -I
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
            1024       4   101000   102000   201000   202000
            1024      64   301000   302000   401000   402000
"""
CDM = "CrystalDiskMark 8.0.1 x64\n[Read]\n  RND    4KiB (Q=  1, T= 1):    41.375 MB/s [  10101.3 IOPS] <    98.75 µs>\n"


def fio_json(bw, bs="4k", direct="1", name="a"):
    part = {
        "io_bytes": 4096,
        "bw_bytes": bw,
        "bw": bw // 1024,
        "iops": bw / 4096,
        "runtime": 1000,
        "lat_ns": {"mean": 1000.0, "N": 1},
    }
    options = {
        "name": name,
        "rw": "randread",
        "bs": bs,
        "size": "1m",
        "iodepth": "1",
        "numjobs": "1",
        "ioengine": "psync",
        "direct": direct,
    }
    return json.dumps(
        {"fio version": "fio-3.33", "jobs": [{"jobname": name, "error": 0, "job options": options, "read": part}]},
        indent=1,
    )


def bring_in(folder, out, *options, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    done = CliRunner().invoke(command, [*(str(folder / name) for name in texts), "-o", str(out), "--json", *options])
    assert done.exit_code == 0, done.stderr


def test_several_tools_are_one_result(tmp_path):
    out = tmp_path / "lib"
    bring_in(tmp_path / "in", out, fio=fio_json(8_192_000), iozone=IOZONE, cdm=CDM)
    result = load_result(out)
    assert [target.name for target in result.targets] == ["fio 3.33", "iozone 3.489", "crystaldiskmark 8.0.1"]
    assert {e.kind for e in result.estimates} == {"imported"}
    assert all(
        e.n_visits == 0 and e.bw_low is None and e.bw_high is None and e.lat_mean_low_ns is None
        for e in result.estimates
    )
    assert len(result.estimates) == 1 + 8 + 1
    crystal = next(e for e in result.estimates if e.cell.target.startswith("crystal"))
    assert "rw" in crystal.cell.option
    assert result.axes["operation"] == ("randread", "write", "rewrite", "read", "reread")
    assert result.methods["iozone 3.489"]["page cache"] == "direct"
    assert result.methods["iozone 3.489"]["running time"] == "not told"
    sources = next(one.values for one in result.findings if one.code is FindingCode.IMPORTED)
    assert (sources["n_readings"], sources["n_sets"]) == (10, 3)
    assert FindingCode.METHOD in {one.code for one in result.findings}
    report = report_data(result)
    assert [each.target for each in report.imported_methods] == ["fio 3.33", "iozone 3.489", "crystaldiskmark 8.0.1"]
    derived = {axis.name for axis in report.axes if axis.derived}
    assert "rw" in derived, "fio's word follows from the operation"


def test_the_table_says_what_the_source_says_and_no_more(tmp_path):
    bring_in(tmp_path / "in", tmp_path / "lib", iozone=IOZONE)
    text = io.StringIO()
    write_csv(load_result(tmp_path / "lib"), text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    reread = next(row for row in rows if row["operation"] == "reread" and row["bs_bytes"] == "65536")
    assert (reread["kind"], reread["n_visits"], reread["rw"], reread["iodepth"], reread["lat_kind"]) == (
        "imported",
        "0",
        "",
        "",
        "",
    )
    assert float(reread["bw_bytes_per_s"]) == 402000 * 1024
    assert reread["notes"].startswith("iozone:7")
    assert reread["bw_low"] == reread["bw_high"] == reread["lat_mean_ns"] == ""


def test_sets_are_told_apart_by_label_or_by_what_differs(tmp_path):
    out = tmp_path / "lib"
    bring_in(tmp_path / "a", out, "--label", "before", run=fio_json(4_096_000))
    bring_in(tmp_path / "b", out, "--label", "after", run=fio_json(8_192_000))
    assert [target.name for target in load_result(out).targets] == ["before", "after"]
    other = tmp_path / "other"
    bring_in(tmp_path / "c", other, one=fio_json(4_096_000), two=fio_json(8_192_000, direct="0"))
    assert [target.name for target in load_result(other).targets] == ["direct", "buffered"]
    third = tmp_path / "third"
    bring_in(tmp_path / "d", third, one=fio_json(4_096_000), two=fio_json(8_192_000))
    assert [target.name for target in load_result(third).targets] == ["one", "two"]
    assert all(str(tmp_path) not in note for e in load_result(third).estimates for note in e.notes)


def test_many_files_of_one_load_and_labelled_ones_are_repeats(tmp_path):
    many = {f"run{i:02}": fio_json(4_096_000 + 4096 * i) for i in range(14)}
    bring_in(tmp_path / "many", tmp_path / "lib", **many)
    result = load_result(tmp_path / "lib")
    assert [target.name for target in result.targets] == ["fio 3.33"]
    (e,) = result.estimates
    assert (e.bw_bytes_per_s, e.statistic, e.n_repeats) == (4_096_000 + 4096 * 6, "middle of 14 readings", 0)
    bring_in(tmp_path / "two", tmp_path / "named", "--label", "nas", one=fio_json(4_096_000), two=fio_json(8_192_000))
    assert [target.name for target in load_result(tmp_path / "named").targets] == ["nas"]
    (pair,) = compare_sides((tmp_path / "lib", tmp_path / "named")).result.pairs
    (cell,) = pair.cells
    assert (cell.n_first, cell.n_second, pair.untested) == (14, 2, ())


def test_the_same_file_again_adds_nothing_and_losses_are_kept(tmp_path):
    out = tmp_path / "lib"
    for _ in range(2):
        bring_in(tmp_path / "in", out, one=fio_json(4_096_000))
    assert len(load_result(out).estimates) == 1
    cut = tmp_path / "cut.json"
    cut.write_text(fio_json(4_096_000)[:-120])
    CliRunner().invoke(command, [str(cut), "-o", str(out)])
    assert any("cut" in text for text in load_result(out).settings.values())


def test_what_cannot_be_a_store_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="nothing was imported"):
        Imported.open(tmp_path)
    (tmp_path / "imported.sqlite").write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(IoAtlasError, match="cannot be read"):
        load_result(tmp_path)
    out = tmp_path / "newer"
    Imported.at(out).close()
    with closing(sqlite3.connect(out / "imported.sqlite")) as link:
        link.execute("PRAGMA user_version=99")
    with pytest.raises(IoAtlasError, match="format 99"):
        load_result(out)


IOR = """\
IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum
write        1200.50    1100.25    1150.00      40.00    0.90000 0 16 4 3 1 1 1 0 0 1 1073741824 1048576 17179869184 POSIX 0
"""


def test_a_mean_says_so_and_its_spread_makes_no_interval(tmp_path):
    bring_in(tmp_path / "in", tmp_path / "lib", ior=IOR)
    (estimate,) = load_result(tmp_path / "lib").estimates
    assert (estimate.verdict_text, estimate.bw_low, estimate.bw_high) == ("mean of 3 runs", None, None)
    assert "the source's spread over runs: 40 MiB/s; no interval is made of it" in estimate.notes


def forty_tables(folder, out, *options):
    """40 IOzone tables of two record sizes, with values drawn anew for each; what was drawn, in bytes a second."""
    rng = np.random.default_rng(2017)
    head, lines = IOZONE[: IOZONE.index("            1024")], {}
    drawn = rng.normal(90_000, 4_000, size=(40, 2, 9)).round()
    for run in range(40):
        rows = [
            f"         4194304 {reclen:7d} " + " ".join(f"{int(value):8d}" for value in drawn[run, at])
            for at, reclen in enumerate((64, 1024))
        ]
        lines[f"run-{run:02}.txt"] = head + "\n".join(rows) + "\n"
    bring_in(folder, out, *options, **lines)
    return drawn * 1024


def test_forty_tables_are_repeats_with_mean_deviation_and_interval(tmp_path):
    drawn = forty_tables(tmp_path / "in", tmp_path / "nas", "--repeats")
    result = load_result(tmp_path / "nas")
    assert [target.name for target in result.targets] == ["nas"]
    assert len(result.estimates) == 18
    values = {(e.cell.option["operation"], e.cell.option["bs"]): e for e in result.estimates}
    strided = values[next(name for name, _ in values if "strid" in name), 64 << 10]
    expected = drawn[:, 0, 8]
    assert strided.n_repeats == 40
    assert strided.n_visits == 0
    assert strided.bw_bytes_per_s == pytest.approx(expected.mean())
    assert strided.bw_sd == pytest.approx(expected.std(ddof=1))
    half = stats.t.ppf(0.975, 39) * expected.std(ddof=1) / 40**0.5
    assert (strided.bw_low, strided.bw_high) == pytest.approx((expected.mean() - half, expected.mean() + half))
    assert strided.verdict_text == "mean of 40 repeats"
    assert strided.notes[0].endswith("and 39 more, in 40 files")
    (repeats,) = [one.values for one in result.findings if "repeats" in one.values]
    assert (repeats["n_values"], repeats["repeats"]) == (18, "40")
    table = io.StringIO()
    write_csv(result, table)
    rows = list(csv.DictReader(io.StringIO(table.getvalue())))
    assert {row["n_repeats"] for row in rows} == {"40"}
    assert all(float(row["bw_sd"]) > 0 for row in rows)


@pytest.mark.parametrize("order", [1, -1])
def test_without_a_word_of_the_user_the_middle_one_is_shown(order, tmp_path):
    rates = [4_096_000 * n for n in (3, 1, 2)][::order]
    readings = [ImportedReading("a.log", n, "fio", direction="read", bw_bytes_per_s=bw) for n, bw in enumerate(rates)]
    (e,) = imported_map([Labelled("", one) for one in readings]).estimates
    assert (e.bw_bytes_per_s, e.statistic) == (2 * 4_096_000, "middle of 3 readings")
    assert len(imported_map([Labelled("", one) for one in readings], one_by_one=True).estimates) == 3


@pytest.mark.parametrize(
    "form", ["{system}/r{bs}.json", "res-{system}-{bs}.json", "{system}/2024/{bs}/out-{stamp}.json"]
)
def test_systems_whose_name_stands_in_the_path_are_sets(form):
    found = imported_map(
        Labelled(
            "",
            ImportedReading(
                f"/home/me/{form.format(system=system, bs=bs, stamp=stamp)}",
                1,
                "fio",
                rw="read",
                direction="read",
                bs_bytes=bs,
                bw_bytes_per_s=rate * bs,
            ),
        )
        for stamp, (system, rate, bs) in enumerate(
            (system, rate, 4096 << n) for system, rate in (("nas", 9), ("ssd", 90), ("hdd", 3)) for n in range(5)
        )
    )
    assert found.series == ("nas", "ssd", "hdd")
    assert {e.statistic for e in found.estimates} == {"single run"}
    assert [e.bw_bytes_per_s for e in found.estimates if e.cell.option["bs"] == 4096] == [36864, 368640, 12288]


def test_without_a_word_of_the_user_readings_are_no_repeats(tmp_path):
    forty_tables(tmp_path / "in", tmp_path / "plain")
    result = load_result(tmp_path / "plain")
    assert len(result.estimates) == 18
    assert all(e.bw_low is None and not e.n_repeats for e in result.estimates)
    assert {e.statistic for e in result.estimates} == {"middle of 40 readings"}


def test_repeats_are_compared_one_by_one(tmp_path):
    forty_tables(tmp_path / "in", tmp_path / "nas", "--repeats")
    forty_tables(tmp_path / "in", tmp_path / "again", "--label", "again")
    (pair,) = compare_sides((tmp_path / "nas", tmp_path / "again")).result.pairs
    assert len(pair.cells) == 18
    assert {(cell.n_first, cell.n_second) for cell in pair.cells} == {(40, 40)}


def test_jobs_that_ran_at_once_are_no_repeats(tmp_path):
    record = json.loads(fio_json(4_096_000))
    record["jobs"] *= 3
    bring_in(tmp_path / "in", tmp_path / "jobs", "--label", "jobs", run=json.dumps(record, indent=1))
    result = load_result(tmp_path / "jobs")
    assert not any(e.n_repeats for e in result.estimates)


def test_repeats_need_a_place(tmp_path):
    (tmp_path / "a").write_text(IOZONE)
    done = CliRunner().invoke(command, [str(tmp_path / "a"), "--repeats"])
    assert isinstance(done.exception, UsageError)


def test_lines_have_bars_of_one_standard_deviation(tmp_path):
    forty_tables(tmp_path / "in", tmp_path / "nas", "--repeats")
    q = replace(quantity("bw"), bars_of_sd=True)
    e = load_result(tmp_path / "nas").estimates[0]
    low, high = q.bounds(e)
    assert (high - low) / 2 == pytest.approx(e.bw_sd)
    out = ["--format", "svg", "--figure", "lines", "--bars", "sd"]
    done = CliRunner().invoke(export_command, [str(tmp_path / "nas"), *out, "-o", str(tmp_path / "lines.svg")])
    assert done.exit_code == 0, done.output
    assert "one standard deviation" in "".join(path.read_text() for path in tmp_path.glob("lines*.svg"))
    plain = CliRunner().invoke(export_command, [str(tmp_path / "nas"), "--format", "svg", "--bars", "sd"])
    assert isinstance(plain.exception, UsageError)


def test_cells_whose_figures_contradict_each_other_are_a_doubt(tmp_path):
    wrong = fio_json(4_096_000).replace('"io_bytes": 4096,', '"io_bytes": 99999999,')
    sound = fio_json(8_192_000).replace('"io_bytes": 4096,', '"io_bytes": 8192000,').replace('"1m"', '"2m"')
    bring_in(tmp_path / "in", tmp_path / "lib", a=wrong, b=sound)
    result = load_result(tmp_path / "lib")
    (wrong_cell,) = (e.cell.key for e in result.estimates if e.cell.option["size"] == 1 << 20)
    assert [doubt.cells for doubt in summarise(result).doubts if "n_doubted" in doubt.values] == [(wrong_cell,)]


COMPLETION, TOTAL = "completion", "total"


@pytest.mark.parametrize(
    ("kinds", "details", "shown"),
    [
        ((TOTAL, TOTAL), {}, OneLatency(200.0, 150.0, TOTAL)),
        ((TOTAL, COMPLETION), {"clat_mean_ns": 100.0}, OneLatency(100.0, 150.0, COMPLETION)),
        ((COMPLETION, TOTAL), {"lat_mean_ns": 120.0}, OneLatency(120.0, 150.0, TOTAL)),
        ((TOTAL, COMPLETION), {}, OneLatency(200.0, None, TOTAL)),
        ((TOTAL, None), {"clat_mean_ns": 100.0}, OneLatency(200.0, None, TOTAL)),
        ((None, None), {}, OneLatency(200.0, 150.0, None)),
    ],
)
def test_a_mean_of_one_latency_never_stands_beside_a_percentile_of_another(kinds, details, shown):
    figures = {"iops": 5.0, "lat_mean_ns": 200.0, "lat_p99_ns": 150.0, "details": details}
    kind, p99_kind = kinds
    reading = ImportedReading("a.json", 1, "fio", direction="read", lat_kind=kind, lat_p99_kind=p99_kind, **figures)
    assert reading.latency == shown
    (shown_row,) = imported_map([Labelled("", reading)]).estimates
    assert (shown_row.lat_mean_ns, shown_row.lat_p99_ns) == shown[:2]
    assert shown_row.lat_kind == (shown.kind or "unknown")
