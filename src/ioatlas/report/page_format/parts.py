# SPDX-License-Identifier: Apache-2.0
"""What every part of a page is made of: strict models, and pairs of a name and a value."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

AxisUnit = Literal["bytes", "bytes/s", "percent", "none"]


def _strict_schema(schema: dict[str, Any]) -> None:
    """Every field is written, defaults too: the TypeScript types need no optional members."""
    properties = schema.get("properties", {})
    schema["required"] = sorted(properties)
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_strict_schema)


class Pair(Model):
    """A name and its value, in the order to show them."""

    name: str
    value: str
    unit: AxisUnit = "none"
