"""Very many classes: nothing grows with their square, and what a person reads stays as short as ever."""

from __future__ import annotations

import time
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from heldout import Confusion, evaluate
from heldout.results.evaluation import Evaluation
from heldout.show.text import render_text

K = 50_000
ROWS = 3


def labelled(k: int, kind: str = "numbers") -> tuple[Any, Any]:
    """Three rows a class on average, every class at least once, four of five right."""
    rng = np.random.default_rng(k)
    truth = np.concatenate([np.arange(k), rng.integers(0, k, (ROWS - 1) * k)])
    predicted = np.where(rng.random(len(truth)) < 0.8, truth, rng.integers(0, k, len(truth)))
    if kind == "numbers":
        return truth, predicted
    names = pl.Series([f"class {place:07}" for place in range(k)])
    return names.gather(truth), names.gather(predicted)


@cache
def evaluation(k: int, kind: str = "numbers") -> Evaluation:
    return evaluate(*labelled(k, kind))


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_memory_grows_with_the_classes_and_not_with_their_square(kind):
    truth, predicted = labelled(K, kind)
    evaluate(*labelled(100, kind))
    tracemalloc.start()
    str(evaluate(truth, predicted))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A square of bits would take 6,250 bytes a class.
    assert peak < 3000 * K


def seconds(k: int) -> float:
    truth, predicted = labelled(k)
    spent = []
    for _ in range(2):
        start = time.process_time()
        str(evaluate(truth, predicted))
        spent.append(time.process_time() - start)
    return min(spent)


def test_time_grows_with_the_classes_and_not_with_their_square():
    few, many = seconds(K // 4), seconds(2 * K)
    # Eight times as many classes and rows: 64 times the time where something is done for every pair.
    assert many < 24 * few


@pytest.mark.parametrize("form", ["str", "full", "html", "markdown", "latex"])
def test_what_a_person_reads_is_no_longer_with_more_classes(form):
    def written(k: int) -> int:
        seen = evaluation(k)
        forms = {
            "str": lambda: str(seen),
            "full": lambda: render_text(seen.full_blocks()),
            "html": seen.to_html,
            "markdown": seen.to_markdown,
            "latex": seen.to_latex,
        }
        return len(forms[form]())

    assert written(K) < 1.25 * written(K // 8)


def test_a_page_is_no_longer_with_more_classes(tmp_path):
    sizes = [evaluation(k).write(tmp_path / f"{k}.html").stat().st_size for k in (K // 8, K)]
    assert sizes[1] < 1.25 * sizes[0]


def test_the_largest_classes_are_listed_and_every_other_can_be_asked_for():
    seen = evaluation(K)
    listed = {e.class_ for e in seen if e.class_ is not None}
    assert len(listed) == 1000
    totals = np.asarray(seen.confusion.truth_totals)
    assert min(totals[[seen.confusion.index(label) for label in listed]]) >= np.sort(totals)[-1000]
    assert any("1,000 largest" in note for note in seen.notes)
    rare = int(np.argmin(totals))
    asked = seen.get("recall", class_=rare)
    hits, n = int(seen.confusion.hits[rare]), int(totals[rare])
    assert asked.value == hits / n
    assert asked.n == n


def test_the_weakest_class_is_found_among_all():
    truth, predicted = (column.copy() for column in labelled(K))
    predicted[:] = truth
    # A class of few cases, far from the largest, of which none is found.
    predicted[truth == 777] = 778
    said = " ".join(str(evaluate(truth, predicted)).split())
    assert 'Weakest class: "777", with recall 0 %' in said


@pytest.mark.parametrize("extra", ["weight", "group", "fold", "slices"])
def test_weights_groups_folds_and_slices_of_many_classes_make_no_square(extra):
    k = 20_000
    rng = np.random.default_rng(1)
    truth, predicted = labelled(k)
    n = len(truth)
    every: dict[str, dict[str, Any]] = {
        "weight": {"weight": rng.integers(1, 9, n) / 4},
        "group": {"group": rng.integers(0, 500, n)},
        "fold": {"fold": rng.integers(0, 3, n)},
        "slices": {"slices": {"sex": rng.choice(["f", "m"], n)}},
    }
    given = every[extra]
    tracemalloc.start()
    seen = evaluate(truth, predicted, **given)
    str(seen)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A square of bits would take 2,500 bytes a class, and one of counts 160,000; a fold or a slice has its own.
    assert peak < 12_000 * k
    assert seen["accuracy"].value == pytest.approx(
        np.average(truth == predicted, weights=given.get("weight")), rel=1e-12
    )


def test_folds_of_many_classes_have_the_values_of_each_fold_alone():
    k = 1500
    rng = np.random.default_rng(4)
    truth, predicted = labelled(k)
    fold = rng.integers(0, 3, len(truth))
    seen = evaluate(truth, predicted, fold=fold)
    for name in ("accuracy", "macro f1", "weighted precision", "matthews", "micro recall"):
        alone = [evaluate(truth[fold == f], predicted[fold == f], labels=range(k))[name].value for f in range(3)]
        np.testing.assert_allclose(seen.per_fold(name), alone, rtol=1e-12)
    place = int(truth[0])
    alone = [
        np.mean(predicted[(fold == f) & (truth == place)] == place)
        for f in range(3)
        if ((fold == f) & (truth == place)).any()
    ]
    found = seen.per_fold(f"recall[{place}]")
    np.testing.assert_allclose(found[~np.isnan(found)], alone, rtol=1e-12)


def test_labels_that_are_named_or_of_another_type_do_not_cost_a_pass_for_each():
    k = 6000
    truth, predicted = labelled(k)
    texts = pl.Series(predicted).cast(pl.String)
    # Half of the classes are in the prediction alone, and come as text.
    few = np.where(truth % 2 == 0, truth, 0)
    start = time.process_time()
    plain = evaluate(few, predicted)
    plainly = time.process_time() - start
    start = time.process_time()
    joined = evaluate(few, texts)
    named = evaluate(few, predicted, labels=list(range(k)))
    spent = time.process_time() - start
    assert joined["accuracy"].value == plain["accuracy"].value == named["accuracy"].value
    # One pass over all labels for each of 3,000 would take far longer.
    assert spent < 40 * plainly


def test_a_million_classes_are_counted_and_found_again():
    k = 1_000_000
    rng = np.random.default_rng(8)
    truth = rng.permutation(k)
    predicted = np.where(np.arange(k) % 4 == 0, np.roll(truth, 1), truth)
    seen = evaluate(truth, predicted, measures=["accuracy", "macro recall"])
    assert seen.confusion.n_classes == k
    assert seen["accuracy"].value == seen["macro recall"].value == 0.75
    asked = seen.get("recall", class_=int(truth[1]))
    assert (asked.value, asked.n) == (1.0, 1)
    merged = seen.confusion + Confusion.of([[1, 0], [0, 2]], [k, k + 1])
    assert merged.n == k + 3
    assert merged.index(k + 1) == k + 1
