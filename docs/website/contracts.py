"""Pages of what programs can rely on: exit statuses, the JSON document, the extras, learners, and formats of files."""

from __future__ import annotations

import json
from typing import Any

from docs.website.page import escape_text, steady_screen, write_code, write_literal, write_table
from docs.website.sources import Site

import heldout
from heldout.extras import EXTRAS
from heldout.learners.registry import SHORTCUTS

CONTRACTS, EXTRA_PAGE, LEARNERS = "reference/contracts.md", "reference/extras.md", "reference/learners.md"


def add_contracts(site: Site) -> None:
    """The page of exit statuses and of the JSON document, from the program itself."""
    from heldout.cli import app

    # The docstring of the command line is the one place where the statuses are listed.
    statuses = (app.__doc__ or "").partition("Exit status: ")[2].strip().rstrip(".")
    rows = [entry.strip().partition(" ")[::2] for entry in statuses.split(",")]
    with steady_screen():
        judged = heldout.evaluate(matrix=[[50, 3], [5, 42]], labels=["no", "yes"], measures=["accuracy", "recall"])
        compared = heldout.compare(
            heldout.evaluate([0, 1] * 30, [0, 1] * 30), heldout.evaluate([0, 1] * 30, [0, 1, 1, 1] * 15),
            names=["new", "old"], measures="accuracy",
        )  # fmt: skip
        gate = heldout.check(judged, require="accuracy >= 0.8")
        columns = list(judged.rows()[0])
    parts = [
        "# Exit statuses and JSON",
        "## Exit statuses",
        write_table(["status", "when"], [(f"`{number}`", escape_text(text)) for number, text in rows]),
        "## The JSON document",
        (
            "Every result has one document, the same from `result.to_json()` and from `--json`. "
            "`schema` names its kind and version: a field is never taken away or given another meaning within a "
            "version. "
            'Undefined is `null`, with the reason in `undefined`; an infinite limit is the text `"Infinity"`.'
        ),
        f"Rows of every result begin with the same columns: {', '.join(map(write_literal, columns[:9]))}.",
        "An evaluation:",
        write_code(_write_document(judged), "json"),
        "A comparison:",
        write_code(_write_document(compared), "json"),
        "A gate:",
        write_code(_write_document(gate), "json"),
    ]
    site.add(CONTRACTS, "\n\n".join(parts))


def _write_document(result: Any) -> str:
    document = result.to_dict()
    # One of each list is enough to see its form.
    shortened = {
        key: value[:1] if isinstance(value, list) and len(value) > 2 else value for key, value in document.items()
    }
    return json.dumps(shortened, indent=2, ensure_ascii=False)


def add_extras(site: Site) -> None:
    """The page of extras."""
    rows = [
        (
            f"`{extra.name}`",
            escape_text(extra.gives),
            ", ".join(map(write_literal, extra.packages)),
            f"`{extra.command}`",
        )
        for extra in EXTRAS.values()
    ]
    doctor = site.link("`heldout doctor`", "reference/commands/doctor.md", EXTRA_PAGE)
    text = (
        "A plain `pip install heldout` has everything that most people need. What only some need is an extra; what "
        f'lacks one says which. {doctor} lists what is installed. `pip install "heldout[all]"` takes all of them.'
    )
    site.add(EXTRA_PAGE, f"# Extras\n\n{text}\n\n{write_table(['extra', 'gives', 'packages', 'install'], rows)}")


def add_learners(site: Site) -> None:
    """The page of learners that have a short name."""
    rows = [
        (f"`{one.usage}`", escape_text(one.description), f"`{one.module}.{one.class_name}`")
        for one in SHORTCUTS.values()
    ]
    guide = site.link("How good will it be", "resampling.md", LEARNERS)
    text = (
        "`heldout validate`, `compare`, `card` and the other commands that fit take these names, or any class that "
        f"keeps scikit-learn's interface as `package.module:Class(arguments)`. {guide} is the guide."
    )
    site.add(LEARNERS, f"# Learners\n\n{text}\n\n{write_table(['name', 'what it is', 'class'], rows)}")
