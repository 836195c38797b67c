# SPDX-License-Identifier: Apache-2.0
"""What users read has at most 20 words a sentence: texts of the code, help and documentation (words.py says how).

What a campaign says is looked at where campaigns are made (results/test_no_contradiction.py), the page's texts in
web/src/words.test.ts.
"""

import re

import click
import pytest

from ioatlas import errors
from ioatlas.cli import ioatlas
from tests.unit.test_glossary import pages
from tests.unit.words import ROOT, SOURCE, literals, of_page, sentences, too_long, too_long_on_page, words

FOR_PROGRAMS = (
    "CREATE TABLE",
    "typeof(",
    "<!doctype",
    "# [power]",
    "[global]",
    "set -e",
    "set object",
    "File size set to",
)
"""How texts begin that a program reads: SQL, the page, a sheet, settings, a shell, gnuplot, IOzone's output."""
PROSE = re.compile(r"\b(a|an|the|is|are|was|its?|that|which|for|with|of)\b")
"""A text without any of these is a list of names."""
ERRORS = {name for name in vars(errors) if name.endswith("Error")}


def commands(group, context, path="ioatlas"):
    yield path, group
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, context, f"{path} {name}")
        else:
            yield f"{path} {name}", command


HELP = dict(commands(ioatlas, click.Context(ioatlas)))


def test_sentences_are_found():
    assert sentences("One two. Three? Four: five; six") == ["One two.", "Three?", "Four:", "five;", "six"]
    assert sentences("At 3.5 GiB/s, e.g. in `a. b`. Done") == ["At 3.5 GiB/s, e.g in CODE.", "Done"]
    assert words("1,008 MiB/s — about ±16% (`--visits 5`)") == 5
    assert too_long("Short. " + "w " * 21 + "\n\nShort.")
    assert not too_long("w " * 20 + "\n\nShort")
    assert not too_long("\b\nioatlas show  " + "w " * 20)
    page = "# **Head**.\n\n- one\n  two\n- three\n\n| a | b `|` c |\n|---|---|\n\n```text\nno\n```\n[link](x.md) end"
    assert list(of_page(page)) == ["Head.", "one two", "three", "a", "b CODE c", "link end"]


@pytest.mark.parametrize("room", sorted(path.name for path in SOURCE.iterdir() if path.name != "__pycache__"))
def test_texts_of_the_code_have_short_sentences(room):
    """Errors with their remedies, findings, notes, remarks, labels: every text that is not for a program."""
    place = SOURCE / room
    found = {
        f"{path.relative_to(ROOT)}:{line}": one
        for path in ([place] if place.is_file() else place.rglob("*.py"))
        for line, text in literals(path)
        if not text.lstrip().startswith(FOR_PROGRAMS)
        for one in too_long(text)
        if PROSE.search(one)
    }
    assert not found


@pytest.mark.parametrize("path", HELP)
def test_help_has_short_sentences(path):
    command = HELP[path]
    texts = [command.help, command.epilog, *(getattr(param, "help", "") for param in command.params)]
    assert not [one for text in texts if text for one in too_long(text)]


@pytest.mark.parametrize("page", [*pages(), ROOT / "docs" / "glossary.md"], ids=lambda page: page.name)
def test_pages_have_short_sentences(page):
    assert not too_long_on_page(page.read_text())
