# SPDX-License-Identifier: Apache-2.0
"""Does Grafana's own schema take the dashboard of examples/grafana, and would it refuse a wrong one?

    python bench/grafana/run.py    # takes a Python and an npm package of Grafana into a temporary directory

Two readers of Grafana itself, each made from its schema: the types of @grafana/schema, checked by the TypeScript
compiler, and the classes of grafana-foundation-sdk, which must give back every key they were given.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "examples" / "grafana" / "ioatlas.json"
COMPILER = ROOT / "web" / "node_modules" / ".bin" / "tsc"
SDK = """
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
given = json.load(sys.stdin)
back = json.loads(JSONEncoder().encode(Dashboard.from_json(given)))
def lost(one, other, place):
    if isinstance(one, dict):
        for key, value in one.items():
            if key not in other: sys.exit(f"{place}.{key} is not in the schema")
            lost(value, other[key], f"{place}.{key}")
    elif isinstance(one, list):
        for number, (value, found) in enumerate(zip(one, other, strict=True)): lost(value, found, f"{place}[{number}]")
    elif one != other: sys.exit(f"{place}: {one!r} came back as {other!r}")
lost(given, back, "")
"""
Change = Callable[[dict[str, Any]], object]
WRONG: dict[str, Change] = {
    "a query under a name that is none": lambda d: d["panels"][0]["targets"][0].update(expression="up"),
    "a variable with a misspelt key": lambda d: d["templating"]["list"][1].update(includeall=True),
    "a height in words": lambda d: d["panels"][0]["gridPos"].update(h="eight"),
    "a refresh of a variable that is none": lambda d: d["templating"]["list"][1].update(refresh=7),
    "no schema version": lambda d: d.pop("schemaVersion"),
    "a panel without a type": lambda d: d["panels"][0].pop("type"),
}


def by_classes(python: Path, dashboard: dict[str, Any]) -> str:
    """What the classes object to; '' for nothing."""
    done = subprocess.run([python, "-c", SDK], input=json.dumps(dashboard), capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def by_types(folder: Path, dashboard: dict[str, Any]) -> str:
    """What the types object to; '' for nothing."""
    (folder / "dashboard.ts").write_text(
        f"import type {{ Dashboard }} from '@grafana/schema';\n"
        f"export const dashboard: Dashboard = {json.dumps(dashboard, indent=1)};\n"
    )
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    done = subprocess.run([COMPILER, *options, "dashboard.ts"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode else ""


def main() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", "grafana-foundation-sdk"], check=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(["npm", "install", *quiet, "@grafana/schema"], cwd=folder, check=True, capture_output=True)
        package = json.loads((folder / "node_modules/@grafana/schema/package.json").read_text())
        said = by_types(folder, dashboard) or by_classes(python, dashboard)
        print(f"{DASHBOARD.relative_to(ROOT)}, @grafana/schema {package['version']}: {said or 'taken by both'}")
        missed = 0
        for name, change in WRONG.items():
            wrong = copy.deepcopy(dashboard)
            change(wrong)
            said = by_types(folder, wrong) or by_classes(python, wrong)
            missed += not said
            print(f"  {name}: {said[:120] or 'NOT REFUSED'}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
