"""How a measure is declared: one pure formula with every fact about it beside it.

A formula names the counts it needs as arguments and returns a (numerator, denominator) pair, so that
"undefined" is exactly "the denominator is zero". It must be plain arithmetic: the same function is
evaluated on numbers, on arrays of resampled tables, and on complex numbers for its exact gradient.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, Required, TypedDict, Unpack, get_args

Kind = Literal[
    "proportion", "f", "ratio", "odds", "agreement", "cost", "ranking", "precision area", "loss", "calibration"
]
Direction = Literal["higher", "lower", "zero", "none"]
Scope = Literal["class", "table", "ranking", "pairs", "probability", "cases"]
Strata = Literal["", "truth", "predicted"]
Surface = Literal["screen", "page", "validation", "comparison", "card"]
# How bins bound a measure of a ranking: it grows with the ROC curve, so the best and the worst order inside the bins
# bound it ("orders"); it is the best of all thresholds, and those at the edges of the bins are among them ("edges").
Binned = Literal["orders", "edges"]
# How the folds of a resampling plan are put together: counts and losses of cases add up ("pooled"). Averages over pairs
# of cases are made in each fold and averaged ("mean"), because scores of two models are not on one scale: Forman &
# Scholz (2010). What is the best of all thresholds, a part of a curve, or depends on the share of positives is biased
# in small folds, and made once from the cases ranked within their folds ("ranks").
OverFolds = Literal["pooled", "mean", "ranks"]
# Why most measures are undefined where they are.
NO_CASES = "there are no cases"
Formula = Callable[..., tuple[Any, Any]]

# What the parameters of measures may be, by their names: the least, the largest, and whether the least is allowed.
PARAMETERS: Mapping[str, tuple[float, float, bool]] = {
    "beta": (0.0, math.inf, False),
    "w1": (0.0, math.inf, True),
    "w2": (0.0, math.inf, True),
    "w3": (0.0, math.inf, True),
    "w4": (0.0, math.inf, True),
    "low": (0.0, 1.0, True),
    "high": (0.0, 1.0, False),
    "share": (0.0, 1.0, False),
    "precision": (0.0, 1.0, False),
    "recall": (0.0, 1.0, False),
    "fpr": (0.0, 1.0, True),
    "quantile": (0.0, 1.0, False),
    "k": (1.0, math.inf, True),
}
INITIALS = {
    "roc": "ROC", "auc": "AUC", "pr": "PR", "tpr": "TPR", "fpr": "FPR", "brier": "Brier", "gini": "Gini",
    "jaccard": "Jaccard",
}  # fmt: skip
SYMBOLS = {
    "tp": "TP",
    "fp": "FP",
    "fn": "FN",
    "tn": "TN",
    "n": "n",
    "correct": "correct",
    "sqrt": "sqrt",
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The place of a measure among those that are shown first, and where it is shown; everywhere unless named."""

    place: int
    surfaces: tuple[Surface, ...] = get_args(Surface)


@dataclass(frozen=True, slots=True)
class Scaling:
    """A measure as slope · another measure + offset, whose intervals and bounds are those of the other, scaled."""

    measure: Measure
    slope: float = 1.0
    offset: float = 0.0

    def scale(self, pair: tuple[float, float]) -> tuple[float, float]:
        """A pair of limits of the other measure, on the scale of this one."""
        low, high = pair if self.slope > 0 else pair[::-1]
        return self.slope * low + self.offset, self.slope * high + self.offset


class Declared(TypedDict, total=False):
    """What a declaration says of a measure; what it leaves out is usual, as `Measure` has it."""

    symbol: Required[str]
    undefined: Required[str]
    reference: Required[str]
    kind: Kind
    scope: Scope
    aliases: tuple[str, ...]
    low: float
    high: float
    direction: Direction
    averages: bool
    strata: Strata
    overall: str
    total: str
    overlap: bool
    over_folds: OverFolds
    intervals: tuple[str, ...]
    component: str
    fold_interval: str
    binned: Binned | Callable[[Any], tuple[float, float]]
    scaling: Scaling | None
    headline: Headline | None
    reported: bool


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure and everything there is to know about it.

    `averages` allows macro, micro and weighted averages; `strata` says that the denominators of the classes share no
    case, and which margin they count; `overall` names the measure whose mean over the classes it is on a whole table;
    `total` names the measure whose mean over the cases grows into it with their number; `overlap` says that it is what
    the positives by truth and by prediction have in common; `over_folds` says how the folds of a plan are put together.

    Of measures of scores: `intervals` names the methods without resampling, the default first; `component` says which
    loss, distance or coefficient such a method is about; `fold_interval` names the method for the mean over folds;
    `binned` says how scores in bins bound it; `reported` whether it is reported without being asked for. `own` says
    that a person declared it, outside of the catalogue that comes with heldout.
    """

    name: str
    summary: str
    symbol: str
    aliases: tuple[str, ...] = ()
    kind: Kind = "proportion"
    scope: Scope = "class"
    low: float = 0.0
    high: float = 1.0
    direction: Direction = "higher"
    undefined: str
    reference: str
    averages: bool = False
    per_class: bool
    strata: Strata = ""
    overall: str = ""
    total: str = field(default="", repr=False)
    overlap: bool = field(default=False, repr=False)
    over_folds: OverFolds = "pooled"
    formula_text: str = ""
    function: Formula = field(repr=False)
    cells: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    intervals: tuple[str, ...] = field(default=(), repr=False)
    component: str = field(default="", repr=False)
    fold_interval: str = field(default="", repr=False)
    binned: Binned | Callable[[Any], tuple[float, float]] = field(default="orders", repr=False)
    scaling: Scaling | None = field(default=None, repr=False)
    headline: Headline | None = field(default=None, repr=False)
    reported: bool = field(default=False, repr=False)
    title_text: str = field(default="", repr=False)
    own: bool = field(default=False, repr=False)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # A declared measure stands where its function did, so it is copied and pickled by name.
        written = getattr(self.function, "function", self.function)
        module, name = written.__module__, getattr(written, "__name__", "")
        if self.own and getattr(sys.modules.get(module), name, None) is not self:
            # One that was made from a function which stands there itself.
            return super().__reduce__()
        return _declared, (module, name)

    def __hash__(self) -> int:
        # Parameters stand in a dictionary, which has no hash; the name tells enough.
        return hash((self.name, self.scope))

    def __call__(self, *cells: Any, **more: Any) -> Any:
        """The value for these counts, or whatever else the formula takes; nan where it is undefined.

        >>> from heldout.measures.counts import recall
        >>> float(recall(tp=9, fn=1))
        0.9
        """
        from heldout.measures.quantity import divide

        return divide(*self.function(*cells, **more))

    @property
    def scaled(self) -> Scaling:
        """The measure that intervals and bounds are made for, and how they become those of this one."""
        return self.scaling or Scaling(self)

    @cached_property
    def title(self) -> str:
        """The name as it is written in a sentence or a table."""
        return self.title_text or " ".join(INITIALS.get(word, word) for word in self.name.split("_"))

    @cached_property
    def formula(self) -> str:
        """The formula in the letters of a textbook, read from the code unless it was given."""
        return self.formula_text or _written(self.function)

    @cached_property
    def bounded(self) -> bool:
        """Whether it has a smallest and a largest value."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def of_commonest(self) -> bool:
        """Whether it is the share of the commonest class, which chance has a part in: no plain share of the cases."""
        return "commonest" in self.cells

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value it can take."""
        return self.low, self.high


def _declared(module: str, name: str) -> Measure:
    measure: Measure = getattr(import_module(module), name)
    return measure


def measure(
    *, formula: str = "", title: str = "", per_class: bool | None = None, **declared: Unpack[Declared]
) -> Callable[[Formula], Measure]:
    """Turn a formula into a measure, which explains what may be declared of it.

    `formula` and `title` are as they are printed, where that is not what the code and the name of the function say.

    >>> @measure(symbol="TPR", undefined="there are no actual positives", reference="", strata="truth")
    ... def recall(tp, fn):
    ...     '''Share of the actual positives that were found.'''
    ...     return tp, tp + fn
    >>> recall.formula, recall.summary
    ('TP / (TP + FN)', 'Share of the actual positives that were found.')
    """

    def declare(function: Formula) -> Measure:
        arguments = inspect.signature(function).parameters.values()
        return Measure(
            name=function.__name__,
            summary=(function.__doc__ or "").strip().splitlines()[0],
            per_class=declared.get("scope", "class") == "class" if per_class is None else per_class,
            formula_text=formula,
            function=function,
            cells=tuple(a.name for a in arguments if a.kind is a.POSITIONAL_OR_KEYWORD),
            parameters={a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY},
            title_text=title,
            **declared,
        )

    return declare


class _Letters(ast.NodeTransformer):
    """Writes tp as TP and so on."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=SYMBOLS.get(node.id, node.id), ctx=node.ctx)


def _written(function: Formula) -> str:
    return write_formula(ast.parse(textwrap.dedent(inspect.getsource(function))))


def write_formula(tree: ast.AST) -> str:
    r"""What the first return statement gives, in the letters of a textbook.

    >>> write_formula(ast.parse("def recall(tp, fn):\n    return tp, tp + fn"))
    'TP / (TP + FN)'
    """
    returned = next(node for node in ast.walk(tree) if isinstance(node, ast.Return))
    if returned.value is None:
        raise TypeError("a formula returns something")
    if not isinstance(returned.value, ast.Tuple):
        return ast.unparse(_Letters().visit(returned.value)).replace(" ** 2", "²").replace(" * ", " · ")
    top, bottom = (_Letters().visit(part) for part in returned.value.elts)
    return f"{_bracketed(top)} / {_bracketed(bottom)}"


def _bracketed(node: ast.expr) -> str:
    text = ast.unparse(node).replace(" ** 2", "²").replace(" * ", " · ")
    return f"({text})" if isinstance(node, ast.BinOp) else text


UNBOUNDED = math.inf
