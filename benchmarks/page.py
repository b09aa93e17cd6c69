"""The whole report of ten million predictions, from a Parquet file to one page, against three functions of our peers.

Run as a program with a file it writes the page of that file and prints what memory it took as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.memory import peak_mib
from benchmarks.timing import Contender, Race, race

COLUMNS = ("truth", "score", "region")
REGIONS = ("north", "south", "east", "west")


def write_predictions(path: Path, n: int) -> None:
    """A file of n cases: two classes as text, a score of which hardly any two are equal, a column to slice by."""
    import polars as pl

    rng = np.random.default_rng(0)
    positive = rng.random(n) < 0.2
    score = 1 / (1 + np.exp(1.5 - 2 * positive - rng.normal(size=n)))
    names = pl.Series(["no", "yes"]).cast(pl.Categorical)
    regions = pl.Series(REGIONS).cast(pl.Categorical)
    pl.DataFrame(
        {
            "truth": names.gather(positive.astype(np.uint32)).cast(pl.String),
            "encoded": positive.astype(np.int64),
            "score": score,
            "region": regions.gather(rng.integers(0, len(REGIONS), n)).cast(pl.String),
        }
    ).write_parquet(path)


def write_page(path: Path, page: Path) -> int:
    """Evaluate a file with one slice column and write the page; its size in bytes."""
    import heldout

    heldout.evaluate(path, truth="truth", score="score", slices="region").write(page)
    return page.stat().st_size


def _peers(path: Path) -> object:
    import pandas as pd
    from sklearn.metrics import classification_report, precision_recall_curve, roc_curve

    table = pd.read_parquet(path, columns=["encoded", "score"])
    truth, score = table["encoded"].to_numpy(), table["score"].to_numpy()
    report = classification_report(truth, (score >= 0.5).astype(np.int64))
    return report, roc_curve(truth, score), precision_recall_curve(truth, score)


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """From the file to the page, against reading, one report and two curves of encoded labels."""
    n = 10_000_000 // shrink
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "predictions.parquet", Path(folder) / "page.html"
        write_predictions(path, n)
        yield (
            "page",
            race(
                f"page of {n:,} predictions from Parquet, with a slice column",
                [
                    Contender("heldout, file to page", lambda: write_page(path, page)),
                    Contender("pandas, scikit-learn: report, ROC, PR", lambda: _peers(path), note="encoded labels"),
                ],
                rounds=5,
            ),
        )


def page_memory(n: int) -> dict[str, object]:
    """Peak memory of writing the page of n predictions in a fresh process, and the size of the columns read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        write_predictions(path, n)
        command = [sys.executable, "-m", "benchmarks.page", str(path), str(Path(folder) / "page.html")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured: dict[str, object] = json.loads(done.stdout)
        return {"rows": n, **measured, **_columns(path)}


def _columns(path: Path) -> dict[str, float]:
    """What the three columns that are read take: as Arrow packs them, and as a process that holds them as a frame."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

    packed = pq.read_table(path, columns=list(COLUMNS)).nbytes / 2**20
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.page", str(path)], check=True, capture_output=True, text=True
    )
    return {"columns_as_arrow_mib": round(packed, 1), "columns_as_frame_mib": json.loads(done.stdout)}


def _hold(path: Path) -> None:
    import polars as pl

    pl.DataFrame({"a": ["x"]}).select(pl.col("a").unique())
    before = peak_mib()
    held = pl.read_parquet(path, columns=list(COLUMNS))
    print(json.dumps(round(peak_mib() - before, 1) if len(held) else 0.0))


def _main(path: Path, page: Path) -> None:
    small = page.with_name("small.parquet")
    # A small file first, so that what was imported is not counted.
    write_predictions(small, 1000)
    write_page(small, page)
    before = peak_mib()
    size = write_page(path, page)
    print(json.dumps({"peak_mib": round(peak_mib() - before, 1), "page_bytes": size}))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _hold(Path(sys.argv[1]))
    else:
        _main(Path(sys.argv[1]), Path(sys.argv[2]))
