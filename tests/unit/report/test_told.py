# SPDX-License-Identifier: Apache-2.0
"""What is pasted elsewhere is inert, whatever a target is called; the next step is a whole line."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ioatlas.answer.analysis.trust import IDLE, again
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.result import Unmeasured
from ioatlas.model.summary import Advice, Beside, Headline, LoadReading, SmallIo
from ioatlas.model.units import format_latency, format_rate, format_rate_like, rates_in
from ioatlas.model.verdict import read_unmeasured
from ioatlas.report.export.texts import bbcode, escaped, markdown, table
from ioatlas.report.export.to_gate import Check, Gate, junit, write
from ioatlas.report.export.to_gate import markdown as gate_text
from ioatlas.report.findings import next_step
from ioatlas.report.numbers import beside_of, next_line, parts_of, small_of, value_of
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
    ("advice", "line"),
    [
        ([again("--budget 2m")], "`ioatlas map --campaign nas1/campaign.toml --budget 2m -o nas1-3`"),
        (
            [Advice("again", {"options": "--budget 5m", "width": 0.14, "half": 0.07})],
            "`ioatlas map --campaign nas1/campaign.toml --budget 5m -o nas1-3` (±14% → about ±7%)",
        ),
        (
            [again("--bs 4k,1m"), again("--budget 2m")],
            "`ioatlas map --campaign nas1/campaign.toml --bs 4k,1m --budget 2m -o nas1-3`",
        ),
        ([IDLE], "when idle: `ioatlas map --campaign nas1/campaign.toml -o nas1-3`"),
        ([Advice("resume")], "`ioatlas resume nas1` goes on with it"),
        ([Advice("direct")], "use direct=1"),
        (
            [Advice("direct"), again("--budget 2m")],
            "use direct=1, then `ioatlas map --campaign nas1/campaign.toml --budget 2m -o nas1-3`",
        ),
    ],
)
def test_the_next_step_is_a_line_to_paste(tmp_path: Path, advice: list[Advice], line: str) -> None:
    for name in ("nas1", "nas1-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "nas1" / "campaign.toml").touch()
    assert next_line(advice, tmp_path / "nas1") == line
    assert next_line(advice, tmp_path / "nas1", f"{tmp_path}/nas1").replace(f"{tmp_path}/", "") == line
    assert next_line(advice, None) == next_step(advice)


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


@pytest.mark.parametrize(
    ("lasting", "told"),
    [(30e6, "of writes"), (19e6, "of writes (in a burst; 18.1 MiB/s last)"), (90e6, "(alone 85.8 MiB/s)")],
)
def test_writes_that_ran_on_credit_or_lost_to_reads_are_said_to(lasting: float, told: str) -> None:
    one = Beside("Under writes", "nas1", "read", 4096, LoadReading("cell", 1, 1e3, 1e6, None), 1e5, 30e6, lasting)
    assert beside_of(one).endswith(told)


@pytest.mark.parametrize(
    ("low", "high", "told"), [(64e6, 105e6, "(61 MiB/s to 100 MiB/s)"), (90e6, 110e6, "±10%"), (98e6, 100.5e6, "±1.2%")]
)
def test_an_interval_with_one_long_side_is_told_by_its_ends(low: float, high: float, told: str) -> None:
    assert parts_of(Headline("Best read", "nas1", "read", "bw_bytes_per_s", 100e6, low, high))[1] == told


def test_a_number_that_was_seen_for_a_second_says_so() -> None:
    best = Headline("Best read", "nas", "read", "bw_bytes_per_s", 50 * 2**20, 40 * 2**20, 60 * 2**20, held_seconds=1.2)
    assert value_of(best) == "50 MiB/s ±20% for 1 s"
    assert value_of(replace(best, held_seconds=None)) == "50 MiB/s ±20%"
    small = LoadReading("cell", 16, 2674.0, None, None, held_seconds=0.69)
    told = small_of(SmallIo("4 KiB random read", "nas", "read", "randread", 4096, small, small))
    assert told == "2674 IOPS for 690 ms, 16 in flight"


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


CHECKS = (
    Check("Reads", "failed", "Reads fell by 21% (18% to 24%) on 2026-09-14.", ("fio: 3.33, then 3.36",)),
    Check("Writes", "passed", "Writes: no change."),
    Check("Trims", "skipped", "Too few campaigns."),
)
GATE = Gate("nas1", 1_790_000_000.0, CHECKS, (("date", "level"), ("2026-09-13", "1.00"), ("2026-09-14", "0.79")))


def test_junit_is_read_back_with_its_counts_and_texts():
    root = ET.fromstring(junit(GATE))
    suite = root.find("testsuite")
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "skipped", "errors")} == {
        "name": "nas1",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    assert suite.get("timestamp") == "2026-09-21T14:13:20"
    reads, writes, trims = suite.findall("testcase")
    assert reads.find("failure").get("message") == CHECKS[0].sentence
    assert "fio: 3.33, then 3.36" in reads.find("failure").text
    assert writes.find("system-out").text == "Writes: no change."
    assert writes.find("failure") is None
    assert trims.find("skipped") is not None


def test_markdown_starts_with_the_answer():
    text = gate_text(GATE)
    assert text.startswith("## nas1\n\n❌ Reads fell by 21%")
    assert "| ✅ | Writes | Writes: no change. |" in text
    assert "| 2026-09-14 | 0.79 |" in text
    cells = (Check("nas2: read, bs 4 KiB", "failed", "-71.4%: lower."), Check("x", "failed", "-3%: lower."))
    assert "❌ nas2: read, bs 4 KiB: -71.4%: lower. 1 more got worse." in gate_text(Gate("nas2", 0.0, cells))
    good = gate_text(Gate("nas1", 0.0, CHECKS[1:]))
    assert "Nothing got worse" in good
    assert "✅" not in gate_text(Gate("nas1", 0.0, CHECKS[2:]))
    assert gate_text(Gate("nas1", 0.0, CHECKS[1:], fine="")).startswith("## nas1\n\n⚪ 1 of 2 ")


def test_names_from_elsewhere_stay_text():
    evil = Check("a|b</testcase><x>\x00\x1b", "failed", "<script>`[x](y)`\n| z")
    gate = Gate("\ud800t", 0.0, (evil,))
    case = ET.fromstring(junit(gate)).find("testsuite/testcase")
    assert case.get("name").startswith("a|b</testcase><x>")
    (row,) = [line for line in gate_text(gate).splitlines() if line.startswith("| ❌")]
    assert row.count("|") - row.count("\\|") == 4
    assert "\\<script\\>" in row


def test_files_are_written_or_one_message_says_why_not(tmp_path):
    files = write(GATE, junit_file=tmp_path / "new" / "j.xml", markdown_file=tmp_path / "s.md")
    assert [path.name for path in files] == ["j.xml", "s.md"]
    assert all(path.stat().st_size > 100 for path in files)
    assert write(GATE, junit_file=None, markdown_file=None) == []
    with pytest.raises(IoAtlasError, match="cannot be written"):
        write(GATE, junit_file=tmp_path, markdown_file=None)
