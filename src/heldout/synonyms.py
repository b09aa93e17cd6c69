"""The words of other libraries for our arguments, declared once: functions take them as keywords, commands as flags.

scikit-learn's `y_true` is our `truth`, its `cv` our `plan`, PyCM's `actual_vector` our `truth`, and so on. A word that
has no argument of its own here, such as `average` or `alpha`, is answered with how the same is said; so are the names
of other libraries' functions, of what their results have, and of measures that are none here.
"""

from __future__ import annotations

import inspect
import re
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
    "calibrators": ("method", "calibrator"),
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
    "evaluate": ("score", "report", "classification-report", "confusion-matrix", "roc", "auc", "eval"),
    "thresholds": ("threshold", "choose-threshold", "tune-threshold"),
    "recalibrate": ("calibrate", "calibration"),
    "validate": ("cross-validate", "cross-val-score", "crossval", "cv", "train"),
    "learning-curve": ("learn",),
    "bias-variance": ("bias-variance-decomp",),
    "compare": ("test", "mcnemar", "delong", "roc-test", "ttest"),
    "check": ("gate", "assert"),
    "plan": ("plan-study", "sample-size", "power"),
    "lab": ("laboratory", "simulate", "experiment"),
    "measures": ("metrics", "measure", "metric", "list-metrics", "list-measures"),
    "explain": ("rules", "findings"),
    "serve": ("ui", "app"),
    "doctor": ("info", "version", "env"),
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
    "jobs": "leave it out: rows are counted on all cores, and threads=2 (--threads 2) takes fewer.",
    "logits": "give them as score= (--score); 1 / (1 + exp(-logits)) makes probabilities of them.",
    **dict.fromkeys(
        ("cost_fp", "cost_fn", "fp_cost", "fn_cost", "false_positive_cost", "false_negative_cost"),
        "name each error by (truth, predicted): costs={('yes', 'no'): 5, ('no', 'yes'): 1} (--costs 'yes,no:5; …').",
    ),
    "k": "of folds, plan='5-fold' (--plan 5-fold); of a measure, measures=['precision_at(k=10)'] (--measure).",
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
    **dict.fromkeys(
        ("n_fold", "n_folds", "num_folds", "kfold", "k_fold", "nfold", "number", "v"),
        "name the plan: plan='5-fold' (--plan 5-fold).",
    ),
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
    "plan": "heldout.validate(…, plan='10-fold') cross-validates; learning curves take draws=10 (--draws 10).",
    "n_repeats": "name the plan: plan='10x10-fold' (--plan 10x10-fold) repeats ten folds ten times.",
    "repeats": "name the plan: plan='10x10-fold' (--plan 10x10-fold) repeats ten folds ten times.",
    "ci": "leave it out: every value has its interval; level=0.9 (--level 0.9) is another level.",
    "auc": "leave it out: the area is there with every other measure; measures='roc_auc' shows it alone.",
    "max_fpr": "name it with the measure: measures=['partial_auc(low=0, high=0.1)'] (--measure, the same).",
    "partial_auc": "name it with the measure: measures=['partial_auc(low=0, high=0.1)'] (--measure, the same).",
    "boot_stratified": "leave it out: bootstraps draw whole cases, so that the shares of the classes vary as they do.",
    "smooth": "leave it out: curves go through the cases that were seen.",
    "direction": "leave it out: a higher score stands for the positive class; turn the sign of scores that run down.",
    "verbose": "leave it out: all is shown (--full has every measure), and what takes long says how far it is.",
    **dict.fromkeys(("sep", "delimiter", "separator"), "leave it out: it is told from the file."),
    "quiet": "leave it out: in Python nothing is printed unasked, and > /dev/null silences a command.",
    "plot": "leave it out: the result has .plot('roc') and .chart('roc') (--chart roc=roc.svg).",
    "mode": "leave it out: every measure is there, and measures=['precision', 'recall'] (--measure) shows only these.",
    "multiclass": "leave it out: two or more classes are told from the data.",
    "alternative": "leave it out: tests are two-sided; margin= (--margin) is for at least as good.",
    "name": "leave it out: a file has its name; compare({'A': first, 'B': second}) names results.",
    "dataset_name": "leave it out: a file has its name; compare({'A': first, 'B': second}) names results.",
    "evaluators": "leave it out; mlflow.evaluate(…, evaluators='heldout') is the way round, see heldout.mlflow.",
    "evaluator_config": "give its options themselves, such as level=0.9.",
    "output_format": "name a file, whose ending says what it is: .write('report.html') (-o report.html).",
    "min_accuracy": "name what must hold: require='accuracy >= 0.8' (--require 'accuracy >= 0.8').",
    "fail_under": "name what must hold: require='accuracy >= 0.8' (--require 'accuracy >= 0.8').",
    "min_recall": "name what must hold: require='recall >= 0.8' (--require 'recall >= 0.8').",
    **dict.fromkeys(("half_width", "margin_of_error"), "give the whole width: width=0.1 (--width 0.1) is ± 0.05."),
    "thresholds": "bounds are require='recall >= 0.8' (--require); the threshold of scores is threshold=0.3.",
    "validation_thresholds": "name what must hold: require='recall >= 0.8' (--require 'recall >= 0.8').",
}  # fmt: skip

# The calls that most functions of others are answered with.
_EVALUATE, _VALIDATE = "heldout.evaluate(y_true, y_pred)", "heldout.validate(learner, X, y, plan='10-fold')"
# Functions of scikit-learn's that take scores.
OF_SCORES = ("roc_auc_score", "average_precision_score", "brier_score_loss", "log_loss", "top_k_accuracy_score")
_SCORED, _COMPARE = "heldout.evaluate(y_true, score=y_score)", "heldout.compare(first, second)"
# Functions and classes of others, and the call that does the same here.
FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(("classification_report", "ConfusionMatrix", "EstimatorReport", "report", "Evaluator"), _EVALUATE),
    "confusion_matrix": f"{_EVALUATE}.confusion",
    "cm": f"{_EVALUATE}.confusion",
    **dict.fromkeys(("roc", "roc_curve", "RocCurveDisplay"), f"{_SCORED}.curve('roc')"),
    "precision_recall_curve": f"{_SCORED}.curve('precision_recall')",
    "det_curve": f"{_SCORED}.curve('det')",
    "calibration_curve": f"{_SCORED}.chart('reliability')",
    **dict.fromkeys(("auc", "auroc", "roc_auc"), f"{_SCORED}['roc_auc']"),
    **dict.fromkeys(("ci", "ci_auc", "bootstrap", "confidence_interval"), f"{_EVALUATE}, where every value has one"),
    **dict.fromkeys(
        ("cross_validate", "cross_val_score", "cross_val_predict", "train", "train_test_split", "GridSearchCV",
         "CrossValidationReport", "fit_resamples", "permutation_test_score"), _VALIDATE,
    ),
    **dict.fromkeys(
        ("delong", "delong_test", "roc_test", "mcnemar", "mcnemar_test", "ttest", "ttest_rel", "wilcoxon", "friedman",
         "ComparisonReport", "paired_ttest_5x2cv", "permutation_test"), _COMPARE,
    ),
    **dict.fromkeys(("make_scorer", "get_scorer"), "heldout.scorer('f1')"),
    **dict.fromkeys(("threshold", "thresholds", "TunedThresholdClassifierCV", "coords"), "heldout.choose_threshold"),
    **dict.fromkeys(("calibrate", "CalibratedClassifierCV"), "heldout.recalibrate"),
    **dict.fromkeys(("plan", "sample_size", "power"), "heldout.plan_study"),
    "gate": "heldout.check",
    "learn": "heldout.learning_curve",
    **dict.fromkeys(("from_predictions", "Metric", "MetricCollection", "summarize"), _EVALUATE),
    **dict.fromkeys(("plot", "plot_roc", "curve", "curves"), f"{_SCORED}.plot('roc'), or .curve('roc')"),
    **dict.fromkeys(("Accuracy", "accuracy"), f"{_EVALUATE}['accuracy']"),
    **dict.fromkeys(("Precision", "precision"), f"{_EVALUATE}['precision']"),
    **dict.fromkeys(("Recall", "recall"), f"{_EVALUATE}['recall']"),
    **dict.fromkeys(("F1Score", "F1", "f1"), f"{_EVALUATE}['f1']"),
    **dict.fromkeys(("matthews_corrcoef", "MatthewsCorrCoef", "mcc"), f"{_EVALUATE}['mcc']"),
    **dict.fromkeys(("CohenKappa", "kappa"), f"{_EVALUATE}['kappa']"),
    "AUROC": f"{_SCORED}['roc_auc']",
    "AveragePrecision": f"{_SCORED}['average_precision']",
}  # fmt: skip
_DRAW = ".chart({0!r}) (Altair) or .plot({0!r}) (Matplotlib)"
_ASKED = "[{0!r}]"
# What results of others have, and what to write behind the name of ours.
ATTRIBUTES: dict[str, str] = {
    **dict.fromkeys(("to_pandas", "to_df", "to_dataframe", "as_dataframe", "df", "frame"), ".to_frame('pandas')"),
    "to_polars": ".to_frame('polars')",
    "to_csv": ".write('figures.csv')",
    "to_markdown_table": ".to_markdown()",
    **dict.fromkeys(("show", "display", "report", "classification_report"), ".write('report.html'), or print it"),
    **dict.fromkeys(("ci", "conf_int", "confidence_interval", "interval_"), ".low and .high"),
    **dict.fromkeys(("lower", "ci_low", "ci_lower"), ".low"),
    **dict.fromkeys(("upper", "ci_high", "ci_upper"), ".high"),
    **dict.fromkeys(
        ("se", "stderr", "std_error", "standard_error", "std"),
        ".low and .high: intervals are seldom value ± z · standard error",
    ),
    **dict.fromkeys(("p_value", "pvalue", "p_values"), "['accuracy'].p, by the name of a measure"),
    "statistic": "['accuracy'].statistic, by the name of a measure",
    **dict.fromkeys(("mean", "estimate", "point", "point_estimate", "item"), ".value"),
    **dict.fromkeys(("confusion_matrix", "matrix", "cm", "table"), ".confusion"),
    **dict.fromkeys(
        ("score", "scores_", "results", "results_", "metrics_", "values", "overall", "overall_stat"), ".metrics()"
    ),
    **dict.fromkeys(("roc_curve", "plot_roc", "plot_roc_curve", "roc"), _DRAW.format("roc")),
    **dict.fromkeys(("pr_curve", "plot_precision_recall"), _DRAW.format("precision_recall")),
    **dict.fromkeys(("plot_calibration", "calibration_curve", "plot_reliability"), _DRAW.format("reliability")),
    **dict.fromkeys(("plot_confusion_matrix", "heatmap"), _DRAW.format("matrix")),
    **dict.fromkeys(("byClass", "class_stat", "per_class"), ".to_frame(), a row for each measure and class"),
    **dict.fromkeys(("accuracy", "precision", "recall", "f1", "roc_auc", "auc", "kappa", "mcc"), _ASKED),
}
# Names that are asked for as measures and are none here, and what to do instead.
_COUNTS = "evaluation.confusion has the counts; a formula makes a measure of them: measures=['share = tp / n']."
MEASURES: dict[str, str] = {
    **dict.fromkeys(
        ("true_positives", "false_positives", "true_negatives", "false_negatives", "tp", "fp", "tn", "fn", "support",
         "confusion_matrix"), _COUNTS,
    ),
    "example_count": "evaluation.n is the number of cases.",
    "detection_rate": "write it as a formula: measures=['detection_rate = tp / n'] (--measure, the same).",
    **dict.fromkeys(("eer", "equal_error_rate"), "evaluation.chart('det') shows where both error rates are the same."),
    "det_curve": "curves are drawn: evaluation.chart('det') (--chart det=det.svg).",
    "roc_curve": "curves are drawn: evaluation.chart('roc') (--chart roc=roc.svg).",
    "precision_recall_curve": "curves are drawn: evaluation.chart('precision_recall') (--chart pr=pr.svg).",
    **dict.fromkeys(
        ("mean_absolute_error", "root_mean_squared_error", "relative_absolute_error", "root_relative_squared_error",
         "mae", "rmse"),
        "evaluation.to_weka() (--format weka) has Weka's errors; of probabilities 'brier' is the usual measure.",
    ),
    **dict.fromkeys(("hinge_loss", "hinge"), "'log_loss' and 'brier' judge probabilities, 'roc_auc' a ranking."),
    **dict.fromkeys(("ndcg", "mrr", "map"), "'precision_at(k=10)' and 'average_precision' judge a ranking of cases."),
    "mcnemar_p_value": "heldout.compare (heldout compare) tests two classifiers.",
    "mcnemarpvalue": "heldout.compare (heldout compare) tests two classifiers.",
    **dict.fromkeys(("mse", "r2"), "heldout judges classifiers; 'brier' is the squared error of probabilities."),
}  # fmt: skip


def find_own_word(word: str, known: Collection[str]) -> str | None:
    """The argument, among those that are known, that another library calls by this word.

    >>> find_own_word("y_true", ["truth", "predicted"]), find_own_word("cv", ["truth"])
    ('truth', None)
    """
    return next((own for own, others in SYNONYMS.items() if own in known and word in others), None)


def answer_name(word: str) -> str:
    """What to write for the name of another library's function; empty where none is meant.

    >>> answer_name("classification_report"), answer_name("f1_score"), answer_name("frobnicate")
    ('use heldout.evaluate(y_true, y_pred)', "use heldout.evaluate(y_true, y_pred)['f1_score']", '')
    """
    if word in FUNCTIONS:
        return f"use {FUNCTIONS[word]}"
    call = _SCORED if word in OF_SCORES else _EVALUATE
    return f"use {call}[{word!r}]" if word.endswith(("_score", "_loss")) else ""


def answer_attribute(kind: type, word: str) -> str:
    """What to write for something that the results of another library have; empty where ours has nothing of the kind.

    >>> class Figures:
    ...     def write(self): ...
    >>> answer_attribute(Figures, "to_csv"), answer_attribute(Figures, "p_value")
    ("use figures.write('figures.csv')", '')
    """
    answer = ATTRIBUTES.get(word, _ASKED if word.endswith("_score") else "").format(word)
    first = re.match(r"\.(\w+)", answer)
    own = first[1] if first else "__getitem__"
    there = bool(answer) and (hasattr(kind, own) or own in getattr(kind, "__dataclass_fields__", ()))
    name = re.findall("[A-Z][a-z]*", kind.__name__)[-1:] or [kind.__name__]
    return f"use {name[0].lower()}{answer}" if there else ""


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
    # A word for an argument that only other functions of ours have.
    word = next((own for own, others in SYNONYMS.items() if word in others and own in ANSWERS), word)
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
    word_of = {name: name for name in translated}
    word_of |= dict.fromkeys([name for name, _ in zip(positional(shown), given, strict=False)], "")
    for word, value in options.items():
        if word in shown:
            continue
        own = find_own_word(word, shown)
        if own is None:
            names = listing(shown, most=60)
            raise ArgumentError(
                f"{function}() has no argument {word!r}.", hint=answer_unknown(word, shown, f"it takes {names}.")
            )
        if own in word_of:
            first = f"{word_of[own]}=" if word_of[own] else "an argument by its place"
            raise ArgumentError(
                f"{function}() got {first} and {word}=, which are two names of {own!r}.", hint="give one of them."
            )
        word_of[own], translated[own] = word, value
    return translated


def positional(shown: Mapping[str, inspect.Parameter]) -> list[str]:
    """The parameters that may be given by their place."""
    return [name for name, one in shown.items() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


def refuse_too_many(function: str, shown: Mapping[str, inspect.Parameter], given: Collection[Any]) -> None:
    """Refuse more arguments by their place than there are places."""
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in shown.values()):
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
