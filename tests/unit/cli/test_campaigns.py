# SPDX-License-Identifier: Apache-2.0
"""Campaigns by name, the results folder, and what lists and completes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ioatlas.answer.results.library import directories, library_folders, results_folder
from ioatlas.cli import ioatlas
from ioatlas.cli._arguments import OPTION_GROUPS, RARE, REST
from ioatlas.cli._commands import MOVED
from ioatlas.model.errors import UsageError
from ioatlas.plan.profiles import described
from tests.unit.simulated import World

pytestmark = pytest.mark.usefixtures("no_law")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, so that the settings of whoever runs the tests do not count."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("IOATLAS_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(ioatlas, arguments, catch_exceptions=True)


def settings(home, text):
    (home / "config" / "ioatlas").mkdir(parents=True)
    (home / "config" / "ioatlas" / "config.toml").write_text(text)


def test_the_results_folder_is_the_environments_then_the_settings_then_here(home, monkeypatch):
    assert str(results_folder()) == "."
    settings(home, f'results = "{home}/kept"')
    assert results_folder() == home / "kept"
    monkeypatch.setenv("IOATLAS_RESULTS", f"{home}/other")
    assert results_folder() == home / "other"


@pytest.mark.parametrize(
    ("text", "what"),
    [("results = 3", "results is not the path"), ("result = 'x'", "no table or key 'result'"), ("[", "not TOML")],
)
def test_settings_that_cannot_be_meant_are_refused_with_their_file(home, text, what):
    settings(home, text)
    with pytest.raises(UsageError, match=what) as caught:
        results_folder()
    assert "config.toml" in caught.value.where


def test_campaigns_are_listed_found_by_name_and_as_last(home, monkeypatch):
    assert "no campaign" in run("list").output
    folder = home / "kept"
    folder.mkdir()
    (folder / "not-one").mkdir()
    for number, name in enumerate(("first", "second")):
        (home / f"world-{name}").mkdir()
        world = World(home / f"world-{name}")
        world.start('name = "x"\n[target]\npath = "TARGET"\n[sweep]\nrw = ["read"]\nsize = ["4m"]\nbs = ["4k"]\n')
        world.session()
        world.directory.rename(folder / name)
        os.utime(folder / name / "journal.sqlite", (number + 1000, number + 1000))
    monkeypatch.setenv("IOATLAS_RESULTS", str(folder))
    assert [path.name for path in directories([folder])] == ["second", "first"]
    listed = json.loads(run("list", "--json").output)
    assert [(each["directory"], each["state"]) for each in listed] == [
        (str(folder / "second"), "complete"),
        (str(folder / "first"), "complete"),
    ]
    assert run("show", "last", "--json").output == run("show", str(folder / "second"), "--json").output
    assert run("show", "first", "--json").exit_code == 0
    completed = ShellComplete(ioatlas, {}, "ioatlas", "_X").get_completions(["show"], "se")
    assert [item.value for item in completed if item.type == "plain"] == ["second"]


def test_the_library_is_the_results_folder_and_those_of_the_settings(home):
    assert library_folders() == (results_folder(),)
    settings(home, f'results = "{home}/new"\nlibrary = ["{home}/old"]\n')
    assert library_folders() == (home / "new", home / "old")
    for folder, name in (("new", "monday"), ("old/nas", "sunday")):
        (home / folder).mkdir(parents=True)
        (home / f"world-{name}").mkdir()
        world = World(home / f"world-{name}")
        world.start('name = "x"\n[target]\npath = "TARGET"\n[sweep]\nrw = ["read"]\nsize = ["4m"]\nbs = ["4k"]\n')
        world.session()
        world.directory.rename(home / folder / name)
    (home / "old" / "again").symlink_to(home / "old" / "nas" / "sunday")
    listed = json.loads(run("list", "--json").output)
    assert sorted(Path(each["directory"]).resolve().name for each in listed) == ["monday", "sunday"]
    of = json.loads(run("list", "--json", "--target", str(home / "world-sunday" / "target")).output)
    assert [Path(each["directory"]).resolve().name for each in of] == ["sunday"]
    assert "no campaign of /none" in run("list", "--target", "/none").output
    assert run("show", "last", "--json").output == run("show", "monday", "--json").output
    assert run("show", "nas/sunday", "--json").exit_code == 0


def test_a_library_that_is_no_list_is_refused(home):
    settings(home, 'library = "/srv"')
    with pytest.raises(UsageError, match="library is not a list"):
        library_folders()


def test_without_a_campaign_last_says_how_to_make_one(home):
    with pytest.raises(UsageError, match="there is no campaign yet") as caught:
        ioatlas.main(["show", "last"], standalone_mode=False)
    assert "ioatlas map" in caught.value.remedy


def test_a_directory_with_a_broken_journal_is_listed_with_the_reason(home):
    (home / "broken").mkdir()
    (home / "broken" / "journal.sqlite").write_text("no database")
    [told] = json.loads(run("list", "--json").output)
    assert told["state"].startswith("cannot be read")


def test_every_command_is_listed_and_every_listed_one_is_there():
    import pkgutil

    from ioatlas import cli

    modules = {info.name.rstrip("_") for info in pkgutil.iter_modules(cli.__path__) if not info.name.startswith("_")}
    groups = {name: ioatlas.get_command(click.Context(ioatlas), name).said for name in ("atlas", "product")}
    inside = {name for said in groups.values() for name in said}
    assert modules <= set(ioatlas.said) | inside
    for name in ioatlas.said:
        assert run(name, "--help").exit_code == 0
    for group, said in groups.items():
        for name in said:
            assert run(group, name, "--help").exit_code == 0


def test_an_old_name_says_the_new_one_and_works():
    for old, new in MOVED.items():
        done = run(old, "bars", "--help") if old == "chart" else run(old, "--help")
        assert done.exit_code == 0
        assert f"`ioatlas {new}`" in done.stderr
        assert f"Usage: ioatlas {new.split(' --')[0]} " in done.stdout


def test_help_is_a_word_too():
    assert run("help").output == run("--help").output
    assert run("help", "map").output == run("map", "--help").output


def test_help_of_map_fits_a_screen_and_keeps_every_option():
    short, every = run("map", "--help").output, run("map", "--help-all").output
    assert len(short.splitlines()) < 60
    assert REST not in every
    options = {param.name for param in ioatlas.get_command(None, "map").params if isinstance(param, click.Option)}
    assert options <= {name for names in OPTION_GROUPS.values() for name in names.split()}
    rare = [max(param.opts, key=len) for param in ioatlas.get_command(None, "map").params if param.name in RARE]
    assert len(rare) == len(RARE)
    assert all(f"{option} " in every for option in rare)
    assert not any(f"{option} " in short for option in rare)


def test_profiles_are_a_table_json_and_campaign_files(home):
    assert run("profiles").output.count("\n") == len(described()) + 4
    assert [each["name"] for each in json.loads(run("profiles", "--json").output)] == [p.name for p in described()]
    (home / "mine.toml").write_text(run("profiles", "standard").output)
    assert 'rw = ["read", "write", "randread", "randwrite"]' in (home / "mine.toml").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell):
    text = run("completion", shell).output
    assert "_IOATLAS_COMPLETE" in text


def test_profiles_complete():
    completed = ShellComplete(ioatlas, {}, "ioatlas", "_X").get_completions(["map", "--profile"], "sn")
    assert {item.value for item in completed} == {p.name for p in described() if p.name.startswith("sn")}


def test_bash_completes_commands_for_real(tmp_path):
    environment = {**os.environ, "COMP_WORDS": "ioatlas pro", "COMP_CWORD": "1", "_IOATLAS_COMPLETE": "bash_complete"}
    code = "from ioatlas.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert set(done.stdout.split()) == {"plain,probe", "plain,product", "plain,profiles"}
