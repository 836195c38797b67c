# SPDX-License-Identifier: Apache-2.0
"""Targets that are loaded together: what can be seen to be wrong with them before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.cell import TARGETS, OptionValue
from ioatlas.model.target import Group, Target

OF_ONE_TARGET = ("rate", "rate_iops", "io_size", "number_ios", "loops")
"""Options that pace a load or bound its work: with them targets are not loaded all the time."""


def check_together(
    spec: CampaignSpec,
    axes: Mapping[str, tuple[OptionValue, ...]],
    targets: tuple[Target, ...],
    groups: tuple[Group, ...],
) -> None:
    """Raises UsageError for targets that cannot be loaded at the same time, or a number of them without any."""
    asked = {**spec.constants, **axes} | {name: value for pattern in spec.patterns for name, value in pattern.items()}
    if not groups:
        if TARGETS in asked:
            raise UsageError(
                "it says how many targets are loaded at once, and none are loaded together",
                where=f"[sweep] {TARGETS}",
                remedy="add together = true, or --together",
            )
        return
    if paced := [name for name in OF_ONE_TARGET if name in asked]:
        raise UsageError(
            f"{paced[0]} with targets that are loaded together",
            where=f"[sweep] {paced[0]}",
            remedy="leave it out: each target is loaded as fast as it goes, for the same time",
        )
    counts = [*axes.get(TARGETS, ()), *(one[TARGETS] for one in (spec.constants, *spec.patterns) if TARGETS in one)]
    most = max(len(group.members) for group in groups)
    if counts and max(int(count) for count in counts) > most:
        raise UsageError(
            f"{max(int(count) for count in counts)} targets are to be loaded at once, and {most} stand together",
            where=f"[sweep] {TARGETS}",
            remedy="name more targets, or use fewer",
        )
    by_name = {target.name: target for target in targets}
    for group in groups:
        engines = {by_name[name].ioengine: name for name in group.members}
        if len(engines) > 1:
            told = ", ".join(f"{name} ({engine or 'a path'})" for engine, name in engines.items())
            raise UsageError(
                f"targets of several engines are not loaded together: {told}",
                where=group.name,
                remedy="name targets of one kind",
            )
