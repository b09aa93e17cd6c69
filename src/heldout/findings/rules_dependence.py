"""Rules about rows that are not independent cases: neighbours whose errors are alike, and values that are groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.findings.evaluation_evidence import NOT_KEPT, case_number
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, quoted, rule
from heldout.intervals.dependence import zero_based_codes
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import count, number_of, share

IN_GROUPS = "the intervals take groups as the cases"
# Where this share of the steps from row to row goes one way, the rows are sorted, except for a few added ones.
SORTED_STEPS = 0.9
# Of more rows only the first are examined: these show any likeness that matters.
MOST_NEIGHBOURS = 1_000_000


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike the errors of pairs of rows are: their correlation, and the chance of so much if all were independent.

    The sum of the products of the pairs is divided by the root of the sum of their squares, which needs no equal
    variances (White 1980, Econometrica 48); with few products that matter it is never large.
    """

    correlation: float
    chance: float


def _judge_products(total: float, squares: float, scale: float) -> Likeness:
    """The likeness of pairs from the sum of their products, of the squares of these, and of what alike ones give."""
    if squares <= 0 or scale <= 0:
        return Likeness(0.0, 1.0)
    return Likeness(total / scale, 0.5 * math.erfc(total / math.sqrt(2 * squares)))


def residual_errors(truth: NDArray[np.int64], wrong: Floats) -> Floats:
    """1 for a wrong row and 0 for a right one, less the error rate of its true class.

    Rows that stand class by class, and a class that is harder than another, then make no neighbours alike.
    """
    number = np.bincount(truth)
    rate = np.bincount(truth, weights=wrong) / np.maximum(number, 1)
    return np.asarray(wrong - rate[truth])


def _no_rows(subject: Evaluation) -> str:
    """Why there are no rows that count as a case each; empty where there are."""
    if subject.predictions is None:
        return "there are no rows" if subject.counted is None else NOT_KEPT
    if subject.predictions.group is not None:
        return IN_GROUPS
    return "a case was predicted more than once" if case_number(subject) < subject.predictions.n else ""


def _truth_and_answers(
    predictions: Predictions, rows: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The true class of each row and the one that was predicted, of the first `rows`."""
    truth = _places(predictions.truth_place, predictions.truth, rows)
    return truth, _places(predictions.predicted_place, predictions.predicted, rows)


def _places(place: NDArray[np.int64], column: Coded, rows: int | None) -> NDArray[np.int64]:
    return np.asarray(place[column.codes[:rows].astype(np.int64) - column.offset])


def compare_neighbours(errors: Floats) -> Likeness:
    """How alike the errors of rows are that stand next to each other.

    >>> compare_neighbours(np.tile([0.5, 0.5, -0.5, -0.5], 25)).correlation
    0.0
    """
    products = errors[1:] * errors[:-1]
    scale = float((errors**2).sum()) * len(products) / len(errors)
    return _judge_products(float(products.sum()), float((products**2).sum()), scale)


def compare_within(errors: Floats, group: NDArray[np.int64]) -> Likeness:
    """How alike the errors of rows of one value are (the intra-class correlation).

    >>> within = compare_within(np.array([0.5, 0.5, -0.5, -0.5] * 20), np.arange(80) // 2)
    >>> within.correlation, within.chance < 1e-6
    (1.0, True)
    """
    size = np.bincount(group).astype(np.float64)
    first, second, fourth = (np.bincount(group, weights=errors**power) for power in (1, 2, 4))
    total = float((first**2 - second).sum()) / 2
    squares = float((second**2 - fourth).sum()) / 2
    pairs = float((size * (size - 1)).sum()) / 2
    return _judge_products(total, squares, pairs * float((errors**2).mean()))


def compare_next_values(errors: Floats, group: NDArray[np.int64]) -> Likeness:
    """How alike the errors of rows are whose values follow each other, where the codes are in the order of the values.

    >>> compare_next_values(np.array([0.5, 0.5, -0.5, -0.5] * 20), np.arange(80) // 2).correlation < 0
    True
    """
    size = np.bincount(group).astype(np.float64)
    first, second = (np.bincount(group, weights=errors**power) for power in (1, 2))
    total, squares = float((first[1:] * first[:-1]).sum()), float((second[1:] * second[:-1]).sum())
    return _judge_products(total, squares, float((size[1:] * size[:-1]).sum()) * float((errors**2).mean()))


@rule(
    "H029",
    about="evaluation",
    title="Errors of neighbouring rows are alike",
    severity="know",
    advice="If neighbours share a time, a place or a person, name what they share (group=, --group).",
    reference="Wald & Wolfowitz (1940), Annals of Mathematical Statistics 11; Roberts et al. (2017), Ecography 40",
    limits={
        "correlation": "convention: a correlation of .1 of neighbours makes an interval about a tenth too narrow",
        "chance": "convention: one in two hundred; on independent rows it was less",
        "cases": "convention: with fewer than 10 errors, or 10 right predictions, hardly two can stand together",
    },
)
def neighbours_alike(
    subject: Evaluation, *, correlation: float = 0.1, chance: float = 0.005, cases: float = 10
) -> Answer:
    """A row is wrong more often where the row before it is wrong, beyond what its class explains.

    Neighbours in time or place are often alike: they hold less information than as many independent cases, and every
    interval is too narrow. Rows that were sorted by their predictions are not examined, and of more than a million rows
    only the first million is.
    """
    predictions, reason = subject.predictions, _no_rows(subject)
    if reason or predictions is None:
        return NotApplicable(reason)
    truth, called = _truth_and_answers(predictions, MOST_NEIGHBOURS)
    wrong = (truth != called).astype(np.float64)
    number = float(wrong.sum())
    part = f" in the first {count(MOST_NEIGHBOURS)} rows" if len(wrong) < predictions.n else ""
    if min(number, len(wrong) - number) < cases:
        return NotApplicable(f"there are fewer than {cases:g} errors{part}, or fewer than {cases:g} right predictions")
    if _is_sorted(predictions, truth, called):
        return NotApplicable(f"the rows are sorted by what was predicted{part}")
    seen = compare_neighbours(residual_errors(truth, wrong))
    # Of both neighbours, so that it does not matter from which end the rows are read.
    beside = np.zeros(len(wrong))
    beside[1:] += wrong[:-1]
    beside[:-1] += wrong[1:]
    sides = np.full(len(wrong), 2.0)
    sides[[0, -1]] = 1.0
    after = float((beside * wrong).sum() / (sides * wrong).sum())
    facts = {"correlation": seen.correlation, "chance": seen.chance, "error": number / len(wrong), "beside": after}
    sentence = f"error rate {share(after)} beside a wrong row, {share(number / len(wrong))} overall"
    sentence += part
    if seen.chance < chance and seen.correlation > correlation:
        return Fired(f"Errors come in runs: {sentence} (correlation {share(seen.correlation)}).", facts)
    return Passed(f"Errors do not clearly come in runs: {sentence}.", facts)


def _is_sorted(predictions: Predictions, truth: NDArray[np.int64], called: NDArray[np.int64]) -> bool:
    """Whether the rows stand by predicted class, by right and wrong, or by score."""
    k = len(predictions.labels)
    for codes, most in ((called, k), (truth * k + called, k * k), (truth != called, 2)):
        runs = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
        # The values themselves are counted only where there are few runs.
        if runs <= most and runs <= len(np.unique(codes)):
            return True
    if predictions.scores is None:
        return False
    scores = np.asarray(predictions.scores.values[: len(truth)], dtype=np.float64)
    columns = [scores] if scores.ndim == 1 else [*scores.T, scores.max(axis=1)]
    for column in columns:
        steps = np.diff(column)
        # Equal neighbours, of which coarse scores have many, say nothing of an order.
        steps = steps[steps != 0]
        if len(steps) and max(float((steps > 0).mean()), float((steps < 0).mean())) >= SORTED_STEPS:
            return True
    return False


# Values of a column that were not named as groups, and of which nothing in its name says so.

# From this ratio of its normal approximation on, values that follow each other are alike too: an amount, no key.
FOLLOWING = 0.05


@rule(
    "H065",
    about="evaluation",
    title="Rows of one value are right and wrong together",
    severity="know",
    advice="If its values name what was measured more than once, use it as group= (--group).",
    reference="Donner & Klar (2000), Design and Analysis of Cluster Randomization Trials, ch. 5; Obuchowski (1997)",
    limits={
        "correlation": "convention: from .05 on, groups of ten rows make an interval a fifth too narrow",
        "chance": "convention: one in a thousand over all columns (Bonferroni), as many files are looked at",
        "values": "convention: fewer than 10 values are kinds of cases, to be looked at as slices (H015)",
        "rows": "convention: with more than 50 rows to a value it is a kind of case, not one case measured again",
    },
)
def values_are_groups(
    subject: Evaluation, *, correlation: float = 0.05, chance: float = 0.001, values: float = 10, rows: float = 50
) -> Answer:
    """Rows with the same value in a column that was not used are wrong together, beyond what their class explains.

    Such values name what was measured more than once, whatever the column is called; rows of one patient or machine
    hold less information than as many independent ones. Where rows of neighbouring values are just as alike, the column
    is a quantity and not a name.
    """
    predictions, reason = subject.predictions, _no_rows(subject)
    if reason or predictions is None:
        return NotApplicable(reason)
    if not subject.source.beside:
        return NotApplicable("no unused column has values that repeat and were looked at")
    truth, called = _truth_and_answers(predictions)
    errors = residual_errors(truth, (truth != called).astype(np.float64))
    looked, alike = 0, []
    for name, column in subject.source.beside:
        kept = column if predictions.rows is None else column.taken(predictions.rows)
        group = _value_codes(kept)
        number = int(group.max(initial=-1)) + 1
        if group.min() < 0 or number < values or not 1.1 * number <= len(group) <= rows * number:
            continue
        looked += 1
        seen = compare_within(errors, group)
        if seen.correlation > correlation and not _is_amount(kept, errors, group):
            alike.append((seen, name, number))
    clear = sorted((one for one in alike if one[0].chance * looked < chance), key=lambda one: one[0].chance)
    if not clear:
        return Passed(f"In none of {number_of(looked, 'unused column')} are rows of one value wrong together.", {})
    seen, name, number = clear[0]
    facts = {"column": name, "values": number, "rows": len(errors), "correlation": seen.correlation}
    facts |= {"chance": seen.chance, "columns": [one[1] for one in clear]}
    return Fired(
        f"Rows with the same {quoted(name)} are right and wrong together: correlation {share(seen.correlation)} within "
        f"{number_of(number, 'value')} in {len(errors):,} rows.",
        facts,
    )


def _value_codes(column: Coded) -> NDArray[np.int64]:
    """A number from 0 for the value of every row, in their order where they are numbers, and -1 for none."""
    codes = column.codes.astype(np.int64) - column.offset
    if column.missing and (codes < 0).any():
        return np.where(codes < 0, -1, codes)
    labels: tuple[Any, ...] = column.labels
    if _are_numbers(column):
        order = np.argsort(np.argsort(np.array(labels, dtype=np.float64)))
        codes = order[codes]
    return np.asarray(np.unique(codes, return_inverse=True)[1].reshape(-1))


def _are_numbers(column: Coded) -> bool:
    return all(isinstance(label, int | float) for label in column.labels)


def _is_amount(column: Coded, errors: Floats, group: NDArray[np.int64]) -> bool:
    """Whether rows are also alike where their values only follow each other, as those of an age are."""
    return _are_numbers(column) and compare_next_values(errors, group).chance < FOLLOWING


@rule(
    "H075",
    about="evaluation",
    title="Groups divided between folds",
    severity="act",
    advice="Make the folds of whole groups, as heldout validate with group= (--group) does.",
    reference="Saeb, Lonini, Jayaraman, Mohr & Kording (2017), GigaScience 6; Roberts et al. (2017), Ecography 40",
)
def groups_divided(subject: Evaluation) -> Answer:
    """Groups that were named have rows in several of the folds that the predictions come in.

    The model of a fold has then met in training the patients, users or sites that it predicts, and the error is that on
    old ones, not on new ones. Where every group has as many rows in each of its folds, the same cases may have been
    predicted several times in folds of whole groups; only an id tells.
    """
    clusters, predictions = subject.confusion.clusters, subject.predictions
    if clusters is None:
        return NotApplicable("no group was named")
    if predictions is None:
        return NotApplicable(NOT_KEPT)
    if predictions.fold is None or predictions.group is None:
        return NotApplicable("the predictions do not come in folds")
    divided = find_divided_groups(predictions)
    facts = {"groups": clusters.number, "divided": divided.number, "even": divided.even}
    if not divided.number:
        return Passed(f"All folds keep the {clusters.number:,} groups whole.", facts)
    sentence = f"{count(divided.number)} of {number_of(clusters.number, 'group')} have rows in several folds"
    if divided.even and predictions.id is None:
        return Fired(
            f"{sentence}, as many in each: they are divided, or were predicted several times.",
            facts,
            "If the same cases were predicted several times, name their column with id= (--id); if not, make the folds "
            "of whole groups.",
            severity="know",
        )
    return Fired(f"{sentence}: the model of a fold has met them in training.", facts)


@dataclass(frozen=True, slots=True)
class DividedGroups:
    """How many groups have cases in a fold and others that it lacks, and whether each has as many in all its folds."""

    number: int
    even: bool


def find_divided_groups(predictions: Predictions) -> DividedGroups:
    """The groups on whose other rows the model of a fold was trained.

    >>> from heldout.predictions.table import assemble
    >>> truth, patient = [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> find_divided_groups(assemble(truth, truth, group=patient, fold=[1, 1, 2, 2]))
    DividedGroups(number=0, even=False)
    >>> find_divided_groups(assemble(truth, truth, group=patient, fold=[1, 2, 2, 2]))
    DividedGroups(number=1, even=False)
    >>> find_divided_groups(assemble(truth, truth, group=patient, fold=[1, 2, 1, 2]))
    DividedGroups(number=2, even=True)
    """
    if predictions.group is None or predictions.fold is None:
        return DividedGroups(0, even=False)
    group, fold = zero_based_codes(predictions.group), zero_based_codes(predictions.fold)
    case = np.arange(predictions.n) if predictions.id is None else zero_based_codes(predictions.id)
    # A case that was predicted by several models is one case of its group.
    first = np.unique(case, return_index=True)[1]
    groups, folds = int(group.max()) + 1, int(fold.max()) + 1
    size = np.bincount(group[first], minlength=groups)
    parts, tested = np.unique(group * folds + fold, return_counts=True)
    of_group = parts // folds
    divided = np.unique(of_group[tested < size[of_group]])
    times = np.bincount(of_group, minlength=groups)
    alike = tested * times[of_group] == np.bincount(group, minlength=groups)[of_group]
    return DividedGroups(
        len(divided), even=bool(len(divided) == groups and alike.all() and len(set(times.tolist())) == 1)
    )
