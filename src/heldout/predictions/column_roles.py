"""Which column has which role, guessed from usual names, and which columns look like groups."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from heldout.arguments import SPELLED_EXACTLY, listing, suggest
from heldout.errors import ColumnError, HeldoutError
from heldout.predictions.case_values import groups
from heldout.predictions.label_encoding import Coded

USUAL_NAMES = {
    "truth": (
        "y_true",
        "truth",
        "label",
        "labels",
        "target",
        "actual",
        "class",
        "true",
        "true_label",
        "true_class",
        "actual_label",
        "actual_class",
        "gold",
        "ground_truth",
        "expected",
        "y_test",
        "y",
        "obs",
        "observed",
        "reference",
    ),
    "predicted": (
        "y_pred",
        "y_predicted",
        "predicted",
        "prediction",
        "predictions",
        "pred",
        "preds",
        "pred_label",
        "pred_class",
        "predicted_label",
        "predicted_class",
        "y_hat",
        "yhat",
        "predict",
    ),
    # A column of weights or of groups changes every interval, so it is suggested and never used unasked.
    "weight": ("weight", "weights", "sample_weight", "sample_weights"),
    "fold": ("fold", "folds", "fold_id", "fold_no", "fold_number", "cv_fold", "kfold", "k_fold"),
}
# Columns that name the cases of predictions which come in folds, and are used for that unasked.
CASE_NAMES = ("id", "row")
# What is used only where a person says so, beside weights.
SUGGESTED_NAMES = {"group": ("group", "groups"), "id": (*CASE_NAMES, "row_id", "case", "case_id")}
# Whole numbers, each in one row, under such a name count the cases.
NUMBERING = (*CASE_NAMES, "index", "rownumber", "row_number", "unnamed: 0", "column_1")
# The value of a role for which no column is to be guessed.
NO_COLUMN = "none"


def guess(
    role: str, columns: Sequence[Any], source: str, *, from_file: bool = True, free: Sequence[Any] | None = None
) -> Any:
    """The one column whose name is usual for a role, among those that are `free` for it.

    >>> guess("truth", ["id", "Y_True", "pred"], "churn.csv")
    'Y_True'
    """
    candidates = [column for column in (columns if free is None else free) if is_usual(role, column)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        shown = shlex.quote(str(candidates[0]))
        raise ColumnError(
            f"{begin_sentence(source)} has several columns that may be {role}: {listing(candidates)}.",
            hint=f"choose one, for example --{role} {shown}."
            if from_file
            else f"choose one: {role}={candidates[0]!r}.",
        )
    usual = listing(USUAL_NAMES[role][:3])
    raise ColumnError(
        f"{begin_sentence(source)} has no column with a usual name for {role}, such as {usual}. It has: "
        f"{listing(columns)}.",
        hint=f"say which one it is with --{role} COLUMN; the first line of a text file must name the columns."
        if from_file
        else f"say which one it is with {role}=.",
    )


def is_usual(role: str, column: Any) -> bool:
    """Whether a column's name is usual for a role."""
    return _folded(column) in USUAL_NAMES[role]


def suggest_columns(columns: Sequence[Any]) -> dict[str, Any]:
    """The one column for each role that is used only where a person says so, None where there is none or several.

    >>> suggest_columns(["case", "sample_weight", "y_true"])
    {'weight': 'sample_weight', 'group': None, 'id': 'case'}
    """
    known = {"weight": USUAL_NAMES["weight"], **SUGGESTED_NAMES}
    usual_columns = {role: [column for column in columns if _folded(column) in usual] for role, usual in known.items()}
    return {role: named[0] if len(named) == 1 else None for role, named in usual_columns.items()}


def is_no_column(given: Any) -> bool:
    """Whether a role is to have no column, not even one with a usual name.

    >>> is_no_column("none"), is_no_column("fold"), is_no_column(None)
    (True, False, False)
    """
    return isinstance(given, str) and given == NO_COLUMN


def check_apart(wanted: Mapping[str, Any], source: str) -> None:
    """Refuse one column as the truth and the prediction, or as one of these and something else."""
    if wanted.get("truth") is not None and wanted["truth"] == wanted.get("predicted"):
        raise ColumnError(
            f"Truth and prediction are the same column of {source}: {wanted['truth']!r}.",
            hint="choose two columns: --truth and --predicted (in Python truth= and predicted=).",
        )
    for role in ("weight", "group", "fold", "id"):
        other = next(
            (one for one in ("truth", "predicted") if role in wanted and wanted.get(one) == wanted[role]), None
        )
        if other is not None:
            raise ColumnError(
                f"{role} and {other} are the same column of {source}: {wanted[role]!r}.",
                hint=f"name another column with --{role} (in Python {role}=), or leave it out.",
            )


def check_column(name: Any, columns: Sequence[Any], source: str) -> Any:
    """The column of that name, which must exist.

    >>> check_column("y", ["id", "y"], "churn.csv")
    'y'
    """
    if name in columns:
        return name
    raise ColumnError(
        f"{begin_sentence(source)} has no column {name!r}. It has: {listing(columns)}.",
        hint=suggest(name, columns, SPELLED_EXACTLY),
    )


def parts_of(name: str, columns: Sequence[Any]) -> list[str]:
    """The columns name_0, name_1, … that an array of several was made into; none where there is a column of that name.

    >>> parts_of("p", ["p_0", "p_1", "q"]), parts_of("q", ["p_0", "p_1", "q"])
    (['p_0', 'p_1'], [])
    """
    parts = [f"{name}_{index}" for index in range(len(columns))]
    number = next((index for index, part in enumerate(parts) if part not in columns), len(parts))
    return parts[:number] if number > 1 and name not in columns else []


def uses(role: str, column: Any) -> tuple[str, str]:
    """What would use a column for a role, on the command line and in Python."""
    return f"--{role} {column} would use it", f"{role}={column!r} would use it"


def _folded(column: Any) -> str:
    return re.sub(r"[\s._-]+", "_", str(column).strip().casefold()).strip("_")


def begin_sentence(source: str) -> str:
    """The source at the beginning of a sentence; the name of a file keeps its own case."""
    return f"T{source[1:]}" if source.startswith("the ") else source


# What several rows are often taken from: rows of one of these are not independent of each other. The only such list.
WORDS = (
    "patient", "subject", "participant", "person", "donor", "user", "customer", "client", "account", "member",
    "student", "household", "family", "group", "cluster", "session", "visit", "batch", "speaker", "author", "site",
    "station", "plot", "center", "centre", "hospital", "clinic", "ward", "school", "device", "sensor", "machine",
    "animal", "video", "document",
)  # fmt: skip
# The endings by which such a word becomes the name of a key, as in patient_id.
KEYS = ("id", "ids", "no", "nr", "num", "number", "name", "key", "code")
_LIKE = re.compile(rf"^(?:.*_)?(?:{'|'.join(WORDS)})s?(?:_(?:{'|'.join(KEYS)}))?$|^(?:.*_)?id$")


def may_be_group(column: Any) -> bool:
    """Whether a column might say which rows belong together.

    >>> [may_be_group(name) for name in ("Patient ID", "customer", "user_id", "humid", "score")]
    [True, True, True, False, False]
    """
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(column).strip())
    return _LIKE.match(re.sub(r"[\s._-]+", "_", text).casefold()) is not None


def is_unit(name: str) -> bool:
    """Whether a name is that of a unit that may be measured more than once, and of nothing else about it.

    >>> [is_unit(name) for name in ("patient_id", "SubjectID", "group", "group size", "petal width", "id")]
    [True, True, True, False, False, False]
    """
    words = words_of(name)
    units = [word for word in words if word in WORDS or word.removesuffix("s") in WORDS]
    return bool(units) and all(word in KEYS or word in units for word in words)


def words_of(name: str) -> list[str]:
    """The words that the name of a column is made of.

    >>> words_of("SubjectID_2")
    ['subject', 'id']
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.casefold() for word in re.split(r"[\W_\d]+", spaced) if word]


def group_like(names: Iterable[Any], values: Callable[[Any], Any]) -> tuple[tuple[str, int, int], ...]:
    """The columns among `names` that may hold groups: name, distinct values and rows, where values repeat.

    >>> group_like(["patient", "age"], {"patient": ["a", "a", "b"], "age": [31, 31, 64]}.get)
    (('patient', 2, 3),)
    """
    candidates = []
    for name in names:
        if may_be_group(name):
            distinct, rows = _distinct(values(name))
            if 1 < distinct < rows:
                candidates.append((str(name), distinct, rows))
    return tuple(candidates)


def repeated_values(names: Iterable[Any], values: Callable[[Any], Any], most: int) -> tuple[tuple[str, Coded], ...]:
    """The columns among `names` of at most so many rows whose values are keys and repeat: no amounts with fractions.

    >>> import numpy as np
    >>> [name for name, _ in repeated_values(["a", "b"], {"a": ["x", "x", "y"], "b": np.array([0.5, 0.5, 1])}.get, 10)]
    ['a']
    """
    repeated = []
    for name in names:
        try:
            column = values(name)
            if len(column) > most:
                return ()
            coded = groups(column, str(name))
        except (HeldoutError, TypeError, ValueError):
            # What cannot be read as keys is no column of groups.
            continue
        fractions = any(isinstance(label, float) and not label.is_integer() for label in coded.labels[:LOOKED])
        if not fractions and 1 < len(coded.labels) < len(coded):
            repeated.append((str(name), coded))
    return tuple(repeated)


# Amounts show among the first of their values that they have fractions.
LOOKED = 100


def _distinct(column: Any) -> tuple[int, int]:
    """How many different values there are, and in how many rows; missing ones count in neither."""
    import narwhals.stable.v2 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype not in (nw.Object, nw.Unknown):
        absent = int(series.null_count())
        return series.n_unique() - bool(absent), len(series) - absent
    try:
        coded = groups(column)
    except (HeldoutError, TypeError, ValueError):
        # What cannot be read as keys is no column of groups.
        return 0, 0
    present = coded.taken(~coded.is_missing) if coded.missing else coded
    return len(present.met()), len(present)


def describe_columns(columns: Sequence[tuple[str, str]], guessed: Sequence[str] = (), more: str = "") -> str:
    """Which columns were read, and which of them were guessed; what is called as its role is named once.

    >>> describe_columns([("truth", "truth"), ("score", "p")], ["score"])
    'truth, score = p (score guessed from the column names)'
    >>> describe_columns([("truth", "truth"), ("score", "p")], ["truth", "score"], "; --score to change")
    'truth, score = p (guessed from the column names; --score to change)'
    """
    read = ", ".join(role if role == column else f"{role} = {column}" for role, column in columns)
    if not read or not guessed:
        return read
    which = "" if len(guessed) == len(columns) else f"{listing(guessed)} "
    return f"{read} ({which}guessed from the column names{more})"
