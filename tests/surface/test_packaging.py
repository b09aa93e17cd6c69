"""What is built to be published: metadata that an index takes, a description that reads there, and every file."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import heldout

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "heldout"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\ssrc=\"([^\"]+)")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with wheel and sdist, built from this checkout with what is installed here."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.message_from_string(wheel.read(name).decode("utf-8"))


def test_an_index_would_take_both(built):
    files = sorted(map(str, built.iterdir()))
    done = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr


def test_the_wheel_has_every_file_and_no_other(wheel):
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    ours = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert held == {name for name in ours if "__pycache__" not in name}
    assert "heldout/py.typed" in held


def test_the_sdist_can_be_built_from_and_has_the_examples(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "examples/diabetes.csv", "src/heldout/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]


def test_the_metadata_are_complete(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("heldout", heldout.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert len(metadata["Keywords"].split(",")) > 5
    # There is no address yet, and none is invented.
    assert metadata.get_all("Project-URL") is None
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_the_description_has_no_link_that_an_index_could_not_follow(metadata):
    text = str(metadata.get_payload())
    links = ["".join(found) for found in LINK.findall(text)]
    assert all(link.startswith("https://") for link in links), links
    assert text.startswith("# heldout\n")
    assert "All commands; each says" in text
    assert len(text) > 0.8 * len(README)


def test_the_readme_begins_with_what_to_type_and_is_short():
    lines = README.splitlines()
    typed = [line.split("#")[0].strip() for line in lines if line.startswith("    ")][:3]
    assert typed[0] == "pip install heldout"
    assert all(line.startswith("heldout evaluate ") for line in typed[1:])
    assert lines.index("    pip install heldout") < 10
    assert len(lines) <= 150


def test_every_link_of_the_readme_and_the_docs_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    broken = []
    for page in pages:
        for found in LINK.findall(page.read_text(encoding="utf-8")):
            link, _, anchor = "".join(found).partition("#")
            target = page.parent / link if link else page
            if "://" in link or "mailto:" in link:
                continue
            if not target.exists() or (anchor and anchor not in list_anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}#{anchor}")
    assert not broken, "\n".join(broken)


def list_anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
