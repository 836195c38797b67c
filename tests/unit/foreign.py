# SPDX-License-Identifier: Apache-2.0
"""Campaign directories of somebody else: seeded edits of a journal, and commands on them with everything watched."""

import contextlib
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.command_line import call
from tests.unit.procedures.cases import EVERY, make_world
from tests.unit.simulated import Shell, World

HUGE = (2**31, 2**53, 2**63 - 1, -1, -(2**63), 10**9)
TEXTS = (
    *("", " ", "x" * 100_000, "../../../outside/x", "/etc/passwd", "a\nb", "\x00", "\ud7ff\u202e"),
    *("exec_prerun=touch outside/ran", "${HOME}", "nbd://host/../x", "9" * 5000, "-1", "1e400", "[" * 2000),
    *("[" * 100_000, '{"a":' * 3000, "null", "[]", "{}", "0", "<script>"),
)
OPTIONS = (
    ("exec_prerun", "touch outside/ran"),
    ("filename", "outside/victim"),
    ("ioengine", "external:outside/x.so"),
    ("numjobs", 10**9),
    ("bs", "1," * 5000),
    ("rw", "write"),
    ("size", 2**62),
    ("bssplit", "4096/1:" * 4000 + "4096/1"),
    ("loops", 10**15),
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended. what: '' when it ended as it may, else what is wrong. said: its standard error."""

    code: int
    seconds: float
    what: str
    said: str


def bases(place: Path, names: tuple[str, ...] = tuple(EVERY), *, share: float = 0.6) -> dict[str, World]:
    """A campaign of each procedure, stopped half way; under `whole` beside it the one that was made to its end."""
    made = {}
    for name in names:
        folder = place / name.replace(" ", "-")
        folder.mkdir(parents=True)
        world = make_world(folder, name)
        shutil.copytree(world.directory, folder / "begun")
        start = world.clock.monotonic()
        world.session()
        end = start + share * (world.clock.monotonic() - start)
        shutil.move(world.directory, folder / "whole")
        shutil.move(folder / "begun", world.directory)
        again = world.executor.clock.monotonic() + (end - start)
        world.tried(lambda: world.clock.monotonic() >= again)  # noqa: B023 - called at once
        made[name] = world
    return made


# -- edits ---------------------------------------------------------------------------------------------------


def edited_value(generator: random.Random, value: Any) -> Any:
    """Another value in the place of one, of its type or of another."""
    if isinstance(value, bytes):
        return _edited_blob(generator, value)
    pick = generator.random()
    if isinstance(value, str) and value[:1] in "[{" and pick < 0.7:
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(edited_json(generator, json.loads(value)))
    if isinstance(value, (int, float)) and pick < 0.4:
        return generator.choice((value + 1, value * 2, -value, value * 10**6, 0, 10**12))
    if pick < 0.6:
        return generator.choice(TEXTS)
    return generator.choice((None, *HUGE, 0, 1, 0.5, 1e308, float("inf"), b"\xff\x00", b""))


def edited_json(generator: random.Random, value: Any) -> Any:
    """A JSON value with one change somewhere inside."""
    if isinstance(value, dict) and value and generator.random() < 0.85:
        key = generator.choice(list(value))
        if generator.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: edited_json(generator, value[key])}
    if isinstance(value, list) and value and generator.random() < 0.85:
        option = len(value) == 2 and isinstance(value[0], str) and not isinstance(value[1], (list, dict))
        if option and generator.random() < 0.3:
            return list(generator.choice(OPTIONS))
        at = generator.randrange(len(value))
        way = generator.random()
        if way < 0.1:
            return value[:at] + value[at + 1 :]
        if way < 0.2:
            return value * generator.choice((2, 50, 1000))
        return [*value[:at], edited_json(generator, value[at]), *value[at + 1 :]]
    numbers = (None, True, -1, 0, 1, 10**9, 2**63, 10**400, 0.5, math.inf, math.nan)
    lists = ([], {}, [[]], {"a": 1}, list(range(5000)), [0.1] * 5000, nested(500))
    return generator.choice((*numbers, "", "x" * 50_000, *TEXTS[3:8], *lists))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def _edited_blob(generator: random.Random, value: bytes) -> bytes:
    way = generator.random()
    if way < 0.2:
        return bytes(generator.randrange(256) for _ in range(40))
    if way < 0.3:
        return zlib.compress(b"[" + b"[1,1]," * 4_000_000 + b"[1,1]]")
    if way < 0.4:
        return zlib.compress(b" " * 200_000_000 + b"[]")
    with contextlib.suppress(ValueError, zlib.error):
        return zlib.compress(json.dumps(edited_json(generator, json.loads(zlib.decompress(value)))).encode())
    return b""


def edit(directory: Path, generator: random.Random) -> str:
    """One to three edits of a journal, by the plain driver; what was done."""
    link = sqlite3.connect(directory / "journal.sqlite", isolation_level=None)
    link.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    done = []
    try:
        link.execute("PRAGMA synchronous=OFF")
        tables = [name for (name,) in link.execute("select name from sqlite_master where type = 'table'")]
        for _ in range(generator.choice((1, 1, 2, 3))):
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeError):
                done.append(_edit_one(link, generator, tables))
    finally:
        link.close()
    return "; ".join(done)


def _edit_one(link: sqlite3.Connection, generator: random.Random, tables: list[str]) -> str:
    weights = [3 if name in ("cell", "visit", "campaign", "outcome", "part", "target") else 1 for name in tables]
    table = generator.choices(tables, weights)[0]
    columns = [name for _, name, *_ in link.execute(f"pragma table_info({table})")]
    rows = [row for (row,) in link.execute(f"select rowid from {table}")]
    way = generator.random()
    if way < 0.04:
        if generator.random() < 0.5 or not rows:
            link.execute(f"delete from {table}")
            return f"{table} emptied"
        link.execute(f"delete from {table} where rowid = ?", (row := generator.choice(rows),))
        return f"{table} {row} removed"
    if way < 0.08:
        link.execute(generator.choice(SCHEMA_EDITS).format(table=table, column=columns[-1]))
        return f"{table}: another schema"
    if not rows:
        return f"{table} is empty"
    row, column = generator.choice(rows), generator.choice(columns)
    if way < 0.14:
        names = ", ".join(columns)
        others = ", ".join("?" if name == columns[0] else name for name in columns)
        with contextlib.suppress(sqlite3.Error):
            link.execute("begin")
            for number in range(generator.choice((1, 1000, 30_000))):
                key = f"{number:016x}" if column.endswith("key") else number + 10**6
                link.execute(f"insert into {table} ({names}) select {others} from {table} where rowid = ?", (key, row))
        link.execute("commit")
        return f"{table} {row} many times"
    old = link.execute(f"select {column} from {table} where rowid = ?", (row,)).fetchone()[0]
    new = edited_value(generator, old)
    link.execute(f"update {table} set {column} = ? where rowid = ?", (new, row))
    return f"{table} {row} {column}: {str(old)[:60]!r} -> {str(new)[:60]!r}"


SCHEMA_EDITS = (
    "create trigger t after update on {table} begin delete from visit; end",
    "create view v as with recursive n(x) as (select 1 union all select x + 1 from n) select x from n",
    "alter table {table} rename to other",
    "alter table {table} add column more integer generated always as (length(zeroblob(900000000))) virtual",
    "drop table {table}",
    "create index i on {table} ({column})",
    "pragma user_version = 77",
    "pragma journal_mode = wal",
)


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# -- commands ------------------------------------------------------------------------------------------------


def snapshot(place: Path) -> dict[str, Any]:
    """Every file below a place with what it holds."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(place.rglob("*"))
    }


def watched(run: Callable[[], Any], limit_seconds: float, *, allowed: tuple[Path, ...]) -> Outcome:
    """Run a command in a process of its own; what it may not do is told: a traceback, a program, a write elsewhere."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        _child(run, write, allowed)
    os.close(write)
    begin = time.monotonic()
    os.set_blocking(read, False)
    said, code = b"", None
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while code is None and time.monotonic() - begin < limit_seconds:
            said += pipe.read() or b""
            ended, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
            time.sleep(0.005)
        if code is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Outcome(-9, time.monotonic() - begin, f"it did not end within {limit_seconds:g} s", "")
        said += pipe.read() or b""
    seconds = time.monotonic() - begin
    try:
        told = json.loads(said)
    except ValueError:
        return Outcome(code, seconds, f"it died: {code}", said.decode(errors="replace"))
    return Outcome(told["code"], seconds, told["what"], told["said"])


def _child(run: Callable[[], Any], pipe: int, allowed: tuple[Path, ...]) -> None:
    """The command itself; never returns."""
    seen: list[str] = []
    places = tuple(os.path.realpath(path) for path in (*allowed, "/dev/null"))

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        asks_version = event == "subprocess.Popen" and arguments[1][-1] == "--version"
        if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system") and not asks_version:
            seen.append(f"ran {arguments[:2]}")
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if writes and isinstance(arguments[0], str) and os.path.isabs(arguments[0]):
            _judge_write(arguments[0])
        if event in ("os.remove", "os.rmdir", "os.mkdir", "os.rename", "os.truncate", "os.symlink", "os.link"):
            for one in arguments[:2]:
                if isinstance(one, str) and os.path.isabs(one):
                    _judge_write(one)

    def _judge_write(path: str) -> None:
        real = os.path.realpath(path)
        if not any(real == place or real.startswith(place + os.sep) for place in places):
            seen.append(f"wrote {path}")

    code, said, what = 1, "", ""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        sys.dont_write_bytecode = True
        sys.addaudithook(audit)
        done = run()
        code, said = done.returncode, done.stderr
        what = judged(code, said)
    except BaseException:  # noqa: BLE001 - told to the parent
        what = "a traceback: " + traceback.format_exc()[-1500:]
    what = "; ".join([*([what] if what else []), *seen[:3]])
    os.write(pipe, json.dumps({"code": code, "what": what, "said": said[-2000:]}).encode())
    os._exit(0)


def judged(code: int, said: str) -> str:
    """What is wrong with how a command ended; '' when nothing is."""
    if "Traceback" in said:
        return "a traceback: " + said[-800:]
    if code not in (0, 1, 2, 3, 4):
        return f"exit status {code}"
    messages = [line for line in said.splitlines() if line.startswith("ioatlas: ")]
    if code and len(messages) != 1:
        return f"{len(messages)} messages with exit status {code}: {said[-800:]!r}"
    if any(len(line) > 2000 for line in said.splitlines()):
        return "a message without end"
    return ""


COMMANDS = ("show", "show --json", "show --cells", "report", "export", "compare", "resume", "trust")


@dataclass
class Fuzzer:
    """Edits of copies of the bases, each followed by a command."""

    place: Path
    worlds: dict[str, World]
    limit_seconds: float = 60.0
    commands: tuple[str, ...] = COMMANDS

    def one(self, seed: int) -> tuple[str, Outcome]:
        """(what was done, how it ended) of one seed, which says all of it."""
        generator = random.Random(seed)
        name = generator.choice(list(self.worlds))
        world = self.worlds[name]
        source = world.directory if generator.random() < 0.5 else world.place / "whole"
        copy = self.place / f"copy-{seed}"
        shutil.copytree(source, copy)
        try:
            done = edit(copy, generator)
            command = generator.choice(self.commands)
            outcome = self.watch(world, copy, command)
            return f"seed {seed}, {name}: {done}; then {command}", outcome
        finally:
            shutil.rmtree(copy)

    def watch(self, world: World, directory: Path, command: str) -> Outcome:
        """A command on a directory, and whether anything changed that is none of its own."""
        before = snapshot(self.place / "outside")
        allowed = (
            directory,
            world.target,
            *(Path(os.environ[f"XDG_{name}"]) for name in ("STATE_HOME", "RUNTIME_DIR")),
        )
        outcome = watched(lambda: self.call(world, directory, command), self.limit_seconds, allowed=allowed)
        for left in world.target.iterdir():
            shutil.rmtree(left)
        if snapshot(self.place / "outside") != before:
            return Outcome(outcome.code, outcome.seconds, "something outside changed", outcome.said)
        return outcome

    def call(self, world: World, copy: Path, command: str) -> Any:
        shell: Callable[..., Any] = call
        if world.executor is not None:
            shell = Shell()
            shell.executor = world.executor
        os.chdir(self.place)
        if command == "export":
            return shell("export", copy, "--format", "csv")
        if command == "compare":
            return shell("compare", copy, world.place / "whole")
        if command == "trust":
            return shell("resume", copy, "--trust", world.target)
        first, *more = command.split()
        return shell(first, copy, *more)

    def many(self, seeds: Iterable[int], until: float = math.inf) -> Iterator[tuple[str, Outcome]]:
        """All of them, or as many as there is time for."""
        for seed in seeds:
            if time.monotonic() > until:
                return
            yield self.one(seed)
