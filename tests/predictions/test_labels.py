"""How the labels of truth and prediction come together, and which slips a reader is told of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import heldout
from heldout.engines.memory import STRETCH
from heldout.predictions.label_encoding import encode
from heldout.predictions.positive_class import look_alike, usual_positive
from heldout.threads import use_threads


def evaluate(truth, predicted, **options):
    """An evaluation of one measure: these tests are about labels."""
    return heldout.evaluate(truth, predicted, measures="accuracy", **options)


@pytest.mark.parametrize(
    ("truth", "predicted", "labels", "matrix"),
    [
        ([1, 0, 1], ["1", "0", "0"], (0, 1), [[1, 0], [1, 1]]),
        (["1", "0", "1"], [1, 0, 0], ("0", "1"), [[1, 0], [1, 1]]),
        ([1, 0, 1], ["1.0", "0.0", "0"], (0, 1), [[1, 0], [1, 1]]),
        # Two spellings of one class in the prediction are one class.
        ([1, 0, 1], ["1", "0", "1.0"], (0, 1), [[1, 0], [0, 2]]),
        ([-1, 1], ["-1", "+1"], (-1, 1), [[1, 0], [0, 1]]),
        ([True, False, True], [1, 0, 0], (False, True), [[1, 0], [1, 1]]),
        ([1, 0, 1], [True, False, False], (0, 1), [[1, 0], [1, 1]]),
        ([1, 1, 1], [True, False, False], (0, 1), [[0, 0], [2, 1]]),
        (["1", "1"], [True, False], ("0", "1"), [[0, 0], [1, 1]]),
        ([True, False], ["True", "False"], (False, True), [[1, 0], [0, 1]]),
        ([True, False], ["true", "false"], (False, True), [[1, 0], [0, 1]]),
        (["TRUE", "TRUE"], [True, False], ("FALSE", "TRUE"), [[0, 0], [1, 1]]),
        (["true", "true"], [True, False], ("false", "true"), [[0, 0], [1, 1]]),
        # Classes that the truth never holds are written as the truth writes its own.
        ([0, 1], ["1", "2"], (0, 1, 2), [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        (["0", "1"], [1, 2], ("0", "1", "2"), [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        (np.array(["0", "1"]), pd.Categorical([1, 2]), ("0", "1", "2"), [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
    ],
    ids=str,
)
def test_labels_that_differ_only_in_type_are_joined_and_it_is_said(truth, predicted, labels, matrix):
    seen = evaluate(truth, predicted)
    assert (seen.labels, seen.confusion.matrix.tolist()) == (labels, matrix)
    assert [type(label) for label in seen.labels] == [type(label) for label in labels]
    assert any("labels of different types were joined" in note for note in seen.notes)


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [
        (["yes", "no"], [1, 0]),
        ([1, 0], ["yes", "no"]),
        (["True", "maybe"], [True, False]),
        ([True, False], [1, 2]),
        ([True, False], ["1", "x"]),
        # 1 could be either.
        (["0", "1", "1.0"], [0, 1, 1]),
        (["01", "02"], [1, 2]),
    ],
    ids=str,
)
def test_labels_that_cannot_be_joined_are_refused(truth, predicted):
    with pytest.raises(heldout.HeldoutError, match="labels of different types") as refused:
        heldout.count(truth, predicted)
    assert repr(truth[0]) in refused.value.what
    assert repr(predicted[0]) in refused.value.what


def test_only_labels_that_occur_are_named_in_the_error():
    with pytest.raises(heldout.HeldoutError, match=r"prediction has 7, 4000\."):
        heldout.count(["a", "b"], np.array([7, 4000]))


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("spam", "Spam", True),
        ("spam", " spam", True),
        ("big  cat", "big cat", True),
        ("e\u0301t", "\u00e9t", True),
        ("a\u200bb", "ab", True),
        ("1", "1.0", True),
        ("straße", "STRASSE", True),
        ("1", "10", False),
        ("a", "b", False),
        ("01", "1", True),
    ],
)
def test_labels_that_look_alike_are_pointed_out(first, second, alike):
    assert look_alike([first, second]) == ([(first, second)] if alike else [])
    notes = evaluate([first, second], [second, first]).notes
    assert any("look alike" in note for note in notes) is alike


def test_a_difference_that_nobody_sees_is_spelled_out():
    (note,) = evaluate(["e\u0301", "\u00e9"], ["e\u0301", "\u00e9"]).notes
    assert r"'e\u0301'" in note
    assert r"'\xe9'" in note


def test_many_look_alikes_take_few_lines():
    labels = [f"c{i}" for i in range(50)] + [f"C{i}" for i in range(50)]
    notes = evaluate(labels, labels).notes
    assert len(notes) == 4
    assert notes[-1].startswith("47 more pairs")


@pytest.mark.parametrize("label", ["NA", "nan", "", "?", "None"])
def test_text_for_a_missing_value_is_a_class_and_it_is_said(label):
    seen = evaluate(["a", label], ["a", "a"])
    assert set(seen.labels) == {"a", label}
    assert [note for note in seen.notes if "looks like a missing value" in note]


def test_no_label_in_common_is_said():
    seen = evaluate(["Iris-setosa", "Iris-virginica"], ["setosa", "virginica"])
    assert seen["accuracy"].value == 0
    assert any("no label in common" in note for note in seen.notes)
    assert evaluate(["a", "b"], ["b", "b"]).notes == ()
    assert evaluate(["a"], ["b"]).notes == (), "one case may simply be wrong"


def test_a_label_of_any_length_takes_little_room_in_words():
    long = "x" * 10_000
    notes = evaluate([long, long + " ", "y"], ["y", "z", "z"]).notes
    assert 0 < sum(map(len, notes)) < 500
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count([long, "y"], [1, 2])
    assert len(str(refused.value)) < 500


GIVEN = [
    (["a", "b"], ["b", "a"], ("b", "a")),
    (["a", "b"], ["z", "b", "a"], ("z", "b", "a")),
    (["a", "b"], np.array(["b", "a"]), ("b", "a")),
    (["a", "b"], (label for label in "ba"), ("b", "a")),
    ([0, 1], ["1", "0"], (1, 0)),
    ([0, 1], ["1", "0", "2"], (1, 0, 2)),
    ([0, 1], [1.0, 0.0], (1, 0)),
    ([0, 1], np.array([1, 0]), (1, 0)),
    (["0", "1"], [1, 0, 2], ("1", "0", "2")),
    ([True, False], ["True", "False"], (True, False)),
    ([True, False], ["true", "false"], (True, False)),
    ([0, 9], [9, 0], (9, 0)),
    (["1.0", "1"], ["1", "1.0"], ("1", "1.0")),
]


@pytest.mark.parametrize(("values", "given", "labels"), GIVEN, ids=[str(i) for i in range(len(GIVEN))])
def test_labels_set_the_order_and_may_add_classes(values, given, labels):
    seen = heldout.count(values, values, labels=given)
    assert seen.labels == labels
    assert [type(label) for label in seen.labels] == [type(label) for label in labels]
    size = len(labels)
    expected = np.zeros((size, size), dtype=int)
    for value in values:
        expected[labels.index(value), labels.index(value)] += 1
    assert seen.matrix.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a"], "leave out classes that occur: 'b'"),
        (["a", "b", "a"], "named twice: a"),
        ("ab", "must be a list"),
        (5, "must be a list"),
        (["a", "b", None], "None"),
        (["a", "b", ["c"]], "a list"),
        ([], "leave out classes"),
    ],
    ids=str,
)
def test_labels_that_do_not_fit_are_refused(given, said):
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count(["a", "b"], ["a", "b"], labels=given)
    assert said in refused.value.what


def test_a_label_named_as_text_and_as_a_number_is_named_twice():
    with pytest.raises(heldout.HeldoutError, match="named twice: 1"):
        heldout.count([0, 1], [0, 1], labels=["1", 1, 0])


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["no", "yes"], "yes"),
        (["Yes", "No"], "Yes"),
        ([0, 1], 1),
        ([-1, 1], 1),
        ([False, True], True),
        (["tested_negative", "tested_positive"], "tested_positive"),
        (["ham", "spam"], "spam"),
        (["cat", "dog"], None),
        ([1, 2], None),
        (["no", "yes", "maybe"], None),
        (["yes"], None),
    ],
    ids=str,
)
def test_the_positive_class_is_guessed_only_from_usual_pairs(labels, positive):
    assert usual_positive(labels) == positive
    assert evaluate(labels, labels).positive == positive


def test_the_positive_class_may_be_given_as_text():
    seen = evaluate([1, 2, 2], [1, 2, 1], positive="2")
    assert seen.positive == 2
    assert seen["recall"].value == 0.5
    with pytest.raises(heldout.HeldoutError, match="'9' is not among the labels: 1, 2"):
        evaluate([1, 2], [1, 2], positive="9")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_cases_are_cases(n):
    seen = evaluate(["a", "b", "b"][:n], ["a", "a", "b"][:n])
    assert seen.n == n
    assert seen["accuracy"].value == [1, 0.5, 2 / 3][n - 1]
    assert str(seen)
    assert evaluate(["a"] * n, ["a"] * n)["accuracy"].value == 1


@pytest.mark.parametrize("classes", [(-1, 1), (0, 2), (7, 300), (-5, 0, 5)], ids=str)
def test_numbers_between_the_labels_are_no_classes_beside_scores(classes):
    truth = np.array(classes * 3)
    predicted = np.roll(truth, -1)
    predicted[:4] = truth[:4]
    shares = np.random.default_rng(5).dirichlet(np.ones(len(classes)), len(truth))
    for score in (shares, shares[:, 1])[: 4 - len(classes)]:
        seen = heldout.evaluate(truth, predicted, score=score, positive=classes[1] if len(classes) == 2 else None)
        assert seen.labels == classes
        assert seen["accuracy"].value == np.mean(truth == predicted)
        area = seen.get("roc_auc", class_=classes[1]).value
        assert area == pytest.approx(roc_auc_score(truth == classes[1], shares[:, 1]))


def test_no_case_is_refused():
    nothing: list[str] = []
    for empty in (nothing, np.array(nothing), np.array([], dtype="U2"), pd.Series([], dtype=object)):
        with pytest.raises(heldout.HeldoutError, match="There are no cases"):
            heldout.count(empty, empty)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_whole_numbers_of_every_type_come_back_as_they_were(kind):
    ends, rng = np.iinfo(kind), np.random.default_rng(1)
    lows = (ends.min, ends.min + 1, 0, -3000, ends.max - 200, ends.max - 60_000)
    spans = [(low, span) for low in lows for span in (1, 200, 255, 256, 4095, 60_000)]
    fitting = [(low, span) for low, span in spans if ends.min <= low and low + span <= ends.max]
    given = [[low + int(step) for step in rng.integers(0, span + 1, max(300, span // 2))] for low, span in fitting]
    coded = [encode(np.array(values, dtype=kind), "truth") for values in given]
    back = [[one.labels[code] for code in (one.codes.astype(np.int64) - one.offset).tolist()] for one in coded]
    assert back == given


def test_labels_at_the_end_of_64_bits_are_labels():
    least = -(2**63)
    result = heldout.evaluate([least, least + 1, None, least], [least] * 4, missing="drop")
    assert result.labels == (least, least + 1)
    assert result["accuracy"].value == pytest.approx(2 / 3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["bytes", "wide", "signed", "shared strings", "separate strings"])
def test_any_number_of_threads_counts_the_same(kind, weighted):
    n = 2 * STRETCH + 12_345
    random = np.random.default_rng(4)
    codes = random.integers(0, 7, n), random.integers(0, 7, n)
    names = np.array([f"class {code}" for code in range(7)], dtype=object)
    truth, predicted = (
        {
            "bytes": lambda column: column,
            "wide": lambda column: column * 50,
            "signed": lambda column: column - 3,
            "shared strings": lambda column: names[column],
            "separate strings": lambda column: pl.Series(names[column].tolist()),
        }[kind](column)
        for column in codes
    )
    weight = random.random(n) if weighted else None
    seen = []
    for threads in (1, 3):
        with use_threads(threads):
            seen.append(heldout.count(truth, predicted, weight=weight))
    expected = np.zeros((7, 7))
    np.add.at(expected, codes, 1.0 if weight is None else weight)
    np.testing.assert_allclose(seen[0].matrix, expected, rtol=0 if weight is None else 1e-9)
    np.testing.assert_array_equal(seen[0].matrix, seen[1].matrix)
