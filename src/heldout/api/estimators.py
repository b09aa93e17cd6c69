"""scikit-learn's doors: a fitted estimator evaluated, a scorer for its searches, and what its searches gave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.api.fitted_model import is_model, predict_cases
from heldout.api.options import EvaluateArguments, defaults_of
from heldout.arguments import Label, check_whole
from heldout.arrays import Floats
from heldout.comparisons.split_results import SCORES_OF_TESTS, is_cross_validated, is_cross_validation
from heldout.errors import OptionError, ValuesError
from heldout.measures.catalogue import name_measures, read_quantity
from heldout.measures.declare import Measure
from heldout.results.evaluation import Evaluation
from heldout.synonyms import takes_synonyms

SPLIT_COLUMN = re.compile(r"split(\d+)_test_(.+)")


def from_estimator(estimator: Any, X: Any, y: Any, **options: Any) -> Evaluation:
    """Evaluate a fitted classifier on cases that it has not seen: `evaluate(estimator, X, y)` by another name.

    Its probabilities, or its decision values, are the scores.

    Parameters
    ----------
    estimator : fitted classifier
        A fitted classifier with scikit-learn's methods, also a pipeline or a search.
    X : array or data frame
        The features of the cases, as its `predict` takes them.
    y : array
        The true classes.
    **options : options of evaluate
        What `evaluate` takes, such as `positive`, `weight`, `group` or `measures`.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> print(from_estimator(GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])["accuracy"])
    accuracy .960 [.889 – .986] (0.95 wilson, n = 75)

    """
    if not is_model(estimator):
        raise OptionError(
            f"A {type(estimator).__name__} has no predict, so it is no classifier.",
            hint="pass a fitted classifier with predict, such as LogisticRegression().fit(X, y).",
        )
    return evaluate(estimator, X, y, **options)


class Scorer:
    """A measure as scikit-learn's searches call it: `scorer(estimator, X, y)`, higher is better; made by `scorer`."""

    def __init__(self, measure: str | Measure, options: Mapping[str, Any]) -> None:
        measure = str(name_measures(measure))
        quantity = read_quantity(measure.partition("[")[0])
        direction = quantity.bound.measure.direction
        if direction == "none":
            raise OptionError(
                f"Neither more nor less of {quantity.bound.name} is better, so nothing can be chosen by it.",
                hint="name a measure with a direction, such as recall or brier.",
            )
        self.measure, self.options = measure, dict(options)
        self._direction = direction
        of_scores = quantity.is_score or "score" in quantity.bound.measure.cells
        self._scored = of_scores or options.get("threshold") is not None
        self._request: Any = None

    @property
    def _response_method(self) -> str | tuple[str, str]:
        return ("predict_proba", "decision_function") if self._scored else "predict"

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        """The value on these cases, with its sign turned where lower is better; nan where it is undefined."""
        options = {**self.options, **({} if sample_weight is None else {"weight": sample_weight})}
        settled = {**defaults_of(EvaluateArguments), **options, "measures": []}
        predicted, more = predict_cases(estimator, X, y_true, settled, scored=self._scored)
        evaluation = evaluate(None, predicted, **more)
        # Searches ask again and again, so no interval is made.
        value = evaluation.value(self.measure)
        return {"higher": value, "lower": -value, "zero": -abs(value)}[self._direction]

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"heldout.scorer({self.measure!r}{shown})"

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Scorer:
        """Say whether weights are wanted, or by which name, where scikit-learn routes metadata."""
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            raise OptionError(
                "Metadata routing is not enabled in scikit-learn, so nothing can be requested.",
                hint="call sklearn.set_config(enable_metadata_routing=True) first.",
            )
        self._request = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """What scikit-learn asks for to know which metadata to pass."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def _accept_sample_weight(self) -> bool:
        """What scikit-learn asks where metadata are not routed."""
        return True


@takes_synonyms
def scorer(
    measure: str | Measure, *, positive: Label | None = None, threshold: float | None = None, costs: Any = None
) -> Scorer:
    """A scorer for scikit-learn's `cross_validate`, `GridSearchCV` and all that take `scoring=`.

    Higher is better, as scikit-learn requires: losses, errors and costs have their sign reversed.

    Parameters
    ----------
    measure : str or measure
        A measure by its name, such as "recall", "macro f1", "recall[spam]", "roc_auc" or "brier"; or one of your own.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    threshold : float, optional
        The probability from which a case is called positive, instead of the answer of `predict`.
    costs : costs, optional
        The costs of the errors, for "expected_cost".

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = cross_validate(GaussianNB(), X, y, cv=3, scoring={"recall": scorer("recall", positive=0)})
    >>> [round(float(value), 3) for value in found["test_recall"]]
    [0.845, 0.873, 0.943]

    """
    given = {"positive": positive, "threshold": threshold, "costs": costs}
    return Scorer(measure, {name: value for name, value in given.items() if value is not None})


@takes_synonyms
def from_cv_results(results: Any, *, top: int | None = None) -> dict[str, dict[str, Any]]:
    """The results of single splits by learner, as `compare` takes them, from what scikit-learn gave.

    Compare them by the corrected resampled t: `compare(from_cv_results(search), test_share=0.2)` for 5 folds.

    Parameters
    ----------
    results : dict, data frame or search
        `cv_results_` of a search, also as a data frame, or the search itself; what `cross_validate` gave, or a
        dictionary of that by learner. Of a search that halves, the candidates of its last round.
    top : int, optional
        Keep only this many candidates with the best mean, by the first scorer.

    >>> found = from_cv_results({"params": [{"C": 1, "k": 2}, {"C": 9, "k": 2}],
    ...                          "split0_test_score": [0.8, 0.9], "split1_test_score": [0.7, 0.6]})
    >>> {name: list(map(float, scores["test_score"])) for name, scores in found.items()}
    {'C=1': [0.8, 0.7], 'C=9': [0.9, 0.6]}

    """
    results_table = getattr(results, "cv_results_", results)
    if is_cross_validation(results_table):
        return {"learner": dict(results_table)}
    if is_cross_validated(results_table):
        return {str(name): dict(scores) for name, scores in results_table.items()}
    is_table = isinstance(results_table, Mapping) or hasattr(results_table, "columns")
    columns: dict[str, Any] = {str(name): results_table[name] for name in results_table} if is_table else {}
    splits: dict[str, dict[int, Any]] = {}
    for name, values in columns.items():
        match = SPLIT_COLUMN.fullmatch(name)
        if match is not None:
            splits.setdefault(match[2], {})[int(match[1])] = _read_numbers(name, values)
    if not splits or "params" not in columns:
        raise OptionError(
            "These are no results of scikit-learn's searches: there is no params or split0_test_score.",
            hint="pass search.cv_results_, or what cross_validate returned.",
        )
    candidates = list(columns["params"])
    _check_splits(splits, len(candidates))
    # Searches that halve try the same candidate on more and more cases: those of the last round can be compared.
    rounds = np.asarray(columns.get("iter", np.zeros(len(candidates))))
    last = np.flatnonzero(rounds == rounds.max(initial=0))
    names = _name_candidates([candidates[at] for at in last])
    tables = {name: np.stack([of[split] for split in sorted(of)])[:, last] for name, of in splits.items()}
    order = range(len(names))
    if top is not None:
        means = next(iter(tables.values())).mean(axis=0)
        # Where a split failed there is no mean, and such a candidate is none of the best.
        order = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")[: check_whole("top", top, 1)]  # type: ignore[assignment]
    return {names[at]: {f"{SCORES_OF_TESTS}{name}": table[:, at] for name, table in tables.items()} for at in order}


def _read_numbers(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(f"{name} does not hold numbers.", hint="pass search.cv_results_ as it is.") from None


def _check_splits(splits: Mapping[str, Mapping[int, Floats]], candidates: int) -> None:
    """Refuse scorers with other splits than the first, splits that are not there, and other numbers of candidates."""
    expected = range(max(split for of in splits.values() for split in of) + 1)
    for name, of in splits.items():
        for split in expected:
            values = of.get(split)
            if values is None or values.shape != (candidates,):
                there = "is not there" if values is None else f"has {values.size} results of {candidates} candidates"
                raise OptionError(
                    f"split{split}_test_{name} {there}.", hint="pass search.cv_results_ whole, without leaving out any."
                )


def _name_candidates(candidates: Sequence[Any]) -> list[str]:
    """Each candidate by the parameters in which they differ; in words as short as tell them apart."""
    if not all(isinstance(each, Mapping) for each in candidates):
        # As a file has them, they are texts.
        candidates = [{"": str(each)} for each in candidates]
    names = list(dict.fromkeys(name for each in candidates for name in each))
    texts = {name: [str(each[name]) if name in each else "" for each in candidates] for name in names}
    differing = [name for name in names if len(set(texts[name])) > 1] or names
    # The step of a pipeline is left out where the parameter tells enough: C for logisticregression__C.
    bare = [name.rpartition("__")[2] for name in differing]
    shown = dict(zip(differing, bare if len(set(bare)) == len(bare) else differing, strict=True))
    written = [
        ", ".join(f"{shown[name]}={texts[name][at]}".removeprefix("=") for name in differing if name in each)
        or f"candidate {at + 1}"
        for at, each in enumerate(candidates)
    ]
    # Two candidates may be the same, or read alike.
    return [
        text if written.count(text) == 1 else f"{text} ({written[: at + 1].count(text)})"
        for at, text in enumerate(written)
    ]
