"""Learners by name: the short names, `package.module:Class(arguments)`, and what cannot learn to classify refused."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from heldout.arguments import listing
from heldout.errors import OptionError, first_line
from heldout.imports import import_name

# The learners that have a short name, declared once: which class each is, with which settings, and why.
#
# Nothing heavy is loaded here, so that a help page can list them.

NominalAs = Literal["one-hot", "binned", "codes"]
# scikit-learn takes seeds of 32 bits.
SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class ShortcutNumber:
    """The one number that a short name may carry, as in knn:5."""

    parameter: str
    meaning: str
    letter: str
    example: int
    most: int
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A short name for a learner; `nominal` says how columns of categories are best given to it.

    `others` are names that other programs have for it, or for what is nearest to it here.
    """

    name: str
    module: str
    class_name: str
    description: str
    number: ShortcutNumber | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    random: bool = False
    scaled: bool = False
    nominal: NominalAs = "one-hot"
    others: tuple[str, ...] = ()

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
            value = self.number.default if written is None else _parse_number(written, self.name, self.number)
            if value is not None:
                settings[self.number.parameter] = value
        if self.random:
            settings["random_state"] = int(seed) % SEEDS
        return getattr(import_module(self.module), self.class_name)(**settings)


def _parse_number(written: str, name: str, number: ShortcutNumber) -> int:
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
        "the K nearest cases vote (5 by default); distances are raw, columns are not scaled",
        number=ShortcutNumber("n_neighbors", "the number of neighbours", "K", 5, 1_000_000, default=5),
        others=("IBk", "kneighbors", "nearest-neighbour", "nearest-neighbor", "k-nn"),
    ),
    Shortcut(
        "naive-bayes",
        "sklearn.naive_bayes",
        "GaussianNB",
        "normal distributions; with nominal columns, numbers go into 10 bins of equal size and all is counted",
        nominal="binned",
        others=("nb", "GaussianNB", "bayes"),
    ),
    Shortcut(
        "weka-naive-bayes",
        "heldout.learners.weka_naive_bayes",
        "WekaNaiveBayes",
        "naive Bayes as Weka makes it: numbers rounded to a precision it finds, Laplace counts, gaps skipped",
        nominal="codes",
    ),
    Shortcut(
        "tree",
        "sklearn.tree",
        "DecisionTreeClassifier",
        "a decision tree, at most DEPTH questions deep (as deep as it goes by default)",
        number=ShortcutNumber("max_depth", "the depth of the tree", "DEPTH", 3, 1_000),
        random=True,
        others=("decision-tree", "J48", "C4.5", "C5.0", "rpart", "CART", "ctree"),
    ),
    Shortcut(
        "forest",
        "sklearn.ensemble",
        "RandomForestClassifier",
        "a random forest of TREES trees (100 by default)",
        number=ShortcutNumber("n_estimators", "the number of trees", "TREES", 500, 100_000, default=100),
        random=True,
        others=("rf", "random-forest", "ranger", "cforest"),
    ),
    Shortcut(
        "logistic",
        "sklearn.linear_model",
        "LogisticRegression",
        "logistic regression on scaled columns, with scikit-learn's penalty (C = 1)",
        settings={"max_iter": 1000},
        scaled=True,
        others=("logreg", "glm", "SimpleLogistic", "lr", "logit", "multinom"),
    ),
    Shortcut(
        "svm",
        "sklearn.svm",
        "SVC",
        "a support vector machine with the Gaussian kernel on scaled columns; its scores are distances",
        scaled=True,
        others=("svc", "svmRadial", "ksvm", "LibSVM"),
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
        others=("SMO", "svmLinear", "LinearSVC", "SGDClassifier"),
    ),
    Shortcut(
        "boosting",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "gradient boosting of small trees on binned columns; takes missing values as they are",
        random=True,
        others=("gbm", "gradient-boosting", "gbdt", "LogitBoost", "AdaBoostM1", "hist-gradient-boosting"),
    ),
    Shortcut(
        "majority",
        "sklearn.dummy",
        "DummyClassifier",
        "always the most frequent class: what any learner must beat",
        settings={"strategy": "prior"},
        others=("ZeroR", "dummy", "baseline", "most-frequent", "null", "prior"),
    ),
    Shortcut(
        "stratified-guess",
        "sklearn.dummy",
        "DummyClassifier",
        "a class drawn at random, each as often as in the training cases",
        settings={"strategy": "stratified"},
        random=True,
        others=("stratified", "random", "chance"),
    ),
    Shortcut(
        "lda",
        "sklearn.discriminant_analysis",
        "LinearDiscriminantAnalysis",
        "linear discriminant analysis: normal distributions with one covariance for all classes",
        others=("LinearDiscriminantAnalysis",),
    ),
)

SHORTCUTS: dict[str, Shortcut] = {shortcut.name: shortcut for shortcut in _DECLARED}

# Learners of packages that are no part of an install: how they are written.
ELSEWHERE = {
    "xgboost": "xgboost:XGBClassifier()", "xgb": "xgboost:XGBClassifier()", "xgbtree": "xgboost:XGBClassifier()",
    "lightgbm": "lightgbm:LGBMClassifier()", "lgbm": "lightgbm:LGBMClassifier()",
    "catboost": "catboost:CatBoostClassifier()", "mlp": "sklearn.neural_network:MLPClassifier()",
    "multilayerperceptron": "sklearn.neural_network:MLPClassifier()", "nnet": "sklearn.neural_network:MLPClassifier()",
    "adaboost": "sklearn.ensemble:AdaBoostClassifier()", "extra_trees": "sklearn.ensemble:ExtraTreesClassifier()",
    "qda": "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis()",
}  # fmt: skip


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold().removesuffix("classifier")


def find_learner_of_others(name: str) -> str | None:
    """How a learner is written here that other programs call so; None where nothing is near.

    >>> find_learner_of_others("RandomForestClassifier"), find_learner_of_others("J48"), find_learner_of_others("XGB")
    ('forest', 'tree', 'xgboost:XGBClassifier()')
    """
    wanted = _fold(name)
    for known in SHORTCUTS.values():
        if wanted in map(_fold, (known.class_name, *known.others)):
            return known.name
    return next((written for other, written in ELSEWHERE.items() if _fold(other) == wanted), None)


# From `package.module:Class(arguments)` to the object it names; arguments are plain values, nothing is evaluated.


_OWN_MODULE = "build the object in a module of your own, my_learner.py, and write 'my_learner:model'."


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name in a module, and the arguments to call it with; `called` says whether there were parentheses."""

    name: str
    called: bool = False
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


def import_learner(text: str, module_name: str, expression: str, *, seed: int = 0) -> Any:
    """The object that a text names; what a call makes gets the seed where it would otherwise draw its own.

    >>> import_learner("sklearn.svm:SVC(C=10)", "sklearn.svm", "SVC(C=10)").C
    10
    """
    named = _parse_expression(text, expression)
    target = import_name(module_name, named.name, f"the learner {text!r}", suggestions=SHORTCUTS)
    is_factory = callable(target) and not hasattr(target, "fit")
    if not named.called and not isinstance(target, type) and not is_factory:
        return target
    learner = _call(text, target, named)
    return _set_seed(learner, seed) if isinstance(target, type) else learner


def _parse_expression(text: str, expression: str) -> ImportedName:
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _malformed(text, f"{getattr(error, 'msg', None) or error}") from None
    if isinstance(tree, ast.Name):
        return ImportedName(tree.id)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise _malformed(text, "after the colon there must be one name, with arguments in parentheses if need be")
    if any(isinstance(node, ast.Starred) for node in tree.args) or any(k.arg is None for k in tree.keywords):
        raise _malformed(text, "arguments cannot be unpacked with * or **")
    args = [_parse_value(node, text) for node in tree.args]
    kwargs = {str(keyword.arg): _parse_value(keyword.value, text) for keyword in tree.keywords}
    return ImportedName(tree.func.id, called=True, args=args, kwargs=kwargs)


def _malformed(text: str, why: str) -> OptionError:
    return OptionError(
        f"The learner {text!r} cannot be read: {why}.",
        hint="write package.module:Class(name=value), such as 'sklearn.svm:SVC(C=10)'.",
    )


def _parse_value(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise OptionError(
            f"The learner {text!r} has an argument that is not a plain value: {ast.unparse(node)[:60]}.",
            hint=f"use numbers, quoted text, True, False, None and lists of these, or {_OWN_MODULE}",
        ) from None


def _call(text: str, target: Any, named: ImportedName) -> Any:
    if not callable(target):
        raise OptionError(
            f"In the learner {text!r}, {named.name} is of type {type(target).__name__} and cannot be called.",
            hint="leave out the parentheses.",
        )
    try:
        return target(*named.args, **named.kwargs)
    except TypeError as error:
        raise OptionError(
            f"The arguments of the learner {text!r} do not fit: {str(error).partition(chr(10))[0].rstrip('.')}.",
            hint=_list_arguments(target, named.name),
        ) from error
    except Exception as error:
        raise OptionError(
            f"The learner {text!r} cannot be made: {first_line(error)}.",
            hint="check its arguments.",
        ) from error


def _list_arguments(target: Any, name: str) -> str:
    import inspect

    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return f"look up the arguments of {name}."
    return f"{name} takes: {listing(parameters) or 'no arguments'}."


def _set_seed(learner: Any, seed: int) -> Any:
    """Give the seed to a random learner that has none, so that the same command gives the same figures."""
    try:
        if learner.get_params(deep=False).get("random_state", seed) is None:
            learner.set_params(random_state=int(seed) % SEEDS)
    except Exception:  # noqa: BLE001 - an object with other ways keeps them
        return learner
    return learner


_KINDS = {
    "regressor": (
        "predicts numbers, not classes: it is a regressor",
        "use the classifier of that family (LogisticRegression for LinearRegression, SVC for SVR).",
    ),
    "clusterer": (
        "groups cases without knowing their classes: it is a clusterer",
        "use a classifier, such as 'knn' or 'forest'.",
    ),
    "outlier_detector": (
        "marks unusual cases without knowing their classes: it is an outlier detector",
        "use a classifier, such as 'forest'.",
    ),
}


def check_learner(candidate: Any, called: str) -> None:
    """Refuse anything that cannot be fitted to classes and then predict them; `called` is how the error names it.

    >>> check_learner(print, "print")
    Traceback (most recent call last):
    heldout.errors.OptionError: print has no fit, so nothing can be learned with it.
    Hint: pass an object with fit and predict, or a name such as 'knn' or 'forest'.
    """
    if isinstance(candidate, type):
        raise OptionError(
            f"{called} is a class, not an object of it.",
            hint=f"add parentheses: {candidate.__name__}().",
        )
    if not callable(getattr(candidate, "fit", None)):
        raise OptionError(
            f"{called} has no fit, so nothing can be learned with it.",
            hint=_suggest_learner(candidate),
        )
    kind = _read_kind(candidate)
    if kind in _KINDS:
        what, instead = _KINDS[kind]
        raise OptionError(f"{called} {what}.", hint=instead)
    # Some say what they are before they can predict: a stack hides predict until its last learner is fitted.
    if kind != "classifier" and not callable(getattr(candidate, "predict", None)):
        transforms = hasattr(candidate, "transform")
        raise OptionError(
            f"{called} has no predict{', only transform' if transforms else ''}, so it gives no classes.",
            hint="put it in a pipeline before a classifier: make_pipeline(it, LogisticRegression())."
            if transforms
            else "pass a classifier, an object with fit and predict.",
        )


def _suggest_learner(candidate: Any) -> str:
    if isinstance(candidate, list | tuple):
        return "pass one learner; compare several by calling once for each."
    if hasattr(candidate, "predict"):
        return "a fitted model cannot be judged on new splits: pass a learner that can be fitted again."
    return "pass an object with fit and predict, or a name such as 'knn' or 'forest'."


def _read_kind(candidate: Any) -> str:
    from sklearn.utils import get_tags

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(get_tags(candidate).estimator_type or "")
    except Exception:  # noqa: BLE001 - an object without tags may still say what it is
        return str(getattr(candidate, "_estimator_type", ""))


def find_shortcut(candidate: Any) -> str | None:
    """The short name of the learner that has the same class, if one has."""
    name = type(candidate).__name__
    return next((known.name for known in SHORTCUTS.values() if known.class_name == name), None)
