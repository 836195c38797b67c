# SPDX-License-Identifier: Apache-2.0
import random
from statistics import fmean, stdev

import pytest

from ioatlas.answer.analysis.estimates import estimate_cells
from ioatlas.answer.analysis.fixed_work import Speeds, agreement_table, agreements, charts, readings, sequence_findings
from ioatlas.model.fixed_work import WorkSequence, sequence_cell
from ioatlas.model.panel import Line
from ioatlas.model.units import rates_in
from ioatlas.model.verdict import VerdictCode, read_reasons, read_verdict
from ioatlas.model.visit import Histogram, Part, Series, Visit

MIB = 1 << 20
SIZE = 64 * MIB


def cell(operation="read", tool="fio", record=65536, size=SIZE):
    rw = "write" if "write" in operation else "read"
    options = {"rw": rw, "bs": record, "size": size, "io_size": size}
    return sequence_cell(WorkSequence("nas", tool, size, record), operation, options, direct=True)


def visit(number, of, rate, block):
    size = int(of.option["size"])
    part = Part(of.directions[0], size, size // of.bs_bytes, 1000 * size / rate, None, Histogram(), Series(0))
    return Visit(number, of.key, number, 0, block, 1, float(number), (part,), verdict=read_verdict("work-bounded"))


def both(ratio, noise=0.02, blocks=6, operation="read"):
    generator = random.Random(1)
    cells, visits = {}, []
    for record in (65536, MIB):
        fio, iozone = cell(operation, "fio", record), cell(operation, "iozone", record)
        cells |= {fio.key: fio, iozone.key: iozone}
        for block in range(blocks):
            level = 1e8 * (1 + block) * generator.uniform(1 - noise, 1 + noise)  # blocks differ more than tools
            visits.append(visit(len(visits), fio, level, block))
            visits.append(visit(len(visits), iozone, level * ratio * generator.uniform(1 - noise, 1 + noise), block))
    return cells, visits


def test_lines_are_means_with_standard_deviations_of_visits():
    one = cell()
    rates = [90e6, 100e6, 140e6]
    found = readings({one.key: one}, [visit(n, one, rate, n) for n, rate in enumerate(rates)])
    (chart,) = charts(found, by_operation=True)
    (line,) = chart.series
    (dot,) = line.dots
    assert chart.title == "Read"
    assert line.name == "fio"
    mean, sd = fmean(rates), stdev(rates)
    assert (dot.value, dot.low, dot.high, dot.n) == (*map(pytest.approx, (mean, mean - sd, mean + sd)), 3)
    assert "Work-bounded" in chart.note


def test_one_visit_has_no_standard_deviation_and_discarded_ones_do_not_count():
    one = cell()
    gone = Visit(**{**visit(2, one, 5e6, 1).__dict__, "discarded": read_reasons("error")})
    found = readings({one.key: one}, [visit(1, one, 1e8, 0), gone])
    dot = next(charts(found, by_operation=True)).series[0].dots[0]
    assert (dot.n, dot.low, dot.high) == (1, None, None)


def test_over_file_size_there_is_one_chart_with_a_line_an_operation():
    cells = [cell(operation, size=size) for operation in ("write", "read") for size in (MIB, 4 * MIB)]
    found = readings({c.key: c for c in cells}, [visit(n, c, 1e8, 0) for n, c in enumerate(cells)])
    (chart,) = charts(
        found,
        by_operation=False,
        limits={"nas": [Line("1 GbE", 117e6)]},
        marks=[Line("memory of the client", 2.0 * MIB)],
    )
    assert [line.name for line in chart.series] == ["write", "read"]
    assert [dot.x for dot in chart.series[0].dots] == [MIB, 4 * MIB]
    assert chart.ticks == ((MIB, "1 MiB"), (4 * MIB, "4 MiB"))
    assert chart.limits[0].name == "1 GbE"
    assert chart.marks[0].value == 2 * MIB


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.3])
def test_pairs_find_the_ratio_although_blocks_differ_more(ratio):
    (found,) = agreements(readings(*both(ratio)))
    assert found.pairs == 12
    assert found.low <= ratio <= found.high
    assert found.high / found.low < 1.1
    assert found.differs == (ratio != 1.0)
    table = agreement_table([found])
    assert table.rows[0][0] == "read"
    assert len(table.rows[0]) == len(table.columns)


def test_a_tool_alone_is_compared_with_nothing():
    cells, visits = both(1.0)
    only = {key: each for key, each in cells.items() if each.option["tool"] == "fio"}
    assert agreements(readings(only, visits)) == []
    codes = [finding.code for finding in sequence_findings(readings(only, visits), by_operation=True)]
    assert codes == ["operations", "work-bounded"]


def test_estimates_say_work_bounded_and_never_share_visits_or_variance_between_tools():
    cells, visits = both(2.0)
    found = estimate_cells(cells, visits)
    assert len(found) == 4
    assert {estimate.n_visits for estimate in found} == {6}
    for estimate in found:
        assert estimate.verdict is VerdictCode.WORK_BOUNDED
        assert any(note.startswith("work-bounded") for note in estimate.notes)
        assert estimate.lat_mean_ns is None


def test_a_noisy_tool_does_not_widen_the_other():
    generator = random.Random(2)
    cells, visits = {}, []
    for record in (65536, MIB):
        for tool, noise in (("fio", 0.001), ("iozone", 0.3)):
            one = cell("read", tool, record)
            cells[one.key] = one
            visits += [visit(len(visits) + n, one, 1e8 * generator.uniform(1 - noise, 1 + noise), n) for n in range(4)]
    for estimate in estimate_cells(cells, visits):
        width = (estimate.bw_high - estimate.bw_low) / estimate.bw_bytes_per_s
        assert (width < 0.02) == (estimate.cell.option["tool"] == "fio")


def test_time_of_work_between_and_beyond_records_that_were_seen():
    speeds = Speeds()
    assert speeds.per_io("read", 4096) is None
    speeds.add("read", 4096, 100e-6)
    speeds.add("read", 4096, 120e-6)
    speeds.add("read", 4096, 5.0)
    speeds.add("read", MIB, 10e-3)
    assert speeds.per_io("read", 4096) == 120e-6
    assert speeds.per_io("read", 1024) == 120e-6
    assert speeds.per_io("read", 4 * MIB) == pytest.approx(40e-3)
    assert 120e-6 < speeds.per_io("read", 65536) < 10e-3
    assert speeds.overhead(0.3) == 0.3
    speeds.add_overhead(9, 0.9)
    assert speeds.overhead(0.3) == pytest.approx(0.1)


@pytest.mark.parametrize(("system", "unit", "factor"), [("binary", "MiB/s", 1 << 20), ("decimal", "MB/s", 1e6)])
def test_rates_stand_in_the_units_that_were_chosen(system, unit, factor):
    made = readings(*both(1.2))
    (found,) = agreements(made)
    with rates_in(system):
        table = agreement_table([found])
        told = sequence_findings(made, by_operation=True)
    assert table.columns[1:3] == (f"fio, {unit}", f"IOzone, {unit}")
    assert float(table.rows[0][1]) == pytest.approx(found.fio / factor, rel=1e-3)
    assert {one.values["unit"] for one in told if "means" in one.values} == {unit}
