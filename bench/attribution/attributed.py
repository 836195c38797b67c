# SPDX-License-Identifier: Apache-2.0
"""Lab targets with a known limit, mapped, and what was attributed beside what is known."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limit_cases import Case

from ioatlas.measure.campaign import load_result, open_plan, run, start
from ioatlas.model.estimate import UNDETERMINED, VERY_LIKELY, Limit
from ioatlas.plan.spec import CampaignSpec
from ioatlas_lab.running import start as start_target

MOST_WRONG = 0.1
"""Share of the known limits that may be named wrongly where that was called probable only."""
WINDOW_SECONDS = 1.0
"""Long beside the credits that the lab's limits give at the start."""


@dataclass(frozen=True)
class Outcome:
    """One row of the table. verdict: 'right', 'withheld' or 'WRONG'. named: every limit that any of its cells got."""

    name: str
    scenario: str
    truth: str
    attributed: str
    verdict: str
    share: float | None
    next_resource: str
    next_share: float | None
    evidence: tuple[str, ...]
    withheld: int
    values: int
    named: tuple[str, ...]
    seconds: float
    probability: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def attributed(case: Case, visits: int = 1) -> Outcome:
    """Start the scenario, measure its map, and compare. Raises IoAtlasError when it cannot be started or measured."""
    begin = time.monotonic()
    with (
        start_target(case.scenario, **case.settings) as target,
        target.programs(),
        tempfile.TemporaryDirectory(prefix="ioatlas-attribution-") as folder,
    ):
        spec = CampaignSpec(
            name=case.name,
            targets=(("", target.location),),
            axes=dict(case.sweep),
            constants={**_options(target.options), **case.constants},
            visits=max(visits, case.visits),
            window_seconds=WINDOW_SECONDS,
        )
        plan = open_plan(spec, read_only=not case.writes)
        directory = Path(folder) / "campaign"
        # A lab target is this program's own: it may be written to.
        phrase = (
            f"{plan.targets[0].location} {plan.targets[0].size_bytes}"
            if case.writes and plan.targets[0].kind != "directory"
            else None
        )
        journal = start(
            plan, directory, overwrite=phrase, measure={"iperf": target.context.get("server")} if case.iperf else None
        )
        try:
            run(journal, emit=lambda _event: None, stop_asked=lambda: False)
        finally:
            journal.close()
        result = load_result(directory)
    limits: list[tuple[bool, Limit]] = []
    for e in result.estimates:
        if e.limit is not None:
            options = dict(e.cell.options) | {"numjobs": e.cell.numjobs, "iodepth": e.cell.iodepth}
            limits.append((all(options.get(name) == value for name, value in case.asked.items()), e.limit))
    limit = next((limit for asked, limit in limits if asked), Limit(evidence=("the cell was not measured",)))
    word = "withheld" if not limit.determined else "right" if limit.resource in case.right else "WRONG"
    return Outcome(
        case.name,
        case.scenario,
        case.truth,
        limit.resource,
        word,
        limit.share,
        limit.next_resource,
        limit.next_share,
        limit.evidence,
        sum(not one.determined for _, one in limits),
        len(limits),
        tuple(sorted({one.resource for _, one in limits} - {UNDETERMINED})),
        time.monotonic() - begin,
        limit.probability,
    )


def _options(options: Any) -> dict[str, int | str]:
    return {name: value if isinstance(value, str) else int(value) for name, value in options.items()}


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Lines of Markdown."""
    lines = [
        "| known limit | target | attributed | said | margin: next | verdict | values, undetermined |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        share = f" ({one.share:.0%})" if one.share is not None else ""
        said = f"{one.probability:.0%}" if one.probability is not None else ""
        margin = f"{one.next_resource} {one.next_share:.0%}" if one.next_resource and one.next_share is not None else ""
        known = f"| {one.truth} | {one.scenario}: {one.name} | {one.attributed}{share} | {said} |"
        lines.append(f"{known} {margin} | {one.verdict} | {one.values}, {one.withheld} |")
    return lines


def verdict_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """How many are right, and of all values what was withheld."""
    right = sum(one.verdict == "right" for one in outcomes)
    withheld = sum(one.verdict == "withheld" for one in outcomes)
    values, unclear = sum(one.values for one in outcomes), sum(one.withheld for one in outcomes)
    told = f"{len(outcomes)} known limits: {right} named rightly, {withheld} withheld as undetermined"
    lines = [f"{told}, {len(outcomes) - right - withheld} wrong"]
    return [*lines, f"Of all {values} values {unclear} ({unclear / values:.0%}) are undetermined"] if values else lines


def confidently_wrong(outcomes: Sequence[Outcome]) -> bool:
    """Whether one is wrong that was called very likely, or more often than was said."""
    wrong = [one for one in outcomes if one.verdict == "WRONG"]
    return any((one.probability or 1.0) >= VERY_LIKELY for one in wrong) or len(wrong) > MOST_WRONG * len(outcomes)
