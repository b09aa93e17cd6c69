"""The answer to "how good will it be": a learner judged on cases that it was not trained on, by a plan."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, suggest
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.intervals.dependence import count_cases
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FoldEstimator
from heldout.intervals.proportion import wilson
from heldout.learners.problem import Problem
from heldout.measures.catalogue import read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import Average
from heldout.plans.plan import Plan
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.source import Source
from heldout.resampling.nested_cv import NESTED_MEASURES, NestedCV, NestedEstimator, replace_estimate
from heldout.resampling.outcome import Run
from heldout.resampling.run_evidence import Optimism, collect_predictions, find_dependence
from heldout.results.evaluation import Evaluation, Measured
from heldout.results.evaluation_builder import Folded, Settings, judge
from heldout.results.metrics import name_metric
from heldout.show.chart import Chart
from heldout.threads import cached_property

NO_TRAINING_PREDICTIONS = "there are no predictions of training cases"


def overfitting_gap(test: Estimate, training_error: float, training_cases: int, level: float) -> Estimate:
    """The error on test cases less that on training cases.

    The limits come from those of the two errors (Zou & Donner, 2008: the variance is recovered from each interval), as
    if the two were independent; they share cases, which makes the interval a little wide.

    >>> error = Estimate("error_rate", None, None, 0.2, 0.15, 0.26, 0.95, "wilson", 200)
    >>> gap = overfitting_gap(error, 0.05, 1000, 0.95)
    >>> print(f"{gap.value:.3f} {gap.low:.3f} {gap.high:.3f}")
    0.150 0.098 0.211
    """
    value = test.value - training_error
    low = high = math.nan
    if training_cases and not math.isnan(test.low):
        best, worst = (float(x) for x in wilson(training_error * training_cases, training_cases, level))
        low = value - math.hypot(test.value - test.low, worst - training_error)
        high = value + math.hypot(test.high - test.value, training_error - best)
    return Estimate(
        "overfitting_gap", None, None, value, low, high, level, "mover", test.n,
        NO_TRAINING_PREDICTIONS if math.isnan(value) else "",
    )  # fmt: skip


GROUPED = (
    "the rows come in groups, and no interval of this rule is known that takes whole groups as the cases; use 10-fold"
)


@dataclass(frozen=True)
class Judging:
    """What the measures of a run are made by, beside the run itself.

    `resubstituted` is the run of one model on the cases it was trained on, where the plan corrects by it, and `nested`
    what nested cross-validation found, where it gives the intervals.
    """

    settings: Settings
    resubstituted: Run | None = None
    nested: NestedCV | None = None


def evaluate_run(
    run: Run, problem: Problem, plan: Plan, judging: Judging, training: Confusion | None, optimism: Optimism | None
) -> Evaluation:
    """Every measure of a run, put together over its splits."""
    settings, again = judging.settings, judging.resubstituted
    positive = choose_positive(settings.positive, problem.labels)
    predictions = collect_predictions(run, problem, positive)
    refused = "" if optimism is None else optimism.refused
    if optimism is not None and problem.group is not None:
        refused = GROUPED
    if optimism is not None:
        confusion = optimism.table
    else:
        # Efron's leave-one-out bootstrap: every case has the same weight, however often it was left out.
        confusion = count_cases(predictions, once=plan.judging.kind == "bootstrap")
    folded = Folded(
        find_dependence(plan, run, refused),
        training,
        plan.correction or "pooled",
        None if again is None else collect_predictions(again, problem, positive),
        1.0 if optimism is None else optimism.weight,
    )
    source = Source(Path(problem.source).name)
    return with_nested(judge(confusion, predictions, settings, source=source, folded=folded), judging.nested)


def with_nested(evaluation: Evaluation, nested: NestedCV | None) -> Evaluation:
    """The evaluation with the error and the accuracy of nested cross-validation; all else stays."""
    usual = evaluation.estimator
    if nested is None or nested.undefined or not isinstance(usual, FoldEstimator):
        return evaluation
    # Asked for later, by name or at another level, they are the same.
    estimator = NestedEstimator(**{part.name: getattr(usual, part.name) for part in fields(usual)}, found=nested)
    estimates = tuple(
        replace_estimate(e, nested, e.level)
        if e.measure in NESTED_MEASURES and e.class_ is None and e.average is None
        else e
        for e in evaluation.estimates
    )
    return replace(evaluation, estimates=estimates, estimator=estimator)


@dataclass(frozen=True, slots=True)
class FoldLine:
    """One split: what it is called, its sizes, a few values, and how long the fit took."""

    name: str
    train: int
    test: int
    values: tuple[tuple[str, float], ...]
    seconds: float


class Validations(Measured):
    """What `validate` returns: one learner or several, judged by the same splits, with the same access to either.

    Iterate over it for the `Validation` of each learner, or ask for one by its name: `validations["tree"]`. Of one
    learner it is that `Validation`, which knows every number by name: `validations["accuracy"]`.

    >>> import heldout
    >>> features, truth = [[0.1], [0.4], [0.3], [0.2], [0.6], [0.8]] * 10, [0, 0, 0, 1, 1, 1] * 10
    >>> both = heldout.validate(["naive-bayes", "majority"], features, truth, plan="5-fold")
    >>> [(one.learner, round(float(one["accuracy"]), 2)) for one in both]
    [('naive-bayes', 0.83), ('majority', 0.5)]
    """

    schema: ClassVar[str] = "heldout/validation@1"
    # The document holds the rows of each learner under "validations".
    rows_name: ClassVar[str] = ""

    @property
    @abstractmethod
    def held(self) -> tuple[Validation, ...]:
        """The validation of each learner."""

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of the learners."""
        return tuple(validation.learner for validation in self.held)

    def __iter__(self) -> Iterator[Validation]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, name: str) -> Any:
        """The validation of the learner of that name; of one learner also the estimate of that name."""
        by_name = {validation.learner: validation for validation in self.held}
        if name in by_name:
            return by_name[name]
        if len(self.held) == 1:
            return self.held[0].evaluation[name]
        try:
            read_quantity(str(name).partition("[")[0])
        except OptionError:
            hint = suggest(name, by_name)
        else:
            hint = f"say of which learner: validations[{self.learners[0]!r}][{name!r}]."
        raise OptionError(f"There is no learner {name!r} here. There are: {listing(by_name)}.", hint=hint)

    @property
    def only(self) -> Validation:
        """The validation, where there is one learner; refused where there are several."""
        if len(self.held) != 1:
            raise OptionError(
                f"There are {len(self.held)} learners: {listing(self.learners)}.",
                hint=f"name one of them: validations[{self.learners[0]!r}].",
            )
        return self.held[0]

    @property
    def evaluation(self) -> Evaluation:
        """Every measure of the one learner, put together over the splits."""
        return self.only.evaluation

    def get(self, measure: str | Measure, *, class_: Any = None, average: Average | None = None) -> Estimate:
        """The estimate of a measure of one class, averaged, or of all cases, of the one learner."""
        return self.evaluation.get(measure, class_=class_, average=average)

    def interval(
        self,
        name: str,
        *,
        method: str | None = None,
        level: float | None = None,
        replicates: int | None = None,
        seed: int | None = None,
    ) -> Estimate:
        """The same quantity of the one learner with another interval method, level or number of replicates."""
        return self.evaluation.interval(name, method=method, level=level, replicates=replicates, seed=seed)

    def metrics(self, measures: str | Iterable[str] | None = None, prefix: str = "") -> dict[str, float]:
        """A flat dictionary of floats for trackers, as that of an evaluation; of several learners with their names."""
        if len(self.held) == 1:
            return self.evaluation.metrics(measures, prefix)
        figures: dict[str, float] = {}
        for validation in self.held:
            figures |= validation.evaluation.metrics(measures, f"{prefix}{name_metric(validation.learner)}_")
        return figures

    def per_fold(self, name: str) -> NDArray[np.float64]:
        """The value in every split of the one learner that was finished, nan where it is undefined there."""
        return self.evaluation.per_fold(name)

    @property
    def confusion(self) -> Confusion:
        """The counts of the one learner, every case once."""
        return self.evaluation.confusion

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether all ran to the end, without being interrupted."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether every split of every learner gave predictions."""

    @property
    def verdict(self) -> str:
        """What the evaluation of each learner says."""
        if len(self.held) == 1:
            return self.evaluation.verdict
        return "\n".join(f"{validation.learner}: {validation.verdict}" for validation in self.held)

    def rows(self) -> list[dict[str, object]]:
        """One row per estimate and learner."""
        return [row for validation in self.held for row in validation.rows()]


@dataclass(frozen=True, repr=False, eq=False)
class Validation(Validations):
    """How good a learner is, by the splits of a plan.

    Ask it for a number by name, as an evaluation: `validation["accuracy"]`, `validation["roc_auc"]`. The evaluation is
    made when it is first asked for.

    >>> import heldout
    >>> features, truth = [[0.1], [0.4], [0.3], [0.2], [0.6], [0.8]] * 10, [0, 0, 0, 1, 1, 1] * 10
    >>> validation = heldout.validate("naive-bayes", features, truth, plan="5-fold")
    >>> print(f"{float(validation['accuracy']):.3f}", validation.plan)
    0.833 5-fold
    """

    _rendered_by: ClassVar[str] = "heldout.report.validation:render_validation"
    _reviewed_by: ClassVar[str] = "heldout.findings.review:review_validation"
    _charts: ClassVar[Mapping[str, str]] = {"splits": "heldout.report.validation:draw_splits"}

    learner: str
    plan: Plan
    run: Run = field(repr=False)
    problem: Problem = field(repr=False)
    judging: Judging = field(repr=False)
    training: Confusion | None = field(default=None, repr=False)
    optimism: Optimism | None = None
    notes: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def _describe(self) -> str:
        return f"Validation of {self.learner} by {self.plan.text}, {self.problem.n:,} cases"

    @property
    def held(self) -> tuple[Validation, ...]:
        """Itself."""
        return (self,)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Every measure, put together over the splits by the rule that fits it."""
        evaluation = evaluate_run(self.run, self.problem, self.plan, self.judging, self.training, self.optimism)
        return self._like(evaluation)

    @property
    def chart_kinds(self) -> tuple[str, ...]:
        """The values in the splits, and all that the evaluation over them can be drawn as."""
        return (*self._charts, *self.evaluation.chart_kinds)

    def _draw(self, kind: str | None = None, **options: Any) -> Chart:
        if kind is None or kind in self._charts:
            return super()._draw(kind, **options)
        return self.evaluation._draw(kind, **options)  # noqa: SLF001 - the same contract

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the splits and of the cases' classes: results with the same one may be paired."""
        digest = hashlib.blake2b(self.run.splits.fingerprint.encode(), digest_size=8)
        problem = self.problem
        digest.update("\x1f".join(map(str, problem.labels)).encode("utf-8", "surrogatepass"))
        for rows in (problem.truth, problem.group, problem.kept):
            digest.update(b"|" if rows is None else np.ascontiguousarray(rows, dtype="<i8").tobytes())
        return digest.hexdigest()

    @property
    def complete(self) -> bool:
        """Whether every split gave predictions."""
        return self.run.complete and not self.run.failures

    @property
    def finished(self) -> bool:
        """Whether it ran to the end, without being interrupted."""
        return self.run.complete

    @property
    def level(self) -> float:
        """The level of the intervals of all measures."""
        return self.evaluation.level

    @cached_property
    def gap(self) -> Estimate:
        """The overfitting gap: the error on test cases less that on training cases."""
        error = self.evaluation["error_rate"]
        if self.optimism is not None:
            return overfitting_gap(error, self.optimism.training, self.problem.n, self.level)
        if self.training is None:
            return overfitting_gap(error, math.nan, 0, self.level)
        wrong = 1 - float(self.training.hits.sum()) / float(self.training.n)
        cases = len(np.unique(self.run.training_rows))
        return overfitting_gap(error, wrong, cases, self.level)

    @cached_property
    def distinct_share(self) -> float:
        """The mean share of the cases that a training set holds: 0.632 for the bootstrap."""
        # A bootstrap tests exactly the cases that it did not draw.
        splits = self.run.splits
        return 1 - float(splits.sizes.mean()) / splits.n

    @cached_property
    def folds(self) -> tuple[FoldLine, ...]:
        """What came out of each split: its cases, a few measures, and the time it took."""
        run, splits = self.run, self.run.splits
        shown = ["accuracy", "f1" if self.evaluation.positive is not None else "macro f1"]
        values = [self.per_fold(name) for name in shown]
        fits = run.fit_seconds if run.fit_seconds is not None else np.full(len(run.finished), math.nan)
        return tuple(
            FoldLine(
                splits.label(split),
                int(splits.train_sizes[split]),
                int(splits.sizes[split]),
                tuple(zip(shown, (float(v[at]) for v in values), strict=True)),
                float(fits[at]),
            )
            for at, split in enumerate(run.finished.tolist())
        )

    def prediction_rows(self) -> list[dict[str, object]]:
        """One row per prediction: the row of the case, its fold, truth, predicted class, and scores."""
        run, labels = self.run, self.problem.labels
        truth = [labels[code] for code in self.problem.truth[run.rows].tolist()]
        predicted = [labels[code] for code in run.predicted.tolist()]
        # Numbers of the rows as they were read, counted from 0, whatever was dropped since.
        rows_read = run.rows if self.problem.kept is None else self.problem.kept[run.rows]
        rows: list[dict[str, object]] = [
            {"row": row, "fold": fold + 1, "truth": t, "predicted": p}
            for row, fold, t, p in zip(rows_read.tolist(), run.fold.tolist(), truth, predicted, strict=True)
        ]
        if run.scores is not None:
            kind = "p" if run.score_kind == "probability" else "score"
            columns = run.scores[:, None] if run.scores.ndim == 1 else run.scores
            names = [labels[-1]] if run.scores.ndim == 1 else list(labels)
            for row, values in zip(rows, columns.tolist(), strict=True):
                row |= {f"{kind}_{name}": value for name, value in zip(names, values, strict=True)}
        return rows

    def predictions_csv(self) -> str:
        """The predictions as the text of a CSV file, which `heldout evaluate --fold fold` reads."""
        predictions = self.prediction_rows()
        out = io.StringIO()
        writer = csv.DictWriter(out, list(predictions[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(predictions)
        return out.getvalue().removesuffix("\n")

    def rows(self) -> list[dict[str, object]]:
        """One row per estimate, and the overfitting gap."""
        named = {"learner": self.learner, "plan": self.plan.text}
        rows = [row | named for row in self.evaluation.rows()]
        return rows if math.isnan(self.gap.value) else [*rows, *(row | named for row in self.gap.rows())]

    def document(self) -> dict[str, object]:
        """The evaluation as it stands in the document, with its learner and its plan."""
        run = self.run
        facts = {key: value for key, value in self.evaluation.facts().items() if key != "fingerprint"}
        return {
            "learner": self.learner,
            "plan": self.plan.text,
            **facts,
            "notes": [*self.problem.notes, *self.notes, *self.evaluation.notes, *run.warnings],
            "splits": len(run.splits),
            "finished": len(run.finished),
            "complete": self.complete,
            "fingerprint": self.fingerprint,
            "shortcut": run.shortcut,
            "target": self.plan.target,
            "failures": [{"where": f.where, "message": f.message} for f in run.failures],
            "chosen": list(run.chosen),
            **self.review.document(),
            "optimism": None
            if self.optimism is None
            else {
                name: getattr(self.optimism, name)
                for name in ("rule", "training", "out_of_bag", "no_information", "overfitting", "weight")
            },
            "estimates": [*self.evaluation.rows(), *self.gap.rows()],
        }

    def facts(self) -> dict[str, object]:
        """The document: one learner."""
        return {"validations": [self.document()]}


@dataclass(frozen=True, repr=False, eq=False)
class SeveralValidations(Validations):
    """Several learners judged by the same splits.

    `missing` names those that were not begun because somebody interrupted.
    """

    _rendered_by: ClassVar[str] = "heldout.report.validation:render_validations"
    _reviewed_by: ClassVar[str] = "heldout.findings.review:review_validations"
    _charts: ClassVar[Mapping[str, str]] = {"learners": "heldout.report.validation:draw_learners"}

    parts: tuple[Validation, ...]
    missing: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[Validation, ...]:
        """The validation of each learner, in the order they were given."""
        return self.parts

    def _parts(self) -> tuple[Validation, ...]:
        return self.parts

    def _describe(self) -> str:
        return f"Validations of {listing(self.learners)}"

    @property
    def complete(self) -> bool:
        """Whether every split of every learner gave predictions."""
        return not self.missing and all(validation.complete for validation in self.held)

    @property
    def finished(self) -> bool:
        """Whether all ran to the end, without being interrupted."""
        return not self.missing and all(validation.finished for validation in self.held)

    def facts(self) -> dict[str, object]:
        """The document: one evaluation per learner."""
        return {
            "validations": [validation.document() for validation in self.held],
            **({"missing": list(self.missing)} if self.missing else {}),
        }
