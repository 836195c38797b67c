# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of trees of small files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from ioatlas.model.errors import UsageError
from ioatlas.model.units import format_size, parse_size_bytes
from ioatlas.plan.options import Axes, Constants, Given, Kind, Option
from ioatlas.plan.spec import CampaignSpec, ProcedureTable

OURS = frozenset({"nrfiles", "numjobs", "fsync_on_close"})
"""Options of a sweep that a tree varies."""
LARGEST_FILE_BYTES, DEEPEST, MOST_VALUES = 64 << 20, 32, 20


def _parts(value: str, where: str) -> list[str]:
    parts = [part.strip() for part in str(value).split(",")]
    if not all(parts) or len(parts) > MOST_VALUES:
        raise UsageError(f"{value!r} is no list", where=where, remedy="write values with commas between them")
    return parts


def _read_sizes(value: str, where: str) -> tuple[int, ...]:
    sizes = tuple(dict.fromkeys(parse_size_bytes(part, where=where) for part in _parts(value, where)))
    if not all(0 <= size <= LARGEST_FILE_BYTES for size in sizes):
        raise UsageError(
            f"{value!r} has a size that no small file has",
            where=where,
            remedy=f"write sizes from 0 to {format_size(LARGEST_FILE_BYTES)}; a map measures larger ones",
        )
    return sizes


def _read_depths(value: str, where: str) -> tuple[int, ...]:
    try:
        depths = tuple(dict.fromkeys(int(part) for part in _parts(value, where)))
    except ValueError:
        depths = (0,)
    if not all(1 <= depth <= DEEPEST for depth in depths):
        raise UsageError(f"{value!r} is no depth", where=where, remedy=f"use numbers from 1 to {DEEPEST}, such as 1,8")
    return depths


SIZES = Kind((str,), "SIZES", read=_read_sizes, write=lambda sizes: ",".join(format_size(size) for size in sizes))
DEPTHS = Kind((str,), "DEPTHS", read=_read_depths, write=lambda depths: ",".join(map(str, depths)))


@dataclass(frozen=True)
class MetadataOptions(ProcedureTable):
    """Trees of small files; no sizes: it is no such campaign."""

    file_sizes: Annotated[
        tuple[int, ...],
        Option(
            SIZES, "Make, look at, rename and delete files of these sizes, such as 0,4k,64k; 0 is empty.", flag=True
        ),
    ] = ()
    depths: Annotated[
        tuple[int, ...],
        Option(DEPTHS, "Levels of directories above the files, such as 1,8.", key="directory_depth", flag=True),
    ] = (1,)

    @property
    def brings_load(self) -> bool:
        return bool(self.file_sizes)

    def check_alone(self) -> None:
        if not self.file_sizes and self.depths != (1,):
            raise UsageError(
                "levels of directories are for small files",
                where="directory_depth",
                remedy="leave it out, or say file_sizes too",
            )

    def settled(self, spec: CampaignSpec, given: Given) -> CampaignSpec:
        """A number of visits that was asked for takes the place of the profile's stop rule."""
        asked = self.file_sizes and "visits" in given and "precision" not in given
        return replace(spec, precision=None) if asked else spec

    def written(self, spec: CampaignSpec) -> dict[str, Any]:
        return self.entries() | ({"profile": spec.profile} if self.file_sizes and spec.profile else {})

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        if not self.file_sizes:
            return axes, constants
        kept = {name: values for name, values in axes.items() if name in OURS}
        return kept, {name: value for name, value in constants.items() if name in OURS}
