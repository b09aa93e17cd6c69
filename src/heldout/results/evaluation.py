"""The answer to "how good is it": counted evidence, every measure with its interval, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_whole, listing
from heldout.atomic_write import write_whole
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label, Ranking
from heldout.evidence.counted import Counted
from heldout.files.ledger import EarlierUses
from heldout.intervals.area_bounds import area_bounds
from heldout.intervals.case_bootstrap import CaseEstimator
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FoldEstimator
from heldout.intervals.fold_scores import FoldScores
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.measures.catalogue import find, is_imbalanced, read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import AVERAGES, Average, Quantity
from heldout.predictions.positive_class import fitted
from heldout.predictions.source import Source
from heldout.predictions.table import Predictions
from heldout.result import bound_late, look_again
from heldout.results.cases import Confused, HardCases, confused, hardest
from heldout.results.metrics import choose_estimates, list_metrics, write_document
from heldout.results.slices import Divided, Slices, choose_columns
from heldout.review import Reviewed
from heldout.show.blocks import Block
from heldout.show.numbers import number_of
from heldout.threads import cached_property

if TYPE_CHECKING:
    from heldout.curves import Curve, ThresholdTable
    from heldout.show.chart import Chart

# Squares of this many classes are written out in documents; larger ones list the cells that were met.
WRITTEN_CLASSES = 200
WRITTEN_PIXELS = 500


@dataclass(frozen=True, slots=True)
class LimitsSource:
    """What makes limits that each keep a level by themselves, of every quantity of an evaluation."""

    estimator: Estimator
    scores: ScoreEstimator | None
    cases: CaseEstimator
    costs: NDArray[np.float64] | None
    # The method that was asked for, None for the default.
    method: str | None = None

    def choose(self, quantity: Quantity) -> Estimator | ScoreEstimator | CaseEstimator:
        """What makes estimates of such a quantity."""
        if quantity.is_of_cases:
            return self.cases
        return quantity.check_scored(self.scores) if quantity.is_score else self.estimator

    def ask(self, quantity: Quantity, level: float) -> Estimate:
        """The quantity with these limits, for words such as "at least"."""
        # Gates ask at levels that were corrected for many slices.
        if check_level(level, derived=True) <= 0.5:
            raise OptionError(
                f"A one-sided limit needs a level above 0.5. Got {level:g}: it would lie beyond the value itself.",
                hint="leave level out for 0.95.",
            )
        estimator, two_sided = self.choose(quantity), 2 * level - 1
        if isinstance(estimator, CaseEstimator):
            return estimator.at_level(two_sided).ask(quantity, self.method)
        return replace(estimator, level=two_sided, one_sided=True).ask(quantity, self.method)

    def find(self, measure: str, class_: Label | None, average: Any, level: float) -> Estimate:
        """The same of what an estimate is about."""
        return self.ask(Quantity(find(measure, costs=self.costs), class_, average), level)


GIVE_SCORES = "pass score= (--score COLUMN)."


@dataclass(frozen=True, slots=True)
class Later:
    """Estimates that are made when they are first read, once, whichever thread reads them first."""

    make: Callable[[], tuple[Estimate, ...]]
    # The same thread would wait for itself for ever.
    lock: AbstractContextManager[Any] = field(default_factory=RLock)


class Measured(Reviewed):
    """A result of measures, of which some can be asked for, and which Weka has a layout for."""

    _weka_by: ClassVar[str] = "heldout.report.weka:weka_text"

    def chosen_blocks(self) -> list[Block]:
        """Only the estimates that were asked for."""
        return self._render("chosen")

    def chosen_page_blocks(self) -> list[Block]:
        """Only the estimates that were asked for, as a page."""
        return self._render("chosen page")

    def to_weka(self) -> str:
        """The report in Weka's layout, of all folds together: summary, detailed accuracy by class, confusion matrix."""
        return str(bound_late(self._weka_by)(self))


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Measured):
    """How good a classifier is, on these cases.

    Ask it for a number by name: `evaluation["accuracy"]`, `evaluation["macro f1"]`, `evaluation["recall[spam]"]`.

    >>> import heldout
    >>> judged = heldout.evaluate(matrix=[[50, 3], [5, 42]], labels=["no", "yes"])
    >>> print(judged["recall[yes]"])
    recall[yes] .894 [.774 – .954] (0.95 wilson, n = 47)
    >>> judged.positive
    'yes'
    """

    schema: ClassVar[str] = "heldout/evaluation@1"
    _rendered_by: ClassVar[str] = "heldout.report.evaluation:render_evaluation"
    _reviewed_by: ClassVar[str] = "heldout.findings.review:review_evaluation"
    _sliced_by: ClassVar[str] = "heldout.findings.slice_search:SliceSearch"
    _phrased_by: ClassVar[str] = "heldout.report.evaluation:write_verdict"
    _charts: ClassVar[Mapping[str, str]] = {
        "matrix": "heldout.report.evaluation_charts:draw_matrix",
        "intervals": "heldout.report.evaluation_charts:draw_measures",
    }
    _curves_by: ClassVar[str] = "heldout.report.evaluation_charts:list_charts"
    _curve_drawn_by: ClassVar[str] = "heldout.report.evaluation_charts:draw_curve"

    confusion: Confusion
    positive: Label | None
    estimates: tuple[Estimate, ...]
    estimator: Estimator = field(repr=False)
    notes: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    predictions: Predictions | None = field(default=None, repr=False)
    costs: NDArray[np.float64] | None = field(default=None, repr=False)
    scores: ScoreEstimator | None = field(default=None, repr=False)
    ignore: tuple[str, ...] = ()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    counted: Counted | None = field(default=None, repr=False)
    prevalence: float | None = None
    earlier: EarlierUses | None = field(default=None, repr=False)
    # Whether measures were named: then nothing else is shown, however it is written.
    asked: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self._trace(self.estimates)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        super().__setstate__(state)
        self._trace(self.estimates)

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet is looked for here.
        later: Later | None = vars(self).get("_later") if name == "estimates" else None
        if later is not None:
            with later.lock:
                if name not in vars(self):
                    object.__setattr__(self, name, self._trace(later.make()))
        # Another thread may have made them meanwhile.
        if name not in vars(self):
            return look_again(self, name)
        vars(self).pop("_later", None)
        return vars(self)[name]

    def __getstate__(self) -> object:
        # The estimates are stored, not what is needed to compute them.
        _ = self.estimates
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_later"} if isinstance(state, dict) else state

    def _describe(self) -> str:
        classes = number_of(len(self.labels), "class", "classes")
        return f"Evaluation of {number_of(self.confusion.n_cases, 'case')} of {classes}"

    @property
    def verdict(self) -> str:
        """Whether it beats the commonest class, or guessing, and how good it is where it matters."""
        return " ".join(bound_late(self._phrased_by)(self))

    @property
    def n(self) -> int | float:
        """The number of cases that were judged, or their weight."""
        return self.confusion.n

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.estimator.level

    @property
    def threshold(self) -> float | None:
        """The threshold at which the scores became predictions, if they did."""
        evidence = self.predictions if self.counted is None else self.counted
        return None if evidence is None else evidence.threshold

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.confusion.labels

    @property
    def independent(self) -> float:
        """The share of the cases that counts as independent: less than 1 where models of one plan predicted them."""
        plan = self.estimator.plan
        return 1.0 if plan is None else 0.0 if plan.refused else 1 / plan.factor

    def per_fold(self, name: str | Quantity) -> NDArray[np.float64]:
        """The value in every fold, nan where it is undefined there."""
        quantity = self._read(name).check_costs(self.costs).check_divisible("in single folds")
        source = quantity.check_scored(self.scores) if quantity.is_score else self.estimator
        if not isinstance(source, FoldEstimator | FoldScores):
            raise OptionError("The predictions do not come in folds.", hint="name the column with fold= (--fold).")
        return source.per_fold(quantity)

    def _read(self, name: str | Quantity) -> Quantity:
        """What is asked for by its name, of the positive class where it is of one; or what was read before."""
        if isinstance(name, Quantity):
            return name
        return read_quantity(name, self.labels, costs=self.costs).resolve(self.positive)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the true labels in their order, empty where only counts are known or rows were not kept."""
        return "" if self.predictions is None else self.predictions.fingerprint()

    @property
    def sliced(self) -> bool:
        """Whether columns were named that divide the cases."""
        return bool(self.slice_columns)

    @property
    def slice_columns(self) -> tuple[Divided, ...]:
        """The columns that divide the cases."""
        evidence = self.predictions if self.counted is None else self.counted
        return () if evidence is None else evidence.slices

    @cached_property
    def bounds(self) -> Mapping[str, Any]:
        """Between what the areas lie for certain, by measure; empty where every distinct score was kept.

        With a score for each class there is a pair of bounds for each.
        """
        return {} if self.scores is None else area_bounds(self.scores.evidence)

    @cached_property
    def _found_slices(self) -> dict[Any, Slices]:
        return {}

    @cached_property
    def _slice_search(self) -> Any:
        return bound_late(self._sliced_by)(self)

    def slices(self, measure: str | None = None, columns: str | Iterable[str] | None = None) -> Slices:
        """A measure in every slice of the cases, each against all other cases.

        By default it is the error rate, and with rare positives their recall.

        `columns` are some of those that divide the cases, by default all. Intervals are those of the whole on the
        cases of the slice; p-values are corrected for the number of slices.
        """
        chosen = choose_columns(self.slice_columns, columns)
        quantity = self._sliced_quantity(measure)
        key = ("slices", quantity.bound.name, quantity.class_, quantity.average, tuple(c.name for c in chosen))
        if key not in self._found_slices:
            slices = self._slice_search.of_columns(quantity, chosen, self._answer(quantity))
            self._found_slices[key] = self._like(slices)
        return self._found_slices[key]

    def worst_slices(self, measure: str | None = None, depth: int = 2, most: int = 10) -> Slices:
        """The slices of one column, and with `depth` 2 of two, in which most goes wrong beyond the rest."""
        chosen = choose_columns(self.slice_columns, None)
        quantity = self._sliced_quantity(measure)
        key = ("worst", quantity.bound.name, quantity.class_, quantity.average, depth, most)
        if key not in self._found_slices:
            whole = self._answer(quantity)
            slices = self._slice_search.worst(quantity, chosen, whole, depth=depth, most=most)
            self._found_slices[key] = self._like(slices)
        return self._found_slices[key]

    def _sliced_quantity(self, measure: str | None) -> Quantity:
        name = self._usual_sliced() if measure is None else measure
        return self._read(name).check_costs(self.costs).check_divisible("in slices")

    def _usual_sliced(self) -> str:
        """The error rate; with rare positives their recall, as few errors are made where nearly all is negative."""
        if self.positive is None or self.confusion.n_classes != 2:
            return "error_rate"
        cases = float(self.confusion.truth_totals[self.confusion.index(self.positive)])
        return "recall" if is_imbalanced(cases, float(self.confusion.n)) else "error_rate"

    def hardest(self, most: int = 20) -> HardCases:
        """The most confidently wrong cases and the hardest, at most so many of each, with their rows."""
        return self._like(hardest(self.predictions, most, kept=self.counted is None))

    def confused(self, most: int = 10) -> Confused:
        """The kinds of error that occur most, each as a share of its true class with an interval."""
        return self._like(confused(self.confusion, most, level=self.level, independent=self.independent))

    @cached_property
    def _case_estimator(self) -> CaseEstimator:
        """What makes estimates of one's own functions of the cases."""
        estimator, rows = self.estimator, None if self.counted is not None else self.predictions
        return CaseEstimator(rows, estimator.level, estimator.seed, estimator.replicates, estimator.plan)

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, Any, str | None], Estimate]:
        return {(e.measure, e.class_, e.average): e for e in self.estimates}

    @cached_property
    def _asked(self) -> dict[tuple[str, Any, str | None], Estimate]:
        """Those that were asked for one by one before all were made."""
        return {}

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of that name, computed now if it is not among those reported."""
        return self._traced(read_quantity(name, self.labels, costs=self.costs))

    def get(self, measure: str | Measure, *, class_: Label | None = None, average: Average | None = None) -> Estimate:
        """The estimate of a measure of one class, averaged ("macro", "micro", "weighted"), or of all cases."""
        if average is not None and average not in AVERAGES:
            raise OptionError(f"There is no average {average!r}.", hint=f"use one of: {listing(AVERAGES)}.")
        read = find(measure, costs=self.costs) if isinstance(measure, str) else read_quantity(measure).bound
        return self._traced(Quantity(read, class_, average))

    @property
    def _limits_source(self) -> LimitsSource:
        return LimitsSource(self.estimator, self.scores, self._case_estimator, self.costs)

    def _trace(self, estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
        """Let each ask for limits that keep their level by themselves, without this evaluation, which holds them."""
        if estimates:
            source = self._limits_source
            for e in estimates:
                # A copy of each would take longer than all else that is done with most of them.
                object.__setattr__(e, "one_sided", partial(source.find, e.measure, e.class_, e.average))
        return estimates

    def _traced(self, quantity: Quantity) -> Estimate:
        """The estimate, which can ask for limits that keep their level by themselves: gates and assertions do."""
        quantity = quantity.resolve(self.positive)
        return self._like(replace(self._answer(quantity), one_sided=partial(self._limits_source.ask, quantity)))

    def _answer(self, quantity: Quantity) -> Estimate:
        quantity = quantity.resolve(self.positive)
        # One number does not wait for all the others: it is the same by itself.
        later = "estimates" not in vars(self)
        known = self._asked if later else self._by_name
        estimate = known.get(quantity.key)
        if estimate is None and quantity.is_of_cases:
            estimate = self._case_estimator.ask(quantity)
        if estimate is None and quantity.is_score:
            estimate = quantity.check_scored(self.scores).ask(quantity)
        if estimate is None:
            estimate = self.estimator.ask(quantity.check_costs(self.costs))
        if later:
            self._asked[quantity.key] = estimate
        return self._like(estimate)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def interval(
        self,
        name: str,
        *,
        method: str | None = None,
        level: float | None = None,
        replicates: int | None = None,
        seed: int | None = None,
    ) -> Estimate:
        """The same quantity with another interval method, level or number of bootstrap replicates."""
        estimator = self.estimator
        changes: dict[str, Any] = {
            "level": check_level(estimator.level if level is None else level),
            "seed": estimator.seed if seed is None else check_whole("seed", seed, 0),
            "replicates": estimator.replicates if replicates is None else check_whole("replicates", replicates, 1),
        }
        quantity = self._read(name).check_costs(self.costs)
        scores = None if self.scores is None else replace(self.scores, **changes)
        source = LimitsSource(
            replace(estimator, **changes), scores, replace(self._case_estimator, **changes), self.costs, method
        )
        estimate = source.choose(quantity).ask(quantity, method)
        return self._like(replace(estimate, one_sided=partial(source.ask, quantity)))

    def one_sided(self, name: str | Quantity, level: float = 0.95) -> Estimate:
        """The same quantity with limits that each keep the level by themselves, for words such as "at least"."""
        quantity = self._read(name).resolve(self.positive).check_costs(self.costs)
        return self._limits_source.ask(quantity, level)

    @property
    def target(self) -> str:
        """Which error is estimated where the predictions come in folds; empty where they are of one model."""
        plan = self.estimator.plan
        return "" if plan is None else plan.target

    def rows(self) -> list[dict[str, object]]:
        """One row per estimate."""
        return [row for estimate in self.estimates for row in estimate.rows()]

    def facts(self) -> dict[str, object]:
        """What stands beside the estimates in the document."""
        return {
            "n": self.n,
            "positive": self.positive,
            "threshold": self.threshold,
            **({} if self.prevalence is None else {"prevalence": self.prevalence}),
            "confusion": self._confusion_document(),
            **({"target": self.target} if self.target else {}),
            "level": self.level,
            "seed": self.estimator.seed,
            "groups": None if self.confusion.clusters is None else self.confusion.clusters.number,
            "weighted": self.confusion.weighted,
            "fingerprint": self.fingerprint,
            "source": {"name": self.source.name, "columns": dict(self.source.columns)},
            "notes": list(self.notes),
            "curves": self._curve_documents(),
            **({"bounds": self.bounds} if self.bounds else {}),
            **({"slices": self.slices().rows()} if self.sliced else {}),
            **self.review.document(),
        }

    def _curve_documents(self) -> dict[str, object]:
        """The ROC and the precision-recall curve of the positive class, thinned to what a screen can show."""
        if self.scores is None or self.scores.evidence.per_class or self.positive is None:
            return {}
        from heldout.curves import precision_recall, roc, thinned
        from heldout.curves.thinning import shortened
        from heldout.curves.threshold_counts import between_points

        whole = self.ranking()
        short = shortened(whole)
        joined = len(whole) - len(short)
        drawn = {
            kind: thinned(draw(short, None, positive=self.positive), WRITTEN_PIXELS)
            for kind, draw in (("roc", roc), ("precision_recall", precision_recall))
        }
        known = {"between": said} if (said := between_points(whole)) else {}
        return {
            kind: {"points": curve.rows(), "left_out": curve.dropped + joined, **known} for kind, curve in drawn.items()
        }

    def _confusion_document(self) -> dict[str, object]:
        document: dict[str, object] = {"labels": list(self.labels), "rows": "truth"}
        if len(self.labels) <= WRITTEN_CLASSES:
            document["matrix"] = self.confusion.matrix.tolist()
            return document
        document["cells"] = {
            "truth": self.confusion.truth.tolist(),
            "predicted": self.confusion.predicted.tolist(),
            "count": self.confusion.counts.tolist(),
        }
        return document

    def ranking(self, class_: Label | None = None) -> Ranking:
        """The cases ranked by their score for a class, by default the positive one."""
        label = self.positive if class_ is None else class_
        if self.scores is None:
            raise OptionError("There is no ranking: no scores were given.", hint=GIVE_SCORES)
        if label is None or label not in self.labels:
            why = "No class was named, and none is positive." if label is None else f"There is no class {label!r}."
            raise OptionError(why, hint=f"name one, as in roc[{self.labels[0]}]: {listing(self.labels)}.")
        return self.scores.evidence.ranking(label)

    def curve(self, kind: str = "roc", class_: Label | None = None, **options: Any) -> Curve:
        """A curve over all thresholds: of a declared kind, or any count measure against the threshold."""
        from heldout.curves import measure_curve
        from heldout.curves.declare import find_curve, list_kinds

        name, bracket, inside = kind.partition("[")
        if bracket and inside.endswith("]") and class_ is None:
            kind, class_ = name, fitted([inside[:-1]], self.labels)[0]
        label = self.positive if class_ is None else class_
        ranking = self.ranking(class_)
        settings = {"positive": label, "level": self.level, "seed": self.estimator.seed}
        declared = find_curve(kind)
        if declared is not None:
            bins = None if self.scores is None else self.scores.evidence.bins
            if bins is not None:
                settings |= {"bins": bins.bins, "strategy": bins.strategy}
            if declared.name == "calibration" and self.scores is not None and label is not None:
                # Of scores in bins the middle is typical, and the lower edge is not.
                ranking = self.scores.evidence.typical(label)
            return self._like(without_false_band(self, declared.compute(ranking, settings, **options)))
        try:
            read_quantity(kind, self.labels)
        except OptionError:
            names = listing(name for declared in list_kinds() for name in (declared.name, *declared.aliases))
            raise OptionError(
                f"There is no curve {kind!r}. There are: {names}, and every measure of the counts.",
                hint="for example roc, or f1 for the F-score against the threshold.",
            ) from None
        return self._like(without_false_band(self, measure_curve(ranking, kind, **{**settings, **options})))

    @property
    def chart_kinds(self) -> tuple[str, ...]:
        """The curves that the scores allow, the confusion matrix, and the measures with their intervals."""
        return (*bound_late(self._curves_by)(self), *self._charts)

    def _draw(self, kind: str | None = None, **options: Any) -> Chart:
        wanted = self.chart_kinds[0] if kind is None else str(kind)
        if wanted in self._charts:
            return super()._draw(wanted, **options)
        # Beside the listed kinds there is every measure against the threshold.
        chart: Chart = bound_late(self._curve_drawn_by)(self, wanted, **options)
        return chart

    def threshold_table(
        self,
        thresholds: str | int | Iterable[float] = "distinct",
        measures: Sequence[str] = (),
        class_: Label | None = None,
    ) -> ThresholdTable:
        """TP, FP, TN, FN and rates at each threshold: at the distinct scores, at so many even steps, or at a list."""
        label = self.positive if class_ is None else class_
        from heldout.curves import threshold_table

        table = threshold_table(self.ranking(class_), thresholds, measures, level=self.level, positive=label)
        return self._like(table)

    def value(self, name: str | Quantity) -> float:
        """The value alone, without an interval, which may take long to compute; nan where it is undefined."""
        quantity = self._read(name).resolve(self.positive)
        if quantity.is_of_cases:
            return self._case_estimator.value(quantity)
        if quantity.is_score:
            return quantity.check_scored(self.scores).value(quantity)
        return self._answer(quantity).value

    def metrics(self, measures: str | Iterable[str] | None = None, prefix: str = "") -> dict[str, float]:
        """A flat dictionary of floats for MLflow, W&B, TensorBoard or DVC, with limits as `_low` and `_high`.

        It holds the measures that were asked for, or else the first ones of the page and precision, recall and F1 of
        the positive class or of each class; `measures` names others, "all" every one that was made. `prefix` stands
        before each name. An undefined value is nan, so that the names do not depend on the cases.
        """
        return {f"{prefix}n": float(self.n), **list_metrics(choose_estimates(self, measures), prefix)}

    def write_metrics(self, path: str | Path, measures: str | Iterable[str] | None = None) -> Path:
        """Write the flat dictionary as JSON, which `dvc metrics show` and DVCLive read."""
        return write_whole(path, write_document(self.metrics(measures)).encode("utf-8", errors="backslashreplace"))


def make_later(evaluation: Evaluation, make: Callable[[], tuple[Estimate, ...]]) -> Evaluation:
    """The evaluation with its estimates made when they are first read: often a single number is asked for by name."""
    vars(evaluation)["_later"] = Later(make)
    del vars(evaluation)["estimates"]
    return evaluation


def without_false_band(evaluation: Evaluation, curve: Curve) -> Curve:
    """The curve, without its band where cases were predicted several times: it takes each prediction as a case."""
    plan, rows = evaluation.estimator.plan, evaluation.predictions
    if curve.band is None or plan is None or rows is None or plan.n >= rows.n:
        return curve
    unknown = np.full(len(curve.x), np.nan)
    note = f"No band: {plan.n:,} cases were predicted {rows.n:,} times, and are not more for it."
    return replace(curve, band=None, low=unknown, high=unknown, notes=(*curve.notes, note))
