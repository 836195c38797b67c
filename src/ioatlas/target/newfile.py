# SPDX-License-Identifier: Apache-2.0
"""A file target that did not exist: made by ioatlas under the very name that was asked for,
and removed only while it is that file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.target import Target
from ioatlas.target.identity import NEW_FILE, identify
from ioatlas.target.trouble import spoken


def make_file(target: Target, size_bytes: int, register: Callable[[str], None]) -> Target:
    """Makes the file of a target opened with `new_file`, `size_bytes` long, and returns the target with its size and
    identity.

    register: called with the path before the file is made. Record the returned identity too: `remove_file` deletes
    nothing without it. The file has its full length at once, so that fio finds it long enough and does not delete and
    lay it out anew; it is sparse until written. Raises IoAtlasError when the name is taken meanwhile (nothing is
    overwritten) or the file cannot be made.
    """
    if target.kind != "file" or target.identity != NEW_FILE:
        raise UsageError("this target is not a file to be made", where=target.location)
    register(target.location)
    try:
        fd = os.open(target.location, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, size_bytes)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise spoken(error, target.location) from error
    return replace(target, identity=identify(replace(target, identity=NEW_FILE)), size_bytes=size_bytes)


def remove_file(target: Target) -> str | None:
    """Deletes a file that `make_file` made, when it still is that file; returns why it was left, None when it is gone.

    target: with the identity that `make_file` returned.
    """
    if target.kind != "file" or target.identity == NEW_FILE:
        return "it was not recorded as made by ioatlas"
    if not os.path.lexists(target.location):
        return None
    try:
        differences = target.identity.differences(identify(target))
    except IoAtlasError as error:
        return error.what
    if differences:
        return "it is not the file ioatlas made: " + "; ".join(differences)
    try:
        os.unlink(target.location)
    except OSError as error:
        return spoken(error, target.location).what
    return None
