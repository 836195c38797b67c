# SPDX-License-Identifier: Apache-2.0
"""What `--json` prints."""

from __future__ import annotations

import json
from typing import Any

import click


def say_json(value: Any, *, line: bool = False) -> None:
    """Print a value as JSON. line: on one line, where each line is an object of its own."""
    click.echo(json.dumps(value, separators=(",", ":")) if line else json.dumps(value, indent=2))
