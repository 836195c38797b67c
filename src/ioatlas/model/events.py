# SPDX-License-Identifier: Apache-2.0
"""What a campaign tells while it works. Each event becomes one JSON object; a terminal shows some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
