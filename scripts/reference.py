# SPDX-License-Identifier: Apache-2.0
"""Write the pages of docs that follow from the code, and the index of decisions: `make docs` does, a test holds them.

Each page is a function without arguments that returns its text. `--check` writes nothing and says which page is old.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from ioatlas.answer.product.layout import RULES, SOURCES
from ioatlas.answer.product.sheet import schema as product_schema
from ioatlas.answer.product.sheet_file import new_sheet
from ioatlas.cli import ioatlas
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model import errors
from ioatlas.model.factors import FACTOR
from ioatlas.model.options import ALLOWED
from ioatlas.report.table import FIXED, MEANINGS, REST
from ioatlas.store import imported, schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Made by scripts/reference.py from the code. Do not edit. -->"

# Commands whose options the page describes: what measures and what shows results. Of others the guides tell.
DESCRIBED = ("map", "plan", "resume", "tune", "fit", "watch", "show", "compare", "export")
SIGNALS = {130: "ended by Ctrl-C (SIGINT) before anything could be kept", 143: "ended by SIGTERM likewise"}


def command_line() -> str:
    """Every command with its options, as click knows them. Examples and exit status stand elsewhere."""
    parts = [NOTE, "", "# Command line", "", ioatlas.help or "", ""]
    parts += [
        "Every command and its options. `ioatlas COMMAND --help` explains those in usage lines, and has examples.",
        "[Exit status](exit-status.md) says how commands end.",
        "Results go to standard output, progress and messages to standard error.",
        "",
    ]
    context = click.Context(ioatlas, info_name="ioatlas", **ioatlas.context_settings)
    described: dict[tuple[str, str], str] = {}
    for path, command in _commands(ioatlas, "ioatlas", context):
        parts += _command(path, command, context, described)
    return "\n".join(parts).rstrip() + "\n"


def _commands(group: click.Group, path: str, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}", context)


def _command(
    path: str, command: click.Command, parent: click.Context, described: dict[tuple[str, str], str]
) -> list[str]:
    """A section. described: the command that an option was described with first; it is not described again."""
    context = click.Context(command, info_name=path.removeprefix("ioatlas "), parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    said = " ".join((command.help or "").split("\n\n")[0].split())
    options = [item for item in command.params if isinstance(item, click.Option) and item.get_help_record(context)]
    if path.removeprefix("ioatlas ") not in DESCRIBED:
        level = "##" if path.count(" ") == 1 else "###"
        group = isinstance(command, click.Group)
        shared = _shared(command, context) if group else []
        for one in shared:
            described[path, one] = path
        above = path.rpartition(" ")[0]
        names = " ".join(
            f"[{one}]" for one in (_first(item, context) for item in options) if (above, one) not in described
        )
        said += f" All of its commands take {', '.join(f'`{one}`' for one in shared)}." if shared else ""
        line = [] if group else [f"`{' '.join(usage.split()).replace(' [OPTIONS]', f' {names}' if names else '')}`", ""]
        return [f"{level} {path}", "", *line, said, ""]
    parts = [f"## {path}", "", f"`{' '.join(usage.split()).replace(' [OPTIONS]', '')}`", "", said, ""]
    again: dict[str, list[str]] = {}
    own: list[str] = []
    for item in options:
        record = item.get_help_record(context)
        assert record is not None
        first = described.setdefault(record, path)
        if first == path:
            own.append(f"- `{record[0]}`: {' '.join(record[1].split())}".rstrip(": "))
        else:
            again.setdefault(first, []).append(max(item.opts, key=len))
    own += [
        f"- As for [{first.removeprefix('ioatlas ')}](#{first.replace(' ', '-')}): {', '.join(f'`{n}`' for n in names)}"
        for first, names in again.items()
    ]
    return [*parts, *own, *([""] if own else [])]


def _shared(group: click.Group, context: click.Context) -> list[str]:
    """Options that all commands of a group have, where it has more than three."""
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    options = [
        [_first(item, context) for item in command.params if isinstance(item, click.Option)]
        for command in commands
        if command
    ]
    return [one for one in options[0] if all(one in others for others in options)] if len(options) > 3 else []


def _first(option: click.Option, context: click.Context) -> str:
    """An option as a usage line has it."""
    record = option.get_help_record(context)
    assert record is not None
    return record[0].rpartition(", ")[2]


def _plain(text: str) -> str:
    """One line of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def exit_status() -> str:
    """The statuses, from the errors that carry them."""
    kinds = (errors.IoAtlasError, errors.UsageError, errors.RefusedError, errors.GateError, errors.PartialResultError)
    parts = [
        NOTE,
        "",
        "# Exit status",
        "",
        "| status | meaning | error in the code |",
        "|---|---|---|",
        "| 0 | done | |",
    ]
    for kind in kinds:
        first = (kind.__doc__ or "").split(". ")[0].splitlines()[0].rstrip(".")
        parts.append(f"| {kind.exit_code} | {first} | `{kind.__name__}` |")
    parts += [f"| {number} | {text} | |" for number, text in SIGNALS.items()]
    parts += ["", "What 0, 3 and 5 are to each command:", "", "| command | exit status |", "|---|---|"]
    context = click.Context(ioatlas, info_name="ioatlas", **ioatlas.context_settings)
    for path, command in _commands(ioatlas, "ioatlas", context):
        said = re.search(r"Exit (?:status|code)s?:? (.*?)(?:\.\s|\.$|\Z)", " ".join((command.epilog or "").split()))
        if said:
            own = [one for one in re.split(r"[,;] (?=\d)", _plain(said.group(1))) if one[0] not in "124"]
            parts += [f"| `{path}` | {', '.join(own)} |"] if len(own) > 1 else []
    return "\n".join(parts) + "\n"


def csv_columns() -> str:
    """The fixed columns of an export, in order."""
    parts = [NOTE, "", "# CSV columns", ""]
    parts += ["`ioatlas export DIR --format csv` writes these columns in this order. Their names never change.", ""]
    parts += _columns(FIXED)
    parts += ["- every other option that differs between cells, in fio's name"]
    parts += _columns(REST)
    parts += ["- `configuration`: its name, where a campaign compares some"]
    parts += [f"- `{FACTOR}NAME`: value of each factor of the configuration, in the unit of the campaign file"]
    return "\n".join(parts) + "\n"


def _columns(names: Iterable[str]) -> list[str]:
    """A line for neighbours that mean the same."""
    groups = groupby(names, key=lambda name: MEANINGS[name].text)
    return [f"- {', '.join(f'`{name}`' for name in same)}: {text}" for text, same in groups]


def journal() -> str:
    """Tables of the two files in a campaign's directory."""
    parts = [NOTE, "", "# Journal", ""]
    parts += [
        "The tables of a campaign's journal, for whoever reads one with SQL or another program.",
        "",
        "`DIR/journal.sqlite` is a SQLite file. `PRAGMA user_version` is its format:",
        f"{schema.VERSION} since version 0.4, before that the lowest that sufficed. Newer formats are refused.",
        "A record of one configuration has its name behind an `@`.",
        "",
        "Opening checks the whole file: rows, types, bounds, words and references. Anything else, and any view or",
        "trigger, is refused with table, row and column.",
        "The outcome `seal` is a digest of plan, targets and cells, under the key of who made them.",
        "[A directory from somebody else](../guide/safety.md#a-directory-from-somebody-else) says what for.",
        "",
        "```console",
        "$ sqlite3 nas1/journal.sqlite 'SELECT status, count(*) FROM visit GROUP BY status'",
        "```",
        "",
    ]
    parts += ["## Tables", "", "```text"]
    for table in schema.TABLES.values():
        parts += _table(table)
    parts += ["```", "", "## Imported readings", ""]
    parts += [
        f"`DIR/imported.sqlite` (version {imported.VERSION}) holds readings of other tools, each as the JSON object of",
        "`ioatlas import --json`. `sqlite3 DIR/imported.sqlite .schema` prints its tables with comments.",
    ]
    return "\n".join(parts) + "\n"


def _table(table: schema.Table) -> Iterator[str]:
    yield f"{table.name} ("
    for column in table.columns:
        key, comment = " KEY" if column.name in table.keys else "", f"    -- {column.comment}" if column.comment else ""
        yield f"    {column.name}{key}{comment}"
    yield ")"


def campaign() -> str:
    """The campaign page with its keys and options renewed; everything else on it is written by people."""
    page = (DOCS / "reference" / "campaign.md").read_text()
    page = _between(page, "keys", _keys())
    ours = [one for one in ALLOWED.values() if "not an option of fio" in one.summary]
    fios = [one for one in ALLOWED.values() if one not in ours]
    names = ", ".join(f"`{one.name}`" for one in sorted(fios, key=lambda one: one.name))
    return _between(page, "options", [names + ".", "", *(f"- `{one.name}`: {one.summary}" for one in ours)])


def _keys() -> Iterator[str]:
    """All keys by table, with their defaults; what an option of `map` means stands with the commands."""
    schema, flags = CAMPAIGN.schema(), {"profile"} | {one.key for one in CAMPAIGN.options if one.option.flag}
    tables = {"": schema["properties"]}
    for table, title in (
        ("TargetTable", "[target]"),
        ("ConfigurationTable", "[[configuration]]"),
        ("StreamsTable", "[streams]"),
        ("StreamTable", "[[stream]]"),
    ):
        tables[title] = schema["$defs"][table]["properties"]
    yield "`map` has an option for each of these, and [Command line](command-line.md#ioatlas-map) describes them:"
    yield ", ".join(f"`{name}`" for name in schema["properties"] if name in flags) + "."
    yield ""
    for place, keys in tables.items():
        yield from ["", f"`{place}`", ""] if place else []
        for name, key in keys.items():
            if place or name not in flags:
                yield f"- `{name}`: {_meaning(key)}"


def _meaning(key: dict[str, Any]) -> str:
    default = key.get("default")
    text = " ".join(key.get("description", "").split())
    return text if default in (None, "", [], {}) else f"{text} Default: `{json.dumps(default)}`."


def _between(page: str, name: str, lines: Iterable[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = page.split(begin)
    return "\n".join((head + begin, *lines, end + rest.split(end)[1]))


def campaign_file_schema() -> str:
    """The JSON Schema of a campaign file."""
    return json.dumps(CAMPAIGN.schema(), indent=2) + "\n"


def product_sheet_schema() -> str:
    """The JSON Schema of a product sheet."""
    return json.dumps(product_schema(), indent=2) + "\n"


def product() -> str:
    """The page of the product sheet with its keys and layouts renewed; people write the rest."""
    page = (DOCS / "reference" / "product.md").read_text()
    page = _between(page, "keys", _product_keys())
    head = ["| type | drives of parity | fewest drives |", "|---|---|---|"]
    rows = [f"| `{kind.value}` | {rule.parity or ''} | {rule.fewest} |" for kind, rule in RULES.items()]
    sources = []
    for source in dict.fromkeys(rule.source for rule in RULES.values()):
        kinds = [kind.value for kind, rule in RULES.items() if rule.source == source]
        sources.append(f"- {', '.join(kinds)}: {SOURCES[source]}")
    return _between(page, "layouts", [*head, *rows, "", "Sources of the formulas:", "", *sources])


def _product_keys() -> Iterator[str]:
    schema, (_, *parts) = product_schema(), re.split(r"^(?:# )?(\[+\w+\]+)$", new_sheet("", {}, ""), flags=re.MULTILINE)
    template = dict(zip(parts[::2], parts[1::2], strict=True))
    places = {"": schema, "[source]": "Source", "[product]": "Product", "[[drives]]": "DriveSet"}
    places |= {"[layout]": "Layout", "[[price]]": "PriceItem", "[[exchange]]": "Exchange"}
    places |= {"[power]": "Power", "[publishing]": "Publishing", "[volume]": "Volume"}
    places |= {"[[rate]]": "Rate", "[[claim]]": "Claim", "[printed]": "Printed"}
    places |= {"[[function]]": "Function"}
    for place, name in places.items():
        table = schema["$defs"][name] if isinstance(name, str) else name
        keys = [key for key in table["properties"] if not place or key not in ("source", "date", "note")]  # said once
        shown = [key for key in keys if place and re.search(rf"^(# )?{key} = ", template.get(place, ""), re.MULTILINE)]
        names = f": {', '.join(f'`{key}`' for key in shown)}" if shown else ""
        yield from ["", f"`{place}`{names}", ""] if place else []
        yield from (f"- `{key}`: {_meaning(table['properties'][key])}" for key in keys if key not in shown)


def decisions() -> str:
    """The index of the decision records by topic."""
    records = [_record(path) for path in sorted((DOCS / "decisions").glob("0*.md"))]
    parts = [NOTE, "", "# Decisions", ""]
    parts += ["Why the project is as it is. Each record says what was decided, why, and what would reverse it."]
    parts += ["A new one takes the next number. A record whose decision is replaced is deleted: numbers have gaps.", ""]
    for topic in dict.fromkeys(record["Topic"] for record in records):
        parts += [f"## {topic}", ""]
        parts += [f"- [{record['title']}]({record['file']})" for record in records if record["Topic"] == topic]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _record(path: Path) -> dict[str, str]:
    text = path.read_text()
    fields = dict(re.findall(r"^- (Topic): (.+)$", text, re.MULTILINE))
    return {"title": text.splitlines()[0].removeprefix("# "), "file": path.name, **fields}


PAGES: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line,
    "reference/exit-status.md": exit_status,
    "reference/csv-columns.md": csv_columns,
    "reference/journal.md": journal,
    "reference/campaign.md": campaign,
    "reference/product.md": product,
    "product.schema.json": product_sheet_schema,
    "decisions/README.md": decisions,
    "campaign.schema.json": campaign_file_schema,
}


def main(arguments: list[str]) -> int:
    old = {name: page() for name, page in PAGES.items() if _text(name) != page()}
    if "--check" in arguments:
        for name in old:
            print(f"docs/{name} is not what the code says: run `make docs`", file=sys.stderr)
        return 3 if old else 0
    for name, text in old.items():
        (DOCS / name).write_text(text)
    return 0


def _text(name: str) -> str:
    path = DOCS / name
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
