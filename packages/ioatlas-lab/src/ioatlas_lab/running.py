# SPDX-License-Identifier: Apache-2.0
"""Starting a scenario: `with start("bandwidth") as target: target.uri, target.truth`."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ioatlas.load.fio.process import find_fio, start_time_ticks
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas_lab import instance
from ioatlas_lab.network import lay_link, lay_nodes, node_of, octet_of, server_of
from ioatlas_lab.scenario import (
    REGISTRY,
    FarLink,
    Limit,
    Link,
    Loop,
    MakeFile,
    Memory,
    Nodes,
    Recipe,
    Requirement,
    Run,
    Scenario,
    Serve,
    Setting,
    Step,
    Text,
)

_READY_SECONDS = 15.0
_SERVER_NICE = -10
_SET_TIMER_SLACK = 29
_PLUGIN_DIRECTORIES = (
    "/usr/lib/*/nbdkit/plugins",
    "/usr/lib64/nbdkit/plugins",
    "/usr/lib/nbdkit/plugins",
    "/usr/local/lib/nbdkit/plugins",
)


@dataclass(frozen=True, kw_only=True)
class LabTarget(Recipe):
    """A running target: its recipe with the places filled in, which is what is known before anything is measured.

    location: URI or path, as `ioatlas map` takes it. context: what was filled in.
    """

    name: str
    limit: str
    directory: Path
    context: Mapping[str, str]

    @property
    def uri(self) -> str:
        """The location; for a URI target the URI that fio's engine takes."""
        return self.location

    @property
    def path(self) -> Path:
        """The location of a file, directory or block device."""
        return Path(self.location)

    @contextmanager
    def programs(self) -> Iterator[None]:
        """Programs of the target's own come first on PATH, without which its truth does not hold; of most targets there
        are none.
        """
        before = os.environ.get("PATH", "")
        if (self.directory / instance.PROGRAMS).is_dir():
            os.environ["PATH"] = f"{self.directory / instance.PROGRAMS}{os.pathsep}{before}"
        try:
            yield
        finally:
            os.environ["PATH"] = before

    def value(self, quantity: str) -> float:
        """A number of the truth by its name. Raises UsageError for an unknown one."""
        if quantity not in self.truth:
            raise UsageError(f"{self.name} has no {quantity!r}", remedy=f"it has: {', '.join(self.truth)}")
        return self.truth[quantity].value


def find(name: str) -> Scenario:
    """The scenario of this name. Raises UsageError with the names there are."""
    registry = scenarios()
    if name not in registry:
        raise UsageError(f"there is no lab scenario {name!r}", remedy=f"choose one of: {', '.join(registry)}")
    return registry[name]


def scenarios() -> dict[str, Scenario]:
    """All scenarios by name, in the order of the registry."""
    # Each enters its own.
    from ioatlas_lab import (  # noqa: F401
        catalog,
        catalog_arrays,
        catalog_root,
        catalog_shares,
        catalog_spindle,
    )

    return dict(REGISTRY)


def missing(scenario: Scenario) -> list[Requirement]:
    """What this scenario needs and this machine has not."""
    return [need for need in scenario.requires if not _is_there(need.program)]


def _is_there(program: str) -> bool:
    if program.startswith("nbdkit-") and program.endswith("-plugin"):
        return any(next(Path("/").glob(f"{place[1:]}/{program}.so"), None) for place in _PLUGIN_DIRECTORIES)
    if program.startswith("/dev/"):
        return os.access(program, os.R_OK | os.W_OK)
    if program.endswith(".so"):
        return any(next(Path("/").glob(f"{place}/{program}"), None) for place in ("usr/lib/*", "usr/lib64", "usr/lib"))
    return shutil.which(program, path=_search_path()) is not None


def _search_path() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))


def filled(scenario: Scenario, given: Mapping[str, Setting]) -> dict[str, Setting]:
    """The scenario's settings with the given ones in place. Raises UsageError for an unknown name or a value of the
    wrong kind.
    """
    unknown = sorted(given.keys() - scenario.settings.keys())
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} is not a setting of {scenario.name}",
            remedy=f"it has: {', '.join(scenario.settings) or 'none'}",
        )
    settings = dict(scenario.settings)
    for name, value in given.items():
        kind = type(scenario.settings[name])
        try:
            settings[name] = kind(value)
            if kind is int and float(value) != int(value):
                raise ValueError
        except ValueError as error:
            raise UsageError(
                f"{name} of {scenario.name} cannot be {value!r}",
                remedy=f"write a number such as {scenario.settings[name]}",
            ) from error
        # A delay of 0 is the same path without delay; what is off or none by default can be set so again.
        least = 0 if name.endswith("_ms") or scenario.settings[name] == 0 else None
        if kind is not str and float(settings[name]) <= 0 and float(settings[name]) != least:
            raise UsageError(f"{name} of {scenario.name} must be above 0, not {value}")
    return settings


@contextmanager
def start(name: str, **settings: Setting) -> Iterator[LabTarget]:
    """Start a scenario, give it, and take it down whatever happens. `settings` override the scenario's defaults."""
    target = up(name, settings, owned=True)
    try:
        yield target
    finally:
        down(target.directory)


def down(directory: Path) -> None:
    """Take an instance down. Raises IoAtlasError naming what could not be undone."""
    left = instance.take_down(directory)
    if left:
        raise IoAtlasError(
            f"could not take down: {', '.join(left)}",
            where=str(directory),
            remedy="end what uses it, then run `ioatlas lab down`",
        )


def expected(name: str, settings: Mapping[str, Setting], ident: str) -> Recipe:
    """The recipe with the places that `up` with this ident will give it; what is known only once it runs stays in
    braces. Raises UsageError.
    """
    scenario = find(name)
    directory = instance.named_directory(ident)
    octet = octet_of(directory.name)
    context = {"name": name, "dir": str(directory), "server": server_of(octet), "octet": str(octet)}
    context |= {f"node{number}": node_of(octet, number) for number in range(1, 17)}
    return _placed(scenario.build(filled(scenario, settings)), context)


def _placed(recipe: Recipe, context: Mapping[str, str]) -> Recipe:
    exports = tuple((one, fill(location, context)) for one, location in recipe.exports)
    return replace(recipe, location=fill(recipe.location, context), exports=exports)


def _how_to_get(packages: Sequence[str]) -> str:
    """What to type for packages, and what no package brings: a kernel's part, or a program from its source."""
    named = [one for one in dict.fromkeys(packages) if " " not in one]
    others = [one for one in dict.fromkeys(packages) if " " in one]
    return "; ".join(([f"apt-get install {' '.join(named)}"] if named else []) + [f"it takes {one}" for one in others])


def up(name: str, settings: Mapping[str, Setting] | None = None, *, owned: bool = False, ident: str = "") -> LabTarget:
    """Start a scenario that stays until `down`; with `owned` it is also swept once this program has ended.

    ident: its name, which tells its location beforehand (`expected`); an earlier one of that name is taken down.
    Raises UsageError (unknown name or setting), IoAtlasError (missing package, no root, a server that does not start).
    """
    scenario = find(name)
    chosen = filled(scenario, settings or {})
    lacking = missing(scenario)
    if lacking:
        raise IoAtlasError(
            f"lab scenario {name} needs {', '.join(need.program for need in lacking)}",
            remedy=_how_to_get([need.package for need in lacking]),
        )
    if scenario.needs_root and os.geteuid() != 0:
        raise IoAtlasError(
            f"lab scenario {name} needs root",
            remedy="run it with sudo, or choose one that `ioatlas lab list` shows without root",
        )
    instance.sweep()
    directory = instance.make_directory(name, ident)
    recipe = scenario.build(chosen)
    context = {"name": name, "dir": str(directory), "python": sys.executable, "plugins": str(Path(__file__).parent)}
    context |= {"named": ident} if ident else {}
    state = {
        "scenario": name,
        "settings": chosen,
        "started_at": time.time(),
        "truth": {key: dataclasses.asdict(value) for key, value in recipe.truth.items()},
        "owner_pid": os.getpid() if owned else None,
        "owner_started": start_time_ticks(os.getpid()) if owned else None,
    }
    instance.write_state(directory, state)
    try:
        for step in recipe.steps:
            _carry_out(step, context)
    except BaseException:
        instance.take_down(directory)
        raise
    placed = _placed(recipe, context)
    place = {"location": placed.location, "kind": placed.kind, "options": dict(placed.options)}
    instance.write_state(directory, {**state, **place})
    return LabTarget(**vars(placed), name=name, limit=scenario.limit, directory=directory, context=context)


def fill(text: str, context: Mapping[str, str]) -> str:
    """`text` with {dir}, {server} ... replaced; other braces stay."""
    for key, value in context.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _carry_out(step: Step, context: dict[str, str]) -> None:
    directory = Path(context["dir"])
    match step:
        case MakeFile():
            _make_file(Path(fill(step.path, context)), step)
        case Serve():
            context[f"{step.name}_pid"] = str(_serve(step, context))
        case Link():
            context.update(lay_link(step, instance.namespace_of(directory), octet=_named(context)))
        case Nodes():
            context.update(lay_nodes(step, instance.namespace_of(directory), octet=_named(context)))
        case FarLink():
            namespace, ready = instance.namespace_of(directory), "{dir}/far.json"
            _run(["ip", "netns", "add", namespace])
            _run(["ip", "-n", namespace, "link", "set", "lo", "up"])
            relay = ("{python}", "{plugins}/far_link.py", namespace, f"{step.round_trip_ms:g}", f"{step.mtu}", ready)
            _serve(Serve("far", relay, ready), context)
            context.update(json.loads(Path(fill(ready, context)).read_text()))
        case Loop():
            count = sum(key.startswith("loop") for key in context)
            attach = ["losetup", "--find", "--show", "--direct-io=on", fill(step.path, context)]
            context[f"loop{count}"] = _run(attach).strip()
        case Text():
            path = Path(fill(step.path, context))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(fill(step.text, context))
        case Memory():
            _limit_memory(step, directory)
        case Limit():
            _limit(fill(step.device, context), step, directory)
        case Run():
            _run([*_prefix(step, context), *(fill(word, context) for word in step.argv)])


def _named(context: Mapping[str, str]) -> int | None:
    """The network that a target with a name of its own asks for."""
    return octet_of(context["named"]) if "named" in context else None


def _prefix(step: Serve | Run, context: Mapping[str, str]) -> list[str]:
    # `ip netns exec` would make a private mount namespace; nsenter changes nothing but the network.
    place = f"namespace{step.node or ''}"
    return ["nsenter", f"--net=/run/netns/{context[place]}"] if step.inside or step.node else []


def _run(arguments: list[str]) -> str:
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, env={**os.environ, "PATH": _search_path()}
    )
    if done.returncode != 0:
        raise IoAtlasError(f"`{' '.join(arguments)}` failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _make_file(path: Path, step: MakeFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        if not step.random:
            out.truncate(step.size_bytes)
            return
        left = step.size_bytes
        while left:
            piece = os.urandom(min(left, 4 << 20))
            out.write(piece)
            left -= len(piece)
        out.flush()
        os.fsync(out.fileno())


def _limit(device: str, step: Limit, directory: Path) -> None:
    if not (instance.BLKIO / "blkio.throttle.read_bps_device").exists():
        raise IoAtlasError(
            "this kernel has no block I/O controller of cgroup v1",
            remedy="choose a scenario on nbdkit, such as bandwidth",
        )
    number = Path(f"/sys/block/{Path(device).name}/dev").read_text().strip()
    rates = {"bps": step.bytes_per_s, "iops": step.iops}
    limits = {
        f"blkio.throttle.{way}_{of}_device": rate for of, rate in rates.items() for way in ("read", "write") if rate
    }
    rules_file = directory / instance.RULES
    rules = json.loads(rules_file.read_text()) if rules_file.exists() else []
    rules_file.write_text(json.dumps([*rules, *((name, number) for name in limits)]))
    for name, value in limits.items():
        (instance.BLKIO / name).write_text(f"{number} {value}")


def _limit_memory(step: Memory, directory: Path) -> None:
    if not (instance.MEMORY / "memory.limit_in_bytes").exists():
        raise IoAtlasError(
            "this kernel has no memory controller of cgroup v1",
            remedy="choose page-cache, whose cache is all free memory",
        )
    fio = find_fio().path
    group = instance.MEMORY / instance.namespace_of(directory)
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(step.size_bytes))
    program = directory / instance.PROGRAMS / "fio"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho $$ > {group}/cgroup.procs && exec {fio} "$@"\n')
    program.chmod(0o700)


def _serve(step: Serve, context: Mapping[str, str]) -> int:
    directory = Path(context["dir"])
    arguments = [*_prefix(step, context), *(fill(word, context) for word in step.argv)]
    environment = {
        **os.environ,
        "PATH": _search_path(),
        **{key: fill(value, context) for key, value in step.environment},
        instance.MARK: str(directory),
    }
    log, pid_file = directory / f"{step.name}.log", directory / f"{step.name}.pid"
    with log.open("wb") as out, exact_sleeps():
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    pid: int | None = None if step.daemon else process.pid
    end = time.monotonic() + _READY_SECONDS
    while pid is None or not _ready(fill(step.ready, context), pid):
        ended = process.poll()
        if ended if step.daemon else ended is not None:
            said = log.read_text(errors="replace").strip()[-500:]
            raise IoAtlasError(
                f"{step.argv[0]} ended with status {ended}: {said}", where=f"lab scenario {context['name']}"
            )
        if time.monotonic() > end:
            raise IoAtlasError(f"{step.argv[0]} was not ready after {_READY_SECONDS:g} s", where=str(log))
        if step.daemon and pid_file.exists() and (text := pid_file.read_text().strip()):
            pid = int(text)
        time.sleep(0.005)
    pid_file.write_text(f"{pid} {start_time_ticks(pid)}\n")
    _put_before_others(pid)
    return pid


@contextmanager
def exact_sleeps() -> Iterator[None]:
    """Programs started inside sleep as long as they ask for: by default the kernel may add 50 µs (prctl(2),
    PR_SET_TIMERSLACK; inherited).
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_SET_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0)
    try:
        yield
    finally:
        if prctl is not None:
            prctl(_SET_TIMER_SLACK, ctypes.c_ulong(0), 0, 0, 0)


def _put_before_others(pid: int) -> None:
    """Give a server priority where we may: its delays shall be those that were configured, on a busy machine too.

    Where the scheduler groups by session, a process's nice value counts within its session only (sched(7), autogroup).
    """
    if os.geteuid() != 0:
        return
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _SERVER_NICE)
        Path(f"/proc/{pid}/autogroup").write_text(str(_SERVER_NICE))


def _ready(where: str, pid: int) -> bool:
    if not where:
        return True
    if not where.startswith("/"):
        # Looking is gentler than connecting: iperf3 serves one client at a time and would take us for it.
        return _listens(pid, int(where.rpartition(":")[2]))
    path = Path(where)
    if not path.is_socket():
        return path.exists()
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(where)
        except OSError:
            return False
    return True


def _listens(pid: int, port: int) -> bool:
    """Whether something listens on the TCP port in the network namespace of a process (proc(5): state 0A is LISTEN)."""
    for table in ("tcp", "tcp6"):
        try:
            rows = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        if any(row.split()[1].endswith(f":{port:04X}") and row.split()[3] == "0A" for row in rows):
            return True
    return False
