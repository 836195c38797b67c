# SPDX-License-Identifier: Apache-2.0
"""Write the manual pages from the help of the commands: `make man` does, and the wheel takes them along.

scripts/man.py [FOLDER]     FOLDER/man1/ioatlas.1, ioatlas-map.1, ...; by default build/man
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ioatlas import __version__
from ioatlas.cli import ioatlas
from ioatlas.cli._commands import Commands

FOLDER = Path(__file__).resolve().parents[1] / "build" / "man"
AS_TYPED = "\b"
"""Click's mark of a paragraph whose lines are kept."""


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    root = click.Context(ioatlas, info_name="ioatlas", **ioatlas.context_settings)
    return {
        f"{'-'.join(path)}.1": _page(path, command, context)
        for path, command, context in _commands(("ioatlas",), ioatlas, root)
    }


def _commands(
    path: tuple[str, ...], command: click.Command, context: click.Context
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    yield path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands((*path, name), inner, click.Context(inner, info_name=name, parent=context))


def _page(path: tuple[str, ...], command: click.Command, context: click.Context) -> str:
    name = "-".join(path)
    first, *more = _paragraphs(command.help or "")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f'.TH {name.upper()} 1 "" "ioatlas {__version__}" "I/O Atlas"', ".SH NAME"]
    parts += [_text(f"{name} - {_first_sentence(first)}"), ".SH SYNOPSIS", f".B {_text(' '.join(path))}", _text(usage)]
    parts += [".SH DESCRIPTION", *_body([first, *more])]
    options = [
        record for param in command.get_params(context) if (record := param.get_help_record(context)) and record[1]
    ]
    if options:
        parts += [
            ".SH OPTIONS",
            *(line for option, text in options for line in (".TP", f".B {_text(option)}", _text(text))),
        ]
    if isinstance(command, click.Group):
        parts += [".SH COMMANDS", *_listed(path, command, context)]
    for paragraph in _paragraphs(command.epilog or ""):
        parts += _section(paragraph)
    parts += [".SH SEE ALSO", *_see(path)]
    return "\n".join(parts) + "\n"


def _listed(path: tuple[str, ...], group: click.Group, context: click.Context) -> Iterator[str]:
    said = group.said if isinstance(group, Commands) else {}
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        assert inner is not None
        yield from (
            ".TP",
            f".B {_text('-'.join((*path, name)))}(1)",
            _text(said.get(name) or inner.get_short_help_str(200)),
        )


def _section(paragraph: str) -> list[str]:
    """Examples and exit status, as click's epilogues hold them."""
    lines = [line for line in paragraph.splitlines() if line.strip() != AS_TYPED]
    if lines and lines[0].rstrip() == "Examples:":
        return [".SH EXAMPLES", ".nf", *(_text(line.removeprefix("  ")) for line in lines[1:]), ".fi"]
    if lines and (found := re.match(r"Exit status: (.*)", " ".join(lines))):
        return [".SH EXIT STATUS", _text(found[1])]
    return [".SH NOTES", *_body([paragraph])]


def _see(path: tuple[str, ...]) -> list[str]:
    above = [".BR " + _text("-".join(path[:-1])) + " (1),"] if len(path) > 1 else []
    return [*above, ".BR fio (1)"]


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n[ \t]*\n", text.strip()) or [""]


def _body(paragraphs: list[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == AS_TYPED:
            yield from (".nf", *(_text(line) for line in lines[1:]), ".fi")
        else:
            yield _text(" ".join(line.strip() for line in lines))


def _first_sentence(text: str) -> str:
    plain = " ".join(text.split())
    return re.split(r"(?<=[.:;])\s", plain, maxsplit=1)[0].rstrip(".:;")


def _text(text: str) -> str:
    """A line of roff that prints as this text."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").rstrip()
    return "\\&" + safe if safe.startswith((".", "'")) else safe


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else FOLDER
    made = folder / "man1"
    made.mkdir(parents=True, exist_ok=True)
    written = pages()
    for name, text in written.items():
        (made / name).write_text(text, encoding="utf-8")
    print(f"{made}: {len(written)} pages; read one: man {made / 'ioatlas.1'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
