"""Rules about predictions that come in folds: how large the folds are, and how their values are put together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.evidence.partitions import FoldCounts
from heldout.findings.evaluation_evidence import NOT_KEPT
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, quoted, rule
from heldout.intervals.fold_estimates import REFERENCES, FoldEstimate, FoldEstimator
from heldout.measures.catalogue import find
from heldout.measures.declare import Measure
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number_of, share

NO_FOLDS = "the predictions do not come in folds"
ONE_FOLD = "there is one test part, and nothing to put together"
WEIGHTED = "the cases have weights, so a class is not counted in cases"
ALONE = "every fold is one case, as leave-one-out means it"


@rule(
    "H033",
    about="evaluation",
    title="A fold has fewer than 30 cases",
    severity="know",
    advice="Use fewer folds, or look only at values over all folds together and never at single folds.",
    reference="Mitchell (1997), Machine Learning, ch. 5: folds of at least 30 cases",
    limits={"cases": "Mitchell (1997), table 5.5: k disjoint sets of at least 30 cases each"},
)
def small_folds(seen: Evaluation, *, cases: float = 30) -> Answer:
    """The smallest test part has too few cases for its own value to mean much.

    The value of a measure in a fold of a dozen cases jumps by whole steps, and a mean of such values, or their spread,
    rests on approximations that need about thirty cases.
    """
    sizes = _sizes(seen)
    if isinstance(sizes, str):
        return NotApplicable(sizes)
    if _refused(seen):
        return NotApplicable("the cases are those it was trained on")
    if len(sizes) > 1 and (sizes == 1).all():
        return NotApplicable(ALONE)
    least = int(sizes.min())
    facts = {"folds": len(sizes), "smallest": least, "largest": int(sizes.max()), "limit": cases}
    what = "The test part" if len(sizes) == 1 else f"The smallest of {len(sizes):,} folds"
    if least < cases:
        return Fired(f"{what} has {number_of(least, 'case')}, fewer than {cases:g}.", facts)
    return Passed(f"{what} has {number_of(least, 'case')}.", facts)


@rule(
    "H034",
    about="evaluation",
    title="A measure averaged over folds that must not be, or folds that were not used",
    severity="act",
    advice="Leave out the method over folds: F is then made once from all counts, and searches once from all cases.",
    reference=REFERENCES["pooled"],
    erratum="The mean over folds is not right for every measure",
)
def wrong_way_together(seen: Evaluation) -> Answer:
    """F or a search over thresholds is a mean over folds, or a column of folds was not used.

    A mean of F over folds is biased, the more the rarer the class, and undefined in folds without it; a mean of the
    best of all thresholds, or of the average precision, is too good. Models of different folds share training cases,
    so intervals that take their predictions as those of one model are too narrow; and their scores are not on one
    scale, so pooling them ranks cases of one fold against those of another.
    """
    number = _number(seen)
    if not number:
        unused = next((column for role, column, _ in seen.source.unused if role == "fold"), None)
        if unused is None:
            return NotApplicable(NO_FOLDS)
        ranked = "" if seen.scores is None else ", and areas rank the scores of several models together"
        return Fired(
            f"The column {quoted(unused)} looks like folds and was not used, so every interval is too narrow{ranked}.",
            {"column": unused},
            f"Name the column (fold={unused!r}, --fold {unused}), so that intervals allow for what its models share.",
        )
    if number < 2:
        return NotApplicable(ONE_FOLD)
    estimates = [
        e
        for e in seen.estimates
        if isinstance(e, FoldEstimate) and _made_once(find(e.measure).measure) and not math.isnan(e.value)
    ]
    if not estimates:
        return NotApplicable("no F and no search over thresholds was asked for")
    averaged = [e for e in estimates if e.rule == "mean"]
    if not averaged:
        return Passed(f"What must not be averaged is made once, from all {number:,} folds together.", {"folds": number})
    worst = max(averaged, key=lambda e: (e.measure == "f1", 0.0 if math.isnan(e.gap) else abs(e.gap)))
    return Fired(
        f"{worst.name} is a mean over {worst.folds:,} folds, {share(worst.value)}; from all folds together it is "
        f"{share(worst.other)}.",
        {
            "measure": worst.name,
            "mean": worst.value,
            "pooled": worst.other,
            "folds": worst.folds,
            "measures": [e.name for e in averaged],
        },
    )


@rule(
    "H035",
    about="evaluation",
    title="The standard deviation over folds read as a standard error",
    severity="act",
    advice="Use method='corrected-t', or leave out the method.",
    reference="Nadeau & Bengio (2003), Machine Learning 52; Bengio & Grandvalet (2004), JMLR 5",
)
def folds_as_independent(seen: Evaluation) -> Answer:
    """The intervals take the folds as independent, though their models share training cases.

    In simulations such 95 % intervals held the true error 90 to 95 % of the time over 10 folds, and little more than
    40 % over 10 × 10, because repetitions add values but no cases.
    """
    number = _number(seen)
    if number < 2:
        return NotApplicable(ONE_FOLD if number else NO_FOLDS)
    naive = [e for e in seen.estimates if isinstance(e, FoldEstimate) and e.method == "naive-t"]
    if not naive:
        return Passed(f"No interval takes the {number:,} folds as independent.", {"folds": number})
    plan, folds = seen.estimator.plan, max(e.folds for e in naive)
    ratio = 0.0 if plan is None else plan.ratio
    times = math.sqrt(1 + folds * ratio)
    facts = {"folds": folds, "ratio": ratio, "times": times, "measures": [e.name for e in naive]}
    return Fired(
        f"The intervals take the standard deviation over {folds:,} folds as a standard error: they should be about "
        f"{times:.1f} times as wide.",
        facts,
    )


@rule(
    "H036",
    about="evaluation",
    title="Leave-one-out leaves nothing to rank",
    severity="know",
    advice="Use 10-fold where the ROC area matters.",
    reference="Forman & Scholz (2010), SIGKDD Explorations 12(1); Airola et al. (2011), CSDA 55",
)
def nothing_to_rank(seen: Evaluation) -> Answer:
    """Every fold holds cases of one class only, so no measure of ranking is defined in any.

    Put together over folds, scores of different models would be ranked against each other; under leave-one-out this is
    biased against the learner, because the case that is left out shifts the others' base rate the other way.
    """
    table = _truth(seen)
    if table is None:
        return NotApplicable(NO_FOLDS)
    if len(table) < 2:
        return NotApplicable(ONE_FOLD)
    if seen.scores is None:
        return NotApplicable("there are no scores")
    ranked = [e for e in seen.estimates if isinstance(e, FoldEstimate) and find(e.measure).measure.over_folds == "mean"]
    if not ranked:
        return NotApplicable("no measure of ranking was asked for")
    several = int((np.count_nonzero(table, axis=1) > 1).sum())
    facts: dict[str, object] = {"folds": len(table), "folds_with_several_classes": several}
    if several:
        return Passed(f"{several:,} of {len(table):,} folds hold cases of more than one class to rank.", facts)
    facts["measures"] = [e.name for e in ranked]
    what = "case" if (table.sum(axis=1) == 1).all() else "class"
    return Fired(f"There is no ROC area: each of the {len(table):,} folds holds one {what} only.", facts)


@rule(
    "H037",
    about="evaluation",
    title="A class has fewer cases than there are folds",
    severity="act",
    advice="Use as many folds as the rarest class has cases, or fewer, or join that class with another.",
    reference="Kohavi (1995), IJCAI 14; Forman & Scholz (2010), SIGKDD Explorations 12(1)",
)
def too_rare_to_stratify(seen: Evaluation) -> Answer:
    """A class cannot be in every fold, because it has fewer cases than there are folds.

    In the folds without it its recall is undefined and it cannot be ranked; and where all its cases are in one fold,
    the model that is tested there never saw it.
    """
    table, plan = _truth(seen), seen.estimator.plan
    why = _no_partition(seen)
    if why or table is None or plan is None:
        return NotApplicable(why or NO_FOLDS)
    folds = plan.independent
    repeats = len(table) / folds
    cases = table.sum(axis=0) / repeats
    present = np.flatnonzero(cases > 0)
    rarest = int(present[np.argmin(cases[present])])
    lacking = int((table[:, rarest] == 0).sum())
    name = str(seen.confusion.labels[rarest])
    number = round(float(cases[rarest]))
    facts = {"class": name, "cases": number, "folds": folds, "folds_without": lacking}
    if number < folds:
        return Fired(
            f'Class "{name}" has {number_of(number, "case")}, fewer than the {folds:,} folds: {lacking:,} of '
            f"{len(table):,} have none of it.",
            facts,
        )
    return Passed(f'The rarest class, "{name}", has {number_of(number, "case")} for {folds:,} folds.', facts)


def _made_once(measure: Measure) -> bool:
    """Whether a mean over folds is biased."""
    return measure.kind == "f" or measure.over_folds == "ranks"


def _no_partition(seen: Evaluation) -> str:
    """Why the folds are no partitions of the cases with several cases each, where they are not."""
    sizes, plan = _sizes(seen), seen.estimator.plan
    if plan is None or _number(seen) < 2:
        return ONE_FOLD if _number(seen) else NO_FOLDS
    if not isinstance(sizes, str) and (sizes == 1).all():
        return ALONE
    if isinstance(sizes, str) or seen.confusion.weighted:
        return WEIGHTED
    # In partitions of the cases every case is tested once in each repetition.
    if int(sizes.sum()) * plan.independent != plan.n * len(sizes):
        return "each split is a draw of its own, and no partition of the cases"
    return ""


def _folds(seen: Evaluation) -> FoldCounts | None:
    estimator = seen.estimator
    return estimator.folds if isinstance(estimator, FoldEstimator) else None


def _number(seen: Evaluation) -> int:
    """The number of folds, 0 where the predictions do not come in folds."""
    folds = _folds(seen)
    return 0 if folds is None else len(folds)


def _sizes(seen: Evaluation) -> NDArray[np.int64] | str:
    """The number of predictions in each fold, whatever they weigh, or why it is not known."""
    folds = _folds(seen)
    if folds is None:
        return NO_FOLDS
    if seen.predictions is not None and seen.predictions.fold is not None:
        fold = seen.predictions.fold
        counts = np.bincount(fold.codes.astype(np.int64) - fold.offset)
        return np.asarray(counts[counts > 0])
    if folds.counts.dtype.kind == "i":
        return np.rint(folds.sizes).astype(np.int64)
    if seen.scores is not None:
        return np.asarray(seen.scores.evidence.fold_cases.sum(axis=1), dtype=np.int64)
    return f"{NOT_KEPT}, and of folds with weights their weight is known but not how many cases each has"


def _truth(seen: Evaluation) -> Floats | None:
    """The number of cases of each class in each fold, or their weight."""
    folds = _folds(seen)
    if folds is None or not len(folds):
        return None
    table: Any = np.zeros((len(folds), folds.n_classes))
    np.add.at(table, (folds.fold, folds.truth), folds.counts)
    return np.asarray(table)


def _refused(seen: Evaluation) -> bool:
    plan = seen.estimator.plan
    return plan is not None and bool(plan.refused) and plan.factor == 1 and not plan.ratio
