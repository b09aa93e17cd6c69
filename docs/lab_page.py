"""Writes docs/lab.md from the experiments of the laboratory; `make docs` runs it."""

from __future__ import annotations

import shlex
import textwrap
from functools import cache
from pathlib import Path

from heldout.lab import Demonstration, find_experiments
from heldout.lab.experiment import Experiment
from heldout.lab.parameters import FLAGS, PARAMETERS, spell_flag
from heldout.show.blocks import Block, Column, Prose, Section, Table, Title, Verbatim
from heldout.show.markdown import render_markdown

PAGE = Path(__file__).with_name("lab.md")
HEAD = "Written by make docs from the declarations in src/heldout/lab; change those, not this page."
ABOUT = (
    "In the laboratory the truth is known: cases are drawn from a distribution, so that the true error of a model and "
    "the true value of a measure can be computed, and what the other commands say can be held against it. Each "
    "experiment tries one thing that the lecture notes claim, with heldout's own intervals, tests and plans. Where "
    "the claim is wrong, it shows what is right; docs/errata.md has the list."
)
HOW = (
    "heldout lab lists the experiments, and heldout lab NAME runs one: a table with Monte Carlo limits, a sentence "
    "that says what it shows, and with -o FILE the figures (.json, .csv, .md), the chart (.svg, .png) or a page "
    "(.html). In Python every experiment is a function, such as heldout.lab.type_one_error(draws=500), and its result "
    "has rows, verdict, chart, plot and write like every other. The same seed gives the same figures on any number of "
    "cores (--jobs, jobs=); a bar shows how far it is. The examples below were run with few draws; the usual number "
    "takes seconds."
)
HARD_SPACE = "\N{NO-BREAK SPACE}"
# Smaller than usual, so that the page is written in a moment, but with draws enough to show what is claimed.
EXAMPLES: dict[str, dict[str, str]] = {
    "coverage": {"n": "20,100", "p": "0.05"},
    "type-one-error": {"n": "60", "plans": "10x10-fold", "draws": "40"},
    "power": {"n": "100,400", "draws": "200"},
    "optimism": {"learner": "lda", "n": "10,40", "draws": "80"},
    "sample-size": {"n": "20,80,320", "draws": "400"},
    "fold-average": {"prevalence": "0.5,0.05", "draws": "150"},
    "bootstrap-632": {"learner": "knn:1", "n": "30", "plans": "resubstitution,bootstrap 9,.632 9", "draws": "15"},
    "learning-curve": {"n": "10,60", "draws": "15"},
    "imbalance": {"prevalence": "0.5,0.05", "n": "400", "draws": "20"},
    "cost-accuracy": {"ratio": "1,20", "draws": "60"},
    "double-dipping": {"n": "50", "draws": "25"},
    "best-of-k": {"models": "1,50", "draws": "300"},
}


@cache
def run_example(name: str) -> Demonstration:
    """The example of an experiment, run once."""
    told = {parameter: PARAMETERS[parameter].read(parameter, text) for parameter, text in EXAMPLES[name].items()}
    return find_experiments()[name].function(**told, jobs=1, progress=False)


def section(experiment: Experiment) -> list[Block]:
    """One experiment: what is asked, claimed and seen, an example that was run, and its options."""
    words = [word for name, text in EXAMPLES[experiment.name].items() for word in (spell_flag(name), text)]
    shown = str(run_example(experiment.name))
    # The title, the question and the claim stand above the example already.
    printed = shown[shown.index("Verdict") :]
    return [
        Prose(experiment.question, "Question"),
        Prose(f"{experiment.claim} ({experiment.source})", "The notes"),
        Prose(experiment.see, "What one sees"),
        Verbatim(f"$ heldout lab {shlex.join([experiment.name, *words])}\n\n{printed}"),
        Prose("Options, with their usual values:"),
        Verbatim(_write_options(experiment)),
    ]


def _write_options(experiment: Experiment) -> str:
    """Every option with its usual value, which stay on one line."""
    options = [_write_option(experiment, name).replace(" ", HARD_SPACE) for name in experiment.flags]
    lines = textwrap.wrap(" ".join(options), 100, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines).replace(HARD_SPACE, " ")


def _write_option(experiment: Experiment, name: str) -> str:
    value = experiment.parameters[name].default
    usual = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return spell_flag(name) if value is None else f"{spell_flag(name)} {shlex.quote(usual)}"


def page() -> str:
    """The whole page: what the laboratory is, a section for each experiment, and what the options mean."""
    blocks: list[Block] = [Title("The laboratory"), Prose(HEAD), Prose(ABOUT), Prose(HOW)]
    for name, experiment in find_experiments().items():
        blocks.append(Section(f"{experiment.title}: {name}", tuple(section(experiment))))
    rows = tuple((spell_flag(name), PARAMETERS[name].help) for name in FLAGS)
    options = Table((Column("option"), Column("meaning", wrap=True)), rows)
    about = Prose("Each experiment takes some of these, with usual values of its own.")
    blocks.append(Section("Options", (about, options)))
    return render_markdown(blocks) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
