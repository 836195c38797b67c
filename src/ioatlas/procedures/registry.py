# SPDX-License-Identifier: Apache-2.0
"""Every procedure, in the order in which they are asked whether a campaign is theirs. A new one takes one line here.

The result of a campaign, whatever its procedure, imports nothing that measures.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.config.spec import CampaignSpec
from ioatlas.model.result import SHEET, SHEETS
from ioatlas.procedures.adaptive_map.procedure import AdaptiveMap
from ioatlas.procedures.dense_map.procedure import DenseMap
from ioatlas.procedures.fit.procedure import FitUses
from ioatlas.procedures.fixed_work.procedure import FixedWork
from ioatlas.procedures.load_points.procedure import LoadPoints
from ioatlas.procedures.metadata.procedure import Metadata
from ioatlas.procedures.options import CAMPAIGN
from ioatlas.procedures.snia.procedure import SniaRounds
from ioatlas.procedures.trace import TraceReplay
from ioatlas.procedures.tune.procedure import Tune
from ioatlas.results.prices import with_prices
from ioatlas.results.result import load_result as load
from ioatlas.run.plan import recorded_spec
from ioatlas.run.procedure import Procedure
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.model.result import CampaignResult
    from ioatlas.results.parts import ResultParts

PROCEDURES: tuple[Procedure, ...] = (
    Tune(),
    FitUses(),
    TraceReplay(),
    LoadPoints(),
    FixedWork(),
    Metadata(),
    SniaRounds(),
    AdaptiveMap(),
    DenseMap(),
)


def procedure_of(spec: CampaignSpec, records: Collection[str] = ()) -> Procedure:
    """The procedure of a campaign. records: names of those that its journal keeps; none before it has one."""
    return next(one for one in PROCEDURES if one.claims(spec, records))


def procedure_of_journal(journal: Journal) -> Procedure:
    """The procedure of a campaign that was begun."""
    return procedure_of(recorded_spec(journal, CAMPAIGN.tables), journal.record_names())


def parts_of(journal: Journal) -> ResultParts:
    """What of its result the campaign's procedure says."""
    spec = recorded_spec(journal, CAMPAIGN.tables)
    return procedure_of(spec, journal.record_names()).result(journal, spec)


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there. Raises UsageError when there is none."""
    result = load(directory, parts_of)
    if any(os.path.lexists(directory / name) for name in (SHEET, SHEETS)):
        from ioatlas.product.kept import with_costs

        result = with_costs(result, directory)
    return with_prices(result)
