# SPDX-License-Identifier: Apache-2.0
"""Arguments that `map` and `plan` share, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from ioatlas.campaign.profiles import PROFILES, find_profile
from ioatlas.campaign.spec import CampaignSpec, read_campaign_file, read_error
from ioatlas.errors import UsageError
from ioatlas.model.units import parse_duration_seconds

Command = TypeVar("Command", bound=Callable[..., Any])


def sweep_options(command: Command) -> Command:
    """[TARGET] --profile --campaign --budget --cells --error --visits --read-only --json."""
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
        click.option("--verify", is_flag=True, help="Write blocks with checksums at the end, read them back and compare."),
        click.option(
            "--read-only", is_flag=True, help="Only read: fio runs with --readonly, nothing is laid out, nothing needs confirming."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_spec(
    target: str | None,
    profile: str | None,
    campaign_file: Path | None,
    budget: str | None = None,
    visits: int | None = None,
    cells: int | None = None,
    error: str | None = None,
    precision: str | None = None,
    grade: str | None = None,
    max_visits: int | None = None,
    *,
    verify: bool = False,
) -> CampaignSpec:
    """The specification that the arguments ask for; arguments override the file, the file overrides its profile.

    Raises UsageError.
    """
    base = find_profile(profile) if profile else None
    if campaign_file is not None:
        spec = read_campaign_file(campaign_file, base=base, profiles=find_profile)
        if not spec.axes and not spec.constants:
            spec = replace(
                find_profile("quick"), **{k: getattr(spec, k) for k in ("targets", "visits", "order_seed", "window_seconds", "sharing")}
            )
    else:
        spec = base or find_profile("quick")
    if target is not None:
        if campaign_file is not None and spec.targets:
            raise UsageError(
                "a target is named twice",
                where=f"{target} and {campaign_file}",
                remedy="name it on the command line or in the campaign file",
            )
        spec = replace(spec, targets=(("", target),))
    if not spec.targets:
        raise UsageError("no target is named", remedy="name one: `ioatlas map DIRECTORY`, or [target] path = in the campaign file")
    if budget is not None:
        seconds = parse_duration_seconds(budget, where="--budget")
        if seconds <= 0:
            raise UsageError("the budget is zero", where="--budget", remedy="write a time such as 10m")
        spec = replace(spec, budget_seconds=seconds)
    if visits is not None:
        spec = replace(spec, visits=visits)
    if cells is not None:
        spec = replace(spec, cells=cells)
    if precision is not None:
        spec = replace(spec, precision=read_error(precision, "--precision"))
    if grade is not None:
        spec = replace(spec, grade="certified" if grade == "certified" else "map")
    if verify:
        spec = replace(spec, verify=True)
    if max_visits is not None:
        spec = replace(spec, max_visits=max_visits)
    if error is not None:
        spec = replace(spec, error=read_error(error, "--error"))
    return spec
