"""Rules about comparisons: what the difference is worth, the procedure, its p-values, and those who are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from heldout.arguments import capitalize, listing
from heldout.comparisons.corrections import adjust_p_values, is_significant
from heldout.costs import more_accurate_costs_more
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.findings.rule import LINEAR_COST, TEN_CASES, Answer, Fired, NotApplicable, Passed, rule
from heldout.intervals.quantiles import z_value
from heldout.measures.catalogue import read_quantity
from heldout.measures.declare import Measure
from heldout.review import Severity
from heldout.show.blocks import Style
from heldout.show.numbers import count, digits_between, in_brackets, number, number_of, percent, share, show_p

if TYPE_CHECKING:
    from heldout.comparisons.comparison import Pair, PairwiseComparison, Side

SPLITS, TABLE = "same splits", "data sets"
COSTS = ("total_cost", "expected_cost")


@rule(
    "H050",
    about="comparison",
    title="They differ by no more than one case",
    severity="know",
    advice="Do not choose between them by this difference.",
    reference="arithmetic: one case more or less changes an accuracy by 1 / n",
    limits={"cases": "one case: less than that cannot be seen on these cases"},
)
def less_than_one_case(seen: PairwiseComparison, *, cases: float = 1) -> Answer:
    """The difference of two accuracies is worth no more than one case.

    Decimals make a difference look exact that one more case could reverse.
    """
    n = {side.name: sum(cases for _, cases in side.classes) for side in seen.sides}
    pairs = [p for p in seen.pairs if p.name in ("accuracy", "error_rate") and p.a in n and p.b in n]
    if not pairs:
        return NotApplicable("no accuracies of known numbers of cases are compared")
    tiny = [p for p in pairs if 0 < abs(p.tested.difference) * min(n[p.a], n[p.b]) <= cases * (1 + 1e-9)]
    if tiny:
        first = tiny[0]
        least = min(n[first.a], n[first.b])
        return Fired(
            f"{first.a} and {first.b} differ in {first.name} by {number(abs(first.tested.difference), 'share', 4)}: "
            f"no more than {cases:g} of {count(least)} cases.",
            {"difference": first.tested.difference, "n": least, "pairs": [_short(p) for p in tiny]},
        )
    least_of = min(pairs, key=lambda p: abs(p.tested.difference) * min(n[p.a], n[p.b]))
    worth = abs(least_of.tested.difference) * min(n[least_of.a], n[least_of.b])
    return Passed(f"The smallest difference is worth {worth:.3g} cases.", {"cases": worth})


@rule(
    "H051",
    about="comparison",
    title="Many comparisons, and no correction for their number",
    severity="act",
    advice="Leave out correction='none', so that Holm's is used, or compare all with one control.",
    reference="Holm (1979), Scand. J. Statistics 6; Demšar (2006), JMLR 7; Salzberg (1997), DMKD 1",
)
def many_uncorrected(seen: PairwiseComparison) -> Answer:
    """Several pairs were tested, and each p-value is reported as if it were the only one.

    With 20 tests at level .95 one is expected to find a difference where there is none. Every measure of a pair is a
    test too. Tests that share models or cases depend on each other, so the chance of a false alarm is an upper bound.
    """
    duels = list(dict.fromkeys((p.a, p.b) for p in seen.pairs))
    if len(duels) < 2:
        return NotApplicable("one pair is compared")
    if all(math.isnan(p.p) for p in seen.pairs):
        return NotApplicable("there are no p-values")
    tests = sum(not math.isnan(p.p) for p in seen.pairs)
    alarm = 1 - seen.level**tests
    facts = {"pairs": len(duels), "tests": tests, "correction": seen.correction, "false_alarm": alarm}
    if seen.correction:
        return Passed(f"The p-values of {len(duels):,} pairs are corrected by {seen.correction}.", facts)
    return Fired(
        f"The p-values of {tests:,} tests of {len(duels):,} pairs are NOT corrected: without any difference, up to "
        f"{100 * alarm:.0f} % of such studies would have a false alarm.",
        facts,
    )


@rule(
    "H052",
    about="comparison",
    title="The requested method does not keep its promise",
    severity="know",
    advice="Leave the method out: the default fits how they were tested.",
    reference="Dietterich (1998), Neural Computation 10(7); Nadeau & Bengio (2003), Machine Learning 52",
    erratum="The t test over ten folds rejects too often",
)
def broken_promise(seen: PairwiseComparison) -> Answer:
    """A procedure was asked for by name that was measured to reject a true null, or to miss, too often.

    A test at level .95 promises to reject a true null once in twenty times. The message says what was measured.
    """
    if not seen.asked:
        return NotApplicable("no method was asked for by name")
    if not seen.known:
        return Passed(f"Nothing is known against {seen.asked}.", {"method": seen.asked})
    sentence = "; ".join(f"{known.method}: {known.title.rstrip('.')}" for known in seen.known)
    facts: dict[str, object] = {"method": seen.known[0].method, "finding": seen.known[0].title}
    if len(seen.known) > 1:
        facts["methods"] = [known.method for known in seen.known]
    return Fired(f"{sentence}.", facts)


@rule(
    "H054",
    about="comparison",
    title="The interval is too wide to support a claim",
    severity="know",
    advice="Judge them on more cases, or do not claim that one is better.",
    reference="Altman & Bland (1995), BMJ 311: absence of evidence is not evidence of absence",
)
def too_wide(seen: PairwiseComparison) -> Answer:
    """The interval of a difference allows either of the two to be better.

    That two cannot be told apart does not show that they are equal. An interval is that of its pair alone, and may
    leave out zero where the p-value, corrected for all pairs, decides nothing; and a test and an interval that are made
    in two ways (McNemar's mid-p and Tango's) may disagree where zero is near a limit. Where it is known, the number of
    cases that would show a difference as large, or as small, as the interval allows stands beside it.
    """
    claims = [p for p in seen.pairs if p.margin is not None and math.isfinite(p.margin.low)]
    if claims:
        return _margins(claims)
    known = [p for p in seen.pairs if p.tested.low < p.tested.high and math.isfinite(p.tested.low)]
    if not known:
        return NotApplicable("there are no intervals")
    open_ = [p for p in known if p.better == "undecided"]
    if not open_:
        return Passed(f"None of {len(known):,} differences is undecided.", {"decided": len(known)})
    # A pair of which one is ruled out as the best comes last: it is known which of the two to leave.
    crossing = {id(p) for p in open_ if _is_ruled_out(seen, p)}
    open_.sort(key=lambda p: id(p) in crossing)
    first = open_[0]
    style: Style = "share" if _bounded(first) else "plain"
    digits = digits_between(first.tested.low, first.tested.high) if style == "share" else None
    ends, gap = (
        in_brackets(first.tested.low, first.tested.high, style, digits),
        number(first.tested.difference, style, digits),
    )
    own = ""
    if first.tested.low > 0 or first.tested.high < 0:
        rejects = is_significant(first.tested.p, first.tested.level)
        unlike = f", which leaves out 0 although the test (p = {show_p(first.p)}) does not reject"
        own = " for this pair alone" if rejects else unlike
    more = f"; {len(open_) - 1:,} more {'is' if len(open_) == 2 else 'are'} undecided too" if len(open_) > 1 else ""
    advice = (
        "" if first.needed is None else f"Judge them on {first.needed.describe()}, or do not claim that one is better."
    )
    which = _is_ruled_out(seen, first)
    but = f", although {which} is ruled out as the best of all" if which else ""
    told = f"{first.a} and {first.b} are not told apart by {first.name}{but}"
    return Fired(
        f"{told}: the difference is {gap} {ends}{own}{more}.",
        {"undecided": len(open_), "pairs": [_short(p) | _needed(p) for p in open_]},
        advice,
    )


@rule(
    "H055",
    about="comparison",
    title="Few cases tell the two apart",
    severity="know",
    advice="Judge them on more cases; tests on so few of them are all but blind.",
    reference="McNemar (1947), Psychometrika 12; Fagerland, Lydersen & Laake (2013), BMC Med. Res. Methodol. 13",
    limits={"cases": "ten, so that five are expected on either side (Siegel & Castellan, 1988, ch. 5)"},
)
def few_tell_apart(seen: PairwiseComparison, *, cases: float = 10) -> Answer:
    """On hardly any case is exactly one of the two classifiers right.

    Only such cases tell the two apart, however many cases there are in all.
    """
    apart = {(p.a, p.b): p.apart for p in seen.pairs if p.apart is not None}
    if not apart:
        return NotApplicable("they are not compared case by case")
    differing = {names: sum(both) for names, both in apart.items() if sum(both)}
    if not differing:
        return NotApplicable("they get the same cases right")
    names = min(differing, key=lambda pair: differing[pair])
    least, (only_a, only_b) = differing[names], apart[names]
    facts = {"a": names[0], "b": names[1], "cases": least, "only_a": only_a, "only_b": only_b, "limit": cases}
    if least < cases:
        few = f"Only {least:,} case{'s' * (least != 1)} tell{'s' * (least == 1)}"
        return Fired(
            f"{few} {names[0]} and {names[1]} apart: {only_a:,} that only the first gets right, {only_b:,} that only "
            "the second does.",
            facts,
        )
    return Passed(f"At least {least:,} cases tell two of them apart.", facts)


@rule(
    "H056",
    about="comparison",
    title="Beyond doubt, but too small to matter",
    severity="know",
    advice="Say what difference would matter (margin=, --margin), and choose by cost, speed or simplicity.",
    reference="Benavoli, Corani, Demšar & Zaffalon (2017), JMLR 18",
    limits={"matters": "one point, the region of practical equivalence of Benavoli et al. (2017)"},
)
def sure_but_small(seen: PairwiseComparison, *, matters: float = 0.01) -> Answer:
    """A difference is beyond doubt, and all of its interval is smaller than what matters.

    With enough cases any difference becomes significant, however small it is.
    """
    sure = [p for p in seen.pairs if p.better in ("a", "b") and _bounded(p) and math.isfinite(p.tested.low)]
    if not sure:
        return NotApplicable("no difference of a share is beyond doubt")

    def line(p: Pair) -> float:
        return matters if p.margin is None else p.margin.margin

    small = [p for p in sure if max(abs(p.tested.low), abs(p.tested.high)) < line(p)]
    if small:
        first = small[0]
        t = first.tested
        ends = in_brackets(t.low, t.high, "share", digits_between(t.low, t.high))
        return Fired(
            f"{first.a} and {first.b} differ in {first.name} beyond doubt, but by less than {line(first):g}: {ends}.",
            {"matters": line(first), "pairs": [_short(p) for p in small]},
        )
    largest = max(max(abs(p.tested.low), abs(p.tested.high)) for p in sure)
    return Passed(f"Differences beyond doubt may be as large as {share(largest)}.", {"largest": largest})


@rule(
    "H058",
    about="comparison",
    title="Measures disagree on which is better",
    severity="know",
    advice="Decide by the measure that was chosen beforehand, or by costs.",
    reference="Caruana & Niculescu-Mizil (2004), KDD; Hand (2006), Statistical Science 21",
)
def measures_disagree(seen: PairwiseComparison) -> Answer:
    """By one measure the first is better beyond doubt, and by another the second.

    Whoever chooses the measure after seeing the results chooses the winner.
    """
    by_pair: dict[tuple[str, str], list[Pair]] = {}
    for p in seen.pairs:
        by_pair.setdefault((p.a, p.b), []).append(p)
    if max((len(held) for held in by_pair.values()), default=0) < 2:
        return NotApplicable("one measure is compared")
    for (a, b), held in by_pair.items():
        wins = {side: [p.name for p in held if p.better == side and _directed(p)] for side in ("a", "b")}
        if wins["a"] and wins["b"]:
            return Fired(
                f"{a} is better than {b} by {listing(wins['a'])}, but worse by {listing(wins['b'])}, beyond doubt.",
                {"a": a, "b": b, "a_better_by": wins["a"], "b_better_by": wins["b"]},
            )
    return Passed("No two measures name different winners beyond doubt.", {"pairs": len(by_pair)})


@rule(
    "H059",
    about="comparison",
    title="Too few data sets for the test ever to decide",
    severity="act",
    advice="Compare them on more data sets.",
    reference="Demšar (2006), JMLR 7; Siegel & Castellan (1988), ch. 5",
)
def few_data_sets(seen: PairwiseComparison) -> Answer:
    """Even if one learner won on every data set, the test could not reject.

    With n data sets the smallest p-value of the signed ranks, and of the signs, is 2 to the power of 1 − n; a
    correction for several pairs raises it.
    """
    if seen.met != TABLE:
        return NotApplicable("they are not compared over data sets")
    from heldout.comparisons.fold_tests import Posterior

    tests = [p.tested for p in seen.pairs if not isinstance(p.tested, Posterior) and not math.isnan(p.tested.p)]
    if not tests:
        return NotApplicable("there are no p-values")
    n = min(t.n for t in tests)
    least = 2.0 ** (1 - n)
    facts = {"data_sets": n, "pairs": len(tests), "correction": seen.correction, "level": seen.level}
    corrected = ""
    if seen.correction and len(tests) > 1:
        # The best that can be: every pair has the smallest p there is.
        all_pairs = len(tests) == math.comb(len(seen.names), 2)
        best = adjust_p_values([least] * len(tests), seen.correction, pairs_of=len(seen.names) if all_pairs else None)
        least, corrected = float(best.min()), f", corrected for {len(tests):,} pairs,"
    facts["least_p"] = least
    if is_significant(least, seen.level):
        return Passed(f"With {n:,} data sets p{corrected} can be as low as {least:.2g}.", facts)
    return Fired(
        f"With {n:,} data sets p{corrected} cannot be lower than {least:.2g}, so nothing can be shown at level "
        f"{seen.level:g}.",
        facts,
    )


@rule(
    "H060",
    about="comparison",
    title="Few splits to compare over",
    severity="know",
    advice="Use a plan of more splits, such as 30 x holdout 2/3 or 10x10-fold.",
    reference="Nadeau & Bengio (2003), Machine Learning 52",
    limits={"splits": "with ten, Student's t is 15 % wider than the normal: a convention"},
)
def few_splits(seen: PairwiseComparison, *, splits: float = 10) -> Answer:
    """Two learners are compared over so few splits that the spread of their differences is hardly known.

    The test then rests on a variance from a handful of values, and hardly ever decides.
    """
    if seen.met != SPLITS:
        return NotApplicable("they are not compared over splits")
    n = min((p.tested.n for p in seen.pairs), default=0)
    facts = {"splits": n, "limit": splits}
    if n < splits:
        return Fired(f"They are compared over {n:,} splits only.", facts)
    return Passed(f"They are compared over {n:,} splits.", facts)


@rule(
    "H074",
    about="comparison",
    title="Few cases of a class stand behind a difference",
    severity="know",
    advice="Judge them on more cases of that class before relying on the limits.",
    reference="Brown, Cai & DasGupta (2001), Statistical Science 16(2); for areas near 1 docs/promises.md",
    limits={
        "cases": TEN_CASES,
        "near": "convention: within .05 of 1, few pairs of cases are in the wrong order",
        "ranked": "convention: as many cases of a class as make a wrong order of 1 in 50 be seen once",
    },
)
def few_cases_behind(seen: PairwiseComparison, *, cases: float = 10, near: float = 0.05, ranked: float = 50) -> Answer:
    """A measure of single classes, or an area near 1, is compared where a class has few cases.

    The interval of such a difference is that of few cases whatever their number in all, and may hold the true one less
    often than it says: 95 % intervals held that of areas of .96 and .99 on 80 cases in 90 % of simulations.
    """
    pairs = [p for p in seen.pairs if p.measure not in ("accuracy", "error_rate")]
    sizes = [(number, label) for side in seen.sides for label, number in side.classes if number]
    if not pairs or not sizes:
        return NotApplicable("no measure of single classes is compared on known cases")
    least, label = min(sizes, key=lambda size: size[0])
    areas = [p for p in pairs if p.measure in ("roc_auc", "average_precision") and max(p.value_a, p.value_b) > 1 - near]
    facts = {"class": str(label), "cases": float(least), "limit": cases, "near_one": [_short(p) for p in areas]}
    if least < cases:
        named = f'Class "{label}" has {number_of(least, "case")}'
        return Fired(f"{named}, fewer than {cases:g}, and {pairs[0].name} rests on it.", facts)
    if areas and least < ranked:
        first = areas[0]
        return Fired(
            f"{first.name} is {share(first.value_a)} and {share(first.value_b)} with {count(least)} cases of class "
            f'"{label}": near 1 hardly a pair of cases is in the wrong order.',
            facts,
        )
    return Passed(f"The smallest class has {number_of(least, 'case')}.", facts)


@rule(
    "H061",
    about="comparison",
    title="Both give the same in every case",
    severity="act",
    advice="Check that two different models were compared: perhaps one file was given twice.",
    reference="arithmetic: what is the same in every case cannot differ by any measure",
)
def same_in_every_case(seen: PairwiseComparison) -> Answer:
    """Two classifiers give the same scores in every case, or, where there are no scores, the same answers.

    Two different models hardly ever agree on every case: usually the same predictions were given twice, under two
    names.
    """
    if seen.met not in ("same cases", SPLITS):
        return NotApplicable("they are not compared on the same cases")
    n = {side.name: sum(cases for _, cases in side.classes) for side in seen.sides}
    kinds: dict[tuple[str, str], list[str]] = {}
    for p in seen.pairs:
        kinds.setdefault((p.a, p.b), []).append(p.alike)
    # The same answers from different scores are those of one threshold, as after a calibration.
    alike = [(duel, same) for duel, same in kinds.items() if "scores" in same or all(same)]
    if not alike:
        return Passed(f"In none of {len(kinds):,} pair{'s' * (len(kinds) != 1)} do both give the same.", {"same": 0})
    (a, b), same = alike[0]
    what = " and ".join(dict.fromkeys(filter(None, same)))
    more = f"; {len(alike) - 1:,} more pair{'s' * (len(alike) != 2)} too" if len(alike) > 1 else ""
    cases = n.get(a, math.nan)
    where = "in the only case" if cases == 1 else f"in all {count(cases)} cases"
    return Fired(
        f"{a} and {b} give the same {what} {where}{more}.",
        {"a": a, "b": b, "alike": what, "same": len(alike), "cases": n.get(a)},
    )


def _margins(claims: Sequence[Pair]) -> Answer:
    """What margins come to, where they were asked for."""
    open_ = [p for p in claims if p.margin is not None and p.margin.outcome == "not shown"]
    if not open_ or open_[0].margin is None:
        return Passed(f"None of {len(claims):,} claims of a margin is undecided.", {"decided": len(claims)})
    first, margin = open_[0], open_[0].margin
    ends = in_brackets(margin.low, margin.high, "share", digits_between(margin.low, margin.high))
    kind = capitalize(margin.kind)
    return Fired(
        f"{kind} of {first.a} and {first.b} by {first.name} is not shown: {ends} is not within {margin.margin:g}.",
        {"undecided": len(open_), "margin": margin.margin, "low": margin.low, "high": margin.high},
    )


def _is_ruled_out(seen: PairwiseComparison, pair: Pair) -> str:
    """The one of a pair that is ruled out as the best, where the other is not; empty where there is none."""
    by = None if seen.best is None else next((by for by in seen.best.measures if by.name == pair.name), None)
    if by is None or (pair.a in by.not_best) == (pair.b in by.not_best):
        return ""
    return pair.a if pair.a in by.not_best else pair.b


@rule(
    "H070",
    about="comparison",
    title="The best of several looks better than it is",
    severity="know",
    advice="Report the corrected value, or judge the chosen one on new cases that no model was chosen by.",
    reference="Cawley & Talbot (2010), JMLR 11, 2079-2107; Hsu (1984), Annals of Statistics 12",
    limits={"errors": "a quarter of the standard error: it takes a 95 % interval less than a point of its coverage"},
)
def best_looks_better(seen: PairwiseComparison, *, errors: float = 0.25) -> Answer:
    """Several may be the best, and the value of the leading one is expected to exceed its true value.

    Of equal models the one with the best value is the one that chance favoured most on these cases. How much that
    brings is drawn from the joint distribution of all values, around truths that are as far apart as the values show
    beyond chance.
    """
    if seen.best is None:
        return NotApplicable("fewer than three are compared pair by pair")
    by = seen.best.measures[0]
    winner = by.winner
    if winner is None:
        return NotApplicable(f"how the values by {by.name} vary together is not known")
    facts = {
        "measure": by.name, "winner": winner.name, "value": winner.value, "models": len(seen.names),
        "expected_excess": winner.excess, "corrected": winner.corrected, "limit": winner.limit,
        "may_be_best": list(by.may_be_best),
    }  # fmt: skip
    known = _find_measure(by.measure)
    style: Style = "share" if known is not None and known.bounded else "plain"
    value, excess, corrected, limit = (
        number(figure, style) for figure in (winner.value, winner.excess, winner.corrected, winner.limit)
    )
    what = f"the best of {len(seen.names)} is expected to exceed its truth by {excess}"
    if len(by.may_be_best) < 2 or winner.excess <= errors * winner.error:
        return Passed(f"{winner.name} leads by {by.name}: {what}.", facts)
    least = "no more" if known is not None and known.direction == "lower" else "no less"
    return Fired(
        f"{winner.name} leads by {by.name} with {value}, but {len(by.may_be_best)} may be the best: {what}.",
        facts,
        f"Report {corrected}, and that it is {least} than {limit} at level {seen.level:g}; or judge the chosen one on "
        "new cases, which no model was chosen by.",
    )


def _short(pair: Pair) -> dict[str, object]:
    t = pair.tested
    return {"a": pair.a, "b": pair.b, "measure": pair.name, "difference": t.difference, "low": t.low, "high": t.high}


def _needed(pair: Pair) -> dict[str, object]:
    cases = pair.needed
    return {"needed_low": None if cases is None else cases.low, "needed_high": None if cases is None else cases.high}


def _find_measure(name: str) -> Measure | None:
    """The measure of that name; None for the unnamed one of a table of results."""
    try:
        return read_quantity(name).bound.measure
    except OptionError:
        return None


def _bounded(pair: Pair) -> bool:
    """Whether the measure is a share; the unnamed one of a table of results is not known to be."""
    known = _find_measure(pair.measure)
    return known is not None and bool(known.bounded)


def _directed(pair: Pair) -> bool:
    known = _find_measure(pair.measure)
    return known is None or known.direction in ("higher", "lower")


@rule(
    "H053",
    about="comparison",
    title="The more accurate one costs more",
    severity="act",
    advice="Choose by cost, since there are costs.",
    reference="Tan, Steinbach & Kumar (2005), Introduction to Data Mining, ch. 5.7; Elkan (2001), IJCAI 17",
    erratum=LINEAR_COST,
)
def accurate_but_dear(seen: PairwiseComparison) -> Answer:
    """Of two classifiers the one that is right more often makes the more expensive errors.

    Accuracy counts all errors alike. Where they cost different amounts, it may name the wrong one of two.
    """
    priced = [side for side in seen.sides if not math.isnan(side.cost) and not math.isnan(side.accuracy)]
    if len(priced) < 2:
        return NotApplicable("there are no costs")
    dearer = []
    for one, two in combinations(priced, 2):
        pairs = (one.accuracy, one.cost), (two.accuracy, two.cost)
        sentence = more_accurate_costs_more(*pairs, names=(one.name, two.name))
        dearer += [(sentence, one, two)] if sentence else []
    if not dearer:
        return Passed(
            "The more accurate one never costs more.",
            {"accuracy": {s.name: s.accuracy for s in priced}, "cost": {s.name: s.cost for s in priced}},
        )
    sentence, one, two = dearer[0]
    dear, cheap = (one, two) if one.cost > two.cost else (two, one)
    facts = {
        "more_accurate": dear.name, "accuracy": dear.accuracy, "cost": dear.cost, "cheaper": cheap.name,
        "accuracy_of_cheaper": cheap.accuracy, "cost_of_cheaper": cheap.cost, "pairs": len(dearer),
    }  # fmt: skip
    return Fired(sentence, facts, *_advise_by_cost(seen, dear, cheap))


def _advise_by_cost(seen: PairwiseComparison, dear: Side, cheap: Side) -> tuple[str, Severity]:
    """What to do where the more accurate one costs more: to choose the other only if the costs are told apart."""
    saved, names = count(dear.cost - cheap.cost), {dear.name, cheap.name}
    tested = [p for p in seen.pairs if {p.a, p.b} == names and p.measure in COSTS]
    if any({"a": p.a, "b": p.b}.get(p.better) == cheap.name for p in tested):
        return f"Choose {cheap.name}, unless the costs are wrong: it saves {saved}.", "act"
    less = f"{cheap.name} costs {saved} less on these cases"
    if tested:
        return f"Do not choose by accuracy, nor yet by cost: {less}, but the two cannot be told apart by cost.", "know"
    return f"Compare them by cost (measure='expected_cost', --measure expected_cost) before choosing: {less}.", "know"


@rule(
    "H057",
    about="comparison",
    title="The test sets have different shares of the classes",
    severity="act",
    advice="Judge them on the same cases, or compare recall class by class, which does not depend on the mix.",
    reference="Saerens, Latinne & Decaestecker (2002), Neural Computation 14; Fawcett (2006), PRL 27",
    limits={
        "apart": "five points: a convention",
        "errors": "two standard errors of the difference of two shares, the usual 5 %, by Bonferroni for all classes",
    },
)
def different_mixes(seen: PairwiseComparison, *, apart: float = 0.05, errors: float = 2.0) -> Answer:
    """Classifiers were judged on test sets of their own, in which the classes are not equally common.

    Accuracy, precision and F depend on how common the classes are: part of the difference comes from the test sets.
    """
    if seen.met != "different cases":
        return NotApplicable("they were judged on the same cases" if seen.met else "their cases are not known")
    if len(seen.sides) < 2:
        return NotApplicable("their cases are not known")
    widest, which = 0.0, None
    needed = _for_all(errors, seen.sides)
    for one, two in combinations(seen.sides, 2):
        for label, gap, clear in _gaps(one, two, needed):
            if which is None or (clear and abs(gap) > widest):
                widest, which = abs(gap) if clear else 0.0, (label, one, two)
    if which is None:
        return NotApplicable("there are no cases")
    label, one, two = which
    shares = _share(one, label), _share(two, label)
    facts = {"class": str(label), "a": one.name, "b": two.name, "share_a": shares[0], "share_b": shares[1]}
    sentence = (
        f'class "{label}" is {percent(shares[0])} of the cases of {one.name} and {percent(shares[1])} of {two.name}'
    )
    if widest > apart:
        return Fired(f"The test sets differ: {sentence}.", facts)
    return Passed(f"The test sets are alike: {sentence}.", facts)


def _share(side: Side, label: Label) -> float:
    total = sum(cases for _, cases in side.classes)
    return dict(side.classes).get(label, 0.0) / total if total else 0.0


def _for_all(errors: float, sides: Sequence[Side]) -> float:
    """So many standard errors for one share, as many as it takes for all shares that are looked at (Bonferroni)."""
    classes = len({label for side in sides for label, _ in side.classes})
    # Of two classes the one share is 1 less the other.
    looked = math.comb(len(sides), 2) * (1 if classes < 3 else classes)
    chance = math.erfc(errors / math.sqrt(2))
    return z_value(1 - chance / looked) if looked > 1 and chance > 0 else errors


def _gaps(one: Side, two: Side, errors: float) -> list[tuple[Label, float, bool]]:
    """By how much the share of each class differs, and whether that is more than chance would do."""
    sizes = [sum(cases for _, cases in side.classes) for side in (one, two)]
    if not all(sizes):
        return []
    gaps = []
    for label in dict(one.classes) | dict(two.classes):
        shares = _share(one, label), _share(two, label)
        both = (shares[0] * sizes[0] + shares[1] * sizes[1]) / sum(sizes)
        error = math.sqrt(both * (1 - both) * (1 / sizes[0] + 1 / sizes[1]))
        gap = shares[0] - shares[1]
        gaps.append((label, gap, abs(gap) > errors * error))
    return gaps
