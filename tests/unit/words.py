# SPDX-License-Identifier: Apache-2.0
"""Texts that users read, and their sentences.

A sentence ends at a full stop, a question mark, an exclamation mark, a colon or a semicolon that a blank follows, and
where its list item, table cell, heading or paragraph ends.
A word is what stands between blanks and has a letter or a digit. What stands in backticks is one word, and so is each
value that the code fills in.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ioatlas.analysis.summary import summarise
from ioatlas.model.result import CampaignResult

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "ioatlas"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
MOST_WORDS = 20
FILLED = "FILLED"
"""Stands for a value that the code fills in."""

_END = re.compile(r"(?<=[.!?:;])[\"')»]*\s+")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|No)\.(?=\s)")
_CODE = re.compile(r"`[^`\n]+`")
_WORD = re.compile(r"\w")
RETIRED_IN_SENTENCES = re.compile(
    "|".join(
        rf"\b{word}(?:es|s)?\b" for word in re.findall(r"^\| ([^|]+) \| [^|]+ \| sentences \|$", GLOSSARY, re.MULTILINE)
    ),
    re.IGNORECASE,
)
ONE_OF_MANY = re.compile(r"\b1 (visits|runs|cells|values|jobs|files|rounds|readings)\b")
_AS_TYPED = "\b"
"""Click's mark of a paragraph whose lines are kept."""


def sentences(text: str) -> list[str]:
    """The sentences of one paragraph."""
    text = _ABBREVIATION.sub(r"\1", _CODE.sub("CODE", " ".join(text.split())))
    return [part for part in _END.split(text) if part.strip()]


def words(sentence: str) -> int:
    return sum(1 for word in _CODE.sub("CODE", sentence).split() if _WORD.search(word))


def too_long(text: str) -> list[str]:
    """Its sentences of more than 20 words."""
    return [one for paragraph in _paragraphs(text) for one in sentences(paragraph) if words(one) > MOST_WORDS]


def too_long_on_page(page: str) -> list[str]:
    """Sentences of a Markdown page of more than 20 words."""
    return [one for part in of_page(page) for one in sentences(part) if words(one) > MOST_WORDS]


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip(" \n").startswith(_AS_TYPED):
            yield from (part for line in paragraph.splitlines() for part in re.split(r"\s{2,}", line.strip()))
        else:
            yield paragraph


def check_told(result: CampaignResult) -> None:
    """What a campaign says of itself has short sentences, and no word that the glossary retires for them."""
    summary = summarise(result)
    told = [summary.next_step, *(one.sentence for one in result.findings), *(one.title for one in result.findings)]
    told += [text for doubt in summary.doubts for text in (doubt.sentence, doubt.advice)]
    told += [note for e in result.estimates for note in e.notes]
    told += [text for chart in result.charts for text in (chart.title, chart.note)]
    for text in told:
        assert not too_long(text), text
        assert not RETIRED_IN_SENTENCES.search(text), text
        assert not ONE_OF_MANY.search(text), text


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every text in a Python file.

    No docstrings, and no words that the code splits into a list. What an f-string fills in is one word.
    """
    tree = ast.parse(path.read_text())
    no_text: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            no_text.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            no_text.update(id(part) for part in node.values)
        if isinstance(node, ast.Attribute) and node.attr in ("split", "splitlines"):
            no_text.add(id(node.value))
    for node in ast.walk(tree):
        if id(node) in no_text:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_text(part) for part in node.values)


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else FILLED


def of_page(page: str) -> Iterator[str]:
    """Paragraphs, list items, headings and table cells of a Markdown page, without blocks of code."""
    page = re.sub(r"^( *)```.*?^\1```[ ]*$", "\n", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"(`+)(?!`).+?\1", "CODE", page)
    page = re.sub(r"^---\n.*?\n---\n|<!--.*?-->|<[^>\n]+>", "", page, flags=re.DOTALL)
    page = re.sub(r"\*\*|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", page)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page)
    kept: list[str] = []
    for line in [*page.splitlines(), ""]:
        bare = line.strip()
        starts = re.match(r"([-*+]|\d+\.|#+|>|!!!|\?\?\?)\s", bare)
        if (not bare or starts or bare.startswith("|")) and kept:
            yield " ".join(kept)
            kept = []
        if bare.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", bare.strip("|")) if cell.strip(" -:"))
        elif bare:
            kept.append(re.sub(r"^([-*+]|\d+\.|#+|>)\s+", "", bare))
