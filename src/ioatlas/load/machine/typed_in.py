# SPDX-License-Identifier: Apache-2.0
"""What a person types in, the file testbed.toml: `[facts]` that add or correct, reference `[lines]`, meters `[power]`;
and the copy of it that a campaign keeps, its facts file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ioatlas.load.machine.power import Meter, open_meters
from ioatlas.model.errors import UsageError
from ioatlas.model.testbed import Fact, FactValue, Testbed
from ioatlas.store import confined, toml

_QUANTITY = re.compile(r"^\s*([-+]?\d[\d,]*(?:\.\d+)?)\s*([A-Za-z°%/]+)\s*$")
_THOUSANDS = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12}
_UNITS: dict[str, tuple[float, str]] = {
    **{
        f"{prefix}{word}": (10**power, "bit/s")
        for prefix, power in _THOUSANDS.items()
        for word in ("b/s", "bit/s", "bps")
    },
    **{f"{prefix}bit": (10 ** _THOUSANDS[prefix], "bit/s") for prefix in "kmg"},
    **{word.lower(): (1, word) for word in ("GT/s", "rpm", "s", "Hz", "W", "lanes", "%")},
    "ms": (1e-3, "s"),
    "us": (1e-6, "s"),
    "mhz": (1e6, "Hz"),
    "ghz": (1e9, "Hz"),
    "iops": (1, "1/s"),
    "kw": (1e3, "W"),
}
_BYTES = re.compile(r"^([kmgtpe])?(i?)B(/s)?$", re.IGNORECASE)


def quantity(text: str) -> tuple[float | int, str] | None:
    """Value in its base unit and that unit: '1 Gb/s' -> (1e9, 'bit/s'), '67 MB/s' -> (67e6, 'B/s'); None for plain
    words.

    A small b is a bit and a large B a byte; prefixes of bits are decimal, of bytes decimal unless written KiB, MiB, ...
    """
    match = _QUANTITY.match(text)
    if match is None:
        return None
    number, unit = float(match[1].replace(",", "")), match[2]
    size = _BYTES.match(unit) if "B" in unit else None
    if size is not None:
        base = 1024 if size[2] else 1000
        value = number * base ** " kmgtpe".index((size[1] or " ").lower())
        return _tidy(value), "B/s" if size[3] else "B"
    known = _UNITS.get(unit.lower())
    return None if known is None else (_tidy(number * known[0]), known[1])


def _tidy(value: float) -> float | int:
    return int(value) if value == int(value) else value


def read_facts(path: Path) -> tuple[Fact, ...]:
    """Facts of a testbed.toml. Raises UsageError with file and key."""
    where = str(path)
    return tuple(_fact(name, value, where) for name, value in _flat("", _table(_read(path), "facts", where)))


def read_lines(path: Path) -> dict[str, float]:
    """Reference lines of a testbed.toml, bytes per second by name."""
    where = str(path)
    lines = {}
    for name, value in _table(_read(path), "lines", where).items():
        rate = quantity(str(value))
        if rate is None or rate[1] not in {"B/s", "bit/s"}:
            raise UsageError(
                f"{value!r} is not a rate", where=f"{where}: {name}", remedy='write "gigabit" = "125 MB/s"'
            )
        lines[name] = float(rate[0]) / (8 if rate[1] == "bit/s" else 1)
    return lines


def read_power(path: Path) -> dict[str, dict[str, object]]:
    """The `[power]` table of a testbed.toml, what `testbed.power.open_meters` takes.

    Raises UsageError with file and key.
    """
    where = str(path)
    table = _table(_read(path), "power", where)
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise UsageError(
                f"power.{name} must be a table", where=where, remedy=f"write [power.{name}] and below it how it is read"
            )
    return cast(dict[str, dict[str, object]], table)


def read_measure(path: Path) -> dict[str, str]:
    """The `[measure]` table: `iperf`, a host that runs `iperf3 -s`, and `drive`, a drive to read alone.

    Raises UsageError with file and key.
    """
    table = _table(_read(path), "measure", str(path))
    unknown = sorted(table.keys() - MEASURED.keys())
    if unknown:
        raise UsageError(
            f"there is no key {unknown[0]!r}",
            where=f"{path}: measure",
            remedy='write iperf = "HOST" or drive = "/dev/sdx"',
        )
    return {key: MEASURED[key](value, f"{path}: measure") for key, value in table.items() if value}


def check_host(host: object, where: str) -> str:
    """HOST or HOST:PORT. Raises UsageError for anything else."""
    if not isinstance(host, str) or re.fullmatch(r"[A-Za-z0-9._:%-]+", host) is None:
        raise UsageError(f"{host!r} is not a host", where=where, remedy="write HOST or HOST:PORT")
    return host


def host_and_port(host: str, where: str) -> tuple[str, int]:
    """Of a server of iperf3; without a port its usual one, also of an IPv6 address. Raises UsageError."""
    name, _, port = host.rpartition(":") if host.count(":") == 1 else (host, "", "5201")
    if not port.isdigit():
        raise UsageError(f"{port!r} is not a port", where=where, remedy="write HOST or HOST:PORT")
    return name, int(port)


def check_drive(drive: object, where: str) -> str:
    """The full path of a block device or a file. Raises UsageError for anything else."""
    path = Path(drive).absolute() if isinstance(drive, str) else None
    if path is None or not (path.is_file() or path.is_block_device()):
        raise UsageError(
            f"{drive!r} is neither a block device nor a file",
            where=where,
            remedy="name the drive below the target, or a file on it; it is only read",
        )
    return str(path)


MEASURED = {"iperf": check_host, "drive": check_drive}
"""What can be named to be measured alone before the first load, and how it is checked."""


def _read(path: Path) -> dict[str, Any]:
    # [[results]] stand in files of before, which campaigns hold.
    return toml.read(
        path,
        "the facts",
        ("facts", "results", "lines", "power", "measure"),
        'write [facts] with "nic.speed" = "1 Gb/s", [lines] for reference lines, [power.NAME] for meters, '
        "[measure] for an iperf3 host and a drive",
    )


def _table(data: dict[str, Any], key: str, where: str) -> dict[str, object]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise UsageError(f"{key} must be a table", where=where, remedy=f"write [{key}]")
    return table


def _flat(prefix: str, table: dict[str, object]) -> Iterable[tuple[str, object]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(f"{name}.", value)
        else:
            yield name, value


def _fact(name: str, value: object, where: str) -> Fact:
    key = f"{where}: {name}"
    if re.fullmatch(r"[A-Za-z0-9_!-]+(\.[A-Za-z0-9_!:-]+)+", name) is None:
        raise UsageError(
            f"{name!r} is not the name of a fact",
            where=key,
            remedy="names look like nic.speed or device.sda.model_name",
        )
    if isinstance(value, (bool, int, float)):
        plain: FactValue = value
        return Fact(name, plain, "", "typed in", where)
    if not isinstance(value, str):
        raise UsageError(
            f"a fact is a text, a number or true/false, not {type(value).__name__}",
            where=key,
            remedy='write it as a text, such as "1 Gb/s"',
        )
    if value.strip().lower() == "unknown":
        return Fact(name, None, "", "unknown", where, note="typed in as unknown")
    read = quantity(value)
    return (
        Fact(name, value.strip(), "", "typed in", where)
        if read is None
        else Fact(name, read[0], read[1], "typed in", where)
    )


def corrected(facts: Iterable[Fact], typed: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts with the typed-in ones in the place of what was read under the same name;
    what was read stays in the note.
    """
    by_name = {fact.name: fact for fact in facts}
    for fact in typed:
        before = by_name.get(fact.name)
        if before is None:
            by_name[fact.name] = fact
            continue
        said = (
            f"read before: {before.value} {before.unit}".strip()
            if before.value is not None
            else f"read before: {before.kind}"
        )
        by_name[fact.name] = replace(fact, private=fact.private or before.private, note=f"{said} ({before.source})")
    return tuple(by_name.values())


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
    has_table = "measure" in toml.parsed(text, str(source))
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
    return confined.is_ordinary(path, most_bytes=MOST_BYTES)
