"""How often Spark reads the rows for an evaluation, from the log of events that it writes itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import heldout
from heldout.engines.lazy import worker_counts
from heldout.engines.memory import counted

ROWS = 3000
CLASSES = ("low", "middle", "high", "top")


@dataclass(frozen=True)
class Scans:
    """The stages in which files were read, and what was read in all of them."""

    number: int
    records: int
    read_bytes: int


@pytest.fixture
def logged(spark_session, tmp_path) -> Callable[[Callable[[], Any]], tuple[Any, Scans]]:
    """Do some work on Spark, and tell from its event log what was read for it."""
    context: Any = spark_session.sparkContext
    java, inside = context._jvm, context._jsc.sc()

    def work_logged(work: Callable[[], Any]) -> tuple[Any, Scans]:
        conf = inside.conf().clone().set("spark.eventLog.rolling.enabled", "false")
        conf.set("spark.eventLog.compress", "false")
        listener = java.org.apache.spark.scheduler.EventLoggingListener(
            "events",
            java.scala.Option.empty(),
            java.java.net.URI(tmp_path.as_uri()),
            conf,
            inside.hadoopConfiguration(),
        )
        listener.start()
        inside.addSparkListener(listener)
        try:
            done = work()
            inside.listenerBus().waitUntilEmpty()
        finally:
            inside.removeSparkListener(listener)
            listener.stop()
        log = tmp_path / "events"
        events = [json.loads(line) for line in log.read_text().splitlines()]
        log.unlink()
        return done, read_in(events)

    return work_logged


def read_in(events: list[dict[str, Any]]) -> Scans:
    stages = [event["Stage Info"] for event in events if event["Event"] == "SparkListenerStageCompleted"]
    readings = {
        stage["Stage ID"] for stage in stages if any(step["Name"] == "FileScanRDD" for step in stage["RDD Info"])
    }
    tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    inputs = [task["Task Metrics"]["Input Metrics"] for task in tasks if task["Stage ID"] in readings]
    return Scans(
        len(readings), sum(read["Records Read"] for read in inputs), sum(read["Bytes Read"] for read in inputs)
    )


def two_classes() -> pl.DataFrame:
    rng = np.random.default_rng(21)
    true = rng.random(ROWS) < 0.4
    score = 1 / (1 + np.exp(-(rng.normal(0, 2, ROWS) + true)))
    said = np.where(score > 0.5, "yes", "no")
    fold, site = rng.integers(0, 3, ROWS), rng.integers(0, 40, ROWS)
    columns = {"truth": np.where(true, "yes", "no"), "predicted": said, "score": score, "fold": fold, "site": site}
    return pl.DataFrame(columns)


def several_classes() -> pl.DataFrame:
    rng = np.random.default_rng(22)
    code = rng.integers(0, len(CLASSES), ROWS)
    logits = rng.normal(0, 1, (ROWS, len(CLASSES)))
    logits[np.arange(ROWS), code] += 1
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    scores = {f"p_{name}": share[:, place] for place, name in enumerate(CLASSES)}
    said = [CLASSES[place] for place in share.argmax(axis=1)]
    return pl.DataFrame({"truth": [CLASSES[place] for place in code], "predicted": said, **scores})


EACH = [f"p_{name}" for name in CLASSES]
GROUPED = {"truth": "truth", "score": "score", "positive": "yes", "group": "site", "fold": "fold"}
# The table, what is asked, and whether the workers have heldout. Where columns are guessed the classes are read first.
CASES: dict[str, tuple[pl.DataFrame, dict[str, Any], bool]] = {
    "two classes, guessed": (two_classes().drop("fold", "site"), {"positive": "yes"}, True),
    "two classes, guessed, by expressions": (two_classes().drop("fold", "site"), {"positive": "yes"}, False),
    "two classes, groups and folds": (two_classes(), GROUPED, True),
    "four classes, guessed": (several_classes(), {"missing": "drop"}, True),
    "four classes, by expressions": (several_classes(), {"truth": "truth", "score": EACH}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rows_are_read_a_few_times_however_many_scores_there_are(
    case, logged, spark_session, monkeypatch, tmp_path
):
    table, options, has_heldout = CASES[case]
    # They are asked once, with rows that come from no file.
    assert worker_counts.is_on_spark(spark_session)
    monkeypatch.setitem(worker_counts._ASKED, spark_session, has_heldout)
    file = tmp_path / "rows.parquet"
    table.write_parquet(file, compression="uncompressed")
    # By default Spark does not count the bytes of ranges that it reads.
    frame = spark_session.read.option("parquet.hadoop.vectored.io.enabled", "false").parquet(str(file))
    found, scans = logged(lambda: heldout.evaluate(frame, **options))
    assert 2 <= scans.number <= (3 if case.startswith("two") else 4)
    assert scans.records == scans.number * ROWS
    # The footer is read again for each task.
    size = file.stat().st_size
    assert 0.2 * size * scans.number < scans.read_bytes < 1.5 * size * scans.number
    rows = heldout.evaluate(table, **options).predictions
    assert found.counted is not None
    assert rows is not None
    assert not found.counted.differing(counted(rows), relative=1e-12)
