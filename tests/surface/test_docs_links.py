"""Every link of the documentation to a file of the project leads there, and to a heading that the file has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from heldout.findings.review import RULE_CATALOGUE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|^ {4}.*$", re.MULTILINE | re.DOTALL)


@cache
def headings(page: Path) -> frozenset[str]:
    """The anchors of a page, as GitHub makes them: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: dict[str, int] = {}
    anchors = set()
    for title in re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[`*\\]|\[([^\]]*)\]\([^)]*\)", r"\1", title.strip())
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchors.add(anchor if anchor not in found else f"{anchor}-{found[anchor]}")
        found[anchor] = found.get(anchor, 0) + 1
    return frozenset(anchors)


def find_broken(page: Path) -> Iterator[str]:
    for match in LINK.finditer(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            yield f"{target}: there is no such file"
        elif anchor and there.suffix == ".md" and anchor not in headings(there):
            yield f"{target}: {there.name} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path):
    assert not list(find_broken(page))


def test_a_broken_link_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A title: with `code`\n[a](#a-title-with-code) [b](#nowhere) [c](missing.md) [d](page.md#nor-here)\n"
    )
    assert [fault.partition(":")[0] for fault in find_broken(page)] == ["#nowhere", "missing.md", "page.md#nor-here"]


def test_rules_name_headings_of_the_errata():
    headed = re.findall(r"^### (.*)$", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {rule.erratum for rule in RULE_CATALOGUE.values() if rule.erratum}
    assert len(named) >= 8
    assert named <= set(headed)
