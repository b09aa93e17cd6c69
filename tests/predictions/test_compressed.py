"""Labels of long Parquet tables, which are read as compressed text."""

import numpy as np
import polars as pl
import pytest

import heldout
from heldout.files import columnar, read_table
from heldout.predictions.label_encoding import encode

TEXTS = ["b", "a", "", "ä", "b", "日本", "a\u0301", "a", None]


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:-1], ["z", "y"] * 40_000, [f"c{i % 300}" for i in range(70_000)]])
def test_compressed_text_is_encoded_as_text_is(texts):
    # Others met before must not change what a column is encoded to.
    pl.Series(["zzz", "yyy", "xxx"]).cast(pl.Categorical)
    plain, packed = pl.Series(texts), pl.Series(texts).cast(pl.Categorical)
    one, two = (encode(column, "truth") for column in (plain, packed))
    assert one.labels == two.labels
    assert (one.offset, one.missing, one.declared) == (two.offset, two.missing, two.declared)
    assert np.array_equal(one.codes, two.codes)


def test_long_tables_are_read_with_their_labels_compressed(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "LONG", 100)
    rng = np.random.default_rng(0)
    file = tmp_path / "p.parquet"
    truth = rng.choice(["no", "yes"], 500)
    frame = pl.DataFrame({"truth": truth, "predicted": rng.choice(["no", "yes"], 500), "region": ["n", "s"] * 250})
    frame.write_parquet(file)
    table = read_table(file, columns=["truth", "region"], labels=["truth"])
    assert [str(kind) for kind in table.dtypes] == ["Categorical", "String"]
    assert table["truth"].cast(pl.String).to_list() == truth.tolist()
    here = heldout.evaluate(file, slices="region")
    assert here.to_json() == heldout.evaluate(frame, slices="region").to_json().replace(
        '"the data frame"', '"p.parquet"'
    )


def test_columns_of_numbers_stay_numbers_in_long_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "LONG", 100)
    file = tmp_path / "p.parquet"
    pl.DataFrame({"truth": [0, 1] * 100, "predicted": [0, 0] * 100}).write_parquet(file)
    assert heldout.evaluate(file).labels == (0, 1)
