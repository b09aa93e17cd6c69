"""Evidence at the front doors: what is refused at once, what counts as nothing, and what a choice from bins claims."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import heldout
from heldout import Evidence, count, evaluate
from heldout.engines.bins import bins_of
from heldout.errors import HeldoutError, LabelError, OptionError, ValuesError
from heldout.evidence.counted import Counted
from heldout.intervals.area_bounds import area_bounds, bounds_note, bounds_words

# A threshold or, of several classes, a cost: which of the two comes is not for the type checker here.
choose_threshold: Any = heldout.choose_threshold

RNG = np.random.default_rng(5)
N = 3000
TRUTH = (RNG.random(N) < 0.4).astype(np.int64)
SCORES = np.clip(RNG.normal(0.4 + 0.2 * TRUTH, 0.2), 0, 1)


def evidence() -> Evidence:
    return Evidence().update([0, 1, 1, 0], score=[0.1, 0.9, 0.4, 0.6])


def coarse(scores: Any, most: int) -> Counted:
    whole = count(TRUTH, score=scores).counted
    assert whole.scores is not None
    bins = bins_of(scores, TRUTH, 2, most=most)
    return replace(whole, scores=replace(whole.scores, bins=(bins,)))


@pytest.mark.parametrize("form", ["evidence", "counted", "confusion", "file"])
def test_an_engine_beside_evidence_is_refused(form, tmp_path):
    given: Any = evidence()
    given.save(tmp_path / "week.evidence")
    forms = {"counted": given.counted, "confusion": given.confusion, "file": tmp_path / "week.evidence"}
    for engine in ("memory", "stream", "duckdb"):
        with pytest.raises(OptionError, match="counted evidence has none"):
            evaluate(forms.get(form, given), engine=engine)


def test_a_choice_from_evidence_takes_nothing_that_is_about_rows():
    given = evidence()
    for option in ({"score": "p"}, {"truth": "y"}, {"weight": [1.0]}, {"group": "g"}):
        with pytest.raises(OptionError, match="Counted evidence was given together with"):
            choose_threshold(given, by="youden", **option)
    with pytest.raises(OptionError, match="counted evidence has none"):
        choose_threshold(given, by="youden", engine="stream")
    with pytest.raises(OptionError, match="counted as those of 1, and 0 was named"):
        choose_threshold(given, by="youden", positive=0)
    with pytest.raises(OptionError, match="counted with the labels 0, 1"):
        choose_threshold(given, by="youden", labels=[0, 2])
    assert choose_threshold(given, by="youden", positive="1", labels=[1, 0]).threshold == 0.9


def test_labels_are_checked_when_they_are_named():
    with pytest.raises(LabelError, match="named twice: 'a'"):
        Evidence(labels=["a", "a"])
    with pytest.raises(LabelError, match="'c' is not among the labels"):
        Evidence(labels=["a", "b"], positive="c")
    with pytest.raises(LabelError, match="empty"):
        Evidence(labels=[])
    # Text on the command line may name numbers.
    assert Evidence(labels=["0", "1"], positive=1).update([0, 1], score=[0.1, 0.9]).n == 2


EMPTY: dict[str, dict[str, Any]] = {
    "lists": {"data": [], "predicted": []},
    "named lists": {"truth": [], "predicted": []},
    "scores": {"data": [], "score": []},
    "arrays": {"data": np.zeros(0, dtype=np.int64), "score": np.zeros(0)},
    "a score per class": {"data": np.zeros(0, dtype=np.int64), "score": np.zeros((0, 2))},
    "a frame": {"data": pl.DataFrame({"truth": [1], "score": [0.5]}).head(0), "score": "score"},
    "a frame of guesses": {"data": pl.DataFrame({"truth": [1], "score": [0.5]}).head(0)},
    "a dictionary": {"data": {"truth": [], "predicted": []}},
    "slices and weights": {"data": [], "predicted": [], "weight": [], "slices": {"sex": []}},
}


@pytest.mark.parametrize("form", EMPTY)
def test_an_empty_batch_counts_as_no_rows(form):
    fresh = Evidence().update(**EMPTY[form])
    assert fresh.n == 0
    with pytest.raises(ValuesError, match=r"no cases|nothing"):
        _ = fresh.counted
    assert fresh.update([0, 1], [0, 1]).n == 2
    grown = evidence()
    assert grown.update(**EMPTY[form]) == evidence()


def test_a_column_that_is_empty_beside_one_that_is_not_is_refused():
    for batch in ({"data": [1], "predicted": []}, {"data": ["a", "b"], "predicted": []}, {"data": [], "score": [0.5]}):
        with pytest.raises(HeldoutError):
            _ = Evidence().update(**batch).counted


def test_a_batch_that_does_not_tell_the_positive_class_names_the_way_to_say_it():
    seen = Evidence().update(["cat"] * 3, score=[0.1, 0.2, 0.3])
    with pytest.raises(OptionError, match="not known which of cat, dog") as stopped:
        seen.update(["cat", "dog"], score=[0.1, 0.8])
    assert "Evidence(labels=['cat', 'dog'], positive=…)" in stopped.value.hint
    assert "--" not in stopped.value.hint
    with pytest.raises(LabelError) as alone:
        _ = seen.counted
    assert "Evidence(labels=…, positive=…)" in alone.value.hint


def test_evidence_is_not_added_to_itself():
    one, two = evidence(), evidence()
    with pytest.raises(OptionError, match="the same 4 rows twice"):
        _ = one + one
    with pytest.raises(OptionError, match="twice"):
        sum([one, one])
    assert (one + two).n == 8
    assert sum([one, two]) == one + two


def test_a_threshold_from_bins_says_so_and_claims_what_is_certain():
    chosen = choose_threshold(coarse(SCORES, 64), by="youden", current=0.3, replicates=20)
    said = " ".join(str(chosen).split())
    assert "The scores were counted in" in said
    assert "bins up to 0.032 wide" in said
    assert json.loads(chosen.to_json())["notes"] == list(chosen.notes)
    called = chosen.threshold <= SCORES
    assert chosen.confusion.matrix[:, 1].tolist() == [int(np.sum(called & (code == TRUTH))) for code in (0, 1)]
    # Every threshold in the range that is claimed gives the same answers.
    for threshold in (np.nextafter(chosen.above, np.inf), (chosen.above + chosen.threshold) / 2, chosen.threshold):
        assert chosen.above < threshold
        assert np.array_equal(threshold <= SCORES, called)
    # 0.3 lies inside a bin, so the counts are those at an edge, which is shown.
    current = next(other for other in chosen.alternatives if other.name.startswith("the current threshold"))
    assert current.name == "the current threshold, nearest edge"
    assert current.threshold == 0.3125
    answers = current.threshold <= SCORES
    wanted = answers[TRUTH == 1].mean() - answers[TRUTH == 0].mean()
    assert current.estimate.value == pytest.approx(wanted, abs=1e-12)


def test_the_range_of_a_threshold_from_bins_ends_above_the_bin_below():
    scores = np.concatenate([np.linspace(0.01, 0.02, N // 2), np.linspace(0.81, 0.82, N // 2)])
    truth = np.repeat([0, 1], N // 2)
    whole = count(truth, score=scores).counted
    assert whole.scores is not None
    held = replace(whole, scores=replace(whole.scores, bins=(bins_of(scores, truth, 2, most=16),)))
    chosen = choose_threshold(held, by="youden", replicates=20)
    assert 0.02 <= chosen.above < chosen.threshold <= 0.81
    assert "predict the same" in str(chosen)


def test_a_threshold_from_distinct_scores_says_nothing_of_bins():
    chosen = choose_threshold(count(TRUTH, score=SCORES), by="youden", replicates=20)
    assert chosen.notes == ()
    assert chosen.above == SCORES[chosen.threshold > SCORES].max()
    assert "bins" not in str(chosen)


def test_areas_that_are_certain_are_called_exact():
    # Bins that hold positives alone or negatives alone leave nothing open.
    scores = np.where(TRUTH == 1, 0.75, 0.25) + RNG.random(N) / 1000
    result = evaluate(coarse(scores, 16))
    assert result.scores is not None
    note = bounds_note(result.scores.evidence)
    assert note.startswith("scores were counted in")
    assert note.endswith("areas under curves are exact")
    assert "certain to" not in " ".join(result.notes)
    assert bounds_words(area_bounds(result.scores.evidence)) == "areas under curves are exact"


@pytest.mark.parametrize("options", [{}, {"group": "team"}, {"fold": "part"}, {"slices": ["sex"]}])
@pytest.mark.parametrize("label", [1, "no"])
def test_one_class_alone_is_one_class_for_every_engine(tmp_path, options, label):
    n = 60
    path = tmp_path / "one.csv"
    pl.DataFrame(
        {
            "truth": [label] * n,
            "predicted": [label] * n,
            "score": np.linspace(0, 1, n),
            "team": np.arange(n) // 7,
            "part": np.arange(n) % 3,
            "sex": ["f", "m"] * (n // 2),
        }
    ).write_csv(path)
    found: dict[str, Any] = {}
    for engine in ("memory", "stream", "duckdb"):
        result = evaluate(path, truth="truth", predicted="predicted", score="score", engine=engine, **options)
        assert result.confusion.labels == (label,)
        found[engine] = json.loads(result.to_json())
    # What is not kept with counts: the fingerprint of the rows, and rules that look at them.
    kept = set(found["memory"]) - {"fingerprint", "passed", "not_applicable", "findings"}
    memory, stream = ({name: found[engine][name] for name in kept} for engine in ("memory", "stream"))
    # Sums over folds are added in another order than those over rows.
    for row, expected in zip(stream.pop("estimates"), memory.pop("estimates"), strict=True):
        numbers = [name for name, value in expected.items() if isinstance(value, float)]
        assert [row.pop(name) for name in numbers] == pytest.approx(
            [expected.pop(name) for name in numbers], rel=1e-12, abs=1e-15
        )
        assert row == expected
    assert stream == memory
