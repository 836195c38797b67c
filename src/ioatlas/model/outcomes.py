# SPDX-License-Identifier: Apache-2.0
"""What a campaign keeps of itself as a whole, in typed records with a version: how each is written, and read back; and
what it tells while it works: each event becomes one JSON object, and a terminal shows some of them.

In the journal a record is `{"version": 1, CONTENT: ...}` under its name. Before records had a version, the content
stood there alone; that is read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from types import NoneType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from ioatlas.model.errors import IoAtlasError


@dataclass(frozen=True)
class Event:
    """`name` is one of: campaign, layout, probe, plan, progress, visit, discarded, kept, remark, precision, fresh,
    round, phase, removing, cleaned, stopped, done.
    """

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"event": self.name, **self.fields}


Emit = Callable[[Event], None]


VERSION = 1


@dataclass(frozen=True)
class KeptRecord:
    """A record of the journal. NAME: its key there; CONTENT: the key of what it says, which is its one field."""

    NAME: ClassVar[str]
    CONTENT: ClassVar[str]
    version: int = field(default=VERSION, kw_only=True)

    def content(self) -> Any:
        """What it says, as JSON."""
        return plain(getattr(self, self._field()))

    @classmethod
    def of_content(cls, content: Any) -> Self:
        """The record that says this."""
        name = cls._field()
        return cls(**{name: of_plain(hints_of(cls)[name], content)})

    @classmethod
    def _field(cls) -> str:
        (name,) = (one.name for one in fields(cls) if one.name != "version")
        return name

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version, self.CONTENT: self.content()}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Raises IoAtlasError for a version that is not known."""
        if not (isinstance(value, dict) and isinstance(value.get("version"), int) and cls.CONTENT in value):
            return cls.of_content(value)
        if value["version"] > VERSION:
            raise IoAtlasError(
                f"{cls.NAME!r} has version {value['version']}, this ioatlas reads up to {VERSION}",
                where="the journal",
                remedy="use a newer ioatlas",
            )
        return cls.of_content(value[cls.CONTENT])


@dataclass(frozen=True)
class PreparedTarget:
    """What a file, device or export holds: the preparation, how far it reaches,
    and for which part of the campaign it was made.
    """

    state: str
    end_bytes: int
    once: str = ""


@dataclass(frozen=True)
class PreparedTargets(KeptRecord):
    """The targets that were written over their range, by name; never directories, whose files go with the session."""

    NAME, CONTENT = "prepared", "targets"
    targets: Mapping[str, PreparedTarget] = field(default_factory=dict)


@dataclass(frozen=True)
class LaidOut:
    """How a file was laid out, or tried to be: a load like others, which takes from a target's credit.

    started_at: of its first write, seconds since the epoch, 0 where that is not known. interval_bytes: what was written
    in each interval of `interval_ms`.
    """

    target: str
    started_at: float
    ran_ms: float
    bs_bytes: int
    iodepth: int
    moved_bytes: int
    interval_bytes: tuple[int, ...]
    interval_ms: int

    @property
    def mean_bytes_per_s(self) -> float:
        return 1000 * self.moved_bytes / max(self.ran_ms, 1.0)

    @property
    def last_bytes_per_s(self) -> float:
        """How fast the last two fifths were written."""
        last = self.interval_bytes[int(0.6 * len(self.interval_bytes)) :]
        return 1000 * sum(last) / (self.interval_ms * len(last)) if sum(last) else self.mean_bytes_per_s


@dataclass(frozen=True)
class LaidOuts(KeptRecord):
    """All that was laid out, in the order of time."""

    NAME, CONTENT = "laid_out", "files"
    files: tuple[LaidOut, ...] = ()


@dataclass(frozen=True)
class KeptMeter:
    """A meter of power. of: whose power it reads, 'target' or 'client'. loaded_watts: typed in;
    None where it is read.
    """

    name: str
    of: str
    source: str
    loaded_watts: float | None = None


@dataclass(frozen=True)
class Meters(KeptRecord):
    """The meters that are asked during the campaign."""

    NAME, CONTENT = "meters", "meters"
    meters: tuple[KeptMeter, ...] = ()


@dataclass(frozen=True)
class IdleWatts(KeptRecord):
    """Watts of each meter, by name, while nothing of ours ran."""

    NAME, CONTENT = "idle_watts", "watts"
    watts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ClocksParted(KeptRecord):
    """How far the wall clock was ahead of a session's time (below 0: behind) where it was furthest off; 0 where it was
    not set.
    """

    NAME, CONTENT = "clocks-parted", "seconds"
    seconds: float = 0.0


@dataclass(frozen=True)
class HoleCheck(KeptRecord):
    """Names of the targets of which a file that was read had holes: ranges never written,
    answered without the drive.
    """

    NAME, CONTENT = "hollow", "targets"
    targets: frozenset[str] = frozenset()


@dataclass(frozen=True)
class KnownMemory(KeptRecord):
    """Bytes of memory of the client and, where it was typed in, of the server, by those names."""

    NAME, CONTENT = "memory", "bytes"
    sizes_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class VoidedReplicate:
    """A replicate that was voided, and the number of the one that repeats it.

    effect: its level against the mean of the replicates, a share; error: its standard error.
    """

    target: str
    replicate: int
    again: int
    reason: str
    visits: int
    discarded: int
    effect: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class Voided(KeptRecord):
    """The replicates that were voided and repeated, in the order in which that happened. Kept as blocks."""

    NAME, CONTENT = "voided", "replicates"
    replicates: tuple[VoidedReplicate, ...] = ()

    def content(self) -> Any:
        return [{"block" if k == "replicate" else k: v for k, v in plain(one).items()} for one in self.replicates]

    @classmethod
    def of_content(cls, content: Any) -> Self:
        return cls(
            tuple(VoidedReplicate(**{"replicate" if k == "block" else k: v for k, v in one.items()}) for one in content)
        )


@dataclass(frozen=True)
class Fitted(KeptRecord):
    """How a plan was made to fit its budget. share: of a usual window that visits run."""

    NAME, CONTENT = "fitted", "window_share"
    share: float = 1.0


@dataclass(frozen=True)
class KeptLaw(KeptRecord):
    """That a law of each target tells the numbers; and by target that law as it was fitted (`law.kept`), so that
    reading a result need not fit it.
    """

    NAME, CONTENT = "law", "targets"
    targets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen(KeptRecord):
    """That the loads of a map are chosen one after another, by what they teach. most: cells of each target that may be
    measured, None for all.
    """

    NAME, CONTENT = "chosen", "most"
    most: int | None = None


@dataclass(frozen=True)
class IntegrityCheck:
    """One target's check: bytes written and read back, what fio said of those that did not match ('' when all did)."""

    target: str
    bs_bytes: int
    iodepth: int
    size_bytes: int
    written_bytes: int
    read_bytes: int
    mismatches: int
    error: int
    message: str


@dataclass(frozen=True)
class Integrity(KeptRecord):
    """What was read back and compared by `--verify`, which campaigns of before had, target by target."""

    NAME, CONTENT = "integrity", "checks"
    checks: tuple[IntegrityCheck, ...] = ()


@dataclass(frozen=True)
class SniaPass:
    """A pass of a test in rounds: how the target was purged before it, the number (from 0) of the first round after
    its last preparation, and why no further round is run ('' while the test goes on).
    """

    purge: str = ""
    first: int = 0
    ended: str = ""


@dataclass(frozen=True)
class SniaPasses(KeptRecord):
    """The passes that were begun, by their names."""

    NAME, CONTENT = "rounds", "passes"
    passes: Mapping[str, SniaPass] = field(default_factory=dict)


@dataclass(frozen=True)
class HighestLoad:
    """The highest load that a target carried, in I/Os per second, and what kept it from more.

    refused: the lowest load that it did not carry; None when none was tried. trials: how many loads were tried.
    """

    iops: float
    limited_by: str
    refused: float | None = None
    trials: int = 0


@dataclass(frozen=True)
class HighestLoads(KeptRecord):
    """What the searches for the highest load came to, one for each target and phase. Not told apart but by `of`."""

    NAME, CONTENT = "stream_loads", "loads"
    loads: Mapping[str, HighestLoad] = field(default_factory=dict)

    def of(self, target: str, phase: str) -> HighestLoad | None:
        return self.loads.get(self._key(target, phase))

    def with_load(self, target: str, phase: str, load: HighestLoad) -> Self:
        return replace(self, loads={**self.loads, self._key(target, phase): load})

    @staticmethod
    def _key(target: str, phase: str) -> str:
        return f"{target}\t{phase}"


@dataclass(frozen=True)
class Blocks(KeptRecord):
    """Configurations that were measured one after another: why each was given up, '' for those that are done.

    Those that are not named have not been begun, or were interrupted. A later set-up of one has its number behind its
    name, from 2.
    """

    NAME, CONTENT = "configurations", "blocks"
    ended: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def name_of(configuration: str, number: int) -> str:
        """What a set-up goes by. number: from 0."""
        return f"{configuration}\t{number + 1}" if number else configuration


def plain(value: Any) -> Any:
    """A value as JSON: a dataclass is an object of its fields, a set is sorted."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return sorted(value) if isinstance(value, frozenset) else value


_SCALARS: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (float, int)}


def of_plain(hint: Any, value: Any) -> Any:
    """The value of type `hint` that `plain` wrote. Raises TypeError, ValueError, AttributeError,
    OverflowError for what is none.
    """
    parts, origin = get_args(hint), get_origin(hint)
    if NoneType in parts:
        return None if value is None else of_plain(next(part for part in parts if part is not NoneType), value)
    if is_dataclass(hint):
        types = hints_of(hint)
        return hint(**{name: of_plain(types.get(name), one) for name, one in value.items()})  # type: ignore[operator]
    if origin in (tuple, frozenset) and not isinstance(value, (list, tuple)):
        raise TypeError
    if origin is tuple:
        types_of_parts = [parts[0]] * len(value) if parts[-1] is ... else parts
        return tuple(of_plain(part, one) for part, one in zip(types_of_parts, value, strict=True))
    if origin is frozenset:
        return frozenset(of_plain(parts[0], one) for one in value)
    if origin in (Mapping, dict):
        return {of_plain(parts[0], key): of_plain(parts[1], one) for key, one in value.items()}
    known = [one for one in parts or (hint,) if one in _SCALARS]
    if known and not any(type(value) in _SCALARS[one] for one in known):
        raise TypeError
    if hint is float or (isinstance(hint, type) and issubclass(hint, StrEnum)):
        return hint(value)
    return value


_HINTS: dict[Any, dict[str, Any]] = {}


def hints_of(table: Any) -> dict[str, Any]:
    """Types of a dataclass' fields by name; asked for often, so they are kept."""
    if table not in _HINTS:
        _HINTS[table] = get_type_hints(table)
    return _HINTS[table]
