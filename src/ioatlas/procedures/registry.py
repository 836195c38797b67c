# SPDX-License-Identifier: Apache-2.0
"""Every procedure, in the order in which they are asked whether a campaign is theirs. A new one takes one line here."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ioatlas.config.spec import CampaignSpec
from ioatlas.procedures.adaptive_map.procedure import AdaptiveMap
from ioatlas.procedures.application.procedure import Application
from ioatlas.procedures.dense_map.procedure import DenseMap
from ioatlas.procedures.fit.procedure import FitUses
from ioatlas.procedures.fixed_work.procedure import FixedWork
from ioatlas.procedures.load_points.procedure import LoadPoints
from ioatlas.procedures.metadata.procedure import Metadata
from ioatlas.procedures.options import CAMPAIGN
from ioatlas.procedures.snia.procedure import SniaRounds
from ioatlas.procedures.trace.procedure import TraceReplay
from ioatlas.procedures.tune.procedure import Tune
from ioatlas.run.procedure import Procedure
from ioatlas.run.record import recorded_spec
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.results.parts import ResultParts

PROCEDURES: tuple[Procedure, ...] = (
    Tune(),
    FitUses(),
    Application(),
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
