"""Calls in the words of other libraries, in Python and on the command line: each works, or names the right word."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import heldout as library
from heldout.synonyms import ANSWERS, COMMANDS, SYNONYMS
from heldout.synonyms import ATTRIBUTES as OTHER_ATTRIBUTES
from heldout.synonyms import FUNCTIONS as OTHER_FUNCTIONS
from heldout.synonyms import MEASURES as OTHER_MEASURES

# Its types know our words alone.
heldout: Any = library

RNG = np.random.default_rng(5)
N = 80
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] + 0.6 * RNG.normal(size=N) > 0).astype(int)
WORDS = np.where(Y == 1, "spam", "ham")
MODEL = LogisticRegression().fit(X, Y)
PREDICTED, PROBABILITY = MODEL.predict(X), MODEL.predict_proba(X)
WEIGHT, GROUP = np.arange(N) % 3 + 1, np.arange(N) // 4
WRONG = 1 - PREDICTED
PLAIN = heldout.evaluate(Y, PREDICTED)
SCORED = heldout.evaluate(Y, PREDICTED, score=PROBABILITY)
FRAME = pl.DataFrame({"label": Y, "guess": PREDICTED, "p": PROBABILITY[:, 1], "w": WEIGHT, "site": GROUP})

ev, val = heldout.evaluate, heldout.validate
# Of which library the words are, the call in these words, and the same in ours.
SAME = {
    "scikit-learn, metrics": (
        lambda: ev(y_true=Y, y_pred=PREDICTED),
        lambda: PLAIN,
    ),
    "scikit-learn, scores": (
        lambda: ev(y_true=Y, y_score=PROBABILITY[:, 1]),
        lambda: ev(Y, score=PROBABILITY[:, 1]),
    ),
    "scikit-learn, brier_score_loss": (
        lambda: ev(y_true=Y, y_proba=PROBABILITY[:, 1], pos_label=1),
        lambda: ev(Y, score=PROBABILITY[:, 1], positive=1),
    ),
    "scikit-learn, weights": (
        lambda: ev(Y, PREDICTED, sample_weight=WEIGHT, labels=[0, 1]),
        lambda: ev(Y, PREDICTED, weight=WEIGHT, labels=[0, 1]),
    ),
    "scikit-learn, groups": (
        lambda: ev(Y, PREDICTED, groups=GROUP),
        lambda: ev(Y, PREDICTED, group=GROUP),
    ),
    "scikit-learn, estimator": (
        lambda: ev(MODEL, X, Y),
        lambda: SCORED,
    ),
    "scikit-learn, from_estimator": (
        lambda: ev(estimator=MODEL, X=X, y=Y),
        lambda: SCORED,
    ),
    "scikit-learn, y_prob": (
        lambda: ev(Y, y_prob=PROBABILITY),
        lambda: ev(Y, score=PROBABILITY),
    ),
    "scikit-learn, columns by name": (
        lambda: ev(FRAME, y_true="label", y_pred="guess", sample_weight="w"),
        lambda: ev(FRAME, truth="label", predicted="guess", weight="w"),
    ),
    "scikit-learn, cross_validate": (
        lambda: val(estimator=GaussianNB(), X=X, y=Y, cv=3, scoring=["accuracy"], n_jobs=1, random_state=2),
        lambda: val(GaussianNB(), X, Y, plan=3, measures=["accuracy"], jobs=1, seed=2),
    ),
    "scikit-learn, splitter": (
        lambda: val(GaussianNB(), X, Y, cv=StratifiedKFold(3), measures=["accuracy"]),
        lambda: val(GaussianNB(), X, Y, plan=StratifiedKFold(3), measures=["accuracy"]),
    ),
    "scikit-learn, GridSearchCV": (
        lambda: val(GaussianNB(), X, Y, cv=3, param_grid={"var_smoothing": [1e-9, 1e-2]}, scoring="accuracy"),
        lambda: val(GaussianNB(), X, Y, plan=3, grid={"var_smoothing": [1e-9, 1e-2]}, measures="accuracy"),
    ),
    "scikit-learn, learning_curve": (
        lambda: heldout.learning_curve(estimator="naive-bayes", X=X, y=Y, train_sizes=[20, 40], draws=2),
        lambda: heldout.learning_curve("naive-bayes", X, Y, sizes=[20, 40], draws=2),
    ),
    "scikit-learn, calibration": (
        lambda: ev(Y, y_prob=PROBABILITY[:, 1], n_bins=5, strategy="quantile"),
        lambda: ev(Y, score=PROBABILITY[:, 1], calibration_bins=5, calibration_strategy="quantile"),
    ),
    "scikit-learn, TunedThresholdClassifierCV": (
        lambda: heldout.choose_threshold(y_true=Y, y_score=PROBABILITY[:, 1], scoring="f1", pos_label=1),
        lambda: heldout.choose_threshold(Y, PROBABILITY[:, 1], by="f1", positive=1),
    ),
    "scikit-learn, CalibratedClassifierCV": (
        lambda: heldout.recalibrate(y_true=Y, y_prob=PROBABILITY[:, 1], sample_weight=WEIGHT),
        lambda: heldout.recalibrate(Y, score=PROBABILITY[:, 1], weight=WEIGHT),
    ),
    "scikit-learn, partial sums": (
        lambda: ev(heldout.Evidence(classes=[0, 1]).update(y_true=Y, y_pred=PREDICTED, sample_weight=WEIGHT)),
        lambda: ev(heldout.Evidence(labels=[0, 1]).update(Y, PREDICTED, weight=WEIGHT)),
    ),
    "a gate": (
        lambda: heldout.check(y_true=Y, y_pred=PREDICTED, require="recall >= 0.5"),
        lambda: heldout.check(Y, PREDICTED, require="recall >= 0.5"),
    ),
    "counting": (
        lambda: ev(heldout.count(y_true=Y, y_pred=PREDICTED)),
        lambda: ev(heldout.count(Y, PREDICTED)),
    ),
    "torchmetrics": (
        lambda: ev(preds=PREDICTED, target=Y),
        lambda: PLAIN,
    ),
    "PyCM": (
        lambda: ev(actual_vector=Y, predict_vector=PREDICTED, sample_weight=WEIGHT, classes=[0, 1]),
        lambda: ev(Y, PREDICTED, weight=WEIGHT, labels=[0, 1]),
    ),
    "PyCM, matrix": (
        lambda: ev(confusion_matrix=[[30, 4], [2, 44]]),
        lambda: ev(matrix=[[30, 4], [2, 44]]),
    ),
    "MLflow": (
        lambda: ev(FRAME, targets="label", predictions="guess", label_list=[0, 1], pos_label=1),
        lambda: ev(FRAME, truth="label", predicted="guess", labels=[0, 1], positive=1),
    ),
    "Hugging Face": (
        lambda: ev(references=Y, predictions=PREDICTED),
        lambda: PLAIN,
    ),
    "yardstick": (
        lambda: ev(FRAME, truth="label", estimate="guess", case_weights="w"),
        lambda: ev(FRAME, truth="label", predicted="guess", weight="w"),
    ),
    "pROC": (
        lambda: ev(response=Y, predictor=PROBABILITY[:, 1], levels=[0, 1], conf_level=0.9),
        lambda: ev(Y, score=PROBABILITY[:, 1], labels=[0, 1], level=0.9),
    ),
    "SciPy": (
        lambda: ev(Y, PREDICTED, method="bootstrap", n_resamples=50, confidence_level=0.9, random_state=3),
        lambda: ev(Y, PREDICTED, method="bootstrap", replicates=50, level=0.9, seed=3),
    ),
    "Fairlearn": (
        lambda: ev(y_true=Y, y_pred=PREDICTED, metrics=["recall"], sensitive_features={"site": GROUP % 2}),
        lambda: ev(Y, PREDICTED, measures=["recall"], slices={"site": GROUP % 2}),
    ),
    "compare": (
        lambda: heldout.compare(PLAIN, ev(Y, WRONG), metric="accuracy", p_adjust="holm", random_state=1),
        lambda: heldout.compare(PLAIN, ev(Y, WRONG), measures="accuracy", correction="holm", seed=1),
    ),
    "a table of probabilities in the place of predictions": (
        lambda: ev(Y, PROBABILITY)["roc_auc"],
        lambda: ev(Y, score=PROBABILITY)["roc_auc"],
    ),
    "probabilities in the place of predictions": (
        lambda: ev(Y, PROBABILITY[:, 1].tolist())["brier"],
        lambda: ev(Y, score=PROBABILITY[:, 1])["brier"],
    ),
    "all measures, as None": (
        lambda: ev(Y, PREDICTED, measures=None),
        lambda: PLAIN,
    ),
}  # fmt: skip

# The call, and what its hint has to say.
NAMED = {
    "scikit-learn, average": (lambda: ev(Y, PREDICTED, average="macro"), "measures=['macro f1']"),
    "scikit-learn, beta": (lambda: ev(Y, PREDICTED, beta=2), "measures=['f2']"),
    "scikit-learn, zero_division": (lambda: ev(Y, PREDICTED, zero_division=0), "undefined is nan"),
    "scikit-learn, n_splits": (lambda: val("knn:3", X, Y, n_splits=5), "plan='5-fold'"),
    "scikit-learn, test_size": (lambda: val("knn:3", X, Y, test_size=0.3), "plan='holdout 2/3'"),
    "torchmetrics": (lambda: ev(Y, PREDICTED, task="multiclass", num_classes=2), "told from the data"),
    "SciPy": (lambda: ev(Y, PREDICTED, alpha=0.05), "level=0.95"),
    "PyCM": (lambda: ev(matrix=[[3, 1], [1, 3]], transpose=True), "rows='predicted'"),
    "MLflow": (lambda: ev(FRAME, targets="label", model_type="classifier"), "judges classifiers"),
    "caret": (lambda: val("knn:3", X, Y, trControl=10), "plan='10x10-fold'"),
    "yardstick": (lambda: ev(FRAME, truth="label", event_level="second"), "positive='yes'"),
    "a slip": (lambda: ev(Y, PREDICTED, mesures=["recall"]), "did you mean 'measures'?"),
    "a slip in another library's word": (lambda: ev(y_tru=Y, y_pred=PREDICTED), "did you mean 'truth'?"),
    "both words": (lambda: ev(Y, PREDICTED, weight=WEIGHT, sample_weight=WEIGHT), "give one of them"),
    "a word and a place": (lambda: ev(Y, PREDICTED, y_pred=PREDICTED), "give one of them"),
    "an estimator without classes": (lambda: ev(MODEL, X), "evaluate(model, X, y)"),
    "an estimator that is not fitted": (lambda: ev(LogisticRegression(), X, Y), "fit it first"),
    "no word at all": (lambda: ev(Y, PREDICTED, xyzzy=1), "it takes data, predicted"),
    "a measure of scikit-learn": (lambda: ev(Y, PREDICTED, scoring=3), "['accuracy', 'macro f1']"),
    "scikit-learn, n_repeats": (lambda: val("knn:3", X, Y, cv=10, n_repeats=3), "plan='10x10-fold'"),
    "scikit-learn, max_fpr": (lambda: ev(Y, PROBABILITY, max_fpr=0.1), "partial_auc(low=0, high=0.1)"),
    "scikit-learn, learning_curve": (lambda: heldout.learning_curve("knn:3", X, Y, cv=5), "draws=10"),
    "pROC, ci": (lambda: ev(response=Y, predictor=PROBABILITY[:, 1], ci=True), "level=0.9"),
    "pROC, direction": (lambda: ev(response=Y, predictor=PROBABILITY[:, 1], direction="<"), "turn the sign"),
    "pROC, smooth": (lambda: ev(response=Y, predictor=PROBABILITY[:, 1], smooth=True), "curves go through"),
    "pROC, partial_auc": (lambda: ev(Y, PROBABILITY, partial_auc=[1, 0.9]), "partial_auc(low=0, high=0.1)"),
    "pROC, boot_stratified": (lambda: ev(Y, PROBABILITY, boot_stratified=False), "draw whole cases"),
    "caret, mode": (lambda: ev(Y, PREDICTED, mode="prec_recall"), "measures=['precision', 'recall']"),
    "caret, number": (lambda: val("knn:3", X, Y, number=5), "plan='5-fold'"),
    "rsample, v": (lambda: val("knn:3", X, Y, v=5), "plan='5-fold'"),
    "MLflow, evaluators": (lambda: ev(Y, PREDICTED, evaluators="default"), "evaluators='heldout'"),
    "MLflow, thresholds": (
        lambda: heldout.check(Y, PREDICTED, validation_thresholds={"recall": 0.5}),
        "require='recall >= 0.8'",
    ),
    "torchmetrics, multiclass": (lambda: ev(Y, PREDICTED, multiclass=False), "told from the data"),
    "SciPy, alternative": (lambda: heldout.compare(PLAIN, ev(Y, WRONG), alternative="greater"), "two-sided"),
    "Fairlearn, dataset_name": (lambda: ev(Y, PREDICTED, dataset_name="test"), "compare({'A': first"),
    "coverage, fail_under": (lambda: heldout.check(Y, PREDICTED, fail_under=0.8), "require='accuracy >= 0.8'"),
    "scikit-learn, n_jobs": (lambda: ev(Y, PREDICTED, n_jobs=2), "threads=2"),
    "scikit-learn, method": (lambda: heldout.recalibrate(Y, PROBABILITY, method="sigmoid"), "use 'logistic'"),
    "cost_fp": (lambda: heldout.choose_threshold(Y, PROBABILITY[:, 1], cost_fp=1, cost_fn=5), "(truth, predicted)"),
    "PyTorch, logits": (lambda: ev(Y, logits=PROBABILITY[:, 1]), "score="),
    "rows, dictionaries": (lambda: ev(FRAME.to_dicts()), "polars.DataFrame(rows)"),
    "rows, tuples": (lambda: ev(FRAME.select("label", "guess").rows()), "which names its columns"),
    "a matrix without its name": (lambda: ev([[30, 4], [2, 44]]), "matrix="),
    "a matrix of NumPy without its name": (lambda: ev(np.array([[30, 4], [2, 44]])), "matrix="),
    "one column alone": (lambda: ev(Y), "predicted="),
    "evidence": (lambda: heldout.Evidence().update(Y, PREDICTED, sample_wieght=WEIGHT), "did you mean 'weight'?"),
}


# Measures by names of scikit-learn, torchmetrics, yardstick, caret, Weka and PyCM.
MEASURES = {
    "roc_auc_score": "roc_auc", "AUROC": "roc_auc", "area under the curve": "roc_auc", "aucpr": "average_precision",
    "Neg Pred Value": "negative_predictive_value", "Pos Pred Value": "precision",
    "sens": "recall", "spec": "specificity", "TP Rate": "recall", "FP Rate": "false_positive_rate",
    "fall-out": "false_positive_rate", "bal_accuracy": "balanced_accuracy", "j_index": "informedness",
    "kap": "kappa", "Kappa statistic": "kappa", "Cohen's kappa": "kappa", "f_meas": "f1", "F-Measure": "f1",
    "mn_log_loss": "log_loss", "brier_class": "brier", "d2_log_loss_score": "log_loss_skill",
    "d2_brier_score": "brier_skill", "Overall ACC": "accuracy", "exact_match": "accuracy",
    "Incorrectly Classified Instances": "error_rate", "Matthews correlation coefficient": "matthews",
    "weighted avg f1-score": "weighted f1", "Weighted Avg. TP Rate": "weighted recall", "f1_macro": "macro f1",
}  # fmt: skip
# Names that say something else here, or nothing, and what the hint says.
MEASURES_NAMED = {
    "BinaryF1Score": "did you mean 'f1'?", "MulticlassAUROC": "did you mean 'auroc'?",
    "AveragePrecision": "did you mean 'average_precision'?", "neg_log_loss": "did you mean 'log_loss'?",
    "roc_auc_ovr": "ask for 'roc_auc'", "EER": "chart('det')", "Detection Rate": "detection_rate = tp / n",
    "Mean absolute error": "to_weka()", "HingeLoss": "'brier'", "false_positives": "evaluation.confusion",
    "support": "evaluation.confusion", "ndcg": "precision_at(k=10)",
}  # fmt: skip
LEARNERS = {
    "RandomForestClassifier": "'forest'", "rf": "'forest'", "ranger": "'forest'", "J48": "'tree'", "rpart": "'tree'",
    "IBk": "'knn'", "SMO": "'linear-svm'", "ZeroR": "'majority'", "dummy": "'majority'", "glm": "'logistic'",
    "GaussianNB": "'naive-bayes'", "gbm": "'boosting'", "xgboost": "'xgboost:XGBClassifier()'",
}  # fmt: skip
PLANS = {
    "StratifiedKFold": "10-fold", "KFold": "10-fold unstratified", "repeatedcv": "10x10-fold",
    "RepeatedStratifiedKFold": "10x10-fold", "ShuffleSplit": "30 x holdout 2/3", "LGOCV": "30 x holdout 2/3",
    "boot632": ".632 200", "vfold_cv": "10-fold", "TimeSeriesSplit": "time-ordered 5", "timeslice": "time-ordered 5",
    "train_test_split": "holdout 2/3",
}  # fmt: skip
# Functions of others, and what their results have.
FUNCTIONS = {
    "classification_report": "heldout.evaluate(y_true, y_pred)", "confusion_matrix": ".confusion",
    "roc_auc_score": "heldout.evaluate(y_true, score=y_score)['roc_auc_score']",
    "f1_score": "heldout.evaluate(y_true, y_pred)['f1_score']", "cross_val_score": "heldout.validate(",
    "make_scorer": "heldout.scorer('f1')", "mcnemar": "heldout.compare(first, second)",
    "Accuracy": "['accuracy']", "AUROC": "['roc_auc']", "matthews_corrcoef": "['mcc']", "plot": ".plot('roc')",
    "from_predictions": "heldout.evaluate(y_true, y_pred)",
    "permutation_test_score": "heldout.validate(", "ConfusionMatrix": "heldout.evaluate(y_true, y_pred)",
}  # fmt: skip
ATTRIBUTES = {
    "to_pandas": ".to_frame('pandas')", "accuracy": "['accuracy']", "f1_score": "['f1_score']",
    "confusion_matrix": "evaluation.confusion", "plot_roc": "evaluation.chart('roc')", "show": ".write('report.html')",
    "classification_report": "print it", "byClass": ".to_frame()", "score": ".metrics()",
}  # fmt: skip


@pytest.mark.parametrize("word", MEASURES)
def test_measures_are_found_by_the_names_of_others(word):
    assert (
        ev(Y, PREDICTED, score=PROBABILITY, measures=[word]).rows()
        == ev(Y, PREDICTED, score=PROBABILITY, measures=[MEASURES[word]]).rows()
    )


@pytest.mark.parametrize("word", MEASURES_NAMED)
def test_names_of_measures_that_are_none_here_are_answered(word):
    with pytest.raises(heldout.HeldoutError) as refused:
        ev(Y, PREDICTED, score=PROBABILITY, measures=[word])
    assert MEASURES_NAMED[word] in refused.value.hint


@pytest.mark.parametrize(("word", "said"), [*LEARNERS.items(), *PLANS.items()])
def test_learners_and_plans_of_others_are_answered_with_ours(word, said):
    with pytest.raises(heldout.HeldoutError) as refused:
        val(word, X, Y, plan=3) if word in LEARNERS else val("knn:3", X, Y, plan=word)
    assert f"write {said}" in refused.value.hint or f"write {said!r};" in refused.value.hint


@pytest.mark.parametrize("word", FUNCTIONS)
def test_functions_of_others_are_answered_with_ours(word):
    with pytest.raises(AttributeError, match="has no attribute") as refused:
        getattr(heldout, word)
    assert FUNCTIONS[word] in str(refused.value)


@pytest.mark.parametrize("word", ATTRIBUTES)
def test_what_results_of_others_have_is_answered_with_ours(word):
    with pytest.raises(AttributeError, match="has no attribute") as refused:
        getattr(PLAIN, word)
    assert ATTRIBUTES[word] in str(refused.value)
    # What is said exists.
    assert not hasattr(PLAIN, "p_value")
    with pytest.raises(AttributeError, match=r"estimate\.low"):
        _ = PLAIN["accuracy"].ci
    with pytest.raises(AttributeError, match=r"estimate\.value"):
        _ = PLAIN["accuracy"].mean
    with pytest.raises(AttributeError, match=r"comparison\['accuracy'\]\.p,"):
        _ = heldout.compare(PLAIN, ev(Y, WRONG)).p_value


def test_every_answer_names_something_that_is_there():
    for said in OTHER_FUNCTIONS.values():
        name = re.match(r"heldout\.(\w+)", said)
        assert name
        assert name[1] in heldout.__all__
    kinds = SCORED.chart_kinds
    assert all(kind in kinds for kind in re.findall(r"chart\('(\w+)'\)", str(OTHER_ATTRIBUTES) + str(OTHER_MEASURES)))


@pytest.mark.parametrize("case", SAME)
def test_other_words_say_the_same(case):
    theirs, ours = SAME[case]
    got, wanted = theirs(), ours()
    # What was timed differs from run to run.
    if isinstance(wanted, heldout.Validation):
        got, wanted = got.evaluation, wanted.evaluation
    assert type(got) is type(wanted)
    assert got.rows() == wanted.rows() or str(got.rows()) == str(wanted.rows())


@pytest.mark.parametrize("case", NAMED)
def test_other_words_without_an_argument_name_the_right_one(case):
    call, hint = NAMED[case]
    with pytest.raises(heldout.HeldoutError) as refused:
        call()
    assert hint in refused.value.hint
    assert refused.value.what.endswith(".")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("words")
    FRAME.write_csv(place / "a.csv")
    FRAME.with_columns(guess=pl.Series(WRONG)).write_csv(place / "b.csv")
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": WORDS}).write_csv(place / "data.csv")
    return place


# On the command line: whose words, the command, and the same in ours, or what its hint says.
COMMAND_LINES = {
    "scikit-learn": (
        "evaluate a.csv --y-true label --y-pred guess --sample-weight w --pos-label 1 --labels 0,1",
        "evaluate a.csv --truth label --predicted guess --weight w --positive 1 --labels 0,1",
    ),
    "scikit-learn, scores": (
        "evaluate a.csv --y-true=label --y-score=p --groups=site --scoring roc_auc",
        "evaluate a.csv --truth label --score p --group site --measure roc_auc",
    ),
    "scikit-learn, cross_validate": (
        "cross-validate data.csv --estimator naive-bayes --cv 3 --random-state 1 --n-jobs 1 --metric accuracy",
        "validate data.csv --learner naive-bayes --plan 3-fold --seed 1 --jobs 1 --measure accuracy",
    ),
    "scikit-learn, learning_curve": (
        "learn data.csv --estimator naive-bayes --train-sizes 20,40 --draws 2",
        "learning-curve data.csv --learner naive-bayes --sizes 20,40 --draws 2",
    ),
    "scikit-learn, threshold": (
        "threshold a.csv --y-true label --y-prob p --scoring f1",
        "thresholds a.csv --truth label --score p --maximize f1",
    ),
    "PyCM": (
        "evaluate a.csv --actual-vector label --predict-vector guess --classes 0,1",
        "evaluate a.csv --truth label --predicted guess --labels 0,1",
    ),
    "MLflow": (
        "evaluate a.csv --targets label --predictions guess --mute H014",
        "evaluate a.csv --truth label --predicted guess --ignore H014",
    ),
    "compare": (
        "compare a.csv b.csv --y-true label --y-pred guess --metric accuracy --confidence-level 0.9",
        "compare a.csv b.csv --truth label --predicted guess --measure accuracy --level 0.9",
    ),
    "a gate": (
        "gate a.csv --y-true label --y-pred guess --require 'recall >= 0.1'",
        "check a.csv --truth label --predicted guess --require 'recall >= 0.1'",
    ),
    "Weka, folds": ("validate data.csv -x 10", "--plan '10-fold'"),
    "Weka, share": ("validate data.csv --split-percentage 66", "--plan 'holdout 66%'"),
    "scikit-learn, average": ("evaluate a.csv --average macro", "--measure 'macro f1'"),
    "SciPy": ("evaluate a.csv --alpha 0.05", "--level 0.95"),
    "both words": ("evaluate a.csv --truth label --y-true label", "give one of them"),
    "pROC": (
        "auc a.csv --response label --predictor p --conf-level 0.9",
        "evaluate a.csv --truth label --score p --level 0.9",
    ),
    "yardstick": ("eval a.csv --truth label --estimate guess", "evaluate a.csv --truth label --predicted guess"),
    "caret": (
        "train data.csv --classifier naive-bayes --cv 3",
        "validate data.csv --learner naive-bayes --plan 3-fold",
    ),
    "pROC, test": ("delong a.csv b.csv --y-true label --y-score p", "compare a.csv b.csv --truth label --score p"),
    "scikit-learn, names of measures": (
        "report a.csv --actual label --estimate guess --scoring f1_macro --scoring 'Kappa statistic'",
        "evaluate a.csv --truth label --predicted guess --measure 'macro f1' --measure kappa",
    ),
    "torchmetrics": (
        "evaluate a.csv --target label --probs p --cutoff 0.4",
        "evaluate a.csv --truth label --score p --threshold 0.4",
    ),
    "MLflow, format": ("evaluate a.csv --output-format csv", "-o report.html"),
    "MLflow, metrics": ("evaluate a.csv --truth label --predicted guess --metrics recall", "--measure"),
    "pROC, interval": ("evaluate a.csv --ci 0.9", "--level 0.9"),
    "pandas, sep": ("evaluate a.csv --sep ;", "told from the file"),
    "coverage": ("check a.csv --fail-under 0.8", "--require 'accuracy >= 0.8'"),
    "a gate's bound": ("check a.csv --min-recall 0.8", "--require 'recall >= 0.8'"),
    "caret, number": ("validate data.csv --number 10", "--plan 5-fold"),
    "scikit-learn, kfold": ("validate data.csv --kfold 5", "--plan 5-fold"),
    "scikit-learn, repeats": ("validate data.csv --n-repeats 5", "--plan 10x10-fold"),
    "Weka, J48": ("validate data.csv --learner J48", "write 'tree'"),
    "caret, rf": ("validate data.csv --learner rf", "write 'forest'"),
    "caret, repeatedcv": ("validate data.csv --learner knn --plan repeatedcv", "write '10x10-fold'"),
    "statsmodels": ("plan recall --value 0.8 --half-width 0.05", "--width 0.1"),
    "yardstick, measure": ("evaluate a.csv --truth label --predicted guess --measure detection_rate", "tp / n"),
    "a slip": ("evaluate a.csv --tresh 0.3", "did you mean --threshold?"),
    "a slip in another library's word": ("evaluate a.csv --sample-wieght w", "did you mean --weight?"),
}


@pytest.mark.parametrize("case", COMMAND_LINES)
def test_other_words_on_the_command_line(case, run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    theirs, ours = COMMAND_LINES[case]
    same = ours.split()[0] in COMMANDS
    status, out, err = run(*shlex.split(theirs), *(["--json", "-"] if same else []))
    if same:
        assert (status, err) == (0, "")
        assert json.loads(out) == json.loads(run(*shlex.split(ours), "--json", "-")[1])
    else:
        assert status == 2
        assert ours in err.partition("Hint: ")[2]


def test_a_flag_far_from_all_gets_no_name_that_was_not_meant(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for words in ("evaluate a.csv --foo", "foo", "measures foo"):
        assert "did you mean" not in run(*words.split())[2]


def test_an_estimator_is_judged_by_its_classes_and_scores():
    iris, kinds = load_iris(return_X_y=True)
    margins = LinearSVC().fit(iris, kinds)
    seen = heldout.evaluate(margins, iris, kinds)
    assert seen["accuracy"].value == margins.score(iris, kinds)
    columns = heldout.evaluate(kinds, margins.predict(iris), score=margins.decision_function(iris))
    assert seen["macro roc_auc"] == columns["macro roc_auc"]
    named = LinearSVC().fit(X, WORDS)
    spam, ham = (heldout.evaluate(named, X, WORDS, positive=label)["roc_auc"].value for label in ("spam", "ham"))
    wanted = heldout.evaluate(WORDS, score=named.decision_function(X), positive="spam", threshold=0)["roc_auc"].value
    assert spam == ham == wanted
    # A class that no case has, and one that the model has never seen.
    assert heldout.evaluate(MODEL, X[Y == 1], Y[Y == 1]).labels == (0, 1)
    strange = np.where(np.arange(N) < 5, 7, Y)
    assert heldout.evaluate(MODEL, X, strange).labels == (0, 1, 7)
    lower = heldout.evaluate(MODEL, X, Y, threshold=0.2)
    assert (lower.threshold, lower["recall"].value) == (0.2, (PROBABILITY[Y == 1, 1] >= 0.2).mean())


def test_scores_in_the_place_of_predictions_are_told_and_labels_stay_labels():
    assert any("taken as scores" in note for note in heldout.evaluate(Y, PROBABILITY[:, 1]).notes)
    for labels in (Y, Y.astype(float), Y.tolist(), WORDS):
        assert heldout.evaluate(labels, labels).scores is None


def test_every_word_is_declared_once_for_an_argument():
    for own, others in SYNONYMS.items():
        assert own not in others
        assert len(set(others)) == len(others)
    doors = [one for name in heldout.__all__ if inspect.isfunction(one := getattr(heldout, name))]
    arguments = {name for door in doors for name in inspect.signature(door).parameters}
    unused = {*SYNONYMS} - arguments - {"learners", "maximize"}
    assert not unused
    # Words for arguments that some functions have, answered in the others.
    of_some = {"n_repeats", "repeats", "verbose"}
    assert {*ANSWERS} & {other for others in SYNONYMS.values() for other in others} == of_some


def test_there_are_forty_calls_and_more():
    assert len({*SAME, *NAMED, *COMMAND_LINES}) >= 40
