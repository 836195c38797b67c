# SPDX-License-Identifier: Apache-2.0
"""Refuses to build a wheel that does not hold the built explorer; an editable install reads it from the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXPLORER = "src/ioatlas/report/explorer"


class ExplorerHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if version == "editable":
            return
        folder = Path(self.root) / EXPLORER
        if not any(folder.glob("*.js")):
            raise SystemExit(f"the built explorer is missing from {EXPLORER}: run `make web` first")
