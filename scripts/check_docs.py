# SPDX-License-Identifier: Apache-2.0
"""Looks for what pages and code say wrongly of each other, and prints it, one a line.

Links lead to files, every page is in the site's menu, nothing is loaded from elsewhere, decision records are whole,
whoever names a page or a decision names one that is there, and words of retired-words.csv do not come back. They had
several meanings: "everywhere" is code, pages and the explorer, "names" are names of the code only, "sentences" what a
campaign says of itself, which tests look at.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A path that begins so may use the word: it means another thing there.
NAMES_ALLOWED = {"hollow": ("report/export",)}  # markers that are not filled
# The purpose's name in journals of version 1, and in the data of a report: what is made from the code follows the code.
PAGES_ALLOWED = {"sentinel": ("docs/reference/journal.md", "web/src/lib/report-data.gen.ts")}


def main(root: Path = ROOT) -> int:
    found = sorted({*links(root), *menu(root), *decisions(root), *named(root), *retired(root)})
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def pages(root: Path) -> list[Path]:
    return sorted([*(root / "docs").rglob("*.md"), *root.glob("*.md"), *root.glob("packages/*/*.md")])


def links(root: Path) -> Iterator[str]:
    for page in pages(root):
        text = page.read_text()
        where = page.relative_to(root)
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            if not link.startswith(("https://", "#")) and not (page.parent / link.split("#")[0]).exists():
                yield f"{where}: the link {link} leads nowhere"
        if re.search(r"!\[[^]]*\]\(https?:", text):
            yield f"{where}: it loads a picture from elsewhere"


def menu(root: Path) -> Iterator[str]:
    text = (root / "mkdocs.yml").read_text()
    listed = set(re.findall(r": ([\w/-]+\.md)$", text, re.MULTILINE))
    docs = root / "docs"
    there = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if not page.name.startswith("0")}
    yield from (f"mkdocs.yml: the menu lacks {name}" for name in there - listed)
    yield from (f"mkdocs.yml: there is no {name}" for name in listed - there)
    if "font: false" not in text or "https://" in text:
        yield "mkdocs.yml: the site loads something from elsewhere"


def decisions(root: Path) -> Iterator[str]:
    records = sorted((root / "docs" / "decisions").glob("0*.md"))
    numbers = [path.name[:4] for path in records]
    yield from (f"docs/decisions: two records have the number {one}" for one in set(numbers) if numbers.count(one) > 1)
    for path in records:
        text = path.read_text()
        for need in (
            rf"\A# {path.name[:4]} ",
            r"^- Status: (accepted|proposed)$",
            r"^- Date: 20\d\d-\d\d-\d\d",
            r"^- Topic: \w+",
            "What would reverse it",
        ):
            if not re.search(need, text, re.MULTILINE):
                yield f"{path.relative_to(root)}: it lacks {need}"


def named(root: Path) -> Iterator[str]:
    """Pages and decisions that a page or a program names, and that are not there."""
    records = {path.stem for path in (root / "docs" / "decisions").glob("0*.md")}
    programs = [
        path for room in ("src", "packages", "tests", "bench", "scripts") for path in (root / room).rglob("*.py")
    ]
    for path in [*programs, *(root / "bench").rglob("*.md"), *pages(root)]:
        text = path.read_text()
        for name in re.findall(r"docs/decisions/(0[\w-]+)|\bdecisions? (0\d{3})\b", text):
            if not any(record.startswith(name[0] or name[1]) for record in records):
                yield f"{path.relative_to(root)}: there is no decision {name[0] or name[1]}"
        for name in re.findall(r"(?<![\w/])docs/[\w./-]+\.(?:md|json)\b", text) if "tests" not in path.parts else ():
            if not (root / name).exists():
                yield f"{path.relative_to(root)}: there is no {name}"


def retired(root: Path) -> Iterator[str]:
    """Retired words, in names and texts of the code, on pages, in the explorer."""
    with (root / "scripts" / "retired-words.csv").open(newline="") as table:
        rows = list(csv.reader(table))[1:]
    instead = {word: say for word, say, _where in rows}
    in_names = _any_of([word for word, _say, where in rows if where != "sentences"])
    everywhere = _any_of([word for word, _say, where in rows if where == "everywhere"])

    def complaints(look: re.Pattern[str], text: str, where: str, allowed: dict[str, tuple[str, ...]]) -> Iterator[str]:
        for match in look.finditer(text):
            word = re.sub(r"[ _-]", " ", match[1].lower())
            if not where.startswith(allowed.get(word, "\0")):
                yield f"{where}: {text.strip()!r}: say {instead[word]!r}, not {word!r}"

    sources = [root / "src" / "ioatlas", *root.glob("packages/*/src")]
    for path in (path for source in sources for path in source.rglob("*.py")):
        source = next(one for one in sources if one in path.parents)
        where = str(path.relative_to(source))
        names, texts = names_and_texts(path.read_text())
        for name in names:
            yield from complaints(in_names, name, where, NAMES_ALLOWED)
        for text in texts:
            yield from complaints(everywhere, text, where, {})
    # Decisions tell what was.
    told = [path for path in pages(root) if "decisions" not in path.parts]
    told += [path for kind in ("*.ts", "*.tsx", "*.css") for path in (root / "web" / "src").rglob(kind)]
    for path in told:
        for line in path.read_text().splitlines():
            yield from complaints(everywhere, line, str(path.relative_to(root)), PAGES_ALLOWED)


def _any_of(words: list[str]) -> re.Pattern[str]:
    either = "|".join(re.escape(word).replace("\\ ", "[ _-]") for word in words)
    return re.compile(rf"\b({either})s?\b", re.IGNORECASE)


def names_and_texts(source: str) -> tuple[set[str], list[str]]:
    """A program's names in words (`takeBack` and `_take_back` are both "take back"), its comments and its strings.

    A string of one word is a key of data, which is kept as it is.
    """
    names: set[str] = set()
    texts: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            names.add(token.string)
        elif token.type in (tokenize.STRING, tokenize.COMMENT) and len(token.string.split()) > 1:
            texts.append(token.string)
    spaced = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ") for name in names}
    return {" ".join(name.lower().split()) for name in spaced}, texts


if __name__ == "__main__":
    sys.exit(main())
