# SPDX-License-Identifier: Apache-2.0
"""A campaign's facts file: what a person typed in, what is to be measured alone, which meters there are.

`testbed.toml` in a campaign's directory is a copy of the facts file that was named at its start. It may be corrected by
hand later: a session reads it when it begins, a report whenever it is made.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.errors import UsageError
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.testbed.power import Meter, open_meters
from ioatlas.testbed.typed_in import MEASURED, corrected, read_facts, read_lines, read_measure, read_power

FACTS_FILE = "testbed.toml"
MOST_BYTES = 4 << 20


def facts_source(facts: Path | None) -> Path | None:
    """The file of facts that counts: the one that was named, else `./testbed.toml` where there is one."""
    return facts if facts is not None else Path(FACTS_FILE) if Path(FACTS_FILE).is_file() else None


def facts_text(facts: Path | None, measure: Mapping[str, str | None]) -> str:
    """Text of a new campaign's facts file: that of the file named, else of `./testbed.toml`, and what is measured
    alone.

    Raises UsageError.
    """
    source = facts_source(facts)
    text = ""
    if source is not None:
        read_facts(source)
        power = read_power(source)
        open_meters(power, where=str(source))
        if facts is None and commands_of(power):
            raise UsageError(
                "it brings a command, and a command is taken from a file that was named only",
                where=f"./{source}: power",
                remedy=f"read it, then add --facts {source}",
            )
        text = source.read_text(encoding="utf-8")
    has_table = "measure" in tomllib.loads(text)
    lines = []
    for key, value in measure.items():
        if value is not None:
            if has_table:
                raise UsageError(
                    f"{source} has a table [measure] already",
                    where=f"--{key}",
                    remedy=f"write {key} below [measure] there",
                )
            lines.append(f"{key} = {json.dumps(MEASURED[key](value, f'--{key}'))}")
    if lines:
        text += "\n".join(["", "[measure]", *lines, ""])
    return text


def typed_facts(directory: Path) -> tuple[Fact, ...]:
    """What the campaign's facts file says now; nothing without one."""
    path = directory / FACTS_FILE
    return read_facts(path) if _is_there(path) else ()


def typed_lines(directory: Path) -> dict[str, float]:
    """Reference lines of the campaign's facts file, bytes per second by name; nothing without one."""
    path = directory / FACTS_FILE
    return read_lines(path) if _is_there(path) else {}


def testbeds(record: Mapping[str, Any], directory: Path) -> dict[str, Testbed]:
    """The testbed of each target as a session recorded it, with the facts file as it is now.

    What was corrected after the run counts. Private facts are left out: nothing computed may rest on what a bundle does
    not hold.
    """
    beds = {name: Testbed.from_json(bed).shareable() for name, bed in record["targets"].items()}
    typed = typed_facts(directory)
    if not typed:
        return beds
    return {
        name: replace(bed, facts=corrected([f for f in bed.facts if f.kind != "typed in"], typed))
        for name, bed in beds.items()
    }


def meters_of(directory: Path) -> list[Meter]:
    """The meters of the campaign's facts file."""
    path = directory / FACTS_FILE
    return open_meters(read_power(path), where=str(path)) if _is_there(path) else []


def commands_of(power: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """The commands of a `[power]` table, which this machine's shell would run."""
    return tuple(str(meter["command"]) for meter in power.values() if "command" in meter)


def asks_of(directory: Path) -> dict[str, Any]:
    """The tables of the campaign's facts file that have the machine ask hosts or read drives; empty without one."""
    path = directory / FACTS_FILE
    tables = {"measure": read_measure(path), "power": read_power(path)} if _is_there(path) else {}
    return {name: table for name, table in tables.items() if table}


def _is_there(path: Path) -> bool:
    """Whether a campaign has a facts file. Raises RefusedError for a link, or for one that is none."""
    return beneath.is_ordinary(path, most_bytes=MOST_BYTES)
