"""Several classifiers joined by id and counted where the rows are: the same evidence from every engine as from rows."""

from __future__ import annotations

import math
from itertools import combinations, count
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparisons.two_models import model_areas

import heldout
from heldout.comparisons.delong import case_placements, counted_areas, delong_counted, delong_paired
from heldout.comparisons.paired_losses import MeanMoments, case_losses
from heldout.engines.lazy.pairs import LazySide, lazy_cases
from heldout.engines.probability_sums import tally
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.evidence.joint_counts import PairCounts, Placements
from heldout.evidence.score_bins import POINT, ScoreBins
from heldout.measures.catalogue import find

LABELS = ("ja ✓", "não")
N = 240
RNG = np.random.default_rng(7)
TRUTH = RNG.random(N) < 0.4
# Few distinct scores, so that there are ties within each and between both; 0 and 1 are among them.
SCORES = [np.clip(np.round(TRUTH * weight + RNG.random(N) * (1 - weight), 1), 0, 1) for weight in (0.3, 0.2, 0.0)]
TEAM = np.arange(N) // 3


def side(name: str, frame: Any, values: np.ndarray, truth: np.ndarray = TRUTH, **more: Any) -> LazySide:
    likely = "losses" not in more
    losses = {name: moments.mean for name, moments in tally(values, truth).losses.items()} if likely else None
    bins = ScoreBins.of(values, truth.astype(int), 2, most=more.pop("most", 1 << 20))
    options: dict[str, Any] = {"score": "s", "id": "case", "positive": LABELS[1], "threshold": 0.5, "losses": losses}
    return LazySide(name, frame, LABELS, len(truth), "y", bins=bins, **(options | more))


def table(score: np.ndarray, truth: np.ndarray = TRUTH, seed: int = 0) -> pl.DataFrame:
    order = np.random.default_rng(seed).permutation(len(truth))
    columns = {"case": np.arange(len(truth)) + 5, "y": np.array(LABELS)[truth.astype(int)], "s": score}
    return pl.DataFrame({name: column[order] for name, column in columns.items()}).with_columns(
        team=pl.Series((np.arange(len(truth)) // 3)[order])
    )


@pytest.fixture(params=["polars", "duckdb", "ibis"])
def native(request):
    """How a frame of Polars becomes a lazy one of an engine."""
    if request.param == "polars":
        return lambda frame: frame.lazy()
    if request.param == "duckdb":
        import duckdb

        database = duckdb.connect()

        def registered(frame):
            name = f"t{abs(hash(frame['s'].to_numpy().tobytes()))}"
            database.register(name, frame.to_arrow())
            return database.sql(f"SELECT * FROM {name}")

        return registered
    import ibis  # type: ignore[import-untyped]

    return lambda frame: ibis.memtable(frame.to_arrow())


def joined(native: Any = None, **more: Any) -> Any:
    made = native or (lambda frame: frame.lazy())
    return lazy_cases(
        [side(f"m{at}", nw.from_native(made(table(score, seed=at))), score, **more) for at, score in enumerate(SCORES)]
    )


def test_every_engine_counts_and_sums_the_same_of_cases_joined_by_id(native):
    found = joined(native, group="team")
    answers = [(score >= 0.5).astype(int) for score in SCORES]
    assert (found.n, found.by, found.labels) == (N, "id", LABELS)
    for one, two in combinations(range(3), 2):
        assert found.pairs(one, two) == PairCounts.of(TRUTH.astype(int), answers[one], answers[two], LABELS)
    joint = found.scores
    placed = [case_placements(score, TRUTH) for score in SCORES]
    centred = [own - own[TRUTH].mean() for own in placed]
    for pair in combinations(range(3), 2):
        one, two = pair
        gap = (centred[one] - centred[two]) ** 2
        assert joint.up[pair] == pytest.approx(gap[TRUTH].sum(), rel=1e-12)
        assert joint.down[pair] == pytest.approx(gap[~TRUTH].sum(), rel=1e-12)
        assert joint.apart[pair] == int((SCORES[one] != SCORES[two]).sum())
        for name in ("brier", "log_loss"):
            losses = [case_losses(SCORES[at], TRUTH, find(name)) for at in pair]
            sums, wanted = joint.losses[name][pair], MeanMoments.of(losses[0] - losses[1])
            assert sums.n == N
            for part in ("mean", "variance", "third", "spread"):
                made = getattr(MeanMoments.from_sums(sums), part)
                assert made == pytest.approx(getattr(wanted, part), rel=1e-9, abs=1e-15)
    assert joint.groups is not None
    assert sorted(joint.groups.n.tolist()) == sorted(np.bincount(TEAM).tolist())
    wanted_areas = model_areas(SCORES, TRUTH, groups=TEAM)
    assert counted_areas(joint).covariance == pytest.approx(wanted_areas.covariance, rel=1e-9)


def test_several_columns_of_one_frame_need_no_join(native):
    # A score of four bytes is the number that it stands for: .7 as such is less than .7, and 0 is as far from right as
    # among floats of eight bytes.
    single = SCORES[1].astype(np.float32).astype(np.float64)
    assert {0.0, 1.0} <= set(single.tolist())
    rows = pl.DataFrame({"y": np.array(LABELS)[TRUTH.astype(int)], "a": SCORES[0], "s": SCORES[1].astype(np.float32)})
    frame = nw.from_native(native(rows))
    sides = [
        side("a", frame, SCORES[0], score="a", id=None),
        side("b", frame, single, score="s", id=None, threshold=0.7),
    ]
    found = lazy_cases(sides)
    answers = (SCORES[0] >= 0.5).astype(int), (single > 0.7).astype(int)
    assert (np.abs(single - 0.7) < 1e-6).any()
    assert found.pairs(0, 1) == PairCounts.of(TRUTH.astype(int), *answers, LABELS)
    assert found.by == "order"
    losses = [case_losses(score, TRUTH, find("log_loss")) for score in (SCORES[0], single)]
    made = MeanMoments.from_sums(found.scores.losses["log_loss"][0, 1])
    assert made.mean == pytest.approx(float((losses[0] - losses[1]).mean()), rel=1e-9)


@settings(max_examples=40)
@given(data=st.data())
def test_bins_that_hold_several_scores_never_claim_more_than_the_rows(data):
    values = st.sampled_from([-3.0, -1e-9, 0.0, 1e-12, 0.1, 0.11, 0.5, 0.50001, 0.9, 1.0, 40.0])
    n = data.draw(st.integers(6, 40))
    truth = np.array([True, True, False, False, *data.draw(st.lists(st.booleans(), min_size=n - 4, max_size=n - 4))])
    scores = [np.array(data.draw(st.lists(values, min_size=n, max_size=n))) for _ in range(2)]
    most = data.draw(st.sampled_from([2, 3, 5, 64]))
    frames = [nw.from_native(table(score, truth, at).lazy()) for at, score in enumerate(scores)]
    sides = [
        side(f"m{at}", frame, score, truth, most=most, losses=None)
        for at, (frame, score) in enumerate(zip(frames, scores, strict=True))
    ]
    joint = lazy_cases(sides).scores
    wanted = delong_paired(scores[0], scores[1], truth)
    found = delong_counted(joint, (0, 1), lambda at: sides[at].bins.ranking(1))  # type: ignore[union-attr]
    for placed, score in zip(joint.placed, scores, strict=True):
        exact_area = model_areas(score, truth).values[0]
        assert abs(placed.area - exact_area) <= placed.slack + 1e-12
        key = score if placed.base == POINT else np.floor(score / 2.0**placed.base)
        at = np.searchsorted(placed.key, key)
        given_to = np.where(truth, placed.up[at], placed.down[at]) + placed.area
        off = case_placements(score, truth) - given_to
        assert math.sqrt(float((off[truth] ** 2).sum())) <= placed.unseen[0] + 1e-12
        assert math.sqrt(float((off[~truth] ** 2).sum())) <= placed.unseen[1] + 1e-12
    if all(placed.exact for placed in joint.placed):
        assert found.difference == pytest.approx(wanted.difference, abs=1e-12)
        assert (found.p, found.low, found.high) == pytest.approx((wanted.p, wanted.low, wanted.high), abs=1e-9)
    elif found.interval_method == wanted.interval_method == "delong-t" and wanted.statistic:
        assert found.low <= wanted.low + 1e-9
        assert found.high >= wanted.high - 1e-9
        assert found.p >= wanted.p - 1e-9


@pytest.mark.parametrize("grouped", [False, True])
def test_rankings_that_differ_inside_the_bins_alone_are_not_taken_for_the_same(grouped):
    # Turned round inside each of four bins: the bins see no difference at all, and the rows the largest there can be.
    n = 4000
    a = (np.arange(n) + 0.5) / n
    b = np.floor(a * 4) / 4 + (0.25 - a % 0.25)
    truth = (a * 4) % 1 > np.array([0.2, 0.5, 0.7, 0.4])[np.floor(a * 4).astype(int)]
    teams = np.arange(n) // 3
    frames = [nw.from_native(table(score, truth, at).lazy()) for at, score in enumerate((a, b))]
    for order in ((0, 1), (1, 0)):
        chosen = [(frames[at], (a, b)[at]) for at in order]
        group = "team" if grouped else None
        sides = [side(f"m{at}", *each, truth, most=4, losses=None, group=group) for at, each in enumerate(chosen)]
        joint = lazy_cases(sides).scores
        assert joint.up[0, 1] == 0
        rankings = [made.bins.ranking(1) for made in sides if made.bins is not None]
        found = delong_counted(joint, (0, 1), rankings.__getitem__)
        wanted = delong_paired(chosen[0][1], chosen[1][1], truth, groups=teams if grouped else None)
        assert abs(wanted.difference) > 0.1
        assert found.low <= wanted.low <= wanted.high <= found.high
        assert found.p >= wanted.p
        assert "bins of scores" in found.note


def test_refined_bins_of_one_parent_share_a_key_and_keep_the_areas():
    bins = ScoreBins(
        np.array([0.0, 0.25, 0.5]),
        np.array([-2, POINT, -1], np.int16),
        np.array([[3, 1], [2, 2], [1, 4]]),
        -1,
        0.0,
        0.9,
    )
    found = Placements.of(bins)
    assert found.key.tolist() == [0.0, 1.0]
    ups = [1.5, 4.0, 5.5]
    area = (1 * ups[0] + 2 * ups[1] + 4 * ups[2]) / 6 / 7
    assert found.area == pytest.approx(area)
    assert found.up.tolist() == pytest.approx([(ups[0] + 2 * ups[1]) / 18 - area, ups[2] / 6 - area])
    assert found.slack == pytest.approx((3 * 1 + 1 * 4) / 2 / 6 / 7)
    spread = 1 * ((ups[0] - ups[1]) / 6 * 2 / 3) ** 2 + 2 * ((ups[0] - ups[1]) / 6 / 3) ** 2
    within = math.sqrt(1 * (3 / 12) ** 2 + 4 * (1 / 12) ** 2)
    assert found.unseen[0] == pytest.approx(within + math.sqrt(spread))


def test_ids_of_another_type_are_the_same_cases():
    frames = [table(SCORES[0]), table(SCORES[1]).with_columns(pl.col("case").cast(pl.String))]
    sides = [side(f"m{at}", nw.from_native(frame.lazy()), SCORES[at]) for at, frame in enumerate(frames)]
    assert lazy_cases(sides).n == N
    floats = frames[0].with_columns(pl.col("case").cast(pl.Float64))
    assert (
        lazy_cases(
            [
                side("f", nw.from_native(floats.lazy()), SCORES[0]),
                side("i", nw.from_native(frames[0].lazy()), SCORES[0]),
            ]
        ).n
        == N
    )
    with pytest.raises(ValuesError, match="with a point in one frame and text in another"):
        lazy_cases([side("f", nw.from_native(floats.lazy()), SCORES[0]), sides[1]])


# Spark has decimals without a point for unsigned numbers of 64 bits.
WIDE_IDS = [
    (pl.UInt64, pl.UInt64),
    (pl.UInt64, pl.String),
    (pl.String, pl.UInt64),
    (pl.Decimal(20, 0), pl.Decimal(20, 0)),
    (pl.UInt64, pl.Decimal(38, 0)),
]


@pytest.mark.parametrize("kinds", WIDE_IDS)
def test_ids_beyond_the_largest_signed_number_are_told_apart(native, kinds):
    # Neighbours so large that floats do not tell them apart, as hashes are.
    large = pl.col("case").cast(pl.UInt64) + pl.lit(2**63, dtype=pl.UInt64)
    frames = [table(SCORES[at], seed=at).with_columns(large.cast(kind)) for at, kind in enumerate(kinds)]

    def against(frame):
        sides = (("A", frames[0], SCORES[0]), ("B", frame, SCORES[1]))
        return lazy_cases([side(name, nw.from_native(native(held)), score) for name, held, score in sides])

    answers = [(score >= 0.5).astype(int) for score in SCORES[:2]]
    assert against(frames[1]).pairs(0, 1) == PairCounts.of(TRUTH.astype(int), answers[0], answers[1], LABELS)
    twice = pl.concat([frames[1], frames[1].filter(pl.col("case").cast(pl.String) == str(2**63 + 9))])
    with pytest.raises(ValuesError, match=f"The id .*{2**63 + 9}.* stands in 2 rows"):
        heldout.evaluate(native(twice), truth="y", score="s", id="case", positive=LABELS[1])
    other = (
        pl.when(pl.col("case").cast(pl.String) == str(2**63 + 9))
        .then(pl.lit("4"))
        .otherwise(pl.col("case").cast(pl.String))
    )
    with pytest.raises(ValuesError, match=rf"missing from B \({2**63 + 9}\); .* missing from A \(4\)"):
        against(frames[1].with_columns(case=other.cast(kinds[1])))


@pytest.mark.parametrize("kind", [pl.UInt64, pl.UInt8, pl.Decimal(20, 0), pl.Decimal(20, 2), pl.Float64])
def test_ids_that_are_numbers_of_another_type_are_the_same_cases(native, kind):
    frames = [table(SCORES[0]).cast({"case": kind}), table(SCORES[1], seed=1)]
    sides = [side(f"m{at}", nw.from_native(native(frame)), SCORES[at]) for at, frame in enumerate(frames)]
    assert lazy_cases(sides).n == N


def test_brier_losses_of_small_probabilities_are_not_lost(native):
    scores = [np.where(TRUTH, 1.0, values * 1e-20) for values in (RNG.random(N), RNG.random(N))]
    sides = [
        side(
            f"m{at}",
            nw.from_native(native(table(score, seed=at))),
            score,
            losses={"brier": float((score**2)[~TRUTH].sum() / N)},
        )
        for at, score in enumerate(scores)
    ]
    found = MeanMoments.from_sums(lazy_cases(sides).scores.losses["brier"][0, 1])
    gap = (scores[0] ** 2 - scores[1] ** 2)[~TRUTH]
    assert found.mean == pytest.approx(math.fsum(gap) / N, rel=1e-9, abs=0)


def test_cases_that_do_not_match_are_refused_with_their_ids():
    whole, other = table(SCORES[0]), table(SCORES[1])
    a = side("A", nw.from_native(whole.lazy()), SCORES[0])

    def against(frame):
        return lazy_cases([a, side("B", nw.from_native(frame.lazy()), SCORES[1])])

    twice = {"A": whole.lazy(), "B": pl.concat([other, other.filter(pl.col("case").is_in([5, 9]))]).lazy()}
    with pytest.raises(ValuesError, match=r"id 5 .* 2 rows"):
        heldout.compare(twice, truth="y", score="s", id="case", positive=LABELS[1])
    with pytest.raises(
        ValuesError, match=r"2 ids of A are missing from B \(7, 8\); 2 ids of B are missing from A \(-8, -7\)"
    ):
        against(other.with_columns(case=pl.when(pl.col("case").is_in([7, 8])).then(-pl.col("case")).otherwise("case")))
    turned = pl.when(pl.col("case") == 6).then(pl.lit(LABELS[0])).otherwise("y")
    changed = other.with_columns(y=turned)
    number = int(TRUTH[1])
    if number:
        with pytest.raises(LabelError, match=f"in 1 of {N} cases: in case 6"):
            against(changed)
    with pytest.raises(OptionError, match="have no order"):
        lazy_cases(
            [
                side(name, nw.from_native(frame.lazy()), SCORES[0], id=None)
                for name, frame in (("A", whole), ("B", other))
            ]
        )


def test_rows_that_change_between_the_readings_are_refused():
    calls = count()

    def fewer(rows):
        # Every reading misses one more row.
        return rows.head(len(rows) - next(calls))

    rows = pl.DataFrame({"y": np.array(LABELS)[TRUTH.astype(int)], "a": SCORES[0], "b": SCORES[1]})
    frame = nw.from_native(rows.lazy().map_batches(fewer, schema=rows.schema))
    sides = [side(name, frame, SCORES[at], score=name, id=None) for at, name in enumerate("ab")]
    found = lazy_cases(sides)
    with pytest.raises(ValuesError, match=f"changed while they were compared: {TRUTH.sum()} positive and") as raised:
        _ = found.scores
    assert raised.value.hint


@pytest.mark.parametrize("measure", ["log_loss", "brier", "accuracy"])
def test_scores_of_four_bytes_compare_lazily_as_they_are_evaluated_and_as_rows_are(measure):
    rows = pl.DataFrame({"y": TRUTH.astype(int), "a": SCORES[0], "b": SCORES[1]}).cast(
        {"a": pl.Float32, "b": pl.Float32}
    )
    options: dict[str, Any] = {"truth": "y", "threshold": 0.7}
    for held in (rows, rows.lazy()):
        alone = [heldout.evaluate(held, score=name, **options)[measure].value for name in "ab"]
        both = heldout.compare(held, score=["a", "b"], measures=measure, **options).to_dict()["comparisons"][0]
        assert both["difference"] == pytest.approx(alone[0] - alone[1], rel=1e-9)
    eager = heldout.compare(rows, score=["a", "b"], measures=measure, **options).to_dict()["comparisons"][0]
    for part in ("difference", "low", "high", "p"):
        assert both[part] == pytest.approx(eager[part], rel=1e-9)


def test_frames_of_different_engines_and_connections_are_refused():
    import duckdb

    first, second = duckdb.connect(), duckdb.connect()
    first.register("a", table(SCORES[0]).to_arrow())
    second.register("a", table(SCORES[1]).to_arrow())
    relations = [database.sql("SELECT * FROM a") for database in (first, second)]
    sides = [side(f"m{at}", nw.from_native(relation), SCORES[at]) for at, relation in enumerate(relations)]
    with pytest.raises(OptionError, match="different connections of DuckDB"):
        lazy_cases(sides)
    with pytest.raises(OptionError, match="different engines"):
        lazy_cases([sides[0], side("m1", nw.from_native(table(SCORES[1]).lazy()), SCORES[1])])
    first.close()
    second.close()
