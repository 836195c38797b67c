# SPDX-License-Identifier: Apache-2.0
"""The words of findings: every code has some, whatever the values, and no two titles are alike."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.summary import Doubt, DoubtCode, ToChange, ToRun, Trust
from ioatlas.report.findings import _VALUE, TEXTS, WRITTEN, in_words, needed, sentence_of, told_doubts

OTHERS = {"doubt", "advice"}
ALL = [(code, text) for code, texts in TEXTS.items() if code not in OTHERS for text in texts]
DOUBTS = [(code, text) for code, texts in TEXTS["doubt"].items() for text in texts]
NUMBERS = st.floats(0.01, 1e15) | st.integers(0, 10**15)
ENDS = {"low": st.none() | st.floats(0.01, 1), "high": st.none() | st.floats(1, 100)}
OF_SPEC = {
    "amount": st.fixed_dictionaries({"value": NUMBERS, "unit": st.sampled_from(["B", "B/s", "ns", "IOPS"])}),
    "capital": st.just("what"),
    "change": st.fixed_dictionaries({"value": st.floats(0.01, 100), **ENDS}),
    "size": st.integers(0, 10**15),
}


def value(name, text, each):
    """One that may stand wherever a text names it. Separators of lists begin with a sign or a blank."""
    named = [found for found in _VALUE.finditer(text) if found["name"] == name]
    specs = [found["spec"] or "" for found in named if not found["asked"]]
    if name in each or any(spec in ("; ", ". ", " ", " and ") for spec in specs):
        member = each.get(name, "")
        names = {found["name"] for found in _VALUE.finditer(member)} - {"on"}
        made = st.fixed_dictionaries({one: value(one, member, each) for one in names}) if member else st.just("one")
        return st.lists(made, min_size=1, max_size=3)
    asked = [int(found["is"]) if found["is"].isdigit() else found["is"] for found in named if found["is"]]
    if any(spec.startswith("+") for spec in specs):
        return st.integers(0, 10**6) | st.sampled_from([0, 1])
    return next((OF_SPEC.get(spec, NUMBERS) for spec in specs if spec), st.sampled_from([*asked, "else"]))


@st.composite
def findings(draw, code, text):
    """What has all values that a text needs, and some of the others."""
    every = text["says"] + text.get("title", "")
    sure = {found["name"]: found["is"] for found in _VALUE.finditer(needed(every))}
    values = {}
    for name in dict.fromkeys(found["name"] for found in _VALUE.finditer(every)):
        if sure.get(name):
            values[name] = sure[name]
        elif name != "on" and (name in sure or draw(st.booleans())):
            values[name] = draw(value(name, every, text.get("each", {})))
    return Finding(
        code, values, target=str(values.pop("target", "nas")), direction=str(values.pop("direction", "read"))
    )


def test_every_code_has_words_and_no_way_of_writing_is_left_over():
    assert set(TEXTS) == set(FindingCode) | OTHERS
    assert set(TEXTS["doubt"]) == set(DoubtCode)
    assert set(TEXTS["advice"]) == {*get_args(ToRun), *get_args(ToChange)}
    assert {spec for _, text in ALL + DOUBTS for spec in re.findall(r":([a-z_]+)\}", str(text))} == set(WRITTEN)


@pytest.mark.parametrize(("code", "text"), ALL)
@given(data=st.data(), several=st.booleans())
def test_whatever_the_values_there_is_a_sentence_with_a_title(code, text, data, several):
    found = data.draw(findings(code, text))
    told = in_words([found, found], several=several)
    assert len({one.title for one in told}) == 2
    for one in told:
        assert one.sentence.endswith("."), one.sentence
        for words in (one.title, one.sentence):
            assert words.strip() == words != ""
            assert not re.search(r"[][{}|]|  |[^.] None\b", words), words


@pytest.mark.parametrize(("code", "text"), DOUBTS)
@given(data=st.data())
def test_whatever_the_values_a_doubt_is_a_sentence(code, text, data):
    [told] = told_doubts([Doubt(DoubtCode(code), Trust.LOW, data.draw(findings(code, text)).values)])
    assert told.sentence.endswith(".")
    assert not re.search(r"[][{}|]|  |[^.] None\b", told.sentence), told


def test_titles_alike_are_told_apart_by_direction_target_and_number():
    places = [("a", "read"), ("a", "write"), ("b", "read")]
    given = [Finding(FindingCode.WORK_BOUNDED, target=target, direction=way) for target, way in places]
    given += [Finding(FindingCode.METHOD, {"differences": "latency"})] * 2
    assert [one.title for one in in_words(given)] == [
        "Work bounded, reads, on a",
        "Work bounded, writes",
        "Work bounded, reads, on b",
        "Methods differ (1)",
        "Methods differ (2)",
    ]


def test_a_sentence_as_it_is_read():
    change = {"value": 2.794, "low": 2.754, "high": 2.834}
    line = {
        "factor": "drives",
        "noun": "reads",
        "span": "3 to 7 drives",
        "way": "up",
        "change": change,
        "load": "1 MiB",
        "ends": True,
    }
    values = line | {
        "at": "7 drives",
        "limit": "link: 117 of 118 MB/s",
        "efficiency": 0.76,
        "last": "11 drives",
        "first": "3",
    }
    assert sentence_of(Finding(FindingCode.FACTOR, values)) == (
        "From 3 to 7 drives reads grow 2.79 times (2.75 to 2.83); 1 MiB. From 7 drives on the limit is link: 117 of "
        "118 MB/s. Scaling efficiency at 11 drives: 76% of that at 3."
    )
