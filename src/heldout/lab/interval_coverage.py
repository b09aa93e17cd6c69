"""Coverage: how often an interval for a proportion holds the truth, by adding up the binomial distribution.

Nothing is simulated: for n cases there are n + 1 possible counts, each with its probability and its interval. Figures
to compare with: Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from heldout.arguments import check_level, check_share, check_whole, closest, listing, method_key
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.intervals.proportion import METHODS
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Column, Number, Prose, Table, Title
from heldout.show.numbers import number


@dataclass(frozen=True, slots=True)
class Covered:
    """How often one method holds one truth, and how wide its interval is on average."""

    method: str
    n: int
    p: float
    coverage: float
    width: float


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCoverage(Result):
    """The coverage of interval methods for a proportion."""

    schema: ClassVar[str] = "heldout/lab-coverage@1"

    level: float
    covered: tuple[Covered, ...]

    def __getitem__(self, method: str) -> Covered:
        """The first figure of a method."""
        key = _resolve_method(method)
        for figure in self.covered:
            if figure.method == key:
                return figure
        raise OptionError(
            f"The method {key!r} was not asked for.", hint=f"use one of: {listing({f.method for f in self.covered})}."
        )

    def rows(self) -> list[dict[str, object]]:
        """One row per method, number of cases and truth."""
        return [
            make_row(
                "coverage", f.coverage, f.coverage, f.coverage, level=self.level, method=f.method, n=f.n, p=f.p,
                width=f.width,
            )
            for f in self.covered
        ]  # fmt: skip

    def blocks(self) -> list[Block]:
        """One line per method, number of cases and truth."""
        worst = min(self.covered, key=lambda f: f.coverage)
        verdict = (
            f"The level asked for is {number(self.level)}. Farthest below it: {worst.method} at n = {worst.n:,} and "
            f"p = {worst.p:g}, which holds the truth with probability {number(worst.coverage)}."
        )
        if worst.coverage >= self.level:
            verdict = f"The level asked for is {number(self.level)}, and every method here keeps it."
        names = ("method", "n", "p", "coverage", "mean width")
        rows = tuple((f.method, f.n, f"{f.p:g}", Number(f.coverage), Number(f.width)) for f in self.covered)
        columns = tuple(Column(name, "left" if name == "method" else "right") for name in names)
        return [
            Title("Coverage of intervals for a proportion", "exact, from the binomial distribution"),
            Prose(verdict, "Verdict"),
            Table(columns, rows),
        ]


def coverage(
    n: int | Sequence[int] = 30,
    p: float | Sequence[float] = 0.2,
    methods: str | Sequence[str] | None = None,
    *,
    level: float = 0.95,
) -> IntervalCoverage:
    """The probability that each method's interval holds p, when n independent cases succeed with probability p.

    >>> round(coverage(18, 0.5, "normal")["normal"].coverage, 3)
    0.904
    """
    check_level(level)
    sizes = [check_whole("n", size, 1) for size in (n if isinstance(n, Sequence | np.ndarray) else [n])]
    shares = [
        check_share("p", value, "write 20 % as 0.2.", ends=True)
        for value in (p if isinstance(p, Sequence | np.ndarray) else [p])
    ]
    requested = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    names = list(dict.fromkeys(_resolve_method(name) for name in requested))
    if not (sizes and shares and names):
        raise OptionError("There is nothing to work out: n, p or methods is empty.", hint="try coverage(30, 0.2).")
    covered = [
        _compute_coverage(name, size, share, level) for size, share, name in itertools.product(sizes, shares, names)
    ]
    return IntervalCoverage(level, tuple(covered))


def _compute_coverage(name: str, n: int, p: float, level: float) -> Covered:
    counts = np.arange(n + 1)
    low, high = METHODS[name](counts, n, level)
    chance = _compute_binomial(n, p)
    # A limit that equals p but for rounding holds it.
    holds = (low <= p + 1e-12) & (high >= p - 1e-12)
    return Covered(name, n, p, float(chance[holds].sum()), float(chance @ (high - low)))


def _compute_binomial(n: int, p: float) -> Floats:
    from scipy.special import gammaln, xlog1py, xlogy

    counts = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    chance = np.exp(ways + xlogy(counts, p) + xlog1py(n - counts, -p))
    return np.asarray(chance / chance.sum())


def _resolve_method(name: Any) -> str:
    key = method_key(name)
    if key not in METHODS:
        near = closest(key, METHODS)
        raise OptionError(
            f"There is no interval method {name!r} for a proportion. There are: {listing(METHODS)}.",
            hint=f"use {near or 'wilson'!r}.",
        )
    return key
