# SPDX-License-Identifier: Apache-2.0
"""elbencho's command line as options by long name, and paths (facts: its help texts, version 3.1)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source, binary_size, whole_number
from ioatlas.interop.fidelity import Fidelity, not_expressible
from ioatlas.model.words import pairs, words

_SHORT = pairs("""
    b=block c=configfile D=deldirs d=mkdirs F=delfiles i=iterations N=files n=dirs r=read s=size t=threads w=write
    h=help
""")
_TAKES = frozenset(
    words("""
    block blockvaralgo blockvarpct clients clientsfile configfile cores csvfile fadv flock gpuids hosts hostsfile
    iodepth iterations jsonfile label latpercent9s limitread limitwrite livecsv livejson liveint log madv files dirs
    netdevs numhosts numservers opslog phasedelay port randalgo randamount rankoffset recvbuf respsize resfile
    rotatehosts rwmixpct rwmixthr rwmixthrpct size s3aclgrantee s3aclgtype s3aclgrants s3chksumalgo s3checksumalgo
    s3credfile s3credlist s3endpoints s3key s3listobj s3log s3logprefix s3maxconns s3mpusizevar s3mpusplit
    s3multidel s3objprefix s3sseckey s3ssekmskey s3region s3secret s3sessiontoken s3sign s3targetgbps sendbuf
    servers serversfile sharesize start svcpwfile svcupint svcwait threads timelimit treefile treeroundup treescan
    verify zones nodes path
    """)
)
_FLAGS = frozenset(
    words("""
    allelapsed backward cpu cufile cufiledriveropen cuhostbufreg deldirs mkdirs direct dirsharing dirstats dropcache
    dryrun delfiles foreground gds gdsbufreg gpuperservice infloop interrupt lat lathisto latpercent live1 live1n
    livecsvex livejsonex mmap netbench no0usecerr nocsvlabels nodelerr nodiocheck nofdsharing nolive nopathexp
    norandalign nosvcshare opsloglock preallocfile quit read rand readinline s3aclget s3aclput s3aclputinl
    s3aclverify s3baclget s3baclput s3btag s3btagverify s3bversion s3bversionverify s3fastget s3fastput
    s3ignoreerrors s3listobjpar s3listverify s3multiignore404 s3nocompress s3nompcheck s3nompucompl s3olockcfg
    s3olockcfgverify s3otag s3otagverify s3randobj s3sse s3single s3statdirs s3virtaddr service stat statinline
    strided svcelapsed svcping sync trunc trunctosize verifydirect version write treerand treeroundrob base10 help
    nodetach nosvcpathshare althttpsvc hdfs s3mpusharing help-all help-large help-multi help-s3 help-dist
    """)
)


@dataclass
class Command:
    """used: options that the translation made something of, or asked for and left as they are."""

    options: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    where: str = ""
    notes: list[Fidelity] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def text(self, name: str, default: str = "") -> str:
        self.used.add(name)
        return self.options.get(name, default)

    def given(self, name: str) -> bool:
        return self.text(name, "0").lower() not in ("0", "false", "no")

    def size(self, name: str, default: int) -> int:
        text = self.text(name)
        return binary_size(text, f"--{name}", self.where) if name in self.options else default

    def number(self, name: str, default: int, *, high: int = 1 << 40) -> int:
        text = self.text(name)
        return whole_number(text, f"--{name}", self.where, high=high) if name in self.options else default

    @property
    def unused(self) -> list[str]:
        """Options that are switched on and that nothing was made of."""
        return [name for name in self.options if name not in self.used and self.given(name)]


def _full(name: str, where: str) -> str:
    known = _TAKES | _FLAGS
    if name in known:
        return name
    close = [k for k in known if k.startswith(name)]
    if len(close) == 1:
        return close[0]
    raise UsageError(f"elbencho has no option --{name}", where=where, remedy="remove it, or correct its spelling")


def _words(words: deque[str], where: str, notes: list[Fidelity]) -> Iterator[tuple[str, str | None]]:
    """(long name, value) of each option, ("", path) of each path; the value is None where none is attached."""
    while words:
        word = words.popleft()
        if word.startswith("--") and len(word) > 2:
            text, equals, attached = word[2:].partition("=")
            if equals and not any(known.startswith(text) for known in _TAKES | _FLAGS):
                # Options of other versions, or of a wrapper: with their value attached they differ from paths.
                notes.append(not_expressible(f"--{text}", "not an option that elbencho's help names"))
            else:
                yield _full(text, where), attached if equals else None
        elif word.startswith("-") and len(word) > 1:
            rest = word[1:]
            while rest:
                letter, rest = rest[0], rest[1:]
                if letter not in _SHORT:
                    raise UsageError(
                        f"elbencho has no option -{letter}", where=where, remedy="remove it, or correct its spelling"
                    )
                name = _SHORT[letter]
                yield name, rest.removeprefix("=") if rest and name in _TAKES else None
                if name in _TAKES:
                    break
        else:
            yield "", word


def read_command(words: list[str], where: str, source: Source) -> Command:
    """Options by long name, and paths. Raises UsageError for unknown options and missing values."""
    command = Command(where=where)
    left = deque(words)
    for name, attached in _words(left, where, command.notes):
        if not name:
            command.paths.append(attached or "")
        elif attached is None and name in _TAKES and not left:
            raise UsageError(f"--{name} takes a value", where=where, remedy="add it")
        elif attached is None:
            command.options[name] = left.popleft() if name in _TAKES else "1"
        else:
            command.options[name] = attached
    if "configfile" in command.options:
        file = source.include(command.options.pop("configfile"), depth=1)
        for line in file.text.split("\n"):
            text, equals, setting = line.strip().partition("=")
            if text and not text.startswith("#"):
                name = _full(text.strip().removeprefix("--"), file.where)
                command.options.setdefault(name, setting.strip() if equals else "1")
    if "path" in command.options:
        command.paths.append(command.options.pop("path"))
    return command


def count_paths(path: str) -> int:
    """How many paths the number lists of elbencho or of a shell make: file[1-4] and file{1..4} are four."""
    count = 1
    for group in re.findall(r"\[([0-9,\-]+)\]", path):
        total = 0
        for part in group.split(","):
            low, dash, high = part.partition("-")
            total += int(high) - int(low) + 1 if dash and low.isdigit() and high.isdigit() else 1
        count *= max(1, total)
    for low, high in re.findall(r"\{(\d+)\.\.(\d+)\}", path):
        count *= abs(int(high) - int(low)) + 1
    return min(count, 1_000_000)
