# SPDX-License-Identifier: Apache-2.0
"""`open` shows what the journal says, whatever page lies in the directory; `export` reads its format from -o."""

import os
import stat

import pytest

from ioatlas.cli import export, ioatlas
from ioatlas.model.errors import UsageError
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")

SMALL = '[target]\npath = "TARGET"\n[sweep]\nrw = ["read"]\nsize = ["4m"]\nbs = ["4k"]\n'


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    world.run(SMALL)
    return world.directory


def run(*arguments):
    ioatlas.main([str(argument) for argument in arguments], standalone_mode=False)


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
