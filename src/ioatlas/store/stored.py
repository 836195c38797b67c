# SPDX-License-Identifier: Apache-2.0
"""What was kept, read back as if somebody else had written it: bounded, of the right type, and nothing that a person
could not have asked for.

A campaign's directory may be a stranger's. Options, names and places pass the same allow-list here as on the command
line, and nothing that is read says where to write.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ioatlas.model.cell import TRACE, TRACE_SECONDS, Cell, Options
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.fixed_work import FIO, IOZONE, STATE
from ioatlas.model.options import GROWING, Preparation, Sharing, check_option, render_value
from ioatlas.model.target import URI_ENGINES, Identity, Target, check_uri, scheme_of
from ioatlas.model.tree import STATE as IN_A_TREE

REMEDY = "use the ioatlas that made it, or restore a copy; from somebody else, ask for one that was not changed"
LARGEST = 2**63 - 1
MOST_LEVELS = 40
"""Of lists in lists in JSON."""
CAMPAIGN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PATH_CHARACTERS = re.compile(r"[^\x00-\x1f\x7f]+")
_FILE_NAME = re.compile(r"(at \d{1,19}|[A-Za-z0-9][A-Za-z0-9._-]{0,127})?")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+/()-]{0,99}")
STATES = frozenset({*Preparation, "as-found", STATE, IN_A_TREE, "first look"})
_OF_TREES = frozenset({"nrfiles", "numjobs", "depth", "fsync_on_close"})
_LABELS_OF_STREAMS = _OF_TREES | {"phase", "load", "load_iops", "operation", "tool", "bs", "size", "direct"}
"""Names that say which cell it is, and that fio never sees."""
MOST_STREAMS = 64


@dataclass(frozen=True)
class Row:
    """A row of a stored file, for messages."""

    file: Path
    table: str
    key: object = ""

    def __str__(self) -> str:
        row = f" {short(self.key)}" if self.key != "" else ""
        return f"{self.file}: {self.table}{row}"

    def bad(self, what: str, column: str = "") -> NoReturn:
        """Raises the one error for what does not belong there."""
        raise IoAtlasError(what, where=f"{self}, {column}" if column else str(self), remedy=REMEDY)

    def parsed(self, text: object, column: str) -> Any:
        """A JSON value whose parts are still to be looked at one by one."""
        try:
            return json.loads(text)  # type: ignore[arg-type]
        except (TypeError, ValueError, RecursionError):
            self.bad(f"this is no JSON: {short(text)}", column)

    def json(self, text: object, column: str) -> Any:
        """A JSON value, not too deep, with numbers and texts that can be used."""
        value = self.parsed(text, column)
        waiting = [(value, 0)]
        while waiting:
            one, level = waiting.pop()
            if isinstance(one, (list, dict)):
                if level >= MOST_LEVELS:
                    self.bad(f"its JSON has more than {MOST_LEVELS} levels", column)
                inside: Iterable[Any] = one if isinstance(one, list) else [*one.keys(), *one.values()]
                waiting += [(each, level + 1) for each in inside if each is not None]
            elif isinstance(one, str):
                self.text(one, column)
            elif isinstance(one, int) and abs(one) > LARGEST:
                self.bad(f"{short(one)} is larger than any number there can be", column)
        return value

    def text(self, text: str, column: str = "") -> str:
        """A text without control characters, which could steer a terminal."""
        if _CONTROL.search(text) or not _encodes(text):
            self.bad(f"control characters stand in {short(text)}", column)
        return text


def short(value: object) -> str:
    """A value for a message, however long it is."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of more than 18 digits"
    said = repr(value[:80] if isinstance(value, (str, bytes, list)) else value)
    return said if len(said) <= 60 else f"{said[:57]}..."


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- cells ---------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=65536)
def _fault(name: str, value: object, kind: str) -> str:  # noqa: ARG001 - True is 1, but no option's value
    """What is wrong with an option of fio; '' when nothing is."""
    try:
        check_option(name, value)
    except UsageError as error:
        return error.what
    return ""


def _check_option(row: Row, name: object, value: object, column: str, labels: frozenset[str]) -> None:
    if not isinstance(name, str) or not isinstance(value, (int, float, str)) or len(name) > 64:
        row.bad(f"{short(name)} = {short(value)} is no option", column)
    if name in labels:
        if _is_label(name, value):
            return
        row.bad(f"{name!r} is {short(value)}", column)
    if what := _fault(name, value, type(value).__name__):
        row.bad(what, column)


def _is_label(name: str, value: object) -> bool:
    if name in ("bs", "size", "direct") or name in _OF_TREES:
        return type(value) is int and 0 <= value <= LARGEST
    if name in ("load", "load_iops", TRACE_SECONDS):
        return type(value) in (int, float) and 0 < float(value) <= 1e9  # type: ignore[arg-type]
    if name == "tool":
        return value in (FIO, IOZONE)
    if name == TRACE:
        return isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{8,64}", value))
    return isinstance(value, str) and bool(_LABEL.fullmatch(value))


def _options(row: Row, value: Any, column: str, labels: frozenset[str], engine: str = "") -> Options:
    """Options as they are kept: [[name, value], ...]. engine: a program that stands for fio's engine."""
    if not isinstance(value, list):
        row.bad(f"{short(value)} is no list of options", column)
    options = []
    for one in value:
        if not isinstance(one, list) or len(one) != 2:
            row.bad(f"{short(one)} is no option with its value", column)
        name, setting = one
        if not (engine and (name, setting) == ("ioengine", engine)):
            _check_option(row, name, setting, column, labels)
        options.append((name, setting))
    if len({name for name, _ in options}) < len(options):
        row.bad("an option is set twice", column)
    return tuple(options)


def read_cell(row: Row, stored: Any) -> Cell:
    """The cell of a row, with its options and words as a person could have asked for them, and its own key."""
    streams = row.parsed(stored.streams_json, "streams_json")
    if not isinstance(streams, list) or len(streams) > MOST_STREAMS:
        row.bad("these are no streams, or too many", "streams_json")
    labels = _LABELS_OF_STREAMS if streams else frozenset({TRACE, TRACE_SECONDS})
    own = _options(row, row.parsed(stored.options_json, "options_json"), "options_json", labels)
    if streams and (other := [name for name, _ in own if name not in labels]):
        row.bad(f"{other[0]!r} has no place beside streams", "options_json")
    engine = IOZONE if dict(own).get("tool") == IOZONE else ""
    members = []
    for one in streams:
        if not isinstance(one, list) or len(one) != 2 or not _is_stream_name(one[0]):
            row.bad(f"{short(one)} is no stream", "streams_json")
        members.append((one[0], _options(row, one[1], "streams_json", frozenset(), engine)))
    if stored.sharing not in Sharing.__members__.values() or stored.state not in STATES:
        row.bad(f"there is no sharing or state {short(stored.sharing)}, {short(stored.state)}")
    cell = Cell(stored.target, own, stored.sharing, stored.state, tuple(members))
    if any(not one.integer("size", 0) for one in cell.members):
        row.bad("it has no size", "options_json")
    if cell.key != row.key:
        row.bad("its options are not those of its key: it was changed")
    return cell


def _is_stream_name(name: object) -> bool:
    return isinstance(name, str) and (not name or bool(_LABEL.fullmatch(name)))


def check_on_target(row: Row, cell: Cell, target: Target) -> None:
    """What a cell may not do on a target of its kind: work beside or beyond what was named."""
    if target.kind == "directory":
        return
    growing = [name for name in GROWING if any(one.option.get(name) for one in cell.members)]
    if growing or cell.sharing == "private":
        row.bad(f"{growing[0] if growing else 'a file for each job'} needs a directory, not a {target.kind}")


# -- targets, files ------------------------------------------------------------------------------------------


def check_target_name(row: Row, name: str) -> str:
    """The name of a target: one that a path or an export can have, which leads nowhere."""
    row.text(name)
    if not name.strip() or {".", ".."} & set(name.split("/")) or name.startswith("/"):
        row.bad(f"{short(name)} cannot name a target", "name")
    return name


def read_target(row: Row, stored: Any) -> Target:
    """The target of a row. Whether it is still there is for `target.identity` to say."""
    check_target_name(row, stored.name)
    facts = row.json(stored.identity_json, "identity_json")
    if not isinstance(facts, list) or not all(
        isinstance(one, list) and len(one) == 2 and all(isinstance(text, str) for text in one) for one in facts
    ):
        row.bad("these are no facts", "identity_json")
    engine = None
    if stored.kind == "uri":
        engine = _engine_of(row, stored.location)
    else:
        _check_path(row, stored.location)
    if stored.ioengine != engine:
        row.bad(f"{short(stored.ioengine)} is not the engine of a {stored.kind}", "ioengine")
    if not 1 <= stored.logical_block_bytes <= 1 << 24:
        row.bad(f"{stored.logical_block_bytes} bytes are no block", "logical_block_bytes")
    if stored.size_bytes is None and stored.kind in ("block", "uri"):
        row.bad(f"a {stored.kind} has a size", "size_bytes")
    identity = Identity(tuple((str(name), str(value)) for name, value in facts))
    return Target(
        stored.name,
        stored.kind,
        stored.location,
        identity,
        stored.size_bytes,
        None,
        stored.logical_block_bytes,
        stored.ioengine,
    )


def _engine_of(row: Row, location: str) -> str:
    engine = URI_ENGINES.get(scheme_of(location))
    if engine is None:
        row.bad(f"ioatlas cannot measure {short(location)}", "location")
    try:
        check_uri(location)
    except UsageError as error:
        row.bad(error.what, "location")
    return engine


def _check_path(row: Row, path: str) -> None:
    if not path.startswith("/") or os.path.normpath(path) != path or not _PATH_CHARACTERS.fullmatch(path):
        row.bad(f"{short(path)} is no full path", "location")
    try:
        render_value("filename", path)
    except UsageError as error:
        row.bad(error.what, "location")


def check_files(row: Row, files: Any, targets: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    """What a plan lays out: {target: {file name: bytes}}."""
    if not isinstance(files, dict):
        row.bad(f"{short(files)} are no files", "files")
    for target, sizes in files.items():
        if target not in targets or not isinstance(sizes, dict):
            row.bad(f"there is no target {short(target)}", "files")
        for name, size in sizes.items():
            if not _FILE_NAME.fullmatch(name) or type(size) is not int or not 0 <= size <= LARGEST:
                row.bad(f"{short(name)} of {short(size)} bytes is no file of ioatlas", "files")
    return files
