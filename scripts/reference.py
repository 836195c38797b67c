# SPDX-License-Identifier: Apache-2.0
"""Write the pages of docs that follow from the code, and the index of decisions: `make docs` does, a test holds them.

Each page is a function without arguments that returns its text. `--check` writes nothing and says which page is old.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from sqlalchemy import Table

from ioatlas import errors
from ioatlas.cli import ioatlas
from ioatlas.model.options import ALLOWED
from ioatlas.procedures.options import CAMPAIGN
from ioatlas.report.table import FIXED, REST
from ioatlas.store import imported, schema
from ioatlas.store.rules import MOST_ROWS

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Made by scripts/reference.py from the code. Do not edit. -->"

SIGNALS = {130: "ended by Ctrl-C (SIGINT) before anything could be kept", 143: "ended by SIGTERM likewise"}
COLUMNS = {
    "target": "the target's name in the campaign",
    "rw": "fio's `rw`",
    "bs_bytes": "block size of this direction; empty for a mix of sizes (`bssplit`)",
    "size_bytes": "bytes of the file or device that the load covers",
    "numjobs": "as in fio",
    "iodepth": "as in fio",
    "direction": "read, write or trim",
    "kind": "measured, predicted or imported; empty without a value",
    "n_visits": "independent starts of the load that the value comes from",
    "bw_bytes_per_s": "throughput, bytes a second",
    "bw_low": "lower end of its 95% interval over visits",
    "bw_high": "upper end",
    "iops": "I/Os a second",
    "lat_mean_ns": "mean latency, nanoseconds",
    "lat_p99_ns": "99th percentile of latency, nanoseconds",
    "lat_kind": "total (submission to completion), intended (from when the I/O was due), or completion",
    "verdict": "what the value is worth, or why there is none",
    "method": "what computed the value: id/version",
    "iops_low": "lower end of the interval of `iops`",
    "iops_high": "upper end",
    "lat_mean_low_ns": "lower end of the interval of the mean latency",
    "lat_mean_high_ns": "upper end",
    "lat_p99_low_ns": "lower end of the interval of the 99th percentile",
    "lat_p99_high_ns": "upper end",
    "loop": "closed: the next I/O waits for an answer; open: I/Os are due at times of their own",
    "window_seconds": "length of the windows kept",
    "cut_seconds": "length of the warm-up cut before them",
    "n_discarded": "windows discarded",
    "seeds": "seeds of the visits, separated by blanks",
    "notes": "remarks, separated by semicolons",
    "limit": "what limits the cell; see [What limits a cell](../method/limits.md)",
    "limit_share": "how far that is used",
    "limit_next": "what comes next",
    "limit_next_share": "how far that is used",
    "limit_evidence": "why",
    "ceiling": "the tightest bound known of the cell's path",
    "ceiling_bytes_per_s": "that bound, bytes a second",
    "watts": "power of the target during the cell's visits",
    "iops_per_watt": "I/Os a second for each watt",
    "bw_bytes_per_s_per_watt": "bytes a second for each watt",
    "fresh_n_visits": "visits made after the cell had been named because it is extreme",
    "fresh_bw_bytes_per_s": "throughput of those visits alone",
    "fresh_bw_low": "lower end of its interval",
    "fresh_bw_high": "upper end",
    "sharing": "shared: one file for all jobs; private: one for each",
    "state": "what the file or device held before the load",
    "footprint_bytes": "bytes really covered",
    "written_before_bytes": "bytes written to that footprint since it was prepared",
    "cell": "the cell's key",
}


def command_line() -> str:
    """Every command with its arguments and options, as click knows them."""
    parts = [
        NOTE,
        "",
        "# Command line",
        "",
        ioatlas.help or "",
        "",
        "```console",
        "$ ioatlas COMMAND --help",
        "```",
        "",
    ]
    parts += ["Results go to standard output. Progress and messages go to standard error.", ""]
    context = click.Context(ioatlas, info_name="ioatlas")
    for path, command in _commands(ioatlas, "ioatlas", context):
        parts += _command(path, command, context)
    return "\n".join(parts).rstrip() + "\n"


def _commands(group: click.Group, path: str, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}", context)


def _command(path: str, command: click.Command, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=path.removeprefix("ioatlas "), parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    level = "##" if path.count(" ") == 1 else "###"
    parts = [f"{level} {path}", "", *_prose(command.help or ""), "", "```text", usage, "```", ""]
    rows = [record for item in command.params if (record := item.get_help_record(context))]
    if rows:
        parts += ["| option | meaning |", "|---|---|"]
        parts += [f"| `{_plain(name)}` | {_plain(text)} |" for name, text in rows]
        parts.append("")
    if command.epilog:
        parts += ["```text", *_epilog(command.epilog), "```", ""]
    return parts


def _prose(text: str) -> list[str]:
    """Click's paragraphs; blocks that it keeps as they are (marked by a backspace) become code."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.splitlines()
        if lines[0].strip() == "\b":
            parts += ["```text", *(line.rstrip() for line in lines[1:]), "```", ""]
        else:
            parts += [" ".join(line.strip() for line in lines), ""]
    return parts[:-1]


def _epilog(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines() if line.strip() != "\b"]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[indent:] for line in lines]


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
    parts += ["", "What each command says of itself:", "", "| command | exit status |", "|---|---|"]
    context = click.Context(ioatlas, info_name="ioatlas")
    for path, command in _commands(ioatlas, "ioatlas", context):
        said = re.search(r"Exit (?:status|code)s?:? (.*?)(?:\.\s|\.$|\Z)", " ".join((command.epilog or "").split()))
        if said:
            parts.append(f"| `{path}` | {_plain(said.group(1))} |")
    return "\n".join(parts) + "\n"


def csv_columns() -> str:
    """The fixed columns of an export, in order."""
    parts = [NOTE, "", "# CSV columns", ""]
    parts += ["`ioatlas export DIR --format csv` writes these columns in this order. Their names never change.", ""]
    parts += ["| column | meaning |", "|---|---|", *(f"| `{name}` | {COLUMNS[name]} |" for name in FIXED)]
    parts += ["| every other option that differs between cells | in fio's name |"]
    parts += [f"| `{name}` | {COLUMNS[name]} |" for name in REST]
    return "\n".join(parts) + "\n"


def journal() -> str:
    """Tables of the two files in a campaign's directory."""
    parts = [NOTE, "", "# Journal", ""]
    parts += [
        f"`DIR/journal.sqlite` is a SQLite file. `PRAGMA user_version` tells its format, now {schema.VERSION}.",
        "A newer version is refused. Older versions stay readable.",
        "",
        "It is checked as a whole when it is opened: rows, types, bounds, words and references.",
        "A journal with anything else, or with views or triggers, is refused with table, row and column.",
        "",
        "The outcome `seal` is a digest of plan, targets and cells, under the key of who made them.",
        "[A directory from somebody else](../guide/safety.md#a-directory-from-somebody-else) says what for.",
        "",
        "```console",
        "$ sqlite3 nas1/journal.sqlite 'SELECT status, count(*) FROM visit GROUP BY status'",
        "```",
        "",
    ]
    for table in schema.metadata.sorted_tables:
        parts += _table(table)
    parts += ["## Imported readings", ""]
    parts += [f"`DIR/imported.sqlite` holds readings of other tools, version {imported.VERSION}.", ""]
    parts += ["```sql", imported.SCHEMA.strip(), "```"]
    return "\n".join(parts) + "\n"


def _table(table: Table) -> list[str]:
    rows = [
        f"| `{column.name}`{' (key)' if column.primary_key else ''} | {column.type} | {_plain(column.comment or '')} |"
        for column in table.columns
    ]
    most = f"At most {MOST_ROWS[table.name]:,} row{'' if MOST_ROWS[table.name] == 1 else 's'}."
    return [f"## {table.name}", "", most, "", "| column | type | meaning |", "|---|---|---|", *rows, ""]


def campaign() -> str:
    """The campaign page with its tables of keys and options renewed; everything else on it is written by people."""
    page = (DOCS / "reference" / "campaign.md").read_text()
    page = _between(page, "keys", ["| key | default | option | meaning |", "|---|---|---|---|", *_keys()])
    options = [f"| `{option.name}` | {option.summary} |" for option in ALLOWED.values()]
    return _between(page, "options", ["| option | meaning |", "|---|---|", *options])


def _keys() -> Iterator[str]:
    """Rows of all keys: default as a file would say it, and the option of `map` and `plan` that says the same."""
    schema, flags = CAMPAIGN.schema(), {"profile"} | {one.key for one in CAMPAIGN.options if one.option.flag}
    tables = {"": schema["properties"]}
    for table, title in (("TargetTable", "[target]"), ("StreamsTable", "[streams]"), ("StreamTable", "[[stream]]")):
        tables[f" in `{title}`"] = schema["$defs"][table]["properties"]
    for place, keys in tables.items():
        for name, key in keys.items():
            default = f"`{json.dumps(key['default'])}`" if key.get("default") is not None else ""
            option = f"`--{name.replace('_', '-')}`" if name in flags and not place else ""
            yield f"| `{name}`{place} | {default} | {option} | {_plain(key.get('description', ''))} |"


def _between(page: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = page.split(begin)
    return "\n".join((head + begin, *lines, end + rest.split(end)[1]))


def campaign_file_schema() -> str:
    """The JSON Schema of a campaign file."""
    return json.dumps(CAMPAIGN.schema(), indent=2) + "\n"


def decisions() -> str:
    """The index of the decision records by topic, and where the old numbers went."""
    records = [_record(path) for path in sorted((DOCS / "decisions").glob("0*.md"))]
    parts = [NOTE, "", "# Decisions", ""]
    parts += ["Each record says what was decided, why, and what would reverse it. A new one takes the next number.", ""]
    for topic in dict.fromkeys(record["Topic"] for record in records):
        parts += [f"## {topic}", "", "| record | status | date |", "|---|---|---|"]
        parts += [
            f"| [{record['title']}]({record['file']}) | {record['Status']} | {record['Date']} |"
            for record in records
            if record["Topic"] == topic
        ]
        parts.append("")
    parts += ["## Old numbers", "", "Records were merged and numbered anew.", "", "| old | now |", "|---|---|"]
    now = {old: record for record in records for old in record["Replaces"].split(", ") if old.isdigit()}
    parts += [f"| {old} | [{now[old]['title'][:4]}]({now[old]['file']}) |" for old in sorted(now)]
    return "\n".join(parts) + "\n"


def _record(path: Path) -> dict[str, str]:
    text = path.read_text()
    fields = dict(re.findall(r"^- (Status|Date|Topic|Replaces): (.+)$", text, re.MULTILINE))
    return {"title": text.splitlines()[0].removeprefix("# "), "file": path.name, "Replaces": "", **fields}


PAGES: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line,
    "reference/exit-status.md": exit_status,
    "reference/csv-columns.md": csv_columns,
    "reference/journal.md": journal,
    "reference/campaign.md": campaign,
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
