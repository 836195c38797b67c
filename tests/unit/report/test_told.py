# SPDX-License-Identifier: Apache-2.0
"""What is pasted elsewhere is inert, whatever a target is called; the next step is a whole line."""

from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.model.cell import Cell
from ioatlas.model.result import Unmeasured
from ioatlas.model.summary import Beside, LoadReading
from ioatlas.model.units import format_latency, format_rate, format_rate_like, rates_in
from ioatlas.model.verdict import read_unmeasured
from ioatlas.report.export.texts import bbcode, escaped, markdown, table
from ioatlas.report.numbers import beside_of, next_line
from ioatlas.report.small_map import COLOURS, small_map
from tests.unit.analysis.test_overview import result, sweep

HOSTILE = "a|b `c` *d* [e](f) <i> @me #1 https://x www.x.y [/code] ``` &lt; ~~g~~\nh"


def test_a_name_opens_no_tag_and_calls_nobody() -> None:
    text = escaped(HOSTILE)
    assert "\n" not in text
    for alone in ("|", "`", "*", "[", "<", "&", "~"):
        assert text.count(alone) == text.count(f"\\{alone}")
    for called in ("@me", "#1", "://x", "www.x"):
        assert called not in text
    assert [line.count("|") - line.count("\\|") for line in table(["x", "y"], [[HOSTILE, None]])] == [3, 3, 3]


@pytest.mark.parametrize("form", [markdown, bbcode])
def test_code_ends_where_it_should(form) -> None:
    told = form(HOSTILE.replace("\n", " "), "trust: good", [HOSTILE, "````"], ["one [b]", "two"], "end")
    if form is markdown:
        assert "\n`````text\n" in told
        assert told.count("\n`````") == 2
    else:
        assert told.count("[/code]") == 1
        assert told.count("[*]") == 2
        assert "[b]" not in told.partition("[list]")[2]


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("re-run with --budget 2m", "`ioatlas map --campaign nas1/campaign.toml --budget 2m -o nas1-3`"),
        (
            "re-run with --budget 5m (±14% → about ±7%)",
            "`ioatlas map --campaign nas1/campaign.toml --budget 5m -o nas1-3` (±14% → about ±7%)",
        ),
        (
            "re-run with --bs 4k,1m, --budget 2m",
            "`ioatlas map --campaign nas1/campaign.toml --bs 4k,1m --budget 2m -o nas1-3`",
        ),
        ("re-run when idle", "when idle: `ioatlas map --campaign nas1/campaign.toml -o nas1-3`"),
        ("`ioatlas fit DIR --for vm-host`", "`ioatlas fit nas1 --for vm-host`"),
        ("use direct=1", "use direct=1"),
    ],
)
def test_the_next_step_is_a_line_to_paste(tmp_path: Path, step: str, line: str) -> None:
    for name in ("nas1", "nas1-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "nas1" / "campaign.toml").touch()
    assert next_line(step, tmp_path / "nas1") == line
    assert next_line(step, tmp_path / "nas1", f"{tmp_path}/nas1").replace(f"{tmp_path}/", "") == line
    assert next_line(step, None) == step


def test_rates_are_told_in_the_units_that_were_chosen() -> None:
    with rates_in("decimal"):
        assert (format_rate(50e6), format_rate(999), format_rate(2e12)) == ("50 MB/s", "999 B/s", "2 TB/s")
        assert format_rate_like(1.2e9, 9e8) == "1,200 MB/s"
    assert format_rate(50 * 2**20) == "50 MiB/s"


@pytest.mark.parametrize(("under_ns", "slower"), [(41e6, True), (334e3, False), (8.5601e6, False)])
def test_reads_that_writes_do_not_delay_are_not_said_to_wait(under_ns: float, slower: bool) -> None:
    reading = LoadReading("cell", 1, 1e9 / under_ns, under_ns, None)
    told = beside_of(Beside("Under writes", "nas1", "read", 4096, reading, 8.56e6, 20e6))
    assert ("instead of 8.56 ms" in told) is slower
    assert ("no longer than alone (8.56 ms)" in told) is not slower
    slow = replace(reading, lat_p99_ns=2 * under_ns)
    told = beside_of(Beside("Under writes", "nas1", "read", 4096, slow, 8.56e6, 20e6))
    assert f"takes {format_latency(under_ns)} (p99 {format_latency(2 * under_ns)})" in told


def test_a_level_of_which_nothing_is_known_takes_no_room():
    measured = sweep(lambda **o: 1e6, rw=("read",), bs=(4096, 1 << 20), numjobs=(1,))
    cell = Cell.of("nas", {"rw": "read", "bs": 4096, "numjobs": 64})
    left_out = Unmeasured(cell, read_unmeasured("left-out: time was up"))
    found = small_map(result(measured, unmeasured=(left_out,)))
    assert (found.x.levels, set(found.y.levels)) == ((1,), {4096, 1 << 20})


@pytest.mark.parametrize(("speeds", "middle"), [((1e6, 4e6, 8e6), 13), ((1e6, 1e7, 1e8), 13), ((1e6, 5e7, 1e8), 22)])
def test_colours_are_those_of_the_pages_map(speeds, middle):
    """Shares of the largest; on logarithms where a quarter of the values would be told from zero by nobody."""
    sizes = (4096, 65536, 1 << 20)
    found = small_map(result(sweep(lambda bs, **o: speeds[sizes.index(bs)], rw=("read",), bs=sizes, numjobs=(1, 4))))
    steps = {bs: found.values["read", 1, bs].step for bs in sizes}
    assert steps[sizes[1]] == middle
    assert steps[sizes[2]] == len(COLOURS) - 1
    assert (steps[sizes[0]] == 0) == (speeds != (1e6, 4e6, 8e6))
