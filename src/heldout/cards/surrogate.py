"""A shallow tree that imitates a model: fitted to the model's answers, and shown as questions a person can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arrays import Codes, Floats
from heldout.learners.problem import Problem
from heldout.show.fitting import shorten
from heldout.show.printable import visible

DEPTH = 3
# Of a column with more categories than this only the commonest become questions.
MOST_CATEGORIES = 50
LONGEST = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """What a column of the table that the tree sees asks: an amount of a feature, or whether it is one category."""

    feature: str
    category: str | None = None


@dataclass(frozen=True, eq=False)
class Questionable:
    """The cases as a tree is to ask about them: amounts as they are, one column of zeros and ones for each category."""

    matrix: Any
    asked: tuple[Asked, ...]
    gaps: frozenset[int] = frozenset()

    @classmethod
    def of(cls, problem: Problem) -> Questionable:
        """From data whose categories are codes.

        >>> from heldout.learners.data import read_problem
        >>> made = Questionable.of(read_problem({"size": [1, 2, 3], "hue": ["r", "g", "r"]}, ["a", "b", "a"]))
        >>> [(one.feature, one.category) for one in made.asked]
        [('size', None), ('hue', 'r'), ('hue', 'g')]
        """
        features = problem.features
        names = problem.names or tuple(f"x{at}" for at in range(features.shape[1]))
        if hasattr(features, "tocsr"):
            return cls(features.tocsr(), tuple(Asked(name) for name in names))
        columns: list[Floats] = []
        asked: list[Asked] = []
        gaps: set[int] = set()
        for at, name in enumerate(names):
            values = np.asarray(features[:, at], dtype=np.float64)
            missing = np.isnan(values)
            if at not in problem.nominal:
                if missing.any():
                    gaps.add(len(columns))
                columns.append(values)
                asked.append(Asked(name))
                continue
            categories = problem.nominal[at].categories
            counts = np.bincount(values[~missing].astype(np.int64), minlength=len(categories))
            for code in np.argsort(-counts, kind="stable")[:MOST_CATEGORIES].tolist():
                if counts[code]:
                    columns.append((values == code).astype(np.float64))
                    asked.append(Asked(name, str(categories[code])))
            if missing.any():
                columns.append(missing.astype(np.float64))
                asked.append(Asked(name, ""))
        return cls(np.column_stack(columns), tuple(asked), frozenset(gaps))

    def rows(self, rows: Codes) -> Any:
        """Some of the cases."""
        return self.matrix[rows]


@dataclass(frozen=True, slots=True)
class Leaf:
    """An answer, how many cases get it, and of these the share for which the model says the same."""

    answer: str
    cases: int
    share: float

    @property
    def leaves(self) -> int:
        """One."""
        return 1

    def document(self) -> dict[str, object]:
        """The answer as it stands in a JSON document."""
        return {"answer": self.answer, "cases": self.cases, "share": self.share}


@dataclass(frozen=True, slots=True)
class Fork:
    """A question, with what follows where it holds and where it does not."""

    holds: str
    fails: str
    yes: Leaf | Fork
    no: Leaf | Fork

    @property
    def leaves(self) -> int:
        """How many answers hang below."""
        return self.yes.leaves + self.no.leaves

    def document(self) -> dict[str, object]:
        """The question as it stands in a JSON document."""
        return {"if": self.holds, "then": self.yes.document(), "else": self.no.document()}


Node = Leaf | Fork


def fit_surrogate(matrix: Any, answers: Codes, seed: int, depth: int = DEPTH) -> Any:
    """A tree of at most so many questions in a row, fitted to the answers of a model.

    >>> fit_surrogate(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), seed=0).get_depth()
    1
    """
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=seed % 2**32).fit(matrix, answers)


def read_tree(tree: Any, table: Questionable, labels: Sequence[object]) -> Node:
    """The tree as questions and answers in words; questions whose answers are all the same are left out.

    >>> table = Questionable(np.array([[0.0], [1.0], [2.0]]), (Asked("width"),))
    >>> print(as_text(read_tree(fit_surrogate(table.matrix, np.array([0, 1, 1]), 0), table, ["a", "b"])))
    if width ≤ 0.5: a (1 case)
    else: b (2 cases)
    """
    held = tree.tree_

    def node(at: int) -> Node:
        counts = np.asarray(held.value[at][0], dtype=np.float64)
        best = int(counts.argmax())
        cases = int(held.n_node_samples[at])
        answer = str(labels[int(tree.classes_[best])])
        own = Leaf(answer, cases, float(counts[best] / counts.sum()))
        if held.children_left[at] < 0:
            return own
        low, high = node(int(held.children_left[at])), node(int(held.children_right[at]))
        if isinstance(low, Leaf) and isinstance(high, Leaf) and low.answer == high.answer:
            return own
        column = int(held.feature[at])
        left = bool(held.missing_go_to_left[at]) if column in table.gaps else None
        under, over = _words(table.asked[column], float(held.threshold[at]), missing_left=left)
        # Of a category it is easier to read what follows where it is met.
        return Fork(under, over, low, high) if table.asked[column].category is None else Fork(over, under, high, low)

    return node(0)


def _words(asked: Asked, threshold: float, *, missing_left: bool | None) -> tuple[str, str]:
    """The question in words, as it holds on the left and on the right."""
    name = named(asked.feature)
    if asked.category is not None:
        category = named(asked.category) if asked.category else "missing"
        return f"{name} is not {category}", f"{name} is {category}"
    low, high = f"{name} ≤ {threshold:.4g}", f"{name} > {threshold:.4g}"
    if missing_left is None:
        return low, high
    return (f"{low} or missing", high) if missing_left else (low, f"{high} or missing")


def named(text: str) -> str:
    """A name that fits on a line, with nothing in it that could drive a terminal."""
    return shorten(visible(text), LONGEST)


def as_text(node: Node, indent: str = "") -> str:
    """The tree as lines of if and else."""
    if isinstance(node, Leaf):
        return f"{indent}always {_answer(node)}"
    lines: list[str] = []
    for start, way in ((f"if {node.holds}", node.yes), ("else", node.no)):
        if isinstance(way, Leaf):
            lines.append(f"{indent}{start}: {_answer(way)}")
        else:
            lines += [f"{indent}{start}:", as_text(way, indent + "    ")]
    return "\n".join(lines)


def _answer(leaf: Leaf) -> str:
    cases = f"{leaf.cases:,} case{'s' * (leaf.cases != 1)}"
    same = "" if math.isclose(leaf.share, 1.0) else f", {100 * leaf.share:.0f} % as the model"
    return f"{named(leaf.answer)} ({cases}{same})"
