"""Where an answer goes: the terminal, and files in other forms."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from heldout.errors import FileError, OptionError

if TYPE_CHECKING:
    from heldout.evaluation import Evaluation

STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The forms asked for: a path each, or - for standard output."""

    json: str | None = None
    html: str | None = None
    markdown: str | None = None
    latex: str | None = None
    layout: str | None = None
    full: bool = False

    def forms(self) -> dict[str, str]:
        """Each form that was asked for, with where it goes."""
        named = {"json": self.json, "html": self.html, "markdown": self.markdown, "latex": self.latex}
        return {form: place for form, place in named.items() if place is not None}

    def check(self) -> None:
        """Refuse what cannot work before anything is computed."""
        if self.layout not in (None, "heldout", "weka"):
            raise OptionError(f"There is no layout {self.layout!r}.", hint="use --format heldout or --format weka.")
        forms = self.forms()
        on_screen = [form for form, place in forms.items() if place == STANDARD_OUTPUT]
        if len(on_screen) > 1:
            raise OptionError(
                f"Two forms cannot share standard output: {' and '.join(on_screen)}.",
                hint="write one to a file.",
            )
        for form, place in forms.items():
            path = Path(place)
            if place != STANDARD_OUTPUT and (path.is_dir() or not path.absolute().parent.is_dir()):
                why = "it is a folder" if path.is_dir() else "its folder does not exist"
                raise FileError(
                    f"--{form} cannot write {place}: {why}.",
                    hint="give the name of a file in a folder that exists.",
                )


def deliver(result: Evaluation, outputs: Outputs, *, chosen: bool) -> None:
    """Write every form asked for; the report goes to the terminal unless a form took its place."""
    forms = outputs.forms()
    texts = {
        "json": result.to_json,
        "html": lambda: _page(result),
        "markdown": result.to_markdown,
        "latex": result.to_latex,
    }
    if STANDARD_OUTPUT not in forms.values():
        _report(result, outputs, chosen=chosen)
    for form, place in forms.items():
        text = texts[form]()
        if place == STANDARD_OUTPUT:
            sys.stdout.write(text + "\n")
            continue
        try:
            Path(place).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise FileError(f"--{form} cannot write {place}: {error.strerror}.", hint="choose another place.") from None
        sys.stderr.write(f"Wrote {place}\n")


def _page(result: Evaluation) -> str:
    from heldout.show.html import render_page

    return render_page(result.full_blocks(), title=result.source.name or "heldout evaluation")


def _report(result: Evaluation, outputs: Outputs, *, chosen: bool) -> None:
    if outputs.layout == "weka":
        from heldout.report.weka import weka_text

        sys.stdout.write(weka_text(result) + "\n")
        return
    from rich.console import Console

    from heldout.show.text import to_rich

    asked = result.full_blocks if outputs.full else result.blocks
    blocks = result.chosen_blocks() if chosen else asked()
    # Without a terminal: no colour, 100 columns, the same words.
    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 100)
    console.print(to_rich(blocks))
