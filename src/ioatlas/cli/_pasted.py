# SPDX-License-Identifier: Apache-2.0
"""An answer to pass on by paste: what the screen says, without what only its owner can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioatlas.cli._screen import MOST_DOUBTS, answer_lines, console_of
from ioatlas.report.export import markup

if TYPE_CHECKING:
    from ioatlas.model.result import CampaignResult

WIDTH, LINES = 80, 60
FORMS = {"md": markup.markdown, "bbcode": markup.bbcode}


def pasted(result: CampaignResult, form: str) -> str:
    """form: of FORMS. Nothing in it names the site."""
    from ioatlas import __version__
    from ioatlas.analysis.summary import summarise
    from ioatlas.report.export.conditions import conditions
    from ioatlas.report.redact import redactor
    from ioatlas.report.told import title_of

    summary, clean = summarise(result), redactor(result.targets)
    lines = answer_lines(summary, result, console_of(WIDTH), width=WIDTH, room=LINES, place="DIR")
    return FORMS[form](
        " ".join(clean(title_of(summary)).split()),
        f"trust: {summary.trust_text}",
        [clean(line.plain.rstrip()) for line in lines],
        [clean(doubt.sentence) for doubt in summary.doubts[:MOST_DOUBTS]],
        f"Measured with I/O Atlas {__version__}. {conditions(result)}",
    )
