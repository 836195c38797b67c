# SPDX-License-Identifier: Apache-2.0
"""The first screen of whole campaigns: it fits, it loses nothing silently, it can be read without colour."""

import json
import os
import re
import shlex
from dataclasses import replace

import pytest

from tests.unit.simulated import LAW, MIB, Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
visits = {visits}
window = "{window}"
[sweep]
rw = {rw}
bs = {bs}
size = "8m"
numjobs = {jobs}
"""
FOUR = '["read", "write", "randread", "randwrite"]'


def measured(tmp_path, law=LAW, *, rw=FOUR, bs='["4k", "1m"]', jobs="[1, 4, 16]", visits=3, window="200ms"):
    shell = Shell(law)
    (tmp_path / "t").mkdir()
    (tmp_path / "sweep.toml").write_text(SWEEP.format(visits=visits, rw=rw, bs=bs, jobs=jobs, window=window))
    os.chdir(tmp_path)
    done = shell("map", "t", "--campaign", "sweep.toml", "-o", "c", "--yes")
    assert done.returncode == 0, done.stderr
    return shell, done.stdout


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def check(text, width=100, lines=25):
    rows = text.rstrip("\n").splitlines()
    assert max(map(len, rows)) <= width, text
    assert len(rows) <= lines, text
    return rows


@pytest.mark.usefixtures("with_law")
def test_map_ends_in_the_answer(tmp_path):
    shell, told = measured(tmp_path, window="1500ms")
    rows = check(told)
    assert "24 cells" in rows[0]
    assert re.search(r"TRUST: (GOOD|FAIR|LOW) *$", rows[0])
    assert rows[1].startswith("Best read")
    assert rows[2].startswith("Best write")
    assert any(row.startswith("4 KiB random read") and "16 in flight; alone " in row for row in rows)
    assert any("rand read" in row and "rand write" in row for row in rows)
    assert any(row.startswith("Next") for row in rows)
    assert rows[-1].startswith("Report")
    shown = shell("show", "c").stdout
    assert shown == told
    verbose = shell("show", "c", "-v").stdout
    assert verbose.startswith(told)
    assert "90 % of the peak of reads" in verbose


def test_a_name_with_a_blank_is_one_word_of_what_can_be_typed_next(tmp_path):
    shell, _ = measured(tmp_path, rw='["randread"]', bs='["4k"]', jobs="[1]", visits=1)
    (tmp_path / "c").rename(tmp_path / "my nas")
    (line,) = [row for row in shell("show", "my nas").stdout.splitlines() if "More:" in row]
    assert shlex.split(line.partition("More:")[2]) == ["ioatlas", "show", "my nas", "-v"]


@pytest.mark.long("cli", "report")
@pytest.mark.usefixtures("with_law")
def test_the_best_value_stands_in_the_map(tmp_path):
    shell, told = measured(tmp_path, replace(LAW, noise=0.2), visits=1)
    document = json.loads(shell("show", "c", "--json").stdout)
    rows = {(row["cell"], row["direction"]): row for row in document["rows"]}
    for best in document["summary"]["headlines"]:
        value = rows[best["cell"], best["direction"]]["bw_bytes_per_s"]
        assert value == best["value"]
        if best["value"] < 10 * 1024 * MIB:
            assert f"{best['value'] / MIB:.0f}" in told or "??" in told


@pytest.mark.long("cli", "report")
@pytest.mark.parametrize(
    "sweep",
    [
        {},
        {"bs": '["512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m"]', "rw": '["read"]'},
        {"jobs": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]", "rw": '["randread", "write"]'},
        {"rw": '["randread"]', "bs": '["4k"]', "jobs": "[1]"},
        {"rw": '["randrw", "read"]', "visits": 1},
    ],
    ids=["quick", "many blocks", "many jobs", "one cell", "mixed"],
)
def test_whatever_the_sweep_and_the_width_nothing_is_lost_silently(tmp_path, sweep):
    shell, _ = measured(tmp_path, replace(LAW, noise=0.02), **{"visits": 1, **sweep})
    for width in (80, 100, 120, 200):
        fits(shell, sweep, width)


def fits(shell, sweep, width):
    text = shell("show", "c", COLUMNS=str(width), FORCE_COLOR="1", NO_COLOR="1").stdout
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = check(plain, min(width, 100), 25 if width >= 100 else 29)
    blocks = re.findall(r'"(\w+)"', sweep.get("bs", '["4k", "1m"]'))
    jobs = re.findall(r"\d+", sweep.get("jobs", "[1, 4, 16]"))
    if len(blocks) * len(jobs) < 2:
        return
    shown = [row for row in rows if re.match(r" *\d+ (KiB|MiB|B)  ", row)]
    left = next((row for row in rows if "Not shown" in row), "")
    bands = sum(row.startswith("jobs") for row in rows)
    heads = next(row for row in rows if row.startswith("jobs"))
    assert len(shown) == len(blocks) * bands or re.search(r"\d+ of \d+ bs values", " ".join(rows)), plain
    assert set(jobs) <= set(heads.split()) or "numjobs values" in " ".join(rows), plain
    assert "DIR -v" not in left


@pytest.mark.long("cli", "report")
def test_marks_do_not_need_colour_and_colours_are_readable(tmp_path):
    shell, told = measured(tmp_path, replace(LAW, noise=0.5), visits=2)
    assert "runs disagree" in told or "beyond ±50%" in told
    rich = shell("show", "c", FORCE_COLOR="1", TERM="xterm-256color", COLORTERM="").stdout
    cells = re.findall(r"\x1b\[38;5;(\d+);48;5;(\d+)m", rich)
    assert cells  # letters and ground are both set
    assert {letters for letters, _ in cells} <= {"16", "231"}
    few = shell("show", "c", FORCE_COLOR="1", TERM="screen", COLORTERM="").stdout
    assert not re.search(r"\x1b\[[0-9;]*4[0-7][;m]", "\n".join(few.splitlines()[1:]))  # the badge alone is coloured
    assert "\x1b[1;7m" in few


def test_a_noisy_target_is_told_loudly(tmp_path):
    _, told = measured(tmp_path, replace(LAW, noise=0.6), visits=2)
    assert "TRUST: LOW" in told
    assert "Why low" in told
    assert "ioatlas map --campaign" in told


@pytest.mark.long("cli", "analysis", "law")
@pytest.mark.usefixtures("with_law")
def test_a_quiet_target_is_trusted(tmp_path):
    _, told = measured(tmp_path, replace(LAW, noise=0.005, client_iops=1e7), bs='["4k", "64k"]', visits=5, window="1s")
    assert "TRUST: GOOD" in told, told
    assert "Why" not in told
