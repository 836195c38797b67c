# SPDX-License-Identifier: Apache-2.0
"""Checks for a build server and a pull request: JUnit XML, and Markdown.

JUnit has no schema of its own; elements and attributes are those that Jenkins, GitLab and GitHub actions read:
testsuites > testsuite > testcase > failure | skipped, with `system-out` for the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from ioatlas.model.errors import written
from ioatlas.report.export.texts import escaped, row, table

Outcome = Literal["passed", "failed", "skipped"]
MARKS: dict[Outcome, str] = {"passed": "✅", "failed": "❌", "skipped": "⚪"}
MOST_SHOWN, MOST_FAILED = 10, 50
"""Checks in the first table of Markdown: all of a few, else those that failed."""
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@dataclass(frozen=True)
class Check:
    """One thing that must not get worse. sentence: the answer. evidence: more lines."""

    name: str
    outcome: Outcome
    sentence: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gate:
    """What was checked. title: of what. time: seconds since the epoch. table: a heading and rows for Markdown.
    note: how far to trust it. fine, bad: what is said when nothing failed ('' where that is not known either), and of
    checks that did.
    """

    title: str
    time: float
    checks: tuple[Check, ...]
    table: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    fine: str = "Nothing got worse."
    bad: str = "got worse"

    @property
    def failed(self) -> bool:
        return any(check.outcome == "failed" for check in self.checks)


def junit(gate: Gate) -> str:
    """The text of a JUnit file."""
    counts = {
        "tests": str(len(gate.checks)),
        "failures": str(sum(check.outcome == "failed" for check in gate.checks)),
        "skipped": str(sum(check.outcome == "skipped" for check in gate.checks)),
        "errors": "0",
    }
    root = ET.Element("testsuites", {"name": "ioatlas", **counts})
    stamp = datetime.fromtimestamp(gate.time, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    suite = ET.SubElement(root, "testsuite", {"name": _text(gate.title), "timestamp": stamp, **counts})
    for check in gate.checks:
        case = ET.SubElement(suite, "testcase", {"classname": "ioatlas", "name": _text(check.name)})
        if check.outcome == "failed":
            ET.SubElement(case, "failure", {"message": _text(check.sentence)}).text = _lines(check)
        elif check.outcome == "skipped":
            ET.SubElement(case, "skipped", {"message": _text(check.sentence)})
        else:
            ET.SubElement(case, "system-out").text = _lines(check)
    if gate.note:
        ET.SubElement(suite, "system-out").text = _text(gate.note)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def markdown(gate: Gate) -> str:
    """A summary for a pull request: the answer, the checks, and the table folded below."""
    failed = [check for check in gate.checks if check.outcome == "failed"]
    answer = f"{MARKS['failed']} {_worst(failed, gate.bad)}" if failed else _nothing(gate)
    lines = [f"## {escaped(gate.title)}", "", escaped(answer), "", "| | check | |", "|---|---|---|"]
    # Of many checks those that passed are in the table below.
    shown = [check for check in gate.checks if check.outcome == "failed" or len(gate.checks) <= MOST_SHOWN]
    lines += [row((MARKS[check.outcome], check.name, check.sentence)) for check in shown[:MOST_FAILED]]
    left = len(gate.checks) - len(shown[:MOST_FAILED])
    if left:
        lines.append(f"| | {left} more | |")
    if gate.note:
        lines += ["", escaped(gate.note)]
    if gate.table:
        heading, *rows = gate.table
        lines += ["", f"<details><summary>{len(rows)} rows</summary>", "", *table(heading, rows), "", "</details>"]
    return "\n".join(lines) + "\n"


def _nothing(gate: Gate) -> str:
    """Where no check failed; what could not be checked at all did not pass."""
    left = [check for check in gate.checks if check.outcome == "skipped"]
    if left and (not gate.fine or len(left) == len(gate.checks)):
        return f"{MARKS['skipped']} {len(left)} of {len(gate.checks)} checks not decided: {left[0].sentence}"
    return f"{MARKS['passed']} {gate.fine}"


def _worst(failed: Sequence[Check], bad: str) -> str:
    """What failed first, by its name, and how much else."""
    first = failed[0]
    told = first.sentence if first.sentence.startswith(first.name) else f"{first.name}: {first.sentence}"
    return told if len(failed) == 1 else f"{told} {len(failed) - 1} more {bad}."


def write(gate: Gate, *, junit_file: Path | None, markdown_file: Path | None) -> list[Path]:
    """Write the files that are asked for. Raises IoAtlasError when one cannot be written."""
    files = []
    for path, text in ((junit_file, junit), (markdown_file, markdown)):
        if path is None:
            continue
        with written(path, "name another file"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(gate), encoding="utf-8")
        files.append(path)
    return files


def _lines(check: Check) -> str:
    return _text("\n".join([check.sentence, *check.evidence]))


def _text(text: str) -> str:
    """Without the characters that no XML document may hold."""
    return _NOT_XML.sub("\ufffd", text)
