"""The ranks of learners over data sets as an answer: which are better, which cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from heldout.arguments import check_level, closest, listing, write_sentence
from heldout.arrays import Floats
from heldout.atomic_write import write_whole
from heldout.comparisons.comparison import Comparison, ModelTable, Outcome
from heldout.comparisons.corrections import CORRECTIONS, FOR_A_CONTROL, adjust_p_values, find_correction
from heldout.comparisons.ranks import (
    NEMENYI,
    RankTest,
    ResultTable,
    dunn_difference,
    friedman,
    iman_davenport,
    nemenyi_difference,
    nemenyi_p,
    normal_p,
    rank_table,
    rank_z,
    read_results,
    wins_and_ties,
)
from heldout.errors import OptionError, ValuesError
from heldout.result import bound_late, make_row
from heldout.show.escape import visible
from heldout.show.numbers import plain, share
from heldout.show.text_width import shorten

SHOWN_CLAIMS = 6


@dataclass(frozen=True, slots=True)
class RankPair:
    """Two learners: the difference of their average ranks (below 0 where A is better), and its test.

    `p` is corrected for the number of pairs, `p_alone` is not. `reach` is the critical difference where there is one;
    `wins`, `ties` and `losses` are A's against B.
    """

    a: str
    b: str
    difference: float
    reach: float
    z: float
    p_alone: float
    p: float
    different: bool
    wins: int
    ties: int
    losses: int

    def turned(self) -> RankPair:
        """The same of B with A."""
        return replace(
            self, a=self.b, b=self.a, difference=-self.difference, z=-self.z, wins=self.losses, losses=self.wins
        )

    @property
    def ahead(self) -> str:
        """The one with the better average rank, A where they are equal."""
        return self.b if self.difference > 0 else self.a

    @property
    def behind(self) -> str:
        """The other."""
        return self.a if self.difference > 0 else self.b

    @property
    def better(self) -> Outcome:
        """Which of the two is better beyond doubt."""
        return "undecided" if not self.different else "b" if self.difference > 0 else "a"

    @property
    def verdict(self) -> str:
        """Which of the two is better, in a sentence."""
        apart = f"average ranks apart by {plain(abs(self.difference))}, p {share(self.p)}"
        if self.different:
            return f"{_short(self.ahead)} is better than {_short(self.behind)}: {apart}."
        return f"{_short(self.a)} and {_short(self.b)} cannot be told apart: {apart}."


@dataclass(frozen=True, eq=False)
class LearnerRanks(Comparison):
    """How learners rank over data sets, whether they differ at all, and which of them do.

    `ranks` has one row per data set, 1 for the best. `tests` are those of all learners at once. `pairs` are all pairs,
    or those with the `control`. `critical_difference` is nan where the correction has none.

    >>> import heldout
    >>> results = {"a": [0.8, 0.7, 0.9, 0.6], "b": [0.7, 0.6, 0.8, 0.5], "c": [0.9, 0.8, 0.7, 0.7]}
    >>> heldout.compare(results, splits=False).average_ranks
    {'a': 1.75, 'b': 2.75, 'c': 1.5}
    """

    schema: ClassVar[str] = "heldout/ranks@1"
    rows_name: ClassVar[str] = "ranks"
    _charts: ClassVar[Mapping[str, str]] = {"ranks": "heldout.report.learner_ranks:draw_ranks"}
    _tikz_by: ClassVar[str] = "heldout.report.learner_ranks:write_tikz"
    _rendered_by: ClassVar[str] = "heldout.report.learner_ranks:render_ranks"

    names: tuple[str, ...]
    table: ResultTable
    ranks: Floats = field(repr=False)
    tests: tuple[RankTest, ...]
    pairs: tuple[RankPair, ...] = field(repr=False)
    correction: str
    level: float
    critical_difference: float
    control: str | None = None
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[RankPair]:
        return iter(self.pairs)

    def _with_notes(self, notes: Sequence[str]) -> Self:
        """The same with more notes before its own, which are sentences."""
        sentences = [note if note.endswith(".") else write_sentence(note) for note in notes]
        return replace(self, notes=(*sentences, *self.notes))

    def __getitem__(self, measure: str) -> RankPair:
        """Refused: ranks are by one measure, and of more than two."""
        raise OptionError(
            f"Learners are ranked over data sets by one measure, and {measure!r} was asked for.",
            hint="use .get(a, b) to name a pair, or iterate over all pairs.",
        )

    def models(self) -> ModelTable:
        """Refused: over many data sets a learner has a rank, and no value of its own."""
        raise OptionError(
            "Over many data sets a learner has a rank, and no value of its own to put into a table.",
            hint="use to_latex(), to_frame() or average_ranks; to_tikz() draws the ranks for a paper.",
        )

    def get(self, a: str, b: str) -> RankPair:
        """The comparison of two learners, in the order that is asked for."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {a, b}:
                return pair if pair.a == a else pair.turned()
        raise OptionError(
            f"There is no comparison of {a!r} with {b!r}.",
            hint=f"there are: {listing(f'{pair.a} with {pair.b}' for pair in self.pairs)}.",
        )

    @property
    def p(self) -> float:
        """The p-value of the test of all learners at once."""
        return self.tests[0].p

    @property
    def average_ranks(self) -> dict[str, float]:
        """The average rank of every learner."""
        return dict(zip(self.table.learners, self.ranks.mean(axis=0).tolist(), strict=True))

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The learners that cannot be told apart, in the order of their ranks; with a control, those like it."""
        average = self.average_ranks
        if self.control is not None:
            alike = [self.control, *(pair.b for pair in self.pairs if not pair.different)]
            return (tuple(sorted(alike, key=average.__getitem__)),) if len(alike) > 1 else ()
        index_of = {name: at for at, name in enumerate(self.table.learners)}
        alike_matrix = np.eye(len(index_of), dtype=bool)
        for pair in self.pairs:
            i, j = index_of[pair.a], index_of[pair.b]
            alike_matrix[i, j] = alike_matrix[j, i] = not pair.different
        groups = groups_of(self.ranks.mean(axis=0), alike_matrix)
        return tuple(tuple(self.table.learners[at] for at in group) for group in groups)

    @property
    def verdict(self) -> str:
        """What the tests say, in a few sentences."""
        return f"{self._describe_all()} {self._describe_pairs()}"

    def _describe_all(self) -> str:
        test = self.tests[0]
        figures = f"Iman–Davenport F {plain(test.statistic)}, p {share(test.p)}"
        if test.p <= 1 - self.level:
            return f"The learners differ over these {self.table.n} data sets ({figures})."
        return f"That the learners differ at all cannot be told from these {self.table.n} data sets ({figures})."

    def _describe_pairs(self) -> str:
        how = f"({self.how}, level {self.level:g})"
        claims: dict[str, list[str]] = {}
        told = sorted((pair for pair in self.pairs if pair.different), key=lambda pair: pair.p)
        for pair in told[:SHOWN_CLAIMS]:
            claims.setdefault(pair.ahead, []).append(_short(pair.behind))
        if not claims:
            whom = (
                "No pair can be told apart" if self.control is None else f"None can be told from {_short(self.control)}"
            )
            return f"{whom} {how}."
        text = "; ".join(f"{_short(best)} is better than {_and(rest)}" for best, rest in claims.items())
        more = f"; and {len(told) - SHOWN_CLAIMS} more pairs differ" if len(told) > SHOWN_CLAIMS else ""
        return f"{text}{more} {how}."

    @property
    def how(self) -> str:
        """The correction as textbooks call it."""
        return "Nemenyi" if self.correction == NEMENYI.name else CORRECTIONS[self.correction].title

    def rows(self) -> list[dict[str, object]]:
        """One row per learner, then one per pair."""
        rows: list[dict[str, object]] = []
        for name, (wins, ties, losses) in self.record().items():
            head = make_row("average_rank", self.average_ranks[name], level=self.level, method="ranks", n=self.table.n)
            tail = {"learner": name, "other": None, "wins": wins, "ties": ties, "losses": losses}
            rows.append({**head, **tail, "z": None, "p": None, "p_adjusted": None, "different": None})
        for pair in self.pairs:
            figures = (pair.difference, pair.difference - pair.reach, pair.difference + pair.reach)
            head = make_row("rank_difference", *figures, level=self.level, method=self.correction, n=self.table.n)
            tail = {"learner": pair.a, "other": pair.b, "wins": pair.wins, "ties": pair.ties, "losses": pair.losses}
            tests = {"z": pair.z, "p": pair.p_alone, "p_adjusted": pair.p, "different": pair.different}
            rows.append({**head, **tail, **tests})
        return rows

    def record(self) -> dict[str, tuple[int, int, int]]:
        """How often each learner won, tied and lost against any other on any data set."""
        wins, ties = wins_and_ties(self.ranks)
        return {
            name: (int(wins[at].sum()), int(ties[at].sum()), int(wins[:, at].sum()))
            for at, name in enumerate(self.table.learners)
        }

    def facts(self) -> dict[str, object]:
        """The data sets, the tests over all learners, the groups that are not told apart, and the verdict."""
        return {
            "data_sets": list(self.table.data_sets),
            "learners": list(self.table.learners),
            "higher_is_better": self.table.higher_is_better,
            "level": self.level,
            "correction": self.correction,
            "control": self.control,
            "critical_difference": self.critical_difference,
            "tests": [
                {
                    "method": test.method,
                    "statistic": test.statistic,
                    "df": list(test.df),
                    "p": test.p,
                    "note": test.note,
                }
                for test in self.tests
            ],
            "groups": [list(group) for group in self.groups],
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def _write_chart(self, path: Path, kind: str | None) -> Path:
        """The diagram also for LaTeX, as TikZ."""
        if path.suffix.lower() == ".tex":
            return write_whole(path, self.to_tikz().encode("utf-8", "backslashreplace"))
        return super()._write_chart(path, kind)

    def to_tikz(self) -> str:
        """The same diagram for LaTeX, which needs the package tikz."""
        text: str = bound_late(self._tikz_by)(self)
        return text


def _short(name: str) -> str:
    return shorten(visible(name), 40)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# Below this many data sets the normal and F distributions are rough.
FEW = 6


def rank_learners(
    table: Any,
    *,
    control: object = None,
    correction: str | None = None,
    level: float = 0.95,
    higher_is_better: bool | None = None,
) -> LearnerRanks:
    """Rank the learners on every data set, test whether they differ, and which of them do.

    Without a `control` all pairs are compared, by default with Nemenyi's test; with one, all others with it, by default
    with Holm's correction. `table` is anything that `read_results` takes.

    >>> table = {"tree": [0.7, 0.8, 0.6, 0.9], "bayes": [0.8, 0.9, 0.7, 0.8], "knn": [0.6, 0.7, 0.5, 0.7]}
    >>> result = rank_learners(table)
    >>> result.average_ranks
    {'tree': 1.75, 'bayes': 1.25, 'knn': 3.0}
    """
    results = read_results(table, higher_is_better=higher_is_better)
    check_level(level)
    index = None if control is None else results.place(control)
    used = _correction(correction, against_control=index is not None)
    ranks = rank_table(results)
    pairs = _pairs(results, ranks, index, used, level)
    tests = (iman_davenport(ranks), friedman(ranks, ties=False), friedman(ranks, ties=True))
    return LearnerRanks(
        results.learners, results, ranks, tests, pairs, used, level, _critical(results, len(pairs), used, level),
        control=None if index is None else results.learners[index], notes=_notes(results, ranks, used),
    )  # fmt: skip


def _correction(asked: str | None, *, against_control: bool) -> str:
    """The name of the correction; Nemenyi's test is one of its own, for all pairs."""
    if asked is None:
        return "holm" if against_control else NEMENYI.name
    key = str(asked).strip().casefold()
    if key == NEMENYI.name or (key not in CORRECTIONS and closest(key, [*CORRECTIONS, NEMENYI.name]) == NEMENYI.name):
        if key != NEMENYI.name:
            raise OptionError(f"There is no correction {asked!r}.", hint=f"did you mean {NEMENYI.name!r}?")
        name = NEMENYI.name
    else:
        name = find_correction(asked).name
    if against_control and name in (NEMENYI.name, "shaffer"):
        raise OptionError(
            f"{name.capitalize()}'s test is for all pairs, and here all are compared with one control.",
            hint=FOR_A_CONTROL,
        )
    return name


def _pairs(table: ResultTable, ranks: Floats, control: int | None, used: str, level: float) -> tuple[RankPair, ...]:
    k = len(table.learners)
    if control is None:
        first, second = np.triu_indices(k, 1)
    else:
        second = np.delete(np.arange(k), control)
        first = np.full(k - 1, control)
    z = rank_z(ranks)[first, second]
    p = normal_p(z)
    adjusted = (
        nemenyi_p(z, k) if used == NEMENYI.name else adjust_p_values(p, used, pairs_of=k if control is None else None)
    )
    mean = ranks.mean(axis=0)
    wins, ties = wins_and_ties(ranks)
    reach = _critical(table, len(p), used, level)
    return tuple(
        RankPair(
            table.learners[i], table.learners[j], float(mean[i] - mean[j]), reach, float(z[at]), float(p[at]),
            float(adjusted[at]), bool(adjusted[at] <= 1 - level), int(wins[i, j]), int(ties[i, j]), int(wins[j, i]),
        )
        for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
    )  # fmt: skip


def _critical(table: ResultTable, comparisons: int, used: str, level: float) -> float:
    """How far two ranks must lie apart, where that is the same for all pairs."""
    n, k = table.n, len(table.learners)
    if used == NEMENYI.name:
        return nemenyi_difference(n, k, level)
    return dunn_difference(n, k, level, comparisons) if used == "bonferroni" else float("nan")


def _notes(table: ResultTable, ranks: Floats, used: str) -> tuple[str, ...]:
    notes = []
    if table.n < FEW:
        notes.append(f"With {table.n} data sets the tests of ranks are rough, and only large differences can be told.")
    whole = int((ranks == ranks[:, :1]).all(axis=1).sum())
    if whole:
        sets = "data set shows" if whole == 1 else "data sets show"
        notes.append(f"{whole} {sets} no difference between any of the learners.")
    if used == NEMENYI.name and NEMENYI.finding and len(table.learners) > 2:
        notes.append(f"Nemenyi: {NEMENYI.finding}.")
    return tuple(notes)


Groups = tuple[tuple[int, ...], ...]


def groups_of(ranks: Any, alike: Any) -> Groups:
    """The largest sets of two or more learners of which every pair is alike, each and all in the order of their ranks.

    >>> groups_of([1.0, 2.0, 3.0], [[True, True, False], [True, True, True], [False, True, True]])
    ((0, 1), (1, 2))
    """
    average, same = np.asarray(ranks, dtype=np.float64), np.asarray(alike, dtype=bool)
    if same.shape != (len(average), len(average)) or (same != same.T).any():
        raise ValuesError(
            f"Who is alike must be a symmetric table with a row for each of {len(average)} ranks. "
            f"Got {' × '.join(map(str, same.shape))}.",
            hint="give True where a pair cannot be told apart.",
        )
    order = np.argsort(average, kind="stable").tolist()
    near = [{j for j, other in enumerate(order) if j != i and same[one, other]} for i, one in enumerate(order)]
    groups = sorted(
        tuple(sorted(group)) for group in _cliques(set(), set(range(len(order))), set(), near) if len(group) > 1
    )
    return tuple(tuple(order[at] for at in group) for group in groups)


def _cliques(held: set[int], left: set[int], seen: set[int], near: list[set[int]]) -> Iterator[set[int]]:
    """All largest sets whose members are all near each other: Bron & Kerbosch (1973), with a pivot."""
    if not left and not seen:
        yield held
        return
    pivot = max(left | seen, key=lambda one: len(near[one] & left))
    for one in sorted(left - near[pivot]):
        yield from _cliques(held | {one}, left & near[one], seen & near[one], near)
        left = left - {one}
        seen = seen | {one}
