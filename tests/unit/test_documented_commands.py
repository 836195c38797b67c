# SPDX-License-Identifier: Apache-2.0
"""Command lines in docs and in `--help` name commands, options and words that there are. None is run."""

import re
import shlex
from pathlib import Path

import click
import pytest

from ioatlas.cli import ioatlas
from ioatlas.cli._commands import MOVED

ROOT = Path(__file__).parents[2]
END = {"|", ">", "<", "&&", ";"}
"""Where a shell goes on to something else than a word of the command."""
TO_BE_ADDED = "--soak"
"""The option that docs/extend/procedure.md shows how to add."""


def texts():
    """Pages, and by command what its help says in sentences and shows as examples."""
    for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("packages/*/README.md")):
        if "decisions" not in page.parts and page.name != "command-line.md":  # which the code writes
            text = page.read_text().replace("\\\n", " ")
            blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            yield str(page.relative_to(ROOT)), text, "".join(blocks).splitlines()
    below = [(("ioatlas",), ioatlas)]
    for names, command in below:
        text = f"{command.help}\n{command.epilog or ''}"
        # What an example is for stands behind it.
        yield " ".join(names), text, [re.split(r" {2,}", line.strip())[0] for line in text.splitlines()]
        if isinstance(command, click.Group):
            context = click.Context(command)
            below += [((*names, name), command.get_command(context, name)) for name in command.list_commands(context)]


def commands(text, lines):
    """Each as its words: lines, and code within a sentence that begins with the program's name."""
    for line in [*lines, *re.findall(r"`(ioatlas [^`\n]+)`", text)]:
        if found := re.search(r"^(?:\$ )?(?:sudo )?ioatlas (.+)|\$\(ioatlas ([^)]+)\)", line):
            words = shlex.split(found[1] or found[2], comments=True)
            yield words[: next((at for at, word in enumerate(words) if word in END), None)]


def parse(words):
    """Raises click.UsageError. Paths need not be there, nor arguments where a sentence names a command."""
    command, context = ioatlas, click.Context(ioatlas, **ioatlas.context_settings)
    values, rest = {}, words
    assert words[0] not in MOVED
    while rest:
        values, rest, _ = command.make_parser(context).parse_args(list(rest))
        for param in command.get_params(context):
            checked = isinstance(param.type, (click.Choice, click.IntRange, click.FloatRange))
            if checked and isinstance(values.get(param.name), (str, tuple, list)):
                param.type_cast_value(context, values[param.name])
        if rest:
            assert isinstance(command, click.Group)
            _, command, rest = command.resolve_command(context, rest)
            context = click.Context(command, parent=context)


TEXTS = {name: [*commands(text, lines)] for name, text, lines in texts()}


@pytest.mark.parametrize("name", [name for name, found in TEXTS.items() if found])
def test_what_is_documented_can_be_called(name):
    for words in TEXTS[name]:
        if TO_BE_ADDED not in words:
            parse(words)


def test_commands_are_found_in_docs_and_in_help():
    assert len(TEXTS["docs/guide/bundle.md"]) > 5
    assert len(TEXTS["ioatlas product"]) == 5
    with pytest.raises(click.NoSuchOption):
        parse(["map", "/mnt/nas", "--no-such"])
