# SPDX-License-Identifier: Apache-2.0
"""Every command has a manual page that groff takes without a warning and that tells every option."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import man
import pytest

from ioatlas.cli import ioatlas


@pytest.fixture(scope="module")
def pages():
    return man.pages()


def test_every_command_has_a_page(pages):
    assert {"ioatlas.1", "ioatlas-atlas-serve.1"} <= pages.keys()
    assert {f"ioatlas-{name}.1" for name in ioatlas.said} <= pages.keys()


def test_a_page_tells_rare_options_examples_and_exit_status(pages):
    page = pages["ioatlas-map.1"].replace("\\-", "-")
    assert all(f".B {option}" in page for option in ("--budget", "--max-visits", "--engine", "-h, --help"))
    assert [line for line in page.splitlines() if line.startswith(".SH")] == [
        *(".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS"),
        *(".SH EXAMPLES", ".SH EXIT STATUS", ".SH SEE ALSO"),
    ]
    assert re.search(r"^ioatlas map /mnt/nas ", page, re.MULTILINE)
    assert "\b" not in "".join(pages.values())


def examples():
    root = Path(__file__).parents[2]
    texts = "\n".join(
        path.read_text() for path in [*root.glob("src/**/examples.txt"), *root.glob("packages/*/src/**/examples.txt")]
    )
    return {told.strip() for told in re.findall(r"^  (?:.* )?(ioatlas .*?)(?=  |$| \||>|&&|\)\")", texts, re.MULTILINE)}


def test_every_example_names_commands_and_options_that_are_there():
    """None of them is run: their targets and servers are not there."""
    found = examples()
    assert len(found) > 100
    for line in found:
        command, words, context = ioatlas, shlex.split(line)[1:], None
        while command is not None:
            context = click.Context(command, parent=context, info_name=command.name)
            options, words, _ = command.make_parser(context).parse_args(list(words))
            assert options.keys() <= {one.name for one in command.get_params(context)}, line
            if not isinstance(command, click.Group) or not words:
                break
            _name, command, words = command.resolve_command(context, words)
        assert command is not None, line


@pytest.mark.parametrize("line", [".hidden", "'quoted", "a\\b -c"])
def test_text_stays_text(line):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-Tascii", "-P-c"], input=man._text(line) + "\n", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == line


@pytest.mark.needs("groff")
def test_groff_has_no_complaint(pages, tmp_path, capsys):
    assert man.main([str(tmp_path)]) == 0
    assert f"{len(pages)} pages" in capsys.readouterr().out
    files = sorted((tmp_path / "man1").iterdir())
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Kutf8", *files], capture_output=True, text=True, check=True)
    assert done.stderr == ""
