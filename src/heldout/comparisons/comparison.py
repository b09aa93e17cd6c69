"""The answer to "is A better than B": differences with intervals, tests, and a verdict in plain words."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self

from heldout.arguments import listing
from heldout.comparisons.best import Best
from heldout.comparisons.cases_needed import CasesNeeded
from heldout.comparisons.margins import Margin
from heldout.comparisons.optimal_ranges import OptimalRanges
from heldout.comparisons.pair_test import OmnibusTest, Setting
from heldout.comparisons.roc_pair import RocComparison
from heldout.errors import HeldoutError, OptionError
from heldout.evidence import Label
from heldout.files.ledger import EarlierUses
from heldout.intervals.estimate import Estimate, PairTest
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import name_quantity
from heldout.predictions.positive_class import fitted
from heldout.result import RenderedResult, bound_late, make_row
from heldout.results.evaluation import Evaluation
from heldout.review import Reviewed

Outcome = Literal["a", "b", "undecided", "same"]
Alike = Literal["", "answers", "scores"]


class Curves(ABC):
    """The ROC curves of a comparison, made when they are asked for."""

    @abstractmethod
    def pair(self, a: str, b: str) -> RocComparison:
        """The ROC curves of two classifiers."""

    def describe_crossing(self, a: str, b: str) -> str:  # noqa: ARG002 - one signature
        """Where two curves cross, in words; nothing where they do not, or where that takes too much to tell."""
        return ""

    @abstractmethod
    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All curves, and where each is best."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was measured of a method that somebody asked for by name, with figures."""

    method: str
    title: str


@dataclass(frozen=True, slots=True)
class Side:
    """One classifier by itself: the classes of its cases with their numbers, its accuracy, and what it costs.

    The cost is that of all cases where all judged as many, and otherwise that of a case; nan where there are no costs.
    """

    name: str
    classes: tuple[tuple[Label, float], ...] = ()
    accuracy: float = math.nan
    cost: float = math.nan


@dataclass(frozen=True, slots=True)
class Pair:
    """Two classifiers by one measure.

    `p` is corrected for the number of pairs, `tested.p` is not. `better` says which of them is better beyond doubt at
    the level asked for, "same" where there is no difference at all, "undecided" otherwise. `needed` is between
    how many cases would show it with 80 % power, by its interval or for the margin; `apart` are the numbers of cases
    that A alone and that B alone gets right, where both judged the same ones. `alike` says what both give
    alike in every case: answers, for a measure of answers, or scores. Over splits the values are means, and `pooled`
    those of all splits together. `together` are limits of the difference that hold for all pairs at once.
    """

    a: str
    b: str
    measure: str
    class_: Label | None
    average: str | None
    value_a: float
    value_b: float
    tested: PairTest
    p: float
    better: Outcome
    verdict: str
    needed: CasesNeeded | None = None
    margin: Margin | None = None
    apart: tuple[int, int] | None = None
    alike: Alike = ""
    pooled: tuple[float, float] | None = None
    together: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The measure as a person would ask for it."""
        return name_quantity(self.measure, self.class_, self.average)

    def row(self) -> dict[str, Any]:
        """One flat row."""
        t = self.tested
        head = make_row(
            self.measure, t.difference, t.low, t.high, class_=self.class_, average=self.average, level=t.level,
            method=t.method, n=t.n,
        )  # fmt: skip
        row = head | {
            "a": self.a,
            "b": self.b,
            "difference": t.difference,
            "value_a": self.value_a,
            "value_b": self.value_b,
            "statistic": t.statistic,
            "df": t.df,
            "p": t.p,
            "p_adjusted": self.p,
            "effect": t.effect,
            "effect_name": t.effect_name,
            "better": {"a": self.a, "b": self.b}.get(self.better, ""),
            "verdict": self.verdict,
            "cases_needed_low": None if self.needed is None else self.needed.low,
            "cases_needed_high": None if self.needed is None else self.needed.high,
            "undefined": t.undefined,
            "note": t.note,
        }
        if self.together is not None:
            row |= {"low_of_all_pairs": self.together[0], "high_of_all_pairs": self.together[1]}
        if self.pooled is not None:
            row |= {"pooled_a": self.pooled[0], "pooled_b": self.pooled[1]}
        if self.margin is not None:
            row |= {
                "margin": self.margin.margin,
                "margin_kind": self.margin.kind,
                "margin_outcome": self.margin.outcome,
            }
        return row


class ComparedPair(Protocol):
    """Two of those that were compared."""

    @property
    def a(self) -> str:
        """The name of the first."""

    @property
    def b(self) -> str:
        """The name of the second."""

    @property
    def p(self) -> float:
        """The p-value, corrected for the number of pairs."""

    @property
    def better(self) -> Outcome:
        """Which of the two is better beyond doubt: "a" or "b", or "undecided", or "same" where nothing differs."""

    @property
    def verdict(self) -> str:
        """What is said of the two in a sentence."""


class Comparison(RenderedResult):
    """What `compare` returns: who is better, with the same access however they were tested.

    Classifiers and learners on one data set are compared pair by pair (`PairwiseComparison`), three or more learners on
    many data sets by their ranks (`LearnerRanks`). Iterate over either for its pairs.

    >>> import heldout
    >>> truth = [0, 1, 1, 0, 1, 0]
    >>> heldout.compare([0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1], truth=truth, names=["a", "b"]).names
    ('a', 'b')
    """

    names: tuple[str, ...]
    pairs: tuple[ComparedPair, ...]
    level: float
    correction: str
    notes: tuple[str, ...]
    # Which may be the best, of three or more that were compared pair by pair.
    best: Best | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    @abstractmethod
    def p(self) -> float:
        """The p-value of the first pair; over many data sets, of all learners at once."""

    @abstractmethod
    def get(self, a: str, b: str) -> Any:
        """What is said of two of them."""

    @abstractmethod
    def __getitem__(self, measure: str) -> Any:
        """What is said of two by a measure."""

    @abstractmethod
    def models(self) -> ModelTable:
        """Models × measures: the table of a paper."""

    @abstractmethod
    def _with_notes(self, notes: Sequence[str]) -> Self:
        """The same with more notes before its own."""


@dataclass(frozen=True, repr=False, eq=False)
class PairwiseComparison(Comparison, Reviewed):
    """Two or more classifiers compared, pair by pair.

    `reason` says which procedure was taken and why, `correction` how the p-values were corrected for the number of
    pairs. `met` is what they have in common, `asked` the method that was named and `known` what was measured of it.
    Of the notes, `own` are about one of them each, with its name, and `shared` about how they meet. `best` says which
    may be the best, where all pairs of three or more were compared, and `earlier` what a ledger says of the cases.
    `judged` are the evaluations of the classifiers, where there are any.

    >>> import heldout
    >>> truth = [0, 1] * 30
    >>> new, old = heldout.evaluate(truth, truth), heldout.evaluate(truth, [0, 0, 0, 1] * 15)
    >>> compared = heldout.compare(new, old, names=["new", "old"])
    >>> print(compared["accuracy"].verdict)
    new is better than old: accuracy 1.000 against .750, a difference of .250 [.158, .372], p < .001.
    """

    schema: ClassVar[str] = "heldout/comparison@1"
    rows_name: ClassVar[str] = "comparisons"
    _rendered_by: ClassVar[str] = "heldout.report.comparison:render_comparison"
    _reviewed_by: ClassVar[str] = "heldout.findings.review:review_comparison"
    _turned_by: ClassVar[str] = "heldout.comparisons.turned_pair:turn_pair"
    _charts: ClassVar[Mapping[str, str]] = {
        "differences": "heldout.report.comparison:draw_differences",
        "roc": "heldout.report.comparison:draw_curves",
        "roc_difference": "heldout.report.comparison:draw_curve_difference",
        "cost_ranges": "heldout.report.comparison:draw_cost_ranges",
    }

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    setting: str
    reason: str
    level: float
    correction: str = ""
    omnibus: tuple[OmnibusTest, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    curves: Curves | None = field(default=None, repr=False)
    met: Setting | None = None
    asked: str = ""
    known: tuple[Known, ...] = ()
    sides: tuple[Side, ...] = field(default=(), repr=False)
    ignore: tuple[str, ...] = ()
    own: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    shared: tuple[str, ...] = field(default=(), repr=False)
    best: Best | None = None
    earlier: EarlierUses | None = field(default=None, repr=False)
    judged: tuple[Evaluation, ...] = field(default=(), repr=False, compare=False)

    def _parts(self) -> tuple[Best, ...]:
        return () if self.best is None else (self.best,)

    def _describe(self) -> str:
        return f"Comparison of {listing(self.names)} on {self.setting}"

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def _with_notes(self, notes: Sequence[str]) -> Self:
        return replace(self, notes=(*notes, *self.notes))

    def __getitem__(self, measure: str) -> Pair:
        """The comparison by a measure, where there are two classifiers."""
        pairs = [pair for pair in self.pairs if pair.name == measure or _same(pair, measure)]
        if len(pairs) == 1:
            return pairs[0]
        known = listing(dict.fromkeys(pair.name for pair in self.pairs))
        if not pairs:
            raise OptionError(f"There is no comparison by {measure!r}. There are: {known}.", hint="use one of these.")
        raise OptionError(
            f"{len(pairs)} pairs were compared by {measure!r}.", hint="use .get(a, b, measure) to name the pair."
        )

    def get(self, a: str, b: str, measure: str | None = None) -> Pair:
        """The comparison of two classifiers by a measure, by default the first one, in the order that is asked for."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {a, b} and (measure is None or pair.name == measure or _same(pair, measure)):
                turned: Pair = pair if pair.a == a else bound_late(self._turned_by)(pair)
                return turned
        raise OptionError(
            f"There is no comparison of {a!r} with {b!r}" + ("." if measure is None else f" by {measure!r}."),
            hint=f"there are: {listing(f'{p.a} with {p.b} by {p.name}' for p in self.pairs)}.",
        )

    def models(self) -> ModelTable:
        """Models × measures: each value with its interval, and which may be the best: the table of a paper."""
        keys = dict.fromkeys((pair.measure, pair.class_, pair.average) for pair in self.pairs)
        estimates = tuple(tuple(self._estimate(at, *key) for key in keys) for at in range(len(self.names)))
        return ModelTable(self.names, estimates, tuple(self._mark(key) for key in keys), self.setting, self.level)

    def _estimate(self, at: int, measure: str, class_: Label | None, average: str | None) -> Estimate:
        """The value of one classifier with its own interval; as it was compared, where it has none."""
        if self.judged:
            own = self.judged[at]
            known = None if class_ is None else fitted([class_], own.labels)[0]
            try:
                estimate = own.get(measure, class_=known, average=average)  # type: ignore[arg-type]
                if estimate.level != self.level:
                    estimate = own.interval(estimate.name, level=self.level)
            except HeldoutError:
                pass
            else:
                return replace(estimate, class_=class_)
        name = self.names[at]
        pairs = [p for p in self.pairs if (p.measure, p.class_, p.average) == (measure, class_, average)]
        values = (value for p in pairs for who, value in ((p.a, p.value_a), (p.b, p.value_b)) if who == name)
        nan = math.nan
        return Estimate(measure, class_, average, next(values, nan), nan, nan, self.level, "", pairs[0].tested.n)

    def _mark(self, key: tuple[str, Label | None, str | None]) -> frozenset[str]:
        """The names of those that may be the best by a measure; none where nobody is ruled out."""
        if self.best is not None:
            by = next((by for by in self.best.measures if (by.measure, by.class_, by.average) == key), None)
            return frozenset(by.may_be_best) if by is not None and by.not_best else frozenset()
        pairs = [p for p in self.pairs if (p.measure, p.class_, p.average) == key]
        told = pairs[0] if len(pairs) == 1 and pairs[0].better in ("a", "b") and len(self.names) == 2 else None
        return frozenset() if told is None else frozenset([told.a if told.better == "a" else told.b])

    def roc(self, a: str | None = None, b: str | None = None) -> RocComparison:
        """ROC curve against ROC curve: where one is above, where they cross, and how sure that is."""
        return self._like(self._curves().pair(a or self.names[0], b or self.names[1]))

    def optimal_ranges(self, prevalence: float | None = None) -> OptimalRanges:
        """Which classifier is cheapest in which range of costs, from the convex hull of all ROC curves."""
        return self._like(self._curves().ranges(prevalence))

    @property
    def chart_kinds(self) -> tuple[str, ...]:
        """The differences, and the ROC curves where there are scores of the same cases."""
        return tuple(self._charts) if self.curves is not None else ("differences",)

    def _curves(self) -> Curves:
        if self.curves is None:
            raise OptionError(
                "There are no ROC curves to compare here.",
                hint="give scores of two classes on the same cases (score=, --score).",
            )
        return self.curves

    @property
    def p(self) -> float:
        """The p-value of the first pair."""
        return self.pairs[0].p if self.pairs else math.nan

    @property
    def verdict(self) -> str:
        """Which may be the best, of three or more; the verdict on the first pair otherwise."""
        if self.best is not None and self.best.verdict:
            return self.best.verdict
        return self.pairs[0].verdict if self.pairs else ""

    def rows(self) -> list[dict[str, object]]:
        """One row per pair and measure."""
        return [pair.row() for pair in self.pairs]

    def facts(self) -> dict[str, object]:
        """What stands beside the comparisons in the document."""
        return {
            "models": list(self.names),
            "setting": self.setting,
            "reason": self.reason,
            "level": self.level,
            "correction": self.correction or None,
            "seed": self.seed,
            "omnibus": [
                {"method": t.method, "about": t.about, "statistic": t.statistic, "df": t.df, "p": t.p, "n": t.n}
                for t in self.omnibus
            ],
            "notes": list(self.notes),
            **({"best": self.best.to_dict()} if self.best is not None else {}),
            **self.review.document(),
        }


@dataclass(frozen=True, eq=False)
class ModelTable(RenderedResult):
    """Models × measures, each value with its interval; `marked` are the models that may be the best by each measure.

    Nobody is marked by a measure that rules nobody out.
    """

    schema: ClassVar[str] = "heldout/models@1"
    rows_name: ClassVar[str] = "models"
    _rendered_by: ClassVar[str] = "heldout.report.comparison:render_models"

    names: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]
    marked: tuple[frozenset[str], ...]
    setting: str
    level: float

    def __len__(self) -> int:
        return len(self.names)

    def rows(self) -> list[dict[str, object]]:
        """One row per model and measure."""
        return [
            {**e.rows()[0], "model": name, "may_be_best": name in best if best else None}
            for name, line in zip(self.names, self.estimates, strict=True)
            for e, best in zip(line, self.marked, strict=True)
        ]

    def facts(self) -> dict[str, object]:
        """What stands beside the rows."""
        return {"setting": self.setting, "level": self.level}


def _same(pair: Pair, measure: str) -> bool:
    try:
        asked = read_quantity(measure, [pair.class_] if pair.class_ is not None else [])
    except OptionError:
        return False
    alone = asked.class_ is None and asked.average is None
    return asked.bound.name == pair.measure and (alone or (asked.class_, asked.average) == (pair.class_, pair.average))


# The name of the values in a table of results whose measure is not given.
UNNAMED = "result"
