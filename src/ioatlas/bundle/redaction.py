# SPDX-License-Identifier: Apache-2.0
"""What names a site is found in a campaign's facts and texts, and replaced by the same placeholder everywhere.

Facts say what the hosts, users, serial numbers, paths and addresses of this campaign are; patterns find those that no
fact tells. Every text of the bundle goes through the same table, so what was the same before is the same afterwards.
"""

from __future__ import annotations

import copy
import getpass
import ipaddress
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ioatlas.bundle.keys import SigningKey
from ioatlas.bundle.material import Material
from ioatlas.load.machine.typed_in import FACTS_FILE
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.options import ALLOWED
from ioatlas.model.target import scheme_of
from ioatlas.model.units import words
from ioatlas.report.redact import PUBLIC_FACTS, SITE_WORDS, names_site
from ioatlas.store import toml
from ioatlas.store.campaigns import PART

PLACEHOLDERS = {
    "hosts": "host-{}",
    "users": "user-{}",
    "serials": "serial-{}",
    "paths": "/redacted/path-{}",
    "addresses": "address-{}",
    "words": "word-{}",
}
SHORTEST = 3
"""Letters of a name that is replaced wherever it stands as a word."""
ORDINARY = SITE_WORDS | frozenset(
    words(
        "root nobody localhost fio ioatlas target server client data storage test disk linux debian ubuntu none "
        "unknown true false null read write trim default host user path file files name value vmware virtualbox"
    )
)
"""Names that are words of the format or of no site: they are left out of facts, and stay in other texts."""
_PUBLIC = r"(?:sys|proc|etc|usr|bin|sbin|lib|run|redacted)(?![\w-])|dev/[a-z]+[0-9a-z]*(?![\w/.-])|dev(?![\w/])"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("users", re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9](?:[\w.-]*\w)?")),
    ("users", re.compile(r"(?<=username=)[^,\s\"']+|(?<=domain=)[^,\s\"']+|(?<=user=)[^,\s\"']+")),
    ("serials", re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")),
    ("serials", re.compile(r"\b(?:iqn\.\d{4}-\d\d|nqn\.\d{4}-\d\d|naa|eui|wwn)[.:-][\w.:-]*\w")),
    ("addresses", re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}(?![\w:])|(?<=enx|wlx)[0-9a-f]{12}\b")),
    ("addresses", re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")),
    ("addresses", re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:])")),
    ("paths", re.compile(rf"(?<![\w./~*>)\]])(?<!:/)/(?!/)(?!{_PUBLIC})[A-Za-z0-9_.][^\s\"'`,;:()\[\]{{}}<>|\\=]+")),
)

_HOMES = re.compile(r"/(?:home|Users)/([\w.-]*\w)")
_HOSTS_TYPED = re.compile(
    r"^\s*[\"']?(?:iperf|host|server|address|hostname)[\"']?\s*=\s*[\"']([^\"':\s]+)", re.MULTILINE
)


@dataclass
class Redactor:
    """The table of what is replaced by what.

    known: {name: its kind}. given: {name in small letters: placeholder}, counted in the order in which they are met:
    names that never occur leave no trace. ordinary: names that are not replaced in texts. counts: replacements by kind.
    """

    plan: RedactPlan
    known: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    ordinary: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    _numbers: Counter[str] = field(default_factory=Counter)
    _literal: re.Pattern[str] | None = None

    def learn(self, kind: str, text: object, *, always: bool = False) -> None:
        """A name that a fact tells. always: even a path that every system has, such as /dev/sda."""
        text = str(text).strip()
        if not self.plan.hides(kind) or text in self.known or text.startswith("/redacted/"):
            return
        if kind == "paths":
            text = text.rstrip("/")
            if not text or (not always and re.match(rf"/(?:{_PUBLIC})", text)):
                return
        elif kind != "words" and (len(text) < SHORTEST or text.lower() in ORDINARY or text.lower() in ALLOWED):
            if text:
                self.ordinary.add(text)
            return
        self.known[text] = kind
        self._literal = None

    def _placeholder(self, kind: str, text: str) -> str:
        """What stands for a name from its first place on."""
        self.counts[kind] += 1
        folded = text.lower()
        if folded not in self.given:
            self._numbers[kind] += 1
            number = self._numbers[kind]
            self.given[folded] = PLACEHOLDERS[kind].format(number)
            if "://" in text:
                socket = f"?socket=/redacted/socket-{number}" if scheme_of(text) == "nbd+unix" else ""
                host = "" if socket else f"host-of-{number}"
                self.given[folded] = f"{scheme_of(text)}://{host}/redacted-{number}{socket}"
        return self.given[folded]

    def text(self, text: str) -> str:
        """A text without what names the site."""
        if self.known:
            if self._literal is None:
                self._literal = _literal(self.known)
            text = self._literal.sub(self._known, text)
        for kind, pattern in _PATTERNS:
            if self.plan.hides(kind):
                text = pattern.sub(lambda match, kind=kind: self._found(kind, match[0]), text)  # type: ignore[misc]
        return text

    def _known(self, match: re.Match[str]) -> str:
        found = match[0] if match[0] in self.known else _unescaped(match[0])
        if found not in self.known:
            found = next(text for text in self.known if text.lower() == found.lower())
        return self._placeholder(self.known[found], found)

    def _found(self, kind: str, text: str) -> str:
        """What a pattern met."""
        if kind == "addresses" and not _is_address(text):
            return text
        self.learn(kind, text)
        return self._placeholder(kind, text) if text in self.known else text

    def data(self, data: bytes) -> bytes:
        """Bytes of a file; figures alone are left as they are."""
        if not data.translate(None, b"0123456789,. \n-"):
            return data
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def value(self, value: Any) -> Any:
        """A JSON value, its keys included."""
        return _changed(value, self.text, self._name)

    def table(self) -> list[tuple[str, str, str]]:
        """(kind, name, what stands for it) of every name that was met."""
        names = {text.lower(): (kind, text) for text, kind in self.known.items()}
        return [(*names[folded], placeholder) for folded, placeholder in self.given.items()]

    def _name(self, name: str) -> str:
        """A key of an object: a word of the format, or a name such as that of a target."""
        return name if name.lower() in ORDINARY else self.text(name)

    def left(self, name: str, data: bytes) -> str:
        """A name of the site that still stands in a file; '' when none does."""
        text = data.decode("utf-8", "surrogateescape")
        found = (self._literal or _literal(self.known)).search(text) if self.known else None
        return f"{found[0]!r} in {name}" if found else ""


def _changed(value: Any, text: Callable[[str], str], name: Callable[[str], str]) -> Any:
    """A JSON value with other texts, and other names in its objects."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [_changed(one, text, name) for one in value] if _has_text(value) else value
    if isinstance(value, dict):
        return {name(key): _changed(one, text, name) for key, one in value.items()}
    return value


def _has_text(values: list[Any]) -> bool:
    return any(not isinstance(one, (int, float, type(None))) for one in values) and not (
        isinstance(values[0], list) and all(isinstance(one, (int, float)) for one in values[0])
    )


def _is_address(text: str) -> bool:
    if re.fullmatch(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}|[0-9a-f]{12}", text):
        return True
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified) and (address.version == 4 or len(text) > 4)


def _literal(known: Mapping[str, str]) -> re.Pattern[str]:
    """Any of the known names as a word of its own, the longest first; hosts and users in any case of letters."""
    parts = []
    for text, kind in sorted(known.items(), key=lambda item: (-len(item[0]), item[0])):
        forms = "|".join(re.escape(form) for form in sorted({text, *_escaped(text)}, key=len, reverse=True))
        if kind == "paths":
            parts.append(rf"(?<![\w/.-])(?:{forms})(?![\w-])" if text.startswith("/") else f"(?:{forms})")
        elif kind in ("hosts", "users", "words"):
            parts.append(rf"(?<![A-Za-z0-9])(?i:{forms})(?![A-Za-z0-9])")
        else:
            parts.append(rf"(?<![A-Za-z0-9])(?:{forms})(?![A-Za-z0-9])")
    return re.compile("|".join(parts))


def _escaped(text: str) -> set[str]:
    """As a text stands inside JSON."""
    return {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


# -- what the facts of a campaign tell -------------------------------------------------------------------------


def redactor_of(material: Material, plan: RedactPlan) -> Redactor:
    """The table of a campaign: its places, its facts, this machine and user, and the words of the plan."""
    found = Redactor(plan)
    for word in plan.words:
        if word.lower() in ORDINARY or word in ALLOWED:
            raise UsageError("the format has this word itself", where=f"words: {word}", remedy="leave it out")
        found.learn("words", word)
    for home in sorted(set(_HOMES.findall(_all_text(material)))):
        found.learn("users", home)
    found.learn("paths", material.directory.resolve())
    _learn_targets(found, material)
    for fact in _facts(material):
        if fact.get("private") or names_site(str(fact.get("name", "")).rpartition(".")[2]):
            _learn_fact(found, str(fact["name"]), fact.get("value"))
    for name in _HOSTS_TYPED.findall(material.files.get(FACTS_FILE, b"").decode(errors="replace")):
        _learn_host(found, f"//{name}")
    for name in (platform.node(), platform.node().partition(".")[0]):
        found.learn("hosts", name)
    for user in (_user(), os.environ.get("SUDO_USER", ""), os.environ.get("USER", "")):
        found.learn("users", user)
    return found


def _learn_targets(found: Redactor, material: Material) -> None:
    for target in material.tables["target"]:
        found.learn("paths", target["location"], always=True)
        _learn_host(found, target["location"])
        for name, value in target["identity_json"]:
            if names_site(name) and name not in PUBLIC_FACTS:
                _learn_fact(found, name, value)
    for campaign in material.tables["campaign"]:
        for _, location in campaign["plan_json"].get("spec", {}).get("targets", ()):
            if "/" in location:  # a folder named from where one stood is the target's name, not a path
                found.learn("paths", location)


def _all_text(material: Material) -> str:
    """Every text of the campaign, where names stand without a fact that tells what they are."""
    tables = (json.dumps(rows, ensure_ascii=False) for name, rows in material.tables.items() if name != "part")
    return "\n".join([*tables, *(data.decode(errors="replace") for data in material.files.values())])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return ""


def _facts(material: Material) -> Iterable[dict[str, Any]]:
    for session in material.tables["session"]:
        for bed in _beds(session["testbed_json"]):
            yield from (fact for fact in bed["facts"] if isinstance(fact, dict) and "name" in fact)


def _beds(value: Any) -> Iterable[dict[str, Any]]:
    """Every record of a testbed, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("facts"), list):
            yield value
        for one in value.values():
            yield from _beds(one)


def _learn_fact(found: Redactor, name: str, value: Any) -> None:
    text = str(value or "")
    if not text:
        return
    said = set(re.split(r"[^a-z0-9]+", name.lower()))
    if said & {"serial", "wwn", "uuid", "number"} or name == "protocol.target_name":
        found.learn("serials", text)
    elif said & {"address", "gateway", "ip", "mac"}:
        found.learn("addresses" if _is_address(text) else "hosts", text)
    elif said & {"host", "hostname", "fqdn", "node", "server"}:
        found.learn("hosts", text)
        found.learn("hosts", text.partition(".")[0])
    elif said & {"user", "username"}:
        found.learn("users", text)
    elif text.startswith("/") and not text.startswith("//"):
        found.learn("paths", text)
    else:
        _learn_host(found, text)


def _learn_host(found: Redactor, place: str) -> None:
    """Of `server:/export`, `//server/share` and `scheme://host/path`."""
    match = re.match(r"(?:[a-z+]+:)?//(?:[^@/]*@)?(\[[^\]]+\]|[^/:?\[]+)|([\w.-]+):/", place)
    host = (match[1] or match[2]) if match else ""
    if host:
        host = host.strip("[]")
        found.learn("addresses" if _is_address(host) else "hosts", host)
    if match and match[2]:
        found.learn("paths", place.partition(":")[2])
    if place.startswith("//"):
        found.learn("paths", place)


# -- the whole of a campaign -----------------------------------------------------------------------------------


def redact(material: Material, redactor: Redactor, key: SigningKey | None = None) -> Material:
    """The campaign without what names its site. Cells whose target has another name now get their new keys. key: makes
    names of serial numbers.
    """
    tables = {name: [dict(row) for row in rows] for name, rows in material.tables.items()}
    hidden = len(redactor.plan.keep) == 0
    for session in tables["session"] if hidden else ():
        session["testbed_json"] = found = copy.deepcopy(session["testbed_json"])
        for bed in _beds(found):
            bed |= {"facts": [one for fact in bed["facts"] if (one := _public(fact, key))], "raw": {}}
    for target in tables["target"] if hidden else ():
        target["identity_json"] = [
            [name, value] for name, value in target["identity_json"] if name in PUBLIC_FACTS or not names_site(name)
        ]
    figures = {"part"}
    clean = {
        name: rows if name in figures else [{key: redactor.value(value) for key, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }
    for row, before in zip(clean["outcome"], tables["outcome"], strict=True):
        # A record of one configuration has its name behind an @: it is no user at a host.
        kind, of_part, target = before["name"].partition(PART)
        row["name"] = f"{kind}{of_part}{redactor.text(target)}"
    for part in clean["part"]:
        part["stream"] = redactor.text(part["stream"])
    _check_apart(clean)
    renamed = _renamed(clean)
    if renamed:
        rename = _renamer(renamed)
        clean = {name: rows if name in figures else rename(rows) for name, rows in clean.items()}
    return Material(
        material.directory,
        material.journal_format,
        clean,
        {redactor.text(name): redactor.data(data) for name, data in material.files.items()},
        {
            redactor.text(name): {redactor.text(log): redactor.data(data) for log, data in logs.items()}
            for name, logs in material.logs.items()
        },
    )


def _public(fact: Any, key: SigningKey | None) -> Any:
    """A fact as it is shared; None for one that names the site. Of a drive's serial number the key makes a name: the
    same of the same drive, and nobody without the key can tell of which.
    """
    if not (isinstance(fact, dict) and fact.get("private")):
        return fact
    device, _, what = str(fact.get("name")).rpartition(".")
    if key is None or what != "serial" or not device.startswith("device."):
        return None
    return {**fact, "name": f"{device}.identity", "value": key.name_of(str(fact.get("value"))), "private": False}


def _check_apart(tables: Mapping[str, list[dict[str, Any]]]) -> None:
    names = [row["name"] for row in tables["target"]]
    if len(set(names)) < len(names):
        raise IoAtlasError(
            "two targets would have one name",
            where=", ".join(sorted(set(names))),
            remedy="keep the kind of name that tells them apart, in a plan for --redact",
        )


def _renamed(tables: Mapping[str, list[dict[str, Any]]]) -> dict[str, str]:
    """{key: new key} of the cells whose target or labels read otherwise now."""
    found = {}
    for row in tables["cell"]:
        pairs = tuple((name, value) for name, value in row["options_json"])
        streams = tuple((name, tuple((key, v) for key, v in options)) for name, options in row["streams_json"])
        key = Cell(row["target"], pairs, row["sharing"], row["state"], streams).key
        if key != row["cell_key"]:
            found[row["cell_key"]] = key
    return found


def _renamer(renamed: Mapping[str, str]) -> Callable[[Any], Any]:
    rename = partial(re.compile("|".join(map(re.escape, renamed))).sub, lambda match: renamed[match[0]])
    return lambda value: _changed(value, rename, rename)


KINDS = ("hosts", "users", "serials", "paths", "addresses")


@dataclass(frozen=True)
class RedactPlan:
    """keep: kinds that stay as they are. words: more that is replaced."""

    keep: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    def hides(self, kind: str) -> bool:
        return kind not in self.keep


def read_plan(text: str | None) -> RedactPlan:
    """The plan in a TOML file; `none` keeps every kind, nothing or `default` replaces every kind. Raises UsageError."""
    if text is None or text == "default":
        return RedactPlan()
    if text == "none":
        return RedactPlan(frozenset(KINDS))
    table = toml.read(Path(text), "the plan", ("keep", "words"), "name a TOML file with keep and words, or `none`")
    keep, words = table.get("keep", []), table.get("words", [])
    if not isinstance(keep, list) or not set(map(str, keep)) <= set(KINDS):
        raise UsageError("keep is no list of kinds", where=text, remedy=f"kinds are {', '.join(KINDS)}")
    if not isinstance(words, list) or not all(isinstance(word, str) and len(word.strip()) > 1 for word in words):
        raise UsageError("words is no list of words of two letters and more", where=text)
    return RedactPlan(frozenset(keep), tuple(word.strip() for word in words))
