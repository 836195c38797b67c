# SPDX-License-Identifier: Apache-2.0
"""Refuses to build a wheel that does not hold the built explorer; an editable install reads it from the checkout.

Manual pages go along where `make man` made them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXPLORER = "src/ioatlas/report/explorer"
MANUAL = "build/man/man1"


class ExplorerHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        folder = Path(self.root) / EXPLORER
        if not any(folder.glob("*.js")):
            raise SystemExit(f"the built explorer is missing from {EXPLORER}: run `make web` first")
        for page in sorted((Path(self.root) / MANUAL).glob("*.1")):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
