"""Measures whether heldout keeps its promises: `python -m tests.promises`, or `make promises`.

A run can be stopped at any time and goes on where it was; results are kept under build/promises until the code changes.
What is not measured, as with `--family` everything of other families, stays on the page as it was published.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
from pathlib import Path

from tests.promises.cell import LEVELS
from tests.promises.judged_rows import keep_published, list_results, read_document
from tests.promises.measurement import Progress, Task, confirm_results, measure_all, run_tasks
from tests.promises.register import FAMILIES
from tests.promises.report import make_document, write_report
from tests.promises.store import FOLDER, Store

PAGE = Path("docs/promises.md")


def read_arguments() -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.promises", description=__doc__)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only this family; may be given again")
    parser.add_argument("--draws-scale", type=float, default=1.0, help="this part of the draws of every cell")
    parser.add_argument("--level", type=float, action="append", help="only this level; may be given again")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes beside each other")
    parser.add_argument("--list", action="store_true", help="print the cells, their draws and how long they take")
    parser.add_argument("--report", action="store_true", help=f"only write {PAGE} from what was measured")
    parser.add_argument(
        "--confirm", action="store_true",
        help="measure one piece of every cell again, and keep results of earlier code where it has the same outcome",
    )  # fmt: skip
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are kept")
    return parser.parse_args()


def print_list(store: Store, families: tuple[str, ...], jobs: int, scale: float) -> None:
    """Print what there is to measure and how long it takes; a first piece of every cell that is not known is run."""
    known_cells = store.read(families)
    tasks = [Task(*place, 0, store.levels) for place, known in known_cells.items() if 0 not in known.chunks]
    if tasks:
        run_tasks(store, tasks, Progress(tasks, jobs))
    total = 0.0
    for family in families:
        spent = 0.0
        for (name, cell), known in store.read((family,)).items():
            draws = max(known.tally.draws, store.list_cells(name)[cell].draws * scale)
            seconds = known.seconds_per_draw * draws
            spent += seconds
            print(f"{family:24} {cell:76} {draws:6,.0f} draws {seconds:7,.0f} s")
        print(f"{family:24} {'all':76} {'':12} {spent:7,.0f} s\n")
        total += spent
    print(f"All: {total / 3600:.1f} hours of processor time, {total / 7200:.1f} hours on two cores.")


def main() -> None:
    """Measure what is missing, and write the page."""
    asked = read_arguments()
    store = Store(asked.folder, tuple(asked.level) if asked.level else LEVELS)
    families = tuple(asked.family) if asked.family else FAMILIES
    if asked.list:
        print_list(store, families, asked.jobs, asked.draws_scale)
        return
    if asked.confirm:
        for family, cell in confirm_results(store, families, asked.jobs):
            print(f"Some outcomes are others than before, and are to be measured again: {family}: {cell}")
    if not asked.report:
        measure_all(store, families, scale=asked.draws_scale, jobs=asked.jobs, minutes=asked.minutes)
    write_page(store, families, asked.page)


def write_page(store: Store, families: tuple[str, ...], page: Path) -> None:
    """Write the page and the document beside it: what was measured of some families, and what was published before."""
    path, commit = page.with_suffix(".json"), find_commit()
    published = read_document(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []
    results = keep_published(list_results(store.read(families), commit), published)
    page.write_text(write_report(results), encoding="utf-8")
    document = make_document(results, commit)
    # A row of the table is a line of the file: what changes between two runs can be read.
    table = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document.pop("rows"))
    head = json.dumps(document, ensure_ascii=False, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "rows": [\n{table}\n]}}\n', encoding="utf-8")
    print(f"Written: {page} and {path.name}")


def find_commit() -> str:
    """The commit of the code that was measured, in short; nothing outside of a repository."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


if __name__ == "__main__":
    main()
