# SPDX-License-Identifier: Apache-2.0
"""What a `[[work]]` table of a campaign file is checked against."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ioatlas.config.models import STRICT
from ioatlas.config.options import NAME_PATTERN


class MetricTable(BaseModel):
    """A figure that the command prints, in the place of its time."""

    model_config = STRICT
    regex: str = Field(description="Where the figure stands: the first group, where it matches last.")
    unit: str = Field(description="Its unit, such as 'tps'.")
    better: Literal["more", "less"] = Field("more", description="Which way it is good.")


class WorkTable(BaseModel):
    """One of several `[[work]]`: a shell command that is timed. `{target}` in it is the folder that it works in."""

    model_config = STRICT
    name: Annotated[str, Field(pattern=NAME_PATTERN)] = Field(description="Name in tables and figures.")
    command: str = Field(description="What is timed: a shell command.")
    setup: str | None = Field(None, description="Run before it, not timed.")
    verify: str | None = Field(None, description="Run after it: what it ends with says whether the work was done.")
    cleanup: str | None = Field(None, description="Run at the end, whatever happened.")
    metric: MetricTable | None = Field(None, description="A figure that the command prints, in the place of its time.")
    limit: str | int | float | None = Field(None, description="How long each command may take. 10m when left out.")
    cold: bool | None = Field(
        None, description="What setup wrote leaves the page cache first. Names of files may still be cached."
    )
    space: str | int | None = Field(None, description="What it needs on the target, such as 2g.")
    takes: str | int | float | None = Field(None, description="What one run takes, for the plan. 30s when left out.")
