"""For each rule about evaluations: data on which it fires, data on which it passes, and data it cannot look at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

import heldout
from heldout.results.evaluation import Evaluation


@dataclass(frozen=True)
class Case:
    """Evaluations on which a rule fires and passes; `silent` is one it cannot look at, and `reason` why."""

    fires: Callable[[], Evaluation]
    passes: Callable[[], Evaluation]
    silent: Callable[[], Evaluation] | None = None
    reason: str = ""


def of_matrix(*rows: list[int], labels: tuple[str, ...] = ("no", "yes"), **options) -> Evaluation:
    return heldout.evaluate(matrix=list(rows), labels=labels, **options)


@lru_cache(maxsize=1)
def ranked(n: int = 400, share: float = 0.3, apart: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Truth, and the probability that it was drawn with: calibrated scores of a good model."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    value = rng.normal(size=n) + apart * truth
    odds = np.log(share / (1 - share)) + apart * value - apart**2 / 2
    return truth, 1 / (1 + np.exp(-odds))


def scored(**options) -> Evaluation:
    truth, score = ranked()
    return heldout.evaluate(truth, score=score, **options)


def needle(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """One positive in a hundred, ranked well, but among ten times as many negatives."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([1, 0], [60, 5940])
    return truth, rng.normal(size=6000) + 1.8 * truth


def best_threshold() -> float:
    """The threshold with the largest F1 on the cases themselves."""
    truth, score = ranked()
    called = score[:, None] >= score[None, :]
    hits = (called & (truth == 1)[:, None]).sum(axis=0)
    return float(score[int((2 * hits / (called.sum(axis=0) + truth.sum())).argmax())])


def of_file(text: str, **options) -> Evaluation:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text(text, encoding="utf-8")
        return heldout.evaluate(path, **options)


def visits(patients: int, each: int) -> str:
    lines = [f"{at % 2},{(at + at // 7) % 2},p{at // each}" for at in range(patients * each)]
    return "\n".join(["truth,predicted,patient", *lines])


def grouped(groups: int) -> Evaluation:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 240)
    called = np.where(rng.random(240) < 0.8, truth, 1 - truth)
    return heldout.evaluate(truth, called, group=np.arange(240) % groups)


def weighted(spread: float) -> Evaluation:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 200)
    called = np.where(rng.random(200) < 0.8, truth, 1 - truth)
    return heldout.evaluate(truth, called, weight=np.exp(spread * rng.normal(size=200)))


def in_order(stay: float, n: int = 400) -> Evaluation:
    """Rows in the order of time, whose error stays as it was with a probability, and is drawn anew otherwise."""
    rng = np.random.default_rng(6)
    truth, wrong = rng.integers(0, 2, n), rng.random(n) < 0.2
    for at in np.flatnonzero(rng.random(n - 1) < stay) + 1:
        wrong[at] = wrong[at - 1]
    return heldout.evaluate(truth, np.where(wrong, 1 - truth, truth))


MISS = {("yes", "no"): 10, ("no", "yes"): 1}
MISS_1 = {(1, 0): 10, (0, 1): 1}


def separated(n: int) -> Evaluation:
    return heldout.evaluate(np.arange(n) % 2, np.arange(n) % 2)


def overconfident() -> Evaluation:
    truth, score = ranked()
    return heldout.evaluate(truth, score=1 / (1 + ((1 - score) / score) ** 4))


def certain(wrong: int) -> Evaluation:
    truth, score = ranked()
    said = score.copy()
    said[np.flatnonzero(truth == 1)[:wrong]] = 0.0
    return heldout.evaluate(truth, score=said)


def mixed_up() -> Evaluation:
    truth, score = ranked()
    other = ranked.__wrapped__(seed=7)[1]
    return heldout.evaluate(truth, (other >= 0.5).astype(int), score=score)


def three_classes(called: list[str]) -> Evaluation:
    return heldout.evaluate(["a", "b", "c"] * 20, called * 20)


def on_training_cases() -> Evaluation:
    """Judged on the cases it was trained on, which allows no interval."""
    from sklearn.naive_bayes import GaussianNB

    truth, score = ranked()
    seen = heldout.validate(GaussianNB(), score[:, None], truth, plan="resubstitution")
    assert isinstance(seen, heldout.Validation)
    return seen.evaluation


CASES = {
    "H001": Case(
        lambda: of_matrix([9990, 0], [10, 0]),
        lambda: of_matrix([90, 10], [20, 80]),
        lambda: heldout.evaluate(["a"] * 5, ["a"] * 5),
        "there is one class only",
    ),
    "H002": Case(
        lambda: of_matrix([9990, 10], [90, 10]),
        lambda: of_matrix([890, 10], [10, 90]),
        lambda: of_matrix([90, 10], [20, 80]),
        "no class with 10 cases is 4 times as rare as the commonest",
    ),
    "H003": Case(
        lambda: heldout.evaluate(needle()[0], score=needle()[1], threshold=2.0),
        scored,
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no ROC area and average precision of a class",
    ),
    "H004": Case(
        lambda: heldout.evaluate(ranked()[0], score=1 - ranked()[1]),
        scored,
        lambda: of_matrix([90, 10], [20, 80]),
        "there is no ROC area of a class",
    ),
    "H005": Case(
        lambda: of_matrix([18, 1], [0, 6], method="normal"),
        lambda: of_matrix([180, 60], [60, 160], method="normal", measures=["accuracy", "recall"]),
        lambda: of_matrix([18, 1], [0, 6]),
        "no normal interval was asked for",
    ),
    "H006": Case(lambda: of_matrix([90, 1], [2, 7]), lambda: of_matrix([90, 10], [20, 80])),
    "H007": Case(
        lambda: three_classes(["a", "b", "b"]),
        lambda: three_classes(["b", "c", "a"]),
        lambda: heldout.evaluate(["a"] * 5, ["a"] * 5),
        "there is one class only",
    ),
    "H008": Case(
        lambda: three_classes(["a", "b", "b"]),
        lambda: three_classes(["b", "c", "a"]),
        lambda: heldout.evaluate(["a", "b"], ["a", "a"], measures=["accuracy"]),
        "no macro average of precision, recall or F1 was asked for",
    ),
    "H009": Case(
        lambda: scored(threshold=best_threshold()),
        lambda: scored(threshold=0.3),
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no scores",
    ),
    "H010": Case(
        lambda: of_matrix([90, 10], [20, 80], costs={("yes", "no"): 3, ("no", "yes"): 3}),
        lambda: of_matrix([90, 10], [20, 80], costs=MISS),
        lambda: of_matrix([90, 10], [20, 80]),
        "no costs were given",
    ),
    "H011": Case(
        lambda: scored(costs=MISS_1),
        lambda: scored(costs=MISS_1, threshold=1 / 11),
        lambda: of_matrix([90, 10], [20, 80], costs=MISS),
        "there are no scores whose threshold could follow the costs",
    ),
    "H012": Case(
        overconfident,
        scored,
        lambda: heldout.evaluate(needle()[0], score=needle()[1], threshold=2.0),
        "the scores are no probabilities",
    ),
    "H013": Case(
        lambda: of_matrix([14, 4], [5, 7]),
        lambda: of_matrix([90, 10], [20, 80]),
        lambda: of_matrix([9990, 0], [10, 0]),
        "it is no more accurate than the commonest class on these cases",
    ),
    "H014": Case(
        lambda: of_matrix([90, 10], [8, 12]),
        lambda: of_matrix([900, 100], [80, 320]),
        on_training_cases,
        "there is no interval to look at",
    ),
    "H015": Case(
        lambda: of_file(visits(60, 5)),
        lambda: of_file("truth,predicted,age\n1,1,30\n0,1,40\n0,0,30\n"),
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no columns besides those that were given",
    ),
    "H016": Case(
        lambda: of_matrix([450, 50], [30, 70], costs={("yes", "no"): 100, ("no", "yes"): 1}),
        lambda: of_matrix([450, 50], [30, 70], costs={("yes", "no"): 2, ("no", "yes"): 1}),
        lambda: of_matrix([90, 10], [20, 80]),
        "no costs were given",
    ),
    "H017": Case(
        lambda: heldout.evaluate(ranked()[0], score=np.round(ranked()[1] * 4) / 4),
        scored,
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no scores",
    ),
    "H018": Case(
        lambda: separated(200),
        scored,
        lambda: separated(40),
        "there are fewer than 100 cases, or fewer than 10 of a class",
    ),
    "H019": Case(lambda: heldout.evaluate(["a"] * 6, ["a", "b"] * 3), lambda: of_matrix([90, 10], [20, 80])),
    "H020": Case(
        lambda: heldout.evaluate(np.tile(ranked()[0], 2), score=np.tile(ranked()[1], 2)),
        scored,
        lambda: heldout.evaluate(ranked()[0], score=ranked()[1], weight=np.ones(400)),
        "the cases carry weights, so how often a score stands is not counted",
    ),
    "H022": Case(lambda: certain(3), scored, lambda: of_matrix([90, 10], [20, 80]), "there are no scores"),
    "H023": Case(
        mixed_up,
        lambda: heldout.evaluate(ranked()[0], (ranked()[1] >= 0.4).astype(int), score=ranked()[1]),
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no scores",
    ),
    "H024": Case(
        lambda: grouped(6),
        lambda: grouped(60),
        lambda: of_matrix([90, 10], [20, 80]),
        "the cases do not come in groups",
    ),
    "H025": Case(
        lambda: weighted(1.5),
        lambda: weighted(0.2),
        lambda: of_matrix([90, 10], [20, 80]),
        "the cases carry no weights",
    ),
    "H026": Case(
        lambda: of_matrix([135, 15], [24, 126]),
        lambda: of_matrix([45, 6], [8, 42]),
        lambda: heldout.evaluate(["a"] * 5, ["a"] * 5),
        "there is one class only",
    ),
    "H027": Case(
        lambda: of_matrix([5, 15], [40, 140], positive="yes"),
        lambda: of_matrix([90, 10], [20, 80], positive="yes"),
        lambda: three_classes(["a", "b", "c"]),
        "no class is the positive one",
    ),
    "H028": Case(
        lambda: heldout.evaluate(["Yes", "No"] * 50, ["yes", "no"] * 50),
        lambda: of_matrix([90, 10], [20, 80]),
        lambda: heldout.evaluate(["a", "b"], ["c", "c"]),
        "there are fewer than 10 cases",
    ),
    "H029": Case(
        lambda: in_order(0.5),
        lambda: in_order(0.0),
        lambda: of_matrix([90, 10], [20, 80]),
        "there are no rows",
    ),
}
"""By code; H021 has its own among the tests of slices."""


@cache
def fired(code: str) -> Evaluation:
    """The evaluation on which a rule fires, made once."""
    return CASES[code].fires()


@cache
def passed(code: str) -> Evaluation:
    """The evaluation on which a rule passes, made once."""
    return CASES[code].passes()
