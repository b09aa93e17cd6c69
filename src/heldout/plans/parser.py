"""Reading a plan: a text such as "10-fold" or ".632+ 200", a scikit-learn splitter, or pairs of row numbers."""

from __future__ import annotations

import copy
import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted
from heldout.arrays import Integers
from heldout.errors import OptionError
from heldout.intervals.dependence import AGAIN, ONCE
from heldout.plans.folds import kfold, leave_one_group_out, leave_one_out, leave_p_out, time_ordered, weka
from heldout.plans.holdout_and_bootstrap import bootstrap, holdout, resubstitution, subsampling
from heldout.plans.plan import Cases, Correction, Plan, Splits, check_number, check_seed
from heldout.synonyms import takes_synonyms

PAIRS = "give a splitter such as KFold(5), or pairs of training and test rows: [([1, 2], [0]), ([0, 2], [1])]."


@dataclass(frozen=True, eq=False)
class Given(Plan):
    """The splits of `splitter`: an object with a split method as in scikit-learn, or a tuple of pairs of rows."""

    kind: ClassVar[str] = "given"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = "the error of models trained on the training rows of the given splits"
    splitter: Any
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def text(self) -> str:
        """How the splitter prints itself, or how many splits were given."""
        if isinstance(self.splitter, tuple):
            return counted(len(self.splitter), "given split")
        printed = repr(self.splitter)
        # An address in memory differs from run to run.
        return type(self.splitter).__name__ if " at 0x" in printed else " ".join(printed.split())

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits, with the rows in the order given; a splitter that draws and has no seed uses this one."""
        pairs = self._pairs(cases, seed if self.seed is None else self.seed)
        tests: list[Integers] = []
        trains: list[Integers | None] = []
        for number, pair in enumerate(pairs, start=1):
            train, test = (
                _read_rows(part, cases.n, f"The {name} rows of split {number}")
                for name, part in zip(("training", "test"), pair, strict=True)
            )
            _check_distinct(test, number)
            rest = np.ones(cases.n, dtype=bool)
            rest[test] = False
            usual = len(train) == np.count_nonzero(rest) and np.array_equal(train, np.flatnonzero(rest))
            trains.append(None if usual else train)
            tests.append(test)
        if not tests:
            raise OptionError(f"{self.text} makes no splits of {counted(cases.n, 'row')}.", hint=PAIRS)
        repeat, fold = _number_splits(cases.n, tests)
        splits = Splits.of(cases.n, tests, repeat=repeat, fold=fold)
        if all(train is None for train in trains):
            return splits
        whole = [splits.train(i) if train is None else train for i, train in enumerate(trains)]
        return Splits.of(cases.n, tests, whole, repeat=repeat, fold=fold)

    def factor_of(self, splits: Splits) -> float:
        """As that of the plan which it looks like: a holdout, a partition, or a repeated one."""
        if len(splits) == 1:
            return 1.0
        return ONCE if splits.times_tested.max(initial=0) <= 1 else AGAIN

    def _pairs(self, cases: Cases, seed: int) -> Iterator[Sequence[Any]]:
        if isinstance(self.splitter, tuple):
            return iter(self.splitter)
        # A copy, because a splitter that holds a generator of its own would give other splits the second time.
        splitter = copy.deepcopy(self.splitter)
        if getattr(splitter, "random_state", 0) is None:
            splitter.random_state = seed % 2**32
        group = None if cases.group is None else _decode(cases.group_names, cases.group)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The groups parameter is ignored")
                pairs = list(splitter.split(np.zeros((cases.n, 1)), _decode(cases.labels, cases.truth), group))
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"{self.text} cannot split {counted(cases.n, 'row')}: {str(error).splitlines()[0]}",
                hint="name the column of the groups with group=."
                if "groups" in str(error) and group is None
                else "change the splitter, or use a plan such as '10-fold'.",
            ) from error
        return iter([_read_pair(pair, number) for number, pair in enumerate(pairs, start=1)])


def _decode(names: Sequence[object], codes: NDArray[np.int64]) -> NDArray[Any]:
    """The names behind the codes: splitters sort them, and what they draw depends on the order."""
    kinds = {type(name) for name in names}
    # Names that are missing, or do not sort because they are of several kinds, are of no use to a splitter.
    plain = len(kinds) == 1 and issubclass(kinds.pop(), str | int | float | np.generic)
    if not plain or len(names) <= int(codes.max(initial=0)):
        return codes
    return np.array(names)[codes]


def _read_pair(pair: Any, number: int) -> Sequence[Any]:
    parts = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str | bytes) else ()
    if len(parts) != 2:
        raise OptionError(
            f"A given split is a pair of training and test rows. Split {number} is "
            f"{f'{len(parts)} things' if parts else f'of type {type(pair).__name__}'}.",
            hint=PAIRS,
        )
    return parts


def _read_rows(part: Any, n: int, name: str) -> Integers:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise OptionError(
            f"{name} must be row numbers counted from 0. Got {rows.dtype} of {rows.ndim} dimensions.",
            hint="give one list or array of whole numbers, or one truth value per row.",
        )
    if not rows.size:
        raise OptionError(f"{name} are none.", hint="leave that split out, or give it rows.")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise OptionError(
            f"{name} hold {outside[0]}, and there are {counted(n, 'row')}: 0 to {n - 1:,}.",
            hint="count rows from 0, in the data that is split.",
        )
    return rows.astype(np.int64, copy=False)


def _check_distinct(test: Integers, number: int) -> None:
    """A model predicts a case once: a test row that stands twice would count as two cases."""
    rows, counts = np.unique(test, return_counts=True)
    if len(rows) < len(test):
        raise OptionError(
            f"The test rows of split {number} hold row {rows[counts > 1][0]} {counts[counts > 1][0]:,} times, and "
            f"{counted(int((counts > 1).sum()), 'row')} more than once.",
            hint="list every test row once.",
        )


def _number_splits(n: int, tests: Sequence[Integers]) -> tuple[list[int] | None, list[int] | None]:
    """The repetition of each split and its place in it, where each repetition tests every row once.

    Splits that test no row twice are one repetition. None where each split is a repetition of its own.
    """
    tested = np.zeros(n, dtype=bool)
    repeat, fold, number, position, complete = [], [], 0, 0, True
    for test in tests:
        if tested[test].any():
            complete = complete and bool(tested.all())
            tested[:] = False
            number, position = number + 1, 0
        tested[test] = True
        repeat.append(number)
        fold.append(position)
        position += 1
    if number and not (complete and tested.all()):
        return None, None
    return repeat, fold


@takes_synonyms
def given(splitter: Any, *, seed: int | None = None) -> Plan:
    """The splits of a scikit-learn splitter or of pairs of training and test rows; a number k means k folds.

    Parameters
    ----------
    splitter : splitter, pairs of rows or int
        An object with a split method as in scikit-learn, pairs of training and test rows, or a number of folds.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    Examples
    --------
    >>> plan = given([([1, 2], [0]), ([0, 2], [1])])
    >>> plan.text, len(plan.splits(Cases(np.array([0, 1, 1]), ("no", "yes"))))
    ('2 given splits', 2)

    """
    if isinstance(splitter, int | np.integer) and not isinstance(splitter, bool):
        return kfold(int(splitter), seed=seed)
    if isinstance(splitter, type):
        raise OptionError(
            f"{splitter.__name__} is a class, not a splitter.", hint=f"add parentheses: {splitter.__name__}()."
        )
    if not isinstance(splitter, str | bytes):
        if callable(getattr(splitter, "split", None)):
            return Given(splitter, seed)
        if isinstance(splitter, Iterable):
            pairs = tuple(_read_pair(pair, number) for number, pair in enumerate(splitter, start=1))
            if not pairs:
                raise OptionError("There are no splits in what was given.", hint=PAIRS)
            return Given(pairs, seed)
    raise OptionError(
        f"A plan cannot be made of {splitter!r}, of type {type(splitter).__name__}.",
        hint="give a text such as '10-fold', a splitter such as KFold(5), or pairs of training and test rows.",
    )


@dataclass(frozen=True)
class Nested(Plan):
    """The splits of the outer plan; within each training part, the inner plan chooses the settings."""

    kind: ClassVar[str] = "nested"
    outer: Plan
    inner: Plan
    correction: Correction = field(init=False, default="", compare=False, repr=False)
    seed: int | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for plan in (self.outer, self.inner):
            if plan.inner is not None:
                raise OptionError(
                    f"A nested plan has two plans, and one of these is nested itself: {plan.text!r}.",
                    hint="nest two plain plans, such as '10-fold' and '5-fold'.",
                )
        object.__setattr__(self, "correction", self.outer.correction)
        object.__setattr__(self, "seed", self.outer.seed)

    @property
    def factor(self) -> float:
        """That of the outer plan."""
        return self.outer.factor

    @property
    def target(self) -> str:
        """That of the outer plan."""
        return self.outer.target

    @property
    def judging(self) -> Plan:
        """The outer plan."""
        return self.outer

    @property
    def text(self) -> str:
        """Such as "nested 10-fold / 5-fold"; one seed at the end is that of both."""
        outer, inner = self.outer, self.inner
        # Weka's folds always say their seed.
        if outer.seed is not None and outer.seed == inner.seed and outer.kind != "weka":
            outer = cast("Plan", replace(cast("Any", outer), seed=None))
        elif inner.seed is not None and outer.seed is None and outer.takes("seed"):
            return f"nested {outer.text} / ({inner.text})"
        return f"nested {outer.text} / {inner.text}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits of the outer plan."""
        return self.outer.splits(cases, seed)

    def factor_of(self, splits: Splits) -> float:
        """That of the outer plan."""
        return self.outer.factor_of(splits)

    def seeded(self, seed: int) -> Plan:
        """The same plan with this seed for both parts, where they draw and have none of their own."""
        return Nested(self.outer.seeded(seed), self.inner.seeded(seed))


@takes_synonyms
def nested(outer: Any, inner: Any) -> Nested:
    """Judge by the outer plan what the inner plan tuned; each a plan, or its text.

    Parameters
    ----------
    outer : plan or str
        The plan that judges.
    inner : plan or str
        The plan that tunes, within each training part.

    References
    ----------
    - Varma & Simon (2006), Bias in error estimation when using cross-validation for model selection, BMC
      Bioinformatics 7.

    Examples
    --------
    >>> nested("10-fold", "5-fold").text
    'nested 10-fold / 5-fold'

    """
    return Nested(read_plan(outer), read_plan(inner))


EXAMPLES = (
    "10-fold",
    "5x2-fold",
    "10-fold unstratified",
    "holdout 2/3",
    "30 x holdout 2/3",
    "leave-one-out",
    "leave-2-out",
    "leave-one-group-out",
    "bootstrap 200",
    ".632 200",
    ".632+ 200",
    "resubstitution",
    "time-ordered 5",
    "weka 10-fold seed 1",
    "nested 10-fold / 5-fold",
)
"""One text of every form, as shown to a person whose text has none."""

Captures = Mapping[str, str | None]


def _parse_number(text: str) -> Any:
    """A number as written: one that is not whole is for the plan to refuse."""
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _parse_numbers(captures: Captures, *names: str) -> dict[str, Any]:
    return {name: _parse_number(text) for name in names if (text := captures[name]) is not None}


def _parse_share(captures: Captures) -> dict[str, Any]:
    text = captures["train"]
    if text is None:
        return {}
    try:
        share = Fraction(text.removesuffix("%"))
    except (ValueError, ZeroDivisionError):
        raise OptionError(
            f"{text!r} is not a share of the rows.", hint="write 'holdout 2/3', 'holdout 0.7' or 'holdout 70%'."
        ) from None
    return {"train": float(share / 100 if text.endswith("%") else share)}


def _make_bootstrap(captures: Captures) -> Plan:
    kind = captures.get("kind")
    correction: Correction = "" if kind is None else ".632+" if kind.endswith("+") else ".632"
    return bootstrap(correction=correction, **_parse_numbers(captures, "times"))


NUMBER = r"[-+]?\d{1,18}(?:\.\d{1,18})?"
SHARE = r"[-+]?[\d./]+(?:e-?\d{1,3})?%?"
CV = r"(?: (?:cross[- ]?validation|cv))?"
FOLDS = rf"(?P<k>{NUMBER})[- ]?folds?{CV}"

FORMS: tuple[tuple[str, Callable[[Captures], Plan]], ...] = (
    (rf"(?:(?P<repeats>{NUMBER}) ?x ?)?{FOLDS}", lambda found: kfold(**_parse_numbers(found, "k", "repeats"))),
    # A short number alone is one of folds, as in cv=5.
    (r"(?P<k>\d{1,2})", lambda found: kfold(**_parse_numbers(found, "k"))),
    (rf"hold-?out(?: (?P<train>{SHARE}))?", lambda found: holdout(**_parse_share(found))),
    (
        rf"(?P<times>{NUMBER}) ?x ?hold-?out(?: (?P<train>{SHARE}))?",
        lambda found: subsampling(**_parse_numbers(found, "times"), **_parse_share(found)),
    ),
    (
        rf"subsampling(?: (?P<times>{NUMBER})(?![\d./%]))?(?: (?P<train>{SHARE}))?",
        lambda found: subsampling(**_parse_numbers(found, "times"), **_parse_share(found)),
    ),
    (rf"loo|loocv|leave[- ]one[- ]out{CV}", lambda _: leave_one_out()),
    (rf"leave[- ](?P<p>{NUMBER})[- ]out{CV}", lambda found: leave_p_out(**_parse_numbers(found, "p"))),
    (rf"logo|leave[- ]one[- ]group[- ]out{CV}", lambda _: leave_one_group_out()),
    (rf"bootstrap(?: (?P<times>{NUMBER}))?", _make_bootstrap),
    (rf"(?P<kind>0?\.632\+?|632\+)(?: bootstrap)?(?: (?P<times>{NUMBER}))?", _make_bootstrap),
    (rf"bootstrap (?P<kind>0?\.632\+?|632\+)(?: (?P<times>{NUMBER}))?", _make_bootstrap),
    (r"resubstitution|training (?:set|error)", lambda _: resubstitution()),
    (
        rf"time[- ](?:ordered|series)(?: (?P<folds>{NUMBER}))?(?: gap (?P<gap>{NUMBER}))?",
        lambda found: time_ordered(**_parse_numbers(found, "folds", "gap")),
    ),
    (rf"weka(?: {FOLDS})?", lambda found: weka(**_parse_numbers(found, "k"))),
)
"""Each form of text, and the plan that it means."""


@takes_synonyms
def read_plan(plan: Any, seed: int | None = None) -> Plan:
    """A plan from its text, a number of folds, a scikit-learn splitter, pairs of rows, or a plan.

    Parameters
    ----------
    plan : str, int, splitter, pairs of rows or Plan
        How rows are split.
    seed : int, optional
        The seed of a plan which draws and has none of its own.

    Examples
    --------
    >>> read_plan("10 x 10-fold").text, read_plan("Holdout 70%", seed=3).text
    ('10x10-fold', 'holdout 0.7 seed 3')

    """
    if isinstance(plan, Plan):
        parsed = plan
    elif isinstance(plan, str):
        parsed = _parse(_normalise(plan), plan)
    else:
        parsed = given(plan)
    return parsed if seed is None else parsed.seeded(check_number(seed, "The seed", 0, 1, most=None))


def _normalise(text: str) -> str:
    """In small letters, with one kind of dash, cross and space."""
    for written, plain in (("×", "x"), ("‐", "-"), ("‑", "-"), ("–", "-"), ("−", "-")):
        text = text.replace(written, plain)
    return " ".join(text.casefold().split())


def _parse(text: str, written: str) -> Plan:
    parts = re.fullmatch(r"nested (.+?) ?(?<!\d)/ ?(.+)", text)  # the line in "2/3" parts no plans
    if parts:
        return _parse_nested(parts[1], parts[2], written)
    text, options = _split_options(text, written)
    if text.startswith("column "):
        raise OptionError(
            f"The plan {written!r} needs the column's values.", hint="use heldout.plans.by_column(values) instead."
        )
    for form, make in FORMS:
        match = re.fullmatch(form, text)
        if match:
            return _apply_options(make(match.groupdict()), options, written)
    raise _unknown_plan(text, written)


def _split_options(text: str, written: str) -> tuple[str, dict[str, Any]]:
    """Take "unstratified" and "seed 3" off the end."""
    options: dict[str, Any] = {}
    while match := re.fullmatch(r"(.+?),? (?:(un)?stratified|seed (-?\d{1,18}))", text):
        text, un, seed = match.groups()
        name, value = ("stratified", un is None) if seed is None else ("seed", int(seed))
        if name in options:
            raise OptionError(
                f"The plan {written!r} says {'its seed' if name == 'seed' else 'whether to stratify'} twice.",
                hint="say it once, at the end.",
            )
        options[name] = value
    return text, options


def _apply_options(plan: Plan, options: dict[str, Any], written: str) -> Plan:
    for name in options:
        if not plan.takes(name):
            why = "it draws nothing" if name == "seed" else "it never looks at the classes, or always does"
            raise OptionError(
                f"In {written!r}, {plan.kind} takes no {'seed' if name == 'seed' else 'stratification'}: {why}.",
                hint=f"leave out {'the seed' if name == 'seed' else 'that word'}: {plan.text!r}.",
            )
    return cast("Plan", replace(cast("Any", plan), **options)) if options else plan


def _parse_nested(outer: str, inner: str, written: str) -> Plan:
    """Both plans. A seed at the very end is that of both, unless the outer has its own or the inner has brackets."""
    bracketed = inner.startswith("(") and inner.endswith(")")
    outer, options = _split_options(outer.removeprefix("(").removesuffix(")"), written)
    inner, inner_options = _split_options(inner.removeprefix("(").removesuffix(")"), written)
    first = _apply_options(_parse(outer, outer), options, written)
    second = _parse(inner, inner)
    if "seed" in inner_options and not bracketed and "seed" not in options and first.takes("seed"):
        seed = inner_options["seed"] if second.takes("seed") else inner_options.pop("seed")
        first = _apply_options(first, {"seed": seed}, written)
    return Nested(first, _apply_options(second, inner_options, written))


# How other libraries name plans: scikit-learn's splitters, the methods of caret, the functions of rsample.
OTHERS = {
    **dict.fromkeys(("stratifiedkfold", "cv", "crossvalidation", "crossval", "vfoldcv", "groupkfold"), "10-fold"),
    "kfold": "10-fold unstratified",
    **dict.fromkeys(("repeatedcv", "repeatedkfold", "repeatedstratifiedkfold"), "10x10-fold"),
    **dict.fromkeys(("shufflesplit", "stratifiedshufflesplit", "lgocv", "mccv", "montecarlo"), "30 x holdout 2/3"),
    **dict.fromkeys(("traintestsplit", "split", "initialsplit", "percentagesplit"), "holdout 2/3"),
    **dict.fromkeys(("boot", "bootstraps", "oob"), "bootstrap 200"),
    **dict.fromkeys(("boot632", "632", "b632"), ".632 200"),
    **dict.fromkeys(("optimismboot", "632+", "632plus"), ".632+ 200"),
    "leavepout": "leave-2-out",
    "leaveonegroupout": "leave-one-group-out",
    **dict.fromkeys(("timeseriessplit", "timeslice", "rollingorigin", "slidingwindow"), "time-ordered 5"),
    **dict.fromkeys(("nested", "nestedcv"), "nested 10-fold / 5-fold"),
}


def _unknown_plan(text: str, written: str) -> OptionError:
    other = OTHERS.get(re.sub(r"[^a-z0-9+]", "", written.casefold()))
    near = [other] if other else difflib.get_close_matches(text, EXAMPLES, n=3, cutoff=0.5)
    if text.isdecimal():
        near = [f"{text}-fold", *near]
    *others, last = map(repr, near or EXAMPLES)
    hint = f"write it like one of these: {', '.join([*others, last])}."
    if other:
        hint = f"write {other!r}; the numbers are yours to choose."
    elif near:
        hint = f"did you mean something like {', '.join(others)}{' or ' * bool(others)}{last}?"
    return OptionError(f"There is no plan {written!r}.", hint=hint)
