# SPDX-License-Identifier: Apache-2.0
"""`show` and `export` on a campaign of a simulated target."""

import csv
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioatlas.cli import export
from ioatlas.cli import ioatlas as command
from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from tests.unit.simulated import Shell, World

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
visits = 3
window = "200ms"
[sweep]
rw = ["randread", "randrw"]
bs = ["4k", "64k"]
size = ["32k", "8m"]
numjobs = [1, 2, 4]
"""
ioatlas = Shell()


@pytest.fixture(scope="module")
def campaign() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(
        prefix="secret-place", dir=os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")
    ) as place:
        yield measured(Path(place))


def measured(scratch: Path) -> Path:
    """A campaign on a directory that takes direct I/O."""
    directory, target = scratch / "campaign", scratch / "secret-target"
    target.mkdir()
    (scratch / "sweep.toml").write_text(SWEEP)
    done = ioatlas("map", target, "--campaign", scratch / "sweep.toml", "-o", directory, "--yes")
    assert done.returncode == 0, done.stderr
    return directory


def test_csv_has_a_row_for_each_cell_and_direction(campaign: Path) -> None:
    done = ioatlas("export", campaign, "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 2 * 2 * 3 * (1 + 2)
    missing = [row for row in rows if row["verdict"].startswith("not admissible")]
    assert {(row["bs_bytes"], row["size_bytes"]) for row in missing} == {("65536", "32768")}
    for row in rows:
        if row in missing:
            assert row["bw_bytes_per_s"] == ""
            continue
        assert row["kind"] == "measured"
        assert float(row["bw_bytes_per_s"]) == pytest.approx(float(row["iops"]) * float(row["bs_bytes"]), rel=0.1)
        assert row["lat_kind"] == "total"
    assert {(row["rw"], row["direction"]) for row in rows} == {
        ("randread", "read"),
        ("randrw", "read"),
        ("randrw", "write"),
    }


def test_json_says_the_same_and_names_no_place(campaign: Path, tmp_path: Path) -> None:
    out = tmp_path / "new folder" / "result.json"
    done = ioatlas("export", campaign, "--format", "json", "-o", out, "--json")
    assert json.loads(done.stdout) == {"files": [str(out)]}
    document = json.loads(out.read_text())
    assert json.loads(ioatlas("show", campaign, "--json").stdout) == document
    assert len(document["rows"]) == 36
    assert {finding["code"] for finding in document["findings"]} >= {"knee", "not-measured"}
    assert "secret-place" not in out.read_text()
    assert document["settings"]


def test_show_fits_the_terminal_and_keeps_its_numbers_without_colour(campaign: Path) -> None:
    wide = ioatlas("show", campaign, "-v")
    narrow = ioatlas("show", campaign, "-v", FORCE_COLOR="1", COLUMNS="50", TERM="xterm-256color")
    assert wide.returncode == narrow.returncode == 0
    assert "Best read" in wide.stdout
    assert "randrw, write part" in wide.stdout
    assert "\x1b[" not in wide.stdout
    assert "\x1b[" in narrow.stdout
    plain = ioatlas("show", campaign, "-v", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="50").stdout
    assert "[38" not in plain
    assert "[48" not in plain
    assert max(len(line.rstrip()) for line in ioatlas("show", campaign, "--cells").stdout.splitlines()) <= 120
    for axis in ("numjobs", "size"):
        assert ioatlas("show", campaign, "--x", axis, "--quantity", "lat_p99").returncode == 0


@pytest.mark.long("cli", "report")
def test_figures_are_written_where_asked_or_into_the_campaign(campaign: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = ioatlas("export", campaign, "--format", "png")
    assert done.stdout.split() == [str(campaign / "map.png")]
    lines = words("--format pdf --figure lines --x numjobs --y bs -o")
    done = ioatlas("export", campaign, *lines, tmp_path / "lines.pdf")
    assert (tmp_path / "lines.pdf").read_bytes().startswith(b"%PDF"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--format", "png", "--x", "colour"], 2, "no axis 'colour'"),
        (["--format", "csv", "--x", "bs"], 2, "--x is not for --format csv"),
        (["--format", "png", "-o", "map.pdf"], 2, "not the name of a png file"),
        (["--format", "csv", "-o", "/proc/none/cells.csv"], 1, "cannot be written"),
        (["--format", "xlsx"], 2, "xlsx"),
    ],
)
def test_a_wrong_request_is_one_clear_message(campaign: Path, arguments: list[str], code: int, words: str) -> None:
    done = ioatlas("export", campaign, *arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", [("show",), ("export", "--format", "csv")])
def test_no_campaign_there(command: tuple[str, ...], tmp_path: Path) -> None:
    done = ioatlas(command[0], tmp_path, *command[1:])
    assert done.returncode in (1, 2)
    assert "no journal" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_answer_is_passed_on_by_paste_and_names_no_place(campaign: Path, tmp_path: Path) -> None:
    told = ioatlas("show", campaign, "--markdown").stdout
    assert told.startswith("**")
    assert re.search(r"trust: (good|fair|low)\*\*\n\n```text\n", told)
    assert "Best read" in told
    assert "MiB/s" in told
    assert "secret" not in told.replace("secret-target", "")  # the target's name, which is its directory's
    forum = ioatlas("show", campaign, "--bbcode").stdout
    assert forum.startswith("[b]")
    assert "[code]\n" in forum
    assert forum[forum.index("[code]") :].splitlines()[1] in told
    assert ioatlas("export", campaign, "-o", tmp_path / "x.md").returncode == 0
    assert (tmp_path / "x.md").read_text() == told


@pytest.mark.long("cli", "report")
def test_the_card_has_the_size_in_which_links_are_previewed(campaign: Path, tmp_path: Path) -> None:
    done = ioatlas("show", campaign, "--png", tmp_path / "card.png")
    assert done.returncode == 0, done.stderr
    head = (tmp_path / "card.png").read_bytes()[:24]
    assert (int.from_bytes(head[16:20]), int.from_bytes(head[20:24])) == (1200, 630)
    lost = ioatlas("show", campaign, "--png", tmp_path / "none" / "card.png")
    assert lost.returncode == 1
    assert "what to do" in lost.stderr


@pytest.mark.long("cli", "report", "model")
def test_one_choice_of_units_holds_for_all_that_people_read(campaign: Path, tmp_path: Path) -> None:
    for way in (("--units", "decimal"), ()):
        env = {} if way else {"IOATLAS_UNITS": "decimal"}
        for told in (ioatlas("show", campaign, *way, **env), ioatlas("show", campaign, *way, "-v", **env)):
            assert "MB/s" in told.stdout
            assert not re.search(r"[KMG]iB/s", told.stdout)
    for name in ("map.svg", "lines.svg", "report.html"):
        style = ("--figure", "lines") if name == "lines.svg" else ()
        done = ioatlas("export", campaign, "-o", tmp_path / name, "--units", "decimal", *style)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / name).read_text()
        assert '"units":"decimal"' in text if name == "report.html" else "MB/s" in text
    rows = ioatlas("export", campaign, "--format", "csv", "--units", "decimal").stdout
    assert rows == ioatlas("export", campaign, "--format", "csv").stdout  # data has base units


SMALL = '[target]\npath = "TARGET"\n[sweep]\nrw = ["read"]\nsize = ["4m"]\nbs = ["4k"]\n'


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    world.run(SMALL)
    return world.directory


def run(*arguments):
    command.main([str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def launched(monkeypatch):
    seen = []
    monkeypatch.setattr("ioatlas.cli.list.click.launch", lambda path: seen.append(path) or 0)
    return seen


def test_a_page_that_lies_there_is_made_anew(directory, launched):
    report = directory / "report.html"
    report.write_text("<script>somebody else's</script>")
    run("open", directory)
    assert launched == [str(report.resolve())]
    text = report.read_text()
    assert "somebody else's" not in text
    assert 'id="ioatlas-data"' in text


def test_where_nothing_can_be_written_the_page_is_made_elsewhere(directory, launched, monkeypatch, capsys):
    report = directory / "report.html"
    report.write_text("<script>somebody else's</script>")
    monkeypatch.setattr("ioatlas.cli.list.os.access", lambda path, mode: mode != os.W_OK)
    run("open", directory)
    [opened] = launched
    assert not opened.startswith(str(directory))
    with open(opened) as page:
        assert "somebody else's" not in page.read()
    assert stat.S_IMODE(os.stat(os.path.dirname(opened)).st_mode) == 0o700
    assert "cannot be written to" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "kind"), [("a.csv", "csv"), ("a.JSON", "json"), ("b.svg", "svg")])
def test_the_format_of_an_export_is_that_of_its_name(directory, tmp_path, name, kind):
    run("export", directory, "-o", tmp_path / name)
    assert (tmp_path / name).stat().st_size > 100
    assert export.kind_of(tmp_path / name) == kind


@pytest.mark.parametrize("name", ["noend", "a.docx"])
def test_a_name_that_tells_no_format_is_refused(directory, tmp_path, name):
    with pytest.raises(UsageError, match="no format") as caught:
        run("export", directory, "-o", tmp_path / name)
    assert "--format" in caught.value.remedy
    with pytest.raises(UsageError, match="no format"):
        run("export", directory)
