"""What calling a class more readily does to its measures, against simulated thresholds."""

import numpy as np
import pytest
from scipy import stats

from heldout.evidence import Confusion
from heldout.intervals.target import Subject
from heldout.intervals.threshold_shift import MOST, shift_ratio
from heldout.measures.catalogue import find


def ratio_of(name, table):
    return shift_ratio(Subject(find(name), Confusion.of(table, ["+", "-"]), "class"))


@pytest.mark.parametrize(("apart", "share"), [(1.4, 0.3), (2.0, 0.5), (2.5, 0.1)])
@pytest.mark.parametrize("name", ["recall", "f1", "specificity"])
def test_it_is_what_thresholds_drawn_at_random_show(apart, share, name):
    """Log odds of two normal classes, cut where samples of n cases put the odds of the class."""
    n = 200_000
    rng = np.random.default_rng(3)
    odds = stats.norm.rvs(np.log(share / (1 - share)), np.sqrt(1 / (n * share * (1 - share))), 4_000, random_state=rng)
    found = stats.norm.sf((-odds - apart**2 / 2) / apart)
    alarms = stats.norm.sf((-odds + apart**2 / 2) / apart)
    values = {
        "recall": found,
        "specificity": 1 - alarms,
        "f1": 2 * share * found / (share * found + share + (1 - share) * alarms),
    }[name]
    middle = [
        [share * found.mean(), share * (1 - found.mean())],
        [(1 - share) * x for x in (alarms.mean(), 1 - alarms.mean())],
    ]
    table = np.round(np.array(middle) * n).astype(int)
    counted = Subject(find(name), Confusion.of(table, ["+", "-"]), "class").variance[0]
    assert ratio_of(name, table)[0] == pytest.approx(values.var() / counted, rel=0.12)


def test_recall_moves_more_than_f():
    table = [[12, 18], [10, 60]]
    assert ratio_of("recall", table)[0] > 3 * ratio_of("f1", table)[0] > 0


def test_scores_that_tell_nothing_count_as_the_most_and_empty_classes_as_nothing():
    assert ratio_of("recall", [[25, 25], [25, 25]])[0] == MOST
    assert np.isfinite(ratio_of("recall", [[0, 0], [0, 50]])).all()
    assert ratio_of("recall", [[500, 0], [0, 500]])[0] < 0.05


def test_it_depends_on_shares_alone_where_there_are_many_cases():
    small, large = (ratio_of("f1", (np.array([[120, 180], [100, 600]]) * times).tolist()) for times in (10, 1000))
    assert small == pytest.approx(large, rel=0.02)


def test_a_measure_of_two_classes_has_the_shift_of_its_one_threshold_and_of_more_classes_none():
    two = Confusion.of([[120, 180], [100, 600]], ["+", "-"])
    moved = [float(shift_ratio(Subject(find("f1"), two, axis))) for axis in ("macro", "weighted")]
    turned = Confusion.of([[600, 100], [180, 120]], ["-", "+"])
    assert 0 < float(shift_ratio(Subject(find("matthews"), two, "table"))) < moved[0] < 0.3
    assert float(shift_ratio(Subject(find("f1"), turned, "macro"))) == pytest.approx(moved[0])
    three = Confusion.of([[20, 5, 5], [5, 20, 5], [5, 5, 20]], ["a", "b", "c"])
    assert shift_ratio(Subject(find("f1"), three, "macro")) == 0
    assert (shift_ratio(Subject(find("f1"), three, "class")) > 0).all()
