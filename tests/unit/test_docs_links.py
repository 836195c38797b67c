# SPDX-License-Identifier: Apache-2.0
"""Links between pages lead somewhere, every page is in the site's menu, and nothing is loaded from elsewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
MENU = (ROOT / "mkdocs.yml").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("https://", "#")):
            assert (page.parent / link.split("#")[0]).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_of_the_documentation_that_is_named_is_there(page):
    for path in re.findall(r"`(docs/[\w./-]+\.(?:md|json))`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_every_page_is_in_the_menu():
    listed = set(re.findall(r": ([\w/-]+\.md)$", MENU, re.MULTILINE))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if not page.name.startswith("0")}
    assert listed == pages


def test_pages_and_site_load_nothing_from_elsewhere():
    assert "font: false" in MENU
    assert "https://" not in MENU
    for page in PAGES:
        assert not re.search(r"!\[[^]]*\]\(https?:", page.read_text()), page


def test_code_names_pages_that_are_there():
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").iterdir(), *(ROOT / "bench").rglob("*.py")]:
        for name in re.findall(r"\b(docs/[\w./-]+\.md)\b", path.read_text(errors="replace")) if path.is_file() else ():
            assert (ROOT / name).exists(), f"{path}: {name}"
