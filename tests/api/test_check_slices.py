"""Requirements on slices: `recall[spam, sex=f] >= 0.8`, in rows, batches and lazy engines, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

from heldout.api.check import check
from heldout.api.count import count
from heldout.api.evaluate import evaluate
from heldout.arguments import MOST_LEVEL
from heldout.errors import HeldoutError, OptionError
from heldout.gates.requirements import read_slice_term

RNG = np.random.default_rng(4)
N = 900
FRAME = pl.DataFrame(
    {
        "truth": RNG.choice(["spam", "ham", "a=b"], N, p=[0.5, 0.3, 0.2]),
        "sex": RNG.choice(["f", "m"], N),
        "region": RNG.choice(["north", "south, east", "West"], N),
        "age": RNG.integers(18, 90, N),
    }
).with_columns(predicted=pl.when(pl.Series(RNG.random(N) < 0.85)).then(pl.col("truth")).otherwise(pl.lit("ham")))


def oracle(where: pl.Expr, class_: str | None = None) -> tuple[int, int, float]:
    """Hits, cases and the exact one-sided limit, counted by Polars and SciPy."""
    part = FRAME.filter(where if class_ is None else where & (pl.col("truth") == class_))
    hits, n = int((part["truth"] == part["predicted"]).sum()), part.height
    return hits, n, float(beta.ppf(0.05, hits, n - hits + 1))


@pytest.mark.parametrize(
    ("text", "where", "class_"),
    [
        ("recall[spam, sex=f]", pl.col("sex") == "f", "spam"),
        ("recall[sex = f, spam]", pl.col("sex") == "f", "spam"),
        ("accuracy[region=north]", pl.col("region") == "north", None),
        ("accuracy[region=WEST]", pl.col("region") == "West", None),
        ("accuracy[region='south, east']", pl.col("region") == "south, east", None),
        ('recall[ham, "region"="south, east"]', pl.col("region") == "south, east", "ham"),
        ("recall['a=b', sex=m]", pl.col("sex") == "m", "a=b"),
        ("recall[spam, sex=f, region=north]", (pl.col("sex") == "f") & (pl.col("region") == "north"), "spam"),
        ("recall[spam, region=north, sex=f]", (pl.col("sex") == "f") & (pl.col("region") == "north"), "spam"),
    ],
)
def test_the_value_and_the_limit_are_those_of_the_cases_of_the_slice(text, where, class_):
    (row,) = check(FRAME, require=f"{text} >= 0.5").rows()
    hits, n, low = oracle(where, class_)
    assert (row["value"], row["n"]) == (pytest.approx(hits / n), n)
    assert row["pass_limit"] == pytest.approx(low, abs=1e-9)
    assert row["outcome"] == ("passed" if low >= 0.5 else "undecided")


@pytest.fixture
def folder(tmp_path):
    for place in range(3):
        FRAME[300 * place : 300 * (place + 1)].write_csv(tmp_path / f"part-{place}.csv")
    return tmp_path


@pytest.mark.parametrize("engine", ["memory", "stream", "polars", "duckdb"])
def test_the_column_is_read_by_every_engine_without_being_named(engine, folder):
    gate = check(folder, require=["recall[spam, sex=f] >= 0.5", "accuracy[region=north] >= 0.99"], engine=engine)
    for row, (hits, n, low) in zip(
        gate.rows(),
        (oracle(pl.col("sex") == "f", "spam"), oracle(pl.col("region") == "north")),
        strict=True,
    ):
        assert (row["value"], row["n"]) == (pytest.approx(hits / n), n)
        assert row["pass_limit"] == pytest.approx(low, abs=1e-9)
    assert [row["slice"] for row in gate.rows()] == ["sex=f", "region=north"]
    assert "recall[spam, sex=f]" in str(gate)


def test_a_lazy_frame_and_counted_evidence():
    require = "recall[spam, sex=f] >= 0.5"
    expected = check(FRAME, require=require).rows()[0]["pass_limit"]
    assert check(FRAME.lazy(), require=require).rows()[0]["pass_limit"] == pytest.approx(expected)
    assert check(count(FRAME, slices=["sex"]), require=require).rows()[0]["pass_limit"] == pytest.approx(expected)
    assert check(evaluate(FRAME, slices="sex"), require=require).rows()[0]["pass_limit"] == pytest.approx(expected)
    columns = [FRAME[name].to_list() for name in ("truth", "predicted", "sex")]
    by_name = check(*columns[:2], slices={"sex": columns[2]}, require=require)
    assert by_name.rows()[0]["pass_limit"] == pytest.approx(expected)


def test_measures_of_scores_by_slice():
    score = np.clip((FRAME["truth"] == "spam").to_numpy() * 0.4 + RNG.random(N) * 0.6, 0, 1)
    two = FRAME.with_columns(truth=pl.col("truth").replace("a=b", "ham"), score=pl.Series(score)).drop("predicted")
    (row,) = check(two, require="roc_auc[sex=f] >= 0.6", positive="spam").rows()
    alone = evaluate(two.filter(pl.col("sex") == "f"), positive="spam")["roc_auc"]
    assert row["value"] == pytest.approx(alone.value)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("recall[spam, sx=f] >= 0.5", "'sx'", "quote a class whose name holds an equals sign"),
        ("recall[spam, region=nroth] >= 0.5", "no slice 'nroth'", "did you mean 'north'?"),
        ("recall[spam, sex=x] >= 0.5", "no slice 'x'", "use one of these"),
        ("recall[spam, sex=] >= 0.5", "names no value", "recall[spam, sex=f]"),
        ("recall[spam, sex=f, sex=m] >= 0.5", "names 'sex' twice", "recall[spam, sex=f]"),
        ("recall[spam, sex=f, region=north, age=18] >= 0.5", "names 3 columns", "recall[spam, sex=f]"),
        ("recall[span, sex=f] >= 0.5", "no class 'span'", "did you mean 'spam'"),
        ("recall[sex=f] >= 0.5", "none was named", "recall"),
    ],
)
def test_what_is_refused(text, what, hint):
    with pytest.raises(HeldoutError) as raised:
        check(FRAME, require=text)
    assert what in raised.value.what
    assert hint in raised.value.hint


def test_a_slice_has_no_baseline_and_a_matrix_no_slices():
    with pytest.raises(OptionError, match="compares a slice with a baseline"):
        check(FRAME, require="accuracy[sex=f] >= baseline", baseline=FRAME)
    with pytest.raises(OptionError, match="no columns divide these cases"):
        check(evaluate(matrix=[[5, 1], [2, 9]], labels=["no", "yes"]), require="accuracy[sex=f] >= 0.5")


@pytest.mark.parametrize("label", ["<=50K", "=cmd()", "a > 3, b", "yes, maybe (unsure)"])
def test_classes_that_look_a_little_like_conditions_are_classes(label):
    assert read_slice_term(f"recall[{label}]") == (f"recall[{label}]", read_slice_term("recall")[1])


def test_requirements_that_are_missed_are_corrected_at_the_highest_level_too():
    # The level at which each of three has failed lies nearer to 1 than any level that can be asked for.
    missed = [f"{name} >= 0.999" for name in ("accuracy", "recall[spam, sex=f]", "macro f1")]
    found = check(FRAME, require=missed, level=MOST_LEVEL)
    assert [row["outcome"] for row in found.rows()] == ["failed"] * 3
    with pytest.raises(OptionError, match=r"The level must lie between 0\.0001 and 0\.9999999\."):
        check(FRAME, require=missed, level=1 - 1e-9)
