"""The words of other libraries for our arguments, declared once: functions take them as keywords, commands as flags.

scikit-learn's `y_true` is our `truth`, its `cv` our `plan`, PyCM's `actual_vector` our `truth`, and so on. A word that
has no argument of its own here, such as `average` or `alpha`, is answered with how the same is said.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from heldout.arguments import closest, listing
from heldout.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")

# Our word, and those that others have for it. The same word may stand for two of ours: a function takes one of them.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "truth": (
        "y_true", "y_test", "y", "actual", "actuals", "actual_vector", "target", "targets", "reference", "references",
        "response", "obs", "observed", "ground_truth", "true_labels", "label_ids",
    ),
    "predicted": (
        "y_pred", "y_hat", "pred", "preds", "prediction", "predictions", "predict", "predict_vector", "estimate",
        "predicted_labels", "X",
    ),
    "score": (
        "y_score", "y_scores", "y_prob", "y_probs", "y_proba", "y_pred_proba", "probas_pred", "proba", "probas", "prob",
        "probs", "probability", "probabilities", "scores", "predictor", "pred_proba", "predictions_proba",
    ),
    "weight": ("sample_weight", "sample_weights", "weights", "case_weights", "w"),
    "positive": ("pos_label", "positive_class", "positive_label", "pos_class", "positive_label_name"),
    "group": ("groups", "cluster", "clusters", "group_ids"),
    "fold": ("test_fold", "fold_ids"),
    "id": ("ids", "case_id", "index"),
    "labels": ("classes", "class_names", "target_names", "label_list", "levels", "display_labels"),
    "slices": ("slice", "sensitive_features", "by_columns", "slice_by"),
    "matrix": ("confusion_matrix", "cm", "table", "conf_mat"),
    "costs": ("cost", "cost_matrix"),
    "threshold": ("thresh", "cutoff", "cut_off", "decision_threshold"),
    "missing": ("nan_policy", "na_action"),
    "level": ("confidence_level", "confidence", "conf_level", "ci_level"),
    "method": ("ci_method", "interval_method"),
    "replicates": ("n_resamples", "n_bootstraps", "n_bootstrap", "num_bootstraps", "n_boot", "bootstraps", "boot_n"),
    "seed": ("random_state", "random_seed", "rng"),
    "measures": ("measure", "metrics", "metric", "scoring", "scorer", "extra_metrics"),
    "measure": ("measures", "metrics", "metric", "scoring", "scorer"),
    "by": ("maximize", "maximise", "objective", "criterion", "measure", "metric", "scoring"),
    "maximize": ("by", "maximise", "objective", "criterion", "measure", "metric", "scoring"),
    "what": ("measure", "measures", "metric", "metrics"),
    "ignore": ("mute", "disable", "suppress"),
    "limits": ("limit",),
    "calibration_bins": ("n_bins", "num_bins", "bins"),
    "calibration_strategy": ("strategy", "binning"),
    "plan": ("cv", "folds", "resampling"),
    "learner": ("learners", "estimator", "estimators", "model", "models", "clf", "classifier", "classifiers"),
    "learners": ("learner", "estimator", "estimators", "model", "models", "clf", "classifier", "classifiers"),
    "features": ("feature", "feature_names", "columns", "predictors"),
    "X": ("data", "X_train", "dataset", "df"),
    "y": ("y_train", "y_true", "outcome", "targets"),
    "target": ("target_column", "label_column", "class_column", "outcome", "y"),
    "data": ("estimator", "model", "clf", "classifier", "df", "dataset"),
    "grid": ("param_grid", "tuneGrid", "tune_grid", "params"),
    "jobs": ("n_jobs", "num_workers", "workers"),
    "sizes": ("train_sizes",),
    "draws": ("repeats", "n_repeats"),
    "rounds": ("n_rounds", "num_rounds"),
    "shuffles": ("n_repeats", "n_shuffles"),
    "training": ("return_train_score",),
    "progress": ("verbose", "show_progress"),
    "names": ("model_names",),
    "correction": ("p_adjust", "adjust", "adjustment", "multipletests"),
    "control": ("reference_model", "baseline"),
    "width": ("interval_width", "precision_width"),
    "power": ("target_power",),
    "require": ("requirement", "requirements", "constraints"),
}  # fmt: skip

# Our command, and what others call it.
COMMANDS: dict[str, tuple[str, ...]] = {
    "evaluate": ("score", "report", "classification-report", "confusion-matrix"),
    "thresholds": ("threshold", "choose-threshold", "tune-threshold"),
    "recalibrate": ("calibrate", "calibration"),
    "validate": ("cross-validate", "cross-val-score", "crossval", "cv"),
    "learning-curve": ("learn",),
    "bias-variance": ("bias-variance-decomp",),
    "compare": ("test", "mcnemar"),
    "check": ("gate", "assert"),
    "plan": ("plan-study", "sample-size", "power"),
    "lab": ("laboratory", "simulate", "experiment"),
    "measures": ("metrics", "measure", "metric"),
    "explain": ("rules", "findings"),
    "serve": ("ui", "app"),
}

WEIGHING = (
    "every case counts once here: evaluate(…, weight=…) (--weight) weighs predictions, and a learner of your own may "
    "weigh the cases that it is fitted on."
)
# Words without an argument here, and how the same is said.
ANSWERS: dict[str, str] = {
    "weight": WEIGHING,
    "level": "intervals have the level of their result: evaluate(…, level=0.9).",
    "alpha": "intervals have a level: level=0.95 (--level 0.95) is alpha = 0.05.",
    "average": "name the average with the measure: measures=['macro f1'] (--measure 'macro f1').",
    "beta": "name it with the measure: measures=['f2'] or ['f_score(beta=2)'] (--measure f2).",
    "top_k": "name it with the measure, such as measures=['precision_at(k=10)'] (--measure 'precision_at(k=10)').",
    "k": "name it with the measure, such as measures=['precision_at(k=10)'] (--measure 'precision_at(k=10)').",
    "zero_division": "leave it out: what is undefined is nan, with the reason in words.",
    "normalize": "leave it out: evaluation.confused() has each cell as a share of its class, with an interval.",
    "num_classes": "name the classes with labels=[…] (--labels A,B,…); without, those that occur.",
    "n_classes": "name the classes with labels=[…] (--labels A,B,…); without, those that occur.",
    "task": "leave it out: two or more classes are told from the data.",
    "model_type": "leave it out: heldout judges classifiers.",
    "multi_class": "leave it out: each class has its area, 'macro roc_auc' is their mean (ovr), 'hand_till_auc' ovo.",
    "multidim_average": "leave it out: every row is a case.",
    "ignore_index": "leave these rows out before; missing='drop' (--missing drop) is for rows that lack a value.",
    "drop_intermediate": "leave it out: curves keep their corners, and are thinned to what a screen can show.",
    "digits": "leave it out: evaluation.to_dict() and .to_frame() have every digit.",
    "digit": "leave it out: evaluation.to_dict() and .to_frame() have every digit.",
    "output_dict": "leave it out: evaluation.to_dict() is the dictionary.",
    "transpose": "say what the rows are: rows='predicted' (--rows predicted).",
    "dnn": "say what the rows are: rows='truth' or 'predicted' (--rows).",
    "event_level": "name the class: positive='yes' (--positive yes).",
    "from_logits": "leave it out: scores of any range rank; probabilities are those between 0 and 1.",
    "n_splits": "name the plan: plan='5-fold' (--plan 5-fold).",
    "n_fold": "name the plan: plan='5-fold' (--plan 5-fold).",
    "trControl": "name the plan: plan='10x10-fold' (--plan 10x10-fold).",
    "test_size": "name the plan: plan='holdout 2/3' (--plan 'holdout 2/3') trains on two thirds.",
    "train_size": "name the plan: plan='holdout 2/3' (--plan 'holdout 2/3') trains on two thirds.",
    "shuffle": "leave it out: plans shuffle by the seed, and plan='time-ordered 5' does not.",
    "stratify": "leave it out: plans keep the shares of the classes; plan='10-fold unstratified' does not.",
    "error_score": "on_error='record' (--on-error record) keeps the splits that worked.",
    "p_value": "p-values come without asking; method= (--method) names the test.",
    "test": "name the test with method=, such as 'mcnemar-exact' (--method mcnemar-exact).",
    # Weka's flags have one hyphen and one letter.
    "x": "Weka's -x 10 is --plan '10-fold'.",
    "t": "Weka's -t FILE is the file itself: heldout validate FILE.",
    "T": "Weka's -T FILE: write the predictions of the test set to a file, and evaluate that.",
    "s": "Weka's -s 1 is --seed 1; its own folds are --plan 'weka 10-fold seed 1'.",
    "c": "Weka's -c is --target COLUMN, by name.",
    "W": "Weka's -W is --learner NAME; heldout validate --help lists the names.",
    "split_percentage": "name the plan: --plan 'holdout 66%'.",
    "i": "every measure is there without asking; --format weka is Weka's layout.",
}  # fmt: skip


def find_own_word(word: str, known: Collection[str]) -> str | None:
    """The argument, among those that are known, that another library calls by this word.

    >>> find_own_word("y_true", ["truth", "predicted"]), find_own_word("cv", ["truth"])
    ('truth', None)
    """
    return next((own for own, others in SYNONYMS.items() if own in known and word in others), None)


def find_own_command(word: str) -> str | None:
    """The command that others call by this word.

    >>> find_own_command("cross-validate"), find_own_command("foo")
    ('validate', None)
    """
    return next((own for own, others in COMMANDS.items() if word.replace("_", "-") in others), None)


def answer_unknown(word: str, known: Collection[str], otherwise: str) -> str:
    """The hint for a word that is no argument: how the same is said here, or which argument is near.

    >>> answer_unknown("tresh", ["threshold", "truth"], "")
    "did you mean 'threshold'?"
    """
    if word in SYNONYMS["weight"] and "weight" not in known:
        word = "weight"
    if word in ANSWERS:
        return ANSWERS[word]
    names = {name: name for name in known}
    # A misspelled word of another library suggests ours.
    for own, other in [(own, other) for own, others in SYNONYMS.items() if own in names for other in others]:
        if len(other) > 3:
            names.setdefault(other, own)
    begun = [name for name in names if len(word) > 3 and name.startswith(word)]
    near = closest(word, names) or (begun[0] if begun else None)
    return f"did you mean {names[near]!r}?" if near else otherwise


def translate(
    function: str, shown: Mapping[str, inspect.Parameter], given: Collection[Any], options: dict[str, Any]
) -> dict[str, Any]:
    """The keywords of a call in our words; refused where one is unknown, or given twice."""
    if all(name in shown for name in options):
        return options
    translated = {name: value for name, value in options.items() if name in shown}
    said = {name: name for name in translated}
    said |= dict.fromkeys([name for name, _ in zip(positional(shown), given, strict=False)], "")
    for word, value in options.items():
        if word in shown:
            continue
        own = find_own_word(word, shown)
        if own is None:
            names = listing(shown, most=60)
            raise ArgumentError(
                f"{function}() has no argument {word!r}.", hint=answer_unknown(word, shown, f"it takes {names}.")
            )
        if own in said:
            first = f"{said[own]}=" if said[own] else "an argument by its place"
            raise ArgumentError(
                f"{function}() got {first} and {word}=, which are two names of {own!r}.", hint="give one of them."
            )
        said[own], translated[own] = word, value
    return translated


def positional(shown: Mapping[str, inspect.Parameter]) -> list[str]:
    """The parameters that may be given by their place."""
    return [name for name, one in shown.items() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


def refuse_too_many(function: str, shown: Mapping[str, inspect.Parameter], given: Collection[Any]) -> None:
    """Refuse more arguments by their place than there are places."""
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in shown.values()):
        return
    places = positional(shown)
    if len(given) > len(places):
        raise ArgumentError(
            f"{function}() takes {listing(places)} by their place, and {len(given)} arguments were given so.",
            hint=f"name the others, as in {function}(…, {next((n for n in shown if n not in places), 'name')}=…).",
        )


def takes_synonyms(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take its arguments by the words of other libraries too.

    >>> @takes_synonyms
    ... def total(weight: int = 1) -> int:
    ...     return weight
    >>> total(sample_weight=3)
    3
    """
    shown = dict(inspect.signature(function).parameters)
    name = function.__qualname__.removesuffix(".__init__")
    places = len(positional(shown))

    @wraps(function)
    def call(*given: P.args, **options: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest shows an assertion that fails where it is called
        if len(given) > places:
            refuse_too_many(name, shown, given)
        return function(*given, **translate(name, shown, given, options))

    return call
