"""Commands and comparisons on clusters that run already; here, where each of them is started once for all tests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.test_compare_large import FRAMES, OPTIONS, compare, same_answer
from tests.engines.parts import parts
from tests.surface.test_cli_engines import assert_alike, assert_options_named, assert_report_of_rows, estimates


@pytest.mark.usefixtures("spark_session")
def test_spark_gives_the_report_of_rows_in_memory(run):
    assert_report_of_rows("spark", run)


@pytest.mark.usefixtures("spark_session")
def test_a_comparison_by_spark_names_the_options_of_the_command_line(run, tmp_path):
    assert_options_named("spark", run, tmp_path)


def test_a_dask_cluster_is_named_by_its_address(dask_client, run, tmp_path):
    folder = str(parts(tmp_path, "parquet"))
    words = ("evaluate", folder, "--engine", "dask", "--master", dask_client.scheduler.address)
    status, out, _ = run(*words, "--positive", "ja", "--tolerance", "1e-3", "--passes", "1", "--json", "-")
    assert status == 0
    assert_alike(estimates(out), estimates(run("evaluate", folder, "--positive", "ja", "--json", "-")[1]))


def test_spark_compares_as_the_rows_do(spark_session):
    made = [spark_session.createDataFrame(frame.rows(), frame.columns) for frame in FRAMES[:2]]
    same_answer(compare(*made, id="case", **OPTIONS), compare(*FRAMES[:2], id="case", **OPTIONS))


@pytest.mark.usefixtures("dask_client")
def test_dask_compares_as_the_rows_do():
    import dask.dataframe as dd

    made: list[Any] = [dd.from_pandas(frame.to_pandas(), npartitions=2) for frame in FRAMES[:2]]
    options = OPTIONS | {"id": "case", "group": "team", "measure": ["roc_auc", "brier"]}
    same_answer(compare(*made, **options), compare(*FRAMES[:2], **options))
