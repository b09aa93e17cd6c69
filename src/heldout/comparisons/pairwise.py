"""Every pair by every measure: tested, corrected for the number of pairs, and put into words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from heldout.arguments import capitalize, listing, suggest
from heldout.comparisons.best import BONFERRONI, Best, BestBy, find_best_by, title_of
from heldout.comparisons.cases_needed import CasesNeeded, cases_needed
from heldout.comparisons.comparison import UNNAMED, Alike, Comparison, Known, Outcome, Pair, PairwiseComparison
from heldout.comparisons.corrections import (
    FOR_A_CONTROL,
    adjust_p_values,
    describe_left_out,
    find_correction,
    is_significant,
)
from heldout.comparisons.fold_tests import CERTAIN, Posterior, make_rope_error
from heldout.comparisons.learner_ranks import rank_learners
from heldout.comparisons.margins import DEFAULT_KIND, check_margin_given, interval_level, judge_margin
from heldout.comparisons.pair_test import PROCEDURES, cut_limits, find_procedure, find_reach
from heldout.comparisons.pairing_design import CompareOptions, PairingDesign
from heldout.comparisons.ranks import ResultTable, read_results
from heldout.comparisons.table_layout import check_one_scale
from heldout.comparisons.wilcoxon import DATA_SET_TESTS, compare_over_data_sets
from heldout.errors import ColumnError, OptionError
from heldout.intervals.estimate import PairTest, join_notes
from heldout.measures.catalogue import read_quantity
from heldout.measures.declare import Direction
from heldout.measures.quantity import Quantity, note_class_order
from heldout.show.blocks import Style
from heldout.show.numbers import digits_between, in_brackets, number, plain, write_p

NO_SPREAD = "all splits differ by the same amount, so their spread says nothing of how sure that is"


def list_known_limits(methods: list[str], asked: str | None) -> tuple[Known, ...]:
    """The measured limits of the methods that were used, where the user named one."""
    if asked is None:
        return ()
    procedures = [PROCEDURES[name] for name in dict.fromkeys(methods) if name in PROCEDURES]
    return tuple(Known(procedure.name, procedure.finding.rstrip(".")) for procedure in procedures if procedure.finding)


def decide_winner(tested: PairTest, p: float, direction: Direction = "higher") -> Outcome:
    """Which of the two is significantly better, if any; `p` is corrected.

    >>> test = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.01, n=500)
    >>> decide_winner(test, 0.01), decide_winner(test, 0.01, "lower"), decide_winner(test, 0.06)
    ('a', 'b', 'undecided')
    """
    if lacks_spread(tested):
        return "undecided"
    if isinstance(tested, Posterior):
        if tested.difference == tested.low == tested.high == 0:
            return "same"
        first, second = tested.a_higher >= tested.level, tested.b_higher >= tested.level
    elif tested.difference == 0 and p == 1:
        return "same"
    else:
        significant = is_significant(p, tested.level)
        first, second = significant and tested.difference > 0, significant and tested.difference < 0
    if direction == "lower":
        first, second = second, first
    return "a" if first else "b" if second else "undecided"


def lacks_spread(tested: PairTest) -> bool:
    """Whether all splits differ by the same amount, so that an infinite statistic says nothing."""
    if tested.difference == 0 or tested.method not in PROCEDURES:
        return False
    over_splits = PROCEDURES[tested.method].setting == "same splits"
    return over_splits and (math.isinf(tested.statistic) or CERTAIN in tested.note)


def describe_certainty(tested: PairTest, p: float, better: Outcome) -> str:
    """How sure it is: probabilities, or p, with what the correction has changed.

    The winner stands first, so for "b" the probabilities are those of B.

    >>> test = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> describe_certainty(test, 0.06, "undecided")
    'p = .060 (before correction p = .020)'
    """
    if isinstance(tested, Posterior):
        above, within, below = tested.odds[::-1] if better == "b" else tested.odds
        text = f"probability {above:.3f} that it is positive, {below:.3f} that it is negative"
        text += f", {within:.3f} that it is within {tested.rope:g}" if tested.rope else ""
    else:
        text = write_p(p)
        excludes_zero = is_significant(tested.p, tested.level) or tested.low > 0 or tested.high < 0
        if better == "undecided" and excludes_zero and p > tested.p:
            text += f" (before correction {write_p(tested.p)})"
    return f"{text}; {NO_SPREAD}" if lacks_spread(tested) else text


def qualify_interval(tested: PairTest, p: float, better: Outcome) -> str:
    """The words after an interval that excludes zero although p, corrected for all pairs, is not significant.

    >>> test = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> qualify_interval(test, 0.06, "undecided"), qualify_interval(test, 0.02, "a")
    (' for this pair alone', '')
    """
    excludes_zero = tested.low > 0 or tested.high < 0
    return " for this pair alone" if better == "undecided" and excludes_zero and p > tested.p else ""


def describe_disagreement(tested: PairTest) -> str:
    """A sentence where the test and the interval of one pair do not agree about zero, as two constructions need not.

    >>> test = PairTest(-0.05, -0.1, -0.0004, 0.95, "mcnemar-mid-p", 0.052, 200, interval_method="tango")
    >>> print(describe_disagreement(test))
    the interval (tango) leaves out 0, and the test (mcnemar-mid-p, p = .052) does not reject: the verdict is the test's
    """
    if math.isnan(tested.p) or math.isnan(tested.low) or lacks_spread(tested):
        return ""
    rejects = is_significant(tested.p, tested.level)
    if not (tested.low < 0 < tested.high if rejects else tested.low > 0 or tested.high < 0):
        return ""
    zero, does = ("holds 0", "rejects") if rejects else ("leaves out 0", "does not reject")
    test = f"{tested.method}, {write_p(tested.p)}"
    return f"the interval ({tested.interval_method}) {zero}, and the test ({test}) {does}: the verdict is the test's"


def _with_disagreement(tested: PairTest) -> PairTest:
    return replace(tested, note=join_notes(tested.note, describe_disagreement(tested)))


def count_cases_needed(tested: PairTest, p: float, margin: float | None = None) -> CasesNeeded | None:
    """How many cases would show a difference at the corrected level; None where there are enough, or none help.

    >>> test = PairTest(difference=0.02, low=-0.01, high=0.05, level=0.95, method="tango", p=0.19, n=500)
    >>> [count_cases_needed(test, p, margin=0.02).low for p in (0.19, 0.57)]
    [2300, 3100]
    """
    # More splits of the same cases would not help: only more cases would.
    over_cases = tested.method not in PROCEDURES or PROCEDURES[tested.method].setting in (
        "same cases",
        "different cases",
    )
    if not (over_cases and tested.p > 0 and p > 0):
        return None
    level = 1 - (1 - tested.level) * min(tested.p / p, 1.0)
    return cases_needed(tested, level=level, margin=margin)


DEFAULT_CORRECTION = "holm"


@dataclass(frozen=True)
class Claims:
    """How strong a claim may be: the correction for many pairs, and the margin to be judged."""

    correction: str | None = None
    margin: float | None = None
    margin_kind: str = DEFAULT_KIND

    def used(self, n_pairs: int) -> str:
        """The correction of so many pairs, empty for one pair and for "none"."""
        name = find_correction(DEFAULT_CORRECTION if self.correction is None else self.correction).name
        return "" if n_pairs < 2 or name == "none" else name

    def check(self, control: object = None) -> None:
        """Refuse a wrong margin, a kind of claim without a margin, and a correction that is not for a control."""
        check_margin_given(self.margin, self.margin_kind)
        if control is not None and str(self.correction).strip().casefold() == "shaffer":
            raise OptionError(
                "Shaffer's correction is for all pairs, and here all are compared with one control.",
                hint=FOR_A_CONTROL,
            )


def run_pairwise_tests(
    design: PairingDesign,
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    quantities: Sequence[Quantity],
    options: CompareOptions,
    claims: Claims,
) -> tuple[Pair, ...]:
    """Test every pair by every quantity."""
    results: list[Pair] = []
    for quantity in quantities:
        tests = [design.test(a, b, quantity, options) for a, b in pairs]
        corrected = correct_p_values(tests, claims.used(len(pairs)), len(names))
        for (a, b), test, p in zip(pairs, tests, corrected, strict=True):
            value_a, value_b = design.values_together([a, b], quantity)
            # Only where there is no difference is it worth looking at every case.
            alike = "" if test.difference else design.identical(a, b, quantity)
            pair = replace(
                _pair((names[a], names[b]), quantity, (value_a, value_b), test, p, alike, claims.margin),
                apart=None if quantity.is_score else design.discordant(a, b),
                pooled=_pooled(design, (a, b), quantity),
            )
            if claims.margin is not None:
                pair = _with_margin(pair, design, (a, b), quantity, options, claims)
            results.append(pair)
    return tuple(results)


def correct_p_values(tests: Sequence[PairTest], correction: str, contestants: int) -> list[float]:
    """The p-values of tests corrected for their number; the correction is empty where there is none."""
    raw = [test.p for test in tests]
    all_pairs = len(tests) == math.comb(contestants, 2)
    return adjust_p_values(raw, correction, pairs_of=contestants if all_pairs else None).tolist() if correction else raw


def keep_applicable(
    design: PairingDesign, pair: tuple[int, int], quantities: Sequence[Quantity], options: CompareOptions
) -> list[Quantity]:
    """Those of the default quantities that the method applies to; at least one must be."""
    applicable: list[Quantity] = []
    first: OptionError | None = None
    for quantity in quantities:
        try:
            design.test(*pair, quantity, options)
        except OptionError as error:
            first = first or error
        else:
            applicable.append(quantity)
    if not applicable and first is not None:
        raise first
    return applicable


def _with_margin(
    pair: Pair,
    design: PairingDesign,
    indices: tuple[int, int],
    quantity: Quantity,
    options: CompareOptions,
    claims: Claims,
) -> Pair:
    """The pair judged against the margin, by an interval whose one-sided error is that of the level."""
    wide = design.test(*indices, quantity, replace(options, level=interval_level(options.level)))
    direction = quantity.bound.measure.direction
    margin = judge_margin(
        wide, claims.margin or 0.0, direction, claims.margin_kind, names=(pair.a, pair.b),
        reach=find_reach(quantity.bound.measure),
    )  # fmt: skip
    return replace(pair, margin=margin)


def _pooled(design: PairingDesign, indices: tuple[int, int], quantity: Quantity) -> tuple[float, float] | None:
    a, b = (design.pooled(index, quantity) for index in indices)
    return None if a is None or b is None else (a, b)


def _pair(
    names: tuple[str, str],
    quantity: Quantity,
    values: tuple[float, float],
    tested: PairTest,
    p: float,
    alike: Alike,
    margin: float | None,
) -> Pair:
    better = decide_winner(tested, p, quantity.bound.measure.direction)
    cases = count_cases_needed(tested, p, margin) if better == "undecided" else None
    tested = _with_disagreement(cut_limits(tested, find_reach(quantity.bound.measure, values)))
    return Pair(
        *names,
        quantity.bound.name,
        quantity.class_,
        quantity.average,
        *values,
        tested,
        p,
        better,
        phrase_pair(names, quantity, values, tested, p, better, cases, alike),
        cases,
        alike=alike,
    )


def phrase_pair(
    names: tuple[str, str],
    quantity: Quantity,
    values: tuple[float, float],
    tested: PairTest,
    p: float,
    better: Outcome,
    cases: CasesNeeded | None,
    alike: Alike,
) -> str:
    """What is said of two by a measure; the winner stands first."""
    measure = title_of(quantity)
    if math.isnan(tested.difference):
        return f"{names[0]} and {names[1]} cannot be compared by {measure}: {tested.undefined}."
    certainty = describe_certainty(tested, p, better)
    if better == "b":
        # The winner stands first.
        names, values = names[::-1], values[::-1]
        tested = replace(tested, difference=-tested.difference, low=-tested.high, high=-tested.low)
    style: Style = "share" if quantity.bound.measure.bounded else "plain"
    digits = digits_between(tested.low, tested.high) if style == "share" and not math.isnan(tested.low) else None
    first, second, gap = (number(value, style, digits) for value in (*values, tested.difference))
    ends = "" if math.isnan(tested.low) else f" {in_brackets(tested.low, tested.high, style, digits)}"
    ends += qualify_interval(tested, p, better)
    figures = f"{measure} {first} against {second}, a difference of {gap}{ends}, {certainty}"
    directed = quantity.bound.measure.direction in ("higher", "lower")
    if better in ("a", "b"):
        return f"{names[0]} {'is better than' if directed else 'differs from'} {names[1]}: {figures}."
    if alike:
        return f"{names[0]} and {names[1]} give the same {alike}: {figures}."
    return f"{names[0]} and {names[1]} cannot be told apart: {figures}.{_describe_needed(cases, style)}"


def _describe_needed(cases: CasesNeeded | None, style: Style) -> str:
    """How many cases it would take, and for which difference."""
    if cases is None:
        return ""
    if cases.margin is not None:
        needed, gap = cases.describe(), number(cases.margin, style)
        return f" {capitalize(needed)} would be needed to show a difference of {gap}, the margin."
    large, small = cases.describe_ends()
    more = f"; one as small as it allows, {small}" if small else ""
    return f" A difference as large as the interval allows would take {large} to show{more}."


def note_uncorrected(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Notes on pairs without a p-value, which a correction leaves out."""
    by_measure: dict[str, list[float]] = {}
    for pair in pairs:
        by_measure.setdefault(pair.name, []).append(pair.tested.p)
    gaps = {name: describe_left_out(ps) for name, ps in by_measure.items() if not all(math.isnan(p) for p in ps)}
    return tuple(f"{name}: {note}" for name, note in gaps.items() if note)


def note_multiplicity(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Notes on several measures and several pairs, which no correction covers."""
    measures = dict.fromkeys(pair.name for pair in pairs)
    names = dict.fromkeys((pair.a, pair.b) for pair in pairs)
    notes: list[str] = []
    if len(measures) > 1 and not all(math.isnan(pair.p) for pair in pairs):
        alarm = 1 - pairs[0].tested.level ** len(measures)
        notes.append(
            f"{len(measures)} measures were compared, and their p-values are not corrected for that: without any "
            f"difference, up to {100 * alarm:.0f} % of such studies would have a false alarm"
        )
    if len(names) > 1 and not all(pair.together for pair in pairs):
        what = "margins and intervals are" if any(pair.margin is not None for pair in pairs) else "intervals are"
        notes.append(f"{what} for each pair alone")
    elif any(pair.margin is not None for pair in pairs):
        notes.append("margins are for each pair alone")
    return tuple(notes)


def note_best(best: Best | None, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Notes on limits that hold together: how they were made, and why the best may be known where a pair is not."""
    if best is None:
        return ()
    notes: list[str] = []
    crude = [by.name for by in best.measures if by.method == BONFERRONI]
    if crude:
        notes.append(
            f"how the values by {listing(crude)} vary together is not known, so the limits that hold for all at once "
            "are Bonferroni's, which are wider"
        )
    for by in best.measures:
        may = set(by.may_be_best)
        open_ = [p for p in pairs if p.name == by.name and p.better == "undecided" and (p.a in may) != (p.b in may)]
        if by.not_best and open_:
            first = open_[0]
            notes.append(
                f"{by.name}: to rule one out as the best takes less than to tell it apart from each other one, so "
                f"{first.b if first.a in may else first.a} is ruled out although "
                f"{first.a} and {first.b} are not told apart"
            )
            break
    return tuple(notes)


def note_pooled_values(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """A note on means over splits that differ from the value of all counts together."""
    pooled_values: dict[str, list[str]] = {}
    for pair in pairs:
        for name, mean, pooled in zip((pair.a, pair.b), (pair.value_a, pair.value_b), pair.pooled or (), strict=False):
            if not math.isnan(pooled) and number(mean) != number(pooled):
                pooled_values.setdefault(pair.name, []).append(f"{number(pooled)} for {name}")
    if not pooled_values:
        return ()
    shown = "; ".join(f"{measure} {listing(dict.fromkeys(figures))}" for measure, figures in pooled_values.items())
    return (f"values are means over the splits, as the test needs them; from all counts together: {shown}",)


def note_class_orders(design: PairingDesign, quantities: Sequence[Quantity]) -> tuple[str, ...]:
    """In which order measures of ordered classes take them; of results of splits the classes are not known."""
    if not design.evaluations:
        return ()
    orders = {q.bound.title: note_class_order(q.bound.measure, design.labels) for q in quantities}
    return tuple(f"{title}: {order}" for title, order in orders.items() if order)


def describe_procedures(design: PairingDesign, pairs: Sequence[Pair]) -> str:
    """Which procedures were used for what, and why, in a sentence or two."""
    by_method: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        interval = pair.tested.interval_method
        # A test of values that do not differ has no interval, and is the same test.
        key = pair.tested.method, "" if interval == pair.tested.method else interval
        by_method.setdefault(key, []).append(pair.name)
    parts = []
    for (method, interval), measures in by_method.items():
        procedure = PROCEDURES.get(method)
        source = f" ({procedure.reference})" if procedure is not None and procedure.reference else ""
        by = f", interval by {interval}" if interval else ""
        parts.append(f"{', '.join(dict.fromkeys(measures))} by {method}{source}{by}")
    return f"{design.reason}: {'; '.join(parts)}."


def choose_pairs(names: list[str], control: str | None) -> list[tuple[int, int]]:
    """All pairs of contestants, or each with the control."""
    if control is None:
        return list(combinations(range(len(names)), 2))
    if control not in names:
        raise OptionError(
            f"There is no classifier {control!r} to be the control. There are: {listing(names)}.",
            hint=suggest(control, names, "use one of these names."),
        )
    index = names.index(control)
    return [(other, index) for other in range(len(names)) if other != index]


def compare_contestants(
    design: PairingDesign,
    pairs: list[tuple[int, int]],
    measure: str | Sequence[str] | None,
    options: CompareOptions,
    claims: Claims,
    ignored: tuple[str, ...],
) -> PairwiseComparison:
    """Test every pair by every measure, and describe what was done."""
    quantities = design.quantities([measure] if isinstance(measure, str) else measure)
    if measure is None and options.method is not None:
        quantities = keep_applicable(design, pairs[0], quantities, options)
    results = run_pairwise_tests(design, design.names, pairs, quantities, options, claims)
    best = find_best(design, quantities, results, options)
    if best is not None:
        results = tuple(replace(pair, together=_limits_together(best, pair)) for pair in results)
    used = claims.used(len(pairs))
    return PairwiseComparison(
        tuple(design.names),
        results,
        design.description,
        describe_procedures(design, results),
        options.level,
        used,
        design.omnibus(quantities, options) if len(design.names) > 2 else (),
        (
            *design.notes,
            *(note_uncorrected(results) if used else ()),
            *note_multiplicity(results),
            *note_pooled_values(results),
            *note_best(best, results),
            *note_class_orders(design, quantities),
        ),
        options.seed,
        design.curves(options),
        design.setting,
        options.method or "",
        list_known_limits([pair.tested.method for pair in results], options.method),
        design.sides(),
        ignored,
        design.own_notes,
        design.shared_notes,
        best,
        judged=tuple(design.by_name.values()),
    )


def find_best(
    design: PairingDesign, quantities: Sequence[Quantity], results: Sequence[Pair], options: CompareOptions
) -> Best | None:
    """Which of three or more may be the best by each quantity; None unless all pairs of them were tested."""
    names = design.names
    if len(names) < 3 or len({(p.a, p.b) for p in results}) < math.comb(len(names), 2):
        return None
    if any(isinstance(pair.tested, Posterior) for pair in results):
        return None
    by_measure: list[BestBy] = []
    for quantity in quantities:
        key = quantity.bound.name, quantity.class_, quantity.average
        tests = {
            (names.index(p.a), names.index(p.b)): p.tested
            for p in results
            if (p.measure, p.class_, p.average) == key
        }  # fmt: skip
        by = find_best_by(
            names, quantity, design.values_together(range(len(names)), quantity), tests,
            _retest(design, quantity, tests, options), design.joint(quantity), level=options.level, seed=options.seed,
        )  # fmt: skip
        by_measure += [by] if by is not None else []
    return Best(tuple(by_measure), options.level, options.seed) if by_measure else None


# Limits from draws of which only the middle was asked for are widened instead of drawn again.
DRAWN = ("dirichlet", "bootstrap", "permutation")


def _retest(
    design: PairingDesign, quantity: Quantity, tests: Mapping[tuple[int, int], PairTest], options: CompareOptions
) -> Callable[[int, int, float], PairTest] | None:
    """How a pair is tested at another level; None where its limits are to be widened."""
    drawn = any(word in test.method for test in tests.values() for word in DRAWN)
    if drawn or not design.in_memory:
        return None

    def test_at(a: int, b: int, level: float) -> PairTest:
        return design.test(a, b, quantity, replace(options, level=level))

    return test_at


def _limits_together(best: Best, pair: Pair) -> tuple[float, float] | None:
    """The limits of a pair that hold for all pairs at once."""
    return next((by.pairs.get((pair.a, pair.b)) for by in best.measures if by.name == pair.name), None)


# Learners in a table of results: a row for each data set, a column for each learner.


DEFAULT_TABLE_TEST = "wilcoxon"


@dataclass(frozen=True)
class TableOptions:
    """The options of a comparison in a table of results."""

    level: float
    method: str | None
    rope: float | None
    claims: Claims
    measure: str = ""
    seed: int = 0
    ignore: tuple[str, ...] = ()


def wants_pairs(table: ResultTable, method: str | None) -> bool:
    """Whether learners are compared two by two, and not by their ranks among all."""
    return len(table.learners) == 2 if method is None else find_procedure(method, "data sets").name in DATA_SET_TESTS


def compare_table(source: Any, control: Any, options: TableOptions, measure: Any) -> Comparison:
    """A table of results, data sets × learners: two learners or a test for two pair by pair, otherwise by ranks."""
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    if len(asked) > 1:
        raise OptionError(
            f"A table holds the results by one measure, and these were named: {listing(asked)}.", hint="name one."
        )
    # Of "recall[spam]" only the measure matters: whether higher is better.
    bounds = [read_quantity(name.partition("[")[0]).bound for name in asked]
    lower = [bound.measure.direction == "lower" for bound in bounds]
    try:
        table = read_results(source, higher_is_better=lower != [True])
    except ColumnError as error:
        more = "of predictions in one file name the columns (predicted=, score=; --predicted A --predicted B)."
        raise ColumnError(error.what, hint=f"{error.hint} Or {more}") from None
    if not bounds or bounds[0].measure.high == 1:
        check_one_scale(table.values.T, table.learners, within=False)
    if wants_pairs(table, options.method):
        options = replace(options, measure=bounds[0].name if bounds else "")
        return compare_in_table(table, choose_pairs([str(name) for name in table.learners], control), options)
    if options.rope is not None:
        raise OptionError(
            "Ranks know no region of practical equivalence.",
            hint="use method='bayes-signed-rank' (--method bayes-signed-rank), or leave out rope= (--rope).",
        )
    return rank_learners(
        table,
        control=control,
        correction=options.claims.correction,
        level=options.level,
        higher_is_better=table.higher_is_better,
    )


def compare_in_table(table: ResultTable, pairs: Sequence[tuple[int, int]], options: TableOptions) -> PairwiseComparison:
    """Compare the learners of a table two by two over its data sets."""
    tests = [_test_columns(table, pair, options) for pair in pairs]
    used = options.claims.used(len(pairs))
    corrected = correct_p_values(tests, used, len(table.learners))
    results = tuple(
        _table_pair(table, pair, test, p, options) for pair, test, p in zip(pairs, tests, corrected, strict=True)
    )
    procedure = PROCEDURES[tests[0].method]
    why = f"Each data set gives one value of every learner, so they are compared over data sets by {procedure.name}"
    return PairwiseComparison(
        tuple(map(str, table.learners)),
        results,
        f"{len(table.data_sets):,} data sets",
        f"{why} ({procedure.reference}).",
        options.level,
        used,
        notes=(*(note_uncorrected(results) if used else ()), *note_multiplicity(results)),
        seed=options.seed,
        met="data sets",
        asked=options.method or "",
        known=list_known_limits([test.method for test in tests], options.method),
        ignore=options.ignore,
    )


def _test_columns(table: ResultTable, pair: tuple[int, int], options: TableOptions) -> PairTest:
    a, b = (table.values[:, index] for index in pair)
    method = options.method or DEFAULT_TABLE_TEST
    name = find_procedure(method, "data sets").name
    more: dict[str, object] = {}
    if name.startswith("bayes"):
        more = {"rope": options.rope or 0.0, "seed": options.seed}
    elif options.rope is not None:
        bayesian = listing(each for each in DATA_SET_TESTS if each.startswith("bayes"))
        raise make_rope_error(name, hint=f"use one of: {bayesian}; or leave out rope.")
    return compare_over_data_sets(a, b, method, level=options.level, **more)


def _table_pair(table: ResultTable, pair: tuple[int, int], tested: PairTest, p: float, options: TableOptions) -> Pair:
    a, b = pair
    names = str(table.learners[a]), str(table.learners[b])
    values = float(table.values[:, a].mean()), float(table.values[:, b].mean())
    better = decide_winner(tested, p, "higher" if table.higher_is_better else "lower")
    if options.measure:
        # A table may hold percentages, which keep to no range that is known.
        tested = cut_limits(tested, find_reach(read_quantity(options.measure).bound.measure, table.values.flat))
    tested = _with_disagreement(tested)
    return Pair(
        *names,
        options.measure or UNNAMED,
        None,
        None,
        *values,
        tested,
        p,
        better,
        phrase_table_pair(names, values, tested, p, better),
    )


def phrase_table_pair(
    names: tuple[str, str], values: tuple[float, float], tested: PairTest, p: float, better: Outcome
) -> str:
    """What is said of two over data sets; the winner stands first."""
    certainty = describe_certainty(tested, p, better)
    if better == "b":
        # The winner stands first.
        names, values = names[::-1], values[::-1]
        tested = replace(tested, difference=-tested.difference, low=-tested.high, high=-tested.low)
    ends = "" if math.isnan(tested.low) else f" {in_brackets(tested.low, tested.high, 'plain', 3)}"
    ends += qualify_interval(tested, p, better)
    figures = f"mean {plain(values[0])} against {plain(values[1])}, typical difference {plain(tested.difference)}{ends}"
    start = {
        "undecided": f"{names[0]} and {names[1]} cannot be told apart",
        "same": f"{names[0]} and {names[1]} do not differ",
    }.get(better, f"{names[0]} is better than {names[1]}")
    return f"{start}: {figures}, {certainty}."
