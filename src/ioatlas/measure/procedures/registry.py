# SPDX-License-Identifier: Apache-2.0
"""Every procedure, in the order in which they are asked whether a campaign is theirs. A new one takes one line here.
The last one takes what is left.

None is imported before it is asked for. The result of a campaign, whatever its procedure, imports nothing that
measures.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ioatlas.answer.results.factors import with_prices
from ioatlas.answer.results.parts import ResultParts
from ioatlas.answer.results.result import load_result as load
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model.result import SHEET, SHEETS
from ioatlas.plan.spec import CampaignSpec, recorded_spec
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.measure.run.plan import Plan
    from ioatlas.measure.run.procedure import Procedure
    from ioatlas.model.result import CampaignResult


class Known(NamedTuple):
    """A procedure that need not be imported.

    place: of its class. marks: options, or records that a journal keeps, of which a campaign of this kind has one.
    parts: the class of what its result has otherwise than a map's.
    """

    place: str
    marks: tuple[str, ...] = ()
    parts: str = ""


PROCEDURES = (
    Known("tune.procedure.Tune", ("tune",), "tune.parts.TuneParts"),
    Known("tune.turns.Advise", ("advice",), "tune.advice.AdviceParts"),
    Known("fit.procedure.FitUses", ("fit",), "fit.result.FitParts"),
    Known("trace.TraceReplay", ("trace",)),
    Known("load_points.procedure.LoadPoints", ("streams",), "load_points.result.LoadPointParts"),
    Known("fixed_work.procedure.FixedWork", ("ordered",), "fixed_work.result.SequenceParts"),
    Known("metadata.procedure.Metadata", ("file_sizes",), "metadata.result.TreeParts"),
    Known("snia.procedure.SniaRounds", ("snia",), "snia.result.RoundsParts"),
    Known("dense_map.procedure.DenseMap"),
)


def _imported(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"ioatlas.measure.procedures.{module}"), name)


def _known(spec: CampaignSpec, records: Collection[str]) -> Known:
    own = (one for one in PROCEDURES if any(spec.own.get(mark) or mark in records for mark in one.marks))
    return next(own, PROCEDURES[-1])


def procedure_of(spec: CampaignSpec, records: Collection[str] = ()) -> Procedure:
    """The procedure of a campaign. records: names of those that its journal keeps; none before it has one."""
    procedure: Procedure = _imported(_known(spec, records).place)()
    return procedure


def procedure_of_journal(journal: Journal) -> Procedure:
    """The procedure of a campaign that was begun."""
    return procedure_of(recorded_spec(journal, CAMPAIGN.tables), journal.record_names())


def parts_of(journal: Journal) -> ResultParts:
    """What of its result the campaign's procedure says."""
    spec = recorded_spec(journal, CAMPAIGN.tables)
    place = _known(spec, journal.record_names()).parts
    kind: type[ResultParts] = _imported(place) if place else ResultParts
    return kind(journal, spec)


def procedure_of_plan(plan: Plan) -> Procedure:
    """What plans, makes and judges it."""
    return plan.procedure or procedure_of(plan.spec)


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there. Raises UsageError when there is none."""
    result = load(directory, parts_of)
    if any(os.path.lexists(directory / name) for name in (SHEET, SHEETS)):
        from ioatlas.answer.product.kept import with_costs

        result = with_costs(result, directory)
    return with_prices(result)
