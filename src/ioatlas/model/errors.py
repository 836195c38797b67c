# SPDX-License-Identifier: Apache-2.0
"""The errors a user can meet: each says what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike


class IoAtlasError(Exception):
    """A run-time failure. The command line prints it as one message and exits with `exit_code`.

    what:   one sentence, the fault itself.
    where:  file and line, key, path or command it concerns; empty when there is none.
    remedy: one sentence, what the user can do.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  what to do: {self.remedy}" if self.remedy else text


class UsageError(IoAtlasError):
    """The request itself cannot be carried out: wrong value, wrong key, wrong combination."""

    exit_code = 2


class RefusedError(UsageError):
    """A guard refused the request because it could harm data. No flag turns a refusal off."""


class GateError(IoAtlasError):
    """The work finished, but a quality gate or a comparison failed."""

    exit_code = 3


class PartialResultError(IoAtlasError):
    """The work stopped early; what was finished is kept and can be resumed."""

    exit_code = 4


@contextmanager
def faults(
    kind: type[IoAtlasError],
    what: str,
    *,
    where: str = "",
    remedy: str = "",
    of: type[Exception] | tuple[type[Exception], ...] = OSError,
) -> Iterator[None]:
    """A fault of the system as one that says what, where and what to do. what: without the system's reason."""
    try:
        yield
    except of as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise kind(f"{what}: {reason or error}", where=where, remedy=remedy) from error


@contextmanager
def written(place: str | PathLike[str], remedy: str, what: str = "it") -> Iterator[None]:
    """A fault in writing as one that says where and what to do. A pipe whose reader has enough is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileExistsError:
        raise UsageError("it is there already", where=str(place), remedy="name a new file") from None
    except OSError as error:
        raise IoAtlasError(
            f"{what} cannot be written: {error.strerror or error}", where=str(error.filename or place), remedy=remedy
        ) from error
