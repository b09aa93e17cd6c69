"""Comparisons without holding the rows: lazy frames, folders and large files give the answer that rows give."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.errors import FileError, OptionError, ValuesError

compare: Any = heldout.compare

N = 400
RNG = np.random.default_rng(3)
TRUTH = RNG.random(N) < 0.4
WORDS = np.where(TRUTH, "größer", "kleiner")
# Rounded, so that scores are tied.
SCORES = {
    name: np.clip(np.round(TRUTH * weight + RNG.random(N) * (1 - weight), 2), 0, 1)
    for name, weight in (("sharp", 0.4), ("plain", 0.3), ("blunt", 0.1))
}
WHOLE = pl.DataFrame(
    {
        "case": np.arange(N) + 1000,
        "truth": WORDS,
        "team": np.arange(N) // 4,
        **SCORES,
        **{f"said_{name}": np.where(score >= 0.45, "größer", "kleiner") for name, score in SCORES.items()},
    }
)
OPTIONS: dict[str, Any] = {"truth": "truth", "score": "score", "positive": "größer"}


def one(name: str, seed: int = 0) -> pl.DataFrame:
    order = np.random.default_rng(seed).permutation(N)
    return WHOLE.select("case", "truth", "team", pl.col(name).alias("score"))[order]


FRAMES = [one(name, seed) for seed, name in enumerate(SCORES)]


def lazily(frames: list[pl.DataFrame], kind: str) -> list[Any]:
    if kind == "polars":
        return [frame.lazy() for frame in frames]
    database = duckdb.connect()
    for place, frame in enumerate(frames):
        database.register(f"t{place}", frame.to_arrow())
    return [database.sql(f"SELECT * FROM t{place}") for place in range(len(frames))]


def same(found: Any, wanted: Any, path: str = "") -> None:
    """Equal texts and counts, and floats to nine digits."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), path
        for key, value in wanted.items():
            same(found[key], value, f"{path}/{key}")
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), path
        for place, (first, second) in enumerate(zip(found, wanted, strict=True)):
            same(first, second, f"{path}/{place}")
    elif isinstance(wanted, float) and not math.isnan(wanted):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), path
    elif not isinstance(wanted, float):
        assert found == wanted, path


def without_best(result: Any) -> Any:
    """What is said of the pairs alone."""
    words = ("Bonferroni", "rule one out")
    return replace(
        result,
        best=None,
        pairs=tuple(replace(pair, together=None) for pair in result.pairs),
        notes=tuple(note for note in result.notes if not any(word in note for word in words)),
    )


def same_answer(found: Any, wanted: Any) -> None:
    if wanted.best is not None:
        # How the values of all vary together is known from the rows alone: without, limits for all are Bonferroni's.
        assert {by.method for by in found.best.measures} == {"bonferroni"}
        for by in wanted.best.measures:
            assert set(found.best[by.name].may_be_best) >= set(by.may_be_best)
        assert any("Bonferroni" in note for note in found.notes)
        found, wanted = without_best(found), without_best(wanted)
    same(json.loads(found.to_json()), json.loads(wanted.to_json()))
    assert str(found) == str(wanted)


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
@pytest.mark.parametrize("classifiers", [2, 3])
def test_lazy_frames_joined_by_id_give_the_answer_of_their_rows(kind, classifiers):
    frames = FRAMES[:classifiers]
    same_answer(compare(*lazily(frames, kind), id="case", **OPTIONS), compare(*frames, id="case", **OPTIONS))


@pytest.mark.parametrize(
    "asked",
    [
        {"measure": ["gini", "log_loss"]},
        {"measure": "roc_auc", "method": "delong-mover"},
        {"measure": "roc_auc[kleiner]"},
        {"measure": "brier", "method": "paired-hall"},
        {"measure": "accuracy", "method": "permutation", "replicates": 99},
        {"measure": ["roc_auc", "brier"], "margin": 0.05},
        {"measure": ["roc_auc", "brier"], "group": "team"},
        {"measure": "log_loss", "group": "team", "method": "paired-hall"},
        {"control": "C", "correction": "hommel"},
        {"costs": {("größer", "kleiner"): 5, ("kleiner", "größer"): 1}, "measure": "expected_cost"},
    ],
    ids=str,
)
def test_measures_methods_and_claims_are_those_of_rows(asked):
    options = OPTIONS | {"id": "case"} | asked
    same_answer(compare(*lazily(FRAMES, "polars"), **options), compare(*FRAMES, **options))


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_columns_of_one_lazy_frame_give_the_answer_of_its_rows(kind):
    for columns in ({"score": list(SCORES)}, {"predicted": [f"said_{name}" for name in SCORES]}):
        options = {"truth": "truth", "positive": "größer"} | columns
        same_answer(compare(*lazily([WHOLE], kind), **options), compare(WHOLE, **options))


def test_a_row_that_one_column_lacks_is_left_out_of_all():
    gaps = WHOLE.with_columns(
        sharp=pl.when(pl.col("case") % 7 == 0).then(None).otherwise("sharp"),
        plain=pl.when(pl.col("case") % 11 == 0).then(float("nan")).otherwise("plain"),
    )
    options = {"truth": "truth", "positive": "größer", "score": ["sharp", "plain"], "missing": "drop"}
    same_answer(compare(gaps.lazy(), **options), compare(gaps, **options))


def test_many_classes_of_numbers_and_text_are_counted_exactly():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 12, 300)
    answers = [np.where(rng.random(300) < share, truth, rng.integers(0, 12, 300)) for share in (0.7, 0.6)]
    first = pl.DataFrame({"id": np.arange(300), "truth": truth, "predicted": answers[0]})
    second = pl.DataFrame({"id": np.arange(300), "truth": truth, "predicted": answers[1]}).with_columns(
        pl.col("truth", "predicted").cast(pl.String)
    )
    found, wanted = compare(first.lazy(), second.lazy(), id="id"), compare(first, second, id="id")
    assert found.rows() == wanted.rows()
    assert found.notes == wanted.notes


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_the_highest_of_a_score_for_each_class_is_the_answer(kind):
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 200)
    frames = []
    for strength in (0.8, 0.4):
        # Coarse, so that the highest score is often tied.
        scores = np.round(rng.random((200, 3)) + strength * (truth[:, None] == np.arange(3)), 1)
        named = {f"p_{label}": scores[:, place] for place, label in enumerate("abc")}
        frames.append(pl.DataFrame({"id": np.arange(200), "truth": np.array(list("abc"))[truth], **named}))
    options = {"id": "id", "measure": ["accuracy", "macro f1", "recall[b]"]}
    same_answer(compare(*lazily(frames, kind), **options), compare(*frames, **options))
    with pytest.raises(OptionError, match="a column for each class needs the rows"):
        compare(*lazily(frames, kind), id="id", measures="roc_auc[a]")


def test_classifiers_that_answer_and_rank_alike_are_said_to():
    exp = one("sharp").with_columns(pl.col("score") ** 3)
    for other in (one("sharp", 9), exp):
        for measure in ("accuracy", "roc_auc", "brier"):
            options = OPTIONS | {"id": "case", "measure": measure, "threshold": 0.0}
            pair = [compare(made(FRAMES[0]), made(other), **options)[measure] for made in (pl.DataFrame.lazy, _itself)]
            assert (pair[0].alike, pair[0].verdict) == (pair[1].alike, pair[1].verdict)
    perfect = [FRAMES[0].with_columns(score=(pl.col("truth") == "größer").cast(pl.Float64) * scale) for scale in (1, 2)]
    wide = perfect[1].with_columns(score=pl.col("score") + pl.col("case") % 2)
    for other in (perfect[1], wide):
        options = OPTIONS | {"id": "case", "measure": "roc_auc", "threshold": 0.5}
        same_answer(compare(perfect[0].lazy(), other.lazy(), **options), compare(perfect[0], other, **options))


def _itself(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


# Files


@pytest.fixture
def folders(tmp_path):
    """Two folders of Parquet files, the same as one file each, and as text."""
    for name, frame in zip("ab", FRAMES, strict=False):
        (tmp_path / name).mkdir()
        for part in range(3):
            frame[part * 150 : (part + 1) * 150].write_parquet(tmp_path / name / f"part-{part}.parquet")
        frame.write_parquet(tmp_path / f"{name}.parquet")
        frame.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def test_folders_are_joined_by_id(folders):
    options = OPTIONS | {"id": "case", "names": ["one", "two"]}
    wanted = compare(folders / "a.parquet", folders / "b.parquet", **options)
    same_answer(compare(folders / "a", folders / "b", **options), wanted)
    same_answer(compare(str(folders / "a" / "*.parquet"), folders / "b", **options), wanted)


@pytest.mark.parametrize("engine", ["stream", "polars", "duckdb"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_engine_that_reads_files_changes_nothing(folders, engine, ending):
    files = [folders / f"{name}.{ending}" for name in "ab"]
    wanted = compare(*files, id="case", **OPTIONS)
    same_answer(compare(*files, id="case", engine=engine, **OPTIONS), wanted)


def test_files_without_ids_are_matched_by_the_order_of_their_rows(tmp_path):
    for name in ("sharp", "plain"):
        WHOLE.select("truth", pl.col(name).alias("score")).write_csv(tmp_path / f"{name}.csv")
    files = [tmp_path / "sharp.csv", tmp_path / "plain.csv"]
    found = compare(*files, engine="stream", **OPTIONS)
    same_answer(found, compare(*files, **OPTIONS))
    assert "matched by order" in found.setting
    WHOLE.head(300).select("truth", pl.col("plain").alias("score")).write_csv(tmp_path / "plain.csv")
    with pytest.raises(ValuesError, match=r"sharp.csv has 400, plain.csv has 300 cases"):
        compare(*files, engine="stream", **OPTIONS)
    gaps = WHOLE.select("truth", score=pl.when(pl.col("case") > 1003).then(pl.col("plain")))
    gaps.write_csv(tmp_path / "plain.csv")
    with pytest.raises(ValuesError, match="the order of the rest does not say which case is which"):
        compare(*files, engine="stream", missing="drop", **OPTIONS)


def test_several_columns_of_a_folder(tmp_path):
    for part in range(2):
        WHOLE[part * 200 : (part + 1) * 200].write_parquet(tmp_path / f"part-{part}.parquet")
    options = {"truth": "truth", "positive": "größer", "score": ["sharp", "plain"]}
    same_answer(compare(tmp_path, **options), compare(WHOLE, **options))


@pytest.mark.parametrize("engine", ["stream", "polars", "duckdb", "dask"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_that_are_not_used_need_not_agree(engine, form, tmp_path):
    for name, frame in zip("ab", FRAMES, strict=False):
        (tmp_path / name).mkdir()
        for part, note in enumerate(("x", 1)):
            held = frame[part * 200 : (part + 1) * 200].with_columns(note=pl.lit(note))
            if (name, part) == ("a", 1):
                held = held.with_columns(more=pl.lit("x"))
            getattr(held, f"write_{form}")(tmp_path / name / f"part-{part}.{form}")
    options = OPTIONS | {"id": "case", "names": ["one", "two"]}
    same_answer(compare(tmp_path / "a", tmp_path / "b", engine=engine, **options), compare(*FRAMES[:2], **options))
    columns = {"truth": "truth", "positive": "größer", "measure": "roc_auc", "threshold": 0.0, "missing": "drop"}
    both = compare(tmp_path / "a", score=["score", "team"], engine=engine, **columns)
    assert both.names == ("score", "team")
    with pytest.raises(FileError, match=rf"part-0\.{form} has no column 'more', and .*part-1\.{form} has one"):
        compare(tmp_path / "a", tmp_path / "b", engine=engine, **(options | {"id": "more"}))


@pytest.mark.parametrize("engine", ["stream", "duckdb"])
def test_rows_that_one_column_of_a_folder_lacks_are_left_out_of_all(engine, tmp_path):
    gaps = WHOLE.with_columns(sharp=pl.when(pl.col("case") % 7 == 0).then(None).otherwise("sharp"))
    gaps.with_columns(note=pl.lit("x"), fold=1)[:200].write_csv(tmp_path / "0.csv")
    gaps.with_columns(fold=1)[200:].write_csv(tmp_path / "1.csv")
    (tmp_path / "2.csv").touch()
    options = {"truth": "truth", "positive": "größer", "score": ["sharp", "plain"], "missing": "drop"}
    found, wanted = compare(tmp_path, engine=engine, **options), compare(gaps, **options)
    same(found.rows(), wanted.rows())
    said = " ".join(found.notes)
    assert f"{sum(gaps['sharp'].is_null())} of 400 rows were dropped from all classifiers" in said
    # What was said of the files is not lost where the rest of their rows is counted again.
    assert "sharp: 1 file has no bytes and was left out: 2.csv" in found.notes
    assert "--fold fold would use it" in said


def test_the_command_line_compares_folders(folders):
    said = ["compare", "--id", "case", "--positive", "größer", "--score", "score", "--json", "-"]
    runs = [
        CliRunner().invoke(app, [*said, str(folders / f"a{end}"), str(folders / f"b{end}"), *more])
        for end, more in ((".parquet", []), (".parquet", ["--engine", "duckdb"]), ("", []))
    ]
    assert [run.exit_code for run in runs] == [0, 0, 0], [run.output for run in runs]
    wanted = json.loads(runs[0].output)
    same(json.loads(runs[1].output), wanted)
    same(json.loads(runs[2].output), json.loads(runs[0].output.replace(".parquet", "")))
    assert wanted["models"] == ["a.parquet", "b.parquet"]


# What needs rows


def test_what_needs_rows_is_refused_with_a_way_out():
    a, b = lazily(FRAMES[:2], "polars")
    for asked, said in (
        ({"measure": "average_precision"}, "compared by paired-bootstrap, which needs the rows"),
        ({"measure": "roc_auc", "method": "bootstrap"}, "compared by paired-bootstrap, which needs the rows"),
        ({"fold": "team"}, "comparing fold by fold needs their rows"),
    ):
        with pytest.raises(OptionError, match=said) as error:
            compare(a, b, id="case", **(OPTIONS | asked))
        assert "read the rows into memory" in error.value.hint
    with pytest.raises(OptionError, match="have no order"):
        compare(a, b, **OPTIONS)
    with pytest.raises(OptionError, match="are not held here and those of"):
        compare(a, FRAMES[1], id="case", **OPTIONS)
    with pytest.raises(OptionError, match="one lazy frame only"):
        compare(a)
    with pytest.raises(OptionError, match="brings its own engine"):
        compare(a, b, id="case", engine="duckdb", **OPTIONS)


def test_names_are_those_that_were_given():
    a, b = lazily(FRAMES[:2], "polars")
    found = compare({"new": a, "old": b}, id="case", **OPTIONS)
    assert found.names == ("new", "old")
    assert compare([a, b], id="case", **OPTIONS).names == ("A", "B")


def test_curves_are_drawn_from_counts_and_crossings_need_rows():
    found = compare(*lazily(FRAMES[:2], "polars"), id="case", **OPTIONS)
    wanted = compare(*FRAMES[:2], id="case", **OPTIONS)
    assert found.optimal_ranges().rows() == wanted.optimal_ranges().rows()
    with pytest.raises(OptionError, match="resampling the rows"):
        found.roc()
    assert "is better than" in found.to_html()


def test_test_sets_that_differ_are_compared_by_their_counts():
    frames = [FRAMES[0].head(250), FRAMES[1].tail(150)]
    options = OPTIONS | {"paired": False}
    wanted = ["accuracy", "f1", "roc_auc", "roc_auc[kleiner]", "gini", "brier", "log_loss"]
    for asked in (
        {"measure": wanted},
        {"measure": "brier", "method": "unpaired-hall"},
        {"measure": "roc_auc", "group": "team"},
    ):
        same_answer(compare(*lazily(frames, "polars"), **options, **asked), compare(*frames, **options, **asked))
    with pytest.raises(OptionError, match="which needs the rows"):
        compare(*lazily(frames, "polars"), **options, measures="average_precision")


# Ibis asks DuckDB in a way that is on its way out.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_ibis_tables_of_different_connections_are_refused(tmp_path):
    import ibis  # type: ignore[import-untyped]

    for place, frame in enumerate(FRAMES[:2]):
        frame.write_parquet(tmp_path / f"{place}.parquet")

    def read(place: int, connection: Any) -> Any:
        # The same name on both sides: by it, one connection would find its own table twice.
        return connection.read_parquet(tmp_path / f"{place}.parquet", table_name=f"t{place}")

    together = ibis.duckdb.connect()
    found = compare(read(0, together), read(1, together), id="case", measures="roc_auc", **OPTIONS)
    same_answer(found, compare(*FRAMES[:2], id="case", measures="roc_auc", **OPTIONS))
    apart = ibis.duckdb.connect()
    both = [read(0, ibis.duckdb.connect()), apart.read_parquet(tmp_path / "1.parquet", table_name="t0")]
    with pytest.raises(OptionError, match="belong to different connections") as stopped:
        compare(*both, id="case", measures="roc_auc", **OPTIONS)
    assert "one connection" in stopped.value.hint
