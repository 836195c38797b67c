# SPDX-License-Identifier: Apache-2.0
"""The one writer of fio job files: bare integers, one order, and nothing in a value that fio would read as something
else.

Facts about fio's own reader that the checks rest on (fio 3.33, `init.c` and `parse.c`): a line ends at the first `;` or
`#` wherever it stands, a section whose name begins with `global` is a global section, `${NAME}` is replaced from the
environment and `$pagesize`, `$mb_memory` and `$ncpus` by numbers, `:` separates file names unless a backslash stands
before it, the names of all `filename` lines of a section count, and a line longer than 4,095 bytes is cut. None of
these but `:` can be escaped, so a value that holds one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ioatlas.model.options import CONTROL, JobValue, bad_value, render_value
from ioatlas.model.units import words

_FIRST = words("""
    description ioengine thread directory filename filename_format uri rw bs bsrange bssplit blockalign size
    io_size number_ios offset offset_increment numjobs iodepth direct sync time_based runtime
""")
_RANK = {name: rank for rank, name in enumerate(_FIRST)}
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_\-]*$")
_LINE_MAX = 4095


@dataclass(frozen=True)
class JobSection:
    """One `[name]` section and its options in fio's own names; sizes are integers of bytes."""

    name: str
    options: Mapping[str, JobValue] = field(default_factory=dict)


def _render_options(options: Mapping[str, JobValue], where: str) -> list[str]:
    lines = []
    for name in sorted(options, key=lambda option: (_RANK.get(option, len(_RANK)), option)):
        if not _NAME.match(name) or name.startswith("include"):
            raise bad_value(f"{name!r} is not the name of a fio option", where, "use fio's own option names")
        for line in _option_lines(name, options[name]):
            if len(line.encode()) > _LINE_MAX:
                raise bad_value(f"the line of {name!r} is over fio's {_LINE_MAX} bytes", where, "use shorter paths")
            lines.append(line)
    return lines


def _option_lines(name: str, value: JobValue) -> Iterator[str]:
    """An option's line; of a list of file names as many as it takes, for those of all `filename` lines count."""
    if name != "filename" or not isinstance(value, tuple):
        text = render_value(name, value)
        yield name if text is None else f"{name}={text}"
        return
    line = ""
    for path in (str(render_value(name, (one,))) for one in value):
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
        or CONTROL.search(name)
        or any(mark in name for mark in "[];#$")
        or len(name.encode()) > 254
    ):
        raise bad_value(
            f"{name!r} cannot name a section", "job name", "use up to 254 letters, digits and blanks inside"
        )
    if name.startswith("global"):
        raise bad_value(
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
