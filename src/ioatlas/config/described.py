# SPDX-License-Identifier: Apache-2.0
"""What the keys of a file are for: the docstrings below the fields of its model, read when somebody asks."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from functools import cache
from typing import Any

from pydantic import BaseModel


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """By key, as a file has it: the description of the field, or the docstring below it; '' without."""
    below = {name: text for each in reversed(model.__mro__) for name, text in _docstrings(each).items()}
    return {one.alias or name: one.description or below.get(name, "") for name, one in model.model_fields.items()}


def describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """The same in a JSON Schema: `json_schema_extra` of a model."""
    told = meanings(model)
    for name, part in schema.get("properties", {}).items():
        if told.get(name):
            part["description"] = told[name]


@cache
def _docstrings(model: type) -> dict[str, str]:
    if not model.__module__.startswith("ioatlas"):
        return {}
    try:
        source = inspect.getsource(model)
    except OSError:  # made by a call, or of an installation without its sources
        return {}
    (made,) = ast.parse(textwrap.dedent(source)).body
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in itertools.pairwise(getattr(made, "body", ()))
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
