"""Learners that meet in a table of results: data sets in its rows, one value of each learner in every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heldout.api.pairwise import (
    Claims,
    decide_winner,
    describe_certainty,
    list_known_limits,
    note_multiplicity,
    note_uncorrected,
    qualify_interval,
)
from heldout.arguments import listing
from heldout.comparisons.comparison import Comparison, Outcome, Pair
from heldout.comparisons.corrections import adjust_p_values
from heldout.comparisons.pair_test import PROCEDURES, find_procedure
from heldout.comparisons.ranks import ResultTable
from heldout.comparisons.wilcoxon import DATA_SET_TESTS, compare_over_data_sets
from heldout.errors import OptionError
from heldout.report.comparison import UNNAMED
from heldout.results.difference import PairTest
from heldout.show.numbers import limits, plain

DEFAULT = "wilcoxon"


@dataclass(frozen=True)
class TableOptions:
    """What was asked for of a table."""

    level: float
    method: str | None
    rope: float | None
    claims: Claims
    measure: str = ""
    seed: int = 0
    mute: tuple[str, ...] = ()


def wants_pairs(table: ResultTable, method: str | None) -> bool:
    """Whether learners are compared two by two, and not by their ranks among all."""
    return len(table.learners) == 2 if method is None else find_procedure(method, "data sets").name in DATA_SET_TESTS


def compare_in_table(table: ResultTable, duels: Sequence[tuple[int, int]], rules: TableOptions) -> Comparison:
    """Compare the learners of a table two by two over its data sets."""
    method = rules.method or DEFAULT
    tested = [_test(table, duel, method, rules) for duel in duels]
    used = rules.claims.used(len(duels))
    raw = [test.p for test in tested]
    all_pairs = len(duels) == math.comb(len(table.learners), 2)
    corrected = adjust_p_values(raw, used, pairs_of=len(table.learners) if all_pairs else None) if used else raw
    pairs = tuple(
        _pair(table, duel, test, float(p), rules) for duel, test, p in zip(duels, tested, corrected, strict=True)
    )
    found = PROCEDURES[tested[0].method]
    why = f"Each data set gives one value of every learner, so they are compared over data sets by {found.name}"
    names = tuple(map(str, table.learners))
    return Comparison(
        names,
        pairs,
        f"{len(table.data_sets):,} data sets",
        f"{why} ({found.reference}).",
        rules.level,
        used,
        notes=(*(note_uncorrected(pairs) if used else ()), *note_multiplicity(pairs)),
        seed=rules.seed,
        met="data sets",
        asked=rules.method or "",
        known=list_known_limits([test.method for test in tested], rules.method),
        mute=rules.mute,
    )


def _test(table: ResultTable, duel: tuple[int, int], method: str, rules: TableOptions) -> PairTest:
    a, b = (table.values[:, place] for place in duel)
    options: dict[str, object] = {}
    name = find_procedure(method, "data sets").name
    if name.startswith("bayes"):
        options = {"rope": rules.rope or 0.0, "seed": rules.seed}
    elif rules.rope is not None:
        raise OptionError(
            f"The method {name!r} knows no region of practical equivalence.",
            hint=f"use one of: {listing(n for n in DATA_SET_TESTS if n.startswith('bayes'))}; or leave out rope.",
        )
    return compare_over_data_sets(a, b, method, level=rules.level, **options)


def _pair(table: ResultTable, duel: tuple[int, int], tested: PairTest, p: float, rules: TableOptions) -> Pair:
    names = str(table.learners[duel[0]]), str(table.learners[duel[1]])
    values = float(table.values[:, duel[0]].mean()), float(table.values[:, duel[1]].mean())
    better = decide_winner(tested, p, "higher" if table.higher_is_better else "lower")
    return Pair(
        *names,
        rules.measure or UNNAMED,
        None,
        None,
        *values,
        tested,
        p,
        better,
        _verdict(names, values, tested, p, better),
    )


def _verdict(names: tuple[str, str], values: tuple[float, float], tested: PairTest, p: float, better: Outcome) -> str:
    sure = describe_certainty(tested, p, better)
    if better == "b":
        # The winner stands first.
        names, values = names[::-1], values[::-1]
        tested = replace(tested, difference=-tested.difference, low=-tested.high, high=-tested.low)
    ends = "" if math.isnan(tested.low) else f" [{limits(tested.low, tested.high, 'plain', 3)}]"
    ends += qualify_interval(tested, p, better)
    figures = f"mean {plain(values[0])} against {plain(values[1])}, typical difference {plain(tested.difference)}{ends}"
    start = {
        "undecided": f"{names[0]} and {names[1]} cannot be told apart",
        "same": f"{names[0]} and {names[1]} do not differ",
    }.get(better, f"{names[0]} is better than {names[1]}")
    return f"{start}: {figures}, {sure}."
