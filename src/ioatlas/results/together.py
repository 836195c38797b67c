# SPDX-License-Identifier: Apache-2.0
"""Targets that are loaded together, as a result shows them: their group stands for them."""

from __future__ import annotations

from collections.abc import Sequence

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.target import Target


def loaded_targets(targets: Sequence[Target], spec: CampaignSpec) -> tuple[Target, ...]:
    """The targets that cells go by: those that are loaded alone, and a target for each group. The latter is where all
    of its members are, a line each.
    """
    by_name = {target.name: target for target in targets}
    groups = spec.groups([*by_name])
    grouped = {name for group in groups for name in group.members if name in by_name}
    found = [target for target in targets if target.name not in grouped]
    for group in groups:
        members = [by_name[name] for name in group.members if name in by_name]
        sizes = [one.size_bytes for one in members if one.size_bytes is not None]
        found.append(
            Target(
                group.name,
                "together",
                "\n".join(one.location for one in members),
                size_bytes=min(sizes, default=None),
                logical_block_bytes=max((one.logical_block_bytes for one in members), default=512),
                ioengine=members[0].ioengine if members else None,
            )
        )
    return tuple(found)
