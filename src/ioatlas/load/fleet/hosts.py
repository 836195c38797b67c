# SPDX-License-Identifier: Apache-2.0
"""Which hosts make up a fleet: a file, or words of a command line.

--clients hosts.toml          a table [[host]] for each
--clients a,b,root@c:2222     over ssh, as the user's ssh configuration says
--clients local:4             four clients of this machine, each with its own host name and processes
--clients netns:one,two       network namespaces of this machine, by name
--clients fio://10.0.0.5      a `fio --server` that its owner started
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from ioatlas.model.errors import UsageError
from ioatlas.store import toml

Kind = Literal["local", "netns", "ssh", "fio"]
Os = Literal["linux", "windows", "macos"]
FIO_PORT = 8765
MOST_HOSTS = 1000
OSES = ("linux", "windows", "macos")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
_DESTINATION = re.compile(r"^[A-Za-z0-9_.:@\[\]%/-]+$")
_FORMS = "name hosts such as a,b,c, local:4, netns:one,two, fio://10.0.0.5, or a file hosts.toml"


@dataclass(frozen=True)
class Host:
    """One host of a fleet.

    name:        short and unique; its results go by it.
    kind:        how it is reached.
    destination: of ssh what `ssh` takes, such as root@c1; of fio its address; of netns the namespace's name.
    port:        of ssh where sshd listens (0: as ssh's configuration says); of fio where its server listens.
    listen:      a private address of the host that its fio server is bound to and reached at; '' for a tunnel.
    fio:         its fio, where that is not on PATH.
    os:          what runs there; fio's engines and paths depend on it.
    path:        the target's path there, where that is another than here.
    via:         ssh hosts to go through, as `ssh -J` takes them. identity: a private key's file.
    options:     further words for `ssh`, such as -o StrictHostKeyChecking=yes.
    """

    name: str
    kind: Kind = "ssh"
    destination: str = ""
    port: int = 0
    listen: str = ""
    fio: str = ""
    os: Os = "linux"
    path: str = ""
    via: str = ""
    identity: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fleet:
    """The hosts of a campaign, in their order. source: what was typed, or the file's name."""

    hosts: tuple[Host, ...]
    source: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)


def read_clients(text: str, *, folder: Path = Path()) -> Fleet:
    """The fleet that `--clients` names. folder: from which a file's name counts. Raises UsageError."""
    words = text.strip()
    if words.endswith(".toml"):
        return replace(read_hosts(folder / words), source=words)
    if not words:
        raise _bad("no client is named", "--clients")
    scheme, colon, rest = words.partition(":")
    if colon and scheme == "local":
        return Fleet(_local(rest), words)
    names = [name.strip() for name in (rest if colon and scheme == "netns" else words).split(",")]
    if not all(names):
        raise _bad(f"there is an empty name in {words!r}", "--clients")
    if colon and scheme == "netns":
        return Fleet(_checked([_host({"netns": name}, "--clients") for name in names]), words)
    return Fleet(_checked([_typed(name) for name in names]), words)


def read_hosts(file: Path) -> Fleet:
    """The fleet in a hosts file. Raises UsageError with the place of the fault."""
    record = toml.read(file, "the list of hosts", ("host", "defaults"), "use [[host]] for each host, and [defaults]")
    entries, defaults = record.get("host"), record.get("defaults", {})
    if not isinstance(entries, list) or not entries or not isinstance(defaults, dict):
        raise _bad("there is no [[host]] in it", str(file), 'write a table [[host]] with ssh = "NAME" for each host')
    shared = defaults.keys() & {"name", "destination", *_WORDS}
    if shared:
        raise _bad(f"{min(shared)!r} cannot be the same for all", f"{file}: [defaults]", "say it in each [[host]]")
    hosts = []
    for number, entry in enumerate(entries, 1):
        where = f"{file}: host {number}"
        if not isinstance(entry, dict):
            raise _bad("it is no table", where)
        hosts.append(_host({**defaults, **entry}, where))
    return Fleet(_checked(hosts, str(file)), file.name)


def _local(text: str) -> tuple[Host, ...]:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_HOSTS:
        raise _bad(f"{text!r} is no number of clients", "--clients", "write for example local:4")
    return tuple(Host(f"local{number}", "local") for number in range(1, int(text) + 1))


def _typed(word: str) -> Host:
    if word.startswith("fio://"):
        return _host({"fio_server": word.removeprefix("fio://")}, "--clients")
    return _host({"ssh": word}, "--clients")


_WORDS = {"ssh": "ssh", "fio_server": "fio", "netns": "netns"}
"""What in a table says how a host is reached: {key: kind}."""
_TEXTS = ("name", "destination", "listen", "fio", "path", "via", "identity")


def _host(entry: Mapping[str, Any], where: str) -> Host:
    """A host from a table of a file, or from typed words."""
    told = dict(entry)
    kinds = [key for key in _WORDS if key in told]
    if len(kinds) > 1:
        raise _bad(f"it has both {kinds[0]!r} and {kinds[1]!r}", where, "say one way to reach it")
    if kinds:
        told["kind"], told["destination"] = _WORDS[kinds[0]], told.pop(kinds[0])
    known = {one.name for one in fields(Host)}
    unknown = sorted(told.keys() - known)
    if unknown:
        raise _bad(f"{unknown[0]!r} says nothing of a host", where, f"use {', '.join(sorted({*known, *_WORDS}))}")
    _check_types(told, where)
    if "kind" not in told:
        raise _bad("it does not say how the host is reached", where, f"add one of {', '.join(_WORDS)}")
    if told["kind"] == "fio":
        told["destination"], told["port"] = _host_and_port(told["destination"], told.get("port", 0), where)
    if kinds == ["ssh"]:
        told["destination"], told["port"] = _ssh_and_port(told["destination"], told.get("port", 0), where)
    if not told.get("name"):
        told["name"] = _name_from(told["destination"])
    host = Host(**{**told, "options": tuple(told.get("options", ()))})
    _check_host(host, where)
    return host


def _check_types(told: Mapping[str, Any], where: str) -> None:
    for key in _TEXTS:
        if not isinstance(told.get(key, ""), str) or any(not c.isprintable() for c in told.get(key, "")):
            raise _bad(f"{key!r} is no plain text", where)
    options = told.get("options", [])
    if not isinstance(options, list) or not all(isinstance(one, str) and one.isprintable() for one in options):
        raise _bad("'options' is no list of words for ssh", where)
    port = told.get("port", 0)
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise _bad(f"{port!r} is no port", where, "write a number from 1 to 65535")
    if told.get("os", "linux") not in OSES:
        raise _bad(f"{told['os']!r} is not a known system", where, f"write one of {', '.join(OSES)}")
    if told.get("kind", "ssh") not in ("local", "netns", "ssh", "fio"):
        raise _bad(f"{told['kind']!r} is no way to reach a host", where)


def _check_host(host: Host, where: str) -> None:
    if not _NAME.match(host.name):
        raise _bad(f"{host.name!r} cannot name a host", where, "use up to 63 letters, digits, dots and hyphens")
    if host.kind in ("ssh", "fio", "netns") and not _DESTINATION.match(host.destination):
        raise _bad(f"{host.destination!r} is no host", where, "write a host name or an address")
    if host.destination.startswith("-") or host.via.startswith("-"):
        raise _bad("a host's name does not begin with a hyphen", where)
    if host.kind == "netns" and not _NAME.match(host.destination):
        raise _bad(f"{host.destination!r} is no network namespace", where, "`ip netns` lists them")


def _host_and_port(text: str, port: int, where: str) -> tuple[str, int]:
    """`10.0.0.5`, `10.0.0.5:8765`, `[fe80::1]:8765` -> address and port."""
    if text.count(":") > 1 and "[" not in text:  # IPv6
        return text, port or FIO_PORT
    match = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?", text)
    if match is None or int(match[2] or 0) >= 1 << 16:
        raise _bad(f"{text!r} is no address of a fio server", where, "write for example 10.0.0.5:8765")
    return match[1].strip("[]"), int(match[2] or port or FIO_PORT)


def _ssh_and_port(text: str, port: int, where: str) -> tuple[str, int]:
    """`root@c1:2222`, `[fe80::1]:2222` -> what `ssh` takes, and the port; it takes no port behind a name."""
    match = re.fullmatch(r"((?:[^@/]*@)?)(\[[^\]]+\]|[^:\[\]/]+)(?::(\d{1,5}))?", text)
    if match is None:  # ssh://..., or IPv6 without brackets
        return text, port
    if int(match[3] or 0) >= 1 << 16 or (port and match[3] and port != int(match[3])):
        raise _bad(f"{match[3]} is no port, or not the one that is told beside", where)
    return match[1] + match[2].strip("[]"), port or int(match[3] or 0)


def _name_from(destination: str) -> str:
    """A host's name from how it is reached: without the user, and without what no name can hold."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", destination.rpartition("@")[2]).strip("-.")


def _checked(hosts: Iterable[Host], where: str = "--clients") -> tuple[Host, ...]:
    """The hosts, when there are some, not too many, and no two alike."""
    told = tuple(hosts)
    if not 1 <= len(told) <= MOST_HOSTS:
        raise _bad(f"a fleet has 1 to {MOST_HOSTS} hosts", where)
    for what, names in (
        ("name", [host.name for host in told]),
        ("fio server", [host.destination for host in told if host.kind == "fio"]),
        ("namespace", [host.destination for host in told if host.kind == "netns"]),
        ("address", [_address_of(host) for host in told if host.kind == "ssh"]),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise _bad(f"two hosts have the {what} {twice[0]!r}", where, "name every host once, each with its own name")
    return told


def _address_of(host: Host) -> str:
    """Where ssh leads, as far as that can be told without asking."""
    port = f", port {host.port}" if host.port else ""
    return f"{host.destination}{port}{f' by {host.listen}' if host.listen else ''}"


def _bad(what: str, where: str, remedy: str = _FORMS) -> UsageError:
    return UsageError(what, where=where, remedy=remedy)
