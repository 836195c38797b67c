# SPDX-License-Identifier: Apache-2.0
"""docs/glossary.md retires words: they do not come back in the code's names, the documentation or the report's page."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
TABLE = GLOSSARY.read_text().split("<!-- retired: begin -->")[1].split("<!-- retired: end -->")[0]
RETIRED = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in TABLE.strip().splitlines()[2:]]
SAY = {row[0]: row[1] for row in RETIRED}

PLAIN: dict[str, tuple[str, ...]] = {
    "hollow": ("report/export",),  # markers that are not filled
    # the word itself: one thing next to another, no counters
    "beside": ("interop", "lab", "design", "analysis"),
}
STILL_TOLD: dict[str, tuple[str, ...]] = {
    # the purpose's name in journals of version 1, and in the data of a report
    "sentinel": ("docs/reference/journal.md", "web/src/lib/report-data.gen.ts"),
}
"""Pages that still use one: what is made from the code follows when the code does."""


@cache
def names_in_code() -> dict[str, set[str]]:
    """Every name of the code: the paths below src/ioatlas that use it."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src" / "ioatlas").rglob("*.py"):
        for name in names(path.read_text()):
            found.setdefault(name, set()).add(str(path.relative_to(ROOT / "src" / "ioatlas")))
    return found


@cache
def lines_told() -> list[tuple[str, int, str]]:
    """(path, number, text) of every line of the documentation and of the report's page."""
    web = [path for kind in ("*.ts", "*.tsx", "*.css") for path in (ROOT / "web" / "src").rglob(kind)]
    return [
        (str(path.relative_to(ROOT)), number, line)
        for path in (*pages(), *web)
        for number, line in enumerate(path.read_text().splitlines(), 1)
    ]


@cache
def texts_in_code() -> list[tuple[str, int, str]]:
    """(path, line, text) of every comment and every string of several words in the code."""
    return [
        (str(path.relative_to(ROOT)), line, text)
        for path in (ROOT / "src" / "ioatlas").rglob("*.py")
        for line, text in texts(path.read_text())
    ]


KEPT_TEXTS: dict[str, tuple[str, ...]] = {
    # seeds are drawn from it: another word would draw others, and a campaign would not go on as it began
    "sentinel": ('f"{self._plan.spec.order_seed} sentinels {number}"',),
}


def names(text: str) -> set[str]:
    """Every name of a Python text in words: `takeBack` and `_take_back` are both 'take back'."""
    found = {
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.NAME
    }
    return {in_words(name) for name in found}


def texts(source: str) -> list[tuple[int, str]]:
    """Every comment and every string of several words, with its line: one word alone is a key, kept as it is."""
    kinds = (tokenize.STRING, tokenize.COMMENT)
    found = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type in kinds]
    return [(token.start[0], token.string) for token in found if len(token.string.split()) > 1]


def in_words(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ")
    return " ".join(spaced.lower().split())


def pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word).replace(chr(92) + ' ', '[ _-]')}s?\b", re.IGNORECASE)


def pages() -> list[Path]:
    """The documentation: not the decisions, which tell what was, and not the glossary itself."""
    docs = [path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts and path != GLOSSARY]
    return [*docs, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]


def test_the_table_is_read():
    assert len(RETIRED) >= 15
    assert all(len(row) == 3 and row[2] in ("everywhere", "names", "sentences") for row in RETIRED)


def test_words_are_told_apart_in_names():
    assert names("def _take_back(odd_cells): SentinelChart = 1") == {
        "def",
        "take back",
        "odd cells",
        "sentinel chart",
    }
    assert pattern("odd cell").search("odd cells")
    assert not pattern("trait").search("portrait")


@pytest.mark.parametrize("word", [row[0] for row in RETIRED if row[2] != "sentences"])
def test_no_name_in_the_code_is_a_retired_word(word):
    look, allowed = pattern(word), PLAIN.get(word, ())
    found = {
        f"{path}: {name}"
        for name, paths in names_in_code().items()
        if look.search(name)
        for path in paths
        if not path.startswith(allowed)
    }
    assert not found, f"say {SAY[word]!r}"


@pytest.mark.parametrize("word", [row[0] for row in RETIRED if row[2] == "everywhere"])
def test_no_text_in_the_code_has_a_retired_word(word):
    look = pattern(word)
    found = {
        f"{path}:{line}"
        for path, line, text in texts_in_code()
        if look.search(text) and text not in KEPT_TEXTS.get(word, ())
    }
    assert not found, f"say {SAY[word]!r}"


@pytest.mark.parametrize("word", [row[0] for row in RETIRED if row[2] == "everywhere"])
def test_no_page_and_no_text_of_the_report_has_a_retired_word(word):
    look, allowed = pattern(word), STILL_TOLD.get(word, ())
    found = {f"{path}:{number}" for path, number, line in lines_told() if path not in allowed and look.search(line)}
    assert not found, f"say {SAY[word]!r}"
