# SPDX-License-Identifier: Apache-2.0
"""The wheel's tag: a static program runs on any Linux of its processor, whatever its libc and Python. No wheel is made
without that program.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TagHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if not (Path(self.root) / "src/ioatlas_fio/fio").exists():
            raise SystemExit("ioatlas-fio: fio has not been compiled: `make fio-wheel` does, and packs the wheel")
        machine = os.environ.get("IOATLAS_FIO_MACHINE") or platform.machine()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}"
