# SPDX-License-Identifier: Apache-2.0
"""The one writer of fio job files: bare integers, one order, and nothing in a value that fio would read as something
else; and URIs that name a target.

Facts about fio's own reader that the checks rest on (fio 3.33, `init.c` and `parse.c`): a line ends at the first `;` or
`#` wherever it stands, a section whose name begins with `global` is a global section, `${NAME}` is replaced from the
environment and `$pagesize`, `$mb_memory` and `$ncpus` by numbers, `:` separates file names unless a backslash stands
before it, the names of all `filename` lines of a section count, and a line longer than 4,095 bytes is cut. None of
these but `:` can be escaped, so a value that holds one is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ioatlas.errors import UsageError
from ioatlas.model.units import words

JobValue = int | float | str | tuple[str, ...] | None
"""What an option may be set to: None writes the bare name (`stonewall`); a tuple is a list of paths, each escaped."""

_FIRST = words("""
    description ioengine thread directory filename filename_format uri rw bs bsrange bssplit blockalign size
    io_size number_ios offset offset_increment numjobs iodepth direct sync time_based runtime
""")
_RANK = {name: rank for rank, name in enumerate(_FIRST)}
_PATH_LISTS = frozenset({"filename", "directory"})
_PATHS = _PATH_LISTS.union(
    words("""
        uri read_iolog write_iolog replay_redirect write_bw_log write_lat_log write_iops_log write_hist_log include
        description
    """)
)
_SIZES = frozenset(
    words("""
        bs bsrange bssplit blockalign ba size filesize io_size offset offset_align offset_increment zonesize zonerange
        zoneskip rate rate_min buffer_compress_chunk number_ios rate_iops
    """)
)
_BARE_SIZES = re.compile(r"^[0-9%,:/\-]+$")
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_\-]*$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_KEYWORD = re.compile(r"\$\{|\$pagesize|\$mb_memory|\$ncpus")
_LINE_MAX = 4095


@dataclass(frozen=True)
class JobSection:
    """One `[name]` section and its options in fio's own names; sizes are integers of bytes."""

    name: str
    options: Mapping[str, JobValue] = field(default_factory=dict)


def escape_path(path: str) -> str:
    """A path as `filename` and `directory` take it: each `:` gets a backslash."""
    return path.replace(":", "\\:")


def _refuse(what: str, where: str, remedy: str) -> UsageError:
    return UsageError(what, where=where, remedy=remedy)


def _checked_text(name: str, text: str) -> str:
    if _CONTROL.search(text):
        raise _refuse("a value may not hold a line break or control character", name, "write it on one line")
    if not text or text != text.strip():
        raise _refuse(
            f"{text!r} is empty, or begins or ends with a blank, which fio drops",
            name,
            "write a value without outer blanks",
        )
    for mark in ";#":
        if mark in text:
            raise _refuse(
                f"fio ends the line at {mark!r}, also inside a value: {text!r}", name, f"use a value without {mark!r}"
            )
    if _KEYWORD.search(text):
        raise _refuse(
            f"fio would replace part of {text!r} from its environment",
            name,
            "use a value without `${...}` and fio keywords",
        )
    if name not in _PATHS and ("[" in text or "]" in text):
        raise _refuse(f"brackets belong to section headers: {text!r}", name, "use a value without brackets")
    if name in _SIZES and not _BARE_SIZES.match(text):
        raise _refuse(
            f"{text!r} is not written in bare bytes",
            name,
            "give the size as an integer of bytes: fio's suffixes depend on kb_base",
        )
    return text


def _paths(name: str, paths: tuple[str, ...]) -> list[str]:
    return [escape_path(_checked_text(name, path)) for path in paths]


def render_value(name: str, value: JobValue) -> str | None:
    """The text after `name=`, or None for a bare option. Raises UsageError for what fio would read differently."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refuse(f"{value!r} is not a finite number", name, "write a finite number")
        return str(int(value)) if value == int(value) else f"{value:.12f}".rstrip("0")
    if isinstance(value, tuple):
        if name not in _PATH_LISTS:
            raise _refuse("only filename and directory take a list of paths", name, "give one value")
        return ":".join(_paths(name, value))
    text = _checked_text(name, value)
    return escape_path(text) if name in _PATH_LISTS else text


def _render_options(options: Mapping[str, JobValue], where: str) -> list[str]:
    lines = []
    for name in sorted(options, key=lambda option: (_RANK.get(option, len(_RANK)), option)):
        if not _NAME.match(name) or name.startswith("include"):
            raise _refuse(f"{name!r} is not the name of a fio option", where, "use fio's own option names")
        for line in _option_lines(name, options[name]):
            if len(line.encode()) > _LINE_MAX:
                raise _refuse(
                    f"the line of {name!r} is longer than fio's {_LINE_MAX} bytes",
                    where,
                    "use shorter paths or fewer of them",
                )
            lines.append(line)
    return lines


def _option_lines(name: str, value: JobValue) -> Iterator[str]:
    """An option's line; of a list of file names as many as it takes, for those of all `filename` lines count."""
    if name != "filename" or not isinstance(value, tuple):
        text = render_value(name, value)
        yield name if text is None else f"{name}={text}"
        return
    line = ""
    for path in _paths(name, value):
        if line and len(line.encode()) + len(path.encode()) >= _LINE_MAX:
            yield line
            line = ""
        line = f"{line}:{path}" if line else f"{name}={path}"
    yield line


def check_section_name(name: str) -> str:
    """The name itself, when fio reads it back unchanged as the name of a job. Raises UsageError otherwise."""
    if (
        not name
        or name != name.strip()
        or _CONTROL.search(name)
        or any(mark in name for mark in "[];#$")
        or len(name.encode()) > 254
    ):
        raise _refuse(
            f"{name!r} cannot name a section", "job name", "use letters, digits, blanks inside, and at most 254 bytes"
        )
    if name.startswith("global"):
        raise _refuse(
            f"fio takes a section named {name!r} for global options",
            "job name",
            "use a name that does not begin with 'global'",
        )
    return name


def render_job(sections: Sequence[JobSection], global_options: Mapping[str, JobValue] | None = None) -> str:
    """The text of a job file: one `[global]` section when there are global options, then `sections` in their order.

    Equal input gives equal text: options stand in one fixed order whatever the order of the mapping. Sizes are written
    as bare integers of bytes. Raises UsageError for names or values that fio would not read back as given.
    """
    blocks = []
    if global_options:
        blocks.append(["[global]", *_render_options(global_options, "[global]")])
    for section in sections:
        blocks.append([f"[{check_section_name(section.name)}]", *_render_options(section.options, f"[{section.name}]")])
    return "\n".join("\n".join(block) + "\n" for block in blocks)


URI_ENGINES = {"nbd": "nbd", "nbd+unix": "nbd", "rbd": "rbd", "gfapi": "gfapi_async"}
"""fio's engine of every scheme. `rbd` and `gfapi` are read in journals of before; they are no longer opened."""
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,=%\[\]]+")
_KEYWORDS = re.compile(r"\$\{|\$(pagesize|mb_memory|ncpus)")
_PASSWORD = re.compile(r"(//[^/@?#:%]*[:%])[^/@?#]+@")
_SECRET = re.compile(r"((?:^|[?&:;,])[\w.\-]*(?:key|secret|passw(?:or)?d|token)[\w.\-]*=)[^&:;,]+", re.IGNORECASE)
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_IMAGE = re.compile(rf"rbd://(?:(?P<clientname>{_WORD})@)?(?P<pool>{_WORD})/(?P<rbdname>{_WORD})", re.IGNORECASE)


def scheme_of(uri: str) -> str:
    """Its scheme, in small letters."""
    return uri.partition(":")[0].lower()


def masked(text: str) -> str:
    """What a person typed as a target, with *** in the place of passwords and keys."""
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1***@", text))


def check_no_secret(uri: str) -> None:
    """Raises UsageError for a URI with a password or a key in it."""
    if masked(uri) != uri:
        raise UsageError(
            "a password in a URI would stand in job files, the journal and the report",
            where=masked(uri),
            remedy="leave it out, and let the server know this client by its address or a socket",
        )


def check_uri(uri: str) -> None:
    """Raises UsageError for a URI that fio would read otherwise, or that names no place."""
    if not _CHARACTERS.fullmatch(uri) or _KEYWORDS.search(uri):
        raise UsageError(
            "this URI holds a character that fio would misread",
            where=repr(uri[:200]),
            remedy="write it percent-encoded, e.g. %3B for a semicolon",
        )
    scheme = scheme_of(uri)
    if scheme == "rbd" and _IMAGE.fullmatch(uri) is None:
        raise UsageError(
            "this is not rbd:POOL/IMAGE, with names of letters, digits and . _ -",
            where=uri,
            remedy="write rbd:POOL/IMAGE",
        )
    socket = re.search(r"[?&]socket=([^&]*)", uri)
    if scheme == "nbd+unix" and (socket is None or not socket.group(1).startswith(("/", "%2F", "%2f"))):
        raise UsageError(
            "an nbd+unix URI names its socket by an absolute path",
            where=uri,
            remedy="write nbd+unix:///EXPORT?socket=/PATH",
        )


def parts_of(uri: str) -> Mapping[str, str]:
    """What a URI of Ceph names, by fio's options. Raises UsageError for another form."""
    check_uri(uri)
    match = _IMAGE.fullmatch(uri)
    return match.groupdict("admin") if match is not None else {}


def place_options(uri: str) -> tuple[tuple[str, str], ...]:
    """The options of a job that bind it to this URI."""
    return tuple(parts_of(uri).items()) if scheme_of(uri) == "rbd" else (("uri", uri),)
