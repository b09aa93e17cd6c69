"""The data and the fitted models that all jobs share, and the figures that their answers must hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

MISS, FALSE_ALARM = 10, 1


def share_names() -> dict[str, Any]:
    """What every snippet may use: 1 is the positive class, "malignant", of which there are fewer."""
    features, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    y = 1 - benign.to_numpy()
    X_train, X_test, y_train, y_test = train_test_split(features.iloc[:, :10], y, random_state=1)
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    bayes = GaussianNB().fit(X_train, y_train)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_train, y_train)
    predicted, proba = logistic.predict(X_test), logistic.predict_proba(X_test)
    rng = np.random.default_rng(0)
    n = len(y_test)
    sex, date = (
        rng.choice(["f", "m"], n),
        pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(n) * 365 // n, "D"),
    )
    score = proba[:, 1]
    cases = pd.DataFrame({"truth": y_test, "predicted": predicted, "score": score, "sex": sex, "date": date})
    images, digit = load_digits(return_X_y=True)
    learned = GaussianNB(var_smoothing=0.1).fit(images[::2], digit[::2])
    return {
        "X_train": X_train, "X_test": X_test, "y_train": y_train, "y_test": y_test,
        "model": logistic, "logistic": logistic, "bayes": bayes, "tree": tree,
        "models": {"logistic": logistic, "bayes": bayes, "tree": tree},
        "predicted": predicted, "proba": proba, "score": score, "other": bayes.predict(X_test),
        "cases": cases, "sex": sex, "month": cases["date"].dt.month.to_numpy(),
        "test": X_test.assign(truth=y_test), "grid": {"logisticregression__C": [0.01, 1]},
        "digit": digit[1::2], "digit_proba": learned.predict_proba(images[1::2]), "digit_model": learned,
        "images": images[1::2], **_share_patients(rng), **_share_loader(X_train, y_train),
    }  # fmt: skip


def _share_patients(rng: np.random.Generator) -> dict[str, Any]:
    """A frame of numbers and words with gaps, and its classes."""
    n = 200
    age, stage = rng.integers(20, 90, n).astype(float), rng.choice(["I", "II", "III"], n)
    outcome = ((age - 55) / 15 + (stage == "III") + rng.normal(0, 1, n) > 0.3).astype(int)
    patients = pd.DataFrame({"age": age, "stage": stage, "site": rng.choice(["north", "south"], n)})
    patients.loc[rng.random(n) < 0.1, "age"] = np.nan
    patients.loc[rng.random(n) < 0.1, "stage"] = None
    return {"patients": patients, "outcome": outcome}


def _share_loader(X_train: Any, y_train: Any) -> dict[str, Any]:
    """Batches of tensors, and a step of training that returns the probabilities of its batch."""
    import torch

    scaled = torch.tensor(StandardScaler().fit_transform(X_train), dtype=torch.float32)
    batches = torch.utils.data.TensorDataset(scaled, torch.tensor(y_train))
    weights = torch.zeros(scaled.shape[1])

    def train_step(X: Any, y: Any) -> Any:
        probability = torch.sigmoid(X @ weights)
        weights.add_(X.T @ (y - probability) / len(y))
        return probability

    return {
        "loader": torch.utils.data.DataLoader(batches, batch_size=64),
        "train_step": train_step,
        "start_again": weights.zero_,
    }


def share_tensors(shared: dict[str, Any]) -> dict[str, Any]:
    """The same arrays as tensors, as a model of torch gives them."""
    import torch

    names = ("y_test", "predicted", "proba", "score", "other", "month", "digit", "digit_proba")
    tensors = {name: torch.tensor(shared[name]) for name in names}
    return {**shared, **tensors, "sex": torch.tensor((shared["sex"] == "m").astype(int))}


def find_figures(shared: dict[str, Any]) -> dict[str, list[float]]:
    """What an answer that gives a figure must show, by the plainest way there is to it."""
    truth, predicted, score = shared["y_test"], shared["predicted"], shared["score"]
    other, positives = shared["other"], shared["y_test"] == 1
    by_group = {sex: float(predicted[positives & (shared["sex"] == sex)].mean()) for sex in ("f", "m")}
    months = [float(predicted[positives & (shared["month"] == month)].mean()) for month in range(1, 13)]
    costs = [
        float(np.where(positives, MISS * (score < cut), FALSE_ALARM * (score >= cut)).mean()) for cut in {*score, 2.0}
    ]
    accuracies = [float((one.predict(shared["X_test"]) == truth).mean()) for one in shared["models"].values()]
    ranked = np.argsort(-shared["digit_proba"], axis=1)[:, :3]
    return {
        "accuracy": [float((predicted == truth).mean())],
        "recall": [float(predicted[positives].mean())],
        "roc_auc": [float(roc_auc_score(truth, score))],
        "log_loss": [float(log_loss(truth, score))],
        "matrix": [float(((truth == i) & (predicted == j)).sum()) for i in (0, 1) for j in (0, 1)],
        "cost": [min(costs)],
        "accuracies": accuracies,
        "both_accuracies": accuracies[:2],
        "difference": [accuracies[0] - accuracies[1]],
        "months": months,
        "recalls": list(by_group.values()),
        "gap": [abs(by_group["f"] - by_group["m"])],
        "cv_accuracy": [0.80],
        "cv_roc_auc": [0.90],
        "search": [_find_search(shared)],
        "epochs": _find_epochs(shared),
        "top_3": [float((ranked == shared["digit"][:, None]).any(axis=1).mean())],
        "alarm_costs": [_find_alarm_cost(truth, answers) for answers in (predicted, other)],
    }


def _find_search(shared: dict[str, Any]) -> float:
    """The cost of a case with the best setting of the grid, as the mean of five folds."""
    costs = []
    for C in shared["grid"]["logisticregression__C"]:
        learner = clone(shared["logistic"]).set_params(logisticregression__C=C)
        parts = StratifiedKFold(5).split(shared["X_train"], shared["y_train"])
        costs.append(np.mean([_find_cost(learner, shared, *part) for part in parts]))
    return float(min(costs))


def _find_cost(learner: Any, shared: dict[str, Any], train: Any, test: Any) -> float:
    X, y = shared["X_train"], shared["y_train"]
    wrong = y[test] - learner.fit(X.iloc[train], y[train]).predict(X.iloc[test])
    return float((MISS * (wrong == 1) + FALSE_ALARM * (wrong == -1)).mean())


def _find_epochs(shared: dict[str, Any]) -> list[float]:
    """The area under the ROC curve of each of two epochs; training begins anew afterwards."""
    areas = []
    for _ in range(2):
        seen = [(y.numpy(), shared["train_step"](X, y).numpy()) for X, y in shared["loader"]]
        areas.append(float(roc_auc_score(*map(np.concatenate, zip(*seen, strict=True)))))
    shared["start_again"]()
    return areas


def _find_alarm_cost(truth: Any, predicted: Any) -> float:
    missed, alarms = ((truth == 1) & (predicted == 0)).sum(), predicted == 1
    return float(((alarms & (truth == 0)).sum() + 5 * missed) / alarms.sum())
