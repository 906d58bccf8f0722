"""Pages of the documentation: links lead somewhere, and the index lists every page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FROM_ROOT = ("src/", "tests/", "reproduction/")
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.is_file(), f"{target} in {page}"
        if heading:
            assert heading in headings(file), f"{target} in {page}"


def headings(page):
    """Anchors of a page, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_the_index_lists_every_page():
    listed = set(re.findall(r"^([\w/\-]+)$", (ROOT / "docs" / "index.md").read_text(), flags=re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in ROOT.glob("docs/**/*.md")}
    assert pages - {"index"} <= listed


def test_the_places_that_the_paper_is_mapped_to_exist():
    rows = [line for line in (ROOT / "docs" / "paper.md").read_text().splitlines() if line.startswith("| ")]
    missing = []
    for row in rows:
        code, text = re.findall(r"`([^`]+)`", row.split(" | ", 1)[1]), None
        for word in code:
            if re.search(r"\.(py|h|cpp)$", word):
                file = ROOT / word if word.startswith(FROM_ROOT) else ROOT / "src" / "driftmap" / word
                text = file.read_text() if file.is_file() else ""
                missing += [] if text else [word]
            elif text is not None and word.isidentifier() and not re.search(rf"\b{word}\b", text):
                missing.append(word)
    assert missing == []
