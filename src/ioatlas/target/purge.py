# SPDX-License-Identifier: Apache-2.0
"""All data taken off a target before it is filled, where that can and may be done."""

from __future__ import annotations

from collections.abc import Callable

from ioatlas.errors import UsageError
from ioatlas.model.choices import Purge
from ioatlas.model.events import Emit, Event
from ioatlas.model.target import Target
from ioatlas.target.guard import check_before_start
from ioatlas.target.holes import discard, punch_file
from ioatlas.target.nvme import format_namespace

_OFFERS_NONE = {"directory": "a directory", "file": "a file", "uri": "an export"}


def purge(target: Target, how: Purge, emit: Emit, through: Callable[[str], str] = str) -> str:
    """Purge a target; what was done, or why it was not, in words.

    through: the path by which what is held under a name is reached.

    Only for targets whose destruction was confirmed. Raises what the guards raise, UsageError for a purge that was
    asked for and cannot be done.
    """
    if how == "none":
        return "none, as asked"
    if how == "by-hand":
        return "done by hand before the test, as stated; not checked"
    if target.kind == "block":
        check_before_start(target, writes=True)
        if how == "nvme-format":
            emit(Event("remark", {"text": f"formatting {target.name}"}))
            return format_namespace(target.location, target.size_bytes or 0)
        emit(Event("remark", {"text": f"discarding all of {target.name}"}))
        if discard(target.location, target.size_bytes or 0):
            return "all blocks discarded (BLKDISCARD); whether the device erases them is up to it"
    elif how == "punch-hole":
        check_before_start(target, writes=True)
        if punch_file(through(target.location), target.size_bytes or 0):
            return "holes punched in the file: the file system's space is free, which is not a purge of the drive"
    if how == "auto":
        offers = _OFFERS_NONE.get(target.kind)
        why = f"{offers} offers none" if offers else "the device takes no discards"
        return f"not possible: {why}; the state before the fill is unknown"
    raise UsageError(
        f"purge = {how!r} cannot be done here",
        where=target.location,
        remedy="use purge = 'auto', which says so and goes on",
    )
