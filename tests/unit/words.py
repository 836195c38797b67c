# SPDX-License-Identifier: Apache-2.0
"""What a campaign says of itself holds no retired word."""

import csv
import re
from pathlib import Path

from ioatlas.answer.analysis.summary import summarise
from ioatlas.model.result import CampaignResult
from ioatlas.report.findings import next_step, told_doubts, worded

with (Path(__file__).resolve().parents[2] / "scripts" / "retired-words.csv").open(newline="") as table:
    RETIRED = [word for word, _say, where in csv.reader(table) if where == "sentences"]
RETIRED_IN_SENTENCES = re.compile("|".join(rf"\b{word}(?:es|s)?\b" for word in RETIRED), re.IGNORECASE)
ONE_OF_MANY = re.compile(r"\b1 (visits|runs|cells|values|jobs|files|rounds|readings)\b")


def check_told(result: CampaignResult) -> None:
    """No word that is retired for sentences, and no "1 visits"."""
    summary = summarise(result)
    findings = worded(result)
    assert len({one.title for one in findings}) == len(findings)
    told = [next_step(summary.next_step), *(one.sentence for one in findings), *(one.title for one in findings)]
    told += [text for doubt in told_doubts(summary.doubts) for text in (doubt.sentence, doubt.advice)]
    told += [note for e in result.estimates for note in e.notes]
    told += [text for chart in result.charts for text in (chart.title, chart.note)]
    for text in told:
        assert not RETIRED_IN_SENTENCES.search(text), text
        assert not ONE_OF_MANY.search(text), text
