"""Writes docs/jobs.md from the snippets in tests/jobs, whose lines it counts; `make docs` runs it.

A job is a Markdown file: what is asked for, and a section for each library with its lines, or why it has none. Lines
are counted as ruff formats them at 100 characters, without blank lines, comments and imports.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_name("jobs.md")
SNIPPETS = Path(__file__).parents[1] / "tests" / "jobs"
OURS, *PEERS = LIBRARIES = ("heldout", "scikit-learn", "skore", "torchmetrics", "PyCM", "MLflow")
BY_HAND = "By hand"
HEAD = """# Fifteen daily jobs

Written by make docs from tests/jobs, where the code of all six libraries is; change that, not this page.

The shortest code that does a job in each library's own way. Every snippet runs in the tests, and its answer is
checked there.

Lines are counted as ruff formats them at 100 characters, without blank lines, comments and imports. Data and fitted
models are there already, in the form that each library takes: tensors for torchmetrics, a logged model for MLflow. An h
marks code by hand, for which the library has no function; a dash a job that it cannot do without another library. One
line is the least there can be: where others take one too, what their answer lacks is said below the table.
"""


@dataclass(frozen=True, slots=True)
class Snippet:
    """What one library needs for a job: its code, empty where it cannot do it, and what is to be said of it."""

    library: str
    code: str
    said: str
    lines: int

    @property
    def by_hand(self) -> bool:
        """Whether the library has no function for it."""
        return self.said.startswith(BY_HAND)

    @property
    def cell(self) -> str:
        """What the table says."""
        return f"{self.lines}{' h' * self.by_hand}" if self.code else "–"


@dataclass(frozen=True, slots=True)
class Job:
    """A job, what its answer must hold, and how each library does it."""

    key: str
    title: str
    asked: str
    figures: tuple[str, ...]
    snippets: dict[str, Snippet]


def read_jobs() -> list[Job]:
    """The jobs in the order of their files."""
    read = [_read_job(path) for path in sorted(SNIPPETS.glob("*.md"))]
    counts = count_lines(
        {f"{job.key}_{at}": each.code for job in read for at, each in enumerate(job.snippets.values())}
    )
    return [
        Job(job.key, job.title, job.asked, job.figures, {
            name: Snippet(name, each.code, each.said, counts[f"{job.key}_{at}"])
            for at, (name, each) in enumerate(job.snippets.items())
        })
        for job in read
    ]  # fmt: skip


def _read_job(path: Path) -> Job:
    head, *sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    title, *said = (line for line in head.splitlines() if line)
    figures = [line.removeprefix("Figures: ").split(", ") for line in said if line.startswith("Figures: ")]
    snippets = {}
    for section in sections:
        name, _, text = section.partition("\n")
        code = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        words = " ".join((text if code is None else text[: code.start()]).split())
        snippets[name.strip()] = Snippet(name.strip(), "" if code is None else code[1], words, 0)
    asked = " ".join(line for line in said if not line.startswith("Figures: "))
    return Job(
        path.stem.partition("-")[2], title.removeprefix("# "), asked, tuple(figures[0] if figures else ()), snippets
    )


def count_lines(codes: dict[str, str]) -> dict[str, int]:
    """The number of lines of each piece of code as ruff formats it, all in one run of it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, code in codes.items():
            (folder / f"{name}.py").write_text(code, encoding="utf-8")
        settings = ["line-length=100", "format.skip-magic-trailing-comma=true"]
        options = [word for setting in settings for word in ("--config", setting)]
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated", "--no-cache", *options, str(folder)]
        subprocess.run(command, check=True)
        return {name: len(list_counted((folder / f"{name}.py").read_text(encoding="utf-8"))) for name in codes}


def list_counted(code: str) -> list[str]:
    r"""The lines that count.

    >>> list_counted("import a\nfrom b import (\n    c,\n)\n\n# why\nprint(c)\n")
    ['print(c)']
    """
    bare = re.sub(r"^(?:from \S+ )?import (?:\([^)]*\)|.*)$", "", code, flags=re.MULTILINE)
    return [line for line in bare.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def page() -> str:
    """The whole page: the table, then each job with our lines beside scikit-learn's."""
    jobs = read_jobs()
    rows = [[f"[{job.title}](#{_anchor(job.title)})", *(job.snippets[name].cell for name in LIBRARIES)] for job in jobs]
    table = [["job", *LIBRARIES], ["---"] + ["---:"] * len(LIBRARIES), *rows]
    parts = [HEAD, "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n"]
    for job in jobs:
        parts.append(f"## {job.title}\n\n{job.asked}\n")
        for name in LIBRARIES[:2]:
            each = job.snippets[name]
            told = _write_out(job, name)
            said = f": {told[:1].lower()}{told[1:]}" if told else ""
            code = f"\n\n```python\n{each.code.strip()}\n```" if each.code else ""
            parts.append(f"{name}, {_written_number(each)}{said}{code}\n")
        parts.append("\n".join(_list_others(job)) + "\n")
    return "\n".join(parts)


def _list_others(job: Job) -> list[str]:
    return [f"- {name}, {_written_number(job.snippets[name])}: {_write_out(job, name)}" for name in LIBRARIES[2:]]


def _write_out(job: Job, name: str) -> str:
    """What is said of a library, with figures as words."""
    said = job.snippets[name].said
    for figure in job.figures:
        said = said.replace(figure, figure.replace("_", " "))
    return said


def _written_number(each: Snippet) -> str:
    return "no way" if not each.code else "1 line" if each.lines == 1 else f"{each.lines} lines"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
