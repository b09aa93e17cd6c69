"""The source folder that Sphinx reads: the written pages with their links mended, beside those that are generated."""

from __future__ import annotations

import posixpath
import re
import shutil
import zipfile
from pathlib import Path

from docs.website.page import ROOT, write_toctree

DOCS = ROOT / "docs"
# Pages that stand elsewhere in the project, or are generated anew for the site, and where the site has them.
MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security-policy.md",
    "examples/README.md": "project/examples.md",
    "docs/measures.md": "reference/measures/index.md",
    "docs/findings.md": "reference/findings/index.md",
    "docs/promises.md": "promises/index.md",
    "docs/decisions": "decisions/index.md",
    "docs": "index.md",
}
GENERATED = {"README.md", "docs/measures.md", "docs/findings.md", "docs/promises.md", "docs/decisions", "docs"}
COPIED = (".md", ".png", ".svg", ".jpg", ".ipynb", ".csv", ".json")
# A link or a picture of Markdown, with what it points to.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*(```|~~~)")

# The guides by what a reader wants; one that is not named here stands at the end.
GUIDES: dict[str, tuple[str, ...]] = {
    "Where you work": ("python", "shell", "notebooks", "page", "serve", "integrations", "jobs"),
    "Judge a classifier": ("curves", "thresholds", "slices", "gates"),
    "Judge a learner": ("resampling", "comparing", "card", "plan"),
    "Large data": ("scale", "clusters", "tensors", "speed"),
    "How it is done": ("statistics", "lab"),
}
# Pages with a place of their own.
PLACED = {
    "start", "coming-from", "faq", "glossary", "errata", "architecture", "security", "measures", "findings",
    "promises",
}  # fmt: skip
FOLDERS = {"course": "Course", "howto": "How-to", "notebooks": "Notebooks"}


class Site:
    """Which pages there will be, and the folder that they are written to."""

    def __init__(self, folder: Path, *, whole: bool = True) -> None:
        self.folder = folder
        self.whole = whole
        self.pages: dict[str, str] = {}
        self.planned: set[str] = set()

    def add(self, path: str, text: str) -> None:
        """A page, at a path below the top of the site."""
        if path in self.pages:
            message = f"two pages want to be {path}"
            raise ValueError(message)
        self.pages[path] = text.rstrip() + "\n"

    def link(self, text: str, target: str, at: str) -> str:
        """A link from the page `at` to another; the words alone where the site has no such page."""
        if target.partition("#")[0] not in self.planned:
            return text
        return f"[{text}]({posixpath.relpath(target, posixpath.dirname(at) or '.')})"

    def write(self) -> None:
        """Write every page that was added; one that has not changed keeps its date, so that Sphinx does not read it."""
        for path, text in self.pages.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                target.write_text(text, encoding="utf-8")


def list_written() -> dict[str, str]:
    """The files of docs/ that people write, and where they stand on the site."""
    found = {}
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        inside = path.relative_to(DOCS).parts
        hidden = any(part.startswith((".", "_")) for part in inside) or inside[0] == "website"
        if path.is_file() and path.suffix in COPIED and not hidden and name not in GENERATED:
            found[name] = "/".join(inside)
    return found | {name: place for name, place in MOVED.items() if name not in GENERATED}


def add_written(site: Site) -> None:
    """Add the written pages, and copy their pictures and notebooks."""
    for name, place in list_written().items():
        source = ROOT / name
        if source.suffix == ".md":
            text = mend_links(raise_headings(source.read_text(encoding="utf-8")), name, place)
            site.add(place, text + pack_examples(site, place) if name == "examples/README.md" else text)
        else:
            target = site.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def raise_headings(text: str) -> str:
    r"""A page that begins with a heading of the second rank, as reports do, with every heading one rank higher.

    >>> raise_headings("## A\n\n### B"), raise_headings("# A\n\n## B")
    ('# A\n\n## B', '# A\n\n## B')
    """
    if not text.startswith("## "):
        return text
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(FENCE.match(line))
        lines.append(line[1:] if line.startswith("##") and not fenced else line)
    return "\n".join(lines)


def pack_examples(site: Site, place: str) -> str:
    """Put the examples into one file beside their page; the words that let a reader fetch it."""
    target = site.folder / posixpath.dirname(place) / "examples.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted((ROOT / "examples").rglob("*.*")):
            packed.write(path, path.relative_to(ROOT))
    return "\n## Get them\n\nAll of them in one file: {download}`examples.zip <examples.zip>`.\n"


def mend_links(text: str, name: str, place: str) -> str:
    """The text of a page with links that hold where it stands on the site.

    >>> mend_links("[a](docs/measures.md), [b](src/heldout), [c](https://x.y)", "CONTRIBUTING.md", "project/x.md")
    '[a](../reference/measures/index.md), b (`src/heldout`), [c](https://x.y)'
    """
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(FENCE.match(line))
        # Four blanks begin code, unless the line goes on with a list.
        code = fenced or (line.startswith("    ") and not re.match(r"\s*([-*]|\d+\.) ", line))
        lines.append(line if code else LINK.sub(lambda found: _mend(found, name, place), line))
    return "\n".join(lines)


def _mend(found: re.Match[str], name: str, place: str) -> str:
    picture, words, target = found.groups()
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return found[0]
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).rstrip("/")
    if wanted in ("docs/measures.md", "docs/findings.md") and anchor:
        home = "reference/" + ("measures" if "measures" in wanted else "findings")
        there = f"{home}/{anchor.replace('-', '_')}.md" if "measures" in wanted else f"{home}/{anchor[:4].upper()}.md"
        mark = anchor = ""
    elif wanted in MOVED:
        there = MOVED[wanted]
    elif wanted.startswith("docs/") and not wanted.startswith("docs/website") and not (ROOT / wanted).is_dir():
        there = wanted.removeprefix("docs/")
    elif (ROOT / wanted).exists():
        return f"{words} (`{wanted}`)"
    else:
        return found[0]
    return f"{picture}[{words}]({posixpath.relpath(there, posixpath.dirname(place) or '.')}{mark}{anchor})"


def title_of(text: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^#+ (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def add_folders(site: Site) -> None:
    """A first page for each folder of written pages that has none."""
    for folder, title in FOLDERS.items():
        inside = sorted(place for place in list_written().values() if place.startswith(f"{folder}/"))
        pages = [place for place in inside if place.endswith((".md", ".ipynb"))]
        if not pages:
            continue
        index = f"{folder}/index.md"
        if index not in pages:
            names = [_bare(posixpath.basename(page)) for page in pages]
            site.add(index, f"# {title}\n\n{write_toctree(names)}")
        elif "{toctree}" not in site.pages[index]:
            names = [_bare(posixpath.basename(page)) for page in pages if page != index]
            site.pages[index] += "\n" + write_toctree(names, hidden=True) + "\n"


def _bare(path: str) -> str:
    return path.removesuffix(".md").removesuffix(".ipynb")


def add_guides(site: Site) -> None:
    """The page of guides: every written page at the top of docs/ that has no place of its own."""
    there = {_bare(place) for place in site.pages if "/" not in place} - PLACED - {"index", "guides"}
    parts = ["# Guides", "One page for each thing that you do with heldout, with commands and calls that you can copy."]
    for title, names in GUIDES.items():
        shown = [name for name in names if name in there]
        there -= set(shown)
        parts += [f"## {title}", write_toctree(shown)] if shown else []
    if there:
        parts += ["## More", write_toctree(sorted(there))]
    site.add("guides.md", "\n\n".join(parts))


def add_project(site: Site) -> None:
    """The pages about the project itself: how it is built, decided and kept safe."""
    decisions = sorted(place for place in site.pages if place.startswith("decisions/"))
    site.add(
        "decisions/index.md",
        "# Decisions\n\nWhat a newcomer would question, and why it is so.\n\n"
        + write_toctree(_bare(posixpath.basename(place)) for place in decisions),
    )
    entries = [
        "../architecture", "../decisions/index", "contributing", "changelog", "../security", "security-policy",
        "examples",
    ]  # fmt: skip
    text = "How heldout is built, what was decided and why, what changed, and what it promises about hostile input."
    site.add("project/index.md", f"# Project\n\n{text}\n\n{write_toctree(entries)}")
