"""From counted predictions to an evaluation: which measures, by which estimator, with which notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_prevalence, check_rows, check_whole, method_key
from heldout.costs import settle_costs
from heldout.engines.memory import count_folds
from heldout.engines.score_evidence import CountedScores, RowScores, ScoreEvidence
from heldout.errors import HeldoutError, OptionError
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted
from heldout.evidence.partitions import FoldCounts
from heldout.evidence.probability_bins import USUAL_BINS, BinChoice, check_bins
from heldout.intervals.area_bounds import bounds_note
from heldout.intervals.case_bootstrap import CaseEstimator
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.dependence import Dependence, counted_dependence
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FOLD_METHODS, FoldEstimator, FoldMethod, Rule
from heldout.intervals.fold_scores import FoldScores, refuse_one_model
from heldout.intervals.methods import METHODS, Method, find_method, unknown_method
from heldout.intervals.score_estimator import SCORE_SCOPES, ScoreEstimator
from heldout.intervals.score_methods import score_method_names
from heldout.measures.catalogue import (
    CATALOGUE,
    COUNTED,
    find,
    known_until_registered,
    name_measures,
    read_quantity,
    settle_usually,
)
from heldout.measures.declare import Measure
from heldout.measures.quantity import AVERAGES, Bound, Quantity, is_of_order
from heldout.predictions.positive_class import choose_positive, suspicions
from heldout.predictions.source import Source
from heldout.predictions.table import Predictions, disjoint_labels_note, dropped_note
from heldout.results.evaluation import Evaluation, make_later
from heldout.review import Limits
from heldout.threads import share_out


def counted_positive(counted: Counted, asked: Label | None, labels: Sequence[Label]) -> Label | None:
    """The positive class; scores that were counted for one class cannot be taken for those of another.

    >>> from heldout.evidence import Confusion
    >>> counted_positive(Counted(Confusion.of([[5, 1], [0, 4]], ["no", "yes"])), "no", ["no", "yes"])
    'no'
    """
    if asked is None:
        # Where only one class occurs, its usual opposite is not among the labels, so there is no positive class.
        return choose_positive(None, labels) if counted.positive is None or len(labels) < 2 else counted.positive
    positive = choose_positive(asked, labels)
    one_column = counted.scores is not None and not counted.scores.per_class
    if one_column and counted.positive is not None and positive != counted.positive:
        raise OptionError(
            f"The scores were counted as those of the class {counted.positive!r}, and {positive!r} was named as "
            "positive.",
            hint=f"leave out positive= (--positive), or count again with positive={positive!r}.",
        )
    return positive


def counted_notes(counted: Counted) -> list[str]:
    """Every sentence, in the order in which rows in memory would give them.

    >>> from heldout.evidence import Confusion
    >>> counted_notes(Counted(Confusion.of([[5, 1], [0, 4]]), rows=11, lost=1, missing={"truth": 1}))
    ['1 of 11 rows was dropped because of a missing value: truth in 1']
    """
    missing = {role: number for role, number in counted.missing.items() if number}
    dropped = [dropped_note(counted.lost, counted.rows, missing)] if counted.lost else []
    beside = dict.fromkeys(counted.notes)
    return [*beside, *dropped, *counted.joined_types, *_note_disjoint_labels(counted), *suspicions(_names(counted))]


def _names(counted: Counted) -> list[Label]:
    """The labels, without those that were named beforehand and never met."""
    if not counted.declared:
        return list(counted.labels)
    truth, predicted = _classes_met(counted.confusion)
    return [counted.labels[place] for place in np.flatnonzero(truth | predicted).tolist()]


def _classes_met(confusion: Confusion) -> list[NDArray[np.bool_]]:
    """Which classes are the true one of some case, and which the predicted one."""
    classes = []
    for side in (confusion.truth, confusion.predicted):
        marks = np.zeros(confusion.n_classes, dtype=np.bool_)
        marks[side] = True
        classes.append(marks)
    return classes


def _note_disjoint_labels(counted: Counted) -> list[str]:
    """That no label of the truth was predicted, where the predicted classes were given."""
    confusion = counted.confusion
    if counted.threshold is not None or confusion.n_cases < 2:
        return []
    sides = _classes_met(confusion)
    if (sides[0] & sides[1]).any():
        return []
    return [
        disjoint_labels_note(*([counted.labels[place] for place in np.flatnonzero(side).tolist()] for side in sides))
    ]


# Beyond this many classes the measures of one class whose interval needs draws are left for those who ask,
# and beyond this many all but the first three.
DRAWN_CLASSES = 100
LISTED_CLASSES = 1000
# With more classes than EVERY_CLASS only the LARGEST are listed: a report of a million would fill gigabytes.
EVERY_CLASS = 10_000
LARGEST = 1000
FIRST = ("precision", "recall", "f_score")
# Measures of the order of the scores.
RANKED = ("ranking", "pairs")


@dataclass(frozen=True)
class Settings:
    """What a person chose, apart from the data; the door that takes it checks it once."""

    positive: Label | None = None
    measures: str | Iterable[str] = "all"
    costs: Any = None
    cost_rows: str | None = None
    level: float = 0.95
    method: str | None = None
    seed: int = 0
    replicates: int = 2000
    ignore: tuple[str, ...] = ()
    limits: Limits = field(default_factory=dict)
    prevalence: float | None = None
    calibration_bins: int | None = None
    calibration_strategy: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """The settings among the options of a call."""
        given = {part.name: options[part.name] for part in fields(cls) if part.name in options}
        return cls(**given | ({"measures": name_measures(given["measures"])} if "measures" in given else {}))

    def __post_init__(self) -> None:
        # None is what other libraries say for all of them.
        names = "all" if self.measures is None else self.measures
        if not isinstance(names, str):
            if not isinstance(names, Iterable):
                raise OptionError(
                    f"measures are named, one or several. Got {names!r}.", hint="for example ['accuracy', 'macro f1']."
                )
            names = tuple(names)
        object.__setattr__(self, "measures", names)

    def checked(self) -> Settings:
        """The same settings, refused where a number makes no sense."""
        check_level(self.level)
        check_whole("seed", self.seed, 0)
        check_whole("replicates", self.replicates, 1)
        check_rows("cost_rows", self.cost_rows)
        if self.prevalence is not None:
            check_prevalence(self.prevalence)
        self.count_method()
        if self.bins is not None:
            check_bins(self.bins.bins, self.bins.strategy)
        return self

    @property
    def drawing(self) -> tuple[float, int, int]:
        """The level, the seed and the number of bootstrap replicates."""
        return self.level, self.seed, self.replicates

    @property
    def bins(self) -> BinChoice | None:
        """The bins of calibration errors and of the reliability diagram, where others than the usual were asked for."""
        if self.calibration_bins is None and self.calibration_strategy is None:
            return None
        number = USUAL_BINS if self.calibration_bins is None else self.calibration_bins
        return BinChoice(number, "uniform" if self.calibration_strategy is None else self.calibration_strategy)

    @property
    def ranked(self) -> bool:
        """Whether nothing was asked for but measures of the order of the scores, which need no threshold."""
        names = [self.measures] if isinstance(self.measures, str) else list(self.measures)
        if not names or "all" in names:
            return False
        try:
            return all(read_quantity(name).bound.measure.scope in RANKED for name in names)
        except HeldoutError:
            # A name that is no measure, or that needs the labels or the costs, is spoken of where it is looked up.
            return False

    def by_fold(self) -> FoldMethod | None:
        """The method that makes intervals from the values in single folds, if one was named."""
        return None if self.method is None else FOLD_METHODS.get(method_key(self.method))

    @property
    def nested(self) -> bool:
        """Whether intervals are to come from nested cross-validation, which needs a learner."""
        if self.method is None:
            return False
        from heldout.resampling.nested_cv import METHOD

        return method_key(self.method) == METHOD

    def count_method(self) -> Method | None:
        """The method for measures of counts; one that is for scores or folds alone leaves those to their defaults."""
        key = None if self.method is None or self.nested else method_key(self.method)
        if key is None or key in FOLD_METHODS or (key in score_method_names() and key not in METHODS):
            return None
        if key not in METHODS:
            raise unknown_method(str(self.method), [*METHODS, *FOLD_METHODS, "nested-cv", *score_method_names()])
        return find_method(key)


@dataclass(frozen=True)
class Folded:
    """What is known beyond the predictions where they were made by the models of a resampling plan."""

    plan: Dependence
    training: Confusion | None = None
    rule: Rule = "pooled"
    resubstituted: Predictions | None = None
    weight: float = 1.0


def judge(
    confusion: Confusion,
    predictions: Predictions | None,
    settings: Settings,
    *,
    source: Source,
    notes: Sequence[str] = (),
    folded: Folded | None = None,
    counted: Counted | None = None,
) -> Evaluation:
    """Every measure that was asked for, with its interval; `counted` stands for rows that were not kept."""
    if settings.nested:
        raise OptionError(
            f"The method {settings.method!r} fits a learner again, and there are only predictions.",
            hint="use heldout.validate (heldout validate) with a k-fold plan, or leave out the method.",
        )
    chosen = choose_positive(settings.positive, confusion.labels)
    if counted is not None:
        chosen = counted_positive(counted, settings.positive, confusion.labels)
        notes = [*notes, *counted_notes(counted)]
        folded = folded if counted.folds is None else Folded(counted_dependence(counted))
    if settings.prevalence is not None and chosen is None:
        raise OptionError(
            "The prevalence in use is that of the positive class, and no class is the positive one.",
            hint="name it with positive= (--positive), or leave out prevalence= (--prevalence).",
        )
    costs = None if settings.costs is None else settle_costs(settings.costs, confusion.labels, settings.cost_rows)
    later = settings.measures == "all" and folded is None and not _has_own_measures()
    estimator = _count_estimator(confusion, _folds(predictions, counted, confusion), settings, folded)
    estimator.check()
    evidence = _score_evidence(predictions, counted, settings.bins)
    scored = None if evidence is None else _score_estimator(evidence, chosen, settings, folded)
    if settings.by_fold() is not None and folded is None:
        raise OptionError(
            f"The method {settings.method!r} needs folds, and there are none.",
            hint="name the column of folds with fold= (--fold), or leave out the method.",
        )
    if settings.method is not None and settings.count_method() is None and settings.by_fold() is None:
        _one_model(estimator, settings.method)
    rows = CaseEstimator(None if counted is not None else predictions, *settings.drawing, estimator.plan)
    make = partial(_estimates, estimator, scored, rows, chosen, costs, settings)
    estimates = () if later else make()
    remarks = list(notes)
    if settings.measures == "all" and evidence is not None:
        why = evidence.not_probability
        remarks += [f"{why}, so losses and calibration are left out: they need probabilities"] if why else []
    if settings.bins is not None and evidence is not None and evidence.probabilities is not None:
        remarks.append(f"calibration errors and the parts of the Brier score are of {settings.bins}")
    # Of rows every distinct score is known, so there is nothing to say.
    if counted is not None and evidence is not None and _is_ranked(scored if later else None, estimates):
        remarks += filter(None, [bounds_note(evidence)])
    if settings.measures == "all" and confusion.n_classes > DRAWN_CLASSES:
        remarks.append(_shortened(confusion.n_classes))
    evaluation = Evaluation(
        confusion,
        chosen,
        estimates,
        estimator,
        tuple(remarks),
        source,
        predictions,
        costs,
        scored,
        settings.ignore,
        settings.limits,
        counted,
        settings.prevalence,
        asked=settings.measures != "all",
    )
    # With as many threads as are asked for now, whenever it is made.
    return make_later(evaluation, partial(copy_context().run, make)) if later else evaluation


def _is_ranked(scored: ScoreEstimator | None, estimates: Sequence[Estimate]) -> bool:
    """Whether a measure of the order of the scores is among the estimates, or will be among those of all measures."""
    if scored is not None:
        return any(quantity.bound.measure.scope in RANKED for quantity in scored.reported())
    return any(find(name).measure.scope in RANKED for name in {estimate.measure for estimate in estimates})


def _has_own_measures() -> bool:
    """Whether a person declared a measure: it may fail, and is to fail where it was asked for."""
    return any(measure.own for measure in CATALOGUE.values())


def _one_model(estimator: Estimator, method: str) -> None:
    """Refuse a method that takes all scores as those of one model where each fold has its own."""
    if isinstance(estimator, FoldEstimator) and estimator.folds is not None and len(estimator.folds) > 1:
        raise refuse_one_model(method)


def _folds(predictions: Predictions | None, counted: Counted | None, confusion: Confusion) -> FoldCounts | None:
    """The counts of every fold, where the predictions come in folds."""
    if counted is not None:
        return counted.folds
    if predictions is None or predictions.fold is None:
        return None
    return count_folds(predictions, confusion.labels)


def _score_evidence(
    predictions: Predictions | None, counted: Counted | None, bins: BinChoice | None
) -> ScoreEvidence | None:
    """What the scores tell, where there are any: from rows, or from counts of them."""
    if counted is not None:
        return None if counted.scores is None else CountedScores.of(counted, bins)
    if predictions is None or predictions.scores is None:
        return None
    return RowScores(predictions, predictions.labels, bins)


def _count_estimator(
    confusion: Confusion, folds: FoldCounts | None, settings: Settings, folded: Folded | None
) -> Estimator:
    common = confusion, settings.level, settings.seed, settings.replicates, settings.count_method()
    if folded is None or folds is None:
        return Estimator(*common)
    return FoldEstimator(
        *common,
        plan=folded.plan,
        folds=folds,
        training=folded.training,
        rule=folded.rule,
        fold_method=settings.by_fold(),
    )


def _score_estimator(
    evidence: ScoreEvidence, positive: Label | None, settings: Settings, folded: Folded | None
) -> ScoreEstimator:
    arguments = evidence, positive, settings.level, settings.seed, settings.replicates
    if folded is None:
        return ScoreEstimator(*arguments, settings.method)
    again = folded.resubstituted
    return FoldScores(
        *arguments,
        # Of losses and calibration, which are pooled; a method over folds is asked for by itself.
        settings.method if settings.by_fold() is None else None,
        plan=folded.plan,
        rule=folded.rule,
        fold_method=settings.by_fold(),
        resubstituted=None if again is None else ScoreEstimator(RowScores(again, again.labels), positive),
        weight=folded.weight,
    )


def _estimates(
    estimator: Estimator,
    scored: ScoreEstimator | None,
    rows: CaseEstimator,
    positive: Label | None,
    costs: Any,
    settings: Settings,
) -> tuple[Estimate, ...]:
    measures, method = settings.measures, settings.method
    if measures == "all":
        return (*_all(estimator, costs), *(() if scored is None else scored.every()), *rows.every())
    names = [measures] if isinstance(measures, str) else list(measures)
    estimates: list[Estimate] = []
    for name in names:
        quantity = read_quantity(name, estimator.confusion.labels, costs=costs)
        measure = quantity.bound.measure
        if quantity.is_of_cases:
            estimates.append(rows.ask(quantity, method))
            continue
        if measure.scope in SCORE_SCOPES:
            estimates.append(_score(scored, quantity, positive, method))
            continue
        quantity.check_costs(costs)
        if method is not None and estimator.method is None and settings.by_fold() is None:
            raise OptionError(
                f"The method {method!r} does not apply to {quantity.bound.name}.", hint="it is for measures of scores."
            )
        alone = quantity.class_ is None and quantity.average is None
        if alone and measure.scope == "class" and not measure.overall and positive is None:
            # A measure of one class, with no class named: all of them.
            estimates += estimator.classes(quantity.bound, method)
        else:
            estimates.append(estimator.ask(quantity.resolve(positive), method))
    return tuple(estimates)


def _score(scored: ScoreEstimator | None, quantity: Quantity, positive: Label | None, method: str | None) -> Estimate:
    return quantity.check_scored(scored).ask(quantity.resolve(positive), method)


def _all(estimator: Estimator, costs: Any) -> list[Estimate]:
    confusion = estimator.confusion
    k = confusion.n_classes
    ordered = k > 2 and not any(issubclass(kind, str) for kind in set(map(type, confusion.labels)))
    among = None if k <= EVERY_CLASS else confusion.largest(LARGEST)
    bounds = list(_usual()) if costs is None else _bounds(costs)
    if k <= LISTED_CLASSES:
        estimator.settle(bounds)
    quantities: list[Quantity] = []
    # By measure, because its averages share what was drawn; listed by kind.
    for bound in bounds:
        measure = bound.measure
        if (measure.scope == "table" or measure.overall) and (ordered or not is_of_order(measure)):
            quantities.append(Quantity(bound))
        if k > 1 and measure.averages:
            quantities += [Quantity(bound, average=average) for average in AVERAGES]
    # Of many classes nothing is drawn at random, and what is asked is worth a thread.
    shared = k > DRAWN_CLASSES
    estimates = share_out(estimator.ask, quantities) if shared else [*map(estimator.ask, quantities)]
    listed = [
        estimate
        for average in (None, *AVERAGES)
        for quantity, estimate in zip(quantities, estimates, strict=True)
        if quantity.average == average
    ]
    for bound in bounds:
        if bound.measure.per_class and _listed(bound.measure, k):
            listed += estimator.classes(bound, among=among)
    return listed


def _listed(measure: Measure, k: int) -> bool:
    if k > LISTED_CLASSES:
        return measure.name in FIRST
    return k <= DRAWN_CLASSES or measure.kind != "agreement"


def _shortened(k: int) -> str:
    whose = "each class" if k <= EVERY_CLASS else f"the {LARGEST:,} largest"
    what = (
        f"only precision, recall and F of {whose} are listed"
        if k > LISTED_CLASSES
        else "measures of one class whose interval needs random draws are not listed"
    )
    return f"with {k:,} classes {what}; any other can be asked for by name"


@known_until_registered
def _usual() -> tuple[Bound, ...]:
    return tuple(_bounds(None))


def _bounds(costs: Any) -> list[Bound]:
    return settle_usually(COUNTED.values(), costs)
