"""The options that functions and commands share, declared once: type, usual value, and how a flag is explained.

A function takes a group of them as `**options: Unpack[EngineArguments]` under `@takes(EngineArguments)`: type checkers
and editors read the group, `inspect.signature` and `help` show every option by name, and the command line makes its
flags of the same declarations.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, ForwardRef, ParamSpec, TypedDict, TypeVar

from heldout.arguments import MISSING, Label, Missing
from heldout.synonyms import positional, refuse_too_many, translate
from heldout.threads import use_threads

# The parts of a command's help.
INPUT, LARGE, INTERVALS, OUTPUT, RUNNING = "Input", "Large data", "Intervals", "Output", "Running"
PLANNED, ASSUMED = "Question", "Taken as given"

# How often scores are read unless it is said.
USUAL_PASSES = 3

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its usual value in Python, and its flag on the command line.

    A flag that was not given is left to the function, unless its usual value is `shown` in the help. `flag` is how it
    is spelled where the option has another name, `kind` what its text is read as, `repeated` whether it may be given
    several times.
    """

    default: Any
    metavar: str = ""
    help: str = ""
    panel: str = ""
    flag: str = ""
    kind: type = str
    repeated: bool = False
    shown: bool = False


def make_switch(help: str, panel: str) -> Option:  # noqa: A002 - as the option calls it
    """A flag without a value, which is off unless it is given."""
    return Option(default=False, help=help, panel=panel, kind=bool, shown=True)


# Which column has which role.
Truth = Annotated["Any", Option(None, "COLUMN", "Column of the true class.", INPUT)]
Score = Annotated[
    "Any",
    Option(
        None,
        "COLUMN",
        "Column of scores or probabilities of the positive class; repeated, one per class.",
        INPUT,
        repeated=True,
    ),
]
Threshold = Annotated[
    "float | None",
    Option(
        None,
        "T",
        "Threshold: predict the positive class where the score is at least this; replaces a column of predictions.",
        INPUT,
        kind=float,
    ),
]
Weight = Annotated["Any", Option(None, "COLUMN", "Column of case weights.", INPUT)]
Group = Annotated[
    "Any", Option(None, "COLUMN", "Column of groups whose rows are not independent, such as patients.", INPUT)
]
Fold = Annotated[
    "Any",
    Option(
        None,
        "COLUMN",
        "Column of folds: which model of a cross-validation made each prediction; none ignores columns that look like "
        "folds.",
        INPUT,
    ),
]
Id = Annotated[
    "Any",
    Option(None, "COLUMN", "Column that names the case, where models of several repetitions predicted it.", INPUT),
]
Slices = Annotated[
    "Any",
    Option(
        None,
        "COLUMN",
        "Column that divides the cases, to see where it fails; may be repeated, all is every other column.",
        INPUT,
        flag="slice",
        repeated=True,
    ),
]
Matrix = Annotated[
    "Any",
    Option(
        None,
        "MATRIX",
        "A confusion matrix instead of rows: a CSV file, or the counts themselves, as in '50 0; 2 48'.",
        INPUT,
    ),
]
MatrixRows = Annotated[
    "str | None",
    Option(
        None,
        "truth|predicted",
        "What the rows of --matrix are; by default the truth, unless the names of its axes say otherwise.",
        INPUT,
    ),
]
MissingRows = Annotated[
    "Missing",
    Option(
        "refuse",
        "|".join(MISSING),
        "What to do with rows that lack a value: refuse them (the default), or drop them and say how many.",
        INPUT,
    ),
]

# The classes, and what errors cost.
Positive = Annotated[
    "Label | None",
    Option(
        None, "CLASS", "The positive class; by default known for usual pairs such as no and yes, or 0 and 1.", INPUT
    ),
]
Labels = Annotated[
    "Sequence[Label] | None",
    Option(
        None,
        "A,B,…",
        "The classes in the order to show them, separated by commas; names the rows of a matrix.",
        INPUT,
    ),
]
CostsOfErrors = Annotated[
    "Any",
    Option(
        None,
        "COSTS",
        "Costs of the errors: a CSV or TOML file, or truth,predicted:cost pairs as in 'yes,no:10; no,yes:1'.",
        INPUT,
    ),
]
CostRows = Annotated["str | None", Option(None, "truth|predicted", "What the rows of a file of costs are.", INPUT)]

Prevalence = Annotated[
    "float | None",
    Option(
        None,
        "SHARE",
        "Share of the positive class where it will be used, if it differs from that of these cases.",
        INPUT,
        kind=float,
    ),
]

# Intervals.
Level = Annotated[
    "float", Option(0.95, "LEVEL", "Level of the intervals, between 0 and 1.", INTERVALS, kind=float, shown=True)
]
IntervalMethod = Annotated[
    "str | None",
    Option(
        None,
        "METHOD",
        "Interval method wherever it applies, such as bootstrap; by default the best for each measure.",
        INTERVALS,
    ),
]
Replicates = Annotated["int", Option(2000, "N", "Bootstrap replicates.", INTERVALS, kind=int, shown=True)]
Seed = Annotated["int", Option(0, "N", "Seed of everything random.", INTERVALS, kind=int, shown=True)]

# The bins of calibration errors.
CalibrationBins = Annotated[
    "int | None",
    Option(
        None,
        "N",
        "Bins of the probability for calibration errors, parts of the Brier score and reliability; 10 by default.",
        OUTPUT,
        kind=int,
    ),
]
CalibrationStrategy = Annotated[
    "str | None",
    Option(
        None,
        "uniform|quantile",
        "Bins of equal width (uniform, the default), or with equally many cases (quantile).",
        OUTPUT,
    ),
]

# What is shown, and which rules look at it.
Measures = Annotated[
    "str | Iterable[str] | None",
    Option(
        "all",
        "MEASURE",
        "Only this measure, such as accuracy, 'macro f1' or 'recall[spam]', or your own as module:name; may be "
        "repeated.",
        OUTPUT,
        flag="measure",
        repeated=True,
    ),
]
Ignore = Annotated[
    "str | Iterable[str]",
    Option(
        (),
        "CODE",
        "Do not check this rule, such as H014; may be repeated. heldout explain lists them.",
        OUTPUT,
        repeated=True,
    ),
]
Limits = Annotated[
    "Any",
    Option(
        None,
        "CODE.NAME=VALUE",
        "Another limit for a rule, such as H014.width=0.1; may be repeated. heldout explain CODE lists them.",
        OUTPUT,
        flag="limit",
        repeated=True,
    ),
]

Ledger = Annotated[
    "Any",
    Option(
        None,
        "FILE",
        "A ledger of how often test sets were used: this use is added, and earlier ones are a finding.",
        OUTPUT,
    ),
]


class EngineArguments(TypedDict, total=False):
    """What counts data that are too large to be held."""

    engine: Annotated[
        "str | None",
        Option(
            None,
            "ENGINE",
            "Engine that reads and counts: memory, stream, polars, duckdb, dask or spark; by default chosen by size.",
            LARGE,
        ),
    ]
    master: Annotated[
        "str | None",
        Option(
            None,
            "URL",
            "Cluster for --engine spark or dask: spark://host:7077, yarn, tcp://host:8786; by default this machine.",
            LARGE,
        ),
    ]
    tolerance: Annotated[
        "float | None",
        Option(
            None,
            "WIDTH",
            "How far areas under curves may be off where scores are counted in bins; by default a twentieth of their "
            "standard error.",
            LARGE,
            kind=float,
        ),
    ]
    passes: Annotated[
        "int",
        Option(
            USUAL_PASSES,
            "N",
            f"How often the scores may be read to reach that tolerance; {USUAL_PASSES} by default.",
            LARGE,
            kind=int,
        ),
    ]
    threads: Annotated[
        "int | None",
        Option(
            None,
            "N",
            "Number of threads that count; by default one per core, or POLARS_MAX_THREADS.",
            LARGE,
            kind=int,
        ),
    ]


class ColumnArguments(TypedDict, total=False):
    """The columns of predictions."""

    truth: Truth
    score: Score
    threshold: Threshold
    weight: Weight
    group: Group
    fold: Fold


class CaseColumnArguments(ColumnArguments, total=False):
    """What counting takes, apart from the engine."""

    slices: Slices
    positive: Positive
    labels: Labels
    missing: MissingRows


class CaseArguments(ColumnArguments, total=False):
    """The columns of predictions or a matrix in their place, and the classes."""

    id: Id
    matrix: Matrix
    rows: MatrixRows
    positive: Positive
    labels: Labels


class IntervalArguments(TypedDict, total=False):
    """How predictions are judged."""

    costs: CostsOfErrors
    cost_rows: CostRows
    level: Level
    method: IntervalMethod
    missing: MissingRows
    seed: Seed
    replicates: Replicates
    slices: Slices


class MeasureArguments(TypedDict, total=False):
    """Which measures are made."""

    measures: Measures


class CalibrationArguments(TypedDict, total=False):
    """How probabilities are put into bins."""

    calibration_bins: CalibrationBins
    calibration_strategy: CalibrationStrategy


class ReviewArguments(TypedDict, total=False):
    """Which rules look at the result, and by which limits."""

    ignore: Ignore
    limits: Limits


class CountArguments(CaseColumnArguments, EngineArguments, total=False):
    """What `count` takes."""


class CheckArguments(CaseArguments, IntervalArguments, CalibrationArguments, EngineArguments, total=False):
    """What `check` takes of what `evaluate` does."""

    limits: Limits
    ledger: Ledger


class EvaluateArguments(
    CaseArguments,
    MeasureArguments,
    IntervalArguments,
    CalibrationArguments,
    ReviewArguments,
    EngineArguments,
    total=False,
):
    """What `evaluate` takes."""

    prevalence: Prevalence
    ledger: Ledger


class RecalibrateArguments(TypedDict, total=False):
    """What `recalibrate` takes of what `evaluate` does, apart from the scores."""

    truth: Truth
    weight: Weight
    group: Group
    fold: Fold
    positive: Positive
    labels: Labels
    missing: MissingRows
    level: Level
    seed: Seed


class DataArguments(TypedDict, total=False):
    """The table that a learner is fitted to."""

    target: Annotated[
        "Any",
        Option(
            None,
            "COLUMN",
            "Column of the class to predict; of ARFF files the last one, otherwise one with a usual name.",
            INPUT,
        ),
    ]
    group: Group
    features: Annotated[
        "Sequence[Any] | None",
        Option(
            None,
            "COLUMN",
            "Learn from these columns only; may be repeated.",
            INPUT,
            flag="feature",
            repeated=True,
        ),
    ]
    drop: Annotated["Any", Option((), "COLUMN", "Leave out this column; may be repeated.", INPUT, repeated=True)]
    labels: Labels
    missing: MissingRows


class StudyArguments(TypedDict, total=False):
    """What is taken as given of a test set that is planned, and what is asked of it."""

    value: Annotated[
        "float | None",
        Option(None, "VALUE", "The expected value of the measure, such as 0.9.", PLANNED, kind=float),
    ]
    width: Annotated[
        "float | None",
        Option(None, "WIDTH", "How wide the interval may be: 0.05 is ± .025.", PLANNED, kind=float),
    ]
    against: Annotated[
        "float | None",
        Option(
            None, "VALUE", "The expected value of another classifier: plan to show the difference.", PLANNED, kind=float
        ),
    ]
    margin: Annotated[
        "float | None",
        Option(None, "SIZE", "Show that the first is not worse by more than this.", PLANNED, kind=float),
    ]
    n: Annotated[
        "int | None",
        Option(
            None,
            "N",
            "Number of cases at hand: say what they would show, instead of how many are needed.",
            PLANNED,
            kind=int,
        ),
    ]
    power: Annotated[
        "float",
        Option(0.8, "POWER", "The chance to pass the gate or to show the difference.", PLANNED, kind=float, shown=True),
    ]
    level: Level
    prevalence: Prevalence
    recall: Annotated[
        "float | None",
        Option(
            None,
            "SHARE",
            "Expected recall, for precision and F1, whose denominators depend on it.",
            ASSUMED,
            kind=float,
        ),
    ]
    precision: Annotated[
        "float | None",
        Option(None, "SHARE", "Expected precision, for F1, in place of the recall.", ASSUMED, kind=float),
    ]
    auc: Annotated[
        "float | None",
        Option(None, "AREA", "Expected area under the ROC curve, for losses and calibration.", ASSUMED, kind=float),
    ]
    discordance: Annotated[
        "float | None",
        Option(None, "SHARE", "Share of cases that exactly one of the two gets right.", ASSUMED, kind=float),
    ]
    correlation: Annotated[
        "float | None",
        Option(None, "R", "Correlation of the two, in place of the discordance and for areas.", ASSUMED, kind=float),
    ]
    group_size: Annotated[
        "float | None", Option(None, "SIZE", "Mean number of cases in a group, such as a patient.", ASSUMED, kind=float)
    ]
    icc: Annotated["float | None", Option(None, "R", "Correlation of cases of one group (ICC).", ASSUMED, kind=float)]
    group_variation: Annotated[
        "float",
        Option(
            0.0,
            "CV",
            "How unequal groups are: standard deviation of their sizes over the mean.",
            ASSUMED,
            kind=float,
            shown=True,
        ),
    ]
    pilot: Annotated[
        "Any",
        Option(
            None,
            "COUNTS",
            "Counts of an earlier study, in place of expected values: 45/50 hits; for areas 30+70 positives and "
            "negatives; for two classifiers 12,5/200 (only A right, only B right, all).",
            ASSUMED,
        ),
    ]
    assurance: Annotated[
        "float | None",
        Option(
            None,
            "SHARE",
            "Probability of reaching the width or the power, instead of on average; 0.8 for a width with a pilot.",
            ASSUMED,
            kind=float,
        ),
    ]


def options_of(arguments: type) -> dict[str, Option]:
    """The options of a group, by name, in the order in which a signature shows them.

    >>> list(options_of(EngineArguments))
    ['engine', 'master', 'tolerance', 'passes', 'threads']
    """
    return {name: declared.__metadata__[0] for name, declared in arguments.__annotations__.items()}


def defaults_of(arguments: type) -> dict[str, Any]:
    """The usual value of every option of a group.

    >>> defaults_of(EngineArguments)
    {'engine': None, 'master': None, 'tolerance': None, 'passes': 3, 'threads': None}
    """
    return {name: option.default for name, option in options_of(arguments).items()}


def takes(arguments: type, *, after: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take a group of options as `**options`: all of them with a value, and shown in its signature.

    They stand last there, or after the parameter that is named. Other libraries' words for them are taken too.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        usual = defaults_of(arguments)
        shown = _signature(function, arguments, after)
        places = len(positional(shown.parameters))

        @wraps(function)
        def call(*given: P.args, **options: P.kwargs) -> R:
            if len(given) > places:
                refuse_too_many(function.__name__, shown.parameters, given)
            named = {**usual, **translate(function.__name__, shown.parameters, given, options)}
            # Everything below asks how many threads there are; nobody passes it on.
            with use_threads(named.pop("threads", None)):
                return function(*given, **named)

        vars(call)["__signature__"] = shown
        # Types of options are looked up here, where they are declared, whatever the module of the function imports.
        declared = {name: ForwardRef(str(shown.parameters[name].annotation), module=__name__) for name in usual}
        own = {name: kind for name, kind in function.__annotations__.items() if name in {*shown.parameters, "return"}}
        call.__annotations__ = {**own, **declared}
        return call

    return decorate


def _signature(function: Callable[..., Any], arguments: type, after: str) -> inspect.Signature:
    """The signature of a function with its options in the place of `**options`."""
    own = inspect.signature(function)
    parameters = [
        parameter for parameter in own.parameters.values() if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=declared.__metadata__[0].default,
            annotation=declared.__origin__.__forward_arg__,
        )
        for name, declared in arguments.__annotations__.items()
    ]
    at = [parameter.name for parameter in parameters].index(after) + 1 if after else len(parameters)
    return own.replace(parameters=[*parameters[:at], *options, *parameters[at:]])
