"""Random inputs put to scikit-learn, to exact fractions and to the laws of intervals, by a test and by a command.

`python -m tests.oracles.random_inputs --number 100000` tries as many as it is asked to. They have labels of several
types, ties, one class, classes that only truth or only the prediction has, weights of zero and over twelve orders of
magnitude. Where we and scikit-learn differ by more than 1e-12 of the scale, exact fractions decide;
what was decided is listed, and a difference that is ours is a failure.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn import metrics
from tests.oracles.exact_fractions import CLASS_FORMULAS, LIKELIHOOD_RATIOS, Exact, exact_mean, exact_pairs, over

import heldout
from heldout.intervals.methods import METHODS
from heldout.intervals.score_methods import BOOTSTRAPS, closed_methods
from heldout.measures.catalogue import CATALOGUE, find
from heldout.measures.quantity import AVERAGES, Quantity
from heldout.measures.ranking import value_range
from heldout.results.evaluation import Evaluation

NEAR = 1e-12
LEVELS = (0.3, 0.7, 0.95)
REPLICATES = 99
CHECKS_PER_INPUT = 3
INTERVALS_PER_INPUT = 2
LABELS: tuple[Callable[[int], list[Any]], ...] = (
    lambda k: list(range(k)),
    lambda k: [5 * i - 7 for i in range(k)],
    lambda k: [f"class {i:02d}" for i in range(k)],
    lambda k: [f"{chr(0x3B1 + i)} ß {i}" for i in range(k)],
    lambda k: [i - 3.0 for i in range(k)],
    lambda k: [2**40 + i for i in range(k)],
    lambda k: [False, True] if k == 2 else list(range(k)),
)


@dataclass(frozen=True, eq=False)
class Trial:
    """One random input: codes of the classes, the labels that they stand for, weights, scores and groups."""

    seed: int
    labels: list[Any]
    truth: np.ndarray
    predicted: np.ndarray
    weight: np.ndarray | None
    score: np.ndarray | None
    group: np.ndarray | None

    def named(self, codes: np.ndarray) -> np.ndarray:
        return np.array(self.labels)[codes]

    @cached_property
    def evaluation(self) -> Evaluation:
        options: dict[str, Any] = {"weight": self.weight, "labels": self.labels, "measures": ["accuracy"]}
        if self.group is not None:
            options["group"] = self.group
        if self.score is not None:
            options["score"] = self.score
            if self.score.ndim == 1:
                options["positive"] = self.labels[1]
        else:
            options["predicted"] = self.named(self.predicted)
        return heldout.evaluate(self.named(self.truth), replicates=REPLICATES, **options)

    @cached_property
    def seen(self) -> np.ndarray:
        """The cases that count: those with a weight."""
        return np.ones(len(self.truth), dtype=bool) if self.weight is None else self.weight > 0

    @cached_property
    def weights(self) -> np.ndarray:
        return (np.ones(len(self.truth)) if self.weight is None else self.weight)[self.seen]

    @cached_property
    def exact(self) -> Exact:
        scores = None if self.score is None else self.score[self.seen]
        return Exact(len(self.labels), self.truth[self.seen], self.predicted[self.seen], self.weights, scores)

    def value(self, quantity: Quantity) -> float:
        """Our value, without the work of an interval."""
        quantity = quantity.resolve(self.evaluation.positive)
        if quantity.is_score:
            return float(quantity.check_scored(self.evaluation.scores).value(quantity))
        subject = self.evaluation.estimator.subject(quantity)
        if quantity.class_ is None:
            return float(subject.value)
        return float(subject.value[self.labels.index(quantity.class_)])


@dataclass(frozen=True)
class Check:
    """A value that scikit-learn has too: ours, theirs, and the exact one."""

    name: str
    quantity: Quantity
    theirs: Callable[[], Any] | None
    exact: Callable[[], float] | None
    # Of a sum without cancellation every digit is asked for; otherwise differences are seen beside 1.
    relative: bool = False


def their_class_measure(trial: Trial, name: str, average: Any) -> Callable[[], Any] | None:
    """scikit-learn's call for a measure of one class; None where it has none."""
    functions = {
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "f1": metrics.f1_score,
        "f2": lambda *given, **options: metrics.fbeta_score(*given, beta=2, **options),
        "f0.5": lambda *given, **options: metrics.fbeta_score(*given, beta=0.5, **options),
        "jaccard": metrics.jaccard_score,
    }
    met = {*trial.truth[trial.seen].tolist(), *trial.predicted[trial.seen].tolist()}
    # Of the Jaccard index scikit-learn has a number for classes that were not met, and none to leave them out.
    if name not in functions or (name == "jaccard" and len(met) < len(trial.labels)):
        return None
    options: dict[str, Any] = {"zero_division": np.nan} if name != "jaccard" else {}
    given = [trial.named(codes)[trial.seen] for codes in (trial.truth, trial.predicted)]
    options |= {"labels": trial.labels, "sample_weight": trial.weights}
    if isinstance(average, int):
        return lambda: functions[name](*given, average=None, **options)[average]
    return lambda: functions[name](*given, average=average, **options)


def count_checks(trial: Trial) -> Iterator[Check]:
    given = [trial.named(codes)[trial.seen] for codes in (trial.truth, trial.predicted)]
    weighted = {"sample_weight": trial.weights}
    exact = trial.exact
    for name, formula in CLASS_FORMULAS.items():
        for average in (*(AVERAGES if name != "balanced_accuracy" else ()), *range(len(trial.labels))):
            place: dict[str, Any] = (
                {"class_": trial.labels[average]} if isinstance(average, int) else {"average": average}
            )
            yield Check(
                f"{average if isinstance(average, str) else 'class'} {name}", Quantity(find(name), **place),
                their_class_measure(trial, name, average),
                partial(exact.of_class, formula, average), relative=True,
            )  # fmt: skip
    yield Check(
        "accuracy", Quantity(find("accuracy")), lambda: metrics.accuracy_score(*given, **weighted),
        lambda: over(exact.sum(lambda i, j: i == j), exact.n), relative=True,
    )  # fmt: skip
    yield Check(
        "error_rate", Quantity(find("error_rate")), lambda: metrics.zero_one_loss(*given, **weighted),
        lambda: over(exact.sum(lambda i, j: i != j), exact.n), relative=True,
    )  # fmt: skip
    yield Check(
        "matthews", Quantity(find("mcc")), lambda: metrics.matthews_corrcoef(*given, **weighted), exact.matthews
    )
    for power, weights in enumerate((None, "linear", "quadratic")):
        bound = find("kappa", weights=weights or "none")
        options = {"weights": weights, "labels": trial.labels, **weighted}
        yield Check(
            bound.name, Quantity(bound), partial(metrics.cohen_kappa_score, *given, **options),
            partial(exact.kappa, power),
        )  # fmt: skip
    if set(trial.truth[trial.seen].tolist()) == set(range(len(trial.labels))):
        yield Check(
            "balanced_accuracy", Quantity(find("balanced_accuracy")),
            lambda: metrics.balanced_accuracy_score(*given, **weighted),
            lambda: exact.of_class(CLASS_FORMULAS["recall"], "macro"), relative=True,
        )  # fmt: skip
    if len(trial.labels) == 2:
        for name, formula in LIKELIHOOD_RATIOS.items():
            yield Check(
                name, Quantity(find(name), class_=trial.labels[1]), partial(their_likelihood_ratio, trial, name),
                partial(exact.of_class, formula, 1), relative=True,
            )  # fmt: skip


def their_likelihood_ratio(trial: Trial, name: str) -> float:
    given = [trial.named(codes)[trial.seen] for codes in (trial.truth, trial.predicted)]
    undefined = {"LR+": np.nan, "LR-": np.nan}
    found = metrics.class_likelihood_ratios(
        *given, labels=trial.labels, sample_weight=trial.weights, replace_undefined_by=undefined
    )
    return float(found[list(undefined).index(name)])


def score_checks(trial: Trial) -> Iterator[Check]:
    if trial.score is None:
        return
    truth, score, weight = trial.truth[trial.seen], trial.score[trial.seen], trial.weights
    labels = list(range(len(trial.labels)))
    exact, met = trial.exact, set(truth.tolist())
    given: dict[str, Any] = {"sample_weight": weight}
    options: dict[str, Any] = {"labels": labels, **given}
    yield Check(
        "log_loss", Quantity(find("log_loss")), lambda: metrics.log_loss(truth, score, **options), exact.log_loss
    )
    yield Check(
        "brier", Quantity(find("brier")), lambda: metrics.brier_score_loss(truth, score, **options), exact.brier
    )
    if score.ndim == 1:
        if met == {0, 1}:
            yield Check(
                "roc_auc", Quantity(find("roc_auc"), class_=trial.labels[1]),
                lambda: metrics.roc_auc_score(truth, score, **given), lambda: float(exact.area(1) or 0),
            )  # fmt: skip
        yield Check(
            "average_precision", Quantity(find("average_precision"), class_=trial.labels[1]),
            lambda: metrics.average_precision_score(truth, score, **given), exact.average_precision, relative=True,
        )  # fmt: skip
        return
    for k in range(1, len(labels) if len(labels) > 2 else 0):
        yield Check(
            "top_k_accuracy", Quantity(find("top_k_accuracy", k=float(k))),
            partial(metrics.top_k_accuracy_score, truth, score, k=k, **options), None,
        )  # fmt: skip
    if met != set(labels) or len(labels) == 2:
        return
    for average in AVERAGES:
        yield Check(
            f"{average} average_precision", Quantity(find("average_precision"), average=average),
            partial(metrics.average_precision_score, np.eye(len(labels))[truth], score, average=average, **given),
            partial(exact.average_precision, average), relative=True,
        )  # fmt: skip
    yield Check(
        "micro roc_auc", Quantity(find("roc_auc"), average="micro"),
        lambda: metrics.roc_auc_score(np.eye(len(labels))[truth], score, average="micro", **given), None,
    )  # fmt: skip
    for average in ("macro", "weighted"):
        yield Check(
            f"{average} roc_auc", Quantity(find("roc_auc"), average=average),
            partial(metrics.roc_auc_score, truth, score, multi_class="ovr", average=average, **options),
            partial(exact_mean, exact, average),
        )  # fmt: skip
    if trial.weight is None:
        yield Check(
            "hand_till_auc", Quantity(find("hand_till_auc")),
            lambda: metrics.roc_auc_score(truth, score, multi_class="ovo", labels=labels), lambda: exact_pairs(exact),
        )  # fmt: skip


def make_trial(seed: int) -> Trial:
    rng = np.random.default_rng([seed, 5])
    n, k = int(rng.integers(1, 41)), int(rng.choice([2, 2, 2, 3, 4, 7, 12]))
    classes = rng.permutation(k)[: rng.integers(1, k + 1)]
    truth = rng.choice(classes, n)
    predicted = np.where(rng.random(n) < rng.random(), truth, rng.integers(0, k, n))
    score = None
    if rng.random() < 0.5:
        score = _scores(rng, truth, k)
        predicted = truth
    return Trial(
        seed, LABELS[rng.integers(len(LABELS))](k), truth, predicted, _weights(rng, n), score,
        rng.integers(0, max(2, n // 3), n) if rng.random() < 0.15 else None,
    )  # fmt: skip


def _weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.uniform(0.01, 10, n),
        lambda: 10 ** rng.uniform(-6, 6, n),
        lambda: 10 ** rng.uniform(-3, 9, n),
        lambda: rng.uniform(0.01, 1, n) * (rng.random(n) < 0.6),
        lambda: rng.integers(0, 4, n).astype(float),
        lambda: np.round(rng.uniform(0, 1, n), 1),
    ]
    made = kinds[rng.integers(len(kinds))]()
    return None if made is not None and not made.any() else made


def _scores(rng: np.random.Generator, truth: np.ndarray, k: int) -> np.ndarray:
    digits = int(rng.choice([1, 2, 16]))
    if k == 2 and rng.random() < 0.8:
        score = np.round(np.clip(rng.random(len(truth)) * 0.8 + 0.2 * truth, 0, 1), digits)
        return score.astype(np.float32) if rng.random() < 0.3 else score
    table = rng.integers(0, 4, (len(truth), k)) + (rng.random((len(truth), k)) if digits == 16 else 0.25)
    table[np.arange(len(truth)), truth] += rng.random(len(truth))
    return table / table.sum(axis=1, keepdims=True)


@dataclass
class Outcome:
    """What was tried, what scikit-learn had otherwise, and what is wrong with ours."""

    compared: Counter[str] = field(default_factory=Counter)
    theirs_off: Counter[str] = field(default_factory=Counter)
    intervals: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def compare(self, trial: Trial, check: Check) -> None:
        found = trial.value(check.quantity)
        where = f"input {trial.seed}: {check.name} is {found!r}"
        exact = math.nan
        if check.exact is not None and (check.relative or check.theirs is None):
            exact = check.exact()
            if not near(found, exact, relative=check.relative):
                self.faults.append(f"{where}, exactly it is {exact!r}")
        if check.theirs is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = float(check.theirs())
        self.compared[check.name] += 1
        if math.isnan(found) or near(found, theirs):
            # Where we say that there is no value scikit-learn may have a convention; the exact value was undefined too.
            if math.isnan(found) and check.exact is not None and not math.isnan(check.exact()):
                self.faults.append(f"{where}, exactly it is {check.exact()!r}")
            return
        exact = check.exact() if check.exact is not None else math.nan
        if near(found, exact):
            self.theirs_off[check.name] += 1
        else:
            self.faults.append(f"{where}, scikit-learn has {theirs!r}, exactly it is {exact!r}")

    def hold(self, trial: Trial, name: str, method: str) -> None:
        """An interval holds its value, lies in range, and is nested in its level."""
        wider = None
        for level in reversed(LEVELS):
            found = trial.evaluation.interval(name, method=method, level=level)
            where = (
                f"input {trial.seed}: {name} by {method} at {level}: {found.value!r} in {found.low!r}, {found.high!r}"
            )
            bound = find(found.measure)
            floor, ceiling = value_range(bound.measure, bound.parameters)
            if math.isnan(found.value) or math.isnan(found.low) or math.isnan(found.high):
                if not (found.undefined or found.note):
                    self.faults.append(f"{where}, without a reason")
                return
            if not found.low <= found.value <= found.high:
                self.faults.append(f"{where}, which does not hold it")
            if not floor <= found.low <= found.high <= ceiling:
                self.faults.append(f"{where}, out of range")
            if wider is not None and not (wider.low <= found.low + NEAR and found.high <= wider.high + NEAR):
                self.faults.append(f"{where}, not inside {wider.low!r}, {wider.high!r} of a higher level")
            wider = found
        self.intervals[method] += 1


def near(found: float, wanted: float, *, relative: bool = False) -> bool:
    if math.isnan(found) or math.isnan(wanted):
        return math.isnan(found) and math.isnan(wanted)
    return abs(found - wanted) <= NEAR * (abs(wanted) if relative else max(1.0, abs(wanted)))


def list_intervals(trial: Trial) -> list[tuple[str, str]]:
    """Every quantity of the catalogue that this input has, with every method by name that applies to it."""
    made, grouped = [], trial.group is not None
    evaluation, label = trial.evaluation, trial.evaluation.labels[1]
    for measure in CATALOGUE.values():
        if measure.kind == "cost":
            continue
        if measure.scope in ("class", "table"):
            if trial.score is not None:
                continue
            names = [f"{measure.name}[{label}]"] if measure.per_class else []
            names += [measure.name] if measure.scope == "table" or measure.overall else []
            names += [f"{average} {measure.name}" for average in AVERAGES] if measure.averages else []
            for name in names:
                subject = evaluation.estimator.subject(_quantity(evaluation, name))
                fitting = (m for m in METHODS.values() if m.applies(subject) and m.groups == grouped)
                made += [(name, method.name) for method in fitting]
        elif trial.score is not None and measure.scope == "ranking" and trial.score.ndim == 1:
            names = [*closed_methods(measure), *(BOOTSTRAPS if measure.kind != "calibration" else ())]
            made += [(measure.name, method) for method in names]
        elif trial.score is not None and measure.scope == "ranking" and measure.kind != "calibration":
            places = [f"{average} {measure.name}" for average in AVERAGES] + [f"{measure.name}[{label}]"]
            names = [*closed_methods(measure), *BOOTSTRAPS] if measure.name != "roc_auc" else ["delong-logit"]
            made += [(place, method) for place in places for method in names]
        elif trial.score is not None and measure.scope == "probability":
            made += [(measure.name, method) for method in closed_methods(measure)]
    return made


def _quantity(evaluation: Evaluation, name: str) -> Quantity:
    from heldout.measures.catalogue import read_quantity

    return read_quantity(name, evaluation.labels).resolve(evaluation.positive)


def put_to_test(seed: int, outcome: Outcome, *, checks: int | None = CHECKS_PER_INPUT) -> None:
    """Make one input, and put some of its measures and intervals to the test, or all where `checks` is None."""
    trial = make_trial(seed)
    rng = np.random.default_rng([seed, 6])
    every = list(count_checks(trial) if trial.score is None else score_checks(trial))
    for at in rng.permutation(len(every))[:checks]:
        outcome.compare(trial, every[at])
    if outcome.intervals.total() < 1 or checks is None or rng.random() < 0.25:
        listed = list_intervals(trial)
        for at in rng.permutation(len(listed))[: (INTERVALS_PER_INPUT if checks else 8)]:
            try:
                outcome.hold(trial, *listed[at])
            except heldout.errors.OptionError as refused:
                outcome.intervals[f"refused: {listed[at][1]}: {type(refused).__name__}"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.random_inputs", description=__doc__)
    parser.add_argument("--number", type=int, default=10_000, help="so many inputs")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many minutes")
    asked = parser.parse_args()
    outcome, began, done = Outcome(), time.monotonic(), 0
    for seed in range(asked.first, asked.first + asked.number):
        put_to_test(seed, outcome)
        done += 1
        if done % 1000 == 0:
            print(f"{done:,} inputs, {len(outcome.faults)} faults, {time.monotonic() - began:.0f} s", flush=True)
        if time.monotonic() - began > 60 * asked.minutes:
            break
    print(f"{done:,} inputs: {outcome.compared.total():,} values, {outcome.intervals.total():,} intervals.")
    for name, times in sorted(outcome.theirs_off.items()):
        print(f"scikit-learn off by more than 1e-12, ours exact: {name} {times:,} of {outcome.compared[name]:,}")
    print(*outcome.faults, sep="\n")
    raise SystemExit(1 if outcome.faults else 0)


if __name__ == "__main__":
    main()
