# SPDX-License-Identifier: Apache-2.0
"""Targets: opened, recognised, guarded, prepared and cleaned.

People own this data; nothing is written that was not named for it.
"""

from ioatlas.target.direct import DirectIo, direct_io_alignment
from ioatlas.target.guard import (
    check_before_start,
    check_block_device,
    check_extent,
    check_writable,
    confirm_destroy,
    confirm_overwrite,
)
from ioatlas.target.identity import check_identity, identify, recognise
from ioatlas.target.marker import Marker
from ioatlas.target.opening import URI_KINDS, open_target
from ioatlas.target.place import check_journal_place, check_space
from ioatlas.target.workspace import Leftover, Removal, Workspace, clean, leftovers

__all__ = [
    "URI_KINDS",
    "DirectIo",
    "Leftover",
    "Marker",
    "Removal",
    "Workspace",
    "check_before_start",
    "check_block_device",
    "check_extent",
    "check_identity",
    "check_journal_place",
    "check_space",
    "check_writable",
    "clean",
    "confirm_destroy",
    "confirm_overwrite",
    "direct_io_alignment",
    "identify",
    "leftovers",
    "open_target",
    "recognise",
]
