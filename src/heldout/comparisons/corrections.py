"""Corrections of p-values for many comparisons at once, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from heldout.arguments import listing, method_key, suggest
from heldout.arrays import Floats
from heldout.comparisons.pair_test import ROUNDING
from heldout.errors import OptionError, ValuesError

Adjusting = Callable[[Floats, "int | None"], Floats]


@dataclass(frozen=True, slots=True)
class Correction:
    """A way to correct p-values, as the catalogue and the reports name it.

    `find` takes p-values from the smallest up, and the number of learners whose pairs they compare. `controls` says
    what is kept below 1 − level: the chance of any false claim, or the expected share of false claims.
    """

    name: str
    title: str
    summary: str
    reference: str
    find: Adjusting
    controls: str = "any false claim"


CORRECTIONS: dict[str, Correction] = {}
FOR_A_CONTROL = "use 'holm', 'hommel' or 'bonferroni', or leave out the control."


def _correction(
    name: str, title: str, reference: str, controls: str = "any false claim"
) -> Callable[[Adjusting], Adjusting]:
    def entered(find: Adjusting) -> Adjusting:
        summary = (find.__doc__ or "").strip().splitlines()[0]
        CORRECTIONS[name] = Correction(name, title, summary, reference, find, controls)
        return find

    return entered


def find_correction(name: object) -> Correction:
    """The correction of that name.

    >>> find_correction("Holm").reference
    'Holm (1979)'
    """
    key = method_key(name).replace("š", "s").replace("á", "a")
    if key not in CORRECTIONS:
        raise OptionError(
            f"There is no correction {name!r}. There are: {listing(CORRECTIONS, most=20)}.",
            hint=suggest(key, CORRECTIONS, "leave it out for the default."),
        )
    return CORRECTIONS[key]


def adjust_p_values(p_values: Any, method: str, *, pairs_of: int | None = None) -> Floats:
    """The p-values corrected for being many, in the order they came, to be compared with 1 − level.

    A nan stands for a comparison that was not made: it stays nan and counts for nothing.
    `pairs_of` is the number of learners of which all pairs are compared, which Shaffer's correction needs; without it
    their number is told from that of the p-values.

    >>> adjust_p_values([0.01, 0.04, 0.03], "holm").round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p_values)
    used = find_correction(method)
    if used.name == "shaffer":
        pairs_of = _learners(len(p), pairs_of)
    adjusted = np.full(len(p), np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    if len(defined):
        order = defined[np.argsort(p[defined], kind="stable")]
        adjusted[order] = np.clip(used.find(p[order], pairs_of), 0.0, 1.0)
    return adjusted


def describe_left_out(p_values: Any) -> str:
    """How many p-values are nan, and so left out of a correction, in words; nothing where none is.

    >>> describe_left_out([0.1, float("nan")])
    '1 of 2 comparisons has no p-value and is left out of the correction'
    """
    p = _checked(p_values)
    missing = int(np.isnan(p).sum())
    verbs = ("has", "is") if missing == 1 else ("have", "are")
    return (
        f"{missing} of {len(p)} comparisons {verbs[0]} no p-value and {verbs[1]} left out of the correction"
        if missing
        else ""
    )


def _checked(p_values: Any) -> Floats:
    try:
        p = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError("The p-values are not numbers.", hint="give a list of numbers between 0 and 1.") from None
    if p.ndim != 1:
        raise ValuesError(
            f"The p-values must be one list. Got an array of {p.ndim} dimensions.",
            hint="give one p for each comparison.",
        )
    wrong = p[~np.isnan(p) & ~((p >= 0) & (p <= 1))]
    if len(wrong):
        raise ValuesError(
            f"A p-value lies between 0 and 1. Got {listing(wrong.tolist(), most=3)}.",
            hint="give p-values, not statistics.",
        )
    return p


def _learners(pairs: int, given: int | None) -> int:
    implied = (1 + math.isqrt(1 + 8 * pairs)) // 2
    k = implied if given is None else given
    if k < 2 or k * (k - 1) // 2 != pairs:
        what = f"{k} learners have {k * (k - 1) // 2}" if given is not None else "no number of learners has so many"
        raise OptionError(
            f"Shaffer's correction is for all pairs of learners. Got {pairs} p-values, and {what}.",
            hint="use 'holm' or 'hommel' for other sets of comparisons.",
        )
    return k


def _rising(p: Floats) -> Floats:
    """A step down: no p-value below that of an easier comparison."""
    return np.maximum.accumulate(p)


def _falling(p: Floats) -> Floats:
    """A step up: no p-value above that of a harder comparison."""
    return np.minimum.accumulate(p[::-1])[::-1]


def _places(p: Floats) -> Floats:
    return np.arange(1, len(p) + 1, dtype=np.float64)


@_correction("bonferroni", "Bonferroni", "Dunn (1961)")
def _bonferroni(p: Floats, _: int | None) -> Floats:
    """Every p times their number."""
    return p * len(p)


@_correction("sidak", "Šidák", "Šidák (1967)")
def _sidak(p: Floats, _: int | None) -> Floats:
    """The chance of a p as small among as many independent ones."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(len(p) * np.log1p(-p)))


@_correction("holm", "Holm", "Holm (1979)")
def _holm(p: Floats, _: int | None) -> Floats:
    """Bonferroni from the smallest p down, each time among those that are left."""
    return _rising(p * (len(p) + 1 - _places(p)))


@_correction("hochberg", "Hochberg", "Hochberg (1988)")
def _hochberg(p: Floats, _: int | None) -> Floats:
    """Holm's factors from the largest p up; not for negatively dependent comparisons."""
    return _falling(p * (len(p) + 1 - _places(p)))


@_correction("hommel", "Hommel", "Hommel (1988)")
def _hommel(p: Floats, _: int | None) -> Floats:
    """Simes' test of every set of comparisons; more powerful than Hochberg's, under the same conditions."""
    # Wright (1992), algorithm: for every size m of a set, the smallest m p_(i) / (i − (n − m)) over its largest.
    n = len(p)
    adjusted = p.copy()
    for size in range(n, 1, -1):
        least = float((size * p[n - size + 1 :] / np.arange(2, size + 1)).min())
        adjusted[n - size + 1 :] = np.maximum(adjusted[n - size + 1 :], least)
        adjusted[: n - size + 1] = np.maximum(adjusted[: n - size + 1], np.minimum(least, size * p[: n - size + 1]))
    return adjusted


@_correction("finner", "Finner", "Finner (1993)")
def _finner(p: Floats, _: int | None) -> Floats:
    """A step down with 1 − (1 − p)^(m/i) for the i-th of m."""
    with np.errstate(divide="ignore"):
        return _rising(-np.expm1(len(p) / _places(p) * np.log1p(-p)))


@_correction("shaffer", "Shaffer", "Shaffer (1986)")
def _shaffer(p: Floats, learners: int | None) -> Floats:
    """Holm's step down for all pairs, counting only as many true equalities as there can be."""
    k = 2 if learners is None else learners
    pairs, possible = k * (k - 1) // 2, np.array(possible_equalities(k))
    left = np.arange(pairs, pairs - len(p), -1)
    # Comparisons without a p-value can hold true equalities too, but none that is tested.
    most = np.minimum(possible[np.searchsorted(possible, left, side="right") - 1], np.arange(len(p), 0, -1))
    return _rising(p * most)


@lru_cache(maxsize=64)
def possible_equalities(learners: int) -> tuple[int, ...]:
    """How many of all pairs of learners can be equal at once: equal ones come in groups, whose pairs are all equal.

    >>> possible_equalities(4)
    (0, 1, 2, 3, 6)
    """
    if learners < 2:
        return (0,)
    numbers = {
        size * (size - 1) // 2 + rest
        for size in range(1, learners + 1)
        for rest in possible_equalities(learners - size)
    }
    return tuple(sorted(numbers))


@_correction("benjamini-hochberg", "Benjamini–Hochberg", "Benjamini & Hochberg (1995)", "the share of false claims")
def _benjamini_hochberg(p: Floats, _: int | None) -> Floats:
    """A step up that keeps the expected share of false claims below 1 − level."""
    return _falling(p * len(p) / _places(p))


@_correction("benjamini-yekutieli", "Benjamini–Yekutieli", "Benjamini & Yekutieli (2001)", "the share of false claims")
def _benjamini_yekutieli(p: Floats, _: int | None) -> Floats:
    """Benjamini–Hochberg for comparisons that depend on each other in any way."""
    return _falling(p * len(p) / _places(p) * float((1 / _places(p)).sum()))


@_correction("none", "no correction", "", "nothing")
def _none(p: Floats, _: int | None) -> Floats:
    """The p-values as they are."""
    return p


# When a p-value decides: one rule for every verdict.


def is_significant(p: float, level: float) -> bool:
    """Whether a p-value is small enough to reject at a level; nan never is.

    >>> [is_significant(p, 0.95) for p in (0.05, 0.051, float("nan"))], is_significant(0.1, 0.9)
    ([True, False, False], True)
    """
    # In floating point 1 − .9 is slightly below .1, and 1 − .95 slightly above .05.
    return p <= 1 - level + ROUNDING
