"""The comparison of two the other way round: of B with A, from that of A with B."""

from __future__ import annotations

import math
from dataclasses import replace

from heldout.comparisons.comparison import UNNAMED, Outcome, Pair
from heldout.comparisons.fold_tests import FIVE_BY_TWO_F, Posterior
from heldout.comparisons.margins import judge_margin
from heldout.comparisons.mcnemar import EFFECT as ODDS_RATIO
from heldout.comparisons.pair_test import PROCEDURES
from heldout.comparisons.pairwise import phrase_pair, phrase_table_pair
from heldout.comparisons.split_results import result
from heldout.comparisons.wilcoxon import SIGN, WILCOXON
from heldout.intervals.estimate import PairTest
from heldout.measures.catalogue import find
from heldout.measures.quantity import Bound, Quantity

TURNED: dict[Outcome, Outcome] = {"a": "b", "b": "a"}
# Their statistic has no sign: McNemar's chi-square, F, and the smaller of two sums of ranks.
UNSIGNED = frozenset({FIVE_BY_TWO_F.name, WILCOXON.name})


def turn_test(tested: PairTest) -> PairTest:
    """The test of B − A, from that of A − B.

    >>> seen = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500, statistic=2.3)
    >>> turned = turn_test(seen)
    >>> turned.difference, turned.low, turned.high, turned.statistic, turned.p
    (-0.04, -0.07, -0.01, -2.3, 0.02)
    """
    if tested.method == SIGN.name:
        # It counts the data sets on which A is ahead.
        statistic = tested.statistic - tested.effect * tested.n
    elif tested.method in UNSIGNED or tested.method.startswith("mcnemar"):
        statistic = tested.statistic
    else:
        statistic = -tested.statistic
    effect = -tested.effect
    if tested.effect_name == ODDS_RATIO:
        effect = math.inf if tested.effect == 0 else 1 / tested.effect
    turned = replace(
        tested,
        difference=-tested.difference,
        low=-tested.high,
        high=-tested.low,
        statistic=statistic,
        effect=effect,
    )
    if isinstance(turned, Posterior) and isinstance(tested, Posterior):
        turned = replace(turned, a_higher=tested.b_higher, b_higher=tested.a_higher)
    return turned


def turn_pair(pair: Pair) -> Pair:
    """The comparison of B with A, from that of A with B."""
    tested, better = turn_test(pair.tested), TURNED.get(pair.better, pair.better)
    names, values = (pair.b, pair.a), (pair.value_b, pair.value_a)
    turned = replace(
        pair,
        a=pair.b,
        b=pair.a,
        value_a=pair.value_b,
        value_b=pair.value_a,
        tested=tested,
        better=better,
        apart=None if pair.apart is None else (pair.apart[1], pair.apart[0]),
        pooled=None if pair.pooled is None else (pair.pooled[1], pair.pooled[0]),
        together=None if pair.together is None else (-pair.together[1], -pair.together[0]),
    )
    procedure = PROCEDURES.get(tested.method)
    if procedure is not None and procedure.setting == "data sets":
        return replace(turned, verdict=phrase_table_pair(names, values, tested, pair.p, better))
    bound = Bound(result) if pair.measure == UNNAMED else find(pair.measure)
    quantity = Quantity(bound, pair.class_, pair.average)  # type: ignore[arg-type]
    if pair.margin is not None:
        wide = replace(tested, low=-pair.margin.high, high=-pair.margin.low, level=pair.margin.level)
        direction = quantity.bound.measure.direction
        turned = replace(
            turned, margin=judge_margin(wide, pair.margin.margin, direction, pair.margin.kind, names=names)
        )
    verdict = phrase_pair(names, quantity, values, tested, pair.p, better, pair.needed, pair.alike)
    return replace(turned, verdict=verdict)
