"""A shallow tree that imitates a model: fitted to the model's answers, and shown as questions a person can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes, Floats
from heldout.intervals.dependence import Dependence
from heldout.intervals.fold_estimates import corrected_t, nothing_told
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.learners.problem import Problem
from heldout.show.escape import visible
from heldout.show.text_width import shorten

DEPTH = 3
# Of a column with more categories than this only the commonest become questions.
MOST_CATEGORIES = 50
LONGEST = 40


@dataclass(frozen=True, slots=True)
class TreeColumn:
    """What a column of the table that the tree sees asks: an amount of a feature, or whether it is one category."""

    feature: str
    category: str | None = None


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The cases as a tree is to ask about them: amounts as they are, one column of zeros and ones for each category."""

    matrix: Any
    asked: tuple[TreeColumn, ...]
    gaps: frozenset[int] = frozenset()

    @classmethod
    def of(cls, problem: Problem) -> TreeTable:
        """From data whose categories are codes.

        >>> from heldout.learners.data import read_problem
        >>> made = TreeTable.of(read_problem({"size": [1, 2, 3], "hue": ["r", "g", "r"]}, ["a", "b", "a"]))
        >>> [(one.feature, one.category) for one in made.asked]
        [('size', None), ('hue', 'r'), ('hue', 'g')]
        """
        features = problem.features
        names = problem.column_names
        if hasattr(features, "tocsr"):
            return cls(features.tocsr(), tuple(TreeColumn(name) for name in names))
        columns: list[Floats] = []
        questions: list[TreeColumn] = []
        gaps: set[int] = set()
        for at, name in enumerate(names):
            values = np.asarray(features[:, at], dtype=np.float64)
            missing = np.isnan(values)
            if at not in problem.nominal:
                if missing.any():
                    gaps.add(len(columns))
                columns.append(values)
                questions.append(TreeColumn(name))
                continue
            categories = problem.nominal[at].categories
            counts = np.bincount(values[~missing].astype(np.int64), minlength=len(categories))
            for code in np.argsort(-counts, kind="stable")[:MOST_CATEGORIES].tolist():
                if counts[code]:
                    columns.append((values == code).astype(np.float64))
                    questions.append(TreeColumn(name, str(categories[code])))
            if missing.any():
                columns.append(missing.astype(np.float64))
                questions.append(TreeColumn(name, ""))
        return cls(np.column_stack(columns), tuple(questions), frozenset(gaps))

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
        return asdict(self)


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


def fit_surrogate(matrix: Any, answers: Codes, seed: int) -> Any:
    """A tree of at most so many questions in a row, fitted to the answers of a model.

    >>> fit_surrogate(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), seed=0).get_depth()
    1
    """
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=DEPTH, random_state=seed % 2**32).fit(matrix, answers)


def read_tree(tree: Any, table: TreeTable, labels: Sequence[object]) -> Node:
    """The tree as questions and answers in words; questions whose answers are all the same are left out.

    >>> table = TreeTable(np.array([[0.0], [1.0], [2.0]]), (TreeColumn("width"),))
    >>> print(format_tree(read_tree(fit_surrogate(table.matrix, np.array([0, 1, 1]), 0), table, ["a", "b"])))
    if width ≤ 0.5: a (1 case)
    else: b (2 cases)
    """
    nodes = tree.tree_

    def node(at: int) -> Node:
        counts = np.asarray(nodes.value[at][0], dtype=np.float64)
        best = int(counts.argmax())
        cases = int(nodes.n_node_samples[at])
        answer = str(labels[int(tree.classes_[best])])
        own = Leaf(answer, cases, float(counts[best] / counts.sum()))
        if nodes.children_left[at] < 0:
            return own
        low, high = node(int(nodes.children_left[at])), node(int(nodes.children_right[at]))
        if isinstance(low, Leaf) and isinstance(high, Leaf) and low.answer == high.answer:
            return own
        column = int(nodes.feature[at])
        left = bool(nodes.missing_go_to_left[at]) if column in table.gaps else None
        under, over = _phrase_question(table.asked[column], float(nodes.threshold[at]), missing_left=left)
        # Of a category it is easier to read what follows where it is met.
        return Fork(under, over, low, high) if table.asked[column].category is None else Fork(over, under, high, low)

    return node(0)


def _phrase_question(column: TreeColumn, threshold: float, *, missing_left: bool | None) -> tuple[str, str]:
    """The question in words, as it holds on the left and on the right."""
    name = shorten_name(column.feature)
    if column.category is not None:
        category = shorten_name(column.category) if column.category else "missing"
        return f"{name} is not {category}", f"{name} is {category}"
    low, high = f"{name} ≤ {threshold:.4g}", f"{name} > {threshold:.4g}"
    if missing_left is None:
        return low, high
    return (f"{low} or missing", high) if missing_left else (low, f"{high} or missing")


def shorten_name(text: str) -> str:
    """A name that fits on a line, with nothing in it that could drive a terminal."""
    return shorten(visible(text), LONGEST)


def format_tree(node: Node, indent: str = "") -> str:
    """The tree as lines of if and else."""
    if isinstance(node, Leaf):
        return f"{indent}always {_format_leaf(node)}"
    lines: list[str] = []
    for start, way in ((f"if {node.holds}", node.yes), ("else", node.no)):
        if isinstance(way, Leaf):
            lines.append(f"{indent}{start}: {_format_leaf(way)}")
        else:
            lines += [f"{indent}{start}:", format_tree(way, indent + "    ")]
    return "\n".join(lines)


def _format_leaf(leaf: Leaf) -> str:
    cases = f"{leaf.cases:,} case{'s' * (leaf.cases != 1)}"
    same = "" if math.isclose(leaf.share, 1.0) else f", {100 * leaf.share:.0f} % as the model"
    return f"{shorten_name(leaf.answer)} ({cases}{same})"


REFERENCE = "Craven & Shavlik (1996), NIPS 8; Molnar (2022), Interpretable Machine Learning, on global surrogates"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the cases with its interval; `undefined` says why it is nan, where it is."""

    value: float
    low: float = math.nan
    high: float = math.nan
    undefined: str = ""

    def document(self) -> dict[str, object]:
        """The share as it stands in a JSON document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How faithful the tree is.

    `agreement` is the share of test cases for which the tree says what the model says; `commonest` is the share of the
    model's commonest answer, `commonest_answer`, which any constant would reach, and `beyond` what of the rest the tree
    gets: 1 for a perfect likeness, 0 for no better than that constant. `accuracy` is how often the tree is right, as
    the model may be. `tree` imitates the model that was trained on all cases.
    """

    agreement: Share
    beyond: Share
    commonest: float
    commonest_answer: str
    accuracy: Share
    n: int
    method: str
    level: float
    tree: Node | None = None
    depth: int = DEPTH
    undefined: str = ""
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The tree in words."""
        return "" if self.tree is None else format_tree(self.tree)

    def document(self) -> dict[str, object]:
        """The fidelity as it stands in a JSON document."""
        return {
            "agreement": self.agreement.document(),
            "beyond_commonest": self.beyond.document(),
            "commonest_share": self.commonest,
            "commonest_answer": self.commonest_answer,
            "tree_accuracy": self.accuracy.document(),
            "n": self.n,
            "method": self.method,
            "level": self.level,
            "depth": self.depth,
            "tree": None if self.tree is None else self.tree.document(),
            "text": self.text,
            "undefined": self.undefined,
            "notes": list(self.notes),
            "reference": REFERENCE,
        }


@dataclass(frozen=True, eq=False)
class FoldLikeness:
    """One fold: its test rows, what the model says of them, what the tree says, and the truth.

    `drawn` says that the tree was fitted to, or compared on, some of the cases of larger parts.
    """

    rows: Codes
    model: Codes
    tree: Codes
    truth: Codes
    drawn: bool = False


def no_fidelity(why: str, level: float) -> Fidelity:
    """No tree, and why."""
    nothing = Share(math.nan, undefined=why)
    return Fidelity(nothing, nothing, math.nan, "", nothing, 0, "", level, undefined=why)


def measure_fidelity(
    folds: Sequence[FoldLikeness],
    labels: Sequence[object],
    plan: Dependence,
    *,
    level: float,
    tree: Node | None,
    grouped: bool = False,
    notes: tuple[str, ...] = (),
) -> Fidelity:
    """The agreement over all folds, each case counting once however often it was tested.

    >>> one = np.array([0, 1, 0, 1])
    >>> fold = FoldLikeness(np.arange(4), one, np.array([0, 1, 0, 0]), one)
    >>> found = measure_fidelity([fold], ["a", "b"], Dependence(4), level=0.95, tree=None)
    >>> found.agreement.value, found.commonest, found.beyond.value
    (0.75, 0.5, 0.5)
    """
    rows = np.concatenate([fold.rows for fold in folds])
    model, tree_answers, truth = (
        np.concatenate([getattr(fold, name) for fold in folds]) for name in ("model", "tree", "truth")
    )
    weight = 1 / np.bincount(rows)[rows]
    n = round(float(weight.sum()))
    answers = np.bincount(model, weights=weight, minlength=len(labels))
    commonest = float(answers.max() / weight.sum())

    def share(same: NDArray[np.bool_]) -> Share:
        # Summed over what differs, so that perfect agreement is exactly 1.
        value = 1.0 - float(weight @ ~same) / float(weight.sum())
        if plan.refused:
            return Share(value, undefined=plan.refused)
        if not grouped:
            ends = wilson_at(value, n / plan.factor, z_value(level))
            return Share(value, float(ends[0]), float(ends[1]))
        cuts = np.cumsum([len(fold.rows) for fold in folds])[:-1]
        means = np.array([float(part.mean()) for part in np.split(same, cuts)])
        if why := nothing_told(means):
            return Share(value, undefined=why)
        low, high = corrected_t(means, plan, level)
        return Share(value, max(0.0, low), min(1.0, high))

    agreement = share(model == tree_answers)
    method = "corrected-t" if grouped else f"wilson, n/{plan.factor:g}" if plan.factor != 1 else "wilson"
    return Fidelity(
        agreement, beyond_commonest(agreement, commonest), commonest, str(labels[int(answers.argmax())]),
        share(truth == tree_answers), n, method, level, tree, notes=notes,
    )  # fmt: skip


def beyond_commonest(agreement: Share, commonest: float) -> Share:
    """What of the cases that the commonest answer misses the tree gets; the share of that answer is taken as known.

    >>> round(beyond_commonest(Share(0.9, 0.8, 0.95), 0.6).value, 3)
    0.75
    """
    if commonest >= 1:
        return Share(math.nan, undefined="the model gives one prediction only, which any constant gives as well")
    value, low, high = ((end - commonest) / (1 - commonest) for end in (agreement.value, agreement.low, agreement.high))
    return Share(value, low, high, agreement.undefined)
