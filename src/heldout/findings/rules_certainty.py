"""Rules about how sure an evaluation can be: intervals that are too wide, of the wrong method, or of too few units."""

from __future__ import annotations

import math

import numpy as np

from heldout.comparisons.cases_needed import CasesNeeded, cases_needed, round_up
from heldout.findings.evaluation_evidence import NOT_KEPT, case_number, skill_of
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, between, figure, quoted, rule
from heldout.findings.rules_imbalance import gain_over_commonest
from heldout.intervals.estimate import Estimate, PairTest
from heldout.intervals.group_leverage import effective_number
from heldout.measures.catalogue import find
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import count, number_of, share
from heldout.studies.sampling import ShareSampling
from heldout.studies.study_plan import ask_width, find_fewest

OF_CLASS = "recall", "precision"


@rule(
    "H005",
    about="evaluation",
    title="Normal interval where it does not hold",
    severity="act",
    advice="Leave out the method: the default is Wilson's interval, which holds for few cases and near 0 and 1.",
    reference="Mitchell (1997), Machine Learning, ch. 5; Brown, Cai & DasGupta (2001), Statistical Science 16(2)",
    limits={
        "cases": "Mitchell (1997), ch. 5: at least 30 cases",
        "spread": "Mitchell (1997), ch. 5: n·p·(1 − p) of at least 5",
    },
    erratum="The interval of the notes covers less than it says",
)
def normal_interval_fails(subject: Evaluation, *, cases: float = 30, spread: float = 5.0) -> Answer:
    """The normal interval was asked for where there are too few cases for it, or the share is too near 0 or 1.

    With an error rate of .01 on 20 cases the 95 % interval contains the true rate 18 % of the time.
    """
    asked = [e for e in subject.estimates if e.method.partition(",")[0] == "normal" and not math.isnan(e.value)]
    if not asked:
        return NotApplicable("no normal interval was asked for")
    broken = [e for e in asked if e.n < cases or (_is_share(e) and _spread(e) < spread)]
    if not broken:
        least = min(asked, key=lambda e: e.n)
        return Passed(
            f"The normal intervals rest on {number_of(least.n, 'case')} or more.",
            {"intervals": len(asked), "broken": 0},
        )
    shown = min(broken, key=lambda e: (e.measure not in ("accuracy", *OF_CLASS), e.n))
    held = _spread(shown) if _is_share(shown) else math.nan
    facts = {"intervals": len(asked), "broken": len(broken), "measure": shown.name, "n": shown.n, "spread": held}
    why = f"n = {count(shown.n)}" + (f", n·p·(1 − p) = {held:.1f}" if _is_share(shown) else "")
    return Fired(
        f"{len(broken):,} of {len(asked):,} normal intervals do not hold, such as that of {_called(shown)} ({why}).",
        facts,
    )


def _is_share(estimate: Estimate) -> bool:
    return find(estimate.measure).measure.kind == "proportion"


def _spread(estimate: Estimate) -> float:
    return float(estimate.n) * estimate.value * (1 - estimate.value)


def _called(estimate: Estimate) -> str:
    title = find(estimate.measure).title
    return f"{title} of {quoted(estimate.class_)}" if estimate.class_ is not None else title


@rule(
    "H013",
    about="evaluation",
    title="Too few cases to say that it beats the commonest class",
    severity="know",
    advice="Test on more cases before claiming that it is better than no model at all.",
    reference="Tango (1998), Statistics in Medicine 17; Connor (1987), Biometrics 43",
    limits={"power": "Cohen (1988), Statistical Power Analysis, p. 56: a power of .8"},
)
def gain_not_shown(subject: Evaluation, *, power: float = 0.8) -> Answer:
    """It is more accurate than always predicting the commonest class, but that may be chance.

    The interval of the difference contains 0, so these cases do not support the claim that the model is more accurate.
    The ROC area or Matthews correlation may still show that it tells the classes apart.
    """
    gain = gain_over_commonest(subject.confusion, subject.level, subject.independent)
    if gain is None:
        return NotApplicable("there is one class only")
    if gain.value <= 0:
        return NotApplicable("it is no more accurate than the commonest class on these cases")
    if not gain.known:
        return NotApplicable("the difference has no interval here")
    n = case_number(subject)
    gap = PairTest(gain.value, gain.low, gain.high, subject.level, "paired", math.nan, n)
    facts: dict[str, object] = {
        "difference": gain.value,
        "low": gain.low,
        "high": gain.high,
        "answer": gain.answer,
        "n": n,
    }
    figures = f"{share(gain.value)}{between(gain.low, gain.high)}"
    if gain.low > 0:
        sentence = f"It is more accurate than always predicting {quoted(gain.answer)} by {figures}."
        return Passed(sentence, facts, (gain.claim,))
    # Where groups are the cases, more rows of the same groups would not tell more.
    needed = cases_needed(gap, power) if subject.confusion.clusters is None else None
    facts["needed_low"] = None if needed is None else needed.low
    facts["needed_high"] = None if needed is None else needed.high
    about = "" if needed is None else f"; it would take {needed.describe()}"
    skill, advice = skill_of(subject), ""
    if skill is not None and skill.shown:
        facts |= {"skill": skill.title, "skill_value": skill.estimate.value}
        advice = f"Claim no gain in accuracy; that it tells the classes apart is shown ({skill.describe()})."
    return Fired(
        f"That it beats always predicting {quoted(gain.answer)} is not shown: {figures}{about}.",
        facts,
        advice,
        claims=(gain.claim, *(("tells the classes apart",) if advice else ())),
    )


@rule(
    "H014",
    about="evaluation",
    title="An interval too wide to support a claim",
    severity="know",
    advice="Report the interval with the number, and test on more cases before choosing between models by it.",
    reference="Newcombe (1998), Statistics in Medicine 17; Cumming (2014), Psychological Science 25(1)",
    limits={"width": "convention: wider than .2, the first decimal of the number is not known"},
)
def headline_too_wide(subject: Evaluation, *, width: float = 0.2) -> Answer:
    """The interval of the recall or precision of the positive class, or else of the accuracy, is wide.

    A recall somewhere between .4 and .7 does not say whether the classifier is good enough.
    """
    positive = subject.positive
    headline = (
        [subject.get("accuracy")] if positive is None else [subject.get(name, class_=positive) for name in OF_CLASS]
    )
    known = [e for e in headline if not math.isnan(e.width) and not math.isnan(e.value)]
    if not known:
        return NotApplicable("there is no interval to look at")
    widest = max(known, key=lambda e: e.width)
    facts: dict[str, object] = {
        "measure": widest.name,
        "value": widest.value,
        "low": widest.low,
        "high": widest.high,
        "width": widest.width,
        "n": widest.n,
    }
    sentence = f"The interval of {_called(widest)} is {share(widest.width)} wide{between(widest.low, widest.high)}"
    if widest.width <= width:
        return Passed(f"{sentence}.", facts)
    if subject.confusion.clusters is not None:
        return Fired(f"{sentence}, with {number_of(subject.confusion.clusters.number, 'group')}.", facts)
    needed = _for_half(widest, subject.level)
    facts["needed"] = needed
    of = {"recall": " of it", "precision": f" that it calls {quoted('' if positive is None else positive)}"}
    rounded = round_up(needed)
    cases = CasesNeeded(rounded, rounded).describe(f"cases{of.get(widest.measure, '')}")
    return Fired(f"{sentence}; half that width takes {cases}.", facts)


def _for_half(estimate: Estimate, level: float) -> int:
    """The number of cases for an interval half as wide; where they are not plain cases, four times as many."""
    if estimate.method == "wilson":
        sampling = ShareSampling(estimate.value)
        return find_fewest(ask_width(sampling, estimate.measure, level, estimate.width / 2, [estimate.value], None))
    return math.ceil(4 * float(estimate.n))


@rule(
    "H015",
    about="evaluation",
    title="Groups present but ignored",
    severity="know",
    advice="If so, name the column with group= (--group): the intervals then take whole groups as the cases.",
    reference="Obuchowski (1997), Biometrics 53; Liang & Zeger (1986), Biometrika 73",
    limits={
        "repeats": "convention: from 1.1 rows to a group on, some groups have several rows and it shows",
        "groups": "convention: fewer than 10 values are kinds of cases, to be looked at as slices",
    },
)
def groups_ignored(subject: Evaluation, *, repeats: float = 1.1, groups: float = 10) -> Answer:
    """A column that was not used looks like groups: its name says so, and its values repeat.

    Rows of one patient, user or site resemble each other, so they hold less information than as many independent ones,
    and intervals that ignore this are too narrow.
    """
    clusters = subject.confusion.clusters
    if clusters is not None:
        return Passed(
            f"The intervals take the {number_of(clusters.number, 'group')} as the cases.", {"groups": clusters.number}
        )
    if not subject.source.columns:
        return NotApplicable("there are no columns besides those that were given")
    sliced = tuple(column.name for column in subject.slice_columns)
    if subject.counted is not None and not subject.source.group_like:
        return NotApplicable(f"{NOT_KEPT}, so the columns that were not used were not looked at")
    unused = [seen for seen in subject.source.group_like if seen[0] not in sliced]
    repeating = [seen for seen in unused if seen[2] >= repeats * seen[1] and seen[1] >= groups]
    if not repeating:
        return Passed("No unused column looks like groups of rows.", {"columns": []})
    name, values, rows = repeating[0]
    facts = {"columns": [seen[0] for seen in repeating], "column": name, "values": values, "rows": rows}
    return Fired(
        f"The unused column {quoted(name)} has {number_of(values, 'value')} in {number_of(rows, 'row')}: rows of one "
        "value may not be independent.",
        facts,
    )


@rule(
    "H024",
    about="evaluation",
    title="Intervals that rest on few groups",
    severity="know",
    advice="Collect more groups: more rows of the same ones hardly help.",
    reference="Cameron & Miller (2015), JHR 50(2); Carter, Schnepel & Steigerwald (2017), REStat 99(4)",
    limits={
        "groups": "Cameron & Miller (2015), sec. VI: few is fewer than 20 to 50, and unequal ones count for fewer",
        "errors": "convention: with errors in fewer than 10 groups the spread between groups is hardly seen",
    },
)
def few_groups(subject: Evaluation, *, groups: float = 20, errors: float = 10) -> Answer:
    """There are so few groups, or so few large ones, or so few with an error, that their spread is itself uncertain.

    Groups of m cases count as (Σm)² / Σm² equal ones: where a few hold most of the cases, the others say little. With
    few groups the intervals are wide, and may still be too narrow.
    """
    confusion, clusters = subject.confusion, subject.confusion.clusters
    if clusters is None:
        return NotApplicable("the cases do not come in groups")
    sizes = np.bincount(clusters.group, weights=clusters.count, minlength=clusters.number)
    effective = effective_number(sizes)
    wrong = (confusion.truth != confusion.predicted)[clusters.cell] & (clusters.count > 0)
    failing = len(np.unique(clusters.group[wrong]))
    facts = {
        "groups": clusters.number,
        "effective": effective,
        "with_errors": failing,
        "cases": confusion.n_cases,
        "largest": float(sizes.max(initial=0.0)) / max(float(sizes.sum()), 1e-300),
    }
    group_count = number_of(clusters.number, "group")
    # Equal groups count as their number but for rounding.
    unequal = effective < 0.9 * clusters.number
    group_count += f", which count as {figure(round(effective, 1))} equally large ones" if unequal else ""
    if effective < groups - 1e-9:
        return Fired(f"The intervals of {number_of(confusion.n_cases, 'case')} rest on {group_count}.", facts)
    if 0 < failing < errors:
        return Fired(f"All errors lie in {number_of(failing, 'group')} of {clusters.number:,}.", facts)
    return Passed(f"There are {group_count}.", facts)


@rule(
    "H025",
    about="evaluation",
    title="A few heavy weights decide",
    severity="know",
    advice="Look at the heaviest cases, and cap their weights if these are estimates themselves.",
    reference="Kish (1965), Survey Sampling, ch. 11",
    limits={"share": "convention: the weights take away more than half of the cases (a design effect above 2)"},
)
def weights_leave_few(subject: Evaluation, *, share: float = 0.5) -> Answer:
    """The weights are so unequal that the cases are worth fewer than half as many equally weighted ones.

    The effective number of cases is (Σw)² / Σw²: a few heavy cases decide every measure.
    """
    confusion = subject.confusion
    if confusion.squares is None:
        return NotApplicable("the cases carry no weights")
    squares = float(confusion.squares.sum())
    if not squares:
        return NotApplicable("all weights are 0")
    effective = float(confusion.n) ** 2 / squares
    n = confusion.n_cases
    facts = {"cases": n, "effective": effective, "share": effective / n}
    sentence = f"The weights leave {figure(round(effective, 1))} of {number_of(n, 'case')} as effective"
    return (
        Fired(f"{sentence}: a few heavy ones decide.", facts)
        if effective < share * n
        else Passed(f"{sentence}.", facts)
    )
