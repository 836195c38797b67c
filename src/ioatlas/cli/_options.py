# SPDX-License-Identifier: Apache-2.0
"""Arguments that `map` and `plan` share, and what becomes of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

import click

from ioatlas.analysis.grade import GradeName
from ioatlas.campaign.plan import Plan
from ioatlas.campaign.preparation import Preparation
from ioatlas.campaign.profiles import PROFILES, find_profile
from ioatlas.campaign.spec import ENGINES, CampaignSpec, kept_precision, read_budget, read_campaign_file, read_error, read_window
from ioatlas.errors import UsageError
from ioatlas.model.options import read_option


def sweep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds [TARGET], everything that shapes the sweep (handed on as one `Asked`), --read-only and --json."""
    profiles = "; ".join(f"{name}: {summary}" for name, (summary, _) in PROFILES.items())
    options = [
        click.argument("target", required=False),
        click.option("--profile", metavar="NAME", help=f"Built-in profile. {profiles}. Default: quick."),
        click.option(
            "--campaign",
            "campaign_file",
            metavar="FILE.toml",
            type=click.Path(path_type=Path),
            help="Campaign file (see docs/campaign.md).",
        ),
        click.option("--budget", metavar="TIME", help="Time the whole may take, such as 10m; a plan that is too large is coarsened."),
        click.option("--size", metavar="SIZE", help="Bytes of the target that are used, such as 64g; takes the place of the profile's sizes."),
        click.option(
            "--cells", type=click.IntRange(3), help="Measure at most N cells, chosen by the adaptive design; the rest is predicted."
        ),
        click.option("--error", metavar="PERCENT", help="Measure until the adaptive map states this median error, such as 5%."),
        click.option(
            "--precision", metavar="PERCENT", help="Visit each cell until its 95% interval is this narrow (half-width), such as 5%."
        ),
        click.option(
            "--grade",
            type=click.Choice(["map", "certified"]),
            help="Rule behind --precision: t interval, or order statistics of the median.",
        ),
        click.option("--max-visits", type=click.IntRange(2, 1000), help="Most visits of a cell. Default: 5, certified 30."),
        click.option("--visits", type=click.IntRange(1, 1000), help="Visits of every cell, each in another random order. Default: 2."),
        click.option("--window", metavar="TIME", help="Shortest time the load of a visit runs, such as 2s. Default: 500ms; a SNIA test 60s."),
        click.option(
            "--engine",
            type=click.Choice(["fio", "iozone", "both"]),
            help="Program that makes the load of the profile iozone2017; iozone and both need IOzone. Default: fio.",
        ),
        click.option(
            "--trace",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Replay a timed trace (fio's version 3 log) instead of a sweep; latencies count from the time each I/O was due.",
        ),
        click.option("--verify", is_flag=True, help="Write blocks with checksums at the end, read them back and compare."),
        click.option(
            "--prepare",
            type=click.Choice(get_args(Preparation)),
            help="State before the load: laid-out (default), fresh: no data yet, filled: random data, no holes, preconditioned: and overwritten twice "
            "at random, filled-twice: written twice in sequence.",
        ),
        click.option(
            "--read-only", is_flag=True, help="Only read: fio runs with --readonly, nothing is laid out, nothing needs confirming."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    names = [field.name for field in fields(Asked)]

    @functools.wraps(command)
    def with_asked(**values: Any) -> Any:
        return command(Asked(**{name: values.pop(name) for name in names}), **values)

    decorated: Callable[..., Any] = with_asked
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def check_read_only(plan: Plan) -> None:
    """Raises UsageError for a read-only sweep of a directory: it would have to make the files that it reads."""
    for target in plan.targets:
        if target.kind == "directory":
            raise UsageError(
                "a read-only sweep lays nothing out, and a directory is measured on files that are laid out in it",
                where=target.location,
                remedy="name one file of it; or leave out --read-only: all is written in a subdirectory of its own and removed at the end",
            )


def with_size(spec: CampaignSpec, text: str) -> CampaignSpec:
    """The campaign on one size of the target. Raises UsageError."""
    _, size = read_option("size", text, where="--size")
    axes = {name: values for name, values in spec.axes.items() if name != "size"}
    return replace(spec, axes=axes, constants={**spec.constants, "size": size})


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line; None or False where nothing was."""

    target: str | None
    profile: str | None
    campaign_file: Path | None
    budget: str | None
    size: str | None
    cells: int | None
    error: str | None
    precision: str | None
    grade: GradeName | None
    max_visits: int | None
    visits: int | None
    window: str | None
    engine: str | None
    trace: Path | None
    verify: bool
    prepare: Preparation | None

    def spec(self) -> CampaignSpec:
        """The specification: arguments override the campaign file, the file overrides its profile. Raises UsageError."""
        spec = self._base()
        if self.target is not None:
            if spec.targets:
                raise UsageError(
                    "a target is named twice",
                    where=f"{self.target} and {self.campaign_file}",
                    remedy="name it on the command line or in the campaign file",
                )
            spec = replace(spec, targets=(("", self.target),))
        if not spec.targets:
            raise UsageError("no target is named", remedy="name one: `ioatlas map DIRECTORY`, or [target] path = in the campaign file")
        spec = replace(spec, precision=kept_precision(spec, self.visits))
        given: dict[str, Any] = {
            "budget_seconds": read_budget(self.budget, "--budget") if self.budget is not None else None,
            "precision": read_error(self.precision, "--precision") if self.precision is not None else None,
            "error": read_error(self.error, "--error") if self.error is not None else None,
            "cells": self.cells,
            "grade": self.grade,
            "max_visits": self.max_visits,
            "visits": self.visits,
            "engines": ENGINES[self.engine] if self.engine is not None else None,
            "trace": str(self.trace.absolute()) if self.trace is not None else None,
            "verify": self.verify or None,
            "prepare": self.prepare,
            "window_seconds": read_window(self.window, "--window") if self.window is not None else None,
        }
        spec = replace(spec, **{name: value for name, value in given.items() if value is not None})
        return spec if self.size is None else with_size(spec, self.size)

    def _base(self) -> CampaignSpec:
        base = find_profile(self.profile) if self.profile else None
        if self.campaign_file is None:
            return base or (CampaignSpec() if self.trace is not None else find_profile("quick"))
        spec = read_campaign_file(self.campaign_file, base=base, profiles=find_profile)
        if spec.axes or spec.constants or spec.patterns or spec.streams or spec.trace or self.trace is not None:
            return spec
        return read_campaign_file(self.campaign_file, base=find_profile("quick"), profiles=find_profile)
