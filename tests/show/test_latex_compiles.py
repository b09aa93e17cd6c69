"""Tables for papers, set by a real pdflatex."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.programs import LATEX
from tests.report.moved import churn

import heldout
from heldout.result import Result
from heldout.show.blocks import Column, Note, Prose, Table, Title
from heldout.show.latex import render_latex

PAPER = r"""\documentclass{article}
\usepackage{booktabs,graphicx}
\begin{document}
See %s.
%s
\end{document}
"""
# What reports write beside letters and figures.
SYMBOLS = "− ↓ → – — × ≥ ≤ ± … ∞ · é ü ß “a” ‘b’ χ² κ α β √ ≈ ≠ ↑ ← 50 % a_b {x} \\input{y} ~ ^ # $ & < > | ` [z] *"


def compiled(source: str, folder: Path) -> str:
    """What pdflatex says of a paper with these tables; fails where it does."""
    labels = re.findall(r"\\label\{([^}]*)\}", source)
    paper = folder / "paper.tex"
    paper.write_text(PAPER % (", ".join(f"\\ref{{{label}}}" for label in labels), source), encoding="utf-8")
    command = [LATEX.require(), "-interaction=nonstopmode", "-halt-on-error", paper.name]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, errors="replace")
    assert made.returncode == 0, made.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return made.stdout


@pytest.fixture(scope="module")
def answers() -> dict[str, Result]:
    truth, score = churn(200)
    rng = np.random.default_rng(0)
    evaluation = heldout.evaluate(truth, score=score, positive="yes")
    others = [
        heldout.evaluate(truth, score=np.clip(score + rng.normal(0, s, 200), 0, 1), positive="yes") for s in (0.1, 0.5)
    ]
    names = ["A_1", "B & co", "C"]
    return {
        "evaluation": evaluation,
        "classes": heldout.evaluate(matrix=rng.integers(1, 9, (7, 7)), labels=list("abcdefg")),
        "comparison": heldout.compare(evaluation, *others, names=names, measures=["accuracy", "roc_auc", "brier"]),
    }


@pytest.mark.parametrize("name", ["evaluation", "classes", "comparison"])
def test_every_table_is_set_within_the_page_with_a_caption_and_a_label(answers, name, tmp_path):
    source = answers[name].to_latex()
    tables = source.count(r"\begin{tabular}")
    assert tables > 1
    assert source.count(r"\caption{") == source.count(r"\label{tab:") == source.count(r"\toprule") == tables
    assert len(set(re.findall(r"\\label\{([^}]*)\}", source))) == tables
    printed = "\n".join(line for line in source.split("\n") if not line.startswith("%"))
    assert r"\section" not in printed
    assert "guessed" not in source
    assert "Overfull" not in compiled(source, tmp_path)


def test_three_models_are_one_table_of_three_rows_before_the_pairs(answers, tmp_path):
    models = answers["comparison"].models()
    source = models.to_latex()
    rows = [line for line in source.split("\n") if line.endswith(r"\\")]
    assert [row.split(" & ")[0].strip() for row in rows[1:]] == [r"A\_1", r"B \& co", "C"]
    assert r"\textbf{" in source
    whole = answers["comparison"].to_latex()
    assert whole.index(r"\label{tab:models}") < whole.index(r"\label{tab:differences}")
    compiled(source, tmp_path)
    marked = re.findall(r"\*\*[.\d]+\*\*", models.to_markdown())
    assert len(marked) == sum(len(best) for best in models.marked) > 0


def test_symbols_of_reports_need_nothing_but_pdflatex(tmp_path):
    table = Table((Column(SYMBOLS),), ((SYMBOLS,),), SYMBOLS)
    source = render_latex([Title(SYMBOLS), Prose(SYMBOLS, "Verdict"), Note(SYMBOLS), table])
    for text in (source, render_latex([Prose(SYMBOLS)])):
        assert "Missing character" not in compiled(text, tmp_path)
