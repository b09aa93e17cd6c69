"""The learners that have a short name, declared once: which class each is, with which settings, and why.

Nothing heavy is loaded here, so that a help page can list them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from heldout.errors import OptionError

NominalAs = Literal["one-hot", "binned"]
# scikit-learn takes seeds of 32 bits.
SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class Number:
    """The one number that a short name may carry, as in knn:5."""

    parameter: str
    meaning: str
    letter: str
    example: int
    most: int
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A short name for a learner; `nominal` says how columns of categories are best given to it."""

    name: str
    module: str
    class_name: str
    description: str
    number: Number | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    random: bool = False
    scaled: bool = False
    nominal: NominalAs = "one-hot"

    @property
    def usage(self) -> str:
        """How it is written, the part in brackets being optional.

        >>> SHORTCUTS["knn"].usage, SHORTCUTS["lda"].usage
        ('knn[:K]', 'lda')
        """
        return self.name if self.number is None else f"{self.name}[:{self.number.letter}]"

    def build(self, written: str | None = None, *, seed: int = 0) -> Any:
        """The unfitted estimator; `written` is what stands behind the colon.

        >>> SHORTCUTS["knn"].build("3")
        KNeighborsClassifier(n_neighbors=3)
        """
        settings = dict(self.settings)
        if written is not None and self.number is None:
            raise OptionError(
                f"The learner {self.name!r} takes no number. Got '{self.name}:{written}'.",
                hint=f"write {self.name!r}, or name the class with its settings: '{self.module}:{self.class_name}()'.",
            )
        if self.number is not None:
            value = self.number.default if written is None else _whole(written, self.name, self.number)
            if value is not None:
                settings[self.number.parameter] = value
        if self.random:
            settings["random_state"] = int(seed) % SEEDS
        return getattr(import_module(self.module), self.class_name)(**settings)


def _whole(written: str, name: str, number: Number) -> int:
    text = written.strip()
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    if not 1 <= value <= number.most:
        raise OptionError(
            f"The learner {name!r} takes {number.meaning}, a whole number from 1 to {number.most:,}. Got {text!r}.",
            hint=f"write '{name}:{number.example}', say, or {name!r} alone.",
        )
    return value


_DECLARED = (
    Shortcut(
        "knn",
        "sklearn.neighbors",
        "KNeighborsClassifier",
        "the K nearest cases vote (5 unless said otherwise); distances are raw, columns are not scaled",
        number=Number("n_neighbors", "the number of neighbours", "K", 5, 1_000_000, default=5),
    ),
    Shortcut(
        "naive-bayes",
        "sklearn.naive_bayes",
        "GaussianNB",
        "normal distributions; with nominal columns, numbers go into 10 bins of equal size and all is counted",
        nominal="binned",
    ),
    Shortcut(
        "tree",
        "sklearn.tree",
        "DecisionTreeClassifier",
        "a decision tree, at most DEPTH questions deep (as deep as it goes unless said otherwise)",
        number=Number("max_depth", "the depth of the tree", "DEPTH", 3, 1_000),
        random=True,
    ),
    Shortcut(
        "forest",
        "sklearn.ensemble",
        "RandomForestClassifier",
        "a random forest of TREES trees (100 unless said otherwise)",
        number=Number("n_estimators", "the number of trees", "TREES", 500, 100_000, default=100),
        random=True,
    ),
    Shortcut(
        "logistic",
        "sklearn.linear_model",
        "LogisticRegression",
        "logistic regression on scaled columns, with scikit-learn's penalty (C = 1)",
        settings={"max_iter": 1000},
        scaled=True,
    ),
    Shortcut(
        "svm",
        "sklearn.svm",
        "SVC",
        "a support vector machine with the Gaussian kernel on scaled columns; its scores are distances",
        scaled=True,
    ),
    Shortcut(
        "linear-svm",
        "sklearn.svm",
        "LinearSVC",
        "a linear support vector machine on scaled columns; its scores are distances",
        # 1,000 steps, the default, are too few for some small tables; most need far fewer than either.
        settings={"max_iter": 10_000},
        random=True,
        scaled=True,
    ),
    Shortcut(
        "boosting",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "gradient boosting of small trees on binned columns; takes missing values as they are",
        random=True,
    ),
    Shortcut(
        "majority",
        "sklearn.dummy",
        "DummyClassifier",
        "always the most frequent class: what any learner must beat",
        settings={"strategy": "prior"},
    ),
    Shortcut(
        "stratified-guess",
        "sklearn.dummy",
        "DummyClassifier",
        "a class drawn at random, each as often as in the training cases",
        settings={"strategy": "stratified"},
        random=True,
    ),
    Shortcut(
        "lda",
        "sklearn.discriminant_analysis",
        "LinearDiscriminantAnalysis",
        "linear discriminant analysis: normal distributions with one covariance for all classes",
    ),
)

SHORTCUTS: dict[str, Shortcut] = {shortcut.name: shortcut for shortcut in _DECLARED}
