"""Learners by name: the short names, `package.module:Class(arguments)`, and what cannot learn to classify refused."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from heldout.arguments import SPELLED_EXACTLY, closest, listing, suggest
from heldout.errors import OptionError, first_line

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
    """A short name for a learner; `nominal` says how columns of categories are best given to it."""

    name: str
    module: str
    class_name: str
    description: str
    number: ShortcutNumber | None = None
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
        "the K nearest cases vote (5 unless said otherwise); distances are raw, columns are not scaled",
        number=ShortcutNumber("n_neighbors", "the number of neighbours", "K", 5, 1_000_000, default=5),
    ),
    Shortcut(
        "naive-bayes",
        "sklearn.naive_bayes",
        "GaussianNB",
        "normal distributions; with nominal columns, numbers go into 10 bins of equal size and all is counted",
        nominal="binned",
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
        "a decision tree, at most DEPTH questions deep (as deep as it goes unless said otherwise)",
        number=ShortcutNumber("max_depth", "the depth of the tree", "DEPTH", 3, 1_000),
        random=True,
    ),
    Shortcut(
        "forest",
        "sklearn.ensemble",
        "RandomForestClassifier",
        "a random forest of TREES trees (100 unless said otherwise)",
        number=ShortcutNumber("n_estimators", "the number of trees", "TREES", 500, 100_000, default=100),
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
    module = _import_module(text, module_name)
    if not hasattr(module, named.name):
        raise _no_such_name(module, named.name)
    target = getattr(module, named.name)
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


class FolderModules:
    """Finds modules of one folder by the names that a learner gave, and what these import from the folder themselves.

    The folder is never on `sys.path`, where a file that happens to lie there, such as lz4.py, would be found by
    whichever library tries to import an optional package of that name.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of that name in the folder; asked only after every other finder."""
        if path is not None or not (fullname in self.names or _find_importer() in self.names):
            return None
        spec = PathFinder.find_spec(fullname, [self.folder], target)
        if spec is not None:
            self.names.add(fullname)
        return spec

    def __reduce__(self) -> tuple[Any, ...]:
        # What is sent to a worker process before a learner lets the worker find the learner's module.
        return allow_folder_modules, (self.folder, sorted(self.names))


def allow_folder_modules(folder: str, names: Sequence[str]) -> FolderModules:
    """Let the modules of those names be imported from a folder, for as long as this process lives."""
    finder = next((one for one in folder_modules() if one.folder == folder), None)
    if finder is None:
        finder = FolderModules(folder)
        sys.meta_path.append(finder)
    finder.names.update(names)
    return finder


def folder_modules() -> list[FolderModules]:
    """The folders whose modules learners have named; sent to worker processes before the learners."""
    return [finder for finder in sys.meta_path if isinstance(finder, FolderModules)]


def _find_importer() -> str:
    """The top-level package of the code that an import statement stands in."""
    frame = sys._getframe(2)  # noqa: SLF001 - the only way to ask who imports
    machinery = ("importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport")
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in machinery:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        # A module without a spec, such as __main__, is there.
        return name in sys.modules


def _import_module(text: str, name: str) -> ModuleType:
    importlib.invalidate_caches()
    top, here = name.partition(".")[0], str(Path.cwd())
    if not _is_installed(top) and PathFinder.find_spec(top, [here]) is not None:
        allow_folder_modules(here, [top])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(text, error.name) from None
        raise _broken_module(name, error) from error
    except (Exception, SystemExit) as error:  # whatever a person's module raises
        raise _broken_module(name, error) from error


def _no_module(text: str, missing: str) -> OptionError:
    parent, _, last = missing.rpartition(".")
    beside = [
        f"{parent}.{module.name}" for module in pkgutil.iter_modules(getattr(sys.modules.get(parent), "__path__", []))
    ]
    if not parent and (near := closest(missing, SHORTCUTS)) is not None:
        hint = f"did you mean the learner {near!r}?"
    elif hasattr(sys.modules.get(parent), last):
        hint = f"{missing} is no module but a name in one: write '{parent}:{last}()'."
    elif (near := closest(missing, beside)) is not None:
        hint = f"did you mean {near!r}?"
    elif parent:
        hint = f"{parent} has these modules: {listing(beside) or 'none'}."
    else:
        hint = f"install {missing}, or run from the folder that holds {missing}.py."
    return OptionError(f"There is no module {missing!r}, which the learner {text!r} names.", hint=hint)


def _broken_module(name: str, error: BaseException) -> OptionError:
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" ({os.path.basename(error.filename)}, line {error.lineno})"  # noqa: PTH119 - not always a path
        message = f"SyntaxError: {error.msg}"
    else:
        message = first_line(error)
        # The last line of the module itself: where it went wrong, or where it called what went wrong.
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if _belongs(frame.filename, name)]
        if own:
            where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})"
    return OptionError(
        f"The module {name!r} cannot be imported: {message}{where}.",
        hint=f"mend it so that `python -c 'import {name}'` runs, then try again.",
    )


def _belongs(file: str, module: str) -> bool:
    """Whether a file is that of a module, or of one of the packages it is in."""
    parts = Path(file).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    names = module.split(".")
    return any(list(parts[-length:]) == names[:length] for length in range(1, len(names) + 1))


def _no_such_name(module: ModuleType, name: str) -> OptionError:
    names = [known for known in dir(module) if not known.startswith("_")]
    classes = [known for known in names if isinstance(getattr(module, known, None), type)]
    return OptionError(
        f"The module {module.__name__!r} has no {name!r}. It has: {listing(classes or names) or 'nothing'}.",
        hint=suggest(name, names, SPELLED_EXACTLY),
    )


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
