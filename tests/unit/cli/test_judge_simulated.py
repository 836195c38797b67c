# SPDX-License-Identifier: Apache-2.0
"""`ioatlas product judge` on campaigns of targets whose speed is known."""

import json

import pytest
from click.testing import CliRunner

from ioatlas.analysis.standing import Band, Bound, Figure, Peer, standing
from ioatlas.cli import ioatlas
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

SWEEP = """
window = "300ms"
[sweep]
rw = ["read", "write", "randread"]
bs = ["4k", "1m"]
size = ["8m"]
numjobs = [1, 4]
"""
SHEET = """format = 1
[source]
name = "typed in"
[product]
vendor = "V"
model = "M"
[[drives]]
count = 5
capacity = "4 TB"
read = "100 MB/s"
write = "100 MB/s"
read_iops = 20000
[layout]
type = "raid5"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("judge")
    (home / "s.toml").write_text(SWEEP)
    (home / "sheet.toml").write_text(SHEET)
    (home / "kept").mkdir()
    for name, speed in (("one", 480e6), ("slower", 200e6), ("faster", 900e6)):
        (home / name).mkdir()
        law = Law(read=Way(50e-6, 1e5, speed), write=Way(60e-6, 1e5, speed / 2), noise=0.01)
        done = Shell(law)(
            "map",
            home / name,
            "--campaign",
            home / "s.toml",
            "--visits",
            "3",
            "--window",
            "1s",
            "-o",
            home / "kept" / name,
            "--yes",
        )
        assert done.returncode == 0, done.stderr
    return home


def run(home, *options):
    return CliRunner().invoke(
        ioatlas, ["product", "judge", str(home / "kept" / "one"), "--in", str(home / "kept"), *options]
    )


def test_figures_stand_against_the_drives_and_the_other_targets(home):
    found = json.loads(run(home, "--product", str(home / "sheet.toml"), "--json").output)
    told = {one["figure"]["kind"]: one for one in found["figures"]}
    assert told["read"]["bounds"][0] == {"name": "5 drives read at once", "value": 500e6}
    assert told["read"]["share"] == pytest.approx(0.96, abs=0.02)
    assert told["read"]["band"] == "all"
    assert told["write"]["bounds"][0]["value"] == 400e6
    assert told["write"]["share"] == pytest.approx(0.6, abs=0.02)
    assert told["write"]["band"] == "half"
    assert (told["read"]["beaten"], told["read"]["peers"]) == (1, 2)
    assert told["read"]["best_peer"]["name"] == "faster"


def test_the_screen_says_the_band_before_the_bounds(home):
    text = run(home, "--product", str(home / "sheet.toml")).output
    lines = [line.strip() for line in text.splitlines()]
    (read,) = [line for line in lines if line.startswith("Read ")]
    assert "%: nearly all that its parts allow" in read
    assert "tightest: 500.0 MB/s, 5 drives read at once" in lines
    assert "faster than 1 of 2 other targets" in lines


def test_without_bounds_it_says_what_to_name(home):
    text = run(home).output
    assert "no bound is known" in text
    assert "--product" in text


def test_the_sheet_of_the_campaign_needs_no_name(home):
    kept = home / "kept" / "one" / "product.toml"
    kept.write_text(SHEET)
    try:
        text = run(home).output
        kept.write_text(SHEET.replace('read = "100 MB/s"\nwrite = "100 MB/s"\nread_iops = 20000\n', ""))
        silent = run(home).output
    finally:
        kept.unlink()
    assert "5 drives read at once" in text
    assert "in [[drives]] of the sheet write what one drive does" in silent


def figure(value, low=None, high=None, kind="read", block=0):
    return Figure(kind, "bw_bytes_per_s", value, low, high, "w", "c", "read", "t", block)


@pytest.mark.parametrize(
    ("value", "low", "band"),
    [(95, 90, Band.ALL), (75, 70, Band.MOST), (50, 45, Band.HALF), (10, 9, Band.LITTLE), (120, 110, Band.OVER)],
)
def test_bands(value, low, band):
    assert standing(figure(value, low, value + 5), [Bound("a", 200), Bound("b", 100)], []).band is band


def test_more_than_allowed_within_the_error_is_not_told_as_more():
    assert standing(figure(104, 99, 109), [Bound("a", 100)], []).band is Band.ALL


def test_peers_tie_when_intervals_touch_and_other_blocks_are_no_peers():
    peers = [
        Peer("low", figure(50, 48, 52)),
        Peer("tie", figure(101, 99, 104)),
        Peer("high", figure(200, 190, 210)),
        Peer("other", figure(1, kind="random read", block=4096)),
    ]
    one = standing(figure(100, 98, 102), [], peers)
    assert (one.beaten, one.ties, one.peers, one.best_peer.name) == (1, 1, 3, "high")
